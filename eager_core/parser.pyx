"""Argument parsing, once for all operators, driven by the parameters of the operator's row."""
import numpy as np
from cpython.complex cimport PyComplex_ImagAsDouble, PyComplex_RealAsDouble
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.object cimport PyObject, PyTypeObject
from cpython.tuple cimport PyTuple_GET_SIZE

cimport numpy as cnp
from libc.string cimport strchr, strcmp

from eager_core.dtypes cimport code_of, numpy_dtype
from eager_core.errors cimport invalid_argument, invalid_type
from eager_core.grad_mode cimport grad_enabled
from eager_core.masked import refuse_masked
from eager_core.op cimport (
    FAMILY_TERNARY, PARAM_AXES, PARAM_BOOL, PARAM_DTYPE, PARAM_FLOAT, PARAM_IGNORED, PARAM_INT, PARAM_INTS, PARAM_NUMBER, PARAM_OBJECT,
    PARAM_OPERAND, PARAM_OPTIONAL, PARAM_STR, PARAM_TENSOR, PARAM_TENSORS, SCALAR_BOOL, SCALAR_COMPLEX, SCALAR_FLOAT, SCALAR_INT,
    eager_param, keep, op_name,
)
from eager_core.tensor cimport as_array, copy_of_array, is_tensor, public_type, type_name, wants_grad

cdef extern from "Python.h":
    PyTypeObject *Py_TYPE(object o) noexcept
    PyObject *PyTuple_GET_ITEM(PyObject *t, Py_ssize_t i) noexcept
    int PyUnicode_CompareWithASCIIString(object text, const char *name) noexcept
    PyObject **PySequence_Fast_ITEMS(object fast) noexcept
    long long PyLong_AsLongLongAndOverflow(object o, int *overflow) except? -1

cdef enum:
    MAX_PARAMS = 16


cdef TensorBase constant_of(object value, str what):
    """A constant tensor with the values of an array-like, or None. `what` names it where an array is refused for its type."""
    array = value if isinstance(value, (np.ndarray, np.generic)) else np.array(value)
    if array.dtype.kind not in "biufc":
        if isinstance(value, np.ndarray):
            invalid_type(f"{what} must be an array of numbers, but has dtype {array.dtype}")
        return None
    if type(value) is not cnp.ndarray:
        refuse_masked(value, what)
    return copy_of_array(np.asarray(array))


# ---- operands: tensors, numbers, arrays ------------------------------------------------------------------------------------------------

cdef int put_operand(OpCall *c, int slot, object value) except -1:
    """Python numbers stay C numbers; NumPy arrays and scalars, which have a dtype of their own, become constants."""
    cdef int overflow = 0
    # By exact type first, the frequent ones ahead: a look up the class hierarchy costs more than all of this.
    if Py_TYPE(value) == public_type:
        c.x[slot] = <PyObject *>value
        return 1
    if type(value) is float:
        c.scalar_kind = SCALAR_FLOAT
        c.scalar_real = PyFloat_AS_DOUBLE(value)
        c.scalar_imag = 0.0
    elif type(value) is bool:
        c.scalar_kind = SCALAR_BOOL
        c.scalar_int = value is True
        c.scalar_real = c.scalar_int
        c.scalar_imag = 0.0
    elif type(value) is int:
        c.scalar_kind = SCALAR_INT
        c.scalar_int = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow:
            c.scalar_real = float(value)
            c.scalar_big = keep(c, value)
        else:
            c.scalar_real = <double>c.scalar_int
        c.scalar_imag = 0.0
    elif type(value) is complex:
        c.scalar_kind = SCALAR_COMPLEX
        c.scalar_real = PyComplex_RealAsDouble(value)
        c.scalar_imag = PyComplex_ImagAsDouble(value)
    elif is_tensor(value):
        c.x[slot] = <PyObject *>value
        return 1
    elif isinstance(value, (np.ndarray, np.generic)):
        constant = constant_of(value, "" if _sound(value) else _operand(c, slot))
        if constant is None:
            return 0
        c.x[slot] = keep(c, constant)
        return 1
    else:
        return 0
    if c.scalar_at >= 0 or c.row.family == FAMILY_TERNARY:
        # Room for one number only: this operator resolves numbers when it knows the other operands.
        c.attrs[3 + slot].o = keep(c, value)
        return 1
    c.scalar_at = slot
    return 1


cdef bint _sound(object value) noexcept:
    """Whether `constant_of` will need no name for it: to make one costs as much as to copy a small array."""
    if type(value) is cnp.ndarray:
        return strchr("biufc", (<cnp.ndarray>value).descr.kind) != NULL
    return not isinstance(value, cnp.ndarray)


