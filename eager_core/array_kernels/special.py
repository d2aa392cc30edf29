"""Special functions: SciPy's, or made of NumPy's where the mathematics is easy."""
from __future__ import annotations

import math
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from .elementwise import Array, floating


@cache
def _scipy(name: str) -> Any:
    """The function of that name in ``scipy.special``, or what stands in for it if SciPy is not installed."""
    try:
        special = import_module("scipy.special")
    except ImportError:
        if name != "gammaln":
            raise ImportError(f"(Unavailable) {name}() needs SciPy, which is not installed. Install the optional extra 'special': "
                              "pip install eager-tensor[special]") from None
        return _each(_lgamma)
    return getattr(special, name)


def _each(function: Any) -> Any:
    """A function of floats applied to every element: slow, but there."""
    return lambda x: np.asarray(np.frompyfunc(function, 1, 1)(x)).astype(x.dtype)


def _lgamma(x: float) -> float:
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


def erfinv(x: Array) -> Array:
    return np.asarray(_scipy("erfinv")(floating(x, "erfinv")))


def lgamma(x: Array) -> Array:
    return np.asarray(_scipy("gammaln")(floating(x, "lgamma")))


def digamma(x: Array) -> Array:
    return np.asarray(_scipy("digamma")(floating(x, "digamma")))


def polygamma(x: Array, n: int) -> Array:
    if n < 0:
        raise ValueError(f"(InvalidArgument) polygamma(): n must not be negative, but got {n}")
    x = floating(x, "polygamma")
    return digamma(x) if n == 0 else np.asarray(_scipy("polygamma")(n, x)).astype(x.dtype, copy=False)


def multigammaln(x: Array, p: int) -> Array:
    if p < 1:
        raise ValueError(f"(InvalidArgument) multigammaln(): p must be at least 1, but got {p}")
    x = floating(x, "multigammaln")
    total = np.full(x.shape, 0.25 * p * (p - 1) * math.log(math.pi))
    for j in range(p):
        total += lgamma(x.astype(np.float64) - 0.5 * j)
    return total.astype(x.dtype)


def i0(x: Array) -> Array:
    return np.asarray(_scipy("i0")(floating(x, "i0")))


def i0e(x: Array) -> Array:
    return np.asarray(_scipy("i0e")(floating(x, "i0e")))


def i1(x: Array) -> Array:
    return np.asarray(_scipy("i1")(floating(x, "i1")))


def i1e(x: Array) -> Array:
    return np.asarray(_scipy("i1e")(floating(x, "i1e")))


def bessel_i(x: Array, n: int) -> Array:
    return np.asarray(_scipy("iv")(n, x)).astype(x.dtype, copy=False)


def bessel_ie(x: Array, n: int) -> Array:
    return np.where(np.isinf(x), 0.0, _scipy("ive")(n, x)).astype(x.dtype, copy=False)


def sinc(x: Array) -> Array:
    return np.asarray(np.sinc(floating(x, "sinc")))


@cache
def _nodes(n: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on 0 to 1."""
    x, w = np.polynomial.legendre.leggauss(n)
    return 0.5 * (x + 1.0), 0.5 * w


def sinc_slope(x: Array, n: int) -> Array:
    """The n-th derivative of sin(y) / y at y = pi x, times pi^n.

    Near 0 as the integral of t^n cos(y t + n pi/2) over t from 0 to 1, which has no cancellation; further out by the recurrence
    f_n = (sin^(n)(y) - n f_(n-1)) / y.
    """
    y = math.pi * np.asarray(x, dtype=np.float64)
    near = np.abs(y) <= n + 8.0
    inner, outer = np.where(near, y, 0.0), np.where(near, 1.0, y)
    turned = (np.cos, lambda a: -np.sin(a), lambda a: -np.cos(a), np.sin)[n % 4]           # exact at 0, unlike cos(a + n pi/2)
    integral = sum(w * t ** n * turned(inner * t) for t, w in zip(*_nodes(24 + n), strict=True))
    f = np.sin(outer) / outer
    for k in range(1, n + 1):
        f = (np.sin(outer + 0.5 * math.pi * k) - k * f) / outer
    return np.asarray(np.where(near, integral, f) * math.pi ** n).astype(x.dtype)


def _two(x: Array, y: Array, name: str) -> tuple[Array, Array]:
    return floating(x, name), floating(y, name)


def gammainc(x: Array, y: Array) -> Array:
    return np.asarray(_scipy("gammainc")(*_two(x, y, "gammainc")))


def gammaincc(x: Array, y: Array) -> Array:
    return np.asarray(_scipy("gammaincc")(*_two(x, y, "gammaincc")))


def gamma_density(x: Array, y: Array) -> Array:
    """Zero at the poles of the gamma function, for any y: what (x - 1) y^(x-2) / Gamma(x) is at x = 1."""
    pole = (x <= 0) & (x == np.floor(x))
    at = np.where(pole, 1.0, x).astype(x.dtype)
    value = np.exp(_scipy("xlogy")(at - 1, y) - y - _scipy("gammaln")(at)) * _scipy("gammasgn")(at)
    return np.asarray(np.where(pole, 0.0, value)).astype(np.result_type(x, y))


def gamma_moment(x: Array, y: Array, n: int) -> Array:
    """Quadrature in s = log(t) of exp(x s - exp(s)) (s - digamma(x))^n / Gamma(x), on both sides of the peak at log(x).

    Left of the peak the nodes crowd towards it, as the tail is exponential and may be long; right of it the function falls faster than
    a Gaussian, over a range that ends at log(y).
    """
    dtype = np.result_type(x, y)
    x, y = (np.asarray(a, dtype=np.float64) for a in np.broadcast_arrays(x, y))
    end, peak, center, scale = np.log(y), np.log(x), digamma(x), lgamma(x)

    def integrand(s: Array) -> Array:
        return np.asarray(np.exp(x * s - np.exp(s) - scale) * (s - center) ** n)

    start = np.minimum(end, peak)
    start = np.where(np.isfinite(start), start, -700.0)
    reach = np.where(x >= 135.0, np.sqrt(135.0 / x), 45.0 / x + 1.0)
    total = np.zeros(x.shape)
    for t, w in zip(*_nodes(96), strict=True):
        total += 3.0 * w * t * t * reach * integrand(start - reach * t ** 3)
    right = np.minimum(np.sqrt(100.0 / x), np.maximum(1.5, np.log(200.0 / x)))
    length = np.clip(end - peak, 0.0, right)
    for t, w in zip(*_nodes(64), strict=True):
        total += w * length * integrand(peak + length * t)
    return np.asarray(np.where(y > 0, total, np.where(y == 0, 0.0, np.nan))).astype(dtype)
