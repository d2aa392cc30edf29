/* Short rows of float32 and float64: to[r] += all elements of row r, and the same with *, max and min; and one number repeated over a row.
 *
 * A loop that is called for each row spends its time on beginning and ending. Here as many rows as a vector has lanes go together: turned, so
 * that a vector holds one column of them, they need no step from lane to lane, and results are stored side by side. Each row is taken from its
 * first element to its last; sums in the order of sums.c, whose bits they have. (Rows are not read with masks: such a load waits for the
 * stores before it on some processors, which took four to ten times as long as all the rest.) */
#include "loops.h"

#define MOST 256 /* elements of a row: beyond, a loop for each is as good */
#define MOST_EXTREME 160 /* the same of max and min */

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define APART __attribute__((noinline))
#define SHORT 16 /* as in sums.c: below, four sums of single elements; else eight of vectors */
#define V_float __m256
#define V_double __m256d
#define L_float 8
#define L_double 4
#define S_float(NAME) _mm256_##NAME##_ps
#define S_double(NAME) _mm256_##NAME##_pd

/* The first `n` lanes of a vector; all of them from LANES on. */
static const int32_t masks[16] = { -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0 };
#define MASK_float(n) _mm256_loadu_si256((const __m256i *)(masks + 8 - ((n) < 8 ? (n) : 8)))
#define MASK_double(n) _mm256_loadu_si256((const __m256i *)(masks + 8 - 2 * ((n) < 4 ? (n) : 4)))

/* As many columns as a vector has lanes: column[k] has element `at` + k of each row. */
AVX2 APART static void turn_float(const char *const *row, intptr_t at, __m256 *column)
{
    __m256 a[8], b[8];
    for (int k = 0; k < 8; k++) a[k] = _mm256_loadu_ps((const float *)row[k] + at);
    for (int k = 0; k < 8; k += 2) {
        b[k] = _mm256_unpacklo_ps(a[k], a[k + 1]);
        b[k + 1] = _mm256_unpackhi_ps(a[k], a[k + 1]);
    }
    for (int k = 0; k < 8; k += 4) {
        a[k] = _mm256_shuffle_ps(b[k], b[k + 2], 0x44);
        a[k + 1] = _mm256_shuffle_ps(b[k], b[k + 2], 0xee);
        a[k + 2] = _mm256_shuffle_ps(b[k + 1], b[k + 3], 0x44);
        a[k + 3] = _mm256_shuffle_ps(b[k + 1], b[k + 3], 0xee);
    }
    for (int k = 0; k < 4; k++) {
        column[k] = _mm256_permute2f128_ps(a[k], a[k + 4], 0x20);
        column[k + 4] = _mm256_permute2f128_ps(a[k], a[k + 4], 0x31);
    }
}

AVX2 APART static void turn_double(const char *const *row, intptr_t at, __m256d *column)
{
    __m256d a[4], b[4];
    for (int k = 0; k < 4; k++) a[k] = _mm256_loadu_pd((const double *)row[k] + at);
    for (int k = 0; k < 4; k += 2) {
        b[k] = _mm256_unpacklo_pd(a[k], a[k + 1]);
        b[k + 1] = _mm256_unpackhi_pd(a[k], a[k + 1]);
    }
    for (int k = 0; k < 2; k++) {
        column[k] = _mm256_permute2f128_pd(b[k], b[k + 2], 0x20);
        column[k + 2] = _mm256_permute2f128_pd(b[k], b[k + 2], 0x31);
    }
}

/* Each lane of the result: the lanes of one of the vectors, halves added to halves. */
AVX2 static inline __m256 lanes_float(__m256 *v)
{
    for (int k = 0; k < 4; k++)
        v[k] = _mm256_add_ps(_mm256_permute2f128_ps(v[k], v[k + 4], 0x20), _mm256_permute2f128_ps(v[k], v[k + 4], 0x31));
    for (int k = 0; k < 2; k++)
        v[k] = _mm256_add_ps(_mm256_shuffle_ps(v[2 * k], v[2 * k + 1], 0x44), _mm256_shuffle_ps(v[2 * k], v[2 * k + 1], 0xee));
    return _mm256_add_ps(_mm256_shuffle_ps(v[0], v[1], 0x88), _mm256_shuffle_ps(v[0], v[1], 0xdd));
}

