"""A Python function applied to a whole tensor."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eager_core import Tensor
from python_api.composite import composite, tensor


@composite
def apply(x: Tensor, func: Callable[[Tensor], Any]) -> Any:
    """Return ``func(copy of x)``. A tensor that requires grad is refused: call the function on it, and its operators are recorded."""
    return func(_constant_copy(x, func, "apply", "func(x)"))


@composite
def apply_(x: Tensor, func: Callable[[Tensor], Tensor]) -> Tensor:
    """Overwrite x with ``func(copy of x)``, a tensor of its shape, in place, and return x. A tensor that requires grad is refused.

    The function gets a copy, so that x is as it was if it raises. What its result owes to other tensors that require grad is recorded.
    """
    made = func(_constant_copy(x, func, "apply_", "x.copy_(func(x))"))
    if not isinstance(made, Tensor):
        raise TypeError(f"(InvalidType) apply_(): the function must return a Tensor, but returned {type(made).__name__}")
    if made.shape != x.shape:
        raise ValueError(f"(InvalidArgument) apply_(): the function must return the shape {x.shape}, but returned {made.shape}")
    return x.copy_(made)


def _constant_copy(x: Tensor, func: Any, caller: str, instead: str) -> Tensor:
    if not callable(func):
        raise TypeError(f"(InvalidType) {caller}(): argument 'func' must be callable, but got {type(func).__name__}")
    if not tensor(x, "x", caller).stop_gradient:
        raise RuntimeError(f"(PermissionDenied) {caller}(): Cannot apply function on a tensor that required gradient. Use {instead} "
                           "instead: that is recorded.")
    return x.clone()