cdef str _operand(OpCall *c, int slot):
    cdef int i
    for i in range(c.row.n_params):
        if c.row.params[i].kind == PARAM_OPERAND and c.row.params[i].slot == slot:
            return f"{op_name(c)}(): {_where(c.row.params[i].name, i)}"
    return f"{op_name(c)}(): the value"


cdef int _resolve_ternary(OpCall *c) except -1:
    """where(condition, x, 0.0): a number takes the other side's dtype if its kind allows it."""
    cdef int slot, dtype
    for slot in range(1, 3):
        if c.x[slot] != NULL:
            continue
        value = <object>c.attrs[3 + slot].o
        sample = np.asarray(value)
        if c.x[3 - slot] != NULL:
            dtype = (<TensorBase>c.x[3 - slot]).dtype
            sample = np.asarray(value, dtype=np.result_type(numpy_dtype(dtype), value))
        c.x[slot] = keep(c, copy_of_array(sample))
    return 0


# ---- attributes ------------------------------------------------------------------------------------------------------------------------

cdef object _number_of(object value):
    """A NumPy scalar or a 1-element tensor as a Python number; anything else unchanged (S1.7)."""
    if isinstance(value, np.generic):
        return value.item()
    if is_tensor(value) and (<TensorBase>value).layout.numel == 1:
        return as_array(<TensorBase>value, False).item()
    return value


cdef object _ints_of(object value, Py_ssize_t *bad):
    """A tuple of ints, an int, or None with the place of the first element that is none."""
    if is_tensor(value) or isinstance(value, np.ndarray):
        array = as_array(<TensorBase>value, False) if is_tensor(value) else value
        if array.dtype.kind not in "iu" or array.ndim > 1:
            return None
        return tuple([int(i) for i in array]) if array.ndim else int(array)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    if not isinstance(value, (list, tuple)):
        return None
    found = []
    for item in value:
        item = _number_of(item)
        if type(item) is not int:
            bad[0] = len(found)
            return None
        found.append(item)
    return tuple(found)


cdef str _kind_word(int kind):
    if kind == PARAM_FLOAT or kind == PARAM_NUMBER:
        return "double"
    if kind == PARAM_INT:
        return "int"
    if kind == PARAM_BOOL:
        return "bool"
    if kind == PARAM_STR:
        return "str"
    if kind == PARAM_INTS or kind == PARAM_AXES:
        return "list or tuple"
    return "Tensor"


cdef str _where(const char *name, Py_ssize_t position):
    """The argument in messages. A value of the attribute list has no name."""
    return f"argument (position {position})" if name == NULL else f"argument '{name.decode()}' (position {position})"


cdef int _check_constant(OpCall *c, TensorBase value, const char *name, Py_ssize_t position) except -1:
    """Of an attribute only the values are read. Where that would lose a gradient in silence, refuse."""
    if grad_enabled() and wants_grad(value):
        invalid_argument(f"{op_name(c)}(): {_where(name, position)} is a constant to this operator and gets no gradient, but the tensor "
                         "given requires grad. detach() it, or write the formula with operators on it")
    return 0


cdef int _check_ignored(OpCall *c, const eager_param *p, object value, Py_ssize_t position) except -1:
    """A parameter without effect: what would be lost in silence is refused (S1.8)."""
    if strcmp(p.name, b"name") == 0:
        if type(value) is not str:
            invalid_type(f"{op_name(c)}(): {_where(p.name, position)} must be str, but got {_got(value)}. "
                         f"Signature: {c.row.signature.decode()}")
    elif strcmp(p.name, b"blocking") != 0:
        invalid_type(f"{op_name(c)}(): {_where(p.name, position)} is not supported and must be None, but got {_got(value)}")
    return 0


