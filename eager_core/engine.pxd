# The backward engine. Formulas are registered by the layer above, which may call operators.
from cpython.object cimport PyObject

from eager_core.grad_node cimport OperatorNode
from eager_core.tensor cimport TensorBase

# grads: one per output of the node, NULL where none arrived. results: one owned reference per edge, NULL for no gradient.
ctypedef int (*backward_fn)(OperatorNode node, PyObject **grads, PyObject **results) except -1
cdef int backward_of(TensorBase t, object seed, bint retain_graph, bint create_graph) except -1       # Tensor.backward
cdef int register_backward(int op, backward_fn backward) except -1
