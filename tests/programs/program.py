"""Programs as data: leaves, constants, statements, and a loss that is a weighted sum of variables."""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple


class Var(str):
    """The name of a variable among the arguments of a statement."""

    __slots__ = ()


class Index(tuple):
    """What stands between brackets: ints, slices, None, ``...``, lists of ints (nested: of bools)."""

    __slots__ = ()

    def __str__(self):
        return ", ".join(_item_text(item) for item in self)

    @property
    def arrays(self):
        return [item for item in self if isinstance(item, tuple)]

    @property
    def masks(self):
        return [item for item in self.arrays if "True" in str(item) or "False" in str(item)]

    @property
    def repeats(self):
        return any(len(set(item)) < len(item) for item in self.arrays if item not in self.masks)

    @property
    def backwards(self):
        return any(isinstance(item, slice) and (item.step or 1) < 0 for item in self)


def _item_text(item):
    if isinstance(item, slice):
        start, stop, step = ("" if part is None else str(part) for part in (item.start, item.stop, item.step))
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"
    return "..." if item is Ellipsis else as_list(item) if isinstance(item, tuple) else str(item)


def as_list(values):
    """A tuple (of tuples) as the text of a list."""
    return "[" + ", ".join(as_list(v) if isinstance(v, tuple) else str(v) for v in values) + "]"


class Statement(NamedTuple):
    out: str | None
    operator: str
    args: tuple
    no_grad: bool = False

    @property
    def reads(self):
        return [a for a in self.args if isinstance(a, Var)]


@dataclass(frozen=True)
class Program:
    leaves: dict                     # name: array
    constants: dict
    statements: tuple[Statement, ...] = ()
    weights: dict = field(default_factory=dict)  # of the loss; name: array

    def __repr__(self):
        return f"Program of {len(self.statements)} statements"       # engines write it out

    def without(self, dropped):
        """The program without some statements, and without what cannot be said then."""
        known, kept = {*self.leaves, *self.constants}, []
        for k, statement in enumerate(self.statements):
            if k not in dropped and known.issuperset(statement.reads):
                kept.append(statement)
                known |= {statement.out} - {None}
        return replace(self, statements=tuple(kept), weights={n: w for n, w in self.weights.items() if n in known})

    @property
    def cuts(self):
        """Does it say that a value is to count as a constant? Differences of values know nothing about that."""
        return any(s.no_grad or "detach" in s.operator for s in self.statements)
