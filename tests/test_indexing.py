"""Reading and writing by index: NumPy's results, gradients from central differences, errors that change nothing (S8.10 to S8.14)."""
import numpy as np
import pytest
from differences import slope

import python_api as paddle

SHAPE = (4, 3, 5)
BASE = np.random.default_rng(11).normal(size=SHAPE)
MASK = np.random.default_rng(12).random(SHAPE) > 0.6

BASIC = {
    "int": 1,
    "negative int": -2,
    "ints": (1, 2, 0),
    "slice": slice(1, 3),
    "steps": (slice(None, None, 2), slice(None), slice(None, None, -2)),
    "beyond the end": slice(2, 99),
    "empty": slice(3, 1),
    "int and slice": (slice(None), 1, slice(1, 4)),
    "none": (None, 2, Ellipsis, None),
    "ellipsis": (Ellipsis, 0),
    "ellipsis alone": Ellipsis,
    "all reversed": (slice(None, None, -1),) * 3,
    "numpy int": np.int32(1),
}
ADVANCED = {
    "list": [2, 0, 1],
    "array": np.array([3, 0]),
    "negative": np.array([-1, -4]),
    "two dimensions": np.array([[0, 1], [2, 3]]),
    "pair": (np.array([0, 1, 2]), np.array([2, 1, 0])),
    "broadcast pair": (np.array([[0], [3]]), np.array([1, 2])),
    "with slice": (slice(1, 3), [0, 2]),
    "separated": ([0, 1], slice(None), [4, 2]),
    "with int": (2, [0, 1]),
    "with none": (None, [1, 2], Ellipsis),
    "mask": MASK,
    "row mask": np.array([True, False, True, True]),
    "mask and int": (np.array([True, False, True, False]), 1),
    "nothing": np.zeros(4, dtype=bool),
    "empty list": [],
}
ALL = {**BASIC, **ADVANCED}


def as_ours(index):
    """The same index with tensors in the place of arrays."""
    if isinstance(index, tuple):
        return tuple(as_ours(i) for i in index)
    return paddle.to_tensor(index) if isinstance(index, np.ndarray) else index


def weights(shape):
    return np.random.default_rng(5).normal(size=shape)


@pytest.mark.parametrize("tensors", [False, True], ids=["arrays", "tensors"])
@pytest.mark.parametrize("name", ALL)
def test_s8_10_reading(name, tensors):
    index = ALL[name]
    x = paddle.to_tensor(BASE, stop_gradient=False)
    part = x[as_ours(index) if tensors else index]
    np.testing.assert_array_equal(part.numpy(), BASE[index])
    w = weights(BASE[index].shape)
    (part * part * paddle.to_tensor(w)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), slope(lambda v: (v[index] ** 2 * w).sum(), BASE), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", BASIC)
def test_s8_10_a_basic_index_is_a_view(name):
    y = paddle.to_tensor(BASE) * 1.0
    part = y[BASIC[name]]
    y.scale_(2.0)
    np.testing.assert_array_equal(part.numpy(), 2 * BASE[BASIC[name]])
    assert part.inplace_version == 1


@pytest.mark.parametrize("name", ADVANCED)
def test_s8_10_an_advanced_index_is_a_copy(name):
    y = paddle.to_tensor(BASE) * 1.0
    part = y[ADVANCED[name]]
    y.scale_(2.0)
    np.testing.assert_array_equal(part.numpy(), BASE[ADVANCED[name]])
    assert part.inplace_version == 0


