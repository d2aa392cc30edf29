"""Functions of neural networks, written with the library's own operators: differentiable to any order."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from eager_core import (
    Tensor,
    celu,
    elu,
    elu_,
    gelu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log,
    log_sigmoid,
    logsigmoid,
    mish,
    relu,
    relu6,
    relu_,
    selu,
    sigmoid,
    softmax_,
    softplus,
    softshrink,
    softsign,
    swish,
    tanh,
    tanh_,
    tanhshrink,
    tensor_from_array,
    thresholded_relu,
    thresholded_relu_,
)
from eager_core import gather as _gather
from eager_core import log_softmax as _log_softmax
from eager_core import matmul as _matmul
from eager_core import silu as _silu
from eager_core import silu_ as _silu_in_place
from eager_core import softmax as _softmax
from eager_core import take_along_axis as _take_along_axis
from eager_core import where as _where
from eager_core.gradient_helpers import OPS as _OPS
from python_api import creation, dtypes
from python_api.composite import on_tensors
from python_api.framework import as_dtype, check_constant
from python_api.manipulation import pad

__all__ = [
    "alpha_dropout", "celu", "cross_entropy", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "elu_", "feature_alpha_dropout",
    "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_",
    "linear", "log_sigmoid", "log_softmax", "logsigmoid", "maxout", "mish", "mse_loss", "pad", "prelu", "relu", "relu6", "relu_",
    "rrelu", "selu", "sigmoid", "silu", "softmax", "softmax_", "softplus", "softshrink", "softsign", "swiglu", "swish", "tanh", "tanh_",
    "tanhshrink", "thresholded_relu", "thresholded_relu_",
]


def softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """Return exp(x) / sum(exp(x)) along an axis.

    Parameters
    ----------
    x : Tensor, any shape, float32 or float64
    axis : int
    dtype : numpy.dtype, str or type, optional
        Convert `x` first.
    name : str, optional
        No effect.

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Raises
    ------
    TypeError
        `x` is not a floating-point Tensor.
    """
    return _softmax(_floating(x, "x", "softmax", dtype), axis)


def log_softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """Return ``x - log(sum(exp(x)))`` along an axis, computed without overflow. Parameters and errors are those of `softmax`."""
    return _log_softmax(_floating(x, "x", "log_softmax", dtype), axis)


_TENSOR_OR_NONE = (Tensor, type(None))


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """Return ``x @ weight + bias``.

    Parameters
    ----------
    x : Tensor, shape (..., in), float32 or float64
    weight : Tensor, shape (in, out)
    bias : Tensor, shape (out,), optional
    name : str, optional
        No effect.

    Returns
    -------
    Tensor, shape (..., out)

    Raises
    ------
    ValueError
        The shapes do not fit.
    """
    if type(x) is not Tensor or type(weight) is not Tensor or type(bias) not in _TENSOR_OR_NONE:
        _check_tensor(x, "x", "linear")
        _check_tensor(weight, "weight", "linear")
        if bias is not None:
            _check_tensor(bias, "bias", "linear")
    product = _matmul(x, weight)
    return product if bias is None else product + bias


@on_tensors
def mse_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Return the squared differences, their mean, or their sum.

    Parameters
    ----------
    input, label : Tensor, shapes that broadcast, float32 or float64
    reduction : {"mean", "sum", "none"}
    name : str, optional
        No effect.

    Returns
    -------
    Tensor
        0-d, or of the broadcast shape for ``"none"``.

    Raises
    ------
    ValueError
        The reduction is another one, or the shapes do not broadcast.
    """
    _check_reduction(reduction, "mse_loss")
    difference = input - label
    return _reduced(difference * difference, reduction)


