"""Judges what a comparison found by the explanations in paddle_differences.toml, and writes docs/paddle_differences.md."""
from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "paddle_differences.md"
RIGHT = {"here": "this library", "paddle": "Paddle", "both": "both", "choice": "a choice"}


@dataclass
class Explanation:
    """Which differences it covers (every pattern that is given must fit), and why they are there."""

    reason: str
    right: str                                          # a key of RIGHT: whose result is the true one, if there is a truth
    rule: str = ""                                      # of the semantics
    operators: list[str] = field(default_factory=lambda: ["*"])
    classes: list[str] = field(default_factory=lambda: ["*"])
    forms: list[str] = field(default_factory=lambda: ["*"])
    dtypes: list[str] = field(default_factory=list)     # at least one tensor has one of these
    detail: str = ""                                    # regular expression
    call: str = ""                                      # regular expression
    accidental: bool = False                            # what lies in foreign memory decides: may meet nothing in a run
    met: Counter[str] = field(default_factory=Counter)  # cases by operator
    example: str = ""

    def fits(self, case: dict[str, Any], kind: str, detail: str) -> bool:
        # What differences of values have proved wrong here, no words explain.
        return (not (detail.startswith("right in Paddle") and self.right != "paddle")
                and any(fnmatchcase(case["name"], p) for p in self.operators) and any(fnmatchcase(kind, p) for p in self.classes)
                and any(fnmatchcase(case["form"], p) for p in self.forms)
                and (not self.dtypes or bool(set(self.dtypes) & set(case["dtypes"])))
                and re.search(self.detail, detail) is not None and re.search(self.call, case["call"]) is not None)


def explanations() -> dict[str, Any]:
    read = tomllib.loads((HERE / "paddle_differences.toml").read_text())
    return {**read, "difference": [Explanation(**entry) for entry in read["difference"]]}


def judge(results: dict[str, Any], everything: bool) -> tuple[list[str], dict[str, Any]]:
    """What is wrong, one line each, and the explanations with what they have met. Unused ones are wrong if everything was called."""
    read = explanations()
    wrong = []
    for case in results["cases"]:
        for kind, detail in case["found"]:
            for explanation in read["difference"]:
                if explanation.fits(case, kind, detail):
                    explanation.met[case["name"]] += 1
                    explanation.example = explanation.example or f"{case['call']}: {detail}"
                    break
            else:
                wrong.append(f"{kind}: {case['form']} {case['call']}: {detail}")
    if everything:
        wrong += [f"explains nothing: {e.reason}" for e in read["difference"] if not e.met and not e.accidental]
        left_out = {name for names in read["not_compared"].values() for name in names}
        called = {case["path"] for case in results["cases"]}
        wrong += [f"neither called nor listed as not compared: {name}" for name in results["both"] if name not in called | left_out]
    return wrong, read


def page(results: dict[str, Any], read: dict[str, Any]) -> Iterator[str]:
    cases = [case for case in results["cases"] if case["form"] != "signature"]
    states = Counter("different" if case["found"] else case["state"] for case in cases)
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    yield from (
        "# Differences from PaddlePaddle", "",
        "Written by `tools/compare_with_paddle.py --write`; the reasons are in `tools/paddle_differences.toml`. The calls are those",
        "of the tests and of `tools/library_calls.txt`, each as function, method and in place where both libraries have that form,",
        "in float32, float64, int64, bool, complex64 and complex128, on 0-d, empty, broadcast and transposed tensors. Compared are",
        "values, dtypes, shapes, whether the call is refused, gradients for a random cotangent, and the parameters. Whose gradient",
        "is right is decided by central differences.", "",
        "| | |", "|---|---|",
        f"| versions | {versions} |",
        f"| public names in both | {len(results['both'])} |",
        f"| operators called | {len({case['name'] for case in cases})}, in {len({case['path'] for case in cases})} forms |",
        f"| calls | {len(cases)} |",
        f"| equal | {states['equal']} |",
        f"| refused by both | {states['refused']} |",
        f"| different, explained below | {states['different']} |", "",
        "## Differences", "",
        "\"Right\" names whose result agrees with NumPy, SciPy, the definition, or central differences; \"a choice\": none is wrong.",
        "Rules are those of the semantics this library is specified by.", "",
        "| why | right | rule | what differs | cases | operators | for example |", "|---|---|---|---|---|---|---|")
    for e in read["difference"]:
        names = sorted(e.met, key=lambda name, met=e.met: (-met[name], name))  # type: ignore[misc]
        shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        kinds = ", ".join(e.classes)
        example = e.example.replace("|", "\\|").replace("`", "'")
        yield f"| {e.reason} | {RIGHT[e.right]} | {e.rule} | {kinds} | {sum(e.met.values())} | {shown} | `{example[:150]}` |"
    yield from (
        "", "## Compared in dtype and shape only", "", f"Drawn at random, or not initialised: {', '.join(read['drawn'])}.",
        "", "## Not compared", "", *(f"- {reason}: {', '.join(names)}." for reason, names in read["not_compared"].items()))
