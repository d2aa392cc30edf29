"""Submodules that few programs need and every start would pay for."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def imported_on_demand(package: dict[str, Any], *submodules: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package, given as its globals: the submodules are imported when first asked for."""
    def get(name: str) -> Any:
        if name in submodules:
            return importlib.import_module(f"{package['__name__']}.{name}")
        raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*package, *package["__all__"]})

    return get, names
