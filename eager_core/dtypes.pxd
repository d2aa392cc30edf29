# The dtypes of the library and their arithmetic. Codes are those of kernels.h.

cdef extern from "kernels/kernels.h":
    enum:
        EAGER_BOOL, EAGER_INT8, EAGER_UINT8, EAGER_INT16, EAGER_UINT16, EAGER_INT32, EAGER_UINT32, EAGER_INT64, EAGER_UINT64
        EAGER_FLOAT32, EAGER_FLOAT64, EAGER_COMPLEX64, EAGER_COMPLEX128, EAGER_DTYPES
        EAGER_MAX_NDIM, EAGER_MAX_OPERANDS

cdef enum Kind:            # ordered: a result may be stored in a target of the same or a higher kind (S7.2)
    KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_COMPLEX

cdef struct DTypeInfo:
    int itemsize
    Kind kind
    int numpy_number       # NumPy's type number
    int float_of           # dtype of exp(x) and the like
    int real_of            # dtype of abs(x)
    const char *name

cdef DTypeInfo[13] DTYPES
cdef signed char[13][13] PROMOTE                 # NumPy's promotion, float16 results replaced by float32

cdef object numpy_dtype(int code)                # borrowed from a table that lives for ever
cdef int code_of_numpy(object dtype) except -2   # -1: not supported
cdef int code_of(object spec) except -1          # np.dtype, str, Python or NumPy scalar type; TypeError otherwise
