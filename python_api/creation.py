"""Tensors from data, filled, spaced, or drawn at random. NumPy makes the values, `eager_core` the tensor."""
from __future__ import annotations

import contextlib
import functools
import math
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NoReturn, TypeGuard

import numpy as np

from eager_core import Tensor, tensor_from_array
from eager_core.array_kernels import random as _random_kernels
from eager_core.construction import filled_tensor, uninitialized_tensor
from eager_core.eager_api import register_reader
from eager_core.masked import is_masked_type, refuse_masked
from python_api import dtypes
from python_api.framework import as_dtype, check_constant, check_place, default_complex, default_float

__all__ = [
    "arange", "assign", "clone", "empty", "empty_like", "eye", "full", "full_like", "is_empty", "is_tensor", "linspace", "logspace",
    "normal", "numel", "ones", "ones_like", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "seed",
    "shape", "standard_normal", "to_tensor", "tolist", "uniform", "zeros", "zeros_like",
]

# What a user may pass: kept wide here, the functions check and name what they refuse.
DTypeLike = Any
ShapeLike = Any
Array = np.ndarray[Any, np.dtype[Any]]
DType = np.dtype[Any]

_MAX_NESTING = 64  # NumPy's limit of dimensions
_ZERO = {dtype: np.zeros((), dtype) for dtype in dtypes.SUPPORTED}
_ONE = {dtype: np.ones((), dtype) for dtype in dtypes.SUPPORTED}


# ---- from data --------------------------------------------------------------------------------------------------------------------

def to_tensor(data: Any, dtype: DTypeLike = None, place: Any = None, stop_gradient: bool = True) -> Tensor:
    """Make a tensor that holds a copy of the data.

    Parameters
    ----------
    data : Tensor, numpy.ndarray, number, or nested list or tuple of these
        Anything else that is a sequence or buffer of numbers for NumPy is accepted, too; masked arrays are not.
    dtype : numpy.dtype, str or type, optional
        When absent: an ndarray, NumPy scalar or Tensor keeps its own. Python ints give int64, bools bool, floats the default dtype (see
        `set_default_dtype`), complex numbers complex64, or complex128 if the default is float64. A list takes the dtype of its highest
        kind; floating-point and complex elements then take the default, NumPy ones included, but Tensors in a list keep their precision.
    place : None, "cpu" or CPUPlace
    stop_gradient : bool
        False makes a leaf that gradients are collected for; this needs a floating-point or complex dtype.

    Returns
    -------
    Tensor
        Shape of the data, version 0. It is a constant or a leaf: no gradient flows to tensors in `data`.

    Raises
    ------
    TypeError
        `data` is not numeric (str, None, dict, object, ...) or a masked array, or a dtype is not
        supported (float16, ...), or complex data are to be real.
    ValueError
        A list is ragged; a Python int does not fit the dtype; `place` is another device; ``stop_gradient=False`` for integers or bools.
    """
    if not isinstance(stop_gradient, bool | np.bool_):
        raise TypeError(f"(InvalidType) to_tensor(): stop_gradient must be bool, but got {type(stop_gradient).__name__}")
    check_place(place, "to_tensor")
    wanted = None if dtype is None else as_dtype(dtype, "to_tensor")
    if isinstance(data, Tensor):
        array = _array_of(data)
    elif isinstance(data, np.ndarray | np.generic):
        refuse_masked(data, "to_tensor(): argument 'data'")
        array = np.asarray(data)
    else:
        return _wrap(_from_python(data, wanted, "to_tensor"), bool(stop_gradient))
    return _wrap(_cast(array, wanted, "to_tensor"), bool(stop_gradient))


def copy_of_array(array: Array, caller: str) -> Tensor:
    """Return a constant with an array's elements and dtype; the caller is named if the library does not have it."""
    return _wrap(_cast(array, None, caller))


def assign(x: Any, output: Tensor | None = None) -> Tensor:
    """Copy `x`, into `output` if that is given.

    Parameters
    ----------
    x : Tensor, or anything that `to_tensor` takes
    output : Tensor, optional
        Written in place: a recorded in-place operator, with its leaf check; `x` is broadcast to its shape and takes its dtype.

    Returns
    -------
    Tensor
        `output` itself, or a copy through which gradients flow to the Tensor `x`. Data get the dtype that `to_tensor` gives them.

    Raises
    ------
    TypeError
        `output` is not a Tensor, or `x` is not numeric.
    ValueError
        The shapes do not fit, or `output` is a leaf that requires gradient.
    """
    if output is None:
        return x.clone() if isinstance(x, Tensor) else to_tensor(x)
    if not isinstance(output, Tensor):
        raise TypeError(f"(InvalidType) assign(): argument 'output' must be Tensor or None, but got {type(output).__name__}")
    return output.copy_(x if isinstance(x, Tensor) else to_tensor(x, dtype=output.dtype))


