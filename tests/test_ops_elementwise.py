"""Elementwise, special, activation and random operators beyond `test_op_table`: other names, edges, complex numbers, draws."""
from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

import eager_core
import python_api as paddle
from python_api.nn import functional

Arrays = list[np.ndarray[Any, Any]]

LINE = np.array([[-2.3, -1.1, -0.4], [0.3, 0.9, 2.6]])
POSITIVE = np.array([[0.2, 0.7, 1.3], [2.4, 3.1, 5.5]])
OTHER = np.array([0.7, -1.6, 1.9])
COMPLEX = np.array([0.3 + 0.4j, -0.7 + 0.2j, 0.5 - 1.3j])


class Case(NamedTuple):
    """One operator: where to find it, inputs, attributes, and a reference that shares nothing with the library."""

    name: str
    inputs: Arrays
    reference: Callable[..., Any]
    attributes: tuple[Any, ...] = ()
    forms: str = "fm"                   # f: function, m: method, i: in place, n: in nn.functional
    order: int = 2                      # derivatives that are checked
    tolerance: float = 1e-9

    def call(self, *inputs: Any) -> Any:
        return (getattr(functional, self.name) if "n" in self.forms else getattr(paddle, self.name))(*inputs, *self.attributes)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def softplus(x: Any) -> Any:
    return np.log1p(np.exp(x))


def _bits(x: Any, y: Any) -> Any:
    return (x.astype(np.int64) % 2 ** 32 >> y).astype(np.uint32).view(np.int32)


PLACES = [np.array([12, -18, 35], np.int32), np.array([1, 3, 2], np.int32)]

CASES = [
    # other names
    Case("negative", [LINE], lambda x: -x),
    Case("sgn", [LINE], np.sign),
    Case("mod", [LINE, OTHER], np.mod, forms="fmi"),
    Case("floor_mod", [LINE, OTHER], np.mod, forms="fmi"),
    Case("mul", [LINE, OTHER], np.multiply, forms="fmi"),
    Case("sub", [LINE, OTHER], np.subtract, forms="fmi"),
    Case("div", [LINE, OTHER], np.divide, forms="fmi"),
    Case("true_divide", [LINE, OTHER], np.divide),
    Case("clamp", [LINE], np.clip, (-0.5, 1.0), forms="fmi"),
    Case("gammaln", [LINE], special.gammaln, forms="fmi"),
    Case("logsigmoid", [LINE], lambda x: np.log(sigmoid(x)), forms="n"),
    Case("bitwise_invert", PLACES[:1], np.invert, forms="fmi", order=0),
    *(Case(name, [LINE, OTHER], reference, order=0) for name, reference in (
        ("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal),
        ("less", np.less), ("greater", np.greater))),
    # what the table of cases does not reach: negative arguments, numbers, shifts without sign, second derivatives against values
    Case("lgamma", [LINE], special.gammaln, forms="fmi"),
    Case("digamma", [LINE], special.digamma, forms="fmi"),
    Case("lerp", [LINE, OTHER], lambda x, y, w: (1 - w) * x + w * y, (0.3,), forms="fmi"),
    Case("bitwise_right_shift", PLACES, lambda x, y, _: _bits(x, y), (False,), forms="fmi", order=0),
    Case("isclose", [np.array([1.0, 2.0, np.nan]), np.array([1.0 + 1e-9, 2.1, np.nan])],
         lambda *a: np.isclose(*a[:4], equal_nan=a[4]), (1e-5, 1e-8, True), order=0),
    Case("i1e", [LINE], special.i1e),
    Case("sinc", [LINE], np.sinc, forms="fmi"),
    Case("gammainc", [POSITIVE, POSITIVE[::-1] + 0.1], special.gammainc, forms="fmi"),
    Case("gammaincc", [POSITIVE, np.array([0.5])], special.gammaincc, forms="fmi"),
    Case("gelu", [LINE], lambda x: x * stats.norm.cdf(x), forms="n"),
    Case("mish", [LINE], lambda x: x * np.tanh(softplus(x)), forms="n"),
    # functions of nn.functional
    Case("glu", [LINE.T.copy()], lambda x: x[:, :1] * sigmoid(x[:, 1:]), forms="n"),
    Case("swiglu", [LINE, POSITIVE], lambda x, y: x * sigmoid(x) * y, forms="n"),
    Case("prelu", [LINE, np.array([0.2, 0.5, 0.9])], lambda x, w: np.where(x > 0, x, w * x), forms="n"),
    Case("prelu", [LINE, np.array([0.3])], lambda x, w: np.where(x > 0, x, w * x), forms="n"),
    Case("maxout", [LINE.reshape(1, 6)], lambda x, g: x.reshape(1, 3, g).max(-1), (2,), forms="n"),
]
IDS = [f"{case.name}{k}" for k, case in enumerate(CASES)]
DIFFERENTIABLE = [pytest.param(case, id=name) for case, name in zip(CASES, IDS, strict=True) if case.order]


def leaves(case: Case) -> list[Any]:
    return [paddle.to_tensor(x, stop_gradient=False) for x in case.inputs]


def central(function: Callable[[Arrays], float], inputs: Arrays, step: float = 1e-5) -> Arrays:
    """The gradient of a function of arrays, by central differences of fourth order."""
    slopes = []
    for k, x in enumerate(inputs):
        slope = np.zeros_like(x)
        for at in np.ndindex(x.shape):
            def moved(by: float, k: int = k, at: Any = at) -> float:
                other = [a.copy() for a in inputs]
                other[k][at] += by * step
                return function(other)
            slope[at] = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * step)
        slopes.append(slope)
    return slopes


