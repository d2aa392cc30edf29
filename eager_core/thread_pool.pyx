"""How many threads help with large kernels, and the one place where they live.

The number: ``set_num_threads``, else EAGER_NUM_THREADS, else OMP_NUM_THREADS, else a core each of those that this process may use, eight at
most; 1 in a forked child that was told no number, because such children come in dozens. It is read at the first large kernel.
"""
import operator
import os

from eager_core.errors cimport invalid_argument, invalid_type

cdef extern from "pool.h":
    ctypedef void (*eager_part)(void *work, Py_ssize_t part) noexcept nogil
    int eager_pool_prepare(void (*in_child)() noexcept nogil) noexcept
    int eager_pool_run(eager_part part, void *work, Py_ssize_t first, Py_ssize_t end, int helpers) noexcept nogil
    int eager_pool_started() noexcept
    int eager_pool_count() noexcept nogil
    void eager_pool_set_count(int count) noexcept nogil
    Py_ssize_t eager_pool_woken() noexcept
    int64_t eager_pool_now() noexcept nogil

cdef enum:
    MOST = 1024

cdef int64_t _worth = WORTH_WAKING
cdef bint _told = False          # by a call or by the environment
cdef bint _forked = False
cdef bint _there_are_threads     # the system has them, and tells of forks


cdef void _in_child() noexcept nogil:
    global _forked
    _forked = True
    if not _told:
        eager_pool_set_count(0)


_there_are_threads = eager_pool_prepare(_in_child) == 0


cdef int threads() noexcept nogil:
    return eager_pool_count()


cdef int _from_environment():
    """The number that the environment tells, or 0. OMP_NUM_THREADS may list one per level, and nonsense there is ignored as OpenMP does."""
    cdef int number
    for name in ("EAGER_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "").split(",")[0].strip()
        if text:
            try:
                number = int(text)
            except (ValueError, OverflowError):
                number = 0
            if 1 <= number <= MOST:
                return number
            if name == "EAGER_NUM_THREADS":
                import warnings

                warnings.warn(f"{name}={text} is ignored: it must be a number from 1 to {MOST}", RuntimeWarning, stacklevel=2)
    return 0


cdef int _decide() except -1:
    global _told
    from eager_core import processors
    cdef int number = _from_environment() if _there_are_threads else 1
    _told = number > 0
    if number == 0:
        number = 1 if _forked else processors.default_count()
    eager_pool_set_count(number)
    return 0


cdef void decide_count() noexcept:
    if eager_pool_count() == 0:
        try:
            _decide()
        except Exception:            # a warning made an error, a system that hides its processors: no reason to lose a result
            eager_pool_set_count(1)


def get_num_threads():
    """Return how many threads a large kernel uses at most, the calling one included.

    Notes
    -----
    Products of matrices are NumPy's BLAS, which has a number of its own (OPENBLAS_NUM_THREADS, threadpoolctl).
    """
    if eager_pool_count() == 0:
        _decide()
    return eager_pool_count()


def set_num_threads(nthreads):
    """Set how many threads a large kernel uses at most, the calling one included; for all threads of the process.

    Parameters
    ----------
    nthreads : int
        1 to 1024. 1: no thread is ever woken.

    Raises
    ------
    TypeError
        It is not an integer.
    ValueError
        It is out of range.

    Notes
    -----
    Results are the same bits with any number. Products of matrices are NumPy's BLAS, which has a number of its own.
    """
    global _told
    if isinstance(nthreads, bool) or not hasattr(nthreads, "__index__"):
        invalid_type(f"set_num_threads(): the number of threads must be an int, but got {type(nthreads).__name__}")
    number = operator.index(nthreads)
    if not 1 <= number <= MOST:
        invalid_argument(f"set_num_threads(): the number of threads must be 1 to {MOST}, but is {number}")
    eager_pool_set_count(number if _there_are_threads else 1)
    _told = True


def limit_num_threads(int nthreads):
    """The same for threadpoolctl: for the time of a block, so that it says nothing of forked children."""
    eager_pool_set_count(max(1, min(nthreads, MOST)) if _there_are_threads else 1)


cdef void run_parts(eager_part part, void *work, Py_ssize_t parts) noexcept nogil:
    """Run all parts. The first tells how long the others will take, and so how many threads are worth waking."""
    cdef int helpers = eager_pool_count() - 1
    cdef int64_t start
    cdef Py_ssize_t first = 0
    if helpers > 0 and parts > 1:
        start = eager_pool_now()
        part(work, 0)
        first = 1
        helpers = <int>min(<int64_t>helpers, (eager_pool_now() - start) * (parts - 1) // _worth)
    eager_pool_run(part, work, first, parts, helpers)


def _test_set_worth(int64_t nanoseconds):
    """Another WORTH_WAKING, for tests and measurements; return the one before."""
    global _worth
    before = _worth
    _worth = nanoseconds
    return before


def _test_pool():
    """Threads alive, and how often one has been asked to help."""
    return eager_pool_started(), eager_pool_woken()
