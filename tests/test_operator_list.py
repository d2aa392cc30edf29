"""The list of operators is complete: every in-place method of the reference (PaddlePaddle 3.3.1) is here or left out for a reason."""
import inspect

import pytest

import python_api as paddle
from eager_core.codegen.left_out import METHODS

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
