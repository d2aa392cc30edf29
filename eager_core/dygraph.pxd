# The order of an eager operator, written once.
from cpython.object cimport PyObject

from eager_core.op cimport OpCall
from eager_core.tensor cimport TensorBase

cdef int run_call(OpCall *c) except -1           # the caller releases the call, in a finally: unlike except, that costs nothing
cdef object outputs_of(OpCall *c)                # output 0, or a tuple when there are several
cdef object dygraph_function(OpCall *c)          # run_call, output 0, release_call

# Operators by number, for gradient formulas and for the engine.
cdef TensorBase call_1(int op, TensorBase x)
cdef TensorBase call_2(int op, TensorBase x, TensorBase y)
cdef TensorBase call_3(int op, TensorBase x, TensorBase y, TensorBase z)
cdef TensorBase call_number(int op, TensorBase x, double number, bint number_first)
cdef TensorBase call_ints(int op, TensorBase x, TensorBase y, long long a, long long b)      # y may be None; attributes 0 and 1
cdef TensorBase call_object(int op, TensorBase x, TensorBase y, object attribute)            # y may be None; attribute 0
cdef TensorBase call_2_in_place(int op, TensorBase x, TensorBase y)
# The same for operands that the caller has no more use for: `spare` is the number of references it holds to one, or 0. What nobody else
# can see is overwritten with the result when nothing is recorded.
cdef TensorBase reuse_1(int op, TensorBase x, int spare)
cdef TensorBase reuse_2(int op, TensorBase x, TensorBase y, int spare_x, int spare_y)
cdef TensorBase reuse_number(int op, TensorBase x, double number, bint number_first, int spare)
