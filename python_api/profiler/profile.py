"""`profile`: everything that operators and backward passes do inside a block, with times and memory."""
from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

from eager_core.profiling import record_user, start_profile, stop_profile, user_begin
from python_api.profiler.averages import Averages, averages
from python_api.profiler.chrome import write_trace
from python_api.profiler.timeline import write_timeline

__all__ = ["Event", "RecordEvent", "profile"]

P = ParamSpec("P")
R = TypeVar("R")

Shapes = tuple[tuple[int, ...] | None, ...] | None
Span = tuple[int, str, bool, bool, int, int, int, int, int, int, Shapes]
KINDS = ("operator", "node", "pass", "user")


@dataclass(frozen=True, slots=True)
class Event:
    """One span of time. Times are nanoseconds, `start` counts from the beginning of the profile."""

    kind: str
    """``operator``, ``node`` (the backward of one recorded operator), ``pass`` (all of a backward pass), ``user`` (`RecordEvent`)."""
    name: str
    """As it is called: ``exp``, ``exp_`` in place, ``ExpGradNode`` in backward."""
    inplace: bool
    failed: bool
    """It ended with an exception."""
    thread: int
    start: int
    duration: int
    self_duration: int
    """Without the events inside it."""
    kernel: int
    """Spent in kernels that are not part of an event inside it."""
    allocated: int
    """Bytes of new memory asked for meanwhile, by any thread."""
    in_use: int
    """Bytes that all tensors held at the end."""
    shapes: tuple[tuple[int, ...] | None, ...] | None
    """Of an operator's tensor inputs, if the profile records them; None for an absent one or a number."""


class profile:  # noqa: N801  a context manager, named as the references name it
    """Record operators, backward nodes and memory inside a block: ``with profile() as prof:``.

    All threads are recorded. One profile is on at a time; parts of it are told apart by `RecordEvent`. An exception ends it as the end of
    the block does, and what was recorded stays. While no profile is on, operators read one flag and do nothing else.

    Parameters
    ----------
    record_shapes : bool
        Note the shapes of the inputs of operators.

    Attributes
    ----------
    events : list of Event
        In the order of their beginnings.
    duration : int
        Nanoseconds from the beginning to the end of the block.
    in_use_before, in_use_after, peak : int
        Bytes that all tensors, and what is saved for backward, held when the block began, when it ended, and at most in between. What
        NumPy takes inside an operator and gives back before its end is not seen.
    allocated, allocations : int
        Bytes of new memory asked for in the block, and how many times.
    levels : list of tuple of int
        (nanoseconds from the beginning, bytes in use), whenever that changed.
    complete : bool
        False if memory for the recording ran out.

    Raises
    ------
    RuntimeError
        On entering, if a profile is on already, in any thread; on asking for results, before the block has ended.

    Notes
    -----
    An operator's event begins when its arguments are understood and ends when its result is made. ``kernel`` is the time in the loops
    themselves, without waiting for the GIL; the rest of an event is overhead.
    """

    def __init__(self, record_shapes: bool = False) -> None:
        self._record_shapes = bool(record_shapes)
        self._state = "new"
        self._began = 0
        self.events: list[Event] = []
        self.levels: list[tuple[int, int]] = []
        self.duration = 0
        self.in_use_before = self.in_use_after = self.peak = 0
        self.peak_at = 0
        self.allocated = self.allocations = 0
        self.complete = True

    def __enter__(self) -> profile:
        if self._state != "new":
            raise RuntimeError("(PermissionDenied) a profile is entered once; make another one")
        self._began, self.in_use_before = start_profile(self._record_shapes)
        self._state = "on"
        return self

    def __exit__(self, *exc_info: object) -> None:
        spans, levels, totals = stop_profile()
        self._state = "over"
        end, self.in_use_after, self.peak, peak_at, self.allocated, self.allocations, incomplete = totals
        self.complete = not incomplete
        self.duration = end - self._began
        self.peak_at = peak_at - self._began
        self.levels = [(time - self._began, nbytes) for time, nbytes in levels]
        self.events = _events(spans, self._began)

    def key_averages(self, group_by_shapes: bool = False) -> Averages:
        """Return the events added up by name: a list of rows, and a table when it is printed.

        Parameters
        ----------
        group_by_shapes : bool
            Keep operators on inputs of different shapes apart. Needs a profile that was made with ``record_shapes=True``.

        Raises
        ------
        RuntimeError
            The profile's block has not ended.
        """
        self._over("key_averages")
        return averages(self, group_by_shapes)

    def export_chrome_tracing(self, path: str | os.PathLike[str]) -> None:
        """Write a trace in JSON for ``chrome://tracing`` and https://ui.perfetto.dev."""
        self._over("export_chrome_tracing")
        write_trace(self, path)

    def export_memory_timeline(self, path: str | os.PathLike[str]) -> None:
        """Draw the bytes in use over time, with the peak and what was running then, as an SVG picture."""
        self._over("export_memory_timeline")
        write_timeline(self, path)

    def at(self, time: int) -> list[Event]:
        """Return the events that were running at a time (nanoseconds from the beginning), outermost first."""
        return [event for event in self.events if event.start <= time <= event.start + event.duration]

    def _over(self, what: str) -> None:
        if self._state != "over":
            raise RuntimeError(f"(PreconditionNotMet) {what}() has something to show when the profile's block has ended")


def _events(spans: list[Span], began: int) -> list[Event]:
    """Spans come in the order of their ends; the time that those inside one take is found per thread."""
    open_by_thread: dict[int, list[tuple[int, int]]] = {}  # (end, index), outermost first
    inner = [0] * len(spans)
    order = sorted(range(len(spans)), key=lambda k: (spans[k][5], -spans[k][6], -k))
    for k in order:
        thread, start, end = spans[k][4:7]
        stack = open_by_thread.setdefault(thread, [])
        # What has ended; or ends in the middle of this one, as a range of the user's may: they lie side by side.
        while stack and (stack[-1][0] < end or (stack[-1][0] == start and start < end)):
            stack.pop()
        if stack:
            inner[stack[-1][1]] += end - start
        stack.append((end, k))
    made = []
    for k in order:
        kind, name, inplace, failed, thread, start, end, kernel, allocated, in_use, shapes = spans[k]
        made.append(Event(KINDS[kind], name, inplace, failed, thread, start - began, end - start, end - start - inner[k], kernel, allocated,
                          in_use, shapes))
    return made


class RecordEvent:
    """Mark a range of the program by name: ``with RecordEvent("forward"):``, or as a decorator, or with `begin` and `end`.

    It appears in a profile that is on; otherwise it does nothing. One object may be used again, not inside itself.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"(InvalidType) RecordEvent(): name must be str, but got {type(name).__name__}")
        self.name = name
        self._began: tuple[int, int, int] | None = None

    def begin(self) -> None:
        """Begin the range."""
        self._began = user_begin()

    def end(self) -> None:
        """End it."""
        if self._began is not None:
            record_user(self.name, *self._began)
            self._began = None

    def __enter__(self) -> RecordEvent:
        self.begin()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.end()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Mark every call of a function."""

        @wraps(function)
        def marked(*args: P.args, **kwargs: P.kwargs) -> R:
            with RecordEvent(self.name):
                return function(*args, **kwargs)

        return marked
