"""Measures this library beside NumPy, torch, paddle and MyGrad, in one run, and prints a table in Markdown.

    python benchmarks/run.py                    everything
    python benchmarks/run.py --readme           the rows of the README's table
    python benchmarks/run.py --quick            fewer rounds, nothing long
    python benchmarks/run.py tanh_ march        works whose key contains one of the words
    python benchmarks/run.py --python torch=/other/venv/bin/python

Every contender runs in a process of its own; their measurements take turns, round by round, and the minimum counts: whatever else the
machine does then hits all of them alike. pyperf's own runner measures one benchmark after the other, minutes apart, so only its
clock, its metadata and its file format are used here: `--output FILE` is read by `python -m pyperf compare_to`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyperf
from contenders import HERE, MODULES, NAMES, PACKAGES
from works import WORKS, Work

PROGRAMS = Path(__file__).parent
LEAST_LOOPS = 10  # of one measurement, if that takes no longer than a tenth of a second: the others' turns leave cold caches
LEAST_SECONDS = 0.001  # of one measurement: drowns the clock, and on a busy machine often fits between two interruptions
ENVIRONMENT = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Contender:
    """One worker process, started again when it dies."""

    def __init__(self, name: str, python: str, threads: int) -> None:
        self.name = name
        self.python = python
        self.threads = threads
        self.version = ""
        self.loops = 1
        self.values: list[float] = []
        self.start()

    def start(self) -> None:
        environment = {**os.environ, **dict.fromkeys(ENVIRONMENT, str(self.threads))}
        self.process = subprocess.Popen(
            [self.python, str(PROGRAMS / "worker.py"), self.name, str(self.threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
        )
        self.version = self.receive().get("version", "")

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": f"ended with status {self.process.wait()}"}
        return answer

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        try:
            print(json.dumps(request), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            return {"error": "is gone"}
        return self.receive()

    def prepare(self, work: Work) -> bool:
        """Whether the contender can do the work; finds how many loops one measurement takes."""
        self.values = []
        self.loops = 1
        if work.of(self.name) is None:
            return False
        answer = self.ask(prepare=work.key)
        if "error" not in answer:
            answer = self.ask(loops=1)  # the first call sets things up: it says nothing of the others
        while "error" not in answer:
            # Long enough only if it is so twice: one slow measurement must not leave a fast work with a loop or two.
            answer = self.ask(loops=self.loops)
            seconds = answer.get("seconds", 0.0)
            if seconds >= LEAST_SECONDS:
                answer = self.ask(loops=self.loops)
                seconds = answer.get("seconds", 0.0)
                if seconds >= LEAST_SECONDS / 2:
                    if self.loops < LEAST_LOOPS and seconds / self.loops * LEAST_LOOPS < 0.1:
                        self.loops = LEAST_LOOPS
                    return True
            self.loops *= 2 if seconds < LEAST_SECONDS / 20 else max(2, int(LEAST_SECONDS / seconds) + 1)
        return self.failed(work, answer)

    def measure(self, work: Work) -> bool:
        answer = self.ask(loops=self.loops)
        if "error" in answer:
            return self.failed(work, answer)
        self.values.append(answer["seconds"] / self.loops)
        return True

    def failed(self, work: Work, answer: dict[str, Any]) -> bool:
        print(f"{self.name} {work.key}: {answer['error']}", file=sys.stderr)
        self.values = []
        if self.process.poll() is not None:
            self.start()
        return False

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class Row:
    def __init__(self, title: str, values: dict[str, float], unit: str = "second") -> None:
        self.title = title
        self.values = values  # the minimum, by contender
        self.unit = unit

    def cells(self, names: Sequence[str]) -> Iterator[str]:
        here = self.values.get(HERE)
        for name in names:
            value = self.values.get(name)
            if value is None:
                yield "–"
            elif name == HERE or here is None:
                yield show(value, self.unit)
            else:
                yield f"{show(value, self.unit)} (**{ratio(value / here)}**)"


def show(value: float, unit: str) -> str:
    if unit == "ratio":
        return f"{value:.1f}"
    if unit == "byte":
        return f"{value / 1e6:.3g} MB" if value < 1e9 else f"{value / 1e9:.3g} GB"
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= 0.9995 * scale:
            return f"{value / scale:.3g} {name}" if value < 999.5 * scale else f"{value / scale:.0f} {name}"
    return f"{value / 1e-9:.3g} ns"


def ratio(value: float) -> str:
    return f"{value:.2f}×" if value < 1.995 else f"{value:.1f}×" if value < 99.95 else f"{value:.0f}×"


def measure(work: Work, contenders: Sequence[Contender], rounds: int, seconds: float) -> list[Contender]:
    """Rounds in which every contender has a turn; fewer for long works, but three at least."""
    able = [contender for contender in contenders if contender.prepare(work)]
    end = time.perf_counter() + seconds
    done = 0
    while done < rounds and (done < 3 or time.perf_counter() < end):
        able = [contender for contender in able if contender.measure(work)]
        done += 1
    return able


def import_row(contenders: Sequence[Contender], rounds: int) -> Row:
    """Import time beyond NumPy's, in new interpreters."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        for contender in contenders:
            if contender.name in PACKAGES:
                program = f"import time, numpy; t = time.perf_counter(); import {MODULES[contender.name]}; print(time.perf_counter() - t)"
                ran = subprocess.run([contender.python, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
                best[contender.name] = min(best.get(contender.name, 1e9), float(ran.stdout.splitlines()[-1]))
    return Row("`import python_api` beyond `import numpy`", best)


def installed_files(package: str, python: str) -> Iterator[Path]:
    """The files that an installation holds. Beside sources, only what a wheel would take of them (pyproject.toml)."""
    if Path(python).resolve() == Path(sys.executable).resolve() and python == sys.executable:
        spec = importlib.util.find_spec(package)
        origin = spec.origin if spec else None
    else:
        program = f"import importlib.util; print(importlib.util.find_spec({package!r}).origin)"
        origin = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    if not origin:
        return
    root = Path(origin).parent
    for path in root.rglob("*"):
        inside = path.relative_to(root)
        if path.is_dir() or "__pycache__" in inside.parts:
            continue
        if package == "eager_core" and (inside.parts[0] == "codegen" or (inside.parts[0] == "kernels" and path.name != "kernels.h")):
            continue
        if package in PACKAGES[HERE] and path.suffix not in (".so", ".pyd", ".py", ".pyi", ".pxd", ".h", ".typed"):
            continue
        yield path


def size_row(contenders: Sequence[Contender]) -> Row:
    sizes = {}
    for contender in contenders:
        if contender.name in PACKAGES:
            files = [file for package in PACKAGES[contender.name] for file in installed_files(package, contender.python)]
            sizes[contender.name] = float(sum(file.stat().st_size for file in files))
    return Row("installed size", sizes, "byte")


def chosen(arguments: argparse.Namespace) -> list[Work]:
    works = list(WORKS)
    if arguments.words:
        works = [work for work in works if any(word in work.key for word in arguments.words)]
    elif arguments.readme:
        works = [work for work in works if work.readme]
    elif arguments.quick:
        works = [work for work in works if work.group != "long"]
    return works


def arguments_given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("words", nargs="*", help="parts of the keys of the works to do; all by default")
    parser.add_argument("--readme", action="store_true", help="print the rows of the README's table")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, nothing long")
    parser.add_argument("--rounds", type=int, help="turns of every contender (default 100; quick 25)")
    parser.add_argument("--threads", type=int, default=1, help="threads that the libraries may use (default 1)")
    parser.add_argument("--only", help="contenders, separated by commas")
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH", help="interpreter of a contender")
    parser.add_argument("--output", help="write the measurements in pyperf's format")
    return parser.parse_args()


def main() -> None:
    arguments = arguments_given()
    rounds = arguments.rounds or (25 if arguments.quick else 100)
    seconds = 2.0 if arguments.quick else 15.0
    pythons = dict(item.split("=", 1) for item in arguments.python)
    names = arguments.only.split(",") if arguments.only else NAMES
    contenders = [Contender(name, pythons.get(name, sys.executable), arguments.threads) for name in names]
    contenders = [contender for contender in contenders if contender.version]
    if not arguments.only and not any(contender.name == HERE for contender in contenders):
        sys.exit("python_api cannot be imported: build it first (make build)")

    metadata = pyperf.Run([1.0]).get_metadata()
    print(f"{metadata.get('cpu_model_name', metadata.get('platform', ''))}, {arguments.threads} thread(s), Python "
          f"{metadata['python_version'].split()[0]}; " + ", ".join(f"{c.name} {c.version}" for c in contenders) + ".")
    print("Minimum of interleaved rounds; in brackets, how many times as long as here.\n")

    columns = [c.name for c in contenders if c.name != "mygrad" or not arguments.readme]
    rows: list[Row] = []
    benchmarks: list[pyperf.Benchmark] = []
    print(f"| work | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|")

    def add(row: Row) -> None:
        rows.append(row)
        print(f"| {row.title} | {' | '.join(row.cells(columns))} |", flush=True)

    best: dict[str, dict[str, float]] = {}
    for work in chosen(arguments):
        able = measure(work, contenders, rounds, seconds)
        best[work.key] = {contender.name: min(contender.values) for contender in able}
        for contender in able:
            run = pyperf.Run(contender.values, collect_metadata=False, metadata={
                "name": f"{work.key} [{contender.name}]", "loops": contender.loops, "unit": "second", "cpu_model_name":
                metadata.get("cpu_model_name", "?"), f"{contender.name}_version": contender.version})
            benchmarks.append(pyperf.Benchmark([run]))
        add(Row(work.readme if arguments.readme else work.title, best[work.key]))
    if "march_400" in best and "march_4000" in best:
        linear = {name: best["march_4000"][name] / best["march_400"][name] for name in columns
                  if name in best["march_4000"] and name in best["march_400"]}
        print(f"| time of 4000 steps / time of 400 steps | "
              f"{' | '.join(f'{linear[name]:.1f}' if name in linear else '–' for name in columns)} |")
    if not arguments.words:
        add(import_row(contenders, 5 if arguments.quick else 11))
        add(size_row(contenders))
    if arguments.output:
        pyperf.BenchmarkSuite(benchmarks).dump(arguments.output, replace=True)
    for contender in contenders:
        contender.close()


if __name__ == "__main__":
    main()
