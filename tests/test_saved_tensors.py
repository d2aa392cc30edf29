"""Saved tensors: what is kept, when it is checked, and the region rule (S5). Gradients against central differences of NumPy code."""
import gc
import weakref

import numpy as np
import pytest
from differences import slope

import python_api as paddle
from eager_core import allocator

VERSION = "used in gradient computation has been modified by an inplace operation"


def const(values, dtype="float64"):
    return paddle.to_tensor(np.array(values, dtype=dtype))


def leaf(values):
    return paddle.to_tensor(np.array(values, dtype="float64"), stop_gradient=False)


def collected(make):
    """Whether what `make` returns dies by reference counts alone."""
    gc.collect()
    gc.disable()
    try:
        one = make()
        ref = weakref.ref(one)
        del one
        return ref() is None
    finally:
        gc.enable()


# ---- S5.1 to S5.5 ----------------------------------------------------------------------------------------------------------------------

def test_s5_1_a_save_is_no_copy_and_outlives_the_tensor():
    x = leaf([1.0, 2.0])
    y = x * 2.0
    alias = y.detach()
    z = y.sin().sum()
    del y
    alias.add_(1.0)                                        # the same storage: the write is seen
    with pytest.raises(RuntimeError, match=VERSION):
        z.backward()
    y = x * 2.0
    z = y.sin().sum()
    del y, alias
    z.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos([2.0, 4.0]))


MAT = np.array([[1.2, 0.4], [0.3, 2.2]])
INDEX = np.array([1, 0])
NO_BUFFER = {
    "add": lambda a: a + a, "sum": lambda a: a.sum(), "mean": lambda a: a.mean(), "scale": lambda a: a.scale(3.0, 1.0), "neg": lambda a: -a,
    "concat": lambda a: paddle.concat([a, a], axis=1), "stack": lambda a: paddle.stack([a, a]), "reshape": lambda a: a.reshape([4]).clone(),
    "transpose": lambda a: a.T + 0.0, "cast": lambda a: a.astype("float32"), "getitem": lambda a: a[0].clone(), "pick": lambda a: a[[0, 0]],
    "where": lambda a: paddle.where(const([[True, False], [True, True]], "bool"), a, a), "gather": lambda a: paddle.gather(a, const(INDEX,
        "int64")),
    "index_select": lambda a: paddle.index_select(a, const(INDEX, "int64")), "assign": lambda a: a.clone(), "subtract": lambda a: a - 1.0,
    "expand": lambda a: a.expand([3, 2, 2]), "tile": lambda a: paddle.tile(a, [2, 2]), "pad": lambda a: paddle.nn.functional.pad(a, [1, 1]),
    "sort": lambda a: paddle.sort(a, 0) * const([[1.0, 2.0], [3.0, 4.0]]), "sort descending": lambda a: paddle.sort(a, 1, True)[:, 0],
    "multiply by a number": lambda a: a * 3.0, "divide by a number": lambda a: a / 3.0, "floor": lambda a: a.floor(),
}
SAVES_INPUT = {
    "sin": lambda a: a.sin(), "cos": lambda a: a.cos(), "square": lambda a: a.square(), "a*a": lambda a: a * a, "pow": lambda a: a.pow(2.0),
    "log": lambda a: a.log(), "max": lambda a: a.max(), "abs": lambda a: a.abs(), "clip": lambda a: a.clip(0.0, 1.0),
    "matmul": lambda a: a @ a, "maximum": lambda a: paddle.maximum(a, const(MAT)), "prod": lambda a: a.prod(),
    "divide": lambda a: 1.0 / a * a, "norm": lambda a: paddle.norm(a), "logsumexp": lambda a: paddle.logsumexp(a),
    "power of tensors": lambda a: a.pow(const(2.0)),
}
SAVES_OUTPUT = {
    "exp": lambda a: a.exp(), "tanh": lambda a: a.tanh(), "sigmoid": lambda a: paddle.nn.functional.sigmoid(a), "sqrt": lambda a: a.sqrt(),
    "rsqrt": lambda a: a.rsqrt(), "reciprocal": lambda a: a.reciprocal(), "relu": lambda a: paddle.nn.functional.relu(a),
    "softmax": lambda a: paddle.nn.functional.softmax(a), "log_softmax": lambda a: paddle.nn.functional.log_softmax(a),
}


