"""The list of operators is complete: every in-place method of the reference (PaddlePaddle 3.3.1) is here or left out for a reason."""
import inspect

import pytest

import python_api as paddle
from eager_core.codegen import reference
from eager_core.codegen.left_out import KEYWORDS, METHODS
from python_api import autograd, creation, framework, sharing
from python_api.composite import COMPOSITES

# [n for n in dir(paddle.Tensor) if n.endswith("_") and not n.startswith("_")]
METHODS_IN_PLACE = """
    abs_ acos_ acosh_ add_ addmm_ apply_ asin_ asinh_ atan_ atanh_ baddbmm_ bernoulli_ bitwise_and_ bitwise_invert_ bitwise_left_shift_
    bitwise_not_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ cast_ cauchy_ ceil_ clamp_ clip_ copy_ copysign_ cos_ cosh_ cumprod_
    cumsum_ detach_ digamma_ div_ divide_ equal_ erfinv_ exp_ exponential_ fill_ fill_diagonal_ fill_diagonal_tensor_ flatten_ floor_
    floor_divide_ floor_mod_ frac_ gammainc_ gammaincc_ gammaln_ gcd_ geometric_ grad_ greater_equal_ greater_than_ hypot_ i0_
    index_add_ index_fill_ index_put_ lcm_ ldexp_ lerp_ less_ less_equal_ less_than_ lgamma_ log10_ log1p_ log2_ log_ log_normal_
    logical_and_ logical_not_ logical_or_ logical_xor_ logit_ masked_fill_ masked_scatter_ mod_ mul_ multigammaln_ multiply_ nan_to_num_
    neg_ normal_ not_equal_ polygamma_ pow_ put_along_axis_ random_ reciprocal_ reconstruct_from_ remainder_ renorm_ requires_grad_
    reshape_ resize_ round_ rsqrt_ scale_ scatter_ scatter_add_ set_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ squeeze_ sub_ subtract_ t_
    tan_ tanh_ transpose_ tril_ triu_ trunc_ uniform_ unsqueeze_ where_ zero_
"""

# Those that the reference has as a function of the package, too.
FUNCTIONS_IN_PLACE = """
    abs_ acos_ acosh_ addmm_ asin_ asinh_ atan_ atanh_ baddbmm_ bernoulli_ bitwise_and_ bitwise_invert_ bitwise_left_shift_ bitwise_not_
    bitwise_or_ bitwise_right_shift_ bitwise_xor_ cast_ cauchy_ copysign_ cos_ cosh_ cumprod_ cumsum_ digamma_ div_ divide_ equal_
    flatten_ floor_divide_ floor_mod_ frac_ gammainc_ gammaincc_ gammaln_ gcd_ geometric_ greater_equal_ greater_than_ hypot_ i0_
    index_add_ index_fill_ index_put_ lcm_ ldexp_ less_ less_equal_ less_than_ lgamma_ log10_ log1p_ log2_ log_ log_normal_ logical_and_
    logical_not_ logical_or_ logical_xor_ logit_ masked_fill_ masked_scatter_ mod_ multigammaln_ multiply_ nan_to_num_ neg_ normal_
    not_equal_ polygamma_ pow_ remainder_ renorm_ reshape_ scatter_ scatter_add_ sin_ sinc_ sinh_ square_ squeeze_ sub_ subtract_ t_
    tan_ tanh_ transpose_ tril_ triu_ trunc_ unsqueeze_ where_
"""

# Those of which the reference has no method, then no function, without the underscore.
WITHOUT_TWIN_METHOD = """
    bernoulli_ cauchy_ copy_ exponential_ fill_ fill_diagonal_ geometric_ log_normal_ normal_ random_ reconstruct_from_ resize_ set_
    uniform_ zero_
"""
WITHOUT_TWIN_FUNCTION = """
    apply_ cauchy_ copy_ detach_ exponential_ fill_ fill_diagonal_ fill_diagonal_tensor_ reconstruct_from_ requires_grad_ resize_ set_ zero_
"""
MODULES = {"geometric_", "random_"}         # the reference has packages of these names

IN_PLACE, IN_PLACE_FUNCTIONS = METHODS_IN_PLACE.split(), FUNCTIONS_IN_PLACE.split()
NO_TWIN_METHOD, NO_TWIN_FUNCTION = set(WITHOUT_TWIN_METHOD.split()), set(WITHOUT_TWIN_FUNCTION.split()) | MODULES