def clone(x: Tensor, name: str | None = None) -> Tensor:
    """Return a copy of `x` that gradients flow through. `name` has no effect."""
    _check_tensor(x, "x", "clone")
    return x.clone()


def is_tensor(x: Any) -> TypeGuard[Tensor]:
    """Return whether `x` is a Tensor."""
    return isinstance(x, Tensor)


def numel(x: Tensor, name: str | None = None) -> Tensor:
    """Return the number of elements as a 0-d int64 Tensor. `name` has no effect."""
    _check_tensor(x, "x", "numel")
    return to_tensor(int(x.size))


def is_empty(x: Tensor, name: str | None = None) -> Tensor:
    """Return whether there is no element, as a 0-d bool Tensor. `name` has no effect."""
    _check_tensor(x, "x", "is_empty")
    return to_tensor(x.size == 0)


def tolist(x: Tensor) -> Any:
    """Return the elements as nested lists of Python numbers."""
    _check_tensor(x, "x", "tolist")
    return x.tolist()


def shape(input: Tensor) -> Tensor:
    """Return the lengths of the axes as an int64 Tensor of shape (ndim,)."""
    _check_tensor(input, "input", "shape")
    return to_tensor(np.array(input.shape, dtype=np.int64))


# ---- filled and spaced ------------------------------------------------------------------------------------------------------------

