"""Tables of typed loops. NumPy's are taken from its ufunc objects; what is missing there is served by calling the ufunc itself."""
import numpy as np
from numpy._core import umath
cimport numpy as cnp
from libc.stdlib cimport calloc, malloc

from eager_core.dtypes cimport DTYPES, EAGER_DTYPES, EAGER_FLOAT32, EAGER_FLOAT64
from eager_core.op cimport (
    EAGER_FRONT_ADD, EAGER_FRONT_DIVIDE, EAGER_FRONT_MULTIPLY, EAGER_FRONT_SUBTRACT, eager_front_data, eager_front_loop, eager_sum_loop,
)

cdef extern from "kernels/kernels.h":
    enum:
        EAGER_STREAM_COPY, EAGER_STREAM_NEGATIVE, EAGER_STREAM_ABSOLUTE, EAGER_STREAM_SQUARE, EAGER_STREAM_SQRT
        EAGER_SIN, EAGER_COS, EAGER_TANH, EAGER_EXP, EAGER_LOG, EAGER_KERNELS
        EAGER_SIGMOID, EAGER_ERF, EAGER_ERFC, EAGER_GELU, EAGER_GELU_TANH, EAGER_GELU_GRAD, EAGER_GELU_TANH_GRAD
    eager_loop eager_own_loop(int kernel, int dtype) noexcept
    eager_loop eager_own_loop_up_to(int level, int kernel, int dtype) noexcept
    eager_loop eager_vector_loop(int function, int dtype) noexcept
    eager_loop eager_vector_loop_up_to(int level, int function, int dtype) noexcept
    eager_loop eager_streaming_loop(int operation, int dtype) noexcept
    eager_loop eager_streaming_unary(int operation, int dtype) noexcept

cnp.import_array()
cnp.import_ufunc()

cdef extern from "numpy/ufuncobject.h":
    ctypedef struct PyUFuncObject:
        int nin, nout, nargs, ntypes
        void **functions
        void **data
        const char *types

cdef Loop *_loops = NULL                       # of kernel 0; ours lie below
cdef list _ufuncs = []


cdef int _code_of_number(int number) noexcept:
    cdef int code
    for code in range(EAGER_DTYPES):
        if DTYPES[code].numpy_number == number:
            return code
    return -1


cdef int _read(Loop *row, PyUFuncObject *ufunc) except -1:
    """Take each loop whose inputs all have one dtype of ours; NumPy lets the first match win, and so do we."""
    cdef int i, j, code, result
    cdef const char *types
    for i in range(ufunc.ntypes):
        types = ufunc.types + i * ufunc.nargs
        code = _code_of_number(types[0])
        result = _code_of_number(types[ufunc.nin])
        if code < 0 or result < 0 or row[code].call != NULL:
            continue
        for j in range(1, ufunc.nin):
            if types[j] != types[0]:
                break
        else:
            row[code].call = <eager_loop>ufunc.functions[i]
            row[code].data = NULL if ufunc.data == NULL else ufunc.data[i]
            row[code].result = result
    return 0


cdef dict _FRONTS = {
    "add": EAGER_FRONT_ADD, "subtract": EAGER_FRONT_SUBTRACT, "multiply": EAGER_FRONT_MULTIPLY, "divide": EAGER_FRONT_DIVIDE,
}


cdef enum:
    STREAMED = 20                # + - * /, four functions, and the copies of two modules, each in two dtypes
cdef struct Streamed:            # a loop of which there is a kind for results that no cache holds, and that kind
    eager_loop loop, streaming
    int operands
    Py_ssize_t size              # of an element
cdef Streamed[20] _streamed
cdef int _streams = 0


cdef eager_loop streaming_loop(eager_loop loop, int operands, Py_ssize_t size) noexcept nogil:
    cdef int i
    for i in range(_streams):
        if _streamed[i].loop == loop and _streamed[i].operands == operands and _streamed[i].size == size:
            return _streamed[i].streaming
    return NULL


cdef int _add_stream(eager_loop loop, eager_loop streaming, int operands, int code) except -1:
    global _streams
    if loop == NULL or streaming == NULL:
        return 0
    if _streams == STREAMED:
        raise SystemError("(Fatal) the table of streaming loops is full: raise its size")
    _streamed[_streams].loop = loop
    _streamed[_streams].streaming = streaming
    _streamed[_streams].operands = operands
    _streamed[_streams].size = DTYPES[code].itemsize
    _streams += 1
    return 0


cdef dict _STREAMED_UNARY = {
    "negative": EAGER_STREAM_NEGATIVE, "absolute": EAGER_STREAM_ABSOLUTE, "square": EAGER_STREAM_SQUARE, "sqrt": EAGER_STREAM_SQRT,
}


cdef int stream_copies(eager_loop float32, eager_loop float64) except -1:
    _add_stream(float32, eager_streaming_unary(EAGER_STREAM_COPY, EAGER_FLOAT32), 2, EAGER_FLOAT32)
    _add_stream(float64, eager_streaming_unary(EAGER_STREAM_COPY, EAGER_FLOAT64), 2, EAGER_FLOAT64)
    return 0


cdef int _stand_before(Loop *row, int operation) except -1:
    """Loops of ours that hand on to those read; what they need of them lives as long as the table."""
    cdef int code
    cdef eager_loop front
    cdef eager_front_data *behind
    for code in range(<int>EAGER_DTYPES):
        front = eager_front_loop(operation, code)
        if front == NULL or row[code].call == NULL or row[code].result != code:
            continue
        behind = <eager_front_data *>malloc(sizeof(eager_front_data))
        if behind == NULL:
            raise MemoryError
        behind.loop = row[code].call
        behind.data = row[code].data
        behind.sum = eager_sum_loop(code)
        row[code].call = front
        row[code].data = behind
        _add_stream(front, eager_streaming_loop(operation, code), 3, code)
    return 0


