/* + - * / of float32 and float64 on results too large for the caches, stored past them.
 *
 * An ordinary store first reads the line that it writes: a third of the traffic of an addition, and it drives out what was cached. The
 * price is that whoever reads the result finds none of it in a cache; where operands and result do not fit there anyway it is nothing
 * (measured: docs/threads.md). Results are to the bit those of the loops in arithmetic.c. */
#include "loops.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <stdio.h>

#define AVX2 __attribute__((target("avx2")))
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

/* One element a time up to a whole vector of the output, and after the last; `a` and `b` move by 1 or stand still. */
#define CALCULATE(T, OP, A, B, a_moves, b_moves) { \
        for (; i < count && (uintptr_t)(out + i) % 32; i++) out[i] = a[i * a_moves] OP b[i * b_moves]; \
        for (; i + lanes <= count; i += lanes) STORE_##T(out + i, A##_##T(a, i) OP B##_##T(b, i)); \
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

intptr_t eager_last_cache(void) { return INTPTR_MAX / 2; }
#endif
