"""What in-place writes destroy while saved tensors still want it: ``allow_mutation_on_saved_tensors``.

A log lies on the storage. A write puts by the old bytes of its own region, once, however many nodes saved them: not again before the next
snapshot is taken. A saved value is what the memory held at its version: undo, newest first, the writes from that version on. That is done
on a copy of the pages concerned, and undoing a write exchanges its bytes with the copy's, so that the copy can go back *and* forth: a
backward pass, whichever way it goes through the versions, costs the length of the log once, not once per saved value.
"""
cimport cython
from libc.stdlib cimport calloc, free, malloc, realloc

from eager_core.errors cimport resource_exhausted
from eager_core.layout cimport span_of
from eager_core.modes cimport preserving
from eager_core.storage cimport all_written_since, bump_region, eager_region, region_of

cdef extern from "kernels/kernels.h":
    enum:
        EAGER_PAGE
    void eager_pack_region(const char *memory, const eager_region *region, char *packed) nogil
    void eager_read_region(const eager_pages *old, const eager_region *region, char *packed) nogil
    int eager_make_pages(eager_pages *old, const eager_region *region) nogil
    void eager_swap_region(eager_pages *old, const eager_region *region, char *packed) nogil


@cython.final
@cython.no_gc
cdef class OldBytes:
    def __dealloc__(self):
        free(self.packed)


