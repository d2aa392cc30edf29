"""Rows of activation functions: what ``nn.functional`` offers beyond relu, sigmoid and tanh."""
from __future__ import annotations

from ..model import Op
from .builders import FLOATING, NAME, fused


def activation(name: str, parameters: str, doc: str, formula: str, grad: str, inplace: bool = False,
               aliases: tuple[str, ...] = ()) -> Op:
    return Op(name, "array", f"x: tensor{parameters and ', '}{parameters}" + NAME, doc, kernel=f"activations.{name}",
                  result=FLOATING, inplace=inplace,
              grad={"x": grad}, formula=formula, method=False, aliases=aliases)


OPS: tuple[Op, ...] = (
    activation("relu6", "", "min(max(x, 0), 6).", "grad where 0 < x < 6", "activations.inside(grad, x, 0.0, 6.0)"),
    activation("leaky_relu", "negative_slope: float = 0.01 @ alpha", "x where x > 0, else negative_slope x.",
               "grad where x >= 0, else negative_slope grad", "activations.leaky_relu_grad(grad, x, negative_slope)", inplace=True),
    activation("thresholded_relu", "threshold: float = 1.0, value: float = 0.0", "x where x > threshold, else value.",
               "grad where x > threshold", "activations.above(grad, x, threshold)", inplace=True),
    activation("elu", "alpha: float = 1.0", "x where x > 0, else alpha (exp(x) - 1).", "grad where x > 0, else grad alpha exp(x)",
               "activations.elu_grad(grad, x, alpha, 1.0, 1.0)", inplace=True),
    activation("celu", "alpha: float = 1.0", "x where x > 0, else alpha (exp(x / alpha) - 1).",
               "grad where x > 0, else grad exp(x / alpha)",
               "activations.celu_grad(grad, x, alpha)"),
    activation("selu", "scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772",
               "scale x where x > 0, else scale alpha (exp(x) - 1).",
               "grad scale where x > 0, else grad scale alpha exp(x)", "activations.elu_grad(grad, x, alpha, scale, 1.0)"),
    Op("gelu", "gelu", "x: tensor, approximate: object = False" + NAME,
       "x times the normal distribution function of x; 'tanh' or True: by a tanh formula.", kernel="own:GELU", dtypes="float",
       grad="gelu_backward", saves=("x",), formula="grad (P(x) + x p(x)), P and p the normal distribution and density", method=False),
    fused("gelu_grad", "own:GELU_GRAD", "grad * (P(x) + x p(x)), P and p the normal distribution and density.",
          {"saved": "gout * grad * exp(saved * saved * -0.5) * (2.0 - saved * saved) * 0.3989422804014327",
           "grad": "gelu_grad(saved, gout)"}),
    fused("gelu_tanh_grad", "own:GELU_TANH_GRAD", "The same of the tanh formula.",
          {"saved": "activations.gelu_tanh_curvature(gout * grad, saved)", "grad": "gelu_tanh_grad(saved, gout)"}),
    activation("silu", "", "x sigmoid(x).", "grad s (1 + x (1 - s)), s = sigmoid(x)", "activations.silu_grad(grad, x)", inplace=True),
    activation("swish", "", "x sigmoid(x).", "grad s (1 + x (1 - s)), s = sigmoid(x)", "activations.silu_grad(grad, x)"),
    activation("mish", "", "x tanh(softplus(x)).", "grad (t + x (1 - t^2) sigmoid(x)), t = tanh(softplus(x))",
               "activations.mish_grad(grad, x)"),
    activation("hardtanh", "min: float = -1.0 @ t_min, max: float = 1.0 @ t_max", "x bounded to min and max.", "grad where min < x < max",
               "activations.inside(grad, x, min, max)", inplace=True),
    activation("hardsigmoid", "slope: float = 0.1666667, offset: float = 0.5", "slope x + offset, bounded to 0 and 1.",
               "grad slope where 0 < out < 1", "activations.inside(grad, out, 0.0, 1.0) * slope"),
    activation("hardswish", "", "x min(max(x + 3, 0), 6) / 6.", "0 where x <= -3, grad where x >= 3, else grad (2 x + 3) / 6",
               "activations.hardswish_grad(grad, x)"),
    activation("hardshrink", "threshold: float = 0.5", "x where |x| > threshold, else 0.", "grad where |x| > threshold",
               "activations.above(grad, abs(x), threshold)"),
    activation("softshrink", "threshold: float = 0.5 @ lambda", "x moved towards 0 by threshold, 0 within.", "grad where |x| > threshold",
               "activations.above(grad, abs(x), threshold)"),
    activation("tanhshrink", "", "x - tanh(x).", "grad tanh(x)^2", "grad * square(tanh(x))"),
    activation("softsign", "", "x / (1 + |x|).", "grad / (1 + |x|)^2", "grad / square(abs(x) + 1.0)"),
    activation("softplus", "beta: float = 1.0, threshold: float = 20.0", "log(1 + exp(beta x)) / beta; x where beta x > threshold.",
               "grad sigmoid(beta x); grad where beta x > threshold", "activations.softplus_grad(grad, x, beta, threshold)"),
    activation("log_sigmoid", "", "log(sigmoid(x)), computed without overflow.", "grad sigmoid(-x)", "grad * sigmoid(-x)",
               aliases=("logsigmoid",)),
)
