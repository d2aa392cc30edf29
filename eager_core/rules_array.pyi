from collections.abc import Callable
from typing import Any

def register_array_functions(names: list[str], find: Callable[[str], Callable[..., Any]]) -> None: ...
