from typing import final

@final
class Layout:
    @property
    def ndim(self) -> int: ...
    @property
    def numel(self) -> int: ...
    @property
    def contiguous(self) -> bool: ...
