"""Rules of picking one element of each row: what a loss does with the scores and the class of each sample."""
from libc.stdint cimport int64_t

from eager_core.dtypes cimport DTYPES, EAGER_INT64
from eager_core.errors cimport invalid_argument, out_of_range
from eager_core.layout cimport Layout, contiguous_layout, same_shape, shape_text
from eager_core.op cimport FAMILY_PICK, FAMILY_PUT, JOB_ROWS, OpCall, eager_pick_loop, keep, op_name, register_rule
from eager_core.rules_common cimport no_loop, result, writable
from eager_core.tensor cimport TensorBase
from eager_core.tracer cimport copy_for_rule


cdef TensorBase _contiguous(OpCall *c, TensorBase t):
    if not t.layout.contiguous:
        t = copy_for_rule(t, t.dtype)
    keep(c, t)
    return t


cdef int _job(OpCall *c, TensorBase x, TensorBase index, Layout picked, Py_ssize_t n, bint put) except -1:
    cdef int64_t *at
    cdef Py_ssize_t i
    if not same_shape(index.layout, picked) or index.dtype != EAGER_INT64:
        invalid_argument(f"{op_name(c)}(): the index must be int64 of shape {shape_text(picked)}, but has shape {shape_text(index.layout)}")
    index = _contiguous(c, index)
    at = <int64_t *>index.data
    for i in range(picked.numel):
        if at[i] < 0 or at[i] >= n:
            out_of_range(f"{op_name(c)}(): index {at[i]} is out of range for rows of {n} elements")
    c.job.kind = JOB_ROWS
    c.job.rows = eager_pick_loop(put, x.dtype)
    if c.job.rows == NULL:
        no_loop(c, x.dtype)
    c.job.args[0] = _contiguous(c, x).data
    c.job.args[1] = index.data
    c.job.args[2] = writable(c).data
    c.job.dims[0] = picked.numel
    c.job.dims[1] = n
    c.job.steps[0] = DTYPES[x.dtype].itemsize * (1 if put else n)
    c.job.steps[1] = sizeof(int64_t)
    c.job.steps[2] = DTYPES[x.dtype].itemsize * (n if put else 1)
    return 0


cdef int rule_pick(OpCall *c) except -1:
    """x (..., n), index (...): x[..., index]."""
    cdef TensorBase x = <TensorBase>c.x[0]
    cdef Layout picked
    if x.layout.ndim == 0:
        invalid_argument(f"{op_name(c)}(): a tensor without axes has no rows")
    picked = contiguous_layout(x.layout.ndim - 1, x.layout.dims)
    result(c, picked, x.dtype)
    return _job(c, x, <TensorBase>c.x[1], picked, x.layout.dims[x.layout.ndim - 1], False)


cdef int rule_put(OpCall *c) except -1:
    """picked (...), index (...), attrs: n. Zeros (..., n) with picked at the index."""
    cdef TensorBase picked = <TensorBase>c.x[0]
    cdef Py_ssize_t[9] dims
    cdef int i, ndim = picked.layout.ndim
    if ndim == 9 or c.attrs[0].i < 0:
        invalid_argument(f"{op_name(c)}(): no tensor of {ndim + 1} axes, the last of length {c.attrs[0].i}")
    for i in range(ndim):
        dims[i] = picked.layout.dims[i]
    dims[ndim] = c.attrs[0].i
    result(c, contiguous_layout(ndim + 1, dims), picked.dtype)
    return _job(c, picked, <TensorBase>c.x[1], picked.layout, c.attrs[0].i, True)


register_rule(FAMILY_PICK, rule_pick)
register_rule(FAMILY_PUT, rule_put)
