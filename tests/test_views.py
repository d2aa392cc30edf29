"""Views, S8 (more programs in test_silent_faults). Each expected gradient is a formula, most of them checked by central differences of the
same data flow on NumPy arrays."""
import numpy as np
import pytest
from differences import slope

import python_api as paddle

LEAF = r"Leaf Var \(.*\) that doesn't stop gradient can't use inplace strategy"
MODIFIED = "modified by an inplace operation"
X0 = np.array([0.5, 0.8, 1.2, 1.5])
W0 = np.array([2.0, 3.0, 4.0, 5.0])


def leaf(values=X0, name=""):
    t = paddle.to_tensor(np.array(values, dtype="float64"), stop_gradient=False)
    t.name = name
    return t


def const(values):
    return paddle.to_tensor(np.array(values, dtype="float64"))


def start():
    """x, y = x * 1, w: the data of section 14."""
    x = leaf()
    return x, x * 1.0, const(W0)


def close(got, want):
    got = got.numpy() if isinstance(got, paddle.Tensor) else got
    np.testing.assert_allclose(got, np.broadcast_to(np.asarray(want), np.shape(got)), rtol=1e-6, atol=1e-9)


def grad_of(x):
    return np.zeros(x.shape) if x.grad is None else x.grad.numpy()


def gradient(loss, x):
    """A constant loss, or one that does not reach x, has the gradient zero."""
    x.clear_gradient(set_to_zero=False)
    if not loss.stop_gradient:
        loss.sum().backward()
    return grad_of(x)


VIEWS = {
    "slice": (lambda t: t[1:3], lambda a: a[1:3]),
    "int": (lambda t: t[1], lambda a: a[1:2].reshape(())),
    "step": (lambda t: t[::2], lambda a: a[::2]),
    "backwards": (lambda t: t[::-1], lambda a: a[::-1]),
    "backwards step": (lambda t: t[3:0:-2], lambda a: a[3:0:-2]),
    "None": (lambda t: t[None, 1:], lambda a: a[None, 1:]),
    "ellipsis": (lambda t: t[...], lambda a: a[...]),
    "empty": (lambda t: t[2:2], lambda a: a[2:2]),
    "reshape": (lambda t: t.reshape([2, 2]), lambda a: a.reshape(2, 2)),
    "unsqueeze": (lambda t: t.unsqueeze(0), lambda a: a[None]),
    "squeeze": (lambda t: t.unsqueeze(1).squeeze(1), lambda a: a[:]),
    "flatten": (lambda t: t.reshape([2, 2]).flatten(), lambda a: a[:]),
    "T": (lambda t: t.reshape([2, 2]).T, lambda a: a.reshape(2, 2).T),
    "transpose": (lambda t: t.reshape([2, 1, 2]).transpose([2, 0, 1]), lambda a: a.reshape(2, 1, 2).transpose(2, 0, 1)),
    "t": (lambda t: t.reshape([2, 2]).t(), lambda a: a.reshape(2, 2).T),
    "row of T": (lambda t: t.reshape([2, 2]).T[1], lambda a: a.reshape(2, 2).T[1]),
    "slice of slice": (lambda t: t[1:][:2], lambda a: a[1:][:2]),
    "column": (lambda t: t.reshape([2, 2])[:, 1], lambda a: a.reshape(2, 2)[:, 1]),
}
WRITES = {
    "multiply_": (lambda t: t.multiply_(const(3.0)), lambda a: np.multiply(a, 3, out=a)),
    "exp_": (lambda t: t.exp_(), lambda a: np.exp(a, out=a)),
    "sin_": (lambda t: t.sin_(), lambda a: np.sin(a, out=a)),
    "scale_": (lambda t: t.scale_(10.0), lambda a: np.multiply(a, 10, out=a)),
    "fill_": (lambda t: t.fill_(3.0), lambda a: a.fill(3)),
    "zero_": (lambda t: t.zero_(), lambda a: a.fill(0)),
    "setitem": (lambda t: t.__setitem__(..., 9.0), lambda a: a.fill(9)),
    "copy_": (lambda t: t.copy_(t * 3.0 + 1.0), lambda a: np.add(a * 3, 1, out=a)),
    "reshape and write": (lambda t: t.unsqueeze_(0).scale_(2.0), lambda a: np.multiply(a, 2, out=a)),
    "index array": (lambda t: t.__setitem__([0] if t.ndim and t.size else ..., 7.0),
                    lambda a: a.__setitem__([0] if a.ndim and a.size else ..., 7.0)),
}


