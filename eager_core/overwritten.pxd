from cpython.object cimport PyObject

from eager_core.grad_node cimport GradNode

cdef object without_effect(GradNode node, PyObject **grads)           # True, a mask of the gradient's shape, or None: there is an effect
cdef int clear_where(object mask, int n_edges, PyObject *grad, PyObject **results) except -1
