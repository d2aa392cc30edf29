"""Three programs as they are usually written, and as the in-place advisor would have them.

    python examples/advised_programs.py    the advice, then gradients and peak memory of both forms

In the second form every line that the advisor names is in place, and nothing else is changed. The names that the first form gives to what
comes in between keep it alive to the end of the step; in the second they all mean the same memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import python_api as paddle
from python_api import profiler

Tensor = Any
Program = Callable[..., None]


# ---- a network: one step of training -----------------------------------------------------------------------------------------

def network(x: Tensor, target: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> None:
    product = paddle.matmul(x, w1)
    shifted = product + b1
    hidden = paddle.tanh(shifted)
    output = paddle.matmul(hidden, w2)
    guess = output + b2
    error = guess - target
    loss = (error * error).mean()
    loss.backward()


def network_in_place(x: Tensor, target: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> None:
    product = paddle.matmul(x, w1)
    shifted = product.add_(b1)
    hidden = shifted.tanh_()
    output = paddle.matmul(hidden, w2)
    guess = output.add_(b2)
    error = guess.subtract_(target)
    loss = (error * error).mean()
    loss.backward()


# ---- heat in a rod, whose conductivity is sought -----------------------------------------------------------------------------

def rod(start: Tensor, conductivity: Tensor, steps: int = 4) -> None:
    u = start
    for _ in range(steps):
        middle = u[1:-1] * -2.0
        right = middle + u[2:]
        bend = right + u[:-2]
        flow = bend * conductivity
        inner = u[1:-1] + flow
        u = paddle.concat([u[:1], inner, u[-1:]])
    energy = (u * u).sum()
    energy.backward()


def rod_in_place(start: Tensor, conductivity: Tensor, steps: int = 4) -> None:
    u = start
    for _ in range(steps):
        middle = u[1:-1] * -2.0
        right = middle.add_(u[2:])
        bend = right.add_(u[:-2])
        flow = bend * conductivity
        inner = flow.add_(u[1:-1])
        u = paddle.concat([u[:1], inner, u[-1:]])
    energy = (u * u).sum()
    energy.backward()


# ---- attention ---------------------------------------------------------------------------------------------------------------

def attention(q: Tensor, k: Tensor, v: Tensor) -> None:
    products = paddle.matmul(q, k, transpose_y=True)
    scores = products * 0.125
    below = scores - scores.detach().max(axis=-1, keepdim=True)
    weights = paddle.exp(below)
    total = weights.sum(axis=-1, keepdim=True)
    mixed = paddle.matmul(weights, v) / total
    loss = mixed.sum()
    loss.backward()


def attention_in_place(q: Tensor, k: Tensor, v: Tensor) -> None:
    products = paddle.matmul(q, k, transpose_y=True)
    scores = products.multiply_(0.125)
    below = scores.subtract_(scores.detach().max(axis=-1, keepdim=True))
    weights = below.exp_()
    total = weights.sum(axis=-1, keepdim=True)
    mixed = paddle.matmul(weights, v) / total
    loss = mixed.sum()
    loss.backward()


def inputs(name: str) -> list[Tensor]:
    """Return what a program works on; gradients are wanted for those that do not stop them."""
    rng = np.random.default_rng(0)

    def some(*shape: int, wanted: bool = True) -> Tensor:
        return paddle.to_tensor(rng.normal(size=shape), stop_gradient=not wanted)

    if name == "network":
        return [some(256, 32, wanted=False), some(256, 8, wanted=False), some(32, 64), some(64), some(64, 8), some(8)]
    if name == "rod":
        return [some(20_000, wanted=False), paddle.to_tensor(np.array(0.1), stop_gradient=False)]
    return [some(128, 64), some(128, 64), some(128, 64)]


PROGRAMS: dict[str, tuple[Program, Program]] = {
    "network": (network, network_in_place),
    "rod": (rod, rod_in_place),
    "attention": (attention, attention_in_place),
}


def advise(name: str) -> profiler.inplace_advisor:
    """Run the usual form, forward and backward, under the advisor."""
    arguments = inputs(name)
    with profiler.inplace_advisor() as advisor:
        PROGRAMS[name][0](*arguments)
    return advisor


def measure(program: Program, name: str) -> tuple[list[np.ndarray], int]:
    """Return the gradients, and the bytes at the peak beyond those of the inputs."""
    arguments = inputs(name)
    with profiler.profile() as prof:
        program(*arguments)
    return [argument.grad.numpy() for argument in arguments if not argument.stop_gradient], prof.peak - prof.in_use_before


def main() -> None:
    for name, (usual, advised) in PROGRAMS.items():
        print(f"== {name}\n{advise(name)}")
        before, peak_before = measure(usual, name)
        after, peak_after = measure(advised, name)
        same = all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
        print(f"gradients {'are identical' if same else 'DIFFER'}; peak {peak_before} bytes as usual, {peak_after} in place\n")


if __name__ == "__main__":
    main()
