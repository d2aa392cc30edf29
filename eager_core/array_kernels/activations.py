"""Activation functions."""
from __future__ import annotations

import numpy as np

from .elementwise import Array, floating


def relu6(x: Array) -> Array:
    return np.asarray(np.clip(floating(x, "relu6"), 0.0, 6.0))


def leaky_relu(x: Array, negative_slope: float) -> Array:
    x = floating(x, "leaky_relu")
    return np.where(x > 0, x, x * negative_slope)


def thresholded_relu(x: Array, threshold: float, value: float) -> Array:
    x = floating(x, "thresholded_relu")
    return np.where((x > threshold) | np.isnan(x), x, np.asarray(value, x.dtype))


def elu(x: Array, alpha: float) -> Array:
    x = floating(x, "elu")
    return np.where(x > 0, x, np.expm1(x) * alpha)


def celu(x: Array, alpha: float) -> Array:
    if alpha == 0:
        raise ValueError("(InvalidArgument) celu(): alpha must not be 0")
    x = floating(x, "celu")
    return np.where(x > 0, x, np.expm1(x / alpha) * alpha)


def selu(x: Array, scale: float, alpha: float) -> Array:
    x = floating(x, "selu")
    return np.where(x > 0, x, np.expm1(x) * alpha) * scale


def _sigmoid(x: Array) -> Array:
    """Without overflow on either side."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def silu(x: Array) -> Array:
    x = floating(x, "silu")
    return np.asarray(x * _sigmoid(x))


swish = silu


def mish(x: Array) -> Array:
    x = floating(x, "mish")
    return np.asarray(x * np.tanh(np.logaddexp(x, 0)))


def hardtanh(x: Array, min: float, max: float) -> Array:
    if min > max:
        raise ValueError(f"(InvalidArgument) hardtanh(): min must not exceed max, but got {min} and {max}")
    return np.asarray(np.clip(floating(x, "hardtanh"), min, max))


def hardsigmoid(x: Array, slope: float, offset: float) -> Array:
    return np.asarray(np.clip(floating(x, "hardsigmoid") * slope + offset, 0.0, 1.0))


def hardswish(x: Array) -> Array:
    x = floating(x, "hardswish")
    return np.asarray(x * np.clip(x + 3.0, 0.0, 6.0) / 6.0)


def _not_negative(threshold: float, name: str) -> None:
    if threshold < 0:
        raise ValueError(f"(InvalidArgument) {name}(): threshold must not be negative, but got {threshold}")


def hardshrink(x: Array, threshold: float) -> Array:
    x = floating(x, "hardshrink")
    return np.where(np.abs(x) <= threshold, np.zeros((), x.dtype), x)


def softshrink(x: Array, threshold: float) -> Array:
    _not_negative(threshold, "softshrink")
    x = floating(x, "softshrink")
    return np.asarray(x - np.clip(x, -threshold, threshold))


def tanhshrink(x: Array) -> Array:
    x = floating(x, "tanhshrink")
    return np.asarray(x - np.tanh(x))


def softsign(x: Array) -> Array:
    x = floating(x, "softsign")
    return np.asarray(x / (1.0 + np.abs(x)))


def softplus(x: Array, beta: float, threshold: float) -> Array:
    x = floating(x, "softplus")
    return np.where(x * beta > threshold, x, np.logaddexp(x * beta, 0) / beta)


def log_sigmoid(x: Array) -> Array:
    return np.asarray(-np.logaddexp(-floating(x, "log_sigmoid"), 0))
