/* Linear algebra of matrices of at most 8 x 8, without the set-up of LAPACK.
 *
 * Elimination with partial pivoting takes the pivots of LAPACK's getrf (the first of the largest in modulus), so that results agree up
 * to rounding.  What rounding could decide is left to LAPACK itself: a kernel returns 1, having written nothing that counts, if a pivot
 * is tiny against the matrix, or if there is an element that is no finite number. */
#include <float.h>
#include <math.h>

#include "loops.h"

#define MOST EAGER_SMALL_MATRIX
#define EVERY(i, n) for (int i = 0; i < (n); i++)
#define AT(T, m, i, j) (*(T *)((m).data + (i) * (m).row + (j) * (m).column))

#define KERNEL(KIND, NAME, T) \
    KIND int NAME(const eager_matrices *x_, const eager_matrices *y_, const eager_matrices *out_, intptr_t count, int n, int k) \
    { \
        eager_matrices x = *x_, y = y_ ? *y_ : x, out = *out_; \
        (void)k; \
        for (; count > 0; count--, x.data += x.step, y.data += y.step, out.data += out.step)
#define END_KERNEL return 0; }

/* The steps that a kernel of T is made of.  `k` columns of b go through the elimination of a. */
#define DEFINE(NAME, T, ABS, LOG, EPSILON, LEAST, LARGEST) \
    EAGER_SPECIALISED int load_##NAME(T to[MOST][MOST], const eager_matrices *from, int rows, int columns, T *largest) \
    { \
        T most = 0; \
        int strange = 0; \
        EVERY(i, rows) EVERY(j, columns) { \
            const T value = to[i][j] = AT(const T, *from, i, j), size = ABS(value); \
            strange |= !(size <= LARGEST); \
            most = size > most ? size : most; \
        } \
        *largest = most; \
        return strange; \
    } \
    EAGER_SPECIALISED void identity_##NAME(T b[MOST][MOST], int n) { EVERY(i, n) EVERY(j, n) b[i][j] = i == j; } \
    EAGER_SPECIALISED void store_##NAME(const eager_matrices *to, T from[MOST][MOST], int rows, int columns) \
    { \
        EVERY(i, rows) EVERY(j, columns) AT(T, *to, i, j) = from[i][j]; \
    } \
    EAGER_SPECIALISED int eliminate_##NAME(T a[MOST][MOST], T b[MOST][MOST], int n, int k, T largest, int *odd) \
    { \
        const T tiny = largest * (n * EPSILON); \
        *odd = 0; \
        EVERY(j, n) { \
            int pivot = j; \
            T best = ABS(a[j][j]); \
            for (int i = j + 1; i < n; i++) if (ABS(a[i][j]) > best) { best = ABS(a[i][j]); pivot = i; } \
            if (!(best > tiny && best >= LEAST)) return 1; \
            if (pivot != j) { \
                *odd ^= 1; \
                for (int c = j; c < n; c++) { const T kept = a[j][c]; a[j][c] = a[pivot][c]; a[pivot][c] = kept; } \
                EVERY(c, k) { const T kept = b[j][c]; b[j][c] = b[pivot][c]; b[pivot][c] = kept; } \
            } \
            for (int i = j + 1; i < n; i++) { \
                const T factor = a[i][j] / a[j][j]; \
                for (int c = j + 1; c < n; c++) a[i][c] -= factor * a[j][c]; \
                EVERY(c, k) b[i][c] -= factor * b[j][c]; \
            } \
        } \
        return 0; \
    } \
    EAGER_SPECIALISED void substitute_up_##NAME(T a[MOST][MOST], T b[MOST][MOST], int n, int k) \
    { \
        for (int i = n - 1; i >= 0; i--) { \
            for (int j = i + 1; j < n; j++) EVERY(c, k) b[i][c] -= a[i][j] * b[j][c]; \
            EVERY(c, k) b[i][c] /= a[i][i]; \
        } \
    } \
    EAGER_SPECIALISED void substitute_down_##NAME(T a[MOST][MOST], T b[MOST][MOST], int n, int k) \
    { \
        EVERY(i, n) { \
            EVERY(j, i) EVERY(c, k) b[i][c] -= a[i][j] * b[j][c]; \
            EVERY(c, k) b[i][c] /= a[i][i]; \
        } \
    } \
    /* det(a) of an eliminated a; 0 if a product on the way leaves the range where all digits are kept. */ \
    EAGER_SPECIALISED T product_##NAME(T a[MOST][MOST], int n, int odd) \
    { \
        T product = odd ? -1 : 1; \
        EVERY(i, n) { \
            product *= a[i][i]; \
            if (!(ABS(product) >= LEAST && ABS(product) <= LARGEST)) return 0; \
        } \
        return product; \
    } \
    EAGER_SPECIALISED T norm_##NAME(T a[MOST][MOST], int n) \
    { \
        T norm = 0; \
        EVERY(i, n) { \
            T row = 0; \
            EVERY(j, n) row += ABS(a[i][j]); \
            norm = row > norm ? row : norm; \
        } \
        return norm; \
    } \
    EAGER_SPECIALISED \
    int solve_one_##NAME(const eager_matrices *x, const eager_matrices *y, const eager_matrices *out, int n, int k) \
    { \
        T a[MOST][MOST], b[MOST][MOST], largest, ignored; \
        int odd; \
        if (load_##NAME(a, x, n, n, &largest)) return 1; \
        if (y == NULL) identity_##NAME(b, n); \
        else if (load_##NAME(b, y, n, k, &ignored)) return 1; \
        if (eliminate_##NAME(a, b, n, k, largest, &odd)) return 1; \
        substitute_up_##NAME(a, b, n, k); \
        store_##NAME(out, b, n, k); \
        return 0; \
    } \
    EAGER_SHARED int solve_any_##NAME(const eager_matrices *x, const eager_matrices *y, const eager_matrices *out, int n, int k) \
    { \
        return solve_one_##NAME(x, y, out, n, k); \
    } \
    EAGER_SHARED int eliminate_any_##NAME(T a[MOST][MOST], const eager_matrices *x, int n, int *odd) \
    { \
        T largest; \
        return load_##NAME(a, x, n, n, &largest) || eliminate_##NAME(a, a, n, 0, largest, odd); \
    } \
    KERNEL(static, solve_##NAME, T) { \
        if (n == 4 && k == 1) { if (solve_one_##NAME(&x, &y, &out, 4, 1)) return 1; } \
        else if (n == 4 && k == 4) { if (solve_one_##NAME(&x, &y, &out, 4, 4)) return 1; } \
        else if (solve_any_##NAME(&x, &y, &out, n, k)) return 1; \
    } END_KERNEL \
    KERNEL(static, inverse_##NAME, T) { \
        if (n == 2) { if (solve_one_##NAME(&x, NULL, &out, 2, 2)) return 1; } \
        else if (n == 3) { if (solve_one_##NAME(&x, NULL, &out, 3, 3)) return 1; } \
        else if (n == 4) { if (solve_one_##NAME(&x, NULL, &out, 4, 4)) return 1; } \
        else if (solve_any_##NAME(&x, NULL, &out, n, n)) return 1; \
    } END_KERNEL \
    KERNEL(EAGER_SHARED, det_##NAME, T) { \
        T a[MOST][MOST], product; \
        int odd; \
        if (eliminate_any_##NAME(a, &x, n, &odd)) return 1; \
        product = product_##NAME(a, n, odd); \
        if (product == 0) return 1; \
        *(T *)out.data = product; \
    } END_KERNEL \
    /* The sign; a row further on the logarithm of the modulus. */ \
    KERNEL(EAGER_SHARED, slogdet_##NAME, T) { \
        T a[MOST][MOST], logarithm = 0; \
        int odd; \
        if (eliminate_any_##NAME(a, &x, n, &odd)) return 1; \
        EVERY(i, n) { \
            odd ^= a[i][i] < 0; \
            logarithm += LOG(ABS(a[i][i])); \
        } \
        AT(T, out, 0, 0) = odd ? -1 : 1; \
        AT(T, out, 1, 0) = logarithm; \
    } END_KERNEL \
    /* det(x) x^-T where half of the digits are left, as the array kernel has it. */ \
    KERNEL(EAGER_SHARED, cofactor_##NAME, T) { \
        T a[MOST][MOST], b[MOST][MOST], largest, norm, product; \
        int odd; \
        if (load_##NAME(a, &x, n, n, &largest)) return 1; \
        norm = norm_##NAME(a, n); \
        identity_##NAME(b, n); \
        if (eliminate_##NAME(a, b, n, n, largest, &odd)) return 1; \
        product = product_##NAME(a, n, odd); \
        substitute_up_##NAME(a, b, n, n); \
        norm *= norm_##NAME(b, n); \
        if (product == 0 || !(norm * norm * EPSILON < 1)) return 1; \
        EVERY(i, n) EVERY(j, n) AT(T, out, j, i) = product * b[i][j]; \
    } END_KERNEL \
    /* Only the lower triangle of x is read. */ \
    KERNEL(EAGER_SHARED, cholesky_##NAME, T) { \
        T a[MOST][MOST]; \
        T most = 0; \
        EVERY(i, n) EVERY(j, i + 1) { \
            a[i][j] = AT(const T, x, i, j); \
            if (!(ABS(a[i][j]) <= LARGEST)) return 1; \
            most = ABS(a[i][j]) > most ? ABS(a[i][j]) : most; \
        } \
        EVERY(j, n) { \
            if (!(a[j][j] > most * (n * EPSILON) && a[j][j] >= LEAST)) return 1; \
            a[j][j] = (T)sqrt((double)a[j][j]); \
            for (int i = j + 1; i < n; i++) a[i][j] /= a[j][j]; \
            for (int i = j + 1; i < n; i++) for (int c = j + 1; c <= i; c++) a[i][c] -= a[i][j] * a[c][j]; \
        } \
        EVERY(i, n) EVERY(j, n) AT(T, out, i, j) = j <= i ? a[i][j] : 0; \
    } END_KERNEL \
    EAGER_SHARED int triangular_##NAME(const eager_matrices *x, const eager_matrices *y, const eager_matrices *out, int n, int k, \
                                        int upper, int unit) \
    { \
        T a[MOST][MOST], b[MOST][MOST], ignored; \
        if (load_##NAME(b, y, n, k, &ignored)) return 1; \
        EVERY(i, n) for (int j = upper ? i : 0; j < (upper ? n : i + 1); j++) { \
            a[i][j] = i == j && unit ? 1 : AT(const T, *x, i, j); \
            if (!(ABS(a[i][j]) <= LARGEST) || (i == j && ABS(a[i][j]) < LEAST)) return 1; \
        } \
        if (upper) substitute_up_##NAME(a, b, n, k); \
        else substitute_down_##NAME(a, b, n, k); \
        store_##NAME(out, b, n, k); \
        return 0; \
    } \
    KERNEL(EAGER_SHARED, upper_##NAME, T) { if (triangular_##NAME(&x, &y, &out, n, k, 1, 0)) return 1; } END_KERNEL \
    KERNEL(EAGER_SHARED, lower_##NAME, T) { if (triangular_##NAME(&x, &y, &out, n, k, 0, 0)) return 1; } END_KERNEL \
    KERNEL(EAGER_SHARED, unit_upper_##NAME, T) { if (triangular_##NAME(&x, &y, &out, n, k, 1, 1)) return 1; } END_KERNEL \
    KERNEL(EAGER_SHARED, unit_lower_##NAME, T) { if (triangular_##NAME(&x, &y, &out, n, k, 0, 1)) return 1; } END_KERNEL
DEFINE(float32, float, fabsf, logf, FLT_EPSILON, FLT_MIN, FLT_MAX)
DEFINE(float64, double, fabs, log, DBL_EPSILON, DBL_MIN, DBL_MAX)

#define PAIR(NAME) { NAME##_float32, NAME##_float64 }
eager_small eager_small_kernel(int kernel, int dtype)
{
    static const eager_small kernels[EAGER_SMALL_KERNELS][2] = {
        [EAGER_SMALL_SOLVE] = PAIR(solve), [EAGER_SMALL_INVERSE] = PAIR(inverse), [EAGER_SMALL_DET] = PAIR(det),
        [EAGER_SMALL_SLOGDET] = PAIR(slogdet), [EAGER_SMALL_COFACTOR] = PAIR(cofactor), [EAGER_SMALL_CHOLESKY] = PAIR(cholesky),
        [EAGER_SMALL_UPPER] = PAIR(upper), [EAGER_SMALL_LOWER] = PAIR(lower), [EAGER_SMALL_UNIT_UPPER] = PAIR(unit_upper),
        [EAGER_SMALL_UNIT_LOWER] = PAIR(unit_lower),
    };
    return dtype == EAGER_FLOAT32 ? kernels[kernel][0] : dtype == EAGER_FLOAT64 ? kernels[kernel][1] : NULL;
}
