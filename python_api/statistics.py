"""Medians, quantiles and sums without NaN, differences and integrals, and what finds elements: put together from other operators."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from eager_core import Tensor, tensor_from_array
from eager_core import argsort as _argsort
from eager_core import concat as _concat
from eager_core import cumsum as _cumsum
from eager_core import index_select as _index_select
from eager_core import isnan as _isnan
from eager_core import sort as _sort
from eager_core import stack as _stack
from eager_core import take_along_axis as _take_along_axis
from eager_core import where as _where
from eager_core.gradient_helpers.manipulation import sum_to
from python_api.composite import array_of, axes_of, axis_of, composite, integer, part
from python_api.framework import as_dtype, check_constant

__all__ = [
    "argwhere", "cumulative_trapezoid", "diff", "histogramdd", "median", "msort", "nanmean", "nanmedian", "nanquantile", "nansum",
    "nonzero", "quantile", "rank", "reduce_as", "trapezoid", "unique", "unique_consecutive", "where", "where_",
]

Name = str | None
Array = np.ndarray[Any, np.dtype[Any]]


# ---- without NaN -----------------------------------------------------------------------------------------------------------------------

@composite
def nansum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: Name = None) -> Tensor:
    """Sum over axes, NaN counting as 0."""
    return _where(_isnan(x), 0, x).sum(axis, dtype, keepdim)


@composite
def nanmean(x: Tensor, axis: Any = None, keepdim: bool = False, name: Name = None) -> Tensor:
    """Arithmetic mean over axes of the elements that are not NaN."""
    total = nansum(x, axis, keepdim=keepdim)
    axes = None if axis is None else tuple(axes_of(axis, x.ndim, "nanmean")) or None
    return total / tensor_from_array(np.asarray((~np.isnan(x.numpy())).sum(axis=axes, keepdims=keepdim), total.dtype))


# ---- order statistics ------------------------------------------------------------------------------------------------------------------

def _rows(x: Tensor, axis: Any, caller: str) -> tuple[Tensor, list[int]]:
    """The axes to go through as one last axis, and which they were."""
    if x.dtype.kind == "c":
        raise TypeError(f"(InvalidType) {caller}() does not support dtype {x.dtype.name}")
    axes = list(range(x.ndim)) if axis is None or axis in ([], ()) else axes_of(axis, x.ndim, caller)
    if x.ndim == 0:
        return x.reshape([1]), []
    kept = [a for a in range(x.ndim) if a not in axes]
    return x.transpose([*kept, *axes]).reshape([*[x.shape[a] for a in kept], math.prod(x.shape[a] for a in axes)]), axes


def _at(ordered: Tensor, positions: Array, mode: str) -> Tensor:
    """Elements of sorted rows at fractional positions, in between by a rule. NaN as a position gives NaN."""
    unknown = np.isnan(positions)
    positions = np.where(unknown, 0.0, positions)
    low, high = np.floor(positions), np.ceil(positions)
    if mode in ("lower", "higher", "nearest"):
        chosen = {"lower": low, "higher": high, "nearest": np.rint(positions)}[mode]
        found = _take_along_axis(ordered, tensor_from_array(chosen.astype(np.int64)), -1)
    else:
        share = np.full_like(positions, 0.5) if mode == "midpoint" else positions - low
        share = np.where(low == high, 0.0, share)
        first = _take_along_axis(ordered, tensor_from_array(low.astype(np.int64)), -1)
        if share.any():
            second = _take_along_axis(ordered, tensor_from_array(high.astype(np.int64)), -1)
            weight = tensor_from_array(share.astype(ordered.dtype))
            # An infinite neighbour that has no share does not count.
            first = _where(weight.equal(0.0), first, first + (_where(weight.equal(0.0), first, second) - first) * weight)
        found = first
    return _where(tensor_from_array(unknown), math.nan, found) if unknown.any() else found


def _restored(found: Tensor, ndim: int, axes: list[int], keepdim: bool) -> Tensor:
    """Drop the last axis, or put axes of length 1 where the reduced ones were."""
    found = found.squeeze(-1)
    if keepdim:
        left = iter(found.shape)
        return found.reshape([1 if a in axes else next(left) for a in range(ndim)])
    return found


def _floating(x: Tensor) -> Tensor:
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def _quantile(x: Tensor, q: Any, axis: Any, keepdim: bool, mode: str, caller: str, skip_nan: bool) -> Tensor:
    rows, axes = _rows(_floating(x), axis, caller)
    check_constant(q, "q", caller)
    points = array_of(q, "q", caller, np.float64)
    if points.ndim > 1 or not points.size or (points < 0).any() or (points > 1).any():
        raise ValueError(f"(InvalidArgument) {caller}(): q must be numbers from 0 to 1, but got {q}")
    if mode not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise ValueError(f"(InvalidArgument) {caller}(): interpolation must be linear, lower, higher, midpoint or nearest, but got "
                         f"{mode!r}")
    if not rows.shape[-1]:
        raise ValueError(f"(InvalidArgument) {caller}(): there is no element along axis {axis} of the shape {x.shape}")
    ordered = _sort(rows, -1)
    nans = np.isnan(ordered.numpy())
    last = (~nans).sum(axis=-1, keepdims=True) - 1
    if not skip_nan:
        last = np.where(nans.any(axis=-1, keepdims=True), np.nan, last)
    found = [_restored(_at(ordered, np.where(last < 0, np.nan, last * point), mode), x.ndim, axes, keepdim) for point in points.reshape(-1)]
    # A list of one number gives what the number gives (the reference's rule).
    return found[0] if len(found) == 1 else _stack(found, 0)


@composite
def quantile(x: Tensor, q: Any, axis: Any = None, keepdim: bool = False, interpolation: str = "linear", name: Name = None) -> Tensor:
    """Return quantiles over axes: one for a number q, or one each for several, along a new first axis. NaN gives NaN."""
    return _quantile(x, q, axis, keepdim, interpolation, "quantile", False)


@composite
def nanquantile(x: Tensor, q: Any, axis: Any = None, keepdim: bool = False, interpolation: str = "linear", name: Name = None) -> Tensor:
    """Return quantiles over axes of the elements that are not NaN."""
    return _quantile(x, q, axis, keepdim, interpolation, "nanquantile", True)


@composite
def median(x: Tensor, axis: Any = None, keepdim: bool = False, mode: str = "avg", name: Name = None) -> Any:
    """Return the median along an axis, or of all elements; NaN if one of them is.

    Of two elements in the middle ``mode="avg"`` takes the mean; ``"min"`` the smaller one, and with an axis returns its index, too.
    """
    return _median(x, axis, keepdim, mode, "median", False)


@composite
def nanmedian(x: Tensor, axis: Any = None, keepdim: bool = False, mode: str = "avg", name: Name = None) -> Any:
    """Return the median over axes of the elements that are not NaN; mode as for median."""
    return _median(x, axis, keepdim, mode, "nanmedian", True)


def _median(x: Tensor, axis: Any, keepdim: bool, mode: str, caller: str, skip_nan: bool) -> Any:
    if mode not in ("avg", "min"):
        raise ValueError(f"(InvalidArgument) {caller}(): mode must be 'avg' or 'min', but got {mode!r}")
    if mode == "avg":
        return _quantile(x, 0.5, axis, keepdim, "midpoint", caller, skip_nan)
    rows, axes = _rows(x, axis, caller)
    if not rows.shape[-1]:
        raise ValueError(f"(InvalidArgument) {caller}(): there is no element along axis {axis} of the shape {x.shape}")
    order = _argsort(rows, -1).numpy()
    nans = np.isnan(rows.numpy())
    count = (~nans).sum(axis=-1, keepdims=True)
    middle = np.maximum(count - 1, 0) // 2
    if not skip_nan:
        middle = np.where(nans.any(axis=-1, keepdims=True), count, middle)       # the first NaN comes behind all others
    places = tensor_from_array(np.take_along_axis(order, middle, -1))
    values = _restored(_take_along_axis(rows, places, -1), x.ndim, axes, keepdim)
    return values if axis is None or len(axes) > 1 else (values, _restored(places, x.ndim, axes, keepdim))


@composite
def msort(input: Tensor) -> Tensor:
    """Sort along axis 0."""
    return _sort(input, 0)


# ---- differences and integrals ---------------------------------------------------------------------------------------------------------

@composite
def diff(x: Tensor, n: int = 1, axis: int = -1, prepend: Tensor | None = None, append: Tensor | None = None, name: Name = None) -> Tensor:
    """Return the differences of neighbours along an axis, n times; prepend and append are joined to x before."""
    if x.ndim == 0 or n < 0:
        raise ValueError("(InvalidArgument) diff(): x must have at least 1 axis, and n must not be negative")
    axis = axis_of(axis, x.ndim, "diff")
    joined = [t for t in (prepend, x, append) if t is not None]
    x = _concat(joined, axis) if len(joined) > 1 else x
    for _ in range(min(n, x.shape[axis])):        # then nothing is left
        later, earlier = part(x, axis, slice(1, None)), part(x, axis, slice(None, -1))
        x = later.logical_xor(earlier) if x.dtype.kind == "b" else later - earlier
    return x if n else x.clone()


def _trapezoids(y: Tensor, x: Tensor | None, dx: float | None, axis: int, caller: str) -> tuple[Tensor, int]:
    if x is not None and dx is not None:
        raise ValueError(f"(InvalidArgument) {caller}(): only one of x and dx can be given")
    axis = axis_of(axis, y.ndim, caller)
    if x is None:
        width: Any = 1.0 if dx is None else dx
    else:
        if x.ndim == 1:
            x = x.reshape([-1 if a == axis else 1 for a in range(y.ndim)])
        width = diff(x, axis=axis if x.ndim == y.ndim else axis - y.ndim)
    return (part(y, axis, slice(1, None)) + part(y, axis, slice(None, -1))) * 0.5 * width, axis


@composite
def trapezoid(y: Tensor, x: Tensor | None = None, dx: float | None = None, axis: int = -1, name: Name = None) -> Tensor:
    """Integrate y along an axis by the trapezoidal rule, over points x or steps dx."""
    areas, axis = _trapezoids(y, x, dx, axis, "trapezoid")
    return areas.sum(axis)


@composite
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, dx: float | None = None, axis: int = -1, name: Name = None) -> Tensor:
    """Integrate y along an axis by the trapezoidal rule up to each point behind the first."""
    areas, axis = _trapezoids(y, x, dx, axis, "cumulative_trapezoid")
    return _cumsum(areas, axis)


# ---- finding ---------------------------------------------------------------------------------------------------------------------------

@composite(constant=True)
def nonzero(x: Tensor, as_tuple: bool = False) -> Any:
    """Return the indices of the elements that are not zero, one per row; or as a tuple of vectors, one per axis."""
    found = np.argwhere(x.numpy())
    return tuple(tensor_from_array(found[:, k].copy()) for k in range(x.ndim)) if as_tuple else tensor_from_array(found)


@composite(constant=True)
def argwhere(input: Tensor) -> Tensor:
    """Return the indices of the elements that are not zero, one per row."""
    return tensor_from_array(np.argwhere(input.numpy()))


@composite
def where(condition: Tensor, x: Any = None, y: Any = None, name: Name = None) -> Any:
    """Return x where the condition holds, else y. Without both: where the condition holds, as nonzero(condition, as_tuple=True)."""
    if x is None and y is None:
        return nonzero(condition, True)
    return _where(condition, x, y)


@composite
def where_(condition: Tensor, x: Tensor, y: Any, name: Name = None) -> Tensor:
    """Overwrite x with y where the condition does not hold, in place, and return x."""
    return x.copy_(_where(condition, x, y))


@composite
def unique(x: Tensor, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None,
           dtype: Any = "int64", sorted: bool = True, name: Name = None) -> Any:
    """Return the different elements, or slices along an axis, in order.

    As asked for, also where each occurs first, which one each element is, and how often each occurs. The gradient goes to the first
    occurrence.
    """
    rows = x.flatten() if axis is None else x
    axis = 0 if axis is None else axis_of(axis, x.ndim, "unique")
    _, first, inverse, counts = np.unique(rows.numpy(), return_index=True, return_inverse=True, return_counts=True, axis=axis)
    asked = ((return_index, first), (return_inverse, inverse.reshape(-1)), (return_counts, counts))
    found = [_index_select(rows, tensor_from_array(first.astype(np.int64)), axis)]
    found += [tensor_from_array(a.astype(as_dtype(dtype, "unique"))) for wanted, a in asked if wanted]
    return tuple(found) if len(found) > 1 else found[0]


@composite
def unique_consecutive(x: Tensor, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None, dtype: Any = "int64",
                       name: Name = None) -> Any:
    """Return the elements, or slices along an axis, that differ from the one before.

    As asked for, also which run each element is in, and how long each run is. The gradient goes to the first one of a run.
    """
    rows = x.flatten() if axis is None else x
    axis = 0 if axis is None else axis_of(axis, x.ndim, "unique_consecutive")
    values = np.moveaxis(rows.numpy(), axis, 0)
    values = values.reshape(len(values), values[:1].size)
    new = np.ones(len(values), np.bool_)
    new[1:] = (values[1:] != values[:-1]).any(axis=1)
    first = np.flatnonzero(new)
    asked = ((return_inverse, np.cumsum(new) - 1), (return_counts, np.diff(np.append(first, len(values)))))
    found = [_index_select(rows, tensor_from_array(first), axis)]
    found += [tensor_from_array(a.astype(as_dtype(dtype, "unique_consecutive"))) for wanted, a in asked if wanted]
    return tuple(found) if len(found) > 1 else found[0]


@composite(constant=True)
def rank(input: Tensor) -> Tensor:
    """Return the number of axes, as a tensor."""
    return tensor_from_array(np.asarray(input.ndim, np.int32))


@composite
def reduce_as(x: Tensor, target: Tensor, name: Name = None) -> Tensor:
    """Sum x over the axes that broadcasting target to its shape would add or stretch."""
    shape = target.shape
    extra = x.ndim - len(shape)
    if extra < 0 or any(n not in (1, m) for n, m in zip(shape, x.shape[extra:], strict=True)):
        raise ValueError(f"(InvalidArgument) reduce_as(): the shape {shape} does not broadcast to {x.shape}")
    made = sum_to(x, tuple(shape))
    return x.clone() if made is x else made


@composite(constant=True)
def histogramdd(x: Tensor, bins: Any = 10, ranges: Any = None, density: bool = False, weights: Tensor | None = None,
                name: Name = None) -> tuple[Tensor, list[Tensor]]:
    """Return how many rows fall into each cell of a grid, and the bounds of the cells along each axis."""
    points = x.numpy().reshape(-1, x.shape[-1])
    if isinstance(bins, list | tuple):
        bins = [array_of(b, "bins", "histogramdd") if isinstance(b, Tensor | np.ndarray) and b.ndim else integer(b, "bins", "histogramdd")
                for b in bins]
    else:
        bins = integer(bins, "bins", "histogramdd")
    bounds: Any = None if ranges is None else array_of(ranges, "ranges", "histogramdd").reshape(-1, 2).tolist()
    counts, edges = np.histogramdd(points, bins, bounds, density, None if weights is None else weights.numpy().reshape(-1))
    return tensor_from_array(counts.astype(x.dtype)), [tensor_from_array(e.astype(x.dtype)) for e in edges]
