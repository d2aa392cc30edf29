"""Statistics, and running sums and extrema."""
from __future__ import annotations

from typing import Any

import numpy as np

from .joining import Array, _axis

Axes = int | tuple[int, ...] | None
DType = np.dtype[Any] | None


def checked_axes(axis: Axes, ndim: int, name: str) -> tuple[int, ...]:
    """Axes counted from the front; None and the empty tuple mean all of them."""
    if axis is None or axis == ():
        return tuple(range(ndim))
    axes = tuple(_axis(a, ndim, name) for a in (axis if isinstance(axis, tuple) else (axis,)))
    if len(set(axes)) < len(axes):
        raise ValueError(f"(InvalidArgument) {name}(): an axis is given twice in {axis}")
    return axes if ndim else ()


def int_axis(axis: Any, ndim: int, name: str) -> int:
    """An axis given as an int, a NumPy integer or a 1-element array."""
    if isinstance(axis, np.ndarray) and axis.size == 1:
        axis = axis.item()
    if isinstance(axis, bool) or not isinstance(axis, int | np.integer):
        raise TypeError(f"(InvalidType) {name}(): axis must be int, but got {type(axis).__name__}")
    return _axis(int(axis), ndim, name)


def along(x: Array, axis: Any, name: str) -> tuple[Array, int]:
    """Return the array and the axis to work along: without one, all elements in a row."""
    if axis is None:
        return x.reshape(-1), 0
    return x, int_axis(axis, x.ndim, name)


def floating(x: Array) -> Array:
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def real_only(x: Array, name: str) -> Array:
    if x.dtype.kind == "c":
        raise TypeError(f"(InvalidType) {name}() does not support dtype {x.dtype}")
    return x


def logsumexp(x: Array, axis: Axes, keepdim: bool) -> Array:
    x = floating(real_only(x, "logsumexp"))
    axes = checked_axes(axis, x.ndim, "logsumexp")
    top = x.max(axis=axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, np.zeros_like(top))
    with np.errstate(divide="ignore", over="ignore"):
        out = np.asarray(np.log(np.exp(x - top).sum(axis=axes, keepdims=True)) + top)
    return out if keepdim else out.squeeze(axes)


def var(x: Array, axis: Axes, unbiased: bool | None, keepdim: bool, correction: float | None) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = x.mean(axis=(axes := checked_axes(axis, x.ndim, "var")), keepdims=True)
        apart = np.abs(x - mean) ** 2
        total = apart.sum(axis=axes, keepdims=keepdim)
        count = x.size // max(mean.size, 1)
        return np.asarray(total / np.asarray(max(count - degrees(unbiased, correction), 0), total.dtype))


def degrees(unbiased: bool | None, correction: float | None) -> float:
    """What is subtracted from the number of elements."""
    if unbiased is not None:
        return 1 if unbiased else 0
    return 1 if correction is None else correction


def std(x: Array, axis: Axes, unbiased: bool | None, keepdim: bool) -> Array:
    return np.asarray(np.sqrt(var(x, axis, True if unbiased is None else unbiased, keepdim, 1)))


def count_nonzero(x: Array, axis: Axes, keepdim: bool) -> Array:
    return np.asarray(np.count_nonzero(x, axis=checked_axes(axis, x.ndim, "count_nonzero"), keepdims=keepdim), np.int64)


def cumsum(x: Array, axis: Any, dtype: DType) -> Array:
    x, axis = along(x, axis, "cumsum")
    return np.cumsum(x, axis if x.ndim else None, dtype=dtype).reshape(x.shape)


def cumprod(x: Array, dim: Any, dtype: DType) -> Array:
    x, dim = along(x, dim, "cumprod")
    return np.cumprod(x, dim if x.ndim else None, dtype=dtype).reshape(x.shape)


def cummax(x: Array, axis: Any, dtype: DType) -> tuple[Array, Array]:
    return _cumulative(np.maximum, x, axis, dtype, "cummax")


def cummin(x: Array, axis: Any, dtype: DType) -> tuple[Array, Array]:
    return _cumulative(np.minimum, x, axis, dtype, "cummin")


def _cumulative(better: np.ufunc, x: Array, axis: Any, dtype: DType, name: str) -> tuple[Array, Array]:
    x, axis = along(real_only(x, name), axis, name)
    if x.ndim == 0:
        return x.copy(), np.zeros((), dtype or np.int64)
    values = better.accumulate(x, axis=axis)
    place = np.arange(x.shape[axis]).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    hit = np.where((x == values) | np.isnan(x), place, 0)
    return values, np.maximum.accumulate(hit, axis=axis).astype(dtype or np.int64)


def logcumsumexp(x: Array, axis: Any, dtype: DType) -> Array:
    x, axis = along(real_only(x, "logcumsumexp"), axis, "logcumsumexp")
    x = floating(x) if dtype is None else x.astype(dtype)
    return np.logaddexp.accumulate(x, axis=axis) if x.ndim else x.copy()


def _bounds(x: Array, bins: int, low: float, high: float, name: str) -> tuple[float, float]:
    if bins < 1:
        raise ValueError(f"(InvalidArgument) {name}(): bins must be at least 1, but got {bins}")
    if low > high:
        raise ValueError(f"(InvalidArgument) {name}(): max must be at least min, but got min {low} and max {high}")
    if low == high == 0 and x.size:
        low, high = float(x.min()), float(x.max())
    if not np.isfinite(low) or not np.isfinite(high):
        raise ValueError(f"(InvalidArgument) {name}(): the range from {low} to {high} is not finite")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def histogram(x: Array, weight: Array | None, bins: int, low: float, high: float, density: bool) -> Array:
    bounds = _bounds(real_only(x, "histogram"), bins, low, high, "histogram")
    if weight is not None and weight.shape != x.shape:
        raise ValueError(f"(InvalidArgument) histogram(): weight must have the shape {list(x.shape)}, but has {list(weight.shape)}")
    counts, _ = np.histogram(x, bins, bounds, density=density, weights=weight)
    return counts.astype(np.float32 if density else np.int64 if weight is None else weight.dtype)


def histogram_bin_edges(x: Array, bins: int, low: float, high: float) -> Array:
    low, high = _bounds(real_only(x, "histogram_bin_edges"), bins, low, high, "histogram_bin_edges")
    return np.linspace(low, high, bins + 1, dtype=np.float32)


def bincount(x: Array, weights: Array | None, minlength: int) -> Array:
    if x.dtype.kind not in "iu":
        raise TypeError(f"(InvalidType) bincount(): x must be of integers, but has dtype {x.dtype}")
    if x.ndim != 1:
        raise ValueError(f"(InvalidArgument) bincount(): x must have 1 axis, but has {x.ndim}")
    if weights is not None:
        real_only(weights, "bincount")
    if minlength < 0 or (x.size and x.min() < 0):
        raise ValueError("(InvalidArgument) bincount(): neither x nor minlength may be negative")
    if weights is not None and weights.shape != x.shape:
        raise ValueError(f"(InvalidArgument) bincount(): weights must have the shape {list(x.shape)}, but have {list(weights.shape)}")
    counts = np.bincount(x.astype(np.int64), weights, minlength)
    return counts if weights is None or weights.dtype.kind != "f" else counts.astype(weights.dtype)
