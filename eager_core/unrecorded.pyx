"""Arithmetic of a backward pass that records nothing, at the price of a loop and at most one new tensor."""
from libc.string cimport memcpy, memset

from eager_core._generated.op_ids cimport OP_POW, UFUNC_ADD
from eager_core.dtypes cimport DTYPES, EAGER_COMPLEX64, EAGER_FLOAT32, EAGER_FLOAT64
from eager_core.grad_node cimport SavedTensor
from eager_core.kernel_tables cimport Loop, ufunc_loop
from eager_core.layout cimport same_shape
from eager_core.op cimport FAMILY_BINARY, FAMILY_UNARY, JOB_LOOP_1, JOB_LOOP_2, Job, eager_cast_loop
from eager_core.storage cimport Storage, untouched
from eager_core.tensor cimport alias, as_array, empty_tensor
from eager_core.tracer cimport KEEP_GIL_BELOW, begin_plan, plan_constant, plan_memory, plan_tensor, run_job


cdef inline bint _reusable(TensorBase t, int references) noexcept:
    """Only `references` variables of ours see this tensor, and nothing else its memory. What has a history of its own is left alone."""
    return ((<PyObject *>t).ob_refcnt == references and (<PyObject *>t.storage).ob_refcnt == 1 and t.root is None and t.grad_node is None
            and t.storage.version.outsiders == 0 and t.accumulator is None and t._stop_gradient)


cdef inline bint _loop_of(OpRow *row, int dtype, Job *job) noexcept:
    """A direct loop from floating point to the same dtype."""
    cdef Loop *loop
    if dtype < EAGER_FLOAT32:
        return False
    loop = ufunc_loop(row.kernel, dtype)
    job.loop = loop.call
    job.data = loop.data
    return loop.call != NULL and loop.result == dtype


cdef inline void _operand(Job *job, int k, TensorBase t) noexcept:
    job.args[k] = t.data
    job.steps[k] = DTYPES[t.dtype].itemsize


cdef TensorBase unrecorded_1(OpRow *row, TensorBase x, int spare):
    cdef Job job
    cdef TensorBase out
    cdef Storage _held
    if row.family != FAMILY_UNARY or not x.layout.contiguous or not _loop_of(row, x.dtype, &job):
        return None
    out = x if spare and _reusable(x, spare) else empty_tensor(x.layout, x.dtype)
    job.kind = JOB_LOOP_1
    _held = x.storage                        # should another thread rebind it while the GIL is away; earlier, it would count as a holder
    job.dims[0] = x.layout.numel
    _operand(&job, 0, x)
    _operand(&job, 1, out)
    run_job(&job)
    return out


cdef TensorBase unrecorded_2(OpRow *row, TensorBase x, TensorBase y, int spare_x, int spare_y):
    cdef Job job
    cdef TensorBase out
    cdef Storage _held_x, _held_y
    if (row.family != FAMILY_BINARY or x.dtype != y.dtype or not x.layout.contiguous or not y.layout.contiguous
            or not same_shape(x.layout, y.layout) or not _loop_of(row, x.dtype, &job)):
        return None
    if spare_x and _reusable(x, spare_x):
        out = x
    elif spare_y and _reusable(y, spare_y):
        out = y
    else:
        out = empty_tensor(x.layout, x.dtype)
    job.kind = JOB_LOOP_2
    _held_x = x.storage
    _held_y = y.storage
    job.dims[0] = x.layout.numel
    _operand(&job, 0, x)
    _operand(&job, 1, y)
    _operand(&job, 2, out)
    run_job(&job)
    return out


cdef TensorBase unrecorded_saved(OpRow *row, OperatorNode node, int k, bint first, TensorBase other, int spare):
    """Of a saved value, straight from its memory, and another operand."""
    cdef SavedTensor *saved = &node.saved[k]
    cdef Job job
    cdef TensorBase out
    cdef Storage _held_saved, _held
    if (row.family != FAMILY_BINARY or k >= node.n_saved or saved.storage == NULL or saved.dtype != other.dtype
            or other.dtype >= EAGER_COMPLEX64 or not (<Layout>saved.layout).contiguous or not other.layout.contiguous
            or not same_shape(<Layout>saved.layout, other.layout) or not _loop_of(row, other.dtype, &job)):
        return None
    _held_saved = <Storage>saved.storage
    if not untouched(_held_saved, saved.version, saved.data, <Layout>saved.layout, DTYPES[saved.dtype].itemsize):
        return None                              # an older value, or an error: the general way knows
    out = other if spare and _reusable(other, spare) else empty_tensor(other.layout, other.dtype)
    job.kind = JOB_LOOP_2
    _held = other.storage
    job.dims[0] = other.layout.numel
    job.args[not first] = saved.data
    job.steps[not first] = DTYPES[saved.dtype].itemsize
    _operand(&job, first, other)
    _operand(&job, 2, out)
    run_job(&job)
    return out


