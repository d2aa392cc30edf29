"""`inplace_advisor`: which operators of a program could have been in place, and which in-place ones break its backward."""
from __future__ import annotations

import linecache
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

import eager_core
from eager_core.profiling import start_advice, stop_advice
from python_api.profiler.averages import nbytes_text

__all__ = ["Advice", "Harm", "inplace_advisor"]

OWN = (str(Path(eager_core.__file__).parent) + os.sep, str(Path(__file__).parents[1]) + os.sep)


@dataclass(frozen=True, slots=True)
class Site:
    """One operator in the text of a program: two on one line are two sites."""

    code: CodeType
    instruction: int
    line: int
    operator: str

    @property
    def source(self) -> str:
        """The expression itself if the interpreter knows it, else its line."""
        positions = list(self.code.co_positions())
        at = self.instruction // 2
        first, last, begin, end = positions[at] if at < len(positions) else (None, None, None, None)
        text = linecache.getline(self.code.co_filename, self.line)
        if first is None or first != last or begin is None or end is None:
            return text.strip()
        # In bytes, and of the text that was compiled; the file may have another by now.
        return linecache.getline(self.code.co_filename, first).encode()[begin:end].decode(errors="replace") or text.strip()


@dataclass(frozen=True, slots=True)
class Advice:
    """An operator that could have been in place."""

    file: str
    line: int
    function: str
    source: str
    """The expression, as it stands in the program."""
    operator: str
    operand: int
    """Which tensor could have been the target: 0, or 1 of an operator whose operands may change places (the gradients of a tensor that is
    used several times are then added in another order, and may differ in the last bit)."""
    count: int
    """How often it ran; each time it could have been in place."""
    nbytes: int
    """Bytes of new memory that would not have been asked for, all runs together; the allocations are `count`."""
    alive: bool
    """The old value was still within the program's reach when the block ended. It was not used in the block, but may be afterwards."""

    def __str__(self) -> str:
        where = "its tensor" if self.operand == 0 else "its second tensor"
        text = (f'File "{self.file}", line {self.line}, in {self.function}\n    {self.source}\n    {self.operator}: use '
                f"{self.operator}_() on {where}; saves {self.count} allocations, {nbytes_text(self.nbytes)}")
        return text + ("\n    if the old value, which is still referenced, is not used after the block" if self.alive else "")


@dataclass(frozen=True, slots=True)
class Harm:
    """An in-place operator that overwrote what a recorded operator has saved: backward fails if it comes there."""

    file: str
    line: int
    function: str
    source: str
    operator: str
    count: int
    saved: tuple[str, ...]
    """What was overwritten, and where it was saved if that was in the block."""

    def __str__(self) -> str:
        return (f'File "{self.file}", line {self.line}, in {self.function}\n    {self.source}\n    {self.operator} overwrites '
                + "\n        and ".join(self.saved))


# For each run of a site, the operands that could be the target: (operand, memory, bytes, when).
Runs = list[list[tuple[int, int, int, int]]]


