# Modes that are off almost always. `modes_on` counts who has one on, in the whole process: while it is 0 nobody needs to look further.
cdef long modes_on
cdef long watch_on                               # of these, who has detect_anomaly on

cdef bint preserving() noexcept                  # allow_mutation_on_saved_tensors, of the current thread
cdef int watching() noexcept                     # detect_anomaly, of the current thread: 0 off, 1 lines, 2 lines and finite values
cdef object lines_here()                         # None, or where the user's program is, if detect_anomaly wants to know
