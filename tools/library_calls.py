"""Calls of public operators, free of any library: recorded from the tables of the tests and from the expressions of library_calls.txt.

What a test's lambda calls is found by running it on recording stand-ins for the library and its tensors, so there is no second list.
"""
from __future__ import annotations

import importlib
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import python_api
from eager_core.codegen.table import OPS

HERE = Path(__file__).parent
HOMES = {"": "function", "linalg": "linalg", "nn.functional": "functional"}     # where functions live, and what their form is called


@dataclass(frozen=True)
class Input:
    """Stands for a tensor among the arguments."""

    array: np.ndarray[Any, Any]
    varied: bool = True         # in dtype; indices and conditions keep theirs


@dataclass(frozen=True)
class LibraryCall:
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    source: str
    strided: bool = False       # the tensors are transposed views

    @property
    def inputs(self) -> list[Input]:
        return list(inputs_of((self.args, self.kwargs)))

    def with_arrays(self, arrays: Iterable[np.ndarray[Any, Any]]) -> LibraryCall:
        rest = iter(arrays)
        args, kwargs = replaced((self.args, self.kwargs), lambda i: Input(next(rest), i.varied))
        return LibraryCall(self.name, args, kwargs, self.source, self.strided)

    def __str__(self) -> str:
        shown = [text(a) for a in self.args] + [f"{k}={text(v)}" for k, v in self.kwargs.items()]
        return f"{self.name}({', '.join(shown)})" + " of transposed views" * self.strided


def text(value: Any) -> str:
    if isinstance(value, Input):
        return f"{value.array.dtype}{list(value.array.shape)}"
    return f"[{', '.join(map(text, value))}]" if isinstance(value, list | tuple) else repr(value)


def inputs_of(value: Any) -> Iterator[Input]:
    if isinstance(value, Input):
        yield value
    elif isinstance(value, list | tuple | dict):
        for v in value.values() if isinstance(value, dict) else value:
            yield from inputs_of(v)


def replaced(value: Any, change: Callable[[Input], Any]) -> Any:
    if isinstance(value, Input):
        return change(value)
    if isinstance(value, dict):
        return {k: replaced(v, change) for k, v in value.items()}
    return type(value)(replaced(v, change) for v in value) if type(value) in (list, tuple) else value


# ---- recording ---------------------------------------------------------------------------------------------------------------------------

class Recorder:
    """Stands for the library or one of its modules; notes every call."""

    def __init__(self, module: Any, found: list[LibraryCall], source: str) -> None:
        self.module, self.found, self.source = module, found, source

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.module, name)
        if name in ("linalg", "nn", "functional"):
            return Recorder(value, self.found, self.source)
        return noting(value, name, self, ()) if callable(value) and not isinstance(value, type) else value


class Recorded:
    """Stands for a tensor."""

    def __init__(self, value: Any, recorder: Recorder) -> None:
        self.value, self.recorder = value, recorder

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.value, name)
        return noting(value, name, self.recorder, (self,)) if callable(value) and name != "numpy" else value

    def __getitem__(self, index: Any) -> Recorded:
        return Recorded(self.value[unwrapped(index)], self.recorder)


def forwarded(name: str) -> Callable[[Any, Any], Recorded]:
    return lambda self, other: Recorded(getattr(operator, name)(self.value, unwrapped(other)), self.recorder)


for _name in ("add", "sub", "mul", "truediv", "matmul"):
    setattr(Recorded, f"__{_name}__", forwarded(_name))


def unwrapped(value: Any) -> Any:
    if isinstance(value, Recorded):
        return value.value
    if isinstance(value, dict):
        return {k: unwrapped(v) for k, v in value.items()}
    return type(value)(map(unwrapped, value)) if type(value) in (list, tuple) else value


def marked(value: Any) -> Any:
    """Tensors as inputs; those of integers and truth values keep their dtype."""
    if isinstance(value, Recorded):
        array = value.value.numpy()
        return Input(array, array.dtype.kind in "fc")
    if isinstance(value, dict):
        return {k: marked(v) for k, v in value.items()}
    return type(value)(map(marked, value)) if type(value) in (list, tuple) else value


def wrapped(value: Any, recorder: Recorder) -> Any:
    if isinstance(value, python_api.Tensor):
        return Recorded(value, recorder)
    return type(value)(wrapped(v, recorder) for v in value) if type(value) in (list, tuple) else value


