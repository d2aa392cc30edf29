"""Where tensors live. There is one place, so there is one value."""
from __future__ import annotations

__all__ = ["CPUPlace"]


class CPUPlace:
    """The main memory of this machine, ``Place(cpu)``. All instances are equal."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Place(cpu)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CPUPlace)

    def __hash__(self) -> int:
        return hash(CPUPlace)

    def is_cpu_place(self) -> bool:
        """Return True."""
        return True

    def is_gpu_place(self) -> bool:
        """Return False."""
        return False
