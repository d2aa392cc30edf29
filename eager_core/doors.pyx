"""The ways into an operator: method, functional name, entry point, operator of the language. They differ in how arguments come in."""
import numpy as np
from cpython.object cimport PyObject, PyTypeObject

from eager_core import array_kernels, gradient_helpers
from eager_core._generated import names as generated_names

from eager_core._generated.op_ids cimport *
from eager_core.dtypes cimport numpy_dtype
from eager_core.dygraph cimport call_ints, call_object, dygraph_function, outputs_of, run_call
from eager_core.kernel_tables cimport register_ufuncs
from eager_core.layout cimport Layout, shape_list
from eager_core.op cimport FAMILY_VIEW, OpCall, begin_call, eager_op_row, op_row, register_rows, release_call
from eager_core.parser cimport constant_of, parse, parse_entry, put_operand
from eager_core.tensor cimport TensorBase, copy_of_array, is_tensor

# The rules register themselves when their modules are imported.
from eager_core import rules_index  # no-cython-lint
from eager_core._generated import gradients  # no-cython-lint
from eager_core import rules_array, rules_elementwise, rules_linalg, rules_matmul, rules_pick, rules_reduction, rules_view  # no-cython-lint

cdef extern from *:
    """
    typedef PyObject *(*eager_door)(int op, int inplace, PyObject *self, PyObject **args, Py_ssize_t n, PyObject *names);
    static eager_door eager_method, eager_function, eager_entry;
    """
    ctypedef object (*eager_door)(int op, int inplace, PyObject *self, PyObject **args, Py_ssize_t n, PyObject *names)
    eager_door eager_method
    eager_door eager_function
    eager_door eager_entry

cdef extern from "_generated/op_rows.h":
    const eager_op_row *eager_op_rows

cdef extern from "Python.h":
    ctypedef struct PyMethodDef:
        const char *ml_name
    object PyCFunction_NewEx(PyMethodDef *definition, PyObject *self, object module)
    object PyDescr_NewMethod(PyTypeObject *tp, PyMethodDef *definition)
    void PyType_Modified(PyTypeObject *tp)

cdef extern from "_generated/op_doors.h":
    PyMethodDef *eager_method_defs
    PyMethodDef *eager_function_defs
    PyMethodDef *eager_internal_defs
    PyMethodDef *eager_entry_defs

register_rows(eager_op_rows, N_OPS)
register_ufuncs(generated_names.UFUNCS)
rules_array.register_array_functions(generated_names.ARRAY_FUNCTIONS, array_kernels.find)


# ---- the three doors of an operator ----------------------------------------------------------------------------------------------------

cdef object call_method(int op, int inplace, PyObject *self, PyObject **args, Py_ssize_t n, PyObject *names):
    """x.op(...): the public signature without its first parameter."""
    cdef OpCall c
    if n < 0:
        # CPython 3.11's specialised call of Tensor.exp(), without the tensor, passes -1 arguments and no self.
        raise TypeError(f"{op_row(op).name.decode()}() is a method and needs a tensor to be called on")
    begin_call(&c, op_row(op), inplace)
    try:
        if n == 0 and names == NULL and c.row.n_tensors == 1 and c.row.n_attrs == 0:
            c.x[0] = self
        else:
            parse(&c, self, args, n, names)
        run_call(&c)
        return outputs_of(&c)
    finally:
        release_call(&c)


cdef object call_function(int op, int inplace, PyObject *self, PyObject **args, Py_ssize_t n, PyObject *names):
    """op(x, ...)"""
    cdef OpCall c
    begin_call(&c, op_row(op), inplace)
    try:
        parse(&c, NULL, args, n, names)
        run_call(&c)
        return outputs_of(&c)
    finally:
        release_call(&c)


cdef object call_entry(int op, int inplace, PyObject *self, PyObject **args, Py_ssize_t n, PyObject *names):
    """eager_api_op(x, "attribute", value, ...): ToPyObject gives all results, XShape of the reference's shape operators included."""
    cdef OpCall c
    cdef Layout before = None
    begin_call(&c, op_row(op), inplace)
    try:
        parse_entry(&c, args, n, names)
        if c.row.n_results > 1:
            before = (<TensorBase>c.x[0]).layout
        run_call(&c)
        answer = outputs_of(&c)
    finally:
        release_call(&c)
    if c.row.family == FAMILY_VIEW and before is not None:
        return answer, _x_shape(before, (<TensorBase>answer).dtype)
    return answer


