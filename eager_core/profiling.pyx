"""Spans of time and levels of memory, recorded in plain C arrays while a profile is on.

Everything here runs with the GIL, which guards the arrays. What Storage calls may run in the middle of a deallocation, so it makes no
Python object.
"""
from cpython.object cimport PyObject
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdlib cimport free, realloc

from eager_core.errors cimport already_exists

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <windows.h>
    static long long eager_now(void) {
        LARGE_INTEGER t, f;
        QueryPerformanceCounter(&t);
        QueryPerformanceFrequency(&f);
        return (long long)((double)t.QuadPart * 1e9 / (double)f.QuadPart);
    }
    static __declspec(thread) void *eager_span;
    #else
    #include <time.h>
    static long long eager_now(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    static _Thread_local void *eager_span;
    #endif
    """
    long long eager_now() noexcept nogil
    void *eager_span

cdef struct Recorded:
    SpanKind kind
    OpRow *row                       # NULL: the name is an object, or this is an accumulation node
    PyObject *name                   # owned or NULL
    PyObject *shapes                 # owned or NULL
    bint inplace, failed
    unsigned long thread
    long long start, end, kernel
    Py_ssize_t allocated, in_use     # bytes asked for in between, by any thread; in use at the end

cdef struct Level:
    long long time
    Py_ssize_t in_use

watched = 0
run_at_once_below = 0
advisor = None
cdef Py_ssize_t _usually_below = 0
cdef flag_setter _set_storage_flag = NULL
cdef level_reader _bytes_in_use = NULL

cdef Recorded *_recorded = NULL
cdef Py_ssize_t _n_recorded = 0, _recorded_room = 0
cdef Level *_levels = NULL
cdef Py_ssize_t _n_levels = 0, _levels_room = 0
cdef uint64_t *_gone = NULL          # numbers of storages that have died, for the advisor
cdef Py_ssize_t _n_gone = 0, _gone_room = 0
cdef bint _incomplete = False        # memory ran out: something is missing
cdef Py_ssize_t _in_use = 0, _taken = 0, _blocks = 0, _peak = 0
cdef long long _peak_time = 0
cdef unsigned long _profile = 0
cdef bint _shapes = False
cdef long long _clock = 0
cdef dict _last_use = {}


cdef void *_room(void *array, Py_ssize_t n, Py_ssize_t *room, size_t size) noexcept:
    """The array with room for one more; NULL if there is no memory, and then the array is as it was."""
    cdef void *larger
    if n < room[0]:
        return array
    larger = realloc(array, (2 * room[0] + 1024) * size)
    if larger != NULL:
        room[0] = 2 * room[0] + 1024
    return larger


cdef void set_run_at_once_below(Py_ssize_t work) noexcept:
    global run_at_once_below, _usually_below
    run_at_once_below = _usually_below = work


def _test_keep_gil_below(Py_ssize_t work):
    """Another KEEP_GIL_BELOW, for measurements: 0 releases the GIL around each kernel. Return the one before."""
    before = _usually_below
    set_run_at_once_below(work)
    return before


cdef void register_storages(flag_setter setter, level_reader reader) noexcept:
    global _set_storage_flag, _bytes_in_use
    _set_storage_flag = setter
    _bytes_in_use = reader


cdef void _watch(int added, int removed) noexcept:
    global watched, run_at_once_below
    watched = (watched | added) & ~removed
    run_at_once_below = -1 if watched & WATCH_PROFILE else _usually_below
    _set_storage_flag(watched & (WATCH_PROFILE | WATCH_ADVISE) != 0)


cdef long long now() noexcept nogil:
    return eager_now()


# ---- spans -----------------------------------------------------------------------------------------------------------------------------

cdef void enter_span(Span *span, SpanKind kind, void *of) noexcept:
    global eager_span
    span.of = of
    span.outer = <Span *>eager_span
    span.kind = kind
    span.kernel = 0
    span.allocated = _taken
    span.profile = _profile
    span.start = eager_now() if watched & WATCH_PROFILE else 0
    eager_span = <void *>span


cdef void leave_span(Span *span, OpRow *row, object name, bint inplace, bint failed, object shapes) noexcept:
    global eager_span, _recorded, _n_recorded, _incomplete
    cdef Recorded *one
    cdef Recorded *array
    eager_span = <void *>span.outer
    if span.start == 0 or not watched & WATCH_PROFILE or span.profile != _profile:
        return                       # begun before the profile, or ends after it
    array = <Recorded *>_room(_recorded, _n_recorded, &_recorded_room, sizeof(Recorded))
    if array == NULL:
        _incomplete = True
        return
    _recorded = array
    one = &array[_n_recorded]
    _n_recorded += 1
    one.kind = span.kind
    one.row = row
    one.name = one.shapes = NULL
    if name is not None:
        Py_INCREF(name)
        one.name = <PyObject *>name
    if shapes is not None:
        Py_INCREF(shapes)
        one.shapes = <PyObject *>shapes
    one.inplace = inplace
    one.failed = failed
    one.thread = PyThread_get_thread_ident()
    one.start = span.start
    one.kernel = span.kernel
    one.allocated = _taken - span.allocated
    one.in_use = _in_use
    one.end = eager_now()


cdef void add_kernel_time(long long ns) noexcept:
    if eager_span != NULL:
        (<Span *>eager_span).kernel += ns


cdef bint has_begun(void *of) noexcept:
    return eager_span != NULL and (<Span *>eager_span).of == of


cdef bint in_backward() noexcept:
    cdef Span *span = <Span *>eager_span
    while span != NULL:
        if span.kind == SPAN_NODE or span.kind == SPAN_PASS:
            return True
        span = span.outer
    return False


def record_user(str name not None, long long start, Py_ssize_t taken, unsigned long profile):
    """Write down a range that the user's program has marked; `start`, `taken` and `profile` come from `user_begin`."""
    cdef Span span
    if not watched & WATCH_PROFILE or profile != _profile:
        return
    span.outer = <Span *>eager_span
    span.kind = SPAN_USER
    span.start = start
    span.kernel = 0
    span.allocated = taken
    span.profile = profile
    leave_span(&span, NULL, name, False, False, None)


def user_begin():
    """Return what `record_user` wants to know of the beginning, or None while no profile is on."""
    return (eager_now(), _taken, _profile) if watched & WATCH_PROFILE else None


# ---- memory ----------------------------------------------------------------------------------------------------------------------------

cdef inline void _level() noexcept:
    global _levels, _n_levels, _incomplete
    cdef Level *array = <Level *>_room(_levels, _n_levels, &_levels_room, sizeof(Level))
    if array == NULL:
        _incomplete = True
        return
    _levels = array
    array[_n_levels].time = eager_now()
    array[_n_levels].in_use = _in_use
    _n_levels += 1


cdef void count_taken(Py_ssize_t nbytes) noexcept:
    global _in_use, _taken, _blocks, _peak, _peak_time
    if not watched & WATCH_PROFILE:
        return
    _in_use += nbytes
    _taken += nbytes
    _blocks += 1
    _level()
    if _in_use > _peak:
        _peak = _in_use
        _peak_time = eager_now()


cdef void count_given(Py_ssize_t nbytes, uint64_t serial) noexcept:
    global _in_use, _gone, _n_gone, _incomplete
    cdef uint64_t *array
    if watched & WATCH_PROFILE and nbytes:
        _in_use -= nbytes
        _level()
    if watched & WATCH_ADVISE and serial:
        array = <uint64_t *>_room(_gone, _n_gone, &_gone_room, sizeof(uint64_t))
        if array == NULL:
            _incomplete = True       # counts as alive: less is advised
            return
        _gone = array
        array[_n_gone] = serial
        _n_gone += 1


# ---- a profile -------------------------------------------------------------------------------------------------------------------------

cdef list _spans(Recorded *recorded, Py_ssize_t n):
    cdef Py_ssize_t i
    cdef Recorded *one
    spans = []
    for i in range(n):
        one = &recorded[i]
        name = (<object>one.name if one.name != NULL else "GradNodeAccumulation" if one.row == NULL
                else one.row.node_name.decode() if one.kind == SPAN_NODE
                else one.row.name.decode() + ("_" if one.inplace else ""))
        spans.append((<int>one.kind, name, bool(one.inplace), bool(one.failed), one.thread, one.start, one.end, one.kernel, one.allocated,
                      one.in_use, None if one.shapes == NULL else <object>one.shapes))
    return spans


def start_profile(bint record_shapes):
    """Begin to record all threads, one profile at a time; return when that was, and how many bytes of tensors were alive then."""
    global _profile, _shapes, _in_use, _taken, _blocks, _peak, _peak_time, _incomplete
    if watched & WATCH_PROFILE:
        already_exists("a profile is on already, in this thread or in another one. Profiles do not nest: mark parts of one with "
                       "RecordEvent(name)")
    _profile += 1
    _shapes = record_shapes
    _in_use = _peak = _bytes_in_use()
    _taken = _blocks = 0
    _incomplete = False
    _peak_time = eager_now()
    _watch(WATCH_PROFILE, 0)
    _level()
    return _peak_time, _in_use


def stop_profile():
    """End it; return the spans, the levels of memory and the totals."""
    global _recorded, _n_recorded, _recorded_room, _levels, _n_levels, _levels_room
    cdef Py_ssize_t i, n_recorded = _n_recorded, n_levels = _n_levels
    cdef Recorded *recorded = _recorded
    cdef Level *levels = _levels
    end = eager_now()
    _watch(0, WATCH_PROFILE)
    totals = (end, _in_use, _peak, _peak_time, _taken, _blocks, bool(_incomplete))
    # Making objects may run a collection, and so anything, another profile included: from here on the arrays are ours alone.
    _recorded = NULL
    _levels = NULL
    _n_recorded = _recorded_room = _n_levels = _levels_room = 0
    try:
        return _spans(recorded, n_recorded), [(levels[i].time, levels[i].in_use) for i in range(n_levels)], totals
    finally:
        for i in range(n_recorded):
            Py_XDECREF(recorded[i].name)
            Py_XDECREF(recorded[i].shapes)
        free(recorded)
        free(levels)


def wants_shapes():
    """Return whether the profile that is on records shapes."""
    return bool(_shapes)


# ---- the advisor's notes ---------------------------------------------------------------------------------------------------------------

cdef long long tick() noexcept:
    global _clock
    _clock += 1
    return _clock


cdef int note_use(uint64_t serial) except -1:
    _last_use[serial] = _clock
    return 0


def start_advice(listener):
    """Tell `listener` of every operator, and note which memory is used when and when it dies."""
    global advisor, _n_gone
    if watched & WATCH_ADVISE:
        already_exists("an in-place advisor is on already, in this thread or in another one. Advisors do not nest")
    _last_use.clear()
    _n_gone = 0
    advisor = listener
    _watch(WATCH_ADVISE, 0)


def stop_advice():
    """Return when each storage was last used, by number, and the numbers of those that are gone."""
    global advisor, _n_gone, _gone, _gone_room
    cdef Py_ssize_t i
    _watch(0, WATCH_ADVISE)
    advisor = None
    gone = {_gone[i] for i in range(_n_gone)}
    free(_gone)
    _gone = NULL
    _n_gone = _gone_room = 0
    last = dict(_last_use)
    _last_use.clear()
    return last, gone


def watch_log(bint on):
    """Tell `flow_log` of every operator, or no more."""
    _watch(WATCH_LOG if on else 0, 0 if on else WATCH_LOG)
