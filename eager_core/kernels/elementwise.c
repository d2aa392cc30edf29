/* Our own elementwise loops: what NumPy has no single loop for. */
#include <math.h>

#include "loops.h"

/* A loop NAME over x, and over g if IS_GRADIENT is 1: saved values and gradients. One g for all x is common: it is what a sum hands back.
 * PREPARE declares what the loop needs of `data`; CALCULATE gives y of type T. */
#define ONE(T, X, G, CALCULATE, PUT) \
    { \
        const T x = X, g = G; \
        T y; \
        (void)g; \
        CALCULATE \
        PUT = y; \
    }
#define LOOP(NAME, T, IS_GRADIENT, PREPARE, CALCULATE) \
    static void NAME(char **args, const intptr_t *n, const intptr_t *steps, void *data) \
    { \
        const intptr_t count = *n, step = steps[0], grad_step = IS_GRADIENT ? steps[1] : 0, out_step = steps[1 + IS_GRADIENT]; \
        PREPARE \
        (void)data; \
        if (step == EAGER_SIZE(T) && out_step == EAGER_SIZE(T) && (grad_step == EAGER_SIZE(T) || grad_step == 0) && count > 0) { \
            const T *xs = (const T *)args[0], *gs = (const T *)args[IS_GRADIENT], g0 = *gs; \
            T *out = (T *)args[1 + IS_GRADIENT]; \
            if (grad_step) { EAGER_INDEPENDENT for (intptr_t i = 0; i < count; i++) ONE(T, xs[i], gs[i], CALCULATE, out[i]) } \
            else { EAGER_INDEPENDENT for (intptr_t i = 0; i < count; i++) ONE(T, xs[i], g0, CALCULATE, out[i]) } \
        } else { \
            const char *in = args[0], *grad = args[IS_GRADIENT]; \
            char *out = args[1 + IS_GRADIENT]; \
            for (intptr_t i = 0; i < count; i++, in += step, grad += grad_step, out += out_step) \
                ONE(T, *(const T *)in, *(const T *)grad, CALCULATE, *(T *)out) \
        } \
    }
#define UNARY(NAME, T, PREPARE, CALCULATE) LOOP(NAME, T, 0, PREPARE, CALCULATE)
#define GRADIENT(NAME, T, CALCULATE) LOOP(NAME, T, 1, , CALCULATE)

/* exp of -|x| never overflows; 1/(1+e) and e/(1+e) are the two halves.  Not 1 - 1/(1+e): that loses the left tail. */
UNARY(sigmoid_float32, float, , const float e = eager_exp_negative(-fabsf(x)); y = (x < 0 ? e : 1.0f) / (1.0f + e);)
UNARY(sigmoid_float64, double, , const double e = exp(-fabs(x)); y = (x < 0 ? e : 1.0) / (1.0 + e);)
UNARY(erf_float32, float, , y = erff(x);)
UNARY(erf_float64, double, , y = erf(x);)
UNARY(erfc_float32, float, , y = erfcf(x);)
UNARY(erfc_float64, double, , y = erfc(x);)
UNARY(rsqrt_float32, float, , y = 1.0f / sqrtf(x);)
UNARY(rsqrt_float64, double, , y = 1.0 / sqrt(x);)

/* "x < 0 ? 0" and not "x > 0 ? x": a NaN fails both and must stay. */
#define RELU(NAME, T) UNARY(relu_##NAME, T, , y = x < 0 ? 0 : x;)
#define RELU_UNSIGNED(NAME, T) UNARY(relu_##NAME, T, , y = x;)
RELU(int8, int8_t) RELU(int16, int16_t) RELU(int32, int32_t) RELU(int64, int64_t) RELU(float32, float) RELU(float64, double)
RELU_UNSIGNED(uint8, uint8_t) RELU_UNSIGNED(uint16, uint16_t) RELU_UNSIGNED(uint32, uint32_t) RELU_UNSIGNED(uint64, uint64_t)

/* Integers wrap: the arithmetic is done unsigned, in W, where that is defined (uint16 * uint16 would be a signed int). */
#define SCALE_DATA const eager_scale_data *const attributes = (const eager_scale_data *)data; \
    const int after = attributes->bias_after_scale;
#define SCALE_INT(NAME, T, W) \
    UNARY(scale_##NAME, T, \
          SCALE_DATA const W s = (W)attributes->iscale; const W before = after ? 0 : (W)attributes->ibias; \
          const W behind = after ? (W)attributes->ibias : 0;, \
          y = (T)(((W)x + before) * s + behind);)
/* Floats may not add the 0 of the other order (-0.0 + 0.0 is 0.0); compilers move the test out of the loop. */
#define SCALE_REAL(NAME, T) \
    UNARY(scale_##NAME, T, \
          SCALE_DATA const T s = (T)attributes->scale; const T b = (T)attributes->bias;, \
          y = after ? x * s + b : (x + b) * s;)
