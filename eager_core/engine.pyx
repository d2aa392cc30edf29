"""Runs a graph backwards: iteratively, every node once and after all its consumers (S9)."""
import os

import numpy as np

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.pythread cimport (
    PyThread_acquire_lock, PyThread_allocate_lock, PyThread_get_thread_ident, PyThread_release_lock, PyThread_type_lock,
)
from cpython.ref cimport Py_CLEAR, Py_INCREF, Py_XDECREF
from libc.string cimport memcpy, memset

from eager_core import anomaly

from eager_core._generated.op_ids cimport OP_ADD, OP_ASSIGN, OP_REGION_WRITE, OP_RESHAPE, OP_VIEW
from eager_core.allocator cimport give_block, take_block
from eager_core.dtypes cimport DTYPES
from eager_core.dygraph cimport call_1, call_2, call_2_in_place, call_object
from eager_core.eager_utils cimport gradient_edge
from eager_core.errors cimport already_exists, freed_error, invalid_argument, precondition_not_met, unavailable
from eager_core.grad_mode cimport grad_enabled, set_grad_enabled
from eager_core.grad_node cimport AccumulationNode, GradNode, Hook, OperatorNode
from eager_core.grad_tensor_holder cimport add_region, copy_region, exclusive, fit, ones, real_part, region_view, zero_region, zeros
from eager_core.layout cimport Layout, apart, contiguous_layout, same_layout, same_shape, shape_list, shape_text
from eager_core.modes cimport modes_on, watch_on, watching
from eager_core.op cimport FAMILY_GETITEM, FAMILY_VIEW
from eager_core.profiling cimport SPAN_PASS, Span, enter_span, leave_span, watched
from eager_core.recycling cimport eager_expect_node
from eager_core.storage cimport bump_region
from eager_core.tensor cimport TensorBase, alias, as_array, is_tensor, type_name, wants_grad
from eager_core.unrecorded cimport add_same
from eager_core.watched_call cimport begin_node, end_node, note_tensor

cdef backward_fn[1024] _backward


cdef int register_backward(int op, backward_fn backward) except -1:
    if op >= 1024:
        raise SystemError("(Fatal) the table of gradients is full: raise its size")
    _backward[op] = backward
    return 0


cdef struct NodeState:
    PyObject *node               # owned
    Py_ssize_t first_slot
    int waiting                  # consumers that have not run yet
    bint needed                  # grad(): some input asked for lies behind it

# GradTensorHolder: what has arrived for one output of a node. A gradient that is zero outside one region stays as small as that region:
# a time stepper that writes u[t + 1] and reads u[t] never needs one of u's size.
cdef struct SlotState:
    PyObject *dense              # owned Tensor or NULL
    PyObject *region             # owned Layout or NULL: `dense` is for that region, the rest is zero
    Py_ssize_t offset            # of the region, in elements
    PyObject *pieces             # owned, or NULL: a list of more (Tensor, Layout, offset); the empty tuple: nothing but zeros has arrived

# Commits of several threads into one leaf: the additions must not run at once (S9.23).
cdef PyThread_type_lock _commit_lock = PyThread_allocate_lock()
cdef unsigned long _committing = 0            # the thread that holds the lock


cdef bint _lock() noexcept:
    """False: this thread holds it already. The collector may run a finalizer in the middle of a commit, and that another backward."""
    global _committing
    if _committing == PyThread_get_thread_ident():
        return False
    if not PyThread_acquire_lock(_commit_lock, 0):
        with nogil:
            PyThread_acquire_lock(_commit_lock, 1)
    _committing = PyThread_get_thread_ident()
    return True


cdef void _unlock() noexcept:
    global _committing
    _committing = 0
    PyThread_release_lock(_commit_lock)


def _renew_lock_after_fork():
    """In a child, the thread that was in the middle of a commit does not exist, and would never give the lock back."""
    global _commit_lock, _committing
    if _committing != PyThread_get_thread_ident():
        _commit_lock = PyThread_allocate_lock()
        _committing = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock_after_fork)


# ---- one pass --------------------------------------------------------------------------------------------------------------------------

cdef struct Commit:              # a gradient for a leaf or for a retained one, both owned
    PyObject *cell               # AccumulationNode
    PyObject *gradient           # Tensor, or a list of pieces

cdef extern from "Python.h":
    PyObject *PyList_GET_ITEM(list items, Py_ssize_t i) noexcept

cdef tuple NOTHING = ()


cdef inline bint in_pieces(SlotState *place) noexcept:
    """Whether regions have arrived and nothing of the whole's size."""
    return place.region != NULL or (place.dense == NULL and place.pieces != NULL and place.pieces != <PyObject *>NOTHING)


cdef enum:
    LOOKED_AT = 4                # Run.watch: by the profiler or the log
    AHEAD = 12                   # nodes
    FEW = 8                      # nodes of a small graph: no memory is asked for


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


