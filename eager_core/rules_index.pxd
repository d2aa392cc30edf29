cdef bint is_basic(object index) except -1
cdef object numpy_index(object index)
