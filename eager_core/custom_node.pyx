"""PyLayer: a node whose backward is a user's Python function (S12.4 to S12.8).

``apply_layer`` runs forward unrecorded, with a guard on the inputs, and then makes one node. Everything that can refuse comes before the
first change to any tensor; if something does, forward's writes to the inputs are taken back. The node holds the context, never the other
way round but while backward runs, so a graph is freed by reference counts unless the user ties a knot.
"""
from cpython.object cimport PyObject

from eager_core._generated.op_ids cimport OP_ASSIGN, OP_PY_LAYER, OP_PY_LAYER_GRAD, OP_VIEW
from eager_core.dtypes cimport DTYPES, EAGER_FLOAT32
from eager_core.dygraph cimport call_1
from eager_core.eager_utils cimport check_inplace, gradient_edge, is_leaf, record_write, root_of, view_node
from eager_core.engine cimport register_backward
from eager_core.errors cimport invalid_argument, invalid_type, permission_denied, precondition_not_met, unavailable
from eager_core.grad_mode cimport grad_enabled, set_grad_enabled
from eager_core.grad_node cimport GradNode, OperatorNode, new_operator_node
from eager_core.grad_tensor_holder cimport exclusive, zeros
from eager_core.layout cimport contiguous_layout, same_layout, same_shape, shape_text
from eager_core.modes cimport modes_on
from eager_core.native_gradients cimport give
from eager_core.op cimport op_row
from eager_core.provenance cimport note_write
from eager_core.saved_hooks cimport hooks_in_use, pack_saved, packs_here
from eager_core.storage cimport bump_region, untouched
from eager_core.tensor cimport HAS_RESULT, TensorBase, alias, is_tensor, private_copy, type_name, wants_grad
from eager_core.tensor_wrapper cimport OUTPUT, give_history, save_tensor, value_of
from eager_core.write_guard cimport ForwardGuard
from eager_core.write_log cimport count_harmless, drop_snapshot, renumber, take_snapshot


cdef class LayerContext:
    """What `PyLayerContext` is built on: what forward tells about its results, and what it keeps for backward."""
    cdef public bint materialize_grads
    cdef public tuple not_inplace_tensors
    cdef public tuple non_differentiable
    cdef tuple container             # given to save_for_backward; let go when forward has ended
    cdef list kept                   # the same as aliases, or None: tensors may be rebound
    cdef list versions               # of their memory at that time
    cdef list origins                # of each saved value: input number, -1 - output number, or None
    cdef bint once
    cdef OperatorNode node           # while backward runs, and only then
    cdef int running

    def __cinit__(self, *args, **kwargs):
        self.materialize_grads = True
        self.not_inplace_tensors = ()
        self.non_differentiable = ()

    def save_for_backward(self, *tensors):
        """Keep tensors for backward, with the protection that operators have: a write to one of them makes backward refuse."""
        cdef TensorBase t, one
        for k, given in enumerate(tensors):
            if given is not None and not is_tensor(given):
                invalid_type(f"save_for_backward() takes Tensors and None, but got {type_name(given)} at pos {k}. Other values go on ctx "
                             "as attributes")
        if self.node is not None:
            permission_denied("save_for_backward() is for forward; what backward has saved nobody would ask for")
        self.let_go()
        self.container = tensors
        self.kept = []
        self.versions = []
        for given in tensors:
            if given is None:
                self.kept.append(None)
                self.versions.append(0)
                continue
            t = <TensorBase>given
            one = private_copy(t) if t.storage.version.outsiders else alias(t, t.layout, t.data)
            one._name = t._name
            take_snapshot(one.storage, one.data, one.layout, DTYPES[one.dtype].itemsize)
            self.kept.append(one)
            self.versions.append(one.storage.version.current)

    def saved_tensor(self):
        """Return the tensors given to `save_for_backward`, a tuple."""
        if self.node is not None:
            return tuple([_recovered(self, self.node, k) for k in range(len(self.origins))]) if self.origins is not None else ()
        if self.origins is not None:
            precondition_not_met("saved_tensor() can be called in forward and in backward only: what was saved belongs to the graph")
        return () if self.container is None else self.container

    cdef int let_go(self) except -1:
        if self.kept is not None:
            for one, version in zip(self.kept, self.versions):
                if one is not None:
                    drop_snapshot((<TensorBase>one).storage, version)
        self.kept = None
        self.versions = None
        self.container = None
        return 0


