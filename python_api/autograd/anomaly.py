"""detect_anomaly: errors of backward name the user's own lines, and gradients must be finite."""
from __future__ import annotations

import os.path

from eager_core import anomaly
from eager_core.modes import anomaly_mode, set_watching, switch_watching
from python_api.autograd.grad_mode import ThreadMode

__all__ = ["detect_anomaly", "is_anomaly_enabled", "set_detect_anomaly"]

anomaly.skip(os.path.dirname(os.path.dirname(__file__)))  # pathlib takes 10 ms to import


def detect_anomaly(check_nan: bool = True) -> ThreadMode:
    """Show the user's own lines in errors of backward: ``with detect_anomaly():`` around forward and backward, or ``@detect_anomaly()``.

    While it is on, operators remember the line that called them. The version error then shows the line that saved the value and the one
    that overwrote it; any other error in backward, those of hooks and custom functions included, carries a note (``__notes__``) with the
    line of the operator whose backward failed. A gradient that is not finite is an error where it first comes up.

    It holds for this thread; blocks nest, and exceptions end them. It slows every recorded operator down, and is for looking for faults.

    Parameters
    ----------
    check_nan : bool
        Check gradients for NaN and infinities; False shows lines only.

    Returns
    -------
    ThreadMode
        A context manager and decorator.

    Raises
    ------
    TypeError
        `check_nan` is not a bool.
    """
    return ThreadMode(_level(True, check_nan, "detect_anomaly"), set_watching)


class _Switched:
    """What `set_detect_anomaly` returns: as a context manager it gives the mode before back."""

    __slots__ = ("_before",)

    def __init__(self, before: int) -> None:
        self._before = before

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: object) -> None:
        switch_watching(self._before)


def set_detect_anomaly(mode: bool, check_nan: bool = True) -> _Switched:
    """Set the mode for all threads that are in no block of their own, new ones included.

    Parameters
    ----------
    mode : bool
    check_nan : bool
        Check gradients for NaN and infinities.

    Returns
    -------
    object
        May be dropped. As a context manager it sets the mode from before this call again on leaving.

    Raises
    ------
    TypeError
        `mode` or `check_nan` is not a bool.
    """
    return _Switched(switch_watching(_level(mode, check_nan, "set_detect_anomaly")))


def is_anomaly_enabled() -> bool:
    """Return whether this thread's operators remember their lines."""
    return anomaly_mode() > 0


def _level(mode: object, check_nan: object, caller: str) -> int:
    for name, value in (("mode", mode), ("check_nan", check_nan)):
        if not isinstance(value, bool):
            raise TypeError(f"(InvalidType) {caller}(): {name} must be bool, but got {type(value).__name__}")
    return (2 if check_nan else 1) if mode else 0
