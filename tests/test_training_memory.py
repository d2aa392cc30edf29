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
