from eager_core.layout cimport Layout
from eager_core.op cimport Job, OpCall
from eager_core.tensor cimport TensorBase

cdef int trace_op(OpCall *c) except -1
cdef TensorBase contiguous_copy(TensorBase t, int dtype)               # new memory, no history
cdef int fill_region(TensorBase t, Layout region, char *data, double value) except -1         # of t's memory and dtype
cdef int fill(TensorBase t, double value) except -1                                           # contiguous
cdef bint add_same(TensorBase t, TensorBase addend) noexcept       # t += addend for contiguous tensors of one shape and dtype; else False
cdef int add_into_region(TensorBase t, Layout region, char *data, TensorBase addend) except -1  # of the region's shape and t's dtype
cdef int copy_into(TensorBase target, TensorBase source) except -1     # source broadcasts to target; no version, no history

# Plans: one operand after the other over the shape given first.
cdef void begin_plan(Job *job, Layout shape, int operands) noexcept
cdef void plan_tensor(Job *job, int k, TensorBase t) noexcept           # broadcast, right-aligned
cdef void plan_constant(Job *job, int k, char *data) noexcept
