"""checkpoint: gradients that are those of a plain call, or a refusal. Expected numbers are formulas on NumPy arrays."""
import gc
import threading
import weakref

import numpy as np
import pytest

import python_api as paddle
from python_api.autograd import PyLayer, checkpoint, saved_tensors_hooks

X = np.array([0.5, 0.8, 1.2, 1.5])
OTHER_VALUES = r"\(PermissionDenied\) checkpoint\(\): run again, the function has saved other values"


def leaf(values=X):
    return paddle.to_tensor(np.asarray(values, dtype=np.float64), stop_gradient=False)


class Counted:
    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


def exp_of_square(x):
    return (x * x).exp()


# ---- gradients ---------------------------------------------------------------------------------------------------------------------------

def test_first_and_second_order():
    f, x = Counted(exp_of_square), leaf()
    y = checkpoint(f, x)
    assert f.calls == 1
    e = np.exp(X * X)
    np.testing.assert_allclose(y.numpy(), e, rtol=1e-15)
    (g,) = paddle.grad(y.sum(), [x], create_graph=True)
    np.testing.assert_allclose(g.numpy(), 2 * X * e, rtol=1e-14)
    (h,) = paddle.grad(g.sum(), [x])
    np.testing.assert_allclose(h.numpy(), (2 + 4 * X * X) * e, rtol=1e-14)


def test_one_more_run_for_each_backward():
    f, x = Counted(exp_of_square), leaf()
    y = checkpoint(f, x).sum()
    y.backward(retain_graph=True)
    assert f.calls == 2
    y.backward()
    assert f.calls == 3
    np.testing.assert_allclose(x.grad.numpy(), 4 * X * np.exp(X * X), rtol=1e-14)


def test_captured_parameters_and_arguments_in_structures():
    w, a, b, c = leaf(), leaf(), leaf(), leaf()

    def f(pair, *, options, scale=1.0):
        return paddle.exp(pair[0] * w) * pair[1] * options["c"] * scale

    checkpoint(f, (a, b), options={"c": c}, scale=2.0).sum().backward()
    e = np.exp(X * X)
    np.testing.assert_allclose(w.grad.numpy(), 2 * X**3 * e, rtol=1e-14)
    np.testing.assert_allclose(a.grad.numpy(), 2 * X**3 * e, rtol=1e-14)
    np.testing.assert_allclose(b.grad.numpy(), 2 * X * e, rtol=1e-14)
    np.testing.assert_allclose(c.grad.numpy(), 2 * X * e, rtol=1e-14)


def test_constants_and_no_grad_are_a_plain_call():
    f = Counted(exp_of_square)
    with paddle.no_grad():
        assert checkpoint(f, leaf()).stop_gradient
    assert checkpoint(f, paddle.to_tensor(X)).stop_gradient
    assert f.calls == 2


def test_in_place_operations_on_what_the_function_makes():
    def f(x):
        u = paddle.zeros([4, 4], dtype="float64")
        u[0] = x
        for t in range(3):
            u[t + 1] = u[t] * x
        v = u[3] * 1.0
        v.sin_()
        v[1:].scale_(2.0)
        return v

    x = leaf()
    y = checkpoint(f, x)
    factor = np.array([1.0, 2, 2, 2])
    np.testing.assert_allclose(y.numpy(), factor * np.sin(X**4), rtol=1e-14)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), factor * 4 * X**3 * np.cos(X**4), rtol=1e-14)


def test_what_the_caller_does_to_the_result_in_place():
    x = leaf()
    y = checkpoint(lambda a: a.sin(), x)
    y.scale_(3.0)
    y[0] = 7.0
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * np.cos(X) * [0, 1, 1, 1], rtol=1e-15)


def test_an_overwritten_saved_value_inside_is_an_error_as_without():
    def f(x):
        h = x * 1.0
        z = h * h
        h.scale_(10.0)
        return z

    x = leaf()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        f(x).sum().backward()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        checkpoint(f, x).sum().backward()
    assert x.grad is None


