"""Statistics, running sums, sorting and searching."""
import numpy as np
import pytest
from op_checks import check, refused

import python_api as paddle

RNG = np.random.default_rng(3)


def spread(*shape):
    """Numbers that no small step makes equal."""
    return RNG.permutation(np.linspace(-2.0, 2.3, int(np.prod(shape)))).reshape(shape)


X = spread(2, 3, 4)
ROWS = spread(3, 5)
TIES = np.array([[1.0, 3, 3, 2, 3], [5, 5, 1, 1, 0]])
HOLES = np.where(spread(3, 5) > 1.2, np.nan, spread(3, 5))
ZEROS = np.array([[1.5, 0.0, 2.0, -1.0], [0.5, 2.0, 3.0, 1.0], [0.0, 2.0, 0.0, 3.0]])


def lse(x, axis=None, keepdims=False):
    return np.log(np.exp(x).sum(axis=axis, keepdims=keepdims))


def picked(x, order, axis):
    return [np.take_along_axis(x, order, axis), order]


def running(better, x, axis):
    values = better.accumulate(x, axis)
    place = np.arange(x.shape[axis]).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    return [values, np.maximum.accumulate(np.where(x == values, place, 0), axis)]


CASES = {
    "logsumexp": (lambda x: x.logsumexp(), lse, X),
    "logsumexp of axes": (lambda x: paddle.logsumexp(x, [0, -1], True), lambda x: lse(x, (0, 2), True), X),
    "amax": (lambda x: paddle.amax(x, 1), lambda x: x.max(1), X),
    "amin": (lambda x: x.amin([0, 1], keepdim=True), lambda x: x.min((0, 1), keepdims=True), X),
    "var": (lambda x: x.var(), lambda x: x.var(ddof=1), X),
    "var of axes": (lambda x: paddle.var(x, [0, 2], unbiased=False, keepdim=True), lambda x: x.var((0, 2), keepdims=True), X),
    "var with a correction": (lambda x: paddle.var(x, 2, correction=2), lambda x: x.var(2, ddof=2), X),
    "std": (lambda x: paddle.std(x, -1), lambda x: x.std(-1, ddof=1), X),
    "std of all": (lambda x: x.std(unbiased=False), lambda x: x.std(), X),
    "median": (lambda x: x.median(), np.median, X),
    "median of an odd axis": (lambda x: paddle.median(x, 1), lambda x: np.median(x, 1), X),
    "median of an even axis": (lambda x: paddle.median(x, -1, keepdim=True), lambda x: np.median(x, -1, keepdims=True), X),
    "median, the smaller one": (lambda x: paddle.median(x, -1, mode="min"), lambda x: picked_rows(x, 1), X),
    "median with NaN": (lambda x: paddle.median(x, 1), lambda x: np.median(x, 1), HOLES, 0),
    "nanmedian": (lambda x: paddle.nanmedian(x, 1), lambda x: np.nanmedian(x, 1), HOLES),
    "nansum": (lambda x: paddle.nansum(x, 0), lambda x: np.nansum(x, 0), HOLES),
    "nanmean": (lambda x: x.nanmean(1, True), lambda x: np.nanmean(x, 1, keepdims=True), HOLES),
    "nanmean of all": (lambda x: x.nanmean(), np.nanmean, HOLES),
    **{f"quantile, {way}": (lambda x, way=way: paddle.quantile(x, [0.21, 0.6], 1, True, way),
                            lambda x, way=way: np.quantile(x, [0.21, 0.6], 1, keepdims=True, method=way), X)
       for way in ("linear", "lower", "higher", "midpoint", "nearest")},
    "quantile of all": (lambda x: x.quantile(0.37), lambda x: np.quantile(x, 0.37), X),
    "quantile of axes": (lambda x: x.quantile(0.37, [0, 2]), lambda x: np.quantile(x, 0.37, (0, 2)), X),
    "quantile at an end": (lambda x: x.quantile(1.0, 1), lambda x: np.quantile(x, 1.0, 1), X),
    "nanquantile": (lambda x: paddle.nanquantile(x, 0.3, 1), lambda x: np.nanquantile(x, 0.3, 1), HOLES),
    "cumsum": (lambda x: x.cumsum(1), lambda x: x.cumsum(1), X),
    "cumsum of all": (paddle.cumsum, np.cumsum, X),
    "cumprod": (lambda x: x.cumprod(-1), lambda x: x.cumprod(-1), X),
    "cumprod of all": (lambda x: paddle.cumprod(x, None), np.cumprod, ROWS),
    "cumprod with zeros": (lambda x: x.cumprod(1), lambda x: x.cumprod(1), ZEROS),
    "cumprod with zeros in front": (lambda x: x.cumprod(0), lambda x: x.cumprod(0), ZEROS),
    "cummax": (lambda x: x.cummax(1), lambda x: running(np.maximum, x, 1), X),
    "cummin": (lambda x: x.cummin(-1), lambda x: running(np.minimum, x, 2), X),
    "cummax of all": (lambda x: paddle.cummax(x), lambda x: running(np.maximum, x.reshape(-1), 0), X),
    "logcumsumexp": (lambda x: x.logcumsumexp(1), lambda x: np.log(np.exp(x).cumsum(1)), X),
    "logcumsumexp of all": (paddle.logcumsumexp, lambda x: np.log(np.exp(x).cumsum()), X),
    "count_nonzero": (lambda x: paddle.count_nonzero(x, [1]), lambda x: np.count_nonzero(x, 1), TIES),
    "histogram": (lambda x: paddle.histogram(x, 4, -1, 2), lambda x: np.histogram(x, 4, (-1, 2))[0], X),
    "bincount": (lambda x: paddle.bincount(x, minlength=6), lambda x: np.bincount(x, minlength=6), np.array([1, 2, 2, 0])),
    "bincount with weights": (paddle.bincount, np.bincount, np.array([1, 2, 2, 0]), spread(4)),
    "argmax": (lambda x: x.argmax(), np.argmax, TIES),
    "argmin of an axis": (lambda x: paddle.argmin(x, 1, keepdim=True), lambda x: np.argmin(x, 1, keepdims=True), TIES),
    "argsort": (lambda x: x.argsort(), lambda x: np.argsort(x, kind="stable"), TIES),
    "argsort, descending": (lambda x: x.argsort(descending=True), lambda x: np.argsort(-x, kind="stable"), TIES),
    "sort": (lambda x: x.sort(1), lambda x: np.sort(x, 1), X),
    "sort, descending": (lambda x: paddle.sort(x, -1, descending=True), lambda x: -np.sort(-x, -1), X),
    "msort": (paddle.msort, lambda x: np.sort(x, 0), X),
    "topk": (lambda x: x.topk(2), lambda x: picked(x, np.argsort(-x)[..., :2], -1), X),
    "topk, smallest": (lambda x: paddle.topk(x, 2, 1, largest=False), lambda x: picked(x, np.argsort(x, 1)[:, :2], 1), X),
    "kthvalue": (lambda x: paddle.kthvalue(x, 2, 1), lambda x: [a[:, 0] for a in picked(x, np.argsort(x, 1)[:, 1:2], 1)], X),
    "kthvalue, kept": (lambda x: paddle.kthvalue(x, 3, keepdim=True), lambda x: picked(x, np.argsort(x, -1)[..., 2:3], -1), X),
    "mode": (lambda x: paddle.mode(x), lambda x: [np.array([3.0, 1.0]), np.array([4, 3])], TIES, 0),
    "unique": (lambda x: x.unique(True, True, True),
               lambda x: [a.reshape(-1) for a in np.unique(x, return_index=True, return_inverse=True, return_counts=True)], TIES, 0),
    "unique rows": (lambda x: x.unique(axis=0), lambda x: np.unique(x, axis=0), np.array([[1, 2], [0, 1], [1, 2]])),
    "unique of different numbers": (paddle.unique, np.unique, ROWS),
    "unique_consecutive": (lambda x: paddle.unique_consecutive(x, True, True),
                           lambda x: [np.array([1, 3, 2, 3, 5, 1, 0.0]), np.array([0, 1, 1, 2, 3, 4, 4, 5, 5, 6]),
                                      np.array([1, 2, 1, 1, 2, 2, 1])], TIES, 0),
    "searchsorted": (lambda s, v: paddle.searchsorted(s, v, right=True), lambda s, v: np.searchsorted(s, v, "right"), np.sort(TIES[0]),
                     TIES),
    "searchsorted, row by row": (paddle.searchsorted, lambda s, v: np.stack([np.searchsorted(a, b) for a, b in zip(s, v, strict=True)]),
                                 np.sort(ROWS, 1), ROWS + 0.1),
    "bucketize": (paddle.bucketize, lambda v, s: np.searchsorted(s, v), TIES, np.array([0.5, 2.0, 3.0])),
    "isin": (lambda x, y: paddle.isin(x, y, invert=True), lambda x, y: np.isin(x, y, invert=True), TIES, np.array([1.0, 5.0])),
    "nonzero": (lambda x: x.nonzero(), np.argwhere, TIES),
    "nonzero as a tuple": (lambda x: x.nonzero(as_tuple=True), np.nonzero, TIES),
    "diff": (lambda x: x.diff(), np.diff, X),
    "diff twice, with ends": (lambda x, p, q: paddle.diff(x, 2, 1, p, q), lambda x, p, q: np.diff(x, 2, 1, p, q), X, spread(2, 1, 4),
                              spread(2, 2, 4)),
    "trapezoid": (lambda y, x: paddle.trapezoid(y, x, axis=1), lambda y, x: np.trapezoid(y, x, axis=1), X, np.array([0.0, 0.5, 2.0])),
    "cumulative_trapezoid": (lambda y: paddle.cumulative_trapezoid(y, dx=0.5), lambda y: np.cumsum((y[..., 1:] + y[..., :-1]) / 4, -1), X),
    "reduce_as": (lambda x, y: paddle.reduce_as(x, y), lambda x, y: x.sum((0, 2))[:, None] + 0 * y, X, spread(3, 1)),
}


