"""Random linear in-place programs: a component of the gradient is the result for a unit vector, computed by NumPy (S8, S9).

The program is the same code for arrays and for tensors, so nothing but NumPy's views and writes says what is right.
"""
from functools import lru_cache

import numpy as np
import pytest

import python_api as paddle

SHAPE = (4, 3)
PROGRAMS = 250


def random_index(random, shape):
    """A basic index for some of the axes. The Ellipsis makes NumPy give a view even of one element."""
    index = []
    for length in shape[:random.integers(1, len(shape) + 1)]:
        low = int(random.integers(0, length))
        high = int(random.integers(low + 1, length + 1))
        kinds = [int(random.integers(-length, length)), slice(None), slice(None, None, -1), slice(low, high), slice(low, high, 2)]
        index.append(kinds[random.integers(0, len(kinds))])
    return (*index, ...)


def result(seed, x, y):
    """A number, linear in x and y: views are taken of u and of each other, written through and read."""
    random = np.random.default_rng(seed)
    u = x * 2.0
    views, total = [u], u.sum() * 0.0
    for _ in range(random.integers(1, 9)):
        step = random.integers(0, 6)
        view = views[random.integers(0, len(views))]
        other = (views[random.integers(0, len(views))] if random.integers(0, 2) else y).sum()
        factor = float(random.integers(1, 5))
        index = random_index(random, view.shape) if len(view.shape) else (...,)
        if step == 0:
            view[index] = 0.0 if random.integers(0, 3) == 0 else other * factor
        elif step == 1:
            view[index] = view[index] * factor + other
        elif step == 2:
            part = view[index]
            part *= factor
        elif step == 3:
            views.append(view[index])
        elif step == 4:
            views.append(view.T)
        else:
            total = total + view[index].sum() * factor
    return total + views[random.integers(0, len(views))].sum() * 7.0


@lru_cache(2 * PROGRAMS)
def gradient_by_unit_vectors(seed, shapes, which):
    gradient = np.zeros(shapes[which])
    for place in np.ndindex(gradient.shape):
        values = [np.zeros(shape) for shape in shapes]
        values[which][place] = 1.0
        gradient[place] = result(seed, *values)
    return gradient


def backward(seed, x, y):
    result(seed, x, y).backward()
    return x.grad, y.grad


def backward_into_gradients_of_before(seed, x, y):
    """Regions are added straight into a .grad that is there already, the first of them into one that is made of regions."""
    x[1].sum().backward()
    x.T[2].sum().backward()
    result(seed, x, y).backward()
    before = np.zeros(SHAPE)
    before[1] += 1.0
    before.T[2] += 1.0
    return x.grad - paddle.to_tensor(before), y.grad


def grad(seed, x, y):
    return paddle.grad([result(seed, x, y)], [x, y], allow_unused=True)


def recorded_grad(seed, x, y):
    return paddle.grad([result(seed, x, y)], [x, y], create_graph=True, allow_unused=True)


@pytest.mark.parametrize("ask", [backward, backward_into_gradients_of_before, grad, recorded_grad])
def test_gradients_are_the_results_for_unit_vectors(ask):
    shapes = (SHAPE, (2,))
    for seed in range(PROGRAMS):
        x, y = (paddle.to_tensor(np.random.default_rng(seed).random(shape), stop_gradient=False) for shape in shapes)
        for which, found in enumerate(ask(seed, x, y)):
            expected = gradient_by_unit_vectors(seed, shapes, which)
            actual = np.zeros(shapes[which]) if found is None else found.numpy()
            np.testing.assert_array_equal(actual, expected, err_msg=f"program {seed}, gradient {which}")
