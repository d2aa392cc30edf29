"""Sorting and searching. Ascending order puts NaN last, descending order is its mirror image; equal elements keep their order in both."""
from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .joining import Array, _axis
from .statistics import DType, int_axis, real_only


def _extreme(find: Any, x: Array, axis: Any, keepdim: bool, dtype: DType, name: str) -> Array:
    real_only(x, name)
    if x.size == 0 and (axis is None or x.shape[int_axis(axis, x.ndim, name)] == 0):
        raise ValueError(f"(InvalidArgument) {name}(): there is no element in a tensor of shape {list(x.shape)}")
    if axis is not None:
        axis = int_axis(axis, x.ndim, name)
    found = find(x, axis=axis if x.ndim else None, keepdims=keepdim)
    return np.asarray(found, dtype or np.int64)


def argmax(x: Array, axis: Any, keepdim: bool, dtype: DType) -> Array:
    return _extreme(np.argmax, x, axis, keepdim, dtype, "argmax")


def argmin(x: Array, axis: Any, keepdim: bool, dtype: DType) -> Array:
    return _extreme(np.argmin, x, axis, keepdim, dtype, "argmin")


def order(x: Array, axis: int, descending: bool) -> Array:
    """Return the stable order along an axis."""
    if not x.ndim:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    mirrored = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return np.asarray(x.shape[axis] - 1 - np.flip(mirrored, axis))


def argsort(x: Array, axis: int, descending: bool, stable: bool) -> Array:
    return order(real_only(x, "argsort"), _axis(axis, x.ndim, "argsort"), descending)


def sort(x: Array, axis: int, descending: bool, stable: bool) -> Array:
    axis = _axis(axis, real_only(x, "sort").ndim, "sort")
    if not x.ndim:
        return x.copy()
    found = np.sort(x, axis=axis)
    return np.flip(found, axis) if descending else found


def topk(x: Array, k: int, axis: Any, largest: bool, ordered: bool) -> tuple[Array, Array]:
    axis = -1 if axis is None else axis
    axis = int_axis(axis, real_only(x, "topk").ndim, "topk")
    length = x.shape[axis] if x.ndim else 1
    if not 1 <= k <= length:
        raise ValueError(f"(InvalidArgument) topk(): k must be from 1 to {length}, the length of axis {axis}, but got {k}")
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    places = np.take(order(x, axis, largest), np.arange(k), axis=axis)
    return np.take_along_axis(x, places, axis), places


def kthvalue(x: Array, k: int, axis: Any, keepdim: bool) -> tuple[Array, Array]:
    axis = int_axis(-1 if axis is None else axis, real_only(x, "kthvalue").ndim, "kthvalue")
    length = x.shape[axis] if x.ndim else 1
    if not 1 <= k <= length:
        raise ValueError(f"(InvalidArgument) kthvalue(): k must be from 1 to {length}, the length of axis {axis}, but got {k}")
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    return _picked(x, np.take(order(x, axis, False), [k - 1], axis=axis), axis, keepdim)


def _picked(x: Array, places: Array, axis: int, keepdim: bool) -> tuple[Array, Array]:
    values = np.take_along_axis(x, places, axis)
    return (values, places) if keepdim else (values.squeeze(axis), places.squeeze(axis))


def mode(x: Array, axis: int, keepdim: bool) -> tuple[Array, Array]:
    axis = _axis(axis, real_only(x, "mode").ndim, "mode")
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    if x.shape[axis] == 0:
        raise ValueError(f"(InvalidArgument) mode(): axis {axis} of a tensor of shape {list(x.shape)} is empty")
    rows = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
    places = np.empty(len(rows), np.int64)
    for k, row in enumerate(rows):
        found, counts = np.unique(row, return_counts=True)
        best = found[np.argmax(counts)]
        places[k] = np.flatnonzero((row == best) | (np.isnan(row) & np.isnan(best)))[-1]
    shape = [n for a, n in enumerate(x.shape) if a != axis]
    return _picked(x, np.expand_dims(places.reshape(shape), axis), axis, keepdim)


def searchsorted(sequence: Array, values: Array, sorter: Array | None, out_int32: bool, right: bool, side: str | None) -> Array:
    for given in (sequence, values):
        real_only(given, "searchsorted")
    if side not in (None, "left", "right"):
        raise ValueError(f"(InvalidArgument) searchsorted(): side must be 'left' or 'right', but got {side!r}")
    end: Literal["left", "right"] = "right" if side == "right" or (side is None and right) else "left"
    if sequence.ndim == 0 or (sequence.ndim > 1 and sequence.shape[:-1] != values.shape[:-1]):
        raise ValueError(f"(InvalidArgument) searchsorted(): sorted_sequence must be 1-d, or agree with values in all axes but the last, "
                         "but the "
                         f"shapes are {list(sequence.shape)} and {list(values.shape)}")
    if sorter is not None:
        if sorter.shape != sequence.shape:
            raise ValueError(f"(InvalidArgument) searchsorted(): sorter must have the shape {list(sequence.shape)}, but has "
                             f"{list(sorter.shape)}")
        sequence = np.take_along_axis(sequence, sorter, -1)
    dtype = np.int32 if out_int32 else np.int64
    if sequence.ndim == 1:
        return np.asarray(np.searchsorted(sequence, values, end), dtype)
    found = np.empty(values.shape, dtype)
    for row in np.ndindex(sequence.shape[:-1]):
        found[row] = np.searchsorted(sequence[row], values[row], end)
    return found


def bucketize(x: Array, sequence: Array, out_int32: bool, right: bool) -> Array:
    if sequence.ndim != 1:
        raise ValueError(f"(InvalidArgument) bucketize(): sorted_sequence must be 1-d, but has {sequence.ndim} axes")
    return searchsorted(sequence, x, None, out_int32, right, None)


def isin(x: Array, test_x: Array, assume_unique: bool, invert: bool) -> Array:
    return np.asarray(np.isin(x, test_x, assume_unique=False, invert=invert))