def cross_entropy(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Return the cross entropy between class scores and labels.

    Parameters
    ----------
    input : Tensor, shape (..., C, ...), float32 or float64
        C scores on `axis`: logits, or probabilities if `use_softmax` is False.
    label : Tensor
        Classes: integers from 0 to C - 1, of the shape of `input` without `axis` or with length 1 there. Or, with `soft_label`, a
        probability for each class, in the shape of `input`.
    weight : Tensor, shape (C,), optional
        Factor for each class.
    ignore_index : int
        Samples of this class count nothing, in the mean neither. It may be outside 0 to C - 1.
    reduction : {"mean", "sum", "none"}
        The mean is weighted with `weight`; it is 0 if every sample is ignored and NaN if there is none.
    soft_label : bool
        See `label`.
    axis : int
        The axis of classes.
    use_softmax : bool
        Apply `log_softmax`, else the logarithm, to `input`.
    label_smoothing : float, 0 to 1
        Mix this share of the uniform distribution into the labels.
    name : str, optional
        No effect.

    Returns
    -------
    Tensor
        0-d. For ``"none"``: of the shape of `label`, with length 1 on `axis` if labels are soft or smoothed.

    Raises
    ------
    ValueError
        A label is out of range; shapes do not fit; the reduction or smoothing is not one; `ignore_index` with soft labels.
    TypeError
        `input` is not a floating-point Tensor, or labels are not of the kind that `soft_label` says.

    Notes
    -----
    PaddlePaddle divides by the number of all samples when the index to ignore is negative; here ignored samples never count.
    """
    _check_reduction(reduction, "cross_entropy")
    scores = _floating(input, "input", "cross_entropy")
    _check_tensor(label, "label", "cross_entropy")
    if weight is None and use_softmax and not soft_label and label_smoothing == 0.0 and axis == -1 and ignore_index < 0:
        loss = _class_loss(scores, label, reduction)
        if loss is not None:
            return loss
    if scores.ndim == 0:
        raise ValueError("(InvalidArgument) cross_entropy(): input must have an axis of classes, but it is 0-d")
    if not -scores.ndim <= axis < scores.ndim:
        raise ValueError(f"(InvalidArgument) cross_entropy(): axis {axis} is out of range for input of {scores.ndim} axes")
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"(InvalidArgument) cross_entropy(): label_smoothing must be between 0 and 1, but got {label_smoothing}")
    if soft_label and ignore_index >= 0:
        raise ValueError(f"(InvalidArgument) cross_entropy(): ignore_index has no meaning for soft labels, but got {ignore_index}")
    axis %= scores.ndim
    classes = scores.shape[axis]
    if weight is not None:
        _check_tensor(weight, "weight", "cross_entropy")
        if list(weight.shape) != [classes]:
            raise ValueError(f"(InvalidArgument) cross_entropy(): weight must have shape [{classes}], but it has {list(weight.shape)}")
        weight = weight if weight.dtype == scores.dtype else weight.astype(scores.dtype)
    log_p = _log_softmax(scores, axis) if use_softmax else log(scores)
    if soft_label:
        return _soft_cross_entropy(log_p, label, weight, reduction, axis, label_smoothing)

    codes, valid, squeezed = _classes(label, scores, ignore_index, axis)
    if label_smoothing > 0.0:
        one_hot = codes == np.arange(classes).reshape([-1 if i == axis else 1 for i in range(scores.ndim)])
        target = _constant(one_hot & valid, log_p.dtype)
        return _soft_cross_entropy(log_p, target, weight, reduction, axis, label_smoothing, valid)

    loss = -_take_along_axis(log_p, tensor_from_array(codes), axis)
    factors = None
    if weight is not None:
        factors = _gather(weight, tensor_from_array(codes.reshape(-1))).reshape(list(codes.shape))
        factors = _where(tensor_from_array(valid), factors, _constant(0, log_p.dtype))
        loss = loss * factors
    if not valid.all():
        # Selected, not multiplied: 0 times an infinite loss would be NaN.
        loss = _where(tensor_from_array(valid), loss, _constant(0, log_p.dtype))
    if reduction == "none":
        return loss.squeeze(axis) if squeezed else loss
    return _weighted(loss, factors, valid, reduction)


def _class_loss(scores: Tensor, label: Tensor, reduction: str) -> Tensor | None:
    """The hot case: one int64 class a row, all of which count. None where the general way has to look, which also tells what is wrong."""
    if label.ndim != scores.ndim - 1 or label.dtype != dtypes.int64:
        return None
    try:
        picked = _OPS["pick_in_rows"](_log_softmax(scores), label)
    except (IndexError, ValueError):
        return None
    return -_reduced(picked, reduction)


def _soft_cross_entropy(
    log_p: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    axis: int,
    smoothing: float,
    valid: np.ndarray[Any, np.dtype[np.bool_]] | None = None,
) -> Tensor:
    """Labels that give each class a probability; `valid`, of length 1 on `axis`, tells the samples that count."""
    if target.dtype.kind != "f":
        raise TypeError(f"(InvalidType) cross_entropy(): soft labels must be floating point, but got {target.dtype.name}")
    if list(target.shape) != list(log_p.shape):
        raise ValueError(
            f"(InvalidArgument) cross_entropy(): soft labels must have the shape of input, {list(log_p.shape)}, "
            f"but they have {list(target.shape)}")
    if target.dtype != log_p.dtype:
        target = target.astype(log_p.dtype)
    if smoothing > 0.0:
        target = target * (1.0 - smoothing) + smoothing / log_p.shape[axis]
    loss = -(target * log_p).sum(axis=axis, keepdim=True)
    factors = None
    if weight is not None:
        # As in the reference: a sample's factor is the mean of the class weights under its label.
        by_class = [-1 if i == axis else 1 for i in range(log_p.ndim)]
        factors = (target * weight.reshape(by_class)).sum(axis=axis, keepdim=True)
        loss = loss * factors
    if valid is not None and not valid.all():
        mask, zero = tensor_from_array(valid), _constant(0, log_p.dtype)
        loss = _where(mask, loss, zero)
        factors = None if factors is None else _where(mask, factors, zero)
    return _weighted(loss, factors, valid, reduction)


def _weighted(loss: Tensor, factors: Tensor | None, valid: np.ndarray[Any, np.dtype[np.bool_]] | None, reduction: str) -> Tensor:
    """Reduce losses that are zero where `valid` is False and already multiplied by `factors`."""
    if reduction != "mean" or loss.size == 0:
        return _reduced(loss, reduction)
    if factors is not None:
        total = factors.sum()
        return loss.sum() / total if total.item() != 0 else loss.sum()
    if valid is None or valid.all():
        return loss.mean()
    return loss.sum() * (1.0 / max(1, int(np.count_nonzero(valid))))


def _classes(
    label: Tensor, scores: Tensor, ignore_index: int, axis: int
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.bool_]], bool]:
    """Check class labels.

    Returns the classes with length 1 on `axis` and 0 for what is ignored, which ones count, and whether `label` has no such axis.
    """
    if label.dtype.kind not in "ui":
        raise TypeError(f"(InvalidType) cross_entropy(): class labels must be integers, but got {label.dtype.name}")
    classes = scores.shape[axis]
    with_axis = [1 if i == axis else length for i, length in enumerate(scores.shape)]
    without_axis = [length for i, length in enumerate(scores.shape) if i != axis]
    if list(label.shape) not in (with_axis, without_axis):
        raise ValueError(
            f"(InvalidArgument) cross_entropy(): for input of shape {list(scores.shape)} with classes on axis {axis}, "
            f"labels must have shape {without_axis} or {with_axis}, but they have {list(label.shape)}")
    given = label.numpy().reshape(with_axis)
    valid = given != ignore_index
    wrong = valid & ((given < 0) | (given >= classes))
    if wrong.any():
        raise ValueError(
            f"(InvalidArgument) cross_entropy(): label {given[wrong][0]} is out of range: "
            f"it must be from 0 to {classes - 1}, or {ignore_index} to be ignored")
    return np.where(valid, given, 0).astype(np.int64), valid, list(label.shape) != with_axis


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


def _constant(value: Any, dtype: np.dtype[Any]) -> Tensor:
    return tensor_from_array(np.asarray(value, dtype=dtype))


def _check_reduction(reduction: str, caller: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"(InvalidArgument) {caller}(): reduction must be 'sum', 'mean' or 'none', but got {reduction!r}")


def _check_tensor(x: Any, name: str, caller: str) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"(InvalidType) {caller}(): argument '{name}' must be Tensor, but got {type(x).__name__}")


def _floating(x: Tensor, name: str, caller: str, dtype: Any = None) -> Tensor:
    """`x` converted to `dtype` if one is given, and refused unless it is floating point."""
    _check_tensor(x, name, caller)
    wanted = x.dtype if dtype is None else as_dtype(dtype, caller)
    if wanted not in (dtypes.float32, dtypes.float64):
        raise TypeError(f"(InvalidType) {caller}(): {name} must be float32 or float64, but got {wanted.name}")
    return x if wanted == x.dtype else x.astype(wanted)


# ---- activations of several tensors, or with noise ------------------------------------------------------------------------------------

def silu(x: Tensor, inplace: bool = False, name: str | None = None) -> Tensor:
    """Return ``x * sigmoid(x)``; `inplace` writes it into `x`, a recorded write, and returns `x`."""
    _check_tensor(x, "x", "silu")
    return _silu_in_place(x) if inplace else _silu(x)


def prelu(x: Tensor, weight: Tensor, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Return `x` where it is positive, else `x` times a learnt slope.

    Parameters
    ----------
    x : Tensor, any shape, float32 or float64
    weight : Tensor, shape () or (1,) or (channels,)
        One slope, or one for each channel.
    data_format : str
        Channels are axis 1 if its second letter is C, as in ``"NCHW"``, else the last axis.
    name : str, optional
        No effect.

    Raises
    ------
    ValueError
        The shapes do not fit, or the format is not known.
    """
    x = _floating(x, "x", "prelu")
    _check_tensor(weight, "weight", "prelu")
    if weight.ndim > 1:
        raise ValueError(f"(InvalidArgument) prelu(): weight must have at most 1 axis, but has {weight.ndim}")
    if weight.size > 1:
        if data_format not in ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC"):
            raise ValueError(f"(InvalidArgument) prelu(): unknown data_format {data_format!r}")
        axis = 1 if data_format[1] == "C" else x.ndim - 1
        if x.ndim < 2 or x.shape[axis] != weight.size:
            raise ValueError(f"(InvalidArgument) prelu(): weight has {weight.size} elements, but x has shape {list(x.shape)}")
        weight = weight.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    elif weight.ndim == 1 and x.ndim == 0:
        weight = weight.reshape([])
    return _where(x > 0.0, x, x * weight)


def rrelu(x: Tensor, lower: float = 1.0 / 8.0, upper: float = 1.0 / 3.0, training: bool = True, name: str | None = None) -> Tensor:
    """Return `x` where it is not negative, else `x` times a slope: drawn evenly for each element when training, else the mean slope.

    Raises
    ------
    ValueError
        Not ``0 <= lower <= upper <= 1``.
    """
    x = _floating(x, "x", "rrelu")
    if not 0.0 <= lower <= upper <= 1.0:
        raise ValueError(f"(InvalidArgument) rrelu(): lower and upper must satisfy 0 <= lower <= upper <= 1, but are {lower} and {upper}")
    if not training:
        return _where(x >= 0.0, x, x * ((lower + upper) / 2.0))
    return _where(x >= 0.0, x, x * creation.uniform(x.shape, x.dtype, lower, upper))


def glu(x: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """Return ``a * sigmoid(b)`` for the halves a and b of `x` along an axis of even length."""
    x = _floating(x, "x", "glu")
    a, b = _halves(x, axis, "glu")
    return a * sigmoid(b)


@on_tensors
def swiglu(x: Tensor, y: Tensor | None = None, name: str | None = None) -> Tensor:
    """Return ``silu(x) * y``; without `y`, x and y are the halves of `x` along the last axis."""
    x = _floating(x, "x", "swiglu")
    if y is None:
        x, y = _halves(x, -1, "swiglu")
    return _silu(x) * y


def maxout(x: Tensor, groups: int, axis: int = 1, name: str | None = None) -> Tensor:
    """Return the largest of every `groups` neighbouring channels.

    Parameters
    ----------
    x : Tensor, shape (..., channels, ...)
    groups : int
        A divisor of the number of channels.
    axis : int
        The axis of channels.
    name : str, optional
        No effect.

    Raises
    ------
    ValueError
        The axis is out of range, or its length is not a multiple of `groups`.
    """
    x = _floating(x, "x", "maxout")
    axis = _axis(x, axis, "maxout")
    if groups < 1 or x.shape[axis] % groups:
        raise ValueError(f"(InvalidArgument) maxout(): {x.shape[axis]} channels cannot be divided into groups of {groups}")
    shape = list(x.shape)
    return x.reshape([*shape[:axis], shape[axis] // groups, groups, *shape[axis + 1:]]).max(axis=axis + 1)


def gumbel_softmax(x: Tensor, temperature: float = 1.0, hard: bool = False, axis: int = -1, name: str | None = None) -> Tensor:
    """Draw from the categorical distributions with logits `x`, softly, so that gradients flow.

    Parameters
    ----------
    x : Tensor, any shape, float32 or float64
    temperature : float, positive
        Low: nearly one-hot.
    hard : bool
        Return the one-hot vector, with the gradient of the soft one.
    axis : int
    name : str, optional
        No effect.
    """
    x = _floating(x, "x", "gumbel_softmax")
    if not temperature > 0:
        raise ValueError(f"(InvalidArgument) gumbel_softmax(): temperature must be positive, but got {temperature}")
    uniform = np.asarray(creation.uniform(x.shape, "float64").numpy())
    noise = -np.log(-np.log(np.clip(uniform, np.finfo(np.float64).tiny, 1.0 - 2.0 ** -53)))
    soft = _softmax((x + _constant(noise, x.dtype)) * (1.0 / temperature), axis)
    if not hard:
        return soft
    values = soft.numpy()
    if soft.ndim == 0 or not values.size:
        return soft
    one_hot = np.zeros_like(values)
    np.put_along_axis(one_hot, values.argmax(axis=axis, keepdims=True), 1, axis=axis)
    return soft + _constant(one_hot - values, x.dtype)


# ---- dropout --------------------------------------------------------------------------------------------------------------------------

def dropout(
    x: Tensor,
    p: float = 0.5,
    axis: int | Sequence[int] | None = None,
    training: bool = True,
    inplace: bool = False,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """Set elements to zero at random.

    Parameters
    ----------
    x : Tensor, any shape, float32 or float64
    p : float, 0 to 1
        Probability of zero.
    axis : int or sequence of int, optional
        Draw along these axes only; what lies at one place of them is kept or dropped together.
    training : bool
        Without it nothing is dropped.
    inplace : bool
        Write into `x`, a recorded write, and return `x`.
    mode : {"upscale_in_train", "downscale_in_infer"}
        Divide what is kept by 1 - p when training, or multiply by 1 - p when not training, so that the mean stays.
    name : str, optional
        No effect.

    Returns
    -------
    Tensor
        A new one (`x` itself if `inplace`).

    Raises
    ------
    ValueError
        `p` is no probability, the mode is not known, or an axis is out of range.
    """
    x = _floating(x, "x", "dropout")
    _check_probability(p, "dropout")
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise ValueError(f"(InvalidArgument) dropout(): mode must be 'upscale_in_train' or 'downscale_in_infer', but got {mode!r}")
    if training:
        if axis is None:
            lengths = list(x.shape)
        else:
            axes = {_axis(x, a, "dropout") for a in ([axis] if isinstance(axis, int) else axis)}
            lengths = [n if i in axes else 1 for i, n in enumerate(x.shape)]
        kept = _kept(lengths, p) * (1.0 if mode == "downscale_in_infer" else 0.0 if p == 1 else 1.0 / (1.0 - p))
        factor: Any = _constant(kept, x.dtype)
    else:
        factor = 1.0 if mode == "upscale_in_train" else 1.0 - p
    return x.multiply_(factor) if inplace else x * factor


@on_tensors
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of an input of shape (N, C, L) or (C, L)."""
    return _channel_dropout(input, p, training, (2, 3), input.ndim - 2, "dropout1d", inplace)


@on_tensors
def dropout2d(x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """`dropout` of whole channels of an input of four axes."""
    return _channel_dropout(x, p, training, (4,), _channels(data_format, ("NCHW", "NHWC"), "dropout2d"), "dropout2d")


@on_tensors
def dropout3d(x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCDHW", name: str | None = None) -> Tensor:
    """`dropout` of whole channels of an input of five axes."""
    return _channel_dropout(x, p, training, (5,), _channels(data_format, ("NCDHW", "NDHWC"), "dropout3d"), "dropout3d")


@on_tensors
def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> Tensor:
    """Set elements at random to the limit of `selu`, and scale so that mean and variance of its outputs stay."""
    return _alpha_dropout(x, p, training, list(x.shape), "alpha_dropout")


@on_tensors
def feature_alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> Tensor:
    """`alpha_dropout` of whole channels, axis 1."""
    if training and x.ndim < 2:
        raise ValueError(f"(InvalidArgument) feature_alpha_dropout(): x must have at least 2 axes, but has {x.ndim}")
    return _alpha_dropout(x, p, training, [n if i < 2 else 1 for i, n in enumerate(x.shape)], "feature_alpha_dropout")


def _alpha_dropout(x: Tensor, p: float, training: bool, lengths: list[int], caller: str) -> Tensor:
    x = _floating(x, "x", caller)
    _check_probability(p, caller)
    if not training:
        return x * 1.0
    if p == 1:
        return x * 0.0
    limit = -1.6732632423543772 * 1.0507009873554805
    scale = 1.0 / math.sqrt((1.0 - p) * (1.0 + p * limit ** 2))
    kept = _kept(lengths, p)
    return x * _constant(kept * scale, x.dtype) + _constant(np.where(kept, 0.0, limit * scale) - scale * limit * p, x.dtype)


def _channel_dropout(x: Tensor, p: float, training: bool, ndims: tuple[int, ...], channels: int, caller: str,
                     inplace: bool = False) -> Tensor:
    if x.ndim not in ndims:
        raise ValueError(f"(InvalidArgument) {caller}(): x must have {' or '.join(map(str, ndims))} axes, but has {x.ndim}")
    axes = [channels % x.ndim] if x.ndim == 2 else [0, channels % x.ndim]
    return dropout(x, p, axes, training, inplace)


def _channels(data_format: str, known: tuple[str, ...], caller: str) -> int:
    if data_format not in known:
        raise ValueError(f"(InvalidArgument) {caller}(): data_format must be {' or '.join(map(repr, known))}, but got {data_format!r}")
    return 1 if data_format[1] == "C" else -1


def _kept(lengths: list[int], p: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.asarray(creation.uniform(lengths, "float64").numpy() >= p)


def _check_probability(p: float, caller: str) -> None:
    check_constant(p, "p", caller)
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"(InvalidArgument) {caller}(): p must be between 0 and 1, but got {p}")


def _axis(x: Tensor, axis: int, caller: str) -> int:
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"(InvalidArgument) {caller}(): axis {axis} is out of range for x of {x.ndim} axes")
    return axis % x.ndim


def _halves(x: Tensor, axis: int, caller: str) -> tuple[Tensor, Tensor]:
    axis = _axis(x, axis, caller)
    length = x.shape[axis]
    if length % 2:
        raise ValueError(f"(InvalidArgument) {caller}(): the length of axis {axis} must be even, but is {length}")
    before = (slice(None),) * axis
    return x[(*before, slice(0, length // 2))], x[(*before, slice(length // 2, length))]
