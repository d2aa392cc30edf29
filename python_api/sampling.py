"""Tensors drawn at random whose distributions are given by tensors. The results are constants (S9.24)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eager_core import Tensor, exp, tensor_from_array
from python_api import creation
from python_api.composite import integer

__all__ = ["bernoulli", "binomial", "log_normal", "multinomial", "poisson", "standard_gamma"]


def bernoulli(x: Tensor, p: float | None = None, name: str | None = None) -> Tensor:
    """Draw 1 with probability `x` (or `p`, if given, everywhere), else 0.

    Parameters
    ----------
    x : Tensor, any shape, float32 or float64
    p : float, optional
    name : str, optional
        No effect.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`.

    Raises
    ------
    TypeError
        `x` is not a floating-point Tensor.
    ValueError
        A probability lies outside 0 to 1.
    """
    at = _values(x, "x", "bernoulli") if p is None else np.full(_values(x, "x", "bernoulli").shape, float(p))
    if not ((at >= 0) & (at <= 1)).all():
        raise ValueError("(InvalidArgument) bernoulli(): probabilities must lie between 0 and 1")
    return _drawn(lambda generator: np.asarray(generator.random(at.shape) < at), x.dtype)


def binomial(count: Tensor, prob: Tensor, name: str | None = None) -> Tensor:
    """Draw the number of successes among `count` trials of probability `prob`; the two are broadcast, the result is int64."""
    if not isinstance(count, Tensor):
        raise TypeError(f"(InvalidType) binomial(): argument 'count' must be Tensor, but got {type(count).__name__}")
    trials, at = count.numpy().astype(np.int64), _values(prob, "prob", "binomial")
    if (trials < 0).any() or not ((at >= 0) & (at <= 1)).all():
        raise ValueError("(InvalidArgument) binomial(): counts must not be negative, and probabilities must lie between 0 and 1")
    return _drawn(lambda generator: np.asarray(generator.binomial(trials, at)), np.dtype(np.int64))


def multinomial(x: Tensor, num_samples: int = 1, replacement: bool = False, name: str | None = None) -> Tensor:
    """Draw indices along the last axis with probabilities proportional to the weights `x`.

    Parameters
    ----------
    x : Tensor, shape (n,) or (rows, n), float32 or float64
        None negative, and in each row at least one above 0; without replacement, at least `num_samples`.
    num_samples : int
        As many for each row.
    replacement : bool
        Whether an index may be drawn again.

    Returns
    -------
    Tensor, shape (num_samples,) or (rows, num_samples), int64

    Raises
    ------
    TypeError
        `x` is not a floating-point Tensor, or `num_samples` no int.
    ValueError
        A shape or weights that do not fit.
    """
    weights, count = _values(x, "x", "multinomial"), integer(num_samples, "num_samples", "multinomial")
    if weights.ndim not in (1, 2) or not weights.size or count < 1:
        raise ValueError(f"(InvalidArgument) multinomial(): a vector or matrix of weights and at least 1 sample expected, but the shape "
                         f"is {list(weights.shape)} and num_samples {count}")
    if not (np.isfinite(weights) & (weights >= 0)).all() or ((weights > 0).sum(axis=-1) < (1 if replacement else count)).any():
        raise ValueError("(InvalidArgument) multinomial(): weights must be finite and not negative, and enough of each row above 0 (without"
                         " replacement, num_samples of them)")

    def make(generator: np.random.Generator) -> np.ndarray[Any, np.dtype[Any]]:
        if replacement:
            bounds = weights.cumsum(axis=-1)
            bounds = bounds[..., None, :] / bounds[..., None, -1:]
            return np.asarray((generator.random((*weights.shape[:-1], count, 1)) >= bounds).sum(axis=-1))
        # The smallest of exponential times with these rates are a draw without replacement.
        with np.errstate(divide="ignore"):
            times = generator.standard_exponential(weights.shape) / weights
        return np.asarray(times.argsort(axis=-1)[..., :count])

    return _drawn(make, np.dtype(np.int64))


def poisson(x: Tensor, name: str | None = None) -> Tensor:
    """Draw from the Poisson distributions with means `x`, in the dtype of `x`."""
    means = _values(x, "x", "poisson")
    if not (means >= 0).all():
        raise ValueError("(InvalidArgument) poisson(): means must not be negative")
    return _drawn(lambda generator: np.asarray(generator.poisson(means)), x.dtype)


def standard_gamma(x: Tensor, name: str | None = None) -> Tensor:
    """Draw from the gamma distributions of shape `x` and scale 1, in the dtype of `x`."""
    shapes = _values(x, "x", "standard_gamma")
    if not (shapes >= 0).all():
        raise ValueError("(InvalidArgument) standard_gamma(): shapes must not be negative")
    return _drawn(lambda generator: np.asarray(generator.standard_gamma(shapes)), x.dtype)


def log_normal(mean: Any = 1.0, std: Any = 2.0, shape: Any = None, name: str | None = None) -> Tensor:
    """Draw exponentials of normal numbers. Parameters and errors are those of `normal`."""
    return exp(creation.normal(mean, std, shape))


def _values(x: Tensor, name: str, caller: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    if not isinstance(x, Tensor) or x.dtype.kind != "f":
        got = x.dtype.name if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"(InvalidType) {caller}(): argument '{name}' must be a floating-point Tensor, but got {got}")
    return x.numpy().astype(np.float64)


def _drawn(make: Callable[[np.random.Generator], np.ndarray[Any, np.dtype[Any]]], dtype: np.dtype[Any]) -> Tensor:
    return tensor_from_array(creation.draw(make).astype(dtype))
