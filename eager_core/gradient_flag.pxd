# The user's word on whether a tensor wants a gradient.
from eager_core.tensor cimport TensorBase

cdef int check_flag(object value, int dtype) except -1                    # a bool that tensors of this dtype can have
cdef int set_stop_gradient(TensorBase t, object value) except -1
cdef int set_requires_grad(TensorBase t, object value) except -1
