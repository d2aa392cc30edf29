# Where gradients end: what a pass that has succeeded adds into the .grad of leaves. Included by engine.pyx.
import os

from cpython.object cimport PyObject
from cpython.pythread cimport (
    PyThread_acquire_lock, PyThread_allocate_lock, PyThread_get_thread_ident, PyThread_release_lock, PyThread_type_lock,
)
from cpython.ref cimport Py_CLEAR

from eager_core._generated.op_ids cimport OP_ADD, OP_ASSIGN
from eager_core.dtypes cimport DTYPES
from eager_core.dygraph cimport call_1, call_2, call_2_in_place
from eager_core.errors cimport invalid_argument
from eager_core.grad_node cimport AccumulationNode
from eager_core.grad_tensor_holder cimport exclusive, region_view, replace, zeros
from eager_core.layout cimport Layout, same_shape, shape_text
from eager_core.modes cimport modes_on
from eager_core.storage cimport Storage, bump_region
from eager_core.tensor cimport TensorBase, wants_grad
from eager_core.unrecorded cimport add_same

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


cdef int commit(Run run) except -1:
    """Leaf gradients change only after the whole pass has succeeded (S9.22): check all, then write."""
    cdef AccumulationNode cell
    cdef Py_ssize_t i
    cdef bint locked
    for i in range(run.n_commits):
        cell = <AccumulationNode>run.commits[i].cell
        if cell.stale:
            invalid_argument(f"leaf ({cell.name}) has changed its shape since it was used: the gradient of the old shape "
                             f"{shape_text(cell.out_layout)} cannot be accumulated")
        if cell.grad is not None and not same_shape((<TensorBase>cell.grad).layout, cell.out_layout):
            invalid_argument(f"the gradient of leaf ({cell.name}) has shape {shape_text(cell.out_layout)}, but its .grad has "
                             f"shape {shape_text((<TensorBase>cell.grad).layout)}. Clear it with clear_gradient(set_to_zero=False)")
        if cell.grad is not None and cell.grad is cell.outdated:
            invalid_argument(f"the axes of leaf ({cell.name}) have changed places since its .grad was made, which has the old order. "
                             "Clear it with clear_gradient(set_to_zero=False)")
        if cell.grad is None and type(<object>run.commits[i].gradient) is not list:
            make_private(run, &run.commits[i].gradient)          # memory may run out: before anything is written
    locked = _lock()
    try:
        for i in range(run.n_commits):
            commit_one(run, <AccumulationNode>run.commits[i].cell, &run.commits[i].gradient)
    finally:
        if locked:
            _unlock()
    return 0


cdef int commit_pieces(Run run, AccumulationNode cell, list pieces) except -1:
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


cdef int commit_one(Run run, AccumulationNode cell, PyObject **gradient) except -1:
    cdef TensorBase before = <TensorBase>cell.grad           # another thread may clear or rebind .grad while the kernel runs
    cdef TensorBase g
    cdef Storage written
    cdef Layout layout
    cdef char *data
    if type(<object>gradient[0]) is list:
        commit_pieces(run, cell, <list>gradient[0])
    elif before is None:
        make_private(run, gradient)
        cell.grad = <object>gradient[0]
    elif run.create_graph:
        cell.grad = call_2(OP_ADD, before, <TensorBase>gradient[0])
    else:
        g = <TensorBase>gradient[0]
        written, data, layout = before.storage, before.data, before.layout
        # A seed may be a part of the memory that .grad was given: the operator reads it as it was (S7.5).
        if g.storage is not written and not written.version.outsiders \
                and not (written.version.snapshots and (modes_on or written.log is not None)) and add_same(before, g):
            bump_region(written, data, layout, DTYPES[before.dtype].itemsize, OP_ADD)
        else:
            call_2_in_place(OP_ADD, before, g)
    Py_CLEAR(gradient[0])
    return 0


cdef int make_private(Run run, PyObject **gradient) except -1:
    """private_gradient, in its place."""
    replace(gradient, private_gradient(run, gradient[0]))
    return 0


cdef object private_gradient(Run run, PyObject *g):
    """A gradient that shares memory with nothing a user can see (S9.7, S9.19), and no history either unless it was asked for (S9.8)."""
    if exclusive(g) and (run.create_graph or not wants_grad(<TensorBase>g)):
        return <object>g
    return call_1(OP_ASSIGN, <TensorBase>g)
