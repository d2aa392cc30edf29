# One node of a pass: hooks, captures, its formula or its region. Included by engine.pyx.
import numpy as np

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_CLEAR, Py_XDECREF

from eager_core import anomaly

from eager_core._generated.op_ids cimport OP_ASSIGN, OP_REGION_WRITE, OP_VIEW
from eager_core.dtypes cimport DTYPES
from eager_core.dygraph cimport call_1
from eager_core.errors cimport freed_error, invalid_argument, precondition_not_met, unavailable
from eager_core.grad_mode cimport set_grad_enabled
from eager_core.grad_node cimport AccumulationNode, GradNode, Hook, OperatorNode
from eager_core.grad_tensor_holder cimport (
    GradTensorHolder, copy_region, exclusive, in_pieces, let_go, list_region, only_zeros, real_part, replace, settle, zero_region,
)
from eager_core.layout cimport Layout, apart, same_layout, same_shape, shape_text
from eager_core.op cimport FAMILY_GETITEM, FAMILY_VIEW
from eager_core.profiling cimport Span
from eager_core.recycling cimport eager_has_weak_references
from eager_core.tensor cimport TensorBase, as_array, is_tensor, type_name, wants_grad
from eager_core.watched_call cimport begin_node, end_node

cdef backward_fn[1024] _backward


cdef int register_backward(int op, backward_fn backward) except -1:
    if op >= 1024:
        raise SystemError("(Fatal) the table of gradients is full: raise its size")
    _backward[op] = backward
    return 0


# ---- what arrived ----------------------------------------------------------------------------------------------------------------------

cdef int check_finite(PyObject *gradient, str what, GradNode node) except -1:
    """detect_anomaly: a gradient with a NaN or an infinity in it is an error where it comes up."""
    cdef TensorBase g = <TensorBase>gradient
    array = as_array(g, False)
    if not np.isfinite(array).all():
        kind = "nan" if np.isnan(array).any() else "inf"
        where = "" if node.lines is None else f" It was made in forward by:\n{anomaly.text(node.lines)}"
        precondition_not_met(f"{what} {node.name()} has {kind} values, shape {shape_text(g.layout)}.{where}")
    return 0


cdef int run_hooks(Run run, GradNode node, int slot) except -1:
    """S9.11, S9.14: hooks see the summed gradient in a buffer of their own."""
    cdef GradTensorHolder *held = run.holder(node, slot)
    cdef TensorBase g
    cdef list hooks
    hooks = [h for h in node.hooks if (<Hook>h).function is not None]
    if len(hooks) < len(node.hooks):
        node.hooks[:] = hooks
    hooks = [(<Hook>h).function for h in hooks if (<Hook>h).slot == slot]
    if not hooks:
        return 0
    g = <TensorBase>held.dense if exclusive(held.dense) else call_1(OP_ASSIGN, <TensorBase>held.dense)
    for hook in hooks:
        answer = hook(g)
        set_grad_enabled(run.create_graph)               # whatever it has left behind (S9.15)
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
    replace(&held.dense, g)
    g = None
    if (not exclusive(held.dense) or eager_has_weak_references(held.dense)
            or (not run.create_graph and wants_grad(<TensorBase>held.dense))):
        # A hook has kept it, and may write to it before the pass ends; or it has a history that nobody asked for (S9.8).
        replace(&held.dense, call_1(OP_ASSIGN, <TensorBase>held.dense))
    return 0


cdef int capture(Run run, GradNode node, int slot) except -1:
    """Retained gradients, and results of grad(): after all hooks (S9.13)."""
    cdef object g = <object>run.holder(node, slot).dense
    if node.captures is not None and not run.partial:
        for entry in node.captures:
            if entry[0] == slot:
                run.commit_later(<AccumulationNode>entry[1], g)
    if run.partial:
        for k in run.wanted.get((<size_t><void *>node, slot), ()):
            run.results[k] = g
    return 0


# ---- what goes on ----------------------------------------------------------------------------------------------------------------------

cdef bint run_node(Run run, Py_ssize_t at) except -1:
    """All consumers of the node have run: hooks, captures, its own backward, delivery. False: what it saved was not needed."""
    cdef GradNode node = <GradNode>run.states[at].node
    cdef Py_ssize_t first = run.states[at].first_holder
    cdef GradTensorHolder *held
    cdef int slot
    cdef bint arrived = False
    if node.row != NULL and node.row.id == OP_REGION_WRITE and pass_region_on(run, node, &run.holders[first]):
        return True
    if type(node) is AccumulationNode and in_pieces(&run.holders[first]) and not run.partial and not run.create_graph \
            and not node.hooks and not run.watch & CHECK_FINITE and (<AccumulationNode>node).grad is not None:
        # Pieces for a leaf that has a gradient already: they go straight into it.
        if run.holders[first].region != NULL:
            list_region(&run.holders[first])
        run.commit_later(<AccumulationNode>node, <object>run.holders[first].pieces)
        Py_CLEAR(run.holders[first].pieces)
        return False
    for slot in range(node.n_outputs):
        held = &run.holders[first + slot]
        if held.dense == NULL or held.region != NULL or held.pieces != NULL:
            settle(held, node, slot)
            if held.dense == NULL:
                continue
        arrived = True
        if run.watch & CHECK_FINITE:
            check_finite(held.dense, "the sum of the gradients that arrived at", node)
        if node.hooks is not None:
            run_hooks(run, node, slot)
            if run.watch & CHECK_FINITE:
                check_finite(held.dense, "what the hooks made of the gradient at", node)
        if run.partial or node.captures is not None:
            capture(run, node, slot)
    if type(node) is AccumulationNode:
        if arrived and not run.partial:
            run.commit_later(<AccumulationNode>node, <object>run.holders[first].dense)
        return False
    if run.partial and not leads_on(run, node):
        return False
    if not arrived:
        return True
    if node.cleared:
        freed_error(node.name())
    if node.row.id == OP_REGION_WRITE:
        run_region_write(run, node, &run.holders[first])
    elif node.row.family == FAMILY_VIEW or node.row.family == FAMILY_GETITEM or node.row.id == OP_VIEW:
        if node.next_0 is not None:
            run.deliver_region(node, node.next_0, node.slot_0, <TensorBase>run.holders[first].dense, node.region, node.region_offset)
    else:
        run_formula(run, <OperatorNode>node, first)
    return True


