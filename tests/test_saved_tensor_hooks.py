"""saved_tensors_hooks: S12.1 to S12.3, and what S2.6 says of a pack hook that fails. Expected numbers are formulas on NumPy arrays."""
import gc
import threading
import weakref

import numpy as np
import pytest

import python_api as paddle
from python_api.autograd import saved_tensors_hooks

X = np.array([0.5, 0.8, 1.2, 1.5])
VERSION_ERROR = r"\(PermissionDenied\) Tensor '.*' used in gradient computation has been modified by an inplace operation"


def leaf(values=X):
    return paddle.to_tensor(np.asarray(values, dtype=np.float64), stop_gradient=False)


def to_numpy():
    return saved_tensors_hooks(lambda t: t.numpy(), paddle.to_tensor)


def identity():
    return saved_tensors_hooks(lambda t: t, lambda t: t)


class Counting:
    """A pair of copying hooks that counts its calls."""

    def __init__(self):
        self.packed, self.unpacked = [], 0

    def pack(self, t):
        self.packed.append(t.numpy())
        return t.numpy()

    def unpack(self, array):
        self.unpacked += 1
        return paddle.to_tensor(array)

    def block(self):
        return saved_tensors_hooks(self.pack, self.unpack)


# ---- S12.1: when they are called ---------------------------------------------------------------------------------------------------------

def test_pack_once_per_save_and_unpack_at_each_use():
    hooks, x = Counting(), leaf()
    with hooks.block():
        z = paddle.multiply(x, x)                        # two saves
        y = x.exp()                                      # one: its output
    assert len(hooks.packed) == 3 and hooks.unpacked == 0
    np.testing.assert_array_equal(hooks.packed[2], np.exp(X))
    (z + y).sum().backward(retain_graph=True)
    np.testing.assert_allclose(x.grad.numpy(), 2 * X + np.exp(X), rtol=1e-15)
    assert hooks.unpacked == 3
    (z + y).sum().backward()
    assert hooks.unpacked == 6
    np.testing.assert_allclose(x.grad.numpy(), 2 * (2 * X + np.exp(X)), rtol=1e-15)


@pytest.mark.parametrize("operation", [lambda x: x + x, lambda x: x.sum(), lambda x: x.reshape([2, 2]), lambda x: x[1:3],
                                       lambda x: x * 2.0])
def test_values_of_which_only_the_shape_is_kept_are_not_packed(operation):
    hooks = Counting()
    with hooks.block():
        operation(leaf())
    assert hooks.packed == []


def test_nothing_is_packed_without_a_recorded_operation():
    hooks = Counting()
    with hooks.block():
        paddle.to_tensor(X).exp()
        with paddle.no_grad():
            leaf().exp()
    leaf().exp()
    assert hooks.packed == []


def test_the_innermost_pair_wins_and_the_outer_one_comes_back():
    outer, inner, x = Counting(), Counting(), leaf()
    with outer.block():
        with inner.block():
            a = x.exp()
        b = x.exp()
    assert len(inner.packed) == len(outer.packed) == 1
    (a + b).sum().backward()
    assert inner.unpacked == outer.unpacked == 1
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(X), rtol=1e-15)


def test_the_same_block_may_be_entered_again_and_nested_in_itself():
    hooks, x = Counting(), leaf()
    block = hooks.block()
    with block:
        with block:
            x.exp()
        x.exp()
    with block:
        x.exp()
    x.exp()
    assert len(hooks.packed) == 3


def test_an_exception_closes_the_block():
    """P: one raising pack hook makes every later block a silent no-op."""
    def fail(t):
        raise KeyError("pack")

    hooks, x = Counting(), leaf()
    with pytest.raises(KeyError, match="pack"), saved_tensors_hooks(fail, lambda t: t):
        x.exp()
    with pytest.raises(ZeroDivisionError), hooks.block():
        1 / 0
    x.exp()
    assert hooks.packed == []
    with hooks.block():
        y = x.exp()
    assert len(hooks.packed) == 1
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(X), rtol=1e-15)


def test_other_threads_are_not_affected():
    hooks, x = Counting(), leaf()

    def elsewhere():
        x.exp()

    with hooks.block():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert hooks.packed == []
        y = x.exp()
    thread = threading.Thread(target=y.sum().backward)      # unpacks where backward runs
    thread.start()
    thread.join()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(X), rtol=1e-15)


def test_a_block_in_a_generator_may_be_left_by_another_thread():
    hooks, x = Counting(), leaf()

    def body():
        with hooks.block():
            yield

    steps = body()
    next(steps)
    thread = threading.Thread(target=steps.close)
    thread.start()
    thread.join()
    x.exp()
    assert hooks.packed == []


