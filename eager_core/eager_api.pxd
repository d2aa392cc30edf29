from eager_core.tensor cimport TensorBase

cdef class Tensor(TensorBase):
    """The public tensor: the struct of TensorBase with operators and methods. It must not add a C field (see tensor.pyx)."""
