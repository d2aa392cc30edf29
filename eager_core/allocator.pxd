# Memory for tensors. All functions need the GIL, which guards the lists.

cdef char *take_block(Py_ssize_t nbytes) noexcept                # uninitialised, 64-byte aligned; NULL: none left
cdef void give_block(char *block, Py_ssize_t nbytes) noexcept    # nbytes as it was asked for
