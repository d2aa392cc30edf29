"""The tensor struct and how one is made. Operators and methods are attached above, in ``eager_api``."""
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject, destructor
from cpython.ref cimport Py_INCREF
from libc.string cimport memcpy

from eager_core.allocator cimport register_keeper
from eager_core.dtypes cimport DTYPES, EAGER_COMPLEX64, EAGER_FLOAT32, EAGER_FLOAT64, EAGER_MAX_NDIM, code_of_numpy, numpy_dtype
from eager_core.errors cimport invalid_argument, invalid_type
from eager_core.layout cimport contiguous_layout
from eager_core.profiling cimport WATCH_ADVISE, note_use, watched
from eager_core.recycling cimport (
    EAGER_KEPT, PyObject_GC_Track, PyObject_GC_UnTrack, eager_clear_weak_references, eager_intercept_dealloc, eager_is_exactly,
    eager_revive,
)
from eager_core.storage cimport LARGEST_STAYING, allocate, borrow, empty_aside, lay_aside, serial_of, stays_with_tensor, take_up

cnp.import_array()

cdef extern from *:
    """
    static PyObject *eager_new(PyObject *base, PyTypeObject *type, PyObject *no_arguments)
    { return ((PyTypeObject *)base)->tp_new(type, no_arguments, NULL); }
    """
    object eager_new(PyObject *base, PyTypeObject *tp, PyObject *no_arguments)
    int PyArray_SetBaseObject(cnp.ndarray array, PyObject *base) except -1

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(PyTypeObject *subtype, cnp.PyArray_Descr *descr, int nd, cnp.npy_intp *dims, cnp.npy_intp *strides,
                                void *data, int flags, PyObject *obj)
    PyTypeObject PyArray_Type

cdef tuple _no_arguments = ()


cdef class TensorBase:
    pass


# Results are of the public type, but are made by the base's constructor: the public one, which users may call, leaves an empty tensor,
# and that costs time. The public type adds no field, so its objects may be made so.
public_type = <PyTypeObject *>TensorBase


cdef void register_tensor_type(type public):
    global public_type, _plain_dealloc
    Py_INCREF(public)
    public_type = <PyTypeObject *>public
    _plain_dealloc = eager_intercept_dealloc(public_type, _retire)


cdef enum:
    SIZES = LARGEST_STAYING // 64 + 1        # 0, 64 .. LARGEST_STAYING bytes
    KEPT_OF_A_SIZE = 32

cdef PyObject *_kept[EAGER_KEPT + 1]      # tensors without references; their object fields are None
cdef int _n_kept = 0
# Temporaries come and go with their memory: tensors that still have storage and layout, by the memory's size in units of 64 bytes.
cdef PyObject *_kept_whole[SIZES][KEPT_OF_A_SIZE]
cdef int _n_kept_whole[SIZES]
cdef destructor _plain_dealloc = NULL


cdef inline int _size_class(Py_ssize_t nbytes) noexcept:
    return <int>((nbytes + 63) >> 6)


cdef void _retire(PyObject *o) noexcept:
    """The last reference is gone."""
    global _n_kept
    cdef int size
    if _n_kept >= EAGER_KEPT or not eager_is_exactly(o, public_type):
        _plain_dealloc(o)
        return
    PyObject_GC_UnTrack(o)
    eager_clear_weak_references(o)
    if (<TensorBase>o).root is not None:
        (<TensorBase>o).root = None
    if (<TensorBase>o).grad_node is not None:
        (<TensorBase>o).grad_node = None
    if (<TensorBase>o).accumulator is not None:
        (<TensorBase>o).accumulator = None
    # Letting go of the fields may have run anything, and so filled the lists.
    if EAGER_KEPT and stays_with_tensor(<PyObject *>(<TensorBase>o).storage):
        size = _size_class((<TensorBase>o).storage.nbytes)
        if _n_kept_whole[size] < KEPT_OF_A_SIZE:
            lay_aside((<TensorBase>o).storage)
            _kept_whole[size][_n_kept_whole[size]] = o
            _n_kept_whole[size] += 1
            return
    (<TensorBase>o).storage = None
    (<TensorBase>o).layout = None
    if _n_kept < EAGER_KEPT:
        _kept[_n_kept] = o
        _n_kept += 1
    else:
        _plain_dealloc(o)


cdef inline TensorBase _revive(PyObject *kept):
    cdef TensorBase made = <TensorBase>eager_revive(kept, public_type)
    made.pinned = made.made_under_no_grad = made.retains = False
    made.has_alias = made.slot = 0
    made.generation = 0
    PyObject_GC_Track(<PyObject *>made)
    return made


cdef TensorBase new_tensor(Storage storage, Layout layout, char *data, int dtype):
    global _n_kept
    cdef TensorBase made
    if _n_kept:
        _n_kept -= 1
        made = _revive(_kept[_n_kept])
    else:
        made = <TensorBase>eager_new(<PyObject *>TensorBase, public_type, <PyObject *>_no_arguments)
    made.storage = storage
    made.layout = layout
    made.data = data
    made.dtype = dtype
    made._stop_gradient = True
    made._name = ""
    return made


