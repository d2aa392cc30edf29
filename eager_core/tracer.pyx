"""trace_op: runs what a rule has prepared. The only place where the GIL is released around a kernel."""
import numpy as np
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF, Py_XINCREF
from libc.string cimport memcpy

from eager_core.dtypes cimport DTYPES, EAGER_FLOAT32, EAGER_FLOAT64
from eager_core.kernel_tables cimport stream_copies
from eager_core.modes cimport modes_on
from eager_core.op cimport (
    JOB_GUFUNC, JOB_LOOP_1, JOB_NONE, JOB_PLAN, JOB_PYTHON, JOB_ROWS, JOB_TOTAL, eager_begin_walk, eager_cast_loop, eager_run_plan,
    eager_run_reduction, eager_walk,
)
from eager_core.preserving cimport put_by
from eager_core.profiling cimport add_kernel_time, now, run_at_once_below, set_run_at_once_below, watched
from eager_core.splitting cimport SPLIT_FROM, run_large
from eager_core.storage cimport Storage
from eager_core.tensor cimport empty_tensor
from eager_core.thread_pool cimport decide_count


cdef inline Py_ssize_t _work(Job *job) noexcept:
    cdef Py_ssize_t work = 1
    cdef int i
    if job.kind <= JOB_TOTAL:
        return job.dims[0]
    if job.kind == JOB_GUFUNC:
        return job.dims[0] * job.dims[1] * job.dims[2] * job.dims[3]
    if job.kind == JOB_ROWS:
        return job.dims[0] * job.dims[1]
    for i in range(job.plan.ndim):
        work *= job.plan.shape[i]
    return work


cdef inline void _run(Job *job) noexcept nogil:
    """Kernels cannot fail, and touch no Python object."""
    cdef eager_walk walk
    if job.kind <= JOB_GUFUNC:
        job.loop(job.args, job.dims, job.steps, job.data)
    elif job.kind == JOB_PLAN:
        eager_run_plan(&job.plan)
    elif job.kind == JOB_ROWS:
        job.rows(job.args[0], job.args[1], job.args[2], job.dims[0], job.dims[1])
    else:
        eager_run_plan(&job.init)
        if eager_begin_walk(&job.plan, &walk):
            eager_run_reduction(&walk, job.columns)
        if job.divide != NULL:
            job.divide(job.args, job.dims, job.steps, job.divide_data)


cdef void run_job(Job *job) noexcept:
    """Release the GIL, run the kernel, take the GIL back; a kernel too small to be worth it keeps the GIL (S1.12)."""
    cdef Py_ssize_t work = _work(job)
    if work < run_at_once_below:
        _run(job)
    elif watched:
        _timed_way(job)
    elif work < SPLIT_FROM:
        with nogil:
            _run(job)
    else:
        _large_way(job)


cdef void _run_large(Job *job) noexcept:
    decide_count()
    with nogil:
        run_large(job)


cdef void _run_timed(Job *job) noexcept:
    """The same; waiting for the GIL is not the kernel's time."""
    cdef long long start, end
    cdef Py_ssize_t work = _work(job)
    if work < KEEP_GIL_BELOW:
        start = now()
        _run(job)
        end = now()
    else:
        if work >= SPLIT_FROM:
            decide_count()
        with nogil:
            start = now()
            if work < SPLIT_FROM:
                _run(job)
            else:
                run_large(job)
            end = now()
    add_kernel_time(end - start)


ctypedef void (*job_way)(Job *job) noexcept
set_run_at_once_below(KEEP_GIL_BELOW)
cdef job_way _timed_way = _run_timed      # by pointers, lest they be inlined
cdef job_way _large_way = _run_large


