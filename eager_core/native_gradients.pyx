"""Backward functions that a one-line formula cannot say, written with differentiable operators like all others."""
import numpy as np
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

from eager_core.gradient_helpers import core as helpers
from eager_core.gradient_helpers import linalg as linalg_helpers
from eager_core._generated.op_ids cimport (
    OP_CONJ, OP_GELU_GRAD, OP_GELU_TANH_GRAD, OP_GETITEM, OP_MATMUL, OP_MULTIPLY, OP_NEG, OP_POW, OP_PUT_IN_ROWS, OP_SOLVE,
    OP_SQUARE_GRAD, OP_UNREDUCE,
)
from eager_core.dtypes cimport EAGER_COMPLEX64, EAGER_FLOAT32, EAGER_FLOAT64, numpy_dtype
from eager_core.dygraph cimport call_1, call_2, call_ints, call_number, call_object, dygraph_function, reuse_1, reuse_2, reuse_number
from eager_core.grad_mode cimport grad_enabled
from eager_core.layout cimport Layout, SCALAR_LAYOUT, shape_list, strided_layout
from eager_core.op cimport OpCall, begin_call, op_row
from eager_core.tensor cimport adopt_array, alias, number_tensor
from eager_core.tensor_wrapper cimport recover
from eager_core.unrecorded cimport unrecorded_saved


cdef int give(PyObject **results, int edge, TensorBase g) except -1:
    Py_INCREF(g)
    results[edge] = <PyObject *>g
    return 0


cdef TensorBase conj(TensorBase t):
    return t if t.dtype < EAGER_COMPLEX64 else call_1(OP_CONJ, t)


cdef TensorBase saved_operand(OperatorNode node, int k):
    """An operand as it was; a Python number as a 0-d constant. Not by way of NumPy: that would cost more than the gradient itself."""
    if node.saved[k].layout != NULL:
        return recover(node, k)
    return number_tensor(node.attrs[0].f, node.attrs[1].f, SCALAR_LAYOUT,
                         node.out_dtype if node.out_dtype >= EAGER_FLOAT32 else EAGER_FLOAT64)


cdef TensorBase with_operand(int op, TensorBase left, OperatorNode node, int k, int spare):
    if node.saved[k].layout == NULL and left.dtype < EAGER_COMPLEX64 and node.attrs[1].f == 0.0:
        return reuse_number(op, left, node.attrs[0].f, False, spare)
    return with_saved(op, node, k, False, True, left, spare)


cdef TensorBase with_saved(int op, OperatorNode node, int k, bint first, bint conjugate, TensorBase other, int spare):
    """An operator of two operands, one of which was saved; that becomes no tensor unless it must."""
    cdef TensorBase made
    if not grad_enabled():
        made = unrecorded_saved(op_row(op), node, k, first, other, spare)
        if made is not None:
            return made
    made = conj(saved_operand(node, k)) if conjugate else saved_operand(node, k)
    if first:
        return reuse_2(op, made, other, 0, spare)
    return reuse_2(op, other, made, spare, 0)


cdef TensorBase gradient_of(OperatorNode node, PyObject **grads, int slot):
    if grads[slot] != NULL:
        return <TensorBase>grads[slot]
    return adopt_array(np.zeros(shape_list(node.output_layout(slot)), numpy_dtype(node.output_dtype(slot))))


cdef tuple shape_of(OperatorNode node, int k):
    return tuple(shape_list(<Layout>node.saved[k].layout))


cdef object object_of(OperatorNode node, int k):
    return None if node.attr_objects is None else (<tuple>node.attr_objects)[k]


cdef TensorBase _unreduce(OperatorNode node, TensorBase g):
    """attrs of the reduction: axis comes first."""
    cdef OpCall c
    axis = object_of(node, 0)
    begin_call(&c, op_row(OP_UNREDUCE), False)
    c.inline_x[0] = <PyObject *>g
    c.attrs[0].o = node.saved[0].layout
    c.attrs[1].o = NULL if axis is None else <PyObject *>axis
    # Whether the axes were kept can be read off the gradient itself.
    c.attrs[2].i = g.layout.ndim == (<Layout>node.saved[0].layout).ndim
    return <TensorBase>dygraph_function(&c)


cdef int sum_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1:
    return give(results, 0, _unreduce(node, <TensorBase>grads[0]))


cdef int mean_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1:
    cdef TensorBase g = <TensorBase>grads[0]
    cdef Py_ssize_t repeated = (<Layout>node.saved[0].layout).numel
    if g.layout.numel:
        g = call_number(OP_MULTIPLY, g, <double>g.layout.numel / <double>repeated if repeated else 0.0, False)
    return give(results, 0, _unreduce(node, g))


cdef int pow_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1:
    """A number as exponent is the hot case: grad n x^(n-1)."""
    cdef TensorBase g = <TensorBase>grads[0], x, y
    cdef double n
    if node.next_0 is not None and node.saved[1].layout == NULL and node.attrs[1].f == 0.0:
        n = node.attrs[0].f
        x = conj(recover(node, 0))
        if n == 2.0:
            return give(results, 0, call_2(OP_SQUARE_GRAD, x, g))
        if n == 0.0:
            return give(results, 0, helpers.zeros_like(g))
        if n == 1.0:
            return give(results, 0, g)
        return give(results, 0, call_2(OP_MULTIPLY, g, call_number(OP_MULTIPLY, call_number(OP_POW, x, n - 1.0, False), n, False)))
    x = saved_operand(node, 0)
    y = saved_operand(node, 1)
    if node.next_0 is not None:
        give(results, 0, helpers.pow_grad_x(g, x, y))
    if node.next_1 is not None:
        give(results, 1, helpers.pow_grad_y(g, x, y, recover(node, 2)))
    return 0


