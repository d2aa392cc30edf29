"""In-place operations: the reference programs, order of work, leaf check, versions, own inputs and outputs, shapes, dtypes, overlap
(S2, S3, S4, S6, S7). Expected numbers come from formulas, NumPy or central differences."""
import copy
import pickle

import numpy as np
import pytest
from differences import slope

import python_api as paddle
from python_api import _test_eager_guard

VERSION = "used in gradient computation has been modified by an inplace operation"


def const(values, dtype="float64"):
    return paddle.to_tensor(np.array(values, dtype=dtype))


def leaf(values, dtype="float64"):
    return paddle.to_tensor(np.array(values, dtype=dtype), stop_gradient=False)


def close(got, want):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-6, atol=1e-8)


# ---- the three reference programs ------------------------------------------------------------------------------------------------------

def test_reference_program_1():
    with _test_eager_guard():
        start = np.array([[0.25, -0.5], [1.0, 0.1]], dtype="float32")
        a = paddle.to_tensor(start)
        a.stop_gradient = False
        b = a * 2
        c = b ** 2
        d = c.exp_()
        d.sum().backward()
        assert c.inplace_version == 1
        assert id(c) == id(d)
        u = start.astype("float64")
        np.testing.assert_allclose(a.grad.numpy(), np.exp(4 * u * u) * 8 * u, rtol=1e-5)
        a2 = paddle.to_tensor(start, stop_gradient=False)
        paddle.exp((a2 * 2) ** 2).sum().backward()
        np.testing.assert_array_equal(a.grad.numpy(), a2.grad.numpy())


def test_reference_program_2():
    with _test_eager_guard():
        start = np.ones([2, 2], dtype="float32")
        a = paddle.to_tensor(start)
        a.stop_gradient = False
        with pytest.raises(ValueError) as caught:
            a.reshape_([-1])
        assert str(caught.value).startswith("(InvalidArgument) Leaf Var () that doesn't stop gradient can't use inplace strategy.")
        assert a.shape == [2, 2]
        assert a.inplace_version == 0
        assert a.is_leaf
        assert not a.stop_gradient
        np.testing.assert_array_equal(a.numpy(), start)


def test_reference_program_3():
    with _test_eager_guard():
        a = paddle.to_tensor([[1.0, 2.0]])
        a.stop_gradient = False
        b = a * 2
        c = b ** 2
        b.exp_()
        with pytest.raises(RuntimeError) as caught:
            c.sum().backward()
        assert str(caught.value).startswith(
            "(PermissionDenied) Tensor '' used in gradient computation has been modified by an inplace operation. Its version is 1 but the "
            "expected version is 0. Please fix your code to void calling an inplace operator after using the Tensor which will used in "
            "gradient computation.")
        assert a.grad is None
        assert b.inplace_version == 1


# ---- S2: order -------------------------------------------------------------------------------------------------------------------------

def test_s2_2_parsing_then_leaf_then_shape():
    x = leaf([1.0, 2.0])
    bad_shape = const(np.ones(3))
    with pytest.raises(TypeError, match="InvalidType"):
        x.add_("a")
    with pytest.raises(ValueError, match="Leaf Var"):
        x.add_(bad_shape)
    with pytest.raises(ValueError, match="Leaf Var"):
        x.reshape_([7])
    with pytest.raises(ValueError, match="Leaf Var"):
        x.add_(const([1 + 1j, 2], "complex128"))
    with pytest.raises(ValueError, match="Leaf Var"):
        x[17] = 1.0
    with pytest.raises(ValueError, match="Leaf Var"):
        x.copy_(bad_shape)
    x.stop_gradient = True
    with pytest.raises(ValueError, match="Broadcast"):
        x.add_(bad_shape)


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "sqrt", "rsqrt", "reciprocal", "relu"])
def test_s2_3_own_output_is_saved_after_the_bump(name):
    """A view taken before shares the counter, the snapshot is the new version: backward is quiet, and right."""
    functions = {"exp": np.exp, "tanh": np.tanh, "sigmoid": lambda v: 1 / (1 + np.exp(-v)), "sqrt": np.sqrt, "rsqrt": lambda v: v ** -0.5,
                 "reciprocal": lambda v: 1 / v, "relu": lambda v: np.maximum(v, 0)}
    start = np.array([0.3, 0.7, 1.9])
    x = leaf(start)
    y = x * 1.0
    getattr(y, name + "_")()
    assert y.inplace_version == 1
    y.sum().backward()
    close(x.grad.numpy(), slope(lambda v: functions[name](v).sum(), start))
    x.clear_grad()
    y = x * 1.0
    getattr(y, name + "_")()
    z = y.sum()
    y.add_(1.0)
    with pytest.raises(RuntimeError, match="Its version is 2 but the expected version is 1"):
        z.backward()


SHAPES = {"reshape_": ([4],), "squeeze_": (), "unsqueeze_": (0,), "flatten_": (), "transpose_": ([2, 1, 0],)}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_s2_4_shape_changes_move_no_data_and_bump_once(name):
    want = {"reshape_": [4], "squeeze_": [2, 2], "unsqueeze_": [1, 2, 1, 2], "flatten_": [4], "transpose_": [2, 1, 2]}[name]
    start = np.arange(4.0).reshape(2, 1, 2) + 0.5
    x = leaf(start)
    y = x * 1.0
    data, total = y.sin().sum(), y.sum()
    assert getattr(y, name)(*SHAPES[name]) is y
    assert y.shape == want
    assert y.inplace_version == 1
    assert not y.is_leaf
    with pytest.raises(RuntimeError, match=VERSION):
        data.backward()
    total.backward()                                        # needs the shape only: that which it saw
    np.testing.assert_array_equal(x.grad.numpy(), np.ones([2, 1, 2]))
    w = np.arange(4.0).reshape(want)
    x.clear_grad()
    y = x * 1.0
    getattr(y, name)(*SHAPES[name])
    (y * const(w)).sum().backward()
    change = {"transpose_": lambda v: v.transpose(2, 1, 0)}.get(name, lambda v: v.reshape(want))
    close(x.grad.numpy(), slope(lambda v: (change(v) * w).sum(), start))


def test_s2_4_t_():
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = x * 1.0
    assert y.t_() is y
    assert y.shape == [3, 2]
    assert y.inplace_version == 1
    w = np.arange(6.0).reshape(3, 2)
    (y * const(w)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), w.T)