cdef TensorBase empty_tensor(Layout layout, int dtype):
    cdef int itemsize = DTYPES[dtype].itemsize, size
    cdef Py_ssize_t nbytes = layout.numel * itemsize
    cdef TensorBase made
    cdef Storage storage
    if not layout.contiguous:
        layout = contiguous_layout(layout.ndim, layout.dims)
    if nbytes <= LARGEST_STAYING:
        size = _size_class(nbytes)
        if _n_kept_whole[size]:
            _n_kept_whole[size] -= 1
            made = _revive(_kept_whole[size][_n_kept_whole[size]])
            take_up(made.storage, nbytes, itemsize)
            if made.layout is not layout:
                made.layout = layout
            made.data = made.storage.data
            made.dtype = dtype
            made._stop_gradient = True
            made._name = ""
            return made
    storage = allocate(nbytes, itemsize)
    return new_tensor(storage, layout, storage.data, dtype)


cdef void _free_kept_whole() noexcept:
    cdef int size
    cdef TensorBase one
    for size in range(SIZES):
        while _n_kept_whole[size]:
            _n_kept_whole[size] -= 1
            one = _revive(_kept_whole[size][_n_kept_whole[size]])
            empty_aside(one.storage)
            one.storage = None


cdef Py_ssize_t _bytes_kept_whole() noexcept:
    cdef int size
    cdef Py_ssize_t total = 0
    for size in range(SIZES):
        total += _n_kept_whole[size] * size * 64
    return total


register_keeper(_free_kept_whole, _bytes_kept_whole)


cdef TensorBase number_tensor(double real, double imaginary, Layout layout, int dtype):
    """Written without a kernel, which would cost more than the number."""
    cdef TensorBase made = empty_tensor(layout, dtype)
    if dtype == EAGER_FLOAT32:
        (<float *>made.data)[0] = <float>real
    elif dtype == EAGER_FLOAT64:
        (<double *>made.data)[0] = real
    elif dtype == EAGER_COMPLEX64:
        (<float *>made.data)[0] = <float>real
        (<float *>made.data)[1] = <float>imaginary
    else:
        (<double *>made.data)[0] = real
        (<double *>made.data)[1] = imaginary
    return made


cdef TensorBase alias(TensorBase t, Layout layout, char *data):
    return new_tensor(t.storage, layout, data, t.dtype)


cdef object as_array(TensorBase t, bint writable):
    return array_over(t, writable, t.storage)


cdef object array_over(TensorBase t, bint writable, object owner):
    """Zero-copy. The array keeps the owner alive, not the tensor object."""
    cdef cnp.npy_intp[9] dims
    cdef cnp.npy_intp[9] strides
    cdef int i, itemsize = DTYPES[t.dtype].itemsize
    cdef object descr = numpy_dtype(t.dtype)
    if watched & WATCH_ADVISE:
        note_use(serial_of(t.storage))
    for i in range(t.layout.ndim):
        dims[i] = t.layout.dims[i]
        strides[i] = t.layout.strides[i] * itemsize
    Py_INCREF(descr)             # PyArray_NewFromDescr steals it
    array = PyArray_NewFromDescr(&PyArray_Type, <cnp.PyArray_Descr *><PyObject *>descr, t.layout.ndim, dims, strides, t.data,
                                 cnp.NPY_ARRAY_WRITEABLE if writable else 0, NULL)
    Py_INCREF(owner)             # stolen as well
    PyArray_SetBaseObject(<cnp.ndarray>array, <PyObject *>owner)
    return array


cdef int _supported(cnp.ndarray array) except -1:
    cdef int code = code_of_numpy(array.dtype)
    if code < 0:
        invalid_type(f"dtype {array.dtype} is not supported. Supported: bool, int8 to int64, uint8 to uint64, float32, float64, "
                     "complex64, complex128 (in native byte order)")
    if array.ndim > EAGER_MAX_NDIM:
        invalid_argument(f"a tensor has at most {EAGER_MAX_NDIM} axes, but the array has {array.ndim}")
    return code


cdef TensorBase adopt_array(object source):
    """The array must be the library's own: nobody else may write to it. Copied only if its memory cannot be described."""
    cdef cnp.ndarray array = source
    cdef int code = _supported(array), i
    cdef int itemsize = DTYPES[code].itemsize
    cdef Py_ssize_t[9] dims
    cdef Storage storage
    if not array.flags.c_contiguous or not array.flags.aligned or not array.flags.writeable:
        return copy_of_array(array)
    for i in range(array.ndim):
        dims[i] = array.shape[i]
    storage = borrow(<char *>cnp.PyArray_DATA(array), array.nbytes, itemsize, array)
    return new_tensor(storage, contiguous_layout(array.ndim, dims), storage.data, code)


cdef TensorBase copy_of_array(object source):
    cdef cnp.ndarray array = source
    cdef int code = _supported(array), i
    cdef Py_ssize_t[9] dims
    cdef TensorBase made
    for i in range(array.ndim):
        dims[i] = array.shape[i]
    made = empty_tensor(contiguous_layout(array.ndim, dims), code)
    if array.flags.c_contiguous:
        memcpy(made.data, cnp.PyArray_DATA(array), array.nbytes)
    else:
        (<cnp.ndarray>as_array(made, True))[...] = array
    return made


cdef TensorBase private_copy(TensorBase t):
    """Elements and name in memory that nobody else has."""
    cdef TensorBase made = copy_of_array(as_array(t, False))
    made._name = t._name
    return made


cdef str type_name(object o):
    """The type as the reference's messages spell it: ``numpy.ndarray``, ``int``."""
    cls = type(o)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"
