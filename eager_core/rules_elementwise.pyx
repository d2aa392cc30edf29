"""Rules of elementwise operators: unary, binary, where, clip, scale, gelu, cast."""
import numpy as np
from libc.math cimport INFINITY, fabs, floor

from eager_core.dtypes cimport (
    DTYPES, EAGER_BOOL, EAGER_FLOAT32, EAGER_FLOAT64, KIND_BOOL, KIND_COMPLEX, KIND_FLOAT, KIND_INT, PROMOTE, code_of, numpy_dtype,
)
from eager_core.errors cimport invalid_argument, invalid_type
from eager_core._generated.op_ids cimport OP_POW, UFUNC_SQUARE
from eager_core.kernel_tables cimport Loop, stream_copies, ufunc_loop, ufunc_object
from eager_core.layout cimport Layout
from eager_core.op cimport (
    FAMILY_BINARY, FAMILY_CAST, FAMILY_CLIP, FAMILY_GELU, FAMILY_SCALE, FAMILY_TERNARY, FAMILY_UNARY, JOB_LOOP, JobKind, OpCall,
    RESULT_BOOL,
    RESULT_FLOAT, RESULT_LOGICAL, RESULT_WHOLE, SCALAR_BOOL, eager_cast_loop, op_name, register_rule,
)
from eager_core.rules_common cimport (
    Kernel, broadcast, find_kernel, keep_python, no_loop, number_fits, number_of, operand, promoted, put_double, put_number, result,
    writable,
)
from eager_core.tensor cimport TensorBase, as_array
from eager_core.tracer cimport begin_plan, plan_constant, plan_tensor


cdef void _flat(OpCall *c, Kernel kernel, int operands, Py_ssize_t n) noexcept:
    """One contiguous loop; the caller sets the input pointers and steps."""
    cdef TensorBase out = writable(c)
    c.job.kind = <JobKind>(<int>JOB_LOOP + operands)
    c.job.loop = kernel.call
    c.job.data = kernel.data
    c.job.dims[0] = n
    c.job.args[operands] = out.data
    c.job.steps[operands] = DTYPES[out.dtype].itemsize


cdef void _begin(OpCall *c, Kernel kernel, Layout shape, int operands) noexcept:
    begin_plan(&c.job, shape, operands + 1)
    c.job.plan.loop = kernel.call
    c.job.plan.data = kernel.data
    plan_tensor(&c.job, operands, writable(c))


cdef void _unary_job(OpCall *c, Kernel kernel, TensorBase x) noexcept:
    if x.layout.contiguous and writable(c).layout.contiguous:
        _flat(c, kernel, 1, x.layout.numel)
        c.job.args[0] = x.data
        c.job.steps[0] = DTYPES[x.dtype].itemsize
    else:
        _begin(c, kernel, x.layout, 1)
        plan_tensor(&c.job, 0, x)


cdef int rule_unary(OpCall *c) except -1:
    cdef TensorBase x = <TensorBase>c.x[0]
    cdef int dtype = x.dtype
    cdef Kernel kernel
    if c.row.dtype_rule == RESULT_FLOAT:
        dtype = DTYPES[dtype].float_of
    kernel = find_kernel(c, dtype)
    if kernel.call == NULL:
        if c.row.dtype_rule != RESULT_WHOLE or DTYPES[dtype].kind > KIND_INT:
            return _by_numpy(c)
        kernel.call = eager_cast_loop(dtype, dtype)
        kernel.data = NULL
        kernel.result = dtype
    result(c, x.layout, kernel.result)
    _unary_job(c, kernel, operand(c, 0, dtype))
    return 0