#define SCALE_COMPLEX(NAME, T, P) \
    UNARY(scale_##NAME, T, \
          SCALE_DATA const P s = (P)attributes->scale; const P b = (P)attributes->bias;, \
          y.re = after ? x.re * s + b : (x.re + b) * s; y.im = x.im * s;)
SCALE_INT(int8, int8_t, uint32_t) SCALE_INT(uint8, uint8_t, uint32_t) SCALE_INT(int16, int16_t, uint32_t)
SCALE_INT(uint16, uint16_t, uint32_t) SCALE_INT(int32, int32_t, uint32_t) SCALE_INT(uint32, uint32_t, uint32_t)
SCALE_INT(int64, int64_t, uint64_t) SCALE_INT(uint64, uint64_t, uint64_t)
SCALE_REAL(float32, float) SCALE_REAL(float64, double)
SCALE_COMPLEX(complex64, eager_c64, float) SCALE_COMPLEX(complex128, eager_c128, double)

#define REAL_GRADIENTS(NAME, T) \
    GRADIENT(tanh_grad_##NAME, T, y = g * (1 - x * x);) \
    GRADIENT(sigmoid_grad_##NAME, T, y = g * x * (1 - x);) \
    GRADIENT(relu_grad_##NAME, T, y = x > 0 ? g : (T)0;) \
    GRADIENT(rsqrt_grad_##NAME, T, y = (T)-0.5 * g * x * x * x;) \
    GRADIENT(sqrt_grad_##NAME, T, y = (T)0.5 * g / x;) \
    GRADIENT(reciprocal_grad_##NAME, T, y = -g * x * x;) \
    GRADIENT(square_grad_##NAME, T, y = 2 * x * g;)
GRADIENT(sin_grad_float32, float, y = g * cosf(x);)
GRADIENT(sin_grad_float64, double, y = g * cos(x);)
GRADIENT(cos_grad_float32, float, y = -g * sinf(x);)
GRADIENT(cos_grad_float64, double, y = -g * sin(x);)
/* x P(x) with the normal distribution P, or with 1 / (1 + exp(-v)) for it; beyond the limit P(-|x|) is 0, and its slope must be. Calculated
 * in double for float, too. */
static double clamped(double x, double limit) { return x < -limit ? -limit : x > limit ? limit : x; }
static double normal(double x) { return 0.5 * erfc(clamped(x, 40.0) * -0.70710678118654752440); }
static double normal_slope(double x)
{
    const double u = clamped(x, 40.0);
    return normal(x) + 0.39894228040143267794 * u * exp(-0.5 * u * u);
}
static double tanh_form(double u)
{
    const double e = exp(-1.5957691216057307117 * fabs(u) * (1.0 + 0.044715 * u * u));
    return (u < 0 ? e : 1.0) / (1.0 + e);
}
static double tanh_form_slope(double x)
{
    const double u = clamped(x, 25.0), p = tanh_form(u);
    return p + u * p * tanh_form(-u) * 1.5957691216057307117 * (1.0 + 3.0 * 0.044715 * u * u);
}
#define GELU(NAME, T) \
    UNARY(gelu_##NAME, T, , y = (T)((x < -40 ? -40.0 : x) * normal(x));) \
    UNARY(gelu_tanh_##NAME, T, , y = (T)((x < -25 ? -25.0 : x) * tanh_form(clamped(x, 25.0)));) \
    GRADIENT(gelu_grad_##NAME, T, y = (T)(g * normal_slope(x));) \
    GRADIENT(gelu_tanh_grad_##NAME, T, y = (T)(g * tanh_form_slope(x));)
GELU(float32, float)
GELU(float64, double)
REAL_GRADIENTS(float32, float)
REAL_GRADIENTS(float64, double)

/* Without conjugation: the caller's business. */
#define COMPLEX_GRADIENTS(NAME, T, P) \
    GRADIENT(reciprocal_grad_##NAME, T, \
             const P re = g.im * x.im - g.re * x.re; const P im = -(g.re * x.im + g.im * x.re); \
             y.re = re * x.re - im * x.im; y.im = re * x.im + im * x.re;) \
    GRADIENT(square_grad_##NAME, T, \
             const P re = 2 * x.re; const P im = 2 * x.im; \
             y.re = re * g.re - im * g.im; y.im = re * g.im + im * g.re;)
COMPLEX_GRADIENTS(complex64, eager_c64, float)
COMPLEX_GRADIENTS(complex128, eager_c128, double)

/* Both sides are read before the choice, which makes it a blend and not a branch. */
#define WHERE_LOOP(T, X, Y) \
    for (intptr_t i = 0; i < count; i++) { \
        const T x = X, y = Y; \
        out[i] = cond[i] ? x : y; \
    }
#define WHERE(NAME, T) \
    static void NAME(char **args, const intptr_t *n, const intptr_t *steps, void *data) \
    { \
        const intptr_t count = *n, cond_step = steps[0], x_step = steps[1], y_step = steps[2], out_step = steps[3]; \
        const intptr_t size = EAGER_SIZE(T); \
        (void)data; \
        if (cond_step == 1 && out_step == size && count > 0 && (x_step == size || !x_step) && (y_step == size || !y_step)) { \
            const uint8_t *cond = (const uint8_t *)args[0]; \
            const T *xs = (const T *)args[1], *ys = (const T *)args[2], x0 = *xs, y0 = *ys; \
            T *out = (T *)args[3]; \
            if (x_step && y_step) { EAGER_INDEPENDENT WHERE_LOOP(T, xs[i], ys[i]) } \
            else if (x_step) { EAGER_INDEPENDENT WHERE_LOOP(T, xs[i], y0) } \
            else if (y_step) { EAGER_INDEPENDENT WHERE_LOOP(T, x0, ys[i]) } \
            else { EAGER_INDEPENDENT WHERE_LOOP(T, x0, y0) } \
        } else { \
            const char *cond = args[0], *xs = args[1], *ys = args[2]; \
            char *out = args[3]; \
            for (intptr_t i = 0; i < count; i++, cond += cond_step, xs += x_step, ys += y_step, out += out_step) { \
                const T x = *(const T *)xs, y = *(const T *)ys; \
                *(T *)out = *cond ? x : y; \
            } \
        } \
    }
/* Only the size of an item matters.  Halves of 16 bytes as a struct, which is aligned like the complex128 it stands for. */
typedef struct { uint64_t low, high; } bits128;
WHERE(where_8, uint8_t)
WHERE(where_16, uint16_t)
WHERE(where_32, uint32_t)
WHERE(where_64, uint64_t)
WHERE(where_128, bits128)

#define FLOATS(NAME) [EAGER_FLOAT32] = NAME##_float32, [EAGER_FLOAT64] = NAME##_float64
#define COMPLEXES(NAME) [EAGER_COMPLEX64] = NAME##_complex64, [EAGER_COMPLEX128] = NAME##_complex128
#define INTEGERS(NAME) \
    [EAGER_INT8] = NAME##_int8, [EAGER_UINT8] = NAME##_uint8, [EAGER_INT16] = NAME##_int16, [EAGER_UINT16] = NAME##_uint16, \
    [EAGER_INT32] = NAME##_int32, [EAGER_UINT32] = NAME##_uint32, [EAGER_INT64] = NAME##_int64, [EAGER_UINT64] = NAME##_uint64
static const eager_loop loops[EAGER_KERNELS][EAGER_DTYPES] = {
    [EAGER_SIGMOID] = { FLOATS(sigmoid) },
    [EAGER_ERF] = { FLOATS(erf) },
    [EAGER_ERFC] = { FLOATS(erfc) },
    [EAGER_GELU] = { FLOATS(gelu) },
    [EAGER_GELU_TANH] = { FLOATS(gelu_tanh) },
    [EAGER_RELU] = { INTEGERS(relu), FLOATS(relu) },
    [EAGER_RSQRT] = { FLOATS(rsqrt) },
    [EAGER_SCALE] = { INTEGERS(scale), FLOATS(scale), COMPLEXES(scale) },
    [EAGER_SIN_GRAD] = { FLOATS(sin_grad) },
    [EAGER_COS_GRAD] = { FLOATS(cos_grad) },
    [EAGER_TANH_GRAD] = { FLOATS(tanh_grad) },
    [EAGER_SIGMOID_GRAD] = { FLOATS(sigmoid_grad) },
    [EAGER_GELU_GRAD] = { FLOATS(gelu_grad) },
    [EAGER_GELU_TANH_GRAD] = { FLOATS(gelu_tanh_grad) },
    [EAGER_RELU_GRAD] = { FLOATS(relu_grad) },
    [EAGER_RSQRT_GRAD] = { FLOATS(rsqrt_grad) },
    [EAGER_SQRT_GRAD] = { FLOATS(sqrt_grad) },
    [EAGER_RECIPROCAL_GRAD] = { FLOATS(reciprocal_grad), COMPLEXES(reciprocal_grad) },
    [EAGER_SQUARE_GRAD] = { FLOATS(square_grad), COMPLEXES(square_grad) },
    [EAGER_WHERE] = {
        [EAGER_BOOL] = where_8, [EAGER_INT8] = where_8, [EAGER_UINT8] = where_8,
        [EAGER_INT16] = where_16, [EAGER_UINT16] = where_16,
        [EAGER_INT32] = where_32, [EAGER_UINT32] = where_32, [EAGER_FLOAT32] = where_32,
        [EAGER_INT64] = where_64, [EAGER_UINT64] = where_64, [EAGER_FLOAT64] = where_64, [EAGER_COMPLEX64] = where_64,
        [EAGER_COMPLEX128] = where_128,
    },
};

eager_loop eager_own_loop_up_to(int level, int kernel, int dtype)
{
    const eager_loop vector = eager_vector_loop_up_to(level, kernel, dtype);
    return vector ? vector : loops[kernel][dtype];
}

eager_loop eager_own_loop(int kernel, int dtype) { return eager_own_loop_up_to(2, kernel, dtype); }
