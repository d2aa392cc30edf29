"""Moving elements about."""
from __future__ import annotations

import numpy as np

from .joining import Array

Lengths = int | tuple[int, ...]


def _lengths(value: Lengths) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value,)


def expand(x: Array, shape: Lengths) -> Array:
    wanted = list(_lengths(shape))
    extra = len(wanted) - x.ndim
    for k, n in enumerate(wanted):
        if n == -1 and k >= extra:
            wanted[k] = x.shape[k - extra]
    try:
        return np.array(np.broadcast_to(x, wanted))
    except ValueError:
        raise ValueError(f"(InvalidArgument) expand(): a tensor of shape {list(x.shape)} cannot be expanded to the shape "
                         f"{list(_lengths(shape))}") from None


def tile(x: Array, repeat_times: Lengths) -> Array:
    times = _lengths(repeat_times)
    if any(n < 0 for n in times):
        raise ValueError(f"(InvalidArgument) tile(): repeat_times must not be negative, but got {list(times)}")
    return np.tile(x, times)


def tril(x: Array, diagonal: int) -> Array:
    return np.tril(_matrices(x, "tril"), diagonal)


def triu(x: Array, diagonal: int) -> Array:
    return np.triu(_matrices(x, "triu"), diagonal)


def _matrices(x: Array, name: str) -> Array:
    if x.ndim < 2:
        raise ValueError(f"(InvalidArgument) {name}(): at least 2 axes expected, but the shape is {list(x.shape)}")
    return x


def pad_constant(x: Array, before: Lengths, after: Lengths, value: float) -> Array:
    before, after = _lengths(before), _lengths(after)
    out = np.full([n + b + a for n, b, a in zip(x.shape, before, after, strict=True)], value, x.dtype)
    out[tuple(slice(b, b + n) for n, b in zip(x.shape, before, strict=True))] = x
    return out