@pytest.mark.parametrize("name", sorted(NO_BUFFER) + sorted(SAVES_OUTPUT))
def test_s5_2_s5_4_input_may_change(name):
    op = {**NO_BUFFER, **SAVES_OUTPUT}[name]
    x = leaf(MAT)
    op(x * 1.0).sum().backward()
    want = x.grad.numpy()
    x.clear_grad(False)
    a = x * 1.0
    z = op(a).sum()
    a.fill_(77.0)
    z.backward()
    np.testing.assert_array_equal(x.grad.numpy(), want)


@pytest.mark.parametrize("name", sorted(SAVES_INPUT))
def test_s5_4_input_must_not_change(name):
    a = leaf(MAT) * 1.0
    z = SAVES_INPUT[name](a).sum()                          # checked when the node runs, not when the write happens
    a.scale_(1.0)
    with pytest.raises(RuntimeError, match="Its version is 1 but the expected version is 0"):
        z.backward()


@pytest.mark.parametrize("name", [*sorted(SAVES_OUTPUT), "max", "prod", "norm", "logsumexp"])
def test_s5_5_output_must_not_change(name):
    b = {**SAVES_OUTPUT, **SAVES_INPUT}[name](leaf(MAT) * 1.0)
    z = b.sum()
    b.scale_(1.0)
    with pytest.raises(RuntimeError, match="Its version is 1 but the expected version is 0"):
        z.backward()


@pytest.mark.parametrize("name", ["sin", "square", "cos", "log", "a*a", "scale", "leaky_relu"])
def test_s5_5_output_may_change(name):
    x = leaf(MAT)
    b = {**SAVES_INPUT, **NO_BUFFER, "leaky_relu": paddle.nn.functional.leaky_relu}[name](x * 1.0)
    z = b.sum()
    b.zero_()
    z.backward()
    f = {"sin": np.sin, "square": np.square, "cos": np.cos, "log": np.log, "a*a": np.square, "scale": lambda v: v * 3 + 1,
         "leaky_relu": lambda v: np.where(v > 0, v, v / 100)}[name]
    np.testing.assert_allclose(x.grad.numpy(), slope(lambda v: f(v).sum(), MAT), rtol=1e-6)


def test_s5_3_constants_masks_and_indexes_are_checked_or_copied():
    x = leaf([1.0, 2.0, 3.0])
    c = const([2.0, 3.0, 4.0])
    z = (x * c).sum()
    c.add_(1.0)
    with pytest.raises(RuntimeError, match=VERSION):
        z.backward()
    mask = const([True, False, True], "bool")
    z = paddle.where(mask, x, x * 2.0).sum()
    mask.logical_not_()
    with pytest.raises(RuntimeError, match=VERSION):
        z.backward()
    index = const([0, 0, 1], "int64")
    z = paddle.gather(x, index).sum()
    index.fill_(2)
    with pytest.raises(RuntimeError, match=VERSION):
        z.backward()
    for act in (lambda: x[index], lambda: (x * 1.0).__setitem__(index, 1.0)):
        act()
    index.copy_(const([0, 0, 1], "int64"))
    z = x[index].sum()
    index.fill_(2)                                          # the index of a getitem is copied: exact (or the version error)
    z.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 1.0, 0.0])
    exponent = const(2.0)
    z = x.pow(exponent).sum()
    exponent.add_(1.0)
    with pytest.raises(RuntimeError, match=VERSION):
        z.backward()


def test_s5_2_what_needs_the_shape_only_takes_no_memory():
    """The memory of an operand goes with its last tensor, though the graph is alive."""
    x = paddle.to_tensor(np.full(1 << 20, 0.5), stop_gradient=False)
    for use in (lambda y: y.sum(), lambda y: y.mean(), lambda y: y.scale(2.0).sum(), lambda y: (y + y).sum(),
                lambda y: y.astype("float32").sum(), lambda y: paddle.concat([y, y]).sum(), lambda y: y.reshape([1024, 1024])[0].sum(),
                lambda y: paddle.gather(y, const([1], "int64"))):
        y = x * 3.0
        allocator.empty_cache()
        z = use(y)
        allocator.empty_cache()
        before = allocator.cached_bytes()
        del y
        assert allocator.cached_bytes() - before >= 8 << 20
        z.backward()
        assert x.grad is not None


