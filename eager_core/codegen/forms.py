"""The forms in which an operator is offered: by name, as a method, as an entry point; each plain and in place."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .model import Op


@dataclass(frozen=True)
class Form:
    """One operator, plain or in place, and the names it has; a name is empty where there is no such form."""

    op: Op
    number: int                 # of the row
    inplace: bool
    function: str
    method: str
    entry: str                  # without the common prefix eager_api_

    @property
    def name(self) -> str:
        return self.function

    @property
    def arguments(self) -> str:
        """As Python shows them, without the parentheses."""
        return self.op.public_signature.split("(", 1)[1][:-1]

    @property
    def bound_arguments(self) -> str:
        """The same for a method: the first is the tensor itself."""
        first = self.op.params[0].name
        return "$self" + self.arguments[len(first):] if self.arguments.startswith(first) else self.arguments

    @property
    def entry_inputs(self) -> tuple[str, ...]:
        """The tensors an entry point takes first; an attribute that may come as a tensor is not among them."""
        return self.op.inputs[:len(self.op.tensors)]

    @property
    def doc(self) -> str:
        text = f"{self.op.doc} In place: returns the very tensor it was given." if self.inplace else self.op.doc
        return text + (f"\n\nGradient: {self.op.formula}." if self.op.formula else "")

    @property
    def entry_doc(self) -> str:
        return f"{self.op.doc} Inputs {', '.join(self.op.inputs)}, then attribute names and values."


def forms(ops: tuple[Op, ...]) -> Iterator[Form]:
    """All forms in the order of the table. Of two rows with one low-level name the first has the entry point."""
    seen: set[str] = set()
    for number, op in enumerate(ops):
        if op.family == "node" or not op.public:
            continue
        for inplace in ([False] if op.functional else []) + ([True] if op.inplace else []):
            low = op.lowlevel + "_" * inplace
            for name in (op.name, *op.aliases):
                shown = name + "_" * (inplace and not op.bare)
                yield Form(op, number, inplace, shown, shown if op.method else "", "" if low in seen else low)
                seen.add(low)
