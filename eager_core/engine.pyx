"""Runs a graph backwards: iteratively, every node once and after all its consumers (S9).

One extension module in five files, since what they share is asked for at every node: this one has the ways in.
"""
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject

from eager_core.eager_utils cimport gradient_edge
from eager_core.errors cimport already_exists, invalid_argument, precondition_not_met
from eager_core.grad_mode cimport grad_enabled, set_grad_enabled
from eager_core.grad_node cimport GradNode
from eager_core.grad_tensor_holder cimport ones
from eager_core.layout cimport same_shape, shape_text
from eager_core.modes cimport watch_on, watching
from eager_core.profiling cimport SPAN_PASS, Span, enter_span, leave_span, watched
from eager_core.tensor cimport TensorBase, is_tensor, type_name
from eager_core.unrecorded cimport copy_of_region
from eager_core.watched_call cimport note_tensor

include "engine_run.pxi"         # what a pass knows; gradients from node to node
include "engine_order.pxi"       # discovery, and the order of the nodes
include "engine_node.pxi"        # one node
include "engine_leaves.pxi"      # where gradients end


cdef struct Root:                # where a tensor's gradient begins; another thread may write to the tensor before its seed is delivered
    Py_ssize_t at                # number of its node; -1: no gradient is wanted
    int slot


cdef int _seed(Run run, TensorBase root, Root *place, object given, Py_ssize_t k) except -1:
    cdef GradNode node = <GradNode>run.states[place.at].node
    cdef TensorBase seed
    if given is None:
        seed = ones(root.layout, root.dtype)
    else:
        if not is_tensor(given):
            raise TypeError(f"(InvalidType) grad_tensor {k} must be a Tensor or None, but got {type_name(given)}")
        seed = <TensorBase>given
        if not same_shape(seed.layout, root.layout):
            raise ValueError(f"(InvalidArgument) Tensor shape not match, Tensor of grad_tensor [ {seed._name} ] with shape "
                             f"{shape_text(seed.layout)} mismatch Tensor [ {root._name} ] with shape {shape_text(root.layout)}")
        if run.watch & CHECK_FINITE:
            check_finite(<PyObject *>seed, f"grad_tensor {k}, given for the result of", node)
        # The caller's memory may be written while the pass goes on: by its own commits if it is a .grad, by hooks, by others (S9.7). The
        # copy is the pass's own, so that the first formula may write over it.
        seed = call_1(OP_ASSIGN, seed) if grad_enabled() else copy_of_region(seed, seed.layout, seed.data)
    return run.deliver(None, node, place.slot, seed)


cdef int _run(Run run, tuple tensors, object seeds) except -1:
    """Discovery, seeding and the pass itself, in the grad mode that create_graph asks for (S9.15)."""
    cdef Root few[2]
    cdef Root *roots = few
    cdef Py_ssize_t n = len(tensors)
    cdef bint before = grad_enabled()
    if n > 2:
        roots = <Root *>PyMem_Malloc(n * sizeof(Root))
        if roots == NULL:
            raise MemoryError
    try:
        _number_roots(run, tensors, roots)
        set_grad_enabled(run.create_graph)
        if watch_on:
            run.watch = watching()
        if watched:
            _run_watched(run, tensors, seeds, roots)
        else:
            _run_pass(run, tensors, seeds, roots)
    finally:
        set_grad_enabled(before)
        if roots != few:
            PyMem_Free(roots)
    return 0


cdef int _number_roots(Run run, tuple tensors, Root *roots) except -1:
    cdef TensorBase t
    cdef GradNode node
    cdef Py_ssize_t k
    for k in range(len(tensors)):
        t = <TensorBase>tensors[k]
        node = gradient_edge(t)
        roots[k].slot = t.slot
        roots[k].at = -1
        if node is not None:
            roots[k].at = run.find(<PyObject *>node)
            if roots[k].at < 0:
                roots[k].at = run.number(<PyObject *>node)
    if run.n_states == 0:
        precondition_not_met("none of the tensors given to backward requires grad: there is nothing to differentiate. "
                             "Set stop_gradient=False on the leaves before computing, and do not compute under no_grad()")
    return 0


