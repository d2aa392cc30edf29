"""Kernels of array operators: functions of read-only NumPy arrays that return new arrays, a module per family."""
from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def find(name: str) -> Callable[..., Any]:
    """Return the function that a row names as ``module.function``."""
    module, function = name.split(".")
    return getattr(import_module(f"eager_core.array_kernels.{module}"), function)          # type: ignore[no-any-return]
