"""The order of an eager operator (design, section 3), once for all operators and both forms.

``exp__dygraph_function`` and its several hundred siblings of the reference are this one function, driven by the operator's row.
"""
from cpython.object cimport PyObject
from libc.stdint cimport uint32_t, uint64_t

from eager_core._generated.op_ids cimport OP_ASSIGN
from eager_core.dtypes cimport DTYPES, EAGER_FLOAT32, KIND_COMPLEX, KIND_FLOAT
from eager_core.eager_utils cimport (
    check_inplace, compute_require_grad, forget_history, gradient_edge, make_view, move_capture, record_region_write, record_write,
    region_in_root, replace_history, root_of, view_node,
)
from eager_core.errors cimport permission_denied
from eager_core.grad_mode cimport grad_enabled
from eager_core.grad_node cimport GradNode, OperatorNode, new_accumulation_node, new_operator_node
from eager_core.layout cimport Layout, same_layout, same_shape
from eager_core.modes cimport modes_on
from eager_core.tensor cimport alias, wants_grad
from eager_core.op cimport FAMILY_SETITEM, SCALAR_FLOAT, begin_call, keep, op_name, op_row, release_call, rule_of
from eager_core.preserving cimport count_reshape, count_watched_write, will_be_put_by
from eager_core.profiling cimport has_begun, watched
from eager_core.rules_common cimport may_share
from eager_core.saved_hooks cimport hooks_in_use, pack_saved, packs_here
from eager_core.storage cimport bump_all, bump_region
from eager_core.tensor_wrapper cimport OUTPUT, save_meta, save_tensor
from eager_core.tracer cimport contiguous_copy, copy_into, trace_op
from eager_core.unrecorded cimport unrecorded_1, unrecorded_2, unrecorded_number
from eager_core.watched_call cimport CallNotes, begin_watched, end_watched
from eager_core.write_log cimport renumber

cdef enum:
    COPIED = 32                  # row.saved: a private copy, so that the input may change
    META_ONLY = 64               # row.saved: shape and dtype are enough
    INPUT = 15                   # row.saved: which


cdef object dygraph_function(OpCall *c):
    try:
        run_call(c)
        return <object>c.out
    finally:
        release_call(c)


cdef object outputs_of(OpCall *c):
    if c.more_out == NULL:
        return <object>c.out
    return (<object>c.out,) + <tuple>c.more_out


cdef int run_call(OpCall *c) except -1:
    if watched and not has_begun(c):
        return _watched_way(c)
    c.needs_grad = compute_require_grad(c)                           # ComputeRequireGrad
    if c.inplace:
        check_inplace(<TensorBase>c.x[0], c.needs_grad)              # CheckInplace
    rule_of(c.row)(c)                                                # every check that can refuse; the result; the kernel
    if c.is_view:
        return _finish_view(c)
    if c.nothing:
        return 0
    if c.inplace and c.new_layout != NULL:
        return _reshape_target(c, <TensorBase>c.x[0])
    if c.needs_grad and (c.inplace or _differentiable_result(c)):
        return _run_recorded(c)
    trace_op(c)                                                      # the GIL is released in here, and only here
    if c.inplace:
        _count_write(c)
        forget_history(<TensorBase>c.x[0])
    return 0


cdef int _run_watched(OpCall *c) except -1:
    """The same with somebody looking: a profile, the log, the advisor."""
    cdef CallNotes notes
    begin_watched(c, &notes)
    try:
        run_call(c)
    except BaseException:
        end_watched(c, &notes, True)
        raise
    end_watched(c, &notes, False)
    return 0


# By a pointer: the compiler would inline it, and every call would make room on the stack for it.
ctypedef int (*call_way)(OpCall *c) except -1
cdef call_way _watched_way = _run_watched


cdef int _run_recorded(OpCall *c) except -1:
    """The rest of the order for a call that leaves a node."""
    cdef OperatorNode node = None
    cdef GradNode before = None, value_edge = None
    cdef int before_slot = 0, value_slot = 0
    cdef TensorBase root
    # Everything about the old values comes first: edges to the present history, and what backward needs of the inputs.
    if c.inplace:
        root = root_of(<TensorBase>c.x[0])
        before = gradient_edge(root)
        before_slot = root.slot
    if c.row.family != FAMILY_SETITEM:
        node = _begin_node(c)
    elif c.n == 2 and c.x[1] != NULL:
        value_edge = gradient_edge(<TensorBase>c.x[1])
        value_slot = (<TensorBase>c.x[1]).slot
    if hooks_in_use and node is not None and packs_here():
        _run_packed(c, node)
    else:
        trace_op(c)
        if c.inplace:
            _count_write(c)
        if node is None:
            return _record_setitem(c, value_edge, value_slot, before, before_slot)
        _finish_node(c, node)
    if c.inplace:
        return record_write(<TensorBase>c.x[0], node, before, before_slot)      # SetHistory
    return _own(c, node)