cdef int trace_op(OpCall *c) except -1:
    # While the GIL is away another thread may rebind a tensor's memory: what the kernel reads and writes is held here.
    cdef PyObject *held[3]
    cdef int i, n = c.n if c.n < 3 else 3
    cdef long long start
    if c.inplace and (modes_on or (<TensorBase>c.x[0]).storage.log is not None) and (<TensorBase>c.x[0]).storage.version.snapshots:
        put_by(c)
    for i in range(n):
        held[i] = NULL if c.x[i] == NULL else <PyObject *>(<TensorBase>c.x[i]).storage
        Py_XINCREF(held[i])
    try:
        if c.job.kind == JOB_PYTHON:
            # The direct loops never warn of a division by zero and the like; NumPy's own machinery would.
            with np.errstate(all="ignore"):
                start = now() if watched else 0
                (<object>c.job.python)()
                if start:
                    add_kernel_time(now() - start)
        elif c.job.kind != JOB_NONE:
            run_job(&c.job)
        if c.stage != NULL:
            copy_into(<TensorBase>c.out, <TensorBase>c.stage)
    finally:
        for i in range(n):
            Py_XDECREF(held[i])
    return 0


cdef void begin_plan(Job *job, Layout shape, int operands) noexcept:
    job.kind = JOB_PLAN
    job.plan.operands = operands
    job.plan.ndim = shape.ndim
    memcpy(job.plan.shape, shape.dims, shape.ndim * sizeof(Py_ssize_t))


cdef void plan_tensor(Job *job, int k, TensorBase t) noexcept:
    plan_memory(job, k, t.layout, t.data, t.dtype)


cdef void plan_memory(Job *job, int k, Layout layout, char *data, int dtype) noexcept:
    cdef int i, shift = job.plan.ndim - layout.ndim, itemsize = DTYPES[dtype].itemsize
    job.plan.pointers[k] = data
    for i in range(shift):
        job.plan.strides[k][i] = 0
    for i in range(layout.ndim):
        job.plan.strides[k][shift + i] = 0 if layout.dims[i] == 1 else layout.strides[i] * itemsize


cdef void plan_constant(Job *job, int k, char *data) noexcept:
    cdef int i
    job.plan.pointers[k] = data
    for i in range(job.plan.ndim):
        job.plan.strides[k][i] = 0


cdef void _plan_copy(Job *job, TensorBase target, TensorBase source) noexcept:
    job.data = NULL
    if target.layout.contiguous and source.layout.contiguous and target.layout.numel == source.layout.numel:
        job.kind = JOB_LOOP_1
        job.loop = eager_cast_loop(source.dtype, target.dtype)
        job.args[0] = source.data
        job.args[1] = target.data
        job.dims[0] = target.layout.numel
        job.steps[0] = DTYPES[source.dtype].itemsize
        job.steps[1] = DTYPES[target.dtype].itemsize
    else:
        begin_plan(job, target.layout, 2)
        job.plan.loop = eager_cast_loop(source.dtype, target.dtype)
        job.plan.data = NULL
        plan_tensor(job, 0, source)
        plan_tensor(job, 1, target)


stream_copies(eager_cast_loop(EAGER_FLOAT32, EAGER_FLOAT32), eager_cast_loop(EAGER_FLOAT64, EAGER_FLOAT64))


cdef int copy_into(TensorBase target, TensorBase source) except -1:
    cdef Job job
    cdef Storage first = target.storage, second = source.storage  # no-cython-lint
    _plan_copy(&job, target, source)
    run_job(&job)
    return 0


cdef int fill(TensorBase t, double value) except -1:
    return fill_with(t, <char *>&value, EAGER_FLOAT64)


cdef int fill_with(TensorBase t, char *element, int dtype) except -1:
    cdef Job job
    job.kind = JOB_LOOP_1
    job.loop = eager_cast_loop(dtype, t.dtype)
    job.data = NULL
    job.args[0] = element
    job.args[1] = t.data
    job.dims[0] = t.layout.numel
    job.steps[0] = 0
    job.steps[1] = DTYPES[t.dtype].itemsize
    run_job(&job)
    return 0


cdef TensorBase contiguous_copy(TensorBase t, int dtype):
    cdef TensorBase made = empty_tensor(t.layout, dtype)
    copy_into(made, t)
    return made


cdef TensorBase copy_for_rule(TensorBase t, int dtype):
    """The same with the GIL kept: what a rule has read of its tensors must hold until all of the call is planned."""
    cdef Job job
    cdef TensorBase made = empty_tensor(t.layout, dtype)
    _plan_copy(&job, made, t)
    _run(&job)
    return made