def numpy_slope(function, step=1e-6):
    out = np.zeros(4)
    for i in range(4):
        up, down = X0.copy(), X0.copy()
        up[i] += step
        down[i] -= step
        out[i] = (function(up) - function(down)) / (2 * step)
    return out


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_every_write(view, write):
    """S8.1 - S8.3, S8.10, S8.14, section 14 items 1, 2, 3, 9, 10: the loss is on the view, on what it was taken from, or on other views."""
    for through in ("view", "base"):
        for look_at in ("view", "base", "other view", "late view", "all"):
            check_view_and_write(view, write, through, look_at)


def check_view_and_write(view, write, through, look_at):
    def weights(a):
        return 1.0 + np.arange(a.size, dtype="float64").reshape(a.shape)

    def reference(start):
        y = start * 1.0
        v, other = VIEWS[view][1](y), y[:3]
        WRITES[write][1](v if through == "view" else y)
        seen = {"view": [v], "base": [y], "other view": [other], "late view": [y[1:]], "all": [v, y, other, y[1:]]}[look_at]
        return sum((np.square(a) * weights(a)).sum() for a in seen)

    x = leaf()
    y = x * 1.0
    v, other = VIEWS[view][0](y), y[:3]
    WRITES[write][0](v if through == "view" else y)
    flat = y.reshape([4])
    seen = {"view": [v], "base": [y], "other view": [other], "late view": [flat[1:]], "all": [v, y, other, flat[1:]]}[look_at]
    loss = sum((t.square() * const(weights(t.numpy()))).sum() for t in seen)
    np.testing.assert_allclose(loss.item(), reference(X0), rtol=1e-10)
    np.testing.assert_allclose(gradient(loss, x), numpy_slope(reference), rtol=1e-5, atol=1e-6)


def test_a_view_of_a_view_points_to_the_root():
    """S8.1: the middle view may be gone."""
    x, y, _ = start()
    s = y[1:][:2]
    s.scale_(10.0)
    close(gradient(y, x), [1, 10, 10, 1])


def test_detach_in_place():
    """S8.9."""
    x, y, _ = start()
    z = y * y
    assert y.detach_() is y
    assert y.inplace_version == 0
    assert y.stop_gradient
    assert y.is_leaf
    close(gradient(z, x), 2 * X0)                          # the consumer's edges were fixed
    x, y, _ = start()
    s = y[1:3]
    with pytest.raises(RuntimeError, match="PermissionDenied"):
        s.detach_()
    close(gradient(s, x), [0, 1, 1, 0])


def test_which_indexes_are_views():
    """S8.10."""
    y = const(np.arange(12.0).reshape(3, 4))
    for index in (1, slice(1, 3), (slice(None), 1), None, Ellipsis, (Ellipsis, None, slice(None, None, -1)), (1, 2), ()):
        v = y[index]
        version = y.inplace_version
        v.scale_(1.0)
        assert y.inplace_version == version + 1
    for index in ([0, 1], np.array([0, 1]), paddle.to_tensor([0, 1]), y > 3.0, ([0, 1], [1, 2]), (slice(None), [0, 1]), np.array(True)):
        assert y[index].inplace_version == 0
        version = y.inplace_version
        y[index] = 1.0
        assert y.inplace_version == version + 1


@pytest.mark.parametrize("index", [1, slice(1, 3), slice(None, None, -2), [0, 2], np.array([True, False, True, False]), Ellipsis,
                                   slice(2, 2)],
                         ids=str)
