# From Python arguments to a call: the public signature, and the entry points' flat attribute lists.
from cpython.object cimport PyObject

from eager_core.op cimport OpCall
from eager_core.tensor cimport TensorBase

cdef int parse(OpCall *c, PyObject *first, PyObject **args, Py_ssize_t n, PyObject *names) except -1
cdef int parse_entry(OpCall *c, PyObject **args, Py_ssize_t n, PyObject *names) except -1
cdef int put_operand(OpCall *c, int slot, object value) except -1        # 0: the value cannot be an operand
cdef TensorBase constant_of(object value, str what)                      # array, NumPy scalar or nested list; None if unsupported
