"""What the profiler, the log and the in-place advisor want to know of one call.

They see the call from outside: nothing here changes what it does, and while nobody looks none of it runs.
"""
import gc

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF

from eager_core import flow_log

from eager_core.dtypes cimport DTYPES, EAGER_COMPLEX64
from eager_core.grad_mode cimport grad_enabled
from eager_core.grad_node cimport GradNode, OperatorNode, SavedTensor
from eager_core.layout cimport Layout, same_shape, shape_list, shape_text
from eager_core.op cimport COMMUTES_ALWAYS, COMMUTES_REAL
from eager_core.profiling cimport (
    SPAN_NODE, SPAN_OP, WATCH_ADVISE, WATCH_LOG, WATCH_PROFILE, advisor, enter_span, in_backward, leave_span, note_use, tick, watched,
)
from eager_core.profiling import wants_shapes
from eager_core.provenance cimport role_of
from eager_core.rules_common cimport may_share, same_elements
from eager_core.storage cimport Storage, serial_of, untouched
from eager_core.tensor cimport wants_grad
from eager_core.write_log cimport logs_writes


cdef str _name(OpCall *c):
    name = c.row.name.decode()
    return name + "_" if c.inplace else name


cdef object _input_shapes(OpCall *c):
    return tuple([None if c.x[i] == NULL else tuple(shape_list((<TensorBase>c.x[i]).layout)) for i in range(c.n)])


cdef int begin_watched(OpCall *c, CallNotes *notes) except -1:
    cdef int i
    cdef TensorBase x
    notes.savers = NULL
    notes.version = 0
    notes.began = 0
    if watched & WATCH_LOG:
        _log_call(c)
        if c.inplace:
            notes.version = (<TensorBase>c.x[0]).storage.version.current
    if watched & WATCH_ADVISE:
        notes.began = tick()
        for i in range(c.n):
            if c.x[i] != NULL:
                note_tensor(<TensorBase>c.x[i])
        if c.inplace:
            x = <TensorBase>c.x[0]
            if x.storage.version.snapshots and not logs_writes(x.storage):
                savers = _untouched_savers(x.storage)
                if savers:
                    Py_INCREF(savers)
                    notes.savers = <void *>savers
    enter_span(&notes.span, SPAN_OP, <void *>c)
    return 0


cdef int end_watched(OpCall *c, CallNotes *notes, bint failed) except -1:
    savers = shapes = None
    if notes.savers != NULL:
        savers = <object>notes.savers
        Py_XDECREF(<PyObject *>notes.savers)
    try:
        if watched & WATCH_PROFILE and wants_shapes():
            shapes = _input_shapes(c)
    finally:
        leave_span(&notes.span, c.row, None, c.inplace, failed, shapes)      # whatever happens: the span lies on the caller's stack
    if failed:
        return 0
    if watched & WATCH_LOG:
        _log_result(c, notes)
    if watched & WATCH_ADVISE and notes.began:
        _advise(c, notes.began, savers)
    return 0


cdef int begin_node(GradNode node, Span *span) except -1:
    if watched & WATCH_LOG:
        flow_log.write(3, f"Running Eager Backward Node: {node.name()}")
    enter_span(span, SPAN_NODE, NULL)
    return 0


cdef void end_node(GradNode node, Span *span, object name, bint failed) noexcept:
    leave_span(span, node.row, name, False, failed, None)


cdef int note_tensor(TensorBase t) except -1:
    if watched & WATCH_ADVISE:
        note_use(serial_of(t.storage))
    return 0


# ---- the log ---------------------------------------------------------------------------------------------------------------------------

cdef int _log_call(OpCall *c) except -1:
    cdef str name = _name(c)
    cdef TensorBase x
    flow_log.write(3, f"Running Eager Forward Op: {name}")
    if c.inplace:
        x = <TensorBase>c.x[0]
        flow_log.write(3, f"{name}: Tensor({x._name}) uses Inplace Strategy.")
    if flow_log.level() >= 4:
        inputs = ["None" if c.x[i] == NULL else f"{DTYPES[(<TensorBase>c.x[i]).dtype].name.decode()}"
                  f"{shape_text((<TensorBase>c.x[i]).layout)}" for i in range(c.n)]
        flow_log.write(4, f"{name}: inputs {', '.join(inputs)}")
    return 0


cdef int _log_result(OpCall *c, CallNotes *notes) except -1:
    cdef TensorBase out
    cdef str name = _name(c)
    if c.inplace:
        out = <TensorBase>c.x[0]
        if out.storage.version.current != notes.version:
            flow_log.write(3, f"{name}: Tensor({out._name}) bumped its inplace version from {notes.version} to "
                              f"{out.storage.version.current}")
    elif c.out != NULL:
        out = <TensorBase>c.out
    else:
        return 0
    if flow_log.level() >= 4:
        flow_log.write(4, f"{name}: result {DTYPES[out.dtype].name.decode()}{shape_text(out.layout)}"
                       + (f", history {out.grad_node.name()}" if out.grad_node is not None and wants_grad(out) else ", no history"))
    return 0


