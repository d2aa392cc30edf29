# What the Tensor class needs of the ways into an operator.
from cpython.object cimport PyTypeObject

cdef extern from "Python.h":
    void PyType_Modified(PyTypeObject *tp)

cdef int add_methods(PyTypeObject *cls) except -1                         # the operators' methods, into the class
cdef object binary(int op, object left, object right, bint inplace)       # left op right; NotImplemented if an operand is none
cdef object matrix_product(object left, object right)
