/* Sums of float32 and float64 along one axis: out += all elements.
 *
 * The order of the additions depends on the number of elements and on nothing else, so the result has the same bits wherever the elements
 * lie, whatever their step, and on every machine: vectors have 32 bytes, which processors with shorter ones take in pieces. Blocks of
 * 8 x 8 vectors go into eight sums side by side; the sums of blocks are added in pairs, then pairs of pairs, so that rounding grows with
 * log(n). What is missing of a vector counts as 0. Elements with gaps between them are first copied side by side, a block at a time.
 *
 * Memory comes as fast as the processor foresees what will be read: along each load instruction, and in each page in use. So loops
 * are not unrolled (in whole blocks each load would step by 2 KB: a third slower even from the second cache), and the two halves of a long
 * run, which are a pair anyway, are read side by side (a quarter faster from memory). */
#include "loops.h"

#define ROUNDS 8  /* a block has that many times eight vectors */
#define BYTES 32  /* of a vector */
#define LEVELS 64 /* more pairs of pairs than there is memory for */
#define SHORT 16  /* below, vectors are not worth it */
#define RUN 7     /* 2^7 blocks, 256 KB, are read as two halves */

#if defined(__GNUC__)
#define ROLLED _Pragma("GCC unroll 1")
#define VECTOR(NAME, T) typedef T vector_##NAME __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));
#define ADD(T, a, b) ((a) += (b))
#else
#define ROLLED
#define VECTOR(NAME, T) typedef struct { T lane[BYTES / sizeof(T)]; } vector_##NAME;
#define ADD(T, a, b) for (int lane_ = 0; lane_ < (int)(BYTES / sizeof(T)); lane_++) (a).lane[lane_] += (b).lane[lane_]
#endif
VECTOR(float32, float)
VECTOR(float64, double)

/* Eight sums, s0 to s7 if s is their name; each of its vector; all in s0. */
#define ZERO(V, s) V s##0 = {0}, s##1 = {0}, s##2 = {0}, s##3 = {0}, s##4 = {0}, s##5 = {0}, s##6 = {0}, s##7 = {0}
#define TAKE(T, V, s, k, a) ADD(T, s##k, *(const V *)((a) + (k) * (BYTES / EAGER_SIZE(T))))
#define TAKE_EIGHT(T, V, s, a) do { \
        TAKE(T, V, s, 0, a); TAKE(T, V, s, 1, a); TAKE(T, V, s, 2, a); TAKE(T, V, s, 3, a); \
        TAKE(T, V, s, 4, a); TAKE(T, V, s, 5, a); TAKE(T, V, s, 6, a); TAKE(T, V, s, 7, a); \
    } while (0)
#define JOIN_EIGHT(T, s) do { \
        ADD(T, s##0, s##1); ADD(T, s##2, s##3); ADD(T, s##4, s##5); ADD(T, s##6, s##7); \
        ADD(T, s##0, s##2); ADD(T, s##4, s##6); \
        ADD(T, s##0, s##4); \
    } while (0)

/* For each kind of processor, all functions: compilers cut vectors into pieces before they inline.
 * Pointers to vectors are passed, since no calling convention has registers for them everywhere.
 * HALVES: whether there are registers for sixteen vectors. */
#define DEFINE(NAME, T, PROCESSOR, TARGET, HALVES) DEFINE_AS(NAME##_##PROCESSOR, T, vector_##NAME, TARGET, HALVES)
#define DEFINE_AS(NAME, T, V, TARGET, HALVES) \
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
        ZERO(V, s); \
        ROLLED for (; n >= 8 * L; n -= 8 * L, a += 8 * L) TAKE_EIGHT(T, V, s, a); \
        for (; n >= L; n -= L, a += L) ADD(T, s0, *(const V *)a); \
        if (n > 0) { \
            T last[L] = {0}; \
            for (intptr_t i = 0; i < n; i++) last[i] = a[i]; \
            ADD(T, s1, *(const V *)last); \
        } \
        JOIN_EIGHT(T, s); \
        *sum = s0; \
    } \
    /* 2^RUN blocks, in the order of long_sum. */ \
    TARGET static void run_sum_##NAME(const T *a, V *sum) \
    { \
        enum { HALF = BLOCK_##NAME << (RUN - 1), ROUND = 8 * LANES_##NAME }; \
        V first[RUN], second[RUN]; \
        for (intptr_t block = 0; block < 1 << (RUN - 1); block++) { \
            const T *const end = a + BLOCK_##NAME; \
            int k = 0; \
            ZERO(V, s); \
            ZERO(V, t); \
            ROLLED for (; a < end; a += ROUND) { \
                TAKE_EIGHT(T, V, s, a); \
                TAKE_EIGHT(T, V, t, a + HALF); \
            } \
            JOIN_EIGHT(T, s); \
            JOIN_EIGHT(T, t); \
            for (; block >> k & 1; k++) { \
                ADD(T, s0, first[k]); \
                ADD(T, t0, second[k]); \
            } \
            first[k] = s0; \
            second[k] = t0; \
        } \
        *sum = second[RUN - 1]; \
        ADD(T, *sum, first[RUN - 1]); \
    } \
    TARGET static T long_sum_##NAME(const char *a, intptr_t n, intptr_t step) \
    { \
        V level[LEVELS], sum; \
        T side_by_side[BLOCK_##NAME], lane[LANES_##NAME]; \
        intptr_t blocks = 0; \
        for (;;) { \
            const int run = HALVES && step == EAGER_SIZE(T) && n >= (intptr_t)BLOCK_##NAME << RUN && !(blocks & ((1 << RUN) - 1)); \
            const intptr_t most = run ? (intptr_t)BLOCK_##NAME << RUN : BLOCK_##NAME, taken = n < most ? n : most; \
            const T *block = (const T *)a; \
            int k = run ? RUN : 0; \
            if (step != EAGER_SIZE(T)) { \
                const char *from = a; \
                for (intptr_t i = 0; i < taken; i++, from += step) side_by_side[i] = *(const T *)from; \
                block = side_by_side; \
            } \
            if (run) run_sum_##NAME(block, &sum); \
            else block_sum_##NAME(block, taken, &sum); \
            n -= taken; \
            if (n == 0) break; \
            a += taken * step; \
            for (; blocks >> k & 1; k++) ADD(T, sum, level[k]); \
            level[k] = sum; \
            blocks += (intptr_t)1 << (run ? RUN : 0); \
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
DEFINE(float32, float, any, , 0)
DEFINE(float64, double, any, , 0)

#if defined(__x86_64__) && defined(__GNUC__)
#define AVX2 __attribute__((target("avx2")))
DEFINE(float32, float, avx2, AVX2, 1)
DEFINE(float64, double, avx2, AVX2, 1)
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
