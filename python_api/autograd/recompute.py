"""Gradients without keeping what they need: it is computed again."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from eager_core import Tensor
from eager_core.saved_hooks import SavedTensorsHooks
from eager_core.snapshot import Snapshot, fingerprint
from eager_core.write_guard import OldMemoryGuard
from python_api.autograd.grad_mode import enable_grad, is_grad_enabled
from python_api.creation import _random

__all__ = ["checkpoint"]

_VALUE = "checkpoint(): a value that the function saved for backward"
_WRITES = ("checkpoint(): the function writes in place to memory that it does not own, and would do so again when it is run again. Return "
           "a new value, or make the write outside")


def checkpoint(function: Callable[..., Any], *args: Any, preserve_rng_state: bool = True, **kwargs: Any) -> Any:
    """Call ``function(*args, **kwargs)``, and do not keep the values that its gradient needs: backward runs it again to get them.

    Results and gradients, of all orders, are those of a plain call, for the arguments and for anything else that the function uses. Memory
    is exchanged for time. In PaddlePaddle this is ``paddle.distributed.fleet.utils.recompute``.

    Parameters
    ----------
    function : callable
        Must compute the same when it is run again. It may write in place to tensors that it makes itself.
    *args, **kwargs
        For the function. Tensors among them, also in lists, tuples and dicts, are remembered as they are now.
    preserve_rng_state : bool
        Let random numbers repeat themselves. The common generator is not moved by the second run.

    Returns
    -------
    object
        What the function returns.

    Raises
    ------
    RuntimeError
        The function writes in place to a tensor that was there before, an argument among them: nothing is written then. In backward: an
        argument has been written to since, or the second run computed other values than the first, to the last bit; no gradient is
        stored then.

    Notes
    -----
    The values are compared by a 64-bit hash of each saved tensor, so a tensor that the function captures and that has changed meanwhile is
    noticed wherever it matters. Checkpoints nest; a block of `saved_tensors_hooks` around one does not see what it saves.
    """
    if not callable(function):
        raise TypeError(f"(InvalidType) checkpoint(): function must be callable, but got {type(function).__name__}")
    if not is_grad_enabled():
        return function(*args, **kwargs)
    frame = _Frame(function, args, kwargs, _random.copy() if preserve_rng_state else None)
    first = _Run(frame)
    try:
        return first(*args, **kwargs)
    finally:
        frame.prints, first.values = first.prints, {}


class _Argument:
    """A tensor among the arguments: its elements, and whether it wanted a gradient. Its history is left out: it could be a cycle."""

    def __init__(self, t: Tensor) -> None:
        self.snapshot = Snapshot(t)
        self.stop_gradient = t.stop_gradient

    def again(self) -> Tensor:
        t = self.snapshot.tensor("checkpoint(): an argument")
        t.stop_gradient = self.stop_gradient
        return t


def _mapped(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """Change what is of a type, inside of plain lists, tuples and dicts too."""
    if isinstance(value, kind):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(_mapped(one, kind, change) for one in value)
    if type(value) is dict:
        return {key: _mapped(one, kind, change) for key, one in value.items()}
    return value


class _Frame:
    """One call: what it takes to run it again, and, between that and their use, the values it saved."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any, generator: np.random.Generator | None) -> None:
        self.function = function
        self.args = _mapped(args, Tensor, _Argument)
        self.kwargs = _mapped(kwargs, Tensor, _Argument)
        self.generator = generator
        self.prints: list[int] = []  # of the values that the first run saved, in order
        self.values: dict[int, Snapshot] = {}
        self.last: tuple[int, Snapshot] | None = None  # a formula may ask for a value twice
        self.lock = threading.RLock()

    def unpack(self, index: int) -> Tensor:
        with self.lock:
            if self.last is None or self.last[0] != index:
                if index not in self.values:
                    self.again()
                self.last = (index, self.values.pop(index))
            return self.last[1].tensor(_VALUE)

    def again(self) -> None:
        args, kwargs = (_mapped(given, _Argument, _Argument.again) for given in (self.args, self.kwargs))
        run = _Run(self)
        with enable_grad(), _random.replay(self.generator):
            run(*args, **kwargs)
        if run.prints != self.prints:
            raise RuntimeError(
                "(PermissionDenied) checkpoint(): run again, the function has saved other values for backward than the first time, so the "
                "gradient would be that of something else. Has a tensor that it uses been changed since, or does it use random numbers "
                "that are not this library's?")
        self.values = run.values


class _Run:
    """The function at work. While it is, what it saves is at hand: it may ask for gradients itself."""

    def __init__(self, frame: _Frame) -> None:
        self.frame = frame
        self.prints: list[int] = []
        self.values: dict[int, Snapshot] = {}
        self.running = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        block = SavedTensorsHooks(self.pack, self.unpack)
        block.enter()
        try:
            with OldMemoryGuard(_WRITES):
                return self.frame.function(*args, **kwargs)
        finally:
            block.leave()
            self.running = False

    def pack(self, t: Tensor) -> int:
        index = len(self.prints)
        self.prints.append(fingerprint(t))
        self.values[index] = Snapshot(t)
        return index

    def unpack(self, index: int) -> Tensor:
        return self.values[index].tensor(_VALUE) if self.running else self.frame.unpack(index)
