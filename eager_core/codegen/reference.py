"""The reference page of all operators. ``python -m eager_core.codegen.reference`` writes docs/operators.md."""
from __future__ import annotations

from itertools import groupby
from pathlib import Path

from .forms import Form, forms
from .formula import Compiler
from .gen import BANNER, compile_all, saved_of, write
from .model import Op
from .table import OPS

DTYPE_RULES = {
    "same": "that of the input",
    "float": "that of the input; bool and integers become float64",
    "bool": "bool",
    "real": "that of the input; the real one of a complex dtype",
    "logical": "bool",
    "whole": "that of the input",
}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "operators.md"


def saved_text(op: Op, compiler: Compiler) -> str:
    names = [f"the shape of {name}" if meta else name for name, meta, _ in saved_of(op, compiler)]
    return ", ".join(names) or "nothing"


def attributes_text(op: Op) -> str:
    return ", ".join(f"`{p.lowlevel}`" for p in op.public_attributes if p.lowlevel)


def dtype_text(op: Op) -> str:
    if op.family == "cast" and op.public_attributes:
        return "the one asked for"
    if op.family == "reduction" and op.dtypes == "same" and op.kernel in ("add", "multiply"):
        return "that of the input; bool and integers in 64 bits"
    if op.family in ("unary", "rows") and op.dtypes == "float":
        return "that of the input; bool and integers of at most 16 bits become float32, longer ones float64"
    if op.family in ("binary", "ternary", "matmul") or op.takes_list:
        return DTYPE_RULES[op.dtypes].replace("that of the input", "that to which the inputs are promoted")
    return DTYPE_RULES[op.dtypes]


def section(op: Op, given: list[Form], compiler: Compiler) -> list[str]:
    functions = [f"`{form.function}({form.arguments})`" for form in given]
    methods = [f"`x.{form.method}()`" for form in given if form.method]
    entries = [f"`eager_api_{form.entry}`" for form in given if form.entry]
    low = f"{', '.join(entries)}: {', '.join(op.inputs)} → {', '.join(op.results)}" if entries else "that of another operator"
    attributes = attributes_text(op)
    lines = [
        f"### {op.name}", "", op.doc, "",
        f"- Functions: {', '.join(functions)}",
        *([f"- Methods: {', '.join(methods)}"] if methods else []),
        f"- Entry points: {low}" + (f"; attributes {attributes}" if attributes else ""),
        f"- dtype of the result: {dtype_text(op)}",
    ]
    if op.grad is None:
        lines.append("- Gradient: none, the result is a constant")
    else:
        lines.append(f"- Gradient: {op.formula or 'see the table'}")
        if op.grad not in ("view", "native"):
            lines.append(f"- Saved for backward: {saved_text(op, compiler)}")
    return [*lines, ""]


def page() -> str:
    """Return the text: public operators in alphabetical order."""
    compilers, _ = compile_all(OPS)
    lines = [
        "# Operators", "", f"<!-- {BANNER} `make docs` writes this page. -->", "",
        "A trailing underscore means in place: the tensor that comes back is the one that went in. Entry points are functions of",
        "`eager_core`; they take the tensors named here, then attribute names and values: `eager_api_scale(x, \"scale\", 2.0)`.", "",
    ]
    by_name = sorted(forms(OPS), key=lambda form: form.op.name)
    for _, group in groupby(by_name, key=lambda form: form.op.name):
        given = list(group)
        lines += section(given[0].op, given, compilers[given[0].op.name])
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    write(PAGE, page())
