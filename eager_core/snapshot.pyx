"""A tensor's elements as they are now: held by reference, and given back only while they are still the same."""
cimport cython
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from eager_core.dtypes cimport DTYPES
from eager_core.errors cimport permission_denied
from eager_core.layout cimport Layout, shape_text
from eager_core.storage cimport Storage, untouched
from eager_core.tensor cimport TensorBase, new_tensor, private_copy
from eager_core.tensor_wrapper cimport old_tensor
from eager_core.tracer cimport contiguous_copy
from eager_core.write_log cimport drop_snapshot, take_snapshot


# no_gc: storages and layouts refer to nothing else, and __dealloc__ can count on them.
@cython.final
@cython.no_gc
cdef class Snapshot:
    """What a saved tensor is to a node, for those that are no nodes."""
    cdef Storage storage
    cdef Layout layout
    cdef char *data
    cdef int dtype
    cdef uint64_t version
    cdef str name

    def __init__(self, TensorBase t not None):
        if self.storage is not None:
            raise RuntimeError("(PermissionDenied) a snapshot is taken once")
        if t.storage.version.outsiders:
            t = private_copy(t)                  # as saved tensors are
        self.storage = t.storage
        self.layout = t.layout
        self.data = t.data
        self.dtype = t.dtype
        self.version = t.storage.version.current
        self.name = t._name
        take_snapshot(self.storage, self.data, self.layout, DTYPES[self.dtype].itemsize)

    def __dealloc__(self):
        if self.storage is not None:
            drop_snapshot(self.storage, self.version)

    def tensor(self, str what not None):
        """Return a constant over the memory; an error that begins with `what` if one of the elements has been written to since."""
        cdef TensorBase made
        if untouched(self.storage, self.version, self.data, self.layout, DTYPES[self.dtype].itemsize):
            made = new_tensor(self.storage, self.layout, self.data, self.dtype)
        else:
            made = old_tensor(self.storage, self.version, self.layout, self.data, self.dtype)
        if made is None:
            permission_denied(f"{what}, a tensor ({self.name}) of shape {shape_text(self.layout)}, has been modified by an inplace "
                              f"operation since. Its version is {self.storage.version.current} but the expected version is {self.version}")
        made._name = self.name
        return made


cdef inline uint64_t _mix(uint64_t h, uint64_t word) noexcept nogil:
    """One to one in the word. The rotation brings the high bits, which a product only moves up, back among the low ones."""
    h = (h ^ word) * 0x9E3779B97F4A7C15ULL
    return h << 31 | h >> 33


cdef uint64_t _hash(const char *at, Py_ssize_t n) noexcept nogil:
    """Four chains side by side, for a product takes its time. Not made to withstand intent."""
    cdef uint64_t a = 1, b = 2, c = 3, d = n
    cdef uint64_t[4] word
    while n >= 32:
        memcpy(word, at, 32)
        a = _mix(a, word[0])
        b = _mix(b, word[1])
        c = _mix(c, word[2])
        d = _mix(d, word[3])
        at += 32
        n -= 32
    memset(word, 0, 32)
    memcpy(word, at, n)
    a = _mix(a, word[0])
    b = _mix(b, word[1])
    c = _mix(c, word[2])
    d = _mix(d, word[3])
    return _mix(_mix(_mix(_mix(a, b), c), d), 0)


def fingerprint(TensorBase t not None):
    """Return a number that tells the elements of `t`, to the last bit, from other ones: 64 bits."""
    cdef TensorBase flat = t if t.layout.contiguous else contiguous_copy(t, t.dtype)
    cdef Storage _held = flat.storage            # should another thread rebind it while the GIL is away
    cdef const char *bytes_ = flat.data
    cdef Py_ssize_t n = flat.layout.numel * DTYPES[flat.dtype].itemsize
    cdef uint64_t made
    with nogil:
        made = _hash(bytes_, n)
    return made
