# Arithmetic of a backward pass that records nothing: contiguous tensors of one dtype need no call struct, no rules and no history.
from cpython.object cimport PyObject

from eager_core.grad_node cimport OperatorNode
from eager_core.layout cimport Layout
from eager_core.op cimport OpRow
from eager_core.tensor cimport TensorBase

# The result, or None where the operator has to go the whole way. `spare`: how many references the caller holds to an operand that it does
# not need any more, 0 if it does; an operand that nobody else can see is overwritten with the result.
cdef TensorBase unrecorded_1(OpRow *row, TensorBase x, int spare)
cdef TensorBase unrecorded_2(OpRow *row, TensorBase x, TensorBase y, int spare_x, int spare_y)
# Saved value k, and another.
cdef TensorBase unrecorded_saved(OpRow *row, OperatorNode node, int k, bint first, TensorBase other, int spare)
cdef TensorBase unrecorded_number(OpRow *row, TensorBase x, double number, bint number_first, int spare)

# t += addend for contiguous tensors of one shape and dtype; else False. The caller knows that they share no memory.
cdef bint add_same(TensorBase t, TensorBase addend) noexcept
# Regions of t's memory; a piece has the region's shape and t's dtype.
cdef int fill_region(TensorBase t, Layout region, char *data, double value) except -1
cdef int add_into_region(TensorBase t, Layout region, char *data, TensorBase piece) except -1
cdef TensorBase copy_of_region(TensorBase t, Layout region, char *data)
