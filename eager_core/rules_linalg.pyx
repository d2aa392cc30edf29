"""Rule of linear algebra: our own kernels for small real matrices; for all others, and for what these leave undecided, NumPy's LAPACK.

A kernel may find that a matrix is singular, and that must be known before anything is recorded: so it runs here and not in trace_op.
"""
from cpython.ref cimport Py_XDECREF

from eager_core._generated.op_ids cimport OP_COFACTOR, OP_DET, OP_INVERSE, OP_SLOGDET, OP_SOLVE, OP_TRIANGULAR_SOLVE
from eager_core.dtypes cimport DTYPES, EAGER_FLOAT32, EAGER_FLOAT64
from eager_core.layout cimport Layout, contiguous_layout
from eager_core.op cimport (
    EAGER_SMALL_CHOLESKY, EAGER_SMALL_COFACTOR, EAGER_SMALL_DET, EAGER_SMALL_INVERSE, EAGER_SMALL_LOWER, EAGER_SMALL_MATRIX,
    EAGER_SMALL_SLOGDET, EAGER_SMALL_SOLVE, EAGER_SMALL_UNIT_LOWER, EAGER_SMALL_UNIT_UPPER, EAGER_SMALL_UPPER, FAMILY_LINALG, OpCall,
    eager_matrices, eager_small, eager_small_kernel, register_rule,
)
from eager_core.profiling cimport add_kernel_time, now, watched
from eager_core.rules_array cimport rule_array
from eager_core.rules_common cimport batch_step, result
from eager_core.storage cimport Storage
from eager_core.tensor cimport TensorBase
from eager_core.tracer cimport KEEP_GIL_BELOW


cdef inline void _turn(eager_matrices *m) noexcept:
    """The transposed matrices."""
    m.row, m.column = m.column, m.row


cdef inline void _matrices(eager_matrices *m, TensorBase t) noexcept:
    """The last two axes; the step of the batch is the caller's business."""
    cdef Layout layout = t.layout
    cdef int itemsize = DTYPES[t.dtype].itemsize
    m.data = t.data
    m.step = 0
    m.row = layout.strides[layout.ndim - 2] * itemsize
    m.column = layout.strides[layout.ndim - 1] * itemsize


cdef bint _stack(eager_matrices *m, TensorBase t, Py_ssize_t count) noexcept:
    cdef bint regular = True
    _matrices(m, t)
    if count != 1:
        m.step = batch_step(t, t.layout.ndim - 2, count, &regular)
    return regular


cdef int _run(OpCall *c, int kernel, eager_matrices *x, eager_matrices *y, eager_matrices *out, Py_ssize_t count, int n, int k) except -1:
    """Run the kernel into the result; False if it was left undecided, and then there is no result."""
    cdef TensorBase made = <TensorBase>c.out
    cdef Storage _first = (<TensorBase>c.x[0]).storage, _second = (<TensorBase>c.x[c.n - 1]).storage    # while the GIL is away
    cdef eager_small call = eager_small_kernel(kernel, made.dtype)
    cdef long long start = now() if watched else 0
    cdef int undecided
    out.data = made.data
    if count * n * n * k < KEEP_GIL_BELOW:
        undecided = call(x, y, out, count, n, k)
    else:
        with nogil:
            undecided = call(x, y, out, count, n, k)
    if start:
        add_kernel_time(now() - start)
    if undecided:
        Py_XDECREF(c.out)
        c.out = NULL
    return not undecided


cdef int _of_one(OpCall *c, TensorBase x, int n, Py_ssize_t count) except -1:
    """Of a stack of square matrices: a matrix or a number each."""
    cdef eager_matrices source, out
    cdef Py_ssize_t[9] dims
    cdef int i, kernel, ndim = x.layout.ndim, itemsize = DTYPES[x.dtype].itemsize
    if not _stack(&source, x, count):
        return False
    if c.row.id == OP_DET or c.row.id == OP_SLOGDET:
        kernel = EAGER_SMALL_DET
        if c.row.id == OP_SLOGDET:
            kernel = EAGER_SMALL_SLOGDET
            dims[0] = 2
        for i in range(ndim - 2):
            dims[i + (kernel == EAGER_SMALL_SLOGDET)] = x.layout.dims[i]
        result(c, contiguous_layout(ndim - 2 + (kernel == EAGER_SMALL_SLOGDET), dims), x.dtype)
        out.step = out.column = itemsize
        out.row = count * itemsize
        return _run(c, kernel, &source, NULL, &out, count, n, n)
    kernel = EAGER_SMALL_INVERSE if c.row.id == OP_INVERSE else EAGER_SMALL_COFACTOR if c.row.id == OP_COFACTOR else EAGER_SMALL_CHOLESKY
    result(c, x.layout if x.layout.contiguous else contiguous_layout(ndim, x.layout.dims), x.dtype)
    out.row = n * itemsize
    out.column = itemsize
    out.step = n * out.row
    if kernel == EAGER_SMALL_CHOLESKY and c.attrs[0].i:
        _turn(&source)
        _turn(&out)
    return _run(c, kernel, &source, NULL, &out, count, n, n)


