/* What the loops share.  Private to the C files of this folder. */
#ifndef EAGER_LOOPS_H
#define EAGER_LOOPS_H
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels.h"
#include "polynomials.h"

typedef struct { float re, im; } eager_c64;
typedef struct { double re, im; } eager_c128;

/* Operands are the very same memory or disjoint, so iterations never depend on each other.  Without this promise compilers test for
 * overlap at run time and send every in-place call to the scalar loop. */
#if defined(__clang__)
#define EAGER_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed" /* loops that call libm stay scalar */
#elif defined(__GNUC__)
#define EAGER_INDEPENDENT _Pragma("GCC ivdep")
#elif defined(_MSC_VER)
#define EAGER_INDEPENDENT __pragma(loop(ivdep))
#else
#define EAGER_INDEPENDENT
#endif

/* Code that is compiled again for each constant argument, and code that is not. */
#if defined(__GNUC__)
#define EAGER_SPECIALISED static inline __attribute__((always_inline))
#else
#define EAGER_SPECIALISED static inline
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define EAGER_SHARED static __attribute__((noinline, optimize("O2"))) /* small: -O3 would unroll it */
#else
#define EAGER_SHARED static
#endif

#define EAGER_SIZE(T) ((intptr_t)sizeof(T))

/* Horner's scheme over a table of polynomials.h, which starts with EAGER_FIRST; what comes NEXT is the user's. */
#define EAGER_FIRST(c) p = c;

/* exp(x) 2^64 for x <= 0 (or NaN) in float32, 1 ulp; times EAGER_DROP it is exp(x), which may be subnormal. Plain arithmetic that compilers
 * vectorise, hence no conditions (they would become branches): half the time of a call of expf per element. Constants: `fused`, the
 * processor has FMA; `bounded`, x >= -104. Needs float arithmetic in float (not x87). */
#define EAGER_DROP 0x1p-64f
#if defined(__GNUC__)
#define EAGER_FUSED(a, b, c) (fused ? __builtin_fmaf(a, b, c) : (a) * (b) + (c))
#else
#define EAGER_FUSED(a, b, c) ((a) * (b) + (c))
#endif
#define EAGER_NEXT_FUSED(c) p = EAGER_FUSED(p, r, c);
EAGER_SPECIALISED float eager_lifted_exp_negative(float x, int fused, int bounded)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer, kept in the low bits */
    const uint32_t vanishes = !bounded && x < -104.0f; /* exp(x) < 2^-150; what is calculated below is nonsense then */
    float whole = EAGER_FUSED(x, 1.44269504088896341f, shift), r, p;
    uint32_t bits;
    memcpy(&bits, &whole, sizeof bits);
    whole -= shift;
    r = EAGER_FUSED(whole, 2.12194440e-4f, EAGER_FUSED(-whole, 0.693359375f, x)); /* ln(2) in two parts, the first exact when multiplied */
    EAGER_POLYNOMIAL_EXP_SINGLE(EAGER_FIRST, EAGER_NEXT_FUSED)
    p = EAGER_FUSED(p, r * r, r) + 1.0f;
    bits = (bits + (127u + 64u)) << 23;
    memcpy(&r, &bits, sizeof r);
    p *= r;
    memcpy(&bits, &p, sizeof bits);
    bits &= vanishes - 1u;
    memcpy(&p, &bits, sizeof p);
    return p;
}
static inline float eager_exp_negative(float x) { return eager_lifted_exp_negative(x, 0, 0) * EAGER_DROP; }

/* A loop NAME over x, and over g if GRADIENT is 1: saved values and gradients. One g for all x is common: it is what a sum hands back.
 * PREPARE declares what the loop needs of `data`; CALCULATE gives y of type T.
 * SOME is 1 if it may only be used where ABLE is true: blocks of elements with others are done one by one, others by OTHERWISE. */
enum { EAGER_SELECTED_BLOCK = 256 };
#define EAGER_ONE(X, G, ABLE, CALCULATE, OTHERWISE, PUT) \
    { \
        const eager_T x = X, g = G; \
        eager_T y; \
        (void)g; \
        if (ABLE) { CALCULATE } else { OTHERWISE } \
        PUT = y; \
    }
#define EAGER_LOOP(NAME, T, TARGET, GRADIENT, PREPARE, CALCULATE, SOME, ABLE, OTHERWISE) \
    TARGET static void NAME(char **args, const intptr_t *n, const intptr_t *steps, void *data) \
    { \
        typedef T eager_T; \
        const intptr_t count = *n, step = steps[0], grad_step = GRADIENT ? steps[1] : 0, out_step = steps[1 + GRADIENT]; \
        PREPARE \
        (void)data; \
        if (step == EAGER_SIZE(T) && out_step == EAGER_SIZE(T) && (grad_step == EAGER_SIZE(T) || grad_step == 0)) { \
            const intptr_t block = SOME ? EAGER_SELECTED_BLOCK : count; \
            for (intptr_t start = 0; start < count; start += block) { \
                const T *xs = (const T *)args[0] + start, *gs = (const T *)(args[GRADIENT] + start * grad_step), g0 = *gs; \
                T *out = (T *)args[1 + GRADIENT] + start; \
                const intptr_t size = count - start < block ? count - start : block; \
                intptr_t others = 0; \
                if (SOME) for (intptr_t i = 0; i < size; i++) { const T x = xs[i]; (void)x; others += !(ABLE); } \
                if (others) { \
                    for (intptr_t i = 0; i < size; i++) EAGER_ONE(xs[i], grad_step ? gs[i] : g0, ABLE, CALCULATE, OTHERWISE, out[i]) \
                } else if (grad_step) { \
                    EAGER_INDEPENDENT \
                    for (intptr_t i = 0; i < size; i++) EAGER_ONE(xs[i], gs[i], 1, CALCULATE, , out[i]) \
                } else { \
                    EAGER_INDEPENDENT \
                    for (intptr_t i = 0; i < size; i++) EAGER_ONE(xs[i], g0, 1, CALCULATE, , out[i]) \
                } \
            } \
        } else { \
            const char *in = args[0], *grad = args[GRADIENT]; \
            char *out = args[1 + GRADIENT]; \
            for (intptr_t i = 0; i < count; i++, in += step, grad += grad_step, out += out_step) \
                EAGER_ONE(*(const T *)in, *(const T *)grad, ABLE, CALCULATE, OTHERWISE, *(T *)out) \
        } \
    }
#endif
