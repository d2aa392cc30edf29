"""What the rules of all operator families share. Everything here happens before anything is written."""
from numpy.exceptions import AxisError

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t

from eager_core.dtypes cimport (
    DTYPES, EAGER_BOOL, EAGER_COMPLEX128, EAGER_COMPLEX64, EAGER_FLOAT32, EAGER_FLOAT64, EAGER_INT16, EAGER_INT32, EAGER_INT64,
    EAGER_UINT16, EAGER_UINT32, EAGER_UINT64, EAGER_UINT8, KIND_COMPLEX, KIND_INT, PROMOTE,
)
from eager_core.errors cimport invalid_argument, invalid_type
from eager_core.kernel_tables cimport Loop, ufunc_loop
from eager_core.layout cimport contiguous_layout, overlaps_itself, same_layout, same_shape, shape_text
from eager_core.op cimport FAMILY_SETITEM, JOB_PYTHON, SCALAR_BOOL, SCALAR_FLOAT, SCALAR_INT, keep, op_name
from eager_core.tensor cimport empty_tensor
from eager_core.tracer cimport copy_for_rule


cdef Kernel find_kernel(OpCall *c, int dtype) noexcept:
    cdef Kernel found
    cdef Loop *loop = ufunc_loop(c.row.kernel, dtype)
    found.call = loop.call
    found.data = loop.data
    found.result = loop.result if loop.call != NULL else -1
    return found


cdef int no_loop(OpCall *c, int dtype) except -1:
    remedy = ". It takes real numbers only" if DTYPES[dtype].kind == KIND_COMPLEX else ""
    invalid_type(f"{op_name(c)}() does not support dtype {DTYPES[dtype].name.decode()}{remedy}")


cdef TensorBase target_of(OpCall *c):
    return <TensorBase>c.x[0]


cdef int check_kind(OpCall *c, int dtype) except -1:
    """S7.2: the target keeps its dtype; the result must be castable to the target's kind."""
    cdef TensorBase target = target_of(c)
    if DTYPES[dtype].kind > DTYPES[target.dtype].kind:
        # The operators of the family setitem have no other form: there is none to recommend.
        remedy = "cast the value" if c.row.family == FAMILY_SETITEM else f"use {c.row.name.decode()}() without underscore"
        invalid_type(f"{op_name(c)}(): a result of dtype {DTYPES[dtype].name.decode()} cannot be stored in the inplace tensor of dtype "
                     f"{DTYPES[target.dtype].name.decode()}. Cast the tensor first, or {remedy}")
    return 0


cdef int result(OpCall *c, Layout shape, int dtype) except -1:
    """Lay out the result: new memory, or the target itself when the shape, the kind and its memory allow it."""
    cdef TensorBase target, made
    if not c.inplace:
        made = empty_tensor(shape, dtype)
        Py_INCREF(made)
        c.out = <PyObject *>made
        return 0
    target = target_of(c)
    if not same_shape(shape, target.layout):
        raise ValueError(f"The shape of broadcast output {shape_text(shape)} is different from that of inplace tensor "
                         f"{shape_text(target.layout)} in the Inplace operation.")
    check_kind(c, dtype)
    if not target.layout.contiguous and overlaps_itself(target.layout):
        invalid_argument(f"{op_name(c)}(): elements of the inplace tensor overlap each other in memory; clone() it first")
    Py_INCREF(target)
    c.out = <PyObject *>target
    if dtype != target.dtype:
        made = empty_tensor(shape, dtype)
        Py_INCREF(made)
        c.stage = <PyObject *>made
    return 0


cdef TensorBase writable(OpCall *c):
    return <TensorBase>(c.stage if c.stage != NULL else c.out)


cdef bint same_elements(TensorBase a, TensorBase b) noexcept:
    return a.data == b.data and a.dtype == b.dtype and same_layout(a.layout, b.layout)


