# Large jobs, cut into parts that several threads may do.
from eager_core.op cimport Job

cdef enum:
    # Elements below which a job is not cut: an addition of as many float32 takes some 5 microseconds, less than it takes to wake a thread.
    SPLIT_FROM = 65536

cdef void run_large(Job *job) noexcept nogil