def test_the_list_is_the_one_of_the_reference():
    assert len(IN_PLACE) == len(set(IN_PLACE)) == 123
    assert set(IN_PLACE_FUNCTIONS) | NO_TWIN_METHOD | NO_TWIN_FUNCTION <= set(IN_PLACE)


@pytest.mark.parametrize("name", IN_PLACE)
def test_an_in_place_method_exists_or_is_left_out_for_a_reason(name):
    assert callable(getattr(paddle.Tensor, name, None)) != (name in METHODS)


def test_only_names_of_the_reference_are_left_out():
    assert set(METHODS) <= set(IN_PLACE)
    assert all(len(reason) > 40 for reason in METHODS.values())


@pytest.mark.parametrize("name", sorted(set(IN_PLACE) - set(METHODS)))
def test_forms_of_an_in_place_method(name):
    if name in IN_PLACE_FUNCTIONS:
        assert callable(getattr(paddle, name))
        assert name in paddle.__all__
    if name not in NO_TWIN_METHOD:
        assert hasattr(paddle.Tensor, name[:-1])
    if name not in NO_TWIN_FUNCTION:
        assert callable(getattr(paddle, name[:-1]))
        assert name[:-1] in paddle.__all__


@pytest.mark.parametrize("name", sorted(set(IN_PLACE_FUNCTIONS) - set(METHODS)))
def test_a_method_takes_what_the_function_takes_behind_its_first(name):
    function, method = inspect.signature(getattr(paddle, name)), inspect.signature(getattr(paddle.Tensor, name))
    assert list(function.parameters.values())[1:] == list(method.parameters.values())[1:]


# ---- the reference page ----------------------------------------------------------------------------------------------------------------

PAGE = reference.page()
# What is no operator and makes no tensor.
MODES = {*autograd.__all__, *framework.__all__, "_test_eager_guard", "set_printoptions", "set_vlog_level"}


@pytest.mark.parametrize("place", ["", "linalg.", "nn.functional."])
def test_the_page_has_every_public_function(place):
    module = {"": paddle, "linalg.": paddle.linalg, "nn.functional.": paddle.nn.functional}[place]
    for name in module.__all__:
        function = getattr(module, name)
        if name in MODES or inspect.isclass(function) or inspect.ismodule(function) or not callable(function):
            continue
        own = place if inspect.isfunction(function) and function.__module__ == f"python_api.{place}".rstrip(".") else ""
        assert f"`{own}{name}(" in PAGE or f"`{place}{name}(" in PAGE or function is paddle.inverse, place + name


def test_the_page_has_the_signature_of_every_composite():
    for name, function in COMPOSITES.items():
        shown = [p.replace(annotation=inspect.Parameter.empty) for p in inspect.signature(function).parameters.values()]
        text = str(inspect.Signature(shown))
        assert f"{name}{text}`" in PAGE, name + text
        assert getattr(paddle.Tensor, name, None) is not function or f"`x.{name}()`" in PAGE or f"- Methods: `{name}(" in PAGE or \
            f", `{name}(" in PAGE, name


def test_the_page_has_every_function_that_makes_a_tensor():
    for name in creation.__all__ + sharing.__all__:
        assert f"- `{name}(" in PAGE


def test_the_page_tells_what_is_left_out_and_why():
    left_out = PAGE.split("## Left out")[1]
    for name, reason in (METHODS | KEYWORDS).items():
        assert f"- `{name}`: {reason}" in left_out
    for name in KEYWORDS:
        for function in (paddle.add, paddle.divide, paddle.add_, paddle.divide_, paddle.exp):
            assert name not in inspect.signature(function).parameters


def test_every_in_place_method_is_on_the_page():
    for name in set(IN_PLACE) - set(METHODS):
        assert f"`x.{name}(" in PAGE or f"`{name}(" in PAGE, name


def test_composites_called_constant_are():
    """S9.24."""
    m = paddle.to_tensor([[2.0, 1.0], [0.0, 3.0]], stop_gradient=False)
    made = [paddle.nonzero(m), paddle.argwhere(m), paddle.rank(m), *paddle.nonzero(m, as_tuple=True), paddle.linalg.matrix_rank(m),
            paddle.tril_indices(2, 2, 0), paddle.triu_indices(2, 2, 0), paddle.histogramdd(m, bins=2)[0], paddle.bernoulli(m * 0.1),
            paddle.multinomial(m), paddle.poisson(m), paddle.standard_gamma(m), paddle.binomial(paddle.to_tensor(3), m * 0.1),
            paddle.shard_index(paddle.to_tensor([[1]]), 4, 2, 0)]
    assert all(t.stop_gradient and t.is_leaf for t in made)