def test_hooks_run_unrecorded_and_unpacked():
    modes = []

    def pack(t):
        modes.append((paddle.is_grad_enabled(), t.stop_gradient, t.is_leaf))
        with paddle.enable_grad():
            probe = leaf() * t                           # would call pack again, and again
        return t.numpy() + 0 * probe.numpy()

    def unpack(array):
        modes.append(paddle.is_grad_enabled())
        return paddle.to_tensor(array)

    x = leaf()
    with saved_tensors_hooks(pack, unpack):
        y = (x * 1.0).exp()
        assert paddle.is_grad_enabled()
        (g,) = paddle.grad(y.sum(), [x], create_graph=True)
    assert modes[:2] == [(False, True, True), False]
    np.testing.assert_allclose(g.numpy(), np.exp(X), rtol=1e-15)


@pytest.mark.parametrize("pair", [(None, lambda t: t), (lambda t: t, 3)])
def test_what_cannot_be_called_is_refused(pair):
    with pytest.raises(TypeError, match=r"\(InvalidType\) saved_tensors_hooks\(\): (un)?pack_hook must be callable"):
        saved_tensors_hooks(*pair)


# ---- gradients: every kind of save -------------------------------------------------------------------------------------------------------

def programs():
    w = paddle.to_tensor(np.array([2.0, 3.0, 4.0, 5.0]))
    yield "exp", lambda x: (x * 1.0).exp(), np.exp, np.exp, np.exp
    yield "square", lambda x: x * x, lambda x: x * x, lambda x: 2 * x, lambda x: 2 + 0 * x
    yield "sin_", lambda x: (x * 1.0).sin_(), np.sin, np.cos, lambda x: -np.sin(x)
    yield "exp_", lambda x: (x * 1.0).exp_(), np.exp, np.exp, np.exp
    yield "multiply_", lambda x: (x * 1.0).multiply_(x), lambda x: x * x, lambda x: 2 * x, lambda x: 2 + 0 * x
    yield "self", lambda x: _self_product(x * 1.0), lambda x: x * x, lambda x: 2 * x, lambda x: 2 + 0 * x
    yield "view", lambda x: _square_half(x * 1.0), None, lambda x: x * [1, 1, 0, 0] * 2 + [0, 0, 1, 1], lambda x: np.array([2.0, 2, 0, 0])
    yield "power", lambda x: x.pow(3), lambda x: x**3, lambda x: 3 * x**2, lambda x: 6 * x
    yield "matmul", lambda x: (x.reshape([2, 2]) @ w.reshape([2, 2])), None, lambda x: np.array([5.0, 9, 5, 9]), lambda x: 0 * x


def _self_product(y):
    return y.multiply_(y)


def _square_half(y):
    y[:2].square_()
    return y


@pytest.mark.parametrize("hooks", [to_numpy, identity, lambda: saved_tensors_hooks(lambda t: t.clone(), lambda t: t)],
                         ids=["numpy", "identity", "clone"])
@pytest.mark.parametrize("name, program, value, first, second", list(programs()))
def test_gradients_of_first_and_second_order(name, program, value, first, second, hooks):
    x = leaf()
    with hooks():
        y = program(x)
        if value is not None:
            np.testing.assert_allclose(y.numpy(), value(X), rtol=1e-15)
        (g,) = paddle.grad(y.sum(), [x], create_graph=True)
        np.testing.assert_allclose(g.numpy(), first(X), rtol=1e-14)
        if not g.stop_gradient:
            (h,) = paddle.grad(g.sum(), [x], allow_unused=True)
            np.testing.assert_allclose(0 * X if h is None else h.numpy(), second(X), rtol=1e-14, atol=1e-15)
        else:
            np.testing.assert_array_equal(second(X), 0 * X)


def test_a_copy_makes_a_later_write_legal_and_exact():
    """S12.3, against the version error without hooks."""
    x = leaf()
    with to_numpy():
        a = x * 1.0
        z = a * a
        e = a.exp()
    a.scale_(10.0)
    e.scale_(10.0)
    z.sum().backward(retain_graph=True)
    np.testing.assert_allclose(x.grad.numpy(), 2 * X, rtol=1e-15)
    x.clear_grad()
    e.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 10 * np.exp(X), rtol=1e-15)


# ---- section 14, items 26 and 50 ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("hide", [lambda t: t, lambda t: [t], lambda t: (t.detach(),), lambda t: lambda: t, lambda t: t.reshape([2, 2])],
                         ids=["itself", "list", "detached", "closure", "view"])
