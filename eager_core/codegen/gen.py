"""Makes ``_generated`` from the operator table. Output is stable and rewritten only where its text changed."""
from __future__ import annotations

from pathlib import Path

from . import stubs
from .forms import Form, forms
from .formula import Compiler
from .model import KINDS, Op, default_number
from .table import OPS

BANNER = "Made from eager_core/codegen/table. Do not edit."
ARRAY_FAMILIES = ("array", "broadcast", "linalg")
UFUNC_FAMILIES = ("unary", "binary", "ternary", "clip", "scale", "gelu", "reduction", "matmul")


def c_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def saved_of(op: Op, compiler: Compiler) -> list[tuple[str, bool, int]]:
    """(name, meta only, uses) of every saved value, in slot order."""
    if isinstance(op.grad, str):
        names = [p.name for p in op.tensors]
        everything = (1 << len(names)) - 1
        uses = {s.split(" for ")[0]: sum(1 << names.index(n) for n in s.split(" for ")[1].split()) for s in op.saves if " for " in s}
        plain = [s.split(" for ")[0] for s in op.saves]
        return [(s.removesuffix(".meta"), s.endswith(".meta"), uses.get(s, everything)) for s in plain]
    return [(name, meta, uses) for (name, meta), uses in zip(compiler.order, compiler.uses, strict=True)]


def source_code(op: Op, name: str, meta: bool) -> int:
    names = [p.name for p in op.tensors]
    number = names.index(name) if name in names else 16 + int(name[4:] or 0)
    return number + (64 if meta else 32 if name in op.copies else 0)


def ufunc_names(ops: tuple[Op, ...]) -> list[str]:
    names = {op.kernel for op in ops if op.family in UFUNC_FAMILIES and ":" not in op.kernel}
    return sorted(names | {"divide"})


def array_names(ops: tuple[Op, ...]) -> list[str]:
    return sorted({op.kernel for op in ops if op.family in ARRAY_FAMILIES})


def kernel_code(op: Op, ufuncs: list[str], arrays: list[str]) -> str:
    if op.kernel.startswith(("own:", "rows:")):
        return f"-1 - EAGER_{op.kernel.split(':')[1]}"
    if op.kernel.startswith("view:"):
        return f"{VIEWS.index(op.kernel[5:])}"
    if op.kernel.startswith("set:"):
        return f"{SETS.index(op.kernel[4:])}"
    if op.family in ARRAY_FAMILIES:
        return str(arrays.index(op.kernel))
    return str(ufuncs.index(op.kernel)) if op.kernel else "0"


VIEWS = ["RESHAPE", "TRANSPOSE", "SQUEEZE", "UNSQUEEZE", "FLATTEN", "SWAP_LAST", "DIAGONAL"]
SETS = ["INDEX", "ALL"]


def rows_header(ops: tuple[Op, ...], compilers: dict[str, Compiler]) -> str:
    ufuncs, arrays = ufunc_names(ops), array_names(ops)
    lines = [f"/* {BANNER} */", '#include "op.h"', '#include "kernels/kernels.h"', ""]
    rows = []
    for number, op in enumerate(ops):
        attributes = list(op.all_attributes)
        tensors = [p.name for p in op.tensors]
        params = []
        for p in op.params:
            slot = tensors.index(p.name) if p.is_tensor else attributes.index(p.name) if p.kind != "ignored" else 0
            low = c_string(p.lowlevel) if p.lowlevel else "NULL"
            params.append(f"{{{c_string(p.name)}, {low}, {KINDS[p.kind]}, {slot}, {int(p.default is None)}, "
                          f"{default_number(p)}}}")
        slots = []
        for k, name in enumerate(op.inputs):
            if k < len(tensors):
                slots.append(k)
            else:
                match = [i for i, p in enumerate(op.params) if p.name.lower() == name.lower()]
                slots.append(-1 - match[0])
        if params:
            lines.append(f"static const eager_param params_{op.name}[] = {{{', '.join(params)}}};")
        lines.append(f"static const char *const inputs_{op.name}[] = {{{', '.join(map(c_string, op.inputs))}}};")
        lines.append(f"static const int8_t input_slots_{op.name}[] = {{{', '.join(map(str, slots))}}};")
        lines.append(f"static const char *const results_{op.name}[] = {{{', '.join(map(c_string, op.results))}}};")
        saved = saved_of(op, compilers[op.name])
        differentiable = 0
        if isinstance(op.grad, dict):
            differentiable = sum(1 << tensors.index(name) for name in op.grad)
        elif op.grad:
            differentiable = (1 << len(tensors)) - 1
        sources = ", ".join(str(source_code(op, name, meta)) for name, meta, _ in saved) or "0"
        uses = ", ".join(f"{u}u" for *_, u in saved) or "0"
        n_tensors = -1 if op.takes_list else len(tensors)
        rows.append(
            f"    {{{number}, {c_string(op.name)}, {c_string(op.lowlevel)}, {c_string(op.node_name)}, FAMILY_{op.family.upper()}, "
            f"{kernel_code(op, ufuncs, arrays)}, RESULT_{op.dtypes.upper()}, {n_tensors}, {len(attributes)}, "
            f"{{{', '.join(map(str, op.defaults)) or '0'}}}, {differentiable}u, {len(saved)}, "
            f"{{{sources}}}, {{{uses}}}, {len(op.inputs)}, inputs_{op.name}, input_slots_{op.name}, {len(op.results)}, results_{op.name}, "
            f"{len(op.params)}, {f'params_{op.name}' if params else 'NULL'}, {c_string(op.public_signature)}, {c_string(op.doc)}, "
            f"COMMUTES_{op.commutes.upper()}, {int(op.spares)}}},")
    lines += ["", "static const eager_op_row eager_op_rows[] = {", *rows, "};", ""]
    return "\n".join(lines)


