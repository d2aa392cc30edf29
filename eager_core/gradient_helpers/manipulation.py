"""Gradient helpers of operators that move elements about."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eager_core import Tensor

Shape = tuple[int, ...]


def sum_to(grad: Tensor, shape: Shape) -> Tensor:
    """Sum over the axes that broadcasting had added or stretched."""
    extra = len(grad.shape) - len(shape)
    axes = [a for a, n in enumerate(grad.shape) if a < extra or (shape[a - extra] == 1 and n != 1)]
    if axes:
        grad = grad.sum(axis=axes)
    return grad if tuple(grad.shape) == shape else grad.reshape(list(shape))


def tile_grad(grad: Tensor, shape: Shape) -> Tensor:
    once = (1,) * (len(grad.shape) - len(shape)) + shape
    for axis, length in enumerate(once):
        lengths = grad.shape
        if lengths[axis] != length:
            grad = grad.reshape([*lengths[:axis], lengths[axis] // length, length, *lengths[axis + 1:]]).sum(axis=axis)
    return grad.reshape(list(shape))


def pad_grad(grad: Tensor, shape: Shape, before: int | Shape) -> Tensor:
    before = before if isinstance(before, tuple) else (before,)
    return grad[tuple(slice(b, b + n) for b, n in zip(before, shape, strict=True))]
