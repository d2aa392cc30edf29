"""Splitting, joining, reordering and reshaping, put together from views, copies and index operators."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from eager_core import Tensor, tensor_from_array
from eager_core import concat as _concat
from eager_core import expand as _expand
from eager_core import index_select as _index_select
from eager_core import pow as _pow
from eager_core import stack as _stack
from eager_core import where as _where
from eager_core.gradient_helpers import OPS
from python_api.composite import array_of, axes_of, axis_of, composite, integer, integers, part, tensor, tensor_of, tensors

_slice = slice

__all__ = [
    "as_strided", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shape", "broadcast_shapes", "broadcast_tensors",
    "broadcast_to", "cartesian_prod", "cat", "chunk", "column_stack", "combinations", "concatenate", "crop", "diag", "diag_embed",
    "diagflat", "diagonal_scatter", "dsplit", "dstack", "expand_as", "flip", "hsplit", "hstack", "meshgrid", "moveaxis", "narrow",
    "permute", "ravel", "repeat_interleave", "reverse", "roll", "rot90", "row_stack", "select_scatter", "slice", "slice_scatter", "split",
    "strided_slice", "swapaxes", "swapdims", "tensor_split", "tril_indices", "triu_indices", "unbind", "unflatten", "unfold", "unstack",
    "vander", "view", "view_as", "vsplit", "vstack",
]

Name = str | None


# ---- splitting: copies, so that no rule about several views of one memory is needed (S8.5) ----------------------------------------------

def _cut(x: Tensor, bounds: list[int], axis: int) -> list[Tensor]:
    return [part(x, axis, _slice(a, b)).clone() for a, b in itertools.pairwise(bounds)]


def _parts(value: Any, name: str, caller: str) -> int:
    """Return a number of parts."""
    count = integer(value, name, caller)
    if not 1 <= count < 2**31:
        raise ValueError(f"(InvalidArgument) {caller}(): {name} must be at least 1 and no more than memory holds, but got {count}")
    return count


@composite
def split(x: Tensor, num_or_sections: Any, axis: Any = 0, name: Name = None) -> list[Tensor]:
    """Cut x along an axis into equal parts, or into parts of given lengths (one may be -1: the rest). Copies."""
    axis = axis_of(axis, x.ndim, "split")
    length = x.shape[axis] if x.shape else 1
    if isinstance(num_or_sections, list | tuple):
        lengths = integers(num_or_sections, "num_or_sections", "split")
        if lengths.count(-1) == 1:
            lengths[lengths.index(-1)] = length - sum(lengths) - 1
        if sum(lengths) != length or min(lengths, default=0) < 0:
            raise ValueError(f"(InvalidArgument) split(): sections {num_or_sections} do not add up to {length}, the length of axis {axis}")
    else:
        count = _parts(num_or_sections, "num_or_sections", "split")
        if length % count:
            raise ValueError(f"(InvalidArgument) split(): axis {axis} of length {length} cannot be cut into {count} equal parts")
        lengths = [length // count] * count
    return _cut(x, [0, *itertools.accumulate(lengths)], axis)


@composite
def chunk(x: Tensor, chunks: int, axis: Any = 0, name: Name = None) -> list[Tensor]:
    """Cut x along an axis into at most so many parts, the last one being the shortest. Copies."""
    axis = axis_of(axis, x.ndim, "chunk")
    count = _parts(chunks, "chunks", "chunk")
    length = x.shape[axis] if x.shape else 1
    size = -(-length // count)
    if size == 0:
        return _cut(x, [0] * (count + 1), axis)
    return _cut(x, [*range(0, length, size), length], axis)


@composite
def tensor_split(x: Tensor, num_or_indices: Any, axis: Any = 0, name: Name = None) -> list[Tensor]:
    """Cut x along an axis into so many parts, the first ones one longer where needed, or at given places. Copies."""
    axis = axis_of(axis, x.ndim, "tensor_split")
    if not x.shape:
        raise ValueError("(InvalidArgument) tensor_split(): x must have at least 1 axis")
    length = x.shape[axis]
    if isinstance(num_or_indices, list | tuple):
        places = integers(num_or_indices, "num_or_indices", "tensor_split")
        starts, stops = [0, *places], [*places, length]
        return [part(x, axis, _slice(a, b)).clone() for a, b in zip(starts, stops, strict=True)]
    count = _parts(num_or_indices, "num_or_indices", "tensor_split")
    size, longer = divmod(length, count)
    return _cut(x, [k * size + min(k, longer) for k in range(count + 1)], axis)


def _need(x: Tensor, ndim: int, caller: str) -> Tensor:
    if x.ndim < ndim:
        raise ValueError(f"(InvalidArgument) {caller}(): at least {ndim} axes expected, but the shape is {x.shape}")
    return x


@composite
def hsplit(x: Tensor, num_or_indices: Any, name: Name = None) -> list[Tensor]:
    """tensor_split along axis 1 (axis 0 of a vector)."""
    return tensor_split(x, num_or_indices, 1 if _need(x, 1, "hsplit").ndim > 1 else 0)


@composite
def vsplit(x: Tensor, num_or_indices: Any, name: Name = None) -> list[Tensor]:
    """tensor_split along axis 0."""
    return tensor_split(_need(x, 2, "vsplit"), num_or_indices, 0)


@composite
def dsplit(x: Tensor, num_or_indices: Any, name: Name = None) -> list[Tensor]:
    """tensor_split along axis 2."""
    return tensor_split(_need(x, 3, "dsplit"), num_or_indices, 2)


@composite
def unbind(input: Tensor, axis: int = 0) -> list[Tensor]:
    """Return the slices of a tensor along an axis, without it. Copies."""
    axis = axis_of(axis, _need(input, 1, "unbind").ndim, "unbind")
    return [part(input, axis, k).clone() for k in range(input.shape[axis])]


@composite
def unstack(x: Tensor, axis: int = 0, num: int | None = None) -> list[Tensor]:
    """Return the slices of x along an axis, without it; num, if given, must be their number. Copies."""
    axis = axis_of(axis, _need(x, 1, "unstack").ndim, "unstack")
    if num is not None and num != x.shape[axis]:
        raise ValueError(f"(InvalidArgument) unstack(): num is {num}, but axis {axis} has length {x.shape[axis]}")
    return unbind(x, axis)


# ---- joining ---------------------------------------------------------------------------------------------------------------------------

def _at_least(count: int, caller: str, inputs: tuple[Any, ...]) -> Any:
    if len(inputs) == 1 and isinstance(inputs[0], list | tuple):
        inputs = tuple(inputs[0])
    made = []
    for given in inputs:
        x = tensor_of(given, "inputs", caller)
        if x.ndim < count:
            # As in NumPy: a vector lies along the middle one of 3 axes, a matrix along the first two.
            lengths = {0: [1] * count, 1: [1, *x.shape, 1][:count], 2: [*x.shape, 1]}[x.ndim]
            x = x.reshape(lengths)
        made.append(x)
    return made[0] if len(made) == 1 else made


@composite
def atleast_1d(*inputs: Any, name: Name = None) -> Any:
    """Give each tensor at least 1 axis; one tensor, or a list of them."""
    return _at_least(1, "atleast_1d", inputs)


@composite
def atleast_2d(*inputs: Any, name: Name = None) -> Any:
    """Give each tensor at least 2 axes, new ones in front; one tensor, or a list of them."""
    return _at_least(2, "atleast_2d", inputs)


@composite
def atleast_3d(*inputs: Any, name: Name = None) -> Any:
    """Give each tensor at least 3 axes: a vector lies along the middle one, a matrix along the first two; one tensor, or a list of them."""
    return _at_least(3, "atleast_3d", inputs)


def _listed(found: Any) -> list[Tensor]:
    return found if isinstance(found, list) else [found]


@composite(method=False)
def hstack(x: Any, name: Name = None) -> Tensor:
    """Join tensors along axis 1 (vectors along axis 0)."""
    found = _listed(atleast_1d(*tensors(x, "x", "hstack")))
    return _concat(found, 0 if found[0].ndim == 1 else 1)


@composite(method=False)
def vstack(x: Any, name: Name = None) -> Tensor:
    """Join tensors along axis 0, vectors as rows."""
    return _concat(_listed(atleast_2d(*tensors(x, "x", "vstack"))), 0)


@composite(method=False)
def row_stack(x: Any, name: Name = None) -> Tensor:
    """Join tensors along axis 0, vectors as rows."""
    return vstack(x)


@composite(method=False)
def dstack(x: Any, name: Name = None) -> Tensor:
    """Join tensors along axis 2."""
    return _concat(_listed(atleast_3d(*tensors(x, "x", "dstack"))), 2)


@composite(method=False)
def column_stack(x: Any, name: Name = None) -> Tensor:
    """Join tensors along axis 1, vectors as columns."""
    return _concat([t.reshape([-1, 1]) if t.ndim < 2 else t for t in tensors(x, "x", "column_stack")], 1)


@composite(method=False)
def cat(x: Any, axis: Any = 0, name: Name = None) -> Tensor:
    """Join tensors along an axis they have: the same as concat."""
    return _concat(x, axis)


@composite(method=False)
def concatenate(x: Any, axis: Any = 0, name: Name = None) -> Tensor:
    """Join tensors along an axis they have: the same as concat."""
    return _concat(x, axis)


@composite
def block_diag(inputs: Any, name: Name = None) -> Tensor:
    """Matrices along the diagonal of a larger one, zeros elsewhere; vectors count as rows."""
    blocks = [atleast_2d(t) for t in tensors(inputs, "inputs", "block_diag")]
    width = sum(b.shape[1] for b in blocks)
    rows, start = [], 0
    for block in blocks:
        rows.append(OPS["pad_constant"](block, (0, start), (0, width - start - block.shape[1])))
        start += block.shape[1]
    return _concat(rows, 0)


# ---- axes ------------------------------------------------------------------------------------------------------------------------------

@composite
def moveaxis(x: Tensor, source: Any, destination: Any, name: Name = None) -> Tensor:
    """Move axes to other places, the others keeping their order: a view."""
    ndim = x.ndim
    old, new = axes_of(source, ndim, "moveaxis", "source"), axes_of(destination, ndim, "moveaxis", "destination")
    if len(old) != len(new):
        raise ValueError(f"(InvalidArgument) moveaxis(): source and destination must be as many, but are {source} and {destination}")
    order = [a for a in range(ndim) if a not in old]
    for to, a in sorted(zip(new, old, strict=True)):
        order.insert(to, a)
    return x.transpose(order)


@composite
def swapaxes(x: Tensor, axis0: Any, axis1: Any = None, name: Name = None) -> Tensor:
    """Exchange two axes: a view. A single list is a permutation of all axes, as for transpose."""
    if isinstance(axis0, list | tuple) and axis1 is None:
        return x.transpose(axis0)
    ndim = x.ndim
    a, b = axis_of(axis0, ndim, "swapaxes", "axis0"), axis_of(axis1, ndim, "swapaxes", "axis1")
    order = list(range(ndim))
    if ndim:
        order[a], order[b] = b, a
    return x.transpose(order)


@composite
def swapdims(x: Tensor, axis0: Any, axis1: Any = None, name: Name = None) -> Tensor:
    """Exchange two axes: the same as swapaxes."""
    return swapaxes(x, axis0, axis1)


@composite
def permute(input: Tensor, *dims: Any) -> Tensor:
    """Permute the axes: the same as transpose."""
    return input.transpose(list(dims[0]) if len(dims) == 1 and isinstance(dims[0], list | tuple) else list(dims))


@composite
def ravel(input: Tensor) -> Tensor:
    """All elements in a row: a view if memory allows."""
    return input.flatten()


@composite
def view(x: Tensor, shape_or_dtype: Any, name: Name = None) -> Tensor:
    """Return x in another shape: a view if memory allows. With a dtype: the same bytes read as that dtype, in new memory, a constant."""
    if isinstance(shape_or_dtype, list | tuple | int):
        return x.reshape([shape_or_dtype] if isinstance(shape_or_dtype, int) else shape_or_dtype)
    dtype = np.dtype(shape_or_dtype)
    if dtype == x.dtype:
        return x.reshape(x.shape)
    try:
        return tensor_from_array(x.numpy().view(dtype))
    except ValueError as error:
        raise ValueError(f"(InvalidArgument) view(): {error}") from None


@composite
def view_as(x: Tensor, other: Tensor, name: Name = None) -> Tensor:
    """Return x in the shape of another tensor: a view if memory allows."""
    return x.reshape(other.shape)


@composite
def unflatten(x: Tensor, axis: int, shape: Any, name: Name = None) -> Tensor:
    """Split an axis into several."""
    axis = axis_of(axis, _need(x, 1, "unflatten").ndim, "unflatten")
    lengths = integers(shape, "shape", "unflatten")
    known = int(np.prod([n for n in lengths if n != -1]))
    if -1 not in lengths and known != x.shape[axis]:
        raise ValueError(f"(InvalidArgument) unflatten(): axis {axis} of length {x.shape[axis]} cannot take the shape {lengths}")
    if -1 in lengths:
        lengths[lengths.index(-1)] = x.shape[axis] // max(known, 1)
    return x.reshape([*x.shape[:axis], *lengths, *x.shape[axis + 1:]])


# ---- repetition ------------------------------------------------------------------------------------------------------------------------

@composite
def broadcast_to(x: Tensor, shape: Any, name: Name = None) -> Tensor:
    """Repeat axes of length 1 up to a shape, in new memory: the same as expand."""
    return _expand(x, shape)


@composite
def expand_as(x: Tensor, y: Tensor, name: Name = None) -> Tensor:
    """Expand x to the shape of y, in new memory."""
    return _expand(x, y.shape)


@composite
def broadcast_tensors(input: Any, name: Name = None) -> list[Tensor]:
    """Expand all tensors to their common shape, in new memory."""
    found = tensors(input, "input", "broadcast_tensors")
    try:
        shape = list(np.broadcast_shapes(*(tuple(t.shape) for t in found)))
    except ValueError:
        raise ValueError(f"(InvalidArgument) broadcast_tensors(): the shapes {[t.shape for t in found]} cannot be broadcast") from None
    return [_expand(t, shape) for t in found]


@composite(constant=True)
def broadcast_shape(x_shape: Any, y_shape: Any) -> list[int]:
    """Return the shape that two shapes broadcast to."""
    first, second = tuple(integers(x_shape, "x_shape", "broadcast_shape")), tuple(integers(y_shape, "y_shape", "broadcast_shape"))
    try:
        return list(np.broadcast_shapes(first, second))
    except ValueError:
        raise ValueError(f"(InvalidArgument) broadcast_shape(): the shapes {list(first)}, {list(second)} cannot be broadcast") from None


@composite(method=False, constant=True)
def broadcast_shapes(*shapes: Any) -> list[int]:
    """Return the shape that all the shapes broadcast to."""
    try:
        return list(np.broadcast_shapes(*map(tuple, shapes)))
    except ValueError:
        raise ValueError(f"(InvalidArgument) broadcast_shapes(): the shapes {list(map(list, shapes))} cannot be broadcast") from None


@composite
def repeat_interleave(x: Tensor, repeats: Any, axis: int | None = None, name: Name = None, *, output_size: int | None = None) -> Tensor:
    """Repeat each element along an axis (without one: of all in a row), so often or by a number of its own."""
    if axis is None:
        x, axis = x.flatten(), 0
    axis = axis_of(axis, x.ndim, "repeat_interleave")
    if not x.shape:
        x = x.reshape([1])
    counts = integers(repeats, "repeats", "repeat_interleave")
    if min(counts, default=0) < 0 or len(counts) not in (1, x.shape[axis]):
        raise ValueError(f"(InvalidArgument) repeat_interleave(): repeats must be 1 or {x.shape[axis]} numbers, none negative, but got "
                         f"{counts}")
    return _index_select(x, tensor_from_array(np.repeat(np.arange(x.shape[axis]), counts)), axis)


@composite(method=False)
def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Vectors spread over a grid: result k varies along axis k."""
    vectors = list(args[0]) if len(args) == 1 and isinstance(args[0], list | tuple) else list(args)
    vectors = [t.reshape([-1]) for t in tensors(vectors, "args", "meshgrid")]
    shape = [t.shape[0] for t in vectors]
    return [_expand(t.reshape([-1 if a == k else 1 for a in range(len(shape))]), shape) for k, t in enumerate(vectors)]


