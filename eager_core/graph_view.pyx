"""What a graph looks like, for those who draw it. Nothing here changes it."""
from eager_core._generated.op_ids cimport OP_REGION_WRITE, OP_VIEW
from eager_core.dtypes cimport DTYPES
from eager_core.eager_utils cimport gradient_edge
from eager_core.grad_node cimport AccumulationNode, GradNode, OperatorNode, SavedTensor
from eager_core.layout cimport Layout, shape_list
from eager_core.op cimport FAMILY_GETITEM, FAMILY_VIEW
from eager_core.saved_hooks cimport Packed
from eager_core.storage cimport Storage, serial_of, untouched
from eager_core.tensor cimport TensorBase, is_tensor
from eager_core.tensor_wrapper cimport OUTPUT


def node_behind(tensor):
    """Return (node, slot) of the value that a tensor has now; the node is None for a constant."""
    cdef TensorBase t
    if not is_tensor(tensor):
        raise TypeError(f"(InvalidType) a graph lies behind a Tensor, but got {type(tensor).__name__}")
    t = <TensorBase>tensor
    node = gradient_edge(t)
    return node, t.slot if type(node) is not AccumulationNode else 0


def describe(GradNode node not None):
    """Return (kind, name, inplace, cleared, outputs, edges, region, hooks).

    Outputs are (shape, dtype); edges are (node or None, slot), by input; the region is None, or (shape, offset) of a
    view or a write: its place among the elements of what the first edge leads to.
    """
    outputs = [(tuple(shape_list(node.output_layout(k))), DTYPES[node.output_dtype(k)].name.decode()) for k in range(node.n_outputs)]
    edges = [(node.edge(i), node.edge_slot(i) if node.edge(i) is not None else 0) for i in range(node.n_edges)]
    if type(node) is AccumulationNode:
        kind, name = "leaf", (<AccumulationNode>node).name
    elif node.row.id == OP_REGION_WRITE:
        kind, name = "write", node.name()
    elif node.row.family == FAMILY_VIEW or node.row.family == FAMILY_GETITEM or node.row.id == OP_VIEW:
        kind, name = "view", node.name()
    else:
        kind, name = "operator", node.name()
    region = None if node.region is None else (tuple(shape_list(node.region)), node.region_offset)
    hooks = 0 if node.hooks is None else len(node.hooks)
    return kind, name, bool(node.inplace), bool(node.cleared), outputs, edges, region, hooks


def saved_by(GradNode node not None):
    """Return what a node keeps for backward, as (role, shape, dtype, bytes, memory, bytes of memory, version, version now, state).

    The state is ``kept``, ``overwritten`` (backward refuses, or takes what ``allow_mutation_on_saved_tensors`` has preserved), ``packed``
    (by a hook: no memory of the library's) or ``shape only``. Memory is told apart by a number; 0 if none is held.
    """
    cdef int k, source
    cdef SavedTensor *kept
    cdef Storage storage
    cdef Layout layout
    cdef OperatorNode keeper
    found = []
    if type(node) is not OperatorNode:
        return found
    keeper = <OperatorNode>node
    for k in range(node.n_saved):
        kept = &keeper.saved[k]
        if kept.layout == NULL:
            continue
        layout = <Layout>kept.layout
        source = kept.source
        role = ("value" if source < 0 else f"input {source}" if source < OUTPUT
                else "output" if node.n_outputs == 1 else f"output {source - OUTPUT}")
        what = (role, tuple(shape_list(layout)), DTYPES[kept.dtype].name.decode())
        nbytes = layout.numel * DTYPES[kept.dtype].itemsize
        if kept.storage != NULL:
            storage = <Storage>kept.storage
            intact = untouched(storage, kept.version, kept.data, layout, DTYPES[kept.dtype].itemsize)
            found.append((*what, nbytes, serial_of(storage), storage.nbytes, kept.version, storage.version.current,
                          "kept" if intact else "overwritten"))
        elif keeper.packed is not None and keeper.packed[k] is not None:
            version = (<Packed>keeper.packed[k]).saved_version
            found.append((*what, nbytes, 0, 0, version, version, "packed"))
        else:
            found.append((*what, 0, 0, 0, 0, 0, "shape only"))
    return found
