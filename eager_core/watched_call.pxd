# An operator's call, or a node's backward, while somebody looks (profiling.watched).
from libc.stdint cimport uint64_t

from eager_core.grad_node cimport GradNode
from eager_core.op cimport OpCall
from eager_core.profiling cimport Span
from eager_core.tensor cimport TensorBase

cdef struct CallNotes:
    Span span
    uint64_t version                 # of the target before the write; for the log
    long long began                  # the advisor's clock
    void *savers                     # owned list or NULL: who will miss what is about to be overwritten

cdef int begin_watched(OpCall *c, CallNotes *notes) except -1
cdef int end_watched(OpCall *c, CallNotes *notes, bint failed) except -1
cdef int begin_node(GradNode node, Span *span) except -1
cdef void end_node(GradNode node, Span *span, object name, bint failed) noexcept
cdef int note_tensor(TensorBase t) except -1     # somebody reads it, or wants to be told of its gradient
