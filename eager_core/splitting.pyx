"""Large jobs, cut into parts that several threads may do.

How a job is cut depends on its shape alone, never on the number of threads or on who is busy, so results are the same bits always: parts
write different places, or, in reductions to few numbers, each part has results of its own, and those are put together in order.
"""
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from eager_core.kernel_tables cimport streaming_loop
from eager_core.op cimport (
    JOB_LOOP_1, JOB_LOOP_2, JOB_LOOP_3, JOB_PLAN, JOB_REDUCE, JOB_ROWS, JOB_TOTAL, eager_begin_walk, eager_choose_cut,
    eager_column_sums, eager_cut, eager_last_cache, eager_loop, eager_plan, eager_run_plan, eager_run_reduction, eager_run_walk,
    eager_take_part, eager_walk,
)
from eager_core.thread_pool cimport run_parts, threads

cdef enum:
    PART = 32768                 # elements of a part: some microseconds of work, so that nobody waits long for the last one
    ROUND = 64                   # elements: a vectorised loop ends where it would end in the whole
    ROUND_COLUMNS = 512          # of a part that does a piece of each row
    PART_OF_TOTAL = 65536
    MOST_PARTS_OF_TOTAL = 128    # larger reductions have larger parts
    MOST_PARTS_OF_ROWS = 32
    LEAST_ROWS = 16              # so many numbers are added up for each partial result
    STREAM_FROM = 4 << 20        # bytes of a result; how many more the caches decide
    SLOT = 64                    # bytes; partial results begin in cache lines of their own, so that threads do not fight over them

cdef struct Split:
    Job *job
    eager_walk walk
    eager_cut cut
    const eager_column_sums *columns
    Py_ssize_t length            # of the axis, or rows
    Py_ssize_t step              # of a part
    char *slots                  # partial results, or NULL
    Py_ssize_t slot              # bytes from one to the next


cdef void _part(void *work, Py_ssize_t i) noexcept nogil:
    cdef Split *split = <Split *>work
    cdef eager_walk part
    eager_take_part(&split.walk, split.cut.axis, i * split.step, min((i + 1) * split.step, split.length), &part)
    eager_run_walk(&part)


cdef void _part_of_reduction(void *work, Py_ssize_t i) noexcept nogil:
    cdef Split *split = <Split *>work
    cdef eager_walk part
    eager_take_part(&split.walk, split.cut.axis, i * split.step, min((i + 1) * split.step, split.length), &part)
    if split.slots != NULL:
        part.pointers[0] = part.pointers[part.operands - 1] = split.slots + i * split.slot
    eager_run_reduction(&part, split.columns)


cdef void _part_of_rows(void *work, Py_ssize_t i) noexcept nogil:
    cdef Split *split = <Split *>work
    cdef eager_walk part
    cdef Py_ssize_t begin = i * split.step, end = min((i + 1) * split.step, split.length)
    eager_take_part(&split.walk, 0, begin, end, &part)
    split.job.rows(part.pointers[0], part.pointers[1], part.pointers[2], end - begin, split.job.dims[1])


