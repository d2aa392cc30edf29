# What a pass knows while it lasts, and how gradients get from node to node. Included by engine.pyx.
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.string cimport memcpy, memset

from eager_core._generated.op_ids cimport OP_REGION_WRITE
from eager_core.allocator cimport give_block, take_block
from eager_core.grad_node cimport AccumulationNode, GradNode, OperatorNode
from eager_core.grad_tensor_holder cimport GradTensorHolder, fit, hold, hold_region, in_shape, let_go
from eager_core.layout cimport Layout, same_shape
from eager_core.recycling cimport eager_expect_edges
from eager_core.tensor cimport TensorBase

cdef struct NodeState:
    PyObject *node               # owned
    Py_ssize_t first_holder
    int waiting                  # consumers that have not run yet
    bint needed                  # grad(): some input asked for lies behind it

cdef struct Commit:              # a gradient for a leaf or for a retained one, both owned
    PyObject *cell               # AccumulationNode
    PyObject *gradient           # Tensor, or a list of pieces

cdef extern from "Python.h":
    PyObject *PyList_GET_ITEM(list items, Py_ssize_t i) noexcept

cdef enum:
    FEW = 8                      # nodes of a small graph: no memory is asked for
    # Run.watch
    EXPLAIN = 1                  # detect_anomaly: errors
    CHECK_FINITE = 2             # detect_anomaly: values
    LOOKED_AT = 4                # by the profiler or the log


cdef inline PyObject *edge_of(GradNode node, int i) noexcept:
    """The node behind, borrowed from the edge; NULL where no gradient is wanted."""
    cdef PyObject *behind
    if i == 0:
        behind = <PyObject *>node.next_0
    elif i == 1:
        behind = <PyObject *>node.next_1
    elif (<OperatorNode>node).next_rest is None:             # cleared meanwhile, by a pass in a finalizer or in another thread
        return NULL
    else:
        behind = PyList_GET_ITEM((<OperatorNode>node).next_rest, i - 2)
    return NULL if behind == <PyObject *>None else behind


cdef inline int edge_slot_of(GradNode node, int i) noexcept:
    return node.slot_0 if i == 0 else node.slot_1 if i == 1 else (<OperatorNode>node).slots_rest[i - 2]


cdef inline bint overwrites_all(GradNode node) noexcept:
    return node.row != NULL and node.row.id == OP_REGION_WRITE and node.region.numel == node.out_layout.numel


cdef void *grown(void *old, void *few, Py_ssize_t old_room, Py_ssize_t room) except NULL:
    """Memory for `room` bytes that begins as the `old`, which is given back unless it is `few`, the pass's own room.

    It comes from the blocks that tensors use: the system would take it back after each pass, and clear it page by page for the next,
    which costs a long graph as much as all the rest of the pass.
    """
    cdef void *new = take_block(room)
    if new == NULL:
        raise MemoryError
    memcpy(new, old, old_room)
    if old != few:
        give_block(<char *>old, old_room)
    return new


