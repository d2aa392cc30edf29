# How many threads help with large kernels, and the one place where they live.
from libc.stdint cimport int64_t

cdef enum:
    # Nanoseconds of work for each thread that is woken: `python benchmarks/threads.py --split` measures what less would do.
    WORTH_WAKING = 100_000

cdef void decide_count() noexcept                      # before the first use of run_parts
cdef void run_parts(void (*part)(void *work, Py_ssize_t i) noexcept nogil, void *work, Py_ssize_t parts) noexcept nogil
cdef int threads() noexcept nogil                      # 0: not decided
