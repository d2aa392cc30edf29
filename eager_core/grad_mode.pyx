"""Whether operators record history: one flag per thread, on in a new thread (S10.3)."""

cdef extern from *:
    """
    #if defined(_MSC_VER)
    static __declspec(thread) int eager_grad_mode = 1;
    #elif defined(__GLIBC__)
    /* Read several times a call: glibc has room for it at a fixed distance from the thread pointer, which saves a function call. */
    static _Thread_local int eager_grad_mode __attribute__((tls_model("initial-exec"))) = 1;
    #else
    static _Thread_local int eager_grad_mode = 1;
    #endif
    """
    int eager_grad_mode


cdef bint grad_enabled() noexcept nogil:
    return eager_grad_mode


cdef bint set_grad_enabled(bint enabled) noexcept nogil:
    global eager_grad_mode
    cdef bint before = eager_grad_mode
    eager_grad_mode = enabled
    return before


def is_grad_enabled():
    """Return whether operators of this thread record history."""
    return eager_grad_mode != 0


def _set_grad_enabled(bint enabled):
    """Set this thread's mode and return the one before; ``no_grad`` and its kin are built on it."""
    return set_grad_enabled(enabled)