def picked_rows(x, k):
    places = np.argsort(x, -1)[..., k:k + 1]
    return [np.take_along_axis(x, places, -1)[..., 0], places[..., 0]]


@pytest.mark.parametrize("name", CASES)
def test_against_numpy_and_differences(name):
    run, want, *arrays = CASES[name]
    order = arrays.pop() if isinstance(arrays[-1], int) else 2
    check(run, want, arrays, order)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_in_place(name):
    x = paddle.to_tensor(X, stop_gradient=False)
    y = x * 1.0
    y_again = getattr(y, name + "_")(1)
    assert y_again is y
    assert y.inplace_version == 1
    np.testing.assert_allclose(y.numpy(), getattr(np, name)(X, 1))
    (y * y).sum().backward()
    other = paddle.to_tensor(X, stop_gradient=False)
    (getattr(other, name)(1) ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), other.grad.numpy(), rtol=1e-12)


def test_logcumsumexp_of_a_wide_range():
    """The factors exp(x) and exp(-out) overflow apart; all pairs are taken then."""
    x = paddle.to_tensor([-1000.0, 0.0, 900.0, 1.0], dtype="float64", stop_gradient=False)
    x.logcumsumexp(0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1.0, 1.0, 2.0, 0.0], atol=1e-300)


def test_logsumexp_of_nothing_is_minus_infinity():
    x = paddle.to_tensor([[-np.inf, -np.inf], [0.0, -np.inf]], stop_gradient=False)
    y = x.logsumexp(1)
    assert y.tolist() == [-np.inf, 0.0]
    y.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_equal_extrema_share_the_gradient():
    x = paddle.to_tensor(TIES, stop_gradient=False)
    x.amax(1).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[0, 1 / 3, 1 / 3, 0, 1 / 3], [0.5, 0.5, 0, 0, 0]])


