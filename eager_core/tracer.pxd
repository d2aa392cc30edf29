from eager_core.layout cimport Layout
from eager_core.op cimport Job, OpCall
from eager_core.tensor cimport TensorBase

cdef enum:
    # Elements (multiply-adds of a product) below which a kernel keeps the GIL: about a microsecond of work. Two threads with operators on 6
    # floats make 12.6 million calls a second together when they keep it and 4.3 when they release it around each: most of the time
    # goes into handing the GIL over. Two threads gain from the release from 1024 elements on for tanh, from some 8000 for a product
    # (float64, 2 cores). `python benchmarks/threads.py gil` measures it.
    KEEP_GIL_BELOW = 1024

cdef int trace_op(OpCall *c) except -1
cdef void run_job(Job *job) noexcept                                   # kernels outside of an operator's call
cdef TensorBase contiguous_copy(TensorBase t, int dtype)               # new memory, no history
cdef TensorBase copy_for_rule(TensorBase t, int dtype)                 # the same without letting other threads run
cdef int fill(TensorBase t, double value) except -1                                           # contiguous
cdef int fill_with(TensorBase t, char *element, int dtype) except -1     # t: contiguous
cdef int copy_into(TensorBase target, TensorBase source) except -1     # source broadcasts to target; no version, no history

# Plans: one operand after the other over the shape given first.
cdef void begin_plan(Job *job, Layout shape, int operands) noexcept
cdef void plan_tensor(Job *job, int k, TensorBase t) noexcept           # broadcast, right-aligned
cdef void plan_memory(Job *job, int k, Layout layout, char *data, int dtype) noexcept
cdef void plan_constant(Job *job, int k, char *data) noexcept
