"""NumPy's typed loops are a shortcut: without them every operator must still give the same values and gradients."""
import numpy as np
import pytest

import python_api as paddle
from eager_core import kernel_tables


def results():
    rng = np.random.default_rng(3)
    a, b = rng.uniform(0.5, 2.0, (3, 4)), rng.uniform(0.5, 2.0, (3, 4))
    found = []
    for dtype in ("float32", "float64", "complex128"):
        x = paddle.to_tensor(a.astype(dtype), stop_gradient=False)
        y = paddle.to_tensor(b.astype(dtype), stop_gradient=False)
        out = paddle.tanh(x * y + x / y) - paddle.exp(-x) * paddle.sqrt(y)
        out = out.matmul(y.transpose([1, 0])) + x[:, :3]
        out.multiply_(y[:, 1:])
        loss = (out * out.conj()).sum() if dtype.startswith("complex") else (out * out).mean()
        loss.backward()
        found += [out.numpy(), x.grad.numpy(), y.grad.numpy()]
    n = paddle.to_tensor(np.arange(6))
    found += [(n * 2 + 1).numpy(), (n ** 2).numpy(), (n // 4).numpy(), (n % 4).numpy(), (n > 2).numpy(), n.sum().numpy(), n.max().numpy()]
    return found


def test_loops_are_found():
    assert kernel_tables._test_loop_count() > 200


def test_results_with_loops_equal_those_without():
    restore = kernel_tables._test_forget_loops()
    try:
        assert kernel_tables._test_loop_count() == 0
        slow = results()
    finally:
        restore()
    for fast, other in zip(results(), slow, strict=True):
        assert fast.dtype == other.dtype
        np.testing.assert_allclose(fast, other, rtol=1e-6 if fast.dtype == np.float32 else 1e-13)


def test_integer_powers_raise_as_numpy_does():
    """A loop that raises by itself is never called without the GIL."""
    n = paddle.to_tensor(np.array([1, 2, 3]))
    with pytest.raises(ValueError, match="negative integer power"):
        n ** paddle.to_tensor(np.array([-1, 1, 1]))
    m = paddle.to_tensor(np.array([1, 2, 3]))
    with pytest.raises(ValueError, match="negative integer power"):
        m.pow_(paddle.to_tensor(np.array([1, 1, -1])))
    assert m.numpy().tolist() == [1, 2, 3] and m.inplace_version == 0
