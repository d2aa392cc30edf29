"""Type stubs of what the table makes: functions, entry points, and the methods of Tensor."""
from __future__ import annotations

import ast
import copy

from .composites import Library
from .forms import Form, forms
from .model import Op, Param

ANNOTATIONS = {
    "tensor": "Tensor", "operand": "Operand", "tensors": "Tensors", "optional": "Tensor | None", "float": "Number", "int": "Int",
    "bool": "bool", "str": "str", "ints": "Ints", "axes": "Ints | None", "dtype": "DTypeLike", "number": "Number | None", "object": "Any",
    "ignored": "object",
}
TYPES = ("DTypeLike", "Int", "Ints", "Number", "Operand", "Tensors")


def annotation(p: Param) -> str:
    kind = "str | None" if p.name == "name" and p.kind == "ignored" else ANNOTATIONS[p.kind]
    return f"{kind} | None" if p.default == "None" and not kind.endswith("None") and kind not in ("Any", "object") else kind


def declared(p: Param) -> str:
    return f"{p.name}: {annotation(p)}" + ("" if p.default is None else f" = {p.default}")


def answer(form: Form) -> str:
    """Results of a function or method. A view's second result, XShape, is the entry point's alone."""
    op = form.op
    n = 1 if op.family == "view" else len(op.results)
    return "Tensor" if n == 1 else f"tuple[{', '.join(['Tensor'] * n)}]"


def definition(name: str, params: list[str], returns: str, doc: str, indent: str = "") -> list[str]:
    """One function, wrapped where it is long."""
    head = f"{indent}def {name}({', '.join(params)}) -> {returns}:"
    lines = [head] if len(head) <= 140 else [f"{indent}def {name}(", *(f"{indent}    {p}," for p in params), f"{indent}) -> {returns}:"]
    text = doc.replace("\\", "\\\\").split("\n")
    quotes = [f'{indent}    """{text[0]}', *(f"{indent}    {line}".rstrip() for line in text[1:])]
    return [*lines, *quotes[:-1], quotes[-1] + '"""'] if len(text) == 1 else [*lines, *quotes, f'{indent}    """']


def header(banner: str, body: list[str]) -> list[str]:
    used = [name for name in TYPES if any(name in line for line in body)]
    return [f"# {banner}", "from typing import Any", "", f"from eager_core.argument_types import {', '.join(used)}",
            "from eager_core.eager_api import Tensor", ""]


def exported(names: list[str]) -> list[str]:
    return ["__all__ = [", *(f'    "{name}",' for name in sorted(names)), "]"]


def functions(banner: str, ops: tuple[Op, ...]) -> str:
    """The functional names: ``sum``, ``exp_``, ..."""
    body: list[str] = []
    names = []
    for form in forms(ops):
        names.append(form.name)
        body += ["", *definition(form.name, [declared(p) for p in form.op.params], answer(form), form.doc)]
    return "\n".join([*header(banner, body), *exported(names), *body]) + "\n"


def entry_points(banner: str, ops: tuple[Op, ...]) -> str:
    """The python-c entry points: tensors by position, then names and values of attributes."""
    body: list[str] = []
    names = []
    for form in forms(ops):
        if not form.entry:
            continue
        names.append(f"eager_api_{form.entry}")
        given = zip(form.entry_inputs, form.op.tensors, strict=False)
        inputs = [f"{name}: {annotation(p)}".replace("Operand", "Tensor") for name, p in given]
        n = len(form.op.results)
        returns = "Tensor" if n == 1 else f"tuple[{', '.join(['Tensor'] * n)}]"
        body += ["", *definition(names[-1], [*inputs, *["/"] * bool(inputs), "*attributes: Any"], returns, form.entry_doc)]
    return "\n".join([*header(banner, body), *exported(names), *body]) + "\n"


def methods(ops: tuple[Op, ...], taken: set[str]) -> list[str]:
    """Methods of Tensor, except those that the class has of its own. In place they return the object itself, of its very class."""
    lines: list[str] = []
    for form in forms(ops):
        if not form.method or form.method in taken:
            continue
        params = ["self", *(["/"] if form.bound_arguments.startswith("$self") else []), *(declared(p) for p in form.op.params[1:])]
        returns = "Self" if form.inplace and answer(form) == "Tensor" else answer(form)
        lines += ["", *definition(form.method, params, returns, form.doc, "    ")]
    return lines


def composites(taken: set[str]) -> list[str]:
    """Methods that python_api puts together from others: functions under ``@composite``, whose first argument is the tensor itself."""
    lines: list[str] = []
    for one in Library().composites:
        if not one.method or one.name in taken:
            continue
        node = copy.deepcopy(one.node)
        if node.args.args:
            node.args.args[0].annotation = None
        arguments = ast.unparse(node.args).replace(": Name=", ": str | None = ")
        lines += ["", *definition(node.name, [arguments], ast.unparse(node.returns or ast.Name("Any")),
                                  ast.get_docstring(node) or "", "    ")]
    return lines


def tensor_class(banner: str, template: str, ops: tuple[Op, ...]) -> str:
    """Put the methods where the hand-written part has the line ``# operators``."""
    mark = "    # operators\n"
    before, after = template.split(mark)
    taken = {member.name for node in ast.parse(before + after).body if isinstance(node, ast.ClassDef) and node.name == "Tensor"
             for member in node.body if isinstance(member, ast.FunctionDef)}
    made = {line.split("(")[0].removeprefix("    def ") for line in composites(taken) if line.startswith("    def ")}
    return "\n".join([f"# {banner}", before.rstrip("\n"), *methods(ops, taken | made), *composites(taken)]) + "\n\n" + after


def names_of(banner: str, table: str) -> str:
    """Make the module at run time that a stub describes."""
    return (f'"""The names of doors.{table}. {banner}"""\n'
            f"from eager_core.doors import {table}\n\n__all__ = [*{table}]\nglobals().update({table})\n")