cdef TensorBase _recovered(LayerContext ctx, OperatorNode node, int k):
    cdef TensorBase made
    cdef GradNode edge
    if node.saved[k].layout == NULL:
        return None
    made = value_of(node, k)
    if not grad_enabled():
        return made
    # create_graph: the value gets the history of the version that was saved (S5.10).
    origin = ctx.origins[k]
    if origin is None:
        if made.dtype >= EAGER_FLOAT32:
            unavailable(f"saved tensor {k} of {node.name()} is neither an input nor an output of forward, so it has no history, and a "
                        "second derivative that passes through it would be wrong. Return it as an output too, or compute it from the "
                        "inputs in backward; a constant may be kept on ctx as an attribute")
    elif origin < 0:
        give_history(made, node, -1 - origin)
    else:
        edge = node.edge(origin)
        if edge is not None:
            give_history(made, edge, node.edge_slot(origin))
    return made


cdef inline int _index(object wanted, object tensors) except -2:
    """Tensors compare elementwise; these are looked for by identity."""
    cdef int i = 0
    for one in tensors:
        if one is wanted:
            return i
        i += 1
    return -1


# ---- forward ---------------------------------------------------------------------------------------------------------------------------

def apply_layer(str name not None, LayerContext ctx not None, forward, backward, bint once, list inputs not None, tuple args not None,
                dict kwargs not None):
    """Run a custom function's forward and record its node."""
    cdef ForwardGuard guard
    cdef OperatorNode node
    cdef GradNode edge
    cdef TensorBase t
    cdef bint wanted = False
    cdef int i
    cdef list before = []
    for one in inputs:
        wanted = wanted or wants_grad(<TensorBase>one)
    if not wanted or not grad_enabled():
        try:
            return _unrecorded(ctx, _called(forward, ctx, args, kwargs), inputs)
        finally:
            ctx.let_go()
    # Edges to the history that the inputs have now: forward may change it.
    node = new_operator_node(op_row(OP_PY_LAYER))
    for i in range(len(inputs)):
        t = <TensorBase>inputs[i]
        edge = gradient_edge(t)
        node.set_edge(i, edge, t.slot)
        before.append((gradient_edge(root_of(t)), root_of(t).slot))
    node.attr_objects = (name, ctx, backward)
    ctx.once = once
    guard = ForwardGuard.__new__(ForwardGuard)
    guard.watch(inputs)
    try:
        try:
            answer = _called(forward, ctx, args, kwargs)
        finally:
            guard.leave()
        return _attach(node, ctx, name, inputs, before, guard, answer)
    except BaseException:
        node.clear()
        ctx.let_go()                                     # what is left of the snapshots is somebody else's
        guard.restore()
        raise
    finally:
        guard.release()
        ctx.let_go()


cdef object _called(object forward, LayerContext ctx, tuple args, dict kwargs):
    cdef bint mode = set_grad_enabled(False)
    try:
        return forward(ctx, *args, **kwargs)
    finally:
        set_grad_enabled(mode)


cdef list _outputs(object answer):
    """What forward returned, as a list with at least one tensor."""
    outputs = [answer] if is_tensor(answer) else list(answer) if isinstance(answer, (tuple, list)) else []
    tensors = 0
    for one in outputs:
        if is_tensor(one):
            tensors += 1
        elif isinstance(one, (tuple, list)) and any([is_tensor(inner) for inner in one]):
            invalid_type("PyLayer.forward must return its Tensors in one tuple or list, but one of them is in a list inside of it")
    if not tensors:
        invalid_argument(f"At least one output of `PyLayer.forward` must be a Tensor, but got {type_name(answer)}.")
    return outputs


cdef object _packaged(object answer, list outputs):
    return outputs[0] if is_tensor(answer) else outputs if isinstance(answer, list) else tuple(outputs)


cdef object _unrecorded(LayerContext ctx, object answer, list inputs):
    """No gradient is wanted: what forward returned, and a fresh alias for an input that was not meant to be itself (S12.6)."""
    cdef TensorBase t
    outputs = _outputs(answer)
    for k, one in enumerate(outputs):
        if is_tensor(one) and _index(one, ctx.not_inplace_tensors) >= 0 and _index(one, inputs) >= 0:
            t = <TensorBase>one
            outputs[k] = alias(t, t.layout, t.data)
    return _packaged(answer, outputs)


