/* Kernels: loops over raw memory.  No Python object, no GIL, no failure.
 *
 * Every elementwise kernel has the signature of NumPy's own inner loops, so that NumPy's loops and ours stand in the same tables:
 *     args   one pointer per operand, inputs first, output last
 *     n      number of elements
 *     steps  distance between elements in bytes, one per operand (0 repeats one element)
 *     data   what the loop's owner wants passed (a struct of attributes, or NumPy's own)
 */
#ifndef EAGER_KERNELS_H
#define EAGER_KERNELS_H
#include <stdint.h>

#define EAGER_MAX_NDIM 9
#define EAGER_MAX_OPERANDS 4

/* Order used by every table of the library (dtypes.pxd has the same names). */
enum eager_dtype {
    EAGER_BOOL, EAGER_INT8, EAGER_UINT8, EAGER_INT16, EAGER_UINT16, EAGER_INT32, EAGER_UINT32, EAGER_INT64, EAGER_UINT64,
    EAGER_FLOAT32, EAGER_FLOAT64, EAGER_COMPLEX64, EAGER_COMPLEX128, EAGER_DTYPES
};

typedef void (*eager_loop)(char **args, const intptr_t *n, const intptr_t *steps, void *data);

/* An n-dimensional elementwise job: run `loop` over `shape`, operands advancing by byte strides. */
typedef struct {
    eager_loop loop;
    void *data;
    int operands;
    int ndim;
    intptr_t shape[EAGER_MAX_NDIM];
    intptr_t strides[EAGER_MAX_OPERANDS][EAGER_MAX_NDIM];
    char *pointers[EAGER_MAX_OPERANDS];
} eager_plan;

/* The same, put in order: axes of length 1 dropped, axes that advance together merged, the longest cheap axis first, which is innermost.
 * A walk over a part of one axis does there exactly what the whole walk does. */
typedef struct { intptr_t length; intptr_t steps[EAGER_MAX_OPERANDS]; } eager_axis;
typedef struct {
    eager_loop loop;
    void *data;
    int operands;
    int ndim; /* at least 1 */
    eager_axis axes[EAGER_MAX_NDIM];
    char *pointers[EAGER_MAX_OPERANDS];
} eager_walk;
int eager_begin_walk(const eager_plan *plan, eager_walk *walk); /* 0: there are no elements */
void eager_run_walk(const eager_walk *walk);
void eager_run_plan(const eager_plan *plan);

/* Parts of a walk (parts.c): which axis to cut, and how many elements the output has. `adds_up`: a reduction, to all of whose results each
 * part contributes; else parts write different places. 0: it must be done in one go. */
typedef struct { int axis, adds_up; intptr_t outputs; } eager_cut;
int eager_choose_cut(const eager_walk *walk, eager_cut *cut);
void eager_take_part(const eager_walk *walk, int axis, intptr_t begin, intptr_t end, eager_walk *part);

/* The loop that converts `from` to `to` (a plain copy when they are equal). Never NULL. */
eager_loop eager_cast_loop(int from, int to);

/* Our own loops; NULL where a dtype has none. */
enum eager_kernel {
    /* unary */
    EAGER_SIGMOID, EAGER_ERF, EAGER_ERFC, EAGER_GELU, EAGER_GELU_TANH, EAGER_RELU, EAGER_RSQRT, EAGER_SCALE,
    /* fused gradients: (saved, gradient) -> gradient */
    EAGER_SIN_GRAD, EAGER_COS_GRAD, EAGER_TANH_GRAD, EAGER_SIGMOID_GRAD, EAGER_GELU_GRAD, EAGER_GELU_TANH_GRAD, EAGER_RELU_GRAD,
    EAGER_RSQRT_GRAD, EAGER_SQRT_GRAD, EAGER_RECIPROCAL_GRAD, EAGER_SQUARE_GRAD,
    /* ternary */
    EAGER_WHERE,
    EAGER_KERNELS,
    /* NumPy has these, but not for each processor in vector code */
    EAGER_SIN = EAGER_KERNELS, EAGER_COS, EAGER_TANH, EAGER_EXP, EAGER_LOG,
    EAGER_FUNCTIONS
};
eager_loop eager_own_loop(int kernel, int dtype);
eager_loop eager_own_loop_up_to(int level, int kernel, int dtype); /* as below; 0: plain C */

/* Vector code for this processor; NULL where there is none: NumPy's loop, or one of ours in plain C, does it then. */
eager_loop eager_vector_loop(int function, int dtype);
eager_loop eager_vector_loop_up_to(int level, int function, int dtype); /* 1: AVX2, 2: AVX-512 if there is one */

/* Loops that stand before NumPy's of an operation and take what they do faster; their `data`. NULL: none for this dtype. */
typedef struct { eager_loop loop; void *data; eager_loop sum; } eager_front_data;
enum eager_front { EAGER_FRONT_ADD, EAGER_FRONT_SUBTRACT, EAGER_FRONT_MULTIPLY, EAGER_FRONT_DIVIDE, EAGER_FRONT_LOOPS };
eager_loop eager_front_loop(int operation, int dtype);
/* Reductions of matrices; `step` bytes from row to row, elements of `size` bytes side by side in each. `call`: to[c] += all of column c
 * (columns.c). `rows`: to[r] += (or *=, max, min) all of row r, of `least` to `most` elements (short_rows.c). NULL: there is none. */
