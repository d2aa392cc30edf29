"""Neural networks."""
from python_api.nn import functional

__all__ = ["functional"]
