"""Reductions along a short last axis, whose rows are taken together, and the gradient spread over them (S1.12, docs/accuracy.md)."""
import math

import numpy as np
import pytest

import python_api as paddle

FLOATS = ("float32", "float64")
WIDTHS = (1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 255, 256, 257)
ROWS = (2, 3, 4, 5, 7, 8, 9, 31)
EXACT = {"max": np.max, "min": np.min}


def matrix(rows, width, dtype, seed=0):
    return np.random.default_rng([rows, width, seed]).standard_normal((rows, width)).astype(dtype)


def within_the_bound(result, values, dtype):
    """Every sum of a row, against math.fsum."""
    for own, row in zip(np.ravel(result), values, strict=True):
        exact, magnitude = math.fsum(row.tolist()), math.fsum(np.abs(row).tolist())
        chain = 16 + math.ceil(math.log2(len(row))) if len(row) else 1
        assert abs(float(own) - exact) <= chain * np.finfo(dtype).eps / 2 * magnitude


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", WIDTHS)
def test_each_element_of_each_row_counts_once(width, dtype):
    for rows in ROWS:
        values = (np.arange(rows * width).reshape(rows, width) % 97 + 1).astype(dtype)
        x = paddle.to_tensor(values)
        assert x.sum(axis=1).numpy().tolist() == values.astype(np.int64).sum(axis=1).tolist()
        assert x.mean(axis=1, keepdim=True).numpy().shape == (rows, 1)
        for name, function in EXACT.items():
            assert getattr(x, name)(axis=1).numpy().tolist() == function(values, axis=1).tolist()
        powers = np.where(values % 3 == 0, 2, 1).astype(dtype)
        few = powers[:, :100]
        assert paddle.to_tensor(few).prod(axis=1).numpy().tolist() == [math.prod(row) for row in few.tolist()]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", WIDTHS)
def test_rounding_is_within_the_bound_of_long_sums(width, dtype):
    values = matrix(19, width, dtype)
    x = paddle.to_tensor(values)
    within_the_bound(x.sum(axis=1).numpy(), values, dtype)
    exact = np.array([math.fsum(row.tolist()) / width for row in values])
    magnitude = np.abs(values).astype(float).mean(axis=1)
    assert (np.abs(x.mean(axis=1).numpy() - exact) <= (18 + math.log2(width)) * np.finfo(dtype).eps / 2 * magnitude + 1e-300).all()
    product = x.prod(axis=1).numpy()
    np.testing.assert_allclose(product, np.prod(values.astype(np.longdouble), axis=1).astype(dtype), rtol=width * np.finfo(dtype).eps,
                               atol=width * np.finfo(dtype).smallest_subnormal * 8)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_has_the_bits_that_it_has_alone(width, dtype):
    """However many stand beside it: the order of additions is that of one row of so many elements."""
    values = matrix(21, width, dtype, 1)
    alone = [paddle.to_tensor(row).sum().numpy().tobytes() for row in values]
    for rows in (2, 7, 8, 21):
        assert [one.tobytes() for one in paddle.to_tensor(values[:rows]).sum(axis=1).numpy()] == alone[:rows]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [2, 3, 5, 8, 10, 33, 100])
def test_rows_with_gaps_backwards_and_over_and_over(width, dtype):
    """Views: what lies between and behind the rows counts for nothing, were it NaN."""
    room = np.full((40, width + 9), np.nan, dtype)
    room[:, 4:4 + width] = matrix(40, width, dtype, 2)
    x = paddle.to_tensor(room)
    for view, values in ((x[:, 4:4 + width], room[:, 4:4 + width]), (x[::-1, 4:4 + width], room[::-1, 4:4 + width]),
                         (x[3:30:3, 4:4 + width], room[3:30:3, 4:4 + width]), (x[5:20, 3 + width:3:-1], room[5:20, 3 + width:3:-1]),
                         (x[7:8, 4:4 + width].expand([13, width]), np.broadcast_to(room[7:8, 4:4 + width], (13, width)))):
        within_the_bound(view.sum(axis=1).numpy(), values, dtype)
        for name, function in EXACT.items():
            np.testing.assert_array_equal(getattr(view, name)(axis=1).numpy(), function(values, axis=1))
        np.testing.assert_allclose(view.prod(axis=1).numpy(), values.astype(np.longdouble).prod(axis=1).astype(dtype),
                                   rtol=width * np.finfo(dtype).eps)
    turned = paddle.to_tensor(np.ascontiguousarray(room[:, 4:4 + width].T)).transpose([1, 0])
    within_the_bound(turned.sum(axis=1).numpy(), room[:, 4:4 + width], dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [2, 3, 5, 8, 10, 17, 33, 70])
