"""Gradient helpers of activation functions. Where a function has a kink, the gradient is the reference's."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from . import OPS
from .core import zeros_like

if TYPE_CHECKING:
    from eager_core import Tensor


def inside(grad: Tensor, x: Tensor, low: float, high: float) -> Tensor:
    return grad * x.greater_than(low).logical_and(x.less_than(high))


def above(grad: Tensor, x: Tensor, threshold: float) -> Tensor:
    return grad * x.greater_than(threshold)


def leaky_relu_grad(grad: Tensor, x: Tensor, slope: float) -> Tensor:
    return OPS["where"](x.less_than(0.0), grad * slope, grad)


def elu_grad(grad: Tensor, x: Tensor, alpha: float, scale: float, rate: float) -> Tensor:
    """The exponential is taken of what lies below 0 only: it overflows above."""
    positive = x.greater_than(0.0)
    below = OPS["where"](positive, zeros_like(x), x)
    return OPS["where"](positive, grad * scale, grad * (scale * alpha * rate) * OPS["exp"](below * rate))


def celu_grad(grad: Tensor, x: Tensor, alpha: float) -> Tensor:
    return elu_grad(grad, x, alpha, 1.0, 1.0 / alpha)


def gelu_tanh_curvature(grad: Tensor, x: Tensor) -> Tensor:
    """The second derivative of x p, p = sigmoid(v), v = 2 sqrt(2 / pi) (x + 0.044715 x^3)."""
    k = 2.0 * math.sqrt(2.0 / math.pi)
    square = x * x
    v = x * (square * 0.044715 + 1.0) * k
    p, q = OPS["sigmoid"](v), OPS["sigmoid"](-v)
    slope = (square * (3.0 * 0.044715) + 1.0) * k
    return grad * p * q * (slope * 2.0 + x * ((q - p) * slope * slope + x * (6.0 * 0.044715 * k)))


def silu_grad(grad: Tensor, x: Tensor) -> Tensor:
    s = OPS["sigmoid"](x)
    return grad * s * (x * (1.0 - s) + 1.0)


def mish_grad(grad: Tensor, x: Tensor) -> Tensor:
    t = OPS["tanh"](OPS["softplus"](x, 1.0, math.inf))
    return grad * (t + x * (1.0 - t * t) * OPS["sigmoid"](x))


def hardswish_grad(grad: Tensor, x: Tensor) -> Tensor:
    middle = grad * (x * 2.0 + 3.0) * (1.0 / 6.0)
    return OPS["where"](x.greater_equal(3.0), grad, OPS["where"](x.less_equal(-3.0), zeros_like(grad), middle))


def softplus_grad(grad: Tensor, x: Tensor, beta: float, threshold: float) -> Tensor:
    scaled = x * beta
    return OPS["where"](scaled.greater_than(threshold), grad, grad * OPS["sigmoid"](scaled))
