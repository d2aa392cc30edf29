/* + - * /, copies, -x, |x|, squares and square roots of float32 and float64 on results too large for the caches, stored past them.
 *
 * An ordinary store first reads the line that it writes: a third of the traffic of an addition, and it drives out what was cached. The
 * price is that whoever reads the result finds none of it in a cache; where operands and result do not fit there anyway it is nothing
 * (measured: docs/threads.md). Results are to the bit those of the loops in arithmetic.c. */
#include "loops.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <stdio.h>

#if defined(__clang__)
#define AVX2 __attribute__((target("avx2")))
#else
#define AVX2 __attribute__((target("avx2"), optimize("O2"))) /* -O3 would make much of the few elements before and after the vectors */
#endif
#define FEW 64
#define CACHE (32 << 20) /* if the system does not say */

#define EACH_float(p, i) _mm256_loadu_ps((p) + (i))
#define ONE_float(p, i) p##s
#define STORE_float _mm256_stream_ps
#define EACH_double(p, i) _mm256_loadu_pd((p) + (i))
#define ONE_double(p, i) p##s
#define STORE_double _mm256_stream_pd
#define VECTOR_float __m256
#define VECTOR_double __m256d
#define SPREAD_float _mm256_set1_ps
#define SPREAD_double _mm256_set1_pd

/* One element a time up to a whole line of the output, and after the last; `a` and `b` move by 1 or stand still. The two vectors of a line are
 * stored one right after the other: with loads between them the line may leave in halves (measured: a quarter slower). */
#define LINE 64
#define CALCULATE(T, OP, A, B, a_moves, b_moves) { \
        for (; i < count && (uintptr_t)(out + i) % LINE; i++) out[i] = a[i * a_moves] OP b[i * b_moves]; \
        for (; i + 2 * lanes <= count; i += 2 * lanes) { \
            const VECTOR_##T first = A##_##T(a, i) OP B##_##T(b, i), second = A##_##T(a, i + lanes) OP B##_##T(b, i + lanes); \
            STORE_##T(out + i, first); \
            STORE_##T(out + i + lanes, second); \
        } \
        for (; i < count; i++) out[i] = a[i * a_moves] OP b[i * b_moves]; \
    }
/* The fence: other threads that are told the work is done must see it. */
#define LOOP(NAME, T, OP) \
    AVX2 static void NAME##_##T(char **args, const intptr_t *n, const intptr_t *steps, void *data) \
    { \
        enum { lanes = 32 / sizeof(T) }; \
        const intptr_t count = *n, size = EAGER_SIZE(T), a_step = steps[0], b_step = steps[1]; \
        const eager_front_data *const behind = (const eager_front_data *)data; \
        const T *a = (const T *)args[0], *b = (const T *)args[1]; \
        T *out = (T *)args[2]; \
        intptr_t i = 0; \
        if (count < FEW || steps[2] != size || (a_step != size && (a_step || b_step != size)) || (b_step && b_step != size)) { \
            behind->loop(args, n, steps, behind->data); \
            return; \
        } \
        if (!a_step) { \
            const VECTOR_##T as = SPREAD_##T(*a); \
            CALCULATE(T, OP, ONE, EACH, 0, 1) \
        } else if (!b_step) { \
            const VECTOR_##T bs = SPREAD_##T(*b); \
            CALCULATE(T, OP, EACH, ONE, 1, 0) \
        } else CALCULATE(T, OP, EACH, EACH, 1, 1) \
        _mm_sfence(); \
    }
#define LOOPS(T) LOOP(add, T, +) LOOP(subtract, T, -) LOOP(multiply, T, *) LOOP(divide, T, /)
LOOPS(float)
LOOPS(double)

