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
EXACT = {"sin": mpmath.sin, "cos": mpmath.cos, "tanh": mpmath.tanh, "erf": mpmath.erf, "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x))}
# In units in the last place of the exact value.
BOUNDS = {("sin", "float64"): 1.0, ("cos", "float64"): 1.0, ("sin", "float32"): 0.6, ("cos", "float32"): 0.6, ("tanh", "float64"): 2.5,
          ("sigmoid", "float64"): 2.5, ("sigmoid", "float32"): 2.5, ("erf", "float64"): 1.5, ("erf", "float32"): 0.6}
CASES = [(name, dtype, level) for name, dtype in BOUNDS for level in (1, 2)]


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
    return np.concatenate(parts).astype(dtype)


def error_in_ulp(value: float, exact: mpmath.mpf, dtype: str) -> float:
    spacing = np.spacing(np.abs(np.dtype(dtype).type(exact)))
    return float(abs(mpmath.mpf(float(value)) - exact) / mpmath.mpf(float(spacing)))


@pytest.mark.parametrize(("name", "dtype", "level"), CASES)
def test_within_the_stated_error(name, dtype, level):
    x = arguments(name, dtype)
    y = vector(name, x, level)
    worst = max(error_in_ulp(b, EXACT[name](mpmath.mpf(float(a))), dtype) for a, b in zip(x, y, strict=True) if a != 0)
    assert worst <= BOUNDS[name, dtype]


@pytest.mark.parametrize(("name", "dtype", "level"), CASES)
def test_special_values(name, dtype, level):
    tiny = np.finfo(dtype).smallest_subnormal
    x = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, tiny, -tiny, 800.0, -800.0, 1e30, -1e30], dtype)
    y = vector(name, x, level)
    expected = {
        "sin": [0.0, -0.0, np.nan, np.nan, np.nan, tiny, -tiny, *np.sin(x[7:])],
        "cos": [1.0, 1.0, np.nan, np.nan, np.nan, 1.0, 1.0, *np.cos(x[7:])],
        "tanh": [0.0, -0.0, np.nan, 1, -1, tiny, -tiny, 1, -1, 1, -1],
        "erf": [0.0, -0.0, np.nan, 1, -1, tiny, -tiny, 1, -1, 1, -1],
        "sigmoid": [0.5, 0.5, np.nan, 1, 0, 0.5, 0.5, 1, 0, 1, 0],
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


@pytest.mark.parametrize(("name", "dtype"), BOUNDS)
def test_operators_use_it_in_place_too(name, dtype):
    x = arguments(name, dtype)
    best = _test_vector_math(name, x, 2)
    if best is None:
        pytest.skip("this processor has no such vectors")
    t = paddle.to_tensor(x)
    function = paddle.nn.functional.sigmoid if name == "sigmoid" else getattr(paddle, name)
    np.testing.assert_array_equal(function(t).numpy(), best)
    if hasattr(t, f"{name}_"):
        assert getattr(t, f"{name}_")() is t
        np.testing.assert_array_equal(t.numpy(), best)


def test_the_page_states_these_bounds():
    page = (Path(__file__).parent.parent / "docs" / "accuracy.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (float\d+) \| ([\d.]+) \|", page, re.MULTILINE)
    stated = {(name, dtype): float(bound) for name, dtype, bound in rows}
    assert stated == BOUNDS


def coefficients_in(text: str) -> list[float]:
    """Of a polynomial in Horner's form, lowest power first."""
    return [float.fromhex(number) for number in re.findall(r"(?:p = |p, z, |p \* r \+ |p, r, )(-?0x[0-9a-f.]+p[+-]?\d+)", text)][::-1]


def test_the_headers_hold_what_the_tool_makes():
    root = Path(__file__).parents[1]
    if not (root / "tools" / "polynomials.py").exists():
        pytest.skip("no tools beside this package")
    spec = importlib.util.spec_from_file_location("polynomials", root / "tools" / "polynomials.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)                # sets its own number of digits
    try:
        made = {fit.name: [tool.rounded(value, fit.single) for value in tool.interpolate(fit)] for fit in tool.FITS}
    finally:
        mpmath.mp.dps = 40
    kernels = root / "eager_core" / "kernels"
    header, loops = (kernels / "vector_math.h").read_text(), (kernels / "loops.h").read_text()
    found = re.findall(r"^INLINE double polynomial_(\w+)\(double \w\)\n\{(.*?)^\}", header, re.M | re.S)
    bodies = {name.upper(): body for name, body in found}
    assert set(bodies) | {"EXP_SINGLE"} == set(made)
    for name, body in bodies.items():
        assert coefficients_in(body) == made[name], name
    for text, function in ((header, "exp_of_negative_single"), (loops, "eager_exp_negative")):
        body = re.search(rf"float {function}\(float x\)\n\{{(.*?)^\}}", text, re.M | re.S)[1]
        assert coefficients_in(body) == made["EXP_SINGLE"], function