def test_s2_5_every_completed_call_bumps_once():
    x = const(np.ones([2, 3]))
    for n, act in enumerate((lambda: x.reshape_(x.shape), lambda: x.squeeze_(), lambda: x.flatten_(0, 0), lambda: x.transpose_([0, 1]),
                             lambda: x.scale_(1.0), lambda: x.cast_("float64"), lambda: x.copy_(x), lambda: x.clip_()), 1):
        act()
        assert x.inplace_version == n
        assert x.shape == [2, 3]
    y = leaf(np.ones([2, 3])) * 1.0
    y.reshape_([2, 3])
    assert y.inplace_version == 1


def test_s2_7_a_failed_backward_changes_no_version():
    x = leaf([1.0, 2.0])
    y = x * 1.0
    z = y.sin().sum()
    y.add_(1.0)
    with pytest.raises(RuntimeError):
        z.backward()
    assert (x.inplace_version, y.inplace_version, z.inplace_version) == (0, 1, 0)
    assert x.grad is None


# ---- S3: leaf check --------------------------------------------------------------------------------------------------------------------

ON_LEAF = {
    "add_": lambda x: x.add_(1.0), "exp_": lambda x: x.exp_(), "fill_": lambda x: x.fill_(1.0), "zero_": lambda x: x.zero_(),
    "copy_": lambda x: x.copy_(const([[1.0, 2.0]])), "reshape_": lambda x: x.reshape_([2]), "squeeze_": lambda x: x.squeeze_(),
    "unsqueeze_": lambda x: x.unsqueeze_(0), "flatten_": lambda x: x.flatten_(), "transpose_": lambda x: x.transpose_([1, 0]),
    "t_": lambda x: x.t_(), "setitem": lambda x: x.__setitem__(0, 1.0), "setitem mask": lambda x: x.__setitem__(np.array([True]), 1.0),
    "setitem list": lambda x: x.__setitem__([0], 1.0), "self": lambda x: x.multiply_(x), "floor_": lambda x: x.floor_(),
    "iadd": lambda x: x.__iadd__(1.0), "itruediv": lambda x: x.__itruediv__(2.0), "cast_": lambda x: x.cast_("float32"),
    "scale_": lambda x: x.scale_(2.0), "clip_": lambda x: x.clip_(0.0, 1.0), "softmax_": lambda x: x.softmax_(),
    "view": lambda x: x[0].add_(1.0), "view of view": lambda x: x.reshape([2])[1:].zero_(),
    "setitem through view": lambda x: x[0].__setitem__(0, 1.0), "empty region": lambda x: x.__setitem__(slice(0, 0), 1.0),
    "equal_": lambda x: x.equal_(x),
}


@pytest.mark.parametrize("what", sorted(ON_LEAF))
def test_s3_1_s3_3_s3_6_leaf(what):
    x = leaf([[0.5, 0.75]])
    x.name = "w"
    with pytest.raises(ValueError, match=r"\(InvalidArgument\) Leaf Var \(w\) that doesn't stop gradient can't use inplace strategy"):
        ON_LEAF[what](x)
    np.testing.assert_array_equal(x.numpy(), [[0.5, 0.75]])
    assert x.inplace_version == 0
    assert x.shape == [1, 2]
    assert x.is_leaf
    assert not x.stop_gradient
    if what == "equal_":
        return                                              # refused for its dtype
    with paddle.no_grad():
        ON_LEAF[what](x)
    if what != "cast_":
        assert x.inplace_version == 1
    assert x.is_leaf
    assert not x.stop_gradient
    assert x.grad_fn is None


def test_s3_2_a_constant_target_joins_the_graph():
    x, buffer = leaf([1.0, 2.0]), const([10.0, 20.0])
    assert buffer.multiply_(x) is buffer
    assert not buffer.stop_gradient
    assert not buffer.is_leaf
    assert buffer.grad_fn is not None
    buffer.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [10.0, 20.0])
    assert buffer.grad is None


def test_s3_3_no_grad_keeps_flags_and_history():
    x, buffer = leaf([1.0, 2.0]), const([0.0, 0.0])
    with paddle.no_grad():
        buffer.add_(x)
        buffer[0] = x[1]
    assert buffer.stop_gradient
    assert buffer.is_leaf
    assert buffer.inplace_version == 2
    y = x * 3.0
    node = y.grad_fn
    with paddle.no_grad():
        y.add_(1.0)
    assert y.inplace_version == 1
    assert not y.stop_gradient
    assert not y.is_leaf
    assert y.grad_fn is node


def test_s3_4_made_under_no_grad_or_detached_then_flagged():
    x = leaf([1.0])
    with paddle.no_grad():
        a = x * 2.0
    b = x.exp().detach()
    for one in (a, b):
        one.stop_gradient = False
        assert one.is_leaf
        with pytest.raises(ValueError, match="Leaf Var"):
            one.add_(1.0)


def test_s3_5_retain_grads_is_no_leaf():
    y = leaf([1.0, 2.0]) * 1.0
    y.retain_grads()
    assert not y.is_leaf
    y.exp_()
    y.sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), [1.0, 1.0])


def test_s3_7_a_write_while_constant_cuts_for_good():
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.stop_gradient = True
    assert not y.is_leaf
    assert (y * 3.0).stop_gradient
    y.stop_gradient = False
    (y * 3.0).sum().backward()                              # revived: nothing was written meanwhile
    np.testing.assert_array_equal(x.grad.numpy(), [6.0, 6.0])
    x.clear_grad(False)
    y = x * 2.0
    y.stop_gradient = True
    y.exp_()
    assert y.is_leaf
    assert y.stop_gradient
    y.stop_gradient = False
    (y * 5.0).sum().backward()
    assert x.grad is None
    np.testing.assert_array_equal(y.grad.numpy(), [5.0, 5.0])


@pytest.mark.parametrize("write", [lambda y: y.__setitem__(0, 1.0), lambda y: y.fill_(0.0), lambda y: y.reshape_([2, 1]),
                                   lambda y: y.__setitem__([0], 1.0), lambda y: y.add_(1.0), lambda y: y[0].add_(1.0),
                                   lambda y: y[0:1].zero_(),
                                   lambda y: y[1].__setitem__(..., 3.0), lambda y: y.clip_(0.0, 1.0),
                                   lambda y: y.floor_(), lambda y: y.softmax_(0)])
def test_s3_7_every_kind_of_write_cuts(write):
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.stop_gradient = True
    write(y)
    assert y.is_leaf
    y.stop_gradient = False
    y.sum().backward()
    assert x.grad is None
    assert y.grad.shape == y.shape


def test_s3_7_a_recorded_write_while_constant():
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * 2.0
    y.stop_gradient = True
    y.multiply_(w)
    assert not y.stop_gradient
    y.sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [2.0, 4.0])
    assert x.grad is None


