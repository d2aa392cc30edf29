cdef bint grad_enabled() noexcept nogil                    # of the current thread
cdef bint set_grad_enabled(bint enabled) noexcept nogil    # returns the mode before
