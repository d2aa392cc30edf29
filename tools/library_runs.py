"""One call of one library: results, gradients, refusal; and what central differences say of the gradients."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import library_calls
import numpy as np
from library_calls import HOMES, Input, LibraryCall

Arrays = list[np.ndarray[Any, Any]]


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
