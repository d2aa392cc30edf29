"""Masked arrays are refused at every door, by type; other subclasses of ndarray come in as plain arrays. What is no number is refused."""
import re

import numpy as np
import pytest

import python_api as paddle
from eager_core import Tensor, tensor_from_array, tensor_over_array


def masked(dtype="float64"):
    return np.ma.MaskedArray(np.array([[1, 2], [3, 4]], dtype), mask=[[False, True], [False, False]])


def masked_index():
    return np.ma.MaskedArray([0, 1], mask=[False, True])


def x():
    return paddle.to_tensor(np.array([[1.0, 2.0], [3.0, 4.0]]))


def assign_item(t, index, value):
    t[index] = value


@pytest.mark.parametrize(("call", "named"), [
    (lambda: paddle.to_tensor(masked()), r"to_tensor\(\): argument 'data'"),
    (lambda: paddle.to_tensor(masked(), dtype="float32"), r"to_tensor\(\): argument 'data'"),
    (lambda: paddle.to_tensor([masked(), masked()]), r"to_tensor\(\): argument 'data'"),
    (lambda: paddle.to_tensor([[np.ma.masked], [1.0]]), r"to_tensor\(\): argument 'data'"),
    (lambda: Tensor(masked()), r"Tensor\(\): argument 'data'"),
    (lambda: Tensor([masked(), np.zeros((2, 2))]), r"Tensor\(\): argument 'data'"),
    (lambda: tensor_from_array(masked()), r"tensor_from_array\(\): argument 'array'"),
    (lambda: tensor_over_array(masked(), "here"), r"here: argument 'array'"),
    (lambda: paddle.from_numpy(masked()), r"from_numpy\(\): argument 'array'"),
    (lambda: paddle.from_numpy(masked(), copy=False), r"from_numpy\(\): argument 'array'"),
    (lambda: paddle.from_dlpack(masked()), r"from_dlpack\(\): argument 'dlpack'"),
    (lambda: paddle.assign(masked()), r"to_tensor\(\): argument 'data'"),
    (lambda: x() + masked(), r"add\(\): argument 'y' \(position 1\)"),
    (lambda: masked() - x(), r"subtract\(\): argument 'x' \(position 0\)"),
    (lambda: x().multiply_(masked()), r"multiply_\(\): argument 'y' \(position 1\)"),
    (lambda: paddle.maximum(masked(), x()), r"maximum\(\): argument 'x' \(position 0\)"),
    (lambda: x() @ masked(), r"matmul\(\): argument 'y'"),
    (lambda: paddle.where(x() > 1, x(), masked()), r"where\(\): argument 'y' \(position 2\)"),
    (lambda: x().set_value(masked()), r"set_value\(\): argument 'value'"),
    (lambda: x()[masked_index()], "an index of a tensor"),
    (lambda: x()[0, masked_index()], "an index of a tensor"),
    (lambda: x()[[masked_index(), masked_index()]], "an index of a tensor"),
    (lambda: x()[np.ma.MaskedArray(1, mask=True)], "an index of a tensor"),
    (lambda: x()[np.ma.MaskedArray(1, mask=True):], "an index of a tensor"),
    (lambda: assign_item(x(), 0, masked()[0]), r"setitem_\(\): argument 'value' \(position 1\)"),
    (lambda: assign_item(x(), [0], masked()[0]), r"put_\(\): argument 'value' \(position 1\)"),
    (lambda: assign_item(x(), slice(None), [masked()[0], masked()[1]]), r"setitem\(\): the value"),
    (lambda: assign_item(x(), masked_index(), 0.0), "an index of a tensor"),
    (lambda: x().index_put([masked_index()], x()), r"index_put\(\): argument 'indices'"),
    (lambda: x().reshape(np.ma.MaskedArray([4], mask=[True])), r"reshape\(\): argument 'shape' \(position 1\)"),
    (lambda: x().flip(masked_index()), r"flip\(\): argument 'axis'"),
    (lambda: paddle.zeros(np.ma.MaskedArray([2], mask=[True])), r"zeros\(\): shape"),
    (lambda: paddle.zeros([2, np.ma.MaskedArray(2, mask=True)]), r"zeros\(\): shape"),
    (lambda: paddle.full([2], np.ma.MaskedArray(2.0, mask=True)), r"full\(\): fill_value"),
    (lambda: paddle.linspace(np.ma.MaskedArray(2.0, mask=True), 3, 2), r"linspace\(\): start"),
    (lambda: x().quantile(np.ma.MaskedArray([0.5, 0.1], mask=[True, False])), r"quantile\(\): q"),
    (lambda: x().moveaxis(masked_index(), [1, 0]), r"moveaxis\(\): argument 'source'"),
    (lambda: x().narrow(0, np.ma.MaskedArray(0, mask=True), 1), r"narrow\(\): start"),
    (lambda: x().norm(np.ma.MaskedArray(3.0, mask=True)), r"norm\(\): p"),
    (lambda: paddle.atleast_2d(masked()[0]), r"atleast_2d\(\): argument 'inputs'"),
    (lambda: paddle.diag_embed(masked()), r"diag_embed\(\): argument 'input'"),
    (lambda: x()[0].diag(padding_value=np.ma.MaskedArray(3.0, mask=True)), r"diag\(\): argument 'padding_value'"),
    (lambda: paddle.linalg.matrix_rank(x(), tol=np.ma.MaskedArray(0.1, mask=True)), r"matrix_rank\(\): argument 'tol'"),
    (lambda: x().histogramdd([np.ma.MaskedArray([0.0, 5.0], mask=[1, 0]), 2]), r"histogramdd\(\): argument 'bins'"),
    (lambda: x().bernoulli_(masked() / 5), r"bernoulli_?\(\): argument 'p'"),
    (lambda: masked() in x(), "the value to look for"),
])
def test_a_masked_array_is_refused_by_name(call, named):
    """Its hidden elements would take part in every sum and every gradient, and nobody would know."""
    with pytest.raises(TypeError, match=named + r" is a masked array \(Masked(Array|Constant)\).*\.filled\(value\), or its \.data"):
        call()