def test_s5_3_what_nobody_needs_is_not_saved():
    """x * c with constant x: the gradient of c's side is not wanted, so c is free."""
    x, c = const([1.0, 2.0]), leaf([3.0, 4.0])
    w = c * 1.0
    z = (x * w).sum()
    w.zero_()
    z.backward()
    np.testing.assert_array_equal(c.grad.numpy(), [1.0, 2.0])


# ---- S5.6 to S5.10 ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["exp_", "tanh_", "sigmoid_", "relu_", "sqrt_", "rsqrt_", "reciprocal_", "softmax_", "sin_", "square_"])
def test_s5_6_own_output_makes_no_cycle(name):
    x = leaf([1.0, 2.0])

    def make(backward=False):
        y = x * 1.0
        getattr(y, name)()
        y[0] = y[1] * 2.0
        if backward:
            y.sum().backward()
        return y

    assert collected(make)
    assert collected(lambda: make().grad_fn if hasattr(make().grad_fn, "__weakref__") else make())
    assert collected(lambda: make()[0])


def test_s5_7_freed():
    x = leaf([1.0, 2.0])
    z = (x + x).sum()
    z.backward()
    with pytest.raises(RuntimeError, match="The TensorWrappers of SumGradNode do not exist"):
        z.backward()
    e = x.exp()
    (e * 2.0).sum().backward()
    with pytest.raises(RuntimeError, match="The TensorWrappers of ExpGradNode do not exist"):
        (e * 3.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2.0 + 2 * np.exp([1.0, 2.0]))


def test_s5_8_grad_frees():
    x = leaf([1.0, 2.0])
    y = x.exp().sum()
    paddle.grad(y, [x], retain_graph=True)
    paddle.grad(y, [x])
    with pytest.raises(RuntimeError, match="TensorWrappers"):
        paddle.grad(y, [x])


def test_s5_9_write_between_two_backwards():
    x = leaf([1.0, 2.0])
    a = x * 1.0
    z = a.sin().sum()
    z.backward(retain_graph=True)
    a.add_(1.0)
    with pytest.raises(RuntimeError, match=VERSION):
        z.backward(retain_graph=True)
    np.testing.assert_allclose(x.grad.numpy(), np.cos([1.0, 2.0]))


def test_s5_10_double_backward_meets_the_saved_version():
    start = np.array([0.4, 1.1])
    x = leaf(start)
    a = x * x
    b = a.sin()
    (g,) = paddle.grad(b.sum(), [x], create_graph=True)
    a.add_(0.0)                                             # after the first pass recovered it: its consumers saved it
    with pytest.raises(RuntimeError, match=VERSION):
        g.sum().backward()


# ---- S5.13: the region rule ------------------------------------------------------------------------------------------------------------

def zeros(np_or_paddle, shape):
    return np.zeros(shape) if np_or_paddle is np else paddle.zeros(shape, dtype="float64")


def rows(m, v):
    """The program of the rule."""
    u = zeros(m, [7, 3])
    u[0] = v
    for t in range(6):
        u[t + 1] = u[t] + m.sin(u[t]) * 0.1
    return u[6].sum()


def rows_all(m, v):
    u = zeros(m, [6, 3])
    u[0] = v
    for t in range(5):
        u[t + 1] = u[t] * m.cos(u[t]) + u[t] ** 2 * 0.3
    return (u * u).sum()


def columns(m, v):
    u = zeros(m, [3, 6])
    u[:, 0] = v
    for t in range(5):
        u[:, t + 1] = u[:, t] + m.sin(u[:, t]) * u[:, t]
    return m.exp(u[:, 5]).sum()


def interleaved(m, v):
    """Position and velocity in even and odd columns of one array."""
    u = zeros(m, [5, 6])
    u[0, 0::2] = v
    u[0, 1::2] = v * v
    for t in range(4):
        q, p = u[t, 0::2], u[t, 1::2]
        u[t + 1, 1::2] = p - m.sin(q) * 0.2
        u[t + 1, 0::2] = q + u[t + 1, 1::2] * 0.2
    return (u[4] ** 2).sum()


def odd_even_in_one_row(m, v):
    """Even elements feed the odd ones: bounding intervals overlap, elements do not."""
    u = zeros(m, [6])
    u[0::2] = v
    u[1::2] = m.sin(u[0::2]) * u[0::2]
    return (u ** 2).sum()