cdef int _attribute(OpCall *c, const eager_param *p, object value, const char *name, Py_ssize_t position) except -1:
    """Convert one attribute."""
    cdef int kind = p.kind
    cdef Py_ssize_t bad = -1
    if kind == PARAM_IGNORED:
        return 0
    if kind == PARAM_BOOL:
        if value is None or type(value) is bool or isinstance(value, np.bool_):
            c.attrs[p.slot].i = bool(value)
            return 0
    elif kind == PARAM_INT:
        plain = _number_of(value)
        if type(plain) is int or type(plain) is bool:
            c.attrs[p.slot].i = plain
            return 0
    elif kind == PARAM_FLOAT or kind == PARAM_NUMBER:
        if kind == PARAM_NUMBER and value is None:
            return 0
        if type(value) is not float and is_tensor(value) and (<TensorBase>value).layout.numel == 1:
            _check_constant(c, <TensorBase>value, name, position)
        plain = _number_of(value)
        if isinstance(plain, (float, int)):
            c.attrs[p.slot].f = plain
            if kind == PARAM_NUMBER:
                c.attrs[p.slot].o = keep(c, plain)
            return 0
    elif kind == PARAM_STR:
        if isinstance(value, str):
            c.attrs[p.slot].o = keep(c, value)
            return 0
    elif kind == PARAM_DTYPE:
        c.attrs[p.slot].i = -1 if value is None and not p.required else code_of(value)
        return 0
    elif kind == PARAM_OBJECT:
        if is_tensor(value):
            _check_constant(c, <TensorBase>value, name, position)
        c.attrs[p.slot].o = keep(c, value)
        return 0
    else:
        if kind == PARAM_AXES and value is None:
            return 0
        if isinstance(value, cnp.ndarray) and type(value) is not cnp.ndarray:
            refuse_masked(value, f"{op_name(c)}(): {_where(name, position)}")
        ints = _ints_of(value, &bad)
        if ints is not None:
            c.attrs[p.slot].o = keep(c, ints)
            return 0
        if bad >= 0:
            invalid_type(f"{op_name(c)}(): {_where(name, position)} must be list of int, but got {_got(value[bad])} at pos {bad}")
    invalid_type(f"{op_name(c)}(): {_where(name, position)} must be {_kind_word(kind)}, but got {_got(value)}")


cdef int _tensor_list(OpCall *c, object value, const char *name, Py_ssize_t position) except -1:
    if not isinstance(value, (list, tuple)):
        invalid_argument(f"{op_name(c)}(): {_where(name, position)} must be list of Tensors, but got {_got(value)}")
    if len(value) == 0:
        invalid_argument(f"{op_name(c)}(): {_where(name, position)} must be list of Tensors, but got empty list")
    for item in value:
        if not is_tensor(item):
            invalid_argument(f"{op_name(c)}(): {_where(name, position)} must be list of Tensors, but got an element of type {_got(item)}")
    items = tuple(value)
    keep(c, items)
    c.n = len(items)
    c.x = PySequence_Fast_ITEMS(items)
    return 0


cdef str _got(object value):
    return "None" if value is None else "Tensor" if is_tensor(value) else type_name(value)


# ---- the public signature --------------------------------------------------------------------------------------------------------------

cdef int parse(OpCall *c, PyObject *first, PyObject **args, Py_ssize_t n, PyObject *names) except -1:
    """`first` is self, or NULL; then `n` positional arguments, then one per keyword."""
    cdef PyObject *values[MAX_PARAMS]
    cdef const eager_param *p = c.row.params
    cdef int n_params = c.row.n_params, i
    cdef Py_ssize_t given = 0, k
    for i in range(n_params):
        values[i] = NULL
    if first != NULL:
        values[0] = first
        given = 1
    if given + n > 2 and n_params > 1 and p[1].kind == PARAM_INTS and type(<object>args[1 - given]) is int:
        # x.reshape(2, 3): the lengths one by one, as in NumPy.
        lengths = tuple([<object>args[k] for k in range(1 - given, n)])
        if given == 0:
            values[0] = args[0]
        values[1] = keep(c, lengths)
    else:
        if given + n > n_params:
            raise TypeError(f"{op_name(c)}() takes at most {n_params} arguments ({given + n} given). Signature: {c.row.signature.decode()}")
        for k in range(n):
            values[given + k] = args[k]
    if names != NULL:
        for k in range(PyTuple_GET_SIZE(<tuple>names)):
            for i in range(n_params):
                if PyUnicode_CompareWithASCIIString(<object>PyTuple_GET_ITEM(names, k), p[i].name) == 0:
                    break
            else:
                raise TypeError(f"{op_name(c)}() got an unexpected keyword argument '{<object>PyTuple_GET_ITEM(names, k)}'. "
                                f"Signature: {c.row.signature.decode()}")
            if values[i] != NULL:
                raise TypeError(f"{op_name(c)}() got multiple values for argument '{p[i].name.decode()}'")
            values[i] = args[n + k]
    for i in range(n_params):
        if values[i] == NULL:
            if p[i].required:
                raise TypeError(f"{op_name(c)}() missing required argument '{p[i].name.decode()}'. Signature: {c.row.signature.decode()}")
            continue
        if p[i].kind == PARAM_TENSOR:
            if not is_tensor(<object>values[i]):
                _not_a_tensor(c, i, <object>values[i])
            c.x[p[i].slot] = values[i]
        elif p[i].kind == PARAM_OPTIONAL:
            if <object>values[i] is not None:
                if not is_tensor(<object>values[i]):
                    _not_a_tensor(c, i, <object>values[i])
                c.x[p[i].slot] = values[i]
        elif p[i].kind == PARAM_OPERAND:
            if not put_operand(c, p[i].slot, <object>values[i]):
                invalid_type(f"{op_name(c)}(): {_where(p[i].name, i)} must be Tensor, number or numpy.ndarray, "
                             f"but got {_got(<object>values[i])}")
        elif p[i].kind == PARAM_TENSORS:
            _tensor_list(c, <object>values[i], p[i].name, i)
        elif p[i].kind == PARAM_IGNORED:
            if <object>values[i] is not None:
                _check_ignored(c, &p[i], <object>values[i], i)
        else:
            _attribute(c, &p[i], <object>values[i], p[i].name, i)
    if c.row.family == FAMILY_TERNARY:
        _resolve_ternary(c)
    elif c.n > 0 and c.x[0] == NULL and c.inplace or (c.n == 2 and c.x[0] == NULL and c.x[1] == NULL):
        invalid_type(f"{op_name(c)}(): argument '{p[0].name.decode()}' (position 0) must be Tensor, but got a number")
    return 0


