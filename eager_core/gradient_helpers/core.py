"""Gradient helpers of the core rows."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..grad_mode import is_grad_enabled
from . import OPS
from .manipulation import sum_to

if TYPE_CHECKING:
    from eager_core import Tensor

Axes = int | tuple[int, ...] | None


def _constant(array: Any) -> Tensor:
    return OPS["constant"](array)


def zeros_like(t: Tensor) -> Tensor:
    return _constant(np.zeros(t.shape, t.dtype))


def to_complex(grad: Tensor) -> Tensor:
    return grad.astype(np.result_type(grad.dtype, np.complex64))


def to_imaginary(grad: Tensor) -> Tensor:
    return to_complex(grad) * 1j


def sign_grad(grad: Tensor, x: Tensor) -> Tensor:
    """Zero for real x. For z / |z| the change along the radius vanishes: (grad - s Re(conj(s) grad)) / |z|."""
    if x.dtype.kind != "c":
        return zeros_like(grad)
    s, length = OPS["sign"](x), OPS["abs"](x)
    at_zero = length.equal(0.0)
    across = (grad - s * OPS["real"](s.conj() * grad)) / OPS["where"](at_zero, 1.0, length)
    return OPS["where"](at_zero, zeros_like(across), across)


def pow_grad_x(grad: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """grad y x^(y-1); where y is 0 the power is the constant 1, also at x = 0."""
    constant = y.equal(0.0)
    slope = y * OPS["pow"](x, OPS["where"](constant, 1.0, y) - 1.0)
    return grad * OPS["where"](constant, zeros_like(slope), slope.conj())


def pow_grad_y(grad: Tensor, x: Tensor, y: Tensor, out: Tensor) -> Tensor:
    """grad x^y log(x); at x = 0 the power does not depend on a positive y."""
    at_zero = x.equal(0.0)
    slope = out * OPS["log"](OPS["where"](at_zero, 1.0, x))
    return grad * slope.conj()


def clip_grad(grad: Tensor, x: Tensor, low: float, high: float) -> Tensor:
    inside = x.greater_equal(low).logical_and(x.less_equal(high))
    return grad * inside


def where_grad_x(grad: Tensor, condition: Tensor) -> Tensor:
    return OPS["where"](condition, grad, zeros_like(grad))


def where_grad_y(grad: Tensor, condition: Tensor) -> Tensor:
    return OPS["where"](condition, zeros_like(grad), grad)


def _kept(t: Tensor, ndim: int, axis: Axes, keepdim: bool) -> Tensor:
    """A reduction's result with the reduced axes put back as length 1."""
    if keepdim or ndim == 0:
        return t
    if axis is None or axis == ():
        return t.reshape([1] * ndim)
    axes = {a % ndim for a in (axis if isinstance(axis, tuple) else (axis,))}
    left = iter(t.shape)
    return t.reshape([1 if a in axes else next(left) for a in range(ndim)])


def sum_again(grad: Tensor, axis: Axes, keepdim: bool) -> Tensor:
    return grad.sum(axis=axis, keepdim=keepdim)


def extremum_grad(grad: Tensor, x: Tensor, out: Tensor, axis: Axes, keepdim: bool) -> Tensor:
    ndim = len(x.shape)
    hit = x.equal(_kept(out, ndim, axis, keepdim)).astype(grad.dtype)
    return hit * (_kept(grad, ndim, axis, keepdim) / hit.sum(axis=axis, keepdim=True))


def _divisible(rows: np.ndarray[Any, Any]) -> bool:
    """Whether no product of neighbours in a row is zero, overflows or loses digits: the logarithms, summed, stay within the exponents."""
    with np.errstate(divide="ignore", invalid="ignore"):
        walk = np.cumsum(np.log2(np.abs(rows), dtype=np.float64), axis=-1)
        width = walk.max(axis=-1, initial=0.0) - walk.min(axis=-1, initial=0.0)
    return bool((width < np.finfo(rows.dtype).maxexp - 8).all())


def prod_grad(grad: Tensor, x: Tensor, out: Tensor, axis: Axes, keepdim: bool) -> Tensor:
    """The product of the others: the whole divided by each, or, where that is not exact, products of what comes before and after.

    The latter with zeros, beyond the range of the dtype, and to be differentiated again.
    """
    ndim = len(x.shape)
    if ndim == 0:
        return grad
    if x.dtype != grad.dtype:
        x = x.astype(grad.dtype)            # prod(dtype=...) multiplies in that dtype
    axes = range(ndim) if axis is None or axis == () else [a % ndim for a in (axis if isinstance(axis, tuple) else (axis,))]
    kept = [a for a in range(ndim) if a not in axes]
    order = kept + list(axes)
    count = math.prod(x.shape[a] for a in axes)
    rows = x.transpose(order).reshape([*[x.shape[a] for a in kept], count]) if count else x
    if count == 0:
        return zeros_like(x)
    if not is_grad_enabled() and _divisible(rows.numpy()):
        return _kept(grad, ndim, axis, keepdim) * (_kept(out, ndim, axis, keepdim) / x).conj()
    one = _constant(np.ones([*rows.shape[:-1], 1], x.dtype))
    before, after = [one], [one]
    for k in range(count - 1):
        before.append(before[-1] * rows[..., k:k + 1])
        after.append(after[-1] * rows[..., count - 1 - k:count - k])
    others = OPS["concat"](before, -1) * OPS["concat"](after[::-1], -1)
    spread = others.conj().reshape([x.shape[a] for a in order]).transpose([order.index(a) for a in range(ndim)])
    return _kept(grad, ndim, axis, keepdim) * spread


