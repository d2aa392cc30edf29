"""The steps of an in-place call that keep what it destroys (allow_mutation_on_saved_tensors) and note its line (detect_anomaly)."""
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

from eager_core.dtypes cimport DTYPES
from eager_core.modes cimport modes_on, watch_on
from eager_core.provenance cimport note_write
from eager_core.saved_hooks cimport hooks_in_use, packs_here
from eager_core.storage cimport bump_region
from eager_core.write_log cimport OldBytes, before_write, count_harmless, count_logged, destroys, logs_writes


cdef inline TensorBase _written(OpCall *c):
    return <TensorBase>(c.written if c.written != NULL else c.x[0])


cdef int put_by(OpCall *c) except -1:
    cdef TensorBase part = _written(c)
    old = None
    if logs_writes(part.storage):
        old = before_write(part.storage, part.data, part.layout, DTYPES[part.dtype].itemsize)
    Py_INCREF(old)
    c.old_bytes = <PyObject *>old
    return 0


cdef bint will_be_put_by(OpCall *c) except -1:
    """A value kept once is kept often enough. But a pack hook wants to see the value itself."""
    cdef TensorBase part
    if not modes_on and (<TensorBase>c.x[0]).storage.log is None:
        return False
    part = _written(c)
    return destroys(part.storage, part.data, part.layout, DTYPES[part.dtype].itemsize) and not (hooks_in_use and packs_here())


cdef int count_watched_write(OpCall *c, TensorBase part) except -1:
    if c.old_bytes != <PyObject *>None:
        count_logged(part.storage, <OldBytes>c.old_bytes, part.data, part.layout, DTYPES[part.dtype].itemsize, c.row.id)
    else:
        bump_region(part.storage, part.data, part.layout, DTYPES[part.dtype].itemsize, c.row.id)
    if watch_on:
        note_write(part, c.row.id)
    return 0


cdef int count_reshape(TensorBase target, int op) except -1:
    if target.storage.log is not None:
        count_harmless(target.storage, target.storage.version.current - 1)
    if watch_on:
        note_write(target, op)
    return 0
