"""Gradients: backward and `grad`, grad modes, functions with a backward of their own, and what is kept for backward."""
from python_api.autograd.backward import backward, grad
from python_api.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from python_api.autograd.py_layer import PyLayer, PyLayerContext
from python_api.autograd.recompute import checkpoint
from python_api.autograd.saved_tensors import saved_tensors_hooks

__all__ = [
    "PyLayer",
    "PyLayerContext",
    "backward",
    "checkpoint",
    "enable_grad",
    "grad",
    "is_grad_enabled",
    "no_grad",
    "saved_tensors_hooks",
    "set_grad_enabled",
]
