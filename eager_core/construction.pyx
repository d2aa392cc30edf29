"""Tensors made of arrays: a copy, or the array's own memory."""
import numpy as np

from eager_core.gradient_flag cimport set_stop_gradient
from eager_core.lending cimport borrow_array
from eager_core.tensor cimport TensorBase, copy_of_array


def tensor_from_array(array, stop_gradient=True, str name=""):
    """Copy a NumPy array of a supported dtype into a new leaf tensor."""
    cdef TensorBase made = copy_of_array(np.asarray(array))
    made._name = name
    set_stop_gradient(made, stop_gradient)
    return made


def tensor_over_array(array, str caller not None):
    """Make a constant over the memory of a NumPy array, which its owner may go on writing to: what operators save of it are copies."""
    return borrow_array(array, caller)
