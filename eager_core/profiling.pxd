# What is written down of a running program while somebody looks. `watched` is the one flag: while it is 0 nobody needs to look further.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from eager_core.op cimport OpRow

cdef enum Watch:
    WATCH_PROFILE = 1                # profiler.profile: times, memory
    WATCH_LOG = 2                    # set_vlog_level: a line on stderr
    WATCH_ADVISE = 4                 # profiler.inplace_advisor: uses of memory, lines

cdef int watched                     # of the whole process, not of a thread
# Kernels of less work run without further questions: those for which the GIL is kept, or none while they are timed.
cdef Py_ssize_t run_at_once_below
cdef void set_run_at_once_below(Py_ssize_t work) noexcept

# Storage's own flag, which it reads more often than `watched`: set whenever that changes.
ctypedef void (*flag_setter)(bint on) noexcept
ctypedef Py_ssize_t (*level_reader)() noexcept
cdef void register_storages(flag_setter setter, level_reader reader) noexcept

cdef enum SpanKind:
    SPAN_OP, SPAN_NODE, SPAN_PASS, SPAN_USER

cdef struct Span:                    # on the C stack of what it stands for
    Span *outer                      # of this thread
    SpanKind kind
    long long start                  # ns; 0: nothing is being recorded
    long long kernel                 # ns in kernels, without those of inner spans
    Py_ssize_t allocated             # bytes asked for by all until then
    unsigned long profile            # number of the profile that was on
    void *of                         # the call that it stands for, or NULL

cdef long long now() noexcept nogil
cdef void enter_span(Span *span, SpanKind kind, void *of) noexcept
cdef void leave_span(Span *span, OpRow *row, object name, bint inplace, bint failed, object shapes) noexcept     # name, shapes: or None
cdef void add_kernel_time(long long ns) noexcept
cdef bint has_begun(void *of) noexcept    # the innermost span of this thread is that of this call
cdef bint in_backward() noexcept     # this thread is inside a backward pass

# Called by Storage, in places where no Python code may run.
cdef void count_taken(Py_ssize_t nbytes) noexcept
cdef void count_given(Py_ssize_t nbytes, uint64_t serial) noexcept

# The advisor's clock moves at the beginning and at the end of each operator.
cdef long long tick() noexcept
cdef int note_use(uint64_t serial) except -1
cdef object advisor                  # what is told of operators, or None