def test_an_overwritten_result_whose_value_is_needed():
    """exp keeps its output. Without a checkpoint the write is an error; the second run has the value as it was."""
    x = leaf()
    y = checkpoint(lambda a: a.exp(), x)
    y.scale_(3.0)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * np.exp(X), rtol=1e-15)


def test_views_as_arguments_and_a_chain_of_rows():
    v = leaf(X[:2])
    u = paddle.zeros([4, 2], dtype="float64")
    u[0] = v
    for t in range(3):
        u[t + 1] = checkpoint(lambda row: row**3, u[t])
    u[3].sum().backward()
    np.testing.assert_allclose(v.grad.numpy(), 27 * X[:2] ** 26, rtol=1e-13)


def test_nested():
    inner = Counted(lambda a: a.exp() * a)
    outer = Counted(lambda a: checkpoint(inner, a.sin()).square())
    x = leaf()
    (g,) = paddle.grad(checkpoint(outer, x).sum(), [x], create_graph=True)
    s, c = np.sin(X), np.cos(X)
    np.testing.assert_allclose(g.numpy(), 2 * s * np.exp(2 * s) * (1 + s) * c, rtol=1e-14)
    assert outer.calls == 2
    (h,) = paddle.grad(g.sum(), [x])
    from differences import slope
    np.testing.assert_allclose(h.numpy(), slope(lambda a: (2 * np.sin(a) * np.exp(2 * np.sin(a)) * (1 + np.sin(a)) * np.cos(a)).sum(), X),
                               rtol=1e-6)


def test_a_function_that_takes_gradients_itself():
    def f(x):
        (g,) = paddle.grad((x**3).sum(), [x], create_graph=True)
        return g * x

    x = leaf()
    checkpoint(f, x * 1.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 9 * X**2, rtol=1e-14)


def test_a_custom_function_inside():
    class Exp_(PyLayer):  # noqa: N801
        @staticmethod
        def forward(ctx, x):
            x.exp_()
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensor()[0]

    x = leaf()
    checkpoint(lambda a: Exp_.apply(a * 2.0) * a, x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(2 * X) * (1 + 2 * X), rtol=1e-14)


def test_hooks_around_a_checkpoint_do_not_see_inside():
    packed, x = [], leaf()
    with saved_tensors_hooks(lambda t: packed.append(t) or t.numpy(), paddle.to_tensor):
        y = checkpoint(exp_of_square, x)
        assert packed == []
        z = y.sin()
        assert len(packed) == 1
    z.sum().backward()
    e = np.exp(X * X)
    np.testing.assert_allclose(x.grad.numpy(), np.cos(e) * e * 2 * X, rtol=1e-13)


def test_a_part_of_the_graph_first():
    """grad() of one input runs a part of the nodes; the rest comes later."""
    a, b = leaf(), leaf()
    y = checkpoint(lambda p, q: p.exp() * q.sin(), a, b).sum()
    (g,) = paddle.grad(y, [a], retain_graph=True)
    np.testing.assert_allclose(g.numpy(), np.exp(X) * np.sin(X), rtol=1e-15)
    y.backward()
    np.testing.assert_allclose(b.grad.numpy(), np.exp(X) * np.cos(X), rtol=1e-15)


# ---- random numbers ----------------------------------------------------------------------------------------------------------------------

def noisy(x):
    mask = (paddle.rand([4]).astype("float64") > 0.5).astype("float64")
    noise = paddle.zeros([4], dtype="float64").uniform_(0.0, 1.0)
    return (x * mask + noise).square() + paddle.nn.functional.dropout(x * x, 0.5)


