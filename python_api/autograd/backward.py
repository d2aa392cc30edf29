"""Backward from several roots (S9.3, S9.17): the checks of arguments that need no knowledge of the graph."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import eager_core
from eager_core import Tensor

__all__ = ["backward", "grad"]


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool = False,
) -> None:
    """Run backward from several tensors at once and add the gradients to ``.grad`` of the leaves.

    Parameters
    ----------
    tensors : Tensor or list or tuple of Tensor
        The roots. Those that do not require gradient are passed over if another one does.
    grad_tensors : Tensor, list or tuple of Tensor or None, optional
        The gradient that each root starts with, of the root's shape; None stands for ones.
    retain_graph : bool
        Keep what the graph saved, so that it may be run again.

    Raises
    ------
    TypeError
        Something other than tensors, or `retain_graph` not a bool.
    ValueError
        No tensors, the same one twice, or as many gradients as tensors are not given, or a gradient has another shape.
    RuntimeError
        No root requires gradient; a saved tensor was modified; the graph was freed by an earlier run.
    """
    roots = _tensor_list(tensors, "tensors", "backward")
    if _has_duplicates(roots):
        raise ValueError("(InvalidArgument) backward(): tensors contain the same tensor twice")
    seeds = _seed_list(grad_tensors, "grad_tensors", len(roots), "tensors", "backward")
    _check_bool(retain_graph, "retain_graph", "backward")
    eager_core.run_backward(roots, seeds, retain_graph)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Tensor | Iterable[Tensor] | None = None,
) -> list[Tensor | None]:
    """Return the gradients of `outputs` with respect to `inputs`; no ``.grad`` is touched.

    Parameters
    ----------
    outputs, inputs : Tensor or list or tuple of Tensor
    grad_outputs : Tensor, list or tuple of Tensor or None, optional
        The gradient that each output starts with, of the output's shape; None stands for ones.
    retain_graph : bool, optional
        Keep what the graph saved, so that it may be run again. Defaults to `create_graph`.
    create_graph : bool
        Record the backward pass, so that the results can be differentiated again.
    only_inputs : bool
        Only True is supported.
    allow_unused : bool
        Give None for an input that the outputs do not depend on.
    no_grad_vars : Tensor or list, tuple or set of Tensor, optional
        Tensors that no gradient passes through.

    Returns
    -------
    list of Tensor
        One per input, of its shape and dtype. They share memory with nothing else.

    Raises
    ------
    TypeError
        Something other than tensors, or a flag that is not a bool.
    ValueError
        An empty list, a wrong number of gradients or one of another shape, or an input that does not appear in the graph.
    RuntimeError
        The same input or output twice; a saved tensor was modified; the graph was freed by an earlier run.
    NotImplementedError
        ``only_inputs=False``.
    """
    roots = _tensor_list(outputs, "outputs", "grad")
    wanted = _tensor_list(inputs, "inputs", "grad")
    for name, group in (("outputs", roots), ("inputs", wanted)):
        if _has_duplicates(group):
            raise RuntimeError(f"(AlreadyExists) {name} contain duplicate tensor, which is not allowed in grad()")
    seeds = _seed_list(grad_outputs, "grad_outputs", len(roots), "outputs", "grad")
    _check_bool(create_graph, "create_graph", "grad")
    if retain_graph is None:
        retain_graph = create_graph
    _check_bool(retain_graph, "retain_graph", "grad")
    _check_bool(only_inputs, "only_inputs", "grad")
    _check_bool(allow_unused, "allow_unused", "grad")
    if not only_inputs:
        raise NotImplementedError("(Unimplemented) grad(): only_inputs=False is not supported. Use backward() to fill .grad of all leaves")
    if no_grad_vars is None:
        blocked = []
    elif isinstance(no_grad_vars, set | frozenset):
        blocked = _tensor_list(list(no_grad_vars), "no_grad_vars", "grad", may_be_empty=True)
    else:
        blocked = _tensor_list(no_grad_vars, "no_grad_vars", "grad", may_be_empty=True)
    return eager_core.run_grad(roots, wanted, seeds, retain_graph, create_graph, allow_unused, blocked)


def _tensor_list(given: Any, name: str, caller: str, may_be_empty: bool = False) -> list[Tensor]:
    if isinstance(given, Tensor):
        return [given]
    if not isinstance(given, list | tuple):
        raise TypeError(f"(InvalidType) {caller}(): {name} must be Tensor or list of Tensors, but got {type(given).__name__}")
    for position, each in enumerate(given):
        if not isinstance(each, Tensor):
            raise TypeError(f"(InvalidType) {caller}(): {name} must be list of Tensors, but got {type(each).__name__} at pos {position}")
    if not given and not may_be_empty:
        raise ValueError(f"(InvalidArgument) {caller}(): {name} must not be empty")
    return list(given)


def _seed_list(given: Any, name: str, count: int, roots: str, caller: str) -> list[Tensor | None] | None:
    if given is None:
        return None
    seeds = [given] if isinstance(given, Tensor) else given
    if not isinstance(seeds, list | tuple):
        raise TypeError(
            f"(InvalidType) {caller}(): {name} must be None, Tensor or list of Tensors or None, but got {type(given).__name__}")
    for position, each in enumerate(seeds):
        if each is not None and not isinstance(each, Tensor):
            raise TypeError(
                f"(InvalidType) {caller}(): {name} must be list of Tensors or None, but got {type(each).__name__} at pos {position}")
    if len(seeds) != count:
        raise ValueError(f"(InvalidArgument) {caller}(): {name} must be as many as {roots}: expected {count}, but got {len(seeds)}")
    return list(seeds)


def _has_duplicates(tensors: list[Tensor]) -> bool:
    return len({id(each) for each in tensors}) < len(tensors)


def _check_bool(value: Any, name: str, caller: str) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"(InvalidType) {caller}(): {name} must be bool, but got {type(value).__name__}")