@composite(method=False)
def cartesian_prod(x: Any, name: Name = None) -> Tensor:
    """All combinations of one element of each vector, as rows."""
    vectors = tensors(x, "x", "cartesian_prod")
    return vectors[0] if len(vectors) == 1 else _stack([t.reshape([-1]) for t in meshgrid(*vectors)], 1)


@composite
def combinations(x: Tensor, r: int = 2, with_replacement: bool = False, name: Name = None) -> Tensor:
    """All choices of r elements of a vector, in order, as rows."""
    if x.ndim != 1 or r < 0:
        raise ValueError("(InvalidArgument) combinations(): x must be 1-d and r not negative")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    found = np.array(list(choose(range(x.shape[0]), r)), np.int64)
    return x[found.reshape(-1, r)] if r and len(found) else tensor_from_array(np.zeros((0, r) if r else (0,), x.dtype))


# ---- order -----------------------------------------------------------------------------------------------------------------------------

@composite
def flip(x: Tensor, axis: Any, name: Name = None) -> Tensor:
    """Reverse the order along axes, in new memory."""
    axes = axes_of(axis, x.ndim, "flip")
    if not x.shape:
        return x.clone()
    return x[tuple(_slice(None, None, -1) if a in axes else _slice(None) for a in range(x.ndim))].clone()


