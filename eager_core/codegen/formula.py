"""Gradient formulas: from one line of Python-like mathematics to the statements of a backward function."""
from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from .model import Op

_BINARY = {ast.Add: "OP_ADD", ast.Sub: "OP_SUBTRACT", ast.Mult: "OP_MULTIPLY", ast.Div: "OP_DIVIDE"}


@dataclass
class Saved:
    """What a formula needs of the forward pass: name -> whole value or shape only, and which inputs' gradients need it."""

    whole: dict[str, int] = field(default_factory=dict)
    meta: dict[str, int] = field(default_factory=dict)


class Compiler:
    """Compiles the formulas of one operator."""

    def __init__(self, op: Op, by_name: dict[str, Op]) -> None:
        self.op = op
        self.by_name = by_name
        self.tensors = [p.name for p in op.tensors]
        self.gradient = "gout" if "grad" in self.tensors else "grad"
        self.attributes = {name: k for k, name in enumerate(op.all_attributes)}
        self.kinds = {p.name: p.kind for p in op.params}
        self.order: list[tuple[str, bool]] = []         # saved values in the order of their slots: (name, meta only)
        self.uses: list[int] = []
        self.used: list[int] = []                       # slots of the formula at hand
        self.edge = 0
        self.inline = False                             # saved values are recovered in place: few calls come this way
        self.spare_gradient = "0"                       # references to it that are ours, if the formula at hand is its last reader
        self.modules: set[str] = set()                  # of gradient_helpers
        self.gradients_used: set[str] = set()

    def fail(self, message: str) -> None:
        raise ValueError(f"operator table, row {self.op.name!r}: {message}")

    def slot(self, name: str, meta: bool) -> int:
        key = (name, meta)
        if key not in self.order:
            self.order.append(key)
            self.uses.append(0)
        k = self.order.index(key)
        self.uses[k] |= 1 << self.edge
        if k not in self.used:
            self.used.append(k)
        return k

    def compile(self, edge: int, text: str, later: list[int]) -> tuple[str, list[int]]:
        """Return the expression for one input's gradient and the saved slots it reads; `later` are the inputs whose turn comes after."""
        self.edge, self.used = edge, []
        formula = ast.parse(text, mode="eval").body
        self.spare_gradient = "0"
        if self.readings(formula) == 1 and (len(self.op.results) == 1 or self.op.family == "view"):
            # The engine's reference and the function's own.
            unwanted = " and ".join(f"node.edge({k}) is None" if k > 1 else f"node.next_{k} is None" for k in later)
            self.spare_gradient = f"2 if {unwanted} else 0" if unwanted else "2"
        return self.tensor(formula), list(self.used)

    def readings(self, node: ast.AST) -> int:
        """How often the gradient is read at most."""
        if isinstance(node, ast.IfExp):
            return max(self.readings(node.body), self.readings(node.orelse))
        if isinstance(node, ast.Name):
            return node.id == self.gradient
        return sum(self.readings(child) for child in ast.iter_child_nodes(node))

    def spare(self, node: ast.expr) -> str:
        """How many references the function holds to a value that nothing else in the formula reads; 0 if something may."""
        if isinstance(node, ast.Name):
            return self.spare_gradient if node.id == self.gradient else "0"
        if isinstance(node, ast.IfExp):
            return "0"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "conj":
            return self.spare(node.args[0])
        return "1"

    def is_number(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            return node.id in self.attributes
        return isinstance(node, ast.UnaryOp) and self.is_number(node.operand)

    def number(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return repr(float(node.value))              # type: ignore[arg-type]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return f"-{self.number(node.operand)}"
        if isinstance(node, ast.Name) and node.id in self.attributes:
            if self.kinds.get(node.id, "float") not in ("float", "number"):
                self.fail(f"{node.id!r} is of kind {self.kinds[node.id]}, which a formula cannot calculate with; write a helper")
            return f"node.attrs[{self.kept(node.id)}].f"
        self.fail(f"not a number: {ast.unparse(node)}")
        return ""

    def kept(self, name: str) -> int:
        """Return the place of a number among those that a node keeps."""
        k = self.attributes[name]
        if k > 2:
            self.fail(f"a node keeps three numbers, so {name!r} must come earlier or be of kind object")
        return k

    def tensor(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return f"reuse_1(OP_NEG, {self.tensor(node.operand)}, {self.spare(node.operand)})"
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            op = _BINARY[type(node.op)]
            if self.is_number(node.right):
                return f"reuse_number({op}, {self.tensor(node.left)}, {self.number(node.right)}, False, {self.spare(node.left)})"
            operand = self.conjugate_operand(node.right)
            if operand:
                left, before = self.tensor(node.left), list(self.used)
                k = self.slot(operand, False)
                self.used = before              # with_operand recovers it by itself
                return f"with_operand({op}, {left}, node, {k}, {self.spare(node.left)})"
            if self.is_number(node.left):
                return f"reuse_number({op}, {self.tensor(node.right)}, {self.number(node.left)}, True, {self.spare(node.right)})"
            return self.with_saved(op, node.left, node.right) or (
                    f"reuse_2({op}, {self.tensor(node.left)}, {self.tensor(node.right)}, {self.spare(node.left)}, "
                    f"{self.spare(node.right)})")
        if isinstance(node, ast.IfExp) and isinstance(node.test, ast.Name) and node.test.id == "real":
            real, self.inline = self.tensor(node.body), True
            rest, self.inline = self.tensor(node.orelse), False
            return f"({real} if {self.gradient}.dtype < EAGER_COMPLEX64 else {rest})"
        if isinstance(node, ast.Call):
            return self.call(node)
        self.fail(f"cannot compile {ast.unparse(node)!r}")
        return ""

    def conjugate_operand(self, node: ast.expr) -> str:
        """The operand y of an expression conj(y): it may have been a Python number, which then stays one."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "conj"):
            return ""
        name = node.args[0]
        return name.id if isinstance(name, ast.Name) and self.kinds.get(name.id) == "operand" else ""

    def saved_name(self, node: ast.expr) -> tuple[str, bool]:
        """The saved value that an expression is, and whether conjugate; else an empty name."""
        conjugate = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "conj"
        name = node.args[0] if conjugate else node      # type: ignore[attr-defined]
        if isinstance(name, ast.Name) and (name.id in self.tensors or re.fullmatch(r"out(_[1-9])?", name.id)) and name.id != self.gradient:
            return name.id, conjugate
        return "", False

    def with_saved(self, op: str, left: ast.expr, right: ast.expr) -> str:
        """Two operands of which one is saved: nothing is made of that but the result."""
        for saved, other, first in ((left, right, True), (right, left, False)):
            name, conjugate = self.saved_name(saved)
            if not name or self.saved_name(other)[0]:
                continue
            compiled, before = self.tensor(other), list(self.used)
            k = self.slot(name, False)
            self.used = before                  # with_saved recovers it by itself
            return f"with_saved({op}, node, {k}, {first}, {conjugate}, {compiled}, {self.spare(other)})"
        return ""

    def name(self, name: str) -> str:
        if name == self.gradient or re.fullmatch(r"grad_[1-9]", name):
            self.gradients_used.add(name)
            return name
        if name in self.tensors or re.fullmatch(r"out(_[1-9])?", name):
            before = list(self.used)
            k = self.slot(name, False)
            if self.inline:
                self.used = before
                return f"saved_operand(node, {k})"
            return f"s{k}"
        self.fail(f"unknown name {name!r} in a formula")
        return ""

    def call(self, node: ast.Call) -> str:
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            self.modules.add(node.func.value.id)
            function = f"{node.func.value.id}_helpers.{node.func.attr}"
            return f"<TensorBase?>{function}({', '.join(self.argument(a) for a in node.args)})"
        if not isinstance(node.func, ast.Name):
            self.fail(f"cannot call {ast.unparse(node.func)!r}")
            return ""
        name = node.func.id
        if name == "conj":
            return f"conj({self.tensor(node.args[0])})"
        if name not in self.by_name:
            self.fail(f"unknown operator {name!r} in a formula")
        called = self.by_name[name]
        n = len(called.tensors)
        if n == 2 and len(node.args) == 2 and called.family == "binary":
            with_saved = self.with_saved(called.constant, node.args[0], node.args[1])
            if with_saved:
                return with_saved
        given = [self.tensor(a) for a in node.args[:n]]
        rest = [self.argument(a) for a in node.args[n:]]
        if not rest:
            if n <= 2:
                return f"reuse_{n}({called.constant}, {', '.join(given)}, {', '.join(self.spare(a) for a in node.args[:n])})"
            return f"call_{n}({called.constant}, {', '.join(given)})"
        if n <= 2 and len(rest) <= 2 and all(p.kind in ("int", "bool") for p in called.public_attributes[:len(rest)]):
            return f"call_ints({called.constant}, {given[0]}, {given[1] if n == 2 else 'None'}, {', '.join([*rest, '0'][:2])})"
        self.fail(f"{name} with these attributes cannot be called from a formula; write a helper")
        return ""

    def argument(self, node: ast.expr) -> str:
        """An argument of a helper or an attribute of an operator."""
        if isinstance(node, ast.Attribute) and node.attr == "meta" and isinstance(node.value, ast.Name):
            return f"shape_of(node, {self.slot(node.value.id, True)})"
        if isinstance(node, ast.Name) and node.id in self.attributes and node.id not in self.tensors:
            k, kind = self.attributes[node.id], self.kinds.get(node.id, "float")
            if kind in ("axes", "ints", "object", "str"):
                return f"object_of(node, {k})"
            self.kept(node.id)
            return {"int": f"node.attrs[{k}].i", "bool": f"node.attrs[{k}].i != 0"}.get(kind, f"node.attrs[{k}].f")
        if isinstance(node, ast.Constant):
            return repr(node.value)
        return self.tensor(node)
