# Which loop serves an operator for a dtype: NumPy's own inner loops, read once at import, and ours beside them.
from eager_core.op cimport eager_loop

cdef struct Loop:
    eager_loop call          # NULL: no loop for this dtype that may be called directly
    void *data               # what the loop wants passed
    signed char result       # dtype it writes

# Kernel numbers of a row: 0 and up are ufuncs (in the generator's order), below are our own: -1 - enum eager_kernel.
cdef Loop *ufunc_loop(int kernel, int dtype) noexcept     # indexed by the dtype all inputs are converted to
# The same past the caches (kernels/streaming.c), of so many operands, for elements side by side of so many bytes; NULL: none.
cdef eager_loop streaming_loop(eager_loop loop, int operands, Py_ssize_t size) noexcept nogil
# The loops that copy, of which each extension has its own: those of the caller are streamed too from now on.
cdef int stream_copies(eager_loop float32, eager_loop float64) except -1
cdef object ufunc_object(int kernel)
cdef int register_ufuncs(list names) except -1            # called once by the generated table
