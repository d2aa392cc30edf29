"""TensorWrapper: a value kept for backward, the snapshot of its version, and its recovery (S5)."""
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

from eager_core.dtypes cimport DTYPES
from eager_core.errors cimport precondition_not_met, version_error
from eager_core.grad_mode cimport grad_enabled
from eager_core.grad_node cimport AccumulationNode, GradNode, OperatorNode, SavedTensor
from eager_core.layout cimport Layout
from eager_core.provenance cimport explanation, role_of
from eager_core.saved_hooks cimport unpacked
from eager_core.storage cimport Storage, untouched
from eager_core.tensor cimport empty_tensor, new_tensor, private_copy
from eager_core.write_log cimport LOST, UNCHANGED, Old, old_value, take_snapshot


cdef int save_tensor(OperatorNode node, int k, TensorBase t, int source) except -1:
    """Keep storage, geometry and version: never the tensor object, so that no cycle can arise (S5.6)."""
    cdef SavedTensor *kept = &node.saved[k]
    if t.storage.version.outsiders:
        t = private_copy(t)          # no version tells of writes that the library does not make
    save_meta(node, k, t, source)
    Py_INCREF(t.storage)
    kept.storage = <PyObject *>t.storage
    kept.data = t.data
    kept.version = t.storage.version.current
    take_snapshot(t.storage, t.data, t.layout, DTYPES[t.dtype].itemsize)
    if t._name:
        Py_INCREF(t._name)
        kept.name = <PyObject *>t._name
    return 0


cdef int save_meta(OperatorNode node, int k, TensorBase t, int source) except -1:
    """Keep shape and dtype only: no memory, no version check (S5.2)."""
    cdef SavedTensor *kept = &node.saved[k]
    Py_INCREF(t.layout)
    kept.layout = <PyObject *>t.layout
    kept.dtype = t.dtype
    kept.source = source
    return 0


cdef TensorBase value_of(OperatorNode node, int k):
    cdef SavedTensor *kept = &node.saved[k]
    cdef Storage storage
    if k >= node.n_saved or kept.storage == NULL:
        if k < node.n_saved and node.packed is not None and node.packed[k] is not None:
            return unpacked(node, k, role_of(node, kept))
        precondition_not_met(f"{node.name()} has no saved tensor {k}")
    storage = <Storage>kept.storage
    if untouched(storage, kept.version, kept.data, <Layout>kept.layout, DTYPES[kept.dtype].itemsize):
        return new_tensor(storage, <Layout>kept.layout, kept.data, kept.dtype)
    made = old_tensor(storage, kept.version, <Layout>kept.layout, kept.data, kept.dtype)
    if made is None:
        version_error("" if kept.name == NULL else <str>kept.name, storage.version.current, kept.version, explanation(node, kept))
    return made


cdef TensorBase recover(OperatorNode node, int k):
    cdef SavedTensor *kept = &node.saved[k]
    cdef TensorBase made = value_of(node, k)
    cdef GradNode history
    if not grad_enabled():
        return made
    # create_graph: the value gets the history of the version that was saved (S5.10).
    if kept.source >= OUTPUT:
        give_history(made, node, kept.source - OUTPUT)
    elif kept.source < node.n_edges:
        history = node.edge(kept.source)
        if history is not None:
            give_history(made, history, node.edge_slot(kept.source))
    return made


cdef void give_history(TensorBase made, GradNode history, int slot) noexcept:
    made._stop_gradient = False
    made.slot = slot
    if type(history) is AccumulationNode:
        made.accumulator = <AccumulationNode>history
    else:
        made.grad_node = history


cdef TensorBase old_tensor(Storage storage, uint64_t version, Layout layout, char *data, int dtype):
    cdef int itemsize = DTYPES[dtype].itemsize
    cdef Old found = old_value(storage, version, data, layout, itemsize, NULL)
    cdef TensorBase made
    if found == LOST:
        return None
    if found == UNCHANGED:
        return new_tensor(storage, layout, data, dtype)
    made = empty_tensor(layout, dtype)
    old_value(storage, version, data, layout, itemsize, made.data)
    return made
