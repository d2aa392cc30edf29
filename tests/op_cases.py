"""What `test_op_table` knows of each row of the operator table: an independent reference in NumPy, the dtypes it takes, and how to call it.

A row is tested by its case alone. What makes an operator different from its neighbours is a column here, never a test of a name there.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg, special, stats

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "complex64", "complex128")

Domain = Callable[[np.random.Generator, tuple[int, ...], Any], np.ndarray]


# ---- domains: random arrays that keep away from kinks, poles and overflow ----------------------------------------------------------------

def within(low: float, high: float, ints: tuple[int, int], without: tuple[int, ...] = ()) -> Domain:
    """Reals from low to high; integers from ints[0] up to ints[1], bounded by 0 for unsigned ones. Complex parts like reals."""
    def make(rng, shape, dtype):
        dtype = np.dtype(dtype)
        if dtype.kind in "fc":
            made = rng.uniform(low, high, shape)
            if 0 in without:
                made = np.where(np.abs(made) < 0.3, made + 0.7, made)
            return np.asarray(made + 1j * rng.uniform(low, high, shape) if dtype.kind == "c" else made).astype(dtype)
        first, stop = ints if dtype.kind == "i" else (max(ints[0], 0), 2 if dtype.kind == "b" else ints[1])
        return np.asarray(rng.choice([i for i in range(first, stop) if i not in without], shape)).astype(dtype)
    return make


ANY = within(-2.0, 2.0, (-4, 5))
POSITIVE = within(0.4, 2.5, (1, 6))
NONZERO = within(-2.0, 2.0, (-4, 5), without=(0,))
EXPONENT = within(-1.5, 2.5, (0, 4))


def BITS(rng, shape, dtype):
    return np.asarray(rng.random(shape) < 0.5)


def SEPARATE(rng, shape, dtype):
    """No two elements equal, and far apart."""
    made = rng.permutation(int(np.prod(shape))).reshape(shape) - (1.3 if np.dtype(dtype).kind in "ifc" else 0)
    return (made + 1j * np.cos(made) if np.dtype(dtype).kind == "c" else made).astype(dtype)


def index(length: int, dtype: str = "int64") -> Domain:
    return lambda rng, shape, _: np.asarray(rng.integers(-length, length, shape), dtype)


# ---- the columns -------------------------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Call:
    """Shapes of the tensors and values of the attributes."""

    shapes: tuple[tuple[int, ...], ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    domains: tuple[Domain, ...] = ()        # other than the case's
    slopes: bool = True                     # gradients can be checked by differences: the result keeps the precision of float64


@dataclass(frozen=True)
class Case:
    want: Callable[..., Any]                # reference: arrays, then attributes as keywords
    calls: tuple[Call, ...]
    kinds: str = "biufc"                    # kinds of dtype that it takes; every other dtype is a TypeError
    domains: tuple[Domain, ...] = (ANY, ANY, ANY)
    refused: tuple[tuple[Call, type[Exception]], ...] = ()
    symbol: Callable[..., Any] | None = None    # of Python's operators
    in_symbol: Callable[..., Any] | None = None
    order: int = 2                          # of the highest derivative that is checked by differences
    mixed: bool = False                     # operands of different dtypes promote as in NumPy
    fixed: tuple[int, ...] = ()             # inputs whose dtype is the domain's own (conditions, indexes)
    moves_nothing: bool = False             # in place, the shape changes and not the data
    listed: bool = False                    # the tensors are one list


def as_float(x):
    """What the library computes in where NumPy would take float16."""
    x = np.asarray(x)
    return x.astype(np.result_type(x.dtype, np.float32 if x.dtype.itemsize <= 2 else np.float64)) if x.dtype.kind in "biu" else x


def of_floats(function):
    return lambda *arrays, **attrs: function(*map(as_float, arrays), **attrs)


def of_truths(function):
    """NumPy's logical functions know no Python int beyond 64 bits."""
    return lambda *arrays: function(*(np.asarray(a) != 0 for a in arrays))


def shapes(*many) -> tuple[Call, ...]:
    return tuple(Call(one if one and isinstance(one[0], tuple) else (one,)) for one in many)


