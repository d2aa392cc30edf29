"""Events of a profile added up by name, and their table."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from python_api.profiler.profile import profile

__all__ = ["Averages", "Row", "averages", "nbytes_text", "time_text"]

Shapes = tuple[tuple[int, ...] | None, ...] | None


@dataclass(slots=True)
class Row:
    """All events of one name. Times in nanoseconds."""

    kind: str
    name: str
    inplace: bool
    shapes: Shapes
    count: int = 0
    total: int = 0
    self_total: int = 0
    """Without what has a row of its own inside."""
    kernel: int = 0
    allocated: int = 0

    @property
    def overhead(self) -> int:
        """Time of the events themselves that was not spent in kernels."""
        return self.self_total - self.kernel

    @property
    def average(self) -> float:
        """Time of one event."""
        return self.total / self.count


SORTED_BY: dict[str, Callable[[Row], float]] = {
    "self": lambda row: row.self_total,
    "total": lambda row: row.total,
    "kernel": lambda row: row.kernel,
    "overhead": lambda row: row.overhead,
    "count": lambda row: row.count,
    "average": lambda row: row.average,
    "allocated": lambda row: row.allocated,
}


class Averages(list[Row]):
    """Rows by name, the longest first; printed, a table."""

    def __init__(self, rows: list[Row], footer: str = "") -> None:
        super().__init__(rows)
        self._footer = footer

    def table(self, sort_by: str = "self", row_limit: int | None = None) -> str:
        """Return the rows as a table.

        Parameters
        ----------
        sort_by : str
            ``self``, ``total``, ``kernel``, ``overhead``, ``count``, ``average`` or ``allocated``, the largest first.
        row_limit : int, optional
            Show so many rows at most.

        Raises
        ------
        ValueError
            `sort_by` is none of these.
        """
        if sort_by not in SORTED_BY:
            raise ValueError(f"(InvalidArgument) table(): sort_by must be one of {', '.join(SORTED_BY)}, but is {sort_by!r}")
        rows = sorted(self, key=SORTED_BY[sort_by], reverse=True)[:row_limit]
        whole = sum(row.self_total for row in self) or 1
        cells = [("name", "in place", "calls", "total", "self", "self %", "kernel", "overhead", "a call", "allocated")]
        for row in rows:
            name = row.name if row.shapes is None else f"{row.name} {list(row.shapes)}"
            cells.append((name, "yes" if row.inplace else "", str(row.count), time_text(row.total), time_text(row.self_total),
                          f"{100 * row.self_total / whole:.1f}", time_text(row.kernel), time_text(row.overhead), time_text(row.average),
                          nbytes_text(row.allocated)))
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))])
                 for line in cells]
        lines.insert(1, "-" * len(lines[0]))
        return "\n".join([*lines, *([self._footer] if self._footer else [])])

    def __str__(self) -> str:
        return self.table()


def averages(prof: profile, group_by_shapes: bool) -> Averages:
    """Add up the events of a profile by kind and name."""
    rows: dict[tuple[str, str, Shapes], Row] = {}
    for event in prof.events:
        shapes = event.shapes if group_by_shapes else None
        row = rows.setdefault((event.kind, event.name, shapes), Row(event.kind, event.name, event.inplace, shapes))
        row.count += 1
        row.total += event.duration
        row.self_total += event.self_duration
        row.kernel += event.kernel
        row.allocated += event.allocated
    footer = (f"{time_text(prof.duration)} in all. Memory: {nbytes_text(prof.in_use_before)} before, {nbytes_text(prof.peak)} at the peak, "
              f"{nbytes_text(prof.in_use_after)} after; {prof.allocations} allocations of {nbytes_text(prof.allocated)}.")
    if not prof.complete:
        footer += "\nMemory for the recording ran out: events are missing."
    return Averages(sorted(rows.values(), key=SORTED_BY["self"], reverse=True), footer)


def time_text(ns: float) -> str:
    """Spell a time with its unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.2f} {unit}"
    return f"{ns:.0f} ns"


def nbytes_text(nbytes: float) -> str:
    """Spell a number of bytes with its unit."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes:.0f} B"
