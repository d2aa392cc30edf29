"""Operators that need no kernel: plain Python functions of other operators, which give them their gradients of every order.

``@composite`` makes a function a method of Tensor under its own name, self being the first argument. As a function it is public where its
module's ``__all__`` names it.
"""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

from eager_core import Tensor, attach_methods
from eager_core.masked import refuse_masked
from python_api.creation import to_tensor

Function = TypeVar("Function", bound=Callable[..., Any])

COMPOSITES: dict[str, Callable[..., Any]] = {}       # functions by public name


@overload
def composite(made: Function, /) -> Function: ...
@overload
def composite(made: None = None, /, *, method: bool = True, constant: bool = False) -> Callable[[Function], Function]: ...
def composite(made: Any = None, /, *, method: bool = True, constant: bool = False) -> Any:
    """Make a function an operator: a method of Tensor, if it has that form, and listed in COMPOSITES.

    ``constant`` tells the reference page that no result has a gradient. What is annotated as Tensor is checked: see `on_tensors`.
    """
    if made is None:
        return lambda later: _register(later, method)
    return _register(made, method)


def _register(made: Function, method: bool) -> Function:
    checked = on_tensors(made)
    COMPOSITES[made.__name__] = checked
    if method:
        # Of a method the first argument is the tensor that it was found on: one that takes no other need not ask, which pays for itself.
        attach_methods({made.__name__: made if _tensor_parameters(made) == [(0, False)] else checked})
    return checked


def _tensor_parameters(function: Function) -> list[tuple[int, bool]]:
    """The places of the parameters annotated as Tensor, and whether they may be None."""
    kinds = function.__annotations__             # text where the module postpones them
    return [(k, kinds[name] not in ("Tensor", Tensor)) for k, name in enumerate(_names(function))
            if kinds.get(name) in ("Tensor", "Tensor | None", Tensor, Tensor | None)]


def _names(function: Function) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]


def on_tensors(function: Function) -> Function:
    """Check that what is annotated as Tensor is one, and say so by name if not; of those that may be absent, None is none.

    This is more than courtesy: CPython 3.11 may crash where ``x.cos()`` was compiled for tensors and x is the class itself.
    """
    names, parameters, positional = _names(function), _tensor_parameters(function), function.__code__.co_argcount
    if not parameters:
        return function
    first = parameters[0] == (0, False)
    second = first and parameters[1:2] == [(1, False)]
    known = 2 if second else 1
    # Up to which argument nothing but those two is a tensor: then nobody has to look at the others.
    plain = 0 if not first else parameters[known][0] if len(parameters) > known else len(names)
    absent = Tensor()                           # what is missing the function itself reports

    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = min(len(args), positional)
        for k, optional in parameters:
            value = args[k] if k < given else kwargs.get(names[k], absent)
            if not (optional and value is None):
                tensor(value, names[k], function.__name__)

    @functools.wraps(function)
    def on_checked(*args: Any, **kwargs: Any) -> Any:
        given = len(args)
        if kwargs or not known <= given <= plain or not isinstance(args[0], Tensor) or (second and not isinstance(args[1], Tensor)):
            check(args, kwargs)
        return function(*args, **kwargs)

    return on_checked  # type: ignore[return-value]


# ---- arguments -------------------------------------------------------------------------------------------------------------------------

def tensor(x: Any, name: str, caller: str) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"(InvalidType) {caller}(): argument '{name}' must be Tensor, but got {type(x).__name__}")
    return x


def tensors(x: Any, name: str, caller: str) -> list[Tensor]:
    if not isinstance(x, list | tuple) or not x or not all(isinstance(t, Tensor) for t in x):
        raise ValueError(f"(InvalidArgument) {caller}(): argument '{name}' must be list of Tensors")
    return list(x)


def tensor_of(x: Any, name: str, caller: str) -> Tensor:
    """The tensor, or one made of an array, a number or lists of these, as `to_tensor` makes it."""
    return x if isinstance(x, Tensor) else _read(to_tensor, x, name, caller)


def array_of(x: Any, name: str, caller: str, dtype: Any = None) -> np.ndarray[Any, np.dtype[Any]]:
    """The values of a tensor, an array, a number or lists of these, in NumPy's dtype or the one wanted."""
    if isinstance(x, Tensor):
        x = x.numpy()
    found: np.ndarray[Any, np.dtype[Any]] = _read(np.asarray, x, name, caller)
    if found.dtype.kind not in "biufc":
        raise TypeError(_no_numbers(x, name, caller))
    return found if dtype is None else found.astype(dtype, copy=False)


def _read(make: Callable[[Any], Any], x: Any, name: str, caller: str) -> Any:
    refuse_masked(x, f"{caller}(): argument '{name}'")
    try:
        return make(x)
    except TypeError as error:
        raise TypeError(_no_numbers(x, name, caller)) from error


def _no_numbers(x: Any, name: str, caller: str) -> str:
    kind = f"numpy.ndarray of dtype {x.dtype}" if isinstance(x, np.ndarray) else type(x).__name__
    return f"(InvalidType) {caller}(): argument '{name}' must be Tensor, number, numpy.ndarray or list of numbers, but got {kind}"


def integer(value: Any, name: str, caller: str) -> int:
    if isinstance(value, np.ndarray):
        refuse_masked(value, f"{caller}(): {name}")
    try:
        if not isinstance(value, bool):
            return operator.index(value.item() if isinstance(value, Tensor | np.ndarray) and value.size == 1 else value)
    except TypeError:
        pass
    raise TypeError(f"(InvalidType) {caller}(): {name} must be int, but got {type(value).__name__}")


def integers(value: Any, name: str, caller: str) -> list[int]:
    """One integer stands for a list of it."""
    if isinstance(value, Tensor | np.ndarray):
        value = array_of(value, name, caller).reshape(-1).tolist()
    return [integer(v, name, caller) for v in (value if isinstance(value, list | tuple) else (value,))]


def axis_of(axis: Any, ndim: int, caller: str, name: str = "axis") -> int:
    """Return the axis counted from the front."""
    axis = integer(axis, name, caller)
    bound = max(ndim, 1)
    if not -bound <= axis < bound:
        raise np.exceptions.AxisError(f"(OutOfRange) {caller}(): {name} {axis} is out of range for a tensor of {ndim} axes; "
                                      f"expected {-bound} to {bound - 1}")
    return int(axis % bound)


def axes_of(axis: Any, ndim: int, caller: str, name: str = "axis") -> list[int]:
    axes = [axis_of(a, ndim, caller, name) for a in integers(axis, name, caller)]
    if len(set(axes)) < len(axes):
        raise ValueError(f"(InvalidArgument) {caller}(): an axis is given twice in {name} {axis}")
    return axes


def part(x: Tensor, axis: int, index: Any) -> Tensor:
    """x indexed along one axis."""
    return x[(slice(None),) * axis + (index,)]
