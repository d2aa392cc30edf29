"""Gradient helpers of elementwise mathematics."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import OPS
from .core import _constant, to_complex

if TYPE_CHECKING:
    from eager_core import Tensor


def nonzero(t: Tensor) -> Tensor:
    """1 in place of 0: a divisor for where the quotient does not count."""
    return OPS["where"](t.equal(0.0), 1.0, t)


def atan2_grad(grad: Tensor, other: Tensor, x: Tensor) -> Tensor:
    """Grad other / r^2, without the overflow of r^2, and 0 at the origin."""
    r = nonzero(OPS["hypot"](x, other))
    return grad * (other / r / r)


def hypot_grad(grad: Tensor, x: Tensor, out: Tensor) -> Tensor:
    return grad * (x / nonzero(out))


def frexp_grad(grad: Tensor, exponent: Tensor) -> Tensor:
    return OPS["ldexp"](grad, -exponent)


def ldexp_grad_x(grad: Tensor, y: Tensor) -> Tensor:
    return OPS["ldexp"](grad, y)


def angle_grad(grad: Tensor, x: Tensor) -> Tensor:
    if x.dtype.kind != "c":
        return _constant(np.zeros(grad.shape, grad.dtype))
    length = nonzero(x.abs())
    return grad * (x * 1j / length / length)


def copysign_grad(grad: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The factor is constant almost everywhere; where x is 0 the magnitude has a kink, and the factor is 0."""
    at, sign = x.numpy(), y.numpy()
    factor = np.copysign(1.0, at) * np.copysign(1.0, sign) * (at != 0)
    return grad * _constant(factor.astype(grad.dtype))


def logit_grad(grad: Tensor, x: Tensor, eps: float) -> Tensor:
    """Where a bound holds, the result does not move; without bounds there is no result outside 0 to 1."""
    outside = x.less_than(eps).logical_or(x.greater_than(1.0 - eps))
    at = OPS["where"](outside, 0.5 if eps else np.nan, x)
    return grad * outside.logical_not() / (at * (1.0 - at))


def to_minus_i(grad: Tensor) -> Tensor:
    """The gradient of what is multiplied by i; the engine takes the real part."""
    return to_complex(grad) * -1j
