"""Sums of columns (kernels/columns.c): every element once, rounding that grows with log(rows), the same bits on any number of threads."""
import math

import numpy as np
import pytest

import python_api as paddle

FLOATS = ("float32", "float64")
# Few columns and many; rows around eight, blocks of 32, and numbers that leave several levels open.
SHAPES = [(rows, columns) for columns in (2, 3, 4, 7, 8, 10, 33, 63, 64, 65, 100, 700) for rows in (7, 8, 9, 31, 32, 33, 97, 1000, 1023)]
SHAPES += [(100_003, 3), (20_001, 10), (5_000, 64), (7, 40_000), (3_001, 1_500)]


@pytest.fixture(params=[1, 2])
def threads(request):
    before = paddle.get_num_threads()
    paddle.set_num_threads(request.param)
    yield
    paddle.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_element_is_added_once(dtype):
    """Whole numbers are added exactly, in whatever order."""
    for rows, columns in SHAPES:
        values = (np.arange(rows * columns).reshape(rows, columns) % 89 - 13.0).astype(dtype)
        expected = values.astype(float).sum(axis=0).tolist()
        x = paddle.to_tensor(values)
        assert x.sum(0).numpy().tolist() == expected, (rows, columns)
        wide = paddle.to_tensor(np.concatenate([np.full((rows, 1), 1e6), values, np.full((rows, 2), 1e6)], axis=1).astype(dtype))
        assert wide[:, 1:-2].sum(0).numpy().tolist() == expected
        twice = paddle.to_tensor(np.repeat(values, 2, axis=0))[::2]
        assert twice.sum(0).numpy().tolist() == expected
        upside_down = paddle.to_tensor(values[::-1].copy())
        assert upside_down.sum(0).numpy().tolist() == expected


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape, axis", [((20, 50, 20), 1), ((20, 50, 20), (0, 1)), ((6, 40, 3, 9), (1, 2)), ((6, 40, 3, 9), (0, 2)),
                                         ((64, 64, 16, 8), (0, 1, 2)), ((5, 9, 7, 33), (1,))])
def test_inner_and_several_axes(dtype, shape, axis):
    values = (np.arange(math.prod(shape)).reshape(shape) % 61 - 20.0).astype(dtype)
    x = paddle.to_tensor(values)
    assert x.sum(axis).numpy().tolist() == values.astype(float).sum(axis=axis).tolist()
    np.testing.assert_allclose(x.mean(axis).numpy(), values.astype(float).mean(axis=axis), rtol=1e-6 if dtype == "float32" else 1e-14)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(100_000, 3), (60_000, 10), (20_000, 70), (1_000, 200)])
def test_rounding_grows_with_the_logarithm_of_the_rows(dtype, shape):
    """Additions one after the other, as NumPy's over this axis, would be far beyond; math.fsum rounds once."""
    values = np.random.default_rng(1).random(shape).astype(dtype)
    sums = paddle.to_tensor(values).sum(0).numpy()
    chain = 16 + 2 * math.ceil(math.log2(shape[0]))
    for column in range(3):
        exact = math.fsum(values[:, column].astype(float).tolist())
        assert abs(float(sums[column]) - exact) <= chain * np.finfo(dtype).eps / 2 * exact


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_same_bits_on_any_number_of_threads(dtype):
    before = paddle.get_num_threads()
    for shape in [(100_003, 3), (20_001, 10), (50, 5_000), (3_001, 300), (40, 40, 400)]:
        values = np.random.default_rng(2).random(shape).astype(dtype)
        seen = set()
        for count in (1, 2):
            paddle.set_num_threads(count)
            seen.add(paddle.to_tensor(values).sum(0).numpy().tobytes() + paddle.to_tensor(values).mean(-2).numpy().tobytes())
        paddle.set_num_threads(before)
        assert len(seen) == 1, shape


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_values_that_are_no_numbers_stay_in_their_column(special):
    for at in (0, 8, 31, 500, 1002):
        values = np.ones((1003, 10), "float32")
        values[at, 4] = special
        np.testing.assert_array_equal(paddle.to_tensor(values).sum(0).numpy(), values.sum(0))
