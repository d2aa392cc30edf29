"""Counts instructions per call of the hottest paths, under valgrind's callgrind: repeatable where seconds are not.

    python benchmarks/instructions.py                     a table in Markdown
    python benchmarks/instructions.py --store FILE        the same, and written as JSON
    python benchmarks/instructions.py --compare FILE      fails if a path is more than 3 % above what was stored
    python benchmarks/instructions.py --profile program_1 functions by their own cost, for one path

Each path runs twice, with two numbers of loops; the difference leaves out start-up and the loop's first rounds. Interpreter and
NumPy count too: what is stored holds for one machine, one Python and one NumPy.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from contenders import HERE
from works import WORKS

# Key of a work and the two numbers of loops; the first covers free lists that fill up and caches of the interpreter.
PATHS = {
    "tanh_": (500, 2500), "multiply_": (500, 2500), "add": (500, 2500), "add_recorded": (500, 2500), "scale_recorded": (500, 2500),
    "getitem": (500, 2500), "setitem": (500, 2500), "sum": (500, 2500), "program_1": (300, 800), "sgd_step": (50, 150), "march_200": (3, 7),
    "matmul_4": (500, 2500), "matmul_4_backward": (300, 800), "inv_4": (500, 2500), "inv_4_backward": (300, 800),
    "solve_4_backward": (300, 800),
}
ALLOWED = 1.03

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
    # Hash seeds change dictionaries, and with them the count.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-instr=no", sys.executable, "-c", program]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if ran.returncode:
        sys.exit(ran.stderr)


def total(out: str) -> int:
    for line in Path(out).read_text().splitlines():
        if line.startswith(("summary:", "totals:")):
            return int(line.split()[1])
    sys.exit(f"{out} has no total")


def functions(out: str, inclusive: bool) -> dict[str, int]:
    """Instructions by function; its callees counted or not."""
    command = ["callgrind_annotate", "--threshold=100", "--auto=no", "--tree=none", f"--inclusive={'yes' if inclusive else 'no'}", out]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    costs: dict[str, int] = {}
    table = table[table.index("file:function") :]
    for cost, name in re.findall(r"^ *([\d,]+) \( *[\d.]+%\)  (.+?)(?: \[.*)?$", table, re.MULTILINE):
        costs[name] = costs.get(name, 0) + int(cost.replace(",", ""))
    return costs


def count(key: str) -> float:
    few, many = PATHS[key]
    with tempfile.TemporaryDirectory() as directory:
        out = str(Path(directory, "out"))
        run(key, few, out)
        start = total(out)
        run(key, many, out)
        return (total(out) - start) / (many - few)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("keys", nargs="*", default=list(PATHS), help="paths; all by default")
    parser.add_argument("--store", metavar="FILE")
    parser.add_argument("--compare", metavar="FILE")
    parser.add_argument("--profile", metavar="KEY", choices=PATHS)
    parser.add_argument("--inclusive", action="store_true", help="a profile that counts callees too")
    parser.add_argument("--rows", type=int, default=40, help="of a profile")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed")
    if arguments.profile:
        return profile(arguments.profile, arguments.rows, arguments.inclusive)

    before: dict[str, float] = json.loads(Path(arguments.compare).read_text()) if arguments.compare else {}
    titles = {work.key: work.title for work in WORKS}
    counts: dict[str, float] = {}
    worse = []
    print("| path | instructions a call |" + (" before | |" if before else "") + "\n|---|---|" + ("---|---|" if before else ""))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for key, n in zip(arguments.keys, pool.map(count, arguments.keys), strict=True):
            counts[key] = round(n, 1)
            cells = f"| {titles[key]} | {n:.0f} |"
            if key in before:
                cells += f" {before[key]:.0f} | {100 * (n / before[key] - 1):+.1f} % |"
                if n > before[key] * ALLOWED:
                    worse.append(key)
            print(cells, flush=True)
    if arguments.store:
        Path(arguments.store).write_text(json.dumps(counts, indent=1) + "\n")
    if worse:
        sys.exit(f"more instructions than before: {', '.join(worse)}")
    return None


if __name__ == "__main__":
    main()
