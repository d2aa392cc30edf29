"""What PaddlePaddle 3.3.1 and PyTorch 2.13 both get right about writes, section 14 of the semantics at its end, and what must stay so. The
gradients come from central differences of NumPy code.

Elsewhere: hooks before and after a write, test_engine, test_a_hook_belongs_to_the_value_at_registration; roots in either order,
test_a_root_that_is_an_ancestor_of_another; a write between two backwards, test_retain_graph_and_a_change_in_between; threads,
test_threads_on_one_leaf; a write to anything that an operator has read or made, for every operator, test_op_table.
"""
import numpy as np
import pytest
from differences import slope

import python_api as paddle

MODIFIED = "used in gradient computation has been modified by an inplace operation"
X = np.array([0.5, 0.8, 1.2, 1.5])
W = np.array([2.0, 3.0, 4.0, 5.0])
ROWS = np.array([2, 0])
MASK = np.array([True, False, True, False])


def leaf(values=X):
    return paddle.to_tensor(np.array(values), stop_gradient=False)


def const(values, dtype="float64"):
    return paddle.to_tensor(np.array(values, dtype=dtype))


def close(got, want):
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6, atol=1e-9)


def put(y, at, v, add=False):
    y = y.copy()
    (np.add.at if add else lambda y, at, v: y.__setitem__(at, v))(y, at, v)
    return y


def lower(a):
    return np.tril(a.reshape(2, 2)).ravel()


RIGHT = {
    "mul_": (lambda y, v: y.mul_(v), np.multiply), "div_": (lambda y, v: y.div_(v), np.divide), "pow_": (lambda y, v: y.pow_(v), np.power),
    "pow_ number": (lambda y, v: y.pow_(3.0), lambda y, v: y ** 3), "sub_": (lambda y, v: y.sub_(v), np.subtract),
    "sin_": (lambda y, v: y.sin_(), lambda y, v: np.sin(y)), "clip_": (lambda y, v: y.clip_(0.7, 1.3), lambda y, v: np.clip(y, 0.7, 1.3)),
    "cumsum_": (lambda y, v: y.cumsum_(), lambda y, v: np.cumsum(y)), "cumprod_": (lambda y, v: y.cumprod_(0), lambda y, v: np.cumprod(y)),
    "lerp_": (lambda y, v: y.lerp_(v, 0.3), lambda y, v: y + 0.3 * (v - y)), "hypot_": (lambda y, v: y.hypot_(v), np.hypot),
    "atan_": (lambda y, v: y.atan_(), lambda y, v: np.arctan(y)),
    "index_add_": (lambda y, v: y.index_add_(const(ROWS, "int64"), 0, v[:2]), lambda y, v: put(y, ROWS, v[:2], add=True)),
    "index_add_ twice": (lambda y, v: y.index_add_(const([1, 1], "int64"), 0, v[:2]), lambda y, v: put(y, [1, 1], v[:2], add=True)),
    "index_put_": (lambda y, v: y.index_put_([const(ROWS, "int64")], v[:2]), lambda y, v: put(y, ROWS, v[:2])),
    "index_put_ adds": (lambda y, v: y.index_put_([const([1, 1], "int64")], v[:2], True), lambda y, v: put(y, [1, 1], v[:2], add=True)),
    "scatter_": (lambda y, v: y.scatter_(const(ROWS, "int64"), v[:2]), lambda y, v: put(y, ROWS, v[:2])),
    "index_fill_": (lambda y, v: y.index_fill_(const(ROWS, "int64"), 0, 9.0), lambda y, v: put(y, ROWS, 9.0)),
    "masked_fill_": (lambda y, v: y.masked_fill_(const(MASK, "bool"), 9.0), lambda y, v: put(y, MASK, 9.0)),
    "tril_": (lambda y, v: y.reshape([2, 2]).tril_(), lambda y, v: lower(y)),
    "t_": (lambda y, v: y.reshape_([2, 2]).t_(), lambda y, v: y.reshape(2, 2).T.ravel()),
    "add_ itself": (lambda y, v: y.add_(y), lambda y, v: y + y), "add_ broadcast": (lambda y, v: y.add_(v[2:3]), lambda y, v: y + v[2:3]),
    "mul_ 0-d": (lambda y, v: y.mul_(v[2]), lambda y, v: y * v[2]),
    "setitem slice": (lambda y, v: y.__setitem__(slice(1, 3), v[:2]), lambda y, v: put(y, slice(1, 3), v[:2])),
    "setitem step": (lambda y, v: y.__setitem__(slice(None, None, -2), v[:2]), lambda y, v: put(y, slice(None, None, -2), v[:2])),
    "setitem broadcast": (lambda y, v: y.__setitem__(slice(1, 4), v[:1]), lambda y, v: put(y, slice(1, 4), v[:1])),
    "setitem 0-d": (lambda y, v: y.__setitem__(slice(1, 4), v[0]), lambda y, v: put(y, slice(1, 4), v[0])),
    "setitem longer": (lambda y, v: y.__setitem__(slice(1, 3), v[:2].reshape([1, 2])), lambda y, v: put(y, slice(1, 3), v[:2])),
}


