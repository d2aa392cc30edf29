"""What concerns the library as a whole: default dtype, place, eager mode."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from eager_core import Tensor, get_num_threads, is_grad_enabled, set_num_threads
from eager_core.masked import refuse_masked
from eager_core.place import CPUPlace
from python_api import dtypes

__all__ = [
    "CPUPlace",
    "as_dtype",
    "check_constant",
    "get_default_dtype",
    "get_num_threads",
    "in_dynamic_mode",
    "set_default_dtype",
    "set_num_threads",
]

_BY_NAME: dict[Any, np.dtype[Any]] = {key: dtype for dtype in dtypes.SUPPORTED for key in (dtype, dtype.name)}
_default_dtype: np.dtype[Any] = dtypes.float32


def as_dtype(spec: Any, caller: str) -> np.dtype[Any]:
    """Return the dtype that the user means.

    Parameters
    ----------
    spec : numpy.dtype, str, NumPy scalar type, or bool, int, float, complex
    caller : str
        The function that the error names.

    Raises
    ------
    TypeError
        There is no such dtype, or the library does not have it.
    """
    if isinstance(spec, np.dtype | str) and spec in _BY_NAME:
        return _BY_NAME[spec]
    if spec is not None:
        try:
            dtype: np.dtype[Any] = np.dtype(spec)
        except (TypeError, ValueError):
            pass
        else:
            if dtype in dtypes.SUPPORTED:
                return dtype
    hint = " (a shape is one argument: a list or tuple of lengths)" if type(spec) is int else ""
    shown = spec if isinstance(spec, str) else getattr(spec, "__name__", spec)
    raise TypeError(f"(InvalidType) {caller}(): dtype {shown} is not supported{hint}. Supported: {dtypes.NAMES}")


def set_default_dtype(d: Any) -> None:
    """Set the dtype that Python floats get, for all threads: float32 (at the start) or float64. Complex numbers follow it.

    Parameters
    ----------
    d : str, numpy.dtype or NumPy scalar type

    Raises
    ------
    TypeError
        Any other dtype.
    """
    global _default_dtype  # noqa: PLW0603
    try:
        dtype = as_dtype(d, "set_default_dtype")
    except TypeError:
        dtype = dtypes.bool
    if dtype not in (dtypes.float32, dtypes.float64):
        raise TypeError(f"(InvalidType) set_default_dtype only supports [float32, float64], but received {getattr(d, '__name__', d)}")
    _default_dtype = dtype


def get_default_dtype() -> str:
    """Return the name of the default dtype, ``"float32"`` or ``"float64"``. It compares equal to the dtype object, too."""
    return _default_dtype.name


def default_float() -> np.dtype[Any]:
    """Return the dtype of Python floats."""
    return _default_dtype


def default_complex() -> np.dtype[Any]:
    """Return the dtype of Python complex numbers."""
    return dtypes.complex64 if _default_dtype == dtypes.float32 else dtypes.complex128


def check_place(place: Any, caller: str) -> None:
    """Accept None, ``"cpu"`` and `CPUPlace`; the library has nothing else.

    Raises
    ------
    ValueError
        Another device is named.
    TypeError
        Not a place at all.
    """
    if place is None or isinstance(place, CPUPlace):
        return
    if not isinstance(place, str):
        raise TypeError(f"(InvalidType) {caller}(): place must be None, str or CPUPlace, but got {type(place).__name__}")
    if place.lower() != "cpu":
        raise ValueError(f"(InvalidArgument) {caller}(): there is no place {place!r}: tensors live on the cpu")


def check_constant(value: Any, name: str, caller: str) -> None:
    """Refuse a tensor that requires grad where only its values would be read, and the gradient lost in silence; likewise a mask.

    Raises
    ------
    ValueError
        It is one, and recording is on.
    TypeError
        It is a masked array.
    """
    if isinstance(value, np.ndarray):
        refuse_masked(value, f"{caller}(): {name}")
    elif isinstance(value, Tensor) and not value.stop_gradient and is_grad_enabled():
        raise ValueError(f"(InvalidArgument) {caller}(): {name} is a constant and gets no gradient, but the tensor given requires grad. "
                         "detach() it, or write the formula with operators on it")


def in_dynamic_mode() -> bool:
    """Return True: every operator runs at once, there is no other mode."""
    return True


@contextlib.contextmanager
def _test_eager_guard(place: Any = None) -> Iterator[None]:
    """Enter eager mode, which is the only one: changes nothing. Kept for programs written for the reference.

    Parameters
    ----------
    place : None, str or CPUPlace
    """
    check_place(place, "_test_eager_guard")
    yield
