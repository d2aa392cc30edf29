"""Calls per second of one and of two threads with operators of several sizes: whether handing the GIL over pays.

    python benchmarks/threads.py

The threshold in ``eager_core/tracer.pxd`` (KEEP_GIL_BELOW) rests on this. To see the two sides, build once with 0 and once with a
number beyond all sizes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

import python_api as paddle

SIZES = (6, 64, 256, 1024, 4096, 16384, 65536)
SECONDS = 0.15


def worker(operator: str, size: int, stop: threading.Event, count: Callable[[int], None]) -> None:
    x, y = paddle.to_tensor(np.random.rand(size)), paddle.to_tensor(np.ones(size))
    call = x.tanh_ if operator == "tanh_" else lambda: x.multiply_(y)
    done = 0
    while not stop.is_set():
        for _ in range(50):
            call()
        done += 50
    count(done)


def rate(threads: int, operator: str, size: int) -> float:
    """Million calls a second, all threads together."""
    stop, done = threading.Event(), []
    team = [threading.Thread(target=worker, args=(operator, size, stop, done.append)) for _ in range(threads)]
    start = time.perf_counter()
    for thread in team:
        thread.start()
    time.sleep(SECONDS)
    stop.set()
    for thread in team:
        thread.join()
    return sum(done) / (time.perf_counter() - start) / 1e6


def main() -> None:
    print("| operator, float64 | one thread | two threads |\n|---|---|---|")
    for operator in ("multiply_", "tanh_"):
        for size in SIZES:
            one, two = (max(rate(n, operator, size) for _ in range(3)) for n in (1, 2))
            print(f"| `{operator}`, {size} elements | {one:.3f} M/s | {two:.3f} M/s |", flush=True)


if __name__ == "__main__":
    main()
