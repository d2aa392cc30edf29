"""Nodes of the autograd graph: what an operator leaves behind for backward."""
cimport cython
from cpython.object cimport PyObject, PyTypeObject, destructor
from cpython.ref cimport Py_XDECREF
from libc.string cimport memset

from eager_core._generated.op_ids cimport OP_PY_LAYER
from eager_core.allocator cimport give_block, register_keeper, take_block
from eager_core.errors cimport resource_exhausted
from eager_core.modes cimport lines_here, watch_on
from eager_core.recycling cimport (
    EAGER_KEPT_NODES, PyObject_GC_Track, PyObject_GC_UnTrack, eager_expect_node, eager_intercept_dealloc, eager_is_exactly, eager_revive,
)
from eager_core.storage cimport Storage
from eager_core.write_log cimport drop_snapshot


@cython.no_gc_clear
cdef class GradNode:
    """A recorded operator. ``name()`` tells which."""

    def __init__(self):
        raise TypeError("grad nodes are made by recorded operators only")

    def name(self):
        """Return the node's name, such as ``ExpGradNode``."""
        if self.row == NULL:
            return "GradNodeAccumulation"
        if self.row.id == OP_PY_LAYER and (<OperatorNode>self).attr_objects is not None:
            return f"GradNodePyLayer_{(<OperatorNode>self).attr_objects[0]}"
        return self.row.node_name.decode()

    def __repr__(self):
        return f"<{self.name()}>"

    cdef GradNode edge(self, int i):
        return self.next_0 if i == 0 else self.next_1

    cdef int edge_slot(self, int i) noexcept:
        return self.slot_0 if i == 0 else self.slot_1

    cdef int set_edge(self, int i, GradNode target, int slot) except -1:
        """Edges are set in order, 0 first."""
        self.n_edges = i + 1
        if i == 0:
            self.next_0 = target
            self.slot_0 = slot
        else:
            self.next_1 = target
            self.slot_1 = slot
        return 0

    cdef void clear(self):
        """What a pass without retain_graph leaves: no values, no edges, so that memory goes as the pass goes (S5.7)."""
        self.cleared = True
        self.n_edges = 0
        self.next_0 = None
        self.next_1 = None

    cdef Layout output_layout(self, int slot):
        return self.out_layout

    cdef int output_dtype(self, int slot) except -1:
        return self.out_dtype


@cython.final
@cython.no_gc_clear
cdef class OperatorNode(GradNode):
    """A recorded operator with a formula."""

    def __dealloc__(self):
        release_saved(<PyObject *>self)

    cdef GradNode edge(self, int i):
        if i < 2:
            return self.next_0 if i == 0 else self.next_1
        return None if self.next_rest is None else <GradNode>self.next_rest[i - 2]

    cdef int edge_slot(self, int i) noexcept:
        return self.slot_0 if i == 0 else self.slot_1 if i == 1 else self.slots_rest[i - 2]

    cdef int set_edge(self, int i, GradNode target, int slot) except -1:
        if i < 2:
            return GradNode.set_edge(self, i, target, slot)
        self.n_edges = i + 1
        if i == 2:
            self.next_rest = []
            self.slots_rest = []
        self.next_rest.append(target)
        self.slots_rest.append(slot)
        return 0

    cdef int reserve_saved(self, int n) except -1:
        cdef SavedTensor *block
        if n <= INLINE_SAVED:
            self.saved = self.inline_saved
        else:
            block = <SavedTensor *>take_block(n * sizeof(SavedTensor))
            if block == NULL:
                resource_exhausted("cannot allocate the saved tensors of a node")
            self.saved = block
            memset(block, 0, n * sizeof(SavedTensor))
        self.n_saved = n
        return 0

    cdef void clear(self):
        self.cleared = True
        if self.running:
            return                   # by another thread; that pass clears it
        GradNode.clear(self)
        release_saved(<PyObject *>self)
        self.next_rest = None
        self.attr_objects = None
        self.packed = None

    cdef Layout output_layout(self, int slot):
        return self.out_layout if slot == 0 else <Layout>self.more_outputs[slot - 1][0]

    cdef int output_dtype(self, int slot) except -1:
        return self.out_dtype if slot == 0 else self.more_outputs[slot - 1][1]


cdef void release_saved(PyObject *node) noexcept:
    """Takes a pointer, for a node on its way out has no references that could be counted."""
    cdef int i
    cdef SavedTensor *one
    for i in range((<OperatorNode>node).n_saved):
        one = &(<OperatorNode>node).saved[i]
        if one.storage != NULL:
            drop_snapshot(<Storage>one.storage, one.version)
            Py_XDECREF(one.storage)
        Py_XDECREF(one.layout)
        Py_XDECREF(one.name)
        one.storage = one.layout = one.name = NULL
    if (<OperatorNode>node).n_saved > INLINE_SAVED:
        give_block(<char *>(<OperatorNode>node).saved, (<OperatorNode>node).n_saved * sizeof(SavedTensor))
        (<OperatorNode>node).saved = (<OperatorNode>node).inline_saved
    (<OperatorNode>node).n_saved = 0


cdef enum:
    AHEAD = 4                    # nodes that will be made
    RECENT = 16                  # nodes that were made; a power of 2

cdef struct Kept:                # nodes without references; their object fields are None
    int n
    PyObject *nodes[EAGER_KEPT_NODES + 1]

