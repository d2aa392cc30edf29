"""Every operator that this library and PaddlePaddle both have, on the same calls: values, dtypes, shapes, gradients, refusals.

    PYTHONPATH=. python tools/compare_with_paddle.py [--write] [--only NAME ...] [--results FILE]

needs an environment with paddlepaddle and the requirements of the tests. The run fails if a difference is not explained in
paddle_differences.toml, if an explanation there explains nothing, or if an operator is neither called nor listed as not compared.
--write makes docs/paddle_differences.md. --results keeps what was found in FILE, or, where it exists, judges that again without a run.
"""
from __future__ import annotations

import argparse
import inspect
import itertools
import json
import os
import select
import signal
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import library_calls
import numpy as np
from library_calls import HOMES, Input, LibraryCall
from paddle_report import PAGE, explanations, judge, page

import python_api

Arrays = list[np.ndarray[Any, Any]]
SILENCE = 5                     # seconds after which a call counts as hanging
RTOL = {"float32": 2e-5, "complex64": 2e-5, "float64": 1e-9, "complex128": 1e-9}


# ---- calling one library -----------------------------------------------------------------------------------------------------------------

@dataclass
class Outcome:
    refusal: str | None = None
    results: Arrays = field(default_factory=list)
    gradients: Arrays | None = None
    gradient_refusal: str | None = None


def forms_of(call: LibraryCall, libraries: tuple[Any, Any]) -> Iterator[tuple[str, str]]:
    """In which forms both libraries have the operator: (form, dotted name)."""
    first = call.args[0] if call.args else None
    for mark, place in (("", ""), ("_", " in place")):
        homes = [(f"{home}.{call.name}{mark}".lstrip("."), form + place) for home, form in HOMES.items()]
        if isinstance(first, Input):
            homes.append((f"Tensor.{call.name}{mark}", "method" + place))
        for path, form in homes:
            if all(callable(found(library, path)) for library in libraries):
                yield form, path


def found(library: Any, path: str) -> Any:
    for name in path.split("."):
        library = getattr(library, name, None)
    return library


def run(library: Any, call: LibraryCall, path: str, graded: bool = True) -> Outcome:
    leaves: list[Any] = []
    seen: list[Any] = []                # the target is cloned: a leaf that requires a gradient cannot be one
    in_place = path.endswith(("_", "increment"))

    def tensor(given: Input) -> Any:
        t = library.to_tensor(np.array(given.array.T, order="C") if call.strided else given.array)
        if given.array.dtype.kind in "fc":
            t.stop_gradient = False
            leaves.append(t)
        t = t.clone() if in_place and len(seen) == (call.name == "where") else t
        seen.append(t)
        return t.transpose(list(range(t.ndim))[::-1]) if call.strided else t

    try:
        args, kwargs = library_calls.replaced((call.args, call.kwargs), tensor)
        out = found(library, path)(*args, **kwargs)
        tensors = list(flat(out, library))
        results = [np.array(t.numpy() if isinstance(t, library.Tensor) else t) for t in tensors]
    except Exception as error:
        return Outcome(f"{type(error).__name__}: {error}")
    outcome = Outcome(None, results)
    if not graded:
        return outcome
    outputs = [(t, s) for t, s in zip(tensors, cotangents(results), strict=True)
               if isinstance(t, library.Tensor) and s.dtype.kind in "fc" and not t.stop_gradient]
    try:
        outcome.gradients = [np.zeros(i.array.shape, i.array.dtype) for i in call.inputs if i.array.dtype.kind in "fc"]
        if outputs and leaves:
            slopes = library.grad([t for t, _ in outputs], leaves, [library.to_tensor(s) for _, s in outputs], allow_unused=True)
            arrays = [None if g is None else g.numpy().T if call.strided else g.numpy() for g in slopes]
            outcome.gradients = [z if g is None else g for z, g in zip(outcome.gradients, arrays, strict=True)]
    except Exception as error:
        outcome.gradients, outcome.gradient_refusal = None, f"{type(error).__name__}: {error}"
    return outcome


def cotangents(results: Arrays) -> Arrays:
    rng = np.random.default_rng(7)
    return [np.asarray(rng.uniform(0.5, 1.5, r.shape) * (np.exp(1j * rng.uniform(0, 6, r.shape)) if r.dtype.kind == "c" else 1)).astype(
        r.dtype) for r in results]