@composite
def reverse(x: Tensor, axis: Any, name: Name = None) -> Tensor:
    """Reverse the order along axes: the same as flip."""
    return flip(x, axis)


@composite
def roll(x: Tensor, shifts: Any, axis: Any = None, name: Name = None) -> Tensor:
    """Shift elements along axes (without one: all in a row); what leaves at one end comes in at the other."""
    steps = integers(shifts, "shifts", "roll")
    if axis is None:
        return _rolled(x.flatten(), sum(steps), 0).reshape(x.shape)
    axes = [axis_of(a, x.ndim, "roll") for a in integers(axis, "axis", "roll")]
    if len(axes) != len(steps):
        raise ValueError(f"(InvalidArgument) roll(): shifts and axis must be as many, but are {shifts} and {axis}")
    for step, a in zip(steps, axes, strict=True):
        x = _rolled(x, step, a)
    return x


def _rolled(x: Tensor, step: int, axis: int) -> Tensor:
    length = x.shape[axis] if x.shape else 0
    step = step % length if length else 0
    if step == 0:
        return x.clone()
    return _concat([part(x, axis, _slice(length - step, None)), part(x, axis, _slice(None, length - step))], axis)


@composite
def rot90(x: Tensor, k: int = 1, axes: Any = (0, 1), name: Name = None) -> Tensor:
    """Rotate by k right angles in the plane of two axes, in new memory."""
    first, second = axes_of(axes, _need(x, 2, "rot90").ndim, "rot90", "axes")
    if k % 4 == 0:
        return x.clone()
    if k % 4 == 2:
        return flip(x, [first, second])
    if k % 4 == 1:
        return swapaxes(flip(x, second), first, second).clone()
    return flip(swapaxes(x, first, second), second)