def weights(shape: Any) -> Any:
    return np.cos(np.arange(math.prod(shape), dtype=float) + 0.5).reshape(shape)


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for case, name in zip(CASES, IDS, strict=True)])
def test_values(case: Case) -> None:
    expected = np.asarray(case.reference(*case.inputs, *case.attributes))
    out = case.call(*[paddle.to_tensor(x) for x in case.inputs])
    assert out.dtype == expected.dtype
    assert list(out.shape) == list(expected.shape)
    assert_allclose(out.numpy(), expected, rtol=1e-13, atol=1e-14)
    if "m" in case.forms:
        first, *others = (paddle.to_tensor(x) for x in case.inputs)
        assert_array_equal(getattr(first, case.name)(*others, *case.attributes).numpy(), out.numpy())


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for case, name in zip(CASES, IDS, strict=True)])
def test_strided_empty_and_float32(case: Case) -> None:
    expected = case.call(*[paddle.to_tensor(x) for x in case.inputs]).numpy()
    if case.name not in ("glu", "maxout", "prelu", "allclose", "equal_all"):
        spread = [paddle.to_tensor(np.repeat(x, 2, axis=-1))[..., ::2] for x in case.inputs]
        assert_array_equal(case.call(*spread).numpy(), expected)
        empty = [paddle.to_tensor(x.reshape(-1)[:0]) for x in case.inputs]
        assert list(case.call(*empty).shape) == [0]
        single = [paddle.to_tensor(x.reshape(-1)[0]) for x in case.inputs]
        assert list(case.call(*single).shape) == []
    if case.inputs[0].dtype == np.float64 and case.name != "nextafter":
        out = case.call(*[paddle.to_tensor(x.astype(np.float32)) for x in case.inputs])
        assert out.dtype in (np.float32, np.bool_)
        if case.order:
            assert_allclose(out.numpy(), expected, rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_first_gradient(case: Case) -> None:
    xs = leaves(case)
    out = case.call(*xs)
    w = weights(out.shape)
    (out * paddle.to_tensor(w)).sum().backward()
    expected = central(lambda arrays: float((np.asarray(case.reference(*arrays, *case.attributes)) * w).sum()), case.inputs)
    for x, slope in zip(xs, expected, strict=True):
        assert x.grad.dtype == x.dtype
        assert_allclose(x.grad.numpy(), slope, rtol=2e-8, atol=2e-8)


@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_second_gradient(case: Case) -> None:
    """Of a weighted sum of all first derivatives, each of which is a difference of the reference's values."""
    xs = leaves(case)
    out = case.call(*xs)
    w = weights(out.shape)
    slopes = paddle.grad((out * paddle.to_tensor(w)).sum(), xs, create_graph=True)
    total = sum((slope * paddle.to_tensor(weights(slope.shape) + 1.5)).sum() for slope in slopes)
    if total.stop_gradient:
        second = [np.zeros_like(x) for x in case.inputs]
    else:
        found = paddle.grad(total, xs, allow_unused=True)
        second = [np.zeros_like(x) if g is None else g.numpy() for g, x in zip(found, case.inputs, strict=True)]

    def first(arrays: Arrays) -> float:
        def value(inner: Arrays) -> float:
            return float((np.asarray(case.reference(*inner, *case.attributes)) * w).sum())
        return sum(float((slope * (weights(slope.shape) + 1.5)).sum()) for slope in central(value, arrays, 1e-3))

    for got, expected in zip(second, central(first, case.inputs, 1e-3), strict=True):
        assert_allclose(got, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for case, name in zip(CASES, IDS, strict=True) if "i" in case.forms])
