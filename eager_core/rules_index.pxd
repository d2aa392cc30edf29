cdef bint is_basic(object index) noexcept
cdef object numpy_index(object index)
