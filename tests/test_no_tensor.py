"""What is no tensor is refused by every Python function that wants one: TypeError, with the function, the argument and the type."""
import inspect

import numpy as np
import pytest

import python_api as paddle
from python_api import linalg
from python_api.composite import COMPOSITES
from python_api.nn import functional

NO_TENSORS = (None, "a", object(), {"a": 1}, 1.5, [1.0], np.ones((2, 2)), paddle.Tensor)


def functions():
    """Those written in Python, by name: operators of the table have their one parser, and tests of it."""
    found = dict(COMPOSITES)
    for module in (paddle, functional):
        found.update({name: getattr(module, name) for name in module.__all__ if inspect.isfunction(getattr(module, name))})
    return found


def wanted():
    """Function, parameter, and what may stand there though it is no tensor."""
    for name, function in sorted(functions().items()):
        for parameter in inspect.signature(function).parameters.values():
            if parameter.annotation in ("Tensor", "Tensor | None") and parameter.kind is not parameter.VAR_POSITIONAL:
                yield pytest.param(function, parameter.name, parameter.annotation == "Tensor | None", id=f"{name}-{parameter.name}")


def test_there_are_many():
    assert sum(1 for _ in wanted()) > 200


@pytest.mark.parametrize(("function", "argument", "optional"), list(wanted()))
def test_what_is_no_tensor_is_refused_by_name(function, argument, optional):
    x = paddle.ones([2, 2])
    parameters = inspect.signature(function).parameters.values()
    given = {p.name: x for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    for value in NO_TENSORS:
        if value is None and optional:
            continue
        positional = [value if p.name == argument else given[p.name] for p in parameters
                      if p.name in given and p.kind is p.POSITIONAL_OR_KEYWORD]
        calls = [lambda g=given | {argument: value}: function(**g)]
        if argument in given:
            calls.append(lambda p=positional: function(*p))
        for call in calls:
            with pytest.raises(TypeError, match=rf"^\(InvalidType\) {function.__name__}\(\): argument '{argument}'"):
                call()


@pytest.mark.parametrize("name", sorted(name for name in COMPOSITES if hasattr(paddle.Tensor, name)))
def test_so_do_methods(name):
    """The tensor they are found on is one."""
    parameters = list(inspect.signature(COMPOSITES[name]).parameters.values())
    for parameter in parameters[1:]:
        if parameter.annotation == "Tensor":
            given = {p.name: paddle.ones([2, 2]) for p in parameters[1:] if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD}
            with pytest.raises(TypeError, match=rf"^\(InvalidType\) {name}\(\): argument '{parameter.name}' must be Tensor, but got dict"):
                getattr(paddle.ones([2, 2]), name)(**given | {parameter.name: {}})


@pytest.mark.parametrize(("call", "message"), [
    (lambda x: paddle.einsum("ij->ji", None), r"einsum\(\): argument 'operands' must be Tensor, but got NoneType"),
    (lambda x: linalg.multi_dot([x, 1]), r"multi_dot\(\): argument 'x' must be Tensor, but got int"),
    (lambda x: linalg.multi_dot(x), r"multi_dot\(\): argument 'x' must be list of Tensors, but got Tensor"),
    (lambda x: paddle.broadcast_shape("a", [1]), r"broadcast_shape\(\): x_shape must be int, but got str"),
    (lambda x: paddle.select_scatter(x, "a", 0, 0), r"select_scatter\(\): argument 'values' must be Tensor, number, .* but got str"),
    (lambda x: paddle.slice_scatter(x, None, [0], [0], [1], [1]), r"slice_scatter\(\): argument 'value' .* but got NoneType"),
    (lambda x: paddle.diagonal_scatter(x, {}), r"diagonal_scatter\(\): argument 'y' .* but got dict"),
    (lambda x: paddle.atleast_1d("a"), r"atleast_1d\(\): argument 'inputs' .* but got str"),
    (lambda x: paddle.diag_embed(None), r"diag_embed\(\): argument 'input' .* but got NoneType"),
])
def test_so_are_parts_of_lists_and_what_is_no_number(call, message):
    with pytest.raises(TypeError, match=rf"^\(InvalidType\) {message}"):
        call(paddle.ones([2, 2]))


@pytest.mark.parametrize("value", [[7.0, 8.0], np.array([7.0, 8.0]), (7, 8)])
def test_what_takes_arrays_and_lists_goes_on_doing_so(value):
    x = paddle.to_tensor(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert paddle.select_scatter(x, value, 0, 0).tolist() == [[7.0, 8.0], [3.0, 4.0]]
    assert paddle.slice_scatter(x, value, [0], [0], [1], [1]).tolist() == [[7.0, 8.0], [3.0, 4.0]]
    assert paddle.diagonal_scatter(x, value).tolist() == [[7.0, 2.0], [3.0, 8.0]]
    assert paddle.atleast_2d(np.array(value)).tolist() == [[7.0, 8.0]]
    assert paddle.diag_embed(value).tolist() == [[7.0, 0.0], [0.0, 8.0]]