def test_in_place(case: Case) -> None:
    """The same object, one bump, the same value and the same gradients as the functional form."""
    def start() -> tuple[list[Any], list[Any]]:
        xs = [paddle.to_tensor(x, stop_gradient=not case.order) for x in case.inputs]
        return xs, [x * 1 for x in xs]

    name = case.name + "_"
    functions: list[Any] = [getattr(functional if "n" in case.forms else paddle, name)] if "f" in case.forms or "n" in case.forms else []
    if "m" in case.forms:
        functions.append(lambda first, *others: getattr(first, name)(*others))
    for function in functions:
        xs, ys = start()
        expected = case.call(*ys)
        target = xs[0] * 1
        out = function(target, *ys[1:], *case.attributes)
        assert out is target
        assert target.inplace_version == 1
        assert_array_equal(target.numpy(), expected.numpy())
        if case.order:
            w = paddle.to_tensor(weights(expected.shape))
            wanted = paddle.grad((expected * w).sum(), xs, create_graph=True)
            got = paddle.grad((target * w).sum(), xs, create_graph=True)
            for a, b in zip(got, wanted, strict=True):
                assert_allclose(a.numpy(), b.numpy(), rtol=1e-14)
            leaf = paddle.to_tensor(case.inputs[0], stop_gradient=False)
            with pytest.raises(ValueError, match="Leaf Var"):
                function(leaf, *[paddle.to_tensor(x) for x in case.inputs[1:]], *case.attributes)
            assert_array_equal(leaf.numpy(), case.inputs[0])


@pytest.mark.parametrize("name",
                         ["expm1", "log1p", "log2", "log10", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh",
                          "stanh"])
def test_complex(name: str) -> None:
    """The gradient of Re(conj(w) f(z)) is w conj(f'(z)), and differences in both parts tell it."""
    reference = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
                 "stanh": lambda z: 1.7159 * np.tanh(0.67 * z)}.get(name) or getattr(np, name)
    z = paddle.to_tensor(COMPLEX, stop_gradient=False)
    out = getattr(paddle, name)(z)
    assert_allclose(out.numpy(), reference(COMPLEX), rtol=1e-14)
    w = np.array([0.4 - 1j, 1.1 + 0.3j, -0.2 + 0.9j])
    out.backward(paddle.to_tensor(w))
    h = 1e-6

    def slope(direction: complex) -> Any:
        return ((reference(COMPLEX + h * direction) - reference(COMPLEX - h * direction)) / (2 * h) * w.conj()).real
    assert_allclose(z.grad.numpy(), slope(1) + 1j * slope(1j), rtol=1e-7, atol=1e-8)


def test_complex_numbers_made_and_taken_apart() -> None:
    a, b = (paddle.to_tensor(np.array(x), stop_gradient=False) for x in ([0.5, 2.0, 0.0], [0.3, -1.2, 0.7]))
    assert_allclose(paddle.complex(a, b).numpy(), a.numpy() + 1j * b.numpy())
    assert_allclose(paddle.polar(a, b).numpy(), a.numpy() * np.exp(1j * b.numpy()))
    w = np.array([0.4 - 1j, 1.1 + 0.3j, -0.2 + 0.9j])
    for make, reference in ((paddle.complex, lambda x, y: x + 1j * y), (paddle.polar, lambda x, y: x * np.exp(1j * y))):
        slopes = paddle.grad(make(a, b), [a, b], [paddle.to_tensor(w)])
        expected = central(lambda xs, f=reference: float((f(*xs) * w.conj()).real.sum()), [a.numpy(), b.numpy()])
        for slope, wanted in zip(slopes, expected, strict=True):
            assert slope.dtype == np.float64
            assert_allclose(slope.numpy(), wanted, rtol=1e-8, atol=1e-9)
    z = paddle.to_tensor(COMPLEX, stop_gradient=False)
    z.angle().sum().backward()
    h = 1e-6
    expected = [(np.angle(COMPLEX + h * d) - np.angle(COMPLEX - h * d)) / (2 * h) for d in (1, 1j)]
    assert_allclose(z.grad.numpy(), expected[0] + 1j * expected[1], rtol=1e-7)
    assert_allclose(paddle.sgn(z).numpy(), COMPLEX / np.abs(COMPLEX))


def gradients(function: Callable[..., Any], *values: float) -> list[Any]:
    """First gradients at a point and the second of their sum."""
    xs = [paddle.to_tensor(np.float64(v), stop_gradient=False) for v in values]
    first = paddle.grad(function(*xs), xs, create_graph=True)
    total = sum(first[1:], first[0])
    second = [None] * len(xs) if total.stop_gradient else paddle.grad(total, xs, allow_unused=True)
    return [g.item() for g in first] + [0.0 if g is None else g.item() for g in second]