@cython.final
@cython.no_gc
cdef class WriteLog:
    def __dealloc__(self):
        self.forget_pages()
        free(self.live)

    cdef uint64_t epoch(self) noexcept:
        """No live snapshot is newer: an element written since then needs no logging again."""
        cdef uint64_t newest = self.live[self.n_live - 1].version if self.n_live > self.first_live else 0
        return newest if newest > self.floor else self.floor

    cdef void forget(self) noexcept:
        self.forget_pages()
        self.entries = []
        self.first = self.at = self.top = 0
        self.nbytes = 0

    cdef void forget_pages(self) noexcept:
        cdef Py_ssize_t k
        if self.old.pages == NULL:
            return
        for k in range((self.old.nbytes + EAGER_PAGE - 1) // EAGER_PAGE):
            free(self.old.pages[k])
        free(self.old.pages)
        self.old.pages = NULL

    cdef int go_to(self, Py_ssize_t entry) except -1:
        """Move the old memory to the time before this entry."""
        cdef OldBytes one
        cdef eager_region region
        while self.at != entry:
            one = <OldBytes>self.entries[self.at - 1 if self.at > entry else self.at]
            region = region_of(<char *>self.old.live, one.data, one.layout, one.itemsize)
            # Pages are made before anything moves. On the way forward they are there.
            if eager_make_pages(&self.old, &region) < 0:
                resource_exhausted("no memory to restore a value that was saved and then overwritten")
            eager_swap_region(&self.old, &region, one.packed)
            self.at += -1 if self.at > entry else 1
        return 0

    cdef int trim(self) except -1:
        """Drop what no snapshot is old enough to need."""
        cdef uint64_t oldest
        cdef OldBytes one
        if self.early:
            return 0
        if self.first_live == self.n_live:
            self.forget()
            return 0
        oldest = self.live[self.first_live].version
        while self.first < len(self.entries):
            one = <OldBytes>self.entries[self.first]
            if one.version >= oldest:
                break
            if self.old.pages != NULL:
                if self.first == self.top:
                    self.forget_pages()          # every entry that was exchanged with them has gone
                elif self.at == self.first:
                    self.go_to(self.first + 1)
            self.nbytes -= _size(one)
            self.entries[self.first] = None
            self.first += 1
        if self.first > 64 and 2 * self.first > len(self.entries):
            del self.entries[:self.first]
            self.at -= self.first
            self.top -= self.first
            self.first = 0
        return 0


cdef inline Py_ssize_t _size(OldBytes one) noexcept:
    return one.layout.numel * one.itemsize


# What stands for a log while there is nothing to write into it: something was saved under the mode, and no write since has hit the span
# of what was saved. Most memory never gets further, so that the mode costs a reference count where nothing is overwritten.
cdef WriteLog PROTECTED = WriteLog.__new__(WriteLog)
cdef OldBytes HARMLESS = OldBytes.__new__(OldBytes)      # what a write beside that span destroys


cdef WriteLog known_log(Storage s):
    return None if s.log is PROTECTED else <WriteLog>s.log


cdef WriteLog _preserving(Storage s):
    """The storage's log if it has one that keeps old bytes."""
    cdef WriteLog log = known_log(s)
    return log if log is not None and log.preserving else None


cdef WriteLog log_of(Storage s):
    if s.log is PROTECTED:
        return _begun(s)
    if s.log is None:
        s.log = WriteLog.__new__(WriteLog)
    return <WriteLog>s.log


cdef inline void _protect(Storage s) noexcept:
    """From now on. Values saved before may lie anywhere; those of the present version are still there."""
    s.version.since = s.version.accounted = s.version.current
    s.version.saved_low = s.data
    s.version.saved_high = s.data + s.nbytes if s.version.snapshots else s.data


cdef WriteLog _begun(Storage s):
    """A log that keeps old bytes."""
    cdef WriteLog log = known_log(s)
    if log is None or not log.preserving:
        if s.log is not PROTECTED:
            _protect(s)
        if log is None:
            log = WriteLog.__new__(WriteLog)
        log.preserving = True
        log.entries = []
        log.early = s.version.snapshots
        log.floor = s.version.current
        s.log = log
    return log


cdef int _catch_up(Storage s) except -1:
    """Writes that were not announced, from outside or by a thread that began before there was a log: older values cannot be restored."""
    cdef WriteLog log = _preserving(s)
    if s.version.accounted != s.version.current:
        s.version.accounted = s.version.since = s.version.current
        if log is not None:
            log.floor = s.version.current
            log.forget()
    return 0


cdef void _span(char *data, Layout layout, int itemsize, char **low, char **high) noexcept:
    """The bytes between the first and the last of a region's elements, both included; none if there are none."""
    cdef Py_ssize_t first, behind
    span_of(layout, &first, &behind)
    low[0] = data + first * itemsize
    high[0] = data + behind * itemsize


cdef inline void _extend_span(Storage s, char *data, Layout layout, int itemsize) noexcept:
    cdef char *low = data
    cdef char *high = data + layout.numel * itemsize
    if not layout.contiguous:
        _span(data, layout, itemsize, &low, &high)
    if s.version.saved_low == s.version.saved_high:
        s.version.saved_low = low
        s.version.saved_high = high
    elif low < high:
        s.version.saved_low = min(low, s.version.saved_low)
        s.version.saved_high = max(high, s.version.saved_high)


cdef bint logs_writes(Storage s) noexcept:
    cdef WriteLog log
    if s.version.snapshots == 0:
        return False
    if s.log is None:
        return preserving()
    if s.log is PROTECTED:
        return True
    log = <WriteLog>s.log
    return log.n_live > log.first_live or log.early > 0 if log.preserving else preserving()


cdef bint destroys(Storage s, char *data, Layout layout, int itemsize) noexcept:
    return logs_writes(s) and (s.log is None or _beside(s, data, layout, itemsize) == 0)


cdef bint _beside(Storage s, char *data, Layout layout, int itemsize) noexcept:
    """Whether the elements lie beside the span of what was saved."""
    cdef char *low
    cdef char *high
    _span(data, layout, itemsize, &low, &high)
    return high <= s.version.saved_low or s.version.saved_high <= low


cdef int saved(Storage s, char *data, Layout layout, int itemsize) except -1:
    cdef WriteLog log
    cdef Py_ssize_t room
    if s.log is None:
        if not preserving():
            return 0
        _protect(s)
        s.log = PROTECTED
    elif s.log is not PROTECTED and not (<WriteLog>s.log).preserving:
        if not preserving():
            return 0
        _begun(s)
    if s.version.accounted != s.version.current:
        _catch_up(s)
    _extend_span(s, data, layout, itemsize)
    if s.log is PROTECTED:
        return 0
    log = <WriteLog>s.log
    if log.n_live > log.first_live and log.live[log.n_live - 1].version == s.version.current:
        log.live[log.n_live - 1].count += 1
        return 0
    if log.n_live == log.live_room:
        _close_up(log)
        if 2 * log.n_live >= log.live_room:
            room = 2 * log.live_room + 8
            grown = <LiveVersion *>realloc(log.live, room * sizeof(LiveVersion))
            if grown == NULL:
                resource_exhausted("cannot allocate the log of a saved tensor")
            log.live = grown
            log.live_room = room
    log.live[log.n_live].version = s.version.current
    log.live[log.n_live].count = 1
    log.n_live += 1
    return 0


cdef void _close_up(WriteLog log) noexcept:
    """Take out versions without a snapshot."""
    cdef Py_ssize_t k, to = 0
    for k in range(log.first_live, log.n_live):
        if log.live[k].count:
            log.live[to] = log.live[k]
            to += 1
    log.first_live = 0
    log.n_live = to


cdef void released(Storage s, uint64_t version) noexcept:
    cdef WriteLog log
    cdef Py_ssize_t low, high, middle
    if s.version.snapshots == 0:
        s.log = None
        return
    if s.log is PROTECTED:
        return
    log = <WriteLog>s.log
    if not log.preserving:
        return
    low, high = log.first_live, log.n_live
    while low < high:
        middle = (low + high) // 2
        if log.live[middle].version < version:
            low = middle + 1
        else:
            high = middle
    if low < log.n_live and log.live[low].version == version and log.live[low].count:
        log.live[low].count -= 1
    else:
        log.early -= 1
    while log.n_live > log.first_live and log.live[log.n_live - 1].count == 0:
        log.n_live -= 1
    low = log.first_live
    while log.first_live < log.n_live and log.live[log.first_live].count == 0:
        log.first_live += 1
    if log.first_live != low or log.early == 0:
        _trim_quietly(log)


cdef void _trim_quietly(WriteLog log) noexcept:
    """Called while a node dies: what cannot be dropped now for want of memory is dropped later."""
    try:
        log.trim()
    except MemoryError:
        pass


cdef OldBytes before_write(Storage s, char *data, Layout layout, int itemsize):
    cdef WriteLog log
    cdef OldBytes made
    cdef eager_region region
    if s.log is None:
        _begun(s)
    _catch_up(s)
    if _beside(s, data, layout, itemsize):
        return HARMLESS
    log = _begun(s)
    made = OldBytes.__new__(OldBytes)
    made.data = data
    made.layout = layout
    made.itemsize = itemsize
    made.epoch = log.epoch()
    if all_written_since(s, made.epoch, data, layout, itemsize):
        return made
    made.packed = <char *>malloc(_size(made))
    if made.packed == NULL:
        resource_exhausted(f"cannot allocate {_size(made)} bytes for what a write to a saved tensor overwrites")
    region = region_of(s.data, data, layout, itemsize)
    eager_pack_region(s.data, &region, made.packed)
    return made


cdef int count_logged(Storage s, OldBytes old, char *data, Layout layout, int itemsize, int op) except -1:
    cdef WriteLog log
    cdef uint64_t before = s.version.current
    if s.log is None or (old is not HARMLESS and (known_log(s) is None or old.data != data or old.layout is not layout)):
        # The last snapshot has gone, or another thread has rebound the tensor's memory: then this is a write like any other.
        return bump_region(s, data, layout, itemsize, op)
    _catch_up(s)
    bump_region(s, data, layout, itemsize, op)
    s.version.accounted = s.version.current
    log = _preserving(s)
    if log is None:
        return 0
    log.moved = True
    if s.version.whole == s.version.current and layout.numel * itemsize < s.nbytes:
        log.floor = s.version.current            # there was no memory for stamps: what is counted as written was not all logged
    if old.packed != NULL:
        old.version = before
        log.entries.append(old)
        log.nbytes += _size(old)
    elif layout.numel and old is not HARMLESS and log.epoch() != old.epoch:
        s.version.accounted = before             # a snapshot was taken while the kernel was at work: by a thread that reads what is written
    return 0


cdef int count_harmless(Storage s, uint64_t before) except -1:
    cdef WriteLog log = _preserving(s)
    if s.version.accounted == before:
        s.version.accounted = s.version.current
        if log is not None:
            log.floor = s.version.current
    return 0


cdef void renumber(Storage s, uint64_t version) noexcept:
    if s.version.accounted == s.version.current:
        s.version.accounted = version
    s.version.current = version


cdef int undone(Storage s, uint64_t version) except -1:
    cdef WriteLog log = _preserving(s)
    if s.log is not None:
        _catch_up(s)
        s.version.accounted = version
        if s.version.since > version:
            s.version.since = version
    if log is not None:
        if log.old.pages != NULL:
            log.go_to(log.top)
            log.forget_pages()
        while len(log.entries) > log.first and (<OldBytes>log.entries[len(log.entries) - 1]).version >= version:
            log.nbytes -= _size(<OldBytes>log.entries.pop())
        log.floor = s.version.current            # stamps of the writes that were taken back stay, and say nothing of what is logged
    s.version.current = version
    return 0


cdef Old old_value(Storage s, uint64_t version, char *data, Layout layout, int itemsize, char *into) except *:
    """These elements as they were at that version, in C order."""
    cdef WriteLog log = _preserving(s)
    cdef Py_ssize_t low, high, middle
    cdef eager_region region
    if log is None and s.log is not PROTECTED:
        return LOST
    _catch_up(s)
    if version < s.version.since:
        return LOST
    if log is None:
        return UNCHANGED
    low, high = log.first, len(log.entries)
    while low < high:
        middle = (low + high) // 2
        if (<OldBytes>log.entries[middle]).version < version:
            low = middle + 1
        else:
            high = middle
    if low == len(log.entries):
        return UNCHANGED
    if into == NULL:
        return RESTORED
    if log.old.pages != NULL and log.moved:
        log.go_to(log.top)
        log.forget_pages()
    if log.old.pages == NULL:
        log.old.live = s.data
        log.old.nbytes = s.nbytes
        log.old.pages = <char **>calloc((s.nbytes + EAGER_PAGE - 1) // EAGER_PAGE, sizeof(char *))
        if log.old.pages == NULL:
            resource_exhausted("no memory to restore a value that was saved and then overwritten")
        log.at = log.top = len(log.entries)
        log.moved = False
    log.go_to(low)
    region = region_of(s.data, data, layout, itemsize)
    eager_read_region(&log.old, &region, into)
    return RESTORED
