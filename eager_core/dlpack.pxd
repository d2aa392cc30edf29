from eager_core.tensor cimport TensorBase

cdef object make_capsule(TensorBase t, object stream, object max_version, object dl_device, object copy)