@pytest.mark.parametrize("name", RIGHT)
def test_gradients_of_target_and_operand(name):
    """S6.3, S6.5, S6.6, S7.1, S8.10: of the target and of the other operand."""
    write, formula = RIGHT[name]
    x, v, weight = leaf(), leaf(W), np.array([1.0, -2.0, 0.5, 3.0])
    y = x * 1.0
    write(y, v)
    np.testing.assert_allclose(y.numpy().ravel(), formula(X, W), rtol=1e-14)
    (y.flatten() * const(weight)).sum().backward()
    close(x.grad, slope(lambda a: (formula(a, W) * weight).sum(), X))
    close(np.zeros(4) if v.grad is None else v.grad, slope(lambda b: (formula(X, b) * weight).sum(), W))


def test_an_output_that_is_saved_outlives_its_input():
    """S5.4: exp saves what it made, so the leaf may be updated."""
    x = leaf()
    z = x.exp()
    with paddle.no_grad():
        x.zero_()
    z.sum().backward()
    close(x.grad, np.exp(X))


@pytest.mark.parametrize("change", [lambda c: c[1:3].scale_(2.0), lambda c: c.reshape([2, 2])[0].zero_(), lambda c: c.detach().add_(c),
                                    lambda c: c.T.fill_(1.0), lambda c: c.data.exp_()],
                         ids=["slice", "reshape", "detach", "transpose", "data"])
def test_a_constant_changed_through_an_alias(change):
    """S4.1, S5.3."""
    x, c = leaf(), const(W)
    z = x * c
    change(c)
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.sum().backward()
    assert x.grad is None


INDEX_USES = {
    "getitem": lambda x, i, m: x[i], "getitem mask": lambda x, i, m: x[m], "gather": lambda x, i, m: paddle.gather(x, i),
    "index_select": lambda x, i, m: paddle.index_select(x, i), "take_along_axis": lambda x, i, m: paddle.take_along_axis(x, i, 0),
    "where": lambda x, i, m: paddle.where(m, x, x * 3.0), "masked_fill": lambda x, i, m: paddle.masked_fill(x, m, 9.0),
    "masked_select": lambda x, i, m: paddle.masked_select(x, m), "index_add": lambda x, i, m: paddle.index_add(x * 0.0, i, 0, x[:2]),
    "scatter": lambda x, i, m: paddle.scatter(x, i, x[2:] * 5.0), "put_along_axis": lambda x, i, m: paddle.put_along_axis(x, i, x[:2], 0),
    "index_put": lambda x, i, m: paddle.index_put(x, [i], x[2:] * 5.0), "index_fill": lambda x, i, m: paddle.index_fill(x, i, 0, 9.0),
    "setitem": lambda x, i, m: assigned(x * 1.0, i, x[2:] * 5.0), "setitem mask": lambda x, i, m: assigned(x * 1.0, m, x[2:] * 5.0),
    "masked_scatter": lambda x, i, m: paddle.masked_scatter(x, m, x * 5.0),
    "gather_nd": lambda x, i, m: paddle.gather_nd(x, i.reshape([2, 1])),
}


def assigned(y, index, value):
    y[index] = value
    return y


@pytest.mark.parametrize("use", INDEX_USES)
def test_an_index_or_mask_changed_after_its_use(use):
    """S5.3: the version error, or the gradient of the index as it was."""
    x, index, mask = leaf(), const([0, 2], "int64"), const(MASK, "bool")

    def forward(x):
        return (INDEX_USES[use](x, index, mask) ** 2).sum()

    forward(x).backward()
    want = x.grad.numpy()
    close(want, slope(lambda a: forward(const(a)).item(), X))
    x.clear_gradient(set_to_zero=False)
    z = forward(x)
    index.fill_(1)
    mask.logical_not_()
    try:
        z.backward()
    except RuntimeError as refusal:
        assert MODIFIED in str(refusal)
        assert x.grad is None
    else:
        np.testing.assert_array_equal(x.grad.numpy(), want)