cdef int _run_packed(OpCall *c, OperatorNode node) except -1:
    """The kernel, and a user's pack hook for each value that the node saves. A hook may fail, and then nothing has happened (S2.6)."""
    cdef TensorBase target, part, backup
    cdef Layout layout
    cdef uint64_t version
    cdef Py_ssize_t snapshots
    if not c.inplace:
        trace_op(c)
        _finish_node(c, node)
        return pack_saved(node)
    target = <TensorBase>c.x[0]
    part = <TensorBase>(c.written if c.written != NULL else c.x[0])
    part = alias(part, part.layout, part.data)                       # a hook may rebind the target's memory
    layout = target.layout
    version = part.storage.version.current
    snapshots = part.storage.version.snapshots
    backup = contiguous_copy(part, part.dtype)
    trace_op(c)
    renumber(part.storage, version + 1)                              # as it will be; where the write fell is remembered in the end
    try:
        _finish_node(c, node)
        pack_saved(node)
        if target.storage is not part.storage or target.layout is not layout or part.storage.version.current != version + 1:
            permission_denied(f"{op_name(c)}(): the pack hook has modified the tensor that is being written in place")
    except BaseException:
        node.clear()
        copy_into(part, backup)
        if part.storage.version.snapshots > snapshots or part.storage.version.current != version + 1:
            # The hook has made others keep what they saw.
            bump_region(part.storage, part.data, part.layout, DTYPES[part.dtype].itemsize, c.row.id)
        else:
            renumber(part.storage, version)
        raise
    renumber(part.storage, version)
    return _count_write(c)


cdef int _count_write(OpCall *c) except -1:
    """The version moves, and the storage remembers where (S4.5, S5.13)."""
    cdef TensorBase part = <TensorBase>(c.written if c.written != NULL else c.x[0])
    if c.old_bytes != NULL:
        return count_watched_write(c, part)
    return bump_region(part.storage, part.data, part.layout, DTYPES[part.dtype].itemsize, c.row.id)


cdef bint _differentiable_result(OpCall *c) noexcept:
    """S9.24: only floating point and complex results have a gradient."""
    return (<TensorBase>c.out).dtype >= EAGER_FLOAT32


cdef OperatorNode _begin_node(OpCall *c):
    cdef OperatorNode node = new_operator_node(c.row)
    cdef GradNode edge
    cdef TensorBase x
    cdef int i, source, slot
    cdef uint32_t wanted = 0
    cdef bint held = False
    cdef bint constant = False
    if c.inplace and c.stage != NULL:
        # The result is converted to the target's dtype (S7.2): an integer one carries no gradient (S9.24), a real one only a real gradient.
        constant = (<TensorBase>c.stage).dtype < EAGER_FLOAT32
        node.real_part = DTYPES[(<TensorBase>c.stage).dtype].kind == KIND_FLOAT and DTYPES[(<TensorBase>c.out).dtype].kind == KIND_COMPLEX
    for i in range(c.n):
        if c.x[i] != NULL and not constant and (c.row.n_tensors < 0 or c.row.differentiable >> i & 1):
            x = <TensorBase>c.x[i]
            edge = gradient_edge(x)
            slot = x.slot
            if edge is not None:
                wanted |= 1u << (i if i < 31 else 31)        # unsigned throughout: else the shift is made of Python's numbers
        else:
            edge = None
            slot = 0
        if i == 0:
            node.next_0 = edge
            node.slot_0 = slot
        elif i == 1:
            node.next_1 = edge
            node.slot_1 = slot
        else:
            node.set_edge(i, edge, slot)
    node.n_edges = c.n
    if c.row.n_attrs or c.scalar_at >= 0:
        _keep_attributes(c, node)
    if c.row.n_saved == 0:
        return node
    node.reserve_saved(c.row.n_saved)
    for i in range(c.row.n_saved):
        source = c.row.saved[i]
        if source & OUTPUT or not c.row.uses[i] & wanted:
            continue
        if c.x[source & INPUT] == NULL:
            continue
        x = <TensorBase>c.x[source & INPUT]
        if source & META_ONLY:
            save_meta(node, i, x, source & INPUT)
        elif source & COPIED or (c.inplace and (source == 0 or may_share(x, <TensorBase>c.x[0])) and not will_be_put_by(c)):
            # S6.3, S6.5: the kernel is about to overwrite it. The copy keeps the old history: that of the node's own edge.
            if not held:
                _hold_memory(c)
                held = True
            save_tensor(node, i, contiguous_copy(x, x.dtype), source & INPUT)
        else:
            save_tensor(node, i, x, source)
    return node


