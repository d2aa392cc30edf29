"""Which writes touch what was saved (S5.13), counted by elements with NumPy, around the seams of the blocks of stamps."""
import numpy as np
import pytest

import python_api as paddle

VERSION = "used in gradient computation has been modified by an inplace operation"
BLOCK = 32                               # granules that share a stamp while they were written together (kernels/stamps.c)


def a_slice(rng, n):
    """Its ends at the seams of blocks, or one element beside them, more often than elsewhere."""
    ends = sorted(min(n, max(0, int(BLOCK * rng.integers(0, n // BLOCK + 2) + rng.integers(-1, 2)))) if rng.random() < 0.6
                  else int(rng.integers(0, n + 1)) for _ in range(2))
    return slice(ends[0], ends[1], int(rng.choice([1, 1, 1, 2, 3, 33])))


def check(rng, shape, dtype):
    """Products that save parts of one array, and writes to parts of it: backward refuses what was written over, and no more."""
    x = paddle.zeros(shape, dtype=dtype)
    scale = paddle.ones([1], dtype=dtype)
    scale.stop_gradient = False
    saved = []
    for _ in range(12):
        key = tuple(a_slice(rng, length) for length in shape)
        part = np.zeros(shape, bool)
        part[key] = True
        if rng.random() < 0.4:
            saved.append([x[key] * scale, part, False])
        else:
            x[key] = float(rng.random())
            for one in saved:
                one[2] |= bool((one[1] & part).any())
    for product, _, harmed in saved:
        if harmed:
            with pytest.raises(RuntimeError, match=VERSION):
                product.sum().backward()
        else:
            product.sum().backward()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("seed", range(40))
def test_s5_13_a_write_harms_what_shares_an_element_with_it(dtype, seed):
    rng = np.random.default_rng(seed)
    check(rng, (int(rng.choice([31, 32, 33, 64, 65, 96, 200])),), dtype)


@pytest.mark.parametrize("seed", range(40))
def test_s5_13_columns_rows_and_corners(seed):
    rng = np.random.default_rng(seed)
    check(rng, (int(rng.integers(2, 7)), int(rng.choice([3, 16, 31, 32, 33, 100]))), "float64")
