"""``x[i]`` and ``x[i] = value``: basic indices take and write views, those with arrays pick and put elements. Reading stands in the pxd."""
import numpy as np
from cpython.object cimport PyObject

from eager_core._generated.op_ids cimport OP_PUT, OP_SETITEM
from eager_core.dtypes cimport DTYPES, numpy_dtype
from eager_core.dygraph cimport run_call
from eager_core.errors cimport invalid_argument, invalid_type
from eager_core.grad_mode cimport grad_enabled
from eager_core.op cimport OpCall, begin_call, keep, op_row, release_call
from eager_core.parser cimport constant_of, put_operand
from eager_core.rules_common cimport number_of
from eager_core.rules_index cimport basic_index, numpy_index
from eager_core.tensor cimport is_tensor, type_name, wants_grad


cdef bint holds_history(object value, int depth=0) except -1:
    """Whether nested lists hold a tensor that requires grad; as deep as NumPy looks."""
    if is_tensor(value):
        return wants_grad(<TensorBase>value)
    if depth < 64 and isinstance(value, (list, tuple)):
        for item in value:
            if holds_history(item, depth + 1):
                return True
    return False


cdef int set_item(TensorBase x, object index, object value) except -1:
    cdef OpCall c
    cdef object plain = basic_index(index)
    cdef bint basic = plain is not None
    begin_call(&c, op_row(OP_SETITEM if basic else OP_PUT), True)
    try:
        c.x[0] = <PyObject *>x
        c.attrs[0].o = keep(&c, plain if basic else numpy_index(index))
        if not put_operand(&c, 1, value):
            if grad_enabled() and holds_history(value):
                invalid_argument("a list of tensors that require grad cannot be assigned to elements of a Tensor: it would be read as "
                                 "constants. stack() them, or assign one by one")
            constant = constant_of(value, "setitem(): the value") if isinstance(value, (list, tuple)) else None
            if constant is None:
                invalid_argument(f"a value of type {type_name(value)} cannot be assigned to elements of a Tensor")
            c.x[1] = keep(&c, constant)
        if not basic:
            _check_put(&c, x)
        run_call(&c)
    finally:
        release_call(&c)
    return 0


cdef int _check_put(OpCall *c, TensorBase x) except -1:
    """Numbers become arrays of the target's dtype; the kind must fit (S7.2)."""
    cdef int kind = <int>c.scalar_kind if c.scalar_at == 1 else <int>DTYPES[(<TensorBase>c.x[1]).dtype].kind
    if kind > <int>DTYPES[x.dtype].kind:
        invalid_type(f"a value of {('dtype ' + DTYPES[(<TensorBase>c.x[1]).dtype].name.decode()) if c.scalar_at != 1 else 'this kind'} "
                     f"cannot be stored in a tensor of dtype {DTYPES[x.dtype].name.decode()}")
    if c.scalar_at == 1:
        c.x[1] = keep(c, constant_of(np.asarray(number_of(c), dtype=numpy_dtype(x.dtype)), ""))
        c.scalar_at = -1
    return 0