def verdict(library: Any, call: LibraryCall, path: str, both: tuple[Outcome, Outcome]) -> str:
    """Whose gradients are those of central differences, of values on which both agree."""
    double = {"float32": "float64", "complex64": "complex128"}
    arrays = [i.array.astype(double.get(str(i.array.dtype), i.array.dtype)) for i in call.inputs]
    rtol, atol = (1e-5, 1e-7) if all(str(i.array.dtype) not in double for i in call.inputs) else (1e-3, 1e-4)

    def loss(moved: Arrays) -> float:
        results = run(library, call.with_arrays(moved), path, False).results
        return float(sum(np.sum((np.conj(s) * r).real) for s, r in zip(cotangents(results), results, strict=True) if r.dtype.kind in "fc"))

    slopes = []
    for k, a in enumerate(arrays):
        if a.dtype.kind in "fc":
            slope = np.zeros(a.shape, a.dtype)
            for at in np.ndindex(a.shape):
                for unit in (1.0, 1j) if a.dtype.kind == "c" else (1.0,):
                    ends = []
                    for step in (1e-6, -1e-6):
                        moved = [b.copy() for b in arrays]
                        moved[k][at] += step * unit
                        ends.append(loss(moved))
                    slope[at] += unit * (ends[0] - ends[1]) / 2e-6
            slopes.append(slope)
    fits = [all(a.shape == b.shape and np.allclose(a, b, rtol, atol) for a, b in zip(o.gradients or [], slopes, strict=True)) for o in both]
    return {(True, False): "right here", (False, True): "right in Paddle", (True, True): "right in both", (False, False): "neither right"}[
        fits[0], fits[1]]


def flat(value: Any, library: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple) and any(isinstance(v, library.Tensor) for v in value):
        for v in value:
            yield from flat(v, library)
    else:
        yield value


# ---- comparing ---------------------------------------------------------------------------------------------------------------------------

def differences(here: Outcome, there: Outcome, drawn: bool) -> Iterator[tuple[str, str]]:
    """Class and detail of each difference between two outcomes; of what is drawn at random values say nothing."""
    if here.refusal or there.refusal:
        if not there.refusal:
            yield "refused here", short(here.refusal)
        elif not here.refusal:
            yield "refused by Paddle", short(there.refusal)
        return
    if len(here.results) != len(there.results):
        yield "count", f"{len(here.results)} results here, {len(there.results)} there"
        return
    same = True
    for k, (a, b) in enumerate(zip(here.results, there.results, strict=True)):
        which = f"result {k}: " if k else ""
        if a.shape != b.shape:
            yield "shape", f"{which}{list(a.shape)} here, {list(b.shape)} there"
            same = False
            continue
        if a.dtype != b.dtype:
            yield "dtype", f"{which}{a.dtype} here, {b.dtype} there"
        if not drawn and not close(a, b):
            yield "value", f"{which}{brief(a)} here, {brief(b)} there{distance(a, b)}"
            same = False
    if not same or drawn:
        return
    if (here.gradients is None) != (there.gradients is None):
        refusal = here.gradient_refusal or there.gradient_refusal
        yield f"gradient refused {'here' if here.gradients is None else 'by Paddle'}", short(refusal)
    for k, (a, b) in enumerate(zip(here.gradients or [], there.gradients or [], strict=False)):
        which = f"of tensor {k}: "
        if a.shape != b.shape or a.dtype != b.dtype:
            yield "gradient's dtype", f"{which}{a.dtype}{list(a.shape)} here, {b.dtype}{list(b.shape)} there"
        elif not close(a, b):
            yield "gradient", f"{which}{brief(a)} here, {brief(b)} there{distance(a, b)}"


