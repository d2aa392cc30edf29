"""DLPack capsules over a tensor's memory or over a copy of it.

The protocol has a flag that says "read only", but consumers exist that do not look at it. So what nobody asked to share is a copy, and what
is shared is lent as to a writable array. The structs are those of the DLPack specification, version 1.0 and the unversioned one before.
"""
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from eager_core.dtypes cimport DTYPES, EAGER_UINT8, EAGER_UINT16, EAGER_UINT32, EAGER_UINT64, KIND_BOOL, KIND_COMPLEX, KIND_FLOAT
from eager_core.errors cimport invalid_argument, invalid_type, resource_exhausted
from eager_core.lending cimport lend
from eager_core.tensor cimport private_copy, type_name

cdef extern from "Python.h":
    bint Py_IsInitialized() nogil

cdef enum:
    CPU = 1
    CODE_INT = 0
    CODE_UINT = 1
    CODE_FLOAT = 2
    CODE_COMPLEX = 5
    CODE_BOOL = 6
    IS_COPIED = 2

cdef struct Device:
    int32_t kind
    int32_t number

cdef struct DataType:
    uint8_t code
    uint8_t bits
    uint16_t lanes

cdef struct Described:
    void *data
    Device device
    int32_t ndim
    DataType dtype
    int64_t *shape
    int64_t *strides
    uint64_t byte_offset

cdef struct Unversioned:
    Described tensor
    void *owner
    void (*deleter)(Unversioned *self) noexcept nogil

cdef struct Versioned:
    uint32_t major
    uint32_t minor
    void *owner
    void (*deleter)(Versioned *self) noexcept nogil
    uint64_t flags
    Described tensor

cdef struct Block:                   # all that a capsule needs: one allocation
    Unversioned unversioned
    Versioned versioned
    int64_t[9] shape
    int64_t[9] strides
    PyObject *owner                  # what keeps the memory: a storage, or the lease of one


cdef void _release(Block *block) noexcept nogil:
    """Consumers call this from any thread, with or without the GIL."""
    if not Py_IsInitialized():
        return                       # the owner has gone, or never will
    with gil:
        Py_DECREF(<object>block.owner)
    free(block)


cdef void _delete_unversioned(Unversioned *self) noexcept nogil:
    _release(<Block *>self.owner)


cdef void _delete_versioned(Versioned *self) noexcept nogil:
    _release(<Block *>self.owner)


cdef void _unused_unversioned(object capsule) noexcept:
    """A consumer renames the capsule that it takes over."""
    if PyCapsule_IsValid(capsule, "dltensor"):
        _release(<Block *>(<Unversioned *>PyCapsule_GetPointer(capsule, "dltensor")).owner)


cdef void _unused_versioned(object capsule) noexcept:
    if PyCapsule_IsValid(capsule, "dltensor_versioned"):
        _release(<Block *>(<Versioned *>PyCapsule_GetPointer(capsule, "dltensor_versioned")).owner)


cdef DataType _type_of(int dtype) noexcept:
    cdef DataType made
    made.bits = <uint8_t>(8 * DTYPES[dtype].itemsize)
    made.lanes = 1
    if DTYPES[dtype].kind == KIND_BOOL:
        made.code = CODE_BOOL
    elif DTYPES[dtype].kind == KIND_FLOAT:
        made.code = CODE_FLOAT
    elif DTYPES[dtype].kind == KIND_COMPLEX:
        made.code = CODE_COMPLEX
    elif dtype == EAGER_UINT8 or dtype == EAGER_UINT16 or dtype == EAGER_UINT32 or dtype == EAGER_UINT64:
        made.code = CODE_UINT
    else:
        made.code = CODE_INT
    return made


cdef bint _knows_versions(object max_version) except -1:
    if max_version is None:
        return False
    if not isinstance(max_version, tuple) or len(max_version) != 2 or not all([isinstance(number, int) for number in max_version]):
        invalid_type(f"__dlpack__(): max_version must be None or a tuple of two ints, but got {type_name(max_version)}")
    return max_version[0] >= 1


cdef object make_capsule(TensorBase t, object stream, object max_version, object dl_device, object copy):
    cdef bint versioned = _knows_versions(max_version)
    cdef Block *block
    cdef Described described
    cdef object owner
    cdef int i
    if stream is not None:
        invalid_argument("__dlpack__(): the CPU has no streams, stream must be None")
    if dl_device is not None and not isinstance(dl_device, (tuple, list)):
        invalid_type(f"__dlpack__(): dl_device must be None or a tuple of two ints, but got {type_name(dl_device)}")
    if dl_device is not None and tuple(dl_device) != (CPU, 0):
        raise BufferError(f"(InvalidArgument) __dlpack__(): the memory is the CPU's, (1, 0); it cannot be given on device {dl_device}")
    if copy is not None and type(copy) is not bool:
        invalid_type(f"__dlpack__(): copy must be bool or None, but got {type_name(copy)}")
    if copy is False:
        for i in range(t.layout.ndim):
            if t.layout.strides[i] < 0 and t.layout.numel:
                raise BufferError("(InvalidArgument) __dlpack__(): elements that lie in reverse order cannot be shared. Let it copy, "
                                  "or flip the tensor back")
    block = <Block *>malloc(sizeof(Block))
    if block == NULL:
        resource_exhausted("no memory for a DLPack capsule")
    try:
        if copy is False:
            owner = lend(t, "__dlpack__(copy=False)", True)
        else:
            t = private_copy(t)
            owner = t.storage
    except BaseException:
        free(block)
        raise
    described.data = t.data if t.layout.numel else NULL
    described.device.kind = CPU
    described.device.number = 0
    described.ndim = t.layout.ndim
    described.dtype = _type_of(t.dtype)
    described.shape = block.shape
    described.strides = block.strides
    described.byte_offset = 0
    for i in range(t.layout.ndim):
        block.shape[i] = t.layout.dims[i]
        block.strides[i] = t.layout.strides[i]
    block.unversioned.tensor = block.versioned.tensor = described
    block.unversioned.owner = block.versioned.owner = block
    block.unversioned.deleter = _delete_unversioned
    block.versioned.deleter = _delete_versioned
    block.versioned.major = 1
    block.versioned.minor = 0
    block.versioned.flags = 0 if copy is False else IS_COPIED
    Py_INCREF(owner)
    block.owner = <PyObject *>owner
    try:
        if versioned:
            return PyCapsule_New(&block.versioned, "dltensor_versioned", _unused_versioned)
        return PyCapsule_New(&block.unversioned, "dltensor", _unused_unversioned)
    except BaseException:
        _release(block)
        raise
