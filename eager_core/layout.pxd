from eager_core.dtypes cimport EAGER_MAX_NDIM

cdef extern from *:
    """
    #define EAGER_MAX_ELEMENTS (PY_SSIZE_T_MAX / 16)
    """
    Py_ssize_t MAX_ELEMENTS "EAGER_MAX_ELEMENTS"         # of the widest dtype: more have no size in bytes

cdef class Layout:
    """Shape and strides, never changed once made: tensors, nodes and saved values share it by reference."""
    cdef readonly int ndim
    cdef readonly bint contiguous            # C order without gaps (also when there are no elements)
    cdef readonly Py_ssize_t numel
    cdef Py_ssize_t[9] dims                  # shape; only the first ndim entries are set
    cdef Py_ssize_t[9] strides               # in elements; 0 repeats, negative runs backwards
    cdef Layout row                          # of x[i], once it was asked for: all rows share it

cdef Layout contiguous_layout(int ndim, const Py_ssize_t *dims)
cdef Layout strided_layout(int ndim, const Py_ssize_t *dims, const Py_ssize_t *strides)
cdef Layout row_layout(Layout a)                         # of x[i]; a has an axis
cdef Layout SCALAR_LAYOUT
cdef bint same_shape_slow(Layout a, Layout b) noexcept
cdef bint same_layout(Layout a, Layout b) noexcept       # shape and strides (strides of length-1 axes do not count)
cdef bint overlaps_itself(Layout a) noexcept             # may two indices reach one element?
cdef void span_of(Layout a, Py_ssize_t *low, Py_ssize_t *high) noexcept          # from the lowest to behind the highest, in elements
cdef bint apart(Layout a, Py_ssize_t at_a, Layout b, Py_ssize_t at_b) noexcept   # for sure: their spans share nothing
# Where a part of the whole's memory, `at` elements from its start, lies among the whole's elements in C order; None if strides cannot say.
cdef Layout region_in_c_order(Layout part, Py_ssize_t at, Layout whole, Py_ssize_t *offset)
cdef list shape_list(Layout a)
cdef str shape_text(Layout a)

cdef inline bint same_shape(Layout a, Layout b) noexcept:
    return a is b or same_shape_slow(a, b)
