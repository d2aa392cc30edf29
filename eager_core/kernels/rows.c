/* Softmax and relatives over contiguous rows.  Subtracting the maximum keeps exp in range; a NaN the maximum may have passed over
 * comes back through exp and the sum, so the whole row becomes NaN.  `out` may be an input: no row is read after it is written. */
#include <math.h>

#include "loops.h"

/* Sums go in halves down to blocks, eight sums side by side in a block: rounding grows with log(n) and the adds overlap. */
#define BLOCK 128
#define HALF(n) ((n) / 2 / 8 * 8)
#define SUM_BLOCK(T, TERM) \
    T part[8] = {0}, rest = 0; \
    intptr_t i = 0; \
    for (; i + 8 <= n; i += 8) for (int k = 0; k < 8; k++) { const intptr_t j = i + k; part[k] += TERM; } \
    for (; i < n; i++) { const intptr_t j = i; rest += TERM; } \
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7])) + rest;

#define ROW_KERNEL(NAME, T) \
    static void NAME(const void *a_, const void *b_, void *out_, intptr_t rows, intptr_t n) \
    { \
        const T *a = (const T *)a_, *b = (const T *)b_; \
        T *out = (T *)out_; \
        if (n > 0) for (; rows > 0; rows--, a += n, b = b ? b + n : b, out += n)
#define END_ROW_KERNEL }
#define EACH EAGER_INDEPENDENT for (intptr_t i = 0; i < n; i++)

/* EXP sees no positive number: a value less the maximum, or a logarithm of a probability. */
#define DEFINE(NAME, T, EXP, LOG) \
    static T sum_##NAME(const T *a, intptr_t n) \
    { \
        if (n > BLOCK) return sum_##NAME(a, HALF(n)) + sum_##NAME(a + HALF(n), n - HALF(n)); \
        SUM_BLOCK(T, a[j]) \
    } \
    static T dot_##NAME(const T *a, const T *b, intptr_t n) \
    { \
        if (n > BLOCK) return dot_##NAME(a, b, HALF(n)) + dot_##NAME(a + HALF(n), b + HALF(n), n - HALF(n)); \
        SUM_BLOCK(T, a[j] * b[j]) \
    } \
    static void shifted_exp_##NAME(const T *a, T shift, T *out, intptr_t n) { EACH out[i] = EXP(a[i] - shift); } \
    static T sum_exp_##NAME(const T *a, T shift, intptr_t n) \
    { \
        T block[BLOCK]; /* the exponentials have no other place: out may be a, still needed */ \
        if (n > BLOCK) return sum_exp_##NAME(a, shift, HALF(n)) + sum_exp_##NAME(a + HALF(n), shift, n - HALF(n)); \
        shifted_exp_##NAME(a, shift, block, n); \
        return sum_##NAME(block, n); \
    } \
    static T maximum_##NAME(const T *a, intptr_t n) \
    { \
        T best[8], m = a[0]; \
        intptr_t i = 0; \
        for (int k = 0; k < 8; k++) best[k] = m; \
        for (; i + 8 <= n; i += 8) for (int k = 0; k < 8; k++) best[k] = a[i + k] > best[k] ? a[i + k] : best[k]; \
        for (; i < n; i++) m = a[i] > m ? a[i] : m; \
        for (int k = 0; k < 8; k++) m = best[k] > m ? best[k] : m; \
        return m; \
    } \
    ROW_KERNEL(softmax_##NAME, T) { \
        T total; \
        shifted_exp_##NAME(a, maximum_##NAME(a, n), out, n); \
        total = sum_##NAME(out, n); \
        EACH out[i] = out[i] / total; \
    } END_ROW_KERNEL \
    ROW_KERNEL(log_softmax_##NAME, T) { \
        const T m = maximum_##NAME(a, n), log_total = LOG(sum_exp_##NAME(a, m, n)); \
        EACH out[i] = (a[i] - m) - log_total; \
    } END_ROW_KERNEL \
    ROW_KERNEL(softmax_grad_##NAME, T) { \
        const T dot = dot_##NAME(a, b, n); \
        EACH out[i] = (b[i] - dot) * a[i]; \
    } END_ROW_KERNEL \
    ROW_KERNEL(log_softmax_grad_##NAME, T) { \
        const T total = sum_##NAME(b, n); \
        EACH out[i] = b[i] - EXP(a[i]) * total; \
    } END_ROW_KERNEL
DEFINE(float32, float, eager_exp_negative, logf)
DEFINE(float64, double, exp, log)

#define PAIR(NAME) { NAME##_float32, NAME##_float64 }
eager_rows eager_row_loop(int kernel, int dtype)
{
    static const eager_rows loops[EAGER_ROW_KERNELS][2] = {
        [EAGER_SOFTMAX] = PAIR(softmax), [EAGER_LOG_SOFTMAX] = PAIR(log_softmax),
        [EAGER_SOFTMAX_GRAD] = PAIR(softmax_grad), [EAGER_LOG_SOFTMAX_GRAD] = PAIR(log_softmax_grad),
    };
    return dtype == EAGER_FLOAT32 ? loops[kernel][0] : dtype == EAGER_FLOAT64 ? loops[kernel][1] : NULL;
}