cdef int _hold_memory(OpCall *c) except -1:
    """The call is planned; a thread that rebinds a tensor's memory while a copy is made must not take it away from the kernel."""
    cdef int i
    for i in range(min(c.n, 3)):
        if c.x[i] != NULL:
            keep(c, (<TensorBase>c.x[i]).storage)
    return 0


cdef int _keep_attributes(OpCall *c, OperatorNode node) except -1:
    cdef int i
    cdef bint objects = False
    for i in range(c.row.n_attrs):
        if i < 3:
            node.attrs[i].f = c.attrs[i].f
            node.attrs[i].i = c.attrs[i].i
        objects = objects or c.attrs[i].o != NULL
    if c.scalar_at >= 0:
        # A Python number in a formula is attribute 0, and 1 for its imaginary part.
        node.attrs[0].f = c.scalar_real
        node.attrs[1].f = c.scalar_imag
    if objects:
        node.attr_objects = tuple([None if c.attrs[i].o == NULL else <object>c.attrs[i].o for i in range(c.row.n_attrs)])
    return 0


cdef int _finish_node(OpCall *c, OperatorNode node) except -1:
    """Outputs: what a gradient must look like, and those that backward needs, as they are after the bump (S2.3)."""
    cdef TensorBase out = <TensorBase>c.out, saved
    cdef int i, source
    node.out_layout = out.layout
    node.out_dtype = out.dtype
    if c.more_out != NULL:
        node.more_outputs = [((<TensorBase>one).layout, (<TensorBase>one).dtype) for one in <tuple>c.more_out]
        node.n_outputs += len(node.more_outputs)
    for i in range(c.row.n_saved):
        source = c.row.saved[i]
        if source & OUTPUT and _is_used(node, c.row.uses[i]):
            saved = out if source & 15 == 0 else <TensorBase>(<tuple>c.more_out)[(source & 15) - 1]
            if source & META_ONLY:
                save_meta(node, i, saved, source & ~META_ONLY)
            else:
                save_tensor(node, i, saved, source)
    return 0


cdef inline bint _is_used(OperatorNode node, unsigned int uses) noexcept:
    """Whether a gradient that needs the value is wanted: x ** 2 must not keep its result alive."""
    cdef int i
    if (uses & 1 and node.next_0 is not None) or (uses & 2 and node.next_1 is not None):
        return True
    for i in range(2, node.n_edges):
        if uses >> min(i, 31) & 1 and node.edge(i) is not None:
            return True
    return False


cdef int _own(OpCall *c, GradNode node) except -1:
    """New results belong to the node."""
    cdef TensorBase out = <TensorBase>c.out
    cdef int slot = 0
    out.grad_node = node
    out._stop_gradient = False
    if c.more_out != NULL:
        for one in <tuple>c.more_out:
            slot += 1
            out = <TensorBase>one
            if out.dtype >= EAGER_FLOAT32:
                out.grad_node = node
                out.slot = slot
                out._stop_gradient = False
    return 0


cdef int _record_setitem(OpCall *c, GradNode value_edge, int value_slot, GradNode before, int before_slot) except -1:
    """The written region's gradient goes to the value, the rest on to the previous history."""
    cdef TensorBase root = root_of(<TensorBase>c.x[0]), part = <TensorBase>c.written
    cdef Layout region
    cdef Py_ssize_t offset
    if c.region != NULL:
        region = <Layout>c.region
        offset = c.region_offset
    else:
        region = region_in_root(part, root, &offset)
    return record_region_write(root, region, offset, value_edge, value_slot, before, before_slot)


cdef int _finish_view(OpCall *c) except -1:
    cdef TensorBase copied
    if c.out != NULL:
        return make_view(c, <TensorBase>c.out, <TensorBase>c.x[0])
    # No strides can express the new shape over the old memory: copy (recorded), then look at the copy.
    copied = call_1(OP_ASSIGN, <TensorBase>c.x[0])
    c.x[0] = keep(c, copied)
    rule_of(c.row)(c)
    return make_view(c, <TensorBase>c.out, copied)


cdef int _reshape_target(OpCall *c, TensorBase target) except -1:
    """reshape_ and its kin: the same memory in another shape (S2.4)."""
    cdef Layout layout = <Layout>c.new_layout
    cdef GradNode node = None, before = target.grad_node
    if c.needs_grad:
        edge = gradient_edge(target)
        node = view_node(c.row, target, edge, target.slot, layout if c.region == NULL else <Layout>c.region, 0)
        node.out_layout = layout
        node.inplace = True
    elif not grad_enabled() and (wants_grad(target) if target.root is not None else target.grad_node is not None):
        # A constant with a hidden history, too: stop_gradient=False would bring it back (S3.7).
        permission_denied(f"{op_name(c)}(): the shape of a tensor with history cannot change under no_grad(): its gradient would come "
                          "back in the old shape")
    target.layout = layout
    bump_all(target.storage, c.row.id)
    if modes_on or target.storage.log is not None:
        count_reshape(target, c.row.id)
    if node is not None and target.root is None:
        replace_history(target, node)
    elif node is not None:
        # No element of the root has changed: only the view has a new node, on top of its old one.
        target.grad_node = node
        target.slot = 0
        target.generation = (<TensorBase>target.root).generation
        if target.retains:
            move_capture(target.accumulator, before, node, 0)
    elif target.root is not None and target.grad_node is not None:
        # A view that changed its shape: its old node's gradients have the old shape.
        target.generation = (<TensorBase>target.root).generation - 1
    else:
        forget_history(target)
        if target.root is None:
            _new_leaf_shape(target, layout)
    return 0