cdef int check_finite(PyObject *gradient, str what, GradNode node) except -1:
    """detect_anomaly: a gradient with a NaN or an infinity in it is an error where it comes up."""
    cdef TensorBase g = <TensorBase>gradient
    array = as_array(g, False)
    if not np.isfinite(array).all():
        kind = "nan" if np.isnan(array).any() else "inf"
        where = "" if node.lines is None else f" It was made in forward by:\n{anomaly.text(node.lines)}"
        precondition_not_met(f"{what} {node.name()} has {kind} values, shape {shape_text(g.layout)}.{where}")
    return 0


cdef inline bint overwrites_all(GradNode node) noexcept:
    return node.row != NULL and node.row.id == OP_REGION_WRITE and node.region.numel == node.out_layout.numel


cdef inline int edge_slot_of(GradNode node, int i) noexcept:
    return node.slot_0 if i == 0 else node.slot_1 if i == 1 else (<OperatorNode>node).slots_rest[i - 2]


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
    cdef SlotState *slots
    cdef Commit *commits
    cdef NodeState[8] few_states
    cdef SlotState[8] few_slots
    cdef Commit[8] few_commits
    cdef Py_ssize_t n_states, room, n_slots, slot_room, n_commits, commit_room
    cdef dict foreign                # id(node) -> number
    cdef bint retain_graph, create_graph, partial
    cdef int watch                   # when the pass began: detect_anomaly of the thread (1, 2), and LOOKED_AT
    cdef dict wanted                 # (id(node), slot) -> list of result numbers; partial passes only
    cdef set blocked                 # (id(node), slot) of no_grad_vars
    cdef list results

    def __cinit__(self):
        self.states = self.few_states
        self.slots = self.few_slots
        self.commits = self.few_commits
        self.room = self.slot_room = self.commit_room = FEW

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n_commits):
            Py_XDECREF(self.commits[i].cell)
            Py_XDECREF(self.commits[i].gradient)
        for i in range(self.n_slots):
            Py_XDECREF(self.slots[i].dense)
            Py_XDECREF(self.slots[i].region)
            Py_XDECREF(self.slots[i].pieces)
        for i in range(self.n_states):
            if self.states[i].node != NULL:
                if (<GradNode>self.states[i].node).run == <void *>self:
                    (<GradNode>self.states[i].node).run = NULL
                Py_XDECREF(self.states[i].node)
        if self.states != self.few_states:
            give_block(<char *>self.states, self.room * sizeof(NodeState))
        if self.slots != self.few_slots:
            give_block(<char *>self.slots, self.slot_room * sizeof(SlotState))
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
        if self.n_slots + node.n_outputs > self.slot_room:
            more = 4 * self.slot_room + node.n_outputs
            self.slots = <SlotState *>grown(self.slots, self.few_slots, self.slot_room * sizeof(SlotState), more * sizeof(SlotState))
            self.slot_room = more
        eager_expect_node(node.earlier)          # discovery goes from one node to the next: it would wait for each
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
        self.states[at].first_slot = self.n_slots
        memset(&self.slots[self.n_slots], 0, node.n_outputs * sizeof(SlotState))
        self.n_slots += node.n_outputs
        self.n_states += 1
        return at

    cdef int discover(self) except -1:
        """From the roots, which have numbers: number every node that can be reached, and count its consumers."""
        cdef Py_ssize_t done = 0, at
        cdef int i
        cdef GradNode node
        cdef PyObject *behind
        while done < self.n_states:
            node = <GradNode>self.states[done].node
            done += 1
            if node.cleared:
                freed_error(node.name())         # grad() too: who knows what lay behind it
            if overwrites_all(node) and node.next_0 is not None and node.next_0.cleared:
                # Nothing is left of the old value, so that its graph is gone does not matter.
                node.next_0 = None
            for i in range(node.n_edges):
                behind = edge_of(node, i)
                if behind == NULL:
                    continue
                at = self.find(behind)
                if at < 0:
                    at = self.number(behind)
                self.states[at].waiting += 1
        return 0

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

    cdef int mark_needed(self) except -1:
        """grad(): only nodes on the way to an input asked for need to run. Walks the graph in order, then back."""
        cdef Py_ssize_t *order = <Py_ssize_t *>PyMem_Malloc((self.n_states + 1) * sizeof(Py_ssize_t))
        cdef Py_ssize_t *left = <Py_ssize_t *>PyMem_Malloc((self.n_states + 1) * sizeof(Py_ssize_t))
        cdef Py_ssize_t n = 0, done = 0, at, k
        cdef int i
        cdef GradNode node
        cdef PyObject *behind
        try:
            if order == NULL or left == NULL:
                raise MemoryError
            for k in range(self.n_states):
                left[k] = self.states[k].waiting
                if left[k] == 0:
                    order[n] = k
                    n += 1
            while done < n:
                node = <GradNode>self.states[order[done]].node
                done += 1
                for i in range(node.n_edges):
                    behind = edge_of(node, i)
                    if behind != NULL:
                        at = self.find(behind)
                        left[at] -= 1
                        if left[at] == 0:
                            order[n] = at
                            n += 1
            for done in range(n - 1, -1, -1):
                node = <GradNode>self.states[order[done]].node
                self.states[order[done]].needed = False
                for k in range(node.n_outputs):
                    if (<size_t><void *>node, k) in self.wanted:
                        self.states[order[done]].needed = True
                for i in range(node.n_edges):
                    behind = edge_of(node, i)
                    if behind != NULL and self.states[self.find(behind)].needed:
                        self.states[order[done]].needed = True
        finally:
            PyMem_Free(order)
            PyMem_Free(left)
        return 0

    # ---- delivery ----

    cdef int deliver(self, GradNode source, GradNode target, int slot, TensorBase g) except -1:
        cdef SlotState *place
        if self.blocked is not None and (<size_t><void *>target, slot) in self.blocked:
            return 0
        if slot != 0 or g.dtype != target.out_dtype or not same_shape(g.layout, target.out_layout):
            g = fit(g, source, target, slot)
        place = self.place_of(target, slot)
        if place.region != NULL:
            self.list_region(place)
        elif place.pieces == <PyObject *>NOTHING:
            Py_CLEAR(place.pieces)
        if place.dense == NULL:
            Py_INCREF(g)
            place.dense = <PyObject *>g
            return 0
        return self.add_to(target, slot, g)

    cdef inline SlotState *place_of(self, GradNode node, int slot) except NULL:
        return &self.slots[self.states[self.find(<PyObject *>node)].first_slot + slot]

    cdef int add_to(self, GradNode target, int slot, TensorBase g) except -1:
        cdef SlotState *place = self.place_of(target, slot)
        cdef PyObject *sum_of_both
        if not grad_enabled() and exclusive(place.dense) and add_same(<TensorBase>place.dense, g):
            return 0
        total = call_2(OP_ADD, <TensorBase>place.dense, g)
        # An operator may have run arbitrary code (the collector); look the place up again.
        place = self.place_of(target, slot)
        sum_of_both = place.dense
        Py_INCREF(total)
        place.dense = <PyObject *>total
        Py_XDECREF(sum_of_both)
        return 0

    cdef int deliver_piece(self, GradNode source, GradNode target, int slot, TensorBase g, Layout region, Py_ssize_t offset) except -1:
        """A gradient for a region of the target's value. Never blown up to the target's size here."""
        cdef SlotState *place
        cdef Layout layout = target.output_layout(slot)
        cdef TensorBase whole
        if self.blocked is not None and (<size_t><void *>target, slot) in self.blocked:
            return 0
        if region.contiguous and region.numel == layout.numel and g.layout.contiguous:
            # A reshape: the same elements in the same order.
            if grad_enabled() and wants_grad(g):
                whole = g if same_shape(g.layout, layout) else call_object(OP_RESHAPE, g, None, tuple(shape_list(layout)))
            else:
                whole = g if same_shape(g.layout, layout) else alias(g, contiguous_layout(layout.ndim, layout.dims), g.data)
            return self.deliver(source, target, slot, whole)
        place = self.place_of(target, slot)
        if place.dense == NULL and (place.pieces == NULL or place.pieces == <PyObject *>NOTHING):
            Py_CLEAR(place.pieces)
            Py_INCREF(g)
            place.dense = <PyObject *>g
            Py_INCREF(region)
            place.region = <PyObject *>region
            place.offset = offset
            return 0
        if place.region != NULL and place.offset == offset and same_layout(<Layout>place.region, region) \
                and (<TensorBase>place.dense).dtype == g.dtype:
            return self.add_to(target, slot, g)
        if place.region != NULL:
            self.list_region(place)
        elif place.dense != NULL and exclusive(place.dense) and (<TensorBase>place.dense).layout.contiguous:
            return add_region(<TensorBase>place.dense, region, offset, g)
        self.list_piece(place, g, region, offset)
        if place.dense != NULL:
            self.settle(target, slot)
        return 0

    cdef int deliver_zeros(self, GradNode target, int slot) except -1:
        """The target has a gradient, of zeros, which somebody may look at: they are made when that is certain."""
        cdef SlotState *place
        if self.blocked is not None and (<size_t><void *>target, slot) in self.blocked:
            return 0
        place = self.place_of(target, slot)
        if place.dense == NULL and place.pieces == NULL:
            Py_INCREF(NOTHING)
            place.pieces = <PyObject *>NOTHING
        return 0

    cdef int list_piece(self, SlotState *place, object g, object region, Py_ssize_t offset) except -1:
        if place.pieces == NULL or place.pieces == <PyObject *>NOTHING:
            Py_CLEAR(place.pieces)
            pieces = []
            Py_INCREF(pieces)
            place.pieces = <PyObject *>pieces
        (<list>place.pieces).append((g, region, offset))
        return 0

    cdef int list_region(self, SlotState *place) except -1:
        """The one region becomes one of several."""
        self.list_piece(place, <object>place.dense, <object>place.region, place.offset)
        Py_CLEAR(place.dense)
        Py_CLEAR(place.region)
        return 0

    cdef int settle(self, GradNode node, int slot) except -1:
        """Add the pieces into the dense gradient, which is made or copied only if it must be."""
        cdef Py_ssize_t at = self.states[self.find(<PyObject *>node)].first_slot + slot
        cdef TensorBase dense
        cdef PyObject *old
        if self.slots[at].region != NULL:
            self.list_region(&self.slots[at])
        if self.slots[at].pieces == NULL:
            return 0
        pieces = <object>self.slots[at].pieces
        Py_CLEAR(self.slots[at].pieces)
        if self.slots[at].dense == NULL:
            dense = zeros(node.output_layout(slot), node.output_dtype(slot))
        elif exclusive(self.slots[at].dense) and (<TensorBase>self.slots[at].dense).layout.contiguous:
            dense = <TensorBase>self.slots[at].dense
        else:
            dense = call_1(OP_ASSIGN, <TensorBase>self.slots[at].dense)
        old = self.slots[at].dense
        Py_INCREF(dense)
        self.slots[at].dense = <PyObject *>dense
        Py_XDECREF(old)
        for g, region, offset in pieces:
            add_region(dense, <Layout>region, offset, <TensorBase>g)
        return 0

    # ---- running ----

    cdef int run_hooks(self, GradNode node, int slot) except -1:
        """S9.11, S9.14: hooks see the summed gradient in a buffer of their own."""
        cdef Py_ssize_t at = self.states[self.find(<PyObject *>node)].first_slot + slot
        cdef TensorBase g
        cdef PyObject *old
        cdef list hooks
        hooks = [h for h in node.hooks if (<Hook>h).function is not None]
        if len(hooks) < len(node.hooks):
            node.hooks[:] = hooks
        hooks = [(<Hook>h).function for h in hooks if (<Hook>h).slot == slot]
        if not hooks:
            return 0
        if not exclusive(self.slots[at].dense):
            g = call_1(OP_ASSIGN, <TensorBase>self.slots[at].dense)
        else:
            g = <TensorBase>self.slots[at].dense
        for hook in hooks:
            answer = hook(g)
            if answer is None:
                continue
            if not is_tensor(answer):
                raise TypeError(f"(InvalidType) a hook must return None or a Tensor, but got {type_name(answer)}")
            if not same_shape((<TensorBase>answer).layout, g.layout) or (<TensorBase>answer).dtype != g.dtype:
                invalid_argument(
                    f"a hook returned a gradient of shape {shape_text((<TensorBase>answer).layout)} and dtype "
                    f"{DTYPES[(<TensorBase>answer).dtype].name.decode()} in place of one of shape {shape_text(g.layout)} and dtype "
                    f"{DTYPES[g.dtype].name.decode()}")
            g = <TensorBase>answer
        answer = None
        if not same_shape(g.layout, node.output_layout(slot)):
            invalid_argument(f"a hook changed the shape of its gradient from {shape_text(node.output_layout(slot))} to "
                             f"{shape_text(g.layout)}")
        old = self.slots[at].dense
        Py_INCREF(g)
        self.slots[at].dense = <PyObject *>g
        Py_XDECREF(old)
        g = None
        if not exclusive(self.slots[at].dense) or (not self.create_graph and wants_grad(<TensorBase>self.slots[at].dense)):
            # A hook has kept it, and may write to it before the pass ends; or it has a history that nobody asked for (S9.8).
            g = call_1(OP_ASSIGN, <TensorBase>self.slots[at].dense)
            old = self.slots[at].dense
            Py_INCREF(g)
            self.slots[at].dense = <PyObject *>g
            Py_XDECREF(old)
        return 0

    cdef int capture(self, GradNode node, int slot) except -1:
        """Retained gradients, and results of grad(): after all hooks (S9.13)."""
        cdef Py_ssize_t at = self.states[self.find(<PyObject *>node)].first_slot + slot
        if node.captures is not None and not self.partial:
            for entry in node.captures:
                if entry[0] == slot:
                    self.commit_later(<AccumulationNode>entry[1], <object>self.slots[at].dense)
        if self.partial:
            for k in self.wanted.get((<size_t><void *>node, slot), ()):
                self.results[k] = <object>self.slots[at].dense
        return 0

    cdef bint finish(self, Py_ssize_t at) except -1:
        """All consumers of the node have run: hooks, captures, its own backward, delivery. False: what it saved was not needed."""
        cdef GradNode node = <GradNode>self.states[at].node
        cdef Py_ssize_t first = self.states[at].first_slot
        cdef int slot
        cdef bint arrived = False
        if node.row != NULL and node.row.id == OP_REGION_WRITE and self.run_narrow(node, first):
            return True
        if type(node) is AccumulationNode and in_pieces(&self.slots[first]) and not self.partial and not self.create_graph \
                and not node.hooks and (<AccumulationNode>node).grad is not None:
            # Pieces for a leaf that has a gradient already: they go straight into it.
            if self.slots[first].region != NULL:
                self.list_region(&self.slots[first])
            self.commit_later(<AccumulationNode>node, <object>self.slots[first].pieces)
            Py_CLEAR(self.slots[first].pieces)
            return False
        for slot in range(node.n_outputs):
            if self.slots[first + slot].pieces != NULL or self.slots[first + slot].region != NULL:
                self.settle(node, slot)
            if self.slots[first + slot].dense == NULL:
                continue
            arrived = True
            if self.watch & 2:
                check_finite(self.slots[first + slot].dense, "the sum of the gradients that arrived at", node)
            if node.hooks is not None:
                self.run_hooks(node, slot)
                if self.watch & 2:
                    check_finite(self.slots[first + slot].dense, "what the hooks made of the gradient at", node)
            if self.partial or node.captures is not None:
                self.capture(node, slot)
        if type(node) is AccumulationNode:
            if arrived and not self.partial:
                self.commit_later(<AccumulationNode>node, <object>self.slots[first].dense)
            return False
        if self.partial and not self.leads_on(node):
            return False
        if not arrived:
            return True
        if node.cleared:
            freed_error(node.name())
        if node.row.id == OP_REGION_WRITE:
            self.run_region_write(node, first)
        elif node.row.family == FAMILY_VIEW or node.row.family == FAMILY_GETITEM or node.row.id == OP_VIEW:
            if node.next_0 is not None:
                self.deliver_piece(node, node.next_0, node.slot_0, <TensorBase>self.slots[first].dense, node.region, node.region_offset)
        else:
            self.run_formula(<OperatorNode>node, first)
        return True

    cdef bint finish_watched(self, Py_ssize_t at) except -1:
        """The same with somebody looking."""
        cdef GradNode node = <GradNode>self.states[at].node
        cdef Span span
        cdef bint ran
        if not self.watch & LOOKED_AT:
            return self.finish_explained(at)
        name = node.name()                       # of a custom function: not known any more when it is cleared
        begin_node(node, &span)
        try:
            ran = self.finish_explained(at) if self.watch & 3 else self.finish(at)
        except BaseException:
            end_node(node, &span, name, True)
            raise
        end_node(node, &span, name, False)
        return ran

    cdef bint finish_explained(self, Py_ssize_t at) except -1:
        """The same under detect_anomaly: an error is told where forward made the node."""
        cdef GradNode node = <GradNode>self.states[at].node
        before = anomaly.enter(node.lines)
        try:
            return self.finish(at)
        except BaseException as error:
            anomaly.explain(error, node.name(), node.lines)
            raise
        finally:
            anomaly.leave(before)

    cdef bint leads_on(self, GradNode node) except -1:
        cdef int i
        for i in range(node.n_edges):
            if edge_of(node, i) != NULL and self.states[self.find(edge_of(node, i))].needed:
                return True
        return False

    cdef int run_formula(self, OperatorNode node, Py_ssize_t first) except -1:
        cdef PyObject *few_results[8]
        cdef PyObject *few_grads[8]
        cdef PyObject **results = few_results
        cdef PyObject **grads = few_grads
        cdef int i, n_edges = node.n_edges
        cdef backward_fn backward = _backward[node.row.id]
        if backward == NULL:
            unavailable(f"The Op {node.row.name.decode()} doesn't have any grad op. Its result cannot be differentiated.")
        if n_edges > 8:
            results = <PyObject **>PyMem_Malloc(n_edges * sizeof(PyObject *))
        if node.n_outputs > 8:
            grads = <PyObject **>PyMem_Malloc(node.n_outputs * sizeof(PyObject *))
        try:
            if results == NULL or grads == NULL:
                raise MemoryError
            for i in range(n_edges):
                results[i] = NULL
            for i in range(node.n_outputs):
                grads[i] = self.slots[first + i].dense
            if node.real_part and grads[0] != NULL:
                real = real_part(<TensorBase>grads[0])
                grads[0] = <PyObject *>real
            node.running += 1
            try:
                backward(node, grads, results)
                if node.cleared:
                    freed_error(node.name())         # by another thread that ran the same graph while a kernel of ours was at work
                # The gradient itself is not needed any more: a result that shares it may be the only holder now.
                for i in range(node.n_outputs):
                    Py_CLEAR(self.slots[first + i].dense)
                for i in range(n_edges):
                    if results[i] != NULL and edge_of(node, i) != NULL:
                        if self.watch & 2:
                            check_finite(results[i], f"the gradient for input {i} that was made by", node)
                        g = <TensorBase>results[i]
                        Py_CLEAR(results[i])
                        self.deliver(node, <GradNode>edge_of(node, i), edge_slot_of(node, i), g)
            finally:
                node.running -= 1
                if node.cleared:
                    node.clear()
                for i in range(n_edges):
                    Py_XDECREF(results[i])
        finally:
            if results != few_results:
                PyMem_Free(results)
            if grads != few_grads:
                PyMem_Free(grads)
        return 0

    cdef int run_region_write(self, GradNode node, Py_ssize_t first) except -1:
        """The region's gradient goes to what was written (edge 1); the rest, the region zeroed, to the old value (edge 0)."""
        cdef TensorBase g
        cdef GradNode before = node.next_0, value = node.next_1
        if before is not None and overwrites_all(node):
            self.deliver_zeros(before, node.slot_0)
            before = None
        if not (<TensorBase>self.slots[first].dense).layout.contiguous or (before is not None and not exclusive(self.slots[first].dense)):
            g = call_1(OP_ASSIGN, <TensorBase>self.slots[first].dense)
        else:
            g = <TensorBase>self.slots[first].dense
        Py_CLEAR(self.slots[first].dense)
        if value is not None:
            self.deliver(node, value, node.slot_1, copy_region(g, node.region, node.region_offset))
        if before is not None:
            zero_region(g, node.region, node.region_offset)
            self.deliver(node, before, node.slot_0, g)
        return 0

    cdef bint run_narrow(self, GradNode node, Py_ssize_t first) except -1:
        """run_region_write for a gradient that is zero outside one region, if nobody looks at it. False: that is not so."""
        cdef SlotState *place = &self.slots[first]
        cdef TensorBase g
        cdef Layout region
        cdef Py_ssize_t offset = place.offset
        cdef bint written
        if place.region == NULL and place.pieces != <PyObject *>NOTHING:
            return False
        if node.cleared or node.hooks is not None or node.captures is not None or self.watch & 2:
            return False
        if self.partial and ((<size_t><void *>node, 0) in self.wanted or not self.leads_on(node)):
            return False
        if place.dense == NULL:
            Py_CLEAR(place.pieces)
            if node.next_0 is not None:
                self.deliver_zeros(node.next_0, node.slot_0)
            if node.next_1 is not None:
                self.deliver_zeros(node.next_1, node.slot_1)
            return True
        region = <Layout>place.region
        written = offset == node.region_offset and same_layout(region, node.region)
        if not written and not apart(region, offset, node.region, node.region_offset) \
                or (<TensorBase>place.dense).dtype != node.out_dtype:
            return False
        g = <TensorBase>place.dense
        Py_CLEAR(place.dense)
        Py_CLEAR(place.region)
        if node.next_1 is not None:
            if written:
                self.deliver(node, node.next_1, node.slot_1, g)
            else:
                self.deliver_zeros(node.next_1, node.slot_1)
        if node.next_0 is not None:
            if written:
                self.deliver_zeros(node.next_0, node.slot_0)
            else:
                self.deliver_piece(node, node.next_0, node.slot_0, g, region, offset)
        return True

    cdef int execute(self) except -1:
        cdef Py_ssize_t[8] few_ready
        cdef Py_ssize_t *ready = few_ready
        cdef Py_ssize_t n = 0, at, behind_at, left = self.n_states
        cdef int i
        cdef bint ran
        cdef GradNode node
        cdef PyObject *behind
        if self.n_states > FEW:
            ready = <Py_ssize_t *>take_block(self.n_states * sizeof(Py_ssize_t))
            if ready == NULL:
                raise MemoryError
        try:
            for at in range(self.n_states):
                if self.states[at].waiting == 0:
                    ready[n] = at
                    n += 1
            while n:
                n -= 1
                left -= 1
                at = ready[n]
                if at + AHEAD < self.n_states:           # nodes run about in the order in which they were found
                    eager_expect_node(self.states[at + AHEAD].node)
                node = <GradNode>self.states[at].node
                ran = self.states[at].needed and (self.finish(at) if self.watch == 0 else self.finish_watched(at))
                for i in range(node.n_edges):
                    behind = edge_of(node, i)
                    if behind == NULL:
                        continue
                    behind_at = self.find(behind)
                    self.states[behind_at].waiting -= 1
                    if self.states[behind_at].waiting == 0:
                        ready[n] = behind_at
                        n += 1
                if ran and not self.retain_graph:
                    node.clear()
                # The pass lets go of the node as it passes: memory shrinks while gradients grow.
                for i in range(node.n_outputs):
                    Py_CLEAR(self.slots[self.states[at].first_slot + i].dense)
                    Py_CLEAR(self.slots[self.states[at].first_slot + i].region)
                if node.run == <void *>self:
                    node.run = NULL
                    self.states[at].node = NULL
                    Py_XDECREF(<PyObject *>node)
        finally:
            if ready != few_ready:
                give_block(<char *>ready, self.n_states * sizeof(Py_ssize_t))
        if left:
            # Another pass, in a hook or in another thread, has freed a part of the graph that this one had not come to yet.
            for at in range(self.n_states):
                if self.states[at].node != NULL and self.states[at].waiting > 0:
                    freed_error((<GradNode>self.states[at].node).name())
        return 0

    # ---- commits ----

    cdef int commit(self) except -1:
        """Leaf gradients change only after the whole pass has succeeded (S9.22): check all, then write."""
        cdef AccumulationNode cell
        cdef Py_ssize_t i
        cdef bint locked
        for i in range(self.n_commits):
            cell = <AccumulationNode>self.commits[i].cell
            if cell.stale:
                invalid_argument(f"leaf ({cell.name}) has changed its shape since it was used: the gradient of the old shape "
                                 f"{shape_text(cell.out_layout)} cannot be accumulated")
            if cell.grad is not None and not same_shape((<TensorBase>cell.grad).layout, cell.out_layout):
                invalid_argument(f"the gradient of leaf ({cell.name}) has shape {shape_text(cell.out_layout)}, but its .grad has "
                                 f"shape {shape_text((<TensorBase>cell.grad).layout)}. Clear it with clear_gradient(set_to_zero=False)")
            if cell.grad is not None and cell.grad is cell.outdated:
                invalid_argument(f"the axes of leaf ({cell.name}) have changed places since its .grad was made, which has the old order. "
                                 "Clear it with clear_gradient(set_to_zero=False)")
            if cell.grad is None and type(<object>self.commits[i].gradient) is not list:
                self.own(&self.commits[i].gradient)          # memory may run out: before anything is written
        locked = _lock()
        try:
            for i in range(self.n_commits):
                self.commit_one(<AccumulationNode>self.commits[i].cell, &self.commits[i].gradient)
        finally:
            if locked:
                _unlock()
        return 0

    cdef int commit_pieces(self, AccumulationNode cell, list pieces) except -1:
        cdef object whole = cell.grad
        cdef TensorBase into
        if whole is None:                # a hook has taken it away since
            whole = cell.grad = zeros(cell.out_layout, cell.out_dtype)
        into = <TensorBase>whole
        if not into.layout.contiguous or into.dtype != cell.out_dtype:
            into = zeros(cell.out_layout, cell.out_dtype)
        for piece, region, offset in pieces:
            call_2_in_place(OP_ADD, region_view(into, <Layout>region, offset), <TensorBase>piece)
        if into is not whole:
            call_2_in_place(OP_ADD, <TensorBase>whole, into)
        return 0

    cdef int commit_one(self, AccumulationNode cell, PyObject **gradient) except -1:
        cdef TensorBase before = <TensorBase>cell.grad           # another thread may clear .grad while the kernel runs
        if type(<object>gradient[0]) is list:
            self.commit_pieces(cell, <list>gradient[0])
        elif before is None:
            self.own(gradient)
            cell.grad = <object>gradient[0]
        elif self.create_graph:
            cell.grad = call_2(OP_ADD, before, <TensorBase>gradient[0])
        elif not (before.storage.version.snapshots and (modes_on or before.storage.log is not None)) \
                and add_same(before, <TensorBase>gradient[0]):
            bump_region(before.storage, before.data, before.layout, DTYPES[before.dtype].itemsize, OP_ADD)
        else:
            call_2_in_place(OP_ADD, before, <TensorBase>gradient[0])
        Py_CLEAR(gradient[0])
        return 0

    cdef int own(self, PyObject **gradient) except -1:
        cdef PyObject *shared = gradient[0]
        owned = self.private(shared)
        Py_INCREF(owned)
        gradient[0] = <PyObject *>owned
        Py_XDECREF(shared)
        return 0

    cdef object private(self, PyObject *g):
        """A gradient that shares memory with nothing a user can see (S9.7, S9.19), and no history either unless it was asked for (S9.8)."""
        if exclusive(g) and (self.create_graph or not wants_grad(<TensorBase>g)):
            return <object>g
        return call_1(OP_ASSIGN, <TensorBase>g)


