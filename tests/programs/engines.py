"""The library and its peers behind one face: what a program reads like, what its variables hold, which errors are refusals.

A refusal is an error by which an engine says that it will not, or cannot, give the gradient of the program as written: something needed was
overwritten, a leaf may not be written, a view can no longer be followed, source and target overlap.
"""
from __future__ import annotations

import importlib
import importlib.util
from functools import lru_cache

import numpy as np

from . import oracle
from .operators import OPERATORS
from .program import Index, Program, Statement, as_list


@lru_cache(maxsize=100_000)
def _compiled(line):
    return compile(line, "<program>", "exec")


class Engine:
    name: str                    # also the attribute of an operator's row
    module: str
    short: str
    leaf_text: str
    constant_text: str
    no_grad_text = ""
    mask_text = "{}"
    refusals: tuple[str, ...]    # parts of messages
    refusing_types: tuple[str, ...] = ()

    @classmethod
    def installed(cls):
        return importlib.util.find_spec(cls.module) is not None

    def __init__(self):
        self.library = importlib.import_module(self.module)

    # -- texts --

    def _argument(self, a):
        if not isinstance(a, Index):
            return str(a)
        text = str(a)
        for mask in a.masks:
            text = text.replace(as_list(mask), self.mask_text.format(as_list(mask)))
        return text

    def text(self, statement: Statement) -> str | None:
        """One line, or None if the engine has no words for it."""
        template = getattr(OPERATORS[statement.operator], self.name)
        if template is None or (statement.no_grad and not self.no_grad_text):
            return None
        line = template.format(*map(self._argument, statement.args)).replace("..., ...", "...")  # at most one
        line = f"{statement.out} = {line}" if statement.out else line
        return f"with {self.no_grad_text}: {line}" if statement.no_grad else line

    def constant(self, array):
        return self.constant_text.format(array.tolist())

    def beginning(self, program: Program):
        return ([f"{n} = {self.leaf_text.format(a.tolist())}" for n, a in program.leaves.items()]
                + [f"{n} = {self.constant(a)}" for n, a in program.constants.items()])

    def ending(self, program: Program):
        return ["loss = " + " + ".join(f"({n} * {self.constant(w)}).sum()" for n, w in program.weights.items()), "loss.backward()"]

    def lines(self, program: Program) -> list[str] | None:
        body = [self.text(s) for s in program.statements]
        return None if None in body else [*self.beginning(program), *body, *self.ending(program)]

    def script(self, program: Program) -> str:
        imports = "import numpy as np\nimport mygrad as mg\n" if self.short == "mg" else f"import {self.module} as {self.short}\n"
        return imports + "\n".join(self.lines(program))

    # -- running --

    def namespace(self):
        return {self.short: self.library, "np": np}

    def execute(self, line, names):
        exec(_compiled(line), names)

    def is_refusal(self, error):
        return type(error).__name__ in self.refusing_types or any(part in str(error) for part in self.refusals)

    def value(self, t):
        return t.numpy()

    def wants_gradient(self, t):
        return not t.stop_gradient

    def gradient(self, leaf):
        return None if leaf.grad is None else np.asarray(leaf.grad)


class Ours(Engine):
    name, module, short = "text", "python_api", "paddle"
    leaf_text = "paddle.to_tensor({}, dtype='float64', stop_gradient=False)"
    constant_text = "paddle.to_tensor({}, dtype='float64')"
    no_grad_text = "paddle.no_grad()"
    mask_text = "paddle.to_tensor({})"
    refusals = ("modified by an inplace operation", "doesn't stop gradient can't use inplace strategy", "View (", "(PermissionDenied)",
                "overlap each other in memory", "are not contiguous in memory; use")


class Preserving(Ours):
    """The library with what writes destroy kept for backward; in a process of its own."""

    def __init__(self):
        super().__init__()
        self.library.autograd.set_allow_mutation_on_saved_tensors(True)


class Paddle(Engine):
    name, module, short = "paddle", "paddle", "paddle"
    leaf_text, constant_text, no_grad_text, mask_text = Ours.leaf_text, Ours.constant_text, Ours.no_grad_text, Ours.mask_text
    refusals = ("modified by an inplace operation", "doesn't stop gradient can't use inplace strategy")


class Torch(Engine):
    name, module, short = "torch", "torch", "torch"
    leaf_text = "torch.tensor({}, dtype=torch.float64, requires_grad=True)"
    constant_text = "torch.tensor({}, dtype=torch.float64)"
    no_grad_text = "torch.no_grad()"
    mask_text = "torch.tensor({})"
    refusals = ("modified by an inplace operation", "a leaf Variable that requires grad", "view of a leaf Variable",
                "single memory location", "modified inplace", "no_grad mode", "overlap")

    def text(self, statement):
        index = next((a for a in statement.args if isinstance(a, Index)), Index())
        # No negative steps; which of several writes to one element wins is undefined by its documentation.
        if index.backwards or (index.repeats and OPERATORS[statement.operator].kind == "write"):
            return None
        return super().text(statement)

    def value(self, t):
        return t.detach().numpy()

    def wants_gradient(self, t):
        return t.requires_grad


class MyGrad(Engine):
    name, module, short = "mygrad", "mygrad", "mg"
    leaf_text = "mg.tensor({}, dtype='float64')"
    constant_text = leaf_text            # what it calls a constant stays one when it is written to
    refusals = ()
    refusing_types = ("InvalidBackprop", "InvalidGradient", "DisconnectedView")

    def lines(self, program):
        # The gradient of a leaf that was written is that of its new value: of the old one nobody can ask.
        return None if oracle.writes_leaf(program) else super().lines(program)

    def value(self, t):
        return t.data

    def wants_gradient(self, t):
        return not t.constant


ENGINES = {"ours": Ours, "preserving": Preserving, "torch": Torch, "paddle": Paddle, "mygrad": MyGrad}
