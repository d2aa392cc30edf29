/* Loops over the functions of vector_math.h, compiled for AVX2 and AVX-512 beside what the machine at hand must not have. */
#include "loops.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include "vector_math.h"

#define ON_CIRCLE fabs((double)x) <= CIRCLE_LIMIT
#define NORMAL x >= 0x1p-1022 && x < HUGE_VAL

/* Loops over x, or x and g, in float and in double; SELECTED: where ABLE is true, else by libm. */
#define DOUBLE(NAME, TARGET, GRADIENT, CALCULATE) EAGER_LOOP(NAME, double, TARGET, GRADIENT, , y = CALCULATE;, 0, 1, )
#define BOTH(NAME, ISA, TARGET, GRADIENT, FLOAT, CALCULATE) \
    EAGER_LOOP(NAME##_float32_##ISA, float, TARGET, GRADIENT, , y = (float)(FLOAT);, 0, 1, ) \
    DOUBLE(NAME##_float64_##ISA, TARGET, GRADIENT, CALCULATE)
#define SELECTED(NAME, T, TARGET, GRADIENT, CALCULATE, ABLE, OTHERWISE) \
    EAGER_LOOP(NAME, T, TARGET, GRADIENT, , y = (T)(CALCULATE);, 1, ABLE, y = OTHERWISE;)

#define LOOPS(TARGET, ISA) \
    SELECTED(sin_float32_##ISA, float, TARGET, 0, sin_of(x, 1), ON_CIRCLE, sinf(x)) \
    SELECTED(sin_float64_##ISA, double, TARGET, 0, sin_of(x, 0), ON_CIRCLE, sin(x)) \
    SELECTED(cos_float32_##ISA, float, TARGET, 0, cos_of(x, 1), ON_CIRCLE, cosf(x)) \
    SELECTED(cos_float64_##ISA, double, TARGET, 0, cos_of(x, 0), ON_CIRCLE, cos(x)) \
    SELECTED(sin_grad_float32_##ISA, float, TARGET, 1, g * (float)cos_of(x, 1), ON_CIRCLE, g * cosf(x)) \
    SELECTED(sin_grad_float64_##ISA, double, TARGET, 1, g * cos_of(x, 0), ON_CIRCLE, g * cos(x)) \
    SELECTED(cos_grad_float32_##ISA, float, TARGET, 1, -g * (float)sin_of(x, 1), ON_CIRCLE, -g * sinf(x)) \
    SELECTED(cos_grad_float64_##ISA, double, TARGET, 1, -g * sin_of(x, 0), ON_CIRCLE, -g * sin(x)) \
    SELECTED(log_float64_##ISA, double, TARGET, 0, log_of(x), NORMAL, log(x)) \
    DOUBLE(exp_float64_##ISA, TARGET, 0, exp_of(x)) \
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
        [EAGER_EXP] = {[EAGER_FLOAT64] = exp_float64_##ISA}, [EAGER_LOG] = {[EAGER_FLOAT64] = log_float64_##ISA}, \
        [EAGER_TANH] = {[EAGER_FLOAT64] = tanh_float64_##ISA}, [EAGER_SIGMOID] = FLOATS(sigmoid, ISA), \
        [EAGER_ERF] = FLOATS(erf, ISA), [EAGER_ERFC] = FLOATS(erfc, ISA), \
        [EAGER_GELU] = FLOATS(gelu, ISA), [EAGER_GELU_TANH] = FLOATS(gelu_tanh, ISA), \
        [EAGER_GELU_GRAD] = FLOATS(gelu_grad, ISA), [EAGER_GELU_TANH_GRAD] = FLOATS(gelu_tanh_grad, ISA), \
    };
#define FLOATS(NAME, ISA) {[EAGER_FLOAT32] = NAME##_float32_##ISA, [EAGER_FLOAT64] = NAME##_float64_##ISA}

LOOPS(__attribute__((target("avx2,fma"))), avx2)
LOOPS(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma"))), avx512)

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
