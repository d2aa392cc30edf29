from libc.stdint cimport uint64_t

from eager_core.layout cimport Layout
from eager_core.modes cimport modes_on
from eager_core.storage cimport Storage

cdef extern from "kernels/kernels.h":
    ctypedef struct eager_pages:
        const char *live
        Py_ssize_t nbytes
        char **pages

cdef class OldBytes:
    """What one write destroys."""
    cdef char *packed                # the region in C order; NULL: the log has these elements already
    cdef char *data                  # where it lies
    cdef Layout layout
    cdef int itemsize
    cdef uint64_t version            # of the storage before the write
    cdef uint64_t epoch              # of the log when this was made

cdef struct LiveVersion:             # how many snapshots of one version are alive
    uint64_t version
    Py_ssize_t count

cdef class WriteLog:
    """Of one storage. Dropped when its last snapshot dies."""
    cdef bint preserving             # old bytes are kept; else only lines are noted (detect_anomaly)
    cdef uint64_t floor              # from here on, an element whose version is newer than a snapshot is in the log
    cdef Py_ssize_t early            # snapshots alive from before the log was made
    cdef LiveVersion *live           # the others, by version; `first_live` to `n_live`
    cdef Py_ssize_t first_live, n_live, live_room
    cdef list entries                # of OldBytes, oldest first; those before `first` are None
    cdef Py_ssize_t first
    cdef Py_ssize_t nbytes           # in entries
    # Memory as it was before entry `at`: pages that differ from the present. Entries from `at` to `top` hold what was there *after* their
    # writes instead of before, so the old memory can be moved through time in both directions at the cost of the way.
    cdef eager_pages old
    cdef Py_ssize_t at, top
    cdef bint moved                  # the storage has been written to since the pages were copied from it
    cdef object lines                # None, or what detect_anomaly has noted of writes

    cdef uint64_t epoch(self) noexcept
    cdef void forget(self) noexcept
    cdef void forget_pages(self) noexcept
    cdef int go_to(self, Py_ssize_t entry) except -1
    cdef int trim(self) except -1

cdef enum Old:
    UNCHANGED                        # the memory holds the old value still
    RESTORED
    LOST                             # a write that nobody logged may have changed it

# Whoever keeps a value for later counts a snapshot of its memory, and takes it back with the version at which it was taken.
cdef inline int take_snapshot(Storage s, char *data, Layout layout, int itemsize) except -1:
    if modes_on or s.log is not None:
        saved(s, data, layout, itemsize)
    s.version.snapshots += 1
    return 0

cdef inline void drop_snapshot(Storage s, uint64_t version) noexcept:
    s.version.snapshots -= 1
    if s.log is not None:
        released(s, version)

# All cheap when the storage has no log and the mode is off: callers ask `s.log is not None or modes_on` first.
cdef bint logs_writes(Storage s) noexcept                        # will old bytes be kept if this memory is written to?
cdef int saved(Storage s, char *data, Layout layout, int itemsize) except -1     # a snapshot is about to be counted
cdef void released(Storage s, uint64_t version) noexcept         # ... is counted no more, or needs nothing kept for it
cdef bint destroys(Storage s, char *data, Layout layout, int itemsize) noexcept      # ... to these elements, in particular
cdef OldBytes before_write(Storage s, char *data, Layout layout, int itemsize)
# bump_region, and the log knows.
cdef int count_logged(Storage s, OldBytes old, char *data, Layout layout, int itemsize, int op) except -1
cdef int count_harmless(Storage s, uint64_t before) except -1    # the version has moved by one from `before`, no element has changed
cdef void renumber(Storage s, uint64_t version) noexcept         # the version is to be another, the elements are the same
cdef int undone(Storage s, uint64_t version) except -1           # the elements are again what they were at this version, which is set
cdef Old old_value(Storage s, uint64_t version, char *data, Layout layout, int itemsize, char *into) except *
cdef WriteLog log_of(Storage s)                                  # made if there is none
cdef WriteLog known_log(Storage s)                               # None if there is none
