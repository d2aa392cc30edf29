# Operator rows (op.h, filled by the generator) and the struct that carries one call from the parser to the kernel.
from cpython.object cimport PyObject
from libc.stdint cimport int8_t, int64_t, uint32_t

from eager_core.dtypes cimport EAGER_MAX_NDIM, EAGER_MAX_OPERANDS

cdef extern from "kernels/kernels.h":
    ctypedef void (*eager_loop)(char **args, const Py_ssize_t *n, const Py_ssize_t *steps, void *data) noexcept nogil
    ctypedef struct eager_plan:
        eager_loop loop
        void *data
        int operands
        int ndim
        Py_ssize_t[9] shape
        Py_ssize_t[4][9] strides
        char *pointers[4]
    void eager_run_plan(const eager_plan *plan) noexcept nogil
    ctypedef struct eager_axis:
        Py_ssize_t length
        Py_ssize_t[4] steps
    ctypedef struct eager_walk:
        eager_loop loop
        void *data
        int operands
        int ndim
        eager_axis[9] axes
        char *pointers[4]
    int eager_begin_walk(const eager_plan *plan, eager_walk *walk) noexcept nogil
    void eager_run_walk(const eager_walk *walk) noexcept nogil
    ctypedef struct eager_cut:
        int axis
        int adds_up
        Py_ssize_t outputs
    int eager_choose_cut(const eager_walk *walk, eager_cut *cut) noexcept nogil
    void eager_take_part(const eager_walk *walk, int axis, Py_ssize_t begin, Py_ssize_t end, eager_walk *part) noexcept nogil
    eager_loop eager_cast_loop(int source, int target) noexcept nogil
    ctypedef struct eager_front_data:
        eager_loop loop
        void *data
        eager_loop sum
    enum:
        EAGER_FRONT_ADD, EAGER_FRONT_SUBTRACT, EAGER_FRONT_MULTIPLY, EAGER_FRONT_DIVIDE
    eager_loop eager_front_loop(int operation, int dtype) noexcept nogil
    eager_loop eager_sum_loop(int dtype) noexcept nogil
    Py_ssize_t eager_last_cache() noexcept nogil
    ctypedef struct eager_column_sums:
        pass
    int eager_find_column_sums(int dtype, eager_column_sums *sums) noexcept nogil
    enum:
        EAGER_ROW_SUM, EAGER_ROW_PRODUCT, EAGER_ROW_LARGEST, EAGER_ROW_SMALLEST
    int eager_find_short_rows(int operation, int dtype, eager_column_sums *found) noexcept nogil
    void eager_run_reduction(const eager_walk *walk, const eager_column_sums *sums) noexcept nogil
    ctypedef struct eager_scale_data:
        double scale, bias
        int64_t iscale, ibias
        int bias_after_scale
    ctypedef void (*eager_rows)(const void *a, const void *b, void *out, Py_ssize_t rows, Py_ssize_t n) noexcept nogil
    eager_rows eager_row_loop(int kernel, int dtype) noexcept nogil
    eager_rows eager_repeat_loop(Py_ssize_t size, Py_ssize_t n) noexcept nogil
    eager_rows eager_pick_loop(int put, int dtype) noexcept nogil
    enum:
        EAGER_SMALL_MATRIX
        EAGER_SMALL_SOLVE, EAGER_SMALL_INVERSE, EAGER_SMALL_DET, EAGER_SMALL_SLOGDET, EAGER_SMALL_COFACTOR, EAGER_SMALL_CHOLESKY
        EAGER_SMALL_UPPER, EAGER_SMALL_LOWER, EAGER_SMALL_UNIT_UPPER, EAGER_SMALL_UNIT_LOWER
    ctypedef struct eager_matrices:
        char *data
        Py_ssize_t step, row, column
    ctypedef int (*eager_small)(const eager_matrices *x, const eager_matrices *y, const eager_matrices *out, Py_ssize_t count, int n,
                                int k) noexcept nogil
    eager_small eager_small_kernel(int kernel, int dtype) noexcept nogil
    eager_loop eager_small_matmul(int dtype) noexcept nogil

cdef extern from "op.h":
    enum:
        EAGER_MAX_ATTRS, EAGER_MAX_SAVED
        PARAM_TENSOR, PARAM_OPERAND, PARAM_TENSORS, PARAM_OPTIONAL, PARAM_FLOAT, PARAM_INT, PARAM_BOOL, PARAM_STR, PARAM_INTS
        PARAM_AXES, PARAM_DTYPE, PARAM_NUMBER, PARAM_OBJECT, PARAM_IGNORED
        FAMILY_UNARY, FAMILY_BINARY, FAMILY_TERNARY, FAMILY_CLIP, FAMILY_SCALE, FAMILY_GELU, FAMILY_REDUCTION, FAMILY_UNREDUCE
        FAMILY_MATMUL, FAMILY_ROWS, FAMILY_PICK, FAMILY_PUT, FAMILY_CAST, FAMILY_VIEW, FAMILY_GETITEM, FAMILY_SETITEM
        FAMILY_ARRAY, FAMILY_BROADCAST, FAMILY_LINALG, FAMILY_NODE, FAMILIES
        RESULT_SAME, RESULT_FLOAT, RESULT_BOOL, RESULT_REAL, RESULT_LOGICAL, RESULT_WHOLE
        COMMUTES_NEVER, COMMUTES_REAL, COMMUTES_ALWAYS
    ctypedef struct eager_param:
        const char *name
        const char *lowlevel
        int kind
        int slot
        int required
        double fallback
    ctypedef struct eager_op_row:
        int id
        const char *name
        const char *lowlevel
        const char *node_name
        int family
        int kernel
        int dtype_rule
        int n_tensors
        int n_attrs
        double[6] defaults
        uint32_t differentiable
        int n_saved
        int8_t[4] saved
        uint32_t[4] uses
        int n_inputs
        const char *const *input_names
        const int8_t *input_slots
        int n_results
        const char *const *result_names
        int n_params
        const eager_param *params
        const char *signature
        const char *doc
        int commutes
        int spares

