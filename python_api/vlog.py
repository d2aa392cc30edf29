"""The log of the operator flow: its level."""
from __future__ import annotations

import operator
from typing import SupportsIndex

from eager_core import flow_log

__all__ = ["get_vlog_level", "set_vlog_level"]


def set_vlog_level(level: SupportsIndex) -> int:
    """Write what operators do to stderr, a line each: ``VLOG(3) Running Eager Forward Op: exp``.

    At the start of a process the level is that of the environment: ``EAGER_VLOG=3``, or else ``GLOG_v=3``.

    Parameters
    ----------
    level : int
        0: nothing. 3: operators, which of them write in place, versions, nodes of backward passes. 4: shapes, dtypes and histories as well.

    Returns
    -------
    int
        The level before: ``set_vlog_level(before)`` restores it.

    Raises
    ------
    TypeError
        Not an integer.
    ValueError
        Negative.

    Notes
    -----
    For all threads of the process. A stream that cannot be written to is no reason for an operator to fail: the line is lost.
    """
    if isinstance(level, bool) or not hasattr(level, "__index__"):
        raise TypeError(f"(InvalidType) set_vlog_level(): level must be int, but got {type(level).__name__}")
    number = operator.index(level)
    if number < 0:
        raise ValueError(f"(InvalidArgument) set_vlog_level(): level must not be negative, but is {number}")
    return flow_log.set_level(number)


def get_vlog_level() -> int:
    """Return the level of the log, 0 if nothing is written."""
    return flow_log.level()