@pytest.mark.parametrize("value", [0, 1, None, 1.0, "True", np.bool_(True)])
def test_s3_8_stop_gradient_takes_bool_only(value):
    x = const([1.0])
    name = "NoneType" if value is None else f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
    with pytest.raises(TypeError) as caught:
        x.stop_gradient = value
    assert str(caught.value) == f"(InvalidType) argument (position 1) must be bool, but got {name}"
    assert x.stop_gradient is True


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "bool"])
def test_s3_8_integers_cannot_require_grad(dtype):
    x = const([1], dtype)
    with pytest.raises(ValueError, match="InvalidArgument"):
        x.stop_gradient = False
    assert x.stop_gradient
    with pytest.raises(ValueError, match="InvalidArgument"):
        paddle.to_tensor(np.ones(2, dtype), stop_gradient=False)


def test_s3_9_updates_are_seen_by_older_graphs():
    for update in (lambda w: w.set_value(np.array([9.0, 9.0])), lambda w: w.subtract_(const([0.5, 0.5]))):
        w = leaf([1.0, 2.0])
        z = (w * w).sum()
        with paddle.no_grad():
            update(w)
        assert w.inplace_version == 1
        with pytest.raises(RuntimeError, match=VERSION):
            z.backward()
        assert w.grad is None


# ---- S4: versions ----------------------------------------------------------------------------------------------------------------------

def aliases(x):
    return {"reshape": x.reshape([3, 2]), "getitem": x[1], "slice": x[:, 1:], "squeeze": x.squeeze(), "unsqueeze": x.unsqueeze(0),
            "flatten": x.flatten(), "view": x.view([3, 2]),
            "transpose": x.transpose([1, 0]), "t": x.t(), "T": x.T, "detach": x.detach(), "data": x.data,
            "view of view": x.T[0][1:]}


def copies(x):
    return {"clone": x.clone(), "assign": paddle.assign(x), "deepcopy": copy.deepcopy(x), "pickle": pickle.loads(pickle.dumps(x)),
            "index array": x[np.array([0, 1])], "mask": x[np.array([True, True])], "list": x[[0]], "astype": x.astype("float64"),
            "numpy": paddle.to_tensor(x.numpy()), "copy": copy.copy(x), "arithmetic": x + 0.0,
            "split": x.split(2)[0], "chunk": x.chunk(2)[1], "expand": x.expand([1, 2, 3]), "unbind": x.unbind()[1]}


def test_s4_1_aliases_share_the_counter():
    x = const(np.arange(6.0).reshape(2, 3))
    seen = aliases(x)
    x.add_(1.0)
    assert {name: one.inplace_version for name, one in seen.items()} == dict.fromkeys(seen, 1)
    for n, one in enumerate(seen.values(), 2):
        one.add_(1.0)
        assert x.inplace_version == n


def test_s4_2_copies_start_at_zero():
    x = const(np.arange(6.0).reshape(2, 3))
    x.add_(1.0)
    made = copies(x)
    assert {name: one.inplace_version for name, one in made.items()} == dict.fromkeys(made, 0)
    before = x.numpy()
    for one in made.values():
        one.zero_()
    np.testing.assert_array_equal(x.numpy(), before)
    assert x.inplace_version == 1


def test_s4_3_data_shares_and_is_caught():
    x = leaf([1.0, 2.0])
    y = x * 1.0
    z = (y * y).sum()
    assert y.data.stop_gradient
    assert y.data.is_leaf
    y.data.multiply_(const([10.0, 10.0]))
    assert y.inplace_version == 1
    with pytest.raises(RuntimeError, match=VERSION):
        z.backward()


def test_s4_4_views_and_copies_are_new_objects():
    x = const([[1.0, 2.0]])
    for n, one in enumerate((x.reshape([1, 2]), x.flatten(0, 0), x.squeeze(1), x.transpose([0, 1]), x[...])):
        assert one is not x
        assert one.inplace_version == n
        one.add_(1.0)
    assert x.inplace_version == 5
    assert x.astype("float64") is not x
    assert x.cast("float64") is not x
    for one in (paddle.nn.functional.dropout(x, 0.0), paddle.nn.functional.dropout(x, 0.5, training=False)):
        assert one is not x
        assert one.inplace_version == 0
        one.zero_()
    np.testing.assert_array_equal(x.numpy(), [[6.0, 7.0]])
    assert x.cpu() is x
    assert x.contiguous() is x


BUMPS = {
    "add_": lambda x: x.add_(x), "setitem int": lambda x: x.__setitem__(0, 1.0), "setitem slice": lambda x: x.__setitem__(slice(None), 1.0),
    "setitem ellipsis": lambda x: x.__setitem__(..., 1.0), "setitem none": lambda x: x.__setitem__(None, 1.0),
    "setitem list": lambda x: x.__setitem__([0, 1], 1.0), "setitem mask": lambda x: x.__setitem__(np.array([True, False]), 1.0),
    "setitem tensor": lambda x: x.__setitem__(const([1], "int64"), 1.0), "setitem empty": lambda x: x.__setitem__(slice(0, 0), 1.0),
    "setitem empty list": lambda x: x.__setitem__([], 1.0), "fill_": lambda x: x.fill_(1.0), "zero_": lambda x: x.zero_(),
    "scale_": lambda x: x.scale_(1.0), "clip_": lambda x: x.clip_(0.0, 1.0), "_bump": lambda x: x._bump_inplace_version(),
    "copy_": lambda x: x.copy_(const([[1.0], [1.0]])), "set_value": lambda x: x.set_value(np.ones([2, 2])),
    "iadd": lambda x: x.__iadd__(1.0),
    "set_value tensor": lambda x: x.set_value(const(np.ones([2, 2]))), "reshape_": lambda x: x.reshape_([4]),
    "softmax_": lambda x: x.softmax_(), "uniform_": lambda x: x.uniform_(), "normal_": lambda x: x.normal_(),
    "exponential_": lambda x: x.exponential_(), "bernoulli_": lambda x: x.bernoulli_(), "geometric_": lambda x: x.geometric_(0.5),
    "log_normal_": lambda x: x.log_normal_(), "cauchy_": lambda x: x.cauchy_(), "random_": lambda x: x.random_(),
    "increment": lambda x: paddle.increment(x[0, 0:1]), "assign tensor": lambda x: paddle.assign(const(np.ones([2, 2])), x),
    "assign array": lambda x: paddle.assign(np.ones([2, 2]), x),
}