def ring(m, v):
    """A ring buffer big enough for the lifetime of what is saved."""
    u = zeros(m, [8, 3])
    u[7] = v
    for t in range(7):
        u[t % 8] = m.sin(u[(t - 1) % 8]) + u[(t - 1) % 8] * 0.5
    return (u[6] * u[6]).sum()


def chain(m, v):
    y = zeros(m, [3]) + v * 1.0
    for i in range(1, 3):
        y[i] = y[i - 1] * v[i]
    return y.sum()


def soft_dtw(m, v):
    """A dynamic programming table, one cell after the other."""
    d = zeros(m, [4, 4])
    for i in range(1, 4):
        for j in range(1, 4):
            best = m.exp(d[i - 1, j] * -1.0) + m.exp(d[i, j - 1] * -1.0) + m.exp(d[i - 1, j - 1] * -1.0)
            d[i, j] = (v[i - 1] - v[j - 1] * 0.7) ** 2 - m.log(best)
    return d[3, 3] * 1.0


def red_black(m, v):
    """Gauss-Seidel with a nonlinear source: red points from black ones, then black from red, in new memory each sweep."""
    u = zeros(m, [3, 9])
    u[0, 1:8:3] = v
    for s in range(2):
        u[s + 1, 1:8:2] = (u[s, 0:7:2] + u[s, 2:9:2]) * 0.5 + m.sin(u[s, 1:8:2])
        u[s + 1, 2:7:2] = (u[s + 1, 1:6:2] + u[s + 1, 3:8:2]) * 0.5 + m.sin(u[s, 2:7:2])
    return (u[2] ** 2).sum()


def red_black_in_place(m, v):
    """One sweep in one row: the black half is read, the red one written, and then the other way."""
    u = zeros(m, [7])
    u[1::2] = v
    red = m.sin(u[1:6:2])
    u[0:5:2] = red * u[1:6:2]
    return (u[0:5:2] * u[1:6:2]).sum()


def lu(m, v):
    """Elimination below the diagonal; rows above are never written again."""
    a = zeros(m, [3, 3])
    a[0] = v
    a[1] = m.cos(v) + v[0]
    a[2] = v * v + 1.0
    b = zeros(m, [3, 3, 3])
    b[0] = a
    for k in range(2):
        b[k + 1, :k + 1] = b[k, :k + 1]
        for i in range(k + 1, 3):
            f = b[k, i, k] / b[k, k, k]
            b[k + 1, i, k:] = b[k, i, k:] - f * b[k, k, k:]
    return (b[2, 0, 0] * b[2, 1, 1]) * b[2, 2, 2]


def lu_factors(m, v):
    """The factors in one array: rows of U and columns of L are written once each."""
    s = zeros(m, [3, 3])
    s[0] = v
    s[1] = m.sin(v) + 2.0
    s[2] = v * v + v[0]
    f = zeros(m, [3, 3])
    f[0] = s[0]
    f[1:, 0] = s[1:, 0] / f[0, 0]
    f[1, 1:] = s[1, 1:] - f[1, 0] * f[0, 1:]
    f[2, 1] = (s[2, 1] - f[2, 0] * f[0, 1]) / f[1, 1]
    f[2, 2] = s[2, 2] - f[2, 0] * f[0, 2] - f[2, 1] * f[1, 2]
    return f[0, 0] * f[1, 1] * f[2, 2]


def leapfrog(m, v):
    u = zeros(m, [8, 3])
    u[0] = v
    u[1] = v * 1.1
    for t in range(1, 7):
        u[t + 1] = u[t] * 2.0 - u[t - 1] - m.sin(u[t]) * 0.3
    return (u[7] * u[7]).sum()


def heat(m, v):
    """A stencil with two buffers of fresh memory per step, conductivity depending on temperature."""
    u = zeros(m, [5])
    u[1:4] = v
    for _ in range(3):
        w = zeros(m, [5])
        w[1:-1] = u[1:-1] + (u[2:] - u[1:-1] * 2.0 + u[:-2]) * (u[1:-1] ** 2) * 0.1
        u = w
    return (u ** 2).sum()


def views_taken_before(m, v):
    u = zeros(m, [4, 3])
    parts = [u[i] for i in range(4)]
    parts[0][...] = v
    for i in range(3):
        parts[i + 1][...] = m.sin(parts[i]) * parts[i]
    return (parts[3] * parts[0]).sum()