cdef Kept _kept                           # of plain nodes
cdef Kept _kept_operators
cdef PyObject *_dying = NULL              # nodes that wait for their turn, linked by `run`
cdef bint _retiring = False
cdef const void *_recent[RECENT]          # the last nodes that were made, in a ring
cdef unsigned int _turn = 0


cdef inline bint _is_operator(PyObject *o) noexcept:
    return eager_is_exactly(o, <PyTypeObject *>OperatorNode)


cdef inline void _plain_dealloc(PyObject *o) noexcept:
    if _is_operator(o):
        _dealloc_operator(o)
    else:
        _dealloc_node(o)


cdef void _retire(PyObject *o) noexcept:
    """The last reference is gone. A node takes the nodes behind it along: one by one, not by recursion, or a long chain would overflow
    the C stack (S9.6)."""
    global _dying, _retiring
    cdef Kept *kept
    if not (_is_operator(o) or eager_is_exactly(o, <PyTypeObject *>GradNode)):
        _plain_dealloc(o)
        return
    PyObject_GC_UnTrack(o)
    (<GradNode>o).run = <void *>_dying
    _dying = o
    if _retiring:
        return
    _retiring = True
    while _dying != NULL:
        o = _dying
        _dying = <PyObject *>(<GradNode>o).run
        _let_go(o)
        kept = &_kept_operators if _is_operator(o) else &_kept
        if kept.n < EAGER_KEPT_NODES:
            kept.nodes[kept.n] = o
            kept.n += 1
        else:
            _plain_dealloc(o)
    _retiring = False


cdef void _let_go(PyObject *o) noexcept:
    if _is_operator(o):
        _let_go_operator(o)
    if (<GradNode>o).next_0 is not None:
        (<GradNode>o).next_0 = None
    if (<GradNode>o).next_1 is not None:
        (<GradNode>o).next_1 = None
    if (<GradNode>o).region is not None:
        (<GradNode>o).region = None
    if (<GradNode>o).hooks is not None:
        (<GradNode>o).hooks = None
    if (<GradNode>o).captures is not None:
        (<GradNode>o).captures = None
    if (<GradNode>o).lines is not None:
        (<GradNode>o).lines = None
    (<GradNode>o).out_layout = None


cdef inline void _let_go_operator(PyObject *o) noexcept:
    release_saved(o)
    if (<OperatorNode>o).next_rest is not None:
        (<OperatorNode>o).next_rest = None
    if (<OperatorNode>o).slots_rest is not None:
        (<OperatorNode>o).slots_rest = None
    if (<OperatorNode>o).more_outputs is not None:
        (<OperatorNode>o).more_outputs = None
    if (<OperatorNode>o).attr_objects is not None:
        (<OperatorNode>o).attr_objects = None
    if (<OperatorNode>o).packed is not None:
        (<OperatorNode>o).packed = None


cdef destructor _dealloc_node = eager_intercept_dealloc(<PyTypeObject *>GradNode, _retire)
cdef destructor _dealloc_operator = eager_intercept_dealloc(<PyTypeObject *>OperatorNode, _retire)


cdef void _free_all(Kept *kept) noexcept:
    while kept.n:
        kept.n -= 1
        _plain_dealloc(kept.nodes[kept.n])


cdef void _free_kept() noexcept:
    _free_all(&_kept)
    _free_all(&_kept_operators)


register_keeper(_free_kept, NULL)


cdef inline GradNode _revived(Kept *kept, PyTypeObject *type):
    cdef GradNode made
    kept.n -= 1
    made = <GradNode>eager_revive(kept.nodes[kept.n], type)
    if kept.n >= AHEAD:
        eager_expect_node(kept.nodes[kept.n - AHEAD])
    made.n_edges = made.running = 0
    made.inplace = made.cleared = made.real_part = False
    made.run = NULL
    PyObject_GC_Track(<PyObject *>made)
    return made


cdef inline int _begin(GradNode made, OpRow *row) except -1:
    global _turn
    made.row = row
    made.n_outputs = 1
    made.earlier = _recent[_turn & (RECENT - 1)]
    _recent[_turn & (RECENT - 1)] = <const void *>made
    _turn += 1
    if watch_on:
        made.lines = lines_here()
    return 0


cdef GradNode new_node(OpRow *row):
    cdef GradNode made
    made = <GradNode>GradNode.__new__(GradNode) if _kept.n == 0 else _revived(&_kept, <PyTypeObject *>GradNode)
    _begin(made, row)
    return made


cdef OperatorNode new_operator_node(OpRow *row):
    cdef OperatorNode made
    if _kept_operators.n == 0:
        made = OperatorNode.__new__(OperatorNode)
    else:
        made = <OperatorNode>_revived(&_kept_operators, <PyTypeObject *>OperatorNode)
    _begin(made, row)
    return made


@cython.final
cdef class AccumulationNode(GradNode):
    pass


cdef AccumulationNode new_accumulation_node(Layout layout, int dtype, str name):
    cdef AccumulationNode made = AccumulationNode.__new__(AccumulationNode)
    made.n_outputs = 1
    made.out_layout = layout
    made.out_dtype = dtype
    made.name = name
    return made


@cython.final
cdef class Hook:
    """Handle of a registered hook."""

    def __init__(self):
        raise TypeError("hooks are made by Tensor.register_hook")

    def remove(self):
        """Take the hook off; True the first time, False afterwards. A running pass finishes with the hooks it began with."""
        if self.function is None:
            return False
        self.function = None
        return True
