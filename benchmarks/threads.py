"""What threads gain and cost: the measurements behind three constants of the tracer, and the tables in docs/threads.md.

    python benchmarks/threads.py gil      two Python threads with operators of several sizes: KEEP_GIL_BELOW
    python benchmarks/threads.py waking   one operator, done by one thread and by two: SPLIT_FROM, WORTH_WAKING
    python benchmarks/threads.py peers    large operators with one and two threads, here, in torch and in paddle

Best of interleaved rounds. What other processes do to the second core shows first where two threads share a piece of work.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

import python_api as paddle
from eager_core import profiling, thread_pool

SECONDS = 0.15
NEVER = sys.maxsize


def worker(operator: str, size: int, stop: threading.Event, count: Callable[[int], None]) -> None:
    x, y = paddle.to_tensor(np.random.rand(size)), paddle.to_tensor(np.ones(size))
    call = x.tanh_ if operator == "tanh_" else lambda: x.multiply_(y)
    done = 0
    while not stop.is_set():
        for _ in range(50):
            call()
        done += 50
    count(done)


def rate(threads: int, operator: str, size: int, keep_below: int) -> float:
    """Million calls a second, all threads together."""
    before = profiling._test_keep_gil_below(keep_below)
    stop, done = threading.Event(), []
    team = [threading.Thread(target=worker, args=(operator, size, stop, done.append)) for _ in range(threads)]
    start = time.perf_counter()
    for thread in team:
        thread.start()
    time.sleep(SECONDS)
    stop.set()
    for thread in team:
        thread.join()
    profiling._test_keep_gil_below(before)
    return sum(done) / (time.perf_counter() - start) / 1e6


def gil() -> None:
    paddle.set_num_threads(1)
    print("| operator, float64 | one thread, GIL kept | released | two threads, GIL kept | released |\n|---|---|---|---|---|")
    ways = [(threads, keep) for threads in (1, 2) for keep in (NEVER, 0)]
    for operator in ("multiply_", "tanh_"):
        for size in (6, 64, 256, 1024, 4096, 16384, 65536):
            best = [0.0] * len(ways)
            for _ in range(10):
                best = [max(b, rate(threads, operator, size, keep)) for b, (threads, keep) in zip(best, ways, strict=True)]
            print(f"| `{operator}`, {size} elements | {' | '.join(f'{b:.3g} M/s' for b in best)} |", flush=True)


def seconds(call: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def operators(x: paddle.Tensor, y: paddle.Tensor) -> dict[str, Callable[[], object]]:
    return {"add_": lambda: x.add_(y), "exp": x.exp, "tanh_": x.tanh_, "sum": x.sum}


def waking() -> None:
    usual = thread_pool._test_set_worth(1)
    ways = [(1, usual), (2, 1), (2, usual)]
    print("| work | one thread | two, always | two, as a rule |\n|---|---|---|---|")
    for name in ("add_", "exp", "tanh_", "sum"):
        for dtype in ("float32", "float64"):
            for size in (65536, 131072, 262144, 524288, 1048576, 4194304):
                x, y = paddle.to_tensor(np.random.rand(size).astype(dtype)), paddle.to_tensor(np.zeros(size, dtype))
                call, best = operators(x, y)[name], [1.0] * len(ways)
                for _ in range(40):
                    for k, (threads, worth) in enumerate(ways):
                        paddle.set_num_threads(threads)
                        thread_pool._test_set_worth(worth)
                        best[k] = min(best[k], seconds(call, max(1, 400_000 // size)))
                print(f"| `{name}`, {size} {dtype} | {' | '.join(f'{b * 1e6:.0f} µs' for b in best)} |", flush=True)
    thread_pool._test_set_worth(usual)


PEER = """
import sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
name, threads = sys.argv[1], int(sys.argv[2])
if name == "here":
    import python_api as lib
elif name == "torch":
    import torch as lib
    lib.set_num_threads(threads)
else:
    import paddle as lib
    lib.set_device("cpu")
make = lib.tensor if name == "torch" else lib.to_tensor
works = {}
for dtype in ("float32", "float64"):
    x, y = make(np.random.rand(1 << 22).astype(dtype)), make(np.zeros(1 << 22, dtype))
    for title, call in (("x + y", lambda x=x, y=y: x + y), ("x.add_(y)", lambda x=x, y=y: x.add_(y)), ("x.exp()", x.exp),
                        ("x.tanh_()", x.tanh_), ("x.sum()", x.sum)):
        works[f"{title}, {dtype}"] = call
print(*works, sep=";", flush=True)
for line in sys.stdin:
    call = works[line.strip()]
    start = time.perf_counter()
    call()
    print(time.perf_counter() - start, flush=True)
"""


def peers(rounds: int) -> None:
    names = ["here", *(name for name in ("torch", "paddle") if importlib.util.find_spec(name))]
    contenders: list[tuple[str, subprocess.Popen[str]]] = []
    for name in names:
        for threads in (1, 2):
            environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "EAGER_NUM_THREADS"), str(threads))}
            contenders.append((f"{name}, {threads}", subprocess.Popen(
                [sys.executable, "-c", PEER, name, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True, env=environment)))
    offers = [ask(process).split(";") for _, process in contenders]
    print(f"| 2^22 elements | {' | '.join(title for title, _ in contenders)} |\n|---{'|---' * len(contenders)}|")
    for work in offers[0]:
        best = [1e9] * len(contenders)
        for _ in range(rounds):
            best = [min(b, float(ask(process, work)) * 1e6) for b, (_, process) in zip(best, contenders, strict=True)]
        print(f"| `{work.replace(', ', '`, ')} | {' | '.join(f'{b:,.0f}' for b in best)} |", flush=True)
    for _, process in contenders:
        process.communicate()


def ask(process: subprocess.Popen[str], work: str = "") -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    if work:
        print(work, file=process.stdin, flush=True)
    return process.stdout.readline().strip()


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("gil", "waking", "peers"))
    parser.add_argument("--rounds", type=int, default=100, help="of peers")
    arguments = parser.parse_args(words)
    if arguments.what == "gil":
        gil()
    elif arguments.what == "waking":
        waking()
    else:
        peers(arguments.rounds)


if __name__ == "__main__":
    main()
