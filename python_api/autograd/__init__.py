"""Gradients: backward and `grad`, grad modes, functions with a backward of their own, and what is kept for backward."""
from typing import TYPE_CHECKING

from python_api.autograd.anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from python_api.autograd.backward import backward, grad
from python_api.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from python_api.autograd.mutation import (
    allow_mutation_on_saved_tensors,
    is_mutation_on_saved_tensors_allowed,
    set_allow_mutation_on_saved_tensors,
)
from python_api.autograd.py_layer import PyLayer, PyLayerContext
from python_api.autograd.recompute import checkpoint
from python_api.autograd.saved_tensors import saved_tensors_hooks
from python_api.on_demand import imported_on_demand

if TYPE_CHECKING:
    from python_api.autograd import graph
else:
    __getattr__, __dir__ = imported_on_demand(globals(), "graph")


__all__ = [
    "PyLayer",
    "PyLayerContext",
    "allow_mutation_on_saved_tensors",
    "backward",
    "checkpoint",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "graph",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_mutation_on_saved_tensors_allowed",
    "no_grad",
    "saved_tensors_hooks",
    "set_allow_mutation_on_saved_tensors",
    "set_detect_anomaly",
    "set_grad_enabled",
]