@pytest.mark.parametrize("what", sorted(BUMPS))
def test_s4_5_s4_6_one_write_one_bump(what):
    x = const(np.ones([2, 2]))
    BUMPS[what](x)
    assert x.inplace_version == 1


def test_s4_5_counts_above_a_thousand():
    x = const([1.0])
    for _ in range(70_000):
        x.add_(1.0)
    assert x.inplace_version == 70_000
    assert x.item() == 70_001.0


def test_s4_6_clear_grad_and_accumulation_bump_the_gradient():
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    g = x.grad
    before = g.inplace_version
    w = leaf([3.0, 4.0])
    saved = (g * w).sum()
    (x * x).sum().backward()
    assert x.grad is g
    assert g.inplace_version == before + 1
    np.testing.assert_array_equal(g.numpy(), [4.0, 8.0])
    with pytest.raises(RuntimeError, match=VERSION):
        saved.backward()
    saved = (g * w).sum()
    x.clear_grad()
    assert x.grad is g
    assert g.inplace_version == before + 2
    assert not g.numpy().any()
    with pytest.raises(RuntimeError, match=VERSION):
        saved.backward()


def test_s4_7_never_resets():
    x = leaf([1.0, 2.0])
    y = x * 1.0
    y.add_(1.0)
    y.numpy(), repr(y), y.item(0)
    (y * y).sum().backward()
    y.clear_grad()
    y.stop_gradient = True
    assert y.inplace_version == 1
    y.detach_()
    assert y.inplace_version == 1


def test_s4_7_data_rebinds():
    start = np.array([1.0, 2.0])
    x = leaf(start)
    z = (x * x).sum()
    other = const([9.0, 9.0])
    other.add_(0.0)
    other.add_(0.0)
    x.data = other
    assert x.inplace_version == 2
    assert x.is_leaf
    assert not x.stop_gradient
    np.testing.assert_array_equal(x.numpy(), [9.0, 9.0])
    z.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * start)
    for bad, error in ((const([1.0]), ValueError), (const([1, 2], "int64"), ValueError), (np.ones(2), TypeError), (None, TypeError)):
        with pytest.raises(error):
            x.data = bad
    np.testing.assert_array_equal(x.numpy(), [9.0, 9.0])


@pytest.mark.parametrize("symbol", ["+=", "-=", "*=", "/=", "**=", "//=", "%="])
def test_s4_8_augmented_assignment_is_in_place(symbol):
    for other in (2.0, 2, np.array([2.0, 3.0]), const([2.0, 3.0]), const(2.0), np.float64(2.0)):
        start = np.array([5.0, 7.0])
        x = const(start)
        scope = {"x": x, "o": other, "n": start.copy(), "m": other.numpy() if isinstance(other, paddle.Tensor) else other}
        exec(f"x {symbol} o; n {symbol} m", scope)
        assert scope["x"] is x
        assert x.inplace_version == 1
        close(x.numpy(), scope["n"])
    w = leaf([1.0])
    with pytest.raises(ValueError, match="Leaf Var"):
        exec(f"w {symbol} 2.0", {"w": w})
    small = const([1.0])
    with pytest.raises(ValueError, match="broadcast output"):
        exec(f"s {symbol} o", {"s": small, "o": const([1.0, 2.0])})
    assert small.shape == [1]
    assert small.inplace_version == 0
    i = const([4], "int64")
    with pytest.raises(TypeError, match="InvalidType"):
        exec(f"i {symbol} 1.5", {"i": i})
    assert i.dtype == np.int64
    assert i.item() == 4


def test_s4_8_item_augmented():
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1.0
    y[1] += 10.0
    assert y.inplace_version == 1
    y[0:2] *= x[0:2]
    assert y.inplace_version == 2
    y[[0, 2]] *= 2.0
    assert y.inplace_version == 3
    y.sum().backward()

    def plain(v):
        y = v * 1.0
        y[1] += 10
        y[0:2] *= v[0:2]
        y[[0, 2]] *= 2
        return y.sum()

    close(y.numpy(), [2.0, 24.0, 6.0])
    close(x.grad.numpy(), slope(plain, [1.0, 2.0, 3.0]))


def test_s4_9_failures_do_not_bump_and_equal_values_do():
    x = const([1.0, 2.0])
    for bad in (lambda: x.add_(const([1.0, 2.0, 3.0])), lambda: x.__setitem__(5, 1.0), lambda: x.reshape_([3]), lambda: x.add_("a"),
                lambda: x.set_value(np.ones(3)), lambda: x.copy_(const([1j, 1j], "complex128")), lambda: x.cast_("complex64"),
                lambda: x.__setitem__([0, 2], 1.0)):
        with pytest.raises((ValueError, TypeError, IndexError)):
            bad()
    assert x.inplace_version == 0
    x.scale_(1.0)
    x.copy_(x.clone())
    x[0] = x[0].clone()
    assert x.inplace_version == 3
    for shape in ([0], [], [3, 0]):
        y = paddle.ones(shape, dtype="float64")
        y.add_(1.0)
        y.exp_()
        y.fill_(2.0)
        assert y.inplace_version == 3


def test_inplace_version_is_read_only():
    x = const([1.0])
    with pytest.raises(AttributeError):
        x.inplace_version = 3
    assert x.inplace_version == 0


# ---- S6: own inputs and outputs --------------------------------------------------------------------------------------------------------

def test_s6_1_output_and_input_of_a_saver():
    x = leaf([1.0, 2.0])
    b = x.exp()
    z = b.sum()
    b.scale_(2.0)
    with pytest.raises(RuntimeError, match=VERSION):
        b.sum().backward()
    a = x * 1.0
    z = a.sin().sum()
    a.scale_(2.0)
    with pytest.raises(RuntimeError, match=VERSION):
        z.backward()
    a = x * 1.0
    b = a.sum()
    a.scale_(3.0)
    (a.sum() + b).backward()
    close(x.grad.numpy(), [4.0, 4.0])


IN_PLACE = {
    "exp_": np.exp, "tanh_": np.tanh, "sigmoid_": lambda v: 1 / (1 + np.exp(-v)), "relu_": lambda v: np.maximum(v, 0), "sqrt_": np.sqrt,
    "rsqrt_": lambda v: v ** -0.5, "reciprocal_": lambda v: 1 / v, "sin_": np.sin, "cos_": np.cos, "square_": np.square, "log_": np.log,
    "abs_": np.abs, "neg_": np.negative, "floor_": np.floor, "ceil_": np.ceil, "round_": np.round,
    "softmax_": lambda v: np.exp(v) / np.exp(v).sum(-1, keepdims=True),
}
W = np.array([[0.7, -1.3, 2.1], [0.4, 1.9, -0.6]])
START = np.array([[0.31, 0.72, 1.43], [0.84, 0.55, 1.96]])


