"""Elementwise mathematics that is no NumPy ufunc."""
from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def floating(x: Array, name: str) -> Array:
    """Integers as floating point, like the operators that are ufuncs; complex numbers are refused."""
    if x.dtype.kind == "c":
        raise TypeError(f"(InvalidType) {name}() does not support dtype {x.dtype}. It takes real numbers only")
    return x if x.dtype.kind == "f" else x.astype(np.float32 if x.dtype.itemsize <= 2 else np.float64)


def round_decimals(x: Array, decimals: int) -> Array:
    return x.copy() if x.dtype.kind == "b" else np.round(x, decimals)


def frac(x: Array) -> Array:
    if x.dtype.kind in "cb":
        raise TypeError(f"(InvalidType) frac() does not support dtype {x.dtype}")
    return np.asarray(np.fmod(x, np.ones((), x.dtype)))


def frexp(x: Array) -> tuple[Array, Array]:
    mantissa, exponent = np.frexp(floating(x, "frexp"))
    return mantissa, np.asarray(exponent, dtype=mantissa.dtype)


def angle(x: Array) -> Array:
    return np.asarray(np.angle(x if x.dtype.kind == "c" else floating(x, "angle")))


def ldexp(x: Array | complex, y: Array | complex) -> Array:
    """A Python number has no dtype of its own; neither has a factor of integer exponent, which is exact."""
    for operand in (x, y):
        if np.iscomplexobj(operand):
            raise TypeError("(InvalidType) ldexp() does not support complex numbers")
    x = floating(x, "ldexp") if isinstance(x, np.ndarray) else float(np.real(x))
    if y.dtype.kind in "biu" if isinstance(y, np.ndarray) else isinstance(y, int):
        return np.asarray(np.ldexp(x, np.asarray(np.clip(np.asarray(y), -10000, 10000), dtype=np.int32)))
    return np.asarray(x * (np.exp2(y) if isinstance(y, np.ndarray) else float(np.exp2(y))))


def lerp(x: Array, y: Array, weight: Array | complex) -> Array:
    result = x + weight * (y - x)
    return np.asarray(result if result.dtype.kind in "fc" else floating(result, "lerp"))


def nan_to_num(x: Array, nan: float, posinf: float | None, neginf: float | None) -> Array:
    if x.dtype.kind == "c":
        raise TypeError(f"(InvalidType) nan_to_num() does not support dtype {x.dtype}")
    return np.asarray(np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf))


def logit(x: Array, eps: float | None) -> Array:
    x = floating(x, "logit")
    if eps:
        x = np.clip(x, eps, 1.0 - eps)
    return np.asarray(np.log(x) - np.log1p(-x))


def stanh(x: Array, scale_a: float, scale_b: float) -> Array:
    return np.asarray(scale_b * np.tanh(scale_a * (x if x.dtype.kind == "c" else floating(x, "stanh"))))


def complex_of(real: Array, imag: Array) -> Array:
    real, imag = floating(real, "complex"), floating(imag, "complex")
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real.dtype, imag.dtype, np.complex64))
    out.real, out.imag = real, imag
    return out


def isneginf(x: Array) -> Array:
    return np.asarray(x == -np.inf) if x.dtype.kind in "fc" else np.zeros(x.shape, bool)


def isposinf(x: Array) -> Array:
    return np.asarray(x == np.inf) if x.dtype.kind in "fc" else np.zeros(x.shape, bool)


def isreal(x: Array) -> Array:
    return np.asarray(np.isreal(x))


def isclose(x: Array, y: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    return np.asarray(np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan))


def allclose(x: Array, y: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    return np.asarray(isclose(x, y, rtol, atol, equal_nan).all())


def equal_all(x: Array, y: Array) -> Array:
    return np.asarray(np.array_equal(x, y))


def _integers(x: Array, y: Array | int, name: str) -> None:
    for operand in (x, y):
        if not (operand.dtype.kind in "iu" if isinstance(operand, np.ndarray) else isinstance(operand, int)):
            kind = operand.dtype if isinstance(operand, np.ndarray) else type(operand).__name__
            raise TypeError(f"(InvalidType) {name}() does not support dtype {kind}")


def left_shift(x: Array, y: Array | int, is_arithmetic: bool) -> Array:
    """Both kinds of shift agree."""
    _integers(x, y, "bitwise_left_shift")
    return np.asarray(np.left_shift(x, y))


def right_shift(x: Array, y: Array | int, is_arithmetic: bool) -> Array:
    _integers(x, y, "bitwise_right_shift")
    if is_arithmetic or x.dtype.kind == "u":
        return np.asarray(np.right_shift(x, y))
    common = np.result_type(x, y)
    unsigned = np.dtype(f"u{common.itemsize}")
    places = np.asarray(y).astype(unsigned)
    return np.asarray(np.right_shift(x.astype(common).view(unsigned), places)).view(common)


def increment(x: Array, value: float) -> Array:
    if x.size != 1:
        raise ValueError(f"(InvalidArgument) increment(): the tensor must have one element, but it has {x.size}")
    if x.dtype.kind == "b":
        raise TypeError(f"(InvalidType) increment() does not support dtype {x.dtype}")
    if x.dtype.kind not in "fc":
        if value != int(value):
            raise TypeError(f"(InvalidType) increment(): {value} cannot be added to a tensor of dtype {x.dtype}")
        value = int(value)
    return np.asarray(x + np.asarray(value, dtype=x.dtype))
