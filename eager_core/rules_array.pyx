"""Rule of array operators: the kernel is a Python function on NumPy arrays.

In: zero-copy, read-only arrays over the tensors' memory. Out: an array (or a tuple of them) that becomes a tensor without a copy. In
place, the result is computed first and copied into the target afterwards, so whatever the function refuses leaves the target untouched.
NumPy releases the GIL inside its own loops.
"""
import numpy as np
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF

cimport numpy as cnp

from eager_core.dtypes cimport numpy_dtype
from eager_core.errors cimport invalid_argument
from eager_core.masked import refuse_masked
from eager_core.op cimport (
    FAMILY_ARRAY, FAMILY_BROADCAST, OpCall, PARAM_BOOL, PARAM_DTYPE, PARAM_FLOAT, PARAM_IGNORED, PARAM_INT, PARAM_NUMBER,
    PARAM_OBJECT, keep, op_name, register_rule,
)
from eager_core.rules_common cimport number_of, result
from eager_core.tensor cimport TensorBase, adopt_array, as_array, copy_of_array, is_tensor

cdef enum:
    MOST_NESTED = 64             # lists in an argument: NumPy's own limit of axes

cdef list _functions = []       # a name until it is first used
cdef object _find


def register_array_functions(list names, find):
    """The kernels, ``module.function`` in the generator's order; their modules are imported when a kernel is first called."""
    global _find
    _functions[:] = names
    _find = find


cdef object _kernel(int k):
    function = _functions[k]
    if type(function) is str:
        function = _functions[k] = _find(function)
    return function


cdef list _attributes(OpCall *c):
    cdef int i
    for i in range(c.row.n_params):
        if c.row.params[i].kind == PARAM_OBJECT and c.attrs[c.row.params[i].slot].o != NULL:
            c.attrs[c.row.params[i].slot].o = keep(c, _frozen(<object>c.attrs[c.row.params[i].slot].o, 0, c, i))
    return [_value(c, c.row.params[i].slot, c.row.params[i].kind) for i in range(c.row.n_params)
            if PARAM_FLOAT <= c.row.params[i].kind < PARAM_IGNORED]


cdef object _frozen(object value, int depth, OpCall *c, int i):
    """What the caller may change later becomes a copy, at any depth: backward must use it as it was. Tensors become arrays, and so does
    whatever NumPy would read its elements from."""
    if value is None or value is Ellipsis or isinstance(value, (int, float, complex, str, slice, np.generic)):
        return value
    if is_tensor(value):
        return as_array(<TensorBase>value, False).copy()
    if isinstance(value, (list, tuple)):
        if depth == MOST_NESTED:
            invalid_argument(f"an argument is nested more than {MOST_NESTED} deep")
        items = [_frozen(item, depth + 1, c, i) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if type(value) is not cnp.ndarray:
        refuse_masked(value, f"{op_name(c)}(): argument '{c.row.params[i].name.decode()}'")
    array = np.array(value)
    return array if array.dtype.kind in "biufc" else value


cdef object _value(OpCall *c, int k, int kind):
    if kind == PARAM_FLOAT:
        return c.attrs[k].f
    if kind == PARAM_INT:
        return c.attrs[k].i
    if kind == PARAM_BOOL:
        return c.attrs[k].i != 0
    if kind == PARAM_DTYPE:
        return numpy_dtype(<int>c.attrs[k].i) if c.attrs[k].i >= 0 else None
    if kind == PARAM_NUMBER:
        return None if c.attrs[k].o == NULL else c.attrs[k].f
    return None if c.attrs[k].o == NULL else <object>c.attrs[k].o


cdef int _number_to_tensor(OpCall *c) except -1:
    """A Python number, which has a kind but no width (NumPy 2), takes the first tensor's dtype if that has room for its kind."""
    cdef int slot = c.scalar_at
    number = number_of(c)
    dtype = numpy_dtype((<TensorBase>c.x[1 if slot == 0 else 0]).dtype)
    try:
        array = np.array(number, dtype=np.result_type(dtype, number))
    except OverflowError:
        raise OverflowError(f"(InvalidArgument) {op_name(c)}(): the number {number} is out of bounds for {dtype}") from None
    c.x[slot] = keep(c, adopt_array(array))
    c.scalar_at = -1
    return 0


cdef TensorBase _tensor_of(object array):
    """Adopt a fresh array; copy one that is a view of somebody's memory."""
    if array.base is not None or not array.flags.owndata:
        return copy_of_array(array)
    return adopt_array(array)


cdef int rule_array(OpCall *c) except -1:
    cdef TensorBase made
    cdef int i
    function = _kernel(c.row.kernel)
    if c.scalar_at >= 0 and c.row.family != FAMILY_BROADCAST:
        _number_to_tensor(c)
    arrays = [number_of(c) if i == c.scalar_at else None if c.x[i] == NULL else as_array(<TensorBase>c.x[i], False) for i in range(c.n)]
    attributes = _attributes(c)
    if c.row.n_tensors < 0:
        # The last attribute of an operator on a list is for backward: the shapes of the tensors.
        c.attrs[c.row.n_attrs - 1].o = keep(c, [array.shape for array in arrays])
        arguments = (arrays, *attributes)
    else:
        arguments = (*arrays, *attributes)
    with np.errstate(all="ignore"):
        answer = function(*arguments)
    outputs = answer if isinstance(answer, tuple) else (answer,)
    made = _tensor_of(np.asarray(outputs[0]))
    if c.inplace:
        result(c, made.layout, made.dtype)
        _stage(c, made)
    else:
        Py_INCREF(made)
        c.out = <PyObject *>made
    if len(outputs) > 1:
        more = tuple([_tensor_of(np.asarray(one)) for one in outputs[1:]])
        Py_INCREF(more)
        c.more_out = <PyObject *>more
    return 0


cdef void _stage(OpCall *c, TensorBase made):
    Py_XDECREF(c.stage)
    Py_INCREF(made)
    c.stage = <PyObject *>made


register_rule(FAMILY_ARRAY, rule_array)
register_rule(FAMILY_BROADCAST, rule_array)
