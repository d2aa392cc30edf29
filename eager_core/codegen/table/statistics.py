"""Rows of statistics and of running sums and extrema."""
from __future__ import annotations

from ..model import Op
from .builders import FLOAT64, NAME, PLACES, REDUCE_PLAIN, SUMMED, WITH_PLACES, reduction

EXTREMUM = {"x": "core.extremum_grad(grad, x, out, axis, keepdim)"}

OPS: tuple[Op, ...] = (
    reduction("amax", "maximum", "Largest element over axes; equal ones share the gradient evenly.", "grad / m where x == max",
              REDUCE_PLAIN, 2,
              EXTREMUM),
    reduction("amin", "minimum", "Smallest element over axes; equal ones share the gradient evenly.", "grad / m where x == min",
              REDUCE_PLAIN, 2,
              EXTREMUM),
    Op("logsumexp", "array", REDUCE_PLAIN, "Logarithm of the sum of exponentials over axes, computed without overflow.",
       result=FLOAT64, kernel="statistics.logsumexp", grad={"x": "statistics.logsumexp_grad(grad, x, out, axis, keepdim)"},
       formula="grad exp(x - out)"),
    Op("var", "array", "x: tensor, axis: axes = None, unbiased: object = None, keepdim: bool = False" + NAME + ", correction: object = 1",
       "Variance over axes: squared deviations from the mean, summed and divided by n - correction (unbiased: 1, or 0 if it is False).",
       result=f"{FLOAT64}; real", kernel="statistics.var", grad={"x": "statistics.var_grad(grad, x, axis, unbiased, keepdim, correction)"},
       formula="2 grad (x - mean) / (n - correction)"),
    Op("std", "array", "x: tensor, axis: axes = None, unbiased: object = True, keepdim: bool = False" + NAME,
       "Standard deviation over axes: the square root of the variance.", result=f"{FLOAT64}; real", kernel="statistics.std",
       grad={"x": "statistics.std_grad(grad, x, out, axis, unbiased, keepdim)"}, formula="grad (x - mean) / ((n - 1) out)"),
    Op("count_nonzero", "array", REDUCE_PLAIN, "Number of elements that are not zero, over axes.",
       result=PLACES, kernel="statistics.count_nonzero",
       formula="none"),
    Op("cumsum", "array", "x: tensor, axis: object = None, dtype: dtype = None" + NAME,
       "Running sum along an axis; without one, over all elements.",
       result=SUMMED, kernel="statistics.cumsum", inplace=True, grad={"x": "statistics.cumsum_grad(grad, x.meta, axis)"},
       formula="grad summed from the end"),
    Op("cumprod", "array", "x: tensor, dim: object = None, dtype: dtype = None" + NAME,
       "Running product along an axis; without one, over all elements.", result=SUMMED, kernel="statistics.cumprod", inplace=True,
       grad={"x": "statistics.cumprod_grad(grad, x, dim)"}, formula="sum of grad times the products of the others"),
    *(Op(name, "array", "x: tensor, axis: object = None, dtype: dtype = None" + NAME,
         f"Running {word} along an axis, and where it was last met; without an axis, over all elements.",
         result=WITH_PLACES, kernel=f"statistics.{name}",
         results=("Out", "Indices"), grad={"x": "statistics.cumulative_extremum_grad(grad, x.meta, out_1, axis)"},
         formula="grad added where the extremum was met")
      for name, word in (("cummax", "maximum"), ("cummin", "minimum"))),
    Op("logcumsumexp", "array", "x: tensor, axis: object = None, dtype: dtype = None" + NAME,
       "Logarithm of the running sum of exponentials along an axis; without one, over all elements.",
       result=FLOAT64, kernel="statistics.logcumsumexp",
       grad={"x": "statistics.logcumsumexp_grad(grad, x, out, axis)"}, formula="exp(x) sum of grad exp(-out) from the end"),
    Op("histogram", "array",
       "input: tensor, bins: int = 100, min: float = 0.0, max: float = 0.0, weight: optional = None, density: bool = False"
       + NAME, "How many elements fall into each of equally wide bins between min and max (both 0: the data's own bounds).",
       result="int64; of weights or densities floating point", kernel="statistics.histogram", formula="none"),
    Op("histogram_bin_edges", "array", "input: tensor, bins: int = 100, min: float = 0.0, max: float = 0.0" + NAME,
       "The bounds of the bins that histogram counts in.", result="float32", kernel="statistics.histogram_bin_edges", formula="none"),
    Op("bincount", "array", "x: tensor, weights: optional = None, minlength: int = 0" + NAME,
       "How often each number 0, 1, 2, ... occurs, or the sum of its weights.",
       result="int64; that of floating point weights", kernel="statistics.bincount",
       grad={"weights": "statistics.bincount_grad(grad, x)"}, formula="grad at the number"),
)
