"""Gradient formulas that need more than a line, written with the public, differentiable operators so that they differentiate again."""
from __future__ import annotations

from typing import Any

OPS: dict[str, Any] = {}         # functional names and a few internal operators; filled by the package when it is complete
