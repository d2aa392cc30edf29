"""Text of a tensor (S13): ``repr``, ``str``, ``format`` and the options that steer them.

The layout is PaddlePaddle's, character for character, because programs and doctests compare it. Everything is computed on a NumPy
array, so printing cannot touch version, history or hooks (S13.3).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

__all__ = ["PrintOptions", "array_repr", "format_tensor", "get_printoptions", "set_printoptions", "tensor_repr"]

_PREFIX = "Tensor("
_ELLIPSIS = "..."


class PrintOptions(NamedTuple):
    """How tensors are printed; see `set_printoptions`."""

    precision: int = 8
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool = False


# Replaced as a whole, never edited: a thread that prints while another one changes the options sees one set or the other.
_options = PrintOptions()


def get_printoptions() -> PrintOptions:
    """Return the options in force."""
    return _options


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
    """Set how tensors are printed, for all threads. What is None stays as it is.

    Parameters
    ----------
    precision : int, optional
        Decimals of a floating-point number, 8 at the start.
    threshold : int, optional
        A tensor of more elements is summarised, 1000 at the start.
    edgeitems : int, optional
        Entries shown at both ends of each axis of a summarised tensor, 3 at the start.
    sci_mode : bool, optional
        Write floating-point numbers with an exponent, False at the start.
    linewidth : int, optional
        Characters in a line, 80 at the start.

    Raises
    ------
    TypeError
        An option is not an int (`sci_mode`: not a bool).
    ValueError
        An option is negative.
    """
    global _options  # noqa: PLW0603
    changes: dict[str, Any] = {}
    for name, value in (("precision", precision), ("threshold", threshold), ("edgeitems", edgeitems), ("linewidth", linewidth)):
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"(InvalidType) set_printoptions(): {name} must be int, but got {type(value).__name__}")
        if value < 0:
            raise ValueError(f"(InvalidArgument) set_printoptions(): {name} must not be negative, but got {value}")
        changes[name] = value
    if sci_mode is not None:
        if not isinstance(sci_mode, bool):
            raise TypeError(f"(InvalidType) set_printoptions(): sci_mode must be bool, but got {type(sci_mode).__name__}")
        changes["sci_mode"] = sci_mode
    _options = _options._replace(**changes)


def tensor_repr(t: Any) -> str:
    """Return the text of a tensor.

    Parameters
    ----------
    t : Tensor, any shape and dtype

    Returns
    -------
    str
        ``Tensor(shape=[2], dtype=float64, place=Place(cpu), stop_gradient=True,``, a line break, and the indented data.
    """
    return array_repr(t.numpy(), t.stop_gradient)


def array_repr(array: np.ndarray[Any, np.dtype[Any]], stop_gradient: bool = True) -> str:
    """Return the text that a tensor with this value and flag has."""
    options = _options
    indent = len(_PREFIX)
    summary = array.size > options.threshold
    # Column width and sign are PaddlePaddle's: taken from the edges of the axes even when everything is printed, so a longer number
    # between them sticks out. Kept, because the text is compared.
    edges = _edges(array, options.edgeitems)
    cell = _cell_writer(array.dtype, options)
    texts = [cell(value) for value in edges.ravel().tolist()] if array.size else []
    width = max(map(len, texts), default=0)
    signed = any(map(_is_negative, edges.ravel().tolist())) if array.size and array.dtype.kind != "b" else False

    def padded(value: Any) -> str:
        text = cell(value)
        if len(text) < width and signed and not _is_negative(value):
            text = " " + text
        return text.ljust(width)

    shown = edges if summary else array
    if array.ndim == 0:
        data = cell(array.item())
    else:
        skips = tuple(summary and length > 2 * options.edgeitems for length in array.shape)
        room = options.linewidth - indent
        values = iter(shown.ravel().tolist())
        data = _nested(values, padded, shown.shape, skips, options.edgeitems, indent, room, width + 2)
    return (
        f"{_PREFIX}shape={list(array.shape)}, dtype={array.dtype.name}, place=Place(cpu), stop_gradient={bool(stop_gradient)},\n"
        f"{' ' * indent}{data})"
    )


def format_tensor(t: Any, spec: str) -> str:
    """Return ``format(t, spec)``: a tensor of one element formats like its value, any other has only its text.

    Parameters
    ----------
    t : Tensor, any shape and dtype
    spec : str
        A format specification for the Python scalar, such as ``".2f"``. When empty, a 0-d tensor gives its bare value
        and any other its text.

    Raises
    ------
    TypeError
        The specification is not empty and the tensor has not exactly one element.
    """
    if t.ndim == 0 or (spec and t.size == 1):
        return format(t.item(), spec)
    if spec:
        raise TypeError(f"(InvalidType) a Tensor of {t.size} elements has no format {spec!r}: only one-element tensors have")
    return tensor_repr(t)


def _edges(array: np.ndarray[Any, np.dtype[Any]], edgeitems: int) -> np.ndarray[Any, np.dtype[Any]]:
    """Return both ends of every axis that is longer than two ends."""
    for axis, length in enumerate(array.shape):
        if length > 2 * edgeitems:
            ends = np.r_[0:edgeitems, length - edgeitems : length]
            array = array.take(ends, axis=axis)
    return array


def _cell_writer(dtype: np.dtype[Any], options: PrintOptions) -> Callable[[Any], str]:
    """Return the function that writes one element, given as a Python scalar, without padding."""
    number = f".{options.precision}{'e' if options.sci_mode else 'f'}"

    def real(value: float) -> str:
        # Infinity equals itself rounded and so gets the full stop of a whole number; NaN equals nothing and does not.
        if not options.sci_mode and (value in (float("inf"), float("-inf")) or value.is_integer()):
            return format(value, ".0f") + "."
        return format(value, number)

    def pair(value: complex) -> str:
        # The sign comes from the number itself: PaddlePaddle writes "+-0." for a negative zero and no sign before a NaN.
        return f"({value.real:{number}}{value.imag:+{number}}j)"

    return {"f": real, "c": pair}.get(dtype.kind, str)


def _is_negative(value: Any) -> bool:
    """``value < 0`` in NumPy's order, which for complex numbers compares the real parts first."""
    if isinstance(value, complex):
        return value.real < 0 or (value.real == 0 and value.imag < 0)
    return bool(value < 0)


def _nested(
    values: Iterator[Any],
    padded: Callable[[Any], str],
    shape: tuple[int, ...],
    skips: tuple[bool, ...],
    edgeitems: int,
    indent: int,
    room: int,
    column: int,
) -> str:
    """Write the brackets of one array: `values` yields the shown elements in order, `skips` tells which axes have a gap in the middle."""
    if len(shape) == 1:
        parts = [padded(next(values)) for _ in range(shape[0])]
    else:
        parts = [
            _nested(values, padded, shape[1:], skips[1:], edgeitems, indent + 1, room - 1, column) for _ in range(shape[0])
        ]
    if skips[0]:
        parts.insert(edgeitems, _ELLIPSIS)
    margin = " " * (indent + 1)
    if len(shape) > 1:
        return "[" + ("," + "\n" * (len(shape) - 1) + margin).join(parts) + "]"
    in_line = max(1, room // column)
    lines = [", ".join(parts[i : i + in_line]) for i in range(0, len(parts), in_line)]
    return "[" + (",\n" + margin).join(lines) + "]"
