from eager_core.op cimport OpCall

cdef int rule_array(OpCall *c) except -1                 # the operator's Python function, run at once