cdef int rule_binary(OpCall *c) except -1:
    cdef TensorBase x, y, out
    cdef int dtype, at
    cdef Layout shape
    cdef Kernel kernel
    cdef char *number
    if c.row.dtype_rule == RESULT_LOGICAL and c.scalar_at >= 0:
        c.scalar_kind = SCALAR_BOOL
        c.scalar_int = c.scalar_real != 0 or c.scalar_imag != 0
        c.scalar_real = c.scalar_int
        c.scalar_imag = 0.0
        c.scalar_big = NULL
    dtype = promoted(c)
    if c.row.dtype_rule == RESULT_FLOAT and DTYPES[dtype].kind <= KIND_INT:
        dtype = EAGER_FLOAT64
    if c.row.id == OP_POW and c.scalar_at == 1 and c.scalar_real == 2.0 and c.scalar_imag == 0.0 and DTYPES[dtype].kind >= KIND_FLOAT:
        return _square(c, dtype)
    kernel = find_kernel(c, dtype)
    if kernel.call == NULL or (c.row.dtype_rule == RESULT_BOOL and _compared_exactly(c, dtype)):
        return _by_numpy(c)
    if c.scalar_at >= 0:
        at = 1 - c.scalar_at
        x = <TensorBase>c.x[at]
        result(c, x.layout, kernel.result)
        x = operand(c, at, dtype)
        number = put_number(c, 0, dtype)
        if x.layout.contiguous and writable(c).layout.contiguous:
            _flat(c, kernel, 2, x.layout.numel)
            c.job.args[at] = x.data
            c.job.steps[at] = DTYPES[dtype].itemsize
            c.job.args[1 - at] = number
            c.job.steps[1 - at] = 0
        else:
            _begin(c, kernel, x.layout, 2)
            plan_tensor(&c.job, at, x)
            plan_constant(&c.job, 1 - at, number)
        return 0
    x = <TensorBase>c.x[0]
    y = <TensorBase>c.x[1]
    shape = broadcast(c, x.layout, y.layout)
    result(c, shape, kernel.result)
    x = operand(c, 0, dtype)
    y = operand(c, 1, dtype)
    out = writable(c)
    if x.layout.contiguous and y.layout.contiguous and out.layout.contiguous and (
            x.layout.numel == shape.numel or x.layout.numel == 1) and (y.layout.numel == shape.numel or y.layout.numel == 1):
        _flat(c, kernel, 2, shape.numel)
        c.job.args[0] = x.data
        c.job.args[1] = y.data
        c.job.steps[0] = DTYPES[dtype].itemsize if x.layout.numel == shape.numel else 0
        c.job.steps[1] = DTYPES[dtype].itemsize if y.layout.numel == shape.numel else 0
    else:
        _begin(c, kernel, shape, 2)
        plan_tensor(&c.job, 0, x)
        plan_tensor(&c.job, 1, y)
    return 0


cdef int _square(OpCall *c, int dtype) except -1:
    """x ** 2, by far the most frequent power: NumPy's own short cut, ten times as fast as its power."""
    cdef TensorBase x = <TensorBase>c.x[0]
    cdef Loop *loop = ufunc_loop(UFUNC_SQUARE, dtype)
    cdef Kernel kernel
    if loop.call == NULL:
        return _by_numpy(c)
    kernel.call = loop.call
    kernel.data = loop.data
    kernel.result = dtype
    result(c, x.layout, dtype)
    _unary_job(c, kernel, operand(c, 0, dtype))
    return 0


cdef bint _compared_exactly(OpCall *c, int dtype) noexcept:
    """What no common dtype holds and NumPy compares nevertheless: int64 with uint64, and integers with a number beyond their range."""
    if c.scalar_at >= 0:
        return DTYPES[dtype].kind <= KIND_INT and not number_fits(c, dtype)
    return (DTYPES[dtype].kind == KIND_FLOAT and DTYPES[(<TensorBase>c.x[0]).dtype].kind == KIND_INT
            and DTYPES[(<TensorBase>c.x[1]).dtype].kind == KIND_INT)


cdef int _by_numpy(OpCall *c) except -1:
    """No loop that may be called directly: let the ufunc itself compute, into memory of its own."""
    cdef int i
    cdef TensorBase shape_giver = <TensorBase>c.x[0 if c.scalar_at != 0 else 1]
    cdef Layout shape = shape_giver.layout
    if c.row.kernel < 0:
        no_loop(c, shape_giver.dtype)
    ufunc = ufunc_object(c.row.kernel)
    arguments = [number_of(c) if i == c.scalar_at else as_array(<TensorBase>c.x[i], False) for i in range(c.n)]
    if c.row.dtype_rule == RESULT_FLOAT:                # and not float16
        if c.n == 1:
            arguments[0] = arguments[0].astype(numpy_dtype(DTYPES[shape_giver.dtype].float_of), copy=False)
        elif DTYPES[promoted(c)].kind <= KIND_INT:
            arguments = [a if i == c.scalar_at else a.astype(np.float64) for i, a in enumerate(arguments)]
    if c.n == 2 and c.scalar_at < 0:
        shape = broadcast(c, shape, (<TensorBase>c.x[1]).layout)
    samples = [a.reshape(-1)[:0] if i != c.scalar_at else a for i, a in enumerate(arguments)]
    try:
        # On no elements: tells the dtype of the result, or that there is no such operation.
        dtype = ufunc(*samples).dtype
    except TypeError:
        no_loop(c, shape_giver.dtype)

    result(c, shape, code_of(dtype))
    if c.inplace:
        # The kernel may fail half-way (integer powers do): nothing may have been written then.
        target = as_array(writable(c), True)

        def compute():
            target[...] = ufunc(*arguments)
    else:
        target = as_array(writable(c), True)

        def compute():
            ufunc(*arguments, out=target)
    return keep_python(c, compute)


