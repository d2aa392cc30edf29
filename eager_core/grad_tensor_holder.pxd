from cpython.object cimport PyObject

from eager_core.grad_node cimport GradNode
from eager_core.layout cimport Layout
from eager_core.tensor cimport TensorBase

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
cdef TensorBase real_part(TensorBase g)
