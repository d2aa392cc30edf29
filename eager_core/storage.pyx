"""Memory, its version counter, and the memory of where it was written."""
cimport cython
from cpython.object cimport PyObject, PyTypeObject, destructor
from libc.stdlib cimport free

from eager_core.allocator cimport give_block, take_block
from eager_core.errors cimport resource_exhausted
from eager_core.profiling cimport count_given, count_taken, register_storages
from eager_core.recycling cimport EAGER_KEPT, eager_intercept_dealloc, eager_revive

cdef extern from "kernels/kernels.h":
    ctypedef struct eager_stamps:
        uint32_t *first
        Py_ssize_t nbytes
        int granule
    uint32_t *eager_make_stamps(Py_ssize_t nbytes, int granule) nogil
    void eager_stamp_region(const eager_stamps *stamps, const eager_region *region, uint32_t stamp) nogil
    int eager_region_newer(const eager_stamps *stamps, const eager_region *region, uint32_t limit) nogil
    int eager_region_all_newer(const eager_stamps *stamps, const eager_region *region, uint32_t limit) nogil


# no_gc: the owner of borrowed memory and the log know nothing of the storage.
@cython.final
@cython.no_gc
cdef class Storage:
    pass


cdef PyObject *_kept[EAGER_KEPT + 1]
cdef int _n_kept = 0
cdef Py_ssize_t _in_use = 0               # bytes of all storages
cdef int _noted = 0                       # births: how many want new storages to be numbered; and NOTED_BY_PROFILER
cdef enum:
    NOTED_BY_PROFILER = 1 << 20


cdef inline void _count_given(Storage s) noexcept:
    global _in_use
    _in_use -= s.nbytes
    if _noted:
        count_given(s.nbytes, s.version.serial)


cdef void _retire(PyObject *o) noexcept:
    """The last reference is gone."""
    global _n_kept
    _count_given(<Storage>o)
    if (<Storage>o).version.stamps != NULL:
        free((<Storage>o).version.stamps)
    if (<Storage>o).log is not None:
        (<Storage>o).log = None
    if (<Storage>o).owner is not None:
        (<Storage>o).owner = None
        (<Storage>o).version.outsiders = 0           # an owner counts for good; whoever borrowed from us holds a reference
    elif (<Storage>o).data != NULL:
        give_block((<Storage>o).data, (<Storage>o).nbytes)
    if _n_kept < EAGER_KEPT:
        _kept[_n_kept] = o
        _n_kept += 1
    else:
        _plain_dealloc(o)


cdef destructor _plain_dealloc = eager_intercept_dealloc(<PyTypeObject *>Storage, _retire)


cdef uint64_t _serials = 0


cdef uint64_t _next_serial() noexcept:
    """Unlike an address it is not given away again."""
    global _serials
    _serials += 2
    return _serials


cdef uint64_t serial_of(Storage s) noexcept:
    if s.version.serial == 0:
        s.version.serial = _next_serial()
    return s.version.serial


cdef uint64_t start_births() noexcept:
    global _noted
    _noted += 1
    return _serials


cdef void stop_births() noexcept:
    global _noted
    _noted -= 1


cdef Py_ssize_t _bytes_in_use() noexcept:
    return _in_use


cdef void _set_noted(bint on) noexcept:
    global _noted
    _noted = _noted & ~NOTED_BY_PROFILER | (NOTED_BY_PROFILER if on else 0)


register_storages(_set_noted, _bytes_in_use)


cdef bint born_since(Storage s, uint64_t start) noexcept:
    return s.version.serial & 1 and s.version.serial > start + 1


cdef inline void _begin(Storage made, Py_ssize_t nbytes) noexcept:
    """Fields as they are at birth; those that are not named are written before they are read."""
    global _in_use
    made.version.current = made.version.whole = made.version.base = made.version.serial = 0
    made.version.snapshots = 0
    made.version.stamps = NULL
    made.nbytes = nbytes
    _in_use += nbytes
    if _noted:
        _note(made)


cdef Storage _new_storage():
    """Without memory; its other fields are of no use until `_begin`."""
    global _n_kept
    cdef Storage made
    if _n_kept == 0:
        made = Storage.__new__(Storage)
    else:
        _n_kept -= 1
        made = <Storage>eager_revive(_kept[_n_kept], <PyTypeObject *>Storage)
    return made


cdef void _note(Storage made) noexcept:
    if _noted & ~NOTED_BY_PROFILER:
        made.version.serial = _next_serial() | 1
    if _noted & NOTED_BY_PROFILER:
        count_taken(made.nbytes)


