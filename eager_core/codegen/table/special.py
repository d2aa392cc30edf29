"""Rows of special functions. Their values come from SciPy, an optional extra, or from NumPy where the mathematics is easy."""
from __future__ import annotations

from ..model import Op
from .builders import FLOATING, NAME, UNARY, unary


def special(name: str, doc: str, formula: str, grad: str, inplace: bool = True, public: bool = True, signature: str = UNARY,
            aliases: tuple[str, ...] = ()) -> Op:
    return Op(name, "array", signature, doc, kernel=f"special.{name}",
                  result=FLOATING, inplace=inplace, grad={"x": grad}, formula=formula, public=public,
              method=public, aliases=aliases)


OPS: tuple[Op, ...] = (
    unary("erf", "own:ERF", "Error function.", "grad 2 exp(-x^2) / sqrt(pi)", {"x": "grad * exp(-(x * x)) * 1.1283791670955126"}),
    unary("erfc", "own:ERFC", "1 - erf(x), accurate for large x.", "-grad 2 exp(-x^2) / sqrt(pi)",
          {"x": "grad * exp(-(x * x)) * -1.1283791670955126"}),
    special("erfinv", "Inverse of the error function.", "grad exp(out^2) sqrt(pi) / 2", "grad * exp(out * out) * 0.886226925452758"),
    special("lgamma", "Logarithm of the absolute value of the gamma function.", "grad digamma(x)", "grad * digamma(x)",
            aliases=("gammaln",)),
    special("digamma", "Derivative of the logarithm of the gamma function.", "grad polygamma(x, 1)", "grad * polygamma(x, 1)"),
    special("polygamma", "The n-th derivative of digamma.", "grad polygamma(x, n + 1)", "special.polygamma_grad(grad, x, n)",
            signature="x: tensor, n: int" + NAME),
    special("multigammaln", "Logarithm of the multivariate gamma function of dimension p.",
            "grad sum_j digamma(x - j / 2), j = 0 ... p - 1",
            "special.multigammaln_grad(grad, x, p)", signature="x: tensor, p: int" + NAME),
    special("i0", "Modified Bessel function of order 0.", "grad i1(x)", "grad * i1(x)"),
    special("i0e", "exp(-|x|) i0(x).", "grad (i1e(x) - sign(x) i0e(x))", "grad * (i1e(x) - sign(x) * out)", inplace=False),
    special("i1", "Modified Bessel function of order 1.", "grad (i0(x) + I_2(x)) / 2", "grad * (i0(x) + bessel_i(x, 2)) * 0.5",
            inplace=False),
    special("i1e", "exp(-|x|) i1(x).", "grad ((i0e(x) + exp(-|x|) I_2(x)) / 2 - sign(x) i1e(x))",
            "grad * ((i0e(x) + bessel_ie(x, 2)) * 0.5 - sign(x) * out)", inplace=False),
    special("bessel_i", "Modified Bessel function of integer order n.", "grad (I_(n-1) + I_(n+1)) / 2", "special.bessel_i_grad(grad, x, n)",
            inplace=False, public=False, signature="x: tensor, n: int"),
    special("bessel_ie", "exp(-|x|) times the modified Bessel function of integer order n.",
            "grad ((I_(n-1) + I_(n+1)) exp(-|x|) / 2 - sign(x) out)", "special.bessel_ie_grad(grad, x, n, out)", inplace=False,
            public=False,
            signature="x: tensor, n: int"),
    special("sinc", "sin(pi x) / (pi x), and 1 at 0.", "grad sinc'(x)", "grad * sinc_slope(x, 1)"),
    special("sinc_slope", "The n-th derivative of sinc.", "grad sinc^(n + 1)(x)", "special.sinc_slope_grad(grad, x, n)", inplace=False,
            public=False, signature="x: tensor, n: int"),
    Op("gammainc", "broadcast", "x: tensor, y: tensor" + NAME, "Regularised lower incomplete gamma function P(x, y).",
       result=FLOATING, kernel="special.gammainc",
       inplace=True, inputs=("X", "Y"), grad={"x": "grad * gamma_moment(x, y, 1)", "y": "grad * gamma_density(x, y)"},
       formula="grad dP/dx, by quadrature; grad y^(x-1) exp(-y) / Gamma(x)"),
    Op("gammaincc", "broadcast", "x: tensor, y: tensor" + NAME, "Regularised upper incomplete gamma function 1 - P(x, y).",
       result=FLOATING, kernel="special.gammaincc", inplace=True, inputs=("X", "Y"),
       grad={"x": "-(grad * gamma_moment(x, y, 1))", "y": "-(grad * gamma_density(x, y))"},
       formula="-grad dP/dx, by quadrature; -grad y^(x-1) exp(-y) / Gamma(x)"),
    Op("gamma_density", "broadcast", "x: tensor, y: tensor", "y^(x-1) exp(-y) / Gamma(x).", kernel="special.gamma_density",
       inputs=("X", "Y"),
       public=False, method=False,
       grad={"x": "special.gamma_density_grad_x(grad, x, y, out)", "y": "grad * (gamma_density(x - 1.0, y) - out)"},
       formula="grad out (log(y) - digamma(x)); grad (D(x - 1, y) - out)"),
    Op("gamma_moment", "broadcast", "x: tensor, y: tensor, n: int",
       "The integral of t^(x-1) exp(-t) (log(t) - digamma(x))^n / Gamma(x) for t from "
       "0 to y: what derivatives of P(x, y) by x are made of.", kernel="special.gamma_moment", inputs=("X", "Y"), public=False,
       method=False,
       grad={"x": "special.gamma_moment_grad_x(grad, x, y, n)", "y": "special.gamma_moment_grad_y(grad, x, y, n)"},
       formula="grad (M_(n+1) - n digamma'(x) M_(n-1)); grad y^(x-1) exp(-y) (log(y) - digamma(x))^n / Gamma(x)"),
)
