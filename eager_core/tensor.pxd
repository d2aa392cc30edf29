from cpython.object cimport PyTypeObject
from libc.stdint cimport int8_t, uint64_t

from eager_core.grad_node cimport AccumulationNode, GradNode
from eager_core.layout cimport Layout
from eager_core.storage cimport Storage

cdef enum Alias:
    HAS_LEAF = 1                 # a leaf that wants a gradient
    HAS_RESULT = 2               # a result of a custom function, or its input

cdef class TensorBase:
    """The tensor struct. The public class, with operators and methods, derives from it without adding a field."""
    cdef Storage storage
    cdef Layout layout
    cdef char *data              # first element; inside storage
    cdef int8_t dtype            # code of dtypes.pxd
    cdef str _name
    cdef object __weakref__
    # AutogradMeta: what the tensor knows of the graph. Part of the struct, so it costs no allocation of its own.
    cdef bint _stop_gradient     # of a view: only read when it is pinned
    cdef bint pinned             # a view that is a constant whatever its root is (set by the user, or made under no_grad)
    cdef bint made_under_no_grad  # a view of this kind refuses in-place operations in grad mode (S8.6)
    cdef bint retains            # retain_grads() was called
    cdef int has_alias           # HAS_LEAF, HAS_RESULT: a part of this root's memory has a history of its own, that knows of no write
    cdef int slot                # which output of grad_node
    cdef GradNode grad_node      # None: leaf, or a view whose node is not made yet
    cdef AccumulationNode accumulator    # of a leaf, or the cell of a retained gradient; holds .grad
    cdef TensorBase root         # None, or the tensor whose memory this one is a view of (never a view itself)
    cdef uint64_t generation     # root: how many histories it has had; view: the root's number when its node was made

# A view with a node of the root's present history has a gradient; else it follows its root (S8.4), unless it is pinned.
cdef inline bint wants_grad(TensorBase t) noexcept:
    if t.root is None:
        return not t._stop_gradient
    if t.pinned:
        return False
    return (t.grad_node is not None and t.generation == t.root.generation) or not t.root._stop_gradient

cdef void register_tensor_type(type public)
cdef PyTypeObject *public_type                  # the public class, once it is registered

cdef extern from "Python.h":
    bint PyObject_TypeCheck(object o, PyTypeObject *tp) noexcept

cdef inline bint is_tensor(object o) noexcept:
    return PyObject_TypeCheck(o, public_type)
cdef TensorBase new_tensor(Storage storage, Layout layout, char *data, int dtype)       # a constant leaf
cdef TensorBase empty_tensor(Layout layout, int dtype)                                  # contiguous, uninitialised
cdef TensorBase number_tensor(double real, double imaginary, Layout layout, int dtype)  # one element, floating point or complex
cdef TensorBase alias(TensorBase t, Layout layout, char *data)                          # same storage, not a differentiable view
cdef object as_array(TensorBase t, bint writable)                                       # NumPy array over the same memory
cdef object array_over(TensorBase t, bint writable, object owner)                        # the same; the owner keeps the storage
cdef TensorBase adopt_array(object array)                                               # tensor over a NumPy array's memory
cdef TensorBase copy_of_array(object array)
cdef TensorBase private_copy(TensorBase t)                                              # a constant
cdef str type_name(object o)
