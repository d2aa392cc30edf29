"""Eager tensors on the CPU, with PaddlePaddle's names and in-place operators that are exact under backward.

``import python_api as paddle`` runs programs written for PaddlePaddle's eager mode.
"""
from math import e, inf, nan, pi
from typing import TYPE_CHECKING

from eager_core import Tensor
from eager_core._generated import functions as _functions
from eager_core._generated.functions import *  # noqa: F403  what is defined below goes before an operator of the same name
from eager_core.printing import set_printoptions
from python_api import applying as _applying  # noqa: F401  attaches its methods
from python_api import autograd, elementwise, indexing, linalg, manipulation, nn, statistics, utils
from python_api import conversion as _conversion  # noqa: F401  attaches its methods
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
    is_empty,
    is_tensor,
    linspace,
    logspace,
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
    tolist,
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
from python_api.elementwise import *  # type: ignore[assignment]  # noqa: F403
from python_api.framework import (
    CPUPlace,
    _test_eager_guard,
    get_default_dtype,
    get_num_threads,
    in_dynamic_mode,
    set_default_dtype,
    set_num_threads,
)
from python_api.indexing import *  # type: ignore[assignment]  # noqa: F403  goes before an operator of the table
from python_api.linalg import (
    bmm,
    cdist,
    corrcoef,
    cov,
    cross,
    dist,
    dot,
    eigvalsh,
    einsum,
    ger,
    inner,
    is_complex,
    is_floating_point,
    is_integer,
    kron,
    matrix_transpose,
    mm,
    mv,
    norm,
    outer,
    pdist,
    polar,
    tensordot,
    trace,
    vecdot,
)
from python_api.manipulation import *  # noqa: F403
from python_api.on_demand import imported_on_demand
from python_api.sampling import bernoulli, binomial, log_normal, multinomial, poisson, standard_gamma
from python_api.sharing import from_dlpack, from_numpy, to_dlpack
from python_api.statistics import *  # noqa: F403
from python_api.vlog import set_vlog_level

if TYPE_CHECKING:
    from python_api import profiler
else:
    __getattr__, __dir__ = imported_on_demand(globals(), "profiler")


__version__ = "0.1.0"
newaxis = None

__all__ = [
    "CPUPlace",
    "Tensor",
    "_test_eager_guard",
    "arange",
    "assign",
    "autograd",
    "bernoulli",
    "binomial",
    "bmm",
    "bool",
    "cdist",
    "clone",
    "complex64",
    "complex128",
    "corrcoef",
    "cov",
    "cross",
    "dist",
    "dot",
    "e",
    "eigvalsh",
    "einsum",
    "empty",
    "empty_like",
    "enable_grad",
    "eye",
    "float32",
    "float64",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "ger",
    "get_default_dtype",
    "get_num_threads",
    "grad",
    "in_dynamic_mode",
    "inf",
    "inner",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_complex",
    "is_empty",
    "is_floating_point",
    "is_grad_enabled",
    "is_integer",
    "is_tensor",
    "kron",
    "linalg",
    "linspace",
    "log_normal",
    "logspace",
    "matrix_transpose",
    "mm",
    "multinomial",
    "mv",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "norm",
    "normal",
    "numel",
    "ones",
    "ones_like",
    "outer",
    "pdist",
    "pi",
    "poisson",
    "polar",
    "profiler",
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
    "set_num_threads",
    "set_printoptions",
    "set_vlog_level",
    "shape",
    "standard_gamma",
    "standard_normal",
    "tensordot",
    "to_dlpack",
    "to_tensor",
    "tolist",
    "trace",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uniform",
    "utils",
    "vecdot",
    "zeros",
    "zeros_like",
]
__all__ += elementwise.__all__
__all__ += indexing.__all__
__all__ += manipulation.__all__
__all__ += statistics.__all__
__all__ += [_name for _name in _functions.__all__ if _name not in __all__]
