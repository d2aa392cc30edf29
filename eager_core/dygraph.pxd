# The order of an eager operator, written once.
from cpython.object cimport PyObject

from eager_core.op cimport OpCall
from eager_core.tensor cimport TensorBase

cdef object dygraph_function(OpCall *c)          # output 0; runs the call and releases what it holds
cdef object dygraph_outputs(OpCall *c)           # output 0, or a tuple when there are several

# Operators by number, for gradient formulas and for the engine.
cdef TensorBase call_1(int op, TensorBase x)
cdef TensorBase call_2(int op, TensorBase x, TensorBase y)
cdef TensorBase call_3(int op, TensorBase x, TensorBase y, TensorBase z)
cdef TensorBase call_number(int op, TensorBase x, double number, bint number_first)
cdef TensorBase call_ints(int op, TensorBase x, TensorBase y, long long a, long long b)      # y may be None; attributes 0 and 1
cdef TensorBase call_object(int op, TensorBase x, TensorBase y, object attribute)            # y may be None; attribute 0
cdef TensorBase call_2_in_place(int op, TensorBase x, TensorBase y)