@pytest.mark.parametrize("value", ["full", "broadcast", "0-d", "longer", "number", "array", "float32"])
def test_setitem_gradients(index, value):
    """S8.10, section 14 items 16 and 17: zero where overwritten; the value's part summed to its shape, in its dtype."""
    x, y, w = start()
    selected = X0[index].shape
    shape = {"full": selected, "broadcast": (1,), "0-d": (), "longer": (1, *selected)}.get(value, selected)
    v = paddle.to_tensor(np.full(shape, 9.0), dtype="float32" if value == "float32" else "float64", stop_gradient=False)
    if value == "number":
        y[index] = 9.0
    elif value == "array":
        y[index] = np.full(selected, 9.0)
    else:
        y[index] = v
    if not y.stop_gradient:
        (y * w).sum().backward()
    want = W0.copy()
    want[index] = 0
    close(grad_of(x), want)
    if value not in ("number", "array"):
        part = W0[index]
        close(v.grad, part.sum().reshape(shape) if v.size == 1 and part.size != 1 else part.reshape(shape))
        assert v.grad.dtype == v.dtype


def test_index_and_mask_are_as_they_were_when_used():
    """S8.10, S5.3: changed afterwards, the gradient is still exact (or an error)."""
    x, y, w = start()
    index = paddle.to_tensor([0, 2])
    v = leaf([7.0, 8.0])
    y[index] = v
    index.fill_(1)
    (y * w).sum().backward()
    close(x.grad, [0, 3, 0, 5])
    close(v.grad, [2, 4])


def test_a_value_that_is_a_part_of_the_target():
    """S8.12, S7.5: disjoint, overlapping, permuted."""
    x, y, w = start()
    y[2:] = y[:2]
    close(gradient(y * w, x), [2 + 4, 3 + 5, 0, 0])
    x, y, w = start()
    y[1:] = y[:-1]
    close(y, X0[[0, 0, 1, 2]])
    close(gradient(y * w, x), [2 + 3, 4, 5, 0])
    x, y, w = start()
    y[...] = y[::-1]
    close(gradient(y * w, x), W0[::-1])
    x, y, w = start()
    m = y.reshape([2, 2])
    m[...] = m.T
    close(gradient(y * w, x), W0[[0, 2, 1, 3]])
    x, y, w = start()
    y[1:].add_(y[:-1])
    close(y, X0 + np.array([0, *X0[:-1]]))
    close(gradient(y * w, x), [2 + 3, 3 + 4, 4 + 5, 5])


def test_loops_over_rows_and_elements():
    """S8.12, S5.13: programs that both references refuse."""
    x = leaf()
    y = x * 1.0
    for i in range(1, 4):
        y[i] = y[i - 1] * x[i]
    close(gradient(y, x), numpy_slope(lambda a: np.cumprod(a).sum()))
    v, steps = leaf(), 6
    u = paddle.zeros([steps + 1, 4], dtype="float64")
    u[0] = v
    for t in range(steps):
        u[t + 1] = u[t] + u[t].sin() * 0.1

    def flow(a):
        for _ in range(steps):
            a = a + np.sin(a) * 0.1
        return a.sum()

    close(gradient(u[steps], v), numpy_slope(flow))
    columns = paddle.zeros([4, steps + 1], dtype="float64")
    columns[:, 0] = v
    for t in range(steps):
        columns[:, t + 1] = columns[:, t] + columns[:, t].sin() * 0.1
    close(gradient(columns[:, -1], v), numpy_slope(flow))
    transposed = paddle.zeros([4, steps + 1], dtype="float64").T
    transposed[0] = v
    for t in range(steps):
        transposed[t + 1] = transposed[t] + transposed[t].sin() * 0.1
    close(gradient(transposed[steps], v), numpy_slope(flow))


def test_region_rule_never_forgives_a_touched_element():
    """S5.13."""
    for touch in (lambda y: y[1].scale_(2.0), lambda y: y[::3].scale_(2.0), lambda y: y.scale_(2.0), lambda y: y.__setitem__([1], 0.0)):
        x, y, _ = start()
        z = y[:2] * y[:2]
        touch(y)
        with pytest.raises(RuntimeError, match=MODIFIED):
            z.sum().backward()
        assert x.grad is None
    for miss in (lambda y: y[2].scale_(2.0), lambda y: y[3:1:-1].fill_(0.0), lambda y: y.reshape([2, 2])[1].sin_()):
        x, y, _ = start()
        z = y[:2] * y[:2]
        miss(y)
        close(gradient(z, x), [1.0, 1.6, 0, 0])


