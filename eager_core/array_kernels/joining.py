"""Joining, picking, and parts of complex numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _axis(axis: int, ndim: int, name: str) -> int:
    if not -max(ndim, 1) <= axis < max(ndim, 1):
        raise np.exceptions.AxisError(f"(OutOfRange) {name}(): axis {axis} is out of range for a tensor of {ndim} axes")
    return axis % max(ndim, 1)


def _index(index: Array, name: str, length: int, ndims: tuple[int, ...]) -> Array:
    if index.dtype.kind not in "iu":
        raise TypeError(f"(InvalidType) {name}(): argument 'index' must be of integers, but got dtype {index.dtype}")
    if index.ndim not in ndims:
        allowed = " or ".join(map(str, ndims))
        raise ValueError(f"(InvalidArgument) {name}(): argument 'index' must have {allowed} axes, but has {index.ndim}")
    if index.size and (index.min() < -length or index.max() >= length):
        raise IndexError(f"(OutOfRange) {name}(): an index lies outside {-length} to {length - 1}")
    return index


def real(x: Array) -> Array:
    return x.real.copy()


def imag(x: Array) -> Array:
    return np.imag(x).copy()


def concat(arrays: list[Array], axis: int) -> Array:
    if len({a.ndim for a in arrays}) > 1 or arrays[0].ndim == 0:
        raise ValueError(f"(InvalidArgument) concat(): the tensors must have the same number of axes, at least 1, but have "
                         f"{[a.ndim for a in arrays]}")
    axis = _axis(axis, arrays[0].ndim, "concat")
    try:
        return np.concatenate(arrays, axis=axis)
    except ValueError as error:
        raise ValueError(f"(InvalidArgument) concat(): {error}") from None


def stack(arrays: list[Array], axis: int) -> Array:
    if len({a.shape for a in arrays}) > 1:
        raise ValueError(f"(InvalidArgument) stack(): the tensors must have one shape, but have {[list(a.shape) for a in arrays]}")
    return np.stack(arrays, axis=_axis(axis, arrays[0].ndim + 1, "stack"))


def gather(x: Array, index: Array, axis: int) -> Array:
    axis = _axis(axis, x.ndim, "gather")
    if index.ndim == 2 and index.shape[1] == 1:
        index = index[:, 0]                 # the reference takes a column of indices too
    return np.take(x, _index(index, "gather", x.shape[axis] if x.ndim else 1, (0, 1)), axis=axis)


def index_select(x: Array, index: Array, axis: int) -> Array:
    axis = _axis(axis, x.ndim, "index_select")
    return np.take(x, _index(index, "index_select", x.shape[axis] if x.ndim else 1, (1,)), axis=axis)


def take_along_axis(arr: Array, indices: Array, axis: int, broadcast: bool) -> Array:
    axis = _axis(axis, arr.ndim, "take_along_axis")
    _index(indices, "take_along_axis", arr.shape[axis], (arr.ndim,))
    try:
        return np.take_along_axis(arr, indices, axis)
    except (IndexError, ValueError) as error:
        raise ValueError(f"(InvalidArgument) take_along_axis(): shapes {list(arr.shape)} and {list(indices.shape)} do not fit along axis "
                         f"{axis}: {error}") from None


def pick(x: Array, index: Any) -> Array:
    try:
        return np.array(x[index])
    except IndexError as error:
        raise IndexError(f"(OutOfRange) {error}") from None


def scatter_sum(x: Array, index: Any, shape: tuple[int, ...]) -> Array:
    out = np.zeros(shape, x.dtype)
    np.add.at(out, index, x)
    return out


def put(x: Array, value: Array, index: Any) -> Array:
    out = x.copy()
    while value.ndim > 1 and value.shape[0] == 1:
        value = value[0]                    # NumPy does so for all indexes but masks
    try:
        out[index] = value
    except IndexError as error:
        raise IndexError(f"(OutOfRange) {error}") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"(InvalidArgument) {error}") from None
    return out