# ---- the two doors ---------------------------------------------------------------------------------------------------------------------

cdef int _seed(Run run, TensorBase root, GradNode node, int slot, object given, int k) except -1:
    cdef TensorBase seed
    if given is None:
        seed = ones(root.layout, root.dtype)
    else:
        if not is_tensor(given):
            raise TypeError(f"(InvalidType) grad_tensor {k} must be a Tensor or None, but got {type_name(given)}")
        seed = <TensorBase>given
        if not same_shape(seed.layout, root.layout):
            raise ValueError(f"(InvalidArgument) Tensor shape not match, Tensor of grad_tensor [ {seed._name} ] with shape "
                             f"{shape_text(seed.layout)} mismatch Tensor [ {root._name} ] with shape {shape_text(root.layout)}")
        if run.watch & 2:
            check_finite(<PyObject *>seed, f"grad_tensor {k}, given for the result of", node)
    return run.deliver(None, node, slot, seed)


cdef int _run(Run run, tuple tensors, object seeds) except -1:
    """Discovery, seeding and the pass itself, in the grad mode that create_graph asks for (S9.15)."""
    cdef TensorBase t
    cdef GradNode node
    cdef bint before
    cdef int k
    cdef list nodes = [], slots = []     # a root may be written, by another thread, before its turn to be seeded comes
    for k in range(len(tensors)):
        t = <TensorBase>tensors[k]
        node = gradient_edge(t)
        nodes.append(node)
        slots.append(t.slot)
        if node is not None and run.find(<PyObject *>node) < 0:
            run.number(<PyObject *>node)
    if run.n_states == 0:
        precondition_not_met("none of the tensors given to backward requires grad: there is nothing to differentiate. "
                             "Set stop_gradient=False on the leaves before computing, and do not compute under no_grad()")
    before = set_grad_enabled(run.create_graph)
    if watch_on:
        run.watch = watching()
    if watched:
        return _run_watched(run, tensors, seeds, nodes, slots, before)
    try:
        _run_pass(run, tensors, seeds, nodes, slots)
    finally:
        set_grad_enabled(before)
    return 0