# Loops that take the GIL and raise by themselves: only NumPy's own machinery may run them.
cdef set _RAISING = {"power", "floor_divide", "remainder", "lcm", "gcd"}


# Where we have vector code that NumPy has not, or in half the time.
cdef dict _VECTOR = {"sin": EAGER_SIN, "cos": EAGER_COS, "tanh": EAGER_TANH, "exp": EAGER_EXP, "log": EAGER_LOG}


cdef void _replace(Loop *row, int function) noexcept:
    cdef int code
    cdef eager_loop call
    for code in range(<int>EAGER_DTYPES):
        call = eager_vector_loop(function, code)
        if call != NULL:
            row[code].call = call
            row[code].data = NULL
            row[code].result = code


cdef int register_ufuncs(list names) except -1:
    global _loops
    cdef int k, code
    cdef Loop *loop
    cdef cnp.ufunc ufunc
    _loops = <Loop *>calloc((EAGER_KERNELS + len(names)) * EAGER_DTYPES, sizeof(Loop))
    if _loops == NULL:
        raise MemoryError
    _loops += EAGER_KERNELS * EAGER_DTYPES
    for k in range(<int>EAGER_KERNELS):
        for code in range(<int>EAGER_DTYPES):
            loop = ufunc_loop(-1 - k, code)
            loop.call = eager_own_loop(k, code)
            loop.result = -1 if loop.call == NULL else code
    for k, name in enumerate(names):
        ufunc = getattr(umath, name)
        _ufuncs.append(ufunc)
        # `functions` and its neighbours are public, but nothing may depend on them for being right.
        if isinstance(ufunc, cnp.ufunc):
            _read(_loops + k * EAGER_DTYPES, <PyUFuncObject *>ufunc)
            if name in _FRONTS:
                _stand_before(_loops + k * EAGER_DTYPES, _FRONTS[name])
        if name in _STREAMED_UNARY:
            for code in range(<int>EAGER_DTYPES):
                loop = &_loops[k * EAGER_DTYPES + code]
                if loop.data == NULL:        # else a loop of several functions, told apart by their data
                    _add_stream(loop.call, eager_streaming_unary(_STREAMED_UNARY[name], code), 2, code)
        if name in _VECTOR:
            _replace(_loops + k * EAGER_DTYPES, _VECTOR[name])
        if name in _RAISING:
            for code in range(<int>EAGER_DTYPES):
                if DTYPES[code].name[0] in b"iub":
                    _loops[k * EAGER_DTYPES + code].call = NULL
    return 0


cdef Loop *ufunc_loop(int kernel, int dtype) noexcept:
    return &_loops[kernel * EAGER_DTYPES + dtype]


cdef object ufunc_object(int kernel):
    return _ufuncs[kernel]


def _test_loop_count():
    """How many typed loops were found; a NumPy that hides them gives 0 and everything still works, slower."""
    cdef int k, code, found = 0
    for k in range(len(_ufuncs)):
        for code in range(<int>EAGER_DTYPES):
            found += _loops[k * EAGER_DTYPES + code].call != NULL
    return found


def _test_forget_loops():
    """Forget NumPy's loops, as a NumPy without them would have it; returns a function that restores them."""
    cdef int k, code
    saved = []
    for k in range(len(_ufuncs)):
        for code in range(<int>EAGER_DTYPES):
            saved.append(<size_t>_loops[k * EAGER_DTYPES + code].call)
            _loops[k * EAGER_DTYPES + code].call = NULL

    def restore():
        cdef int i
        for i in range(len(saved)):
            _loops[i].call = <eager_loop><void *><size_t>saved[i]
    return restore


def _test_vector_math(str name not None, cnp.ndarray x not None, int level):
    """The function's code for this level (0: plain C, 1: AVX2, 2: AVX-512) on a one-dimensional array; a gradient's, of ones.
    None where there is none: NumPy's serves."""
    cdef int function = {
        "sin": EAGER_SIN, "cos": EAGER_COS, "tanh": EAGER_TANH, "exp": EAGER_EXP, "log": EAGER_LOG, "sigmoid": EAGER_SIGMOID,
        "erf": EAGER_ERF, "erfc": EAGER_ERFC, "gelu": EAGER_GELU, "gelu_tanh": EAGER_GELU_TANH, "gelu_grad": EAGER_GELU_GRAD,
        "gelu_tanh_grad": EAGER_GELU_TANH_GRAD}[name]
    cdef int dtype = _code_of_number(x.descr.type_num)
    cdef eager_loop call = (eager_own_loop_up_to if function < <int>EAGER_KERNELS else eager_vector_loop_up_to)(level, function, dtype)
    cdef cnp.ndarray out
    cdef bint gradient = name.endswith("_grad")
    cdef cnp.ndarray one = np.ones(1, x.dtype)
    cdef char *args[3]
    cdef Py_ssize_t n = x.shape[0]
    cdef Py_ssize_t[3] steps
    if call == NULL:
        return None
    out = np.empty(n, x.dtype)
    args[0] = <char *>cnp.PyArray_DATA(x)
    args[1] = <char *>cnp.PyArray_DATA(one)
    args[1 + gradient] = <char *>cnp.PyArray_DATA(out)
    steps[0] = x.strides[0]
    steps[1] = 0
    steps[1 + gradient] = out.strides[0]
    call(args, &n, steps, NULL)
    return out
