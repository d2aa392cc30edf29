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
#endif