ctypedef const eager_op_row OpRow

cdef struct Attr:
    double f                 # FLOAT, NUMBER
    int64_t i                # INT, BOOL, DTYPE code (-1: None)
    PyObject *o              # objects; borrowed from the caller's arguments or held in OpCall.kept

# What trace_op runs. One kind at a time.
cdef enum JobKind:
    JOB_NONE                 # nothing moves: views, results adopted from NumPy
    JOB_LOOP                 # loop(args, dims, steps, data): one flat loop over dims[0] elements, in one go
    JOB_LOOP_1               # the same with 1, 2, 3 inputs: may be cut into parts
    JOB_LOOP_2
    JOB_LOOP_3
    JOB_TOTAL                # the same: adds args[1] up in args[0] = args[2], where a start value stands; dims[1]: bytes of an element
    JOB_GUFUNC               # the same with core dimensions: a stack of matrix products
    JOB_PLAN                 # an n-dimensional loop
    JOB_ROWS                 # rows(args[0], args[1], args[2], dims[0], dims[1]); steps: bytes per row
    JOB_REDUCE               # fill the result, run the plan that accumulates into it, divide; dims[1]: bytes of an element
    JOB_PYTHON               # NumPy itself, where no loop may be called directly

cdef struct Job:
    JobKind kind
    eager_loop loop
    void *data
    char *args[4]
    Py_ssize_t[5] dims
    Py_ssize_t[12] steps
    eager_plan plan
    eager_rows rows
    # JOB_REDUCE
    eager_plan init          # copies the start value into the result
    const eager_column_sums *columns     # NULL: nothing of its own for matrices
    eager_loop divide        # mean: result / count; NULL otherwise
    void *divide_data
    PyObject *python         # JOB_PYTHON: a callable without arguments; borrowed from OpCall.kept


cdef enum:
    MAX_KEPT = 12

cdef enum ScalarKind:
    SCALAR_BOOL, SCALAR_INT, SCALAR_FLOAT, SCALAR_COMPLEX

# One call, from the parser to the recorded node. Lives on the C stack; begin_call sets what rules and parsers may read unset.
cdef struct OpCall:
    OpRow *row
    bint inplace                     # tensor 0 is the target
    bint entry                       # came through a python-c entry point: messages use the low-level name
    int n                            # tensor inputs
    PyObject **x                     # borrowed from the caller; NULL: absent, or the number below
    PyObject *inline_x[4]
    Attr[6] attrs
    int scalar_at                    # which input is a Python number; -1: none
    ScalarKind scalar_kind
    int64_t scalar_int
    PyObject *scalar_big             # a Python int that scalar_int cannot hold; NULL otherwise; held in `kept`
    double scalar_real
    double scalar_imag
    double[6] numbers                # numbers in the dtype of the computation, for kernels to point at; 16 bytes each
    eager_scale_data scale           # attributes of a kernel
    # Filled by the row's rule (owned references):
    PyObject *out                    # the result; in place: the target
    PyObject *stage                  # what the kernel writes when that is not `out` itself: copied into it afterwards
    PyObject *more_out               # tuple of outputs 1, 2, ...
    PyObject *new_layout             # metadata that the target adopts (reshape_)
    PyObject *old_bytes              # NULL, or the write is watched: None, or OldBytes, what it destroys
    PyObject *written                # the part of the target that is written, when it is not all of it
    PyObject *region                 # a view of a tensor that is not contiguous: the view's place among the elements in C order
    Py_ssize_t region_offset
    bint is_view                     # out is a differentiable view of tensor 0; out NULL: no view can express it, copy first
    bint nothing                     # x[i] += y: the value is that region already, so nothing is written or counted (S4.8)
    bint needs_grad
    Job job
    int n_kept                       # objects that must live until the call ends
    PyObject *kept[12]

cdef void begin_call(OpCall *c, OpRow *row, bint inplace) noexcept
cdef PyObject *keep(OpCall *c, object o) except NULL             # hold it until the call ends; returned borrowed
cdef void release_call(OpCall *c) noexcept

# The tables that the generator fills and the layers above complete.
ctypedef int (*rule_fn)(OpCall *c) except -1
cdef int register_rows(const eager_op_row *rows, int n) except -1
cdef void register_rule(int family, rule_fn rule) noexcept
cdef OpRow *op_row(int op) noexcept
cdef rule_fn rule_of(OpRow *row) noexcept
cdef str op_name(OpCall *c)                                      # for messages: "add" or "add_"