def test_random_numbers_repeat_and_the_generator_goes_on_from_where_it_was():
    paddle.seed(3)
    x = leaf()
    plain = noisy(x)
    after = paddle.rand([3]).numpy()
    (expected,) = paddle.grad(plain.sum(), [x])
    paddle.seed(3)
    y = checkpoint(noisy, x)
    np.testing.assert_array_equal(y.numpy(), plain.numpy())
    (g,) = paddle.grad(y.sum(), [x], retain_graph=True)
    np.testing.assert_array_equal(g.numpy(), expected.numpy())
    np.testing.assert_array_equal(paddle.rand([3]).numpy(), after)           # as if backward had drawn none
    (g,) = paddle.grad(y.sum(), [x])
    np.testing.assert_array_equal(g.numpy(), expected.numpy())


def test_the_gradient_belongs_to_the_noise_of_forward():
    paddle.seed(11)
    x, seen = leaf(), []

    def f(a):
        seen.append(paddle.rand([4], dtype="float64"))
        return (a * seen[-1]).exp()

    y = checkpoint(f, x)
    paddle.rand([100])
    y.sum().backward()
    r = seen[0].numpy()
    np.testing.assert_allclose(x.grad.numpy(), r * np.exp(X * r), rtol=1e-14)


def test_a_function_that_sets_the_seed():
    def f(a):
        paddle.seed(5)
        return (a * paddle.rand([4], dtype="float64")).exp()

    x = leaf()
    y = checkpoint(f, x)
    paddle.seed(9)
    expected = paddle.rand([2]).numpy()
    paddle.seed(9)
    y.sum().backward()
    np.testing.assert_array_equal(paddle.rand([2]).numpy(), expected)


def test_an_exception_in_the_second_run_leaves_the_generator_alone():
    calls = []

    def f(a):
        calls.append(paddle.rand([4]))
        if len(calls) == 2:
            raise KeyError("second")
        return a.exp()

    x = leaf()
    paddle.seed(1)
    y = checkpoint(f, x)
    expected = paddle.rand([2]).numpy()
    paddle.seed(1)
    paddle.rand([4])
    with pytest.raises(KeyError, match="second"):
        y.sum().backward()
    np.testing.assert_array_equal(paddle.rand([2]).numpy(), expected)
    assert x.grad is None


@pytest.mark.parametrize("function", [
    lambda a: (a * paddle.to_tensor(np.random.rand(4))).exp(),
    lambda a: (a * paddle.rand([4], dtype="float64")).exp(),
], ids=["numpy", "not preserved"])
def test_other_random_numbers_are_noticed(function):
    x = leaf()
    y = checkpoint(function, x, preserve_rng_state=False)
    with pytest.raises(RuntimeError, match=OTHER_VALUES):
        y.sum().backward()
    assert x.grad is None


# ---- what cannot be done exactly ---------------------------------------------------------------------------------------------------------

def test_a_write_to_an_argument_is_refused_before_it_is_made():
    x = leaf()
    for write in (lambda a: a.scale_(2.0), lambda a: a[1:].zero_(), lambda a: a.detach().exp_(), lambda a: a.__setitem__(0, 1.0)):
        y = x * 1.0
        node = y.grad_fn
        with pytest.raises(RuntimeError, match=r"\(PermissionDenied\) checkpoint\(\): the function writes in place to memory"):
            checkpoint(lambda a, write=write: (write(a), a * 2.0)[1], y)
        np.testing.assert_array_equal(y.numpy(), X)
        assert y.inplace_version == 0 and y.grad_fn is node
    y.scale_(2.0)                                        # the guard is gone


def test_a_write_to_a_captured_tensor_is_refused():
    count = paddle.zeros([1])

    def f(a):
        with paddle.no_grad():
            count.add_(1.0)
        return a.exp()

    with pytest.raises(RuntimeError, match=r"checkpoint\(\): the function writes in place .* of shape \[1\] that was there before"):
        checkpoint(f, leaf())
    assert count.item() == 0.0


def test_an_argument_that_was_modified_since():
    x = leaf()
    a = x * 1.0
    y = checkpoint(lambda t: (t + 1.0).exp(), a)
    a.scale_(2.0)
    with pytest.raises(RuntimeError, match=r"checkpoint\(\): an argument, a tensor \(\) of shape \[4\], has been modified by an inplace"):
        y.sum().backward()
    assert x.grad is None