def close(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    rtol = max(RTOL.get(str(a.dtype), 0), RTOL.get(str(b.dtype), 0))
    if a.dtype.kind == b.dtype.kind == "b" or not rtol:
        return bool(np.array_equal(a, b))
    with np.errstate(all="ignore"):
        return bool(np.allclose(a, b, rtol=rtol, atol=rtol, equal_nan=True))


def distance(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> str:
    if a.dtype.kind not in "fc" or b.dtype.kind not in "fc":
        return ""
    with np.errstate(all="ignore"):
        return f", off by {np.nanmax(np.abs(a - b) / np.maximum(np.abs(a), 1), initial=0):.0e}"


def short(message: str | None) -> str:
    lines = [line for line in (message or "").replace("----------------------", "").splitlines() if line.strip()]
    telling = [line for line in lines if "Error: (" in line or line.startswith("(")]
    head = lines[0].split(":")[0] if lines else ""
    return (f"{head}: {telling[0]}" if telling and not lines[0].startswith(telling[0]) else " ".join(lines))[:160]


def brief(a: np.ndarray[Any, Any]) -> str:
    return np.array2string(a, precision=5, threshold=6, edgeitems=2, separator=",").replace("\n", "").replace(" ", "")[:80]


# ---- running all, in processes that may die ----------------------------------------------------------------------------------------------

def compared(libraries: tuple[Any, Any], call: LibraryCall, path: str, drawn: bool) -> list[Any]:
    """Return how the call ended here, and each difference as class and detail."""
    here, there = (run(library, call, path) for library in libraries)
    seen = list(differences(here, there, drawn))
    if any(kind == "gradient" for kind, _ in seen):
        judged = verdict(libraries[0], call, path, (here, there))
        seen = [(kind, f"{judged}: {detail}" if kind == "gradient" else detail) for kind, detail in seen]
    return ["refused" if here.refusal else "equal", seen]


def signatures(libraries: tuple[Any, Any], path: str) -> Iterator[tuple[str, str]]:
    """How the parameters that can be given by position differ; what only Paddle has behind ours is no difference."""
    try:
        here, there = (list(inspect.signature(found(library, path)).parameters.values()) for library in libraries)
    except (TypeError, ValueError):
        return
    if any(p.kind == p.VAR_POSITIONAL for p in (*here, *there)):
        return
    for k, (a, b) in enumerate(zip(here, there, strict=False)):
        if b.kind == b.KEYWORD_ONLY or a.kind == a.KEYWORD_ONLY:
            return
        if a.name != b.name and a.name not in ("self", "$self"):
            yield "signature", f"parameter {k} is {a.name} here, {b.name} there"
        elif a.default != b.default and str(a.default) != str(b.default):
            yield "signature", f"{a.name} is {text(a)} here, {text(b)} there"


def text(p: inspect.Parameter) -> str:
    return "required" if p.default is p.empty else repr(p.default)


def collect(libraries: tuple[Any, Any], only: list[str]) -> dict[str, Any]:
    """Run all calls in forks of this process; behind each call that ends one, the next fork goes on."""
    drawn = explanations()["drawn"]
    todo = [(call, form, path) for call in library_calls.everything() if not only or call.name in only
            for form, path in forms_of(call, libraries)]
    cases: list[dict[str, Any]] = []
    while len(cases) < len(todo):
        # One operator at a time: whatever it does to foreign memory is forgotten with its process.
        name = todo[len(cases)][0].name
        batch = list(itertools.takewhile(lambda one, name=name: one[0].name == name, todo[len(cases):]))  # type: ignore[misc]
        source, sink = os.pipe()
        child = os.fork()
        if not child:
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            with os.fdopen(sink, "w") as out:
                for call, _, path in batch:
                    print(json.dumps(compared(libraries, call, path, call.name in drawn)), file=out, flush=True)
            os._exit(0)
        os.close(sink)
        found = list(lines(source))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        ended, found = [f for f in found if f[0] in ("crash", "hang")], [f for f in found if f[0] not in ("crash", "hang")]
        if len(found) < len(batch):
            found.append(ended[0])
        cases += [{"name": call.name, "form": form, "path": path, "call": str(call), "dtypes": [str(i.array.dtype) for i in call.inputs],
                   "state": state, "found": seen} for (call, form, path), (state, seen) in zip(batch, found, strict=False)]
    names = sorted(path for home in (*HOMES, "Tensor") for path in public(libraries, home))
    cases += [{"name": path.split(".")[-1], "form": "signature", "path": "", "call": path, "dtypes": [], "state": "equal",
               "found": list(signatures(libraries, path))} for path in names if not only or path.split(".")[-1] in only]
    return {"cases": cases, "both": names, "versions": {
        "PaddlePaddle": libraries[1].__version__, "this library": libraries[0].__version__, "NumPy": np.__version__}}


def lines(source: int) -> Iterator[list[Any]]:
    """What a fork says, one list a line; when it ends or falls silent, that is the last."""
    rest = b""
    while True:
        if not select.select([source], [], [], SILENCE)[0]:
            yield ["hang", [["hang", f"no answer within {SILENCE} s"]]]
            break
        data = os.read(source, 65536)
        if not data:
            yield ["crash", [["crash", "the process ended"]]]
            break
        *whole, rest = (rest + data).split(b"\n")
        yield from map(json.loads, whole)
    os.close(source)


def public(libraries: tuple[Any, Any], home: str) -> Iterator[str]:
    """Callable names of a module that both libraries have."""
    here, there = (found(library, home) if home else library for library in libraries)
    listed = getattr(here, "__all__", None) or dir(here)
    for name in listed:
        if not name.startswith("__") and callable(getattr(here, name)) and callable(getattr(there, name, None)):
            yield f"{home}.{name}".lstrip(".")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write docs/paddle_differences.md")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="operators to call")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep what was found; judge an existing FILE again without a run")
    given = parser.parse_args()
    if given.results and given.results.exists():
        results = json.loads(given.results.read_text())
    else:
        warnings.simplefilter("ignore")
        import paddle
        results = collect((python_api, paddle), given.only)
        if given.results:
            given.results.write_text(json.dumps(results))
    wrong, read = judge(results, not given.only)
    print(*wrong, sep="\n", end="\n" * bool(wrong))
    cases = results["cases"]
    print(f"{len(cases)} cases, {sum(bool(case['found']) for case in cases)} with differences, {len(wrong)} unexplained")
    if given.write and not wrong and not given.only:
        PAGE.write_text("\n".join(page(results, read)) + "\n")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