cdef int _run_watched(Run run, tuple tensors, object seeds, list nodes, list slots, bint before) except -1:
    """The pass with somebody looking: a span of its own, and one for every node."""
    cdef Span span
    cdef bint failed = True
    run.watch |= LOOKED_AT
    enter_span(&span, SPAN_PASS, NULL)
    try:
        for t in tensors:
            note_tensor(<TensorBase>t)
        _run_pass(run, tensors, seeds, nodes, slots)
        failed = False
    finally:
        set_grad_enabled(before)
        leave_span(&span, NULL, "grad" if run.partial else "backward", False, failed, None)
    return 0


cdef int _run_pass(Run run, tuple tensors, object seeds, list nodes, list slots) except -1:
    cdef GradNode node
    cdef int k
    run.discover()
    if run.partial:
        run.mark_needed()
    for k in range(len(tensors)):
        node = <GradNode>nodes[k]
        if node is not None:
            _seed(run, <TensorBase>tensors[k], node, slots[k], None if seeds is None else seeds[k], k)
    run.execute()
    if not run.partial:
        run.commit()
    return 0


cdef int backward_of(TensorBase t, object seed, bint retain_graph, bint create_graph) except -1:
    cdef Run run = Run.__new__(Run)
    run.retain_graph = retain_graph
    run.create_graph = create_graph
    return _run(run, (t,), None if seed is None else (seed,))