def zeros(shape: ShapeLike, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Make a tensor of zeros.

    Parameters
    ----------
    shape : int, list or tuple of int, or integer Tensor or ndarray
        An int or a 0-d Tensor means one axis; elements of a list may be 0-d Tensors.
    dtype : numpy.dtype, str or type, optional
        The default dtype if absent.
    name : str, optional
        No effect.

    Raises
    ------
    TypeError
        The shape is not made of integers, or the dtype is not supported.
    ValueError
        A length is negative.
    """
    return filled_tensor(_shape_of(shape, "zeros"), _ZERO[_dtype_or_default(dtype, "zeros")])


def ones(shape: ShapeLike, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Make a tensor of ones. Parameters and errors are those of `zeros`."""
    return filled_tensor(_shape_of(shape, "ones"), _ONE[_dtype_or_default(dtype, "ones")])


def empty(shape: ShapeLike, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Make a tensor of arbitrary content. Parameters and errors are those of `zeros`."""
    return uninitialized_tensor(_shape_of(shape, "empty"), _dtype_or_default(dtype, "empty"))


def full(shape: ShapeLike, fill_value: Any, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Make a tensor filled with one value.

    Parameters
    ----------
    shape : int, list or tuple of int, or integer Tensor or ndarray
    fill_value : number or one-element Tensor
    dtype : numpy.dtype, str or type, optional
        If absent: bool for a bool, the default complex dtype for a complex number, the default dtype for any other, ints included.
    name : str, optional
        No effect.

    Raises
    ------
    TypeError
        The value is not a number, or is complex and the dtype is not; the shape or dtype is not one.
    ValueError
        The value does not fit the dtype, or a length is negative.
    """
    value = _number(fill_value, "fill_value", "full")
    if dtype is not None:
        wanted = as_dtype(dtype, "full")
    elif isinstance(value, bool):
        wanted = dtypes.bool
    else:
        wanted = default_complex() if isinstance(value, complex) else default_float()
    return filled_tensor(_shape_of(shape, "full"), _element(value, wanted, "full"))


def arange(start: Any = 0, end: Any = None, step: Any = 1, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Make evenly spaced values in the half-open interval [start, end).

    Parameters
    ----------
    start, end, step : number or one-element Tensor
        With `end` absent, the interval is [0, start).
    dtype : numpy.dtype, str or type, optional
        If absent: int64 when all three are integers, else the default dtype.
    name : str, optional
        No effect.

    Returns
    -------
    Tensor, shape (ceil((end - start) / step),)
        Computed in double precision (in int64 if all is integer) and then rounded to `dtype`. Empty if `step` leads away from `end`.

    Raises
    ------
    ValueError
        `step` is zero, or an argument is not finite.
    TypeError
        An argument is not a real number, or the dtype is bool or complex.
    """
    if end is None:
        start, end = 0, start
    first, last, stride = (_real_number(value, name, "arange") for name, value in (("start", start), ("end", end), ("step", step)))
    all_int = isinstance(first, int) and isinstance(last, int) and isinstance(stride, int)
    wanted = as_dtype(dtype, "arange") if dtype is not None else dtypes.int64 if all_int else default_float()
    _check_kind(wanted, "uif", "arange")
    if not all(map(math.isfinite, (first, last, stride))):
        raise ValueError("(InvalidArgument) arange(): start, end and step must be finite")
    if stride == 0:
        raise ValueError("(InvalidArgument) arange(): step must not be zero")
    try:
        values = np.arange(first, last, stride, dtype=np.int64 if all_int else np.float64)
    except OverflowError as error:
        raise ValueError(f"(InvalidArgument) arange(): {error}") from None
    return _wrap(_cast(values, wanted, "arange"))


def linspace(start: Any, stop: Any, num: Any, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Make `num` evenly spaced values from `start` to `stop`, both included.

    Parameters
    ----------
    start, stop : number or one-element Tensor
    num : int or one-element integer Tensor
    dtype : numpy.dtype, str or type, optional
        The default dtype if absent. For an integer dtype the values are cut towards zero.
    name : str, optional
        No effect.

    Returns
    -------
    Tensor, shape (num,)

    Raises
    ------
    TypeError
        `num` is not an integer, an end is not a real number, or the dtype is bool or complex.
    ValueError
        `num` is negative.
    """
    first, last = _real_number(start, "start", "linspace"), _real_number(stop, "stop", "linspace")
    count = _length(num, "num", "linspace")
    wanted = _dtype_or_default(dtype, "linspace")
    _check_kind(wanted, "uif", "linspace")
    return _wrap(_cast(np.linspace(first, last, count, dtype=np.float64), wanted, "linspace"))


def logspace(start: Any, stop: Any, num: Any, base: Any = 10.0, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Make `num` powers of `base`, their exponents evenly spaced from `start` to `stop`, both included.

    Parameters
    ----------
    base : number or one-element Tensor
        The other parameters, and the errors, are those of `linspace`.
    """
    first, last = _real_number(start, "start", "logspace"), _real_number(stop, "stop", "logspace")
    factor, count = _real_number(base, "base", "logspace"), _length(num, "num", "logspace")
    wanted = _dtype_or_default(dtype, "logspace")
    _check_kind(wanted, "uif", "logspace")
    return _wrap(_cast(np.logspace(first, last, count, base=factor, dtype=np.float64), wanted, "logspace"))


def eye(num_rows: Any, num_columns: Any = None, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Make a matrix with ones on the diagonal and zeros elsewhere.

    Parameters
    ----------
    num_rows, num_columns : int or one-element integer Tensor
        As many columns as rows if absent.
    dtype : numpy.dtype, str or type, optional
        The default dtype if absent.
    name : str, optional
        No effect.

    Raises
    ------
    TypeError
        A length is not an integer.
    ValueError
        A length is negative.
    """
    rows = _length(num_rows, "num_rows", "eye")
    columns = rows if num_columns is None else _length(num_columns, "num_columns", "eye")
    return _wrap(np.eye(rows, columns, dtype=_dtype_or_default(dtype, "eye")))


def zeros_like(x: Tensor, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Make a constant tensor of zeros, of the shape and (unless given) dtype of `x`. TypeError if `x` is not a Tensor."""
    lengths, wanted = _layout_of(x, dtype, "zeros_like")
    return filled_tensor(lengths, _ZERO[wanted])


def ones_like(x: Tensor, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Make a constant tensor of ones, of the shape and (unless given) dtype of `x`. TypeError if `x` is not a Tensor."""
    lengths, wanted = _layout_of(x, dtype, "ones_like")
    return filled_tensor(lengths, _ONE[wanted])


def empty_like(x: Tensor, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Make a constant tensor of arbitrary content, of the shape and (unless given) dtype of `x`. TypeError if `x` is not a Tensor."""
    return uninitialized_tensor(*_layout_of(x, dtype, "empty_like"))


def full_like(x: Tensor, fill_value: Any, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Make a constant tensor filled with one value, of the shape and (unless given) dtype of `x`.

    Raises
    ------
    TypeError
        `x` is not a Tensor, `fill_value` is not a number, or it is complex and the dtype is not.
    ValueError
        The value does not fit the dtype.
    """
    lengths, wanted = _layout_of(x, dtype, "full_like")
    return filled_tensor(lengths, _element(_number(fill_value, "fill_value", "full_like"), wanted, "full_like"))


# ---- random -----------------------------------------------------------------------------------------------------------------------

class _Replay(threading.local):
    """The generator that this thread draws from while it repeats a computation, instead of the common one."""

    generator: np.random.Generator | None = None


class _Random:
    """The generator behind all random functions: made at first use, as numpy.random is slow to import; one user at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generator: np.random.Generator | None = None
        self._replay = _Replay()

    def seed(self, value: int | None) -> None:
        generator = np.random.default_rng(value)
        if self._replay.generator is not None:
            self._replay.generator = generator
            return
        with self._lock:
            self._generator = generator

    def draw(self, make: Callable[[np.random.Generator], Array]) -> Array:
        if self._replay.generator is not None:
            return make(self._replay.generator)
        with self._lock:
            if self._generator is None:
                self._generator = np.random.default_rng()
            return make(self._generator)

    def copy(self) -> np.random.Generator:
        """Return a generator that will give the numbers that this thread is about to draw."""
        if self._replay.generator is not None:
            return deepcopy(self._replay.generator)
        with self._lock:
            if self._generator is None:
                self._generator = np.random.default_rng()
            return deepcopy(self._generator)

    @contextlib.contextmanager
    def replay(self, generator: np.random.Generator | None) -> Iterator[None]:
        """Let this thread alone draw from a copy of `generator`; nothing is done for None. The common one stays where it is."""
        before = self._replay.generator
        if generator is not None:
            self._replay.generator = deepcopy(generator)
        try:
            yield
        finally:
            self._replay.generator = before


_random = _Random()
draw = _random.draw
_random_kernels.source = draw               # for the random in-place operators


def seed(seed: int) -> None:
    """Start the random numbers of all threads anew, from a seed that gives the same ones every time.

    Parameters
    ----------
    seed : int, not negative

    Raises
    ------
    TypeError
        Not an integer.
    ValueError
        Negative.
    """
    _random.seed(_length(seed, "seed", "seed"))


def rand(shape: ShapeLike, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Draw from the uniform distribution over [0, 1).

    Parameters
    ----------
    shape : int, list or tuple of int, or integer Tensor or ndarray
    dtype : float32 or float64, optional
        The default dtype if absent.
    name : str, optional
        No effect.

    Raises
    ------
    TypeError
        The shape is not made of integers, or the dtype is not floating point.
    ValueError
        A length is negative.
    """
    return _uniform(_shape_of(shape, "rand"), _dtype_or_default(dtype, "rand"), 0.0, 1.0, 0, "rand")


def uniform(
    shape: ShapeLike, dtype: DTypeLike = None, min: Any = 0.0, max: Any = 1.0, seed: int = 0, name: str | None = None
) -> Tensor:
    """Draw from the uniform distribution over [min, max).

    Parameters
    ----------
    shape : int, list or tuple of int, or integer Tensor or ndarray
    dtype : float32 or float64, optional
        The default dtype if absent.
    min, max : number or one-element Tensor
        If equal, every value is `min`.
    seed : int
        Not zero: draw from this seed instead of the common generator, which then stays where it is.
    name : str, optional
        No effect.

    Raises
    ------
    TypeError
        The shape is not made of integers, or the dtype is not floating point, or a bound is not a real number.
    ValueError
        A length is negative, a bound is not finite, or `min` exceeds `max`.
    """
    low, high = float(_real_number(min, "min", "uniform")), float(_real_number(max, "max", "uniform"))
    own_seed = _length(seed, "seed", "uniform")
    return _uniform(_shape_of(shape, "uniform"), _dtype_or_default(dtype, "uniform"), low, high, own_seed, "uniform")


def standard_normal(shape: ShapeLike, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Draw from the normal distribution of mean 0 and variance 1.

    Parameters
    ----------
    shape : int, list or tuple of int, or integer Tensor or ndarray
    dtype : float32, float64, complex64 or complex128, optional
        The default dtype if absent. Real and imaginary parts of a complex number have variance 1/2 each.
    name : str, optional
        No effect.

    Raises
    ------
    TypeError
        The shape is not made of integers, or the dtype is neither floating point nor complex.
    ValueError
        A length is negative.
    """
    return _wrap(_standard_normal(_shape_of(shape, "standard_normal"), _dtype_or_default(dtype, "standard_normal"), "standard_normal"))


def randn(shape: ShapeLike, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Draw from the normal distribution of mean 0 and variance 1. The same as `standard_normal`."""
    return _wrap(_standard_normal(_shape_of(shape, "randn"), _dtype_or_default(dtype, "randn"), "randn"))


def normal(mean: Any = 0.0, std: Any = 1.0, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """Draw from a normal distribution.

    Parameters
    ----------
    mean, std : number or Tensor
        Tensors are broadcast against each other; gradients flow to them.
    shape : int, list or tuple of int, or integer Tensor or ndarray, optional
        Needed if both are numbers; otherwise, if given, it must be the broadcast shape.
    name : str, optional
        No effect.

    Returns
    -------
    Tensor
        Of the default dtype if both are numbers, else of the Tensors' dtype.

    Raises
    ------
    ValueError
        `std` has a negative element, the shape is missing or another one, or the shapes do not broadcast.
    TypeError
        A Tensor is not floating point, or something is neither a number nor a Tensor.
    """
    tensors = [each for each in (mean, std) if isinstance(each, Tensor)]
    center = mean if isinstance(mean, Tensor) else float(_real_number(mean, "mean", "normal"))
    spread = std if isinstance(std, Tensor) else float(_real_number(std, "std", "normal"))
    if bool((_array_of(spread) < 0).any()) if isinstance(spread, Tensor) else spread < 0:
        raise ValueError("(InvalidArgument) normal(): std must not be negative")
    given = None if shape is None else _shape_of(shape, "normal")
    if not tensors:
        if given is None:
            raise ValueError("(InvalidArgument) normal(): shape is needed when mean and std are numbers")
        return _wrap(np.asarray(center + spread * _standard_normal(given, default_float(), "normal")))
    for tensor in tensors:
        _check_kind(tensor.dtype, "f", "normal")
    try:
        lengths = np.broadcast_shapes(*(tuple(tensor.shape) for tensor in tensors))
    except ValueError as error:
        raise ValueError(f"(InvalidArgument) normal(): {error}") from None
    if given is not None and given != lengths:
        raise ValueError(f"(InvalidArgument) normal(): shape is {list(given)}, but mean and std have {list(lengths)}")
    noise = _wrap(_standard_normal(lengths, np.result_type(*(tensor.dtype for tensor in tensors)), "normal"))
    return noise * spread + center


def randint(
    low: Any = 0, high: Any = None, shape: ShapeLike = (1,), dtype: DTypeLike = None, name: str | None = None
) -> Tensor:
    """Draw integers uniformly from [low, high), or from [0, low) if `high` is absent.

    Parameters
    ----------
    low, high : int or one-element integer Tensor
    shape : int, list or tuple of int, or integer Tensor or ndarray
    dtype : an integer dtype, optional
        int64 if absent.
    name : str, optional
        No effect.

    Raises
    ------
    ValueError
        The interval is empty, or does not fit the dtype, or a length is negative.
    TypeError
        A bound is not an integer, or the dtype is not an integer one.
    """
    wanted = dtypes.int64 if dtype is None else as_dtype(dtype, "randint")
    _check_kind(wanted, "ui", "randint")
    return _wrap(_integers(low, high, _shape_of(shape, "randint"), wanted, "randint"))


def randint_like(x: Tensor, low: Any = 0, high: Any = None, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Draw integers as `randint` does, in the shape and (unless given) dtype of `x`, which may be floating point or bool here."""
    lengths, wanted = _layout_of(x, dtype, "randint_like")
    drawn = _integers(low, high, lengths, wanted if wanted.kind in "ui" else dtypes.int64, "randint_like")
    return _wrap(drawn.astype(wanted, copy=False))


def rand_like(x: Tensor, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Draw as `rand` does, in the shape and (unless given) dtype of `x`."""
    lengths, wanted = _layout_of(x, dtype, "rand_like")
    return _uniform(lengths, wanted, 0.0, 1.0, 0, "rand_like")


def randn_like(x: Tensor, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Draw as `randn` does, in the shape and (unless given) dtype of `x`."""
    return _wrap(_standard_normal(*_layout_of(x, dtype, "randn_like"), "randn_like"))


def randperm(n: Any, dtype: DTypeLike = "int64", name: str | None = None) -> Tensor:
    """Return the integers 0 to n - 1 in random order.

    Parameters
    ----------
    n : int or one-element integer Tensor
    dtype : an integer or floating-point dtype
    name : str, optional
        No effect.

    Raises
    ------
    ValueError
        `n` is negative.
    TypeError
        `n` is not an integer, or the dtype is bool or complex.
    """
    count = _length(n, "n", "randperm")
    wanted = as_dtype(dtype, "randperm")
    _check_kind(wanted, "uif", "randperm")
    return _wrap(_cast(_random.draw(lambda generator: generator.permutation(count)), wanted, "randperm"))


def _uniform(lengths: tuple[int, ...], dtype: DType, low: float, high: float, own_seed: int, caller: str) -> Tensor:
    _check_kind(dtype, "f", caller)
    if not (math.isfinite(low) and math.isfinite(high)) or low > high:
        raise ValueError(f"(InvalidArgument) {caller}(): min must not exceed max and both must be finite, but got {low} and {high}")

    def make(generator: np.random.Generator) -> Array:
        return np.asarray(generator.random(lengths, dtype=dtype.type))

    values = make(np.random.default_rng(own_seed)) if own_seed else _random.draw(make)
    if (low, high) != (0.0, 1.0):
        values = low * (1 - values) + high * values  # unlike low + (high - low) * values, this cannot overflow
        # Rounding can reach `high`, which is outside; if the bounds are equal there is nothing between them.
        bound = dtype.type(high)
        below = np.nextafter(bound, dtype.type(low))
        values = np.clip(values, dtype.type(low), below)
    return _wrap(np.asarray(values, dtype=dtype))


def _standard_normal(lengths: tuple[int, ...], dtype: DType, caller: str) -> Array:
    _check_kind(dtype, "fc", caller)
    if dtype.kind == "f":
        return _random.draw(lambda generator: np.asarray(generator.standard_normal(lengths, dtype=dtype.type)))
    parts = _random.draw(lambda generator: generator.standard_normal((*lengths, 2)))
    return np.asarray((parts[..., 0] + 1j * parts[..., 1]) * math.sqrt(0.5), dtype=dtype)


def _integers(low: Any, high: Any, lengths: tuple[int, ...], dtype: DType, caller: str) -> Array:
    first, last = _integer(low, "low", caller), None if high is None else _integer(high, "high", caller)
    if last is None:
        first, last = 0, first
    if first >= last:
        raise ValueError(f"(InvalidArgument) {caller}(): low must be less than high, but got {first} and {last}")
    limits = np.iinfo(dtype)
    if first < limits.min or last - 1 > limits.max:
        raise ValueError(f"(InvalidArgument) {caller}(): [{first}, {last}) does not fit {dtype.name}")
    return _random.draw(lambda generator: np.asarray(generator.integers(first, last, lengths, dtype=dtype.type)))


# ---- arguments --------------------------------------------------------------------------------------------------------------------

def _wrap(array: Array, stop_gradient: bool = True) -> Tensor:
    """Make a tensor of an array: the one place that does."""
    return tensor_from_array(array, stop_gradient)


def _array_of(tensor: Tensor) -> Array:
    array: Array = tensor.numpy()
    return array


def _check_tensor(x: Any, name: str, caller: str) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"(InvalidType) {caller}(): argument '{name}' must be Tensor, but got {type(x).__name__}")


def _check_kind(dtype: DType, kinds: str, caller: str) -> None:
    if dtype.kind not in kinds:
        allowed = ", ".join(each.name for each in dtypes.SUPPORTED if each.kind in kinds)
        raise TypeError(f"(InvalidType) {caller}(): dtype {dtype.name} is not supported here. Supported: {allowed}")


def _dtype_or_default(dtype: DTypeLike, caller: str) -> DType:
    return default_float() if dtype is None else as_dtype(dtype, caller)


def _layout_of(x: Tensor, dtype: DTypeLike, caller: str) -> tuple[tuple[int, ...], DType]:
    _check_tensor(x, "x", caller)
    return tuple(x.shape), x.dtype if dtype is None else as_dtype(dtype, caller)


def _number(value: Any, name: str, caller: str) -> bool | int | float | complex:
    """Return a Python number from a number, NumPy scalar, or one-element Tensor or ndarray."""
    if isinstance(value, Tensor | np.ndarray):
        refuse_masked(value, f"{caller}(): {name}")
        if value.size != 1:
            raise ValueError(f"(InvalidArgument) {caller}(): {name} must have one element, but its shape is {list(value.shape)}")
        check_constant(value, name, caller)
        value = value.item()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float | complex):
        return value
    raise TypeError(f"(InvalidType) {caller}(): {name} must be a number or a one-element Tensor, but got {type(value).__name__}")


def _real_number(value: Any, name: str, caller: str) -> int | float:
    number = _number(value, name, caller)
    if isinstance(number, complex):
        raise TypeError(f"(InvalidType) {caller}(): {name} must be real, but got {number}")
    return number + 0  # a bool becomes an int


def _integer(value: Any, name: str, caller: str) -> int:
    if isinstance(value, Tensor | np.ndarray):
        value = _number(value, name, caller)
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"(InvalidType) {caller}(): {name} must be int, but got {type(value).__name__}") from None


def _length(value: Any, name: str, caller: str) -> int:
    number = _integer(value, name, caller)
    if number < 0:
        raise ValueError(f"(InvalidArgument) {caller}(): {name} must not be negative, but got {number}")
    return number


def _shape_of(shape: ShapeLike, caller: str) -> tuple[int, ...]:
    """Return the lengths of axes from an int, a list or tuple, or a Tensor or ndarray of integers."""
    if isinstance(shape, Tensor | np.ndarray):
        refuse_masked(shape, f"{caller}(): shape")
        if shape.dtype.kind not in "ui" or shape.ndim > 1:
            raise TypeError(
                f"(InvalidType) {caller}(): shape must be a Tensor of integers with at most one axis, "
                f"but got {shape.dtype.name} with {shape.ndim} axes")
        shape = shape.tolist()
    items: Sequence[Any] = shape if isinstance(shape, list | tuple) else (shape,)
    lengths = []
    for position, item in enumerate(items):
        value = item
        if type(value) is int and value >= 0:
            lengths.append(value)
            continue
        if isinstance(value, Tensor | np.ndarray) and value.size == 1:
            refuse_masked(value, f"{caller}(): shape")
            value = value.item()
        try:
            if isinstance(value, bool | np.bool_):
                raise TypeError
            length = operator.index(value)
        except TypeError:
            where = f" at pos {position}" if items is shape else ""
            raise TypeError(
                f"(InvalidType) {caller}(): shape must be int, list or tuple of int, or Tensor, but got {type(value).__name__}{where}"
            ) from None
        if length < 0:
            raise ValueError(f"(InvalidArgument) {caller}(): a length in shape must not be negative, but got {list(items)}")
        lengths.append(length)
    return tuple(lengths)


def _element(value: bool | int | float | complex, dtype: DType, caller: str) -> Array:
    """Return a 0-d array of the dtype with the value in it, if that fits."""
    if isinstance(value, complex) and dtype.kind != "c":
        raise TypeError(f"(InvalidType) {caller}(): the complex number {value} cannot fill a tensor of dtype {dtype.name}")
    if dtype.kind in "ui" and not isinstance(value, complex):
        limits = np.iinfo(dtype)
        if not (math.isfinite(value) and limits.min <= math.trunc(value) <= limits.max):
            raise ValueError(f"(InvalidArgument) {caller}(): {value} does not fit {dtype.name}")
        value = math.trunc(value)
    try:
        with np.errstate(over="ignore"):
            return np.full((), value, dtype)
    except OverflowError:
        raise ValueError(f"(InvalidArgument) {caller}(): the int does not fit {dtype.name}") from None


# ---- values of Python objects -----------------------------------------------------------------------------------------------------

def _cast(array: Array, wanted: DType | None, caller: str) -> Array:
    """Return a numeric array in the wanted dtype, or in its own if the library has it."""
    if wanted is None:
        wanted = array.dtype.newbyteorder("=")
        if wanted not in dtypes.SUPPORTED:
            raise TypeError(f"(InvalidType) {caller}(): dtype {array.dtype} is not supported. Supported: {dtypes.NAMES}")
        return array.astype(wanted, copy=False)
    if array.dtype.kind not in "buifc":
        raise TypeError(f"(InvalidType) {caller}(): dtype {array.dtype} cannot be converted to {wanted.name}. Supported: {dtypes.NAMES}")
    if array.dtype.kind == "c" and wanted.kind not in "cb":
        raise TypeError(f"(InvalidType) {caller}(): {array.dtype} cannot be converted to {wanted.name} without losing its imaginary part")
    with np.errstate(over="ignore", invalid="ignore"):  # what does not fit becomes infinite or wraps, as in any conversion of arrays
        return array.astype(wanted, copy=False)


def _from_python(data: Any, wanted: DType | None, caller: str) -> Array:
    """Return the array of a Python number, a nested list, or anything else that NumPy can read."""
    kinds = _leaf_types(data, caller)
    tensor_inside = any(issubclass(kind, Tensor) for kind in kinds)
    if any(map(is_masked_type, kinds)):
        refuse_masked(data, f"{caller}(): argument 'data'")
    for kind in kinds:
        if not issubclass(kind, bool | int | float | complex | np.ndarray | np.generic | Tensor) and not _readable(kind):
            _refuse(kind, isinstance(data, list | tuple), caller)
    source = _without_tensors(data) if tensor_inside else data
    try:
        array = np.asarray(source)
    except ValueError as error:
        raise ValueError(
            f"(InvalidArgument) {caller}(): the nested lists are ragged, their lengths must agree on every axis ({error})") from None
    except (TypeError, OverflowError) as error:
        raise TypeError(f"(InvalidType) {caller}(): data of type {type(data).__name__} cannot be read: {error}") from None
    if kinds and all(issubclass(kind, int) for kind in kinds):
        # NumPy goes beyond int64 without a word, to uint64, float64 or object, and wraps what it converts.
        target = dtypes.int64 if wanted is None else wanted
        if array.dtype.kind == "O" or (array.dtype.kind != "b" and target.kind in "ui" and array.dtype != target):
            try:
                array = np.asarray(source, dtype=target)
            except OverflowError:
                raise ValueError(f"(InvalidArgument) {caller}(): a Python int does not fit {target.name}") from None
    return _cast(array, _default_for(array.dtype, data, tensor_inside) if wanted is None else wanted, caller)


def _default_for(dtype: DType, data: Any, tensor_inside: bool) -> DType | None:
    """Return what `dtype`, found by NumPy in Python data, becomes when the user did not ask for one."""
    if not isinstance(data, list | tuple | int | float | complex):
        return None  # a range, buffer or foreign array: its own dtype
    if tensor_inside:
        return _dtype_among_tensors(data)
    if dtype.kind == "f":
        return default_float()
    if dtype.kind == "c":
        return default_complex()
    return dtypes.int64 if dtype == dtypes.int32 else None


def _dtype_among_tensors(data: Any) -> DType:
    """Return the dtype of a list with Tensors in it: they keep their precision, Python numbers adapt to them as in any operator."""
    strong: set[DType] = set()
    weak: set[type] = set()

    def visit(item: Any) -> None:
        if isinstance(item, list | tuple):
            for each in item:
                visit(each)
        elif isinstance(item, Tensor | np.ndarray | np.generic):
            strong.add(item.dtype)
        else:
            weak.add(type(item))

    visit(data)
    result = np.result_type(*strong)
    if any(issubclass(kind, complex) for kind in weak) and result.kind != "c":
        return np.result_type(result, default_complex()) if result.kind == "f" else default_complex()
    if any(issubclass(kind, float) for kind in weak) and result.kind not in "fc":
        return default_float()
    if any(issubclass(kind, int) and kind is not bool for kind in weak) and result.kind == "b":
        return dtypes.int64
    return result


def _leaf_types(data: Any, caller: str, depth: int = 0) -> set[type]:
    """Collect the types of the elements of nested lists and tuples; goes over them at C speed."""
    if not isinstance(data, list | tuple):
        return {type(data)}
    if depth > _MAX_NESTING:
        raise ValueError(f"(InvalidArgument) {caller}(): lists are nested more than {_MAX_NESTING} deep")
    types = set(map(type, data))
    lists = {each for each in types if issubclass(each, list | tuple)}
    if lists:
        types -= lists
        for item in data:
            if type(item) in lists:
                types |= _leaf_types(item, caller, depth + 1)
    return types


def _without_tensors(data: Any) -> Any:
    if isinstance(data, Tensor):
        return _array_of(data)
    if isinstance(data, list | tuple):
        return [_without_tensors(item) for item in data]
    return data


def _readable(kind: type) -> bool:
    """Whether NumPy can read numbers from an object of this type other than the ones that are named in `_from_python`."""
    if issubclass(kind, str | bytes | bytearray | dict | set | frozenset):
        return False
    if issubclass(kind, range | memoryview) or kind.__module__ == "array":
        return True
    return hasattr(kind, "__array__") or hasattr(kind, "__array_interface__")


def _refuse(kind: type, nested: bool, caller: str) -> NoReturn:
    where = "a list that contains " if nested else ""
    raise TypeError(
        f"(InvalidType) {caller}(): can't construct a Tensor from {where}{kind.__name__}: "
        f"data must be a number, list, tuple, numpy.ndarray or Tensor of {dtypes.NAMES}")


register_reader(functools.partial(_from_python, wanted=None, caller="Tensor"))
