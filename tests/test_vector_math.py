"""Our vector code of mathematical functions (kernels/vector_math.h), against 40 digits of mpmath; docs/accuracy.md states the bounds."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import mpmath
import numpy as np
import pytest

import python_api as paddle
from eager_core.kernel_tables import _test_vector_math

mpmath.mp.dps = 40


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def normal(x):
    """The normal distribution; mpmath's own loses the left tail."""
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def density(x):
    return mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)


SLOPE, CUBE = 2 * mpmath.sqrt(2 / mpmath.pi), mpmath.mpf("0.044715")


def tanh_form(x):
    """(1 + tanh(v / 2)) / 2 is the logistic function of v."""
    return sigmoid(SLOPE * (x + CUBE * x**3))


def tanh_form_slope(x):
    p = tanh_form(x)
    return p + x * p * (1 - p) * SLOPE * (1 + 3 * CUBE * x * x)


EXACT = {"sin": mpmath.sin, "cos": mpmath.cos, "tanh": mpmath.tanh, "erf": mpmath.erf, "sigmoid": sigmoid,
         "exp": mpmath.exp, "log": mpmath.log,
         "erfc": mpmath.erfc, "gelu": lambda x: x * normal(x), "gelu_tanh": lambda x: x * tanh_form(x),
         "gelu_grad": lambda x: normal(x) + x * density(x), "gelu_tanh_grad": tanh_form_slope}
# In units in the last place of the exact value; of a slope, which has a zero, of its larger term: P(x) there.
BOUNDS = {("sin", "float64"): 1.0, ("cos", "float64"): 1.0, ("sin", "float32"): 0.6, ("cos", "float32"): 0.6, ("tanh", "float64"): 2.5,
          ("sigmoid", "float64"): 2.5, ("sigmoid", "float32"): 2.5, ("erf", "float64"): 1.5, ("erf", "float32"): 0.6,
          ("exp", "float64"): 1.0, ("log", "float64"): 1.0, ("erfc", "float64"): 4.0, ("erfc", "float32"): 0.6,
          ("gelu", "float64"): 5.5, ("gelu", "float32"): 5.0, ("gelu_tanh", "float64"): 3.0, ("gelu_tanh", "float32"): 0.6,
          ("gelu_grad", "float64"): 6.5, ("gelu_grad", "float32"): 4.5,
          ("gelu_tanh_grad", "float64"): 5.5, ("gelu_tanh_grad", "float32"): 0.6}
TERMS = {"gelu_grad": normal, "gelu_tanh_grad": tanh_form}
NUMPYS_WITH_AVX512 = ("exp", "log")
CASES = [(name, dtype, level) for name, dtype in BOUNDS for level in (1, 2) if level == 1 or name not in NUMPYS_WITH_AVX512]
# Where a result overflows, becomes subnormal or vanishes, and where one formula follows another.
EDGES = {
    "exp": [709.78, 709.782712893384, 709.7827128933841, -708.3, -708.4, -740.1, -744.4, -745.1332, -745.14, 0.34657, 1.0397, -0.34657],
    "log": [0.5**0.5, 0.7071067811865476, 2**0.5, 1 - 2**-53, 1 + 2**-52, 0.999, 1.001, 5e-324, 2.2e-308, 2.2250738585072014e-308, 1.7e308],
    "erfc": [0.5, -0.5, 0.4999999, 1.0, 9.19, 10.05, 10.06, 10.3, 10.5, 26.54, 26.55, 27.2, 27.22, 27.3, 28.0, 28.1, -6.0],
    "gelu": [-12.9, -13.0, -14.2, -14.3, -14.42, -14.5, -37.5, -37.6, -38.4, -38.5, -38.6, -39.0, -39.1, 8.2, 8.3, 5e-324, -1e-310],
    "gelu_tanh": [-9.9, -10.0, -10.4, -10.6, -11.9, -12.0, -12.1, -21.0, -21.3, -21.4, -21.6, -25.0, -25.1, 6.0, 8.2, 5e-324],
}
EDGES["gelu_grad"] = [*EDGES["gelu"], -0.7517915246935645, 0.7517915246935645]
EDGES["gelu_tanh_grad"] = [*EDGES["gelu_tanh"], -0.7524613995]


def vector(name: str, x: np.ndarray, level: int) -> np.ndarray:
    result = _test_vector_math(name, x, level)
    if result is None:
        pytest.skip("this processor has no such vectors")
    return result


