"""Tensors from NumPy arrays and DLPack capsules, and capsules from tensors: copies, unless sharing is asked for.

Who may write to shared memory, and what becomes of gradients then, is stated in docs/memory.md.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from eager_core import Tensor, tensor_over_array
from eager_core.masked import refuse_masked
from python_api.creation import copy_of_array
from python_api.framework import check_place

__all__ = ["from_dlpack", "from_numpy", "to_dlpack"]

_HOST = (1, 3, 11)       # memory that the CPU can read: its own, and what CUDA and ROCm have pinned


def from_numpy(array: np.ndarray[Any, np.dtype[Any]], copy: bool = True) -> Tensor:
    """Make a tensor of a NumPy array.

    Parameters
    ----------
    array : numpy.ndarray
    copy : bool
        False: a tensor over the array's own memory. Its owner sees what is written to the tensor, and the tensor sees what the owner
        writes; `inplace_version` does not count the latter. Operators save copies of such a tensor for backward, so gradients are those of
        the values they have seen.

    Returns
    -------
    Tensor
        A constant of the array's shape and dtype.

    Raises
    ------
    TypeError
        Not a NumPy array, or a masked one, or the dtype is not supported (shared: also if the byte order is not the machine's).
    ValueError
        The memory cannot be shared: it is read-only, not aligned, or not in C order without gaps.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"(InvalidType) from_numpy(): a numpy.ndarray is needed, but got {type(array).__name__}")
    refuse_masked(array, "from_numpy(): argument 'array'")
    _check_flag(copy, "from_numpy")
    return copy_of_array(np.asarray(array), "from_numpy") if copy else tensor_over_array(array, "from_numpy(copy=False)")


def from_dlpack(dlpack: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Make a tensor of another library's.

    Parameters
    ----------
    dlpack : object with ``__dlpack__`` and ``__dlpack_device__``, or a capsule
        On the CPU. A capsule can be taken once.
    device : None, "cpu" or CPUPlace
    copy : bool, optional
        False: a tensor over the other's memory, as `from_numpy` makes one, and with its conditions. Otherwise a copy.

    Returns
    -------
    Tensor
        A constant.

    Raises
    ------
    TypeError
        The argument is neither, or a masked array, or the dtype is not supported.
    ValueError
        The capsule has been taken before, or the memory cannot be shared.
    BufferError
        The other library refuses, for instance because its tensor requires grad or is on another device.
    """
    _check_flag(copy, "from_dlpack")
    refuse_masked(dlpack, "from_dlpack(): argument 'dlpack'")
    check_place(device, "from_dlpack")
    source = dlpack if hasattr(dlpack, "__dlpack__") and hasattr(dlpack, "__dlpack_device__") else _Capsule(dlpack)
    kind = int(source.__dlpack_device__()[0])
    if kind not in _HOST:
        raise BufferError(f"(InvalidArgument) from_dlpack(): the memory is on a device of type {kind}, not the CPU's. Copy it there first")
    try:
        array = np.from_dlpack(source, copy=False) if copy is False else np.from_dlpack(source)
    except RuntimeError as error:
        raise TypeError(f"(InvalidType) from_dlpack(): {error}") from error
    return tensor_over_array(array, "from_dlpack(copy=False)") if copy is False else copy_of_array(array, "from_dlpack")


def to_dlpack(x: Tensor) -> Any:
    """Return a DLPack capsule with a copy of the tensor, for `from_dlpack` of another library.

    Parameters
    ----------
    x : Tensor, shape (...), any dtype
        Its history is left behind. To share the memory: ``x.__dlpack__(copy=False)``.

    Returns
    -------
    PyCapsule
        Named ``dltensor``; it can be taken once.

    Raises
    ------
    TypeError
        `x` is not a Tensor.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"(InvalidType) to_dlpack(): argument 'x' must be Tensor, but got {type(x).__name__}")
    return x.__dlpack__()


class _Capsule:
    """A bare capsule in the form that NumPy takes."""

    def __init__(self, capsule: Any) -> None:
        if type(capsule).__name__ != "PyCapsule":
            raise TypeError("(InvalidType) from_dlpack(): an object with __dlpack__() and __dlpack_device__(), or a "
                            f"capsule, is needed, but got {type(capsule).__name__}")
        name = repr(capsule)
        if '"used_dltensor' in name:
            raise ValueError("(InvalidArgument) from_dlpack(): this capsule has been taken already. Make another one")
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _check_flag(copy: Any, caller: str) -> None:
    if not (isinstance(copy, bool) or (copy is None and caller == "from_dlpack")):
        raise TypeError(f"(InvalidType) {caller}(): copy must be bool, but got {type(copy).__name__}")
