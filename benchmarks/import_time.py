"""Measures what `import python_api` costs beside `import numpy`, each in processes of their own that take turns; the minimum counts.

    python benchmarks/import_time.py [ROUNDS]

Processor time is less disturbed by others on the machine than time on the clock; both are shown. Modules must have been compiled, as
those of an installed package have: the first round does it, unless PYTHONDONTWRITEBYTECODE forbids.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = str(Path(__file__).parents[1])
PROGRAMS = {"NumPy": "import numpy", "NumPy and python_api": "import numpy; import python_api"}


def measure(program: str) -> tuple[float, float]:
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), ROOT]))
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", program], env=environment)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(process.returncode)
    return seconds, used.ru_utime + used.ru_stime


def main() -> None:
    best = dict.fromkeys(PROGRAMS, (1e9, 1e9))
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 20):
        for name, program in PROGRAMS.items():
            best[name] = tuple(map(min, best[name], measure(program)))
    print("| | clock | processor |\n|---|---|---|")
    for name, (clock, processor) in best.items():
        print(f"| {name} | {1e3 * clock:.1f} ms | {1e3 * processor:.1f} ms |")
    (clock, processor), (clock_0, processor_0) = best["NumPy and python_api"], best["NumPy"]
    print(f"| the difference | {1e3 * (clock - clock_0):.1f} ms | {1e3 * (processor - processor_0):.1f} ms |")


if __name__ == "__main__":
    main()
