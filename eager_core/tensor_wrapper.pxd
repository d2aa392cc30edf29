from libc.stdint cimport uint64_t

from eager_core.grad_node cimport GradNode
from eager_core.tensor cimport TensorBase

cdef enum:
    OUTPUT = 16              # SavedTensor.source: 16 + k is output k, below are inputs

cdef int save_tensor(GradNode node, int k, TensorBase t, int source) except -1
cdef int save_meta(GradNode node, int k, TensorBase t, int source) except -1
cdef TensorBase value_of(GradNode node, int k)         # checks the version; raises the version error
cdef void give_history(TensorBase made, GradNode history, int slot) noexcept
cdef TensorBase recover(GradNode node, int k)          # the same, and with its history under create_graph
