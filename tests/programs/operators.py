"""What a statement can say. One row per operator: its kind, its meaning on NumPy arrays, its text for each engine.

Kinds: ``value`` makes new memory; ``view`` looks at its operand's memory; ``rebind`` is a view that takes the place of its operand;
``write`` computes the new contents of its first operand from the old; ``alias`` shares memory, but not the history.

The functions work on complex arrays (the imaginary part carries a derivative) and branch on real parts. ``safe`` tells, on real arrays,
where an operator is smooth and tame: beyond kinks, poles and steep slopes.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

THRESHOLD = 0.3
MARGIN = 1e-3        # how far from a kink; far more than the step of a difference


@dataclass(frozen=True)
class Operator:
    kind: str
    numpy: Callable
    text: str                        # ours; the peers' where they say nothing else
    torch: str | None = ""
    paddle: str | None = ""
    mygrad: str | None = None        # None: cannot be said
    safe: Callable = lambda *a: True
    fusible: bool = False            # elementwise: the memory order of its result may follow that of its operands

    def __post_init__(self):
        for engine in ("torch", "paddle"):
            if getattr(self, engine) == "":
                object.__setattr__(self, engine, self.text)


# ---- meanings ----------------------------------------------------------------------------------------------------------------------------

def _softmax(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


def _diagonal(x):
    return np.lib.stride_tricks.as_strided(x, (min(x.shape),), (sum(x.strides),))  # NumPy's own cannot be written to


def view_index(index):
    """With an ellipsis a single element stays an array: a view."""
    return tuple(index) if Ellipsis in index else (*index, Ellipsis)


def array_index(index):
    return tuple(np.array(item) if isinstance(item, tuple) else item for item in index)


def _put(x, index, value):
    x = x.copy()
    x[array_index(index)] = value
    return x


def _put_added(x, index, value):
    return _put(x, index, x[array_index(index)] + value)


def _put_multiplied(x, index, value):
    return _put(x, index, x[array_index(index)] * value)


# ---- where they are smooth ---------------------------------------------------------------------------------------------------------------

def _off(point):
    return lambda x, *rest: bool(np.all(np.abs(x - point) > MARGIN))


def _positive(x):
    return bool(np.all(x > 0.2))


def _divisor(x, y=None):
    return bool(np.all(np.abs(x if y is None else y) > THRESHOLD))


def _apart(x, y):
    return bool(np.all(np.abs(x - y) > MARGIN))


def _ranked(x):
    return x.ndim > 0


def _small(x):
    return bool(np.all(np.abs(x) < 2.5))


# ---- the table ---------------------------------------------------------------------------------------------------------------------------

def _always(*_):
    return True


UNARY = {                                          # meaning, where it is smooth
    "sin": (np.sin, _always),
    "tanh": (np.tanh, _always),
    "square": (np.square, _always),
    "exp": (np.exp, _small),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), _always),
    "cos": (np.cos, _always),
    "relu": (lambda x: np.where(x.real > 0, x, 0), _off(0)),
    "abs": (lambda x: np.where(x.real > 0, x, -x), _off(0)),
    "neg": (np.negative, _always),
    "reciprocal": (np.reciprocal, _divisor),
    "sqrt": (np.sqrt, _positive),
    "log": (np.log, _positive),
}
BINARY = {
    "multiply": (np.multiply, _always),
    "add": (np.add, _always),
    "subtract": (np.subtract, _always),
    "divide": (np.divide, _divisor),
}
_NEURAL = "paddle.nn.functional."
_MYGRAD = {"sigmoid": "mg.nnet.sigmoid", "relu": "mg.nnet.relu", "neg": "mg.negative"}
_SIGNS = {"multiply": "*", "add": "+", "subtract": "-", "divide": "/"}

OPERATORS: dict[str, Operator] = {}
for _name, (_function, _safe) in UNARY.items():
    _own = _MYGRAD.get(_name, "mg." + _name)
    _paddle = (_NEURAL + "relu({0})", _NEURAL + "relu_({0})") if _name == "relu" else ("", "")
    OPERATORS[_name] = Operator("value", _function, f"{{0}}.{_name}()", "", _paddle[0], f"{_own}({{0}})", _safe, True)
    OPERATORS[_name + "_"] = Operator("write", _function, f"{{0}}.{_name}_()", "", _paddle[1], f"{{0}}[...] = {_own}({{0}})", _safe)
for _name, (_function, _safe) in BINARY.items():
    _sign = _SIGNS[_name]
    OPERATORS[_name] = Operator("value", _function, f"{{0}} {_sign} {{1}}", mygrad=f"{{0}} {_sign} {{1}}", safe=_safe, fusible=True)
    OPERATORS[_name + "_"] = Operator("write", _function, f"{{0}}.{_name}_({{1}})", mygrad=f"{{0}} {_sign}= {{1}}", safe=_safe)

OPERATORS |= {
    "scale": Operator("value", lambda x, a: x * a + 0.5, "{0} * {1} + 0.5", mygrad="{0} * {1} + 0.5", fusible=True),
    "maximum": Operator("value", lambda x, y: np.where(x.real > y.real, x, y), "paddle.maximum({0}, {1})", "torch.maximum({0}, {1})",
                        mygrad="mg.maximum({0}, {1})", safe=_apart, fusible=True),
    "where": Operator("value", lambda x, y: np.where(x.real > THRESHOLD, x, y), "paddle.where({0} > 0.3, {0}, {1})",
                      "torch.where({0} > 0.3, {0}, {1})", mygrad="mg.where({0} > 0.3, {0}, {1})", safe=_off(THRESHOLD), fusible=True),
    "sum": Operator("value", lambda x, axis: x.sum(axis=axis, keepdims=True), "{0}.sum({1}, keepdim=True)",
                    mygrad="{0}.sum({1}, keepdims=True)", fusible=True),
    "mean": Operator("value", lambda x, axis: x.mean(axis=axis), "{0}.mean({1})", mygrad="{0}.mean({1})", fusible=True),
    "cumsum": Operator("value", lambda x, axis: x.cumsum(axis=axis), "{0}.cumsum({1})", mygrad="mg.cumsum({0}, {1})", fusible=True),
    "softmax": Operator("value", _softmax, _NEURAL + "softmax({0})", "{0}.softmax(-1)", mygrad="mg.nnet.softmax({0}, axis=-1)",
                        safe=_ranked, fusible=True),
    "matmul": Operator("value", np.matmul, "{0} @ {1}", mygrad="{0} @ {1}"),
    "concat": Operator("value", lambda x, y: np.concatenate([x, y]), "paddle.concat([{0}, {1}])", "torch.cat([{0}, {1}])",
                       mygrad="mg.concatenate([{0}, {1}])", fusible=True),
    "stack": Operator("value", lambda x, y: np.stack([x, y], axis=-1), "paddle.stack([{0}, {1}], -1)", "torch.stack([{0}, {1}], -1)",
                      mygrad="mg.stack([{0}, {1}], axis=-1)", fusible=True),
    "pick": Operator("value", lambda x, index: x[array_index(index)], "{0}[{1}]", mygrad="{0}[{1}]", fusible=True),
    "clone": Operator("value", np.array, "{0}.clone()", mygrad="+{0}", fusible=True),
    "detach_clone": Operator("value", lambda x: x.real, "{0}.detach().clone()", fusible=True),
    "detach": Operator("alias", lambda x: x, "{0}.detach()"),
    # views
    "item": Operator("view", lambda x, index: x[view_index(index)], "{0}[{1}]", mygrad="{0}[{1}, ...]"),
    "reshape": Operator("view", np.reshape, "{0}.reshape({1})", mygrad="{0}.reshape({1})"),
    "flatten": Operator("view", lambda x: x.reshape(-1), "{0}.flatten()", mygrad="{0}.reshape(-1)"),
    "transpose": Operator("view", np.transpose, "{0}.transpose({1})", "{0}.permute({1})", mygrad="mg.transpose({0}, {1})"),
    "swapaxes": Operator("view", np.swapaxes, "{0}.swapaxes({1}, {2})", mygrad="mg.swapaxes({0}, {1}, {2})"),
    "diagonal": Operator("view", _diagonal, "{0}.diagonal()"),
    "squeeze": Operator("view", np.squeeze, "{0}.squeeze({1})", mygrad="mg.squeeze({0}, {1})"),
    "unsqueeze": Operator("view", np.expand_dims, "{0}.unsqueeze({1})", mygrad="mg.expand_dims({0}, {1})"),
    "reshape_": Operator("rebind", np.reshape, "{0}.reshape_({1})", None),
    "squeeze_": Operator("rebind", np.squeeze, "{0}.squeeze_({1})"),
    "unsqueeze_": Operator("rebind", np.expand_dims, "{0}.unsqueeze_({1})"),
    "transpose_": Operator("rebind", np.transpose, "{0}.transpose_({1})", "{0}.transpose_(0, 1)"),   # of matrices
    # writes
    "add_number_": Operator("write", lambda x, a: x + a, "{0}.add_({1})", paddle="{0}.add_(paddle.full([], {1}, 'float64'))",
                            mygrad="{0} += {1}"),
    "multiply_number_": Operator("write", lambda x, a: x * a, "{0}.multiply_({1})", paddle="{0}.scale_({1})", mygrad="{0} *= {1}"),
    "pow_": Operator("write", lambda x: x * x * x, "{0}.pow_(3)", mygrad="{0} **= 3"),
    "softmax_": Operator("write", _softmax, _NEURAL + "softmax_({0})", "{0}.copy_({0}.softmax(-1))",
                         mygrad="{0}[...] = mg.nnet.softmax({0}, axis=-1)", safe=_ranked),
    "multiply_detached_": Operator("write", lambda x, y: x * y.real, "{0}.multiply_({1}.detach())"),
    # Paddle's own copy_ does not broadcast, and is no part of the history.
    "copy_": Operator("write", lambda x, y: np.broadcast_to(y, x.shape), "{0}.copy_({1})", paddle="{0}[...] = {1}",
                      mygrad="{0}[...] = {1}"),
    "fill_": Operator("write", np.full_like, "{0}.fill_({1})", mygrad="{0}[...] = {1}"),
    "zero_": Operator("write", np.zeros_like, "{0}.zero_()", mygrad="{0}[...] = 0.0"),
    "put": Operator("write", _put, "{0}[{1}] = {2}", mygrad="{0}[{1}] = {2}"),
    "put_added": Operator("write", _put_added, "{0}[{1}] += {2}", mygrad="{0}[{1}] = {0}[{1}] + {2}"),
    "put_multiplied": Operator("write", _put_multiplied, "{0}[{1}] *= {2}", mygrad="{0}[{1}] = {0}[{1}] * {2}"),
    "put_where": Operator("write", lambda x, y: np.where(x.real > THRESHOLD, y, x), "{0}[{0} > 0.3] = {1}",
                          mygrad="{0}[{0} > 0.3] = {1}", safe=_off(THRESHOLD)),
}
VIEWS = frozenset(n for n, o in OPERATORS.items() if o.kind in ("view", "rebind"))