def test_setitem_errors_leave_no_trace():
    """S8.13."""
    x, y, _ = start()
    s, long = y[1:3], const([1.0, 2.0, 3.0])
    for index, value, error in ((9, 1.0, IndexError), ((0, 0), 1.0, IndexError), ([0, 9], 1.0, IndexError), (slice(0, 2), long, ValueError),
                                ([0, 1], long, ValueError), (0, "text", (ValueError, TypeError)), (0, None, (ValueError, TypeError)),
                                (0, 1j, TypeError), ((Ellipsis, Ellipsis), 1.0, IndexError), (np.array([0.5]), 1.0, IndexError)):
        with pytest.raises(error):
            y[index] = value
        with pytest.raises(error):
            s[index] = value
    close(y, X0)
    assert y.inplace_version == 0
    assert y.grad_fn.name() == start()[1].grad_fn.name()
    close(gradient(y * 2.0 + s.sum(), x), 2 + 4 * np.array([0, 1, 1, 0]))


def test_a_refused_value_leaves_no_trace():
    """S8.13, S2.6: the value is a view that has lost its tensor, which shows only when its history is asked for."""
    x = leaf(X0.reshape(2, 2))
    y = x * 1.0
    s = y.flatten()
    y.transpose_([1, 0])
    target = const(np.zeros(4))
    with pytest.raises(RuntimeError, match="PermissionDenied"):
        target[...] = s
    close(target, 0)
    assert target.inplace_version == 0
    assert target.stop_gradient


# ---- strided targets: the region of the written part is counted in the right memory ------------------------------------------------------

@pytest.mark.parametrize("index", [0, (slice(None), 1), (0, 1), (slice(None, None, -1), slice(1, 2)), Ellipsis], ids=str)
@pytest.mark.parametrize("form", ["T", "step", "backwards", "in place", "root written"])
def test_setitem_through_a_strided_tensor(form, index):
    """S8.2, S8.10, S8.14: a transposed view, a sliced one, and a root whose own axes were transposed in place."""
    x0 = np.arange(1.0, 9.0).reshape(2, 4)
    w = np.arange(2.0, 10.0)

    def look(y, numpy):
        if form == "T":
            return y.T
        if form == "step":
            return y[:, ::2]
        if form == "backwards":
            return y[::-1, 3:0:-1]
        return y.transpose(1, 0) if numpy else y.transpose_([1, 0])

    def reference(start, value):
        y = start * 1.0
        target = look(y, True)
        target[index] = value
        seen = target if form in ("in place", "root written") else y
        return (seen.flatten() * w).sum()

    x, v = leaf(x0), leaf(0.5)
    y = x * 1.0
    if form == "root written":
        y.transpose_([1, 0])
        if index is Ellipsis:
            y.copy_(v * 1.0)
        else:
            y[index] = v
        target = y
    else:
        target = look(y, False)
        target[index] = v
    seen = target if form in ("in place", "root written") else y
    (seen.flatten() * const(w)).sum().backward()
    want = np.zeros_like(x0)
    for at in np.ndindex(x0.shape):
        up = x0.copy()
        up[at] += 1.0
        want[at] = reference(up, 0.5) - reference(x0, 0.5)
    close(grad_of(x), want)
    close(v.grad, reference(x0, 1.5) - reference(x0, 0.5))


def test_whole_writes_of_a_root_with_permuted_axes():
    """S6.6, S7.7: copy_, fill_ and zero_ after transpose_: the value's gradient is not permuted."""
    x, v = leaf(X0.reshape(2, 2)), leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 1.0
    y.transpose_([1, 0])
    y.copy_(v)
    (y * const(W0.reshape(2, 2))).sum().backward()
    close(v.grad, W0.reshape(2, 2))
    assert x.grad is None or not x.grad.numpy().any()
    x = leaf(X0.reshape(2, 2))
    y = x * 1.0
    y.transpose_([1, 0])
    y.multiply_(v)
    v.clear_gradient(set_to_zero=False)
    (y * const(W0.reshape(2, 2))).sum().backward()
    close(x.grad, (W0.reshape(2, 2) * v.numpy()).T)
    close(v.grad, W0.reshape(2, 2) * X0.reshape(2, 2).T)


