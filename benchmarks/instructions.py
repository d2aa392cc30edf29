"""Counts instructions per call of the hottest paths, under valgrind's callgrind: repeatable where seconds are not.

    python benchmarks/instructions.py                       a table in Markdown, of all paths or of those named
    python benchmarks/instructions.py --store [FILE] [KEY]  the same, and written as JSON; of the five hottest paths if none is named
    python benchmarks/instructions.py --compare [FILE]      fails if a path is more than 3 % from what was stored, in either direction
    python benchmarks/instructions.py --profile program_1   functions by their own cost, for one path

Each path runs twice, with two numbers of loops; the difference leaves out start-up and the loop's first rounds. What is compared is
what runs in our own extensions, so that another patch of Python or another NumPy changes nothing; another compiler, Cython or
processor does, and then there is nothing to compare: `--compare` says so and passes, as it does without valgrind. FILE is
`benchmarks/instructions.json` by default. A change that is meant to cost, or that saves, stores anew.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from contenders import HERE
from works import WORKS

# Key of a work and the two numbers of loops; the first covers free lists that fill up and caches of the interpreter.
PATHS = {
    "tanh_": (500, 2500), "multiply_": (500, 2500), "add": (500, 2500), "add_recorded": (500, 2500), "scale_recorded": (500, 2500),
    "getitem": (500, 2500), "setitem": (500, 2500), "sum": (500, 2500), "program_1": (300, 800), "sgd_step": (50, 150), "march_200": (3, 7),
    "matmul_4": (500, 2500), "matmul_4_backward": (300, 800), "inv_4": (500, 2500), "inv_4_backward": (300, 800),
    "solve_4_backward": (300, 800),
}
HOTTEST = ("add_recorded", "getitem", "setitem", "program_1", "march_200")
STORED = Path(__file__).with_name("instructions.json")
ALLOWED = 0.03

PROGRAM = """
import sys
sys.path.insert(0, {here!r})
from contenders import load
from works import WORKS
code = next(work for work in WORKS if work.key == {key!r}).of({contender!r})
names = load({contender!r}, 1)
exec(code.setup, names)
exec("def loop():\\n    for _ in range({loops}):\\n        " + code.run, names)
import gc
gc.disable()
names["loop"]()
"""


def run(key: str, loops: int, out: str) -> None:
    program = PROGRAM.format(here=str(Path(__file__).parent), key=key, contender=HERE, loops=loops)
    # Hash seeds change dictionaries, and with them the count; only the first run would write bytecode.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-instr=no", sys.executable, "-c", program]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if ran.returncode:
        sys.exit(ran.stderr)


class Count(NamedTuple):
    """Instructions, of a run or of one call."""

    ours: float
    all: float


def count_of(lines: Iterable[str]) -> Count:
    """Read callgrind's output. An object's full name stands where it is first used; the line behind `calls=` is the callee's cost."""
    names: dict[str, str] = {}
    ours = every = 0
    in_ours = of_callee = False
    for line in lines:
        if line and line[0] in "0123456789+-*":
            if not of_callee:
                cost = int(line.split()[1])
                every += cost
                ours += cost * in_ours
            of_callee = False
        elif line.startswith(("ob=", "cob=")):
            number, _, name = line.partition("=")[2].strip().partition(" ")
            name = names.setdefault(number, name)
            if line.startswith("ob="):
                in_ours = "/eager_core/" in name
        elif line.startswith("calls="):
            of_callee = True
    return Count(ours, every)