cdef int _run_watched(Run run, tuple tensors, object seeds, Root *roots) except -1:
    """The pass with somebody looking: a span of its own, and one for every node."""
    cdef Span span
    cdef bint failed = True
    run.watch |= LOOKED_AT
    enter_span(&span, SPAN_PASS, NULL)
    try:
        for t in tensors:
            note_tensor(<TensorBase>t)
        _run_pass(run, tensors, seeds, roots)
        failed = False
    finally:
        leave_span(&span, NULL, "grad" if run.partial else "backward", False, failed, None)
    return 0


cdef int _run_pass(Run run, tuple tensors, object seeds, Root *roots) except -1:
    cdef Py_ssize_t k
    discover(run)
    if run.partial:
        mark_needed(run)
    for k in range(len(tensors)):
        if roots[k].at >= 0:
            _seed(run, <TensorBase>tensors[k], &roots[k], None if seeds is None else seeds[k], k)
    execute(run)
    if not run.partial:
        commit(run)
    return 0


cdef int backward_of(TensorBase t, object seed, bint retain_graph, bint create_graph) except -1:
    cdef Run run = Run.__new__(Run)
    run.retain_graph = retain_graph
    run.create_graph = create_graph
    return _run(run, (t,), None if seed is None else (seed,))


def run_backward(list tensors not None, grad_tensors, bint retain_graph, bint create_graph=False):
    """Accumulate the gradients of the tensors into the ``.grad`` of the leaves they depend on."""
    cdef Run run = Run.__new__(Run)
    run.retain_graph = retain_graph
    run.create_graph = create_graph
    for t in tensors:
        if not is_tensor(t):
            raise TypeError(f"(InvalidType) backward() takes Tensors, but got {type_name(t)}")
    if grad_tensors is not None and len(grad_tensors) != len(tensors):
        invalid_argument(f"{len(tensors)} tensors, but {len(grad_tensors)} grad_tensors")
    _run(run, tuple(tensors), grad_tensors)


def run_grad(list outputs not None, list inputs not None, grad_outputs, bint retain_graph, bint create_graph, bint allow_unused,
             no_grad_vars):
    """Return the gradients of the outputs with respect to the inputs, touching no ``.grad``."""
    cdef Run run = Run.__new__(Run)
    cdef TensorBase t
    cdef GradNode node
    cdef int k
    run.retain_graph = retain_graph
    run.create_graph = create_graph
    run.partial = True
    run.wanted = {}
    run.results = [None] * len(inputs)
    for role, given in (("outputs", outputs), ("inputs", inputs)):
        for one in given:
            if not is_tensor(one):
                raise TypeError(f"(InvalidType) grad(): {role} must be Tensors, but got {type_name(one)}")
        if len({id(one) for one in given}) != len(given):
            already_exists(f"{role} contain duplicate tensor")
    if grad_outputs is not None and len(grad_outputs) != len(outputs):
        invalid_argument(f"{len(outputs)} outputs, but {len(grad_outputs)} grad_outputs")
    holders = []
    for k in range(len(inputs)):
        t = <TensorBase>inputs[k]
        if watched:
            note_tensor(t)
        if t.root is not None and not (t.grad_node is not None and t.generation == t.root.generation):
            continue                 # a view from before the last write: nothing can depend on it as it is now (S9.18)
        node = gradient_edge(t)
        if node is not None:
            run.wanted.setdefault((<size_t><void *>node, t.slot), []).append(k)
            holders.append(node)
    for one in no_grad_vars or ():
        if not is_tensor(one):
            raise TypeError(f"(InvalidType) grad(): no_grad_vars must be Tensors, but got {type_name(one)}")
        node = gradient_edge(<TensorBase>one)
        if node is not None:
            if run.blocked is None:
                run.blocked = set()
            run.blocked.add((<size_t><void *>node, (<TensorBase>one).slot))
            holders.append(node)
    _run(run, tuple(outputs), grad_outputs)
    before = set_grad_enabled(create_graph)
    try:
        for k in range(len(inputs)):
            g = run.results[k]
            run.results[k] = None
            if g is None:
                if not allow_unused:
                    invalid_argument(f"The {k}-th input does not appear in the backward graph. Please check the input tensor or set "
                                     "allow_unused=True to get None result.")
            else:
                run.results[k] = private_gradient(run, <PyObject *>g)
    finally:
        set_grad_enabled(before)
    return run.results
