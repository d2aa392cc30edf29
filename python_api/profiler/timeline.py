"""The memory of a profile over time, as a picture in SVG, written by hand: it needs nothing to draw with."""
from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from python_api.profiler.averages import nbytes_text, time_text

if TYPE_CHECKING:
    from python_api.profiler.profile import Event, profile

__all__ = ["write_timeline"]

WIDTH, HEIGHT = 960, 360
LEFT, RIGHT, TOP, BOTTOM = 80, 20, 40, 60
COLUMNS = 2000  # of pixels and less: more levels than that are drawn as the highest of their column
COLOURS = {"operator": "#4a7fb5", "node": "#b5654a", "user": "#8a8a8a"}


def escape(text: str) -> str:
    """For XML; the standard library's comes with an HTTP client, which takes 50 ms to import."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def write_timeline(prof: profile, path: str | os.PathLike[str]) -> None:
    """Draw steps of memory above a strip that shows forward operators, backward nodes and the user's ranges."""
    span = max(prof.duration, 1)
    top = max(prof.peak, 1)

    def x(time: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(max(time / span, 0), 1)

    def y(nbytes: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * nbytes / top

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'font-family="sans-serif" font-size="11">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for k in range(5):
        nbytes = top * k / 4
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(nbytes):.1f}" y2="{y(nbytes):.1f}" stroke="#dddddd"/>'
                     f'<text x="{LEFT - 6}" y="{y(nbytes) + 4:.1f}" text-anchor="end">{nbytes_text(nbytes)}</text>'
                     f'<text x="{x(span * k / 4):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{time_text(span * k / 4)}</text>')
    points = [(x(0), y(0))]
    for time, nbytes in _steps(prof.levels, span):
        points += [(x(time), points[-1][1]), (x(time), y(nbytes))]
    points += [(x(span), points[-1][1]), (x(span), y(0))]
    corners = " ".join(f"{across:.1f},{down:.1f}" for across, down in points)
    parts.append(f'<polygon points="{corners}" fill="#c9dcee" stroke="#4a7fb5" stroke-width="1"/>')
    strip = [event for event in prof.events if event.kind in COLOURS]
    for event in sorted(strip, key=lambda event: event.duration, reverse=True)[:COLUMNS]:
        lane = {"user": 0, "operator": 1, "node": 2}[event.kind]
        wide = max(x(event.start + event.duration) - x(event.start), 0.5)
        parts.append(f'<rect x="{x(event.start):.1f}" y="{HEIGHT - BOTTOM + 6 + 10 * lane}" width="{wide:.1f}" height="8" '
                     f'fill="{COLOURS[event.kind]}"><title>{escape(event.name)}, {time_text(event.duration)}</title></rect>')
    parts.append(f'<circle cx="{x(prof.peak_at):.1f}" cy="{y(prof.peak):.1f}" r="4" fill="#c00000"/>')
    parts.append(f'<text x="{LEFT}" y="20" font-size="13">{escape(_title(prof))}</text>')
    Path(path).write_text("\n".join([*parts, "</svg>\n"]), "utf-8")


def _title(prof: profile) -> str:
    running: list[Event] = [event for event in prof.at(prof.peak_at) if event.kind != "pass"]
    during = f" during {' in '.join(event.name for event in reversed(running))}" if running else ""
    return f"memory of tensors: peak {nbytes_text(prof.peak)} ({prof.peak} bytes) at {time_text(prof.peak_at)}{during}"


def _steps(levels: list[tuple[int, int]], span: int) -> list[tuple[int, int]]:
    """Of many levels the highest and the last of each column: no peak is lost, and the picture stays small."""
    if len(levels) <= 2 * COLUMNS:
        return levels
    kept: list[tuple[int, int]] = []
    column: list[tuple[int, int]] = []
    for level in levels:
        if column and level[0] * COLUMNS // span != column[0][0] * COLUMNS // span:
            kept += [max(column, key=lambda one: one[1]), column[-1]]
            column = []
        column.append(level)
    return [*kept, max(column, key=lambda one: one[1]), column[-1]]