def noting(function: Any, name: str, recorder: Recorder, bound: tuple[Any, ...]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        recorder.found.append(LibraryCall(name.removesuffix("_"), marked(bound + args), marked(kwargs), recorder.source))
        return wrapped(function(*unwrapped(args), **unwrapped(kwargs)), recorder)
    return call


def recorded(source: str, arrays: Iterable[Any], run: Callable[..., Any], names: dict[str, Any]) -> list[LibraryCall]:
    """What run calls, given tensors of the arrays; ``names`` are the globals that it looks the library up in."""
    found: list[LibraryCall] = []
    library = Recorder(python_api, found, source)
    own = {"paddle": library, "linalg": library.linalg, "F": library.nn.functional, "functional": library.nn.functional}
    kept = {k: names[k] for k in own if k in names}
    names.update(own)
    try:
        if getattr(run, "__name__", "<lambda>") != "<lambda>" and getattr(run, "__module__", "") != names.get("__name__"):
            home = library if hasattr(python_api, run.__name__) else library.linalg
            run = getattr(home, run.__name__)
        run(*(Recorded(python_api.to_tensor(a), library) for a in arrays))
    except Exception:
        if not found:               # else it is the call that refuses, and the comparison will show it
            raise
    finally:
        for k in own:
            del names[k]
        names.update(kept)
    return [call for call in found if call.inputs or not call.source.startswith("test")]


# ---- sources -----------------------------------------------------------------------------------------------------------------------------

def of_table(dtype: str) -> Iterator[LibraryCall]:
    """The calls of tests/op_cases.py, with arrays of the dtype from each operator's own domain."""
    import op_cases
    for name, case in op_cases.CASES.items():
        for call in (*case.calls, *(refused for refused, _ in case.refused)):
            arrays = [Input(a, i not in case.fixed) for i, a in enumerate(op_cases.arrays_of(case, call, dtype))]
            yield LibraryCall(name, (arrays,) if case.listed else tuple(arrays), call.attrs, "op_cases")


def of_tests() -> Iterator[LibraryCall]:
    for module in ("test_ops_statistics", "test_ops_manipulation", "test_ops_linalg", "test_ops_elementwise"):
        tests = importlib.import_module(module)
        cases: Any = tests.CASES.items() if isinstance(tests.CASES, dict) else tests.CASES
        for case in cases:
            if hasattr(case, "inputs"):
                for home in ("functional",) if "n" in case.forms else ("paddle",):
                    yield from recorded(module, case.inputs, lambda *x, case=case, home=home, tests=tests:
                                        getattr(getattr(tests, home), case.name)(*x, *case.attributes), vars(tests))
            else:
                run, _, *arrays = case[1]
                if module == "test_ops_linalg":
                    arrays = [tests.draw(shape, seed=3 * k) for k, shape in enumerate(arrays[0])]
                yield from recorded(module, [a for a in arrays if isinstance(a, np.ndarray)], run, vars(tests))


def of_expressions() -> Iterator[LibraryCall]:
    """library_calls.txt: ``name = expression`` defines an array, any other line is a call of the library with what was defined."""
    arrays: dict[str, Any] = {}
    for line in (HERE / "library_calls.txt").read_text().splitlines():
        left, equals, right = line.partition(" = ")
        if not line or line.startswith("#"):
            continue
        if equals and left.isidentifier():
            arrays[left] = eval(right, {"np": np, **arrays})
            continue
        code = compile(line, "library_calls.txt", "eval")
        used = [n for n in code.co_names if n in arrays]
        names: dict[str, Any] = {"__name__": "library_calls", "np": np}
        yield from recorded(line, [arrays[n] for n in used],
                            lambda *x, code=code, used=used, names=names: eval(code, names, dict(zip(used, x, strict=True))), names)


def everything() -> Iterator[LibraryCall]:
    """Every call in every dtype."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    for dtype in ("float32", "float64", "int64", "bool", "complex64", "complex128"):
        yield from of_table(dtype)
    yield from mixed()
    yield from (replace(call, strided=True) for call in of_table("float64") if any(i.array.ndim > 1 for i in call.inputs))
    aliases = {op.name: op.aliases for op in OPS}
    yield from (replace(call, name=alias) for call in of_table("float64") for alias in aliases[call.name])
    for call in (*of_tests(), *of_expressions()):
        yield call
        if any(i.varied for i in call.inputs):
            yield call.with_arrays(i.array.reshape(-1)[0] if i.varied else i.array for i in call.inputs)
            yield call.with_arrays(i.array[:0] if i.varied and i.array.ndim else i.array for i in call.inputs)
            for dtype in ("float32", "int64", "bool", "complex64", "complex128"):
                yield call.with_arrays(converted(i.array, dtype) if i.varied else i.array for i in call.inputs)


def mixed() -> Iterator[LibraryCall]:
    """Two operands of different dtypes, or a tensor and a number."""
    import op_cases
    dtypes = ("float32", "float64", "int64", "int32", "bool", "complex64", "complex128")
    for name, case in op_cases.CASES.items():
        if case.mixed and not case.listed:
            call = next(c for c in case.calls if len(c.shapes) == 2)
            made = {dtype: op_cases.arrays_of(case, call, dtype) for dtype in dtypes}
            for one in dtypes:
                for other in dtypes:
                    yield LibraryCall(name, (Input(made[one][0]), Input(made[other][1])), call.attrs, "mixed")
                for number in (True, 2, 2.5, 1.5 + 1j):
                    yield LibraryCall(name, (Input(made[one][0]), number), call.attrs, "number")


def converted(array: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(array > 0.3)
    if kind == "i":
        return np.asarray(np.rint(2 * np.nan_to_num(array.real))).astype(dtype)
    return array.astype(dtype) + (np.asarray(0.5j * np.cos(3 * array)).astype(dtype) if kind == "c" and array.dtype.kind == "f" else 0)
