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


cdef int _exchange(int *place, int value, bint watch) noexcept:
    """Set a thread's value or a switch and count it; return the one before. A thread that ends inside a block stays counted: others look
    further in vain, no more."""
    global modes_on, watch_on
    cdef int before = place[0], more = (value > 0) - (before > 0)
    place[0] = value
    modes_on += more
    if watch:
        watch_on += more
    return before


def is_preserving():
    """Return whether writes by this thread preserve what saved tensors hold."""
    return preserving() != 0


def set_preserving(int value):
    """Set this thread's mode: 0, 1, or -1 to follow the process; return the one before."""
    return _exchange(&eager_preserve, value, False)


def switch_preserving(int value):
    """Set the mode of all threads that are in no block; return the one before."""
    return _exchange(&_preserve_switch, value, False)


def anomaly_mode():
    """Return what this thread watches for: 0 nothing, 1 lines are noted, 2 gradients must be finite too."""
    return watching()


def set_watching(int value):
    """Set this thread's anomaly mode: 0, 1, 2, or -1 to follow the process; return the one before."""
    return _exchange(&eager_watch, value, True)


def switch_watching(int value):
    """Set the anomaly mode of all threads that are in no block; return the one before."""
    return _exchange(&_watch_switch, value, True)
