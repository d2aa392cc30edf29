"""Grad mode (S10): the per-thread mode lives in `eager_core`; here are the context managers and decorators around it."""
from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np

import eager_core
from eager_core import is_grad_enabled

__all__ = ["enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

Switch: TypeAlias = Callable[[int], int]

_switch: Switch = eager_core._set_grad_enabled  # returns the mode before


class ThreadMode:
    """A mode of this thread: a context manager, and a decorator.

    `switch` sets the mode of the thread that calls it and returns the mode before.

    One object may be entered several times, nested, and by several threads at once.
    """

    __slots__ = ("_entered", "_mode", "_switch")

    def __init__(self, mode: int, switch: Switch) -> None:
        self._mode = mode
        self._switch = switch
        # Modes to go back to, by thread. A thread touches its own entry only, so no lock is needed.
        self._entered: dict[int, list[int]] = {}

    def __enter__(self) -> None:
        self._entered.setdefault(threading.get_ident(), []).append(self._switch(self._mode))

    def __exit__(self, *exc_info: object) -> None:
        thread = threading.get_ident()
        before = self._entered.get(thread)
        # Nothing is found when a generator that was suspended inside the block is finished by another thread,
        # whose mode is none of our business.
        if before:
            self._switch(before.pop())
            if not before:
                del self._entered[thread]

    def __call__(self, function: Decorated) -> Decorated:
        decorated: Decorated = decorate(function, self._mode, self._switch)
        return decorated


class GradMode(ThreadMode):
    """Grad mode on or off: a context manager, and a decorator. Made by `no_grad`, `enable_grad` and `set_grad_enabled`."""

    __slots__ = ()

    def __init__(self, mode: bool) -> None:
        super().__init__(mode, _switch)


class _GradModeAtOnce(GradMode):
    """What `set_grad_enabled` returns: the mode is set already, and given back on leaving the block or by decorating."""

    __slots__ = ("_at_once",)

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self._at_once: tuple[int, int] | None = (threading.get_ident(), _switch(mode))

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

    def _take_back(self) -> int | None:
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
    return GradMode(False) if function is None else decorate(function, False, _switch)


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
    return GradMode(True) if function is None else decorate(function, True, _switch)


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


def decorate(function: Any, mode: int, switch: Switch) -> Any:
    """Make `function` run in a mode of its thread (S10.1, S10.4, S10.5)."""
    if isinstance(function, type):
        if function.__init__ is not object.__init__:  # type: ignore[misc]  # object's own refuses arguments once it is wrapped
            function.__init__ = decorate(function.__init__, mode, switch)  # type: ignore[misc]
        return function
    if isinstance(function, staticmethod | classmethod):
        return type(function)(decorate(function.__func__, mode, switch))
    if not callable(function):
        raise TypeError(f"(InvalidType) a mode can decorate a function or a class, but got {type(function).__name__}")
    if inspect.isasyncgenfunction(function):
        raise TypeError(
            "(InvalidType) a mode cannot decorate an asynchronous generator function. Enter it inside, between two awaits")

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def in_mode(*args: Any, **kwargs: Any) -> Any:
            return await _Awaited(function(*args, **kwargs), mode, switch)

    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def in_mode(*args: Any, **kwargs: Any) -> Any:
            return (yield from _steps(function(*args, **kwargs), mode, switch))

    else:

        @functools.wraps(function)
        def in_mode(*args: Any, **kwargs: Any) -> Any:
            before = switch(mode)
            try:
                return function(*args, **kwargs)
            finally:
                switch(before)

    return in_mode


def _steps(body: Any, mode: int, switch: Switch) -> Generator[Any, Any, Any]:
    """Run a generator or coroutine, in a mode of its own (at first `mode`) while it runs and in the caller's mode while it waits.

    ``close`` needs no case of its own: it arrives as a GeneratorExit and is thrown into the body like any other exception.
    """
    step: Callable[[Any], Any] = body.send
    argument: Any = None
    while True:
        before = switch(mode)
        try:
            result = step(argument)
        except StopIteration as stop:
            return stop.value
        finally:
            mode = switch(before)  # the body may have entered blocks of its own, which hold when it goes on
            argument = None  # an exception kept here would be a cycle through its own traceback
        try:
            argument = yield result
            step = body.send
        except BaseException as thrown:
            argument = thrown
            step = body.throw


class _Awaited:
    """A coroutine that runs in a mode of its own and leaves the event loop's mode alone."""

    __slots__ = ("_coroutine", "_mode", "_switch")

    def __init__(self, coroutine: Any, mode: int, switch: Switch) -> None:
        self._coroutine = coroutine
        self._mode = mode
        self._switch = switch

    def __await__(self) -> Generator[Any, Any, Any]:
        return _steps(self._coroutine, self._mode, self._switch)
