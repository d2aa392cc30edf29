"""GradTensorHolder: gradients that arrive are collected, and made, added up, cut and fitted.

What nobody else can see is changed in place; everything else is copied first.
"""
from cpython.object cimport PyObject
from cpython.ref cimport Py_CLEAR, Py_INCREF
from libc.string cimport memset

from eager_core._generated.op_ids cimport OP_ADD, OP_ASSIGN, OP_CAST, OP_REAL, OP_REGION_WRITE, OP_SUM, OP_RESHAPE, OP_VIEW, OP_ZERO
from eager_core.dtypes cimport DTYPES, KIND_COMPLEX
from eager_core.dygraph cimport call_1, call_2, call_2_in_place, call_ints, call_object, dygraph_function
from eager_core.eager_utils cimport gradient_edge, view_node
from eager_core.errors cimport invalid_argument
from eager_core.grad_mode cimport grad_enabled
from eager_core.layout cimport contiguous_layout, same_layout, same_shape, shape_list, shape_text
from eager_core.op cimport FAMILY_BINARY, FAMILY_BROADCAST, FAMILY_MATMUL, FAMILY_TERNARY, OpCall, begin_call, op_row
from eager_core.tensor cimport alias, empty_tensor, number_tensor, wants_grad
from eager_core.tracer cimport KEEP_GIL_BELOW, fill
from eager_core.unrecorded cimport add_into_region, add_same, copy_of_region, fill_region


# ---- collecting ------------------------------------------------------------------------------------------------------------------------

cdef int hold_region(GradTensorHolder *held, TensorBase g, Layout region, Py_ssize_t offset) except -1:
    if held.dense == NULL and held.pieces == NULL:
        Py_INCREF(g)
        held.dense = <PyObject *>g
        Py_INCREF(region)
        held.region = <PyObject *>region
        held.offset = offset
        return 0
    if held.region != NULL:
        if held.offset == offset and same_layout(<Layout>held.region, region) and (<TensorBase>held.dense).dtype == g.dtype:
            return add_to_dense(held, g)
        list_region(held)
    elif held.dense != NULL:
        if not _may_be_written(held.dense):
            replace(&held.dense, call_1(OP_ASSIGN, <TensorBase>held.dense))
        return add_region(<TensorBase>held.dense, region, offset, g)
    return _list_piece(held, g, region, offset)


cdef inline bint _may_be_written(PyObject *dense) noexcept:
    """In place, by regions, which count elements in C order."""
    return exclusive(dense) and (<TensorBase>dense).layout.contiguous


cdef int add_to_dense(GradTensorHolder *held, TensorBase g) except -1:
    if grad_enabled() or not exclusive(held.dense) or not add_same(<TensorBase>held.dense, g):
        replace(&held.dense, call_2(OP_ADD, <TensorBase>held.dense, g))
    return 0


cdef int _list_piece(GradTensorHolder *held, object g, object region, Py_ssize_t offset) except -1:
    if held.pieces == NULL:
        replace(&held.pieces, [])
    (<list>held.pieces).append((g, region, offset))
    return 0


cdef int list_region(GradTensorHolder *held) except -1:
    _list_piece(held, <object>held.dense, <object>held.region, held.offset)
    Py_CLEAR(held.dense)
    Py_CLEAR(held.region)
    return 0


cdef int settle(GradTensorHolder *held, GradNode node, int slot) except -1:
    if held.region != NULL:
        list_region(held)
    if held.pieces == NULL and (held.dense != NULL or not held.zeros):
        return 0
    if held.dense == NULL:
        replace(&held.dense, zeros(node.output_layout(slot), node.output_dtype(slot)))
    elif not _may_be_written(held.dense):
        replace(&held.dense, call_1(OP_ASSIGN, <TensorBase>held.dense))
    if held.pieces != NULL:
        pieces = <object>held.pieces
        Py_CLEAR(held.pieces)
        for g, region, offset in pieces:
            add_region(<TensorBase>held.dense, <Layout>region, offset, <TensorBase>g)
    return 0


# ---- making and cutting ----------------------------------------------------------------------------------------------------------------

cdef TensorBase zeros(Layout layout, int dtype):
    cdef TensorBase made = empty_tensor(layout, dtype)
    if layout.numel < KEEP_GIL_BELOW:
        memset(made.data, 0, layout.numel * DTYPES[dtype].itemsize)
    else:
        fill(made, 0.0)
    return made


cdef TensorBase ones(Layout layout, int dtype):
    cdef TensorBase made
    if layout.numel == 1:
        return number_tensor(1.0, 0.0, layout, dtype)
    made = empty_tensor(layout, dtype)
    fill(made, 1.0)
    return made


