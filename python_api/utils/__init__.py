"""What stands beside tensors and operators."""
from python_api.utils import dlpack

__all__ = ["dlpack"]
