"""Checked by mypy, never run: programs of users type check, and what they get has the types they expect."""
from typing import Any, assert_type

import numpy as np

import eager_core
import python_api as paddle
from python_api.nn import functional as F


class Parameter(paddle.Tensor):
    pass


def operators(x: paddle.Tensor, y: paddle.Tensor, p: Parameter) -> None:
    assert_type(x + 1, paddle.Tensor)
    assert_type(2.0 * x @ y, paddle.Tensor)
    assert_type(x == y, paddle.Tensor)
    assert_type(x[1:, None], paddle.Tensor)
    assert_type(paddle.exp(x), paddle.Tensor)
    assert_type(paddle.add(x, 1.5), paddle.Tensor)
    assert_type(paddle.sum(x, axis=[0, -1], keepdim=True), paddle.Tensor)
    assert_type(paddle.concat([x, y], axis=0), paddle.Tensor)
    assert_type(paddle.where(x > 0, x, 0.0), paddle.Tensor)
    assert_type(x.reshape([2, -1]).transpose([1, 0]).exp().mean(), paddle.Tensor)
    assert_type(x.cast("float64"), paddle.Tensor)
    assert_type(x.astype(np.float32), paddle.Tensor)
    assert_type(p.exp_(), Parameter)                # in place: the object itself
    assert_type(paddle.exp_(p), paddle.Tensor)
    p += 1
    assert_type(p, Parameter)
    x[0] = y[1]
    x[x > 0] = 0.0


def values(x: paddle.Tensor) -> None:
    assert_type(x.shape, list[int])
    assert_type(x.dtype, np.dtype[Any])
    assert_type(x.numpy(), np.ndarray[Any, np.dtype[Any]])
    assert_type(x.grad, paddle.Tensor | None)
    assert_type(x.inplace_version, int)


def gradients(x: paddle.Tensor) -> None:
    with paddle.no_grad():
        x.scale_(0.5)
    loss = F.cross_entropy(x, paddle.zeros([3], dtype="int64"))
    loss.backward()
    handle = x.register_hook(lambda g: g * 2)
    assert_type(handle.remove(), bool)
    paddle.grad([loss], [x], create_graph=True)


def entry_points(x: paddle.Tensor) -> None:
    assert_type(eager_core.eager_api_exp_(x), paddle.Tensor)
    assert_type(eager_core.eager_api_scale(x, "scale", 2.0), paddle.Tensor)
    assert_type(eager_core.eager_api_reshape2(x, None, "shape", [2, 3]), tuple[paddle.Tensor, paddle.Tensor])


def mistakes(x: paddle.Tensor) -> None:
    paddle.exp("x")                                 # type: ignore[arg-type]
    x.sum(axis="0")                                 # type: ignore[arg-type]
    x.exp_(1, 2)                                    # type: ignore[call-arg, arg-type]
    x.no_such_operator()                            # type: ignore[attr-defined]
