"""Rules of reading and writing by index: basic indexes are views and regions, all others go through NumPy."""
import operator

import numpy as np
from cpython.ref cimport Py_INCREF
from cpython.object cimport PyObject
from cpython.slice cimport PySlice_AdjustIndices, PySlice_Unpack

cimport numpy as cnp

from eager_core._generated.op_ids cimport SET_ALL
from eager_core.dtypes cimport DTYPES, EAGER_MAX_NDIM, KIND_INT
from eager_core.errors cimport invalid_argument, out_of_range
from eager_core.masked import refuse_masked
from eager_core.layout cimport Layout, contiguous_layout, overlaps_itself, row_layout, shape_text, strided_layout
from eager_core.op cimport FAMILY_GETITEM, FAMILY_SETITEM, JOB_LOOP_1, OpCall, eager_cast_loop, keep, op_name, register_rule
from eager_core.rules_common cimport check_kind, may_share, promoted, put_number, same_elements, target_of
from eager_core.tensor cimport TensorBase, alias, as_array, is_tensor, type_name
from eager_core.tracer cimport begin_plan, copy_for_rule, plan_constant, plan_tensor

cdef enum:
    MOST_NESTED = 64             # lists in an index: NumPy's own limit of axes


cdef str INDEX = "an index of a tensor"


cdef extern from "Python.h":
    Py_ssize_t PyNumber_AsSsize_t(object o, PyObject *error) except? -1


cdef struct Region:              # a layout being built, axis by axis
    int ndim
    int axis                     # next axis of the source
    Py_ssize_t offset            # in elements
    Py_ssize_t[9] dims
    Py_ssize_t[9] strides


cdef int _take_int(Region *r, Layout source, object item) except -1:
    cdef Py_ssize_t n = source.dims[r.axis]
    cdef Py_ssize_t i = PyNumber_AsSsize_t(item, NULL)       # one that is too large for it becomes the largest: out of range anyway
    if i < -n or i >= n:
        out_of_range(f"index {item} is out of range for axis {r.axis} with length {n}")
    r.offset += (i + n if i < 0 else i) * source.strides[r.axis]
    r.axis += 1
    return 0


cdef int _take_slice(Region *r, Layout source, object item) except -1:
    cdef Py_ssize_t start, stop, step, length
    PySlice_Unpack(item, &start, &stop, &step)
    length = PySlice_AdjustIndices(source.dims[r.axis], &start, &stop, step)
    if length:
        r.offset += start * source.strides[r.axis]
    r.dims[r.ndim] = length
    r.strides[r.ndim] = source.strides[r.axis] * step
    r.ndim += 1
    r.axis += 1
    return 0


cdef int _take_all(Region *r, Layout source, int axes) except -1:
    cdef int _
    for _ in range(axes):
        r.dims[r.ndim] = source.dims[r.axis]
        r.strides[r.ndim] = source.strides[r.axis]
        r.ndim += 1
        r.axis += 1
    return 0


cdef bint _is_int(object item) except -1:
    return type(item) is int or (isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_)))


cdef object _plain(object item):
    """A 0-d integer tensor or array, or a NumPy integer, is an int, and so are the ends of a slice; everything else stays."""
    cdef TensorBase t
    if type(item) is slice:
        return _plain_slice(item)
    if is_tensor(item):
        t = <TensorBase>item
        if t.layout.ndim == 0 and DTYPES[t.dtype].kind == KIND_INT:
            return int(as_array(t, False)[()])
    elif isinstance(item, np.ndarray) and item.ndim == 0 and item.dtype.kind in "iu":
        refuse_masked(item, INDEX)
        return int(item)
    elif _is_int(item):
        return operator.index(item)
    return item


cdef inline bint _is_plain_end(object end) noexcept:
    return end is None or type(end) is int


cdef object _plain_slice(object item):
    if _is_plain_end(item.start) and _is_plain_end(item.stop) and _is_plain_end(item.step):
        return item
    return slice(*[end if _is_plain_end(end) else operator.index(_plain(end)) for end in (item.start, item.stop, item.step)])