cdef int rule_where(OpCall *c) except -1:
    """where(condition, x, y). It has no in-place form."""
    cdef TensorBase condition = <TensorBase>c.x[0]
    cdef TensorBase side
    cdef Layout shape = condition.layout
    cdef int dtype, i
    cdef Kernel kernel
    if condition.dtype != EAGER_BOOL:
        invalid_type(f"{op_name(c)}(): argument 'condition' must have dtype bool, but got {DTYPES[condition.dtype].name.decode()}")
    dtype = -1
    for i in range(1, 3):
        if c.x[i] != NULL:
            side = <TensorBase>c.x[i]
            dtype = side.dtype if dtype < 0 else PROMOTE[dtype][side.dtype]
            shape = broadcast(c, shape, side.layout)
    kernel = find_kernel(c, dtype)
    result(c, shape, dtype)
    _begin(c, kernel, shape, 3)
    plan_tensor(&c.job, 0, condition)
    plan_tensor(&c.job, 1, operand(c, 1, dtype))
    plan_tensor(&c.job, 2, operand(c, 2, dtype))
    return 0


cdef bint _whole(double number) noexcept:
    """Whether an integer may stand for it: no fraction, not infinite, small enough to have been given exactly."""
    return number == floor(number) and fabs(number) <= 9e15


cdef int rule_clip(OpCall *c) except -1:
    """attrs: min, max (o == NULL: absent). A fractional bound turns integers into floating point, as a Python number does elsewhere."""
    cdef TensorBase x = <TensorBase>c.x[0]
    cdef int dtype = x.dtype, k
    cdef Kernel kernel
    cdef char *low
    cdef char *high
    if DTYPES[dtype].kind == KIND_COMPLEX or DTYPES[dtype].kind == KIND_BOOL:
        no_loop(c, dtype)
    for k in range(2):
        if c.attrs[k].o == NULL:
            c.attrs[k].f = INFINITY if k else -INFINITY
        elif DTYPES[dtype].kind == KIND_INT and type(<object>c.attrs[k].o) is float and not _whole(c.attrs[k].f):
            dtype = EAGER_FLOAT64
    if DTYPES[dtype].kind == KIND_INT:
        return _clip_integers(c, dtype)
    kernel = find_kernel(c, dtype)
    if kernel.call == NULL:
        return _clip_by_numpy(c, dtype, c.attrs[0].f, c.attrs[1].f)
    result(c, x.layout, dtype)
    x = operand(c, 0, dtype)
    low = put_double(c, 0, c.attrs[0].f, dtype)
    high = put_double(c, 1, c.attrs[1].f, dtype)
    if x.layout.contiguous and writable(c).layout.contiguous:
        _flat(c, kernel, 3, x.layout.numel)
        c.job.args[0] = x.data
        c.job.steps[0] = DTYPES[dtype].itemsize
        c.job.args[1] = low
        c.job.steps[1] = 0
        c.job.args[2] = high
        c.job.steps[2] = 0
    else:
        _begin(c, kernel, x.layout, 3)
        plan_tensor(&c.job, 0, x)
        plan_constant(&c.job, 1, low)
        plan_constant(&c.job, 2, high)
    return 0


cdef int _clip_integers(OpCall *c, int dtype) except -1:
    """Bounds beyond the dtype's range do not bind."""
    info = np.iinfo(numpy_dtype(dtype))
    low = info.min if c.attrs[0].o == NULL else min(max(int(<object>c.attrs[0].o), info.min), info.max)
    high = info.max if c.attrs[1].o == NULL else min(max(int(<object>c.attrs[1].o), info.min), info.max)
    return _clip_by_numpy(c, dtype, low, high)