cdef Storage allocate(Py_ssize_t nbytes, int itemsize):
    cdef Storage made = _new_storage()
    made.data = take_block(nbytes)
    _begin(made, nbytes if made.data != NULL else 0)         # what there is not is no part of the peak
    if made.data == NULL:
        resource_exhausted(f"cannot allocate {nbytes} bytes")
    made.granule = itemsize if itemsize < 8 else 8
    return made


cdef void lay_aside(Storage s) noexcept:
    _count_given(s)


cdef void take_up(Storage s, Py_ssize_t nbytes, int itemsize) noexcept:
    _begin(s, nbytes)
    s.granule = itemsize if itemsize < 8 else 8


cdef void empty_aside(Storage s) noexcept:
    give_block(s.data, s.nbytes)
    s.data = NULL
    s.nbytes = 0                     # it was counted as given back when it was laid aside
    s.version.serial = 0


cdef Storage borrow(char *data, Py_ssize_t nbytes, int itemsize, object owner):
    cdef Storage made = _new_storage()
    _begin(made, nbytes)
    made.owner = owner
    made.data = data
    made.granule = itemsize if itemsize < 8 else 8
    return made


def bytes_in_use():
    """Return how many bytes of memory tensors, and what is saved for backward, hold at the moment."""
    return _in_use


cdef inline eager_stamps _stamps(Storage s, uint32_t *first) noexcept:
    cdef eager_stamps stamps
    stamps.first = first
    stamps.nbytes = s.nbytes
    stamps.granule = s.granule
    return stamps


cdef int bump_region_slow(Storage s, char *data, Layout layout, int itemsize, int op) except -1:
    """A snapshot is alive: stamp the elements just written (the version has been moved already)."""
    cdef VersionCounter *version = &s.version
    cdef eager_region region
    cdef eager_stamps stamps
    version.writers[version.current & (WRITERS - 1)] = <uint16_t>(op + 1)
    if layout.numel * itemsize >= s.nbytes or version.current - version.base >= 0xffffffffULL:
        version.whole = version.current
        return 0
    if version.stamps == NULL:
        version.stamps = eager_make_stamps(s.nbytes, s.granule)
        if version.stamps == NULL:
            # What cannot be told apart counts as touched: the protection outlives the shortage.
            version.whole = version.current
            return 0
        version.base = version.current - 1
    stamps = _stamps(s, version.stamps)
    region = region_of(s.data, data, layout, itemsize)
    eager_stamp_region(&stamps, &region, <uint32_t>(version.current - version.base))
    return 0


cdef bint untouched_slow(Storage s, uint64_t snapshot, char *data, Layout layout, int itemsize) noexcept:
    """Whether provably no write since the snapshot touched these elements."""
    cdef VersionCounter *version = &s.version
    cdef eager_region region
    cdef eager_stamps stamps
    if layout.numel == 0:
        return True
    if version.whole > snapshot:
        return False
    if version.stamps == NULL:
        return True
    stamps = _stamps(s, version.stamps)
    region = region_of(s.data, data, layout, itemsize)
    return not eager_region_newer(&stamps, &region, <uint32_t>(snapshot - version.base) if snapshot > version.base else 0)


cdef bint all_written_since(Storage s, uint64_t version, char *data, Layout layout, int itemsize) noexcept:
    """Whether provably each of these elements has been written since, or the storage as a whole."""
    cdef VersionCounter *counter = &s.version
    cdef eager_region region
    cdef eager_stamps stamps
    if counter.whole > version or layout.numel == 0:
        return True
    if counter.stamps == NULL or version < counter.base:
        return False
    stamps = _stamps(s, counter.stamps)
    region = region_of(s.data, data, layout, itemsize)
    return eager_region_all_newer(&stamps, &region, <uint32_t>(version - counter.base))


cdef bint regions_meet(Storage s, char *data, Layout layout, int itemsize, char *other, Layout other_layout, int other_itemsize) noexcept:
    """Whether two regions have an element in common; decided on stamps of their own, which costs the size of the storage."""
    cdef eager_region region = region_of(s.data, data, layout, itemsize)
    cdef eager_stamps stamps = _stamps(s, eager_make_stamps(s.nbytes, s.granule))
    cdef bint meet = True            # what cannot be told apart counts as touched
    if stamps.first != NULL:
        eager_stamp_region(&stamps, &region, 1)
        region = region_of(s.data, other, other_layout, other_itemsize)
        meet = eager_region_newer(&stamps, &region, 0)
        free(stamps.first)
    return meet
