"""Rules of operators that move no data: the result is another look at the same memory."""
from cpython.ref cimport Py_INCREF
from cpython.object cimport PyObject

from eager_core.dtypes cimport DTYPES
from eager_core.errors cimport invalid_argument
from eager_core.layout cimport MAX_ELEMENTS, Layout, contiguous_layout, shape_text, strided_layout
from eager_core.op cimport FAMILY_VIEW, OpCall, op_name, register_rule
from eager_core.rules_common cimport axis_of
from eager_core.tensor cimport TensorBase, alias

from eager_core._generated.op_ids cimport VIEW_DIAGONAL, VIEW_FLATTEN, VIEW_RESHAPE, VIEW_SQUEEZE, VIEW_TRANSPOSE, VIEW_UNSQUEEZE


cdef Layout _reshaped(OpCall *c, Layout old, int ndim, Py_ssize_t *dims):
    """The layout of the same elements in another shape, or None if no strides can express it.

    Walks both shapes at once, grouping axes with equal products; each group of old axes must be contiguous within itself.
    """
    cdef Py_ssize_t[9] strides
    cdef Py_ssize_t[9] old_dims
    cdef Py_ssize_t[9] old_strides
    cdef Py_ssize_t from_old, from_new
    cdef int n = 0, i, j, first_i, first_j, k
    if old.contiguous:
        return contiguous_layout(ndim, dims)
    for i in range(old.ndim):
        if old.dims[i] != 1:
            old_dims[n] = old.dims[i]
            old_strides[n] = old.strides[i]
            n += 1
    i = j = 0
    while i < n and j < ndim:
        first_i, first_j = i, j
        from_old = old_dims[i]
        from_new = dims[j]
        while from_old != from_new:
            if from_old < from_new:
                i += 1
                from_old *= old_dims[i]
            else:
                j += 1
                from_new *= dims[j]
        for k in range(first_i, i):
            if old_strides[k] != old_strides[k + 1] * old_dims[k + 1]:
                return None
        strides[j] = old_strides[i]
        for k in range(j - 1, first_j - 1, -1):
            strides[k] = strides[k + 1] * dims[k + 1]
        i += 1
        j += 1
    for k in range(j, ndim):
        strides[k] = 1           # trailing axes of length 1
    return strided_layout(ndim, dims, strides)


cdef Layout _reshape(OpCall *c, Layout old, object shape):
    """-1 takes what is left, 0 keeps the axis of that number (the reference's rule)."""
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t known = 1
    cdef Py_ssize_t total = old.numel
    cdef int i, free = -1, ndim
    if not isinstance(shape, tuple):
        shape = (shape,)
    ndim = len(shape)
    if ndim > 9:
        invalid_argument(f"{op_name(c)}(): a tensor has at most 9 axes, but the shape {list(shape)} has {ndim}")
    for i in range(ndim):
        dims[i] = shape[i]
        if dims[i] == 0 and old.numel != 0:
            if i >= old.ndim:
                invalid_argument(f"{op_name(c)}(): the 0 at place {i} of the shape {list(shape)} keeps an axis that the tensor of shape "
                                 f"{shape_text(old)} does not have")
            dims[i] = old.dims[i]
        if dims[i] == -1:
            if free >= 0:
                invalid_argument(f"{op_name(c)}(): only one length of the shape {list(shape)} may be -1")
            free = i
        elif dims[i] < 0:
            invalid_argument(f"{op_name(c)}(): the length {dims[i]} in the shape {list(shape)} is negative")
        else:
            if dims[i] and known > MAX_ELEMENTS // dims[i]:      # no tensor has so many; the product might wrap to what fits
                invalid_argument(f"{op_name(c)}(): a tensor of shape {shape_text(old)} cannot take the shape {list(shape)}")
            known *= dims[i]
    if free >= 0 and known == 0:
        # Of nothing, a 0 is that length; where the tensor has it too it is kept, and what is left is the quotient of the other axes.
        known = total = 1
        for i in range(ndim):
            if dims[i] == 0 and (i >= old.ndim or old.dims[i] != 0):
                known = 0
            elif dims[i] > 0:
                known *= dims[i]
        for i in range(old.ndim):
            if i >= ndim or dims[i] != 0:
                total *= old.dims[i]
    if free >= 0:
        if known == 0 or total % known:
            invalid_argument(f"{op_name(c)}(): a tensor of shape {shape_text(old)} cannot take the shape {list(shape)}")
        dims[free] = total // known
        known = 1
        for i in range(ndim):
            known *= dims[i]
    if known != old.numel:
        invalid_argument(f"{op_name(c)}(): a tensor of shape {shape_text(old)} has {old.numel} elements and cannot take the shape "
                         f"{list(shape)} with {known}")
    return _reshaped(c, old, ndim, dims)


