# History of a tensor: its edge, the leaf check, what a write does to it, views included.
from eager_core.grad_node cimport AccumulationNode, GradNode
from eager_core.layout cimport Layout
from eager_core.op cimport OpCall, OpRow
from eager_core.tensor cimport TensorBase

cdef bint compute_require_grad(OpCall *c) noexcept
cdef int check_inplace(TensorBase target, bint require_any_grad) except -1
cdef GradNode gradient_edge(TensorBase t)                        # where t's gradient goes (slot: t.slot); None for a constant
cdef AccumulationNode leaf_node(TensorBase t)
cdef bint is_leaf(TensorBase t) noexcept
cdef TensorBase root_of(TensorBase t)
cdef GradNode view_node(OpRow *row, TensorBase view, GradNode source, int slot, Layout region, Py_ssize_t offset)
cdef int make_view(OpCall *c, TensorBase view, TensorBase source) except -1
cdef void replace_history(TensorBase root, GradNode node)
cdef Layout region_in_root(TensorBase part, TensorBase root, Py_ssize_t *offset)
cdef int record_region_write(TensorBase root, Layout region, Py_ssize_t offset, GradNode value, int value_slot,
                             GradNode before, int before_slot) except -1
cdef int record_write(TensorBase target, GradNode node, GradNode before, int before_slot) except -1
cdef void forget_history(TensorBase target) noexcept
cdef int retain_on(TensorBase t) except -1
cdef void move_capture(AccumulationNode cell, GradNode before, GradNode after, int slot)
cdef void drop_capture(TensorBase t)