@pytest.mark.parametrize("name", sorted(IN_PLACE))
def test_s6_2_s6_3_s6_6_first_and_second_order(name):
    f = IN_PLACE[name]
    x = leaf(START)
    y = x * x
    assert getattr(y, name)() is y
    close(y.numpy(), f(START * START))
    (g,) = paddle.grad((y * const(W)).sum(), [x], create_graph=True)
    first = slope(lambda v: (f(v * v) * W).sum(), START, 1e-6)
    close(g.numpy(), first)
    if name in ("floor_", "ceil_", "round_"):
        np.testing.assert_array_equal(g.numpy(), 0.0)
        return
    (h,) = paddle.grad((g * g).sum(), [x])

    def analytic(v):                       # through the functional form, itself checked against central differences above
        t = leaf(v)
        u = getattr(paddle.nn.functional, name[:-1], None) or getattr(paddle, name[:-1])
        (k,) = paddle.grad((u(t * t) * const(W)).sum(), [t])
        return (k.numpy() ** 2).sum()

    np.testing.assert_allclose(h.numpy(), slope(analytic, START, 1e-5), rtol=1e-4, atol=1e-6)


BINARY = {"add_": np.add, "subtract_": np.subtract, "multiply_": np.multiply, "divide_": np.divide, "pow_": np.power,
          "remainder_": np.remainder, "floor_divide_": np.floor_divide}


@pytest.mark.parametrize("shape", [(2, 3), (3,), (1, 3), (2, 1), (1,), ()])
@pytest.mark.parametrize("name", sorted(BINARY))
def test_s6_3_s6_4_s7_1_binary(name, shape):
    f = BINARY[name]
    other = np.array([[1.37, 2.61, 0.53], [0.77, 1.18, 2.93]])[tuple(slice(0, n) for n in (1,) * (2 - len(shape)) + shape)].reshape(shape)
    x, o = leaf(START), leaf(other)
    y = x * x
    assert getattr(y, name)(o) is y
    assert y.shape == [2, 3]
    close(y.numpy(), f(START ** 2, other))
    gx, go = paddle.grad((y * const(W)).sum(), [x, o], create_graph=True)
    close(gx.numpy(), slope(lambda v: (f(v * v, other) * W).sum(), START))
    close(go.numpy(), slope(lambda v: (f(START ** 2, v) * W).sum(), other))
    assert go.shape == list(shape)


def test_s6_2_chained_own_outputs():
    for chain in (lambda y: y.exp_().exp_(), lambda y: y.exp_().sin_(), lambda y: y.tanh_().scale_(2.0)):
        y = leaf([0.1, 0.2]) * 1.0
        chain(y)
        assert y.inplace_version == 2
        with pytest.raises(RuntimeError, match=VERSION):
            y.sum().backward()


@pytest.mark.parametrize("name", ["multiply_", "divide_", "pow_", "sin_", "cos_", "square_", "log_"])
def test_s6_3_second_order_by_hand(name):
    """Second derivative of f(a(x)), a = x*x, with the graph of the first: the saved copy keeps the old history."""
    start = np.array([0.6, 1.3])
    x = leaf(start)
    y = x * x
    getattr(y, name)(*([x] if name in ("multiply_", "divide_", "pow_") else []))
    (g,) = paddle.grad(y.sum(), [x], create_graph=True)
    (h,) = paddle.grad(g.sum(), [x])
    u = start
    want = {
        "multiply_": 6 * u,                                                        # x^3
        "divide_": 0 * u,                                                          # x
        "pow_": u ** (2 * u) * ((2 * np.log(u) + 2) ** 2 + 2 / u),                 # x^(2x)
        "sin_": 2 * np.cos(u * u) - 4 * u * u * np.sin(u * u),
        "cos_": -2 * np.sin(u * u) - 4 * u * u * np.cos(u * u),
        "square_": 12 * u * u,
        "log_": -2 / (u * u),
    }[name]
    np.testing.assert_allclose(h.numpy(), want, rtol=1e-9, atol=1e-9)


def test_s6_4_the_other_operand_is_checked():
    x = leaf([2.0, 3.0])
    y = leaf([1.0, 1.0]) * 1.0
    y.multiply_(x)
    with paddle.no_grad():
        x.add_(1.0)
    with pytest.raises(RuntimeError, match=VERSION):
        y.sum().backward()


@pytest.mark.parametrize("name, want", [("add_", 2.0), ("subtract_", 0.0), ("multiply_", None), ("divide_", 0.0)])
def test_s6_5_self_aliasing(name, want):
    start = np.array([1.5, 2.5])
    x = leaf(start)
    a = x * 1.0
    assert getattr(a, name)(a) is a
    a.sum().backward()
    close(x.grad.numpy(), 2 * start if want is None else np.full(2, want))
    x.clear_grad(False)
    a = x * 1.0
    getattr(a, name)(a.detach())
    a.sum().backward()
    close(x.grad.numpy(), {"add_": 1 + 0 * start, "subtract_": 1 + 0 * start, "multiply_": start, "divide_": 1 / start}[name])
    x.clear_grad(False)
    a = x * 1.0
    getattr(a[0:1], name)(a[0:1])
    a.sum().backward()
    close(x.grad.numpy(), [2 * start[0] if want is None else want, 1.0])


def test_s6_6_fill_and_zero():
    for write in (lambda y: y.zero_(), lambda y: y.fill_(3.0)):
        x = leaf([1.0, 2.0])
        y = x * x
        z = y.sum()
        write(y)
        (y.sum() + z).backward()
        np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])


# ---- S7: shapes, dtypes, overlap -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", sorted(BINARY))
def test_s7_1_target_never_grows(name):
    x = const(np.ones([2, 1]))
    for bad in ([2, 2], [3, 2, 1], [1, 2, 1]):
        with pytest.raises(ValueError,
                           match=r"The shape of broadcast output .* is different from that of inplace tensor \[2, 1\] in the Inplace"):
            getattr(x, name)(paddle.ones(bad, dtype="float64"))
    with pytest.raises(ValueError, match=r"\(InvalidArgument\) Broadcast dimension mismatch"):
        getattr(x, name)(paddle.ones([3, 1], dtype="float64"))
    assert x.shape == [2, 1]
    assert x.inplace_version == 0


KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
DTYPES = ["bool", "uint8", "int8", "int32", "int64", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("other", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_s7_2_dtype_of_the_target_never_changes(target, other):
    a, b = np.array([3, 1]).astype(target), np.array([1, 1]).astype(other)
    x = const(a, target)
    result = np.result_type(a, b)
    if KINDS[result.kind] > KINDS[np.dtype(target).kind]:
        with pytest.raises(TypeError, match=r"\(InvalidType\)"):
            x.add_(const(b, other))
        np.testing.assert_array_equal(x.numpy(), a)
        assert x.inplace_version == 0
    else:
        x.add_(const(b, other))
        np.testing.assert_array_equal(x.numpy(), (a + b).astype(target))
        assert x.inplace_version == 1
    assert x.dtype == np.dtype(target)


@pytest.mark.parametrize("target", ["bool", "int32", "int64", "uint8"])
@pytest.mark.parametrize("name", ["exp_", "sin_", "sqrt_", "divide_", "tanh_", "sigmoid_", "softmax_"])
def test_s7_2_floating_results_do_not_fit_integers(name, target):
    x = const([1, 1], target)
    with pytest.raises(TypeError, match=r"\(InvalidType\)"):
        getattr(x, name)(*([x] if name == "divide_" else []))
    assert x.dtype == np.dtype(target)
    assert x.inplace_version == 0


@pytest.mark.parametrize("target", ["float64", "int64", "bool"])
@pytest.mark.parametrize("name", ["equal_", "less_than_", "logical_and_", "logical_not_"])
def test_s7_2_truth_values_take_the_target_s_dtype(name, target):
    x = const([2, 0, 1], target)
    other = const([2, 1, 0], target)
    args = [] if name == "logical_not_" else [other]
    a, b = x.numpy(), other.numpy()
    want = {"equal_": a == b, "less_than_": a < b, "logical_and_": np.logical_and(a, b), "logical_not_": np.logical_not(a)}[name]
    getattr(x, name)(*args)
    assert x.dtype == np.dtype(target)
    np.testing.assert_array_equal(x.numpy(), want.astype(target))


def test_s7_3_gradient_has_the_operand_s_dtype():
    x, o = leaf([1.0, 2.0], "float64"), leaf([3.0, 4.0], "float32")
    y = x * 1.0
    y.multiply_(o)
    y.sum().backward()
    assert o.grad.dtype == np.float32
    assert x.grad.dtype == np.float64
    np.testing.assert_array_equal(o.grad.numpy(), [1.0, 2.0])
    x, o = leaf([1.0, 2.0], "float32"), leaf([3.0, 4.0], "float64")
    y = x * 1.0
    y.multiply_(o)
    assert y.dtype == np.float32
    y.sum().backward()
    assert o.grad.dtype == np.float64
    assert x.grad.dtype == np.float32
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 4.0])


@pytest.mark.parametrize("scalar", [3, 3.0, True, np.float32(3.0), np.int64(3)])
def test_s7_4_scalars(scalar):
    for name, f in BINARY.items():
        x = const([5.0, 7.0])
        getattr(x, name)(scalar)
        close(x.numpy(), f(np.array([5.0, 7.0]), float(scalar)))
    for bad in (None, "3", [3.0], (3.0,), {}, object()):
        with pytest.raises(TypeError):
            const([1.0]).add_(bad)


def test_s7_4_numbers_that_do_not_fit():
    for dtype, number in (("uint8", -1), ("uint8", 256), ("int8", 1000), ("int64", 2 ** 63), ("uint64", -1)):
        x = const([1], dtype)
        with pytest.raises((OverflowError, TypeError)):
            x.add_(number)
        assert x.item() == 1
        assert x.inplace_version == 0


OVERLAP = {
    "shift": (lambda y: y[1:].add_(y[:-1]), lambda y: np.concatenate([y[:1], y[1:] + y[:-1]]), (4,)),
    "shift back": (lambda y: y[:-1].multiply_(y[1:]), lambda y: np.concatenate([y[:-1] * y[1:], y[-1:]]), (4,)),
    "reverse": (lambda y: y.add_(y[::-1]), lambda y: y + y[::-1], (5,)),
    "transpose": (lambda y: y.add_(y.T), lambda y: y + y.T, (3, 3)),
    "transpose product": (lambda y: y.multiply_(y.T), lambda y: y * y.T, (3, 3)),
    "column": (lambda y: y.copy_(y[..., 1:2]), lambda y: np.broadcast_to(y[..., 1:2], y.shape) + 0, (3, 3)),
    "row into column": (lambda y: y[:, 2].subtract_(y[1]), lambda y: np.concatenate([y[:, :2], (y[:, 2] - y[1])[:, None]], 1), (3, 3)),
    "assign shift": (lambda y: y.__setitem__(slice(1, None), y[:-1]), lambda y: np.concatenate([y[:1], y[:-1]]), (4,)),
    "assign shift back": (lambda y: y.__setitem__(slice(None, -1), y[1:]), lambda y: np.concatenate([y[1:], y[-1:]]), (4,)),
    "assign reverse": (lambda y: y.__setitem__(slice(None), y[::-1]), lambda y: y[::-1] + 0, (5,)),
    "broadcast own row": (lambda y: y.add_(y[0]), lambda y: y + y[0], (3, 3)),
    "broadcast own element": (lambda y: y.multiply_(y[1]), lambda y: y * y[1], (3,)),
    "divide by own element": (lambda y: y.divide_(y[0:1]), lambda y: y / y[0:1], (3,)),
    "pow of shift": (lambda y: y[1:].pow_(y[:-1]), lambda y: np.concatenate([y[:1], y[1:] ** y[:-1]]), (4,)),
    "strided": (lambda y: y[::2].add_(y[1::2]), lambda y: np.stack([y[::2] + y[1::2], y[1::2]], 1).ravel(), (6,)),
    "fill with own element": (lambda y: y.fill_(y[1]), lambda y: np.full_like(y, y[1]), (3,)),
    "list": (lambda y: y.__setitem__([0, 1], y[1:3]), lambda y: np.concatenate([y[1:3], y[2:]]), (4,)),
}


@pytest.mark.parametrize("what", sorted(OVERLAP))
def test_s7_5_overlap_acts_as_if_copied_first(what):
    act, plain, shape = OVERLAP[what]
    start = np.linspace(0.6, 1.9, int(np.prod(shape))).reshape(shape)
    w = np.cos(np.arange(start.size)).reshape(shape)
    y = const(start)
    act(y)
    close(y.numpy(), plain(start))
    assert y.inplace_version == 1
    x = leaf(start)
    y = x * x
    act(y)
    (y * y * const(w)).sum().backward()

    def number(v):
        u = v * v
        u = plain(u)
        return (u * u * w).sum()

    np.testing.assert_allclose(x.grad.numpy(), slope(number, start), rtol=1e-5, atol=1e-7)