# ---- histories of views that are easily lost ------------------------------------------------------------------------------------------

def test_a_view_outlives_its_base():
    """S8.1."""
    x, y, _ = start()
    s = y[1:3]
    del y
    s.scale_(10.0)
    close(gradient(s, x), [0, 10, 10, 0])


def test_many_views_and_many_writes():
    """S8.2, S8.3: views from every stage of a history, each looked at only in the end."""
    x, y, _ = start()
    a = x.numpy()
    views, factor = [], np.ones(4)
    for k in range(20):
        views.append((y[k % 3:k % 3 + 2], slice(k % 3, k % 3 + 2)))
        part = slice(k % 2, 4, 2)
        y[part].scale_(1.1)
        factor[part] *= 1.1
    want = np.zeros(4)
    loss = y.sum()
    want += factor
    for k, (v, part) in enumerate(views):
        loss = loss + v.sum() * float(k)
        want[part] += k * factor[part]
    np.testing.assert_allclose(loss.item(), (want * a).sum())
    close(gradient(loss, x), want)


def test_an_in_place_operator_on_the_item_of_an_item():
    """S4.8, S8.2: x[i] += y writes and counts once."""
    x, y, _ = start()
    y[1:3] += x[:2]
    assert y.inplace_version == 1
    close(gradient(y, x), [2, 2, 1, 1])
    x, y, _ = start()
    y[[1, 2]] *= 10.0
    assert y.inplace_version == 1
    close(gradient(y, x), [1, 10, 10, 1])
    x, y, _ = start()
    m = y.reshape([2, 2])
    m[1][0] -= x[0]
    close(gradient(y, x), [0, 1, 1, 1])
    assert y.inplace_version == 1


@pytest.mark.parametrize("write", ["operator", "setitem", "base"])
def test_the_flag_of_a_view_of_a_constant(write):
    """S8.4: setting stop_gradient=True on what is a constant already changes nothing; a gradient that arrives later is not lost."""
    x, b = leaf(), const(np.zeros(4))
    v = b[1:3]
    v.stop_gradient = True
    inner = v[:1]
    if write == "operator":
        v.add_(x[1:3])
    elif write == "setitem":
        v[...] = x[1:3]
    else:
        b[1:3] = x[1:3]
    assert not v.stop_gradient
    assert not inner.stop_gradient
    close(gradient((v * 2.0).sum() + (inner * 3.0).sum(), x), [0, 5, 2, 0])


def test_the_flag_of_a_view_with_a_history():
    """S3.7: True makes it a constant that refuses to take a gradient in; False gives its history back, whatever became of the root."""
    for detached in (False, True):
        x, y, _ = start()
        s = y[1:3]
        s.stop_gradient = True
        if detached:
            y.detach_()
        with pytest.raises(RuntimeError, match="PermissionDenied"):
            s.add_(x[:2])
        close(s, X0[1:3])
        assert s.stop_gradient
        s.stop_gradient = False
        assert not s.is_leaf
        close(gradient(s, x), [0, 1, 1, 0])
    x, y, _ = start()
    s = y[1:3]
    y.detach_()
    s.stop_gradient = False
    close(gradient(s, x), [0, 1, 1, 0])


# ---- views of a tensor whose axes have changed places ----------------------------------------------------------------------------------

TALL = np.linspace(0.5, 2.0, 12).reshape(4, 3)


def _view_first(x, numpy):
    """The view is older than the transposition and is written through after it."""
    y = x * x
    v = y[1:, ::2]
    if numpy:
        y = y.T
        v[...] = np.sin(v)
        y *= TALL
    else:
        y.transpose_([1, 0])
        v.sin_()
        y.multiply_(paddle.to_tensor(TALL))
    return (v * v).sum() + (y * y).sum()