@pytest.mark.parametrize("kind", ["number", "full", "broadcast", "leading one"])
@pytest.mark.parametrize("name", ALL)
def test_s8_10_writing(name, kind):
    index = ALL[name]
    shape = BASE[index].shape
    value_shape = {"number": None, "full": shape, "broadcast": shape[-1:], "leading one": (1, *shape)}[kind]
    value = None if value_shape is None else weights(value_shape)
    w = weights(SHAPE)

    def fitted(written):
        # NumPy does not take leading axes of length 1 with every index; the library does.
        return written.reshape(shape) if kind == "leading one" else written

    def plain(base, written):
        y = base * 1.0
        y[index] = 2.5 if written is None else fitted(written)
        return (y ** 2 * w).sum()

    x = paddle.to_tensor(BASE, stop_gradient=False)
    v = None if value is None else paddle.to_tensor(value, stop_gradient=False)
    y = x * 1.0
    y[as_ours(index)] = 2.5 if v is None else v
    expected = BASE.copy()
    expected[index] = 2.5 if value is None else fitted(value)
    np.testing.assert_array_equal(y.numpy(), expected)
    assert y.inplace_version == 1
    (y * y * paddle.to_tensor(w)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), slope(lambda b: plain(b, value), BASE), rtol=1e-6, atol=1e-8)
    if v is not None:
        np.testing.assert_allclose(v.grad.numpy(), slope(lambda u: plain(BASE, u), value), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["steps", "array", "mask", "pair"])
def test_second_order_through_reading_and_writing(name):
    """d2/dx2 of sum(w y^3), y a copy of x with a part replaced by x^2 of that part."""
    index, w = ALL[name], weights(SHAPE)
    direction = np.random.default_rng(8).normal(size=SHAPE)
    x = paddle.to_tensor(BASE, stop_gradient=False)
    y = x * 1.0
    y[index] = x[index] * x[index]
    (first,) = paddle.grad((y * y * y * paddle.to_tensor(w)).sum(), [x], create_graph=True)
    (second,) = paddle.grad((first * paddle.to_tensor(direction)).sum(), [x])
    touched = np.zeros(SHAPE, dtype=bool)
    touched[index] = True
    np.testing.assert_allclose(first.numpy(), np.where(touched, 6 * BASE ** 5, 3 * BASE ** 2) * w, rtol=1e-9)
    np.testing.assert_allclose(second.numpy(), np.where(touched, 30 * BASE ** 4, 6 * BASE) * w * direction, rtol=1e-9)


def test_s8_11_of_duplicates_only_the_winner_has_a_gradient():
    v = paddle.to_tensor(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), stop_gradient=False)
    y = paddle.to_tensor(np.zeros((3, 2))) * 1.0
    y[[1, 1, 0]] = v
    np.testing.assert_array_equal(y.numpy(), [[5.0, 6.0], [3.0, 4.0], [0.0, 0.0]])
    (y * paddle.to_tensor(np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]))).sum().backward()
    np.testing.assert_array_equal(v.grad.numpy(), [[0.0, 0.0], [10.0, 20.0], [1.0, 2.0]])


@pytest.mark.parametrize("index", [
    4, -5, 10**30, (0, 10**30), (0, 3), (0, 0, 0, 0), [4],
    np.array([0, -5]), np.array([True, False]), 1.5, "a", (Ellipsis, Ellipsis), [0.5], None.__class__,
], ids=str)
def test_s8_13_a_bad_index_is_an_index_error_and_changes_nothing(index):
    y = paddle.to_tensor(BASE) * 1.0
    with pytest.raises(IndexError, match=r"\(OutOfRange\)"):
        y[index]
    with pytest.raises(IndexError, match=r"\(OutOfRange\)"):
        y[index] = 1.0
    np.testing.assert_array_equal(y.numpy(), BASE)
    assert y.inplace_version == 0


@pytest.mark.parametrize("index", [slice(0, 2), [0, 1], MASK], ids=["basic", "list", "mask"])
@pytest.mark.parametrize("value", [np.zeros((7, 7)), "text", object(), {1: 2}, ["a"], None], ids=lambda v: type(v).__name__)
def test_s8_13_a_value_that_does_not_fit_is_a_value_error_and_changes_nothing(index, value):
    y = paddle.to_tensor(BASE) * 1.0
    with pytest.raises(ValueError, match="InvalidArgument"):
        y[index] = value
    np.testing.assert_array_equal(y.numpy(), BASE)
    assert y.inplace_version == 0


