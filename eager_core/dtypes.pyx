"""The dtypes of the library. The dtype objects of the public API are NumPy's own."""
import numpy as np
cimport numpy as cnp

from eager_core.errors cimport invalid_type

cnp.import_array()

_NAMES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float32", "float64", "complex64", "complex128")
cdef list _NUMPY = [np.dtype(name) for name in _NAMES]
cdef dict _CODES = {dtype: code for code, dtype in enumerate(_NUMPY)}
cdef list _NAME_BYTES = [name.encode() for name in _NAMES]


cdef int _promote(a, b) except -1:
    result = np.promote_types(a, b)
    return _CODES[np.dtype("float32") if result == np.dtype("float16") else result]


cdef int _fill_tables() except -1:
    cdef int code, other
    for code in range(EAGER_DTYPES):
        dtype = _NUMPY[code]
        DTYPES[code].itemsize = dtype.itemsize
        DTYPES[code].kind = {"b": KIND_BOOL, "i": KIND_INT, "u": KIND_INT, "f": KIND_FLOAT, "c": KIND_COMPLEX}[dtype.kind]
        DTYPES[code].numpy_number = dtype.num
        DTYPES[code].name = <bytes>_NAME_BYTES[code]
        DTYPES[code].real_of = {EAGER_COMPLEX64: EAGER_FLOAT32, EAGER_COMPLEX128: EAGER_FLOAT64}.get(code, code)
        # NumPy gives float16 for 8-bit integers, which the library does not have: float32 stands in.
        DTYPES[code].float_of = code if code >= EAGER_FLOAT32 else EAGER_FLOAT32 if dtype.itemsize <= 2 else EAGER_FLOAT64
        for other in range(EAGER_DTYPES):
            PROMOTE[code][other] = _promote(dtype, _NUMPY[other])
    return 0


_fill_tables()


cdef object numpy_dtype(int code):
    return _NUMPY[code]


cdef int code_of_numpy(object dtype) except -2:
    code = _CODES.get(dtype)
    return -1 if code is None else code


cdef int code_of(object spec) except -1:
    cdef int code
    try:
        dtype = spec if type(spec) is cnp.dtype else np.dtype(spec)
    except TypeError:
        dtype = None
    code = -1 if dtype is None or spec is None else code_of_numpy(dtype)
    if code < 0:
        invalid_type(f"dtype {spec!r} is not supported. Supported: {', '.join(_NAMES)}")
    return code