def test_a_captured_tensor_that_was_modified_since():
    """The step of an optimizer between forward and backward; w itself is not saved by an addition."""
    for f in (lambda a, w: (a + w).exp(), lambda a, w: a * w):
        x, w = leaf(), leaf()
        y = checkpoint(lambda a, f=f, w=w: f(a, w), x)
        with paddle.no_grad():
            w.scale_(1.5)
        with pytest.raises(RuntimeError, match=f"{OTHER_VALUES}|modified by an inplace operation"):
            y.sum().backward()
        assert x.grad is None and w.grad is None


def test_a_captured_value_that_does_not_matter_may_change():
    x, w = leaf(), leaf()
    y = checkpoint(lambda a: a.sin() + w, x)
    with paddle.no_grad():
        w.scale_(1.5)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(X), rtol=1e-15)
    np.testing.assert_array_equal(w.grad.numpy(), np.ones(4))


@pytest.mark.parametrize("second", [lambda a: a * 2.0, lambda a: a.exp().exp(), lambda a: a.astype("float32").exp().astype("float64")],
                         ids=["fewer", "more", "dtype"])
def test_a_function_that_does_something_else_the_second_time(second):
    calls = []

    def f(a):
        calls.append(1)
        return a.exp() if len(calls) == 1 else second(a)

    x = leaf()
    y = checkpoint(f, x)
    with pytest.raises(RuntimeError, match=OTHER_VALUES):
        y.sum().backward()


def test_what_cannot_be_called():
    with pytest.raises(TypeError, match=r"\(InvalidType\) checkpoint\(\): function must be callable, but got int"):
        checkpoint(3, leaf())


def test_an_exception_of_the_function_passes_through():
    error = ZeroDivisionError("f")

    def f(a):
        raise error

    with pytest.raises(ZeroDivisionError) as caught:
        checkpoint(f, leaf())
    assert caught.value is error
    x = leaf()
    y = x.exp()                                          # no block is left open
    y.scale_(2.0)
    with pytest.raises(RuntimeError, match="modified"):
        y.sum().backward()


# ---- memory and threads ------------------------------------------------------------------------------------------------------------------

def test_the_values_are_not_kept():
    made = []

    def f(a):
        h = a.exp()
        made.append(weakref.ref(h))
        return h.sin().sum()

    from eager_core import allocator
    x = leaf(np.full(1 << 16, 0.5))
    before = allocator.memory_in_use() if hasattr(allocator, "memory_in_use") else None
    y = checkpoint(f, x)
    assert made[0]() is None
    if before is not None:
        assert allocator.memory_in_use() - before < x.size * 8
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(np.exp(0.5)) * np.exp(0.5), rtol=1e-14)


def test_it_is_freed_by_reference_counts_and_cycles_are_collected():
    class Function:
        held = None

        def __call__(self, a):
            return a.exp()

    def make(tie):
        function, x = Function(), leaf()
        y = checkpoint(function, x)
        if tie:
            function.held = y
        return weakref.ref(function)

    gc.collect()
    gc.disable()
    try:
        assert make(False)() is None
        gone = make(True)
        assert gone() is not None
    finally:
        gc.enable()
    gc.collect()
    assert gone() is None


def test_a_result_that_goes_back_into_an_argument_is_no_cycle():
    def make():
        y = leaf() * 1.0
        y.add_(checkpoint(exp_of_square, y))
        return weakref.ref(y)

    gc.collect()
    gc.disable()
    try:
        assert make()() is None
    finally:
        gc.enable()


def test_backward_in_several_threads():
    xs = [leaf(X + k) for k in range(8)]
    ys = [checkpoint(noisy, x) for x in xs]
    expected = [paddle.grad(y.sum(), [x], retain_graph=True)[0].numpy() for x, y in zip(xs, ys, strict=True)]
    threads = [threading.Thread(target=y.sum().backward) for y in ys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for x, g in zip(xs, expected, strict=True):
        np.testing.assert_array_equal(x.grad.numpy(), g)
