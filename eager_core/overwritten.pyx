"""Saved values that were overwritten where the gradient is zero (S5.14): what they were does not matter there.

`y = x.tanh(); y[0] = 0.0` overwrites what tanh saved, and takes the gradient of the same element away: nothing arrives there that the old
value could be multiplied with. All of this is off the path of a pass that finds its values intact.
"""
import numpy as np

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport uint32_t

from eager_core.dtypes cimport DTYPES
from eager_core.grad_node cimport GradNode, SavedTensor
from eager_core.layout cimport Layout, shape_list
from eager_core.op cimport FAMILY_BINARY, FAMILY_NODE, FAMILY_TERNARY, FAMILY_UNARY
from eager_core.storage cimport Storage, untouched
from eager_core.tensor cimport TensorBase, adopt_array, as_array


cdef object without_effect(GradNode node, PyObject **grads):
    cdef bint zero = True
    cdef int i, k, family = node.row.family
    if family == FAMILY_NODE:
        return None
    for i in range(node.n_outputs):
        if grads[i] != NULL and np.any(as_array(<TensorBase>grads[i], False)):
            zero = False
    if zero:
        return True                      # gradients are linear in what arrives
    # Element by element: only where each element of a result depends on one element of each operand.
    if family != FAMILY_UNARY and family != FAMILY_BINARY and family != FAMILY_TERNARY:
        return None
    g = as_array(<TensorBase>grads[0], False)
    mask = np.zeros(g.shape, bool)
    for k in range(node.n_saved):
        if node.saved[k].storage != NULL:
            mask |= _touched(&node.saved[k])
    return None if np.any(g[mask]) else mask


cdef object _touched(SavedTensor *kept):
    """Which elements of a saved value were written since: an array of its shape, or one answer for all of them."""
    cdef Storage storage = <Storage>kept.storage
    cdef Layout layout = <Layout>kept.layout
    cdef int axis, itemsize = DTYPES[kept.dtype].itemsize
    cdef Py_ssize_t granules = (storage.nbytes + storage.granule - 1) // storage.granule
    if untouched(storage, kept.version, kept.data, layout, itemsize):
        return False
    if storage.version.whole > kept.version or storage.version.stamps == NULL:
        return True
    limit = kept.version - storage.version.base if kept.version > storage.version.base else 0
    newer = np.asarray(<uint32_t[:granules]>storage.version.stamps) > limit
    at = np.full(shape_list(layout), kept.data - storage.data, np.intp)
    for axis in range(layout.ndim):
        steps = np.arange(layout.dims[axis]) * (layout.strides[axis] * itemsize)
        at += steps.reshape([-1] + [1] * (layout.ndim - 1 - axis))
    found = newer[at // storage.granule]
    for k in range(storage.granule, itemsize, storage.granule):
        found |= newer[(at + k) // storage.granule]
    return found


cdef int clear_where(object mask, int n_edges, PyObject *grad, PyObject **results) except -1:
    """Zeros for what a formula made of overwritten values; what it returns as it came is zero there already."""
    cdef TensorBase made
    cdef int i
    for i in range(n_edges):
        if results[i] == NULL or results[i] == grad:
            continue
        old = as_array(<TensorBase>results[i], False)
        if old.shape != mask.shape:
            raise ValueError("a gradient that was summed already")
        made = adopt_array(np.where(mask, old.dtype.type(0), old))
        Py_XDECREF(results[i])
        Py_INCREF(made)
        results[i] = <PyObject *>made
    return 0
