"""Random fills: new values of the shape and dtype of the given array."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .elementwise import Array

Make = Callable[["np.random.Generator"], Array]         # a string: numpy.random is slow to import


def _draw(make: Make) -> Array:
    return make(np.random.default_rng())


source: Callable[[Make], Array] = _draw
"""Runs a function with the common generator. The package that owns the generator and its seed puts its own here."""


def _real(x: Array, name: str) -> None:
    if x.dtype.kind != "f":
        raise TypeError(f"(InvalidType) {name}_() does not support dtype {x.dtype}")


def _positive(value: float, argument: str, name: str) -> None:
    if not value > 0:
        raise ValueError(f"(InvalidArgument) {name}_(): {argument} must be positive, but got {value}")


def _probability(p: Any, x: Array, name: str, least: float) -> Array:
    """The probabilities as float64 that broadcast to x; they may be a number, an array or a tensor."""
    values = np.asarray(p.numpy() if hasattr(p, "numpy") else p)
    if values.dtype.kind not in "biuf":
        raise TypeError(f"(InvalidType) {name}_(): probabilities must be real numbers, but got {type(p).__name__}")
    values = values.astype(np.float64)
    if not ((values >= least) & (values <= 1)).all():
        raise ValueError(f"(InvalidArgument) {name}_(): probabilities must lie between 0 and 1")
    try:
        return np.broadcast_to(values, x.shape)
    except ValueError:
        raise ValueError(f"(InvalidArgument) {name}_(): probabilities of shape {list(values.shape)} do not broadcast to "
                         f"{list(x.shape)}") from None


def uniform(x: Array, min: float, max: float, seed: int) -> Array:
    _real(x, "uniform")
    if min > max:
        raise ValueError(f"(InvalidArgument) uniform_(): min must not exceed max, but got {min} and {max}")

    def make(generator: np.random.Generator) -> Array:
        return np.asarray(generator.random(x.shape, x.dtype.type) * x.dtype.type(max - min) + x.dtype.type(min))

    return make(np.random.default_rng(seed)) if seed else source(make)


def normal(x: Array, mean: complex | None, std: float) -> Array:
    mean = 0.0 if mean is None else mean
    if not isinstance(mean, int | float | complex):
        raise TypeError(f"(InvalidType) normal_(): mean must be a number, but got {type(mean).__name__}")
    if not std >= 0:
        raise ValueError(f"(InvalidArgument) normal_(): std must not be negative, but got {std}")
    if x.dtype.kind != "c":
        _real(x, "normal")
        if isinstance(mean, complex):
            raise TypeError("(InvalidType) normal_(): a complex mean needs a complex tensor")
        kind = x.dtype.type
        return source(lambda generator: np.asarray(generator.standard_normal(x.shape, kind) * kind(std) + kind(mean)))
    half = x.real.dtype.type

    def make(generator: np.random.Generator) -> Array:
        out = np.empty(x.shape, x.dtype)
        out.real = generator.standard_normal(x.shape, half)
        out.imag = generator.standard_normal(x.shape, half)
        return np.asarray(out * half(std * 0.5 ** 0.5) + x.dtype.type(mean))

    return source(make)


def log_normal(x: Array, mean: float, std: float) -> Array:
    _real(x, "log_normal")
    return np.exp(normal(x, mean, std))


def exponential(x: Array, lam: float) -> Array:
    _real(x, "exponential")
    _positive(lam, "lam", "exponential")
    return source(lambda generator: np.asarray(generator.standard_exponential(x.shape, x.dtype.type) / x.dtype.type(lam)))


def cauchy(x: Array, loc: float, scale: float) -> Array:
    _real(x, "cauchy")
    _positive(scale, "scale", "cauchy")
    return source(lambda generator: np.asarray(generator.standard_cauchy(x.shape) * scale + loc)).astype(x.dtype, copy=False)


def geometric(x: Array, probs: Any) -> Array:
    if x.dtype.kind not in "iuf":
        raise TypeError(f"(InvalidType) geometric_() does not support dtype {x.dtype}")
    p = _probability(probs, x, "geometric", np.finfo(np.float64).tiny)
    return source(lambda generator: np.asarray(generator.geometric(p, x.shape))).astype(x.dtype)


def bernoulli(x: Array, p: Any) -> Array:
    at = _probability(0.5 if p is None else p, x, "bernoulli", 0.0)
    return source(lambda generator: np.asarray(generator.random(x.shape) < at)).astype(x.dtype)


def random(x: Array, from_: int, to: float | None) -> Array:
    if x.dtype.kind not in "iuf":
        raise TypeError(f"(InvalidType) random_() does not support dtype {x.dtype}")
    if to is None:
        if from_:
            low, high = 0, from_
        else:
            low, high = 0, 2 ** (np.finfo(x.dtype).nmant + 1) if x.dtype.kind == "f" else int(np.iinfo(x.dtype).max)
    else:
        low, high = from_, int(to)
    if low >= high:
        raise ValueError(f"(InvalidArgument) random_(): from_ must be less than to, but got {low} and {high}")
    kind = np.uint64 if high > 2 ** 63 - 1 else np.int64
    return source(lambda generator: np.asarray(generator.integers(low, high, x.shape, kind))).astype(x.dtype)