cdef Layout _transpose(OpCall *c, Layout old, object axes):
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t[9] strides
    cdef int i, axis
    cdef unsigned int seen = 0
    axes = axes if isinstance(axes, tuple) else (axes,)
    if len(axes) != old.ndim:
        invalid_argument(f"{op_name(c)}(): 'perm' {list(axes)} must name each of the {old.ndim} axes of the shape {shape_text(old)} once")
    for i in range(old.ndim):
        axis = axis_of(c, axes[i], old.ndim, "perm entry")
        if seen >> axis & 1:
            invalid_argument(f"{op_name(c)}(): 'perm' {list(axes)} names axis {axis} twice")
        seen |= 1 << axis
        dims[i] = old.dims[axis]
        strides[i] = old.strides[axis]
    return strided_layout(old.ndim, dims, strides)


cdef Layout _swap_last(OpCall *c, Layout old, bint all_axes):
    """T reverses all axes, as in NumPy; t() swaps two and leaves fewer alone."""
    cdef int i
    if not all_axes and old.ndim > 2:
        invalid_argument(f"{op_name(c)}(): at most 2 axes expected, but the shape is {shape_text(old)}")
    return _transpose(c, old, tuple([old.ndim - 1 - i for i in range(old.ndim)]))


cdef Layout _squeeze(OpCall *c, Layout old, object axes):
    """Axes named that are not of length 1 stay (the reference's rule)."""
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t[9] strides
    cdef int i, n = 0
    cdef unsigned int drop = 0
    if axes is None or (isinstance(axes, tuple) and not axes):
        drop = 0xffffffff
    else:
        for axis in axes if isinstance(axes, tuple) else (axes,):
            drop |= 1 << axis_of(c, axis, old.ndim, "axis")
    for i in range(old.ndim):
        if old.dims[i] != 1 or not drop >> i & 1:
            dims[n] = old.dims[i]
            strides[n] = old.strides[i]
            n += 1
    return strided_layout(n, dims, strides)


cdef Layout _unsqueeze(OpCall *c, Layout old, object axes):
    """Axes are inserted one after the other, each into the shape made so far (the reference's rule)."""
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t[9] strides
    cdef int i, n = old.ndim, at
    for i in range(n):
        dims[i] = old.dims[i]
        strides[i] = old.strides[i]
    for axis in axes if isinstance(axes, tuple) else (axes,):
        if n == 9:
            invalid_argument(f"{op_name(c)}(): a tensor has at most 9 axes")
        at = axis_of(c, axis, n + 1, "axis")
        for i in range(n, at, -1):
            dims[i] = dims[i - 1]
            strides[i] = strides[i - 1]
        dims[at] = 1
        strides[at] = dims[at + 1] * strides[at + 1] if at < n else 1
        n += 1
    return strided_layout(n, dims, strides)