def test_s7_7_copy_():
    x, src = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([5.0, 6.0], "float32")
    y = x * 1.0
    z = y.sum()
    assert y.copy_(src) is y
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y.numpy(), [[5.0, 6.0], [5.0, 6.0]])
    ((y * const([[1.0, 2.0], [3.0, 4.0]])).sum() + z).backward()
    np.testing.assert_array_equal(src.grad.numpy(), [4.0, 6.0])
    assert src.grad.dtype == np.float32
    np.testing.assert_array_equal(x.grad.numpy(), np.ones([2, 2]))
    for bad in (paddle.ones([3]), paddle.ones([2, 2, 2])):
        with pytest.raises(ValueError):
            y.copy_(bad)
    with pytest.raises(TypeError, match="InvalidType"):
        y.copy_(const([1j, 1j], "complex64"))
    assert y.shape == [2, 2]
    assert y.inplace_version == 1
    i = const([1, 2], "int32")
    i.copy_(const([2 ** 32 + 5, 7], "int64"))
    np.testing.assert_array_equal(i.numpy(), [5, 7])
    assert i.dtype == np.int32


# ---- names -----------------------------------------------------------------------------------------------------------------------------

ALIASES = {"sub_": np.subtract, "mul_": np.multiply, "div_": np.divide, "mod_": np.remainder, "floor_mod_": np.remainder, "less_": np.less}


@pytest.mark.parametrize("name", sorted(ALIASES))
def test_short_names_of_the_reference(name):
    a, b = np.array([5.0, -7.0]), np.array([2.0, 3.0])
    x = const(a)
    assert getattr(x, name)(const(b)) is x
    assert x.inplace_version == 1
    close(x.numpy(), ALIASES[name](a, b))
    np.testing.assert_allclose(getattr(paddle, name[:-1])(const(a), const(b)).numpy(), ALIASES[name](a, b))
    with pytest.raises(ValueError, match="Leaf Var"):
        getattr(leaf(a), name)(const(b))


def test_short_names_of_one_input():
    x = const([5, -7], "int64")
    assert x.bitwise_invert_() is x
    np.testing.assert_array_equal(x.numpy(), [-6, 6])
    y = const([5.0, -7.0])
    assert y.clamp_(-1.0, 1.0) is y
    np.testing.assert_array_equal(y.clamp(min=0.0).numpy(), [1.0, 0.0])


def test_every_in_place_method_of_the_reference_with_a_counterpart():
    """Each operator here that the reference can apply in place can be applied in place here, under the reference's names."""
    reference = """abs add bitwise_and bitwise_invert bitwise_not bitwise_or bitwise_xor cast ceil clamp clip copy cos detach div divide
        equal exp fill flatten floor floor_divide floor_mod greater_equal greater_than less less_equal less_than log logical_and
        logical_not logical_or logical_xor mod mul multiply neg not_equal pow reciprocal remainder reshape round rsqrt scale sigmoid sin
        sqrt square squeeze sub subtract t tanh transpose unsqueeze zero"""
    missing = [name for name in reference.split() if not hasattr(paddle.Tensor, name + "_")]
    assert not missing


