"""The generator: a bad row is refused by name, the output is stable, and what it describes is what exists."""
import ast
import inspect
from dataclasses import replace
from pathlib import Path

import pytest

import eager_core
import python_api
from eager_core.codegen import gen, reference, stubs
from eager_core.codegen.forms import forms
from eager_core.codegen.model import Op
from eager_core.codegen.table import OPS

UNARY = "x: tensor, name: ignored = None"
BY_NAME = {op.name: op for op in OPS}
FORMS = list(forms(OPS))
GENERATED = Path(eager_core.__file__).parent / "_generated"


def row(**changes):
    return Op(**{"name": "wave", "family": "unary", "signature": UNARY, "doc": "A wave.", "kernel": "sin", **changes})


# ---- bad rows ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("changes", "text"), [
    ({"name": "Wave"}, "the name must be in snake case"),
    ({"name": "wave_x!"}, "the name must be in snake case"),
    ({"family": "waves"}, "unknown family 'waves'"),
    ({"dtypes": "any"}, "unknown dtype rule 'any'"),
    ({"commutes": "sometimes"}, "commutes must be one of never, real, always, and is 'sometimes'"),
    ({"commutes": "always"}, "only two operands of one kind can change places"),
    ({"family": "binary", "signature": "x: tensor, y: operand", "commutes": "real"}, "only two operands of one kind can change places"),
    ({"doc": ""}, "a line of documentation is missing"),
    ({"signature": "x: vector"}, "cannot read the parameter 'x: vector'"),
    ({"signature": "x"}, "cannot read the parameter 'x'"),
    ({"signature": "x: tensor, " + ", ".join(f"a{k}: int = 0" for k in range(7))}, "more than 6 attributes"),
    ({"signature": ", ".join(f"{c}: tensor" for c in "abcde")}, "more than 4 tensors"),
    ({"grad": {"y": "grad"}}, "a gradient is given for ['y'], which are no tensor inputs"),
    ({"signature": "n: int", "inplace": True}, "an in-place form needs a tensor to write to"),
])
def test_a_bad_row_is_refused_by_name(changes, text):
    with pytest.raises(ValueError, match="operator table, row") as caught:
        row(**changes)
    assert repr(changes.get("name", "wave")) in str(caught.value)
    assert text in str(caught.value)


@pytest.mark.parametrize(("formula", "text"), [
    ("grad * d", "a node keeps three numbers, so 'd' must come earlier or be of kind object"),
    ("core.clip_grad(grad, x, a, d)", "a node keeps three numbers, so 'd' must come earlier or be of kind object"),
    ("grad * n", "'n' is of kind int, which a formula cannot calculate with; write a helper"),
])
def test_a_number_that_a_node_does_not_keep_is_refused(formula, text):
    """Generated code would read past the end of what is kept, or what was never set."""
    signature = "x: tensor, n: int = 0, a: float = 0.0, b: float = 0.0, d: float = 0.0"
    with pytest.raises(ValueError, match="operator table, row 'wave'") as caught:
        gen.compile_all((*OPS, row(signature=signature, grad={"x": formula})))
    assert text in str(caught.value)


@pytest.mark.parametrize(("formula", "text"), [
    ("grad * wavelet", "unknown name 'wavelet' in a formula"),
    ("wavelet(grad)", "unknown operator 'wavelet' in a formula"),
    ("grad ** 2", "cannot compile 'grad ** 2'"),
    ("grad[0]", "cannot compile 'grad[0]'"),
])
def test_a_bad_formula_is_refused_by_name(formula, text):
    with pytest.raises(ValueError, match="operator table, row 'wave'") as caught:
        gen.compile_all((*OPS, row(grad={"x": formula})))
    assert text in str(caught.value)


def test_two_rows_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two rows have the same name"):
        gen.compile_all((*OPS, OPS[0]))


# ---- the signature ----------------------------------------------------------------------------------------------------------------------


def test_signature_parsing():
    op = row(signature="x: tensor, axis: axes = None @ dim, keep: bool = False, name: ignored = None")
    x, axis, keep, name = op.params
    assert (x.kind, x.default, x.lowlevel) == ("tensor", None, None)
    assert (axis.kind, axis.default, axis.lowlevel) == ("axes", "None", "dim")
    assert (keep.kind, keep.default, keep.lowlevel) == ("bool", "False", "keep")
    assert (name.kind, name.default, name.lowlevel) == ("ignored", "None", None)
    assert op.tensors == (x,)
    assert op.public_attributes == (axis, keep)
    assert op.public_signature == "wave(x, axis=None, keep=False, name=None)"


def test_an_unnamed_entry_point_has_the_name_of_the_row():
    assert row().lowlevel == "wave"
    assert row(lowlevel="wave_v2").lowlevel == "wave_v2"


# ---- saved values -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("formula", "saved"), [
    ("grad", []),
    ("grad * 2.0", []),
    ("grad * x", [("x", False)]),
    ("grad * conj(out)", [("out", False)]),
    ("tanh_grad(out, grad) if real else grad * conj(1.0 - out * out)", [("out", False)]),
    ("grad * cos(x) * out", [("x", False), ("out", False)]),
])
def test_saved_values_follow_from_the_formula(formula, saved):
    op = row(grad={"x": formula})
    compilers, _ = gen.compile_all((*OPS, op))
    assert [(name, meta) for name, meta, _ in gen.saved_of(op, compilers["wave"])] == saved


