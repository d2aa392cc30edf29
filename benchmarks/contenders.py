"""The libraries compared, each behind the few names that the works use where the libraries differ.

`load(name)` gives the namespace that a work's statements run in. It raises ImportError when the library is not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

HERE = "here"
NAMES = (HERE, "NumPy", "torch", "paddle", "mygrad")


def _here(threads: int) -> dict[str, Any]:
    import python_api as lib

    def tensor(array: np.ndarray, grad: bool = False) -> Any:
        return lib.to_tensor(array, stop_gradient=not grad)

    def forget(t: Any) -> None:
        t.grad = None

    functional = lib.nn.functional
    return {"lib": lib, "tensor": tensor, "forget": forget, "relu": functional.relu, "cross_entropy": functional.cross_entropy}


def _numpy(threads: int) -> dict[str, Any]:
    def tensor(array: np.ndarray, grad: bool = False) -> np.ndarray:
        return array.copy()

    return {"lib": np, "tensor": tensor}


def _torch(threads: int) -> dict[str, Any]:
    import torch

    torch.set_num_threads(threads)

    def tensor(array: np.ndarray, grad: bool = False) -> Any:
        return torch.tensor(array, requires_grad=grad)

    def forget(t: Any) -> None:
        t.grad = None

    functional = torch.nn.functional
    return {"lib": torch, "tensor": tensor, "forget": forget, "relu": functional.relu, "cross_entropy": functional.cross_entropy}


def _paddle(threads: int) -> dict[str, Any]:
    import paddle

    paddle.set_device("cpu")

    def tensor(array: np.ndarray, grad: bool = False) -> Any:
        return paddle.to_tensor(array, stop_gradient=not grad)

    def forget(t: Any) -> None:
        t.clear_gradient(False)

    functional = paddle.nn.functional
    return {"lib": paddle, "tensor": tensor, "forget": forget, "relu": functional.relu, "cross_entropy": functional.cross_entropy}


def _mygrad(threads: int) -> dict[str, Any]:
    import mygrad

    def tensor(array: np.ndarray, grad: bool = False) -> Any:
        return mygrad.tensor(array, constant=not grad)

    return {"lib": mygrad, "tensor": tensor}


_LOADERS: dict[str, Callable[[int], dict[str, Any]]] = {
    HERE: _here, "NumPy": _numpy, "torch": _torch, "paddle": _paddle, "mygrad": _mygrad,
}
MODULES = {HERE: "python_api", "NumPy": "numpy", "torch": "torch", "paddle": "paddle", "mygrad": "mygrad"}
PACKAGES = {HERE: ("eager_core", "python_api"), "torch": ("torch",), "paddle": ("paddle",)}


def load(name: str, threads: int) -> dict[str, Any]:
    names = {"np": np, "random": np.random.default_rng(0), "programs": SimpleNamespace(**_programs()), **_LOADERS[name](threads)}
    names["programs"].names = SimpleNamespace(**names)
    return names


# ---- programs too long for a statement; `p` is the namespace above -----------------------------------------------------------------------


def _programs() -> dict[str, Callable[..., Any]]:
    return {
        "chain": chain, "march_in_place": march_in_place, "march_by_list": march_by_list, "march_numpy": march_numpy, "network": network,
        "sgd_step": sgd_step, "momentum_step": momentum_step,
    }


def chain(x: Any, n: int) -> None:
    """Record n operators one after the other, then go back."""
    y = x
    for _ in range(n):
        y = y * 1.0
    y.sum().backward()


def march_in_place(lib: Any, v: Any, steps: int, **zeros: Any) -> None:
    """Write every time step into one array: exact here and in MyGrad; the large frameworks refuse it."""
    u = lib.zeros([steps + 1, v.shape[0]], **zeros)
    u[0] = v
    for t in range(steps):
        u[t + 1] = u[t] + lib.sin(u[t]) * 0.01
    u[steps].sum().backward()


def march_by_list(lib: Any, v: Any, steps: int) -> None:
    """What the large frameworks have to be told instead."""
    rows = [v]
    for t in range(steps):
        rows.append(rows[t] + lib.sin(rows[t]) * 0.01)
    u = lib.stack(rows)
    u[steps].sum().backward()


def march_numpy(v: np.ndarray, steps: int) -> None:
    """The forward loop alone: NumPy has no gradient."""
    u = np.zeros([steps + 1, v.shape[0]])
    u[0] = v
    for t in range(steps):
        u[t + 1] = u[t] + np.sin(u[t]) * 0.01


def network(tensor: Callable[..., Any], random: np.random.Generator, hidden: int) -> tuple[Any, Any, list[Any], list[Any]]:
    """Return a batch of 32 images, their labels, the parameters of a 64-hidden-10 network and their velocities."""
    shapes = [(64, hidden), (hidden,), (hidden, 10), (10,)]
    values = [random.normal(0, 0.1, shape).astype("float32") for shape in shapes]
    images, labels = random.random((32, 64), dtype="float32"), random.integers(0, 10, 32)
    return (tensor(images), tensor(labels), [tensor(value, True) for value in values], [tensor(np.zeros_like(value)) for value in values])


def _loss(p: Any, images: Any, labels: Any, parameters: list[Any]) -> Any:
    w1, b1, w2, b2 = parameters
    return p.cross_entropy(p.relu(images @ w1 + b1) @ w2 + b2, labels)


def sgd_step(p: Any, images: Any, labels: Any, parameters: list[Any], velocities: list[Any]) -> None:
    _loss(p, images, labels, parameters).backward()
    with p.lib.no_grad():
        for parameter in parameters:
            parameter.subtract_(parameter.grad * 1e-6)
            p.forget(parameter)


def momentum_step(p: Any, images: Any, labels: Any, parameters: list[Any], velocities: list[Any]) -> None:
    _loss(p, images, labels, parameters).backward()
    with p.lib.no_grad():
        for parameter, velocity in zip(parameters, velocities, strict=True):
            velocity.multiply_(p.momentum)
            velocity.add_(parameter.grad)
            parameter.subtract_(velocity * 1e-6)
            p.forget(parameter)
