"""Rule of matmul: NumPy's gufunc loop (and so its BLAS), called on raw memory; our own loop for small matrices."""
from cpython.object cimport PyObject

from eager_core.dtypes cimport DTYPES
from eager_core.errors cimport invalid_argument
from eager_core.kernel_tables cimport ufunc_object
from eager_core.layout cimport Layout, contiguous_layout, shape_text
from eager_core.op cimport (
    EAGER_SMALL_MATRIX, FAMILY_MATMUL, JOB_GUFUNC, OpCall, eager_loop, eager_small_matmul, op_name, register_rule,
)
from eager_core.rules_common cimport Kernel, batch_step, find_kernel, keep_python, operand, promoted, result, writable
from eager_core.tensor cimport TensorBase, as_array


cdef struct Side:                # one operand as a stack of matrices; steps in bytes
    Py_ssize_t rows
    Py_ssize_t columns
    Py_ssize_t row_step
    Py_ssize_t column_step
    int batch_ndim


cdef Side _side(TensorBase t, bint transposed, bint left) noexcept:
    """NumPy's rules: a vector is a row on the left, a column on the right; transposing a vector changes nothing."""
    cdef Side side
    cdef Layout layout = t.layout
    cdef int itemsize = DTYPES[t.dtype].itemsize, n = layout.ndim
    if n == 1:
        side.batch_ndim = 0
        side.rows = 1 if left else layout.dims[0]
        side.columns = layout.dims[0] if left else 1
        side.row_step = itemsize if left else layout.strides[0] * itemsize
        side.column_step = layout.strides[0] * itemsize if left else itemsize
        return side
    side.batch_ndim = n - 2
    side.rows = layout.dims[n - 2]
    side.columns = layout.dims[n - 1]
    side.row_step = layout.strides[n - 2] * itemsize
    side.column_step = layout.strides[n - 1] * itemsize
    if transposed:
        side.rows, side.columns = side.columns, side.rows
        side.row_step, side.column_step = side.column_step, side.row_step
    return side


cdef inline Layout _layout(int n, const Py_ssize_t *dims, Layout x, Layout y):
    """Of the result; that of an operand if it is the same: a layout shared costs nothing, and is found equal at once."""
    if n == 2:
        if x.ndim == 2 and x.contiguous and x.dims[0] == dims[0] and x.dims[1] == dims[1]:
            return x
        if y.ndim == 2 and y.contiguous and y.dims[0] == dims[0] and y.dims[1] == dims[1]:
            return y
    return contiguous_layout(n, dims)


cdef int rule_matmul(OpCall *c) except -1:
    """attrs: transpose_x, transpose_y."""
    cdef TensorBase x = <TensorBase>c.x[0], y = <TensorBase>c.x[1], out
    cdef int dtype = promoted(c), n = 0, i, batch_ndim
    cdef Side left, right
    cdef Kernel kernel
    cdef eager_loop small
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t from_x, from_y, batch = 1
    cdef bint regular = True
    if x.layout.ndim == 0 or y.layout.ndim == 0:
        invalid_argument(f"{op_name(c)}(): the operands must have at least one axis, but the shapes are {shape_text(x.layout)} and "
                         f"{shape_text(y.layout)}")
    left = _side(x, c.attrs[0].i, True)
    right = _side(y, c.attrs[1].i, False)
    if left.columns != right.rows:
        invalid_argument(f"{op_name(c)}(): the inner lengths {left.columns} and {right.rows} differ, shapes {shape_text(x.layout)} and "
                         f"{shape_text(y.layout)}")
    batch_ndim = max(left.batch_ndim, right.batch_ndim)
    for i in range(batch_ndim):
        from_x = x.layout.dims[i - batch_ndim + left.batch_ndim] if i >= batch_ndim - left.batch_ndim else 1
        from_y = y.layout.dims[i - batch_ndim + right.batch_ndim] if i >= batch_ndim - right.batch_ndim else 1
        if from_x != from_y and from_x != 1 and from_y != 1:
            invalid_argument(f"{op_name(c)}(): the batch axes of shapes {shape_text(x.layout)} and {shape_text(y.layout)} do not broadcast")
        dims[n] = from_y if from_x == 1 else from_x
        batch *= dims[n]
        n += 1
    if x.layout.ndim > 1:
        dims[n] = left.rows
        n += 1
    if y.layout.ndim > 1:
        dims[n] = right.columns
        n += 1
    kernel = find_kernel(c, dtype)
    result(c, _layout(n, dims, x.layout, y.layout), dtype)
    out = writable(c)
    x = operand(c, 0, dtype)
    y = operand(c, 1, dtype)
    if <PyObject *>x != c.x[0]:
        left = _side(x, c.attrs[0].i, True)
    if <PyObject *>y != c.x[1]:
        right = _side(y, c.attrs[1].i, False)
    c.job.steps[0] = c.job.steps[1] = 0
    if batch != 1:
        c.job.steps[0] = batch_step(x, left.batch_ndim, batch, &regular)
        c.job.steps[1] = batch_step(y, right.batch_ndim, batch, &regular)
    if not regular:
        return _by_numpy(c, x, y, out)
    if left.rows <= EAGER_SMALL_MATRIX and 0 < left.columns <= EAGER_SMALL_MATRIX and right.columns <= EAGER_SMALL_MATRIX:
        small = eager_small_matmul(dtype)
        if small != NULL:
            kernel.call = small
    if kernel.call == NULL:
        return _by_numpy(c, x, y, out)
    c.job.kind = JOB_GUFUNC
    c.job.loop = kernel.call
    c.job.data = kernel.data
    c.job.args[0] = x.data
    c.job.args[1] = y.data
    c.job.args[2] = out.data
    c.job.dims[0] = batch
    c.job.dims[1] = left.rows
    c.job.dims[2] = left.columns
    c.job.dims[3] = right.columns
    c.job.steps[2] = left.rows * right.columns * DTYPES[dtype].itemsize
    c.job.steps[3] = left.row_step
    c.job.steps[4] = left.column_step
    c.job.steps[5] = right.row_step
    c.job.steps[6] = right.column_step
    c.job.steps[7] = right.columns * DTYPES[dtype].itemsize
    c.job.steps[8] = DTYPES[dtype].itemsize
    return 0


cdef int _by_numpy(OpCall *c, TensorBase x, TensorBase y, TensorBase out) except -1:
    ufunc = ufunc_object(c.row.kernel)
    a, b, target = as_array(x, False), as_array(y, False), as_array(out, True)
    if c.attrs[0].i and a.ndim > 1:
        a = a.swapaxes(-1, -2)
    if c.attrs[1].i and b.ndim > 1:
        b = b.swapaxes(-1, -2)

    def compute():
        ufunc(a, b, out=target)
    return keep_python(c, compute)


register_rule(FAMILY_MATMUL, rule_matmul)