@pytest.mark.parametrize("output", [False, True], ids=["input", "output"])
def test_14_26_an_identity_pair_keeps_the_version_check(hide, output):
    """P, T: the gradient is 10 times too big."""
    def show(packed):
        t = packed if isinstance(packed, paddle.Tensor) else packed() if callable(packed) else packed[0]
        return t.reshape([4])

    x = leaf()
    with saved_tensors_hooks(hide, show):
        a = x * 1.0
        b = a.exp() if output else a
        z = b if output else a * a
    b.scale_(10.0)
    with pytest.raises(RuntimeError, match=VERSION_ERROR + ".*packed without being copied"):
        z.sum().backward()
    assert x.grad is None


def test_14_26_in_place_operations_keep_it_too():
    x = leaf()
    with identity():
        y = (x * 1.0).exp_()
        z = y.sigmoid_()                                 # overwrites what exp_ has saved
    with pytest.raises(RuntimeError, match=VERSION_ERROR):
        z.sum().backward()


def test_the_region_rule_holds_for_an_identity_pair():
    """S5.13: only other elements of the memory have been written."""
    v = leaf(np.array([0.3, 0.4]))
    with identity():
        u = paddle.zeros([4, 2], dtype="float64")
        u[0] = v
        for t in range(3):
            u[t + 1] = u[t] + paddle.sin(u[t]) * 0.1
    u[3].sum().backward()
    value, factor = np.array([0.3, 0.4]), 1.0
    for _ in range(3):
        factor, value = factor * (1 + 0.1 * np.cos(value)), value + 0.1 * np.sin(value)
    np.testing.assert_allclose(v.grad.numpy(), factor, rtol=1e-15)


def test_a_write_to_the_tensor_that_pack_returned_is_seen():
    """A buffer that packs into one place, and is used again too early."""
    buffer, x = paddle.zeros([4], dtype="float64"), leaf()

    def pack(t):
        buffer.copy_(t)
        return buffer

    with saved_tensors_hooks(pack, lambda t: t):
        y = x.sin()
        z = x.exp()
    z.sum().backward()
    with pytest.raises(RuntimeError, match=VERSION_ERROR):
        y.sum().backward()


@pytest.mark.parametrize("answer, error, text", [
    (lambda t: paddle.to_tensor(100.0, dtype="float64"), ValueError, r"shape \[\] for one of shape \[4\]"),
    (lambda t: paddle.ones([1], dtype="float64"), ValueError, r"shape \[1\] for one of shape \[4\]"),
    (lambda t: t.reshape([2, 2]), ValueError, r"shape \[2, 2\] for one of shape \[4\]"),
    (lambda t: t.astype("float32"), TypeError, "dtype float32 for one of dtype float64"),
    (lambda t: t.numpy(), TypeError, r"must return a Tensor, but got numpy\.ndarray"),
    (lambda t: None, TypeError, "must return a Tensor, but got NoneType"),
])
def test_14_50_unpack_must_give_back_shape_and_dtype(answer, error, text):
    """T uses whatever broadcasts, [100, 100] for [2, 4]."""
    x = leaf()
    with saved_tensors_hooks(lambda t: t.clone(), answer):
        y = x * x
    with pytest.raises(error, match=text + r".* input [01] of MultiplyGradNode"):
        y.sum().backward()
    assert x.grad is None


# ---- hooks that fail ---------------------------------------------------------------------------------------------------------------------

def test_a_pack_hook_that_writes_to_its_argument_is_an_error():
    x = leaf()
    with pytest.raises(RuntimeError, match=r"\(PermissionDenied\) the pack hook has modified its argument in place"), \
            saved_tensors_hooks(lambda t: t.zero_(), lambda t: t):
        (x * 1.0).exp()


class RefusalError(Exception):
    pass


