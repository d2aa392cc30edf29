"""Tensors made of arrays, by copy or over the array's own memory, and of one number."""
import numpy as np

cimport numpy as cnp

from eager_core.dtypes cimport EAGER_MAX_NDIM, code_of_numpy
from eager_core.errors cimport invalid_argument
from eager_core.gradient_flag cimport set_stop_gradient
from eager_core.layout cimport MAX_ELEMENTS, contiguous_layout
from eager_core.lending cimport borrow_array
from eager_core.masked import refuse_masked
from eager_core.tensor cimport TensorBase, copy_of_array, empty_tensor
from eager_core.tracer cimport fill_with


def tensor_from_array(array, stop_gradient=True, str name=""):
    """Copy a NumPy array of a supported dtype into a new leaf tensor."""
    cdef TensorBase made
    if type(array) is not cnp.ndarray:
        refuse_masked(array, "tensor_from_array(): argument 'array'")
    made = copy_of_array(np.asarray(array))
    made._name = name
    set_stop_gradient(made, stop_gradient)
    return made


def tensor_over_array(array, str caller not None):
    """Make a constant over the memory of a NumPy array, which its owner may go on writing to: what operators save of it are copies."""
    return borrow_array(array, caller)


cdef TensorBase _of_shape(tuple lengths, int dtype):
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t count = 1
    cdef int i, ndim = <int>min(len(lengths), EAGER_MAX_NDIM + 1)
    if ndim > EAGER_MAX_NDIM:
        invalid_argument(f"a tensor has at most {EAGER_MAX_NDIM} axes, but the shape has {len(lengths)}")
    for i in range(ndim):
        # A length of zero hides no length that nothing could count: views and gradients divide and multiply them.
        if lengths[i] > MAX_ELEMENTS // count:
            invalid_argument(f"a tensor of shape {list(lengths)} has more elements than any memory can hold")
        dims[i] = lengths[i]
        count *= max(dims[i], 1)
    return empty_tensor(contiguous_layout(ndim, dims), dtype)


def uninitialized_tensor(tuple lengths not None, dtype):
    """Make a constant of arbitrary content. The lengths are not negative, the dtype is a supported numpy.dtype."""
    return _of_shape(lengths, code_of_numpy(dtype))


def filled_tensor(tuple lengths not None, cnp.ndarray number not None):
    """Make a constant filled with the number in a 0-d array, whose dtype it takes: a supported one. The lengths are not negative."""
    cdef int dtype = code_of_numpy(number.dtype)
    cdef TensorBase made = _of_shape(lengths, dtype)
    fill_with(made, <char *>cnp.PyArray_DATA(number), dtype)
    return made
