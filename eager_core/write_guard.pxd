# Who must be asked, or told, before a tensor is written in place.
from eager_core.tensor cimport TensorBase

cdef int guards_in_use                           # in all threads: with none, no write asks further

cdef class Guard:
    cdef list pushed_on                          # its thread's stack, while it is in force
    cdef int enter(self) except -1
    cdef int leave(self) except -1
    cdef int before(self, TensorBase target) except -1       # refuses by raising

cdef int before_write(TensorBase target) except -1

cdef class ForwardGuard(Guard):
    """The inputs of a custom function while its forward runs: leaves refuse writes, and what is written can be taken back."""
    cdef list inputs, places, saved              # tensors; what they looked like; old values of what was written
    cdef dict leaves, storages                   # by id of the storage
    cdef int watch(self, list inputs) except -1
    cdef bint rebound(self, int i) except -1
    cdef bint modified(self, int i) except -1
    cdef int restore(self) except -1
    cdef int release(self) except -1
