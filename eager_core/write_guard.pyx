"""Guards on writes in place, for the time that a user's function runs.

Every in-place operator comes through ``check_inplace``, which asks the guards of its thread while there are any. A guard may refuse, and it
learns what is about to be overwritten before it is gone.
"""
import threading

cimport cython
from libc.stdint cimport uint64_t

from eager_core._generated.op_ids cimport OP_PY_LAYER
from eager_core.dtypes cimport DTYPES
from eager_core.errors cimport leaf_error, permission_denied
from eager_core.layout cimport Layout, shape_text
from eager_core.storage cimport Storage, born_since, bump_all, start_births, stop_births, untouched
from eager_core.tensor cimport alias
from eager_core.tracer cimport contiguous_copy, copy_into
from eager_core.write_log cimport drop_snapshot, take_snapshot, undone

guards_in_use = 0


class _Stack(threading.local):
    def __init__(self):
        self.guards = []


cdef object _stack = _Stack()


cdef int before_write(TensorBase target) except -1:
    for guard in _stack.guards:
        (<Guard>guard).before(target)
    return 0


cdef class Guard:
    cdef int enter(self) except -1:
        global guards_in_use
        self.pushed_on = _stack.guards
        self.pushed_on.append(self)
        guards_in_use += 1
        return 0

    cdef int leave(self) except -1:
        global guards_in_use
        if self.pushed_on is not None:
            self.pushed_on.remove(self)
            self.pushed_on = None
            guards_in_use -= 1
        return 0

    cdef int before(self, TensorBase target) except -1:
        return 0


# ---- forward of a custom function --------------------------------------------------------------------------------------------------------

@cython.final
cdef class _Place:
    """Where an input's elements were, and the version of their memory."""
    cdef Storage storage
    cdef Layout layout
    cdef char *data
    cdef uint64_t version


@cython.final
cdef class _Saved:
    """The old value of something that was about to be written, and the counts of its memory."""
    cdef TensorBase part, value
    cdef uint64_t version, whole
    cdef Py_ssize_t snapshots


@cython.final
cdef class ForwardGuard(Guard):
    cdef int watch(self, list inputs) except -1:
        cdef TensorBase t, root
        cdef _Place place
        self.inputs = inputs
        self.places = []
        self.saved = []
        self.leaves = {}
        self.storages = {}
        for one in inputs:
            t = <TensorBase>one
            place = _Place.__new__(_Place)
            place.storage = t.storage
            place.layout = t.layout
            place.data = t.data
            place.version = t.storage.version.current
            self.places.append(place)
            take_snapshot(t.storage, t.data, t.layout, DTYPES[t.dtype].itemsize)             # writes are to be told apart (S5.13)
            self.storages[<size_t><void *>t.storage] = t.storage
            root = t if t.root is None else <TensorBase>t.root
            if not root._stop_gradient and root.grad_node is None:
                self.leaves[<size_t><void *>t.storage] = root._name
        return self.enter()

    cdef int before(self, TensorBase target) except -1:
        cdef _Saved old
        cdef size_t key = <size_t><void *>target.storage
        if key not in self.storages:
            return 0
        if key in self.leaves:
            leaf_error(<str>self.leaves[key])            # S12.4: before anything is written, and also through a view or a detached alias
        for one in self.saved:
            old = <_Saved>one
            if old.part.storage is target.storage and (
                    old.part.layout.contiguous and old.part.layout.numel * DTYPES[old.part.dtype].itemsize == target.storage.nbytes
                    or old.part.layout is target.layout and old.part.data == target.data and old.part.dtype == target.dtype):
                return 0
        old = _Saved.__new__(_Saved)
        old.part = alias(target, target.layout, target.data)
        old.value = contiguous_copy(target, target.dtype)
        old.version = target.storage.version.current
        old.whole = target.storage.version.whole
        old.snapshots = target.storage.version.snapshots
        self.saved.append(old)
        return 0

    cdef bint rebound(self, int i) except -1:
        return (<TensorBase>self.inputs[i]).storage is not (<_Place>self.places[i]).storage

    cdef bint modified(self, int i) except -1:
        cdef TensorBase t = <TensorBase>self.inputs[i]
        cdef _Place place = <_Place>self.places[i]
        return t.layout is not place.layout or t.data != place.data or not untouched(
            place.storage, place.version, place.data, place.layout, DTYPES[t.dtype].itemsize)

    cdef int restore(self) except -1:
        """As if forward had not run: newest writes first."""
        cdef _Saved old
        cdef _Place place
        cdef TensorBase t
        cdef int i
        for one in reversed(self.saved):
            old = <_Saved>one
            copy_into(old.part, old.value)
            if old.part.storage.version.snapshots > old.snapshots:
                bump_all(old.part.storage, OP_PY_LAYER)               # somebody has kept what forward had written
            elif old.part.storage.version.current != old.version:
                undone(old.part.storage, old.version)
                old.part.storage.version.whole = old.whole
        self.saved = []
        for i in range(len(self.inputs)):
            t = <TensorBase>self.inputs[i]
            place = <_Place>self.places[i]
            t.storage = place.storage
            t.layout = place.layout
            t.data = place.data
        return 0

    cdef int release(self) except -1:
        for place in self.places:
            drop_snapshot((<_Place>place).storage, (<_Place>place).version)
        self.places = []
        self.saved = []
        return 0


# ---- a function that will run twice ------------------------------------------------------------------------------------------------------

@cython.final
cdef class OldMemoryGuard(Guard):
    """Refuses writes to memory that was there before the guard: a function that is run again would write to it again."""
    cdef uint64_t since
    cdef str refusal

    def __init__(self, str refusal not None):
        self.refusal = refusal

    def __enter__(self):
        self.since = start_births()
        self.enter()
        return self

    def __exit__(self, *exc_info):
        self.leave()
        stop_births()

    cdef int before(self, TensorBase target) except -1:
        if not born_since(target.storage, self.since):
            permission_denied(f"{self.refusal}: a tensor ({target._name}) of shape {shape_text(target.layout)} that was there before")
        return 0
