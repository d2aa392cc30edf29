"""Gradients that are zero outside one region stay as small as that region, and nobody can tell (S5.13, S8.10, S9.11, S9.13)."""
import numpy as np
import pytest

import python_api as paddle
from python_api.profiler import profile


def leaf(values):
    return paddle.to_tensor(np.asarray(values, "float64"), stop_gradient=False)


def march(v, steps, h=0.1):
    """v cos-stepped: u[t + 1] = u[t] + h sin(u[t])."""
    u = paddle.zeros([steps + 1, *v.shape], dtype="float64")
    u[0] = v
    for t in range(steps):
        u[t + 1] = u[t] + paddle.sin(u[t]) * h
    return u


def slope_of_march(v, steps, h=0.1):
    slope = np.ones_like(v)
    for _ in range(steps):
        slope = slope * (1 + h * np.cos(v))
        v = v + h * np.sin(v)
    return slope


def test_no_gradient_of_the_whole_is_made():
    start, steps = np.linspace(0.1, 1, 64), 200
    v = leaf(start)
    u = march(v, steps)
    loss = u[steps].sum()
    with profile() as prof:
        loss.backward()
    assert prof.peak - prof.in_use_before <= 10 * 64 * 8
    np.testing.assert_allclose(v.grad.numpy(), slope_of_march(start, steps), rtol=1e-12)


def test_columns_too():
    start, steps = np.linspace(0.1, 1, 64), 200
    v = leaf(start)
    u = paddle.zeros([64, steps + 1], dtype="float64")
    u[:, 0] = v
    for t in range(steps):
        u[:, t + 1] = u[:, t] + paddle.sin(u[:, t]) * 0.1
    loss = u[:, steps].sum()
    with profile() as prof:
        loss.backward()
    assert prof.peak - prof.in_use_before <= 10 * 64 * 8
    np.testing.assert_allclose(v.grad.numpy(), slope_of_march(start, steps), rtol=1e-12)


@pytest.mark.parametrize("read", [0, 1, 3, 5])
def test_a_row_that_was_not_written_again_passes_later_writes(read):
    """dL/dx of L = sum(w * u[read]) where rows 1 and 3 of u = 2x are overwritten by 5y and by y squared."""
    x, y = leaf(np.arange(12.0).reshape(6, 2)), leaf([0.5, -2.0])
    weight = np.array([3.0, 7.0])
    u = x * 2.0
    u[1] = y * 5.0
    u[3] = y * y
    (u[read] * paddle.to_tensor(weight)).sum().backward()
    of_x = np.zeros((6, 2))
    if read not in (1, 3):
        of_x[read] = 2.0 * weight
    of_y = {1: 5.0 * weight, 3: 2.0 * np.array([0.5, -2.0]) * weight}.get(read, np.zeros(2))
    np.testing.assert_array_equal(x.grad.numpy(), of_x)
    np.testing.assert_array_equal(y.grad.numpy(), of_y)


def test_what_is_wholly_overwritten_has_a_gradient_of_zeros():
    x, y = leaf(np.ones((3, 2))), leaf([4.0, 5.0])
    u = x * 2.0
    u[:] = y * 3.0
    u[1].sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.zeros((3, 2)))
    np.testing.assert_array_equal(y.grad.numpy(), [3.0, 3.0])


@pytest.mark.parametrize("index", [(slice(2, 4),), (2,), (slice(None), 1), (slice(0, 6, 2),), (slice(None, None, -1),), (2, 1)])
@pytest.mark.parametrize("written", [(slice(2, 4),), (2,), (slice(None), 1), (slice(1, 6, 2),), (2, slice(1, 2))])
def test_reads_and_writes_that_meet_in_every_way(index, written):
    """L = sum(c * u[index]), u = 3x with u[written] = 5y: the gradients by what NumPy does with the same indexes."""
    random = np.random.default_rng(1)
    start = random.random((6, 3))
    value = random.random(start[written].shape)
    x, y = leaf(start), leaf(value)
    u = x * 3.0
    u[written] = y * 5.0
    part = u[index]
    c = random.random(start[index].shape)
    (part * paddle.to_tensor(c)).sum().backward()
    whole = np.zeros((6, 3))
    whole[index] = c
    np.testing.assert_allclose(y.grad.numpy(), 5.0 * whole[written], rtol=1e-15)
    whole[written] = 0.0
    np.testing.assert_allclose(x.grad.numpy(), 3.0 * whole, rtol=1e-15)


