"""The dtypes of the library, which are NumPy's own objects. In a module of its own because ``bool`` hides the builtin."""
import numpy as np

bool = np.dtype("bool")
uint8 = np.dtype("uint8")
uint16 = np.dtype("uint16")
uint32 = np.dtype("uint32")
uint64 = np.dtype("uint64")
int8 = np.dtype("int8")
int16 = np.dtype("int16")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
float32 = np.dtype("float32")
float64 = np.dtype("float64")
complex64 = np.dtype("complex64")
complex128 = np.dtype("complex128")

SUPPORTED = (bool, uint8, int8, uint16, int16, uint32, int32, uint64, int64, float32, float64, complex64, complex128)
NAMES = ", ".join(dtype.name for dtype in SUPPORTED)
