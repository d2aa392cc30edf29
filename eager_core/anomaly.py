"""Lines of the user's program, for errors under ``detect_anomaly``: called only while that is on."""
from __future__ import annotations

import linecache
import os
import sys
import threading

Line = tuple[str, int, str]  # file, number, function
Lines = tuple[Line, ...]  # innermost first

SHOWN = 4  # a line and its callers
_own = [os.path.dirname(__file__) + os.sep]  # pathlib takes 10 ms to import


class _Running(threading.local):
    """The forward lines of the node whose backward runs: nodes that it records under ``create_graph`` belong there."""

    lines: Lines | None = None


_running = _Running()


def skip(directory: str) -> None:
    """Count code in a directory as the library's, not the user's."""
    _own.append(directory + os.sep)


def here() -> Lines:
    """Return where the user's program is: its innermost frame outside of the library, and those that called it."""
    own = tuple(_own)
    found: list[Line] = []
    frame = sys._getframe(1)
    while frame is not None and len(found) < SHOWN:
        code = frame.f_code
        if not code.co_filename.startswith(own):
            found.append((code.co_filename, frame.f_lineno, code.co_qualname))
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(found)


def origin() -> Lines:
    """Return the lines that a node recorded now belongs to."""
    return here() if _running.lines is None else _running.lines


def enter(lines: Lines | None) -> Lines | None:
    """A node's backward begins; return what `leave` wants."""
    before, _running.lines = _running.lines, lines
    return before


def leave(before: Lines | None) -> None:
    """It has ended."""
    _running.lines = before


def text(lines: Lines) -> str:
    """Spell lines as a traceback does, the innermost first."""
    parts = []
    for k, (file, number, function) in enumerate(lines):
        source = linecache.getline(file, number).strip()
        parts.append(f"  {'called from ' if k else ''}File \"{file}\", line {number}, in {function}")
        if source:
            parts.append(f"    {source}")
    return "\n".join(parts) or "  (no frame of Python code outside of the library)"


def explain(error: BaseException, node: str, lines: Lines | None) -> None:
    """Add to an error on its way out of a node's backward where forward made the node. The error itself stays as it is (S1.13)."""
    if lines is None:
        note = f"In the backward pass of {node}, which was not made under detect_anomaly(), so that its forward line is not known."
    else:
        note = f"In the backward pass of {node}, made by:\n{text(lines)}"
        if text(lines) in str(error):
            return
    error.add_note(note)
