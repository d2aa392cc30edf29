from collections.abc import Callable
from typing import Any, final

from eager_core.eager_api import Tensor

@final
class SavedTensorsHooks:
    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None: ...
    def enter(self) -> None: ...
    def leave(self) -> None: ...

@final
class Packed:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