def test_the_rule_goes_by_type_not_by_data():
    with pytest.raises(TypeError, match="masked array"):
        paddle.to_tensor(np.ma.MaskedArray([1.0, 2.0]))


def test_the_remedies_work():
    assert paddle.to_tensor(masked().filled(0)).tolist() == [[1.0, 0.0], [3.0, 4.0]]
    assert paddle.to_tensor(masked().data).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_refused_write_leaves_everything_as_it_was():
    """S2.6"""
    t = x()
    for write in (lambda: t.add_(masked()), lambda: assign_item(t, 0, masked()[0]), lambda: t.set_value(masked())):
        with pytest.raises(TypeError, match="masked array"):
            write()
    assert t.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert t.inplace_version == 0


# ---- the other subclasses, and arrays of what is no number ---------------------------------------------------------------------------

def test_other_subclasses_are_plain_arrays():
    """numpy.matrix multiplies by rows and columns and never has fewer than two axes; a tensor made of it, or with it, does neither."""
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    assert paddle.to_tensor(matrix)[0].shape == [2]
    for product in (x() * matrix, matrix * x()):
        assert product.tolist() == [[1.0, 4.0], [9.0, 16.0]]
    shared = paddle.from_numpy(matrix, copy=False)
    shared[0, 0] = 5.0
    assert matrix[0, 0] == 5.0


NO_NUMBERS = [np.array(["a", "b"]), np.array([b"a"]), np.array([object(), 1]), np.array(["2020-01-01"], "datetime64[D]"),
              np.array([1], "timedelta64[s]"), np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]), np.array([1.0], "float16")]


@pytest.mark.parametrize("array", NO_NUMBERS, ids=lambda a: str(a.dtype))
@pytest.mark.parametrize("door", [
    paddle.to_tensor, Tensor, tensor_from_array, lambda a: tensor_over_array(a, "here"), paddle.from_numpy,
    lambda a: paddle.from_numpy(a, copy=False), lambda a: x() + a, lambda a: a + x(), lambda a: paddle.add(x(), a),
    lambda a: x().add_(a), lambda a: x() @ a, lambda a: assign_item(x(), 0, a),
    paddle.atleast_2d, paddle.diag_embed,
])
def test_arrays_of_what_is_no_number_are_refused_with_their_dtype(array, door):
    with pytest.raises(TypeError, match=rf"\(InvalidType\).*{re.escape(str(array.dtype))}"):
        door(array)


@pytest.mark.parametrize("array", NO_NUMBERS[:-1], ids=lambda a: str(a.dtype))
@pytest.mark.parametrize("door", [lambda a: x().quantile(a), lambda a: x()[0].diag(padding_value=a)])
def test_so_are_they_as_attributes(array, door):
    with pytest.raises(TypeError, match=rf"\(InvalidType\).*{re.escape(str(array.dtype))}"):
        door(array)


@pytest.mark.parametrize("array", NO_NUMBERS, ids=lambda a: str(a.dtype))
def test_an_index_is_of_integers_or_bool(array):
    with pytest.raises(IndexError, match="integers or bool, but got dtype"):
        x()[array]