cdef int gelu_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1:
    """attrs: whether it was the tanh form."""
    cdef int op = OP_GELU_TANH_GRAD if node.attrs[0].i else OP_GELU_GRAD
    return give(results, 0, with_saved(op, node, 0, True, False, <TensorBase>grads[0], 2))


cdef int matmul_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1:
    """attrs: transpose_x, transpose_y. A helper brings vectors into the form of matrices; the engine sums what was broadcast."""
    cdef TensorBase g = <TensorBase>grads[0], x = None, y = None
    cdef bint tx = node.attrs[0].i, ty = node.attrs[1].i
    cdef int x_ndim, y_ndim
    if node.next_0 is not None:
        y = conj(recover(node, 1))
    if node.next_1 is not None:
        x = conj(recover(node, 0))
    x_ndim = x.layout.ndim if x is not None else node.next_0.output_layout(node.slot_0).ndim
    y_ndim = y.layout.ndim if y is not None else node.next_1.output_layout(node.slot_1).ndim
    if x_ndim >= 2 and y_ndim >= 2:
        if y is not None:
            give(results, 0, call_ints(OP_MATMUL, y, g, ty, True) if tx else call_ints(OP_MATMUL, g, y, False, not ty))
        if x is not None:
            give(results, 1, call_ints(OP_MATMUL, g, x, True, tx) if ty else call_ints(OP_MATMUL, x, g, not tx, False))
        return 0
    if y is not None:
        give(results, 0, helpers.matmul_grad_x(g, y, x_ndim, tx, ty))
    if x is not None:
        give(results, 1, helpers.matmul_grad_y(g, x, y_ndim, tx, ty))
    return 0


cdef int inverse_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1:
    """-out^H grad out^H."""
    cdef TensorBase out = conj(recover(node, 0)), left
    left = call_ints(OP_MATMUL, out, <TensorBase>grads[0], True, False)
    return give(results, 0, call_ints(OP_MATMUL, reuse_1(OP_NEG, left, 1), out, False, True))


cdef TensorBase _transposed_constant(TensorBase t):
    """For a pass that records nothing: t^T over the same memory."""
    return alias(t, strided_layout(2, [t.layout.dims[1], t.layout.dims[0]], [t.layout.strides[1], t.layout.strides[0]]), t.data)


cdef TensorBase _one_column(TensorBase t):
    """The same of a vector, as a matrix of one column."""
    return alias(t, strided_layout(2, [t.layout.dims[0], 1], [t.layout.strides[0], 1]), t.data) if t.layout.ndim == 1 else t


cdef int solve_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1:
    """attrs: left. A matrix and a pass that records nothing are the hot case: grad_y = x^-H grad, grad_x = -grad_y out^H."""
    cdef TensorBase g = <TensorBase>grads[0], x = recover(node, 0), solution
    cdef Layout shape = <Layout>node.saved[2].layout
    if grad_enabled() or x.layout.ndim != 2 or shape.ndim > 2 or not node.attrs[0].i:
        if node.next_0 is not None:
            give(results, 0, linalg_helpers.solve_grad_x(g, x, shape_of(node, 2), recover(node, 1), node.attrs[0].i != 0))
        if node.next_1 is not None:
            give(results, 1, linalg_helpers.solve_grad_y(g, x, shape_of(node, 2), node.attrs[0].i != 0))
        return 0
    solution = call_ints(OP_SOLVE, _transposed_constant(conj(x)), g, True, 0)
    if node.next_0 is not None:
        x = call_ints(OP_MATMUL, _one_column(solution), _one_column(conj(recover(node, 1))), False, True)
        give(results, 0, reuse_1(OP_NEG, x, 1))
    if node.next_1 is not None:
        give(results, 1, solution)
    return 0


cdef int pick_in_rows_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1:
    cdef Layout layout = <Layout>node.saved[0].layout
    return give(results, 0, call_ints(OP_PUT_IN_ROWS, <TensorBase>grads[0], recover(node, 1), layout.dims[layout.ndim - 1], 0))


cdef int concat_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1:
    cdef TensorBase g = <TensorBase>grads[0]
    cdef int axis = node.attrs[0].i, k
    cdef Py_ssize_t at = 0, length
    if axis < 0:
        axis += g.layout.ndim
    shapes = object_of(node, 1)
    for k in range(node.n_edges):
        length = shapes[k][axis]
        if node.edge(k) is not None:
            index = (slice(None),) * axis + (slice(at, at + length),)
            give(results, k, call_object(OP_GETITEM, g, None, index))
        at += length
    return 0


cdef int stack_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1:
    cdef TensorBase g = <TensorBase>grads[0]
    cdef int axis = node.attrs[0].i, k
    if axis < 0:
        axis += g.layout.ndim
    for k in range(node.n_edges):
        if node.edge(k) is not None:
            give(results, k, call_object(OP_GETITEM, g, None, (slice(None),) * axis + (k,)))
    return 0