def test_every_formula_saves_what_it_names_and_no_more():
    compilers, _ = gen.compile_all(OPS)
    for op in OPS:
        if not isinstance(op.grad, dict):
            continue
        names = {p.name for p in op.tensors} | {"out"} | {f"out_{k}" for k in range(1, 10)}
        expected = set()
        for text in op.grad.values():
            tree = ast.parse(text, mode="eval")
            # Of this tree alone: ids of a tree that is gone come back.
            hidden = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            expected |= {(node.value.id, True) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "meta"}
            expected |= {(node.id, False) for node in ast.walk(tree)
                         if isinstance(node, ast.Name) and node.id in names and id(node) not in hidden}
        gradient = compilers[op.name].gradient
        calls = {(name, False) for name in BY_NAME} - {(p.name, False) for p in op.tensors}
        expected -= {(gradient, False)} | calls
        assert {(name, meta) for name, meta, _ in gen.saved_of(op, compilers[op.name])} == expected, op.name


# ---- the output -------------------------------------------------------------------------------------------------------------------------


def test_output_is_stable_and_written_only_when_it_changed(tmp_path):
    target = tmp_path / "core" / "_generated"
    target.parent.mkdir()
    gen.generate(target)
    first = {path: (path.read_text(), path.stat().st_mtime_ns) for path in target.parent.rglob("*.*")}
    assert len(first) >= 10
    gen.generate(target)
    assert {path: (path.read_text(), path.stat().st_mtime_ns) for path in target.parent.rglob("*.*")} == first
    changed = target / "names.py"
    changed.write_text("")
    gen.generate(target)
    assert changed.read_text() == first[changed][0]


def test_the_build_has_the_output_of_this_table(tmp_path):
    target = tmp_path / "core" / "_generated"
    target.parent.mkdir()
    gen.generate(target)
    if not (GENERATED / "op_rows.h").exists():
        pytest.skip("an installed package keeps no generated sources")
    for path in target.iterdir():
        if path.name != "__init__.py":
            assert path.read_text() == (GENERATED / path.name).read_text(), f"{path.name} is of another table; build again"


def test_one_more_row_changes_nothing_of_the_others():
    wave = replace(BY_NAME["sin"], name="wave", lowlevel="")
    before, after = stubs.functions("", OPS).splitlines(), stubs.functions("", (*OPS, wave)).splitlines()
    assert [line for line in after if "wave" not in line][:len(before) // 2] == before[:len(before) // 2]
    assert "def wave_(x: Tensor, name: str | None = None) -> Tensor:" in after


def test_the_reference_page_is_fresh():
    if not reference.PAGE.exists():
        pytest.skip("no docs beside this package")
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page(), "docs/operators.md is of another table; say make docs"


def test_the_reference_page_names_every_operator():
    page = reference.page()
    for form in FORMS:
        own = inspect.isfunction(getattr(python_api, form.function))      # python_api has a function before it, whose arguments are shown
        assert f"`{form.function}({'' if own else form.arguments + ')'}" in page
        assert not form.method or f"`x.{form.method}()`" in page
        assert not form.entry or f"`eager_api_{form.entry}`" in page


# ---- what exists ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_signatures_and_docstrings(form):
    op = form.op
    function = getattr(eager_core, form.function)       # python_api may have one that calls it
    shown = inspect.signature(function).parameters
    assert list(shown) == [p.name for p in op.params]
    assert [p.default is inspect.Parameter.empty for p in shown.values()] == [p.default is None for p in op.params]
    assert function.__doc__.startswith(op.doc)
    assert function.__name__ == form.function
    if form.method:
        method = getattr(python_api.Tensor, form.method)
        assert method.__doc__.strip()
        inspect.signature(method)
    if form.entry:
        entry = getattr(eager_core, f"eager_api_{form.entry}")
        assert [*inspect.signature(entry).parameters] == [*form.entry_inputs, "attributes"]
        assert entry.__doc__.startswith(op.doc)


def definitions(text, within=None):
    body = ast.parse(text).body
    if within is not None:
        body = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == within).body
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def test_stubs_tell_what_exists():
    functions = definitions(stubs.functions("", OPS))
    entries = definitions(stubs.entry_points("", OPS))
    assert set(functions) == set(eager_core.FUNCTIONS)
    assert set(entries) == set(eager_core.ENTRY_POINTS)
    assert set(functions) <= set(python_api.__all__)
    assert set(functions) | set(entries) <= set(eager_core.__all__)
    template = Path(stubs.__file__).with_name("eager_api.pyi.in").read_text(encoding="utf-8")
    methods = definitions(stubs.tensor_class("", template, OPS), "Tensor")
    for name, member in vars(python_api.Tensor).items():
        if callable(member) and not name.startswith("_"):
            assert name in methods, name
    for name, node in functions.items():
        shown = inspect.signature(getattr(eager_core, name)).parameters
        assert [a.arg for a in node.args.args] == list(shown), name
        defaults = [p.default for p in shown.values() if p.default is not inspect.Parameter.empty]
        assert [ast.literal_eval(d) for d in node.args.defaults] == defaults, name
        assert ast.get_docstring(node) == inspect.getdoc(getattr(eager_core, name)), name


def test_packages_are_marked_as_typed():
    for package in (eager_core, python_api):
        assert Path(package.__file__).with_name("py.typed").exists()


def test_every_array_kernel_that_a_row_names_exists():
    """They are looked up when first called: a wrong name must not wait for a user."""
    from eager_core import array_kernels
    from eager_core._generated.names import ARRAY_FUNCTIONS
    assert ARRAY_FUNCTIONS
    for name in ARRAY_FUNCTIONS:
        assert callable(array_kernels.find(name)), name