cdef int _of_two(OpCall *c, TensorBase x, TensorBase y, int n) except -1:
    """Solutions of systems of equations; the batches are broadcast. attrs: left; or upper, transpose, unitriangular."""
    cdef eager_matrices first, second, out
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t from_x, from_y, count = 1
    cdef bint left = True, vector = False, upper
    cdef int i, n_batch, x_batch = x.layout.ndim - 2, y_batch = y.layout.ndim - 2, k = 1, itemsize = DTYPES[x.dtype].itemsize
    cdef int kernel = EAGER_SMALL_SOLVE
    if c.row.id == OP_SOLVE:
        left = c.attrs[0].i
        vector = left and (y.layout.ndim == 1 or (y.layout.ndim == x.layout.ndim - 1 and _same_rows(x.layout, y.layout)))
    if vector:
        y_batch += 1
    elif y.layout.ndim < 2:
        return False
    if y.layout.dims[y_batch if left else y_batch + 1] != n:
        return False
    if not vector:
        k = <int>min(y.layout.dims[y_batch + 1 if left else y_batch], 1 + EAGER_SMALL_MATRIX)
        if k > EAGER_SMALL_MATRIX or k == 0:
            return False
    n_batch = max(x_batch, y_batch)
    for i in range(n_batch):
        from_x = x.layout.dims[i - n_batch + x_batch] if i >= n_batch - x_batch else 1
        from_y = y.layout.dims[i - n_batch + y_batch] if i >= n_batch - y_batch else 1
        if from_x != from_y and from_x != 1 and from_y != 1:
            return False
        dims[i] = from_y if from_x == 1 else from_x
        count *= dims[i]
    if count == 0:
        return False
    dims[n_batch] = n if left else k
    dims[n_batch + 1] = k if left else n
    if not _stack(&first, x, count):
        return False
    out.row = k * itemsize
    out.column = itemsize
    out.step = n * out.row
    if not vector:
        if not _stack(&second, y, count):
            return False
        if not left:
            _turn(&first)
            _turn(&second)
            out.row = itemsize
            out.column = n * itemsize
    elif not _vectors(&second, y, count):
        return False
    if c.row.id == OP_TRIANGULAR_SOLVE:
        upper = c.attrs[0].i
        if c.attrs[1].i:
            _turn(&first)
            upper = not upper
        if c.attrs[2].i:
            kernel = EAGER_SMALL_UNIT_UPPER if upper else EAGER_SMALL_UNIT_LOWER
        else:
            kernel = EAGER_SMALL_UPPER if upper else EAGER_SMALL_LOWER
    result(c, contiguous_layout(n_batch + (1 if vector else 2), dims), x.dtype)
    return _run(c, kernel, &first, &second, &out, count, n, k)


cdef bint _vectors(eager_matrices *m, TensorBase y, Py_ssize_t count) noexcept:
    """A stack of columns."""
    cdef int last = y.layout.ndim - 1
    if last and not y.layout.contiguous:
        return False
    m.data = y.data
    m.row = y.layout.strides[last] * DTYPES[y.dtype].itemsize
    m.column = 0
    m.step = y.layout.dims[last] * m.row if last and count != 1 else 0
    return True


cdef bint _same_rows(Layout x, Layout y) noexcept:
    """Whether y has the shape of x without its last axis."""
    cdef int i
    for i in range(y.ndim):
        if x.dims[i] != y.dims[i]:
            return False
    return True


cdef int _small(OpCall *c) except -1:
    cdef TensorBase x = <TensorBase>c.x[0], y
    cdef Py_ssize_t n
    cdef int ndim = x.layout.ndim
    if c.inplace or ndim < 2 or c.scalar_at >= 0 or (x.dtype != EAGER_FLOAT64 and x.dtype != EAGER_FLOAT32):
        return False
    n = x.layout.dims[ndim - 1]
    if n != x.layout.dims[ndim - 2] or n > EAGER_SMALL_MATRIX or x.layout.numel == 0:
        return False
    if c.n == 1:
        return _of_one(c, x, n, x.layout.numel // (n * n) if ndim > 2 else 1)
    y = <TensorBase>c.x[1]
    return y.dtype == x.dtype and y.layout.ndim > 0 and _of_two(c, x, y, n)


cdef int rule_linalg(OpCall *c) except -1:
    if _small(c):
        return 0
    return rule_array(c)


register_rule(FAMILY_LINALG, rule_linalg)
