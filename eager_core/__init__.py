"""The compiled core: tensors, the operator table's entry points (``eager_api_exp``, ...), and the backward engine."""
from __future__ import annotations

from typing import Any

from eager_core.eager_api import ENTRY_POINTS, FUNCTIONS, Tensor, core_ops_info, tensor_from_array
from eager_core.engine import run_backward, run_grad
from eager_core.errors import GraphFreedError
from eager_core.grad_mode import _set_grad_enabled, is_grad_enabled

globals().update(FUNCTIONS)
globals().update(ENTRY_POINTS)


def get_core_ops_args_info() -> dict[str, list[str]]:
    """Return the tensor inputs of every entry point: ``{"exp": ["X"], ...}``."""
    return core_ops_info()[0]                                    # type: ignore[no-any-return]


def get_core_ops_args_type_info() -> dict[str, list[str]]:
    """Return for every tensor input whether it is a ``'tensor'`` or a ``'list'`` of tensors."""
    return core_ops_info()[1]                                    # type: ignore[no-any-return]


def get_core_ops_returns_info() -> dict[str, list[str]]:
    """Return the results of every entry point: ``{"exp": ["Out"], "reshape2": ["Out", "XShape"], ...}``."""
    return core_ops_info()[2]                                    # type: ignore[no-any-return]


__all__ = ["Tensor", "GraphFreedError", "run_backward", "run_grad", "is_grad_enabled", "tensor_from_array", "FUNCTIONS", "ENTRY_POINTS",
           "get_core_ops_args_info", "get_core_ops_args_type_info", "get_core_ops_returns_info"]
