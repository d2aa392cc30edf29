"""Memory that others can write to (S11.3): a tensor's, lent to arrays and capsules, and a tensor over somebody else's.

No counter sees such writes. So what is saved from the memory meanwhile is saved as a copy (``VersionCounter.outsiders``, asked by
``save_tensor``), and taking it counts as a write: what was saved by reference before is refused by backward. Neither has a hole, however
long an array outlives the block it was made for: it only costs copies.
"""
import numpy as np

cimport cython

from eager_core.dtypes cimport DTYPES
from eager_core.errors cimport invalid_argument, invalid_type, permission_denied
from eager_core.eager_utils cimport check_inplace, forget_history
from eager_core.grad_mode cimport grad_enabled
from eager_core.layout cimport overlaps_itself
from eager_core.masked import refuse_masked
from eager_core.modes cimport modes_on
from eager_core.provenance cimport note_write
from eager_core.storage cimport OUTSIDE, bump_region
from eager_core.tensor cimport adopt_array, array_over, type_name, wants_grad


# no_gc: nothing that it holds refers to it.
@cython.final
@cython.no_gc
cdef class Lease:
    def __init__(self, *args, **kwargs):
        raise TypeError("leases are made by writable_array() and __dlpack__() only")

    cdef int count(self) except -1:
        """A write to all of the region, as far as anybody can know."""
        return bump_region(self.storage, self.data, self.layout, self.itemsize, OUTSIDE)

    def __dealloc__(self):
        if self.storage is None:
            return
        self.storage.version.outsiders -= 1
        if self.counts_return:
            self.count()


cdef Lease lend(TensorBase t, str what, bint counts_return):
    cdef Lease made
    check_inplace(t, False)
    if grad_enabled() and wants_grad(t):
        permission_denied(f"{what}: what is written from outside has no gradient, and tensor ({t._name}) has a history. Write under "
                          "no_grad(), or to t.detach(): both leave the history as it is. Or write to a copy and assign it: t[...] = a")
    if overlaps_itself(t.layout):
        invalid_argument(f"{what}: elements of tensor ({t._name}) share memory with each other. Take a clone() of it")
    made = Lease.__new__(Lease)
    made.layout = t.layout
    made.data = t.data
    made.itemsize = DTYPES[t.dtype].itemsize
    made.counts_return = counts_return
    made.storage = t.storage
    made.storage.version.outsiders += 1
    made.count()
    if modes_on:
        note_write(t, OUTSIDE)
    forget_history(t)
    return made


@cython.final
cdef class WritableArray:
    """``with t.writable_array() as a:``, not entered yet, open, or over."""
    cdef TensorBase tensor           # None once entered
    cdef Lease lease                 # None before, and after the end
    cdef object array

    def __init__(self, *args, **kwargs):
        raise TypeError("use Tensor.writable_array()")

    def __enter__(self):
        if self.tensor is None:
            permission_denied("a block of writable_array() can be entered once; call it again")
        self.lease = lend(self.tensor, "writable_array()", False)
        self.array = array_over(self.tensor, True, self.lease)
        self.tensor = None
        return self.array

    def __exit__(self, *exc_info):
        cdef Lease lease = self.lease
        array = self.array
        self.lease = self.array = None
        if lease is None:
            permission_denied("this block of writable_array() is not open")
        # Its base is no buffer, so NumPy refuses to make it writable again. Other arrays made of it stay as they are, and keep the lease.
        array.flags.writeable = False
        lease.count()


cdef object lent_array(TensorBase t):
    cdef WritableArray made = WritableArray.__new__(WritableArray)
    made.tensor = t
    return made


cdef TensorBase borrow_array(object array, str what):
    cdef TensorBase made
    if not isinstance(array, np.ndarray):
        invalid_type(f"{what}: a numpy.ndarray is needed, but got {type_name(array)}")
    refuse_masked(array, f"{what}: argument 'array'")
    reasons = [reason for reason, holds in (
        ("it is read-only", not array.flags.writeable),
        ("its elements do not lie in C order without gaps", not array.flags.c_contiguous),
        ("its elements are not aligned", not array.flags.aligned),
    ) if holds]
    if reasons:
        invalid_argument(f"{what}: the memory of the array cannot be shared, because {', and '.join(reasons)}. Use copy=True")
    made = adopt_array(array)
    made.storage.version.outsiders = 1           # for good: its owner may write at any time
    return made
