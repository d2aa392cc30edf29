"""Results stored past the caches: NumPy's to the bit, at every alignment, on one thread and two; never over what is still to be read."""
import numpy as np
import pytest

import python_api as paddle
from eager_core.splitting import _test_stream

N = 2_100_000  # more than 4 MB of float32: smaller results never are
OPERATORS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}


@pytest.fixture(autouse=True, params=[1, 2])
def always(request):
    """Whatever the caches of this machine."""
    beyond, threads = _test_stream(0), paddle.get_num_threads()
    paddle.set_num_threads(request.param)
    yield
    paddle.set_num_threads(threads)
    _test_stream(beyond)


def operands(dtype):
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(N).astype(dtype) for _ in range(2))
    for values, shift in ((a, 0), (b, 7)):
        values[shift::1001] = 0.0
        values[shift + 1::1003] = np.inf
        values[shift + 2::1007] = np.nan
        values[shift + 3::1009] = -0.0
    return a, b


def same(result, expected):
    np.testing.assert_array_equal(result.numpy(), expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result.numpy())[known], np.signbit(expected)[known])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPERATORS)
def test_results_are_numpys_to_the_bit(name, dtype):
    a, b = operands(dtype)
    function, method = OPERATORS[name], getattr(paddle, name)
    x, y = paddle.to_tensor(a), paddle.to_tensor(b)
    same(method(x, y), function(a, b))
    same(method(x[1:], y[:-1]), function(a[1:], b[:-1]))
    same(method(x[3:-2], y[5:]), function(a[3:-2], b[5:]))
    same(method(x, x), function(a, a))
    for number in (3.0, -0.0):
        one = paddle.to_tensor(np.array([number], dtype))
        same(method(x, one), function(a, np.array([number], dtype)))
        same(method(one, x), function(np.array([number], dtype), a))
    same(method(x[::2], y[::2]), function(a[::2], b[::2]))


UNARY = {"neg": np.negative, "abs": np.abs, "square": np.square, "sqrt": np.sqrt, "clone": np.copy}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_operand_are_numpys_to_the_bit(name, dtype):
    a, _ = operands(dtype)
    function, x = UNARY[name], paddle.to_tensor(a)
    for piece, values in ((x, a), (x[1:], a[1:]), (x[3:-2], a[3:-2]), (x[::2], a[::2])):
        same(getattr(piece, name)(), function(values))
    same(x[:1].expand([N]).clone(), np.full(N, a[0]))
    if name != "clone":
        in_place = x.clone()
        getattr(in_place, name + "_")()
        same(in_place, function(a))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("start, source", [(0, 20), (3, 8), (7, 2)])
def test_copies_leave_their_neighbours(dtype, start, source):
    """And what lies beside each other in memory, or in steps of another length, is copied as one by one."""
    a, b = operands(dtype)
    room, expected = paddle.to_tensor(np.concatenate([a, b])), np.concatenate([a, b])
    room[start:start + N - 20].copy_(room[N + source:2 * N - 20 + source])
    expected[start:start + N - 20] = expected[N + source:2 * N - 20 + source].copy()
    same(room, expected)
    room[1::2].copy_(room[::2])
    expected[1::2] = expected[::2].copy()
    same(room, expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("start", [1, 3, 8])
def test_results_at_any_alignment(dtype, start):
    """A result in the middle of other memory; its neighbours stay."""
    a, b = operands(dtype)
    room = paddle.to_tensor(np.full(N + 20, 7.0, dtype))
    x, y = paddle.to_tensor(a), paddle.to_tensor(b)
    target = room[start:start + N]
    target.copy_(x)
    target.add_(y)
    expected = np.full(N + 20, 7.0, dtype)
    expected[start:start + N] = a + b
    same(room, expected)


@pytest.mark.parametrize("shift", [0, 1, 5])
def test_in_place_on_memory_that_overlaps(shift):
    values = np.random.default_rng(4).random(N).astype("float32")
    x = paddle.to_tensor(values)
    x[shift:].add_(x[:N - shift])
    expected = values.copy()
    expected[shift:] += values[:N - shift]
    same(x, expected)


def test_gradients_are_those_of_small_ones():
    values = np.random.default_rng(5).random(N)
    a = paddle.to_tensor(values, stop_gradient=False)
    (a * a - a / 4.0).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), 2 * values - 0.25, rtol=1e-15, atol=1e-15)
