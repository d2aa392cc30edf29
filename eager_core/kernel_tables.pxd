# Which loop serves an operator for a dtype: NumPy's own inner loops, read once at import, and ours beside them.
from eager_core.op cimport eager_loop

cdef struct Loop:
    eager_loop call          # NULL: no loop for this dtype that may be called directly
    void *data               # what the loop wants passed
    signed char result       # dtype it writes

# Kernel numbers of a row: 0 and up are ufuncs (in the generator's order), below are our own: -1 - enum eager_kernel.
cdef Loop *ufunc_loop(int kernel, int dtype) noexcept     # indexed by the dtype all inputs are converted to
cdef eager_loop streaming_loop(eager_loop loop) noexcept nogil        # the same past the caches (kernels/streaming.c); NULL: none
cdef object ufunc_object(int kernel)
cdef int register_ufuncs(list names) except -1            # called once by the generated table
