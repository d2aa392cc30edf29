from eager_core.layout cimport Layout
from eager_core.storage cimport Storage
from eager_core.tensor cimport TensorBase

cdef class Lease:
    """Base of an array, or owner of a capsule, that may write to a tensor's memory; the memory is lent for as long as it lives."""
    cdef Storage storage
    cdef Layout layout
    cdef char *data
    cdef int itemsize
    cdef bint counts_return          # there is no block whose end would count as the second write

    cdef int count(self) except -1

# Taken: checked and counted as an in-place operation that overwrites t. `what` names it in errors.
cdef Lease lend(TensorBase t, str what, bint counts_return)

cdef object lent_array(TensorBase t)                          # the block that lends, not entered yet
cdef TensorBase borrow_array(object array, str what)         # a constant over an array's memory, or ValueError