typedef struct {
    void (*call)(const char *from, intptr_t rows, intptr_t step, intptr_t columns, char *to);
    void (*rows)(const char *from, intptr_t rows, intptr_t step, intptr_t columns, char *to);
    intptr_t size, least, most;
} eager_column_sums;
int eager_find_column_sums(int dtype, eager_column_sums *sums);
enum eager_row_fold { EAGER_ROW_SUM, EAGER_ROW_PRODUCT, EAGER_ROW_LARGEST, EAGER_ROW_SMALLEST, EAGER_ROW_FOLDS };
int eager_find_short_rows(int operation, int dtype, eager_column_sums *found);
/* eager_run_walk of a reduction; as a matrix where its two innermost axes are rows and columns, unless `sums` is NULL. */
void eager_run_reduction(const eager_walk *walk, const eager_column_sums *sums);
/* The same operation for a new, contiguous result that will not fit into the last cache, whose bytes are given. NULL: none. */
eager_loop eager_streaming_loop(int operation, int dtype);
/* The same of one operand; it and the result must lie without gaps. */
enum eager_stream_unary {
    EAGER_STREAM_COPY, EAGER_STREAM_NEGATIVE, EAGER_STREAM_ABSOLUTE, EAGER_STREAM_SQUARE, EAGER_STREAM_SQRT, EAGER_STREAM_UNARY
};
eager_loop eager_streaming_unary(int operation, int dtype);
intptr_t eager_last_cache(void);
/* args[2] += all elements of args[1]; the other steps are taken for 0. The fastest for this processor, all with the same results. */
eager_loop eager_sum_loop(int dtype);

/* `data` of EAGER_SCALE: x * scale + bias, or (x + bias) * scale. Integer dtypes use the int64 members. */
typedef struct { double scale, bias; int64_t iscale, ibias; int bias_after_scale; } eager_scale_data;

/* Row kernels over the last, contiguous axis of `rows` x `n` matrices; NULL unless the dtype is float32 or float64.
 * a: input; b: second input or NULL; out: result (may be the same memory as a or b). */
typedef void (*eager_rows)(const void *a, const void *b, void *out, intptr_t rows, intptr_t n);
enum eager_row_kernel { EAGER_SOFTMAX, EAGER_LOG_SOFTMAX, EAGER_SOFTMAX_GRAD, EAGER_LOG_SOFTMAX_GRAD, EAGER_ROW_KERNELS };
eager_rows eager_row_loop(int kernel, int dtype);

/* Row r of the result: n times element r of a, without gaps (short_rows.c). NULL: not for elements of this size, or rows of that length. */
eager_rows eager_repeat_loop(intptr_t size, intptr_t n);

/* Element b[r] of row r of a; or, `put`, zeros with a[r] there. b: int64. NULL: no loop for this dtype. */
eager_rows eager_pick_loop(int put, int dtype);

/* Matrices of at most EAGER_SMALL_MATRIX rows and columns, where the set-up of BLAS and LAPACK would cost more than the work. */
#define EAGER_SMALL_MATRIX 8
/* A stack of matrix products, in the signature of NumPy's gufunc loop; the rows of the result lie without gaps. NULL: no loop. */
eager_loop eager_small_matmul(int dtype);
/* A stack of matrices; steps in bytes. */
typedef struct { char *data; intptr_t step, row, column; } eager_matrices;
/* `count` times: x is n x n; y, or NULL, is n x k, and so is the result of solving. 1: something is singular, to rounding, or not finite,
 * and out is undefined. */
typedef int (*eager_small)(const eager_matrices *x, const eager_matrices *y, const eager_matrices *out, intptr_t count, int n, int k);
enum eager_small_kernel {
    EAGER_SMALL_SOLVE, EAGER_SMALL_INVERSE, EAGER_SMALL_DET, EAGER_SMALL_SLOGDET, EAGER_SMALL_COFACTOR, EAGER_SMALL_CHOLESKY,
    EAGER_SMALL_UPPER, EAGER_SMALL_LOWER, EAGER_SMALL_UNIT_UPPER, EAGER_SMALL_UNIT_LOWER, /* triangular systems */
    EAGER_SMALL_KERNELS
};
eager_small eager_small_kernel(int kernel, int dtype);

/* Write stamps (S5.13): a uint32 below 0xffffffff for each granule of a storage. Blocks of granules that bear one stamp bear it together, so
 * that a write of long runs costs a fraction of its length. `granule`: bytes, a power of 2. */
typedef struct { uint32_t *first; intptr_t nbytes; int granule; } eager_stamps;
/* All 0; memory for `first`, to be given back by free(). NULL: there is none. */
uint32_t *eager_make_stamps(intptr_t nbytes, int granule);
/* A region of elements: the byte offset of the first one, the size of each, and strides in elements. */
typedef struct { intptr_t offset; int itemsize; int ndim; const intptr_t *shape; const intptr_t *strides; } eager_region;
void eager_stamp_region(const eager_stamps *stamps, const eager_region *region, uint32_t stamp);
/* 1 if any granule of the region bears a stamp greater than `limit`. */
int eager_region_newer(const eager_stamps *stamps, const eager_region *region, uint32_t limit);
/* 1 if every granule of the region bears a stamp greater than `limit`. */
int eager_region_all_newer(const eager_stamps *stamps, const eager_region *region, uint32_t limit);

/* Memory as it was before some writes, in pages; where no page is, it is as it is now. */
#define EAGER_PAGE 1024
typedef struct { const char *live; intptr_t nbytes; char **pages; } eager_pages;
/* The elements of a region in C order, without gaps. */
void eager_pack_region(const char *memory, const eager_region *region, char *packed);
void eager_read_region(const eager_pages *old, const eager_region *region, char *packed);
/* Pages under the region, copied from memory where they are missing; -1 if there is no memory for them. */
int eager_make_pages(eager_pages *old, const eager_region *region);
/* Exchange a region, whose pages are there and which does not overlap itself, with packed bytes. */
void eager_swap_region(eager_pages *old, const eager_region *region, char *packed);
#endif
