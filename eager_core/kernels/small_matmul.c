/* Products of matrices of at most 8 x 8.  A call of BLAS costs more than such a product: it packs its operands and looks for threads.
 * The sums run over the inner index in order, one after the other, as a plain loop would. */
#include "loops.h"

#define MOST EAGER_SMALL_MATRIX

/* The operands go through blocks of a fixed width, so that the inner loops have no strides and, with a constant N, no ends. */
#define DEFINE(NAME, T) \
    EAGER_SPECIALISED void load_##NAME(T to[MOST][MOST], const char *from, intptr_t rows, intptr_t columns, intptr_t row, intptr_t column) \
    { \
        if (column == EAGER_SIZE(T)) \
            for (intptr_t i = 0; i < rows; i++) for (intptr_t j = 0; j < columns; j++) to[i][j] = ((const T *)(from + i * row))[j]; \
        else \
            for (intptr_t i = 0; i < rows; i++) \
                for (intptr_t j = 0; j < columns; j++) to[i][j] = *(const T *)(from + i * row + j * column); \
    } \
    EAGER_SPECIALISED void product_##NAME(char **args, const intptr_t *steps, intptr_t m, intptr_t n, intptr_t p) \
    { \
        T a[MOST][MOST], b[MOST][MOST]; \
        load_##NAME(a, args[0], m, n, steps[3], steps[4]); \
        load_##NAME(b, args[1], n, p, steps[5], steps[6]); \
        for (intptr_t i = 0; i < m; i++) { \
            T sum[MOST]; \
            T *out = (T *)(args[2] + i * steps[7]); \
            for (intptr_t j = 0; j < p; j++) sum[j] = a[i][0] * b[0][j]; \
            for (intptr_t k = 1; k < n; k++) for (intptr_t j = 0; j < p; j++) sum[j] += a[i][k] * b[k][j]; \
            for (intptr_t j = 0; j < p; j++) out[j] = sum[j]; \
        } \
    } \
    static void matmul_##NAME(char **args, const intptr_t *dims, const intptr_t *steps, void *data) \
    { \
        char *at[3] = {args[0], args[1], args[2]}; \
        const intptr_t m = dims[1], n = dims[2], p = dims[3]; \
        (void)data; \
        for (intptr_t b = 0; b < dims[0]; b++) { \
            if (m == 2 && n == 2 && p == 2) product_##NAME(at, steps, 2, 2, 2); \
            else if (m == 3 && n == 3 && p == 3) product_##NAME(at, steps, 3, 3, 3); \
            else if (m == 4 && n == 4 && p == 4) product_##NAME(at, steps, 4, 4, 4); \
            else product_##NAME(at, steps, m, n, p); \
            for (int k = 0; k < 3; k++) at[k] += steps[k]; \
        } \
    }
DEFINE(float32, float)
DEFINE(float64, double)

eager_loop eager_small_matmul(int dtype)
{
    return dtype == EAGER_FLOAT32 ? matmul_float32 : dtype == EAGER_FLOAT64 ? matmul_float64 : NULL;
}