cdef inline void _span(TensorBase t, char **low, char **high) noexcept:
    cdef Py_ssize_t before = 0, after = 0, reach
    cdef int i, itemsize = DTYPES[t.dtype].itemsize
    for i in range(t.layout.ndim):
        reach = t.layout.strides[i] * (t.layout.dims[i] - 1)
        if reach < 0:
            before += reach
        else:
            after += reach
    low[0] = t.data + before * itemsize
    high[0] = t.data + (after + 1) * itemsize


cdef bint may_share(TensorBase a, TensorBase b) noexcept:
    cdef char *low_a
    cdef char *high_a
    cdef char *low_b
    cdef char *high_b
    # Memory of somebody else may be that of two storages.
    if a.storage is not b.storage and (a.storage.version.outsiders == 0 or b.storage.version.outsiders == 0):
        return False
    if a.layout.numel == 0 or b.layout.numel == 0:
        return False
    _span(a, &low_a, &high_a)
    _span(b, &low_b, &high_b)
    return low_a < high_b and low_b < high_a


cdef TensorBase operand(OpCall *c, int i, int dtype):
    """S7.5: an operand that overlaps the target in another order counts as it was before the write."""
    cdef TensorBase t = <TensorBase>c.x[i]
    if t.dtype != dtype or (c.inplace and i > 0 and c.stage == NULL and may_share(t, target_of(c)) and not same_elements(t, target_of(c))):
        t = copy_for_rule(t, dtype)
        keep(c, t)
    return t


cdef char *put_double(OpCall *c, int at, double value, int dtype) noexcept:
    cdef char *data = <char *>&c.numbers[2 * at]
    if dtype == EAGER_FLOAT64:
        (<double *>data)[0] = value
    elif dtype == EAGER_FLOAT32:
        (<float *>data)[0] = <float>value
    elif dtype == EAGER_COMPLEX128:
        (<double *>data)[0] = value
        (<double *>data)[1] = 0
    elif dtype == EAGER_COMPLEX64:
        (<float *>data)[0] = <float>value
        (<float *>data)[1] = 0
    else:
        _put_int(data, <int64_t>value, dtype)
    return data


cdef void _put_int(char *data, int64_t value, int dtype) noexcept:
    if dtype == EAGER_INT64 or dtype == EAGER_UINT64:
        (<int64_t *>data)[0] = value
    elif dtype == EAGER_INT32 or dtype == EAGER_UINT32:
        (<int32_t *>data)[0] = <int32_t>value
    elif dtype == EAGER_INT16 or dtype == EAGER_UINT16:
        (<int16_t *>data)[0] = <int16_t>value
    elif dtype == EAGER_BOOL:
        (<uint8_t *>data)[0] = value != 0
    else:
        (<int8_t *>data)[0] = <int8_t>value


cdef bint number_fits(OpCall *c, int dtype) noexcept:
    cdef int bits = 8 * DTYPES[dtype].itemsize
    cdef int64_t value = c.scalar_int
    if c.scalar_big != NULL:
        return False
    if dtype == EAGER_BOOL or dtype == EAGER_INT64:
        return True
    if dtype == EAGER_UINT8 or dtype == EAGER_UINT16 or dtype == EAGER_UINT32 or dtype == EAGER_UINT64:
        return value >= 0 and (bits == 64 or value < (<int64_t>1 << bits))
    return -(<int64_t>1 << (bits - 1)) <= value < (<int64_t>1 << (bits - 1))


cdef object number_of(OpCall *c):
    if c.scalar_kind == SCALAR_BOOL:
        return bool(c.scalar_int)
    if c.scalar_kind == SCALAR_INT:
        return c.scalar_int if c.scalar_big == NULL else <object>c.scalar_big
    if c.scalar_kind == SCALAR_FLOAT:
        return c.scalar_real
    return complex(c.scalar_real, c.scalar_imag)


