"""Gradient helpers of operators that write at indices. S8.11: of several values for one place only the one that stayed has a gradient."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_kernels import scattering as kernels
from . import OPS
from .core import _constant, put_grad_value, put_grad_x
from .manipulation import sum_to

if TYPE_CHECKING:
    from eager_core import Tensor

Shape = tuple[int, ...]
Index = tuple[Any, ...]


def scatter_grad_x(grad: Tensor, index: Tensor) -> Tensor:
    return put_grad_x(grad, kernels.rows_of(index.numpy()))


def scatter_grad_updates(grad: Tensor, shape: Shape, index: Tensor, overwrite: bool) -> Tensor:
    rows = kernels.rows_of(index.numpy())
    if overwrite:
        return put_grad_value(grad, rows.shape + tuple(grad.shape[1:]), rows).reshape(list(shape))
    return OPS["pick"](grad, rows).reshape(list(shape))


def gather_nd_again(grad: Tensor, index: Tensor) -> Tensor:
    at = kernels.places(index.numpy(), tuple(grad.shape), "scatter_nd_add")
    if not at:
        return OPS["expand"](grad, [*index.shape[:-1], *grad.shape])
    return OPS["pick"](grad, at)


def index_add_grad(grad: Tensor, shape: Shape, index: Tensor, axis: int, alpha: float | None) -> Tensor:
    picked = sum_to(OPS["pick"](grad, kernels.along(index.numpy(), axis, len(grad.shape))), shape)
    return picked if alpha is None else picked * np.conj(alpha)


def index_fill_grad_x(grad: Tensor, index: Tensor, axis: int) -> Tensor:
    return put_grad_x(grad, kernels.along(index.numpy(), axis, len(grad.shape)))


def index_fill_grad_value(grad: Tensor, shape: Shape, index: Tensor, axis: int) -> Tensor:
    filled = np.zeros(grad.shape, np.bool_)
    filled[kernels.along(index.numpy(), axis, len(grad.shape))] = True
    return OPS["where"](_constant(filled), grad, 0.0).sum().reshape(list(shape))


def index_put_grad_x(grad: Tensor, indices: Any, accumulate: bool) -> Tensor:
    return grad if accumulate else put_grad_x(grad, kernels.index_of(indices))


def index_put_grad_value(grad: Tensor, shape: Shape, indices: Any, accumulate: bool) -> Tensor:
    index = kernels.index_of(indices)
    return sum_to(OPS["pick"](grad, index), shape) if accumulate else put_grad_value(grad, shape, index)


def masked_fill_grad_x(grad: Tensor, shape: Shape, mask: Tensor) -> Tensor:
    return sum_to(OPS["where"](mask, 0.0, grad), shape)


def masked_fill_grad_value(grad: Tensor, shape: Shape, mask: Tensor) -> Tensor:
    return sum_to(OPS["where"](mask, grad, 0.0), shape)


def masked_scatter_grad(grad: Tensor, shape: Shape, mask: Tensor) -> Tensor:
    picked = OPS["pick"](grad, np.broadcast_to(mask.numpy(), grad.shape))
    size = int(np.prod(shape))
    return OPS["scatter_sum"](picked, (np.arange(picked.size),), (size,)).reshape(list(shape))


# ---- along an axis ---------------------------------------------------------------------------------------------------------------------

def _index(shape: Shape, indices: Tensor, axis: int, broadcast: bool | None) -> Index:
    return kernels.along_axis_index(shape, indices.numpy(), axis % len(shape), broadcast)


def _to_values(picked: Tensor, shape: Shape, broadcast: bool | None) -> Tensor:
    """Undo `fitting`: values that were broadcast are summed, those that were not used have none."""
    lengths = tuple(picked.shape)
    if broadcast is False and len(shape) == len(lengths) and shape != lengths:
        front = tuple(min(n, m) for n, m in zip(shape, lengths, strict=True))
        return OPS["scatter_sum"](sum_to(picked, front), tuple(slice(n) for n in front), shape)
    return sum_to(picked, shape)


def put_along_axis_grad_arr(grad: Tensor, indices: Tensor, axis: int, reduce: str | None, include_self: bool,
                            broadcast: bool | None) -> Tensor:
    if reduce == "add" and include_self:
        return grad
    return put_grad_x(grad, _index(tuple(grad.shape), indices, axis, broadcast))


def put_along_axis_grad_values(grad: Tensor, indices: Tensor, shape: Shape, axis: int, reduce: str | None,
                               broadcast: bool | None) -> Tensor:
    index = _index(tuple(grad.shape), indices, axis, broadcast)
    picked = OPS["pick"](grad, index) if reduce == "add" else put_grad_value(grad, index[0].shape, index)
    return _to_values(picked, shape, broadcast)


class _Reduction:
    """What the gradients of reduce_along_axis share: the share of the result's gradient that arr and each value get."""

    def __init__(self, arr: Tensor, indices: Tensor, values: Tensor, axis: int, reduce: str, include_self: bool,
                 broadcast: bool | None) -> None:
        shape = tuple(arr.shape)
        self.index = _index(shape, indices, axis, broadcast)
        touched = np.zeros(shape, np.bool_)
        touched[self.index] = True
        self.takes_part = np.ones(shape, np.bool_) if include_self else ~touched       # elements of arr in the result
        spread = self.spread(values, broadcast)
        if reduce == "mean":
            share = 1.0 / kernels.counts(shape, self.index, include_self)
            self.for_arr = _constant((self.takes_part * share).astype(arr.dtype))
            self.for_values = _constant(share[self.index].astype(arr.dtype))
        elif reduce in ("amin", "amax"):
            old, new = arr.numpy(), spread.numpy()
            out = kernels.put_along_axis(old, indices.numpy(), values.numpy(), axis, reduce, include_self, broadcast)
            hit_arr, hit_values = (old == out) & self.takes_part, new == out[self.index]
            ties = hit_arr.astype(arr.dtype)
            np.add.at(ties, self.index, hit_values)
            ties = np.maximum(ties, 1)
            self.for_arr = _constant((hit_arr / ties).astype(arr.dtype))
            self.for_values = _constant((hit_values / ties[self.index]).astype(arr.dtype))
        else:
            self.products(arr, spread)

    def spread(self, values: Tensor, broadcast: bool | None) -> Tensor:
        """Values in the shape of the indices."""
        lengths = self.index[0].shape
        if broadcast is False and len(values.shape) == len(lengths):
            values = values[tuple(slice(n) for n in lengths)]
        return values if tuple(values.shape) == lengths else OPS["expand"](values, list(lengths))

    def products(self, arr: Tensor, values: Tensor) -> None:
        """The product of the others, as one of what comes before and one of what comes after: exact at zeros, in every order."""
        shape = tuple(arr.shape)
        flat = np.ravel_multi_index(tuple(np.where(i < 0, i + n, i) for i, n in zip(self.index, shape, strict=True)), shape).reshape(-1)
        rounds = _rounds(flat)
        rows = values.reshape([-1])
        factors = [OPS["where"](_constant(self.takes_part), arr, 1.0).reshape([-1])]
        for now in rounds:
            others = np.ones(arr.size, arr.dtype)
            others[flat[now]] = 0
            factors.append(OPS["scatter_sum"](OPS["pick"](rows, now), (flat[now],), (arr.size,)) + _constant(others))
        one = _constant(np.ones(arr.size, arr.dtype))
        before, after = [one], [one]
        for left, right in zip(factors, factors[::-1], strict=True):
            before.append(before[-1] * left)
            after.append(after[-1] * right)
        shares = [b * a for b, a in zip(before, after[-2::-1], strict=False)]
        self.for_arr = OPS["where"](_constant(self.takes_part), shares[0].reshape(list(shape)), 0.0)
        self.for_values = OPS["scatter_sum"](rows[:0], (np.zeros(0, np.int64),), (flat.size,))
        for now, share in zip(rounds, shares[1:], strict=True):
            self.for_values = self.for_values + OPS["scatter_sum"](OPS["pick"](share, flat[now]), (now,), (flat.size,))
        self.for_values = self.for_values.reshape(list(self.index[0].shape))


def _rounds(flat: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Cut the numbers of the entries of an index into rounds in which no place occurs twice."""
    order = np.argsort(flat, kind="stable")
    found, first = np.unique(flat[order], return_index=True)
    turn = np.empty(flat.size, np.int64)
    turn[order] = np.arange(flat.size) - first[np.searchsorted(found, flat[order])]
    return [np.flatnonzero(turn == k) for k in range(int(turn.max()) + 1 if turn.size else 0)]


def reduce_along_axis_grad_arr(grad: Tensor, arr: Tensor, indices: Tensor, values: Tensor, axis: int, reduce: str, include_self: bool,
                               broadcast: bool | None) -> Tensor:
    return grad * _Reduction(arr, indices, values, axis, reduce, include_self, broadcast).for_arr.conj()


def reduce_along_axis_grad_values(grad: Tensor, arr: Tensor, indices: Tensor, values: Tensor, axis: int, reduce: str, include_self: bool,
                                  broadcast: bool | None) -> Tensor:
    share = _Reduction(arr, indices, values, axis, reduce, include_self, broadcast)
    return _to_values(OPS["pick"](grad, share.index) * share.for_values.conj(), tuple(values.shape), broadcast)