cdef TensorBase unrecorded_number(OpRow *row, TensorBase x, double number, bint number_first, int spare):
    cdef Job job
    cdef TensorBase out
    cdef float single
    cdef Storage _held
    # A power of 2 is another kernel, and the rule's business.
    if (row.family != FAMILY_BINARY or row.id == OP_POW or x.dtype >= EAGER_COMPLEX64 or not x.layout.contiguous
            or not _loop_of(row, x.dtype, &job)):
        return None
    out = x if spare and _reusable(x, spare) else empty_tensor(x.layout, x.dtype)
    job.kind = JOB_LOOP_2
    _held = x.storage
    job.dims[0] = x.layout.numel
    _operand(&job, number_first, x)
    _operand(&job, 2, out)
    if x.dtype == EAGER_FLOAT64:
        job.args[not number_first] = <char *>&number
    else:
        single = <float>number
        job.args[not number_first] = <char *>&single
    job.steps[not number_first] = 0
    run_job(&job)
    return out


cdef bint add_same(TensorBase t, TensorBase addend) noexcept:
    cdef Job job
    cdef Storage _held = t.storage, _held_addend = addend.storage
    cdef Loop *add = ufunc_loop(UFUNC_ADD, t.dtype)
    if (add.call == NULL or t.dtype != addend.dtype or not t.layout.contiguous or not addend.layout.contiguous
            or not same_shape(t.layout, addend.layout)):
        return False
    job.kind = JOB_LOOP_2
    job.loop = add.call
    job.data = add.data
    job.dims[0] = t.layout.numel
    _operand(&job, 0, t)
    _operand(&job, 1, addend)
    _operand(&job, 2, t)
    run_job(&job)
    return True


cdef int fill_region(TensorBase t, Layout region, char *data, double value) except -1:
    cdef Job job
    if value == 0.0 and region.contiguous and region.numel < KEEP_GIL_BELOW:
        memset(data, 0, region.numel * DTYPES[t.dtype].itemsize)
        return 0
    if region.contiguous:
        job.kind = JOB_LOOP_1
        job.loop = eager_cast_loop(EAGER_FLOAT64, t.dtype)
        job.data = NULL
        job.dims[0] = region.numel
        job.args[0] = <char *>&value
        job.steps[0] = 0
        job.args[1] = data
        job.steps[1] = DTYPES[t.dtype].itemsize
    else:
        begin_plan(&job, region, 2)
        job.plan.loop = eager_cast_loop(EAGER_FLOAT64, t.dtype)
        job.plan.data = NULL
        plan_constant(&job, 0, <char *>&value)
        plan_memory(&job, 1, region, data, t.dtype)
    run_job(&job)
    return 0


cdef int add_into_region(TensorBase t, Layout region, char *data, TensorBase piece) except -1:
    cdef Job job
    cdef Storage _held = t.storage, _held_piece = piece.storage
    cdef Loop *add = ufunc_loop(UFUNC_ADD, t.dtype)
    if add.call == NULL:
        target = as_array(alias(t, region, data), True)
        target += as_array(piece, False)
        return 0
    if region.contiguous and piece.layout.contiguous and piece.layout.numel == region.numel:
        job.kind = JOB_LOOP_2
        job.loop = add.call
        job.data = add.data
        job.dims[0] = region.numel
        _operand(&job, 1, piece)
        job.args[0] = job.args[2] = data
        job.steps[0] = job.steps[2] = DTYPES[t.dtype].itemsize
    else:
        begin_plan(&job, region, 3)
        job.plan.loop = add.call
        job.plan.data = add.data
        plan_memory(&job, 0, region, data, t.dtype)
        plan_tensor(&job, 1, piece)
        plan_memory(&job, 2, region, data, t.dtype)
    run_job(&job)
    return 0


cdef TensorBase copy_of_region(TensorBase t, Layout region, char *data):
    cdef Job job
    cdef Storage _held = t.storage
    cdef TensorBase made = empty_tensor(region, t.dtype)
    if region.contiguous and region.numel < KEEP_GIL_BELOW:
        memcpy(made.data, data, region.numel * DTYPES[t.dtype].itemsize)
        return made
    if region.contiguous:
        job.kind = JOB_LOOP_1
        job.loop = eager_cast_loop(t.dtype, t.dtype)
        job.data = NULL
        job.dims[0] = region.numel
        job.args[0] = data
        job.steps[0] = DTYPES[t.dtype].itemsize
        _operand(&job, 1, made)
    else:
        begin_plan(&job, region, 2)
        job.plan.loop = eager_cast_loop(t.dtype, t.dtype)
        job.plan.data = NULL
        plan_memory(&job, 0, region, data, t.dtype)
        plan_tensor(&job, 1, made)
    run_job(&job)
    return made
