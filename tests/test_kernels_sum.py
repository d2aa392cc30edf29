"""Sums and the short loops of + - * /: our own loops stand in front of NumPy's, and give what NumPy or exact arithmetic gives."""
import math

import numpy as np
import pytest

import python_api as paddle

FLOATS = ("float32", "float64")
# Around the ends of vectors, rounds and blocks, and a number of blocks that leaves several levels open.
COUNTS = (0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 511, 512, 513, 1025, 5 * 512 + 77, 100_003)
OPERATORS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}


def own_sum(values):
    return paddle.to_tensor(values).sum().numpy()


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_element_is_added_once(dtype):
    """Whole numbers are added exactly, in whatever order."""
    for n in COUNTS:
        values = np.arange(n) % 97 + 1.0
        assert own_sum(values.astype(dtype)) == values.sum()


def hard_values(n, dtype):
    """Of all magnitudes, and such that most of it cancels."""
    rng = np.random.default_rng(n)
    half = rng.standard_normal(n // 2) * 10.0 ** rng.integers(-6, 7, n // 2)
    values = np.concatenate([half, -half * (1 + 1e-6 * rng.standard_normal(n // 2)), np.ones(n % 2)]).astype(dtype)
    return rng.permutation(values)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [100, 1000, 10_007, 1_000_000])
def test_rounding_is_within_the_bound_of_pairwise_sums(dtype, n):
    """16 additions at most one after the other in a block, then halves of halves; math.fsum rounds once."""
    for values in (hard_values(n, dtype), np.full(n, 0.1, dtype), np.random.default_rng(n).random(n).astype(dtype)):
        exact = math.fsum(values.astype(float).tolist())
        magnitude = math.fsum(np.abs(values).astype(float).tolist())
        chain = 16 + math.ceil(math.log2(n))
        assert abs(float(own_sum(values)) - exact) <= chain * np.finfo(dtype).eps / 2 * magnitude


@pytest.mark.parametrize("dtype", FLOATS)
def test_rounding_on_average_is_that_of_numpys(dtype):
    """Over 300 sums the ratio of the errors was 0.96 to 1.2, by count and dtype; sums one after the other would be at 20."""
    own = theirs = 0.0
    for seed in range(300):
        values = np.random.default_rng(seed).random(10_000 + seed).astype(dtype)
        exact = math.fsum(values.astype(float).tolist())
        own += abs(float(own_sum(values)) - exact)
        theirs += abs(float(values.sum()) - exact)
    assert own <= 1.5 * theirs


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [6, 15, 16, 100, 513, 3001])
def test_the_same_bits_wherever_the_elements_lie(dtype, n):
    """Any alignment, step and direction of steps."""
    values = np.random.default_rng(n).random(n).astype(dtype)
    expected = own_sum(values).tobytes()
    for start in range(1, 9):
        room = paddle.to_tensor(np.zeros(n + start, dtype))
        room[start:] = paddle.to_tensor(values)
        assert room[start:].sum().numpy().tobytes() == expected
    for step in (2, 3):
        room = paddle.to_tensor(np.zeros(n * step, dtype))
        room[::step] = paddle.to_tensor(values)
        assert room[::step].sum().numpy().tobytes() == expected
    rows = paddle.to_tensor(np.stack([values, values]))
    assert [row.tobytes() for row in rows.sum(axis=1).numpy()] == [expected, expected]
    columns = rows.transpose([1, 0])
    assert [column.tobytes() for column in columns.sum(axis=0).numpy()] == [expected, expected]


def pairs_of_pairs(vectors):
    """Rows of one run: halves are summed each by itself, down to single rows."""
    if len(vectors) == 1:
        return vectors[0]
    half = 1 << (len(vectors) - 1).bit_length() - 1
    return pairs_of_pairs(vectors[half:]) + pairs_of_pairs(vectors[:half])


def sum_as_described(values):
    """The order of kernels/sums.c in NumPy, for whole blocks: 8 rounds of 8 vectors of 32 bytes, then pairs."""
    lanes = 32 // values.itemsize
    rounds = values.reshape(-1, 8, 8, lanes)
    blocks = np.zeros_like(rounds[:, 0])
    for i in range(8):
        blocks = blocks + rounds[:, i]
    last = pairs_of_pairs(list(pairs_of_pairs(list(blocks.transpose(1, 0, 2)))))
    while len(last) > 1:
        last = last[:len(last) // 2] + last[len(last) // 2:]
    return last[0]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("blocks", [1, 127, 128, 129, 256, 390])
def test_long_runs_are_added_in_the_order_described(dtype, blocks):
    """128 blocks are read as two halves side by side: a matter of speed, not of bits. So many rows are not cut into parts."""
    values = np.random.default_rng(blocks).random((16, blocks * 2048 // np.dtype(dtype).itemsize)).astype(dtype)
    expected = [sum_as_described(row).tobytes() for row in values]
    assert [row.tobytes() for row in paddle.to_tensor(values).sum(axis=1).numpy()] == expected
    with_gaps = paddle.to_tensor(np.repeat(values, 2, axis=1))[:, ::2]
    assert [row.tobytes() for row in with_gaps.sum(axis=1).numpy()] == expected


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 7, 16, 300, 2000])
def test_values_that_are_no_numbers(dtype, n):
    for at in {0, n // 2, n - 1}:
        for special in (math.nan, math.inf, -math.inf):
            values = np.ones(n, dtype)
            values[at] = special
            np.testing.assert_array_equal(own_sum(values), values.sum())
    if n > 1:
        values = np.ones(n, dtype)
        values[0], values[-1] = math.inf, -math.inf
        assert np.isnan(own_sum(values))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (1, 2), (0, 2), None])
@pytest.mark.parametrize("shape", [(3, 4, 5), (20, 1, 70), (2, 600, 3), (1, 5, 1100)])
def test_sums_and_means_over_axes(dtype, axis, shape):
    values = np.random.default_rng(1).random(shape)
    x = paddle.to_tensor(values.astype(dtype))
    rtol = 1e-6 if dtype == "float32" else 1e-14
    np.testing.assert_allclose(x.sum(axis=axis).numpy(), values.sum(axis=axis), rtol=rtol)
    np.testing.assert_allclose(x.mean(axis=axis).numpy(), values.mean(axis=axis), rtol=rtol)
    turned = x.transpose([2, 0, 1])
    np.testing.assert_allclose(turned.sum(axis=axis).numpy(), values.transpose(2, 0, 1).sum(axis=axis), rtol=rtol)


@pytest.mark.parametrize("dtype", FLOATS)
def test_gradient_of_a_broadcast_bias_is_a_sum_over_rows(dtype):
    g = np.random.default_rng(2).integers(-50, 50, (300, 70)).astype(dtype)
    bias = paddle.to_tensor(np.zeros(70, dtype), stop_gradient=False)
    ((paddle.to_tensor(np.ones((300, 70), dtype)) + bias) * paddle.to_tensor(g)).sum().backward()
    assert bias.grad.numpy().tolist() == g.sum(axis=0).tolist()


SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, 5e-324, 1e308, 3e38]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 63, 64, 65, 100])
def test_short_loops_are_numpys_to_the_bit(name, dtype, n):
    rng = np.random.default_rng(n)
    a, b = (np.concatenate([rng.permutation(SPECIAL), rng.standard_normal(n)])[-n - 4:][:n].astype(dtype) for _ in range(2))
    x, y = paddle.to_tensor(a), paddle.to_tensor(b)
    function, method = OPERATORS[name], getattr(paddle, name)
    signs = ~np.isnan(function(a, b))
    np.testing.assert_array_equal(method(x, y).numpy(), function(a, b))
    np.testing.assert_array_equal(np.signbit(method(x, y).numpy())[signs], np.signbit(function(a, b))[signs])
    for number in (-0.0, 3.0, math.nan):
        one = paddle.to_tensor(np.array([number], dtype))
        np.testing.assert_array_equal(method(x, one).numpy(), function(a, np.array([number], dtype)))
        np.testing.assert_array_equal(method(one, x).numpy(), function(np.array([number], dtype), a))
    in_place = paddle.to_tensor(a)
    getattr(in_place, name + "_")(y)
    np.testing.assert_array_equal(in_place.numpy(), function(a, b))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("n", [2, 3, 5, 6, 7, 9, 20, 64, 65, 66])
@pytest.mark.parametrize("target, other", [("[:]", "[:]"), ("[1:]", "[:-1]"), ("[:-1]", "[1:]"), ("[:]", "[0:1]"), ("[:]", "[n - 1:]")])
def test_short_loops_in_place_on_their_own_memory(name, dtype, n, target, other):
    """The other operand is read as it was before the write, however it overlaps."""
    values = np.random.default_rng(n).uniform(0.5, 2, n).astype(dtype)
    x, expected = paddle.to_tensor(values), values.copy()
    there = eval("expected" + target)
    there[...] = OPERATORS[name](there.copy(), eval("expected" + other).copy())
    getattr(eval("x" + target), name + "_")(eval("x" + other))
    np.testing.assert_array_equal(x.numpy(), expected)
