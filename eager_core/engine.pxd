# The backward engine. Formulas are registered by the layer above, which may call operators.
from cpython.object cimport PyObject

from eager_core.grad_node cimport GradNode

# grads: one per output of the node, NULL where none arrived. results: one owned reference per edge, NULL for no gradient.
ctypedef int (*backward_fn)(GradNode node, PyObject **grads, PyObject **results) except -1
cdef int register_backward(int op, backward_fn backward) except -1