def reshaped(m, v):
    u = zeros(m, [12])
    g = u.reshape([4, 3])
    g[0] = v
    for i in range(3):
        g[i + 1] = m.exp(g[i]) * 0.1
    return (u ** 2).sum()


def augmented(m, v):
    u = zeros(m, [4, 3])
    u[0] = v
    for i in range(3):
        u[i + 1] += m.sin(u[i])
        u[i + 1] *= v
    return u[3].sum()


def reversed_rows(m, v):
    u = zeros(m, [5, 3])[::-1]
    u[0] = v
    for i in range(4):
        u[i + 1] = m.sin(u[i][::-1]) + u[i]
    return (u[4] ** 2).sum()


def blocks(m, v):
    u = zeros(m, [4, 4])
    u[:2, :2] = v[0] * v[1]
    u[:2, 2:] = m.sin(u[:2, :2]) * v[2]
    u[2:, :2] = u[:2, 2:] * u[:2, :2]
    u[2:, 2:] = (u[2:, :2] @ u[:2, 2:]) + m.cos(u[2:, :2])
    return (u * u).sum()


def matrix_state(m, v):
    a = np.array([[0.2, 0.5, 0.1], [0.3, 0.1, 0.4], [0.6, 0.2, 0.3]])
    a = a if m is np else const(a)
    h = zeros(m, [5, 3])
    h[0] = v
    for t in range(4):
        h[t + 1] = m.tanh(h[t] @ a) + h[t] * v
    return h.sum()


def diagonal_strides(m, v):
    """Writes to the diagonal of a flat matrix never touch the off-diagonal elements saved before."""
    u = zeros(m, [9])
    u[1:4] = v
    s = m.sin(u[1:4]) * u[1:4]
    u[0::4] = s
    return (u ** 2).sum() + s.sum()


def newton(m, v):
    x = zeros(m, [6, 3])
    x[0] = v
    for k in range(5):
        x[k + 1] = (x[k] + v / x[k]) * 0.5
    return x[5].sum()


PROGRAMS = [rows, rows_all, columns, interleaved, odd_even_in_one_row, ring, chain, soft_dtw, red_black, red_black_in_place, lu, lu_factors,
            leapfrog, heat, views_taken_before, reshaped, augmented, reversed_rows, blocks, matrix_state, diagonal_strides, newton]
START = np.array([0.7, 0.45, 1.2])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_s5_13_untouched_elements_stay_valid(program):
    v = leaf(START)
    loss = program(paddle, v)
    np.testing.assert_allclose(float(loss), float(program(np, START)), rtol=1e-12)
    loss.backward()
    np.testing.assert_allclose(v.grad.numpy(), slope(lambda s: float(program(np, s)), START), rtol=2e-6, atol=1e-8)


@pytest.mark.parametrize("program", [rows, columns, interleaved, soft_dtw, leapfrog, matrix_state, augmented], ids=lambda p: p.__name__)
def test_s5_13_second_order(program):
    """Hessian times ones, against differences of the gradient that the test above has checked."""
    def gradient(s):
        v = leaf(s)
        program(paddle, v).backward()
        return v.grad.numpy().sum()

    v = leaf(START)
    (g,) = paddle.grad(program(paddle, v), [v], create_graph=True)
    (h,) = paddle.grad(g.sum(), [v])
    np.testing.assert_allclose(h.numpy(), slope(gradient, START, 1e-5), rtol=1e-5, atol=1e-6)


def overwritten_row(u, v):
    u[0] = v
    z = u[0].sin().sum()
    u[0] = v * 2.0
    return z


def overwritten_element(u, v):
    u[1] = v
    z = (u[1] * u[1]).sum()
    u[1, 2] = 5.0
    return z


def overwritten_by_column(u, v):
    u[2] = v
    z = u[2].sin().sum()
    u[:, 1] = 0.0
    return z


def overwritten_by_stride(u, v):
    u[0] = v
    z = u[0, 1:].sin().sum()
    u.reshape([-1])[0::2] = 1.0
    return z


def overwritten_by_fill(u, v):
    u[0] = v
    z = u[0].sin().sum()
    u.fill_(1.0)
    return z


def overwritten_by_mask(u, v):
    u[0] = v
    z = u[0].sin().sum()
    u[np.arange(12).reshape(4, 3) == 2] = 1.0
    return z


