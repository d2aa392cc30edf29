"""Train a two-layer network on scikit-learn's 1,797 handwritten digits, every update written in place.

    python examples/digits.py             trains, prints held-out accuracy and time per step
    python examples/digits.py --profile   the same under cProfile, with the operators by name

Needs scikit-learn for the digits (they come with it) and, for the progress bar, tqdm.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

import eager_core
import python_api as paddle

F = paddle.nn.functional
Tensor = Any
Digits = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

HIDDEN = 128
BATCH = 32
EPOCHS = 30
RATE = 0.05
MOMENTUM = 0.9
GOAL = 0.96


def load_digits(rng: np.random.Generator) -> Digits:
    """Images scaled to [0, 1] and labels; four fifths to learn from, one fifth held out."""
    try:
        from sklearn.datasets import load_digits as sklearn_digits
    except ImportError:
        sys.exit("The digits come with scikit-learn, which is not installed: pip install scikit-learn")
    digits = sklearn_digits()
    order = rng.permutation(len(digits.target))
    images = (digits.data[order] / 16).astype("float32")
    labels = digits.target[order].astype("int64")
    learn = len(order) * 4 // 5
    return images[:learn], labels[:learn], images[learn:], labels[learn:]


def progress_bar(total: int) -> Any:
    """Return tqdm's bar, or None after saying why there is none."""
    try:
        from tqdm import tqdm
    except ImportError:
        print("no progress bar: tqdm is not installed (pip install tqdm)", file=sys.stderr)
        return None
    return tqdm(total=total, unit="step", mininterval=0.2)


class Network:
    """64 pixels - HIDDEN relu units - 10 digits, trained by stochastic gradient descent with momentum."""

    def __init__(self, rng: np.random.Generator) -> None:
        shapes = [(64, HIDDEN), (HIDDEN,), (HIDDEN, 10), (10,)]
        self.parameters = [self.parameter(rng, shape) for shape in shapes]
        self.velocities = [paddle.zeros(shape, dtype="float32") for shape in shapes]

    @staticmethod
    def parameter(rng: np.random.Generator, shape: tuple[int, ...]) -> Tensor:
        """Zeros for a bias; normal values scaled to keep the variance of relu units for a matrix."""
        value = rng.normal(0, np.sqrt(2 / shape[0]), shape) if len(shape) == 2 else np.zeros(shape)
        return paddle.to_tensor(value.astype("float32"), stop_gradient=False)

    def logits(self, images: Tensor) -> Tensor:
        """Mix functional names, Tensor methods and low-level entry points (`eager_api_*`): they are one library."""
        w1, b1, w2, b2 = self.parameters
        hidden = eager_core.eager_api_matmul_v2(images, w1)
        hidden.add_(b1)  # recorded: the product's own backward does not need its value
        return paddle.matmul(F.relu(hidden), w2).add_(b2)

    def step(self, images: Tensor, labels: Tensor) -> float:
        loss = F.cross_entropy(self.logits(images), labels)
        loss.backward()
        with paddle.no_grad():
            for parameter, velocity in zip(self.parameters, self.velocities, strict=True):
                eager_core.eager_api_scale_(velocity, "scale", MOMENTUM)
                velocity.add_(parameter.grad)
                parameter.subtract_(velocity.scale(RATE))
                parameter.clear_grad()
        return float(loss.item())

    def probabilities(self, images: Tensor) -> np.ndarray:
        """Softmax by hand, in the memory of the logits."""
        with paddle.no_grad():
            p = self.logits(images)
            p.subtract_(p.max(axis=1, keepdim=True))
            eager_core.eager_api_exp_(p)
            p.divide_(p.sum(axis=1, keepdim=True))
        return np.asarray(p.numpy())


def batches(count: int, rng: np.random.Generator) -> Iterable[Tensor]:
    order = rng.permutation(count)
    for start in range(0, count, BATCH):
        yield paddle.to_tensor(order[start : start + BATCH])


def train(digits: Digits, bar: Any, rng: np.random.Generator) -> float:
    """Train on the first part of the digits, print and return the share of the held-out ones that is right."""
    images, labels, held_out_images = map(paddle.to_tensor, digits[:3])
    held_out_labels = digits[3]
    network = Network(rng)

    steps = 0
    seconds = 0.0
    for _ in range(EPOCHS):
        for index in batches(len(digits[1]), rng):
            started = time.perf_counter()
            loss = network.step(paddle.gather(images, index), paddle.gather(labels, index))
            seconds += time.perf_counter() - started
            steps += 1
            if bar is not None:
                bar.update()
        if bar is not None:
            bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
    if bar is not None:
        bar.close()

    probabilities = network.probabilities(held_out_images)
    right = probabilities.argmax(axis=1) == held_out_labels
    print(f"{steps} steps of {BATCH} digits, {seconds / steps * 1e6:.0f} us a step, last loss {loss:.4f}")
    print(f"held out: {right.sum()} of {right.size} right, accuracy {right.mean():.2%}")
    return float(right.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a two-layer network on handwritten digits.")
    parser.add_argument("--profile", action="store_true", help="run under cProfile and print its table")
    profile = parser.parse_args().profile

    rng = np.random.default_rng(0)
    digits = load_digits(rng)
    bar = progress_bar(EPOCHS * -(-len(digits[1]) // BATCH))
    if profile:
        profiler = cProfile.Profile()
        accuracy = profiler.runcall(train, digits, bar, rng)
        print("(times under the profiler, which costs more than a small operator)\n\nOperators and methods of the library")
        stats = pstats.Stats(profiler, stream=sys.stdout).strip_dirs().sort_stats("tottime")
        stats.print_stats("eager_")
        print("Everything")
        stats.print_stats(20)
    else:
        accuracy = train(digits, bar, rng)
    if accuracy < GOAL:
        sys.exit(f"accuracy {accuracy:.2%} is below {GOAL:.0%}")


if __name__ == "__main__":
    main()
