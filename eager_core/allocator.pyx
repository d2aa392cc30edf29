"""Blocks of memory, kept for reuse when they are given back.

Small blocks: one list per size, because malloc and free cost about 35 ns together and a list about 4. Large blocks: freshly mapped pages
cost more than the arithmetic on them (adding 4M doubles: 2.7 ms in place, 23 ms into new pages), so the most recently used ones are kept,
up to a limit.
"""
from libc.stdlib cimport free
from libc.string cimport memmove

cdef extern from *:
    """
    #include <stdlib.h>
    #if defined(_MSC_VER)
    static char *eager_aligned(size_t n) { return (char *)malloc(n); }
    #else
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif
    static char *eager_aligned(size_t n)
    {
    #if defined(MADV_HUGEPAGE)
        /* Large pages, as NumPy asks for: walking over small ones costs a fault each the first time, and a look-up each later. */
        const size_t page = (size_t)2 << 20;
        if (n >= 2 * page) {
            const size_t whole = (n + page - 1) / page * page;
            char *block = (char *)aligned_alloc(page, whole);
            if (block != NULL) madvise(block, whole, MADV_HUGEPAGE);
            return block;
        }
    #endif
        return (char *)aligned_alloc(64, n);
    }
    #endif
    """
    char *eager_aligned(size_t n) noexcept

cdef enum:
    STEP = 64
    SMALL_BINS = 65              # blocks of 64 .. 4096 bytes
    SMALL_KEPT = 128             # per bin: at most 17 MB in all
    PAGE = 4096
    LARGE_KEPT = 64

cdef struct Block:
    char *data
    Py_ssize_t size

cdef char *_small[65][128]
cdef int[65] _small_kept
cdef Block[64] _large            # least recently used first
cdef int _large_kept = 0
cdef Py_ssize_t _large_bytes = 0
cdef Py_ssize_t _limit = 256 << 20


cdef inline Py_ssize_t _rounded(Py_ssize_t nbytes) noexcept:
    if nbytes <= STEP:
        return STEP
    if nbytes <= STEP * (SMALL_BINS - 1):
        return (nbytes + STEP - 1) // STEP * STEP
    return (nbytes + PAGE - 1) // PAGE * PAGE


cdef char *take_block(Py_ssize_t nbytes) noexcept:
    cdef Py_ssize_t size = _rounded(nbytes), bin
    cdef int i
    cdef char *data
    if size <= STEP * (SMALL_BINS - 1):
        bin = size // STEP
        if _small_kept[bin]:
            _small_kept[bin] -= 1
            return _small[bin][_small_kept[bin]]
    else:
        for i in range(_large_kept - 1, -1, -1):
            if _large[i].size == size:
                data = _large[i].data
                _drop(i)
                return data
    data = eager_aligned(size)
    if data == NULL and _large_kept:
        _shrink(0)
        data = eager_aligned(size)
    return data


cdef void give_block(char *block, Py_ssize_t nbytes) noexcept:
    cdef Py_ssize_t size = _rounded(nbytes), bin
    if size <= STEP * (SMALL_BINS - 1):
        bin = size // STEP
        if _small_kept[bin] < SMALL_KEPT:
            _small[bin][_small_kept[bin]] = block
            _small_kept[bin] += 1
            return
        free(block)
        return
    global _large_kept, _large_bytes
    if size > _limit:
        free(block)
        return
    _shrink(_limit - size)
    if _large_kept == LARGE_KEPT:
        free(_large[0].data)
        _drop(0)
    _large[_large_kept].data = block
    _large[_large_kept].size = size
    _large_kept += 1
    _large_bytes += size


cdef void _drop(int i) noexcept:
    """Take block i off the list; the caller owns it."""
    global _large_kept, _large_bytes
    _large_bytes -= _large[i].size
    _large_kept -= 1
    memmove(&_large[i], &_large[i + 1], (_large_kept - i) * sizeof(Block))


cdef void _shrink(Py_ssize_t most) noexcept:
    """Give the least recently used blocks back to the system until at most `most` bytes are kept."""
    while _large_bytes > most and _large_kept:
        free(_large[0].data)
        _drop(0)


cdef free_fn[4] _free_others
cdef bytes_fn[4] _bytes_of_others
cdef int _others = 0


cdef void register_keeper(free_fn free_all, bytes_fn kept_bytes) noexcept:
    global _others
    _free_others[_others] = free_all
    _bytes_of_others[_others] = kept_bytes
    _others += 1


def empty_cache():
    """Give all unused blocks back to the system."""
    cdef int bin, i
    for i in range(_others):
        _free_others[i]()
    _shrink(0)
    for bin in range(SMALL_BINS):
        while _small_kept[bin]:
            _small_kept[bin] -= 1
            free(_small[bin][_small_kept[bin]])


def set_cache_limit(Py_ssize_t nbytes):
    """Keep at most this many bytes of unused large blocks (256 MiB at first)."""
    global _limit
    if nbytes < 0:
        raise ValueError(f"(InvalidArgument) the limit must not be negative, but is {nbytes}")
    _limit = nbytes
    _shrink(_limit)


def cached_bytes():
    """Return how many bytes of unused blocks are kept."""
    cdef int bin, i
    cdef Py_ssize_t total = _large_bytes
    for i in range(_others):
        if _bytes_of_others[i] != NULL:
            total += _bytes_of_others[i]()
    for bin in range(SMALL_BINS):
        total += _small_kept[bin] * bin * STEP
    return total
