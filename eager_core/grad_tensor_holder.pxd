# GradTensorHolder: what has arrived for one output of a node, and the work on gradients as tensors.
from cpython.object cimport PyObject
from cpython.ref cimport Py_CLEAR, Py_INCREF, Py_XDECREF

from eager_core.grad_node cimport GradNode
from eager_core.layout cimport Layout
from eager_core.tensor cimport TensorBase

# A gradient that is zero outside one region stays as small as that region: a time stepper that writes u[t + 1] and reads u[t] never needs
# one of u's size. Several regions wait in a list until the node runs.
cdef struct GradTensorHolder:
    PyObject *dense              # owned Tensor or NULL
    PyObject *region             # owned Layout or NULL: `dense` is for that region, the rest is zero
    Py_ssize_t offset            # of the region, in elements
    PyObject *pieces             # owned or NULL: a list of (Tensor, Layout, offset)
    bint zeros                   # zeros have arrived; they are made only if nothing else does, and somebody looks

cdef inline void replace(PyObject **place, object new) noexcept:
    cdef PyObject *old = place[0]
    Py_INCREF(new)
    place[0] = <PyObject *>new
    Py_XDECREF(old)

cdef inline bint in_pieces(GradTensorHolder *held) noexcept:
    """Whether regions have arrived and nothing of the whole's size."""
    return held.region != NULL or (held.dense == NULL and held.pieces != NULL)

cdef inline bint only_zeros(GradTensorHolder *held) noexcept:
    return held.zeros and held.dense == NULL and held.pieces == NULL

cdef inline void let_go(GradTensorHolder *held) noexcept:
    Py_CLEAR(held.dense)
    Py_CLEAR(held.region)
    Py_CLEAR(held.pieces)

cdef inline int hold(GradTensorHolder *held, TensorBase g) except -1:
    """A gradient for the whole."""
    if held.region != NULL:
        list_region(held)
    if held.dense != NULL:
        return add_to_dense(held, g)
    Py_INCREF(g)
    held.dense = <PyObject *>g
    return 0

cdef int hold_region(GradTensorHolder *held, TensorBase g, Layout region, Py_ssize_t offset) except -1      # never the whole's size
cdef int add_to_dense(GradTensorHolder *held, TensorBase g) except -1
cdef int list_region(GradTensorHolder *held) except -1                               # the one region becomes one of several
cdef int settle(GradTensorHolder *held, GradNode node, int slot) except -1           # all that has arrived becomes one dense gradient

cdef inline bint exclusive(PyObject *t) noexcept:
    """Nobody else can see this tensor or its memory: it may be changed instead of copied."""
    return (t.ob_refcnt == 1 and (<PyObject *>(<TensorBase>t).storage).ob_refcnt == 1 and (<TensorBase>t).root is None
            and (<TensorBase>t).storage.version.outsiders == 0)

cdef TensorBase zeros(Layout layout, int dtype)
cdef TensorBase ones(Layout layout, int dtype)
cdef TensorBase region_view(TensorBase g, Layout region, Py_ssize_t offset)           # region and offset in elements, g in C order
cdef TensorBase copy_region(TensorBase g, Layout region, Py_ssize_t offset)
cdef int zero_region(TensorBase g, Layout region, Py_ssize_t offset) except -1
cdef int add_region(TensorBase g, Layout region, Py_ssize_t offset, TensorBase piece) except -1
cdef TensorBase fit(TensorBase g, GradNode source, GradNode target, int slot)        # shape and dtype of the target's output
cdef TensorBase in_shape(TensorBase g, Layout layout)                                # the same elements in the same order
cdef TensorBase real_part(TensorBase g)