def run_backward(list tensors not None, grad_tensors, bint retain_graph, bint create_graph=False):
    """Accumulate the gradients of the tensors into the ``.grad`` of the leaves they depend on."""
    cdef Run run = Run.__new__(Run)
    run.retain_graph = retain_graph
    run.create_graph = create_graph
    for t in tensors:
        if not is_tensor(t):
            raise TypeError(f"(InvalidType) backward() takes Tensors, but got {type_name(t)}")
    if grad_tensors is not None and len(grad_tensors) != len(tensors):
        invalid_argument(f"{len(tensors)} tensors, but {len(grad_tensors)} grad_tensors")
    _run(run, tuple(tensors), grad_tensors)


def run_grad(list outputs not None, list inputs not None, grad_outputs, bint retain_graph, bint create_graph, bint allow_unused,
             no_grad_vars):
    """Return the gradients of the outputs with respect to the inputs, touching no ``.grad``."""
    cdef Run run = Run.__new__(Run)
    cdef TensorBase t
    cdef GradNode node
    cdef int k
    run.retain_graph = retain_graph
    run.create_graph = create_graph
    run.partial = True
    run.wanted = {}
    run.results = [None] * len(inputs)
    for role, given in (("outputs", outputs), ("inputs", inputs)):
        for one in given:
            if not is_tensor(one):
                raise TypeError(f"(InvalidType) grad(): {role} must be Tensors, but got {type_name(one)}")
        if len({id(one) for one in given}) != len(given):
            already_exists(f"{role} contain duplicate tensor")
    if grad_outputs is not None and len(grad_outputs) != len(outputs):
        invalid_argument(f"{len(outputs)} outputs, but {len(grad_outputs)} grad_outputs")
    holders = []
    for k in range(len(inputs)):
        t = <TensorBase>inputs[k]
        if watched:
            note_tensor(t)
        if t.root is not None and not (t.grad_node is not None and t.generation == t.root.generation):
            continue                 # a view from before the last write: nothing can depend on it as it is now (S9.18)
        node = gradient_edge(t)
        if node is not None:
            run.wanted.setdefault((<size_t><void *>node, t.slot), []).append(k)
            holders.append(node)
    for one in no_grad_vars or ():
        if not is_tensor(one):
            raise TypeError(f"(InvalidType) grad(): no_grad_vars must be Tensors, but got {type_name(one)}")
        node = gradient_edge(<TensorBase>one)
        if node is not None:
            if run.blocked is None:
                run.blocked = set()
            run.blocked.add((<size_t><void *>node, (<TensorBase>one).slot))
            holders.append(node)
    _run(run, tuple(outputs), grad_outputs)
    before = set_grad_enabled(create_graph)
    try:
        for k in range(len(inputs)):
            g = run.results[k]
            run.results[k] = None
            if g is None:
                if not allow_unused:
                    invalid_argument(f"The {k}-th input does not appear in the backward graph. Please check the input tensor or set "
                                     "allow_unused=True to get None result.")
            else:
                run.results[k] = run.private(<PyObject *>g)
    finally:
        set_grad_enabled(before)
    return run.results
