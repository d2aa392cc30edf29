"""The log of the operator flow on stderr, in the manner of ``GLOG_v``: called only while a level is set."""
from __future__ import annotations

import contextlib
import sys

_level = 0


def level() -> int:
    """Return the level: 0 nothing, 3 operators, nodes and versions, 4 shapes and histories as well."""
    return _level


def set_level(new: int) -> int:
    """Set the level of the whole process and return the one before."""
    global _level
    before, _level = _level, new
    return before


def write(at: int, text: str) -> None:
    """Write a line if the level is at least `at`. A stream that fails must not fail the operator."""
    stream = sys.stderr
    if at <= _level and stream is not None:
        with contextlib.suppress(OSError, ValueError):
            stream.write(f"VLOG({at}) {text}\n")