cdef char *put_number(OpCall *c, int at, int dtype) except NULL:
    cdef char *data = <char *>&c.numbers[2 * at]
    if DTYPES[dtype].kind <= KIND_INT:
        if not number_fits(c, dtype):
            if dtype == EAGER_UINT64 and c.scalar_big != NULL and 0 <= <object>c.scalar_big < 2 ** 64:
                (<uint64_t *>data)[0] = <object>c.scalar_big
                return data
            raise OverflowError(f"(InvalidArgument) {op_name(c)}(): the number {number_of(c)} is out of bounds for "
                                f"{DTYPES[dtype].name.decode()}")
        _put_int(data, c.scalar_int, dtype)
        return data
    put_double(c, at, c.scalar_real, dtype)
    if dtype == EAGER_COMPLEX128:
        (<double *>data)[1] = c.scalar_imag
    elif dtype == EAGER_COMPLEX64:
        (<float *>data)[1] = <float>c.scalar_imag
    return data


cdef int promoted(OpCall *c) except -1:
    """NumPy 2's promotion: a Python number has a kind but no width."""
    cdef int dtype
    cdef int kind
    if c.scalar_at < 0:
        return PROMOTE[(<TensorBase>c.x[0]).dtype][(<TensorBase>c.x[1]).dtype]
    dtype = (<TensorBase>c.x[1 - c.scalar_at]).dtype
    kind = DTYPES[dtype].kind
    if <int>c.scalar_kind <= kind:
        return dtype
    if c.scalar_kind == SCALAR_INT:
        return EAGER_INT64
    if c.scalar_kind == SCALAR_FLOAT:
        return EAGER_FLOAT64
    return EAGER_COMPLEX64 if dtype == EAGER_FLOAT32 else EAGER_COMPLEX128


cdef Layout broadcast(OpCall *c, Layout a, Layout b):
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t from_a, from_b
    cdef int i, ndim = a.ndim if a.ndim > b.ndim else b.ndim
    if same_shape(a, b) or b.ndim == 0:
        return a
    if a.ndim == 0:
        return b
    for i in range(ndim):
        from_a = a.dims[i - ndim + a.ndim] if i >= ndim - a.ndim else 1
        from_b = b.dims[i - ndim + b.ndim] if i >= ndim - b.ndim else 1
        if from_a != from_b and from_a != 1 and from_b != 1:
            invalid_argument(f"Broadcast dimension mismatch. Operands of {op_name(c)}() could not be broadcast together with the shape of "
                             f"X = {shape_text(a)} and the shape of Y = {shape_text(b)}. Received {from_a} in X is not equal to {from_b} "
                             f"in Y at i:{i}.")
        dims[i] = from_b if from_a == 1 else from_a
    return contiguous_layout(ndim, dims)


cdef int keep_python(OpCall *c, object function) except -1:
    c.job.kind = JOB_PYTHON
    c.job.python = keep(c, function)
    return 0


cdef int axis_of(OpCall *c, Py_ssize_t axis, int ndim, str name) except -1:
    cdef Py_ssize_t bound = ndim if ndim else 1
    if axis < -bound or axis >= bound:
        # Both a ValueError (the reference's class for it) and an IndexError (the category's).
        raise AxisError(f"(OutOfRange) {op_name(c)}(): {name} {axis} is out of range for a tensor of {ndim} axes; "
                        f"expected {-bound} to {bound - 1}")
    return axis + bound if axis < 0 else axis


cdef Py_ssize_t batch_step(TensorBase t, int batch_ndim, Py_ssize_t batch, bint *regular) noexcept:
    """Bytes from one matrix of the stack to the next, if one number tells it for the whole (broadcast) batch."""
    cdef Layout layout = t.layout
    cdef Py_ssize_t own = 1
    cdef int i
    for i in range(batch_ndim):
        own *= layout.dims[i]
    if own == 1:
        return 0
    if own != batch:
        regular[0] = False
        return 0
    for i in range(batch_ndim - 1):
        if layout.strides[i] != layout.strides[i + 1] * layout.dims[i + 1]:
            regular[0] = False
            return 0
    return layout.strides[batch_ndim - 1] * DTYPES[t.dtype].itemsize
