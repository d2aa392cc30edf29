"""What the operators' parameters accept, for annotations; nothing imports this module at run time."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from eager_core.eager_api import Tensor

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Operand: TypeAlias = Union[Tensor, complex, np.generic, Array]     # noqa: UP007  evaluated when the module is imported
Number: TypeAlias = Union[float, np.generic, Tensor]               # noqa: UP007  a tensor of one element
Int: TypeAlias = Union[int, np.integer[Any], Tensor]               # noqa: UP007
Ints: TypeAlias = Union[Int, Array, Sequence[Int]]                 # noqa: UP007
Tensors: TypeAlias = Union[list[Tensor], tuple[Tensor, ...]]       # noqa: UP007
DTypeLike: TypeAlias = npt.DTypeLike