@pytest.mark.parametrize(("function", "point", "expected"), [
    (paddle.hypot, (0.0, 0.0), [0, 0]),
    (paddle.hypot, (3e200, 4e200), [0.6, 0.8]),
    (paddle.atan2, (0.0, 0.0), [0, 0]),
    (paddle.atan2, (1e200, 1e200), [0.5e-200, -0.5e-200]),
    (paddle.sinc, (0.0,), [0, -math.pi ** 2 / 3]),
    (paddle.i1, (0.0,), [0.5, 0]),
    (paddle.i0, (0.0,), [0, 0.5]),
    (paddle.logaddexp, (1000.0, -1000.0), [1, 0, 0, 0]),
    (functional.log_sigmoid, (-1000.0,), [1, 0]),
    (functional.log_sigmoid, (1000.0,), [0, 0]),
    (functional.softplus, (1000.0,), [1, 0]),
    (functional.softplus, (-1000.0,), [0, 0]),
    (functional.silu, (-1000.0,), [0, 0]),
    (functional.silu, (1000.0,), [1, 0]),
    (functional.mish, (1000.0,), [1, 0]),
    (functional.mish, (-1000.0,), [0, 0]),
    (functional.elu, (1000.0,), [1, 0]),
    (functional.celu, (1000.0,), [1, 0]),
    (functional.selu, (1000.0,), [1.0507009873554805, 0]),
    (functional.gelu, (40.0,), [1, 0]),
    (functional.gelu, (-40.0,), [0, 0]),
    (functional.hardswish, (3.0,), [1, 0]),
    (functional.relu6, (6.0,), [0, 0]),
    (functional.leaky_relu, (0.0,), [1, 0]),
    (paddle.gammainc, (1.0, 0.0), [0, 1]),
    (paddle.gammainc, (2.0, 0.0), [0, 0]),
    (paddle.nan_to_num, (math.inf,), [0, 0]),
    (paddle.fmax, (1.0, math.nan), [1, 0]),
    (paddle.fmax, (math.nan, 1.0), [0, 1]),
    (paddle.fmin, (math.nan, 1.0), [0, 1]),
    (paddle.fmax, (1.0, 1.0), [1, 0]),
    (paddle.heaviside, (0.0, 0.7), [0, 1]),
])
def test_gradients_are_finite_at_edges(function: Callable[..., Any], point: tuple[float, ...], expected: list[float]) -> None:
    found = gradients(function, *point)
    assert np.isfinite(found).all()
    assert_allclose(found[:len(expected)], expected, rtol=1e-12)


def test_tails_keep_their_digits() -> None:
    x = paddle.to_tensor(np.array([-37.0, -10.0, -5.0]))      # below, SciPy has no digits left: test_vector_math
    assert_allclose(functional.gelu(x).numpy(), x.numpy() * special.ndtr(x.numpy()), rtol=1e-12)
    assert_allclose(functional.log_sigmoid(x * 50).numpy(), x.numpy() * 50)
    assert_allclose(paddle.erfc(-x).numpy(), special.erfc(-x.numpy()), rtol=1e-14)


@pytest.mark.parametrize(("x", "y"), [(0.05, 0.01), (0.3, 4.0), (2.0, 30.0), (50.0, 45.0), (700.0, 720.0)])
def test_incomplete_gamma_by_its_first_argument(x: float, y: float) -> None:
    """Against an independent integral of the derivative."""
    from scipy.integrate import quad

    def density(s: float) -> float:
        return math.exp(x * s - math.exp(s) - special.gammaln(x)) * (s - special.digamma(x))
    cut = sorted({min(math.log(y), c) for c in (math.log(x) - 3 / math.sqrt(x), math.log(x), math.log(x) + 3 / math.sqrt(x))})
    edges = [math.log(x) - 45 / x - 2, *cut, math.log(y)]
    expected = sum(quad(density, a, b, epsabs=1e-13, limit=300)[0] for a, b in itertools.pairwise(edges) if a < b)
    got = gradients(lambda a: paddle.gammainc(a, paddle.to_tensor(np.float64(y))), x)
    assert_allclose(got[0], expected, rtol=1e-9, atol=1e-12)
    assert_allclose(gradients(lambda a: paddle.gammaincc(a, paddle.to_tensor(np.float64(y))), x)[0], -expected, rtol=1e-9, atol=1e-12)


def test_numbers_as_operands() -> None:
    x = paddle.to_tensor(LINE.astype(np.float32), stop_gradient=False)
    assert paddle.copysign(x, -1.0).dtype == np.float32
    assert_allclose(paddle.hypot(x, 2.0).numpy(), np.hypot(LINE, 2), rtol=1e-6)
    assert paddle.lerp(x, x, 0.5).dtype == np.float32
    assert_allclose(paddle.ldexp(x, 3).numpy(), LINE * 8, rtol=1e-6)
    paddle.ldexp(x, 3).sum().backward()
    assert_array_equal(x.grad.numpy(), np.full(LINE.shape, 8, np.float32))
    assert (paddle.to_tensor([1, 2]) .bitwise_left_shift(2)).tolist() == [4, 8]