# ---- the advisor -----------------------------------------------------------------------------------------------------------------------

cdef list _untouched_savers(Storage storage):
    """(node, which) of every live node that has saved a part of this memory and could get it back now.

    The collector knows all nodes. That is slow, but asked only before a write to memory that somebody has saved, under the advisor.
    """
    cdef list found = []
    cdef OperatorNode node
    cdef SavedTensor *kept
    cdef int k
    for one in gc.get_objects():
        if type(one) is not OperatorNode:
            continue
        node = <OperatorNode>one
        if node.cleared:
            continue
        for k in range(node.n_saved):
            kept = &node.saved[k]
            if kept.storage == <PyObject *>storage and _unharmed(kept):
                found.append((node, k))
    return found


cdef bint _unharmed(SavedTensor *kept) noexcept:
    return untouched(<Storage>kept.storage, kept.version, kept.data, <Layout>kept.layout, DTYPES[kept.dtype].itemsize)


cdef int _advise(OpCall *c, long long began, list savers) except -1:
    cdef OperatorNode node
    cdef GradNode made = None
    cdef TensorBase out
    cdef SavedTensor *kept
    cdef list harmed = [], candidates = []
    cdef int k
    cdef bint backward = in_backward()
    for saver in savers or ():
        node = <OperatorNode>saver[0]
        k = saver[1]
        if k >= node.n_saved or node.cleared:
            continue
        kept = &node.saved[k]
        if kept.storage != NULL and not _unharmed(kept):
            harmed.append((id(node), role_of(node, kept)))
    if not c.inplace and not backward and c.out != NULL and not c.is_view and not c.nothing:
        candidates = [_candidate(c, 0)]
        if c.row.commutes == COMMUTES_ALWAYS or (c.row.commutes == COMMUTES_REAL and (<TensorBase>c.out).dtype < EAGER_COMPLEX64):
            candidates.append(_candidate(c, 1))
    out = <TensorBase>(c.x[0] if c.inplace else c.out)
    if out is not None:
        made = out.grad_node
    listener = advisor
    if listener is not None:
        listener.operator(_name(c), began, tick(), 0 if made is None else id(made), candidates, harmed, backward)
    return 0


cdef object _candidate(OpCall *c, int i):
    """(None, number of the memory, bytes) if input i could have been the target as far as can be told now; else (reason,)."""
    cdef TensorBase x, out = <TensorBase>c.out, y
    cdef TensorBase root
    cdef int k
    if not c.row.spares:
        return ("the operator saves nothing in place",)
    if i >= c.n or c.x[i] == NULL or i == c.scalar_at:
        return ("the operand is a number",)
    x = <TensorBase>c.x[i]
    if x.dtype != out.dtype or not same_shape(x.layout, out.layout):
        return ("the result has another shape or dtype",)
    if out.storage is x.storage:
        return ("the result is the operand's memory already",)
    root = x if x.root is None else <TensorBase>x.root
    if not root._stop_gradient and root.grad_node is None:
        return ("a leaf that requires grad cannot be written to",)
    if root.has_alias or x.pinned or x.made_under_no_grad or root.storage is not x.storage:
        return ("a view or an alias that cannot be written to",)
    if root._stop_gradient and root.grad_node is not None:
        return ("a constant with a hidden history",)
    if wants_grad(x) and (not grad_enabled() or not c.row.differentiable >> i & 1):
        return ("the write would not be recorded, and the tensor has a history",)
    if x.retains or root.retains or (x.grad_node is not None and x.grad_node.hooks is not None):
        return ("the tensor's own gradient is asked for, by a hook or retain_grads",)
    if x.storage.owner is not None and not _sole_owner(x.storage):
        return ("the memory may belong to somebody else",)
    if x.storage.version.snapshots or x.storage.log is not None:
        return ("the value is saved for backward",)
    if not x.layout.contiguous and x.root is None:
        return ("the elements do not lie in order",)
    for k in range(c.n):
        if k != i and c.x[k] != NULL:
            y = <TensorBase>c.x[k]
            if may_share(x, y) and not same_elements(x, y):
                return ("another operand shares a part of the memory",)
    return None, serial_of(x.storage), out.layout.numel * DTYPES[out.dtype].itemsize


cdef bint _sole_owner(Storage storage):
    """The array of an operator's own result is held by the storage alone; one that a user gave is not, or looks into another."""
    owner = storage.owner
    return getattr(owner, "base", owner) is None and (<PyObject *>owner).ob_refcnt == 2