AVX2 static inline __m256d lanes_double(__m256d *v)
{
    for (int k = 0; k < 2; k++)
        v[k] = _mm256_add_pd(_mm256_permute2f128_pd(v[k], v[k + 2], 0x20), _mm256_permute2f128_pd(v[k], v[k + 2], 0x31));
    return _mm256_add_pd(_mm256_unpacklo_pd(v[0], v[1]), _mm256_unpackhi_pd(v[0], v[1]));
}

/* A NaN on either side stays. */
#define MULTIPLY(T, a, x) S_##T(mul)(a, x)
#define EXTREME(T, WHICH, a, x) S_##T(blendv)(S_##T(WHICH)(x, a), x, S_##T(cmp)(x, x, _CMP_UNORD_Q))
#define LARGEST(T, a, x) EXTREME(T, max, a, x)
#define SMALLEST(T, a, x) EXTREME(T, min, a, x)

/* Where the rows from `from` on lie; the last of them in place of those missing. They are read in whole vectors, `read` bytes, on into what lies
 * behind them; where that is no part of the matrix, from a copy. */
typedef struct { intptr_t step, nbytes, read; const char *end; } matrix;
EAGER_SHARED void find_rows(const matrix *m, const char *from, intptr_t left, int lanes, char *copies, const char **row)
{
    for (int k = 0; k < lanes; k++, copies += m->read) {
        row[k] = from;
        if (m->end - from < m->read) {
            memset(copies, 0, (size_t)m->read);
            row[k] = memcpy(copies, from, (size_t)m->nbytes);
        }
        if (k + 1 < left) from += m->step;
    }
}

/* All rows, a vector of them at a time. READ: elements read of each, if any lie behind it. */
#define ROWS(NAME, T, READ, CALCULATE) \
    AVX2 static void NAME##_##T(const char *from, intptr_t rows, intptr_t step, intptr_t n, char *to) \
    { \
        enum { L = L_##T }; \
        const matrix m = { step, n * EAGER_SIZE(T), (READ) * EAGER_SIZE(T), \
                           from + (step > 0 ? (rows - 1) * step : 0) + n * EAGER_SIZE(T) }; \
        T copies[L * (MOST + L)], results[L] = {0}; \
        const char *row[L]; \
        for (; rows > 0; rows -= L, from += L * step, to += sizeof results) { \
            T *const place = rows < L ? results : (T *)to; \
            V_##T result; \
            find_rows(&m, from, rows, L, (char *)copies, row); \
            if (rows < L) memcpy(results, to, (size_t)rows * sizeof(T)); \
            result = S_##T(loadu)(place); \
            CALCULATE \
            S_##T(storeu)(place, result); \
            if (rows < L) memcpy(to, results, (size_t)rows * sizeof(T)); \
        } \
    }
#define WHOLE ((n + L - 1) / L * L)
#define FOLD(NAME, T, OP) ROWS(NAME, T, WHOLE, \
        for (intptr_t i = 0; i < n; i += L) { \
            const intptr_t taken = n - i < L ? n - i : L; \
            V_##T column[L]; \
            turn_##T(row, i, column); \
            for (intptr_t k = 0; k < taken; k++) result = OP(T, result, column[k]); \
        })