cdef int _new_leaf_shape(TensorBase leaf, Layout layout) except -1:
    """S9.10: a graph built before knows the old shape, and must say so instead of accumulating."""
    if leaf.accumulator is not None:
        old = leaf.accumulator
        old.stale = True
        leaf.accumulator = new_accumulation_node(layout, leaf.dtype, leaf._name)
        leaf.accumulator.grad = old.grad
        if same_shape(old.out_layout, layout) and not same_layout(old.out_layout, layout):
            leaf.accumulator.outdated = old.grad             # a square transposed: the shape does not tell
        leaf.accumulator.hooks = old.hooks
    return 0


# ---- operators by number ---------------------------------------------------------------------------------------------------------------

cdef TensorBase call_1(int op, TensorBase x):
    return reuse_1(op, x, 0)


cdef TensorBase call_2(int op, TensorBase x, TensorBase y):
    return reuse_2(op, x, y, 0, 0)


cdef TensorBase call_number(int op, TensorBase x, double number, bint number_first):
    return reuse_number(op, x, number, number_first, 0)


cdef TensorBase reuse_1(int op, TensorBase x, int spare):
    cdef OpCall c
    cdef TensorBase made
    if not grad_enabled():
        made = unrecorded_1(op_row(op), x, spare)
        if made is not None:
            return made
    begin_call(&c, op_row(op), False)
    c.inline_x[0] = <PyObject *>x
    return <TensorBase>dygraph_function(&c)


cdef TensorBase reuse_2(int op, TensorBase x, TensorBase y, int spare_x, int spare_y):
    cdef OpCall c
    cdef TensorBase made
    if not grad_enabled():
        made = unrecorded_2(op_row(op), x, y, spare_x, spare_y)
        if made is not None:
            return made
    begin_call(&c, op_row(op), False)
    c.inline_x[0] = <PyObject *>x
    c.inline_x[1] = <PyObject *>y
    return <TensorBase>dygraph_function(&c)


cdef TensorBase reuse_number(int op, TensorBase x, double number, bint number_first, int spare):
    cdef OpCall c
    cdef TensorBase made
    if not grad_enabled():
        made = unrecorded_number(op_row(op), x, number, number_first, spare)
        if made is not None:
            return made
    begin_call(&c, op_row(op), False)
    c.inline_x[number_first] = <PyObject *>x
    c.scalar_at = 0 if number_first else 1
    c.scalar_kind = SCALAR_FLOAT
    c.scalar_real = number
    c.scalar_imag = 0.0
    return <TensorBase>dygraph_function(&c)


cdef TensorBase call_3(int op, TensorBase x, TensorBase y, TensorBase z):
    cdef OpCall c
    begin_call(&c, op_row(op), False)
    c.inline_x[0] = <PyObject *>x
    c.inline_x[1] = <PyObject *>y
    c.inline_x[2] = <PyObject *>z
    return <TensorBase>dygraph_function(&c)


cdef TensorBase call_ints(int op, TensorBase x, TensorBase y, long long a, long long b):
    cdef OpCall c
    begin_call(&c, op_row(op), False)
    c.inline_x[0] = <PyObject *>x
    if y is not None:
        c.inline_x[1] = <PyObject *>y
    c.attrs[0].i = a
    c.attrs[1].i = b
    return <TensorBase>dygraph_function(&c)


cdef TensorBase call_object(int op, TensorBase x, TensorBase y, object attribute):
    cdef OpCall c
    begin_call(&c, op_row(op), False)
    c.inline_x[0] = <PyObject *>x
    if y is not None:
        c.inline_x[1] = <PyObject *>y
    c.attrs[0].o = <PyObject *>attribute
    return <TensorBase>dygraph_function(&c)


cdef TensorBase call_2_in_place(int op, TensorBase x, TensorBase y):
    cdef OpCall c
    begin_call(&c, op_row(op), True)
    c.inline_x[0] = <PyObject *>x
    c.inline_x[1] = <PyObject *>y
    return <TensorBase>dygraph_function(&c)
