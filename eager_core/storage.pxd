from cpython.object cimport PyObject
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from eager_core.layout cimport Layout

cdef enum:
    WRITERS = 8                      # how many of the last writes are known by operator (a power of 2)
    LARGEST_STAYING = 1024           # bytes; the allocator's size classes are multiples of 64
    OUTSIDE = -1                     # in place of an operator's number: a write that the library did not make
    BUMPED = 0xfffe                  # the same: a write that the program counted itself, _bump_inplace_version()

cdef struct VersionCounter:
    uint64_t current                 # what inplace_version shows (S4.1)
    Py_ssize_t snapshots             # saved tensors alive; with none, where a write falls is of no interest
    uint64_t whole                   # version of the last write that touched everything (not kept up while no snapshot is alive)
    uint64_t base                    # version that stamp 0 stands for
    Py_ssize_t outsiders             # arrays, capsules and owners outside of the library that may write here, at any time, unseen (S11.3)
    uint64_t serial                  # tells this memory from all others, once somebody asks (0 until then); odd: numbered at birth
    uint32_t *stamps                 # of granules: version - base of the last write to it; NULL before the first partial write
    # For allow_mutation_on_saved_tensors, while `log` is not None; see write_log.pyx.
    uint64_t since                   # values of this version and newer are protected ...
    uint64_t accounted               # ... because each write up to this version is in the log, or destroyed nothing of theirs
    char *saved_low                  # what has been saved lies in this span
    char *saved_high
    uint16_t[8] writers              # by version modulo WRITERS: 1 + operator (OUTSIDE: 0, BUMPED: the largest); kept up as `whole` is

cdef extern from "kernels/kernels.h":
    ctypedef struct eager_region:
        Py_ssize_t offset
        int itemsize
        int ndim
        const Py_ssize_t *shape
        const Py_ssize_t *strides

cdef inline eager_region region_of(char *memory, char *data, Layout layout, int itemsize) noexcept:
    cdef eager_region region
    region.offset = data - memory
    region.itemsize = itemsize
    region.ndim = layout.ndim
    region.shape = layout.dims
    region.strides = layout.strides
    return region

cdef class Storage:
    """Owner of a block of memory and of its version counter; everything that shares the memory shares this object."""
    cdef char *data
    cdef Py_ssize_t nbytes
    cdef int granule                 # bytes that one write stamp stands for
    cdef VersionCounter version
    cdef object log                  # None, or what writes have destroyed and saved tensors want back: a WriteLog
    cdef object owner                # None: our allocator; else the object whose memory is borrowed

cdef Storage allocate(Py_ssize_t nbytes, int itemsize)                          # uninitialised
cdef Storage borrow(char *data, Py_ssize_t nbytes, int itemsize, object owner)

# A small storage stays with the tensor that was its only holder, when that goes into the list of tensors to be used again.
# By a pointer: an argument that is an object would be counted as a holder.
cdef inline bint stays_with_tensor(PyObject *storage) noexcept:
    return (storage.ob_refcnt == 1 and (<Storage>storage).nbytes <= LARGEST_STAYING and (<Storage>storage).owner is None
            and (<Storage>storage).log is None and (<Storage>storage).version.stamps == NULL and (<Storage>storage).data != NULL)

cdef void lay_aside(Storage s) noexcept                                         # its memory counts as given back
cdef void take_up(Storage s, Py_ssize_t nbytes, int itemsize) noexcept          # as new; nbytes: of the same size class
cdef void empty_aside(Storage s) noexcept                                       # its memory goes back to the allocator

cdef uint64_t serial_of(Storage s) noexcept

# Between start and stop, new storages are numbered at birth, and so can be told from those that were there before.
cdef uint64_t start_births() noexcept
cdef void stop_births() noexcept
cdef bint born_since(Storage s, uint64_t start) noexcept

# S4.5, S5.13: count a write, and remember where it fell if anybody may ask.
cdef int bump_region_slow(Storage s, char *data, Layout layout, int itemsize, int op) except -1
cdef bint all_written_since(Storage s, uint64_t version, char *data, Layout layout, int itemsize) noexcept    # each of these elements
cdef bint untouched_slow(Storage s, uint64_t snapshot, char *data, Layout layout, int itemsize) noexcept

cdef bint regions_meet(Storage s, char *data, Layout layout, int itemsize, char *other, Layout other_layout, int other_itemsize) noexcept

cdef inline int bump_region(Storage s, char *data, Layout layout, int itemsize, int op) except -1:
    s.version.current += 1
    if s.version.snapshots == 0:
        return 0
    return bump_region_slow(s, data, layout, itemsize, op)

cdef inline void bump_all(Storage s, int op) noexcept:
    """Count a write to everything: a saver of any part must notice."""
    s.version.current += 1
    s.version.whole = s.version.current
    s.version.writers[s.version.current & (WRITERS - 1)] = <uint16_t>(op + 1)

cdef inline bint untouched(Storage s, uint64_t snapshot, char *data, Layout layout, int itemsize) noexcept:
    return s.version.current == snapshot or untouched_slow(s, snapshot, data, layout, itemsize)
