"""Prints eager_core/kernels/polynomials.h: near-minimax polynomials of elementary functions, with the error that each leaves.

    python tools/polynomials.py > eager_core/kernels/polynomials.h            needs mpmath

A function is interpolated in Chebyshev points in 60 digits; the interpolation's error is at most a few times that of the best polynomial of
the degree. Coefficients are rounded to the nearest double (or float), and the error is measured with the rounded ones: relative to
the value that the polynomial is a part of.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from mpmath import atanh, cos, erf, erfc, exp, log, mp, mpf, pi, sin, sqrt

mp.dps = 60
Real = Any


class Fit(NamedTuple):
    """`function` of z on [low, high] as a polynomial; `whole` makes of z and its value the number whose relative error counts."""

    name: str
    function: Callable[[Real], Real]
    low: Real
    high: Real
    degree: int
    whole: Callable[[Real, Real], Real]
    single: bool = False


def series(z: Real, terms: Callable[[int], Real]) -> Real:
    """The function near 0, where its formula is 0 / 0."""
    return sum(terms(k) * z**k for k in range(12))


def factorial(n: int) -> Real:
    return mp.factorial(n)


def sine(z: Real) -> Real:
    if abs(z) < mpf("1e-4"):
        return series(z, lambda k: (-1) ** (k + 1) / factorial(2 * k + 3))
    return (sin(sqrt(z)) / sqrt(z) - 1) / z


def cosine(z: Real) -> Real:
    if abs(z) < mpf("1e-4"):
        return series(z, lambda k: (-1) ** k / factorial(2 * k + 4))
    return (cos(sqrt(z)) - 1 + z / 2) / z**2


def exponential(r: Real) -> Real:
    if abs(r) < mpf("1e-4"):
        return series(r, lambda k: 1 / factorial(k + 2))
    return (exp(r) - 1 - r) / r**2


def error_function(z: Real) -> Real:
    if abs(z) < mpf("1e-4"):
        return series(z, lambda k: (-1) ** k / factorial(k) / (2 * k + 1)) * 2 / sqrt(pi) - 1
    return erf(sqrt(z)) / sqrt(z) - 1


def logarithm(z: Real) -> Real:
    """log((1 + s) / (1 - s)) = 2 s + s^3 P(s^2)."""
    if abs(z) < mpf("1e-4"):
        return series(z, lambda k: mpf(2) / (2 * k + 3))
    return (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z


def complement(centre: float, most: float, least: float = 0.0, factor: bool = True) -> tuple[Callable[[Real], Real], Real, Real]:
    """erfc(x) exp(x^2) is smooth, and smoother still in t = (x - centre) / (x + centre), and times x + centre; t for `least` and `most`."""
    def scaled(t: Real) -> Real:
        x = centre * (1 + t) / (1 - t)
        return erfc(x) * exp(x * x) * (x + centre if factor else 1)
    return scaled, (mpf(least) - centre) / (mpf(least) + centre), (mpf(most) - centre) / (mpf(most) + centre)


def from_t(t: Real, value: Real) -> Real:
    x = mpf(2.5) * (1 + t) / (1 - t)
    return 1 - exp(-x * x) * value


def itself(_z: Real, value: Real) -> Real:
    return value


GELU_CUBE = mpf("0.044715")
EIGHTH = pi / 4 * mpf("1.0001")
HALF = log(2) / 2 * mpf("1.0001")
FITS = [
    Fit("SIN", sine, mpf(0), EIGHTH**2, 5, lambda z, p: 1 + z * p),
    Fit("COS", cosine, mpf(0), EIGHTH**2, 5, lambda z, p: 1 - z / 2 + z**2 * p),
    Fit("SIN_SHORT", sine, mpf(0), EIGHTH**2, 3, lambda z, p: 1 + z * p),
    Fit("COS_SHORT", cosine, mpf(0), EIGHTH**2, 3, lambda z, p: 1 - z / 2 + z**2 * p),
    Fit("EXP", exponential, -HALF, HALF, 9, lambda r, p: 1 + r + r**2 * p),
    Fit("EXP_SHORT", exponential, -HALF, HALF, 5, lambda r, p: 1 + r + r**2 * p),
    Fit("EXP_SINGLE", exponential, -HALF, HALF, 4, lambda r, p: 1 + r + r**2 * p, single=True),
    Fit("ERF", error_function, mpf(0), mpf(1), 12, lambda z, p: 1 + p),
    Fit("ERF_SHORT", error_function, mpf(0), mpf(1), 6, lambda z, p: 1 + p),
    Fit("ERFCX", *complement(2.5, 6.0, 1.0, factor=False), 15, from_t),
    Fit("ERFCX_SHORT", *complement(2.5, 4.0, 1.0, factor=False), 6, from_t),
    Fit("ERFC", *complement(4.0, 28.5), 22, itself),
    Fit("ERFC_SHORT", *complement(3.0, 10.3), 9, itself),
    Fit("ERFC_SINGLE", *complement(3.0, 10.3), 9, itself, single=True),
    Fit("LOG", logarithm, mpf(0), (3 - 2 * sqrt(mpf(2))) ** 2 * mpf("1.0001"), 6, lambda z, p: 2 + z * p),
]


def interpolate(fit: Fit) -> list[Real]:
    """Newton's divided differences in Chebyshev points, then multiplied out."""
    n = fit.degree + 1
    middle, half = (fit.low + fit.high) / 2, (fit.high - fit.low) / 2
    points = [middle + half * cos(pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    differences = [fit.function(point) for point in points]
    for order in range(1, n):
        for k in range(n - 1, order - 1, -1):
            differences[k] = (differences[k] - differences[k - 1]) / (points[k] - points[k - order])
    coefficients = [mpf(0)]
    for k in range(n - 1, -1, -1):
        raised = [mpf(0), *coefficients]
        for power, value in enumerate(coefficients):
            raised[power] -= points[k] * value
        raised[0] += differences[k]
        coefficients = raised
    return coefficients[:n]


def rounded(value: Real, single: bool) -> float:
    number = float(value)
    return float(struct.unpack("f", struct.pack("f", number))[0]) if single else number


def worst(fit: Fit, coefficients: list[float]) -> Real:
    error = mpf(0)
    for k in range(2001):
        z = fit.low + (fit.high - fit.low) * k / 2000
        value = mpf(0)
        for coefficient in reversed(coefficients):
            value = value * z + mpf(coefficient)
        exact = fit.whole(z, fit.function(z))
        error = max(error, abs(fit.whole(z, value) / exact - 1))
    return error


def header() -> str:
    lines = ["/* Made by tools/polynomials.py, which says what of. Highest power first; the relative error of what each is a part of. */",
             "#ifndef EAGER_POLYNOMIALS_H", "#define EAGER_POLYNOMIALS_H"]
    for fit in FITS:
        coefficients = [rounded(value, fit.single) for value in interpolate(fit)]
        lines.append(f"#define EAGER_POLYNOMIAL_{fit.name}(FIRST, NEXT) /* 2^{float(log(worst(fit, coefficients), 2)):.1f} */ \\")
        steps = [f"{'NEXT' if k else 'FIRST'}({c.hex()}{'f' if fit.single else ''})" for k, c in enumerate(coefficients[::-1])]
        rows = [" ".join(steps[k:k + 4]) for k in range(0, len(steps), 4)]
        lines += [f"    {row}{' ' + chr(92) if k + 1 < len(rows) else ''}" for k, row in enumerate(rows)]
    # Constants in parts: each but the last is the nearest double to what the ones before leave.
    for name, constant in (("HALF_PI", pi / 2), ("LN2", log(2)), ("GELU", 2 * sqrt(2 / pi)), ("GELU_CUBE", 2 * sqrt(2 / pi) * GELU_CUBE)):
        rest = constant
        for k in range(3 if name == "HALF_PI" else 2):
            # So few bits that its difference from any sum that it is a part of is exact.
            part = float(rest) if name != "GELU" or k else float(int(rest * 2**46)) / 2**46
            lines.append(f"#define EAGER_{name}_{k} {part.hex()}")
            rest -= mpf(part)
    return "\n".join([*lines, "#endif"])


if __name__ == "__main__":
    print(header())
