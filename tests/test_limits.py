"""Arguments beyond all measure: sizes that overflow a machine word, endless nesting, objects that act while they are asked for a number."""
import numpy as np
import pytest

import python_api as paddle

TOO_MANY = "cannot take the shape|more elements than any memory can hold|too big"


@pytest.mark.parametrize("shape", [[2**62 + 1, 4], [4, 2**62 + 1], [-1, 2**62 + 1, 4], [2**32, 2**32], [2**63 - 1, 2**63 - 1]])
@pytest.mark.parametrize("lies", ["contiguous", "strided", "in place"])
def test_a_shape_whose_product_wraps_around_is_no_shape_of_few_elements(shape, lies):
    x = paddle.zeros([4]) if lies != "strided" else paddle.zeros([4, 2])[:, 0]
    with pytest.raises(ValueError, match=TOO_MANY):
        (x.reshape_ if lies == "in place" else x.reshape)(shape)
    assert x.shape == [4] and x.inplace_version == 0


def test_results_too_large_to_be_counted_are_refused():
    # In elements (2**64, 2**66) or in bytes (2**64) the counts wrap around to something small.
    column = paddle.zeros([2**22, 1, 1], dtype="bool")
    row, layer = paddle.zeros([1, 2**21, 1], dtype="float32"), paddle.zeros([1, 1, 2**21], dtype="float32")
    with pytest.raises(ValueError, match=TOO_MANY):
        paddle.where(column, row, layer)
    with pytest.raises(ValueError, match=TOO_MANY):
        paddle.where(column[:2**21], row[:, :2**19].astype("float64"), layer.astype("float64"))
    for rows, columns in ((2**31, 2**33), (2**32, 2**32), (2**20, 2**41)):
        with pytest.raises(ValueError, match=TOO_MANY):
            paddle.zeros([rows, 0]) @ paddle.zeros([0, columns])


@pytest.mark.parametrize("shape", [[0, 2**62, 2**62], [2**62, 2**62, 0]])
def test_an_empty_tensor_has_lengths_that_can_be_counted(shape):
    for make in (lambda: paddle.zeros(shape), lambda: paddle.zeros([0]).reshape(shape)):
        with pytest.raises(ValueError, match=TOO_MANY):
            make()
    assert paddle.zeros([0]).reshape([2**40, 0, 2**10]).sum().item() == 0.0


@pytest.mark.parametrize("kind", [list, tuple])
def test_an_index_that_is_nested_without_end(kind):
    endless = []
    endless.append(endless)
    if kind is tuple:
        for _ in range(100_000):
            endless = (endless,)
    x = paddle.zeros([3])
    with pytest.raises(IndexError, match="nested"):
        x[endless]
    with pytest.raises(IndexError, match="nested"):
        x[endless] = 1.0
    assert x.inplace_version == 0


class Rebinds:
    """Says which index it is, and gives the tensor other memory, laid out in another way, at the same moment."""

    def __init__(self, tensor, other, number):
        self.tensor, self.other, self.number = tensor, other, number

    def __index__(self):
        self.tensor.data = self.other
        return self.number


def test_s8_10_an_index_object_cannot_come_between_the_shape_and_the_memory():
    x, base = paddle.zeros([1000]), paddle.to_tensor(np.arange(1000, dtype="float32"))
    view = x[slice(Rebinds(x, base[::-1], 2), 5)]
    assert view.tolist() == [997.0, 996.0, 995.0] and view.strides == [-1]
    x = paddle.zeros([1000])
    x[slice(Rebinds(x, base[::-1], 998), None)] = -1.0
    assert base.tolist()[:3] == [-1.0, -1.0, 2.0]


class Counts:
    def __init__(self):
        self.asked = 0

    def __index__(self):
        self.asked += 1
        return self.asked % 3


@pytest.mark.parametrize("rest", [(), ([0, 1, 1],)], ids=["basic", "advanced"])
def test_s8_10_the_elements_read_or_written_are_those_that_get_the_gradient(rest):
    """The index is another one whenever it is asked for; the memory is not in C order, so that gradients have a region of their own."""
    x = paddle.to_tensor(np.arange(6.0).reshape(2, 3), stop_gradient=False)
    y = (x * 1.0).T
    part = y[(slice(Counts(), None), *rest)]
    part.sum().backward()
    assert (x.grad.numpy() * x.numpy()).sum() == part.numpy().sum()

    x.clear_grad()
    y = (x * 1.0).T
    y[(slice(Counts(), None), *rest)] = -1.0
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy().T, y.numpy() != -1.0)
