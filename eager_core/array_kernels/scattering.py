"""Writing at indices. Indices are checked before anything is made, and a value's kind must fit that of the target."""
from __future__ import annotations

from typing import Any

import numpy as np

from .joining import Array, _axis, _index


def _rank(dtype: np.dtype[Any]) -> int:
    return {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}[dtype.kind]


def _check_kind(value: Array, x: Array, name: str) -> None:
    if _rank(value.dtype) > _rank(x.dtype):
        raise TypeError(f"(InvalidType) {name}(): a value of dtype {value.dtype} cannot be stored in a tensor of dtype {x.dtype}")


def along(index: Any, axis: int, ndim: int) -> tuple[Any, ...]:
    return (slice(None),) * (axis % max(ndim, 1)) + (index,)


def rows_of(index: Array) -> Array:
    """A column of indices is taken for a list of them."""
    return index[:, 0] if index.ndim == 2 and index.shape[1] == 1 else index


def scatter(x: Array, index: Array, updates: Array, overwrite: bool) -> Array:
    if x.ndim == 0:
        raise ValueError("(InvalidArgument) scatter(): x must have at least 1 axis")
    rows = _index(rows_of(index), "scatter", x.shape[0], (0, 1))
    _check_kind(updates, x, "scatter")
    if updates.shape != rows.shape + x.shape[1:] and not (rows.ndim == 0 and updates.shape == (1, *x.shape[1:])):
        raise ValueError(f"(InvalidArgument) scatter(): updates must have the shape {list(rows.shape + x.shape[1:])}, but have "
                         f"{list(updates.shape)}")
    out = x.copy()
    if overwrite:
        out[rows] = updates.reshape(rows.shape + x.shape[1:])
    else:
        out[rows] = 0
        np.add.at(out, rows, updates.reshape(rows.shape + x.shape[1:]).astype(x.dtype))
    return out


def places(index: Array, shape: tuple[int, ...], name: str) -> tuple[Array, ...]:
    """The last axis of an index holds coordinates: one array per axis of what it points into."""
    if index.dtype.kind not in "iu":
        raise TypeError(f"(InvalidType) {name}(): argument 'index' must be of integers, but got dtype {index.dtype}")
    if index.ndim == 0 or index.shape[-1] > len(shape):
        raise ValueError(f"(InvalidArgument) {name}(): the last axis of index, of shape {list(index.shape)}, must hold at most "
                         f"{len(shape)} "
                         "coordinates")
    found = tuple(index[..., k] for k in range(index.shape[-1]))
    for k, one in enumerate(found):
        if one.size and (one.min() < -shape[k] or one.max() >= shape[k]):
            raise IndexError(f"(OutOfRange) {name}(): an index into axis {k} lies outside {-shape[k]} to {shape[k] - 1}")
    return found


def scatter_nd_add(x: Array, index: Array, updates: Array) -> Array:
    where = places(index, x.shape, "scatter_nd_add")
    _check_kind(updates, x, "scatter_nd_add")
    wanted = index.shape[:-1] + x.shape[index.shape[-1]:]
    if updates.shape != wanted:
        raise ValueError(f"(InvalidArgument) scatter_nd_add(): updates must have the shape {list(wanted)}, but have {list(updates.shape)}")
    out = x.copy()
    if where:
        np.add.at(out, where, updates.astype(x.dtype))
    else:
        out += updates.sum(axis=tuple(range(index.ndim - 1))).astype(x.dtype)
    return out


def index_add(x: Array, index: Array, value: Array, axis: int, alpha: float | None) -> Array:
    axis = _axis(axis, x.ndim, "index_add")
    _index(index, "index_add", x.shape[axis] if x.ndim else 1, (1,))
    _check_kind(value, x, "index_add")
    wanted = x.shape[:axis] + index.shape + x.shape[axis + 1:]
    try:
        value = np.broadcast_to(value, wanted)
    except ValueError:
        raise ValueError(f"(InvalidArgument) index_add(): value must have the shape {list(wanted)}, but has {list(value.shape)}") from None
    out = x.copy()
    factor = np.asarray(1 if alpha is None else alpha)
    _check_kind(factor, x, "index_add")
    np.add.at(out, along(index, axis, x.ndim), (value * factor.astype(x.dtype)).astype(x.dtype))
    return out


def index_fill(x: Array, index: Array, value: Array, axis: int) -> Array:
    axis = _axis(axis, x.ndim, "index_fill")
    _index(index, "index_fill", x.shape[axis] if x.ndim else 1, (0, 1))
    _one(value, x, "index_fill")
    out = x.copy()
    out[along(index, axis, x.ndim)] = value.reshape(())
    return out


def _one(value: Array, x: Array, name: str) -> None:
    _check_kind(value, x, name)
    if value.size != 1:
        raise ValueError(f"(InvalidArgument) {name}(): value must be a number or a tensor of 1 element, but has the shape "
                         f"{list(value.shape)}")


def index_of(indices: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(i) for i in (indices if isinstance(indices, tuple | list) else (indices,)))


def index_put(x: Array, value: Array, indices: Any, accumulate: bool) -> Array:
    _check_kind(value, x, "index_put")
    index = index_of(indices)
    for one in index:
        if isinstance(one, slice) or one.dtype.kind not in "iub":
            got = "a slice" if isinstance(one, slice) else f"dtype {one.dtype}"
            raise TypeError(f"(InvalidType) index_put(): indices must be of integers or bool, but got {got}")
    out = x.copy()
    try:
        if accumulate:
            np.add.at(out, index, value.astype(x.dtype))
        else:
            out[index] = value
    except IndexError as error:
        raise IndexError(f"(OutOfRange) index_put(): {error}") from None
    except ValueError as error:
        raise ValueError(f"(InvalidArgument) index_put(): {error}") from None
    return out