@pytest.mark.parametrize("operation", ["exp_", "sin_", "multiply_", "sqrt_", "pow_", "cumsum_", "relu_"])
@pytest.mark.parametrize("part", [False, True], ids=["whole", "view"])
@pytest.mark.parametrize("nth", [1, 2])
def test_s2_6_a_pack_hook_that_fails_leaves_an_in_place_operation_undone(operation, part, nth):
    """P, T: new data, version 1."""
    calls = []

    def pack(t):
        calls.append(t)
        if len(calls) == nth:
            raise RefusalError(operation)
        return t.numpy()

    x = leaf()
    y = x * 1.0
    saver = y.sin()                                      # a snapshot from before
    target = y[1:3] if part else y
    other = [x[1:3] if part else x] if operation == "multiply_" else [3.0] if operation == "pow_" else [0] if operation == "cumsum_" else []
    state = (y.inplace_version, y.stop_gradient, y.is_leaf, y.grad_fn, target.grad_fn)
    with saved_tensors_hooks(pack, paddle.to_tensor):
        try:
            getattr(target, operation)(*other)
        except RefusalError as error:
            assert error.args == (operation,)
        else:
            assert len(calls) < nth, "it has no second save"
            return
    calls.clear()                                        # they share the memory
    np.testing.assert_array_equal(y.numpy(), X)
    assert state == (y.inplace_version, y.stop_gradient, y.is_leaf, y.grad_fn, target.grad_fn)
    (saver + y).sum().backward()                         # history and snapshot are as they were
    np.testing.assert_allclose(x.grad.numpy(), np.cos(X) + 1, rtol=1e-15)


def test_what_a_failing_pack_hook_has_recorded_does_not_survive_in_silence():
    """The hook makes a node that saves the new value, which is then taken back."""
    kept, x, w = [], leaf(), leaf(np.ones(4))
    y = x * 1.0

    def pack(t):
        with paddle.enable_grad():
            kept.append(w * t)
        raise RefusalError

    with pytest.raises(RefusalError), saved_tensors_hooks(pack, lambda t: t):
        y.exp_()
    np.testing.assert_array_equal(y.numpy(), X)
    with pytest.raises(RuntimeError, match=VERSION_ERROR):
        kept[0].sum().backward()


def test_a_pack_hook_that_writes_to_the_target_is_refused_and_the_value_comes_back():
    x = leaf()
    y = x * 1.0
    with pytest.raises(RuntimeError, match=r"sin_\(\): the pack hook has modified the tensor"), \
            saved_tensors_hooks(lambda t: (y.add_(1.0), t.numpy())[1], paddle.to_tensor):
        y.sin_()
    np.testing.assert_array_equal(y.numpy(), X)


def test_a_pack_hook_that_rebinds_the_target_is_refused():
    x = leaf()
    y = x * 1.0

    def pack(t):
        y.data = paddle.zeros([4], dtype="float64")
        return t.numpy()

    with pytest.raises(RuntimeError, match=r"exp_\(\): the pack hook has modified the tensor"), saved_tensors_hooks(pack, paddle.to_tensor):
        y.exp_()


def test_an_exception_of_unpack_passes_through_and_leaves_gradients_alone():
    """S1.13, S9.22."""
    error = RefusalError("unpack")

    def unpack(array):
        raise error

    x = leaf()
    with saved_tensors_hooks(lambda t: t.numpy(), unpack):
        y = x.exp()
    with pytest.raises(RefusalError) as caught:
        (x * 3.0 + y).sum().backward()
    assert caught.value is error and x.grad is None and paddle.is_grad_enabled()
    (x * 3.0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 3.0))


# ---- lifetime ----------------------------------------------------------------------------------------------------------------------------

def test_memory_that_was_copied_away_is_let_go():
    x = leaf(np.ones(1000))
    with saved_tensors_hooks(lambda t: None, lambda nothing: paddle.ones([1000], dtype="float64")):
        a = x * 1.0
        gone = weakref.ref(a)
        y = a.sin()
        del a
        assert gone() is None
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(1000, np.cos(1.0)), rtol=1e-15)


def test_what_was_packed_goes_with_the_graph():
    class Content:
        pass

    alive = []

    def pack(t):
        content = Content()
        alive.append(weakref.ref(content))
        content.array = t.numpy()
        return content

    x = leaf()
    with saved_tensors_hooks(pack, lambda content: paddle.to_tensor(content.array)):
        y, z = x.exp(), x.sin()
    y.sum().backward()                                   # cleared
    assert alive[0]() is None and alive[1]() is not None
    del z
    assert alive[1]() is None


def test_a_cycle_through_a_hook_is_collected():
    """Issue: tensor - node - what was packed - tensor."""
    def make():
        x, held = leaf(), []
        with saved_tensors_hooks(lambda t: (held, t.numpy()), lambda packed: paddle.to_tensor(packed[1])):
            y = x.exp()
        held.append(y)
        return weakref.ref(y)

    gc.collect()
    gone = make()
    assert gone() is not None
    gc.collect()
    assert gone() is None


def test_a_block_that_was_never_left_does_not_reach_into_later_threads():
    def leave_open():
        to_numpy().__enter__()

    hooks = Counting()

    def use():
        with hooks.block():
            pass
        leaf().exp()

    for work in (leave_open, use):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert hooks.packed == []