def overwritten_by_index(u, v):
    u[0] = v
    z = u[0].sin().sum()
    u[[0, 3]] = 1.0
    return z


def overwritten_through_detach(u, v):
    u[0] = v
    z = u[0].sin().sum()
    u.detach()[0, 0] = 1.0
    return z


def overwritten_under_no_grad(u, v):
    u[0] = v
    z = u[0].sin().sum()
    with paddle.no_grad():
        u[0] = 1.0
    return z


def overwritten_in_a_ring(u, v):
    u[0] = v
    for t in range(6):                                      # four rows only: what was saved four steps ago is written over
        u[(t + 1) % 4] = u[t % 4].sin()
    return u[2].sum()


def overwritten_by_view_op(u, v):
    u[0] = v
    z = u[0].sin().sum()
    u[0, 2:3].add_(1.0)
    return z


def overwritten_in_reverse(u, v):
    u[0] = v
    z = u[0].sin().sum()
    u[::-1][3, ::-1] = 1.0
    return z


def overwritten_by_hand(u, v):
    u[0] = v
    z = u[0].sin().sum()
    u._bump_inplace_version()
    return z


def overwritten_by_shape(u, v):
    u[0] = v
    z = u[0].sin().sum()
    u.reshape_([12])
    return z


def overwritten_after_many_others(u, v):
    u[0] = v
    z = u[0].sin().sum()
    for _ in range(500):
        u[1] = v
    u[0, 1] = 2.0
    for _ in range(500):
        u[2] = v
    return z


OVERWRITES = [f for name, f in sorted(globals().items()) if name.startswith("overwritten_")]


@pytest.mark.parametrize("program", OVERWRITES, ids=lambda p: p.__name__)
def test_s5_13_real_overwrites_raise(program):
    v = leaf(START)
    z = program(paddle.zeros([4, 3], dtype="float64"), v)
    with pytest.raises(RuntimeError, match=VERSION):
        z.backward()
    assert v.grad is None


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_s5_13_elements_of_every_width(dtype):
    """Neighbours of a saved element may be written, the element itself may not."""
    for at in range(6):
        x = paddle.to_tensor(np.arange(1, 7).astype(dtype), stop_gradient=False)
        y = x * 1.0
        z = (y[at] * y[at]).sum()
        for other in range(6):
            if other != at:
                y[other] = 0.0
        z.backward()
        want = np.zeros(6)
        want[at] = 2.0 * (at + 1)
        np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6)
        y = x * 1.0
        z = (y[at] * y[at]).sum()
        y[at] = 0.0
        with pytest.raises(RuntimeError, match=VERSION):
            z.backward()


@pytest.mark.parametrize("seed", range(40))
def test_s5_13_random_regions(seed):
    """Random saved regions and random writes: exact when no element meets, else the version error. NumPy tells which."""
    rng = np.random.default_rng(seed)

    def region():
        one = []
        for n in (5, 4, 3):
            kind = rng.integers(4)
            if kind == 0:
                one.append(int(rng.integers(-n, n)))
            elif kind == 1:
                one.append(slice(None))
            else:
                a, b = sorted(rng.integers(0, n + 1, 2))
                one.append(slice(int(a), int(b), int(rng.integers(1, 3))) if kind == 2 else slice(None, None, -int(rng.integers(1, 3))))
        return tuple(one)

    start = rng.uniform(0.5, 2.0, [5, 4, 3])
    x = leaf(start)
    y = x * 1.0
    saved = [region() for _ in range(3)]
    numbers = np.arange(60).reshape(5, 4, 3)
    losses = [y[r].sin().sum() for r in saved]
    touched = set()
    for _ in range(int(rng.integers(1, 4))):
        w = region()
        if rng.integers(2):
            y[w] = 0.5
        else:
            y[w].scale_(2.0)
        touched |= set(numbers[w].ravel().tolist())
    for r, loss in zip(saved, losses, strict=True):
        x.clear_grad(False)
        if touched & set(numbers[r].ravel().tolist()):
            with pytest.raises(RuntimeError, match=VERSION):
                loss.backward(retain_graph=True)
            continue
        loss.backward(retain_graph=True)
        want = np.zeros_like(start)
        want[r] = np.cos(start[r])
        np.testing.assert_allclose(x.grad.numpy(), want)