cdef bint leads_on(Run run, GradNode node) except -1:
    """Whether grad() needs a node behind this one."""
    cdef int i
    for i in range(node.n_edges):
        if edge_of(node, i) != NULL and run.states[run.find(edge_of(node, i))].needed:
            return True
    return False


cdef int run_formula(Run run, OperatorNode node, Py_ssize_t first) except -1:
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
            grads[i] = run.holders[first + i].dense
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
                Py_CLEAR(run.holders[first + i].dense)
            for i in range(n_edges):
                if results[i] != NULL and edge_of(node, i) != NULL:
                    if run.watch & CHECK_FINITE:
                        check_finite(results[i], f"the gradient for input {i} that was made by", node)
                    g = <TensorBase>results[i]
                    Py_CLEAR(results[i])
                    run.deliver(node, <GradNode>edge_of(node, i), edge_slot_of(node, i), g)
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


cdef int run_region_write(Run run, GradNode node, GradTensorHolder *held) except -1:
    """The region's gradient goes to what was written (edge 1); the rest, the region zeroed, to the old value (edge 0)."""
    cdef TensorBase g
    cdef GradNode before = node.next_0, value = node.next_1
    if before is not None and overwrites_all(node):
        run.deliver_zeros(before, node.slot_0)
        before = None
    if not (<TensorBase>held.dense).layout.contiguous or (before is not None and not exclusive(held.dense)):
        g = call_1(OP_ASSIGN, <TensorBase>held.dense)
    else:
        g = <TensorBase>held.dense
    Py_CLEAR(held.dense)
    if value is not None:
        run.deliver(node, value, node.slot_1, copy_region(g, node.region, node.region_offset))
    if before is not None:
        zero_region(g, node.region, node.region_offset)
        run.deliver(node, before, node.slot_0, g)
    return 0


cdef bint pass_region_on(Run run, GradNode node, GradTensorHolder *held) except -1:
    """run_region_write for a gradient that is zero outside one region, if nobody looks at it. False: that is not so.

    If the region is the one written, the gradient is the value's; if it lies beside that, it is the old value's. Nothing is copied.
    """
    cdef TensorBase g
    cdef Layout region
    cdef GradNode before = node.next_0, value = node.next_1
    cdef Py_ssize_t offset = held.offset
    cdef bint nothing = only_zeros(held), written = False
    if held.region == NULL and not nothing:
        return False
    if node.cleared or node.hooks is not None or node.captures is not None or run.watch & CHECK_FINITE:
        return False
    if run.partial and ((<size_t><void *>node, 0) in run.wanted or not leads_on(run, node)):
        return False
    if not nothing:
        region = <Layout>held.region
        written = offset == node.region_offset and same_layout(region, node.region)
        if (<TensorBase>held.dense).dtype != node.out_dtype \
                or not (written or apart(region, offset, node.region, node.region_offset)):
            return False
        g = <TensorBase>held.dense
        let_go(held)
    if value is not None:
        if written:
            run.deliver(node, value, node.slot_1, g)
        else:
            run.deliver_zeros(value, node.slot_1)
    if before is not None:
        if written or nothing:
            run.deliver_zeros(before, node.slot_0)
        else:
            run.deliver_region(node, before, node.slot_0, g, region, offset)
    return True


cdef bint run_node_watched(Run run, Py_ssize_t at) except -1:
    """The same with somebody looking: the profiler, the log or detect_anomaly."""
    cdef GradNode node = <GradNode>run.states[at].node
    cdef Span span
    cdef bint ran
    if not run.watch & LOOKED_AT:
        return run_node_explained(run, at)
    name = node.name()                       # of a custom function: not known any more when it is cleared
    begin_node(node, &span)
    try:
        ran = run_node_explained(run, at) if run.watch & (EXPLAIN | CHECK_FINITE) else run_node(run, at)
    except BaseException:
        end_node(node, &span, name, True)
        raise
    end_node(node, &span, name, False)
    return ran


cdef bint run_node_explained(Run run, Py_ssize_t at) except -1:
    """The same under detect_anomaly: an error is told where forward made the node."""
    cdef GradNode node = <GradNode>run.states[at].node
    before = anomaly.enter(node.lines)
    try:
        return run_node(run, at)
    except BaseException as error:
        anomaly.explain(error, node.name(), node.lines)
        raise
    finally:
        anomaly.leave(before)