def test_s2_1_the_order_of_refusals_and_of_the_work():
    """Arguments, then the leaf, then the shapes; the old value is saved before the kernel, the version moves before the node is made."""
    x = leaf([0.01, 0.02])
    wrong_shape = const([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(TypeError):
        x.add_("text")
    with pytest.raises(ValueError, match="Leaf Var"):
        x.add_(wrong_shape)
    with paddle.no_grad(), pytest.raises(ValueError, match="different from that of inplace tensor"):
        x.add_(wrong_shape)
    y = x * 3.0
    y.multiply_(const([5.0, 7.0]))       # needs the factor only
    y.multiply_(y)                       # needs its own old value
    y.exp_()                             # needs its new value, as it is after the version moved
    assert y.inplace_version == 3
    y.sum().backward()
    u = np.array([0.15, 0.42])
    close(x.grad.numpy(), np.exp(u ** 2) * 2 * u * np.array([15.0, 21.0]))


def test_s7_6_no_write_goes_through_overlapping_elements():
    """What other libraries give as overlapping views are copies here, so writing to one place writes to one place."""
    x = const([1.0, 2.0])
    for spread in (x.expand([3, 2]), paddle.broadcast_to(x, [3, 2]), paddle.as_strided(x, [3, 2], [0, 1])):
        spread[1, 0] = 9.0
        close(spread.numpy(), [[1.0, 2.0], [9.0, 2.0], [1.0, 2.0]])
        spread.scale_(2.0)
        close(spread.numpy(), [[2.0, 4.0], [18.0, 4.0], [2.0, 4.0]])
    close(x.numpy(), [1.0, 2.0])
    assert x.inplace_version == 0


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_s9_24_a_recorded_cast_to_integers_is_refused(dtype):
    """The values are cut, and the gradient would pass as if they were not."""
    x = leaf([1.5, 0.2])
    y = x * 2.0
    with pytest.raises(TypeError, match=r"\(InvalidType\) cast_\(\)"):
        y.cast_(dtype)
    np.testing.assert_array_equal(y.numpy(), [3.0, 0.4])
    assert y.inplace_version == 0
    with paddle.no_grad():
        y.cast_(dtype)
    np.testing.assert_array_equal(y.numpy(), np.array([3.0, 0.4]).astype(dtype))
    assert y.dtype == np.float64


# ---- a Python function applied in place; requires_grad --------------------------------------------------------------------------------

def test_apply_():
    x = const([1.0, 2.0, 3.0])
    row, other = x[1:], x.detach()
    assert x.apply_(lambda v: v * v + 1) is x
    close(x.numpy(), [2, 5, 10])
    close(row.numpy(), [5, 10])
    assert x.inplace_version == row.inplace_version == other.inplace_version == 1
    assert x.stop_gradient
    assert row.apply_(lambda v: v.sum().expand([2]).astype("float32")) is row
    close(x.numpy(), [2, 15, 15])
    assert x.dtype == np.float64
    assert x.apply(lambda v: v.sum()).item() == 32.0
    assert x.inplace_version == 2


def test_apply_gives_the_function_a_copy():
    x = const([1.0, 2.0])
    seen = []

    def spoil(v):
        seen.append(v)
        v.zero_()
        raise KeyError("mine")
    for form in (x.apply, x.apply_):
        with pytest.raises(KeyError, match="mine"):        # S1.13
            form(spoil)
    close(x.numpy(), [1, 2])
    assert x.inplace_version == 0
    assert all(v.stop_gradient and v is not x for v in seen)


@pytest.mark.parametrize(("function", "error"), [
    (lambda v: v.sum(), ValueError), (lambda v: v.unsqueeze(0), ValueError), (lambda v: v.numpy(), TypeError), (lambda v: None, TypeError),
    (lambda v: v * 1j, TypeError), ("text", TypeError),
])
def test_apply_refuses_what_does_not_fit(function, error):
    """S2.6, S7.2."""
    x = const([1.0, 2.0])
    with pytest.raises(error):
        x.apply_(function)
    close(x.numpy(), [1, 2])
    assert x.inplace_version == 0


def test_apply_refuses_a_tensor_that_requires_grad():
    x = leaf([1.0, 2.0])
    y = x * 2
    for t in (x, y, y[:1]):
        for form in (t.apply, t.apply_):
            with pytest.raises(RuntimeError, match="Cannot apply function on a tensor that required gradient"):
                form(lambda v: v * 3)
            with paddle.no_grad(), pytest.raises(RuntimeError, match="Cannot apply"):
                form(lambda v: v * 3)
    assert x.inplace_version == y.inplace_version == 0
    y.sum().backward()
    close(x.grad.numpy(), [2, 2])


def test_apply_records_what_the_result_owes_to_others():
    """S3.2: a constant written from what requires grad gets a history."""
    w = leaf([3.0, 4.0])
    x = const([1.0, 2.0])
    x.apply_(lambda v: v * w * w)
    assert not x.stop_gradient
    (x * x).sum().backward()
    close(w.grad.numpy(), slope(lambda w: ((np.array([1.0, 2.0]) * w * w) ** 2).sum(), [3.0, 4.0]))


def test_requires_grad_is_the_opposite_of_stop_gradient():
    x = const([1.0, 2.0])
    assert x.requires_grad is False
    assert x.requires_grad_() is x
    assert x.requires_grad is True
    assert x.stop_gradient is False
    (x * x).sum().backward()
    close(x.grad.numpy(), [2, 4])
    assert x.requires_grad_(False) is x
    assert x.stop_gradient is True
    x.requires_grad = True
    assert x.stop_gradient is False
    assert x.inplace_version == 0
    for bad in (1, None, "yes"):
        with pytest.raises(TypeError, match="requires_grad must be bool"):
            x.requires_grad_(bad)
        with pytest.raises(TypeError, match="requires_grad must be bool"):
            x.requires_grad = bad
    with pytest.raises(ValueError, match="cannot require grad"):         # S3.8
        paddle.to_tensor([1, 2]).requires_grad_()


def test_renorm_of_a_slice_in_place():
    """Values and gradient of a program in which renorm_ follows another write and is followed by a use of the base (S8.2)."""
    start = np.array([[1.5, -2.0, 0.5], [0.25, 0.5, 0.375], [1.25, 1.0, -1.0]])

    def plain(v):
        y = v * v
        part = y[:, 1:]
        norm = np.sqrt((part ** 2).sum(axis=1, keepdims=True))
        y[:, 1:] = part * np.where(norm > 1.0, 1.0 / norm, 1.0)
        return (y ** 3).sum()
    x = leaf(start)
    y = x * x
    part = y[:, 1:]
    assert part.renorm_(2.0, 0, 1.0) is part
    assert y.inplace_version == 1
    loss = (y ** 3).sum()
    close(loss.item(), plain(start))
    loss.backward()
    close(x.grad.numpy(), slope(plain, start))


def test_s9_10_a_gradient_of_the_old_order_of_axes_is_not_added_to():
    """A square matrix keeps its shape when it is transposed, so the shape cannot tell that .grad belongs to the old order."""
    start = np.array([[1.0, 2.0], [3.0, 4.0]])
    factor = const([[1.0, 10.0], [100.0, 1000.0]])
    x = leaf(start)
    (x * factor).sum().backward()
    with paddle.no_grad():
        x.transpose_([1, 0])
    close(x.numpy(), start.T)
    with pytest.raises(ValueError, match="axes of leaf"):
        (x * x * factor).sum().backward()
    close(x.grad.numpy(), factor.numpy())
    x.clear_gradient(set_to_zero=False)
    (x * x * factor).sum().backward()
    close(x.grad.numpy(), 2 * start.T * factor.numpy())


# ---- what is stored went through another dtype -----------------------------------------------------------------------------------------

Z = np.array([0.3 + 0.4j, -0.7 + 0.2j, 0.5 - 1.3j])


@pytest.mark.parametrize(("write", "slope"), [
    (lambda y: y.abs_(), lambda g: g.real * Z / np.abs(Z)),
    (lambda y: y.cast_("float64"), lambda g: g.real + 0j),
    (lambda y: y.cumsum_(0, "float64"), lambda g: np.cumsum(g.real[::-1])[::-1] + 0j),
], ids=["abs_", "cast_", "cumsum_"])
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_a_real_result_in_a_complex_target_takes_the_real_part_of_the_gradient(write, slope):
    """S7.2, S9.27: Re(conj(g) f(z)) of a real f changes with Re(g) alone."""
    g = np.array([1.0 + 2.0j, 0.5 - 1.0j, -0.7 + 0.3j])
    z = paddle.to_tensor(Z, stop_gradient=False)
    w = paddle.to_tensor(g, stop_gradient=False)
    got, = paddle.grad(write(z * 1), [z], [w], create_graph=True)
    np.testing.assert_allclose(got.numpy(), slope(g), rtol=1e-12)
    # The gradient is linear in g: its own gradient with direction d is Re of what the map sends d to, and real.
    again, = paddle.grad(got, [w], [paddle.to_tensor(np.ones(3, complex))])
    steps = [[np.sum((slope(g + 1e-6 * e) - slope(g - 1e-6 * e)).real) / 2e-6 for e in np.eye(3) * unit] for unit in (1, 1j)]
    np.testing.assert_allclose(again.numpy(), np.array(steps[0]) + 1j * np.array(steps[1]), atol=1e-8)


@pytest.mark.parametrize("write", [lambda y: y.cumsum_(0, "int32"), lambda y: y.cumprod_(0, "int64")], ids=["cumsum_", "cumprod_"])
def test_an_integer_result_in_a_float_target_has_no_gradient(write):
    """S6.6, S9.24: it is a step function of the old value."""
    x = paddle.to_tensor([1.3, 2.7], stop_gradient=False)
    y = x * 1
    assert write(y) is y
    (y * paddle.to_tensor([2.0, 3.0]) + x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