def test_integers_become_floating_point() -> None:
    x = paddle.to_tensor(np.array([1, 2, 3], np.int64))
    for name in ("expm1", "atan", "erf", "lgamma", "i0", "sinc", "stanh", "rad2deg", "hypot"):
        out = getattr(paddle, name)(x, x) if name == "hypot" else getattr(paddle, name)(x)
        assert out.dtype == np.float64
    for name in ("trunc", "frac", "heaviside", "fmax"):
        out = getattr(paddle, name)(x) if name in ("trunc", "frac") else getattr(paddle, name)(x, x)
        assert out.dtype == np.int64 or name == "heaviside"
    with pytest.raises(TypeError, match="cannot be stored"):
        x.expm1_()
    with pytest.raises(TypeError, match="cannot be stored"):
        x.erfinv_()
    assert x.tolist() == [1, 2, 3]


def test_in_place_shapes_are_checked_first() -> None:
    x, y = paddle.to_tensor([1.0]), paddle.to_tensor([1.0, 2.0])
    for function in (paddle.lerp_, lambda a, b, _: paddle.hypot_(a, b), lambda a, b, _: paddle.gammainc_(a, b), lambda a, b,
                     _: paddle.ldexp_(a, b)):
        with pytest.raises(ValueError, match="The shape of broadcast output"):
            function(x, y, 0.5)
    assert x.inplace_version == 0
    assert x.item() == 1.0


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda x: paddle.polygamma(x, -1), ValueError, "n must not be negative"),
    (lambda x: paddle.multigammaln(x, 0), ValueError, "p must be at least 1"),
    (lambda x: functional.celu(x, 0.0), ValueError, "alpha must not be 0"),
    (lambda x: functional.gelu(x, "erf"), ValueError, "approximate must be"),
    (lambda x: functional.hardtanh(x, 1.0, -1.0), ValueError, "min must not exceed max"),
    (lambda x: functional.softshrink(x, -1.0), ValueError, "threshold must not be negative"),
    (lambda x: functional.glu(x), ValueError, "must be even"),
    (lambda x: functional.maxout(x, 2, 0), ValueError, "cannot be divided"),
    (lambda x: functional.prelu(x, paddle.ones([2])), ValueError, "weight has 2 elements"),
    (lambda x: functional.rrelu(x, 0.5, 0.2), ValueError, "0 <= lower <= upper <= 1"),
    (lambda x: functional.dropout(x, 1.5), ValueError, "between 0 and 1"),
    (lambda x: functional.dropout(x, mode="up"), ValueError, "mode must be"),
    (lambda x: functional.dropout2d(x), ValueError, "must have 4 axes"),
    (lambda x: paddle.increment(x), ValueError, "must have one element"),
    (lambda x: paddle.erf(x.astype("complex64")), TypeError, "does not support dtype complex64"),
    *[(lambda x, f=f: f(x.astype("complex64")), TypeError, rf"{f.__name__}\(\) does not .* complex64. It takes real numbers only")
      for f in (paddle.sigmoid, paddle.silu, functional.softplus, functional.log_sigmoid)],
    (lambda x: paddle.gcd(x, x), TypeError, "does not support dtype"),
    (lambda x: paddle.bitwise_left_shift(x, 1), TypeError, "does not support dtype"),
    (lambda x: x.uniform_(2.0, 1.0), ValueError, "min must not exceed max"),
    (lambda x: x.exponential_(0.0), ValueError, "lam must be positive"),
    (lambda x: x.bernoulli_(1.5), ValueError, "between 0 and 1"),
    (lambda x: x.geometric_(0.0), ValueError, "between 0 and 1"),
    (lambda x: x.random_(3, 2), ValueError, "must be less than"),
    (lambda x: x.normal_(1j), TypeError, "needs a complex tensor"),
    (lambda x: paddle.bernoulli(x + 5.0), ValueError, "between 0 and 1"),
])
def test_errors(call: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    x = paddle.to_tensor([[0.5, 0.25, 0.125]])
    with pytest.raises(error, match=text):
        call(x)
    assert x.inplace_version == 0
    assert x.tolist() == [[0.5, 0.25, 0.125]]


def test_what_the_page_says_of_a_complex_sigmoid() -> None:
    """Its value, and the convention of S9.27 for the gradient of a real loss: conj(f'(z)) times that of f(z)."""
    values = np.array([0.5 + 1.0j, -2.0 - 0.25j])
    z = paddle.to_tensor(values, stop_gradient=False)
    made = 1.0 / (1.0 + paddle.exp(-z))
    expected = 1.0 / (1.0 + np.exp(-values))
    np.testing.assert_allclose(made.numpy(), expected, rtol=1e-14)
    paddle.real(made).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), (expected * (1.0 - expected)).conj(), rtol=1e-13)


