# What an in-place call does when a mode is on, or its target has a log. A module of its own: inlined, these cost every call registers.
from eager_core.op cimport OpCall
from eager_core.tensor cimport TensorBase

cdef int put_by(OpCall *c) except -1                     # before the kernel: keep what it is about to destroy; sets old_bytes
cdef bint will_be_put_by(OpCall *c) except -1            # others have saved what is written: the log will have its old value
cdef int count_watched_write(OpCall *c, TensorBase part) except -1       # after it, if old_bytes is set
cdef int count_reshape(TensorBase target, int op) except -1              # after a write that moved no data
