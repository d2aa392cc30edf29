"""Picking and writing by index, put together from other operators."""
from __future__ import annotations

from typing import Any

import numpy as np

from eager_core import Tensor, tensor_from_array
from eager_core import expand as _expand
from eager_core import put_along_axis as _put_along_axis
from eager_core import put_along_axis_ as _put_along_axis_
from eager_core import scatter_nd_add as _scatter_nd_add
from eager_core import stack as _stack
from eager_core import take_along_axis as _take_along_axis
from eager_core.array_kernels.scattering import places
from eager_core.gradient_helpers import OPS
from python_api.composite import axis_of, composite, integers, tensors

__all__ = [
    "gather_nd", "index_sample", "masked_select", "multiplex", "put_along_axis", "put_along_axis_", "scatter_add", "scatter_add_",
    "scatter_nd", "scatter_reduce", "shard_index", "take", "take_along_dim",
]

Name = str | None


@composite
def gather_nd(x: Tensor, index: Tensor, name: Name = None) -> Tensor:
    """Return the slices of x that the rows of an index (its last axis) point to."""
    at = places(index.numpy(), tuple(x.shape), "gather_nd")
    if not at:
        return _expand(x, [*index.shape[:-1], *x.shape])
    return OPS["pick"](x, at)


@composite
def scatter_nd(index: Tensor, updates: Tensor, shape: Any, name: Name = None) -> Tensor:
    """Return zeros of a shape with updates added where the rows of an index point."""
    zeros = tensor_from_array(np.zeros(integers(shape, "shape", "scatter_nd"), updates.dtype))
    return _scatter_nd_add(zeros, index, updates)


@composite
def index_sample(x: Tensor, index: Tensor) -> Tensor:
    """Return elements of each row of a matrix, by the same row of an index."""
    if x.ndim != 2 or index.ndim != 2 or x.shape[0] != index.shape[0]:
        raise ValueError(f"(InvalidArgument) index_sample(): two matrices of as many rows expected, but the shapes are {x.shape} and "
                         f"{index.shape}")
    return _take_along_axis(x, index, 1)


@composite
def masked_select(x: Tensor, mask: Tensor, name: Name = None) -> Tensor:
    """Return the elements of x where a mask holds, in a row; the two are broadcast together."""
    if mask.dtype.kind != "b":
        raise TypeError(f"(InvalidType) masked_select(): argument 'mask' must be bool, but got dtype {mask.dtype.name}")
    try:
        shape = list(np.broadcast_shapes(tuple(x.shape), tuple(mask.shape)))
    except ValueError:
        raise ValueError(f"(InvalidArgument) masked_select(): the shapes {x.shape} and {mask.shape} cannot be broadcast together") from None
    x = x if x.shape == shape else _expand(x, shape)
    return OPS["pick"](x, np.broadcast_to(mask.numpy(), shape).nonzero()).flatten()


@composite
def take(x: Tensor, index: Tensor, mode: str = "raise", name: Name = None) -> Tensor:
    """Return elements of x, taken in a row, in the shape of the index. mode: an index outside raises, wraps around, or is clipped."""
    if index.dtype.kind not in "iu":
        raise TypeError(f"(InvalidType) take(): argument 'index' must be of integers, but got dtype {index.dtype.name}")
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"(InvalidArgument) take(): mode must be raise, wrap or clip, but got {mode!r}")
    at, size = index.numpy(), x.size
    if mode == "raise" and at.size and (at.min() < -size or at.max() >= size):
        raise IndexError(f"(OutOfRange) take(): an index lies outside {-size} to {size - 1}")
    if mode != "raise":
        at = at % max(size, 1) if mode == "wrap" else at.clip(0, size - 1)
    return OPS["pick"](x.flatten(), (at,))


@composite
def multiplex(inputs: Any, index: Tensor, name: Name = None) -> Tensor:
    """Return row i of the tensor that index[i] names, for each i."""
    stacked = _stack(tensors(inputs, "inputs", "multiplex"), 0)
    rows = index.numpy().reshape(-1)
    if rows.size and (rows.min() < 0 or rows.max() >= stacked.shape[0] or rows.size > stacked.shape[1]):
        raise IndexError(f"(OutOfRange) multiplex(): index must name one of {stacked.shape[0]} tensors for at most {stacked.shape[1]} rows")
    return OPS["pick"](stacked, (rows, np.arange(rows.size)))


@composite(constant=True)
def shard_index(input: Tensor, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1) -> Tensor:
    """Return the index within a shard, or ignore_value for what belongs to another one."""
    if not 0 <= shard_id < nshards:
        raise ValueError(f"(InvalidArgument) shard_index(): shard_id must be from 0 to {nshards - 1}, but got {shard_id}")
    size = (index_num + nshards - 1) // nshards
    given = input.numpy()
    if given.size and (given.min() < 0 or given.max() >= index_num):
        raise IndexError(f"(OutOfRange) shard_index(): an index lies outside 0 to {index_num - 1}")
    return tensor_from_array(np.where(given // size == shard_id, given % size, ignore_value).astype(given.dtype))


# ---- along an axis ---------------------------------------------------------------------------------------------------------------------

_LINEAR = ("assign", "add")          # their gradient needs no values; the others are an operator that saves them


@composite
def put_along_axis(arr: Tensor, indices: Tensor, values: Any, axis: int, reduce: str = "assign", include_self: bool = True,
                   broadcast: bool = True) -> Tensor:
    """Return arr with values combined into it along an axis, one index per value.

    reduce: assign (the last one wins), add, mul or multiply, mean, amin, amax. Without include_self the old element does not take
    part where something is written. With broadcast, axes of indices and values of length 1 are spread over arr.
    """
    way = _put_along_axis if reduce in _LINEAR else OPS["reduce_along_axis"]
    return way(arr, indices, values, axis, reduce, include_self, broadcast)


@composite
def put_along_axis_(arr: Tensor, indices: Tensor, values: Any, axis: int, reduce: str = "assign", include_self: bool = True,
                    broadcast: bool = True) -> Tensor:
    """Combine values into arr along an axis, in place, and return arr; see put_along_axis."""
    way = _put_along_axis_ if reduce in _LINEAR else OPS["reduce_along_axis_"]
    return way(arr, indices, values, axis, reduce, include_self, broadcast)


@composite
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Return elements picked along an axis, one index per result; without an axis, of all elements in a row."""
    if dim is None:
        return _take_along_axis(input.flatten(), indices.flatten(), 0)
    return _take_along_axis(input, indices, dim)


@composite
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return a tensor with src added along an axis, one index per element of src."""
    return _put_along_axis(input, index, src, axis_of(dim, input.ndim, "scatter_add", "dim"), "add", True, False)


@composite
def scatter_add_(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Add src to a tensor along an axis, one index per element of src, in place, and return the tensor."""
    return _put_along_axis_(input, index, src, axis_of(dim, input.ndim, "scatter_add_", "dim"), "add", True, False)


@composite
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """Return a tensor with src combined into it along an axis: sum, prod, mean, amin or amax."""
    if reduce not in ("sum", "prod", "mean", "amin", "amax"):
        raise ValueError(f"(InvalidArgument) scatter_reduce(): reduce must be sum, prod, mean, amin or amax, but got {reduce!r}")
    way = {"sum": "add", "prod": "mul"}.get(reduce, reduce)
    return put_along_axis(input, index, src, dim, way, include_self, False)
