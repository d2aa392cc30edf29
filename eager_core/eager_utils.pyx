"""ComputeRequireGrad, CheckInplace, PassStopGradient, SetHistory: what operators do to the history of tensors.

A view points at its root, the tensor whose memory it looks into and which is never a view itself. The root counts its histories
(`generation`). A view has a node of its own, made when it is taken; once the root's history has moved on, the view gets a new node, whose
one edge adds into the view's region of the root's gradient.
"""
from eager_core._generated.op_ids cimport OP_REGION_WRITE, OP_VIEW
from eager_core.dtypes cimport DTYPES
from eager_core.errors cimport leaf_error, permission_denied
from eager_core.grad_mode cimport grad_enabled
from eager_core.grad_node cimport new_accumulation_node, new_node
from eager_core.layout cimport region_in_c_order
from eager_core.tensor cimport HAS_LEAF, HAS_RESULT, wants_grad
from eager_core.op cimport op_row
from eager_core.write_guard cimport before_write, guards_in_use


cdef bint compute_require_grad(OpCall *c) noexcept:
    """ComputeRequireGrad: grad mode is on and some input wants a gradient that this operator has a say in."""
    cdef int i
    if not grad_enabled() or not (c.row.differentiable or c.inplace):
        return False
    for i in range(c.n):
        if c.x[i] != NULL and wants_grad(<TensorBase>c.x[i]):
            return True
    return False


cdef int check_inplace(TensorBase target, bint require_any_grad) except -1:
    """CheckInplace (S3): refuse, before anything is written, a write whose gradient could not be told."""
    cdef TensorBase root
    cdef Py_ssize_t offset
    if guards_in_use:
        before_write(target)
    if not grad_enabled():
        return 0
    root = target
    if target.root is None:
        if not target._stop_gradient and target.grad_node is None:
            leaf_error(target._name)
    else:
        root = <TensorBase>target.root
        if not root._stop_gradient and root.grad_node is None:
            leaf_error(root._name)                                                               # S3.6
        if target.made_under_no_grad and (require_any_grad or not root._stop_gradient):
            permission_denied(f"View ({target._name}) was made under no_grad() and can't use inplace strategy in grad mode: its tensor "
                              "would lose the gradient. Make the view in grad mode, or write under no_grad() (S8.6).")
        if target.pinned and (require_any_grad or not root._stop_gradient):
            permission_denied(f"View ({target._name}) has stop_gradient=True, but the tensor it is a part of requires grad or would, "
                              "and it can't use inplace strategy. Write through another view, or under no_grad().")
        if require_any_grad:
            region_in_root(target, root, &offset)
    if root.has_alias == HAS_LEAF:
        leaf_error(root._name)
    if root.has_alias == HAS_RESULT:
        permission_denied(f"Tensor ({root._name}) shares its memory with an input or another output of a custom function and can't use "
                          "inplace strategy: the other one would change without its history. Write to a clone() of it.")
    return 0


cdef int _rebound(TensorBase view) except -1:
    permission_denied(f"the memory of the tensor that view ({view._name}) was taken from has been rebound (its .data was assigned). "
                      "Take the view again.")


cdef TensorBase root_of(TensorBase t):
    return t if t.root is None else <TensorBase>t.root


cdef AccumulationNode leaf_node(TensorBase t):
    if t.accumulator is None:
        t.accumulator = new_accumulation_node(t.layout, t.dtype, t._name)
    return t.accumulator


cdef bint is_leaf(TensorBase t) noexcept:
    if t.root is None:
        return t.grad_node is None
    return not wants_grad(t)


cdef GradNode view_node(OpRow *row, TensorBase view, GradNode source, int slot, Layout region, Py_ssize_t offset):
    """Identity whose one edge adds into a region: `region` and `offset` count elements of the source's gradient, which is in C order."""
    cdef GradNode node = new_node(row)
    node.out_layout = view.layout
    node.out_dtype = view.dtype
    node.set_edge(0, source, slot)
    node.region = region
    node.region_offset = offset
    return node


cdef GradNode gradient_edge(TensorBase t):
    if t.root is not None:
        return _view_edge(t)
    if t._stop_gradient:
        return None
    if t.grad_node is not None:
        return t.grad_node
    return leaf_node(t)


cdef GradNode _view_edge(TensorBase t):
    cdef TensorBase root
    cdef GradNode before = t.grad_node, node
    cdef Py_ssize_t offset
    if t.pinned:
        return None
    root = <TensorBase>t.root
    if before is not None and t.generation == root.generation:
        return before
    if root._stop_gradient:
        return None
    region = region_in_root(t, root, &offset)
    node = view_node(op_row(OP_VIEW), t, gradient_edge(root), root.slot, region, offset)
    if before is not None:
        # Written through somebody else: hooks follow the view and may fire once per version, and the retained gradient is that
        # of the newest value (S9.12, S9.13).
        node.hooks = before.hooks
        if t.retains:
            move_capture(t.accumulator, before, node, 0)
    t.grad_node = node
    t.slot = 0
    t.generation = root.generation
    return node