def ids(ops: tuple[Op, ...]) -> str:
    lines = [f"# {BANNER}", "cdef enum:"]
    lines += [f"    {op.constant} = {k}" for k, op in enumerate(ops)]
    lines += [f"    N_OPS = {len(ops)}"]
    lines += [f"    UFUNC_{name.upper()} = {k}" for k, name in enumerate(ufunc_names(ops))]
    lines += [f"    VIEW_{name} = {k}" for k, name in enumerate(VIEWS)]
    lines += [f"    SET_{name} = {k}" for k, name in enumerate(SETS)]
    return "\n".join(lines) + "\n"


def gradients(ops: tuple[Op, ...], compilers: dict[str, Compiler], compiled: dict[str, list[tuple[int, str, list[int]]]]) -> str:
    modules = sorted({module for compiler in compilers.values() for module in compiler.modules})
    native = sorted({op.grad for op in ops if isinstance(op.grad, str) and op.grad not in ("view", "native")})
    lines = [
        f'"""Backward functions of all operators. {BANNER}"""', "# cython: warn.unused=False",
        "from cpython.object cimport PyObject", "",
        *(f"from eager_core.gradient_helpers import {module} as {module}_helpers" for module in modules),
        "from eager_core._generated.op_ids cimport *", "from eager_core.dtypes cimport EAGER_COMPLEX64",
        "from eager_core.dygraph cimport call_3, call_ints, call_object, reuse_1, reuse_2, reuse_number",
        "from eager_core.engine cimport register_backward", "from eager_core.grad_node cimport OperatorNode",
        f"from eager_core.native_gradients cimport conj, give, gradient_of, object_of, saved_operand, shape_of, with_operand, with_saved, "
        f"{', '.join(native)}",
        "from eager_core.tensor cimport TensorBase", "",
    ]
    for op in ops:
        if not isinstance(op.grad, dict):
            continue
        gradient = compilers[op.name].gradient
        lines += ["", f"cdef int {op.name}_backward(OperatorNode node, PyObject **grads, PyObject **results) except -1:"]
        if len(op.results) == 1 or op.family == "view":
            lines.append(f"    cdef TensorBase {gradient} = <TensorBase>grads[0]")
        else:
            # Of several results only some may have been used: the others' gradients are zero.
            lines += [f"    cdef TensorBase {name} = gradient_of(node, grads, {int(name[5:] or 0)})"
                      for name in sorted(compilers[op.name].gradients_used)]
        slots = sorted({k for _, _, used in compiled[op.name] for k in used if not compilers[op.name].order[k][1]})
        if slots:
            lines.append("    cdef TensorBase " + ", ".join(f"s{k} = None" for k in slots))
        for edge, expression, used in compiled[op.name]:
            lines.append(f"    if node.edge({edge}) is not None:" if edge > 1 else f"    if node.next_{edge} is not None:")
            for k in used:
                if not compilers[op.name].order[k][1]:
                    lines += [f"        if s{k} is None:", f"            s{k} = saved_operand(node, {k})"]
            lines.append(f"        give(results, {edge}, {expression})")
        lines.append("    return 0")
    lines += ["", ""]
    for op in ops:
        if isinstance(op.grad, dict):
            lines.append(f"register_backward({op.constant}, {op.name}_backward)")
        elif op.grad and op.grad not in ("view", "native"):
            lines.append(f"register_backward({op.constant}, {op.grad})")
    return "\n".join(lines) + "\n"