cdef TensorBase _x_shape(Layout before, int dtype):
    """XShape: no elements, the input's shape behind a leading 0."""
    return copy_of_array(np.empty([0] + shape_list(before)[:8], dtype=numpy_dtype(dtype)))


eager_method = call_method
eager_function = call_function
eager_entry = call_entry


# ---- operators of the language ---------------------------------------------------------------------------------------------------------

cdef object binary(int op, object left, object right, bint inplace):
    """NotImplemented lets Python ask the other side, and then raise its TypeError."""
    cdef OpCall c
    begin_call(&c, op_row(op), inplace)
    try:
        if not put_operand(&c, 0, left) or not put_operand(&c, 1, right):
            return NotImplemented
        run_call(&c)
        return <object>c.out
    finally:
        release_call(&c)


cdef object matrix_product(object left, object right):
    if not is_tensor(left):
        left = constant_of(left, "matmul(): argument 'x'") if isinstance(left, np.ndarray) else None
    if not is_tensor(right):
        right = constant_of(right, "matmul(): argument 'y'") if isinstance(right, np.ndarray) else None
    if left is None or right is None:
        return NotImplemented
    return call_matmul(<TensorBase>left, <TensorBase>right)


cdef TensorBase call_matmul(TensorBase left, TensorBase right):
    return call_ints(OP_MATMUL, left, right, 0, 0)


# ---- registration ----------------------------------------------------------------------------------------------------------------------

FUNCTIONS = {}
ENTRY_POINTS = {}


cdef int add_methods(PyTypeObject *cls) except -1:
    """The methods into the class; what it has of its own stays."""
    cdef PyMethodDef *definition = eager_method_defs
    cdef dict members = <dict>cls.tp_dict
    while definition.ml_name != NULL:
        name = definition.ml_name.decode()
        if name not in members:
            members[name] = PyDescr_NewMethod(cls, definition)
        definition += 1
    PyType_Modified(cls)
    return 0


cdef int _fill_tables() except -1:
    cdef PyMethodDef *definition = eager_function_defs
    while definition.ml_name != NULL:
        FUNCTIONS[definition.ml_name.decode()] = PyCFunction_NewEx(definition, NULL, "python_api")
        definition += 1
    definition = eager_internal_defs
    while definition.ml_name != NULL:
        gradient_helpers.OPS[definition.ml_name.decode()] = PyCFunction_NewEx(definition, NULL, "eager_core")
        definition += 1
    definition = eager_entry_defs
    while definition.ml_name != NULL:
        ENTRY_POINTS[definition.ml_name.decode()] = PyCFunction_NewEx(definition, NULL, "eager_core")
        definition += 1
    return 0


_fill_tables()


def _constant(array):
    return copy_of_array(np.asarray(array))


def _pick(x, index):
    return call_object(OP_PICK, x, None, index)


def _scatter_sum(TensorBase x not None, index, shape):
    cdef OpCall c
    begin_call(&c, op_row(OP_SCATTER_SUM), False)
    c.x[0] = <PyObject *>x
    c.attrs[0].o = <PyObject *>index
    c.attrs[1].o = <PyObject *>shape
    return dygraph_function(&c)


gradient_helpers.OPS.update(FUNCTIONS, constant=_constant, pick=_pick, scatter_sum=_scatter_sum)


def core_ops_info():
    """(args, arg types, returns) of every entry point, by name: fresh dicts."""
    cdef const eager_op_row *row
    cdef int k, i
    args, types, returns = {}, {}, {}
    for k in range(N_OPS):
        row = op_row(k)
        lowlevel = row.lowlevel.decode()
        for name in (lowlevel, lowlevel + "_"):
            if "eager_api_" + name not in ENTRY_POINTS:
                continue
            args[name] = [row.input_names[i].decode() for i in range(row.n_inputs)]
            types[name] = ["list" if row.n_tensors < 0 and i == 0 else "tensor" for i in range(row.n_inputs)]
            returns[name] = [row.result_names[i].decode() for i in range(row.n_results)]
    return args, types, returns
