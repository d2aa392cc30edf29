"""What `autograd.allow_mutation_on_saved_tensors` costs where nothing that was saved is overwritten: time with it over time without.

    python benchmarks/mutation.py            the works below
    python benchmarks/mutation.py march_200  some of them

Both take turns in one process, and the minimum of the rounds counts. The second table is of memory: what is kept where something is
overwritten.
"""

from __future__ import annotations

import sys
import timeit

import numpy as np
from contenders import HERE, load
from works import WORKS

import python_api as paddle
from eager_core.provenance import preserved

KEYS = ("add_recorded", "getitem_recorded", "setitem", "tanh_", "program_1", "chain_400", "sgd_step", "digits_step", "march_200",
        "march_400")
ROUNDS = 60
LEAST_SECONDS = 0.002
CASES = (("everything, once", np.s_[:], 1), ("everything, ten times", np.s_[:], 10), ("a tenth", np.s_[:10_000], 1),
         ("a tenth, ten times", np.s_[:10_000], 10), ("every other", np.s_[::2], 1))

switch = paddle.autograd.set_allow_mutation_on_saved_tensors


def time_over(key: str) -> tuple[float, float]:
    """Seconds of one run without the mode, and with it."""
    code = next(work for work in WORKS if work.key == key).of(HERE)
    assert code is not None
    timer = timeit.Timer(code.run, code.setup, globals=load(HERE, 1))
    loops = max(1, round(LEAST_SECONDS / min(timer.repeat(5, 1))))
    default = preserving = float("inf")
    try:
        for _ in range(ROUNDS):
            switch(False)
            default = min(default, timer.timeit(loops) / loops)
            switch(True)
            preserving = min(preserving, timer.timeit(loops) / loops)
    finally:
        switch(False)
    return default, preserving


def kept(region: slice, writes: int) -> tuple[int, int]:
    """Bytes that writes destroy of a saved value, and bytes that are kept."""
    with paddle.autograd.allow_mutation_on_saved_tensors():
        x = paddle.ones([100_000], dtype="float64")
        x.stop_gradient = False
        y = x * 1.0
        loss = y.sin().sum() + y.cos().sum()
        before = preserved(y)[0]
        for _ in range(writes):
            y[region].add_(1.0)
        after = preserved(y)[0]
    loss.backward()
    return len(range(100_000)[region]) * 8, after - before


def main() -> None:
    print("| work | default | with the mode | |\n|---|---|---|---|")
    for key in sys.argv[1:] or KEYS:
        default, preserving = time_over(key)
        print(f"| {key} | {default * 1e6:.3f} us | {preserving * 1e6:.3f} us | {100 * (preserving / default - 1):+.1f} % |", flush=True)
    print("\n| of 100,000 doubles, saved by two operators | overwritten | kept |\n|---|---|---|")
    for title, region, writes in CASES:
        destroyed, held = kept(region, writes)
        print(f"| {title} | {destroyed:,} bytes | {held:,} bytes |")


if __name__ == "__main__":
    main()
