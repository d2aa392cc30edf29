"""Rules of reductions and of row-wise kernels (softmax): an axis disappears, or everything happens along it."""
import numpy as np
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.string cimport memset

from eager_core.dtypes cimport DTYPES, EAGER_BOOL, EAGER_FLOAT32, EAGER_FLOAT64, EAGER_INT64, EAGER_UINT64, KIND_COMPLEX, KIND_INT
from eager_core.errors cimport invalid_argument, invalid_type
from eager_core._generated.op_ids cimport UFUNC_ADD, UFUNC_DIVIDE, UFUNC_MAXIMUM, UFUNC_MINIMUM, UFUNC_MULTIPLY
from eager_core.kernel_tables cimport ufunc_loop, ufunc_object
from eager_core.layout cimport Layout, contiguous_layout, strided_layout
from eager_core.op cimport (
    FAMILY_REDUCTION, FAMILY_ROWS, FAMILY_UNREDUCE, JOB_LOOP_1, JOB_REDUCE, JOB_ROWS, JOB_TOTAL, OpCall, RESULT_FLOAT, RESULT_LOGICAL,
    EAGER_ROW_LARGEST, EAGER_ROW_PRODUCT, EAGER_ROW_SMALLEST, EAGER_ROW_SUM, eager_cast_loop, eager_column_sums, eager_find_column_sums,
    eager_find_short_rows, eager_repeat_loop, eager_row_loop, eager_rows, keep, op_name, register_rule,
)
from eager_core.rules_common cimport Kernel, axis_of, find_kernel, keep_python, no_loop, put_double, result, writable
from eager_core.tensor cimport TensorBase, alias, as_array, empty_tensor, new_tensor
from eager_core.tracer cimport begin_plan, copy_for_rule, plan_tensor

cdef eager_column_sums[4][2] _matrices     # by enum eager_row_fold


cdef int _find_matrices() except -1:
    cdef int fold
    for fold in range(4):
        eager_find_short_rows(fold, EAGER_FLOAT32, &_matrices[fold][0])
        eager_find_short_rows(fold, EAGER_FLOAT64, &_matrices[fold][1])
    eager_find_column_sums(EAGER_FLOAT32, &_matrices[<int>EAGER_ROW_SUM][0])
    eager_find_column_sums(EAGER_FLOAT64, &_matrices[<int>EAGER_ROW_SUM][1])
    return 0


_find_matrices()


cdef inline const eager_column_sums *_matrix(int kernel, int dtype) noexcept:
    """What the operator has of its own for matrices."""
    cdef int fold
    if dtype != EAGER_FLOAT32 and dtype != EAGER_FLOAT64:
        return NULL
    if kernel == UFUNC_ADD:
        fold = EAGER_ROW_SUM
    elif kernel == UFUNC_MULTIPLY:
        fold = EAGER_ROW_PRODUCT
    elif kernel == UFUNC_MAXIMUM:
        fold = EAGER_ROW_LARGEST
    elif kernel == UFUNC_MINIMUM:
        fold = EAGER_ROW_SMALLEST
    else:
        return NULL
    return &_matrices[fold][dtype == EAGER_FLOAT64]


cdef enum Start:                 # op table's attribute `start` of a reduction
    START_ZERO, START_ONE, START_FIRST


cdef unsigned int reduced_axes(OpCall *c, object axes, int ndim) except? 0xffffffff:
    """Bit mask of the axes that disappear; None and the empty list mean all of them."""
    cdef unsigned int mask = 0, bit
    if axes is None:
        return (1 << ndim) - 1
    if not isinstance(axes, tuple):
        axes = (axes,)
    if not axes:
        return (1 << ndim) - 1
    for axis in axes:
        bit = 1 << axis_of(c, axis, ndim, "axis")
        if mask & bit:
            invalid_argument(f"{op_name(c)}(): axis {axis} is given twice in {list(axes)}")
        mask |= bit
    return mask if ndim else 0


