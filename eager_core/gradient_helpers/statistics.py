"""Gradient helpers of statistics and of running sums and extrema."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_kernels.statistics import degrees
from . import OPS
from .core import Axes, _constant, _kept, take_along_axis_grad, zeros_like

if TYPE_CHECKING:
    from eager_core import Tensor

Shape = tuple[int, ...]


def flip(t: Tensor, axis: int) -> Tensor:
    return t[(slice(None),) * axis + (slice(None, None, -1),)] if t.shape else t


def logsumexp_grad(grad: Tensor, x: Tensor, out: Tensor, axis: Axes, keepdim: bool) -> Tensor:
    ndim = len(x.shape)
    out = _kept(out, ndim, axis, keepdim)
    if np.isneginf(out.numpy()).any():
        out = OPS["where"](out.equal(-math.inf), 0.0, out)        # all terms are 0: so are their shares
    return _kept(grad, ndim, axis, keepdim) * (x - out).exp()


def _deviation(x: Tensor, axis: Axes) -> tuple[Tensor, int]:
    mean = x.mean(axis=axis, keepdim=True)
    return x - mean, x.size // max(mean.size, 1)


def var_grad(grad: Tensor, x: Tensor, axis: Axes, unbiased: bool | None, keepdim: bool, correction: float | None) -> Tensor:
    apart, count = _deviation(x, axis)
    left = max(count - degrees(unbiased, correction), 0)
    return _kept(grad, len(x.shape), axis, keepdim) * apart * (2.0 / left if left else math.nan)


def std_grad(grad: Tensor, x: Tensor, out: Tensor, axis: Axes, unbiased: bool | None, keepdim: bool) -> Tensor:
    """At a standard deviation of 0 the gradient is taken for 0."""
    zero = out.equal(0.0)
    inner = OPS["where"](zero, 0.0, grad * 0.5 / OPS["where"](zero, 1.0, out))
    return var_grad(inner, x, axis, True if unbiased is None else unbiased, keepdim, 1)


def _along(t: Tensor, axis: Any) -> int:
    return 0 if axis is None or not t.shape else int(axis) % len(t.shape)


def _sum_from_end(grad: Tensor, axis: int) -> Tensor:
    return flip(OPS["cumsum"](flip(grad, axis), axis), axis) if grad.shape else grad


def cumsum_grad(grad: Tensor, shape: Shape, axis: Any) -> Tensor:
    return _sum_from_end(grad, _along(grad, axis)).reshape(list(shape))


def cumprod_grad(grad: Tensor, x: Tensor, dim: Any) -> Tensor:
    """Entry i gets p h: p the product of those before it, h_i = grad_i + x_{i+1} h_{i+1}. Without zeros that is one division."""
    x = x if x.dtype == grad.dtype else x.astype(grad.dtype)        # what was multiplied, if cumprod was given a dtype
    rows = x.conj() if dim is not None else x.conj().reshape([-1])
    if not rows.shape:
        return grad
    axis = _along(rows, dim)
    if (rows.numpy() != 0).all():
        return (_sum_from_end(grad * OPS["cumprod"](rows, axis), axis) / rows).reshape(list(x.shape))
    length = rows.shape[axis]

    def part(t: Tensor, start: int, stop: int) -> Tensor:
        return t[(slice(None),) * axis + (slice(start, stop),)]

    sums = [part(grad, length - 1, length)]
    for k in range(length - 2, -1, -1):
        sums.append(part(grad, k, k + 1) + part(rows, k + 1, k + 2) * sums[-1])
    one = _constant(np.ones([1 if a == axis else n for a, n in enumerate(rows.shape)], x.dtype))
    before = OPS["concat"]([one, OPS["cumprod"](part(rows, 0, length - 1), axis)], axis)
    return (before * OPS["concat"](sums[::-1], axis)).reshape(list(x.shape))


def cumulative_extremum_grad(grad: Tensor, shape: Shape, places: Tensor, axis: Any) -> Tensor:
    if not grad.shape:
        return grad
    return take_along_axis_grad(grad, tuple(grad.shape), places, _along(grad, axis)).reshape(list(shape))


def logcumsumexp_grad(grad: Tensor, x: Tensor, out: Tensor, axis: Any) -> Tensor:
    """Entry i gets the sum over j >= i of grad_j exp(x_i - out_j), and no exponent there is positive."""
    if not grad.shape:
        return grad
    rows = x if axis is not None else x.reshape([-1])
    axis = _along(rows, axis)
    values = out.numpy()
    if values.size == 0:
        return zeros_like(x)
    top = values.max(axis=axis, keepdims=True)
    spread = float((top - values).max()) if np.isfinite(values).all() else math.inf
    if spread < 0.8 * math.log(np.finfo(values.dtype).max):
        shift = _constant(top)
        return (_sum_from_end(grad * (shift - out).exp(), axis) * (rows - shift).exp()).reshape(list(x.shape))
    # Too wide a range for the two factors apart: all pairs.
    order = [a for a in range(len(rows.shape)) if a != axis] + [axis]
    back = [order.index(a) for a in range(len(order))]
    left, right, g = rows.transpose(order).unsqueeze(-1), out.transpose(order).unsqueeze(-2), grad.transpose(order).unsqueeze(-2)
    length = rows.shape[axis]
    later = _constant(np.triu(np.ones((length, length), np.bool_)) & np.isfinite(values.transpose(order))[..., None, :])
    weight = OPS["where"](later, OPS["where"](later, left - right, 0.0).exp(), 0.0)
    return (weight * g).sum(axis=-1).transpose(back).reshape(list(x.shape))


def bincount_grad(grad: Tensor, x: Tensor) -> Tensor:
    return OPS["pick"](grad, x.numpy())