ONE = shapes((2, 3), (), (0, 3), (2, 1, 3))
TWO = shapes(((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((2, 3), ()), ((), ()), ((0, 3), (3,)), ((1,), (2, 2)),
             ((2, 1, 3), (2, 1)))
MISFIT = (Call(((2, 3), (2,))), ValueError), (Call(((2, 3), (4, 3))), ValueError)


def unary(want, kinds="biufc", domain=ANY, **more) -> Case:
    return Case(want, ONE, kinds, (domain,), **more)


def floating(want, kinds="biufc", domain=ANY, **more) -> Case:
    return unary(of_floats(want), kinds, domain, **more)


def binary(want, kinds="biufc", domains=(ANY, ANY), symbol=None, **more) -> Case:
    in_symbol = getattr(operator, "i" + symbol.__name__.rstrip("_"), None) if symbol else None
    return Case(want, TWO, kinds, domains, refused=MISFIT, symbol=symbol, in_symbol=in_symbol, mixed=True, **more)


def swapped(x, yes):
    return np.swapaxes(x, -1, -2) if yes and x.ndim > 1 else x


def matmul(x, y, transpose_x=False, transpose_y=False):
    return np.matmul(swapped(x, transpose_x), swapped(y, transpose_y))


def axes_of(axis):
    return None if axis is None or axis in ([], ()) else tuple(axis) if isinstance(axis, list) else axis


def reduction(function, dtype_of=None):
    def want(x, axis=None, keepdim=False, dtype=None):
        more = {} if dtype_of is None else {"dtype": dtype or dtype_of(x)}
        return function(x, axis=axes_of(axis), keepdims=keepdim, **more)
    return want


REDUCED = tuple(Call((shape,), attrs) for shape, attrs in (
    ((2, 3), {}), ((2, 3), {"axis": 0}), ((2, 3), {"axis": -1, "keepdim": True}), ((2, 2, 3), {"axis": [0, 2]}),
    ((2, 2, 3), {"axis": [-1, 0], "keepdim": True}), ((2, 1, 3), {"axis": (1,)}), ((2, 3), {"axis": []}), ((2, 3), {"keepdim": True}),
    ((), {}), ((), {"axis": 0}), ((), {"axis": -1, "keepdim": True}), ((1,), {"axis": 0}), ((0, 3), {"axis": 1}), ((2, 2, 2), {"axis": 1}),
))
OF_NONE = Call(((0, 3),), {"axis": 0}), Call(((2, 0),), {}), Call(((0,),), {"keepdim": True})
BAD_AXES = tuple((Call(((2, 3),), {"axis": axis}), error) for axis, error in (
    (2, IndexError), (-3, IndexError), ([0, 2], IndexError), ([0, 0], ValueError), ([1, -1], ValueError)))
DTYPED = Call(((2, 3),), {"axis": 1, "dtype": "float64"}), Call(((2, 3),), {"dtype": "complex128"})


def mean(x, axis, keepdims, dtype):
    return np.mean(x, axis=axis if x.ndim else None, dtype=dtype, keepdims=keepdims)


def softmax(x, axis=-1):
    e = np.exp(as_float(x))
    return e / e.sum(axis=axis, keepdims=True) if np.ndim(x) else np.ones((), e.dtype)


ROWS = tuple(Call((shape,), attrs) for shape, attrs in (
    ((2, 3), {}), ((2, 3), {"axis": 0}), ((2, 3, 2), {"axis": 1}), ((2, 3, 2), {"axis": -3}), ((4,), {}), ((), {}), ((), {"axis": 0}),
    ((0, 3), {}), ((3, 0), {"axis": 0})))
BAD_ROWS = (Call(((2, 3),), {"axis": 2}), IndexError), (Call(((2, 3),), {"axis": -3}), IndexError)


def view(want, calls, refused=()) -> Case:
    def listed(these):
        return tuple(Call((shape,), attrs) for shape, attrs in these)
    return Case(want, listed(calls), domains=(ANY,), refused=tuple((listed([c])[0], error) for c, error in refused), moves_nothing=True)


def squeeze(x, axis=None):
    axes = range(x.ndim) if axis is None or axis in ([], ()) else [a % max(x.ndim, 1) for a in (axis if isinstance(axis, list) else [axis])]
    return x.reshape([n for a, n in enumerate(x.shape) if n != 1 or a not in axes])


def unsqueeze(x, axis):
    for a in axis if isinstance(axis, list) else [axis]:
        x = np.expand_dims(x, a)
    return x


def flatten(x, start_axis=0, stop_axis=-1):
    if x.ndim == 0:
        return x.reshape(1)
    start, stop = start_axis % x.ndim, stop_axis % x.ndim
    return x.reshape([*x.shape[:start], int(np.prod(x.shape[start:stop + 1])), *x.shape[stop + 1:]])


def gather(x, rows, axis=0):
    return np.take(x, rows[:, 0] if rows.ndim == 2 else rows, axis=axis)


def along(arr, indices, axis, broadcast=True):
    return np.take_along_axis(arr, indices, axis)


def scale(x, scale=1.0, bias=0.0, bias_after_scale=True):
    if x.dtype.kind in "iu":
        whole = scale == int(scale) and bias == int(bias)
        scale, bias, x = (np.array(int(scale)).astype(x.dtype), np.array(int(bias)).astype(x.dtype), x) if whole else (
            scale, bias, x.astype(np.float64))
    return (x * scale + bias if bias_after_scale else (x + bias) * scale).astype(x.dtype)


def clip(x, min=None, max=None):
    out = x.astype(np.float64) if x.dtype.kind in "iu" and any(b is not None and b != int(b) for b in (min, max)) else x
    if out.dtype.kind == "u":                               # a bound that the dtype cannot hold is the nearest that it can
        min, max = (b and np.maximum(b, 0) for b in (min, max))
    out = out if min is None else np.where(out < min, min, out).astype(out.dtype)
    return out if max is None else np.where(out > max, max, out).astype(out.dtype)


def overwritten(x, value):
    return np.broadcast_to(value, x.shape) if value.ndim <= x.ndim else np.broadcast_to(value, np.broadcast_shapes(x.shape, value.shape))


PICKS = (((4, 3), (5,)), {}), (((2, 4), (3,)), {"axis": 1}), (((2, 4, 2), (3,)), {"axis": -2}), (((4,), (0,)), {}), (((4, 0), (2,)), {})


def calls(*many) -> tuple[Call, ...]:
    return tuple(Call(one, attrs) for one, attrs in many)


def REGULAR(rng, shape, dtype):
    """Matrices far from singular ones."""
    return (ANY(rng, shape, dtype) + 4 * np.eye(*shape[-2:])).astype(dtype)


def DEFINITE(rng, shape, dtype):
    x = ANY(rng, shape, dtype)
    return (x @ np.swapaxes(x.conj(), -1, -2) + np.eye(shape[-1])).astype(dtype)


def ZEROS(rng, shape, dtype):
    return np.zeros(shape, dtype)


NOT_SQUARE = (Call(((2, 3),), domains=(ANY,)), ValueError), (Call(((3,),), domains=(ANY,)), ValueError)
SINGULAR = ((Call(((2, 2),), domains=(ZEROS,)), ValueError),)


def matrices(want, calls, refused=(), domains=(REGULAR,)) -> Case:
    return Case(want, calls, "fc", domains, refused=refused)


def solve(x, y, left=True):
    if not left:
        return np.swapaxes(np.linalg.solve(np.swapaxes(x, -1, -2), np.swapaxes(y, -1, -2)), -1, -2)
    return np.linalg.solve(x, y[..., None])[..., 0] if y.shape == x.shape[:-1] else np.linalg.solve(x, y)


def triangular_solve(x, y, upper=True, transpose=False, unitriangular=False):
    t = np.triu(x) if upper else np.tril(x)
    t = t - t * np.eye(x.shape[-1], dtype=x.dtype) + np.eye(x.shape[-1], dtype=x.dtype) if unitriangular else t
    return np.linalg.solve(np.swapaxes(t, -1, -2) if transpose else t, y)


def cholesky(x, upper=False):
    lower = np.linalg.cholesky(x)
    return np.swapaxes(lower.conj(), -1, -2) if upper else lower


def matrix_exp(x):
    stack = x.astype(np.result_type(x, np.float64)).reshape(math.prod(x.shape[:-2]), *x.shape[-2:])
    return np.array([linalg.expm(a) for a in stack]).reshape(x.shape).astype(x.dtype)


def renorm(x, p, axis, max_norm):
    others = tuple(a for a in range(x.ndim) if a != axis % x.ndim)
    size = np.abs(x)
    norm = (size.max(axis=others, keepdims=True, initial=0) if math.isinf(p) else
            (size ** p).sum(axis=others, keepdims=True) ** (1 / p)).astype(size.dtype)
    return x * np.where(norm > max_norm, max_norm / np.where(norm > 0, norm, 1), 1).astype(size.dtype)


def add_product(input, x, y, beta=1.0, alpha=1.0):
    return x.dtype.type(beta) * input + x.dtype.type(alpha) * (x @ y)


CASES: dict[str, Case] = {
    # ---- elementwise, one input
    "exp": floating(np.exp),
    "log": floating(np.log, domain=POSITIVE),
    "sqrt": floating(np.sqrt, domain=POSITIVE, order=3),
    "rsqrt": floating(lambda x: 1 / np.sqrt(x), "biuf", POSITIVE, order=3),
    "square": unary(np.square, order=3),
    "abs": unary(np.abs, domain=NONZERO),
    "neg": unary(np.negative, "iufc"),
    "sin": floating(np.sin),
    "cos": floating(np.cos),
    "tanh": floating(np.tanh, order=3),
    "sigmoid": floating(special.expit, "biuf", order=3),
    "relu": unary(lambda x: np.maximum(x, x.dtype.type(0)), "iuf", order=3),
    "reciprocal": floating(lambda x: 1 / x, domain=NONZERO, order=3),
    "floor": unary(np.floor, "biuf"),
    "ceil": unary(np.ceil, "biuf"),
    "round": unary(lambda x: x.copy() if x.dtype.kind == "b" else np.round(x)),
    "sign": unary(np.sign, "iufc", NONZERO),
    "conj": unary(np.conjugate),
    "logical_not": unary(np.logical_not, domain=ANY),
    "bitwise_not": unary(np.invert, "biu"),
    "isnan": unary(np.isnan),
    "isinf": unary(np.isinf),
    "isfinite": unary(np.isfinite),
    # ---- elementwise, two inputs
    "add": binary(np.add, symbol=operator.add),
    "subtract": binary(np.subtract, "iufc", symbol=operator.sub),
    "multiply": binary(np.multiply, symbol=operator.mul),
    "divide": binary(np.divide, domains=(ANY, NONZERO), symbol=operator.truediv),
    "pow": binary(np.power, domains=(POSITIVE, EXPONENT), symbol=operator.pow),
    "maximum": binary(np.maximum),
    "minimum": binary(np.minimum),
    "floor_divide": binary(np.floor_divide, "biuf", (ANY, NONZERO), operator.floordiv),
    "remainder": binary(np.remainder, "biuf", (ANY, NONZERO), operator.mod),
    "equal": binary(np.equal, symbol=operator.eq),
    "not_equal": binary(np.not_equal, symbol=operator.ne),
    "less_than": binary(np.less, symbol=operator.lt),
    "less_equal": binary(np.less_equal, symbol=operator.le),
    "greater_than": binary(np.greater, symbol=operator.gt),
    "greater_equal": binary(np.greater_equal, symbol=operator.ge),
    "logical_and": binary(of_truths(np.logical_and)),
    "logical_or": binary(of_truths(np.logical_or)),
    "logical_xor": binary(of_truths(np.logical_xor)),
    "bitwise_and": binary(np.bitwise_and, "biu", symbol=operator.and_),
    "bitwise_or": binary(np.bitwise_or, "biu", symbol=operator.or_),
    "bitwise_xor": binary(np.bitwise_xor, "biu", symbol=operator.xor),
    # ---- elementwise with attributes
    "scale": Case(scale, calls((((2, 3),), {"scale": 3.0}), (((2, 3),), {"scale": 2.0, "bias": 1.0}), (((),), {"scale": 0.5, "bias": -1.5}),
                               (((2, 3),), {"scale": 2.0, "bias": 1.0, "bias_after_scale": False}), (((0, 3),), {}),
                               (((4,),), {"bias": 1.0})),
                  "iufc"),
    "clip": Case(clip, calls((((2, 3),), {"min": -1, "max": 1}), (((2, 3),), {"min": -0.75}), (((5,),), {"max": 1.0}),
            (((),), {"min": 0.5}),
                             (((0, 3),), {"min": 0, "max": 1}), (((2, 3),), {"min": 1.0, "max": -1.0}), (((2, 3),), {})), "iuf"),
    "where": Case(np.where, shapes(((2, 3), (2, 3), (2, 3)), ((3,), (2, 3), ()), ((2, 1), (1, 3), (3,)), ((), (), ()), ((0, 3), (3,), ()),
                                   ((), (2, 2), (2, 1))), domains=(BITS, ANY, ANY), fixed=(0,),
                  refused=((Call(((2, 3), (2,), (3,))), ValueError),)),
    "cast": Case(lambda x, dtype: x.astype(dtype), tuple(
        Call((shape,), {"dtype": dtype}, slopes=dtype in ("float64", "complex128"))
        for dtype in DTYPES for shape in ((2, 3), (), (0, 3))), domains=(POSITIVE,)),
    "real": unary(lambda x: x.real.copy()),
    "imag": unary(lambda x: np.imag(x).copy()),
    # ---- reductions
    "sum": Case(reduction(np.sum, lambda x: None), REDUCED + OF_NONE + DTYPED, refused=BAD_AXES),
    "mean": Case(reduction(mean, lambda x: None), REDUCED + DTYPED,
                 refused=(*BAD_AXES, (Call(((2, 3),), {"dtype": "int64"}), TypeError))),
    "max": Case(reduction(np.max), REDUCED, domains=(SEPARATE,), refused=BAD_AXES + tuple((c, ValueError) for c in OF_NONE)),
    "min": Case(reduction(np.min), REDUCED, domains=(SEPARATE,), refused=BAD_AXES + tuple((c, ValueError) for c in OF_NONE)),
    "prod": Case(reduction(np.prod, lambda x: None), REDUCED + OF_NONE + DTYPED, refused=BAD_AXES),
    "any": Case(reduction(np.any), REDUCED + OF_NONE, refused=BAD_AXES),
    "all": Case(reduction(np.all), REDUCED + OF_NONE, refused=BAD_AXES),
    # ---- products
    "matmul": Case(matmul, calls(
        (((3,), (3,)), {}), (((2, 3), (3,)), {}), (((3,), (3, 4)), {}), (((2, 3), (3, 4)), {}), (((3, 2), (3, 4)), {"transpose_x": True}),
        (((2, 3), (4, 3)), {"transpose_y": True}), (((3, 2), (4, 3)), {"transpose_x": True, "transpose_y": True}),
        (((3,), (4, 3)), {"transpose_x": True, "transpose_y": True}), (((3, 2), (3,)), {"transpose_x": True, "transpose_y": True}),
        (((2, 2, 3), (2, 3, 2)), {}), (((2, 2), (3, 2, 2)), {}), (((3, 2, 2), (2, 2)), {}), (((2, 2, 3), (3,)), {}),
        (((3,), (2, 3, 2)), {}),
        (((2, 1, 2, 3), (2, 3, 1)), {}), (((2, 3, 2), (2, 3)), {"transpose_x": True, "transpose_y": True}),
        (((1, 2, 2), (2, 2, 2)), {"transpose_y": True}), (((2, 2, 2), (1, 2, 2)), {"transpose_x": True}),
        (((2, 3, 2), (3,)), {"transpose_x": True}), (((3,), (2, 2, 3)), {"transpose_y": True}),
        (((0, 3), (3, 2)), {}), (((2, 0), (0, 3)), {}), (((0, 2, 3), (3, 2)), {}), (((0,), (0,)), {}), (((1, 1), (1, 1)), {})),
        refused=((Call(((2, 3), (2, 3))), ValueError), (Call(((), (3,))), ValueError), (Call(((2, 2, 3), (3, 3, 2))), ValueError),
                 (Call(((3,), (4,))), ValueError)), symbol=operator.matmul, mixed=True),
    # ---- linear algebra and complex numbers (decompositions with several results: test_ops_linalg)
    "inverse": matrices(np.linalg.inv, shapes((3, 3), (2, 2, 2), (0, 0), (0, 2, 2), (1, 1)), NOT_SQUARE + SINGULAR),
    "solve": matrices(solve, calls(
        (((3, 3), (3, 2)), {}), (((2, 2, 2), (2, 2, 1)), {}), (((2, 2), (2,)), {}), (((2, 2, 2), (2, 2)), {}),
        (((2, 1, 2, 2), (3, 2, 1)), {}),
        (((2, 2), (3, 2)), {"left": False}), (((2, 2, 2), (1, 2)), {"left": False}), (((0, 0), (0, 2)), {})),
        ((Call(((2, 3), (2, 1))), ValueError), (Call(((2, 2), (3, 1))), ValueError),
         (Call(((2, 2), (2, 1)), domains=(ZEROS, ANY)), ValueError)), (REGULAR, ANY)),
    "triangular_solve": matrices(triangular_solve, calls(
        (((3, 3), (3, 2)), {}), (((2, 2, 2), (2, 2, 1)), {"upper": False}), (((2, 2), (2, 2)), {"transpose": True}),
        (((2, 2), (2, 2, 1)), {"upper": False, "transpose": True}), (((3, 3), (3, 1)), {"unitriangular": True}), (((0, 0), (0, 2)), {})),
        ((Call(((2, 3), (2, 1))), ValueError), (Call(((2, 2), (2,))), ValueError),
         (Call(((2, 2), (2, 1)), domains=(ZEROS, ANY)), ValueError)), (REGULAR, ANY)),
    "cholesky": matrices(cholesky, tuple(Call((shape,), {"upper": upper}, slopes=False) for shape in ((3, 3), (2, 2, 2), (0, 0))
                                         for upper in (False, True)), NOT_SQUARE + SINGULAR, (DEFINITE,)),
    "pinv": matrices(lambda x, rcond=1e-15, hermitian=False: np.linalg.pinv(x, rcond), calls(
        (((3, 2),), {}), (((2, 2, 3),), {}), (((3, 3),), {"rcond": 1e-3})), NOT_SQUARE[1:]),
    "det": matrices(np.linalg.det, shapes((3, 3), (2, 2, 2), (1, 1), (0, 2, 2)), NOT_SQUARE),
    "slogdet": matrices(lambda x: np.stack([*np.linalg.slogdet(x)]), shapes((3, 3), (2, 2, 2), (1, 1), (0, 2, 2)), NOT_SQUARE),
    "matrix_exp": matrices(matrix_exp, shapes((3, 3), (2, 2, 2), (0, 0)), NOT_SQUARE, (ANY,)),
    "renorm": Case(renorm, calls(
        (((2, 3),), {"p": 2.0, "axis": 0, "max_norm": 1.5}), (((3, 2),), {"p": 1.0, "axis": -1, "max_norm": 2.0}),
        (((2, 2, 2),), {"p": 3.0, "axis": 1, "max_norm": 2.0}), (((2, 3),), {"p": math.inf, "axis": 1, "max_norm": 1.0}),
        (((4,),), {"p": 2.0, "axis": 0, "max_norm": 0.75}), (((2, 3),), {"p": 2.0, "axis": 1, "max_norm": 0.0}),
        (((0, 3),), {"p": 2.0, "axis": 1, "max_norm": 1.0})), "fc", (NONZERO,), refused=tuple(
            (Call((shape,), {"p": p, "axis": axis, "max_norm": limit}), error) for shape, p, axis, limit, error in (
                ((2, 3), 2.0, 2, 1.0, IndexError), ((2, 3), 2.0, -3, 1.0, IndexError), ((), 2.0, 0, 1.0, IndexError),
                ((2, 3), 0.0, 0, 1.0, ValueError), ((2, 3), 2.0, 0, -1.0, ValueError), ((2, 3), math.nan, 0, 1.0, ValueError)))),
    "addmm": matrices(add_product, calls(
        (((2, 2), (2, 3), (3, 2)), {}), (((2, 2), (2, 3), (3, 2)), {"beta": 0.5, "alpha": -2.0}), (((2,), (2, 3), (3, 2)), {}),
        (((2, 1), (2, 0), (0, 2)), {})), ((Call(((2, 2), (2, 3), (2, 3))), ValueError), (Call(((3, 2), (2, 3), (3, 2))), ValueError)),
        (ANY, ANY, ANY)),
    "baddbmm": matrices(add_product, calls(
        (((2, 2, 2), (2, 2, 3), (2, 3, 2)), {}), (((2, 2), (2, 2, 1), (2, 1, 2)), {"beta": 0.5, "alpha": -2.0})),
        ((Call(((2, 2), (2, 3), (3, 2))), ValueError),), (ANY, ANY, ANY)),
    "as_complex": Case(lambda x: x[..., 0] + x.dtype.type(1) * 1j * x[..., 1], shapes((3, 2), (2,), (2, 0, 2)), "f",
                       refused=((Call(((2, 3),)), ValueError), (Call(((),)), ValueError))),
    # ---- along an axis
    "softmax": Case(softmax, ROWS, "biuf", refused=BAD_ROWS, order=3),
    "log_softmax": Case(lambda x, axis=-1: np.log(softmax(x, axis)), ROWS, "biuf", refused=BAD_ROWS, order=3),
    # ---- views
    "reshape": view(lambda x, shape: x.reshape([x.shape[a] if n == 0 and x.size else n for a, n in enumerate(shape)]), [
        ((2, 3), {"shape": [3, 2]}), ((2, 3), {"shape": [-1]}), ((2, 3), {"shape": [0, 1, -1]}), ((), {"shape": [1, 1]}),
        ((1,), {"shape": []}),
        ((0, 3), {"shape": [3, 0]}), ((2, 3), {"shape": [2, 3]}), ((4, 3), {"shape": [2, 2, 3]}), ((2, 2, 3), {"shape": [2, 6]})],
        refused=[(((2, 3), {"shape": [4]}), ValueError), (((2, 3), {"shape": [-1, -1]}), ValueError),
        (((2, 3), {"shape": [-1, 4]}), ValueError),
                 (((2, 3), {"shape": [2, 3, 0]}), ValueError), (((2, 3), {"shape": [-2, 3]}), ValueError)]),
    "transpose": view(lambda x, perm: x.transpose(perm), [
        ((2, 3), {"perm": [1, 0]}), ((2, 1, 3), {"perm": [2, 0, 1]}), ((2, 2, 3), {"perm": [-1, 0, 1]}), ((0, 3), {"perm": [1, 0]}),
        ((), {"perm": []}), ((4,), {"perm": [0]})],
        refused=[(((2, 3), {"perm": [0]}), ValueError), (((2, 3), {"perm": [0, 0]}), ValueError),
        (((2, 3), {"perm": [0, 2]}), IndexError)]),
    "squeeze": view(squeeze, [
        ((2, 1, 3), {}), ((2, 1, 3), {"axis": 1}), ((1, 2, 1), {"axis": [0]}), ((1, 2, 1), {"axis": [-1, 0]}), ((2, 3), {"axis": 0}),
        ((), {}),
        ((1, 0), {"axis": []}), ((1, 1), {})], refused=[(((2, 1), {"axis": 2}), IndexError)]),
    "unsqueeze": view(unsqueeze, [
        ((2, 3), {"axis": 0}), ((2, 3), {"axis": -1}), ((2, 3), {"axis": [0, 2]}), ((), {"axis": 0}), ((0, 3), {"axis": 1}),
        ((2, 3), {"axis": [-1, 0]})], refused=[(((2, 3), {"axis": 3}), IndexError), (((2, 3), {"axis": [0, 5]}), IndexError)]),
    "flatten": view(flatten, [
        ((2, 3), {}), ((2, 2, 3), {"start_axis": 1}), ((2, 2, 3), {"stop_axis": 1}), ((2, 2, 3), {"start_axis": 1, "stop_axis": 1}),
        ((), {}),
        ((0, 3), {}), ((2, 2, 3), {"start_axis": -3, "stop_axis": -2})],
        refused=[(((2, 3), {"start_axis": 1, "stop_axis": 0}), ValueError), (((2, 3), {"start_axis": 2}), IndexError)]),
    "t": view(lambda x: x.T, [((2, 3), {}), ((3,), {}), ((), {}), ((0, 3), {})], refused=[(((2, 2, 3), {}), ValueError)]),
    # ---- joining and picking
    "concat": Case(lambda *x, axis=0: np.concatenate(x, axis), calls(
        (((2, 3), (1, 3)), {}), (((2, 1), (2, 3), (2, 2)), {"axis": 1}), (((2, 3),), {"axis": -1}), (((0, 3), (2, 3)), {}),
        (((3,), (1,)), {}),
        (((2, 2, 1), (2, 1, 1)), {"axis": -2})), domains=(ANY, ANY, ANY), listed=True, mixed=True,
        refused=((Call(((2, 3), (2, 2))), ValueError), (Call(((), ())), ValueError), (Call(((2, 3), (3,))), ValueError),
                 (Call(((2, 3), (2, 3)), {"axis": 2}), IndexError))),
    "stack": Case(lambda *x, axis=0: np.stack(x, axis), calls(
        (((2, 3), (2, 3)), {}), (((2, 3), (2, 3), (2, 3)), {"axis": 1}), (((2, 3), (2, 3)), {"axis": -1}), (((), ()), {}),
        (((0,),), {"axis": 1}),
        (((2, 3),), {"axis": -3})), domains=(ANY, ANY, ANY), listed=True, mixed=True,
        refused=((Call(((2, 3), (3,))), ValueError), (Call(((2,), (2,)), {"axis": 2}), IndexError))),
    "gather": Case(gather, calls(*PICKS, (((4, 3), ()), {}), (((4, 3), (2, 1)), {})), domains=(ANY, index(4)), fixed=(1,),
                   refused=((Call(((3, 3), (9,)), domains=(ANY, lambda *_: np.arange(9))), IndexError),
                            (Call(((4, 3), (2,)), {"axis": 2}), IndexError),
                            (Call(((4, 3), (2,)), domains=(ANY, lambda *_: np.array([0.0, 1.0]))), TypeError))),
    "index_select": Case(gather, calls(*PICKS), domains=(ANY, index(4, "int32")), fixed=(1,),
                         refused=((Call(((3, 3), (2,)), domains=(ANY, lambda *_: np.array([-4, 0]))), IndexError),
                                  (Call(((4, 3), (2, 2))), ValueError), (Call(((4, 3), (2,)), {"axis": -3}), IndexError))),
    "take_along_axis": Case(along, calls((((4, 3), (2, 3)), {"axis": 0}), (((2, 4), (2, 5)), {"axis": 1}), (((2, 4), (1, 3)), {"axis": -1}),
                                         (((1, 4), (3, 2)), {"axis": 1}), (((4,), (0,)), {"axis": 0})), domains=(ANY, index(4)), fixed=(1,),
                            refused=((Call(((4, 3), (2,)), {"axis": 0}), ValueError), (Call(((4, 3), (2, 3)), {"axis": 2}), IndexError),
                                     (Call(((3, 3), (2, 2)), {"axis": 0}, (ANY, lambda *_: np.zeros((2, 2), int))), ValueError))),
    # ---- whole-tensor writes
    "fill": Case(overwritten, shapes(((2, 3), ()), ((), ()), ((0, 3), ())), mixed=True),
    "zero": Case(lambda x: np.zeros_like(x), ONE),
    "copy": Case(overwritten, shapes(((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), ()), ((), ()),
            ((0, 3), (3,))), mixed=True,
                 refused=((Call(((2, 3), (2,))), ValueError), (Call(((3,), (2, 3))), ValueError))),
    # ---- statistics, sorting, manipulation: the others have tests of their own ----------------------------------------------------------
    "cumsum": Case(lambda x, axis=None: np.cumsum(x, axis), calls=(
        Call(((2, 3),), {"axis": 1}), Call(((3,),)), Call(((2, 0),), {"axis": 0}), Call(((2, 3),), {"axis": -2}))),
    "sort": Case(lambda x, axis=-1, descending=False: np.flip(np.sort(x, axis), axis) if descending else np.sort(x, axis), kinds="biuf",
                 domains=(SEPARATE,), calls=(Call(((2, 3),)), Call(((3, 2),), {"axis": 0, "descending": True}), Call(((0, 2),)))),
    "tril": Case(lambda x, diagonal=0: np.tril(x, diagonal), calls=(
        Call(((3, 4),)), Call(((2, 3, 3),), {"diagonal": -1}), Call(((0, 2),)))),
    "triu": Case(lambda x, diagonal=0: np.triu(x, diagonal), calls=(
        Call(((3, 4),)), Call(((2, 3, 3),), {"diagonal": 1}), Call(((0, 2),)))),
    "tile": Case(lambda x, repeat_times: np.tile(x, repeat_times), calls=(
        Call(((2, 3),), {"repeat_times": [2, 1]}), Call(((3,),), {"repeat_times": [2, 2]}), Call(((2, 3),), {"repeat_times": [0]}),
        Call(((),), {"repeat_times": [2]}))),
}

# ---- elementwise mathematics, special functions, activations, random fills ---------------------------------------------------------------

def real_floats(function):
    """Of two operands in the floating-point dtype of both; complex ones are refused."""
    def want(x, y):
        dtype = np.result_type(x, y)
        dtype = np.dtype(np.float64) if dtype.kind in "biu" else dtype
        if dtype.kind == "c":
            raise TypeError
        return np.asarray(function(np.asarray(x).astype(dtype), np.asarray(y).astype(dtype)))
    return want


def integers(function):
    """NumPy shifts booleans too."""
    def want(x, y):
        if any(a.dtype.kind not in "iu" for a in (x, y) if hasattr(a, "dtype")):
            raise TypeError
        return function(x, y)
    return want


def ldexp(x, y):
    """A factor with an integer or a Python number as exponent has no say in the dtype."""
    if any(np.asarray(a).dtype.kind == "c" for a in (x, y)):
        raise TypeError
    x = as_float(x) if hasattr(x, "dtype") else float(x)
    if not hasattr(y, "dtype"):
        return np.asarray(x * float(np.exp2(float(y))))
    product = x * np.exp2(as_float(y))
    return product if y.dtype.kind == "f" else np.asarray(x * np.exp2(y.astype(float))).astype(getattr(x, "dtype", float))


def close(x, y, rtol=1e-5, atol=1e-8, equal_nan=False):
    return np.abs(x.astype(complex) - y) <= atol + rtol * np.abs(y.astype(complex))


def tensors_only(want, kinds="biuf", domains=(POSITIVE, POSITIVE), **more) -> Case:
    return Case(of_floats(want), TWO, kinds, domains, refused=MISFIT, **more)


def with_attributes(want, *attributes, kinds="biuf", domain=ANY, **more) -> Case:
    return Case(of_floats(want), tuple(Call((shape,), dict(attrs)) for attrs in attributes for shape in ((2, 3), (), (0, 3))), kinds,
                (domain,), **more)


def hardtanh(x, min=-1.0, max=1.0):
    return np.clip(x, min, max)


def gelu(x, approximate=None):
    if approximate:
        return 0.5 * x * (1 + np.tanh(float(np.sqrt(2 / np.pi)) * (x + 0.044715 * x ** 3)))
    return x * special.ndtr(x)


UNIT = within(0.05, 0.95, (0, 2))
INNER = within(-0.9, 0.9, (0, 1))
ABOVE_ONE = within(1.2, 3.0, (1, 6))
APART = within(-2.9, -0.2, (-4, 2)), within(0.3, 2.8, (1, 5))
PLACES = within(0.0, 1.0, (0, 5))
WIDE = within(-7.0, 8.0, (-7, 8), without=(0,))

CASES |= {
    # ---- exponentials, logarithms, circular and hyperbolic functions
    "expm1": floating(np.expm1),
    "log1p": floating(np.log1p, domain=POSITIVE),
    "log2": floating(np.log2, domain=POSITIVE),
    "log10": floating(np.log10, domain=POSITIVE),
    "tan": floating(np.tan, domain=INNER),
    "asin": floating(np.arcsin, domain=INNER),
    "acos": floating(np.arccos, domain=INNER),
    "atan": floating(np.arctan, domain=INNER),
    "sinh": floating(np.sinh),
    "cosh": floating(np.cosh),
    "asinh": floating(np.arcsinh, domain=INNER),
    "acosh": floating(np.arccosh, domain=ABOVE_ONE),
    "atanh": floating(np.arctanh, domain=INNER),
    "deg2rad": floating(np.deg2rad, "biuf"),
    "rad2deg": floating(np.rad2deg, "biuf"),
    "logaddexp": Case(real_floats(np.logaddexp), TWO, "biuf", refused=MISFIT),
    "atan2": Case(real_floats(np.arctan2), TWO, "biuf", (NONZERO, NONZERO), refused=MISFIT),
    "hypot": Case(real_floats(np.hypot), TWO, "biuf", (NONZERO, NONZERO), refused=MISFIT),
    # ---- parts of numbers
    "trunc": unary(np.trunc, "biuf"),
    "frac": unary(lambda x: x - np.trunc(x).astype(x.dtype), "iuf"),
    "angle": floating(np.angle, domain=NONZERO),
    "positive": unary(lambda x: x.copy(), "iufc"),
    "copysign": Case(real_floats(np.copysign), TWO, "biuf", (NONZERO, NONZERO), refused=MISFIT),
    "nextafter": Case(real_floats(np.nextafter), TWO, "biuf", APART, refused=MISFIT),
    "heaviside": Case(real_floats(np.heaviside), TWO, "biuf", (NONZERO, ANY), refused=MISFIT),
    "fmax": binary(np.fmax),
    "fmin": binary(np.fmin),
    "gcd": binary(np.gcd, "iu"),
    "lcm": binary(np.lcm, "iu"),
    "ldexp": Case(ldexp, TWO, "biuf", (NONZERO, ANY), refused=MISFIT),
    "lerp": Case(lambda x, y, weight: as_float(x + weight * (y - x)), shapes(((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), ()),
                 ((2, 1), (1, 3), (3,)), ((), (), ()), ((0, 3), (3,), ()), ((2, 3), (), (2, 1))), "iufc",
                 refused=((Call(((2, 3), (2,), (3,))), ValueError),)),
    "nan_to_num": unary(lambda x, nan=0.0, posinf=None, neginf=None: x.copy(), "biuf"),
    "logit": with_attributes(lambda x, eps=None: special.logit(x if eps is None else np.clip(x, eps, 1 - eps)), {}, {"eps": 0.1},
                             domain=UNIT),
    "stanh": with_attributes(lambda x, scale_a=0.67, scale_b=1.7159: scale_b * np.tanh(scale_a * x), {}, {"scale_a": 0.5, "scale_b": -2.0},
                             kinds="biufc", domain=INNER),
    "complex": tensors_only(lambda real, imag: real + 1j * imag, domains=(ANY, ANY)),
    # ---- predicates and integers
    "signbit": unary(np.signbit, "biuf"),
    "isneginf": unary(lambda x: np.isinf(x) & (x.real < 0)),
    "isposinf": unary(lambda x: np.isinf(x) & (x.real > 0)),
    "isreal": unary(np.isreal),
    "isclose": Case(close, TWO, refused=MISFIT),
    "allclose": Case(lambda x, y: close(x, y).all(), TWO, refused=MISFIT),
    "equal_all": Case(lambda x, y: x.shape == y.shape and (x == y).all(), TWO),
    "bitwise_left_shift": Case(integers(np.left_shift), TWO, "iu", (ANY, PLACES)),
    "bitwise_right_shift": Case(integers(np.right_shift), TWO, "iu", (ANY, PLACES)),
    "increment": Case(lambda x, value=1.0: x + np.asarray(value).astype(x.dtype),
                      calls((((1,),), {}), (((),), {"value": 2.0}), (((1, 1),), {})), "iufc",
                      refused=((Call(((2,),)), ValueError),)),
    # ---- special functions
    "erf": floating(special.erf, "biuf"),
    "erfc": floating(special.erfc, "biuf"),
    "erfinv": floating(special.erfinv, "biuf", INNER),
    "lgamma": floating(special.gammaln, "biuf", POSITIVE),
    "digamma": floating(special.digamma, "biuf", POSITIVE),
    "polygamma": with_attributes(lambda x, n: special.polygamma(n, x).astype(x.dtype), {"n": 0}, {"n": 1}, {"n": 3}, domain=POSITIVE),
    "multigammaln": with_attributes(lambda x,
                                    p: sum((special.gammaln(x - j / 2) for j in range(p)), p * (p - 1) / 4 * float(np.log(np.pi))),
                                    {"p": 1}, {"p": 2}, domain=ABOVE_ONE),
    "i0": floating(special.i0, "biuf"),
    "i0e": floating(special.i0e, "biuf", NONZERO),
    "i1": floating(special.i1, "biuf"),
    "i1e": floating(special.i1e, "biuf", NONZERO),
    "sinc": floating(np.sinc, "biuf"),
    "gammainc": tensors_only(special.gammainc),
    "gammaincc": tensors_only(special.gammaincc),
    # ---- activations
    "relu6": floating(lambda x: np.clip(x, 0, 6), "biuf", WIDE),
    "leaky_relu": with_attributes(lambda x, negative_slope=0.01: np.where(x > 0, x, negative_slope * x), {}, {"negative_slope": 0.5},
                                  domain=NONZERO),
    "thresholded_relu": with_attributes(lambda x, threshold=1.0, value=0.0: np.where(x > threshold, x, x.dtype.type(value)), {},
                                        {"threshold": 0.25, "value": -1.0}, domain=WIDE),
    "elu": with_attributes(lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x)), {}, {"alpha": 1.5}, domain=NONZERO),
    "celu": with_attributes(lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x / alpha)), {}, {"alpha": 1.5}, domain=NONZERO),
    "selu": with_attributes(lambda x, scale=1.0507009873554805, alpha=1.6732632423543772: scale * np.where(x > 0, x, alpha * np.expm1(x)),
                            {},
                            {"scale": 1.25, "alpha": 0.5}, domain=NONZERO),
    "gelu": Case(of_floats(gelu), calls((((2, 3),), {}), (((2, 3),), {"approximate": "tanh"}), (((),), {"approximate": True}),
                                        (((0, 3),), {})), "biuf"),
    "silu": floating(lambda x: x * special.expit(x), "biuf"),
    "swish": floating(lambda x: x * special.expit(x), "biuf"),
    "mish": floating(lambda x: x * np.tanh(np.log1p(np.exp(x))), "biuf"),
    "hardtanh": with_attributes(hardtanh, {}, {"min": -0.25, "max": 2.25}, domain=WIDE,
                                refused=((Call(((2, 3),), {"min": 1.0, "max": 0.0}), ValueError),)),
    "hardsigmoid": with_attributes(lambda x, slope=0.1666667, offset=0.5: np.clip(slope * x + offset, 0, 1), {},
                                   {"slope": 0.3, "offset": 0.25},
                                   domain=WIDE),
    "hardswish": floating(lambda x: x * np.clip(x + 3, 0, 6) / 6, "biuf", WIDE),
    "hardshrink": with_attributes(lambda x, threshold=0.5: np.where(np.abs(x) > threshold, x, x.dtype.type(0)), {}, {"threshold": 1.25},
                                  domain=WIDE),
    "softshrink": with_attributes(lambda x, threshold=0.5: np.sign(x) * np.maximum(np.abs(x) - threshold, 0), {}, {"threshold": 1.25},
                                  domain=WIDE),
    "tanhshrink": floating(lambda x: x - np.tanh(x), "biuf"),
    "softsign": floating(lambda x: x / (1 + np.abs(x)), "biuf", NONZERO),
    "softplus": with_attributes(lambda x, beta=1.0, threshold=20.0: np.where(beta * x > threshold, x, np.log1p(np.exp(beta * x)) / beta),
                                {},
                                {"beta": 2.0, "threshold": 1.75}),
    "log_sigmoid": floating(lambda x: -np.log1p(np.exp(-x)), "biuf"),
}