/* Of one operand; both without gaps: whoever chooses them sees to it (splitting.pyx). */
#define UNARY(NAME, T, EACH_ONE, VECTOR) \
    AVX2 static void NAME##_##T(char **args, const intptr_t *n, const intptr_t *steps, void *data) \
    { \
        enum { lanes = 32 / sizeof(T) }; \
        const intptr_t count = *n; \
        const T *a = (const T *)args[0]; \
        T *out = (T *)args[1]; \
        intptr_t i = 0; \
        (void)steps; \
        (void)data; \
        for (; i < count && (uintptr_t)(out + i) % LINE; i++) { const T x = a[i]; out[i] = EACH_ONE; } \
        for (; i + 2 * lanes <= count; i += 2 * lanes) { \
            VECTOR_##T x = EACH_##T(a, i), first; \
            first = VECTOR; \
            x = EACH_##T(a, i + lanes); \
            x = VECTOR; \
            STORE_##T(out + i, first); \
            STORE_##T(out + i + lanes, x); \
        } \
        for (; i < count; i++) { const T x = a[i]; out[i] = EACH_ONE; } \
        _mm_sfence(); \
    }
UNARY(copy, float, x, x)
UNARY(copy, double, x, x)
UNARY(negative, float, -x, _mm256_xor_ps(x, _mm256_set1_ps(-0.0f)))
UNARY(negative, double, -x, _mm256_xor_pd(x, _mm256_set1_pd(-0.0)))
UNARY(absolute, float, __builtin_fabsf(x), _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x))
UNARY(absolute, double, __builtin_fabs(x), _mm256_andnot_pd(_mm256_set1_pd(-0.0), x))
UNARY(square, float, x * x, x * x)
UNARY(square, double, x * x, x * x)
UNARY(root, float, __builtin_sqrtf(x), _mm256_sqrt_ps(x))
UNARY(root, double, __builtin_sqrt(x), _mm256_sqrt_pd(x))

eager_loop eager_streaming_unary(int operation, int dtype)
{
    static const eager_loop loops[EAGER_STREAM_UNARY][2] = {
        [EAGER_STREAM_COPY] = { copy_float, copy_double }, [EAGER_STREAM_NEGATIVE] = { negative_float, negative_double },
        [EAGER_STREAM_ABSOLUTE] = { absolute_float, absolute_double }, [EAGER_STREAM_SQUARE] = { square_float, square_double },
        [EAGER_STREAM_SQRT] = { root_float, root_double },
    };
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2")) return NULL;
    return dtype == EAGER_FLOAT32 ? loops[operation][0] : dtype == EAGER_FLOAT64 ? loops[operation][1] : NULL;
}

eager_loop eager_streaming_loop(int operation, int dtype)
{
    static const eager_loop loops[EAGER_FRONT_LOOPS][2] = {
        [EAGER_FRONT_ADD] = { add_float, add_double }, [EAGER_FRONT_SUBTRACT] = { subtract_float, subtract_double },
        [EAGER_FRONT_MULTIPLY] = { multiply_float, multiply_double }, [EAGER_FRONT_DIVIDE] = { divide_float, divide_double },
    };
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2")) return NULL;
    return dtype == EAGER_FLOAT32 ? loops[operation][0] : dtype == EAGER_FLOAT64 ? loops[operation][1] : NULL;
}

intptr_t eager_last_cache(void)
{
    /* What the kernel says of the caches that this core shares: sysconf adds up those of other cores. */
    FILE *const file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    long kilobytes = 0;
    if (file) {
        if (fscanf(file, "%ldK", &kilobytes) != 1) kilobytes = 0;
        fclose(file);
    }
    if (kilobytes > 0) return (intptr_t)kilobytes << 10;
    return CACHE;
}
#else
eager_loop eager_streaming_loop(int operation, int dtype)
{
    (void)operation;
    (void)dtype;
    return NULL;
}

eager_loop eager_streaming_unary(int operation, int dtype)
{
    (void)operation;
    (void)dtype;
    return NULL;
}

intptr_t eager_last_cache(void) { return INTPTR_MAX / 2; }
#endif
