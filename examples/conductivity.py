"""Find the conductivity of a rod from how heat has spread in it: gradient descent through a simulation that is written in place.

    python examples/conductivity.py             the answer
    python examples/conductivity.py --profile   a table, conductivity.json for https://ui.perfetto.dev, and conductivity.svg

docs/profiling.md looks at it with every tool there is.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import python_api as paddle
from python_api import profiler

Tensor = Any

POINTS = 2_000
STEPS = 50
TRUTH = 0.2
RATE = 0.002


def simulate(start: Tensor, conductivity: Tensor) -> Tensor:
    """All states of the rod, one below the other in one array, which every step writes a row of."""
    states = paddle.zeros([STEPS + 1, POINTS], dtype="float64")
    states[0] = start
    for t in range(STEPS):
        now = states[t]
        flow = (now[2:] - now[1:-1] * 2.0).add_(now[:-2]).multiply_(conductivity)
        states[t + 1] = now
        states[t + 1, 1:-1].add_(flow)
    return states


def fit(start: Tensor, seen: Tensor, rounds: int) -> Tensor:
    """The conductivity whose simulation is nearest to what was seen."""
    conductivity: Tensor = paddle.to_tensor(0.1, dtype="float64", stop_gradient=False)
    for _ in range(rounds):
        with profiler.RecordEvent("forward"):
            error = simulate(start, conductivity) - seen
            loss = (error * error).sum()
        with profiler.RecordEvent("backward"):
            loss.backward()
        with paddle.no_grad():
            conductivity -= RATE * conductivity.grad
            conductivity.clear_gradient(set_to_zero=False)
    return conductivity


def main(profiled: bool) -> None:
    rod = np.zeros(POINTS)
    rod[POINTS // 2 - 5 : POINTS // 2 + 5] = 1.0
    start = paddle.to_tensor(rod)
    seen = simulate(start, paddle.to_tensor(TRUTH, dtype="float64"))
    if profiled:
        with profiler.profile() as prof:
            found = fit(start, seen, 2)
        print(prof.key_averages().table(row_limit=12))
        prof.export_chrome_tracing("conductivity.json")
        prof.export_memory_timeline("conductivity.svg")
        return
    found = fit(start, seen, 30)
    print(f"conductivity {found.item():.4f}, in truth {TRUTH}")


if __name__ == "__main__":
    main("--profile" in sys.argv[1:])