cdef int rule_reduction(OpCall *c) except -1:
    """attrs: axis, keepdim, dtype, start, mean. The kernel is a binary loop run with its first operand as its result."""
    cdef TensorBase x = <TensorBase>c.x[0], out, seen
    cdef Layout layout = x.layout
    cdef int dtype = x.dtype, i, n = 0, ndim = layout.ndim
    cdef unsigned int mask = reduced_axes(c, None if c.attrs[0].o == NULL else <object>c.attrs[0].o, ndim)
    cdef bint keepdim = c.attrs[1].i != 0
    cdef int start = <int>c.attrs[3].i
    cdef bint mean = c.attrs[4].i != 0
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t[9] kept_dims
    cdef Py_ssize_t count = 1
    cdef Kernel kernel
    if c.row.dtype_rule == RESULT_FLOAT:
        dtype = EAGER_FLOAT64 if DTYPES[dtype].kind <= KIND_INT else dtype
    elif c.row.dtype_rule == RESULT_LOGICAL:
        dtype = EAGER_BOOL
    elif start != START_FIRST and DTYPES[dtype].kind <= KIND_INT:
        dtype = EAGER_UINT64 if DTYPES[dtype].name[0] == b"u" else EAGER_INT64
    if c.attrs[2].i >= 0:
        dtype = <int>c.attrs[2].i
        if mean and DTYPES[dtype].kind <= KIND_INT:
            invalid_type(f"{op_name(c)}(): dtype must be floating point or complex, but got {DTYPES[dtype].name.decode()}")
    for i in range(ndim):
        if mask >> i & 1:
            kept_dims[i] = 1
            count *= layout.dims[i]
        else:
            kept_dims[i] = layout.dims[i]
        if keepdim or not mask >> i & 1:
            dims[n] = kept_dims[i]
            n += 1
    if start == START_FIRST and count == 0:
        invalid_argument(f"{op_name(c)}(): the axes reduced have no elements, and there is no smallest or largest of none")
    kernel = find_kernel(c, dtype)
    result(c, contiguous_layout(n, dims), dtype)
    out = writable(c)
    if kernel.call == NULL or (mean and ufunc_loop(UFUNC_DIVIDE, dtype).call == NULL):
        return _by_numpy(c, out, mask, keepdim, count if mean else 1)
    x = x if x.dtype == dtype else copy_for_rule(x, dtype)
    keep(c, x)
    if start == START_ZERO and not mean and x.layout.contiguous and out.layout.numel == 1:
        # Everything, in one run of the loop.
        memset(out.data, 0, DTYPES[dtype].itemsize)
        c.job.kind = JOB_TOTAL
        c.job.loop = kernel.call
        c.job.data = kernel.data
        c.job.args[0] = c.job.args[2] = out.data
        c.job.args[1] = x.data
        c.job.dims[0] = x.layout.numel
        c.job.dims[1] = DTYPES[dtype].itemsize
        c.job.steps[0] = c.job.steps[2] = 0
        c.job.steps[1] = DTYPES[dtype].itemsize
        return 0
    # The result seen with the reduced axes as length 1: it stands still along them.
    seen = new_tensor(out.storage, contiguous_layout(ndim, kept_dims), out.data, dtype)
    keep(c, seen)
    begin_plan(&c.job, seen.layout, 2)
    c.job.init = c.job.plan
    c.job.init.loop = eager_cast_loop(dtype, dtype)
    _start(c, x, seen, start, mask)
    begin_plan(&c.job, x.layout, 3)
    c.job.plan.loop = kernel.call
    c.job.plan.data = kernel.data
    plan_tensor(&c.job, 0, seen)
    plan_tensor(&c.job, 1, x)
    plan_tensor(&c.job, 2, seen)
    c.job.kind = JOB_REDUCE
    c.job.dims[1] = DTYPES[dtype].itemsize
    c.job.divide = NULL
    c.job.columns = _matrix(c.row.kernel, dtype)
    if mean:
        _divide(c, out, count)
    return 0


