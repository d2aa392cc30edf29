/* Sums of float32 and float64 along one axis: out += all elements.
 *
 * The order of the additions depends on the number of elements and on nothing else, so the result has the same bits wherever the elements
 * lie, whatever their step, and on every machine: vectors have 32 bytes, which processors with shorter ones take in pieces. Blocks of
 * 8 x 8 vectors go into eight sums side by side; the sums of blocks are added in pairs, then pairs of pairs, so that rounding grows with
 * log(n). What is missing of a vector counts as 0. Elements with gaps between them are first copied side by side, a block at a time. */
#include "loops.h"

#define ROUNDS 8  /* a block has that many times eight vectors */
#define BYTES 32  /* of a vector */
#define LEVELS 64 /* more pairs of pairs than there is memory for */
#define SHORT 16  /* below, vectors are not worth it */

#if defined(__GNUC__)
#define VECTOR(NAME, T) typedef T vector_##NAME __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));
#define ADD(T, a, b) ((a) += (b))
#else
#define VECTOR(NAME, T) typedef struct { T lane[BYTES / sizeof(T)]; } vector_##NAME;
#define ADD(T, a, b) for (int lane_ = 0; lane_ < (int)(BYTES / sizeof(T)); lane_++) (a).lane[lane_] += (b).lane[lane_]
#endif
VECTOR(float32, float)
VECTOR(float64, double)

/* For each kind of processor, all functions: compilers cut vectors into pieces before they inline.
 * Pointers to vectors are passed, since no calling convention has registers for them everywhere. */
#define DEFINE(NAME, T, PROCESSOR, TARGET) DEFINE_AS(NAME##_##PROCESSOR, T, vector_##NAME, TARGET)
#define DEFINE_AS(NAME, T, V, TARGET) \
    enum { LANES_##NAME = BYTES / sizeof(T), BLOCK_##NAME = ROUNDS * 8 * LANES_##NAME }; \
    TARGET static T short_sum_##NAME(const T *a, intptr_t n) \
    { \
        T part[4] = {0}, sum; \
        intptr_t i = 0; \
        for (; i + 4 <= n; i += 4) for (int k = 0; k < 4; k++) part[k] += a[i + k]; \
        sum = (part[0] + part[2]) + (part[1] + part[3]); \
        for (; i < n; i++) sum += a[i]; \
        return sum; \
    } \
    /* At most a block. */ \
    TARGET EAGER_SPECIALISED void block_sum_##NAME(const T *a, intptr_t n, V *sum) \
    { \
        enum { L = LANES_##NAME }; \
        V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0}; \
        for (; n >= 8 * L; n -= 8 * L, a += 8 * L) { \
            ADD(T, s0, *(const V *)(a + 0 * L)); \
            ADD(T, s1, *(const V *)(a + 1 * L)); \
            ADD(T, s2, *(const V *)(a + 2 * L)); \
            ADD(T, s3, *(const V *)(a + 3 * L)); \
            ADD(T, s4, *(const V *)(a + 4 * L)); \
            ADD(T, s5, *(const V *)(a + 5 * L)); \
            ADD(T, s6, *(const V *)(a + 6 * L)); \
            ADD(T, s7, *(const V *)(a + 7 * L)); \
        } \
        for (; n >= L; n -= L, a += L) ADD(T, s0, *(const V *)a); \
        if (n > 0) { \
            T last[L] = {0}; \
            for (intptr_t i = 0; i < n; i++) last[i] = a[i]; \
            ADD(T, s1, *(const V *)last); \
        } \
        ADD(T, s0, s1); \
        ADD(T, s2, s3); \
        ADD(T, s4, s5); \
        ADD(T, s6, s7); \
        ADD(T, s0, s2); \
        ADD(T, s4, s6); \
        ADD(T, s0, s4); \
        *sum = s0; \
    } \
    TARGET static T long_sum_##NAME(const char *a, intptr_t n, intptr_t step) \
    { \
        V level[LEVELS], sum; \
        T side_by_side[BLOCK_##NAME], lane[LANES_##NAME]; \
        intptr_t blocks = 0; \
        for (;;) { \
            const intptr_t taken = n < BLOCK_##NAME ? n : BLOCK_##NAME; \
            const T *block = (const T *)a; \
            if (step != EAGER_SIZE(T)) { \
                const char *from = a; \
                for (intptr_t i = 0; i < taken; i++, from += step) side_by_side[i] = *(const T *)from; \
                block = side_by_side; \
            } \
            block_sum_##NAME(block, taken, &sum); \
            n -= taken; \
            if (n == 0) break; \
            a += taken * step; \
            int k = 0; \
            for (; blocks >> k & 1; k++) ADD(T, sum, level[k]); \
            level[k] = sum; \
            blocks++; \
        } \
        for (int k = 0; blocks >> k; k++) if (blocks >> k & 1) ADD(T, sum, level[k]); \
        memcpy(lane, &sum, sizeof lane); \
        for (int half = LANES_##NAME / 2; half > 0; half /= 2) for (int i = 0; i < half; i++) lane[i] += lane[i + half]; \
        return lane[0]; \
    } \
    TARGET static void sum_##NAME(char **args, const intptr_t *n, const intptr_t *steps, void *data) \
    { \
        const intptr_t count = *n, step = steps[1]; \
        (void)data; \
        if (count >= SHORT) *(T *)args[2] += long_sum_##NAME(args[1], count, step); \
        else if (step == EAGER_SIZE(T)) *(T *)args[2] += short_sum_##NAME((const T *)args[1], count); \
        else { \
            T side_by_side[SHORT]; \
            const char *from = args[1]; \
            for (intptr_t i = 0; i < count; i++, from += step) side_by_side[i] = *(const T *)from; \
            *(T *)args[2] += short_sum_##NAME(side_by_side, count); \
        } \
    }
DEFINE(float32, float, any, )
DEFINE(float64, double, any, )

#if defined(__x86_64__) && defined(__GNUC__)
#define AVX2 __attribute__((target("avx2")))
DEFINE(float32, float, avx2, AVX2)
DEFINE(float64, double, avx2, AVX2)
#define FASTEST(NAME) (__builtin_cpu_supports("avx2") ? sum_##NAME##_avx2 : sum_##NAME##_any)
#else
#define FASTEST(NAME) sum_##NAME##_any
#endif

eager_loop eager_sum_loop(int dtype)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
#endif
    return dtype == EAGER_FLOAT32 ? FASTEST(float32) : dtype == EAGER_FLOAT64 ? FASTEST(float64) : NULL;
}
