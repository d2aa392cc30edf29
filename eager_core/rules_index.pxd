cdef object basic_index(object index)
cdef object numpy_index(object index, int depth=*)