cdef enum:
    FRESH, ALIAS, INPLACE, CONSTANT, WRITTEN_CONSTANT        # what becomes of a result


cdef object _attach(OperatorNode node, LayerContext ctx, str name, list inputs, list before, ForwardGuard guard, object answer):
    """Check everything, save, and only then give the results their history."""
    cdef list outputs = _outputs(answer)
    cdef list tensors = [one for one in outputs if is_tensor(one)], kinds = [], results = []
    cdef TensorBase t, first
    cdef GradNode history
    cdef dict homes = {}             # id of a result's storage -> the first result in it
    cdef int slot, k
    for one in ctx.non_differentiable + ctx.not_inplace_tensors:
        if not is_tensor(one):
            invalid_type(f"mark_non_differentiable() and mark_not_inplace() take Tensors, but got {type_name(one)}")
    for slot in range(len(tensors)):
        kinds.append(_kind(ctx, <TensorBase>tensors[slot], inputs, tensors[:slot], homes, guard))
        homes.setdefault(<size_t><void *>(<TensorBase>tensors[slot]).storage, tensors[slot])
    _check_inputs(name, inputs, tensors, kinds, guard)
    t = <TensorBase>tensors[0]
    node.out_layout = t.layout
    node.out_dtype = t.dtype
    if len(tensors) > 1:
        node.more_outputs = [((<TensorBase>one).layout, (<TensorBase>one).dtype) for one in tensors[1:]]
        node.n_outputs = len(tensors)
    counted = [(one, (<TensorBase>one).storage.version.snapshots) for one, kind in zip(tensors, kinds)
               if kind == INPLACE or kind == WRITTEN_CONSTANT]
    for one, _ in counted:
        # S12.4: one more; where it fell is remembered in the end.
        renumber((<TensorBase>one).storage, (<TensorBase>one).storage.version.current + 1)
    try:
        _save(node, ctx, inputs, tensors, kinds)
    except BaseException:
        node.clear()
        for one, snapshots in counted:
            if (<TensorBase>one).storage.version.snapshots <= snapshots:     # else a hook has made others keep this version
                renumber((<TensorBase>one).storage, (<TensorBase>one).storage.version.current - 1)
        raise
    # From here on nothing fails.
    for slot in range(len(tensors)):
        t = <TensorBase>tensors[slot]
        kind = kinds[slot]
        first = <TensorBase>homes[<size_t><void *>t.storage]
        if kind == ALIAS:
            root_of(t).has_alias = HAS_RESULT
            root_of(first).has_alias = HAS_RESULT
            for one in inputs:
                if (<TensorBase>one).storage is t.storage:
                    root_of(<TensorBase>one).has_alias = HAS_RESULT
        if kind == ALIAS or (kind == CONSTANT and (_index(t, inputs) >= 0 or wants_grad(t))):
            first = alias(t, t.layout, t.data)
            first._name = t._name
            t = first
        if kind == ALIAS:
            t.has_alias = HAS_RESULT
        if kind == ALIAS or kind == FRESH:
            t.grad_node = node
            t.slot = slot
            t._stop_gradient = False
        elif kind == INPLACE or kind == WRITTEN_CONSTANT:
            renumber(t.storage, t.storage.version.current - 1)
            bump_region(t.storage, t.data, t.layout, DTYPES[t.dtype].itemsize, OP_PY_LAYER)
            if t.storage.log is not None:
                count_harmless(t.storage, t.storage.version.current - 1)
            if modes_on:
                note_write(t, OP_PY_LAYER)
        if kind == INPLACE:
            # A history is output 0 of its node.
            history = node if slot == 0 else view_node(op_row(OP_VIEW), t, node, slot, contiguous_layout(t.layout.ndim, t.layout.dims), 0)
            edge = before[_index(t, inputs)]
            record_write(t, history, <GradNode>edge[0], edge[1])
        results.append(t)
    slot = 0
    for k in range(len(outputs)):
        if is_tensor(outputs[k]):
            outputs[k] = results[slot]
            slot += 1
    return _packaged(answer, outputs)