cdef Layout _flatten(OpCall *c, Layout old, Py_ssize_t start, Py_ssize_t stop):
    cdef Py_ssize_t[9] dims
    cdef int i, first = axis_of(c, start, old.ndim, "start_axis"), last = axis_of(c, stop, old.ndim, "stop_axis"), n = 0
    if first > last:
        invalid_argument(f"{op_name(c)}(): start_axis {start} comes after stop_axis {stop}")
    if old.ndim == 0:
        dims[0] = 1
        return _reshaped(c, old, 1, dims)
    for i in range(old.ndim):
        if first < i <= last:
            dims[n - 1] *= old.dims[i]
        else:
            dims[n] = old.dims[i]
            n += 1
    return _reshaped(c, old, n, dims)


cdef Layout _diagonal(OpCall *c, Layout old, Py_ssize_t offset, Py_ssize_t axis1, Py_ssize_t axis2, Py_ssize_t *start):
    """Both axes become one, the last: element k lies at (k, k + offset)."""
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t[9] strides
    cdef int i, n = 0, row = axis_of(c, axis1, old.ndim, "axis1"), column = axis_of(c, axis2, old.ndim, "axis2")
    cdef Py_ssize_t down = -offset if offset < 0 else 0, right = offset if offset > 0 else 0
    if old.ndim < 2 or row == column:
        invalid_argument(f"{op_name(c)}(): axis1 and axis2 must be two different axes, but they are {axis1} and {axis2} for a tensor of "
                         f"shape {shape_text(old)}")
    for i in range(old.ndim):
        if i != row and i != column:
            dims[n] = old.dims[i]
            strides[n] = old.strides[i]
            n += 1
    dims[n] = max(0, min(old.dims[row] - down, old.dims[column] - right))
    strides[n] = old.strides[row] + old.strides[column]
    if dims[n]:
        start[0] = down * old.strides[row] + right * old.strides[column]
    return strided_layout(n + 1, dims, strides)


cdef Layout view_layout(OpCall *c, Layout old, Py_ssize_t *start):
    """None: the elements do not lie so that one layout could describe them. `start`: where the view's first element lies."""
    cdef int kind = c.row.kernel
    start[0] = 0
    if kind == VIEW_DIAGONAL:
        return _diagonal(c, old, c.attrs[0].i, c.attrs[1].i, c.attrs[2].i, start)
    if kind == VIEW_RESHAPE:
        return _reshape(c, old, <object>c.attrs[0].o)
    if kind == VIEW_TRANSPOSE:
        return _transpose(c, old, <object>c.attrs[0].o)
    if kind == VIEW_SQUEEZE:
        return _squeeze(c, old, None if c.attrs[0].o == NULL else <object>c.attrs[0].o)
    if kind == VIEW_UNSQUEEZE:
        return _unsqueeze(c, old, <object>c.attrs[0].o)
    if kind == VIEW_FLATTEN:
        return _flatten(c, old, c.attrs[0].i, c.attrs[1].i)
    return _swap_last(c, old, c.attrs[0].i)


cdef int rule_view(OpCall *c) except -1:
    cdef TensorBase x = <TensorBase>c.x[0], view
    cdef Py_ssize_t start
    cdef Layout layout = view_layout(c, x.layout, &start), region
    if not x.layout.contiguous:
        region = view_layout(c, contiguous_layout(x.layout.ndim, x.layout.dims), &c.region_offset)
        Py_INCREF(region)
        c.region = <PyObject *>region
    if c.inplace:
        if layout is None:
            invalid_argument(f"{op_name(c)}(): the elements of the inplace tensor are not contiguous in memory; use "
                             f"{c.row.name.decode()}() instead, which copies them")
        Py_INCREF(x)
        c.out = <PyObject *>x
        Py_INCREF(layout)
        c.new_layout = <PyObject *>layout
        return 0
    c.is_view = True
    if layout is not None:
        view = alias(x, layout, x.data + start * DTYPES[x.dtype].itemsize)
        Py_INCREF(view)
        c.out = <PyObject *>view
    return 0


register_rule(FAMILY_VIEW, rule_view)