cdef TensorBase region_view(TensorBase g, Layout region, Py_ssize_t offset):
    """A differentiable view of a gradient that lies in C order."""
    cdef TensorBase view = alias(g, region, g.data + offset * DTYPES[g.dtype].itemsize)
    view.root = g
    view.generation = g.generation
    if grad_enabled() and wants_grad(g):
        view.grad_node = view_node(op_row(OP_VIEW), view, gradient_edge(g), g.slot, region, offset)
    return view


# The three things that are done to a region of a gradient. Recorded (create_graph) they are operators on a view like any other; else they
# are kernels on memory that nobody else sees, which costs a third.

cdef TensorBase copy_region(TensorBase g, Layout region, Py_ssize_t offset):
    if grad_enabled():
        return call_1(OP_ASSIGN, region_view(g, region, offset))
    return copy_of_region(g, region, g.data + offset * DTYPES[g.dtype].itemsize)


cdef int zero_region(TensorBase g, Layout region, Py_ssize_t offset) except -1:
    cdef OpCall c
    if not grad_enabled():
        return fill_region(g, region, g.data + offset * DTYPES[g.dtype].itemsize, 0.0)
    view = region_view(g, region, offset)
    begin_call(&c, op_row(OP_ZERO), True)
    c.inline_x[0] = <PyObject *>view
    dygraph_function(&c)
    return 0


cdef int add_region(TensorBase g, Layout region, Py_ssize_t offset, TensorBase piece) except -1:
    if not grad_enabled() and piece.dtype == g.dtype:
        return add_into_region(g, region, g.data + offset * DTYPES[g.dtype].itemsize, piece)
    call_2_in_place(OP_ADD, region_view(g, region, offset), piece)
    return 0


# ---- fitting ---------------------------------------------------------------------------------------------------------------------------

cdef TensorBase in_shape(TensorBase g, Layout layout):
    if same_shape(g.layout, layout):
        return g
    if grad_enabled() and wants_grad(g):
        return call_object(OP_RESHAPE, g, None, tuple(shape_list(layout)))
    return alias(g, contiguous_layout(layout.ndim, layout.dims), g.data)


cdef TensorBase sum_to(TensorBase g, Layout target):
    """Undo a broadcast: sum the axes that were repeated (S7.1)."""
    cdef int i, extra = g.layout.ndim - target.ndim
    axes = list(range(max(extra, 0)))
    for i in range(max(extra, 0), g.layout.ndim):
        if target.dims[i - extra] != g.layout.dims[i]:
            if target.dims[i - extra] != 1:
                break
            axes.append(i)
    else:
        if axes:
            g = call_object(OP_SUM, g, None, tuple(axes))
        if not same_shape(g.layout, target):
            g = call_object(OP_RESHAPE, g, None, tuple(shape_list(target)))
        return g
    invalid_argument(f"a gradient of shape {shape_text(g.layout)} arrived for a value of shape {shape_text(target)}")


cdef bint _broadcasts(GradNode source) noexcept:
    """Whether the operator may have repeated its inputs, so that their gradients are to be summed; None: a seed."""
    cdef int family
    if source is None or source.row == NULL:
        return False
    family = source.row.family
    return (family == FAMILY_BINARY or family == FAMILY_TERNARY or family == FAMILY_MATMUL or family == FAMILY_BROADCAST
            or source.row.id == OP_REGION_WRITE)


cdef TensorBase real_part(TensorBase g):
    return call_1(OP_REAL, g) if DTYPES[g.dtype].kind == KIND_COMPLEX else g


cdef TensorBase fit(TensorBase g, GradNode source, GradNode target, int slot):
    """Make a gradient look like the value it belongs to: shape, then dtype (S7.1, S7.3)."""
    cdef Layout layout = target.out_layout if slot == 0 else target.output_layout(slot)
    cdef int dtype = target.out_dtype if slot == 0 else target.output_dtype(slot)
    if not same_shape(g.layout, layout):
        if not _broadcasts(source):
            giver = "backward" if source is None else source.name()
            invalid_argument(f"{giver} gave a gradient of shape {shape_text(g.layout)} for a value of shape {shape_text(layout)}. "
                             "Was the shape of the value changed after it was used?")
        g = sum_to(g, layout)
    if g.dtype != dtype:
        if DTYPES[dtype].kind != KIND_COMPLEX:
            g = real_part(g)
        if g.dtype != dtype:
            g = call_ints(OP_CAST, g, None, dtype, 0)
    return g