def doors(ops: tuple[Op, ...]) -> str:
    """C trampolines: one function per operator and form, so that profilers and tracebacks see each by its name."""
    lines = [f"/* {BANNER} */", "#define DOOR(door, name, op, inplace) \\",
             "    static PyObject *door##_##name(PyObject *self, PyObject **args, Py_ssize_t n, PyObject *names) \\",
             "    { return eager_##door(op, inplace, self, args, n, names); }", ""]
    tables: dict[str, list[str]] = {"method": [], "function": [], "entry": [], "internal": []}

    def add(door: str, form: Form, name: str, shown: str, doc: str, table: str = "") -> None:
        lines.append(f"DOOR({door}, {name}, {form.number}, {int(form.inplace)})")
        tables[table or door].append(
            f"    {{{c_string(shown)}, (PyCFunction)(void *){door}_{name}, METH_FASTCALL | METH_KEYWORDS, {c_string(doc)}}},")

    for form in forms(ops):
        add("function", form, form.name, form.name, f"{form.name}({form.arguments})\n--\n\n{form.doc}")
        if form.method:
            add("method", form, form.name, form.name, f"{form.name}({form.bound_arguments})\n--\n\n{form.doc}")
        if form.entry:
            shown = f"eager_api_{form.entry}"
            inputs = "".join(f"{name}, " for name in form.entry_inputs)
            add("entry", form, form.entry, shown, f"{shown}({inputs}{'/, ' * bool(inputs)}*attributes)\n--\n\n{form.entry_doc}")
    for number, op in enumerate(ops):
        if (op.family in ARRAY_FAMILIES or op.family == "pick") and not op.public:
            # For gradient helpers and operators put together in Python.
            for inplace in ([False] if op.functional else []) + ([True] if op.inplace else []):
                name = op.name + "_" * inplace
                form = Form(op, number, inplace, name, "", "")
                add("function", form, name, name, f"{name}({form.arguments})\n--\n\n{form.doc}", "internal")
    for door, rows in tables.items():
        lines += ["", f"static PyMethodDef eager_{door}_defs[] = {{", *rows, "    {NULL, NULL, 0, NULL}", "};"]
    return "\n".join(lines) + "\n"


def names_module(ops: tuple[Op, ...]) -> str:
    lines = [f'"""Names in the order of the generated numbers. {BANNER}"""', f"UFUNCS = {ufunc_names(ops)!r}",
             f"ARRAY_FUNCTIONS = {array_names(ops)!r}"]
    return "\n".join(lines) + "\n"


def compile_all(ops: tuple[Op, ...]) -> tuple[dict[str, Compiler], dict[str, list[tuple[int, str, list[int]]]]]:
    by_name = {op.name: op for op in ops}
    if len({name for op in ops for name in (op.name, *op.aliases)}) != sum(1 + len(op.aliases) for op in ops):
        raise ValueError("operator table: two rows have the same name")
    compilers, compiled = {}, {}
    for op in ops:
        compilers[op.name] = compiler = Compiler(op, by_name)
        names = [p.name for p in op.tensors]
        formulas = [(names.index(name), text) for name, text in op.grad.items()] if isinstance(op.grad, dict) else []
        compiled[op.name] = [(edge, *compiler.compile(edge, text, [later for later, _ in formulas[k + 1:]]))
                             for k, (edge, text) in enumerate(formulas)]
        if len(compiler.order) > 4:
            raise ValueError(f"operator table, row {op.name!r}: more than 4 saved values")
    return compilers, compiled


def write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def generate(target: Path) -> None:
    """Write all generated files into ``target``."""
    target.mkdir(parents=True, exist_ok=True)
    compilers, compiled = compile_all(OPS)
    write(target / "__init__.py", f'"""{BANNER}"""\n')
    write(target / "op_rows.h", rows_header(OPS, compilers))
    write(target / "op_ids.pxd", ids(OPS))
    write(target / "gradients.pyx", gradients(OPS, compilers, compiled))
    write(target / "op_doors.h", doors(OPS))
    write(target / "names.py", names_module(OPS))
    write(target / "functions.py", stubs.names_of(BANNER, "FUNCTIONS"))
    write(target / "functions.pyi", stubs.functions(BANNER, OPS))
    write(target / "entry_points.py", stubs.names_of(BANNER, "ENTRY_POINTS"))
    write(target / "entry_points.pyi", stubs.entry_points(BANNER, OPS))
    template = Path(__file__).with_name("eager_api.pyi.in")
    write(target.parent / "eager_api.pyi", stubs.tensor_class(BANNER, template.read_text(encoding="utf-8"), OPS))


if __name__ == "__main__":
    generate(Path(__file__).resolve().parent.parent / "_generated")
