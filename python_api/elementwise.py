"""Elementwise mathematics put together from other operators."""
from __future__ import annotations

import functools
from typing import Any

from eager_core import Tensor
from eager_core import add as _add
from eager_core import round as _round
from eager_core import round_ as _round_
from eager_core.gradient_helpers import OPS
from python_api.composite import composite, integer, tensors

__all__ = ["add_n", "round", "round_"]


@composite
def round(x: Tensor, decimals: int = 0, name: str | None = None) -> Tensor:
    """Return the nearest numbers of so many decimals, halves to even; of tens, hundreds, ... if decimals is negative. Gradient: 0."""
    digits = integer(decimals, "decimals", "round")
    return OPS["round_decimals"](x, digits) if digits else _round(x)


@composite
def round_(x: Tensor, decimals: int = 0, name: str | None = None) -> Tensor:
    """Round x in place, and return x; see round."""
    digits = integer(decimals, "decimals", "round_")
    return OPS["round_decimals_"](x, digits) if digits else _round_(x)


@composite(method=False)
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """Return the sum of tensors of one shape; of a single tensor a copy."""
    found = [inputs] if isinstance(inputs, Tensor) else tensors(inputs, "inputs", "add_n")
    if any(t.shape != found[0].shape for t in found):
        raise ValueError(f"(InvalidArgument) add_n(): the shapes must be equal, but are {[t.shape for t in found]}")
    return functools.reduce(_add, found) if len(found) > 1 else found[0].clone()
