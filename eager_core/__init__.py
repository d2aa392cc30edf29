"""The compiled core: tensors, the operator table's entry points (``eager_api_exp``, ...), and the backward engine."""
from eager_core import flow_log as _flow_log
from eager_core._generated import entry_points, functions
from eager_core._generated.entry_points import *  # noqa: F403
from eager_core._generated.functions import *  # noqa: F403
from eager_core.construction import tensor_from_array, tensor_over_array
from eager_core.doors import ENTRY_POINTS, FUNCTIONS, core_ops_info
from eager_core.eager_api import Tensor, attach_methods
from eager_core.engine import run_backward, run_grad
from eager_core.errors import GraphFreedError
from eager_core.grad_mode import _set_grad_enabled as _set_grad_enabled
from eager_core.grad_mode import is_grad_enabled
from eager_core.thread_limits import register as _register_thread_limits
from eager_core.thread_pool import get_num_threads, set_num_threads

__all__ = [
    "ENTRY_POINTS",
    "FUNCTIONS",
    "GraphFreedError",
    "Tensor",
    "attach_methods",
    "get_core_ops_args_info",
    "get_core_ops_args_type_info",
    "get_core_ops_returns_info",
    "get_num_threads",
    "is_grad_enabled",
    "run_backward",
    "run_grad",
    "set_num_threads",
    "tensor_from_array",
    "tensor_over_array",
]
__all__ += entry_points.__all__
__all__ += functions.__all__

_register_thread_limits()


def get_core_ops_args_info() -> dict[str, list[str]]:
    """Return the tensor inputs of every entry point: ``{"exp": ["X"], ...}``."""
    return core_ops_info()[0]


def get_core_ops_args_type_info() -> dict[str, list[str]]:
    """Return for every tensor input whether it is a ``'tensor'`` or a ``'list'`` of tensors."""
    return core_ops_info()[1]


def get_core_ops_returns_info() -> dict[str, list[str]]:
    """Return the results of every entry point: ``{"exp": ["Out"], "reshape2": ["Out", "XShape"], ...}``."""
    return core_ops_info()[2]


_flow_log.set_from_environment()