cdef int _clip_by_numpy(OpCall *c, int dtype, low, high) except -1:
    array = as_array(<TensorBase>c.x[0], False)
    result(c, (<TensorBase>c.x[0]).layout, dtype)
    target = as_array(writable(c), True)

    def compute():
        np.clip(array, low, high, out=target)
    return keep_python(c, compute)


cdef int rule_scale(OpCall *c) except -1:
    """attrs: scale, bias, bias_after_scale."""
    cdef TensorBase x = <TensorBase>c.x[0]
    cdef int dtype = x.dtype
    cdef Kernel kernel
    if DTYPES[dtype].kind == KIND_BOOL:
        no_loop(c, dtype)
    if DTYPES[dtype].kind == KIND_INT and not (_whole(c.attrs[0].f) and _whole(c.attrs[1].f)):
        dtype = EAGER_FLOAT64
    kernel = find_kernel(c, dtype)
    c.scale.scale = c.attrs[0].f
    c.scale.bias = c.attrs[1].f
    if DTYPES[dtype].kind == KIND_INT:
        c.scale.iscale = <long long>c.attrs[0].f
        c.scale.ibias = <long long>c.attrs[1].f
    c.scale.bias_after_scale = c.attrs[2].i != 0
    kernel.data = &c.scale
    kernel.result = dtype
    result(c, x.layout, dtype)
    _unary_job(c, kernel, operand(c, 0, dtype))
    return 0


cdef int rule_gelu(OpCall *c) except -1:
    """attrs: approximate, an object; of its number backward reads whether it is the tanh form, whose kernel is the next one."""
    cdef TensorBase x = <TensorBase>c.x[0]
    cdef int dtype = DTYPES[x.dtype].float_of
    cdef Kernel kernel
    cdef Loop *loop
    c.attrs[0].i = c.attrs[0].o != NULL and _by_tanh(<object>c.attrs[0].o)
    c.attrs[0].o = NULL
    loop = ufunc_loop(c.row.kernel - <int>c.attrs[0].i, dtype)
    if loop.call == NULL:
        no_loop(c, x.dtype)
    kernel.call = loop.call
    kernel.data = NULL
    result(c, x.layout, dtype)
    _unary_job(c, kernel, operand(c, 0, dtype))
    return 0


cdef tuple _EXACT = (None, False, "none"), _TANH = (True, "tanh")


cdef bint _by_tanh(object approximate) except -1:
    if approximate in _EXACT:
        return False
    if approximate in _TANH:
        return True
    return invalid_argument(f"gelu(): approximate must be 'tanh', 'none', True or False, but got {approximate!r}")


cdef int rule_cast(OpCall *c) except -1:
    """attrs: dtype (-1: as it is). Also assign and clone: a copy."""
    cdef TensorBase x = <TensorBase>c.x[0]
    cdef int dtype = x.dtype
    cdef Kernel kernel
    if c.row.n_attrs > 0 and c.attrs[0].i >= 0:
        dtype = <int>c.attrs[0].i
    if c.inplace and c.needs_grad and dtype < EAGER_FLOAT32:
        invalid_type(f"{op_name(c)}(): a cast to {DTYPES[dtype].name.decode()} has no gradient (S9.24). Use cast(), whose result is a "
                     "constant, or write under no_grad()")
    kernel.call = eager_cast_loop(x.dtype, dtype)
    kernel.data = NULL
    result(c, x.layout, dtype)
    if c.inplace and c.stage == NULL:
        return 0                 # the values are there already
    _unary_job(c, kernel, x)
    return 0


register_rule(FAMILY_UNARY, rule_unary)
register_rule(FAMILY_BINARY, rule_binary)
register_rule(FAMILY_TERNARY, rule_where)
register_rule(FAMILY_CLIP, rule_clip)
register_rule(FAMILY_SCALE, rule_scale)
register_rule(FAMILY_GELU, rule_gelu)
register_rule(FAMILY_CAST, rule_cast)
stream_copies(eager_cast_loop(EAGER_FLOAT32, EAGER_FLOAT32), eager_cast_loop(EAGER_FLOAT64, EAGER_FLOAT64))
