"""Gradient formulas that need more than a line, written with the public, differentiable operators so that they differentiate again."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eager_core import Tensor

OPS: dict[str, Callable[..., Tensor]] = {}  # functional names and a few internal operators; filled when the package is complete