cdef object basic_index(object index):
    """The index in ints, slices of ints, None and ellipsis only, or None if it is an advanced one.

    Objects are asked for their ``__index__`` here, once, before anything is known of the tensor: whatever such a method does, it cannot
    come between the tensor's shape and its memory, and a region is the same each time it is worked out.
    """
    if type(index) is int:
        return index
    if type(index) is slice:
        return _plain_slice(index)
    items = []
    for item in index if type(index) is tuple else (index,):
        item = _plain(item)
        if not (item is None or item is Ellipsis or type(item) is slice or _is_int(item)):
            return None
        items.append(item)
    return tuple(items)


cdef Layout basic_region(Layout source, object index, Py_ssize_t *offset):
    """The region of a basic index (ints, slices, None, ellipsis), or None if the index is an advanced one."""
    cdef Region r
    cdef int consumed = 0, added = 0             # axes of the source that the index names; how many axes the result has more
    cdef bint ellipsis = False
    r.ndim = r.axis = 0
    r.offset = 0
    if type(index) is int:                      # u[t]: the hot one
        if source.ndim == 0:
            out_of_range("too many indices: a 0-d tensor takes none but ... and None")
        _take_int(&r, source, index)
        offset[0] = r.offset
        return row_layout(source)
    items = index if type(index) is tuple else (index,)
    plain = []
    for item in items:
        item = _plain(item)
        if item is None:
            added += 1
        elif item is Ellipsis:
            if ellipsis:
                out_of_range("an index can only have a single ellipsis ('...')")
            ellipsis = True
        elif type(item) is slice:
            consumed += 1
        elif _is_int(item):
            consumed += 1
            added -= 1
        else:
            return None
        plain.append(item)
    if consumed > source.ndim:
        out_of_range(f"too many indices: {consumed} for a tensor of shape {shape_text(source)}")
    if source.ndim + added > EAGER_MAX_NDIM:
        invalid_argument(f"the result of the index would have more than {EAGER_MAX_NDIM} axes")
    for item in plain:
        if item is None:
            r.dims[r.ndim] = 1
            r.strides[r.ndim] = 0
            r.ndim += 1
        elif item is Ellipsis:
            _take_all(&r, source, source.ndim - consumed)
        elif type(item) is slice:
            _take_slice(&r, source, item)
        else:
            _take_int(&r, source, item)
    _take_all(&r, source, source.ndim - r.axis)
    offset[0] = r.offset
    return strided_layout(r.ndim, r.dims, r.strides)


cdef object numpy_index(object index, int depth=0):
    """An advanced index for NumPy, checked; the rule of array operators copies it."""
    if depth > MOST_NESTED:
        out_of_range(f"the lists of an index are nested more than {MOST_NESTED} deep")
    if type(index) is tuple:
        return tuple([numpy_index(item, depth + 1) for item in index])
    if is_tensor(index):
        return as_array(<TensorBase>index, False)
    if isinstance(index, (np.ndarray, list)):
        if type(index) is not list and type(index) is not cnp.ndarray:
            refuse_masked(index, INDEX)
        array = np.asarray(index) if not isinstance(index, list) else np.array([numpy_index(item, depth + 1) for item in index])
        if array.size == 0 and isinstance(index, list):
            array = array.astype(np.int64)
        if array.dtype.kind not in "iub":
            out_of_range(f"index arrays must be of integers or bool, but got dtype {array.dtype}")
        return array
    if index is None or index is Ellipsis or isinstance(index, (int, np.integer, np.bool_, slice)):
        return _plain(index)
    out_of_range(f"an index must be ints, slices, None, ..., or integer or bool arrays and tensors, but got {type_name(index)}")


cdef int rule_getitem(OpCall *c) except -1:
    """attrs: index. Basic: a view. (Advanced indexes are another operator; `get_item` chooses.)"""
    cdef TensorBase x = <TensorBase>c.x[0], view
    cdef Py_ssize_t offset = 0
    cdef Layout layout = basic_region(x.layout, <object>c.attrs[0].o, &offset)
    view = alias(x, layout, x.data + offset * DTYPES[x.dtype].itemsize)
    Py_INCREF(view)
    c.out = <PyObject *>view
    c.is_view = True
    if not x.layout.contiguous:
        layout = basic_region(contiguous_layout(x.layout.ndim, x.layout.dims), <object>c.attrs[0].o, &c.region_offset)
        Py_INCREF(layout)
        c.region = <PyObject *>layout
    return 0


