"""Eager tensors on the CPU, with PaddlePaddle's names and in-place operators that are exact under backward.

``import python_api as paddle`` runs programs written for PaddlePaddle's eager mode.
"""
from eager_core import Tensor
from eager_core._generated import functions as _functions
from eager_core._generated.functions import *  # noqa: F403  what is defined below goes before an operator of the same name
from eager_core.printing import set_printoptions
from python_api import autograd, indexing, manipulation, nn, statistics
from python_api.autograd import enable_grad, grad, is_grad_enabled, no_grad, set_grad_enabled
from python_api.creation import (
    arange,
    assign,
    clone,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    is_tensor,
    linspace,
    normal,
    numel,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    seed,
    shape,
    standard_normal,
    to_tensor,
    uniform,
    zeros,
    zeros_like,
)
from python_api.dtypes import (
    bool,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from python_api.framework import CPUPlace, _test_eager_guard, get_default_dtype, in_dynamic_mode, set_default_dtype
from python_api.indexing import *  # type: ignore[assignment]  # noqa: F403  goes before an operator of the table
from python_api.manipulation import *  # noqa: F403
from python_api.statistics import *  # noqa: F403

__version__ = "0.1.0"

__all__ = [
    "CPUPlace",
    "Tensor",
    "_test_eager_guard",
    "arange",
    "assign",
    "autograd",
    "bool",
    "clone",
    "complex64",
    "complex128",
    "empty",
    "empty_like",
    "enable_grad",
    "eye",
    "float32",
    "float64",
    "full",
    "full_like",
    "get_default_dtype",
    "grad",
    "in_dynamic_mode",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_grad_enabled",
    "is_tensor",
    "linspace",
    "nn",
    "no_grad",
    "normal",
    "numel",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "seed",
    "set_default_dtype",
    "set_grad_enabled",
    "set_printoptions",
    "shape",
    "standard_normal",
    "to_tensor",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uniform",
    "zeros",
    "zeros_like",
]
__all__ += indexing.__all__
__all__ += manipulation.__all__
__all__ += statistics.__all__
__all__ += [_name for _name in _functions.__all__ if _name not in __all__]
