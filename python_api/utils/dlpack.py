"""Exchange with other libraries by the DLPack protocol, under the reference's names."""
from python_api.sharing import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
