"""The memory of a training step (issue of its size against torch's): benchmarks/memory.py measures both beside each other."""
import numpy as np
import pytest

import python_api as paddle
from python_api.nn import functional
from python_api.profiler import profile


def step_of(inputs, hidden, batch):
    random = np.random.default_rng(0)
    shapes = [(inputs, hidden), (hidden,), (hidden, 10), (10,)]
    parameters = [paddle.to_tensor(random.normal(0, 0.1, shape).astype("float32"), stop_gradient=False) for shape in shapes]
    images = paddle.to_tensor(random.random((batch, inputs), dtype="float32"))
    labels = paddle.to_tensor(random.integers(0, 10, batch))

    def step():
        w1, b1, w2, b2 = parameters
        functional.cross_entropy(functional.relu(images @ w1 + b1) @ w2 + b2, labels).backward()
        with paddle.no_grad():
            for parameter in parameters:
                parameter.subtract_(parameter.grad * 1e-6)
                parameter.grad = None
    return step


@pytest.mark.parametrize("sizes, most", [((64, 64, 32), 35_636), ((1024, 1024, 256), 8_433_716)], ids=["small", "large"])
def test_a_step_takes_no_more_than_in_torch(sizes, most):
    """`most` is what torch 2.13 allocates at the peak of the same step, above what is in use between steps."""
    step = step_of(*sizes)
    step()
    with profile() as prof:
        step()
    assert prof.peak - prof.in_use_before <= most
    assert prof.in_use_after == prof.in_use_before


@pytest.mark.parametrize("operator, slope", [
    (lambda t, c: t * c, lambda n: 3.0**n), (lambda t, c: t * 3.0, lambda n: 3.0**n), (lambda t, c: t / c, lambda n: 3.0**-n),
    (lambda t, c: -t, lambda n: (-1.0) ** n),
], ids=["saved operand", "number", "quotient", "negative"])
def test_backward_writes_over_gradients_that_nobody_else_sees(operator, slope):
    """One gradient for a chain of any length: that which is the caller's is left alone, the next is written over again and again."""
    n = 6
    x, c = paddle.to_tensor(np.ones(1000), stop_gradient=False), paddle.to_tensor(np.full(1000, 3.0))
    given = paddle.to_tensor(np.full(1000, 2.0))
    y = x
    for _ in range(n):
        y = operator(y, c)
    with profile() as prof:
        y.backward(given)
    assert (prof.allocations, prof.allocated) == (1, 8000)
    np.testing.assert_allclose(x.grad.numpy(), 2.0 * slope(n), rtol=1e-14)
    np.testing.assert_array_equal(given.numpy(), 2.0)


def test_backward_does_not_write_over_gradients_that_somebody_sees():
    x, c = paddle.to_tensor(np.ones(1000), stop_gradient=False), paddle.to_tensor(np.full(1000, 3.0))
    seen = []
    y = x * c
    y.register_hook(seen.append)
    z = y * c
    z.register_hook(seen.append)
    z.retain_grads()
    (z * c).backward(paddle.to_tensor(np.ones(1000)))
    np.testing.assert_array_equal(seen[0].numpy(), 3.0)
    np.testing.assert_array_equal(z.grad.numpy(), 3.0)
    np.testing.assert_array_equal(seen[1].numpy(), 9.0)
    np.testing.assert_array_equal(x.grad.numpy(), 27.0)
