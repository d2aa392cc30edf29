# Memory for tensors. All functions need the GIL, which guards the lists.

cdef char *take_block(Py_ssize_t nbytes) noexcept                # uninitialised, 64-byte aligned; NULL: none left
cdef void give_block(char *block, Py_ssize_t nbytes) noexcept    # nbytes as it was asked for

# Who else keeps unused memory: nodes, and (in bytes) the blocks of tensors.
ctypedef void (*free_fn)() noexcept
ctypedef Py_ssize_t (*bytes_fn)() noexcept
cdef void register_keeper(free_fn free_all, bytes_fn kept_bytes) noexcept        # kept_bytes may be NULL: no blocks
