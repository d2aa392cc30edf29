"""Measures the memory of training steps and of long graphs, here and in torch, each in a process of its own. Linux.

    python benchmarks/memory.py                                  a table in Markdown
    python benchmarks/memory.py --python torch=/other/bin/python

- allocated: the peak of bytes in use during one step above those before it, as the library's own profiler counts its allocations
- resident: how far the process grows in three steps, the first ones of that size (VmHWM, reset before)
- growth: how far it grows in 10,000 steps more, after 1,000
- chain: n recorded operators one after the other and backward; the peak it grows by, and processor time against that of a tenth. Python's
  garbage collector looks at all that is alive again and again, which forward pays for
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from contenders import HERE, load, sgd_step

NETWORKS = {"64-64-10, batch 32": (64, 64, 32), "1024-1024-10, batch 256": (1024, 1024, 256)}
CONTENDERS = (HERE, "torch")


def network(names: dict[str, Any], inputs: int, hidden: int, batch: int) -> Callable[[], None]:
    """Return a function that makes a step with SGD."""
    random, tensor = np.random.default_rng(0), names["tensor"]
    shapes = [(inputs, hidden), (hidden,), (hidden, 10), (10,)]
    parameters = [tensor(random.normal(0, 0.1, shape).astype("float32"), True) for shape in shapes]
    images, labels = tensor(random.random((batch, inputs), dtype="float32")), tensor(random.integers(0, 10, batch))
    return lambda: sgd_step(names["programs"].names, images, labels, parameters, [])


# ---- meters ----------------------------------------------------------------------------------------------------------------------------


def status(what: str) -> int:
    """Return a line of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what + ":"):
            return 1024 * int(line.split()[1])
    raise LookupError(what)


def resident_growth(run: Callable[[], Any]) -> int:
    gc.collect()
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark becomes what there is now
    run()
    return max(status("VmHWM") - before, 0)


def allocated_here(run: Callable[[], None]) -> int:
    from python_api.profiler import profile

    with profile() as prof:
        run()
    return prof.peak - prof.in_use_before


def allocated_torch(run: Callable[[], None]) -> int:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
        run()
    changes = [(event.start_ns(), event.nbytes()) for event in prof.profiler.kineto_results.events() if event.name() == "[memory]"]
    in_use = peak = 0
    for _, nbytes in sorted(changes, key=lambda change: change[0]):
        in_use += nbytes
        peak = max(peak, in_use)
    return peak


# ---- what is measured ------------------------------------------------------------------------------------------------------------------


def steps(name: str, title: str) -> dict[str, float]:
    names = load(name, 1)
    small = network(names, 8, 8, 8)
    for _ in range(3):
        small()  # what is set up once is not the step's
    step = network(names, *NETWORKS[title])
    resident = resident_growth(lambda: [step() for _ in range(3)])
    allocated = {HERE: allocated_here, "torch": allocated_torch}[name]
    allocated(step)
    return {"resident": resident, "allocated": allocated(step)}


def growth(name: str) -> dict[str, float]:
    step = network(load(name, 1), *NETWORKS["64-64-10, batch 32"])
    for _ in range(1000):
        step()
    gc.collect()
    before = status("VmRSS")
    for _ in range(10_000):
        step()
    gc.collect()
    return {"growth": status("VmRSS") - before}


def chain(name: str, n: int) -> dict[str, float]:
    names = load(name, 1)
    a = names["tensor"](np.ones((2, 3), "float32"), True)

    def run(n: int) -> tuple[float, float]:
        """Return the processor's seconds for recording and for going back."""
        start = time.process_time()
        y = a
        for _ in range(n):
            y = y * 1.0
        middle = time.process_time()
        y.sum().backward()
        del y
        names["forget"](a)
        return middle - start, time.process_time() - middle

    short = [run(n // 10) for _ in range(5)]
    resident = resident_growth(lambda: run(n))
    long = [run(n) for _ in range(2)]
    forward, backward = (min(times) for times in zip(*long, strict=True))
    forward_short, backward_short = (min(times) for times in zip(*short, strict=True))
    return {"resident": resident, "forward": forward, "backward": backward, "forward ratio": forward / forward_short,
            "backward ratio": backward / backward_short}


def measure(python: str, *what: str) -> dict[str, float]:
    """In a process of its own."""
    environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
    ran = subprocess.run([python, __file__, "--measure", json.dumps(what)], check=False, capture_output=True, text=True, env=environment)
    if ran.returncode:
        sys.exit(ran.stderr)
    answer: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return answer


def mib(nbytes: float) -> str:
    return f"{nbytes / 2**20:.2f} MiB" if nbytes >= 2**19 else f"{nbytes / 1024:.1f} KiB"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH", help="interpreter of a contender")
    parser.add_argument("--steps", type=int, default=1_000_000, help="length of the chain")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        function, name, *rest = json.loads(arguments.measure)
        print(json.dumps({"steps": steps, "growth": growth, "chain": lambda name, n: chain(name, int(n))}[function](name, *rest)))
        return
    pythons = {**dict.fromkeys(CONTENDERS, sys.executable), **dict(one.split("=", 1) for one in arguments.python)}
    print("| | " + " | ".join(CONTENDERS) + " |\n|---|---|---|")
    for title in NETWORKS:
        found = [measure(pythons[name], "steps", name, title) for name in CONTENDERS]
        print(f"| {title}: allocated | " + " | ".join(mib(one["allocated"]) for one in found) + " |")
        print(f"| {title}: resident | " + " | ".join(mib(one["resident"]) for one in found) + " |", flush=True)
    found = [measure(pythons[name], "growth", name) for name in CONTENDERS]
    print("| 10,000 steps more: growth | " + " | ".join(mib(one["growth"]) for one in found) + " |")
    found = [measure(pythons[name], "chain", name, str(arguments.steps)) for name in CONTENDERS]
    print(f"| chain of {arguments.steps:,}: resident | " + " | ".join(mib(one["resident"]) for one in found) + " |")
    for part in ("forward", "backward"):
        cells = " | ".join(f"{one[part]:.2f} s, {one[part + ' ratio']:.1f}× a tenth of it" for one in found)
        print(f"| chain of {arguments.steps:,}: {part} | {cells} |")


if __name__ == "__main__":
    main()
