# One place that knows which Python class stands for which error category (S0.2).

cdef int invalid_argument(str message) except -1      # ValueError
cdef int invalid_type(str message) except -1          # TypeError
cdef int out_of_range(str message) except -1          # IndexError
cdef int permission_denied(str message) except -1     # RuntimeError
cdef int precondition_not_met(str message) except -1  # RuntimeError
cdef int already_exists(str message) except -1        # RuntimeError
cdef int unavailable(str message) except -1           # RuntimeError
cdef int resource_exhausted(str message) except -1    # MemoryError

cdef int leaf_error(str name) except -1
cdef int version_error(str name, unsigned long long version, unsigned long long expected, str detail) except -1
cdef int freed_error(str node) except -1
