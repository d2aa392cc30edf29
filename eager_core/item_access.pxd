# x[index] and x[index] = value.
from eager_core._generated.op_ids cimport OP_GETITEM, OP_PICK
from eager_core.dygraph cimport call_object
from eager_core.rules_index cimport basic_index, numpy_index
from eager_core.tensor cimport TensorBase

cdef inline object get_item(TensorBase x, object index):                  # inline: a call between extensions was 1 % of x[1]
    cdef object basic = basic_index(index)
    if basic is not None:
        return call_object(OP_GETITEM, x, None, basic)
    return call_object(OP_PICK, x, None, numpy_index(index))

cdef int set_item(TensorBase x, object index, object value) except -1
