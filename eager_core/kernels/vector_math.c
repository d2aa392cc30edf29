/* Loops over the functions of vector_math.h, compiled for AVX2 and AVX-512 beside what the machine at hand must not have. */
#include "loops.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include "vector_math.h"

#define HEADER(NAME) static void NAME(char **args, const intptr_t *n, const intptr_t *steps, void *data)
enum { BLOCK = 256 };

/* ABLE(x): the function holds for x; elements of a block with others are done one by one, by OTHERWISE. */
#define LOOP(NAME, T, TARGET, CALCULATE, ABLE, OTHERWISE) \
    TARGET HEADER(NAME) \
    { \
        const intptr_t count = *n, step = steps[0], out_step = steps[1]; \
        (void)data; \
        if (step == EAGER_SIZE(T) && out_step == EAGER_SIZE(T)) { \
            for (intptr_t start = 0; start < count; start += BLOCK) { \
                const T *in = (const T *)args[0] + start; \
                T *out = (T *)args[1] + start; \
                const intptr_t size = count - start < BLOCK ? count - start : BLOCK; \
                intptr_t others = 0; \
                for (intptr_t i = 0; i < size; i++) others += !ABLE(in[i]); \
                if (!others) { \
                    EAGER_INDEPENDENT \
                    for (intptr_t i = 0; i < size; i++) out[i] = CALCULATE(in[i]); \
                } else { \
                    for (intptr_t i = 0; i < size; i++) out[i] = ABLE(in[i]) ? CALCULATE(in[i]) : OTHERWISE(in[i]); \
                } \
            } \
        } else { \
            const char *in = args[0]; \
            char *out = args[1]; \
            for (intptr_t i = 0; i < count; i++, in += step, out += out_step) { \
                const T x = *(const T *)in; \
                *(T *)out = ABLE(x) ? CALCULATE(x) : OTHERWISE(x); \
            } \
        } \
    }

/* Saved value and gradient; one gradient for all elements is common: it is what a sum hands back. */
#define GRADIENT_LOOP(NAME, T, TARGET, CALCULATE, ABLE, OTHERWISE) \
    TARGET HEADER(NAME) \
    { \
        const intptr_t count = *n, step = steps[0], grad_step = steps[1], out_step = steps[2]; \
        (void)data; \
        if (step == EAGER_SIZE(T) && out_step == EAGER_SIZE(T) && (grad_step == EAGER_SIZE(T) || grad_step == 0)) { \
            for (intptr_t start = 0; start < count; start += BLOCK) { \
                const T *in = (const T *)args[0] + start, *grad = (const T *)(args[1] + start * grad_step), first = *grad; \
                T *out = (T *)args[2] + start; \
                const intptr_t size = count - start < BLOCK ? count - start : BLOCK; \
                intptr_t others = 0; \
                for (intptr_t i = 0; i < size; i++) others += !ABLE(in[i]); \
                if (others) { \
                    for (intptr_t i = 0; i < size; i++) { \
                        const T g = grad_step ? grad[i] : first; \
                        out[i] = ABLE(in[i]) ? CALCULATE(in[i], g) : OTHERWISE(in[i], g); \
                    } \
                } else if (grad_step) { \
                    EAGER_INDEPENDENT \
                    for (intptr_t i = 0; i < size; i++) out[i] = CALCULATE(in[i], grad[i]); \
                } else { \
                    EAGER_INDEPENDENT \
                    for (intptr_t i = 0; i < size; i++) out[i] = CALCULATE(in[i], first); \
                } \
            } \
        } else { \
            const char *in = args[0], *grad = args[1]; \
            char *out = args[2]; \
            for (intptr_t i = 0; i < count; i++, in += step, grad += grad_step, out += out_step) { \
                const T x = *(const T *)in, g = *(const T *)grad; \
                *(T *)out = ABLE(x) ? CALCULATE(x, g) : OTHERWISE(x, g); \
            } \
        } \
    }