class inplace_advisor:  # noqa: N801  a context manager
    """Run a step of a program and find what could be in place: ``with inplace_advisor() as advisor:``, then ``print(advisor)``.

    An operator of the program could have been in place if, each time that its line ran, the input has the result's shape and dtype, is no
    leaf that requires grad, is saved by nobody (this operator included), its memory is used by nothing afterwards, be it through the
    tensor, a view, an alias or a read from Python, and neither a hook nor ``retain_grads`` asks for its gradient; the write would be
    recorded if the input has a history. A line that qualifies in some runs only is not advised, nor are operators inside the library's own
    functions, and those that compute new memory anyway. Advice holds for what ran: of a program that takes another way with other data, run
    that, too.

    Only what runs while the block is open is seen, so let the block hold all that uses the step's values: best a function, whose locals are
    gone at its end. What is still referenced when the block ends is advised with a reservation (`Advice.alive`).

    Attributes
    ----------
    advice : list of Advice
        The most bytes first; those with reservation last.
    harms : list of Harm
        In-place operators that make backward fail.

    Raises
    ------
    RuntimeError
        On entering, if an advisor is on already, in any thread.

    Notes
    -----
    All threads are observed. An exception ends it as the end of the block does, and what was seen until then is judged: memory that the
    exception's traceback keeps counts as alive. Slow: it is for looking, not for work.
    """

    def __init__(self) -> None:
        self.advice: list[Advice] = []
        self.harms: list[Harm] = []
        self._sites: dict[Site, Runs] = {}
        self._harmed: dict[Site, Counter[str]] = {}
        self._nodes: dict[int, Site] = {}
        self._listening = False

    def __enter__(self) -> inplace_advisor:
        if self._listening:
            raise RuntimeError("(PermissionDenied) an in-place advisor is entered once; make another one")
        start_advice(self)
        self._listening = True
        return self

    def __exit__(self, *exc_info: object) -> None:
        last_use, gone = stop_advice()
        self._judge(last_use, gone)
        self._nodes.clear()

    @property
    def nbytes(self) -> int:
        """Bytes that the advice without reservation would save."""
        return sum(one.nbytes for one in self.advice if not one.alive)

    @property
    def allocations(self) -> int:
        """Allocations that it would save."""
        return sum(one.count for one in self.advice if not one.alive)

    def __str__(self) -> str:
        lines = [f"Could be in place: {len(self.advice)} operators; {self.allocations} allocations, {nbytes_text(self.nbytes)} less"]
        lines += [str(one) for one in self.advice]
        lines.append(f"Makes backward fail: {len(self.harms)} in-place operators")
        lines += [str(one) for one in self.harms]
        return "\n".join(lines)

    # ---- told by the core, for every operator, when it has ended ----

    def operator(self, name: str, began: int, ended: int, node: int, candidates: list[tuple[str | None, int, int]],
                 harmed: list[tuple[int, str]], backward: bool) -> None:
        """Note one operator."""
        if not candidates and not harmed and not node:
            return
        site, inside = _site(name)
        if site is None:
            return
        if node and not backward:
            self._nodes[node] = site
        if harmed:
            self._harmed.setdefault(site, Counter()).update(role + self._saved_at(saver) for saver, role in harmed)
        if candidates and not inside:
            self._sites.setdefault(site, []).append([(k, one[1], one[2], ended) for k, one in enumerate(candidates) if one[0] is None])

    def _saved_at(self, node: int) -> str:
        site = self._nodes.get(node)
        if site is None:
            return ", which was saved before the block"
        return f', which was saved in File "{site.code.co_filename}", line {site.line}: {site.source}'

    # ---- afterwards ----

    def _judge(self, last_use: dict[int, int], gone: set[int]) -> None:
        for site, runs in self._sites.items():
            if not hasattr(eager_core.Tensor, site.operator + "_"):
                continue
            for operand in (0, 1):
                found = [next((one for one in run if one[0] == operand and last_use.get(one[1], 0) < one[3]), None)
                         for run in runs]
                fit = [one for one in found if one is not None]
                if len(fit) == len(found):
                    self.advice.append(Advice(
                        site.code.co_filename, site.line, site.code.co_qualname, site.source, site.operator, operand, len(fit),
                        sum(one[2] for one in fit), any(one[1] not in gone for one in fit)))
                    break
        self.advice.sort(key=lambda one: (one.alive, -one.nbytes, one.file, one.line))
        for site, counts in self._harmed.items():
            self.harms.append(Harm(site.code.co_filename, site.line, site.code.co_qualname, site.source, site.operator,
                                   max(counts.values()), tuple(counts)))


def _site(name: str) -> tuple[Site | None, bool]:
    """Where the user's program is, and whether a function of the library's stands between it and the operator."""
    frame: FrameType | None = sys._getframe(2)
    inside = False
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
        inside = True
    if frame is None:
        return None, inside
    return Site(frame.f_code, frame.f_lasti, frame.f_lineno, name), inside