cdef Layout region_in_root(TensorBase part, TensorBase root, Py_ssize_t *offset):
    """Where the part lies among the root's elements in C order, as gradients do."""
    cdef Layout region
    if part.storage is not root.storage:
        _rebound(part)
    region = region_in_c_order(part.layout, (part.data - root.data) // DTYPES[part.dtype].itemsize, root.layout, offset)
    if region is None:
        permission_denied(f"view ({part._name}) cannot be described as a region of the tensor it was taken from: the axes of that tensor "
                          "have changed places, or the view runs across them. clone() the tensor before taking such views of it.")
    return region


cdef int make_view(OpCall *c, TensorBase view, TensorBase source) except -1:
    """Tie a view to its root and, if a gradient will be wanted, to the node of what it was taken from (S8.1)."""
    cdef TensorBase root = root_of(source)
    view.root = root
    view.generation = root.generation
    view.pinned = source.pinned
    view._stop_gradient = True
    if not grad_enabled():
        view.made_under_no_grad = True
        view.pinned = view.pinned or wants_grad(source)
        return 0
    view.made_under_no_grad = source.made_under_no_grad
    if wants_grad(source):
        # Not the root's node: a hook on the source, now or later, sees what comes from its views.
        edge = gradient_edge(source)
        view.grad_node = view_node(
            c.row, view, edge, source.slot, view.layout if c.region == NULL else <Layout>c.region,
            (view.data - source.data) // DTYPES[view.dtype].itemsize if c.region == NULL else c.region_offset)
    return 0


cdef void move_capture(AccumulationNode cell, GradNode before, GradNode after, int slot):
    """The retained gradient of a tensor is that of its newest value."""
    if before is not None and before.captures is not None:
        before.captures = [entry for entry in before.captures if entry[1] is not cell]
    if after.captures is None:
        after.captures = []
    after.captures.append((slot, cell))
    cell.out_layout = after.output_layout(slot)


cdef void drop_capture(TensorBase t):
    """The history was cut: what arrives at the old node is no gradient of the value that the tensor has now."""
    if t.retains and t.grad_node is not None and t.grad_node.captures is not None:
        t.grad_node.captures = [entry for entry in t.grad_node.captures if entry[1] is not t.accumulator]


cdef void replace_history(TensorBase root, GradNode node):
    """SetHistory: the tensor's value is now output 0 of `node`; views made before see the new number and renew their nodes."""
    cdef GradNode before = root.grad_node
    root.grad_node = node
    root.slot = 0
    root._stop_gradient = False
    root.generation += 1
    if root.retains:
        move_capture(root.accumulator, before, node, 0)


cdef int record_region_write(TensorBase root, Layout region, Py_ssize_t offset, GradNode value, int value_slot,
                             GradNode before, int before_slot) except -1:
    """A region of the root was overwritten by something whose gradient goes to `value` (None: a constant)."""
    cdef GradNode node = new_node(op_row(OP_REGION_WRITE))
    node.out_layout = root.layout
    node.out_dtype = root.dtype
    node.region = region
    node.region_offset = offset
    node.set_edge(0, before, before_slot)
    node.set_edge(1, value, value_slot)
    replace_history(root, node)
    return 0


cdef int record_write(TensorBase target, GradNode node, GradNode before, int before_slot) except -1:
    """`node` made the new value of the target in place; `before` is the root's edge from before the write."""
    cdef TensorBase root
    cdef GradNode old = target.grad_node
    cdef Py_ssize_t offset
    node.inplace = True
    if target.root is None:
        replace_history(target, node)
        return 0
    root = <TensorBase>target.root
    region = region_in_root(target, root, &offset)
    record_region_write(root, region, offset, node, 0, before, before_slot)
    # Like every other view it is now a part of the root's new value, and renews its node when it is used: what is computed from it
    # depends on the root. Hooks stay with the value they were put on; the retained gradient is that of the new one.
    target.grad_node = node
    target.slot = 0
    target.generation = root.generation - 1
    if target.retains:
        move_capture(target.accumulator, old, node, 0)
        _view_edge(target)
    return 0


cdef void forget_history(TensorBase target) noexcept:
    """S3.7: an unrecorded write in grad mode to a non-leaf that was set stop_gradient=True cuts its history for good."""
    cdef TensorBase root = target if target.root is None else <TensorBase>target.root
    if root.grad_node is not None and root._stop_gradient and grad_enabled():
        drop_capture(root)
        root.grad_node = None
        root.slot = 0
        root.generation += 1


cdef int retain_on(TensorBase t) except -1:
    """RetainGrad: capture the gradient at the node of the newest value (S9.13)."""
    cdef GradNode node = gradient_edge(t)
    if t.retains or node is None or is_leaf(t):
        return 0
    t.retains = True
    t.accumulator = new_accumulation_node(t.layout, t.dtype, t._name)
    if node.captures is None:
        node.captures = []
    node.captures.append((t.slot, t.accumulator))
    return 0
