# Parts of backward functions that the generated formulas use, and backward functions written by hand.
from cpython.object cimport PyObject

from eager_core.grad_node cimport OperatorNode
from eager_core.tensor cimport TensorBase

cdef int give(PyObject **results, int edge, TensorBase g) except -1
cdef TensorBase conj(TensorBase t)                           # t itself unless it is complex
cdef TensorBase saved_operand(OperatorNode node, int k)       # a saved tensor, or the Python number that stood in its place
cdef TensorBase with_operand(int op, TensorBase left, OperatorNode node, int k, int spare)   # left op conj(operand k)
# saved value k (first or second, conjugate or not) with another operand
cdef TensorBase with_saved(int op, OperatorNode node, int k, bint first, bint conjugate, TensorBase other, int spare)
cdef TensorBase gradient_of(OperatorNode node, PyObject **grads, int slot)       # zeros where none arrived
cdef tuple shape_of(OperatorNode node, int k)
cdef object object_of(OperatorNode node, int k)                  # attribute k, where it is a Python object

cdef int sum_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1
cdef int mean_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1
cdef int pow_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1
cdef int gelu_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1
cdef int matmul_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1
cdef int inverse_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1
cdef int solve_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1
cdef int pick_in_rows_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1
cdef int concat_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1
cdef int stack_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1
