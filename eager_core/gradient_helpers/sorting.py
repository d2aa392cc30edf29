"""Gradient helpers of sorting: what was picked goes back to where it came from."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import OPS
from .core import take_along_axis_grad

if TYPE_CHECKING:
    from eager_core import Tensor

Shape = tuple[int, ...]


def sort_grad(grad: Tensor, x: Tensor, axis: int, descending: bool) -> Tensor:
    if not x.shape:
        return grad
    return take_along_axis_grad(grad, tuple(x.shape), OPS["argsort"](x, axis, descending), axis)


def topk_grad(grad: Tensor, shape: Shape, places: Tensor, axis: Any) -> Tensor:
    return take_along_axis_grad(grad, shape, places, -1 if axis is None else int(axis)) if shape else grad


def picked_grad(grad: Tensor, shape: Shape, places: Tensor, axis: Any, keepdim: bool) -> Tensor:
    if not shape:
        return grad
    axis = -1 if axis is None else int(axis)
    if not keepdim:
        grad, places = grad.unsqueeze(axis), places.unsqueeze(axis)
    return take_along_axis_grad(grad, shape, places, axis)
