from typing import Any

import numpy as np

from eager_core.eager_api import Tensor

def tensor_over_array(array: np.ndarray[Any, np.dtype[Any]], caller: str) -> Tensor: ...
def tensor_from_array(array: np.ndarray[Any, np.dtype[Any]] | np.generic, stop_gradient: bool = True, name: str = "") -> Tensor: ...