def _mask(mask: Array, name: str) -> None:
    if mask.dtype.kind != "b":
        raise TypeError(f"(InvalidType) {name}(): argument 'mask' must be bool, but got dtype {mask.dtype}")


def masked_fill(x: Array, mask: Array, value: Array) -> Array:
    _mask(mask, "masked_fill")
    _check_kind(value, x, "masked_fill")
    try:
        np.broadcast_shapes(x.shape, mask.shape, value.shape)
    except ValueError:
        raise ValueError(f"(InvalidArgument) masked_fill(): the shapes {list(x.shape)}, {list(mask.shape)} and {list(value.shape)} of x, "
                         "mask and "
                         "value cannot be broadcast together") from None
    return np.where(mask, value.astype(x.dtype), x)


def masked_scatter(x: Array, mask: Array, value: Array) -> Array:
    _mask(mask, "masked_scatter")
    _check_kind(value, x, "masked_scatter")
    try:
        shape = np.broadcast_shapes(x.shape, mask.shape)
    except ValueError:
        raise ValueError(f"(InvalidArgument) masked_scatter(): a mask of shape {list(mask.shape)} cannot be broadcast to the shape "
                         f"{list(x.shape)}") from None
    out = np.array(np.broadcast_to(x, shape))
    mask = np.broadcast_to(mask, shape)
    count = int(np.count_nonzero(mask))
    if value.size < count:
        raise ValueError(f"(InvalidArgument) masked_scatter(): the mask holds {count} times, but value has only {value.size} elements")
    out[mask] = value.reshape(-1)[:count]
    return out


def along_axis_index(shape: tuple[int, ...], indices: Array, axis: int, broadcast: bool | None) -> tuple[Array, ...]:
    """One index array per axis. With broadcast, axes of length 1 (other than `axis`) are spread over arr."""
    if broadcast is not False:
        indices = np.broadcast_to(indices, [n if a == axis else shape[a] if n == 1 else n for a, n in enumerate(indices.shape)])
    grid = [np.arange(n).reshape([-1 if a == k else 1 for a in range(len(shape))]) for k, n in enumerate(indices.shape)]
    grid[axis] = indices
    return tuple(np.broadcast_arrays(*grid))


def put_along_axis(arr: Array, indices: Array, values: Array, axis: int, reduce: str | None, include_self: bool,
                   broadcast: bool | None) -> Array:
    axis = _axis(axis, arr.ndim, "put_along_axis")
    _index(indices, "put_along_axis", arr.shape[axis] if arr.ndim else 1, (arr.ndim,))
    _check_kind(values, arr, "put_along_axis")
    for a, n in enumerate(indices.shape):
        if a != axis and n > arr.shape[a]:
            raise ValueError(f"(InvalidArgument) put_along_axis(): indices of shape {list(indices.shape)} do not fit into arr of shape "
                             f"{list(arr.shape)} along axis {axis}")
    index = along_axis_index(arr.shape, indices, axis, broadcast)
    values = fitting(values, index[0].shape, broadcast).astype(arr.dtype)
    out = arr.copy()
    reduce = reduce or "assign"
    if reduce == "assign":
        out[index] = values
        return out
    if not include_self:
        out[index] = _start(reduce, arr.dtype)
    if reduce in ("add", "mean"):
        np.add.at(out, index, values)
    elif reduce in ("mul", "multiply"):
        np.multiply.at(out, index, values)
    elif reduce in ("amin", "amax"):
        (np.minimum if reduce == "amin" else np.maximum).at(out, index, values)
    else:
        raise ValueError(f"(InvalidArgument) put_along_axis(): reduce must be assign, add, mul, multiply, mean, amin or amax, but got "
                         f"{reduce!r}")
    if reduce == "mean":
        count = counts(arr.shape, index, include_self)
        out = (out // count if arr.dtype.kind in "iub" else out / count).astype(arr.dtype)
    return out


def counts(shape: tuple[int, ...], index: tuple[Array, ...], include_self: bool) -> Array:
    """How many numbers a mean is taken of."""
    count = np.zeros(shape, np.int64)
    np.add.at(count, index, 1)
    return count + 1 if include_self else np.maximum(count, 1)


def fitting(values: Array, shape: tuple[int, ...], broadcast: bool | None) -> Array:
    """Values broadcast to the indices' shape; without broadcast, those at the front of longer axes."""
    try:
        if broadcast is False and values.ndim == len(shape):
            values = values[tuple(slice(n) for n in shape)]
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ValueError(f"(InvalidArgument) put_along_axis(): values of shape {list(values.shape)} do not fit indices of shape "
                         f"{list(shape)}") from None


def _start(reduce: str, dtype: np.dtype[Any]) -> Any:
    if reduce in ("add", "mean"):
        return 0
    if reduce in ("mul", "multiply"):
        return 1
    if dtype.kind == "f":
        return np.inf if reduce == "amin" else -np.inf
    if dtype.kind == "b":
        return reduce == "amin"
    return np.iinfo(dtype).max if reduce == "amin" else np.iinfo(dtype).min


def put_or_add_along_axis(arr: Array, indices: Array, values: Array, axis: int, reduce: str | None, include_self: bool,
                          broadcast: bool | None) -> Array:
    """The ways to combine whose gradient does not need the values; the row's gradient is wrong for all others."""
    if reduce not in (None, "assign", "add"):
        raise ValueError(f"(InvalidArgument) put_along_axis(): this entry combines by assign or add, but got reduce={reduce!r}; "
                         "python_api.put_along_axis knows the other ways")
    return put_along_axis(arr, indices, values, axis, reduce, include_self, broadcast)
