"""Saved tensors that may be overwritten: what a write destroys is put by first."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from eager_core.modes import is_preserving, set_preserving, switch_preserving
from python_api.autograd.grad_mode import Decorated, ThreadMode, decorate

__all__ = ["allow_mutation_on_saved_tensors", "is_mutation_on_saved_tensors_allowed", "set_allow_mutation_on_saved_tensors"]


@overload
def allow_mutation_on_saved_tensors(function: None = None) -> ThreadMode: ...
@overload
def allow_mutation_on_saved_tensors(function: Decorated) -> Decorated: ...
def allow_mutation_on_saved_tensors(function: Callable[..., Any] | None = None) -> Any:
    """Make backward exact where a tensor that it needs is overwritten, instead of refused.

    ``with allow_mutation_on_saved_tensors():``, ``@allow_mutation_on_saved_tensors()`` or ``@allow_mutation_on_saved_tensors``. Before a
    write to memory that a saved tensor refers to, the bytes that the write destroys are copied: its own region only, and once, however many
    operators have saved it. Every in-place operator counts, also under ``no_grad``: ``x[i] = v``, ``copy_``, ``set_value``, random fills.

    Protected is what is saved in the block, whatever overwrites it, in the block or later, and what a write in the block destroys, whenever
    it was saved. Backward may run anywhere, in any thread, and differentiate any number of times. Blocks nest, hold for their own thread
    alone, and end with an exception as without. Generators and coroutines may be decorated.

    Still refused: a write that the library does not make, such as one to a NumPy array that shares the memory; and a value that a pack
    hook of ``saved_tensors_hooks`` has returned as it was given.

    Parameters
    ----------
    function : callable, optional
        What to decorate, when used without parentheses.

    Returns
    -------
    ThreadMode or callable
        The context manager and decorator, or the decorated function.

    Notes
    -----
    Memory: the bytes destroyed, from a write until no saved tensor is old enough to need them. A second write to the same elements, with
    nothing saved in between, copies nothing. In backward, each restored value while its operator runs, and once the memory that was
    overwritten, in pages of 1 KB. When nothing is overwritten, nothing is copied.
    """
    return ThreadMode(1, set_preserving) if function is None else decorate(function, 1, set_preserving)


def set_allow_mutation_on_saved_tensors(mode: bool) -> None:
    """Set the mode for all threads that are in no block of their own, new ones included.

    Parameters
    ----------
    mode : bool

    Raises
    ------
    TypeError
        `mode` is not a bool.
    """
    if not isinstance(mode, bool):
        raise TypeError(f"(InvalidType) set_allow_mutation_on_saved_tensors(): mode must be bool, but got {type(mode).__name__}")
    switch_preserving(mode)


def is_mutation_on_saved_tensors_allowed() -> bool:
    """Return whether this thread preserves what saved tensors refer to before it is overwritten."""
    return is_preserving()
