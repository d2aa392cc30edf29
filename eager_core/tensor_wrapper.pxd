from libc.stdint cimport uint64_t

from eager_core.grad_node cimport GradNode, OperatorNode
from eager_core.layout cimport Layout
from eager_core.storage cimport Storage
from eager_core.tensor cimport TensorBase

cdef enum:
    OUTPUT = 16              # SavedTensor.source: 16 + k is output k, below are inputs

cdef int save_tensor(OperatorNode node, int k, TensorBase t, int source) except -1
cdef int save_meta(OperatorNode node, int k, TensorBase t, int source) except -1
cdef TensorBase value_of(OperatorNode node, int k)         # checks the version; raises the version error
cdef void give_history(TensorBase made, GradNode history, int slot) noexcept
cdef TensorBase recover(OperatorNode node, int k)          # the same, and with its history under create_graph
# A value that has been written to since that version, from the log of its memory; None if there is no log that knows.
cdef TensorBase old_tensor(Storage storage, uint64_t version, Layout layout, char *data, int dtype)
