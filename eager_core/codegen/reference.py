"""The reference page of all operators. ``python -m eager_core.codegen.reference`` writes docs/operators.md."""
from __future__ import annotations

from itertools import groupby
from pathlib import Path

from .composites import Composite, Library
from .forms import Form, forms
from .formula import Compiler
from .gen import BANNER, compile_all, saved_of, write
from .left_out import KEYWORDS, METHODS
from .model import Op
from .table import OPS
from .table.builders import FLOAT64, FLOATING, REAL, SUMMED

DTYPE_RULES = {
    "same": "that of the input",
    "float": FLOAT64,
    "bool": "bool",
    "real": REAL,
    "logical": "bool",
    "whole": "that of the input",
}
STATES = {
    "x.detach_()": "Cuts the tensor off from its history; its elements and version stay. Not for views (S8.9).",
    "x.requires_grad_(requires_grad=True)": "Sets whether the tensor wants a gradient; its elements and version stay.",
    "x.set_value(value)": "Overwrites a leaf in any mode, unrecorded; the version moves. On a non-leaf the overwrite is recorded (S11.5).",
    "x[index] = value": "Overwrites a region: 0 for the old elements there, the region's gradient for the value (S8.10).",
}
WITHOUT_BOOL = ("square", "conjugate", "power", "floor_divide", "remainder")       # NumPy's loops
BOOL_AS_INT8 = "; bool becomes int8"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "operators.md"


def saved_text(op: Op, compiler: Compiler) -> str:
    names = [f"the shape of {name}" if meta else name for name, meta, _ in saved_of(op, compiler)]
    return ", ".join(names) or "nothing"


def attributes_text(op: Op) -> str:
    return ", ".join(f"`{p.lowlevel}`" for p in op.public_attributes if p.lowlevel)


def dtype_text(op: Op) -> str:
    return _dtype_text(op) + BOOL_AS_INT8 * (op.kernel in WITHOUT_BOOL)


def _dtype_text(op: Op) -> str:
    if op.result:
        return op.result
    if op.family == "cast" and op.public_attributes:
        return "the one asked for"
    if op.family == "reduction" and op.dtypes == "same" and op.kernel in ("add", "multiply"):
        return SUMMED
    if op.family == "rows" or (op.family in ("unary", "gelu") and op.dtypes == "float"):
        return FLOATING
    if op.family in ("binary", "ternary", "matmul", "broadcast") or op.takes_list:
        return DTYPE_RULES[op.dtypes].replace("that of the input", "that to which the inputs are promoted")
    if op.family in ("array", "linalg") and len(op.tensors) > 1:
        return f"that of {op.tensors[0].name}"
    return DTYPE_RULES[op.dtypes]


def section(op: Op, given: list[Form], compiler: Compiler, made: list[Composite], library: Library) -> list[str]:
    """An operator of the table. Where python_api has a function of its own before it, that one's arguments are shown."""
    before = {one.name: one for one in made if one.name in library.paths(one)}
    beside = [one for one in made if not any(form.function == one.name for form in given) or one.name not in before]
    shown = {form.function: before[form.function].arguments if form.function in before else form.arguments for form in given}
    functions = [f"`{name}({arguments})`" for name, arguments in shown.items()]
    names = dict.fromkeys([*(form.method for form in given), *(one.name for one in made if one.method)])
    methods = [f"`x.{name}()`" for name in names if name]
    doc = next((before[form.function].doc for form in given if form.function in before), op.doc)
    entries = [f"`eager_api_{form.entry}`" for form in given if form.entry]
    low = f"{', '.join(entries)}: {', '.join(op.inputs)} → {', '.join(op.results)}" if entries else "that of another operator"
    attributes = attributes_text(op)
    lines = [
        f"### {op.name}", "", doc, "",
        f"- Functions: {', '.join(functions)}",
        *([f"- Methods: {', '.join(methods)}"] if methods else []),
        *(f"- Besides: `{path}({one.arguments})`: {one.doc}" for one in beside for path in library.paths(one)),
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


def composite_section(given: list[Composite], library: Library, operators: set[str]) -> list[str]:
    """A Python function of other operators, plain and in place."""
    functions = [f"`{path}({one.arguments})`" for one in given for path in library.paths(one)]
    methods = [f"`x.{one.name}()`" if functions else f"`{one.name}({one.arguments})`" for one in given if one.method]
    constant = {one.name for one in library.composites if one.constant}
    parts = sorted({part for one in given for part in library.parts(one, operators)} - constant)
    gradient = "none, the result is a constant" if given[0].constant else "as of its parts, which save what they need"
    return [
        f"### {given[0].name}", "", given[0].doc, "",
        *([f"- Functions: {', '.join(functions)}"] if functions else []),
        *([f"- Methods: {', '.join(methods)}"] if methods else []),
        *([] if given[0].constant else [f"- Composite of {', '.join(f'`{part}`' for part in parts) or 'views, indexing and arithmetic'}"]),
        f"- Gradient: {gradient}", "",
    ]


def alphabetical(library: Library) -> list[str]:
    """All operators: rows of the table, and what is put together from them."""
    compilers, _ = compile_all(OPS)
    rows = {name: list(group) for name, group in groupby(sorted(forms(OPS), key=lambda form: form.op.name), key=lambda form: form.op.name)}
    taken = {form.function: name for name, group in rows.items() for form in group}
    operators = {op.name for op in OPS} | set(taken)
    made: dict[str, list[Composite]] = {}
    for one in library.composites:
        base = one.name.rstrip("_")
        made.setdefault(taken.get(one.name) or taken.get(base) or base, []).append(one)
    sections = {}
    for name in rows | made:
        ones = sorted(made.get(name, []), key=lambda one: one.name)
        sections[name] = section(rows[name][0].op, rows[name], compilers[name], ones, library) if name in rows else \
            composite_section(ones, library, operators)
    return [line for name in sorted(sections) for line in sections[name]]


def listed(functions: dict[str, str]) -> list[str]:
    return [*(f"- `{name}`: {text}" for name, text in functions.items()), ""]


def page() -> str:
    """Return the text: public operators in alphabetical order, what makes tensors, and what is left out."""
    library = Library()
    lines = [
        "# Operators", "", f"<!-- {BANNER} `make docs` writes this page. -->", "",
        "A trailing underscore means in place: the tensor that comes back is the one that went in. Entry points are functions of",
        "`eager_core`; they take the tensors named here, then attribute names and values: `eager_api_scale(x, \"scale\", 2.0)`.",
        "Linear algebra is in `linalg`, too (`inverse` as `linalg.inv`), and activations are in `nn.functional`.",
        "Composites are Python functions of the operators named (besides indexing, arithmetic, and what is too small to name).", "",
        *alphabetical(library),
        "## Making tensors, and asking about them", "",
        *listed({f"{one.name}({one.arguments})": one.doc for one in sorted(library.creation(), key=lambda one: one.name)}),
        "## In place without an operator", "",
        *listed(STATES),
        "## Left out", "",
        "In-place methods of the reference that do not exist here:", "",
        *listed(METHODS),
        "Keywords of the reference that do not exist here:", "",
        *listed(KEYWORDS),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    write(PAGE, page())