@cython.final
@cython.freelist(8)
cdef class Run:
    """State of one backward pass. Nodes remember their number while the pass lasts; a node that another pass holds is looked up here."""
    cdef NodeState *states
    cdef GradTensorHolder *holders    # of all outputs of all nodes, one after the other
    cdef Commit *commits
    cdef NodeState[8] few_states
    cdef GradTensorHolder[8] few_holders
    cdef Commit[8] few_commits
    cdef Py_ssize_t n_states, room, n_holders, holder_room, n_commits, commit_room
    cdef dict foreign                # id(node) -> number
    cdef bint retain_graph, create_graph, partial
    cdef int watch                   # what was on in the thread when the pass began
    cdef dict wanted                 # (id(node), slot) -> list of result numbers; partial passes only
    cdef set blocked                 # (id(node), slot) of no_grad_vars
    cdef list results

    def __cinit__(self):
        self.states = self.few_states
        self.holders = self.few_holders
        self.commits = self.few_commits
        self.room = self.holder_room = self.commit_room = FEW

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n_commits):
            Py_XDECREF(self.commits[i].cell)
            Py_XDECREF(self.commits[i].gradient)
        for i in range(self.n_holders):
            let_go(&self.holders[i])
        for i in range(self.n_states):
            if self.states[i].node != NULL:
                if (<GradNode>self.states[i].node).run == <void *>self:
                    (<GradNode>self.states[i].node).run = NULL
                Py_XDECREF(self.states[i].node)
        if self.states != self.few_states:
            give_block(<char *>self.states, self.room * sizeof(NodeState))
        if self.holders != self.few_holders:
            give_block(<char *>self.holders, self.holder_room * sizeof(GradTensorHolder))
        if self.commits != self.few_commits:
            give_block(<char *>self.commits, self.commit_room * sizeof(Commit))

    cdef inline Py_ssize_t find(self, PyObject *node) except -2:
        """The node's number, or -1."""
        if (<GradNode>node).run == <void *>self:
            return (<GradNode>node).run_index
        if self.foreign is None:
            return -1
        return self.foreign.get(<size_t>node, -1)

    cdef Py_ssize_t number(self, PyObject *new) except -1:
        cdef Py_ssize_t at = self.n_states, more
        cdef GradNode node = <GradNode>new
        if at == self.room:
            more = 4 * self.room
            self.states = <NodeState *>grown(self.states, self.few_states, at * sizeof(NodeState), more * sizeof(NodeState))
            self.room = more
        if self.n_holders + node.n_outputs > self.holder_room:
            more = 4 * self.holder_room + node.n_outputs
            self.holders = <GradTensorHolder *>grown(self.holders, self.few_holders, self.holder_room * sizeof(GradTensorHolder),
                                                     more * sizeof(GradTensorHolder))
            self.holder_room = more
        eager_expect_edges(node.earlier)          # discovery goes from one node to the next: it would wait for each
        if node.run == NULL:
            node.run = <void *>self
            node.run_index = at
        else:
            if self.foreign is None:
                self.foreign = {}
            self.foreign[<size_t><void *>node] = at
        Py_INCREF(node)
        self.states[at].node = <PyObject *>node
        self.states[at].waiting = 0
        self.states[at].needed = True
        self.states[at].first_holder = self.n_holders
        memset(&self.holders[self.n_holders], 0, node.n_outputs * sizeof(GradTensorHolder))
        self.n_holders += node.n_outputs
        self.n_states += 1
        return at

    cdef int commit_later(self, AccumulationNode cell, object gradient) except -1:
        cdef Py_ssize_t at = self.n_commits, more
        if at == self.commit_room:
            more = 4 * self.commit_room
            self.commits = <Commit *>grown(self.commits, self.few_commits, at * sizeof(Commit), more * sizeof(Commit))
            self.commit_room = more
        Py_INCREF(cell)
        Py_INCREF(gradient)
        self.commits[at].cell = <PyObject *>cell
        self.commits[at].gradient = <PyObject *>gradient
        self.n_commits += 1
        return 0

    cdef inline GradTensorHolder *holder(self, GradNode node, int slot) except NULL:
        """It stays where it is once discovery is over."""
        return &self.holders[self.states[self.find(<PyObject *>node)].first_holder + slot]

    cdef bint is_blocked(self, GradNode target, int slot) except -1:
        return (<size_t><void *>target, slot) in self.blocked

    cdef int deliver(self, GradNode source, GradNode target, int slot, TensorBase g) except -1:
        if self.blocked is not None and self.is_blocked(target, slot):
            return 0
        if slot != 0 or g.dtype != target.out_dtype or not same_shape(g.layout, target.out_layout):
            g = fit(g, source, target, slot)
        return hold(self.holder(target, slot), g)

    cdef int deliver_region(self, GradNode source, GradNode target, int slot, TensorBase g, Layout region, Py_ssize_t offset) except -1:
        """A gradient for a region of the target's value, of the region's size."""
        cdef Layout layout = target.output_layout(slot)
        if region.contiguous and region.numel == layout.numel and g.layout.contiguous:
            return self.deliver(source, target, slot, in_shape(g, layout))               # the value was reshaped
        if self.blocked is not None and self.is_blocked(target, slot):
            return 0
        return hold_region(self.holder(target, slot), g, region, offset)

    cdef int deliver_zeros(self, GradNode target, int slot) except -1:
        if self.blocked is None or not self.is_blocked(target, slot):
            self.holder(target, slot).zeros = True
        return 0
