"""Rows of random fills: every element overwritten, so that the old value's gradient is zero."""
from __future__ import annotations

from ..model import Op
from .builders import NAME


def fill(name: str, parameters: str, doc: str) -> Op:
    return Op(name, "array", f"x: tensor, {parameters}", doc, kernel=f"random.{name}", inplace=True, functional=False,
              grad={"x": "core.zeros_like(grad)"}, formula="0")


OPS: tuple[Op, ...] = (
    fill("uniform", "min: float = 0.0, max: float = 1.0, seed: int = 0" + NAME,
         "Every element drawn evenly from min to max, max excluded; from a generator of its own if a seed is given."),
    fill("normal", "mean: object = 0.0, std: float = 1.0" + NAME,
         "Every element drawn from the normal distribution; of complex ones each part has half the variance."),
    fill("log_normal", "mean: float = 1.0, std: float = 2.0" + NAME,
         "Every element the exponential of a draw from the normal distribution."),
    fill("exponential", "lam: float = 1.0" + NAME, "Every element drawn from the exponential distribution of rate lam."),
    fill("cauchy", "loc: float = 0.0, scale: float = 1.0" + NAME, "Every element drawn from the Cauchy distribution."),
    fill("geometric", "probs: object" + NAME,
         "Every element drawn from the geometric distribution: the number of trials, 1 or more, up to the first success."),
    fill("bernoulli", "p: object = 0.5" + NAME, "Every element 1 with probability p, else 0."),
    fill("random", "from_: int = 0, to: number = None, generator: ignored = None",
         "Every element an integer drawn from from_ to to, to excluded; with from_ alone from 0 to from_, without either from 0 to the "
         "largest integer that the dtype counts up to."),
)