def test_std_of_equal_numbers_has_no_slope():
    x = paddle.to_tensor([2.0, 2.0, 2.0], stop_gradient=False)
    x.std().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_indices_are_constants():
    x = paddle.to_tensor(X, stop_gradient=False)
    for values, places in (x.topk(2), x.kthvalue(1), x.cummax(1), x.mode()):
        assert not values.stop_gradient
        assert places.stop_gradient
        assert places.dtype == np.int64
    assert x.argmax().stop_gradient
    assert x.argsort().stop_gradient


def test_refusals():
    x = paddle.to_tensor(X)
    refused(ValueError, lambda: x.topk(5), x)
    refused(ValueError, lambda: x.kthvalue(0), x)
    refused(IndexError, lambda: x.cumsum(3), x)
    refused(ValueError, lambda: x.cumsum_(), x)
    refused(ValueError, lambda: x.quantile(1.5), x)
    refused(ValueError, lambda: x.median(mode="max"), x)
    refused(TypeError, lambda: paddle.bincount(x), x)
    refused(ValueError, lambda: paddle.bincount(paddle.to_tensor([[1]])), x)
    refused(IndexError, lambda: x.argmax(7), x)
    refused(TypeError, lambda: x.argmax("a"), x)
    refused(ValueError, lambda: paddle.searchsorted(x, x[0, 0]), x)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_cumprod_in_another_dtype_differentiates_what_was_multiplied():
    z = np.array([0.5 + 0.4j, -0.7 + 0.2j, 1.5 - 1.3j])
    x = paddle.to_tensor(z, stop_gradient=False)
    g = np.array([1.0, -2.0, 0.5])
    got, = paddle.grad(x.cumprod(0, "float64"), [x], [paddle.to_tensor(g)])
    a, b, c = z.real
    np.testing.assert_allclose(got.numpy(), [g[0] + g[1] * b + g[2] * b * c, g[1] * a + g[2] * a * c, g[2] * a * b], rtol=1e-12)