/* One row of at least SHORT elements: block_sum of sums.c. */
#define SUM(T) \
    AVX2 static inline V_##T row_sum_##T(const T *a, intptr_t n) \
    { \
        enum { L = L_##T }; \
        V_##T s[8]; \
        int k = 0; \
        if (n < 8 * L) { \
            s[0] = S_##T(loadu)(a); \
            for (n -= L, a += L; n >= L; n -= L, a += L) s[0] = S_##T(add)(s[0], S_##T(loadu)(a)); \
            return n > 0 ? S_##T(add)(s[0], S_##T(maskload)(a, MASK_##T(n))) : s[0]; \
        } \
        for (k = 0; k < 8; k++) s[k] = S_##T(loadu)(a + k * L); \
        for (n -= 8 * L, a += 8 * L; n >= 8 * L; n -= 8 * L, a += 8 * L) \
            for (k = 0; k < 8; k++) s[k] = S_##T(add)(s[k], S_##T(loadu)(a + k * L)); \
        for (; n >= L; n -= L, a += L) s[0] = S_##T(add)(s[0], S_##T(loadu)(a)); \
        if (n > 0) s[1] = S_##T(add)(s[1], S_##T(maskload)(a, MASK_##T(n))); \
        for (int half = 1; half < 8; half *= 2) \
            for (k = 0; k < 8; k += 2 * half) s[k] = S_##T(add)(s[k], s[k + half]); \
        return s[0]; \
    } \
    ROWS(long_rows, T, 0, \
        V_##T sums[L]; \
        for (int k = 0; k < L; k++) sums[k] = row_sum_##T((const T *)row[k], n); \
        result = S_##T(add)(result, lanes_##T(sums));) \
    ROWS(short_rows, T, WHOLE, \
        V_##T column[SHORT]; \
        V_##T sum = S_##T(setzero)(); \
        intptr_t i = n & ~(intptr_t)3; \
        for (intptr_t at = 0; at < n; at += L) turn_##T(row, at, column + at); \
        if (i) { \
            for (intptr_t k = 4; k < i; k++) column[k & 3] = S_##T(add)(column[k & 3], column[k]); \
            sum = S_##T(add)(S_##T(add)(column[0], column[2]), S_##T(add)(column[1], column[3])); \
        } \
        for (; i < n; i++) sum = S_##T(add)(sum, column[i]); \
        result = S_##T(add)(result, sum);) \
    AVX2 static void sum_##T(const char *from, intptr_t rows, intptr_t step, intptr_t n, char *to) \
    { \
        (n < SHORT ? short_rows_##T : long_rows_##T)(from, rows, step, n, to); \
    }
#define ALL(T) SUM(T) FOLD(product, T, MULTIPLY) FOLD(largest, T, LARGEST) FOLD(smallest, T, SMALLEST)
ALL(float)
ALL(double)

/* Whole vectors, the last of a row over what stands there already; rows shorter than a vector over the next row, which comes after. */
#define REPEAT(BITS, SPREAD) \
    AVX2 static void repeat_##BITS(const void *a, const void *b, void *out, intptr_t rows, intptr_t n) \
    { \
        enum { L = 256 / BITS }; \
        const uint##BITS##_t *from = (const uint##BITS##_t *)a; \
        uint##BITS##_t *to = (uint##BITS##_t *)out; \
        (void)b; \
        for (; rows > 0 && rows * n >= L; rows--, from++, to += n) { \
            const __m256i v = SPREAD; \
            for (intptr_t i = 0; i + L <= n; i += L) _mm256_storeu_si256((__m256i *)(to + i), v); \
            _mm256_storeu_si256((__m256i *)(to + (n < L ? 0 : n - L)), v); \
        } \
        for (; rows > 0; rows--, from++) for (intptr_t i = 0; i < n; i++) *to++ = *from; \
    }
REPEAT(32, _mm256_set1_epi32((int32_t)*from))
REPEAT(64, _mm256_set1_epi64x((int64_t)*from))

eager_rows eager_repeat_loop(intptr_t size, intptr_t n)
{
    __builtin_cpu_init();
    if (n > MOST || !__builtin_cpu_supports("avx2")) return NULL;
    return size == 4 ? repeat_32 : size == 8 ? repeat_64 : NULL;
}

int eager_find_short_rows(int operation, int dtype, eager_column_sums *found)
{
    static void (*const loops[EAGER_ROW_FOLDS][2])(const char *, intptr_t, intptr_t, intptr_t, char *) = {
        [EAGER_ROW_SUM] = { sum_float, sum_double }, [EAGER_ROW_PRODUCT] = { product_float, product_double },
        [EAGER_ROW_LARGEST] = { largest_float, largest_double }, [EAGER_ROW_SMALLEST] = { smallest_float, smallest_double },
    };
    __builtin_cpu_init();
    found->size = dtype == EAGER_FLOAT64 ? EAGER_SIZE(double) : EAGER_SIZE(float);
    /* Where they are the fastest: shorter rows go by columns, whatever the length of those; the longer need no turning. */
    found->least = dtype == EAGER_FLOAT64 ? 3 : 4;
    found->most = operation < EAGER_ROW_LARGEST ? MOST : dtype == EAGER_FLOAT64 ? MOST_EXTREME / 3 : MOST_EXTREME;
    found->rows = __builtin_cpu_supports("avx2") ? loops[operation][dtype == EAGER_FLOAT64] : NULL;
    return found->rows != NULL;
}
#else
int eager_find_short_rows(int operation, int dtype, eager_column_sums *found)
{
    (void)operation;
    found->size = dtype == EAGER_FLOAT64 ? EAGER_SIZE(double) : EAGER_SIZE(float);
    found->least = 0;
    found->most = MOST;
    found->rows = NULL;
    return 0;
}

eager_rows eager_repeat_loop(intptr_t size, intptr_t n)
{
    (void)size;
    (void)n;
    return NULL;
}
#endif
