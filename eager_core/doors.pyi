from collections.abc import Callable
from typing import Any

FUNCTIONS: dict[str, Callable[..., Any]]
ENTRY_POINTS: dict[str, Callable[..., Any]]

def core_ops_info() -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, list[str]]]: ...
