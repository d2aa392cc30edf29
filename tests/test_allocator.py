"""Memory blocks: reuse, limits, and that no two live tensors ever share one."""
import numpy as np
import pytest

import python_api as paddle
from eager_core import allocator


@pytest.fixture(autouse=True)
def clean_cache():
    allocator.empty_cache()
    yield
    allocator.set_cache_limit(256 << 20)
    allocator.empty_cache()


def test_a_freed_block_is_kept_and_used_again():
    big = paddle.zeros([1 << 20], dtype="float64")
    before = allocator.cached_bytes()
    del big
    assert allocator.cached_bytes() - before == 8 << 20
    again = paddle.to_tensor(np.full(1 << 20, 3.0))
    assert allocator.cached_bytes() == before
    assert (again.numpy() == 3.0).all()


def test_the_limit_holds_and_zero_keeps_nothing_large():
    allocator.set_cache_limit(10 << 20)
    tensors = [paddle.zeros([1 << 19], dtype="float64") for _ in range(5)]
    del tensors
    assert allocator.cached_bytes() < (10 << 20) + (1 << 16)
    allocator.set_cache_limit(0)
    assert allocator.cached_bytes() < 1 << 16
    with pytest.raises(ValueError, match="negative"):
        allocator.set_cache_limit(-1)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 64, 511, 512, 513, 4096, 70000])
def test_live_tensors_never_share_a_block(size):
    tensors = [paddle.full([size], float(k), dtype="float64") for k in range(300)]
    del tensors[::2]
    tensors += [paddle.full([size], float(1000 + k), dtype="float64") for k in range(300)]
    expected = [float(k) for k in range(1, 300, 2)] + [float(1000 + k) for k in range(300)]
    assert [float(t[0]) for t in tensors] == expected
    assert all((t.numpy() == value).all() for t, value in zip(tensors, expected, strict=True))


def test_an_impossible_size_is_a_memory_error_and_changes_nothing():
    x = paddle.ones([4])
    with pytest.raises(MemoryError):
        paddle.empty([1 << 40, 1 << 15], dtype="float64")
    assert x.numpy().tolist() == [1.0] * 4