def test_two_rows_at_once():
    """Second order in time: every state has gradients of two regions at once."""
    start, steps = np.array([0.3, 0.7]), 12

    def final(lib_zeros, sin, a):
        u = lib_zeros()
        u[0] = a
        u[1] = a * 1.1
        for t in range(1, steps):
            u[t + 1] = u[t] * 2.0 - u[t - 1] + sin(u[t]) * u[t - 1] * 0.01
        return u[steps]

    v = leaf(start)
    final(lambda: paddle.zeros([steps + 1, 2], dtype="float64"), paddle.sin, v).sum().backward()
    tiny = 1e-30
    complex_step = final(lambda: np.zeros((steps + 1, 2), complex), np.sin, start + 1j * tiny).imag / tiny
    np.testing.assert_allclose(v.grad.numpy(), complex_step, rtol=1e-12)


def test_hooks_and_retained_gradients_see_the_whole():
    """S9.11, S9.13: the state before the last write has its gradient zero where it was overwritten."""
    v = leaf([1.0, 2.0])
    u = v.unsqueeze(0).tile([3, 1]) * 1.0
    seen = []
    u.register_hook(lambda g: seen.append(np.array(g.numpy())))
    u[1] = v * 3.0
    u.retain_grads()
    (u[1] * 2.0).sum().backward()
    np.testing.assert_array_equal(u.grad.numpy(), [[0, 0], [2, 2], [0, 0]])
    np.testing.assert_array_equal(seen, [np.zeros((3, 2))])
    np.testing.assert_array_equal(v.grad.numpy(), [6.0, 6.0])


def test_hook_on_the_newest_state_may_change_its_gradient():
    v = leaf([1.0, 2.0])
    u = paddle.zeros([3, 2], dtype="float64")
    u[1] = v * 3.0
    u.register_hook(lambda g: g + 1.0)
    u[2].sum().backward()
    np.testing.assert_array_equal(v.grad.numpy(), [3.0, 3.0])


def test_grad_with_respect_to_a_state_between():
    """paddle.grad: the result for the whole, at the version that was asked for (S9.18)."""
    v = leaf([1.0, 2.0])
    u = paddle.zeros([3, 2], dtype="float64")
    u[0] = v
    u[1] = u[0] * u[0]
    of_u, of_v = paddle.grad([u[1].sum()], [u, v])
    np.testing.assert_array_equal(of_u.numpy(), [[0, 0], [1, 1], [0, 0]])
    np.testing.assert_array_equal(of_v.numpy(), [2.0, 4.0])


def test_no_grad_vars_stop_a_region():
    v, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    u = v * w
    s = paddle.zeros([2, 2], dtype="float64")
    s[0] = u
    s[1] = s[0] * w
    of_w, = paddle.grad([s[1].sum()], [w], no_grad_vars=[u])
    np.testing.assert_array_equal(of_w.numpy(), [3.0, 8.0])


def test_second_order():
    """Of sum(v + h sin v) twice: -h sin v; two steps by a difference of exact first derivatives (complex step)."""
    start, steps = np.array([0.4, 1.3]), 5
    v = leaf(start)
    first, = paddle.grad([march(v, steps)[steps].sum()], [v], create_graph=True)
    np.testing.assert_allclose(first.numpy(), slope_of_march(start, steps), rtol=1e-14)
    first.sum().backward()
    np.testing.assert_allclose(v.grad.numpy(), slope_of_march(start + 1e-30j, steps).imag / 1e-30, rtol=1e-12)