cdef TensorBase _fit_value(OpCall *c, TensorBase value, TensorBase part):
    """The value as the region will take it: leading axes of length 1 dropped, apart in memory if it overlaps in another order."""
    cdef Layout old = value.layout
    cdef int i, extra = old.ndim - part.layout.ndim
    if extra > 0:
        for i in range(extra):
            if old.dims[i] != 1:
                break
        else:
            value = alias(value, strided_layout(part.layout.ndim, &old.dims[extra], &old.strides[extra]), value.data)
            keep(c, value)
    old = value.layout
    extra = part.layout.ndim - old.ndim
    for i in range(old.ndim):
        if extra < 0 or (old.dims[i] != 1 and old.dims[i] != part.layout.dims[extra + i]):
            invalid_argument(f"{op_name(c)}(): a value of shape {shape_text(old)} cannot be broadcast to the region of shape "
                             f"{shape_text(part.layout)}")
    if may_share(value, part) and not same_elements(value, part):
        value = copy_for_rule(value, part.dtype)
        keep(c, value)
    return value


cdef int rule_setitem(OpCall *c) except -1:
    """attrs: index (SET_ALL: none, the whole tensor). Input 1 is the value: a tensor, a number, or zero when there is no input 1."""
    cdef TensorBase x = target_of(c), part = x, value
    cdef Py_ssize_t offset = 0
    cdef Layout layout = x.layout, region
    if c.row.kernel != SET_ALL:
        layout = basic_region(x.layout, <object>c.attrs[0].o, &offset)
        part = alias(x, layout, x.data + offset * DTYPES[x.dtype].itemsize)
        part.root = x if x.root is None else x.root
    if not x.layout.contiguous and x.root is None:
        # The region of a root's gradient, which is in C order; that of a view is counted in its root's memory.
        region = contiguous_layout(x.layout.ndim, x.layout.dims)
        c.region_offset = 0
        if c.row.kernel != SET_ALL:
            region = basic_region(region, <object>c.attrs[0].o, &c.region_offset)
        Py_INCREF(region)
        c.region = <PyObject *>region
    if not x.layout.contiguous and overlaps_itself(x.layout):
        invalid_argument(f"{op_name(c)}(): elements of the tensor overlap each other in memory; clone() it first")
    Py_INCREF(x)
    c.out = <PyObject *>x
    Py_INCREF(part)
    c.written = <PyObject *>part
    if c.n == 2 and c.scalar_at < 0:
        value = <TensorBase>c.x[1]
        check_kind(c, value.dtype)
        if c.row.kernel != SET_ALL and value.root is part.root and not value.pinned and same_elements(value, part):
            c.nothing = True
            return 0
        value = _fit_value(c, value, part)
        if value.layout.contiguous and layout.contiguous and value.layout.numel == layout.numel:
            c.job.kind = JOB_LOOP_1
            c.job.loop = eager_cast_loop(value.dtype, x.dtype)
            c.job.data = NULL
            c.job.args[0] = value.data
            c.job.args[1] = part.data
            c.job.dims[0] = layout.numel
            c.job.steps[0] = DTYPES[value.dtype].itemsize
            c.job.steps[1] = DTYPES[x.dtype].itemsize
            return 0
        begin_plan(&c.job, layout, 2)
        c.job.plan.loop = eager_cast_loop(value.dtype, x.dtype)
        plan_tensor(&c.job, 0, value)
    else:
        if c.scalar_at < 0:
            c.scalar_int = 0
            c.scalar_real = c.scalar_imag = 0.0
        elif <int>c.scalar_kind > <int>DTYPES[x.dtype].kind:
            check_kind(c, promoted(c))
        begin_plan(&c.job, layout, 2)
        c.job.plan.loop = eager_cast_loop(x.dtype, x.dtype)
        plan_constant(&c.job, 0, put_number(c, 0, x.dtype))
    c.job.plan.data = NULL
    plan_tensor(&c.job, 1, part)
    return 0


register_rule(FAMILY_GETITEM, rule_getitem)
register_rule(FAMILY_SETITEM, rule_setitem)