cdef int _by_numpy(OpCall *c, TensorBase out, unsigned int mask, bint keepdim, Py_ssize_t divisor) except -1:
    """No loop that may be called directly: the ufunc's own reduction."""
    ufunc = ufunc_object(c.row.kernel)
    array, target = as_array(<TensorBase>c.x[0], False), as_array(out, True)
    axes = tuple([i for i in range(array.ndim) if mask >> i & 1])
    try:
        ufunc.reduce(array.reshape(-1)[:0], dtype=target.dtype, initial=0)
    except TypeError:
        no_loop(c, (<TensorBase>c.x[0]).dtype)

    def compute():
        ufunc.reduce(array, axis=axes, dtype=target.dtype, keepdims=keepdim, out=target)
        if divisor != 1:
            np.divide(target, divisor, out=target)
    return keep_python(c, compute)


cdef int _start(OpCall *c, TensorBase x, TensorBase seen, int start, unsigned int mask) except -1:
    """The plan that puts the start value into the result: 0, 1, or the first elements."""
    cdef int i
    cdef int itemsize = DTYPES[seen.dtype].itemsize
    for i in range(seen.layout.ndim):
        c.job.init.strides[1][i] = seen.layout.strides[i] * itemsize
        c.job.init.strides[0][i] = 0
        if start == START_FIRST and not mask >> i & 1:
            c.job.init.strides[0][i] = x.layout.strides[i] * itemsize
    c.job.init.pointers[1] = seen.data
    c.job.init.data = NULL
    if start == START_FIRST:
        c.job.init.pointers[0] = x.data
    else:
        c.job.init.pointers[0] = put_double(c, 0, 1.0 if start == START_ONE else 0.0, seen.dtype)
    return 0


cdef int _divide(OpCall *c, TensorBase out, Py_ssize_t count) except -1:
    cdef int itemsize = DTYPES[out.dtype].itemsize
    c.job.divide = ufunc_loop(UFUNC_DIVIDE, out.dtype).call
    c.job.divide_data = ufunc_loop(UFUNC_DIVIDE, out.dtype).data
    c.job.args[0] = out.data
    c.job.args[1] = put_double(c, 1, <double>count, out.dtype)
    c.job.args[2] = out.data
    c.job.dims[0] = out.layout.numel
    c.job.steps[0] = c.job.steps[2] = itemsize
    c.job.steps[1] = 0
    return 0


cdef TensorBase _axis_last(TensorBase t, int axis):
    """The same elements with `axis` moved to the end."""
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t[9] strides
    cdef int i, n = 0
    for i in range(t.layout.ndim):
        if i != axis:
            dims[n] = t.layout.dims[i]
            strides[n] = t.layout.strides[i]
            n += 1
    dims[n] = t.layout.dims[axis]
    strides[n] = t.layout.strides[axis]
    return alias(t, strided_layout(n + 1, dims, strides), t.data)


cdef TensorBase _axis_back(TensorBase t, int axis):
    """Undo _axis_last."""
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t[9] strides
    cdef int i, n = 0, last = t.layout.ndim - 1
    for i in range(last + 1):
        if i == axis:
            dims[i] = t.layout.dims[last]
            strides[i] = t.layout.strides[last]
        else:
            dims[i] = t.layout.dims[n]
            strides[i] = t.layout.strides[n]
            n += 1
    return alias(t, strided_layout(last + 1, dims, strides), t.data)