def test_a_leaf_with_a_gradient_gets_one_region_added_and_zeros_change_nothing():
    x, y = leaf(np.ones((3, 2))), leaf(np.ones((3, 2)))
    for _ in range(3):
        (x[1] * 2.0).sum().backward()
        u = y * 1.0
        u[1] = x[1]
        u[1].sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[0, 0], [9, 9], [0, 0]])
    np.testing.assert_array_equal(y.grad.numpy(), np.zeros((3, 2)))


def test_the_callers_seed_is_left_alone():
    v, seed = leaf([1.0, 2.0]), paddle.to_tensor(np.array([5.0, 6.0]))
    u = paddle.zeros([2, 2], dtype="float64")
    u[0] = v
    row = u[0]
    row.backward(seed, retain_graph=True)
    row.backward(seed)
    np.testing.assert_array_equal(seed.numpy(), [5.0, 6.0])
    np.testing.assert_array_equal(v.grad.numpy(), [10.0, 12.0])


def test_complex_and_integer_neighbours():
    """A gradient in another dtype than the state's, and a value that was broadcast and cast."""
    v = leaf([1.0, 2.0])
    u = paddle.zeros([3, 2], dtype="float32")
    u[1] = v[0]
    u[2] = u[1] * 2.0
    u[2].astype("float64").sum().backward()
    np.testing.assert_array_equal(v.grad.numpy(), [4.0, 0.0])
    assert v.grad.dtype == paddle.float64
    z = paddle.to_tensor(np.array([1 + 2j, 3 - 1j]), stop_gradient=False)
    w = paddle.zeros([2, 2], dtype="complex128")
    w[1] = v.detach()
    w[0] = z * 1j
    (w[0].real() * w[0].imag()).sum().backward()
    # L = Re(iz) Im(iz) = -y x for z = x + iy: dL/dx + i dL/dy
    np.testing.assert_array_equal(z.grad.numpy(), [-2 - 1j, 1 - 3j])


def test_seeds_that_are_gradients_of_other_leaves():
    """S9.7: a pass adds what the seeds were when it began, though its own additions go to the same memory."""
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (a * 2.0).sum().backward()
    (b * 5.0).sum().backward()
    paddle.autograd.backward([a.reshape([2]), b + 1.0], [b.grad, a.grad])
    np.testing.assert_array_equal(a.grad.numpy(), [7.0, 7.0])
    np.testing.assert_array_equal(b.grad.numpy(), [7.0, 7.0])


def test_seeds_that_are_regions_of_the_leafs_own_gradient():
    x = leaf(np.ones((2, 2)))
    (x * paddle.to_tensor(np.array([[1.0, 2.0], [10.0, 20.0]]))).sum().backward()
    paddle.autograd.backward([x[0], x[1]], [x.grad[1], x.grad[0]])
    np.testing.assert_array_equal(x.grad.numpy(), [[11.0, 22.0], [11.0, 22.0]])


def test_a_seed_that_a_hook_writes_to_is_what_it_was():
    """S9.7, S9.14: the sum x + w passes the seed on to both as it is."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (w * 3.0).sum().backward()
    seed = w.grad
    other = (w * 100.0).sum()
    y, z = x * 1.0, w * 1.0
    y.register_hook(lambda g: other.backward(retain_graph=True))          # adds 100 to w.grad, in place
    z.register_hook(lambda g: other.backward(retain_graph=True))
    (y + z).backward(seed)
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 3.0])
    np.testing.assert_array_equal(w.grad.numpy(), [206.0, 206.0])


def test_detect_anomaly_looks_at_regions_of_a_leaf_that_has_a_gradient():
    x, large = leaf(np.ones((2, 2))), paddle.to_tensor(np.array([1e308, 1e308]))
    x.grad = paddle.zeros([2, 2], dtype="float64")
    with pytest.raises(RuntimeError, match="inf"), paddle.autograd.detect_anomaly():
        paddle.autograd.backward([x[0], x[0]], [large, large])
    np.testing.assert_array_equal(x.grad.numpy(), np.zeros((2, 2)))