# ---- statistics, sorting, picking and writing: of several results the first; other ways to call them are tested by name -----------------

def first_of_equal(function):
    """Along an axis, or of all elements."""
    return lambda x, axis=None, keepdim=False: np.asarray(function(x, axis=axis, keepdims=keepdim))


def argsort(x, axis=-1, descending=False):
    if not descending:
        return np.argsort(x, axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


def running(ufunc):
    def want(x, axis=None):
        return ufunc.accumulate(x.ravel() if axis is None else x, 0 if axis is None else axis)
    return want


def logcumsumexp(x, axis=None):
    x = x if x.dtype.kind == "f" else x.astype("float64")
    return np.log(np.cumsum(np.exp(x), axis)).astype(x.dtype)


def spread(function):
    def want(x, axis=None, keepdim=False, **more):
        x = x.astype("float64") if x.dtype.kind in "biu" else x
        ddof = more.get("correction", 1) if more.get("unbiased") is not False else 0
        return np.asarray(function(x, axis=axes_of(axis), keepdims=keepdim, ddof=ddof))
    return want


def expand(x, shape):
    extra = len(shape) - x.ndim
    return np.broadcast_to(x, [x.shape[a - extra] if n == -1 else n for a, n in enumerate(shape)]).copy()


def put(x, index, values, axis, how):
    x, grid = x.copy(), list(np.indices(index.shape))
    grid[axis] = index % max(x.shape[axis], 1)
    if how == "assign":
        for at in np.ndindex(index.shape):                  # the last one wins
            x[tuple(g[at] for g in grid)] = values[at]
    else:
        np.add.at(x, tuple(grid), values)
    return x


def scatter(x, index, updates, overwrite=True):
    x = x.copy()
    for row in [] if overwrite else index:
        x[row] = 0
    for row, update in zip(index, updates, strict=True):
        x[row] = update if overwrite else x[row] + update
    return x


def index_add(x, index, value, axis, alpha=1):
    x = np.moveaxis(x, axis, 0).copy()
    for row, part in zip(index, np.moveaxis(value, axis, 0), strict=True):
        x[row] = x[row] + part * x.dtype.type(alpha)
    return np.moveaxis(x, 0, axis)


def index_fill(x, index, value, axis):
    x = np.moveaxis(x, axis, 0).copy()
    x[index] = value
    return np.moveaxis(x, 0, axis)


def scatter_nd_add(x, index, updates):
    x = x.copy()
    np.add.at(x, tuple(np.moveaxis(index, -1, 0)), updates)
    return x


def index_put(x, value, indices, accumulate=False):
    x = x.copy()
    if accumulate:
        np.add.at(x, indices, value)
    else:
        x[indices] = value
    return x


def combined(x, index, values, axis, how):
    x = x.copy()
    for at in np.ndindex(index.shape):
        place = (*at[:axis], index[at], *at[axis + 1:])
        x[place] = {"mul": np.multiply, "amax": np.maximum, "amin": np.minimum}[how](x[place], values[at])
    return x


def p_norm(x, p=2.0, axis=None, keepdim=False):
    size = np.abs(x)
    if math.isinf(p):
        return size.max(axis=axis, keepdims=keepdim)
    return np.asarray((size ** p).sum(axis=axis, keepdims=keepdim) ** (1 / p)).astype(size.dtype)


def SEPARATE_NONZERO(rng, shape, dtype):
    """As SEPARATE, and no two of one size."""
    made = SEPARATE(rng, shape, dtype)
    return (np.abs(made) + 0.4).astype(dtype) * np.exp(1j * np.abs(made)).astype(dtype) if np.dtype(dtype).kind == "c" else made


def masked_scatter(x, mask, value):
    x = x.copy()
    x[mask] = value.ravel()[:mask.sum()]
    return x


def SORTED(rng, shape, dtype):
    return np.sort(ANY(rng, shape, dtype), axis=-1)


ALONG = calls((((2, 3),), {"axis": 1}), (((3, 2),), {"axis": 0}), (((2, 2, 2),), {"axis": -2}), (((4,),), {"axis": 0}))
BAD_AXIS = (Call(((2, 3),), {"axis": 2}), IndexError), (Call(((2, 3),), {"axis": -3}), IndexError)
EXTREME = calls((((2, 3),), {}), (((2, 3),), {"axis": 0}), (((2, 3),), {"axis": -1, "keepdim": True}), (((2, 2, 2),), {"axis": 1}))
KTH = calls((((2, 3),), {"k": 2}), (((3, 2),), {"k": 1, "axis": 0}), (((2, 4),), {"k": 4, "axis": -1, "keepdim": True}))

CASES |= {
    "amax": Case(reduction(np.max), REDUCED, domains=(SEPARATE,), refused=BAD_AXES + tuple((c, ValueError) for c in OF_NONE)),
    "amin": Case(reduction(np.min), REDUCED, domains=(SEPARATE,), refused=BAD_AXES + tuple((c, ValueError) for c in OF_NONE)),
    "count_nonzero": Case(reduction(np.count_nonzero), REDUCED + OF_NONE, refused=BAD_AXES),
    "logsumexp": Case(lambda x, axis=None, keepdim=False: np.log(np.exp(x if x.dtype.kind == "f" else x.astype("float64")).sum(
        axis=axes_of(axis), keepdims=keepdim)), REDUCED[:8], "biuf", refused=BAD_AXES),
    "var": Case(spread(np.var), (*REDUCED[:5], *calls((((2, 3),), {"axis": 1, "unbiased": False}), (((4,),), {"correction": 2}))),
                refused=BAD_AXES),
    "std": Case(spread(np.std), (*REDUCED[:5], *calls((((2, 3),), {"axis": 1, "unbiased": False}))), refused=BAD_AXES),
    "argmax": Case(first_of_equal(np.argmax), EXTREME, "biuf", (SEPARATE,), refused=BAD_AXIS),
    "argmin": Case(first_of_equal(np.argmin), EXTREME, "biuf", (SEPARATE,), refused=BAD_AXIS),
    "argsort": Case(argsort, (*ALONG, *calls((((2, 3),), {}), (((3, 2),), {"axis": 0, "descending": True}))), "biuf", refused=BAD_AXIS),
    "cummax": Case(running(np.maximum), (*ALONG, *calls((((2, 3),), {}))), "biuf", (SEPARATE,), refused=BAD_AXIS),
    "cummin": Case(running(np.minimum), (*ALONG, *calls((((2, 3),), {}))), "biuf", (SEPARATE,), refused=BAD_AXIS),
    "cumprod": Case(lambda x, dim=None: np.cumprod(x, dim), calls(
        (((2, 3),), {"dim": 1}), (((3, 2),), {"dim": 0}), (((3,),), {}), (((2, 3),), {}), (((2, 0),), {"dim": 1})), domains=(NONZERO,),
        refused=((Call(((2, 3),), {"dim": 2}), IndexError),)),
    "logcumsumexp": Case(logcumsumexp, (*ALONG, *calls((((2, 3),), {}))), "biuf", refused=BAD_AXIS),
    "kthvalue": Case(lambda x, k, axis=-1, keepdim=False: np.take(np.sort(x, axis), [k - 1] if keepdim else k - 1, axis), KTH, "biuf",
                     (SEPARATE,), refused=((Call(((2, 3),), {"k": 4}), ValueError), (Call(((2, 3),), {"k": 0}), ValueError))),
    "topk": Case(lambda x, k, axis=-1, largest=True: np.take(np.flip(np.sort(x, axis), axis) if largest else np.sort(x, axis),
                                                             range(k), axis),
                 calls((((2, 3),), {"k": 2}), (((3, 2),), {"k": 1, "axis": 0}), (((2, 4),), {"k": 3, "largest": False})), "biuf",
                 (SEPARATE,), refused=((Call(((2, 3),), {"k": 4}), ValueError),)),
    "mode": Case(lambda x, axis=-1, keepdim=False: stats.mode(x * 1, axis, keepdims=keepdim).mode.astype(x.dtype), calls(
        (((2, 3),), {}), (((3, 2),), {"axis": 0}), (((2, 3),), {"axis": -1, "keepdim": True})), "biuf", (SEPARATE,)),
    "searchsorted": Case(lambda s, v, right=False: np.searchsorted(s, v, "right" if right else "left"), calls(
        (((5,), (2, 3)), {}), (((5,), (3,)), {"right": True}), (((0,), (2,)), {})), "biuf", (SORTED, ANY)),
    "bucketize": Case(lambda v, s, right=False: np.searchsorted(s, v, "right" if right else "left"), calls(
        (((2, 3), (5,)), {}), (((3,), (5,)), {"right": True})), "biuf", (ANY, SORTED),
        refused=((Call(((3,), (2, 2))), ValueError),)),
    "isin": Case(lambda x, t, invert=False: np.isin(x, t, invert=invert), calls((((2, 3), (4,)), {}), (((), (2, 2)), {"invert": True}))),
    "bincount": Case(lambda x, minlength=0: np.bincount(x.astype("int64"), minlength=minlength), calls(
        (((6,),), {}), (((3,),), {"minlength": 9}), (((0,),), {})), "iu", (within(0.0, 1.0, (0, 5)),)),
    "histogram": Case(lambda x, bins, **bounds: np.histogram(x, bins, (bounds["min"], bounds["max"]))[0], calls(
        (((2, 3),), {"bins": 4, "min": -3.0, "max": 3.0}), (((),), {"bins": 2, "min": -4.0, "max": 5.0})), "biuf"),
    "histogram_bin_edges": Case(lambda x, bins, **bounds: np.linspace(bounds["min"], bounds["max"], bins + 1, dtype="float32"), calls(
        (((2, 3),), {"bins": 4, "min": -3.0, "max": 3.0})), "biuf"),
    "diagonal": view(lambda x, offset=0, axis1=0, axis2=1: x.diagonal(offset, axis1, axis2), [
        ((3, 3), {}), ((2, 3), {"offset": 1}), ((2, 3, 2), {"offset": -1, "axis1": 1, "axis2": 2}), ((0, 3), {})],
        refused=[(((3,), {}), IndexError), (((2, 2), {"axis1": 2}), IndexError)]),
    "expand": Case(expand, calls((((2, 1),), {"shape": [2, 3]}), (((3,),), {"shape": [2, -1]}), (((),), {"shape": [2, 2]}),
                                 (((1, 2),), {"shape": [0, 2]})), refused=((Call(((2, 3),), {"shape": [2, 4]}), ValueError),)),
    # ---- writing
    "scatter": Case(scatter, calls((((4, 2), (3,), (3, 2)), {}), (((4,), (4,), (4,)), {"overwrite": False}), (((3, 2), (0,), (0, 2)), {})),
                    "biufc", (ANY, index(3), ANY), fixed=(1,), refused=((Call(((4, 2), (3,), (3, 3))), ValueError),)),
    "scatter_nd_add": Case(scatter_nd_add, calls(
        (((4, 2), (3, 1), (3, 2)), {}), (((3, 3), (5, 2), (5,)), {})), "biufc", (ANY, index(3), ANY), fixed=(1,),
        refused=((Call(((4, 2), (3, 1), (3,))), ValueError),)),
    "index_add": Case(index_add, calls((((4, 2), (3,), (3, 2)), {"axis": 0}), (((2, 4), (5,), (2, 5)), {"axis": 1, "alpha": 2}),
                                       (((2, 4), (0,), (2, 0)), {"axis": -1})), "iufc", (ANY, index(4), ANY), fixed=(1,),
                      refused=((Call(((4, 2), (3,), (3, 3)), {"axis": 0}), ValueError),
                               (Call(((4, 2), (3,), (3, 2)), {"axis": 2}), IndexError))),
    "index_fill": Case(index_fill, calls((((4, 2), (3,), ()), {"axis": 0}), (((2, 4), (2,), ()), {"axis": -1})), "biufc",
                       (ANY, index(4), ANY), fixed=(1,), refused=((Call(((4, 2), (3,), (2,)), {"axis": 0}), ValueError),)),
    "masked_fill": Case(lambda x, mask, value: np.where(mask, value, x), shapes(
        ((2, 3), (2, 3), ()), ((2, 3), (3,), ()), ((), (), ()), ((0, 3), (3,), ())), domains=(ANY, BITS, ANY), fixed=(1,),
        refused=((Call(((2, 3), (2,), ())), ValueError),)),
    "masked_scatter": Case(masked_scatter, shapes(((2, 3), (2, 3), (6,)), ((4,), (4,), (2, 3)), ((0,), (0,), (1,))),
                           domains=(ANY, BITS, ANY), fixed=(1,),
                           refused=((Call(((2, 3), (2, 3), (1,)), domains=(ANY, lambda *_: np.ones((2, 3), bool), ANY)), ValueError),)),
    "put_along_axis": Case(lambda x, at, values, axis, reduce="assign": put(x, at, values, axis, reduce), calls(
        (((4, 3), (2, 3), (2, 3)), {"axis": 0}), (((2, 4), (2, 5), (2, 5)), {"axis": 1, "reduce": "add"}),
        (((4,), (3,), (3,)), {"axis": -1})), "biufc", (ANY, index(4), ANY), fixed=(1,),
        refused=((Call(((4, 3), (2, 3), (2, 3)), {"axis": 2}), IndexError),)),
    "index_put": Case(index_put, calls(
        (((4, 3), (2, 3)), {"indices": (np.array([3, 0]),)}), (((4, 3), (3,)), {"indices": (np.array([1, 1, 2]), np.array([0, 0, -1]))}),
        (((3, 3), (4,)), {"indices": (np.array([0, 0, 2, 0]), np.array([1, 1, 2, 1])), "accumulate": True}),
        (((2, 3), ()), {"indices": (np.array([[True, False, True], [False, False, True]]),)})),
        refused=tuple((Call(((4, 3), (2, 3)), {"indices": bad}), error) for bad, error in (
            ((np.array([4, 0]),), IndexError), ((np.array([0, 1, 2]),), ValueError), ((np.array([0.5, 1.0]),), TypeError),
            ((slice(None),), TypeError)))),
    # ---- rows without a public name
    "reduce_along_axis": Case(lambda x, at, values, axis, reduce: combined(x, at, values, axis, reduce), calls(
        (((4, 3), (2, 3), (2, 3)), {"axis": 0, "reduce": "mul"}), (((2, 4), (2, 5), (2, 5)), {"axis": 1, "reduce": "amax"}),
        (((2, 4), (2, 3), (2, 3)), {"axis": 1, "reduce": "amin"})), "biufc", (NONZERO, index(4), NONZERO), fixed=(1,)),
    "round_decimals": Case(lambda x, decimals: x.copy() if x.dtype.kind == "b" else np.round(x, decimals), calls(
        (((2, 3),), {"decimals": 1}), (((),), {"decimals": -1}), (((0, 3),), {"decimals": 2}))),
    "pad_constant": Case(lambda x, before, after, value=0.0: np.pad(x, list(zip(before, after, strict=True)), constant_values=value), calls(
        (((2, 3),), {"before": (1, 0), "after": (0, 2)}), (((3,),), {"before": (0,), "after": (1,), "value": 1.0}),
        (((0, 2),), {"before": (1, 1), "after": (1, 0)}))),
    "p_norm": Case(p_norm, calls(
        (((2, 3),), {}), (((2, 3),), {"p": 1.0, "axis": 0}), (((2, 2, 2),), {"p": 3.0, "axis": (0, 2), "keepdim": True}),
        (((2, 3),), {"p": math.inf, "axis": -1}), (((3,),), {"p": -2.0}), (((2, 3),), {"p": 0.5, "axis": 1})), "fc", (SEPARATE_NONZERO,)),
    # ---- of several results the first; of complex numbers only
    "frexp": unary(lambda x: np.frexp(as_float(x))[0], "biuf", NONZERO),
    "as_real": Case(lambda x: np.stack([x.real, x.imag], -1), ONE, "c"),
}

# Rows without a public name. They run below the public ones, whose derivatives (of order 2 and 3) go through them.
HIDDEN = {
    "sin_grad": "sin", "cos_grad": "cos", "tanh_grad": "tanh", "sigmoid_grad": "sigmoid", "relu_grad": "relu", "rsqrt_grad": "rsqrt",
    "sqrt_grad": "sqrt", "gelu_grad": "gelu", "gelu_tanh_grad": "gelu",
    "reciprocal_grad": "reciprocal", "square_grad": "square", "softmax_grad": "softmax", "log_softmax_grad": "log_softmax",
            "unreduce": "sum",
    "bessel_i": "i1", "bessel_ie": "i1e", "gamma_density": "gammainc", "gamma_moment": "gammainc", "sinc_slope": "sinc",
    # Of cross_entropy, in test_functional.
    "pick_in_rows": None, "put_in_rows": None,
    # Draws: in test_ops_elementwise.
    "uniform": None, "normal": None, "log_normal": None, "exponential": None, "cauchy": None, "geometric": None, "bernoulli": None,
    "random": None,
    "assign": "reshape", "scatter_sum": "gather", "reverse_axes": "t",
    # Tested with several results, in test_ops_linalg.
    "svd": None, "eig": None, "qr_factor": None, "eigh_lower": None, "lu_factor": None, "lstsq_solution": None,
    "cofactor": "det", "cofactor_slope": "det",
    # Tested with indexing, in test_indexing and test_views.
    "getitem": None, "pick": None, "setitem": None, "put": None, "view": None, "region_write": None,
    # Tested in test_custom_functions.
    "py_layer": None, "py_layer_grad": None,

}


# ---- arguments ---------------------------------------------------------------------------------------------------------------------------

def arrays_of(case: Case, call: Call, dtype: str, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng([seed, len(call.shapes), *map(len, call.shapes)])
    domains = call.domains or case.domains
    return [np.asarray(domains[i](rng, shape, dtype)) for i, shape in enumerate(call.shapes)]


def transposed(a: np.ndarray) -> tuple[np.ndarray, Callable[[Any], Any]]:
    return a.T.copy("C"), lambda base: base.T


def strided(a):
    base = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    base[..., ::2] = a
    return base, lambda b: b[..., ::2]


def backward(a):
    back = (slice(None, None, -1),) * a.ndim
    return a[back].copy("C"), lambda b: b[back]


def inner(a):
    if a.ndim == 0:
        return np.array([0, a, 0]).astype(a.dtype), lambda b: b[1, ...]
    base = np.zeros((a.shape[0] + 2, *a.shape[1:]), a.dtype)
    base[1:-1] = a
    return base, lambda b: b[1:-1]


def plain(a):
    return a.copy(), None


# How an array lies in memory: the array to begin with, and the view of it that holds the values.
LAYOUTS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, Callable[[Any], Any] | None]]] = {
    "contiguous": plain, "transposed": transposed, "strided": strided, "negative": backward, "inner": inner,
}


def lies(a: np.ndarray, layout: str) -> tuple[np.ndarray, Callable[[Any], Any] | None]:
    return LAYOUTS[layout if a.ndim or layout == "inner" else "contiguous"](a)


def layouts_of(n: int) -> Iterable[tuple[str, ...]]:
    """One layout for all operands, then mixtures."""
    for layout in LAYOUTS:
        yield (layout,) * n
    if n > 1:
        names = tuple(LAYOUTS)
        yield from ((names * n)[:n], (names[::-1] * n)[:n])