cdef int _kind(LayerContext ctx, TensorBase t, list inputs, list earlier, dict homes, ForwardGuard guard) except -1:
    cdef int i = _index(t, inputs)
    cdef bint constant = _index(t, ctx.non_differentiable) >= 0 or t.dtype < EAGER_FLOAT32
    if i >= 0 and _index(t, ctx.not_inplace_tensors) < 0:
        # S12.4: an input that comes back has been changed in place.
        if _index(t, earlier) >= 0 or <size_t><void *>t.storage in homes:
            permission_denied(f"an input of a custom function ({t._name}) is returned in place together with another result in the same "
                              "memory. Return a clone() of one of them")
        if t.dtype < EAGER_FLOAT32:
            return WRITTEN_CONSTANT
        if constant:
            invalid_argument(f"an input ({t._name}) that is returned in place cannot be marked as not differentiable: its history would "
                             "be lost. Return a clone() of it")
        if wants_grad(t) and t.root is None and is_leaf(t):
            invalid_argument(f"{t._name} : Leaf Var ({t._name}) that doesn't stop gradient can't use inplace strategy. Return a new "
                             "tensor, or call mark_not_inplace().")
        check_inplace(t, True)
        return INPLACE
    if i < 0 and <size_t><void *>t.storage in homes and _returned_in_place(<TensorBase>homes[<size_t><void *>t.storage], ctx, inputs):
        permission_denied("a custom function returns an input in place and another result in the same memory. Return a clone() of one of "
                          "them")
    if constant:
        return CONSTANT
    if (i >= 0 or _index(t, earlier) >= 0 or t.root is not None or t.grad_node is not None or not t._stop_gradient
            or t.accumulator is not None or <size_t><void *>t.storage in homes or <size_t><void *>t.storage in guard.storages):
        return ALIAS
    return FRESH


cdef bint _returned_in_place(TensorBase t, LayerContext ctx, list inputs) except -1:
    return _index(t, inputs) >= 0 and _index(t, ctx.not_inplace_tensors) < 0


cdef bint _is_part(TensorBase t, TensorBase whole):
    """Whether each element of t is one of `whole`, of whose history that of t, if it has any, will be a part."""
    cdef Py_ssize_t low = 0, high = 0, reach, itemsize = DTYPES[t.dtype].itemsize
    cdef int k
    if root_of(t) is not root_of(whole) and (t.storage is not whole.storage or wants_grad(t)):
        return False
    if root_of(t) is whole or (t.data == whole.data and same_layout(t.layout, whole.layout)):
        return True
    for k in range(t.layout.ndim):
        reach = (t.layout.dims[k] - 1) * t.layout.strides[k]
        if reach < 0:
            low += reach
        else:
            high += reach
    return (whole.layout.contiguous and t.data + low * itemsize >= whole.data
            and t.data + (high + 1) * itemsize <= whole.data + whole.layout.numel * itemsize)


cdef int _check_inputs(str name, list inputs, list tensors, list kinds, ForwardGuard guard) except -1:
    """S12.7: what forward has written to must come back as a result, or its old history would be taken for that of the new value."""
    cdef TensorBase t
    cdef int i, at
    cdef bint returned
    for i in range(len(inputs)):
        t = <TensorBase>inputs[i]
        if guard.rebound(i):
            permission_denied(f"{name}.forward() has rebound the memory of its input {i} (assigned to .data)")
        if not guard.modified(i):
            continue
        returned = False
        for at in range(len(tensors)):
            if kinds[at] == INPLACE or kinds[at] == WRITTEN_CONSTANT:
                returned = returned or tensors[at] is t or _is_part(t, <TensorBase>tensors[at])
        if not returned:
            permission_denied(f"{name}.forward() has modified its input {i} ({t._name}) of shape {shape_text(t.layout)} in place, and does "
                              "not return it as a result that is in place. Return the input itself, or write to a clone() of it")
    return 0


