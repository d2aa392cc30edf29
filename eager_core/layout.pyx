"""Shape and strides of a tensor as one immutable, shared object."""
cimport cython

from eager_core.errors cimport invalid_argument


# no_gc: a layout holds nothing but a layout with one axis less.
@cython.final
@cython.no_gc
@cython.freelist(1024)
cdef class Layout:
    def __repr__(self):
        return f"Layout(shape={shape_list(self)}, strides={[self.strides[i] for i in range(self.ndim)]})"


cdef int _too_large(int ndim, const Py_ssize_t *dims) except -1:
    invalid_argument(f"a tensor of shape {[dims[i] for i in range(ndim)]} has more elements than any memory can hold")


cdef Layout contiguous_layout(int ndim, const Py_ssize_t *dims):
    cdef Layout made = Layout.__new__(Layout)
    cdef Py_ssize_t step = 1
    cdef int i
    made.ndim = ndim
    for i in range(ndim - 1, -1, -1):
        made.dims[i] = dims[i]
        made.strides[i] = step
        # A product that wraps would pass for a small tensor. The division is slow, and almost never needed.
        if (step | dims[i]) >> 31 and step and dims[i] > MAX_ELEMENTS // step:
            _too_large(ndim, dims)
        step *= dims[i]
    made.numel = step
    made.contiguous = True
    return made


cdef Layout strided_layout(int ndim, const Py_ssize_t *dims, const Py_ssize_t *strides):
    cdef Layout made = Layout.__new__(Layout)
    cdef Py_ssize_t step = 1
    cdef bint contiguous = True
    cdef int i
    made.ndim = ndim
    for i in range(ndim - 1, -1, -1):
        made.dims[i] = dims[i]
        made.strides[i] = strides[i]
        if dims[i] != 1:
            contiguous = contiguous and strides[i] == step
        step *= dims[i]
    made.numel = step
    made.contiguous = contiguous or step == 0
    return made


cdef Layout row_layout(Layout a):
    if a.row is None:
        a.row = strided_layout(a.ndim - 1, &a.dims[1], &a.strides[1])
    return a.row


cdef bint same_shape_slow(Layout a, Layout b) noexcept:
    cdef int i
    if a.ndim != b.ndim:
        return False
    for i in range(a.ndim):
        if a.dims[i] != b.dims[i]:
            return False
    return True


cdef bint same_layout(Layout a, Layout b) noexcept:
    cdef int i
    if a is b:
        return True
    if not same_shape_slow(a, b):
        return False
    if a.contiguous and b.contiguous:
        return True
    for i in range(a.ndim):
        if a.dims[i] != 1 and a.strides[i] != b.strides[i]:
            return False
    return True


cdef void span_of(Layout a, Py_ssize_t *low, Py_ssize_t *high) noexcept:
    cdef int i
    cdef Py_ssize_t length
    low[0] = 0
    high[0] = a.numel
    if a.contiguous:
        return
    high[0] = 1
    for i in range(a.ndim):
        length = (a.dims[i] - 1) * a.strides[i]
        if length > 0:
            high[0] += length
        else:
            low[0] += length


cdef bint apart(Layout a, Py_ssize_t at_a, Layout b, Py_ssize_t at_b) noexcept:
    cdef Py_ssize_t low_a, high_a, low_b, high_b
    span_of(a, &low_a, &high_a)
    span_of(b, &low_b, &high_b)
    return at_a + high_a <= at_b + low_b or at_b + high_b <= at_a + low_a


cdef bint overlaps_itself(Layout a) noexcept:
    """Sufficient test: axes ordered by stride must each step over everything the smaller ones span."""
    cdef Py_ssize_t[9] steps
    cdef Py_ssize_t[9] dims
    cdef Py_ssize_t step, dim, span = 0
    cdef int n = 0, i, j
    if a.contiguous or a.numel <= 1:
        return False
    for i in range(a.ndim):
        if a.dims[i] == 1:
            continue
        step = a.strides[i] if a.strides[i] >= 0 else -a.strides[i]
        dim = a.dims[i]
        j = n
        while j > 0 and steps[j - 1] > step:
            steps[j] = steps[j - 1]
            dims[j] = dims[j - 1]
            j -= 1
        steps[j] = step
        dims[j] = dim
        n += 1
    for i in range(n):
        if steps[i] <= span:
            return True
        span += steps[i] * (dims[i] - 1)
    return False


cdef bint _index_of(Layout whole, const int *axes, int n, Py_ssize_t at, Py_ssize_t *index) noexcept:
    """The index of the element at a place in memory; `axes` go from the widest stride to the narrowest."""
    cdef int k
    if at < 0:
        return False
    for k in range(n):
        index[axes[k]] = at // whole.strides[axes[k]]
        if index[axes[k]] >= whole.dims[axes[k]]:
            return False
        at -= index[axes[k]] * whole.strides[axes[k]]
    return at == 0


cdef Layout region_in_c_order(Layout part, Py_ssize_t at, Layout whole, Py_ssize_t *offset):
    """Steps along an axis of the part are steps along axes of the whole, if none of them runs over an edge."""
    cdef int[9] axes
    cdef Py_ssize_t[9] first
    cdef Py_ssize_t[9] second
    cdef Py_ssize_t[9] low
    cdef Py_ssize_t[9] high
    cdef Py_ssize_t[9] place             # of one step along an axis of the whole, in C order
    cdef Py_ssize_t[9] strides
    cdef Py_ssize_t span = 0, step = 1
    cdef int n = 0, i, k, j
    offset[0] = at
    if whole.contiguous:
        return part
    if part.numel == 0:
        offset[0] = 0
        return part
    for i in range(whole.ndim - 1, -1, -1):
        place[i] = step
        step *= whole.dims[i]
        first[i] = second[i] = 0
        if whole.dims[i] == 1:
            continue
        j = n
        while j > 0 and whole.strides[axes[j - 1]] < whole.strides[i]:
            axes[j] = axes[j - 1]
            j -= 1
        axes[j] = i
        n += 1
    for k in range(n - 1, -1, -1):
        if whole.strides[axes[k]] <= span:               # repeated, backwards, or one over the other
            return None
        span += whole.strides[axes[k]] * (whole.dims[axes[k]] - 1)
    if not _index_of(whole, axes, n, at, first):
        return None
    offset[0] = 0
    for i in range(whole.ndim):
        low[i] = high[i] = first[i]
        offset[0] += first[i] * place[i]
    for k in range(part.ndim):
        strides[k] = 0
        if part.dims[k] == 1:
            continue
        if not _index_of(whole, axes, n, at + part.strides[k], second):
            return None
        for i in range(whole.ndim):
            step = second[i] - first[i]
            strides[k] += step * place[i]
            if step < 0:
                low[i] += step * (part.dims[k] - 1)
            else:
                high[i] += step * (part.dims[k] - 1)
    for i in range(whole.ndim):
        if low[i] < 0 or high[i] >= whole.dims[i]:
            return None
    return strided_layout(part.ndim, part.dims, strides)


cdef list shape_list(Layout a):
    cdef int i
    return [a.dims[i] for i in range(a.ndim)]


cdef str shape_text(Layout a):
    return str(shape_list(a))


cdef Py_ssize_t[1] _none
SCALAR_LAYOUT = contiguous_layout(0, _none)