cdef inline Py_ssize_t _ceil(Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    return (a + b - 1) // b


cdef Py_ssize_t _measure(Split *split) noexcept nogil:
    """Set the step of a part; the number of parts."""
    cdef Py_ssize_t inside = 1, round
    cdef int d
    for d in range(split.walk.ndim):
        if d != split.cut.axis:
            inside *= split.walk.axes[d].length
    split.length = split.walk.axes[split.cut.axis].length
    if not split.cut.adds_up:
        split.step = _ceil(PART, inside)
    elif split.cut.outputs == 1:
        split.step = max(_ceil(PART_OF_TOTAL, inside), _ceil(split.length, MOST_PARTS_OF_TOTAL))
    else:
        split.step = max(_ceil(PART_OF_TOTAL, inside), _ceil(split.length, MOST_PARTS_OF_ROWS),
                         _ceil(LEAST_ROWS * split.cut.outputs, inside))
    if split.cut.axis == 0:
        round = ROUND if split.walk.ndim == 1 or split.cut.adds_up else ROUND_COLUMNS
        split.step = _ceil(split.step, round) * round
    return _ceil(split.length, split.step)


cdef void _flat_walk(Job *job, int operands, eager_walk *walk) noexcept nogil:
    cdef int k
    walk.loop = job.loop
    walk.data = job.data
    walk.operands = operands
    walk.ndim = 1
    walk.axes[0].length = job.dims[0]
    for k in range(operands):
        walk.axes[0].steps[k] = job.steps[k]
        walk.pointers[k] = job.args[k]


cdef Py_ssize_t _stream_beyond = eager_last_cache() // 4 * 5


cdef void _stream(eager_walk *walk) noexcept nogil:
    """Store the result past the caches if it is new, has no gaps, and with its operands is beyond them by a quarter (docs/threads.md)."""
    cdef int k, inputs = walk.operands - 1
    cdef Py_ssize_t step = walk.axes[0].steps[inputs], nbytes = walk.axes[0].length * step, traffic = nbytes
    cdef char *out = walk.pointers[inputs]
    cdef char *other
    cdef eager_loop loop
    if inputs > 2 or walk.ndim != 1 or nbytes < STREAM_FROM:
        return
    for k in range(inputs):
        other = walk.pointers[k]
        if other == NULL or (walk.axes[0].steps[k] != step and (walk.axes[0].steps[k] or inputs == 1)):
            return
        if other < out + nbytes and out < other + (nbytes if walk.axes[0].steps[k] else step):
            return
        if walk.axes[0].steps[k] and (k == 0 or walk.pointers[0] != walk.pointers[1]):
            traffic += nbytes
    if traffic > _stream_beyond:
        loop = streaming_loop(walk.loop, walk.operands, step)
        if loop != NULL:
            walk.loop = loop


cdef void _run(Split *split) noexcept nogil:
    """Elementwise."""
    _stream(&split.walk)
    if threads() < 2 or not eager_choose_cut(&split.walk, &split.cut) or split.cut.adds_up:
        eager_run_walk(&split.walk)
    else:
        run_parts(_part, split, _measure(split))


cdef void _reduce(Split *split, Py_ssize_t itemsize) noexcept nogil:
    """The start value stands in the result. Partial results begin with it too: 0 for sums, 1 for products, an element for extremes."""
    cdef Py_ssize_t parts, i, n, nbytes
    cdef double[1024] room       # MOST_PARTS_OF_TOTAL * SLOT bytes
    cdef char *result = split.walk.pointers[split.walk.operands - 1]
    cdef char *args[4]
    cdef Py_ssize_t[4] steps
    if not eager_choose_cut(&split.walk, &split.cut) or (not split.cut.adds_up and threads() < 2):
        eager_run_reduction(&split.walk, split.columns)
        return
    split.slots = NULL
    parts = _measure(split)
    if parts == 1 or not split.cut.adds_up:
        run_parts(_part_of_reduction, split, parts)
        return
    n = split.cut.outputs
    nbytes = n * itemsize
    split.slot = _ceil(nbytes, SLOT) * SLOT
    split.slots = <char *>room if n == 1 else <char *>malloc(parts * split.slot)
    if split.slots == NULL:
        eager_run_reduction(&split.walk, split.columns)
        return
    for i in range(parts):
        memcpy(split.slots + i * split.slot, result, nbytes)
    run_parts(_part_of_reduction, split, parts)
    args[0] = args[2] = result
    if n == 1:
        args[1] = split.slots
        steps[0] = steps[2] = 0
        steps[1] = split.slot
        split.walk.loop(args, &parts, steps, split.walk.data)
    else:
        steps[0] = steps[1] = steps[2] = itemsize
        for i in range(parts):
            args[1] = split.slots + i * split.slot
            split.walk.loop(args, &n, steps, split.walk.data)
        free(split.slots)


cdef void _run_rows(Split *split, Job *job) noexcept nogil:
    cdef int k
    split.job = job
    split.walk.loop = NULL
    split.walk.operands = 3
    split.walk.ndim = 1
    split.walk.axes[0].length = split.length = job.dims[0]
    for k in range(3):
        split.walk.axes[0].steps[k] = job.steps[k]
        split.walk.pointers[k] = job.args[k]
    if threads() < 2 or job.dims[1] == 0 or not eager_choose_cut(&split.walk, &split.cut) or split.cut.adds_up:
        job.rows(job.args[0], job.args[1], job.args[2], job.dims[0], job.dims[1])
        return
    split.step = _ceil(PART, job.dims[1])
    run_parts(_part_of_rows, split, _ceil(split.length, split.step))


cdef void run_large(Job *job) noexcept nogil:
    cdef Split split
    if job.kind == JOB_LOOP_1 or job.kind == JOB_LOOP_2 or job.kind == JOB_LOOP_3:
        _flat_walk(job, 2 + <int>job.kind - <int>JOB_LOOP_1, &split.walk)
        _run(&split)
    elif job.kind == JOB_TOTAL:
        _flat_walk(job, 3, &split.walk)
        split.columns = NULL
        _reduce(&split, job.dims[1])
    elif job.kind == JOB_PLAN:
        if eager_begin_walk(&job.plan, &split.walk):
            _run(&split)
    elif job.kind == JOB_ROWS:
        _run_rows(&split, job)
    elif job.kind == JOB_REDUCE:
        eager_run_plan(&job.init)
        split.columns = job.columns
        if eager_begin_walk(&job.plan, &split.walk):
            _reduce(&split, job.dims[1])
        if job.divide != NULL:
            job.divide(job.args, job.dims, job.steps, job.divide_data)
    else:
        job.loop(job.args, job.dims, job.steps, job.data)


def _test_cut(shape, *operands):
    """How a walk would be cut: None, or (axis of the sorted walk, adds up, elements of the output). Operands: (address, steps in bytes)."""
    cdef eager_plan plan
    cdef eager_walk walk
    cdef eager_cut cut
    plan.operands = len(operands)
    plan.ndim = len(shape)
    for d in range(plan.ndim):
        plan.shape[d] = shape[d]
        for k in range(plan.operands):
            plan.strides[k][d] = operands[k][1][d]
    for k in range(plan.operands):
        plan.pointers[k] = <char *><size_t>operands[k][0]
    if not eager_begin_walk(&plan, &walk) or not eager_choose_cut(&walk, &cut):
        return None
    return cut.axis, bool(cut.adds_up), cut.outputs


def _test_stream(Py_ssize_t nbytes=-1):
    """How many bytes of result and operands are stored past the caches beyond; given a number, that many from now on. -> the old one."""
    global _stream_beyond
    old = _stream_beyond
    if nbytes >= 0:
        _stream_beyond = nbytes
    return old
