"""Masked arrays are refused wherever arrays come in: a tensor has no mask, and what is masked would count as if it were not."""
from __future__ import annotations

import sys
from typing import Any


def is_masked_type(kind: type) -> bool:
    """Whether arrays of this type have a mask: by type and not by value, lest a program fail on some data only."""
    ma = sys.modules.get("numpy.ma.core")          # where nobody has imported it there are no masked arrays
    return ma is not None and issubclass(kind, ma.MaskedArray)


def refuse_masked(value: Any, what: str) -> None:
    """Raise TypeError if the value is a masked array, or lists and tuples that hold one; `what` names it in the message."""
    if isinstance(value, list | tuple):
        kinds = set(map(type, value))               # at C speed; a list of numbers has few types
        if any(issubclass(kind, list | tuple) or is_masked_type(kind) for kind in kinds):
            for item in value:
                refuse_masked(item, what)
    elif is_masked_type(type(value)):
        raise TypeError(f"(InvalidType) {what} is a masked array ({type(value).__name__}), and a tensor has no mask. Give its "
                        ".filled(value), or its .data to take no notice of the mask")
