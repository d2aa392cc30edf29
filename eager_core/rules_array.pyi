from collections.abc import Callable
from typing import Any

def register_array_functions(functions: list[Callable[..., Any]]) -> None: ...