@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_values_that_are_no_numbers_stay_in_their_row(width, dtype, special):
    for at in {0, width // 2, width - 1}:
        values = matrix(11, width, dtype, 3)
        values[5, at] = values[10, at] = special
        x = paddle.to_tensor(values)
        clean = np.ones(11, bool)
        clean[[5, 10]] = False
        for name, function in {**EXACT, "sum": np.sum, "prod": np.prod}.items():
            own = getattr(x, name)(axis=1).numpy()
            np.testing.assert_array_equal(own[~clean], function(values, axis=1)[~clean])
            assert np.isfinite(own[clean]).all()
    values[5] = 1
    values[5, 0], values[5, -1] = math.inf, -math.inf
    assert np.isnan(paddle.to_tensor(values).sum(axis=1).numpy()[5])


@pytest.mark.parametrize("dtype", FLOATS)
def test_axes_without_elements(dtype):
    assert paddle.to_tensor(np.zeros((9, 0), dtype)).sum(axis=1).numpy().tolist() == [0.0] * 9
    assert paddle.to_tensor(np.zeros((9, 0), dtype)).prod(axis=1).numpy().tolist() == [1.0] * 9
    assert paddle.to_tensor(np.zeros((0, 9), dtype)).sum(axis=1).numpy().shape == (0,)
    with pytest.raises(ValueError, match="no elements"):
        paddle.to_tensor(np.zeros((9, 0), dtype)).max(axis=1)
    for shape in ((9, 0), (0, 9)):
        x = paddle.to_tensor(np.zeros(shape, dtype), stop_gradient=False)
        x.sum(axis=1).sum().backward()
        assert x.grad.numpy().shape == shape


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axis", [1, 2, (0, 2), (1, 2)])
def test_more_axes(axis, dtype):
    values = np.random.default_rng(4).integers(1, 9, (6, 11, 5)).astype(dtype)
    x = paddle.to_tensor(values)
    assert x.sum(axis=axis).numpy().tolist() == values.sum(axis=axis).tolist()
    assert x.max(axis=axis).numpy().tolist() == values.max(axis=axis).tolist()
    turned = x.transpose([1, 0, 2])
    assert turned.sum(axis=axis).numpy().tolist() == values.transpose(1, 0, 2).sum(axis=axis).tolist()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [2, 3, 5, 7, 8, 10, 33, 127])
def test_the_same_bits_for_any_number_of_threads(width, dtype):
    values = matrix(400_000 // width + 3, width, dtype, 5)
    x, before = paddle.to_tensor(values), paddle.get_num_threads()
    try:
        got = []
        for threads in (1, 2):
            paddle.set_num_threads(threads)
            got.append([getattr(x, name)(axis=1).numpy().tobytes() for name in ("sum", "mean", "max", "min", "prod")])
    finally:
        paddle.set_num_threads(before)
    assert got[0] == got[1]
    within_the_bound(x.sum(axis=1).numpy()[-30:], values[-30:], dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_gradient_of_a_row_is_spread_over_it(width, keepdim, dtype):
    for rows in (2, 3, 9, 30):
        x = paddle.to_tensor(matrix(rows, width, dtype, 6), stop_gradient=False)
        g = np.arange(1, rows + 1).astype(dtype)
        x.sum(axis=1, keepdim=keepdim).backward(paddle.to_tensor(g[:, None] if keepdim else g))
        assert x.grad.numpy().tolist() == np.repeat(g[:, None], width, axis=1).tolist()


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (1, 2), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(4, 3, 5), (4, 1, 5), (1, 3, 1), (4, 3, 1)])
def test_the_gradient_over_any_axes(shape, axis):
    values = np.random.default_rng(7).standard_normal(shape)
    g = np.random.default_rng(8).standard_normal(values.sum(axis=axis, keepdims=True).shape)
    for keepdim in (False, True):
        x = paddle.to_tensor(values, stop_gradient=False)
        total = x.sum(axis=axis, keepdim=keepdim)
        total.backward(paddle.to_tensor(g.reshape(total.shape)))
        np.testing.assert_array_equal(x.grad.numpy(), np.broadcast_to(g, shape))


@pytest.mark.parametrize("width", [2, 5, 8, 33])
def test_the_gradient_of_many_rows_on_two_threads(width):
    rows, before = 300_000 // width + 1, paddle.get_num_threads()
    g = np.random.default_rng(9).standard_normal(rows)
    try:
        paddle.set_num_threads(2)
        x = paddle.to_tensor(np.zeros((rows, width)), stop_gradient=False)
        x.sum(axis=1).backward(paddle.to_tensor(g))
    finally:
        paddle.set_num_threads(before)
    np.testing.assert_array_equal(x.grad.numpy(), np.repeat(g[:, None], width, axis=1))