@pytest.mark.parametrize("run", [
    lambda x: x.median(-1), lambda x: x.median(0, keepdim=True), lambda x: x.nanmedian(-1), lambda x: x.quantile(0.3, 0),
    lambda x: x.median(-1, mode="min")[0]])
def test_order_statistics_of_one_number_along_its_only_axis(run):
    """S: -1 and 0 name the axis of a 0-d tensor everywhere."""
    x = paddle.to_tensor(2.5, stop_gradient=False)
    y = run(x)
    assert y.shape == [] and y.item() == 2.5
    y.backward()
    assert x.grad.item() == 1.0


def test_order_statistics_refuse_complex_numbers():
    """No order is defined; the imaginary part was once dropped in silence."""
    z = paddle.to_tensor([1 + 2j, 3 - 1j])
    for run in (paddle.median, paddle.nanmedian, lambda t: paddle.quantile(t, 0.5), lambda t: paddle.nanquantile(t, 0.5)):
        refused(TypeError, lambda run=run: run(z), z)


def test_unique_consecutive_of_nothing():
    for x in (paddle.zeros([0]), paddle.zeros([0, 5])):
        values, inverse, counts = x.unique_consecutive(True, True)
        assert values.shape == inverse.shape == counts.shape == [0]


def test_where_of_a_condition_alone_is_a_method_too():
    found, = paddle.to_tensor([True, False, True]).where()
    assert found.tolist() == [0, 2]
    picked = paddle.to_tensor([True, False]).where(paddle.to_tensor([1.0, 2.0]), 5.0)
    assert picked.tolist() == [1.0, 5.0]
