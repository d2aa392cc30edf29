"""Prints the coefficients of eager_core/kernels/vector_math.h: near-minimax polynomials, with the error that each leaves.

    python tools/polynomials.py            needs mpmath

A function is interpolated in Chebyshev points in 60 digits; the interpolation's error is at most a few times that of the best polynomial of
the degree. Coefficients are rounded to the nearest double (or float), and the error is measured with the rounded ones: relative to
the value that the polynomial is a part of.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from mpmath import cos, erf, erfc, exp, log, mp, mpf, pi, sin, sqrt

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


# erfc(x) exp(x^2) is smooth, and smoother still in t = (x - CENTRE) / (x + CENTRE).
CENTRE = mpf(2.5)


def scaled_complement(t: Real) -> Real:
    x = CENTRE * (1 + t) / (1 - t)
    return erfc(x) * exp(x * x)


def from_t(t: Real, value: Real) -> Real:
    x = CENTRE * (1 + t) / (1 - t)
    return 1 - exp(-x * x) * value


def to_t(x: Real) -> Real:
    return (x - CENTRE) / (x + CENTRE)


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
    Fit("ERFCX", scaled_complement, to_t(mpf(1)), to_t(mpf(6)), 15, from_t),
    Fit("ERFCX_SHORT", scaled_complement, to_t(mpf(1)), to_t(mpf(4)), 6, from_t),
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


def main() -> None:
    for fit in FITS:
        coefficients = [rounded(value, fit.single) for value in interpolate(fit)]
        print(f"{fit.name}: relative error 2^{float(log(worst(fit, coefficients), 2)):.1f}")
        for coefficient in coefficients:
            print(f"    {coefficient.hex()}{'f' if fit.single else ''},")
    # Constants in parts: each but the last is the nearest double to what the ones before leave.
    for name, constant in (("pi/2", pi / 2), ("ln 2", log(2))):
        rest, parts = constant, []
        for _ in range(3):
            parts.append(float(rest).hex())
            rest -= mpf(float(rest))
        print(name, *parts)


if __name__ == "__main__":
    main()