def test_frexp() -> None:
    x = paddle.to_tensor(np.array([0.0, 1.0, -6.5, 1e-310, 3e100]), stop_gradient=False)
    mantissa, exponent = paddle.frexp(x)
    m, e = np.frexp(x.numpy())
    assert_array_equal(mantissa.numpy(), m)
    assert_array_equal(exponent.numpy(), e)
    assert exponent.dtype == np.float64
    y = paddle.to_tensor([3.0, -20.0], stop_gradient=False)
    y.frexp()[0].sum().backward()
    assert y.grad.tolist() == [0.25, 1 / 32]


def test_increment_is_in_place() -> None:
    x = paddle.to_tensor([1.5])
    assert paddle.increment(x) is x
    assert x.increment(2.0) is x
    assert x.tolist() == [4.5]
    assert x.inplace_version == 2
    n = paddle.to_tensor([1])
    assert paddle.increment(n, 3).tolist() == [4]
    with pytest.raises(TypeError, match="cannot be added"):
        paddle.increment(n, 0.5)


def test_nan_to_num() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1.5], np.float32)
    big = np.finfo(np.float32).max
    assert paddle.nan_to_num(paddle.to_tensor(x)).tolist() == [0.0, big, -big, 1.5]
    assert paddle.nan_to_num(paddle.to_tensor(x), 1.0, 2.0, -3.0).tolist() == [1.0, 2.0, -3.0, 1.5]


# ---- random fills ---------------------------------------------------------------------------------------------------------------------

FILLS = [
    ("uniform", (-1.0, 3.0), stats.uniform(-1, 4)), ("normal", (1.0, 2.0), stats.norm(1, 2)),
    ("exponential", (2.5,), stats.expon(scale=0.4)),
    ("cauchy", (1.0, 2.0), stats.cauchy(1, 2)), ("log_normal", (0.5, 0.75), stats.lognorm(0.75, scale=math.exp(0.5))),
]


@pytest.mark.parametrize(("name", "arguments", "distribution"), FILLS, ids=[f[0] for f in FILLS])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_fills_follow_their_distribution(name: str, arguments: tuple[Any, ...], distribution: Any, dtype: str) -> None:
    paddle.seed(7)
    x = paddle.zeros([100, 200], dtype)
    assert getattr(x, name + "_")(*arguments) is x
    assert x.dtype == dtype
    assert x.inplace_version == 1
    assert stats.kstest(x.numpy().reshape(-1), distribution.cdf).pvalue > 1e-3
    before = x.numpy()
    paddle.seed(7)
    assert_array_equal(getattr(x, name + "_")(*arguments).numpy(), before)


@pytest.mark.parametrize(("fill", "mean"), [
    (lambda x: x.bernoulli_(0.3), 0.3), (lambda x: x.bernoulli_(paddle.full(x.shape[-1:], 0.3)), 0.3),
    (lambda x: x.geometric_(0.25), 4.0), (lambda x: x.random_(2, 5), 3.0), (lambda x: x.random_(11), 5.0),
])
@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_random_integers(fill: Callable[[Any], Any], mean: float, dtype: str) -> None:
    paddle.seed(3)
    x = paddle.zeros([100, 300], dtype)
    assert fill(x) is x
    values = x.numpy()
    assert_array_equal(values, np.round(values))
    assert abs(values.mean() - mean) < 0.1
    assert x.dtype == dtype


def test_random_fills_have_zero_gradient() -> None:
    for fill in (lambda y: y.uniform_(), lambda y: y.normal_(), lambda y: y.exponential_(), lambda y: y.cauchy_(),
                 lambda y: y.geometric_(0.5),
                 lambda y: y.bernoulli_(), lambda y: y.log_normal_(), lambda y: y.random_(4)):
        x = paddle.ones([3])
        x.stop_gradient = False
        y = x * 2.0
        fill(y[:2])
        (y * 5.0).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0, 10.0]
        with pytest.raises(ValueError, match="Leaf Var"):
            fill(x)


def test_uniform_with_a_seed_of_its_own() -> None:
    a, b = paddle.zeros([5]).uniform_(seed=4), paddle.zeros([5]).uniform_(seed=4)
    assert a.tolist() == b.tolist()
    z = paddle.zeros([2000], "complex128").normal_(1 + 2j, 3.0).numpy()
    assert abs(z.mean() - (1 + 2j)) < 0.3
    assert abs(np.var(z) - 9) < 1


def test_sampling() -> None:
    paddle.seed(11)
    x = paddle.full([20000], 0.25, "float64")
    assert abs(paddle.bernoulli(x).numpy().mean() - 0.25) < 0.02
    assert abs(paddle.bernoulli(x, 0.75).numpy().mean() - 0.75) < 0.02
    assert abs(paddle.poisson(x * 12).numpy().mean() - 3) < 0.1
    assert abs(paddle.standard_gamma(x * 8).numpy().mean() - 2) < 0.1
    counts = paddle.binomial(paddle.to_tensor(10), x)
    assert counts.dtype == np.int64
    assert abs(counts.numpy().mean() - 2.5) < 0.1
    assert stats.kstest(np.log(paddle.log_normal(1.0, 2.0, [5000]).numpy()), stats.norm(1, 2).cdf).pvalue > 1e-3