def matmul_grad_x(grad: Tensor, y: Tensor, x_ndim: int, tx: bool, ty: bool) -> Tensor:
    """Vectors are seen as matrices; the batch axes that were broadcast are summed by the engine."""
    return _matmul_grad(grad, y, x_ndim, tx, ty, True)


def matmul_grad_y(grad: Tensor, x: Tensor, y_ndim: int, tx: bool, ty: bool) -> Tensor:
    return _matmul_grad(grad, x, y_ndim, tx, ty, False)


def _matmul_grad(grad: Tensor, other: Tensor, ndim: int, tx: bool, ty: bool, left: bool) -> Tensor:
    own_vector, other_vector = ndim == 1, len(other.shape) == 1
    x_vector, y_vector = (own_vector, other_vector) if left else (other_vector, own_vector)
    if x_vector:
        grad = grad.unsqueeze(len(grad.shape) - (0 if y_vector else 1))
    if y_vector:
        grad = grad.unsqueeze(len(grad.shape))
    if other_vector:
        other = other.unsqueeze(1 if left else 0)
    tx, ty = tx and not x_vector, ty and not y_vector
    if left:
        g = other.matmul(grad, ty, True) if tx else grad.matmul(other, False, not ty)
    else:
        g = grad.matmul(other, True, tx) if ty else other.matmul(grad, not tx, False)
    if not own_vector:
        return g
    g = g.squeeze(-2 if left else -1)
    return g.sum(axis=tuple(range(len(g.shape) - 1))) if len(g.shape) > 1 else g


def softmax_grad_saved(gout: Tensor, saved: Tensor, grad: Tensor, axis: int) -> Tensor:
    """d/ds of s (g - sum(g s)): with t = s gout, g (gout - sum(t)) - gout sum(g s)."""
    inner = (grad * saved).sum(axis=axis, keepdim=True)
    return gout * (grad - inner) - grad * (gout * saved).sum(axis=axis, keepdim=True)


def log_softmax_grad_saved(gout: Tensor, saved: Tensor, grad: Tensor, axis: int) -> Tensor:
    """d/dl of g - exp(l) sum(g)."""
    return -(gout * saved.exp() * grad.sum(axis=axis, keepdim=True))


def log_softmax_grad_grad(gout: Tensor, saved: Tensor, axis: int) -> Tensor:
    return gout - (gout * saved.exp()).sum(axis=axis, keepdim=True)


def _along(index: Any, axis: int, ndim: int) -> tuple[Any, ...]:
    return (slice(None),) * (axis % max(ndim, 1)) + (index,)


def pick_grad(grad: Tensor, shape: tuple[int, ...], index: Tensor, axis: int) -> Tensor:
    rows = index.numpy()
    rows = rows[:, 0] if rows.ndim == 2 else rows
    if not shape:
        return grad.sum()
    return OPS["scatter_sum"](grad, _along(rows, axis, len(shape)), shape)


def take_along_axis_grad(grad: Tensor, shape: tuple[int, ...], indices: Tensor, axis: int) -> Tensor:
    rows = indices.numpy()
    axis %= len(shape)
    grid = [np.arange(n).reshape([-1 if a == k else 1 for a in range(len(shape))]) for k, n in enumerate(grad.shape)]
    grid[axis] = rows
    # Axes of length 1 in arr were broadcast: every index there is 0.
    index = tuple(np.zeros_like(g) if shape[k] == 1 and k != axis else g for k, g in enumerate(grid))
    return OPS["scatter_sum"](grad, index, shape)


def pick_back(grad: Tensor, shape: tuple[int, ...], index: Any) -> Tensor:
    return OPS["scatter_sum"](grad, index, shape)


def pick_again(grad: Tensor, index: Any) -> Tensor:
    return OPS["pick"](grad, index)


def put_grad_x(grad: Tensor, index: Any) -> Tensor:
    rest = grad.clone()
    rest[index] = 0.0
    return rest


def put_grad_value(grad: Tensor, shape: tuple[int, ...], index: Any) -> Tensor:
    """S8.11: of several values written to one place only the one that stayed has a gradient."""
    picked = OPS["pick"](grad, index)
    order = np.arange(picked.size).reshape(picked.shape)
    places = np.zeros(grad.shape, dtype=np.int64)
    places[index] = order
    stayed = places[index] == order
    result = picked * _constant(stayed)
    while len(result.shape) < len(shape):
        result = result.unsqueeze(0)
    return sum_to(result, shape)