cdef int rule_rows(OpCall *c) except -1:
    """attrs: axis. One or two inputs of one shape; the kernel wants the axis last and contiguous."""
    cdef TensorBase x = <TensorBase>c.x[0], moved, y = None, written
    cdef int dtype = DTYPES[x.dtype].float_of, axis
    cdef Py_ssize_t length, rows, one = 1
    if DTYPES[dtype].kind == KIND_COMPLEX:
        no_loop(c, dtype)
    axis = axis_of(c, c.attrs[0].i, x.layout.ndim, "axis")
    result(c, x.layout, dtype)
    if x.layout.ndim == 0:
        x = new_tensor(x.storage, contiguous_layout(1, &one), x.data, x.dtype)
        keep(c, x)
    length = x.layout.dims[axis]
    rows = x.layout.numel // length if length else 0
    c.job.kind = JOB_ROWS
    c.job.rows = eager_row_loop(-1 - c.row.kernel, dtype)
    c.job.dims[0] = rows
    c.job.dims[1] = length
    if axis == x.layout.ndim - 1 and writable(c).layout.contiguous:
        written = writable(c)
        x = _contiguous(c, x, dtype)
        if c.n == 2:
            y = _contiguous(c, <TensorBase>c.x[1], dtype)
    else:
        x = _contiguous(c, _axis_last(x, axis), dtype)
        if c.n == 2:
            y = _contiguous(c, _axis_last(<TensorBase>c.x[1], axis), dtype)
        written = empty_tensor(x.layout, dtype)
        keep(c, written)
        moved = _axis_back(written, axis)
        Py_INCREF(moved)
        if c.stage != NULL:
            keep(c, <object>c.stage)
            Py_DECREF(<object>c.stage)
        c.stage = <PyObject *>moved
    c.job.args[0] = x.data
    c.job.args[1] = NULL if y is None else y.data
    c.job.args[2] = written.data
    c.job.steps[0] = c.job.steps[1] = c.job.steps[2] = length * DTYPES[dtype].itemsize
    return 0


cdef TensorBase _contiguous(OpCall *c, TensorBase t, int dtype):
    if not t.layout.contiguous or t.dtype != dtype:
        t = copy_for_rule(t, dtype)
    keep(c, t)
    return t


cdef int rule_unreduce(OpCall *c) except -1:
    """attrs: layout (a Layout), axis, keepdim. Each element is repeated along the axes that a reduction had removed."""
    cdef TensorBase x = <TensorBase>c.x[0], seen
    cdef Layout target = <Layout>c.attrs[0].o
    cdef unsigned int mask = reduced_axes(c, None if c.attrs[1].o == NULL else <object>c.attrs[1].o, target.ndim)
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t[9] strides
    cdef int i, n = 0
    cdef Py_ssize_t length = 1
    cdef bint in_rows = x.layout.contiguous
    cdef eager_rows rows
    for i in range(target.ndim):
        dims[i] = 1
        strides[i] = 0
        if not mask >> i & 1:
            dims[i] = target.dims[i]
            strides[i] = x.layout.strides[n]
            n += 1
            in_rows = in_rows and length == 1
        else:
            length *= target.dims[i]
            if c.attrs[2].i:
                n += 1
    result(c, target, x.dtype)
    if x.layout.numel == 1:
        # One number for all: the gradient of a sum over everything.
        c.job.kind = JOB_LOOP_1
        c.job.loop = eager_cast_loop(x.dtype, x.dtype)
        c.job.data = NULL
        c.job.args[0] = x.data
        c.job.args[1] = (<TensorBase>c.out).data
        c.job.dims[0] = target.numel
        c.job.steps[0] = 0
        c.job.steps[1] = DTYPES[x.dtype].itemsize
        return 0
    rows = eager_repeat_loop(DTYPES[x.dtype].itemsize, length)
    if rows != NULL and in_rows and (<TensorBase>c.out).layout.contiguous:
        c.job.kind = JOB_ROWS
        c.job.rows = rows
        c.job.args[0] = x.data
        c.job.args[1] = NULL
        c.job.args[2] = (<TensorBase>c.out).data
        c.job.dims[0] = x.layout.numel
        c.job.dims[1] = length
        c.job.steps[0] = DTYPES[x.dtype].itemsize
        c.job.steps[1] = 0
        c.job.steps[2] = length * DTYPES[x.dtype].itemsize
        return 0
    seen = alias(x, strided_layout(target.ndim, dims, strides), x.data)
    keep(c, seen)
    begin_plan(&c.job, target, 2)
    c.job.plan.loop = eager_cast_loop(x.dtype, x.dtype)
    c.job.plan.data = NULL
    plan_tensor(&c.job, 0, seen)
    plan_tensor(&c.job, 1, <TensorBase>c.out)
    return 0


register_rule(FAMILY_REDUCTION, rule_reduction)
register_rule(FAMILY_UNREDUCE, rule_unreduce)
register_rule(FAMILY_ROWS, rule_rows)
