"""The log of the operator flow on stderr, in the manner of ``GLOG_v``; while no level is set, operators read one flag."""
from __future__ import annotations

import contextlib
import os
import sys
import warnings

from eager_core.profiling import watch_log

_level = 0
_OPERATORS = 3


def level() -> int:
    """Return the level: 0 nothing, 3 operators, nodes and versions, 4 shapes and histories as well."""
    return _level


def set_level(new: int) -> int:
    """Set the level of the whole process and return the one before."""
    global _level
    before, _level = _level, new
    watch_log(new >= _OPERATORS)
    return before


def set_from_environment() -> None:
    """Set what ``EAGER_VLOG`` says, or else ``GLOG_v``, which other libraries read as well."""
    for name in ("EAGER_VLOG", "GLOG_v"):
        text = os.environ.get(name, "").strip()
        if text.isdecimal():
            set_level(int(text))
            return
        if text and name == "EAGER_VLOG":
            warnings.warn(f"EAGER_VLOG is {text!r}, which is no level: a number such as 3 is expected. Nothing is logged", stacklevel=2)
            return


def write(at: int, text: str) -> None:
    """Write a line if the level is at least `at`. A stream that fails, in whatever way, fails no operator: that may have written."""
    stream = sys.stderr
    if at <= _level and stream is not None:
        with contextlib.suppress(Exception):
            stream.write(f"VLOG({at}) {text}\n")
