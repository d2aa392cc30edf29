"""The three programs that say what in-place operations promise; each is shown, run and checked.

1. An in-place operation on a value that backward does not need otherwise: the very same object comes back, its version has
   moved by one, and the gradient is that of the program without the in-place operation.
2. An in-place operation on a leaf that wants a gradient is refused, and nothing has changed.
3. A value that backward needs has been overwritten: backward says so instead of giving a wrong gradient.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np

import python_api as paddle
from python_api import _test_eager_guard

VALUES = np.array([[-0.5, 0.25, 0.0], [0.75, -1.0, 0.5]], dtype="float32")

LEAF_ERROR = "(InvalidArgument) Leaf Var () that doesn't stop gradient can't use inplace strategy."
VERSION_ERROR = (
    "(PermissionDenied) Tensor '' used in gradient computation has been modified by an inplace operation. "
    "Its version is 1 but the expected version is 0. Please fix your code to void calling an inplace operator "
    "after using the Tensor which will used in gradient computation."
)


def same_object_and_exact_gradient() -> None:
    with _test_eager_guard():
        a = paddle.to_tensor(VALUES)
        a.stop_gradient = False
        b = a * 2
        c = b**2
        d = c.exp_()
        d.sum().backward()

        functional = paddle.to_tensor(VALUES)
        functional.stop_gradient = False
        ((functional * 2) ** 2).exp().sum().backward()

    print(f"c.inplace_version == {c.inplace_version}, id(c) == id(d): {id(c) == id(d)}")
    assert a.grad is not None
    assert functional.grad is not None
    print(f"a.grad = {a.grad.numpy().tolist()}")
    assert c.inplace_version == 1
    assert id(c) == id(d)
    np.testing.assert_array_equal(a.grad.numpy(), functional.grad.numpy())
    np.testing.assert_allclose(a.grad.numpy(), 8 * VALUES * np.exp(4 * VALUES**2), rtol=1e-5)


def leaf_is_refused() -> None:
    with _test_eager_guard():
        a = paddle.to_tensor(VALUES)
        a.stop_gradient = False
        try:
            a.reshape_([-1])
        except ValueError as error:
            message = str(error)
        else:
            raise AssertionError("an in-place operation on a leaf was not refused")

    print(f"ValueError: {message}")
    assert message.startswith(LEAF_ERROR)
    assert list(a.shape) == [2, 3]
    assert a.inplace_version == 0
    assert a.is_leaf
    assert not a.stop_gradient
    np.testing.assert_array_equal(a.numpy(), VALUES)


def overwritten_value_is_noticed() -> None:
    with _test_eager_guard():
        a = paddle.to_tensor(VALUES)
        a.stop_gradient = False
        b = a * 2
        c = b**2
        b.exp_()
        try:
            c.sum().backward()
        except RuntimeError as error:
            message = str(error)
        else:
            raise AssertionError("a gradient came out of an overwritten value")

    print(f"RuntimeError: {message}")
    assert message.startswith(VERSION_ERROR)
    assert a.grad is None


def show(program: Callable[[], None]) -> None:
    print(f"--- {program.__name__.replace('_', ' ')}")
    source = inspect.getsource(program)
    print(source[source.index("    with _test_eager_guard") :].split("\n\n    print(")[0])
    print("    =>")
    program()
    print()


if __name__ == "__main__":
    for program in (same_object_and_exact_gradient, leaf_is_refused, overwritten_value_is_noticed):
        show(program)
    print("all three as promised")