def test_multinomial() -> None:
    paddle.seed(3)
    weights = np.array([[1.0, 0.0, 3.0], [2.0, 2.0, 0.0]])
    drawn = paddle.multinomial(paddle.to_tensor(weights), 20000, replacement=True)
    assert drawn.shape == [2, 20000]
    assert drawn.dtype == np.int64
    shares = np.stack([np.bincount(row, minlength=3) for row in drawn.numpy()]) / 20000
    assert_allclose(shares, weights / 4, atol=0.02)
    # Without replacement: the first one as above, no index twice, none of weight 0.
    rows = np.array([paddle.multinomial(paddle.to_tensor(weights), 2).numpy() for _ in range(4000)])
    assert_array_equal(np.sort(rows, axis=-1), np.broadcast_to([[0, 2], [0, 1]], rows.shape))
    assert abs((rows[:, 0, 0] == 2).mean() - 0.75) < 0.03
    assert paddle.multinomial(paddle.to_tensor([0.0, 5.0])).tolist() == [1]
    for bad, more in (([-1.0, 2.0], {}), ([0.0, 0.0], {}), ([1.0, 0.0], {"num_samples": 2}), ([1.0], {"num_samples": 0}),
                      ([np.inf], {}), ([], {}), ([[[1.0]]], {})):
        with pytest.raises(ValueError, match=r"multinomial\(\)"):
            paddle.multinomial(paddle.to_tensor(bad), **more)
    with pytest.raises(TypeError, match=r"multinomial\(\)"):
        paddle.multinomial(paddle.to_tensor([1, 2]))


@pytest.mark.parametrize("decimals", [1, 2, -1, 0])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64", "bool"])
def test_round_to_decimals(decimals: int, dtype: str) -> None:
    array = (np.array([[-23.456, 0.125], [14.5, 0.25]]) * (1 + 0.5j if dtype[0] == "c" else 1)).astype(dtype)
    want = array if dtype == "bool" else np.round(array, decimals)
    x = paddle.to_tensor(array)
    for out in (paddle.round(x, decimals), x.round(decimals=decimals)):
        assert out.dtype == array.dtype
        assert_array_equal(out.numpy(), want)
    for run in (lambda t: paddle.round_(t, decimals), lambda t: t.round_(decimals)):
        y = paddle.to_tensor(array.T).T             # not contiguous
        assert run(y) is y
        assert_array_equal(y.numpy(), want)
        assert y.inplace_version == 1


def test_round_to_decimals_has_a_gradient_of_zero() -> None:
    x = paddle.to_tensor(LINE, stop_gradient=False)
    y = x * 1
    y.round_(1)
    (y * y + paddle.round(x, 2) + x).sum().backward()
    assert_array_equal(x.grad.numpy(), np.ones_like(LINE))             # S6.6
    with pytest.raises(ValueError, match="Leaf Var"):
        x.round_(1)
    with pytest.raises(TypeError, match="decimals must be int"):
        paddle.round(x, 1.5)
    assert_array_equal(x.numpy(), LINE)


def test_add_n() -> None:
    x, y = paddle.to_tensor(LINE, stop_gradient=False), paddle.to_tensor(POSITIVE, stop_gradient=False)
    out = paddle.add_n([x, y * 2, x])
    assert_array_equal(out.numpy(), LINE + POSITIVE * 2 + LINE)
    (out * out).sum().backward()
    assert_allclose(x.grad.numpy(), 4 * out.numpy())
    assert_allclose(y.grad.numpy(), 4 * out.numpy())
    one = paddle.add_n(x)
    assert one is not x
    assert_array_equal(one.numpy(), LINE)
    for bad in ([], [x, paddle.to_tensor(OTHER)], 3.0):
        with pytest.raises(ValueError, match=r"add_n\(\)"):
            paddle.add_n(bad)


# ---- nn.functional with noise ---------------------------------------------------------------------------------------------------------

