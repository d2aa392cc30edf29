"""Functions of neural networks, written with the library's own operators: differentiable to any order."""
from __future__ import annotations

from typing import Any

import numpy as np

from eager_core import Tensor, log, relu, sigmoid, tanh, tensor_from_array
from eager_core import gather as _gather
from eager_core import log_softmax as _log_softmax
from eager_core import matmul as _matmul
from eager_core import softmax as _softmax
from eager_core import take_along_axis as _take_along_axis
from eager_core import where as _where
from python_api import dtypes
from python_api.framework import as_dtype
from python_api.manipulation import pad

__all__ = ["cross_entropy", "linear", "log_softmax", "mse_loss", "pad", "relu", "sigmoid", "softmax", "tanh"]


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
    product = _matmul(x, weight)
    return product if bias is None else product + bias


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
