"""Modes of autograd that are off almost always: a value per thread, set by blocks, over a switch of the process.

A thread that has set nothing (``UNSET``) follows the switch.
"""
from eager_core import anomaly

cdef extern from *:
    """
    #define EAGER_UNSET -1
    #if defined(_MSC_VER)
    #define EAGER_PER_THREAD static __declspec(thread)
    #elif defined(__GLIBC__)
    #define EAGER_PER_THREAD static __attribute__((tls_model("initial-exec"))) _Thread_local     /* see grad_mode.pyx */
    #else
    #define EAGER_PER_THREAD static _Thread_local
    #endif
    EAGER_PER_THREAD int eager_preserve = EAGER_UNSET;
    EAGER_PER_THREAD int eager_watch = EAGER_UNSET;
    """
    int eager_preserve
    int eager_watch
    enum:
        UNSET "EAGER_UNSET"

modes_on = 0
watch_on = 0
cdef int _preserve_switch = 0
cdef int _watch_switch = 0


cdef bint preserving() noexcept:
    return _preserve_switch if eager_preserve == UNSET else eager_preserve


cdef int watching() noexcept:
    return _watch_switch if eager_watch == UNSET else eager_watch


cdef object lines_here():
    return anomaly.origin() if watching() else None


cdef int _account(int before, int after, bint watch) noexcept:
    """A thread that ends inside a block stays counted: others look further in vain, no more."""
    global modes_on, watch_on
    modes_on += (after > 0) - (before > 0)
    if watch:
        watch_on += (after > 0) - (before > 0)
    return before


def is_preserving():
    """Return whether writes by this thread preserve what saved tensors hold."""
    return preserving() != 0


def set_preserving(int value):
    """Set this thread's mode: 0, 1, or -1 to follow the process; return the one before."""
    global eager_preserve
    before = _account(eager_preserve, value, False)
    eager_preserve = value
    return before


def switch_preserving(int value):
    """Set the mode of all threads that are in no block; return the one before."""
    global _preserve_switch
    before = _account(_preserve_switch, value, False)
    _preserve_switch = value
    return before


def anomaly_mode():
    """Return what this thread watches for: 0 nothing, 1 lines are noted, 2 gradients must be finite too."""
    return watching()


def set_watching(int value):
    """Set this thread's anomaly mode: 0, 1, 2, or -1 to follow the process; return the one before."""
    global eager_watch
    before = _account(eager_watch, value, True)
    eager_watch = value
    return before


def switch_watching(int value):
    """Set the anomaly mode of all threads that are in no block; return the one before."""
    global _watch_switch
    before = _account(_watch_switch, value, True)
    _watch_switch = value
    return before