def arguments(name: str, dtype: str) -> np.ndarray:
    random = np.random.default_rng(5)
    circle = name in ("sin", "cos")
    scales = 10 ** random.uniform(-12, 5.5 if circle else 2, 300)
    parts = [random.uniform(-1, 1, 400), random.uniform(-8, 8, 800), random.normal(size=300) * scales]
    if circle:                   # next to multiples of pi / 2 nearly all digits cancel
        multiples = random.integers(-600_000, 600_000, 700) * (np.pi / 2)
        parts += [multiples, np.nextafter(multiples, np.inf)]
    if name == "log":
        parts = [abs(part) for part in parts] + [10 ** random.uniform(-307.6, 308.2, 400), 1 + random.uniform(-1e-3, 1e-3, 200)]
    edges = np.array(EDGES.get(name, []))
    parts += [edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)]
    if name == "exp":
        parts += [random.uniform(-746, 710, 600)]
    elif name == "erfc":
        parts += [random.uniform(0, 10.5, 400), random.uniform(10, 28, 300)]
    elif name.startswith("gelu"):
        parts += [random.uniform(-15, 0, 400), random.uniform(-39, -12, 300), random.uniform(-1, -0.5, 200)]
    with np.errstate(under="ignore"):
        return np.concatenate(parts).astype(dtype)


def error_in_ulp(value: float, exact: mpmath.mpf, dtype: str, of: mpmath.mpf = 0) -> float:
    number = np.dtype(dtype).type
    with np.errstate(over="ignore", under="ignore"):
        nearest, scale = number(exact), np.abs(number(max(abs(exact), of)))
    if np.isinf(nearest) or np.isinf(value):
        return 0.0 if nearest == value else np.inf
    return float(abs(mpmath.mpf(float(value)) - exact) / mpmath.mpf(float(np.spacing(scale))))


def error_at(name: str, x: float, y: float, dtype: str) -> float:
    at = mpmath.mpf(float(x))
    return error_in_ulp(y, EXACT[name](at), dtype, TERMS[name](at) if name in TERMS else 0)


@pytest.mark.parametrize(("name", "dtype", "level"), CASES)
def test_within_the_stated_error(name, dtype, level):
    x = arguments(name, dtype)
    y = vector(name, x, level)
    worst = max(error_at(name, a, b, dtype) for a, b in zip(x, y, strict=True) if a != 0)
    assert worst <= BOUNDS[name, dtype]


@pytest.mark.parametrize(("name", "dtype", "level"), CASES)
def test_special_values(name, dtype, level):
    tiny = np.finfo(dtype).smallest_subnormal
    x = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, tiny, -tiny, 800.0, -800.0, 1e30, -1e30], dtype)
    inf, nan = np.inf, np.nan
    gelu = [0.0, -0.0, nan, inf, -0.0, tiny, -0.0, 800, -0.0, 1e30, -0.0]      # a little more than half of the smallest number
    slope = [0.5, 0.5, nan, 1, 0, 0.5, 0.5, 1, 0, 1, 0]
    y = vector(name, x, level)
    expected = {
        "sin": [0.0, -0.0, np.nan, np.nan, np.nan, tiny, -tiny, *np.sin(x[7:])],
        "cos": [1.0, 1.0, np.nan, np.nan, np.nan, 1.0, 1.0, *np.cos(x[7:])],
        "tanh": [0.0, -0.0, np.nan, 1, -1, tiny, -tiny, 1, -1, 1, -1],
        "erf": [0.0, -0.0, np.nan, 1, -1, tiny, -tiny, 1, -1, 1, -1],
        "sigmoid": [0.5, 0.5, np.nan, 1, 0, 0.5, 0.5, 1, 0, 1, 0],
        "exp": [1, 1, nan, inf, 0, 1, 1, inf, 0, inf, 0],
        "log": [-inf, -inf, nan, inf, nan, float(mpmath.log(float(tiny))), nan, np.log(800.0), nan, np.log(1e30), nan],
        "erfc": [1, 1, nan, 0, 2, 1, 1, 0, 2, 0, 2],
        "gelu": gelu, "gelu_tanh": [*gelu[:5], 0, *gelu[6:]], "gelu_grad": slope, "gelu_tanh_grad": slope,
    }[name]
    np.testing.assert_allclose(y, np.array(expected, dtype), rtol=1e-15 if dtype == "float64" else 1e-6)
    np.testing.assert_array_equal(np.signbit(y[:2]), np.signbit(np.array(expected[:2])))


@pytest.mark.parametrize(("name", "dtype", "level"), CASES)
def test_an_element_does_not_depend_on_its_place(name, dtype, level):
    x = arguments(name, dtype)[:613]
    whole = vector(name, x, level)
    for start in range(1, 18):
        np.testing.assert_array_equal(vector(name, x[start:], level), whole[start:])
        np.testing.assert_array_equal(vector(name, x[:start], level), whole[:start])
    np.testing.assert_array_equal(vector(name, x[::3], level), whole[::3])
    np.testing.assert_array_equal(vector(name, np.append(x, [np.inf, 1e30]).astype(dtype), level)[:613], whole)     # beside one for libm


def operator(name: str):
    functional = paddle.nn.functional
    special = {"sigmoid": functional.sigmoid, "gelu": functional.gelu, "gelu_tanh": lambda x: functional.gelu(x, "tanh")}
    return special.get(name) or getattr(paddle, name)


