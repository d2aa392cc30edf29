/* Loops over the functions of vector_math.h, compiled for AVX2 and AVX-512 beside what the machine at hand must not have. */
#include "loops.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include "vector_math.h"

/* GCC makes no vector code of most conditions if the processor's floating-point flags matter, and here nobody reads them. */
#if !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

/* Functions are compiled for whole blocks of a vector's length. What is left over, and what does not lie side by side, goes through a block
 * of its own: so a result does not depend on the place of an element, and each function is there once. g: of gradients; `g_step` is 0 if one
 * block serves. */
enum { BLOCK_float = 16, BLOCK_double = 8 };
typedef int32_t mask_float;
typedef int64_t mask_double;
#define IN_BLOCKS(T) \
    typedef void blocks_##T(const T *xs, const T *gs, T *out, intptr_t blocks, intptr_t g_step); \
    EAGER_SHARED void in_blocks_##T(char **args, intptr_t n, const intptr_t *steps, int gradient, blocks_##T *run) \
    { \
        enum { BLOCK = BLOCK_##T }; \
        const char *in = args[0], *grad = args[gradient]; \
        char *out = args[1 + gradient]; \
        const intptr_t step = steps[0], grad_step = gradient ? steps[1] : 0, out_step = steps[1 + gradient]; \
        T x[BLOCK], g[BLOCK]; \
        if (n <= 0) return; \
        for (int i = 0; i < BLOCK; i++) g[i] = *(const T *)grad; \
        if (step == EAGER_SIZE(T) && out_step == EAGER_SIZE(T) && (grad_step == EAGER_SIZE(T) || grad_step == 0)) { \
            const intptr_t blocks = n / BLOCK; \
            run((const T *)in, grad_step ? (const T *)grad : g, (T *)out, blocks, grad_step ? BLOCK : 0); \
            in += blocks * BLOCK * step; \
            grad += blocks * BLOCK * grad_step; \
            out += blocks * BLOCK * out_step; \
            n -= blocks * BLOCK; \
        } \
        for (; n > 0; n -= BLOCK) { \
            const int count = n < BLOCK ? (int)n : BLOCK; \
            for (int i = 0; i < BLOCK; i++) x[i] = 1; /* every function can do with it */ \
            for (int i = 0; i < count; i++, in += step) x[i] = *(const T *)in; \
            if (grad_step) for (int i = 0; i < count; i++, grad += grad_step) g[i] = *(const T *)grad; \
            run(x, g, x, 1, 0); \
            for (int i = 0; i < count; i++, out += out_step) *(T *)out = x[i]; \
        } \
    }
IN_BLOCKS(float) IN_BLOCKS(double)

#define BLOCKS(NAME, T, TARGET, CALCULATE) \
    TARGET __attribute__((noinline)) static void NAME##_blocks(const T *xs, const T *gs, T *out, intptr_t blocks, intptr_t g_step) \
    { \
        for (; blocks > 0; blocks--, xs += BLOCK_##T, gs += g_step, out += BLOCK_##T) { \
            EAGER_INDEPENDENT \
            for (int i = 0; i < BLOCK_##T; i++) { const T x = xs[i], g = gs[i]; (void)g; out[i] = (T)(CALCULATE); } \
        } \
    }
#define LOOP(NAME, T, GRADIENT, RUN) \
    static void NAME(char **args, const intptr_t *n, const intptr_t *steps, void *data) \
    { \
        (void)data; \
        in_blocks_##T(args, *n, steps, GRADIENT, RUN); \
    }
#define WHOLE(NAME, T, TARGET, GRADIENT, CALCULATE) BLOCKS(NAME, T, TARGET, CALCULATE) LOOP(NAME, T, GRADIENT, NAME##_blocks)

/* The function serves where ABLE is true of x; OTHERWISE is libm's. A look at some blocks at a time is cheap. */
enum { LOOKED_AT = 16 };
#define SELECTED(NAME, T, TARGET, GRADIENT, CALCULATE, ABLE, OTHERWISE) \
    BLOCKS(NAME, T, TARGET, CALCULATE) \
    TARGET static void NAME##_selected(const T *xs, const T *gs, T *out, intptr_t blocks, intptr_t g_step) \
    { \
        while (blocks > 0) { \
            intptr_t some = blocks < LOOKED_AT ? blocks : LOOKED_AT; \
            T old_x[BLOCK_##T], old_g[BLOCK_##T]; \
            mask_##T others = 0; \
            for (intptr_t i = 0; i < some * BLOCK_##T; i++) { const T x = xs[i]; others |= (ABLE) ? 0 : 1; } \
            if (others) some = 1; \
            if (others) for (int i = 0; i < BLOCK_##T; i++) { old_x[i] = xs[i]; old_g[i] = gs[i]; } \
            NAME##_blocks(xs, gs, out, some, g_step); \
            if (others) for (int i = 0; i < BLOCK_##T; i++) { \
                const T x = old_x[i], g = old_g[i]; \
                (void)g; \
                if (!(ABLE)) out[i] = OTHERWISE; \
            } \
            blocks -= some; \
            xs += some * BLOCK_##T; \
            gs += some * g_step; \
            out += some * BLOCK_##T; \
        } \
    } \
    LOOP(NAME, T, GRADIENT, NAME##_selected)
#define DOUBLE(NAME, TARGET, GRADIENT, CALCULATE) WHOLE(NAME, double, TARGET, GRADIENT, CALCULATE)
#define BOTH(NAME, ISA, TARGET, GRADIENT, FLOAT, CALCULATE) \
    WHOLE(NAME##_float32_##ISA, float, TARGET, GRADIENT, FLOAT) \
    DOUBLE(NAME##_float64_##ISA, TARGET, GRADIENT, CALCULATE)
#define PARTLY(NAME, ISA, TARGET, GRADIENT, FLOAT, CALCULATE, ABLE, OTHERWISE_FLOAT, OTHERWISE) \
    SELECTED(NAME##_float32_##ISA, float, TARGET, GRADIENT, FLOAT, ABLE, OTHERWISE_FLOAT) \
    SELECTED(NAME##_float64_##ISA, double, TARGET, GRADIENT, CALCULATE, ABLE, OTHERWISE)
#define ON_CIRCLE x >= -CIRCLE_LIMIT && x <= CIRCLE_LIMIT
#define NORMAL x >= 0x1p-1022 && x <= 0x1.fffffffffffffp1023
#define FLOATS(NAME, ISA) {[EAGER_FLOAT32] = NAME##_float32_##ISA, [EAGER_FLOAT64] = NAME##_float64_##ISA}

#define LOOPS(TARGET, ISA, EXP, LOG) \
    PARTLY(sin, ISA, TARGET, 0, sin_of(x, 1), sin_of(x, 0), ON_CIRCLE, sinf(x), sin(x)) \
    PARTLY(cos, ISA, TARGET, 0, cos_of(x, 1), cos_of(x, 0), ON_CIRCLE, cosf(x), cos(x)) \
    PARTLY(sin_grad, ISA, TARGET, 1, g * (float)cos_of(x, 1), g * cos_of(x, 0), ON_CIRCLE, g * cosf(x), g * cos(x)) \
    PARTLY(cos_grad, ISA, TARGET, 1, -g * (float)sin_of(x, 1), -g * sin_of(x, 0), ON_CIRCLE, -g * sinf(x), -g * sin(x)) \
    DOUBLE(tanh_float64_##ISA, TARGET, 0, tanh_of(x)) \
    BOTH(sigmoid, ISA, TARGET, 0, sigmoid_in_float(x), sigmoid_of(x)) \
    BOTH(erf, ISA, TARGET, 0, erf_of(x, 1), erf_of(x, 0)) \
    BOTH(erfc, ISA, TARGET, 0, erfc_of(x, 1), erfc_of(x, 0)) \
    BOTH(gelu, ISA, TARGET, 0, gelu_in_float(x), gelu_of(x)) \
    BOTH(gelu_tanh, ISA, TARGET, 0, gelu_tanh_of(x, 1), gelu_tanh_of(x, 0)) \
    BOTH(gelu_grad, ISA, TARGET, 1, g * gelu_slope_in_float(x), g * gelu_slope(x)) \
    BOTH(gelu_tanh_grad, ISA, TARGET, 1, g * (float)gelu_tanh_slope(x, 1), g * gelu_tanh_slope(x, 0)) \
    static const eager_loop ISA[EAGER_FUNCTIONS][EAGER_DTYPES] = { \
        [EAGER_SIN] = FLOATS(sin, ISA), [EAGER_COS] = FLOATS(cos, ISA), \
        [EAGER_SIN_GRAD] = FLOATS(sin_grad, ISA), [EAGER_COS_GRAD] = FLOATS(cos_grad, ISA), \
        [EAGER_EXP] = EXP, [EAGER_LOG] = LOG, \
        [EAGER_TANH] = {[EAGER_FLOAT64] = tanh_float64_##ISA}, [EAGER_SIGMOID] = FLOATS(sigmoid, ISA), \
        [EAGER_ERF] = FLOATS(erf, ISA), [EAGER_ERFC] = FLOATS(erfc, ISA), \
        [EAGER_GELU] = FLOATS(gelu, ISA), [EAGER_GELU_TANH] = FLOATS(gelu_tanh, ISA), \
        [EAGER_GELU_GRAD] = FLOATS(gelu_grad, ISA), [EAGER_GELU_TANH_GRAD] = FLOATS(gelu_tanh_grad, ISA), \
    };
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
WHOLE(exp_float64_avx2, double, AVX2, 0, exp_of(x))
SELECTED(log_float64_avx2, double, AVX2, 0, log_of(x), NORMAL, log(x))
LOOPS(AVX2, avx2, {[EAGER_FLOAT64] = exp_float64_avx2}, {[EAGER_FLOAT64] = log_float64_avx2})
LOOPS(AVX512, avx512, {0}, {0}) /* NumPy's own exp and log are as fast there */

static int has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
           && __builtin_cpu_supports("avx512bw");
}

eager_loop eager_vector_loop_up_to(int level, int function, int dtype)
{
    if (level < 1 || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return NULL;
    return (level > 1 && has_avx512() ? avx512 : avx2)[function][dtype];
}

#else
eager_loop eager_vector_loop_up_to(int level, int function, int dtype)
{
    (void)level;
    (void)function;
    (void)dtype;
    return NULL;
}
#endif

eager_loop eager_vector_loop(int function, int dtype) { return eager_vector_loop_up_to(2, function, dtype); }
