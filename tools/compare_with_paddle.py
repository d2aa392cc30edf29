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
from pathlib import Path
from typing import Any

import library_calls
import numpy as np
from library_calls import HOMES, LibraryCall
from library_runs import Outcome, forms_of, found, run, verdict
from paddle_report import PAGE, explanations, judge, page

import python_api

SILENCE = 10                    # seconds after which a call counts as hanging
RTOL = {"float32": 2e-5, "complex64": 2e-5, "float64": 1e-9, "complex128": 1e-9}


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
        batch = list(itertools.takewhile(lambda one, name=name: one[0].name == name,  # type: ignore[misc]
                                         itertools.islice(todo, len(cases), None)))
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
        said = list(lines(source))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        end = said.pop()
        if len(said) < len(batch):
            said.append(end)
        cases += [{"name": call.name, "form": form, "path": path, "call": str(call), "dtypes": [str(i.array.dtype) for i in call.inputs],
                   "state": state, "found": seen} for (call, form, path), (state, seen) in zip(batch, said, strict=False)]
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