def test_s5_13_a_long_run_is_linear_and_exact():
    """Ten thousand steps in one array, 64 bits of version apart from stamps of 32."""
    n = 10_000
    v = leaf([0.5])
    u = paddle.zeros([n + 1, 1], dtype="float64")
    u[0] = v
    for t in range(n):
        u[t + 1] = u[t] + u[t].sin() * 1e-4
    assert u.inplace_version == n + 1
    u[n].sum().backward()

    def plain(s):
        for _ in range(n):
            s = s + np.sin(s) * 1e-4
        return s

    np.testing.assert_allclose(v.grad.numpy(), [(plain(0.5 + 1e-6) - plain(0.5 - 1e-6)) / 2e-6], rtol=1e-6)


# ---- writes to tensors whose elements do not lie in C order ----------------------------------------------------------------------------

def flipped(make):
    """A root of its own, not a view, with strides."""
    return {"transposed in place": lambda: make().transpose_([1, 0]), "detached": lambda: make().detach().T.detach(),
            "reversed": lambda: make().detach()[:, ::-1].detach().T.detach()}


@pytest.mark.parametrize("how", ["transposed in place", "detached", "reversed"])
@pytest.mark.parametrize("write", ["copy_", "[...]", "[:]", "row", "column", "fill_", "fill_ tensor", "add_", "list", "element", "view row",
                                   "multiply_", "rows reversed"])
def test_s8_10_writes_to_a_strided_root(how, write):
    base = np.arange(6.0).reshape(2, 3) + 1.0
    v, x = leaf(np.array([[0.3, 0.9], [1.1, 0.2], [0.5, 0.8]])), leaf(base)
    d = flipped(lambda: x * 1.0)[how]()
    start, weight = d.numpy(), np.array([[2.0, 3.0], [5.0, 7.0], [11.0, 13.0]])
    acts = {
        "copy_": lambda m, y, w: y.copy_(w) if m is paddle else np.copyto(y, w),
        "[...]": lambda m, y, w: y.__setitem__(..., w), "[:]": lambda m, y, w: y.__setitem__(slice(None), w),
        "row": lambda m, y, w: y.__setitem__(1, w[0]), "column": lambda m, y, w: y.__setitem__((slice(None), 1), w[:, 0]),
        "fill_": lambda m, y, w: y.fill_(2.0) if m is paddle else y.fill(2.0),
        "fill_ tensor": lambda m, y, w: y.fill_(w[1, 1]) if m is paddle else y.fill(w[1, 1]),
        "add_": lambda m, y, w: y.__iadd__(w), "multiply_": lambda m, y, w: y.__imul__(w),
        "list": lambda m, y, w: y.__setitem__([0, 2], w[1:]),
        "element": lambda m, y, w: y.__setitem__((2, 0), w[2, 1] * w[0, 0]),
        "view row": lambda m, y, w: y[1].__setitem__(..., w[0] * w[2]),
        "rows reversed": lambda m, y, w: y[::-1].__setitem__(slice(0, 2), w[:2]),
    }
    act = acts[write]

    def plain(values, base_values=base):
        y = {"transposed in place": base_values.T, "detached": base_values.T, "reversed": base_values[:, ::-1].T}[how].copy()
        act(np, y, values)
        return (y * y * weight).sum()

    try:
        act(paddle, d, v)
    except RuntimeError as refused:                         # allowed to refuse, never to be wrong
        assert "PermissionDenied" in str(refused)
        assert "clone() the tensor" in str(refused)
        np.testing.assert_array_equal(d.numpy(), start)
        assert write in ("view row", "rows reversed")
        assert how == "reversed"
        return
    loss = (d * d * const(weight)).sum()
    np.testing.assert_allclose(float(loss), plain(v.numpy()))
    if write == "fill_" and how != "transposed in place":
        assert loss.stop_gradient
        return
    loss.backward()
    if write != "fill_":
        np.testing.assert_allclose(v.grad.numpy(), slope(plain, v.numpy()), rtol=1e-5, atol=1e-7)
    if how == "transposed in place":
        got = np.zeros_like(base) if x.grad is None else x.grad.numpy()
        np.testing.assert_allclose(got, slope(lambda b: plain(v.numpy(), b), base), rtol=1e-5, atol=1e-7)