cdef int _not_a_tensor(OpCall *c, int position, object value) except -1:
    remedy = ". Make it one with to_tensor()" if isinstance(value, (int, float, complex, list, tuple, np.ndarray, np.generic)) else ""
    invalid_type(f"{op_name(c)}(): {_where(c.row.params[position].name, position)} must be Tensor, but got {_got(value)}{remedy}")


# ---- entry points: tensors, then names and values --------------------------------------------------------------------------------------

cdef int parse_entry(OpCall *c, PyObject **args, Py_ssize_t n, PyObject *names) except -1:
    """GetTensorFromArgs for every input, then ConstructAttrMapFromPyArgs."""
    cdef int i, start = c.row.n_inputs, slot
    cdef Py_ssize_t at
    cdef const eager_param *p = NULL
    cdef set seen = None
    c.entry = True
    if names != NULL and PyTuple_GET_SIZE(<tuple>names):
        raise TypeError(f"{op_name(c)}() takes no keyword arguments; attributes are given as name, value, name, value, ...")
    for i in range(c.row.n_inputs):
        slot = c.row.input_slots[i]
        if slot < 0 and (i >= n or type(<object>args[i]) is str):
            start = i                        # a dispensable input may be left out
            break
        _entry_input(c, i, slot, None if i >= n else <object>args[i])
    if n > start and (n - start) % 2:
        invalid_argument(f"The number of arguments for attributes should be even but attr_start = {start}, attr_end = {n}.")
    for at in range(start, n, 2):
        name = <object>args[at]
        if type(name) is not str:
            invalid_argument(f"{op_name(c)}(): argument (position {at}) must be str, but got {_got(name)}")
        for i in range(c.row.n_params):
            p = &c.row.params[i]
            if p.lowlevel != NULL and PyUnicode_CompareWithASCIIString(name, p.lowlevel) == 0:
                break
        else:
            known = [c.row.params[i].lowlevel.decode() for i in range(c.row.n_params) if c.row.params[i].lowlevel != NULL]
            invalid_argument(f"{op_name(c)}(): unknown attribute '{name}'. It has {', '.join(known) or 'no attributes'}")
        if seen is None:
            seen = set()
        if name in seen:
            invalid_argument(f"{op_name(c)}(): attribute '{name}' is given twice")
        seen.add(name)
        _attribute(c, p, <object>args[at + 1], NULL, at + 1)
    for i in range(start):
        # A tensor in an attribute's place goes before the attribute.
        slot = c.row.input_slots[i]
        if slot < 0 and <object>args[i] is not None:
            _attribute(c, &c.row.params[-1 - slot], <object>args[i], c.row.input_names[i], i)
    for i in range(c.row.n_params):
        p = &c.row.params[i]
        if p.required and p.lowlevel != NULL and (seen is None or p.lowlevel.decode() not in seen) and c.attrs[p.slot].o == NULL:
            invalid_argument(f"{op_name(c)}(): attribute '{p.lowlevel.decode()}' is missing")
    return 0


cdef int _entry_input(OpCall *c, int i, int slot, object value) except -1:
    if c.row.n_tensors < 0 and slot == 0:
        return _tensor_list(c, value, c.row.input_names[i], i)
    if value is None and slot < 0:
        return 0
    if not is_tensor(value):
        invalid_argument(f"{op_name(c)}(): {_where(c.row.input_names[i], i)} must be Tensor, but got {_got(value)}")
    if slot >= 0:
        c.x[slot] = <PyObject *>value
    return 0