#define ALWAYS(x) 1
#define ON_CIRCLE(x) (fabs(x) <= CIRCLE_LIMIT)
#define ON_CIRCLE_SINGLE(x) (fabsf(x) <= (float)CIRCLE_LIMIT)
#define NEVER(x) (x)
#define SIN_GRAD(x, g) ((g) * vector_cos(x))
#define COS_GRAD(x, g) (-(g) * vector_sin(x))
#define SIN_GRAD_SINGLE(x, g) ((g) * vector_cos_single(x))
#define COS_GRAD_SINGLE(x, g) (-(g) * vector_sin_single(x))
#define SIN_GRAD_LIBM(x, g) ((g) * cos(x))
#define COS_GRAD_LIBM(x, g) (-(g) * sin(x))
#define SIN_GRAD_LIBM_SINGLE(x, g) ((g) * cosf(x))
#define COS_GRAD_LIBM_SINGLE(x, g) (-(g) * sinf(x))

#define LOOPS(TARGET, ISA) \
    LOOP(sin_float64_##ISA, double, TARGET, vector_sin, ON_CIRCLE, sin) \
    LOOP(cos_float64_##ISA, double, TARGET, vector_cos, ON_CIRCLE, cos) \
    LOOP(sin_float32_##ISA, float, TARGET, vector_sin_single, ON_CIRCLE_SINGLE, sinf) \
    LOOP(cos_float32_##ISA, float, TARGET, vector_cos_single, ON_CIRCLE_SINGLE, cosf) \
    GRADIENT_LOOP(sin_grad_float64_##ISA, double, TARGET, SIN_GRAD, ON_CIRCLE, SIN_GRAD_LIBM) \
    GRADIENT_LOOP(cos_grad_float64_##ISA, double, TARGET, COS_GRAD, ON_CIRCLE, COS_GRAD_LIBM) \
    GRADIENT_LOOP(sin_grad_float32_##ISA, float, TARGET, SIN_GRAD_SINGLE, ON_CIRCLE_SINGLE, SIN_GRAD_LIBM_SINGLE) \
    GRADIENT_LOOP(cos_grad_float32_##ISA, float, TARGET, COS_GRAD_SINGLE, ON_CIRCLE_SINGLE, COS_GRAD_LIBM_SINGLE) \
    LOOP(tanh_float64_##ISA, double, TARGET, vector_tanh, ALWAYS, NEVER) \
    LOOP(sigmoid_float64_##ISA, double, TARGET, vector_sigmoid, ALWAYS, NEVER) \
    LOOP(sigmoid_float32_##ISA, float, TARGET, vector_sigmoid_single, ALWAYS, NEVER) \
    LOOP(erf_float64_##ISA, double, TARGET, vector_erf, ALWAYS, NEVER) \
    LOOP(erf_float32_##ISA, float, TARGET, vector_erf_single, ALWAYS, NEVER)

LOOPS(__attribute__((target("avx2,fma"))), avx2)
LOOPS(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma"))), avx512)

static int has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
           && __builtin_cpu_supports("avx512bw");
}

eager_loop eager_vector_loop_up_to(int level, int function, int dtype)
{
#define OF_ISA(ISA) \
    { \
        [EAGER_VECTOR_SIN] = {[EAGER_FLOAT32] = sin_float32_##ISA, [EAGER_FLOAT64] = sin_float64_##ISA}, \
        [EAGER_VECTOR_COS] = {[EAGER_FLOAT32] = cos_float32_##ISA, [EAGER_FLOAT64] = cos_float64_##ISA}, \
        [EAGER_VECTOR_SIN_GRAD] = {[EAGER_FLOAT32] = sin_grad_float32_##ISA, [EAGER_FLOAT64] = sin_grad_float64_##ISA}, \
        [EAGER_VECTOR_COS_GRAD] = {[EAGER_FLOAT32] = cos_grad_float32_##ISA, [EAGER_FLOAT64] = cos_grad_float64_##ISA}, \
        [EAGER_VECTOR_TANH] = {[EAGER_FLOAT64] = tanh_float64_##ISA}, \
        [EAGER_VECTOR_SIGMOID] = {[EAGER_FLOAT32] = sigmoid_float32_##ISA, [EAGER_FLOAT64] = sigmoid_float64_##ISA}, \
        [EAGER_VECTOR_ERF] = {[EAGER_FLOAT32] = erf_float32_##ISA, [EAGER_FLOAT64] = erf_float64_##ISA}, \
    }
    static const eager_loop avx2[EAGER_VECTOR_FUNCTIONS][EAGER_DTYPES] = OF_ISA(avx2);
    static const eager_loop avx512[EAGER_VECTOR_FUNCTIONS][EAGER_DTYPES] = OF_ISA(avx512);
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
