"""Grad mode (S10) and backward from several roots (S9.3, S9.17).

The engine and the per-thread mode live in `eager_core`; here are the Python forms around them: context managers, decorators, and the
checks of arguments that need no knowledge of the graph.
"""
from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

import eager_core
from eager_core import Tensor, is_grad_enabled

__all__ = ["backward", "enable_grad", "grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_switch: Callable[[bool], bool] = eager_core._set_grad_enabled  # returns the mode before


class GradMode:
    """Grad mode on or off: a context manager, and a decorator. Made by `no_grad`, `enable_grad` and `set_grad_enabled`.

    One object may be entered several times, nested, and by several threads at once.
    """

    __slots__ = ("_entered", "_mode")

    def __init__(self, mode: bool) -> None:
        self._mode = mode
        # Modes to go back to, by thread. A thread touches its own entry only, so no lock is needed.
        self._entered: dict[int, list[bool]] = {}

    def __enter__(self) -> None:
        self._entered.setdefault(threading.get_ident(), []).append(_switch(self._mode))

    def __exit__(self, *exc_info: object) -> None:
        thread = threading.get_ident()
        before = self._entered.get(thread)
        # Nothing is found when a generator that was suspended inside the block is finished by another thread,
        # whose mode is none of our business.
        if before:
            _switch(before.pop())
            if not before:
                del self._entered[thread]

    def __call__(self, function: Decorated) -> Decorated:
        decorated: Decorated = _decorate(function, self._mode)
        return decorated


class _GradModeAtOnce(GradMode):
    """What `set_grad_enabled` returns: the mode is set already, and given back on leaving the block or by decorating."""

    __slots__ = ("_at_once",)

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self._at_once: tuple[int, bool] | None = (threading.get_ident(), _switch(mode))

    def __enter__(self) -> None:
        super().__enter__()
        before = self._take_back()
        if before is not None:
            self._entered[threading.get_ident()][-1] = before

    def __call__(self, function: Decorated) -> Decorated:
        before = self._take_back()
        if before is not None:
            _switch(before)
        return super().__call__(function)

    def _take_back(self) -> bool | None:
        """Return the mode before the object was made, once and only to the thread that made it."""
        if self._at_once is None or self._at_once[0] != threading.get_ident():
            return None
        before, self._at_once = self._at_once[1], None
        return before


@overload
def no_grad(function: None = None) -> GradMode: ...
@overload
def no_grad(function: Decorated) -> Decorated: ...
def no_grad(function: Any = None) -> Any:
    """Switch recording off in this thread: ``with no_grad():``, ``@no_grad()`` or ``@no_grad``.

    Results of operators get ``stop_gradient=True`` and no history, and in-place operators may write to leaves. Blocks nest; on
    leaving one, also by an exception, the mode before it is back. Other threads are not affected, and new ones start with recording on.

    Parameters
    ----------
    function : callable, optional
        What to decorate, when used without parentheses: a function; a generator function or ``async def`` function (the mode holds
        while its body runs, not between its steps); or a class (the mode holds in ``__init__``).

    Returns
    -------
    GradMode or callable
        The context manager and decorator, or the decorated function under its own name. A class is returned itself.

    Raises
    ------
    TypeError
        `function` cannot be called, or is an asynchronous generator function.
    """
    return GradMode(False) if function is None else _decorate(function, False)


@overload
def enable_grad(function: None = None) -> GradMode: ...
@overload
def enable_grad(function: Decorated) -> Decorated: ...
def enable_grad(function: Any = None) -> Any:
    """Switch recording on in this thread, typically inside `no_grad`. Used in all the ways that `no_grad` is.

    Parameters
    ----------
    function : callable, optional
        What to decorate, when used without parentheses.

    Returns
    -------
    GradMode or callable

    Raises
    ------
    TypeError
        `function` cannot be called, or is an asynchronous generator function.
    """
    return GradMode(True) if function is None else _decorate(function, True)


def set_grad_enabled(mode: bool) -> GradMode:
    """Set this thread's grad mode at once; as a context manager or decorator, only for the block or function.

    Parameters
    ----------
    mode : bool

    Returns
    -------
    GradMode
        May be dropped. Entered as a context manager, it gives back the mode from before this call on leaving; used as a decorator, it
        gives it back when decorating, and the decorated function runs with `mode`.

    Raises
    ------
    TypeError
        `mode` is not a bool.
    """
    if not isinstance(mode, bool | np.bool_):
        raise TypeError(f"(InvalidType) set_grad_enabled(): mode must be bool, but got {type(mode).__name__}")
    return _GradModeAtOnce(bool(mode))


def _decorate(function: Any, mode: bool) -> Any:
    """Make `function` run with grad mode `mode` (S10.1, S10.4, S10.5)."""
    if isinstance(function, type):
        if function.__init__ is not object.__init__:  # type: ignore[misc]  # object's own refuses arguments once it is wrapped
            function.__init__ = _decorate(function.__init__, mode)  # type: ignore[misc]
        return function
    if isinstance(function, staticmethod | classmethod):
        return type(function)(_decorate(function.__func__, mode))
    if not callable(function):
        raise TypeError(f"(InvalidType) grad mode can decorate a function or a class, but got {type(function).__name__}")
    if inspect.isasyncgenfunction(function):
        raise TypeError(
            "(InvalidType) grad mode cannot decorate an asynchronous generator function. Enter it inside, between two awaits")

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def in_mode(*args: Any, **kwargs: Any) -> Any:
            return await _Awaited(function(*args, **kwargs), mode)

    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def in_mode(*args: Any, **kwargs: Any) -> Any:
            return (yield from _steps(function(*args, **kwargs), mode))

    else:

        @functools.wraps(function)
        def in_mode(*args: Any, **kwargs: Any) -> Any:
            before = _switch(mode)
            try:
                return function(*args, **kwargs)
            finally:
                _switch(before)

    return in_mode


def _steps(body: Any, mode: bool) -> Generator[Any, Any, Any]:
    """Run a generator or coroutine, in a mode of its own (at first `mode`) while it runs and in the caller's mode while it waits.

    ``close`` needs no case of its own: it arrives as a GeneratorExit and is thrown into the body like any other exception.
    """
    step: Callable[[Any], Any] = body.send
    argument: Any = None
    while True:
        before = _switch(mode)
        try:
            result = step(argument)
        except StopIteration as stop:
            return stop.value
        finally:
            mode = _switch(before)  # the body may have entered blocks of its own, which hold when it goes on
            argument = None  # an exception kept here would be a cycle through its own traceback
        try:
            argument = yield result
            step = body.send
        except BaseException as thrown:
            argument = thrown
            step = body.throw


class _Awaited:
    """A coroutine that runs in a grad mode of its own and leaves the event loop's mode alone."""

    __slots__ = ("_coroutine", "_mode")

    def __init__(self, coroutine: Any, mode: bool) -> None:
        self._coroutine = coroutine
        self._mode = mode

    def __await__(self) -> Generator[Any, Any, Any]:
        return _steps(self._coroutine, self._mode)


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
