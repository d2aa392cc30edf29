# saved_tensors_hooks: values kept for backward in a form that the user chooses (S12.1 to S12.3).
from libc.stdint cimport uint64_t

from eager_core.grad_node cimport OperatorNode
from eager_core.tensor cimport TensorBase

cdef int hooks_in_use                            # blocks entered and not left, by all threads: with none, no call asks further

cdef class Packed:
    """What pack returned, in the place of one saved tensor; it lives in its node, where the garbage collector sees it."""
    cdef object content
    cdef object unpack
    # Memory that the content may lead back to, by number (Storage.version.serial), and its version when it was packed.
    cdef uint64_t saved_serial, saved_version    # what was given to pack
    cdef uint64_t content_serial, content_version     # what came out of it, if that was a tensor

cdef bint packs_here() except -1                 # whether this thread is inside such a block
cdef int pack_saved(OperatorNode node) except -1     # all that the node has saved; on an exception nothing has changed
cdef TensorBase unpacked(OperatorNode node, int k, str role)
