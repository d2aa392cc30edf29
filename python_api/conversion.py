"""Methods of Tensor that change the dtype by name, by example, or together with the place."""
from __future__ import annotations

from typing import Any

from eager_core import Tensor
from python_api import framework
from python_api.composite import composite

PLACES = ("cpu", "gpu", "cuda", "xpu", "npu")           # of which all but the first are refused, by name


@composite
def type_as(x: Tensor, other: Tensor) -> Tensor:
    """Return x in the dtype of another tensor, in new memory."""
    return x.astype(other.dtype)


@composite
def to(x: Tensor, *args: Any, device: Any = None, dtype: Any = None, blocking: bool | None = None) -> Tensor:
    """Return x in another dtype, in new memory; x itself if only a place is named, since there is only the CPU.

    ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` and ``to(other)``, a tensor that has the dtype; then ``blocking``, without effect.
    """
    given = list(args)
    if given and isinstance(given[0], Tensor):
        dtype = given.pop(0).dtype
    elif given and _is_place(given[0]):
        device = given.pop(0)
    if given and not isinstance(given[0], bool):
        dtype = given.pop(0)
    if given[1:] or (given and not isinstance(given[0], bool)):
        raise TypeError(f"(InvalidType) to(): expected a place, a dtype or a tensor, and blocking, but got {len(args)} arguments")
    framework.check_place(device, "to")
    return x if dtype is None else x.astype(framework.as_dtype(dtype, "to"))


def _is_place(value: Any) -> bool:
    return value is None or isinstance(value, framework.CPUPlace) or (isinstance(value, str) and value.lower().split(":")[0] in PLACES)