# ---- diagonals -------------------------------------------------------------------------------------------------------------------------

@composite
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Put the last axis on a diagonal of two new axes, zeros elsewhere."""
    x = tensor_of(input, "input", "diag_embed")
    _need(x, 1, "diag_embed")
    first, second = axis_of(dim1, x.ndim + 1, "diag_embed", "dim1"), axis_of(dim2, x.ndim + 1, "diag_embed", "dim2")
    if first == second:
        raise ValueError(f"(InvalidArgument) diag_embed(): dim1 and dim2 must differ, but are {dim1} and {dim2}")
    length = x.shape[-1]
    size = length + abs(offset)
    rows = np.arange(length)
    index = (*[np.arange(n).reshape([-1 if a == k else 1 for a in range(x.ndim)]) for k, n in enumerate(x.shape[:-1])],
             rows + max(-offset, 0), rows + max(offset, 0))
    made = OPS["scatter_sum"](x, index, (*x.shape[:-1], size, size))
    return moveaxis(made, [-2, -1], [first, second]).contiguous()


@composite
def diag(x: Tensor, offset: int = 0, padding_value: float = 0, name: Name = None) -> Tensor:
    """Return the diagonal of a matrix, or a matrix with a vector on its diagonal and padding_value elsewhere. Copies."""
    if x.ndim == 2:
        return x.diagonal(offset).clone()
    if x.ndim != 1:
        raise ValueError(f"(InvalidArgument) diag(): x must have 1 or 2 axes, but the shape is {x.shape}")
    padding = array_of(padding_value, "padding_value", "diag")
    made = diag_embed(x, offset)
    if not padding.any():
        return made
    if not np.can_cast(padding.dtype, x.dtype, "same_kind") and padding != padding.astype(x.dtype):
        raise TypeError(f"(InvalidType) diag(): padding_value {padding_value} cannot be stored in a tensor of dtype {x.dtype}")
    return _where(tensor_from_array(np.eye(made.shape[0], k=offset, dtype=np.bool_)), made, tensor_from_array(padding.astype(x.dtype)))


@composite
def diagflat(x: Tensor, offset: int = 0, name: Name = None) -> Tensor:
    """Return a matrix with all elements of x on its diagonal."""
    return diag_embed(x.flatten(), offset)


@composite(method=False, constant=True)
def tril_indices(row: int, col: int, offset: int = 0, dtype: Any = "int64") -> Tensor:
    """Return the rows and columns of the elements in the lower triangle."""
    return tensor_from_array(np.array(np.tril_indices(row, offset, col), np.dtype(dtype)))


@composite(method=False, constant=True)
def triu_indices(row: int, col: int | None = None, offset: int = 0, dtype: Any = "int64") -> Tensor:
    """Return the rows and columns of the elements in the upper triangle."""
    return tensor_from_array(np.array(np.triu_indices(row, offset, row if col is None else col), np.dtype(dtype)))


@composite
def vander(x: Tensor, n: int | None = None, increasing: bool = False, name: Name = None) -> Tensor:
    """Return the powers of the elements of a vector, row by row."""
    if x.ndim != 1:
        raise ValueError(f"(InvalidArgument) vander(): x must be 1-d, but the shape is {x.shape}")
    count = x.shape[0] if n is None else n
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    return _pow(x.unsqueeze(1), tensor_from_array(powers.astype(x.dtype)))


# ---- parts -----------------------------------------------------------------------------------------------------------------------------

def _region(ndim: int, axes: Any, starts: Any, ends: Any, strides: Any, caller: str) -> tuple[_slice, ...]:
    found = [axis_of(a, ndim, caller, "axes") for a in integers(axes, "axes", caller)]
    columns = [integers(v, n, caller) for v, n in ((starts, "starts"), (ends, "ends"), (strides, "strides"))]
    if any(len(c) != len(found) for c in columns):
        raise ValueError(f"(InvalidArgument) {caller}(): axes, starts, ends and strides must be as many, but are {axes}, {starts}, "
                         f"{ends} and "
                         f"{strides}")
    region = [_slice(None)] * ndim
    for a, start, end, step in zip(found, *columns, strict=True):
        if step == 0:
            raise ValueError(f"(InvalidArgument) {caller}(): a stride of 0 is no step")
        region[a] = _slice(start, end, step)
    return tuple(region)


@composite
def slice(input: Tensor, axes: Any, starts: Any, ends: Any) -> Tensor:
    """Return the part of a tensor between starts and ends along axes: a view."""
    count = len(integers(axes, "axes", "slice"))
    return input[_region(_need(input, 1, "slice").ndim, axes, starts, ends, [1] * count, "slice")]


@composite
def strided_slice(x: Tensor, axes: Any, starts: Any, ends: Any, strides: Any, name: Name = None) -> Tensor:
    """Return every so many-th element between starts and ends along axes: a view. A negative stride walks backwards."""
    return x[_region(_need(x, 1, "strided_slice").ndim, axes, starts, ends, strides, "strided_slice")]


@composite
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """Return so many slices along an axis from a start on: a view."""
    axis = axis_of(dim, _need(input, 1, "narrow").ndim, "narrow", "dim")
    first = integer(start, "start", "narrow")
    first += input.shape[axis] if first < 0 else 0
    if length < 0 or first < 0 or first + length > input.shape[axis]:
        raise IndexError(f"(OutOfRange) narrow(): from {start}, {length} long does not lie in axis {axis} of length {input.shape[axis]}")
    return part(input, axis, _slice(first, first + length))


@composite(method=False)
def crop(x: Tensor, shape: Any = None, offsets: Any = None, name: Name = None) -> Tensor:
    """Return the part of x that has a shape (-1: up to the end) and begins at offsets, in new memory."""
    lengths = list(x.shape) if shape is None else integers(shape, "shape", "crop")
    starts = [0] * x.ndim if offsets is None else integers(offsets, "offsets", "crop")
    if len(lengths) != x.ndim or len(starts) != x.ndim:
        raise ValueError(f"(InvalidArgument) crop(): shape and offsets must have {x.ndim} numbers, but are {shape} and {offsets}")
    lengths = [n - s if m == -1 else m for m, n, s in zip(lengths, x.shape, starts, strict=True)]
    if any(s < 0 or m < 0 or s + m > n for m, n, s in zip(lengths, x.shape, starts, strict=True)):
        raise ValueError(f"(InvalidArgument) crop(): shape {lengths} at offsets {starts} does not lie in the shape {x.shape}")
    return x[tuple(_slice(s, s + m) for s, m in zip(starts, lengths, strict=True))].clone()


@composite
def as_strided(x: Tensor, shape: Any, stride: Any, offset: int = 0, name: Name = None) -> Tensor:
    """Return the elements at multiples of strides, counted in C order from an offset, in new memory.

    The gradients of an element that is met twice add up.
    """
    lengths, steps = integers(shape, "shape", "as_strided"), integers(stride, "stride", "as_strided")
    if len(lengths) != len(steps) or min(lengths, default=0) < 0:
        raise ValueError(f"(InvalidArgument) as_strided(): shape and stride must be as many, and lengths not negative, but are {shape} "
                         f"and {stride}")
    place = np.full([1] * len(lengths), offset, np.int64)
    for a, (n, step) in enumerate(zip(lengths, steps, strict=True)):
        place = place + (np.arange(n) * step).reshape([-1 if a == k else 1 for k in range(len(lengths))])
    if place.size and (place.min() < 0 or place.max() >= x.size):
        raise IndexError(f"(OutOfRange) as_strided(): shape {lengths}, stride {steps} and offset {offset} reach beyond the {x.size} "
                         "elements")
    return x.flatten()[place]


@composite
def unfold(x: Tensor, axis: int, size: int, step: int, name: Name = None) -> Tensor:
    """Return windows of a size along an axis, a step apart; the window is a new last axis. A copy: windows may overlap."""
    axis = axis_of(axis, _need(x, 1, "unfold").ndim, "unfold")
    if not 0 < size <= x.shape[axis] or step < 1:
        raise ValueError(f"(InvalidArgument) unfold(): size {size} and step {step} do not fit axis {axis} of length {x.shape[axis]}")
    starts = np.arange(0, x.shape[axis] - size + 1, step)
    return moveaxis(part(x, axis, starts[:, None] + np.arange(size)), axis + 1, -1).contiguous()


# ---- parts replaced, out of place ------------------------------------------------------------------------------------------------------

def _storable(value: Any, name: str, caller: str) -> Any:
    """What item assignment takes, as it is: numbers adapt to the dtype that they are stored in."""
    if not isinstance(value, Tensor):
        array_of(value, name, caller)
    return value


@composite
def select_scatter(x: Tensor, values: Any, axis: int, index: int, name: Name = None) -> Tensor:
    """Return a copy of x in which one slice along an axis is replaced, by a tensor, an array, a number or a list."""
    axis = axis_of(axis, _need(x, 1, "select_scatter").ndim, "select_scatter")
    made = x.clone()
    made[(_slice(None),) * axis + (index,)] = _storable(values, "values", "select_scatter")
    return made


@composite
def slice_scatter(x: Tensor, value: Any, axes: Any, starts: Any, ends: Any, strides: Any, name: Name = None) -> Tensor:
    """Return a copy of x in which a strided slice is replaced, by a tensor, an array, a number or a list."""
    region = _region(_need(x, 1, "slice_scatter").ndim, axes, starts, ends, strides, "slice_scatter")
    made = x.clone()
    made[region] = _storable(value, "value", "slice_scatter")
    return made


@composite
def diagonal_scatter(x: Tensor, y: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, name: Name = None) -> Tensor:
    """Return a copy of x in which a diagonal is replaced, by a tensor, an array, a number or a list."""
    made = x.clone()
    made.diagonal(offset, axis1, axis2)[...] = _storable(y, "y", "diagonal_scatter")
    return made


@composite
def fill_diagonal_tensor_(x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, name: Name = None) -> Tensor:
    """Overwrite a diagonal of x with y, in place, and return x."""
    x.diagonal(offset, dim1, dim2)[...] = y
    return x


@composite
def fill_diagonal_tensor(x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, name: Name = None) -> Tensor:
    """Return a copy of x in which a diagonal is replaced: the same as diagonal_scatter."""
    return diagonal_scatter(x, y, offset, dim1, dim2)


@composite
def fill_diagonal_(x: Tensor, value: float, offset: int = 0, wrap: bool = False, name: Name = None) -> Tensor:
    """Set the diagonal of x to a number, in place, and return x.

    With more than 2 axes, which must be equally long, the elements with equal indices are meant. With wrap, the diagonal of a tall matrix
    begins anew after each full turn, one row further down.
    """
    ndim = _need(x, 2, "fill_diagonal_").ndim
    if ndim == 2:
        rows, columns = x.shape
        if not wrap or rows <= columns:
            x.diagonal(offset)[...] = value
            return x
        flat = np.arange(max(offset, 0) - min(offset, 0) * columns, rows * columns, columns + 1)
        x[np.unravel_index(flat, (rows, columns))] = value
        return x
    if len(set(x.shape)) > 1:
        raise ValueError(f"(InvalidArgument) fill_diagonal_(): more than 2 axes must be equally long, but the shape is {x.shape}")
    k = np.arange(max(0, x.shape[0] - abs(offset)))
    x[(k - min(offset, 0),) * (ndim - 1) + (k + max(offset, 0),)] = value
    return x


# ---- padding (nn.functional.pad) -------------------------------------------------------------------------------------------------------

def pad(x: Tensor, pad: Any, mode: str = "constant", value: float = 0.0, data_format: str | None = None, pad_from_left_axis: bool = True,
        name: Name = None) -> Tensor:
    """Surround x with a number, its mirror image, its edge, or itself.

    Parameters
    ----------
    x : Tensor
    pad : int, list of int or Tensor
        Two numbers an axis, in front and behind. For all axes (then only ``constant``), from the first axis on, or from the last one if
        `pad_from_left_axis` is False; or for the last axes, the last one first. Negative numbers cut off.
    mode : {"constant", "reflect", "replicate", "circular"}
    value : float
        The number, for ``constant``.
    data_format : {"NCL", "NLC", "NCHW", "NHWC", "NCDHW", "NDHWC"}, optional
        Which axes are meant: with the channels last, the axes between batch and channels.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        `pad` does not fit the axes, the mode is unknown, or there is not enough to mirror.
    """
    ndim = tensor(x, "x", "pad").ndim
    numbers = integers(pad, "pad", "pad")
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise ValueError(f"(InvalidArgument) pad(): mode must be constant, reflect, replicate or circular, but got {mode!r}")
    if len(numbers) == 1 and not isinstance(pad, list | tuple):
        numbers *= 2 * max(ndim - 2, 1)
    if len(numbers) % 2 or len(numbers) > 2 * ndim:
        raise ValueError(f"(InvalidArgument) pad(): two numbers for each of at most {ndim} axes expected, but got {numbers}")
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    before, after = [0] * ndim, [0] * ndim
    if len(pairs) == ndim and mode == "constant":
        axes = range(ndim) if pad_from_left_axis else range(ndim - 1, -1, -1)
    else:
        last = ndim - 1 - (data_format is not None and data_format.endswith("C"))
        axes = range(last, last - len(pairs), -1)
    for a, (front, behind) in zip(axes, pairs, strict=True):
        if a < 0:
            raise ValueError(f"(InvalidArgument) pad(): {numbers} are too many numbers for the format {data_format}")
        before[a], after[a] = front, behind
    if min(before + after, default=0) < 0:
        x = x[tuple(_slice(max(-b, 0), n - max(-a, 0)) for n, b, a in zip(x.shape, before, after, strict=True))]
        before, after = [max(b, 0) for b in before], [max(a, 0) for a in after]
    if mode == "constant":
        return OPS["pad_constant"](x, tuple(before), tuple(after), value)
    for a in range(ndim):
        if before[a] or after[a]:
            x = _index_select(x, tensor_from_array(_sources(x.shape[a], before[a], after[a], mode)), a)
    return x


def _sources(length: int, before: int, after: int, mode: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where the elements along a padded axis come from."""
    most = {"reflect": length - 1, "circular": length, "replicate": before + after if length else 0}[mode]
    if max(before, after) > most:
        raise ValueError(f"(InvalidArgument) pad(): an axis of length {length} cannot be padded by {max(before, after)} in mode {mode}")
    places = np.arange(-before, length + after)
    if mode == "replicate":
        return places.clip(0, length - 1)
    if mode == "circular":
        return places % length
    return np.asarray((length - 1) - np.abs(length - 1 - np.abs(places)))