def test_s7_2_a_value_of_a_higher_kind_is_refused():
    n = paddle.to_tensor(np.arange(4))
    for index in (0, [1, 2]):
        for value in (1.5, paddle.to_tensor(np.array(1.5)), 2j):
            with pytest.raises(TypeError, match=r"\(InvalidType\)"):
                n[index] = value
    assert n.numpy().tolist() == [0, 1, 2, 3]
    assert n.inplace_version == 0


def test_an_index_that_changes_later_was_copied():
    """Backward uses the index as it was."""
    x = paddle.to_tensor(BASE, stop_gradient=False)
    index = paddle.to_tensor(np.array([0, 2]))
    y = x[index]
    index.fill_(1)
    y.sum().backward()
    expected = np.zeros(SHAPE)
    expected[[0, 2]] = 1.0
    np.testing.assert_array_equal(x.grad.numpy(), expected)


@pytest.mark.parametrize("form", ["array", "list of arrays", "list of lists"])
def test_an_index_of_index_put_that_changes_later_was_copied(form):
    x = paddle.to_tensor(np.arange(1.0, 7.0).reshape(3, 2), stop_gradient=False)
    rows = np.array([0, 2])
    index = {"array": rows, "list of arrays": [rows], "list of lists": [[0, 2]]}[form]
    y = paddle.index_put(x, index, paddle.zeros([2, 2], "float64"))
    rows[:] = 1
    if isinstance(index, list):
        index[0] = [1, 1]
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("index", [(None, slice(None)), (None, *[slice(None)] * 9), (None, Ellipsis), (None, 0, None, 0, None)], ids=str)
def test_s8_13_an_index_that_would_give_more_than_nine_axes(index):
    x = paddle.zeros([1] * 9)
    with pytest.raises(ValueError, match="more than 9 axes"):
        x[index]
    with pytest.raises(ValueError, match="more than 9 axes"):
        x[index] = 1.0
    assert x.inplace_version == 0
    assert x[None, :, 0].shape == [1] * 9


@pytest.mark.parametrize("write", [lambda y: y.fill_(3.0), lambda y: y.zero_(), lambda y: y.copy_(paddle.ones(SHAPE, "float64")),
                                   lambda y: y.__setitem__(Ellipsis, 1.0)], ids=["fill_", "zero_", "copy_", "setitem"])
def test_s6_6_what_was_overwritten_has_a_gradient_of_zeros(write):
    x = paddle.to_tensor(BASE, stop_gradient=False)
    y = x * 1.0
    write(y)
    (y * y).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.zeros(SHAPE))


def test_a_buffer_that_is_overwritten_whole_may_be_used_again_after_backward():
    """Nothing is left of its old value, so that the graph of that value was freed does not matter."""
    buffer = paddle.zeros([3], "float64")
    for k in range(3):
        x = paddle.to_tensor(np.array([1.0, 2.0, 3.0]) + k, stop_gradient=False)
        buffer[:] = x * x
        buffer.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), 2 * (np.array([1.0, 2.0, 3.0]) + k))


# ---- what would lose a gradient in silence ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("values", [lambda x: [x[0] * 2, 3.0], lambda x: (x[0], x[1]), lambda x: [x]])
@pytest.mark.parametrize("index", [slice(None), [0, 1], [True, True]])
def test_s8_a_list_of_tensors_that_require_grad_is_not_assigned_as_constants(values, index):
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    w = x * 1
    with pytest.raises(ValueError, match=r"\(InvalidArgument\) a list of tensors that require grad .* stack\(\)"):
        w[index] = values(x)
    assert w.inplace_version == 0
    np.testing.assert_array_equal(w.numpy(), [1.0, 2.0])

    w[:] = paddle.stack([x[0] * 2, x[1] * 3])
    w.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 3.0])


def test_s8_a_list_of_constant_tensors_is_assigned():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    constant = paddle.to_tensor([5.0, 6.0])
    w = x * 1
    w[:] = [constant[0], 7.0]
    w.sum().backward()
    np.testing.assert_array_equal(w.numpy(), [5.0, 7.0])
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.0])
    with paddle.no_grad():
        w[:] = [x[0], x[1]]
    np.testing.assert_array_equal(w.numpy(), [1.0, 2.0])