def test_dropout() -> None:
    paddle.seed(5)
    x = paddle.ones([100, 200], "float64")
    x.stop_gradient = False
    out = functional.dropout(x, 0.25)
    values = out.numpy()
    assert set(np.unique(values)) == {0.0, 1 / 0.75}
    assert abs((values == 0).mean() - 0.25) < 0.02
    out.sum().backward()
    assert_array_equal(x.grad.numpy(), values)
    assert set(np.unique(functional.dropout(x, 0.25, mode="downscale_in_infer").numpy())) == {0.0, 1.0}
    assert_array_equal(functional.dropout(x, 0.25, training=False, mode="downscale_in_infer").numpy(), np.full((100, 200), 0.75))
    plain = functional.dropout(x, 0.25, training=False)
    assert plain is not x
    assert_array_equal(plain.numpy(), x.numpy())
    assert not functional.dropout(x, 1.0).numpy().any()
    rows = functional.dropout(x, 0.5, axis=0).numpy()
    assert (rows == rows[:, :1]).all()
    y = x * 1.0
    assert functional.dropout(y, 0.5, inplace=True) is y
    assert y.inplace_version == 1
    planes = functional.dropout2d(paddle.ones([4, 5, 3, 2]), 0.5).numpy()
    assert (planes == planes[:, :, :1, :1]).all()
    last = functional.dropout3d(paddle.ones([4, 2, 3, 2, 5]), 0.5, data_format="NDHWC").numpy()
    assert (last == last[:, :1, :1, :1]).all()
    lines = functional.dropout1d(paddle.ones([6, 8]), 0.5).numpy()
    assert (lines == lines[:, :1]).all()


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    paddle.seed(5)
    x = paddle.randn([200, 500], "float64")
    out = functional.alpha_dropout(x, 0.3).numpy()
    assert abs(out.mean()) < 0.02
    assert abs(out.var() - 1) < 0.03
    assert_array_equal(functional.alpha_dropout(x, 0.3, training=False).numpy(), x.numpy())
    planes = functional.feature_alpha_dropout(paddle.ones([4, 5, 3, 2]), 0.5).numpy()
    assert (planes == planes[:, :, :1, :1]).all()


def test_rrelu_and_gumbel_softmax() -> None:
    paddle.seed(5)
    x = paddle.full([1000], -2.0, "float64")
    out = functional.rrelu(x, 0.1, 0.5).numpy() / -2
    assert 0.1 <= out.min() < 0.12
    assert 0.48 < out.max() <= 0.5
    assert_allclose(functional.rrelu(x, 0.1, 0.5, training=False).numpy(), -0.6)
    logits = paddle.to_tensor(np.log([[0.2, 0.3, 0.5]]).repeat(5000, 0), stop_gradient=False)
    soft = functional.gumbel_softmax(logits, 0.5)
    assert_allclose(soft.numpy().sum(-1), 1)
    hard = functional.gumbel_softmax(logits, 0.5, hard=True)
    assert_allclose(hard.numpy().sum(0) / 5000, [0.2, 0.3, 0.5], atol=0.03)
    hard.square().sum().backward()
    assert np.abs(logits.grad.numpy()).max() > 0


def test_silu_in_place() -> None:
    x = paddle.to_tensor(LINE, stop_gradient=False)
    y = x * 1.0
    assert functional.silu(y, inplace=True) is y
    y.sum().backward()
    z = paddle.to_tensor(LINE, stop_gradient=False)
    functional.silu(z).sum().backward()
    assert_array_equal(x.grad.numpy(), z.grad.numpy())


def test_without_scipy() -> None:
    """erf, erfc and lgamma have a stand-in; the others say what is missing, and nothing is written."""
    program = """
import sys
sys.modules["scipy"] = None
import numpy as np, python_api as paddle
x = paddle.to_tensor(np.array([0.5, -1.5], np.float32))
assert abs(paddle.erf(x).numpy() - [0.5204999, -0.9661051]).max() < 1e-6
assert abs(paddle.lgamma(x).numpy() - [0.5723649, 0.8600470]).max() < 1e-6
assert paddle.erf(x).dtype == np.float32
paddle.nn.functional.gelu(x)
y = x * 1
try:
    y.digamma_()
except ImportError as error:
    assert "pip install eager-tensor[special]" in str(error), error
else:
    raise AssertionError("no error")
assert y.inplace_version == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_entry_points() -> None:
    x = paddle.to_tensor(LINE)
    assert_array_equal(eager_core.eager_api_expm1(x).numpy(), np.expm1(LINE))
    assert_allclose(eager_core.eager_api_leaky_relu(x, "alpha", 0.5).numpy(), np.where(LINE > 0, LINE, LINE / 2))
    assert eager_core.get_core_ops_args_info()["atan2"] == ["X", "Y"]


def test_a_whole_bound_of_clip_is_exact():
    """An integer of 64 bits is no double."""
    x = np.array([2 ** 61, -2 ** 61, 5])
    got = paddle.clip(paddle.to_tensor(x), -2 ** 60 - 1, 2 ** 60 + 1)
    assert got.dtype == np.int64
    assert got.tolist() == [2 ** 60 + 1, -2 ** 60 - 1, 5]
    u = paddle.to_tensor(np.array([2 ** 64 - 1, 3], dtype="uint64"))
    assert u.clip_(-1, 2 ** 63 + 1).tolist() == [2 ** 63 + 1, 3]
    assert paddle.clip(paddle.to_tensor(x), max=1.5).dtype == np.float64