def made_by() -> dict[str, str]:
    """Return what decides how many instructions our extensions run, beside their source."""
    import eager_core.engine

    binary = Path(eager_core.engine.__file__).read_bytes()
    compiler = re.search(rb"GCC: \([^\0]*|[^\0]*clang version[^\0]*", binary)
    flags = re.search(r"^flags\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    try:
        cython = version("Cython")
    except PackageNotFoundError:
        cython = "unknown"
    return {
        "compiler": compiler[0].decode() if compiler else "unknown", "Cython": cython, "machine": platform.machine(),
        "Python": ".".join(map(str, sys.version_info[:2])), "flags": str(sysconfig.get_config_var("CFLAGS")),
        # Valgrind knows no more of a processor than these.
        "features": " ".join(sorted({"avx", "avx2", "fma"} & set(flags[1].split()))) if flags else "unknown",
    }


def functions(out: str, inclusive: bool) -> dict[str, int]:
    """Instructions by function; its callees counted or not."""
    command = ["callgrind_annotate", "--threshold=100", "--auto=no", "--tree=none", f"--inclusive={'yes' if inclusive else 'no'}", out]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    costs: dict[str, int] = {}
    table = table[table.index("file:function") :]
    for cost, name in re.findall(r"^ *([\d,]+) \( *[\d.]+%\)  (.+?)(?: \[.*)?$", table, re.MULTILINE):
        costs[name] = costs.get(name, 0) + int(cost.replace(",", ""))
    return costs


def count(key: str) -> Count:
    few, many = PATHS[key]
    with tempfile.TemporaryDirectory() as directory:
        out = str(Path(directory, "out"))
        run(key, few, out)
        with Path(out).open() as lines:
            start = count_of(lines)
        run(key, many, out)
        with Path(out).open() as lines:
            end = count_of(lines)
    return Count(*((b - a) / (many - few) for a, b in zip(start, end, strict=True)))


def profile(key: str, rows: int, inclusive: bool) -> None:
    few, many = PATHS[key]
    with tempfile.TemporaryDirectory() as directory:
        out = str(Path(directory, "out"))
        run(key, few, out)
        start = functions(out, inclusive)
        run(key, many, out)
        costs = {name: (cost - start.get(name, 0)) / (many - few) for name, cost in functions(out, inclusive).items()}
    for name, cost in sorted(costs.items(), key=lambda item: -item[1])[:rows]:
        print(f"{cost:10.1f}  {name}")


def judge(before: dict[str, float], counts: dict[str, Count]) -> None:
    """End the program if a path has moved."""
    for key, count in counts.items():
        if count.ours > before[key] * (1 + ALLOWED):
            sys.exit(f"{key} runs more instructions than before. If they are worth it: python benchmarks/instructions.py --store")
        if count.ours < before[key] * (1 - ALLOWED):
            sys.exit(f"{key} runs fewer instructions than before. Keep that: python benchmarks/instructions.py --store")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("keys", nargs="*", help="paths; all by default")
    parser.add_argument("--store", metavar="FILE", nargs="?", const=str(STORED))
    parser.add_argument("--compare", metavar="FILE", nargs="?", const=str(STORED))
    parser.add_argument("--profile", metavar="KEY", choices=PATHS)
    parser.add_argument("--inclusive", action="store_true", help="a profile that counts callees too")
    parser.add_argument("--rows", type=int, default=40, help="of a profile")
    arguments = parser.parse_args()
    # `--store add` means a path: a file would have a suffix or a directory.
    for option in ("store", "compare"):
        if getattr(arguments, option) in PATHS:
            arguments.keys.append(getattr(arguments, option))
            setattr(arguments, option, str(STORED))
    unknown = set(arguments.keys) - set(PATHS)
    if unknown:
        parser.error(f"no such path: {', '.join(unknown)}")
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: nothing is counted")
        sys.exit(not arguments.compare)
    if arguments.profile:
        return profile(arguments.profile, arguments.rows, arguments.inclusive)

    before: dict[str, float] = {}
    if arguments.compare:
        stored = json.loads(Path(arguments.compare).read_text())
        before = stored["instructions"]
        pairs = [(name, now, stored["made by"][name]) for name, now in made_by().items()]
        other = [f"{name} is {now}, was {was}" for name, now, was in pairs if now != was and "unknown" not in (now, was)]
        if other:
            print(f"not compared: what was stored holds elsewhere; {'; '.join(other)}")
            return None
    keys = arguments.keys or list(before) or (HOTTEST if arguments.store else PATHS)
    titles = {work.key: work.title for work in WORKS}
    counts: dict[str, Count] = {}
    print("| path | instructions a call | in our extensions |" + (" before | |" if before else ""))
    print("|---|---|---|" + ("---|---|" if before else ""))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for key, n in zip(keys, pool.map(count, keys), strict=True):
            counts[key] = n
            cells = f"| {titles[key]} | {n.all:.0f} | {n.ours:.0f} |"
            if before:
                cells += f" {before[key]:.0f} | {100 * (n.ours / before[key] - 1):+.1f} % |"
            print(cells, flush=True)
    if arguments.store:
        instructions = {key: round(count.ours, 1) for key, count in counts.items()}
        Path(arguments.store).write_text(json.dumps({"made by": made_by(), "instructions": instructions}, indent=1) + "\n")
    if before:
        judge(before, counts)
    return None


if __name__ == "__main__":
    main()