@pytest.mark.parametrize(("name", "dtype"), [
    (name, dtype) for name, dtype in BOUNDS if not name.endswith("_grad") and name not in NUMPYS_WITH_AVX512])
def test_operators_use_it_in_place_too(name, dtype):
    x = arguments(name, dtype)
    best = _test_vector_math(name, x, 2)
    if best is None:
        pytest.skip("this processor has no such vectors")
    t = paddle.to_tensor(x)
    np.testing.assert_array_equal(operator(name)(t).numpy(), best)
    if hasattr(t, f"{name}_"):
        assert getattr(t, f"{name}_")() is t
        np.testing.assert_array_equal(t.numpy(), best)


PLAIN = [(name, dtype) for name, dtype in BOUNDS if name.startswith(("gelu", "erfc"))]


def tail_exponent(name: str, x: float) -> float:
    if name == "erfc":
        return x * x if x > 0 else 0.0
    if x > 0:
        return 0.0
    return 2 * float(SLOPE) * abs(x + float(CUBE) * x**3) if name.startswith("gelu_tanh") else x * x / 2


@pytest.mark.parametrize(("name", "dtype"), PLAIN)
def test_plain_code_where_there_are_no_vectors(name, dtype):
    """Where a tail falls like exp(-y), the exponent is rounded: 4 y ulp more, as docs/accuracy.md says. The C library is good to 1 ulp."""
    x = arguments(name, dtype)
    for a, b in zip(x, _test_vector_math(name, x, 0), strict=True):
        assert error_at(name, a, b, dtype) <= max(1.0, BOUNDS[name, dtype]) + 4 * tail_exponent(name, float(a))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_gelu_to_second_order(dtype):
    """S7: against the formulas in 40 digits; the second derivative of x P(x) is (2 - x^2) p(x)."""
    x = np.random.default_rng(3).uniform(-6, 6, 101).astype(dtype)
    for name, first, second in (("gelu", "gelu_grad", lambda v: (2 - v * v) * density(v)),
                                ("gelu_tanh", "gelu_tanh_grad", lambda v: mpmath.diff(tanh_form_slope, v))):
        t = paddle.to_tensor(x)
        t.stop_gradient = False
        weights = paddle.to_tensor(np.linspace(-2, 2, x.size).astype(dtype))
        slope = paddle.grad((operator(name)(t) * weights).sum(), t, create_graph=True)[0]
        curve = paddle.grad(slope.sum(), t)[0].numpy()
        rtol = 1e-13 if dtype == "float64" else 5e-5
        exact = np.array([float(EXACT[first](mpmath.mpf(float(v)))) for v in x]) * weights.numpy()
        np.testing.assert_allclose(slope.detach().numpy(), exact, rtol=rtol, atol=rtol / 10)
        exact = np.array([float(second(mpmath.mpf(float(v)))) for v in x]) * weights.numpy()
        np.testing.assert_allclose(curve, exact, rtol=rtol, atol=rtol / 10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["exp", "log", "erfc", "gelu", "gelu_tanh"])
def test_the_same_bits_with_any_number_of_threads(name, dtype):
    x = np.random.default_rng(9).normal(size=400_003).astype(dtype)
    ones = paddle.to_tensor(np.ones_like(x))
    found, before = [], paddle.get_num_threads()
    try:
        for threads in (1, 2, 3):
            paddle.set_num_threads(threads)
            t = paddle.to_tensor(x)
            t.stop_gradient = False
            y = operator(name)(t)
            y.backward(ones)
            found.append((y.detach().numpy().tobytes(), t.grad.numpy().tobytes()))
    finally:
        paddle.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_no_flags_of_the_processor_are_left_for_numpy():
    """Vector code calculates what it then drops; NumPy's error state must see nothing of that, nor of results that overflow."""
    x = np.array([1e300, -1e300, 800.0, -800.0, 0.0, -1.0, np.inf, np.nan] * 3)
    with np.errstate(all="raise"):
        for name in ("exp", "log", "erfc", "gelu", "gelu_tanh", "sin", "tanh", "erf", "sigmoid"):
            t = paddle.to_tensor(x)
            t.stop_gradient = False
            operator(name)(t).sum().backward()
            assert np.add(np.ones(3), 1.0).tolist() == [2.0] * 3


def test_the_page_states_these_bounds():
    page = (Path(__file__).parent.parent / "docs" / "accuracy.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (float\d+) \| ([\d.]+) \|", page, re.MULTILINE)
    stated = {(name, dtype): float(bound) for name, dtype, bound in rows}
    assert stated == BOUNDS


def test_the_header_is_what_the_tool_makes():
    root = Path(__file__).parents[1]
    if not (root / "tools" / "polynomials.py").exists():
        pytest.skip("no tools beside this package")
    spec = importlib.util.spec_from_file_location("polynomials", root / "tools" / "polynomials.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)                # sets its own number of digits
    try:
        made = tool.header()
    finally:
        mpmath.mp.dps = 40
    assert (root / "eager_core" / "kernels" / "polynomials.h").read_text() == made + "\n"