def _written_between(x, numpy):
    """Views taken after the transposition, the tensor and its views written in turns."""
    y = x * x
    if numpy:
        y = y.T
        y[...] = np.sin(y)
    else:
        y.transpose_([1, 0])
        y.sin_()
    v, w = y[1:3], y[::-1, 2]
    y[0, 1:] = v[0, :2] * 2.0 + w[1:3]
    v *= 1.5
    w[1] = v[1, 0] * 3.0
    return (v * v * v).sum() + (y * y).sum() + (w * w).sum()


def _three_axes(x, numpy):
    y = (x * x).reshape([2, 3, 2])
    y = y * 1.0
    v = y[:, 1, ::-1]
    if numpy:
        y = y.transpose(2, 0, 1)
        u = y[1, :, 1:]
        u[...] = np.sin(u)
    else:
        y.transpose_([2, 0, 1])
        u = y[1, :, 1:]
        u.sin_()
    v *= 2.0
    return (v * v).sum() + (u * u * u).sum() + (y * y).sum()


@pytest.mark.parametrize("program", [_view_first, _written_between, _three_axes])
def test_s8_2_views_of_a_tensor_whose_axes_changed_places(program):
    start = np.arange(1.0, 13).reshape(3, 4) / 7
    x = paddle.to_tensor(start, stop_gradient=False)
    loss = program(x, numpy=False)
    np.testing.assert_allclose(loss.item(), program(start.copy(), numpy=True), rtol=1e-12)
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), slope(lambda v: program(v.copy(), numpy=True), start), rtol=1e-6, atol=1e-9)


def test_a_view_that_runs_across_changed_axes_is_refused():
    """A row of six elements of a 3x4 block is no region of the 4x3 tensor that the block has become."""
    x = paddle.to_tensor(np.ones((3, 4)), stop_gradient=False)
    y = x * 1.0
    six = y.reshape([2, 6])[0]
    y.transpose_([1, 0])
    with pytest.raises(RuntimeError, match="clone"):
        six.sin_()
    np.testing.assert_array_equal(y.numpy(), np.ones((4, 3)))


# ---- a view that was written through is a part of its base, like a view that is taken then -------------------------------------------

def written(how):
    """A base, and a view of its middle with the values three times as large."""
    x, y, _ = start()
    v = y[1:3]
    v.scale_(3.0)
    return x, y, v if how == "written through" else y[1:3]


@pytest.mark.parametrize("how", ["written through", "taken after the write"])
def test_s8_2_what_is_computed_from_a_view_depends_on_its_base(how):
    _, y, v = written(how)
    close(paddle.grad(y.sum() + v.sum(), y)[0], [1.0, 2.0, 2.0, 1.0])
    _, y, v = written(how)
    close(paddle.grad((v * v).sum(), y)[0], [0.0, 2 * 3 * X0[1], 2 * 3 * X0[2], 0.0])


@pytest.mark.parametrize("how", ["written through", "taken after the write"])
def test_s8_2_hooks_and_retained_gradients_of_the_base_see_its_views(how):
    x, y, v = written(how)
    y.retain_grads()
    y.register_hook(lambda g: g * 10.0)
    (y.sum() + v.sum()).backward()
    close(y.grad, [10.0, 20.0, 20.0, 10.0])
    close(x.grad, [10.0, 60.0, 60.0, 10.0])


@pytest.mark.parametrize("when", ["before", "after"])
def test_s9_13_a_retained_gradient_of_a_view_is_of_what_was_computed_from_it(when):
    x, y, _ = start()
    v = y[1:3]
    if when == "before":
        v.retain_grads()
    v.scale_(3.0)
    if when == "after":
        v.retain_grads()
    (y.sum() + (v * v).sum()).backward()
    close(v.grad, 2 * 3 * X0[1:3])
    close(x.grad, [1.0, 3 + 18 * X0[1], 3 + 18 * X0[2], 1.0])


def test_s8_2_many_writes_through_one_view():
    x, y, w = start()
    v = y[1:3]
    for _ in range(3):
        v.multiply_(w[1:3])
        v.sin_()
    (y * y).sum().backward()

    def plain(values):
        values = values.copy()
        for _ in range(3):
            values[1:3] = np.sin(values[1:3] * W0[1:3])
        return float((values * values).sum())

    close(x.grad, slope(plain, X0))