def test_s5_12_the_node_of_a_saved_input_lives_as_long_as_its_consumer():
    """The tensor may go; the consumer's edge keeps its history, also for the gradient of the gradient."""
    at = np.array([0.3, 0.7])
    x = leaf(at)
    y = x * x
    z = y.sin()
    del y
    (first,) = paddle.grad(z.sum(), [x], create_graph=True)
    del z
    np.testing.assert_allclose(first.numpy(), 2 * at * np.cos(at ** 2), rtol=1e-12)
    (second,) = paddle.grad(first.sum(), [x])
    np.testing.assert_allclose(second.numpy(), 2 * np.cos(at ** 2) - 4 * at ** 2 * np.sin(at ** 2), rtol=1e-12)


# ---- attributes that are objects ---------------------------------------------------------------------------------------------------------

def _index(make, change):
    """index_put at 0 and 1: the gradient of those elements goes to the values, whatever becomes of the index afterwards."""
    def run():
        x, v = leaf([1.0, 2.0, 3.0]), leaf([5.0, 6.0])
        given = make()
        y = paddle.index_put(x, given, v)
        change(given)
        (y * const([10.0, 20.0, 30.0])).sum().backward()
        return [x.grad.tolist(), v.grad.tolist()]
    return run, [[0.0, 0.0, 30.0], [10.0, 20.0]]


def _one_of(op, keyword, value, change, want):
    def run():
        x = leaf([[1.0, 2.0], [3.0, 4.0]])
        y = op(x, **{keyword: value})
        change(value)
        (y * const([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        return x.grad.tolist()
    return run, want


def _twos(arrays):
    (arrays[0] if isinstance(arrays, list | tuple) else arrays)[:] = type(arrays[0])([2, 2]) if isinstance(arrays[0], list) else 2


ATTRIBUTES = {
    "array": _index(lambda: (np.array([0, 1]),), _twos),
    "array alone": _index(lambda: np.array([0, 1]), lambda given: given.fill(2)),
    "list in a tuple": _index(lambda: ([0, 1],), _twos),
    "list of tensors": _index(lambda: [paddle.to_tensor(np.array([0, 1]))], lambda given: given.__setitem__(0, None)),
    "tensor": _index(lambda: (paddle.to_tensor(np.array([0, 1])),), lambda given: given[0].fill_(2)),
    "mask": _index(lambda: (np.array([True, True, False]),), lambda given: np.copyto(given[0], [False, True, True])),
    "buffer": _index(lambda: (memoryview(bytearray(np.array([0, 1]).tobytes())).cast("q"),), lambda given: given[0].__setitem__(0, 2)),
    "axis": _one_of(lambda x, axis: x.cumsum(axis), "axis", np.array(0), lambda axis: axis.fill(1), [[4.0, 6.0], [3.0, 4.0]]),
    "factor": _one_of(lambda x, alpha: (x * 0.0).index_add(paddle.to_tensor(np.array([0, 1])), 0, x, alpha), "alpha", np.array(2.0),
                      lambda alpha: alpha.fill(7.0), [[2.0, 4.0], [6.0, 8.0]]),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_s5_3_an_attribute_changed_afterwards_changes_no_gradient(name):
    """Tensors that are saved are checked; a NumPy array, a list or a buffer has no version, so what is kept is a copy."""
    run, want = ATTRIBUTES[name]
    assert run() == want


def test_an_attribute_nested_without_end():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested"):
        paddle.index_put(const([1.0]), endless, const([2.0]))


def test_a_result_is_saved_only_for_a_gradient_that_needs_it():
    """S5.2: x ** n needs its result for the gradient of n alone; x ** 2 keeps x, and no more."""
    from python_api.autograd import graph
    x = paddle.to_tensor(np.array([1.0, 2.0, 3.0]), stop_gradient=False)
    n = paddle.to_tensor(np.array([2.0, 2.0, 2.0]), stop_gradient=False)
    for y, roles in ((x ** 2, {"input 0"}), (x ** n.detach(), {"input 0", "input 1"}), (x.detach() ** n, {"input 0", "input 1", "output"})):
        assert {one.role for one in graph.saved_tensors(y) if one.state != "shape only"} == roles
    y = x.detach() ** n
    loss = y.sum()
    y.zero_()
    with pytest.raises(RuntimeError, match="saved as output of PowGradNode"):
        loss.backward()
    y = x ** 2
    loss = (y * 1.0).sum()
    y.zero_()
    loss.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0, 6.0])
