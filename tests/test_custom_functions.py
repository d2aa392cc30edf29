"""PyLayer: S12.4 to S12.8, S5.11, and items 24, 25, 31, 38, 47 and 55 of section 14. Expected numbers are formulas on NumPy arrays."""
import gc
import threading
import weakref

import numpy as np
import pytest
from differences import slope

import eager_core
import python_api as paddle
from python_api.autograd import PyLayer, PyLayerContext, saved_tensors_hooks
from python_api.autograd.py_layer import once_differentiable

X = np.array([0.5, 0.8, 1.2, 1.5])
W = np.array([2.0, 3.0, 4.0, 5.0])
VERSION_ERROR = r"\(PermissionDenied\) Tensor '.*' used in gradient computation has been modified by an inplace operation"


def leaf(values=X, name=""):
    t = paddle.to_tensor(np.asarray(values, dtype=np.float64), stop_gradient=False)
    t.name = name
    return t


def const(values):
    return paddle.to_tensor(np.asarray(values, dtype=np.float64))


def layer(forward, backward, name="Layer"):
    return type(name, (PyLayer,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensor()
        return grad * 3.0 * x * x


class Exp(PyLayer):
    """Saves its output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensor()[0]


class Exp_(PyLayer):  # noqa: N801
    """In place: x is overwritten and returned, and saved after the write."""

    @staticmethod
    def forward(ctx, x):
        x.exp_()
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensor()[0]


class Triple_(PyLayer):  # noqa: N801
    @staticmethod
    def forward(ctx, x):
        x.scale_(3.0)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 3.0


class Multiply(PyLayer):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensor()
        return grad * y, grad * x


# ---- values and gradients ----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("cls, value, first, second", [
    (Cube, lambda x: x**3, lambda x: 3 * x**2, lambda x: 6 * x),
    (Exp, np.exp, np.exp, np.exp),
    (Exp_, np.exp, np.exp, np.exp),
])
def test_gradients_to_second_order(cls, value, first, second):
    x = leaf()
    y = cls.apply(x * 1.0)
    assert not y.stop_gradient and not y.is_leaf and y.grad_fn.name() == f"GradNodePyLayer_{cls.__name__}"
    np.testing.assert_allclose(y.numpy(), value(X), rtol=1e-15)
    (g,) = paddle.grad((y * const(W)).sum(), [x], create_graph=True)
    np.testing.assert_allclose(g.numpy(), W * first(X), rtol=1e-15)
    (h,) = paddle.grad((g * const(W)).sum(), [x])
    np.testing.assert_allclose(h.numpy(), W * W * second(X), rtol=1e-14)


def test_third_order():
    x = leaf()
    (g,) = paddle.grad(Cube.apply(x).sum(), [x], create_graph=True)
    (h,) = paddle.grad(g.sum(), [x], create_graph=True)
    (k,) = paddle.grad(h.sum(), [x])
    np.testing.assert_allclose(k.numpy(), np.full(4, 6.0), rtol=1e-14)


def test_against_differences_in_a_program_of_both_kinds_of_functions():
    def program(a):
        return float((np.exp((a * W) ** 3 / 8) * np.sin(a)).sum())

    x = leaf(X / 3)
    (Exp.apply(Cube.apply(Multiply.apply(x, const(W / 2)))) * x.sin()).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), slope(program, X / 3), rtol=1e-6)


def test_one_gradient_per_tensor_those_in_lists_and_keywords_too():
    seen = []

    def forward(ctx, xs, number, y, *, text="", z):
        seen.append((number, text))
        return xs[0] * 2.0 + xs[1] * 3.0 + y * 4.0 + z * 5.0

    linear = layer(forward, lambda ctx, g: (g * 2.0, g * 3.0, g * 4.0, g * 5.0))
    a, b, c, d = (leaf() for _ in range(4))
    linear.apply([a, b], 7, c, text="t", z=d).sum().backward()
    assert seen == [(7, "t")]
    assert [t.grad.numpy()[0] for t in (a, b, c, d)] == [2.0, 3.0, 4.0, 5.0]


def test_the_same_tensor_twice():
    x = leaf()
    Multiply.apply(x, x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * X, rtol=1e-15)


def test_results_in_a_tuple_or_a_list_with_other_things_among_them():
    for kind in (tuple, list):
        split = layer(lambda ctx, x, kind=kind: kind([x * 2.0, "text", x * 3.0, None]), lambda ctx, g, h: g * 2.0 + h * 3.0)
        x = leaf()
        out = split.apply(x)
        assert type(out) is kind and out[1] == "text" and out[3] is None
        (out[0] + out[2] * 10.0).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), np.full(4, 32.0), rtol=1e-15)


def test_grad_mode_in_forward_is_off_and_in_backward_that_of_the_pass():
    """S9.15."""
    modes = []

    def forward(ctx, x):
        modes.append(paddle.is_grad_enabled())
        return x * 2.0

    def backward(ctx, g):
        modes.append(paddle.is_grad_enabled())
        return g * 2.0

    x = leaf()
    y = layer(forward, backward).apply(x)
    assert paddle.is_grad_enabled()
    y.sum().backward(retain_graph=True)
    paddle.grad(y.sum(), [x], create_graph=True)
    assert modes == [False, False, True]


def test_constants_and_no_grad_record_nothing():
    y = Cube.apply(const(X))
    assert y.stop_gradient and y.is_leaf
    with paddle.no_grad():
        y = Cube.apply(leaf())
    assert y.stop_gradient and y.is_leaf
    x = leaf() * 1.0
    with paddle.no_grad():
        assert Triple_.apply(x) is x                     # S8.7: straight-through, the version tells
    assert x.inplace_version == 1


def test_a_gradient_for_a_constant_is_dropped():
    x, w = leaf(), const(W)
    Multiply.apply(x, w).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), W)
    assert w.grad is None and w.stop_gradient


def test_none_is_no_gradient():
    x, y = leaf(), leaf()
    layer(lambda ctx, a, b: a * b, lambda ctx, g: (g * 7.0, None)).apply(x, y).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 7.0))
    assert y.grad is None


def test_hooks_and_retained_gradients_of_a_result():
    x, seen = leaf(), []
    y = Cube.apply(x)
    y.retain_grads()
    y.register_hook(lambda g: seen.append(g.numpy()))
    (y * const(W)).sum().backward()
    np.testing.assert_array_equal(seen[0], W)
    np.testing.assert_array_equal(y.grad.numpy(), W)


def test_what_backward_writes_to_its_gradient_affects_nobody_else():
    """S9.14: the gradient of x + w is one buffer."""
    def backward(ctx, g):
        g.scale_(10.0)
        return g

    x, w = leaf(), leaf()
    (layer(lambda ctx, a: a * 10.0, backward).apply(x) + w).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 10.0))
    np.testing.assert_array_equal(w.grad.numpy(), np.ones(4))


def test_a_gradient_buffer_that_backward_uses_again_and_again():
    """Each call overwrites the result of the one before, which may not have been used yet."""
    buffer = paddle.zeros([4], dtype="float64")

    def backward(ctx, g):
        buffer.copy_(g * ctx.factor)
        return buffer

    def forward(ctx, a, factor):
        ctx.factor = factor
        return a * factor

    cls, x, y = layer(forward, backward), leaf(), leaf()
    (cls.apply(x, 2.0) + cls.apply(y, 3.0)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 2.0))
    np.testing.assert_array_equal(y.grad.numpy(), np.full(4, 3.0))
    buffer.zero_()
    assert x.grad.numpy()[0] == 2.0


def test_one_tensor_returned_for_two_inputs():
    x, y = leaf(), leaf()
    layer(lambda ctx, a, b: a + b, lambda ctx, g: (g, g)).apply(x, y).sum().backward()
    x.grad.scale_(5.0)
    np.testing.assert_array_equal(y.grad.numpy(), np.ones(4))


def test_dtypes_are_those_of_the_inputs():
    """S7.3."""
    x = paddle.to_tensor(X.astype("float32"), stop_gradient=False)
    layer(lambda ctx, a: a.astype("float64") * 2.0, lambda ctx, g: g * 2.0).apply(x).sum().backward()
    assert x.grad.dtype == np.float32
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 2.0, "float32"))


# ---- S12.4: in place ---------------------------------------------------------------------------------------------------------------------

def test_a_returned_input_is_in_place():
    x = leaf()
    y = x * 1.0
    before = y.inplace_version
    assert Triple_.apply(y) is y
    assert y.inplace_version == before + 2               # scale_, and one for the layer
    np.testing.assert_array_equal(y.numpy(), 3 * X)
    (y * const(W)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * W, rtol=1e-15)


def test_a_saver_of_the_old_value_says_so():
    x = leaf()
    y = x * 1.0
    z = y * y
    Triple_.apply(y)
    with pytest.raises(RuntimeError, match=VERSION_ERROR):
        z.sum().backward()


def test_a_constant_that_is_written_from_a_variable_gets_a_history():
    """S3.2."""
    def forward(ctx, buffer, x):
        buffer.add_(x * 2.0)
        return buffer

    x, buffer = leaf(), const(W)
    out = layer(forward, lambda ctx, g: (g, g * 2.0)).apply(buffer, x)
    assert out is buffer and not buffer.stop_gradient and not buffer.is_leaf
    (buffer * const(W)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * W, rtol=1e-15)


@pytest.mark.parametrize("write", [
    lambda x: x.scale_(3.0), lambda x: x[1:].scale_(3.0), lambda x: x.detach().zero_(), lambda x: x.reshape([2, 2]).fill_(0.0),
    lambda x: x.__setitem__(0, 7.0), lambda x: x.set_value(np.zeros(4)), lambda x: x.data.exp_(),
])
def test_a_leaf_refuses_before_it_is_written(write):
    """P: after forward has changed the data."""
    def forward(ctx, x):
        write(x)
        return x

    x = leaf(name="weight")
    with pytest.raises(ValueError, match=r"\(InvalidArgument\) Leaf Var \(weight\) that doesn't stop gradient can't use inplace strategy"):
        layer(forward, lambda ctx, g: g).apply(x)
    np.testing.assert_array_equal(x.numpy(), X)
    assert x.inplace_version == 0 and x.is_leaf
    with paddle.no_grad():
        x.scale_(2.0)                                    # the guard is gone
    np.testing.assert_array_equal(x.numpy(), 2 * X)


def test_a_leaf_returned_unchanged_is_refused_by_name():
    x = leaf(name="weight")
    with pytest.raises(ValueError, match=r"weight : Leaf Var \(weight\) that doesn't stop gradient can't use inplace strategy"):
        layer(lambda ctx, a: a, lambda ctx, g: g).apply(x)
    assert x.is_leaf and x.inplace_version == 0


def test_a_view_in_place_becomes_part_of_its_roots_history():
    x = leaf()
    y = x * 1.0
    part = y[1:3]
    assert Exp_.apply(part) is part
    expected = np.where([False, True, True, False], np.exp(X), X)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-15)
    (y * const(W)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), W * np.where([False, True, True, False], np.exp(X), 1), rtol=1e-15)


def test_views_of_a_tensor_that_is_written_in_place_follow():
    x = leaf()
    y = x * 1.0
    part = y[1:3]
    Triple_.apply(y)
    part.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0, 3, 3, 0])


def test_several_results_in_place():
    def forward(ctx, a, b):
        a.scale_(2.0)
        b.scale_(3.0)
        return a, b, a * b

    def backward(ctx, g, h, k):
        a, b = ctx.old
        return g * 2.0 + k * 6.0 * b, h * 3.0 + k * 6.0 * a

    def with_old(ctx, a, b):
        ctx.old = (a.clone(), b.clone())
        return forward(ctx, a, b)

    x, y = leaf(), leaf(W)
    a, b = x * 1.0, y[1:] * 1.0
    view = b[:2]
    view_of_a = a[1:]
    out = layer(with_old, backward).apply(view_of_a[:2], view)
    assert out[1] is view
    (a.sum() * 10.0 + b.sum() * 100.0 + out[2].sum()).backward()
    p, q = X[1:3], W[1:3]
    np.testing.assert_allclose(x.grad.numpy(), [10, *(20 + 6 * q), 10], rtol=1e-14)
    np.testing.assert_allclose(y.grad.numpy(), [0, *(300 + 6 * p), 100], rtol=1e-14)


def test_hooks_and_retained_gradients_follow_the_newest_value():
    """S9.12, S9.13, for a result that is not the first."""
    def forward(ctx, a, b):
        return a.scale_(2.0), b.scale_(3.0)

    x, y, seen = leaf(), leaf(), []
    a, b = x * 1.0, y * 1.0
    b.retain_grads()
    b.register_hook(lambda g: seen.append(("old", g.numpy()[0])))
    layer(forward, lambda ctx, g, h: (g * 2.0, h * 3.0)).apply(a, b)
    b.register_hook(lambda g: seen.append(("new", g.numpy()[0])))
    (a + b * 7.0).sum().backward()
    assert seen == [("new", 7.0), ("old", 21.0)]
    np.testing.assert_array_equal(b.grad.numpy(), np.full(4, 7.0))
    np.testing.assert_array_equal(y.grad.numpy(), np.full(4, 21.0))


def test_in_place_twice_and_second_order():
    """exp(exp(x))."""
    x = leaf(X / 2)
    y = Exp.apply(Exp_.apply(x * 1.0))
    (g,) = paddle.grad(y.sum(), [x], create_graph=True)
    e = np.exp(X / 2)
    np.testing.assert_allclose(g.numpy(), e * np.exp(e), rtol=1e-14)
    (h,) = paddle.grad(g.sum(), [x])
    np.testing.assert_allclose(h.numpy(), e * np.exp(e) * (1 + e), rtol=1e-14)


def test_overwriting_what_an_in_place_layer_has_saved_is_seen():
    x = leaf()
    y = Exp_.apply(Exp_.apply(x * 1.0))
    with pytest.raises(RuntimeError, match=VERSION_ERROR + ".*output of GradNodePyLayer_Exp_"):
        y.sum().backward()


def test_one_result_in_place_and_another_in_its_memory_is_refused():
    for forward in (lambda ctx, a: (a, a), lambda ctx, a: (a, a[1:]), lambda ctx, a: (a.detach(), a)):
        y = leaf() * 1.0
        node = y.grad_fn
        with pytest.raises(RuntimeError, match=r"\(PermissionDenied\) .*in place"):
            layer(forward, lambda ctx, g, h: g).apply(y)
        assert y.grad_fn is node and y.inplace_version == 0


def test_integers_may_be_written_too():
    def forward(ctx, x, counter):
        counter.add_(1)
        return x * 2.0, counter

    x, counter = leaf(), paddle.to_tensor([1, 2])
    y, same = layer(forward, lambda ctx, g, h: (g * 2.0, None)).apply(x, counter)
    assert same is counter and counter.stop_gradient and counter.tolist() == [2, 3]
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 2.0))


# ---- S12.5: saved tensors (14, item 24) --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("cls", [Cube, Exp, Exp_])
def test_14_24_a_saved_tensor_that_was_modified_is_an_error(cls):
    """P: 10 times too big."""
    x = leaf()
    a = x * 1.0
    a.name = "a"
    y = cls.apply(a)
    z = y.sum()
    (a if cls is Cube else y).scale_(10.0)
    role = "input 0" if cls is Cube else "output"
    with pytest.raises(RuntimeError, match=VERSION_ERROR + f".* {role} of GradNodePyLayer_{cls.__name__}"):
        z.backward()
    assert x.grad is None


def test_the_region_rule_holds_for_custom_functions():
    """S5.13."""
    v = leaf(X[:2])
    u = paddle.zeros([4, 2], dtype="float64")
    u[0] = v
    for t in range(3):
        u[t + 1] = Cube.apply(u[t])
    u[3].sum().backward()
    np.testing.assert_allclose(v.grad.numpy(), 27 * X[:2] ** 26, rtol=1e-13)


def test_a_second_backward_is_the_freed_error():
    """P crashes."""
    x = leaf()
    y = Cube.apply(x).sum()
    y.backward()
    with pytest.raises(eager_core.GraphFreedError):
        y.backward()
    y = Cube.apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 9 * X**2, rtol=1e-14)


def test_saved_tensors_are_to_be_had_in_forward_and_backward_only():
    contexts = []

    def forward(ctx, x):
        assert ctx.saved_tensor() == ()
        ctx.save_for_backward(x, None)
        assert ctx.saved_tensor() == (x, None) == ctx.container
        contexts.append(ctx)
        return x * 2.0

    def backward(ctx, g):
        x, nothing = ctx.saved_tensor()
        assert nothing is None
        with pytest.raises(RuntimeError, match="save_for_backward"):
            ctx.save_for_backward(x)
        return g * 2.0

    x = leaf()
    y = layer(forward, backward).apply(x)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"\(PreconditionNotMet\) saved_tensor\(\)"):
            contexts[0].saved_tensor()
        if y is not None:
            y.sum().backward()
        y = None
    assert isinstance(contexts[0], PyLayerContext)


def test_only_tensors_can_be_saved():
    with pytest.raises(TypeError, match=r"save_for_backward\(\) takes Tensors and None, but got int at pos 1"):
        layer(lambda ctx, x: ctx.save_for_backward(x, 3), lambda ctx, g: g).apply(leaf())


def test_a_tensor_saved_before_forward_writes_to_it_is_refused():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        x.exp_()
        return x

    x = leaf()
    y = x * 1.0
    with pytest.raises(RuntimeError, match="has written to saved tensor 0 since it called save_for_backward"):
        layer(forward, lambda ctx, g: g).apply(y)
    np.testing.assert_array_equal(y.numpy(), X)
    assert y.inplace_version == 0
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones(4))


def test_a_second_derivative_through_a_saved_intermediate_is_refused():
    """T: silently without the part that goes through it. Here d2/dx2 of exp(2x)."""
    def forward(ctx, x):
        ctx.save_for_backward(x * 2.0)                   # neither input nor output
        return (x * 2.0).exp()

    def backward(ctx, g):
        return g * 2.0 * ctx.saved_tensor()[0].exp()

    x = leaf()
    y = layer(forward, backward).apply(x).sum()
    y.backward(retain_graph=True)
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(2 * X), rtol=1e-15)
    with pytest.raises(RuntimeError, match="saved tensor 0 of GradNodePyLayer_Layer is neither an input nor an output"):
        paddle.grad(y, [x], create_graph=True)


def test_14_55_a_tensor_hung_on_ctx_is_not_protected():
    """Documented: P, T, and here."""
    def forward(ctx, x):
        ctx.x = x
        return x * x

    x = leaf()
    a = x * 1.0
    y = layer(forward, lambda ctx, g: g * 2.0 * ctx.x).apply(a).sum()
    a.scale_(10.0)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 20 * X, rtol=1e-15)       # a saved tensor would have been the version error


def test_more_inputs_and_saved_tensors_than_a_node_has_room_for():
    n = 40

    def forward(ctx, *xs):
        ctx.save_for_backward(*xs)
        return tuple(x * x for x in xs)

    def backward(ctx, *grads):
        return [g * 2.0 * x for g, x in zip(grads, ctx.saved_tensor(), strict=True)]

    xs = [leaf([k + 1.0]) for k in range(n)]
    outs = layer(forward, backward).apply(*xs)
    grads = paddle.grad([out * out for out in outs], xs, create_graph=True)
    np.testing.assert_allclose([g.item() for g in grads], [4 * (k + 1.0) ** 3 for k in range(n)], rtol=1e-14)
    second = paddle.grad([g.sum() for g in grads], xs)
    np.testing.assert_allclose([g.item() for g in second], [12 * (k + 1.0) ** 2 for k in range(n)], rtol=1e-14)


def test_saved_tensors_go_through_the_hooks():
    packed = []

    def pack(t):
        packed.append(t.numpy())
        return t.numpy()

    x = leaf()
    a = x * 1.0
    with saved_tensors_hooks(pack, paddle.to_tensor):
        y = Exp_.apply(a)
        z = Cube.apply(x)
    assert len(packed) == 2
    y.scale_(2.0)                                        # legal: what is saved is a copy
    (y + z).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(X) + 3 * X**2, rtol=1e-14)


def test_an_identity_pair_keeps_the_check_on_a_layer_in_place():
    x = leaf()
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = Exp_.apply(x * 1.0)
        z = y.sum()
    z.backward(retain_graph=True)
    np.testing.assert_allclose(x.grad.numpy(), np.exp(X), rtol=1e-15)
    y.scale_(2.0)
    with pytest.raises(RuntimeError, match=VERSION_ERROR):
        z.backward()


def test_a_pack_hook_that_fails_undoes_forwards_writes():
    def fail(t):
        raise KeyError("pack")

    x = leaf()
    y = x * 1.0
    node = y.grad_fn
    with pytest.raises(KeyError), saved_tensors_hooks(fail, lambda t: t):
        Exp_.apply(y)
    np.testing.assert_array_equal(y.numpy(), X)
    assert y.inplace_version == 0 and y.grad_fn is node


# ---- S12.6: mark_not_inplace (14, item 25), and memory that is shared --------------------------------------------------------------------

def test_14_25_a_returned_input_marked_not_inplace_keeps_the_gradient():
    """P: backward silently yields none."""
    def forward(ctx, x):
        ctx.mark_not_inplace(x)
        return x

    x = leaf()
    y = layer(forward, lambda ctx, g: g * 5.0).apply(x)
    assert y is not x and x.is_leaf and x.inplace_version == y.inplace_version == 0
    assert not y.stop_gradient and not y.is_leaf
    np.testing.assert_array_equal(y.numpy(), X)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 5.0))
    with paddle.no_grad():
        x.scale_(2.0)
    assert y.inplace_version == 1
    np.testing.assert_array_equal(y.numpy(), 2 * X)      # shares the memory
    with paddle.no_grad():
        assert layer(forward, lambda ctx, g: g).apply(x) is not x


@pytest.mark.parametrize("result", [lambda ctx, x: x[1:3], lambda ctx, x: x.reshape([2, 2]), lambda ctx, x: x.detach(),
                                    lambda ctx, x: (ctx.mark_not_inplace(x), x)[1]], ids=["slice", "reshape", "detach", "marked"])
def test_a_result_that_shares_memory_with_an_input_refuses_recorded_writes(result):
    def backward(ctx, g):
        return paddle.ones([4], dtype="float64") * 3.0

    x = leaf()
    y = x * 1.0
    z = layer(result, backward).apply(y)
    assert not z.stop_gradient
    for one in (z, y, y[:2], y.detach() if False else z[:1]):
        with pytest.raises(RuntimeError, match=r"\(PermissionDenied\) Tensor \(\) shares its memory"):
            one.scale_(10.0)
    (z.sum() + y.sum()).backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 4.0))


def test_one_result_twice_and_two_results_in_one_memory():
    def twice(ctx, x):
        y = x * 2.0
        return y, y

    def overlapping(ctx, x):
        y = x * 2.0
        return y, y[:2]

    x = leaf()
    a, b = layer(twice, lambda ctx, g, h: (g + h) * 2.0).apply(x)
    assert a is not b
    (a + b * 10.0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 22.0))
    for one in layer(overlapping, lambda ctx, g, h: g).apply(x):
        with pytest.raises(RuntimeError, match="shares its memory"):
            one.scale_(2.0)


def test_a_captured_tensor_that_is_returned_keeps_its_own_history():
    w = leaf(W)
    v = w * 2.0

    for captured in (w, v):
        x = leaf()
        y = layer(lambda ctx, a, c=captured: c, lambda ctx, g: g * 3.0).apply(x)
        assert y is not captured and w.is_leaf and v.grad_fn.name() != "GradNodePyLayer_Layer"
        y.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 3.0))
        assert w.grad is None


# ---- S12.7: an input that is modified and not returned (14, items 38 and 47) -------------------------------------------------------------

@pytest.mark.parametrize("forward", [
    lambda ctx, x: x.scale_(3.0).sum(), lambda ctx, x: (x.scale_(3.0), x.clone())[1], lambda ctx, x: (x.detach().scale_(3.0), x * 1.0)[1],
    lambda ctx, x: (x[1:].zero_(), x * 1.0)[1], lambda ctx, x: (ctx.mark_not_inplace(x), x.scale_(3.0))[1],
    lambda ctx, x: x.scale_(3.0)[1:], lambda ctx, x: x.scale_(3.0).detach(),
])
def test_14_38_and_47_an_input_that_is_modified_and_not_returned(forward):
    """P, T: the factor 3 is missing from a loss on the input."""
    x = leaf()
    y = x * 1.0
    node = y.grad_fn
    saver = y.sin()
    with pytest.raises(RuntimeError, match=r"\(PermissionDenied\) Layer.forward\(\) has modified its input 0"):
        layer(forward, lambda ctx, g: g).apply(y)
    np.testing.assert_array_equal(y.numpy(), X)          # taken back
    assert y.inplace_version == 0 and y.grad_fn is node
    (y * const(W) + saver).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), W + np.cos(X), rtol=1e-15)


def test_inputs_that_overlap_a_returned_one():
    """A part of what is returned follows it; what reaches beyond would keep its old history there."""
    def forward(ctx, part, other):
        part.scale_(3.0)
        return part

    def backward(ctx, g, *rest):
        return g * 3.0, None

    for other, legal in ((lambda y, part: y[1:3], True), (lambda y, part: part[1:], True), (lambda y, part: y, False),
                         (lambda y, part: y[2:], False), (lambda y, part: part.detach(), True), (lambda y, part: y.detach(), False)):
        x = leaf()
        y = x * 1.0
        part = y[:3]
        if legal:
            layer(forward, backward).apply(part, other(y, part))
            (y * const(W)).sum().backward()
            np.testing.assert_array_equal(x.grad.numpy(), W * [3, 3, 3, 1])
        else:
            with pytest.raises(RuntimeError, match=r"has modified its input 1"):
                layer(forward, backward).apply(part, other(y, part))
            np.testing.assert_array_equal(y.numpy(), X)


def test_a_write_beside_the_input_is_none_to_it():
    """S5.13: another row of the matrix that the input is a row of."""
    x = leaf(np.ones([2, 3]))
    y = x * 1.0

    def forward(ctx, row):
        with paddle.no_grad():
            y.detach()[1].zero_()
        return row * 2.0

    layer(forward, lambda ctx, g: g * 2.0).apply(y[0]).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[2, 2, 2], [0, 0, 0]])


def test_rebound_memory_is_refused():
    def forward(ctx, x):
        x.data = paddle.zeros([4], dtype="float64")
        return x * 1.0

    y = leaf() * 1.0
    with pytest.raises(RuntimeError, match=r"Layer.forward\(\) has rebound the memory of its input 0"):
        layer(forward, lambda ctx, g: g).apply(y)
    np.testing.assert_array_equal(y.numpy(), X)


def test_an_exception_of_forward_passes_through_and_takes_writes_back():
    """S1.13, S2.6."""
    error = KeyError("forward")

    def forward(ctx, x, buffer):
        x.scale_(3.0)
        x[1:].exp_()
        buffer.zero_()
        raise error

    x, buffer = leaf(), const(W)
    y = x * 1.0
    saver = y.sin()
    with pytest.raises(KeyError) as caught:
        layer(forward, lambda ctx, g: g).apply(y, buffer)
    assert caught.value is error and paddle.is_grad_enabled()
    np.testing.assert_array_equal(y.numpy(), X)
    np.testing.assert_array_equal(buffer.numpy(), W)
    assert y.inplace_version == buffer.inplace_version == 0
    (saver + y * buffer).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(X) + W, rtol=1e-15)


def test_what_a_failing_forward_has_recorded_does_not_survive_in_silence():
    kept, w = [], leaf(np.ones(4))

    def forward(ctx, x):
        x.scale_(3.0)
        with paddle.enable_grad():
            kept.append(w * x.detach())
        raise KeyError

    y = leaf() * 1.0
    with pytest.raises(KeyError):
        layer(forward, lambda ctx, g: g).apply(y)
    np.testing.assert_array_equal(y.numpy(), X)
    with pytest.raises(RuntimeError, match=VERSION_ERROR):
        kept[0].sum().backward()


# ---- S12.8: what backward gets and returns (14, item 31) ---------------------------------------------------------------------------------

def test_zeros_or_none_for_results_that_nobody_used():
    seen = []

    def make(materialize):
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2.0, x.reshape([2, 2]) * 3.0

        def backward(ctx, g, h):
            seen.append(h)
            return g * 2.0

        return layer(forward, backward)

    for materialize in (True, False):
        x = leaf()
        make(materialize).apply(x)[0].sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 2.0))
    np.testing.assert_array_equal(seen[0].numpy(), np.zeros([2, 2]))
    assert seen[0].dtype == np.float64 and seen[1] is None


def test_results_marked_as_not_differentiable():
    seen = []

    def forward(ctx, x):
        a, b, c = x * 2.0, x * 3.0, paddle.argmax(x)
        ctx.mark_non_differentiable(b)
        return a, b, c

    def backward(ctx, *grads):
        seen.extend(grads)
        return grads[0] * 2.0

    x = leaf()
    a, b, c = layer(forward, backward).apply(x)
    assert b.stop_gradient and b.is_leaf and c.stop_gradient and not a.stop_gradient
    (a * b).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * 3 * X, rtol=1e-15)
    assert [g.shape for g in seen] == [[4], [4], []] and seen[1].numpy().any() == seen[2].numpy().any() == False  # noqa: E712


def test_an_input_in_place_that_is_marked_as_not_differentiable_is_refused():
    y = leaf() * 1.0
    with pytest.raises(ValueError, match="cannot be marked as not differentiable"):
        layer(lambda ctx, x: (ctx.mark_non_differentiable(x), x)[1], lambda ctx, g: g).apply(y)


@pytest.mark.parametrize("answer, error, text", [
    (lambda g: (g, g), ValueError, r"The number of outputs of `PyLayer\.backward` should be 1, but received 2\."),
    (lambda g: (), ValueError, r"The number of outputs of `PyLayer\.backward` should be 1, but received 0\."),
    (lambda g: g.numpy(), ValueError, r"must return Tensors or None, but got numpy\.ndarray for input 0"),
    (lambda g: 3.0, ValueError, "must return Tensors or None, but got float for input 0"),
    (lambda g: g.sum(), ValueError, r"returned a gradient of shape \[\] for input 0, which has shape \[4\]"),
    (lambda g: g.reshape([2, 2]), ValueError, r"returned a gradient of shape \[2, 2\] for input 0, which has shape \[4\]"),
    (lambda g: g[:1], ValueError, r"returned a gradient of shape \[1\] for input 0"),
])
def test_14_31_what_backward_returns_is_checked(answer, error, text):
    """P stores a gradient of the wrong shape."""
    x = leaf()
    y = layer(lambda ctx, a: a * 2.0, lambda ctx, g: answer(g)).apply(x)
    with pytest.raises(error, match=text):
        y.sum().backward()
    assert x.grad is None


def test_an_exception_of_backward_passes_through_and_leaves_gradients_alone():
    """S1.13, S9.22."""
    error = KeyboardInterrupt("backward")

    def backward(ctx, g):
        raise error

    x, w = leaf(), leaf()
    y = layer(lambda ctx, a: a * 2.0, backward).apply(x)
    with pytest.raises(KeyboardInterrupt) as caught:
        (y + w * 2.0).sum().backward()
    assert caught.value is error and x.grad is None and w.grad is None and paddle.is_grad_enabled()


@pytest.mark.parametrize("answer", [3, None, (), [1, None], "text"])
def test_forward_must_return_a_tensor(answer):
    with pytest.raises(ValueError, match=r"At least one output of `PyLayer\.forward`"):
        layer(lambda ctx, x: answer, lambda ctx, g: g).apply(leaf())


def test_tensors_in_nested_lists_are_refused():
    with pytest.raises(TypeError, match="in a list inside of it"):
        layer(lambda ctx, x: (x * 1.0, [x * 2.0]), lambda ctx, g: g).apply(leaf())


def test_forward_and_backward_must_be_there():
    with pytest.raises(NotImplementedError, match="forward function for PyLayer"):
        PyLayer.apply(leaf())
    half = type("Half", (PyLayer,), {"forward": staticmethod(lambda ctx, x: x * 0.5)})
    with pytest.raises(NotImplementedError, match="backward function for PyLayer"):
        half.apply(leaf()).sum().backward()


# ---- backward that is differentiated -----------------------------------------------------------------------------------------------------

def test_once_differentiable_gives_no_silent_zero():
    class Sine(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return paddle.to_tensor(np.sin(x.numpy()))

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            return grad * paddle.to_tensor(np.cos(ctx.saved_tensor()[0].numpy()))

    x = leaf()
    Sine.apply(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(X), rtol=1e-15)
    (g,) = paddle.grad(Sine.apply(x).sum(), [x], create_graph=True)
    np.testing.assert_allclose(g.numpy(), np.cos(X), rtol=1e-15)
    with pytest.raises(RuntimeError, match=r"\(Unavailable\) The Op py_layer_grad doesn't have any grad op"):
        paddle.grad(g.sum(), [x])


def test_a_layer_inside_the_backward_of_a_layer():
    class Outer(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sum() * 0.0 + (x**4).sum()

        @staticmethod
        def backward(ctx, grad):
            return grad * 4.0 * Cube.apply(ctx.saved_tensor()[0])

    x = leaf()
    (g,) = paddle.grad(Outer.apply(x), [x], create_graph=True)
    np.testing.assert_allclose(g.numpy(), 4 * X**3, rtol=1e-14)
    (h,) = paddle.grad(g.sum(), [x])
    np.testing.assert_allclose(h.numpy(), 12 * X**2, rtol=1e-14)


def test_a_backward_inside_of_backward():
    """S9.16."""
    def backward(ctx, g):
        with paddle.enable_grad():
            x = leaf(ctx.x)
            (inner,) = paddle.grad((x**3).sum(), [x])
        return g * inner

    def forward(ctx, x):
        ctx.x = x.numpy()
        return x**3

    x = leaf()
    layer(forward, backward).apply(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * X**2, rtol=1e-14)


def test_two_threads_run_one_graph():
    x = leaf()
    y = Cube.apply(x).sum()
    errors = []

    def run():
        try:
            for _ in range(50):
                paddle.grad(y, [x], retain_graph=True)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


# ---- lifetime ----------------------------------------------------------------------------------------------------------------------------

def freed_at_once(make):
    gc.collect()
    gc.disable()
    try:
        return make()() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("cls", [Cube, Exp, Exp_])
def test_a_graph_with_a_custom_function_is_freed_by_reference_counts(cls):
    """S5.6, for saved inputs, saved outputs and results in place."""
    def make():
        return weakref.ref(cls.apply(leaf() * 1.0))

    assert freed_at_once(make)


def test_after_backward_the_context_is_gone():
    contexts = []

    def forward(ctx, x):
        contexts.append(weakref.ref(ctx))
        return x * 1.0

    x = leaf()
    y = layer(forward, lambda ctx, g: g).apply(x)
    assert contexts[0]() is not None
    y.sum().backward()
    assert contexts[0]() is None


def test_a_cycle_through_a_context_is_collected():
    """ctx - output - node - ctx, and the class is in it as well."""
    def make():
        def forward(ctx, x):
            ctx.out = x * 2.0
            return ctx.out

        return weakref.ref(layer(forward, lambda ctx, g: g).apply(leaf()))

    assert not freed_at_once(make)
    gc.collect()
    gone = make()
    gc.collect()
    assert gone() is None


def test_nothing_leaks_after_exceptions():
    class Marker:
        pass

    def attempt(where):
        marker = Marker()

        def forward(ctx, x):
            ctx.marker = marker
            ctx.save_for_backward(x)
            if where == "forward":
                raise KeyError
            return x * 2.0

        def backward(ctx, g):
            raise KeyError

        with pytest.raises(KeyError):
            layer(forward, backward).apply(leaf()).sum().backward()
        return weakref.ref(marker)

    for where in ("forward", "backward"):
        gone = attempt(where)
        gc.collect()
        assert gone() is None, where


def test_a_long_chain_is_freed_without_recursion():
    """S9.6."""
    class Step(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x                                    # node - ctx - tensor - node
            return x + 1.0

        @staticmethod
        def backward(ctx, g):
            return g

    def chain():
        y = leaf([0.0])
        for _ in range(20000):
            y = Step.apply(y)
        return y

    thread = threading.Thread(target=chain)
    thread.start()
    thread.join()
    x = leaf([0.0])
    y = x
    for _ in range(2000):
        y = Step.apply(y)
    y.backward()
    assert x.grad.item() == 1.0
