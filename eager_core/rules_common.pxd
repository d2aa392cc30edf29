# What the rules of all families share: results, operands, numbers, broadcasting, loops.
from eager_core.layout cimport Layout
from eager_core.op cimport OpCall, eager_loop
from eager_core.tensor cimport TensorBase

cdef struct Kernel:
    eager_loop call
    void *data
    int result                   # dtype it writes; -1: no loop

cdef Kernel find_kernel(OpCall *c, int dtype) noexcept
cdef TensorBase target_of(OpCall *c)
cdef int result(OpCall *c, Layout shape, int dtype) except -1            # sets out (and stage)
cdef TensorBase writable(OpCall *c)                                     # what the kernel writes: stage or out
cdef TensorBase operand(OpCall *c, int i, int dtype)                     # input i in that dtype, safe from the target's being written
cdef object number_of(OpCall *c)                                 # the Python number among the operands
cdef bint number_fits(OpCall *c, int dtype) noexcept             # whether an integer dtype can hold it
cdef char *put_number(OpCall *c, int at, int dtype) except NULL          # the Python number in that dtype
cdef char *put_double(OpCall *c, int at, double value, int dtype) noexcept
cdef int promoted(OpCall *c) except -1                                  # of inputs 0 and 1, one of which may be a number
cdef Layout broadcast(OpCall *c, Layout a, Layout b)
cdef int check_kind(OpCall *c, int dtype) except -1
cdef int no_loop(OpCall *c, int dtype) except -1                        # raises TypeError
cdef int keep_python(OpCall *c, object function) except -1              # JOB_PYTHON
cdef bint may_share(TensorBase a, TensorBase b) noexcept                # may an element of a be one of b?
cdef bint same_elements(TensorBase a, TensorBase b) noexcept            # same memory in the same order
cdef int axis_of(OpCall *c, Py_ssize_t axis, int ndim, str name) except -1
# From one matrix of a stack to the next, in bytes, where that is one number for the whole (broadcast) batch; else regular becomes False.
cdef Py_ssize_t batch_step(TensorBase t, int batch_ndim, Py_ssize_t batch, bint *regular) noexcept
