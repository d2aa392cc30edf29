"""Gradient helpers of special functions."""
from __future__ import annotations

from typing import TYPE_CHECKING

from . import OPS

if TYPE_CHECKING:
    from eager_core import Tensor


def polygamma_grad(grad: Tensor, x: Tensor, n: int) -> Tensor:
    return grad * OPS["polygamma"](x, n + 1)


def multigammaln_grad(grad: Tensor, x: Tensor, p: int) -> Tensor:
    total = OPS["digamma"](x)
    for j in range(1, p):
        total = total + OPS["digamma"](x - 0.5 * j)
    return grad * total


def bessel_i_grad(grad: Tensor, x: Tensor, n: int) -> Tensor:
    return grad * (OPS["bessel_i"](x, abs(n - 1)) + OPS["bessel_i"](x, n + 1)) * 0.5


def bessel_ie_grad(grad: Tensor, x: Tensor, n: int, out: Tensor) -> Tensor:
    return grad * ((OPS["bessel_ie"](x, abs(n - 1)) + OPS["bessel_ie"](x, n + 1)) * 0.5 - OPS["sign"](x) * out)


def sinc_slope_grad(grad: Tensor, x: Tensor, n: int) -> Tensor:
    return grad * OPS["sinc_slope"](x, n + 1)


def _log_ratio(x: Tensor, y: Tensor) -> Tensor:
    """log(y) - digamma(x), finite at y = 0: there the density that it is multiplied with is zero, if x > 1."""
    return OPS["log"](OPS["where"](y.equal(0.0), 1.0, y)) - OPS["digamma"](x)


def gamma_density_grad_x(grad: Tensor, x: Tensor, y: Tensor, out: Tensor) -> Tensor:
    return grad * out * _log_ratio(x, y)


def gamma_moment_grad_x(grad: Tensor, x: Tensor, y: Tensor, n: int) -> Tensor:
    slope = OPS["gamma_moment"](x, y, n + 1)
    if n == 1:
        slope = slope - OPS["polygamma"](x, 1) * OPS["gammainc"](x, y)
    elif n > 1:
        slope = slope - OPS["polygamma"](x, 1) * OPS["gamma_moment"](x, y, n - 1) * float(n)
    return grad * slope


def gamma_moment_grad_y(grad: Tensor, x: Tensor, y: Tensor, n: int) -> Tensor:
    ratio = _log_ratio(x, y)
    slope = grad * OPS["gamma_density"](x, y)
    for _ in range(n):
        slope = slope * ratio
    return slope