cdef int _save(OperatorNode node, LayerContext ctx, list inputs, list tensors, list kinds) except -1:
    cdef TensorBase t, given
    cdef int k, i, slot
    ctx.origins = []
    if ctx.kept is None:
        return 0
    node.reserve_saved(len(ctx.kept))
    for k in range(len(ctx.kept)):
        if ctx.kept[k] is None:
            ctx.origins.append(None)
            continue
        t = <TensorBase>ctx.kept[k]
        given = <TensorBase>ctx.container[k]
        if not untouched(t.storage, ctx.versions[k], t.data, t.layout, DTYPES[t.dtype].itemsize):
            permission_denied(f"{node.name()}: forward() has written to saved tensor {k} since it called save_for_backward(). Save it "
                              "after the write if backward needs the new value, or a clone() before it if it needs the old one")
        i = _index(given, inputs)
        slot = _index(given, tensors)
        if slot >= 0 and (i < 0 or kinds[slot] == INPLACE):
            ctx.origins.append(-1 - slot if kinds[slot] != CONSTANT else None)
            save_tensor(node, k, t, OUTPUT + (slot if slot < 100 else 99))
        elif i >= 0:
            ctx.origins.append(i)
            save_tensor(node, k, t, i if i < OUTPUT else -1)
        else:
            ctx.origins.append(None)
            save_tensor(node, k, t, -1)
    if hooks_in_use and packs_here():
        pack_saved(node)
    return 0


# ---- backward --------------------------------------------------------------------------------------------------------------------------

cdef int py_layer_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1:
    cdef tuple parts = <tuple>node.attr_objects
    cdef LayerContext ctx = <LayerContext>parts[1]
    cdef list arguments = [], items
    cdef TensorBase t
    cdef GradNode edge
    cdef int slot, i
    cdef bint mode = grad_enabled()
    for slot in range(node.n_outputs):
        if grads[slot] == NULL:
            arguments.append(zeros(node.output_layout(slot), node.output_dtype(slot)) if ctx.materialize_grads else None)
        elif exclusive(grads[slot]):
            arguments.append(<object>grads[slot])
        else:
            arguments.append(call_1(OP_ASSIGN, <TensorBase>grads[slot]))         # backward may write to it (S9.14)
    ctx.node = node
    ctx.running += 1
    if ctx.once:
        set_grad_enabled(False)
    try:
        answer = parts[2](ctx, *arguments)
    finally:
        set_grad_enabled(mode)                               # also if backward itself has left another behind (S9.15)
        ctx.running -= 1
        if ctx.running == 0:
            ctx.node = None
    if node.cleared:
        return 0                                         # by a pass inside of backward; the engine says so
    arguments = None
    items = list(answer) if isinstance(answer, (tuple, list)) else [answer]
    answer = None
    if len(items) != node.n_edges:
        invalid_argument(f"The number of outputs of `PyLayer.backward` should be {node.n_edges}, but received {len(items)}. "
                         f"{node.name()} takes one for each Tensor given to forward.")
    for i in range(node.n_edges):
        given = items[i]
        items[i] = None
        if given is None:
            continue
        if not is_tensor(given):
            invalid_argument(f"backward of {node.name()} must return Tensors or None, but got {type_name(given)} for input {i}")
        t = <TensorBase>given
        given = None
        edge = node.edge(i)
        if edge is None:
            continue
        if not same_shape(t.layout, edge.output_layout(node.edge_slot(i))):
            invalid_argument(f"backward of {node.name()} returned a gradient of shape {shape_text(t.layout)} for input {i}, which has "
                             f"shape {shape_text(edge.output_layout(node.edge_slot(i)))}")
        if ((<PyObject *>t).ob_refcnt != 1 or (<PyObject *>t.storage).ob_refcnt != 1 or t.root is not None or t.storage.version.outsiders
                or (not mode and wants_grad(t))):
            t = call_1(OP_ASSIGN, t)                     # somebody may write to it before the pass ends, or its history is not asked for
        if ctx.once and mode:
            _not_twice(node, t)
        give(results, i, t)
    return 0


cdef int _not_twice(GradNode node, TensorBase t) except -1:
    """A result of a backward that was not recorded: differentiating it is an error, not zero."""
    cdef OperatorNode refusal = new_operator_node(op_row(OP_PY_LAYER_GRAD))
    cdef int i
    refusal.out_layout = t.layout
    refusal.out_dtype = t.dtype
    for i in range(node.n_edges):
        refusal.set_edge(i, node.edge(i), node.edge_slot(i))
    t.grad_node = refusal
    t.slot = 0
    t._stop_gradient = False
    return 0


register_backward(OP_PY_LAYER, py_layer_backward)
