/* What the loops share.  Private to the C files of this folder. */
#ifndef EAGER_LOOPS_H
#define EAGER_LOOPS_H
#include <stdint.h>
#include <string.h>

#include "kernels.h"

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

/* exp(x) for x <= 0 (or NaN) in float32, within 1 ulp, subnormal results too.  Plain arithmetic that compilers vectorise, hence no
 * conditions (they would become branches): half the time of a call of expf per element.  Polynomial on |r| <= ln(2)/2: EXP_SINGLE of
 * tools/polynomials.py.
 * Needs float arithmetic in float (not x87). */
static inline float eager_exp_negative(float x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer, kept in the low bits */
    const uint32_t vanishes = x < -104.0f; /* exp(x) < 2^-150; what is calculated below is nonsense then */
    float whole = x * 1.44269504088896341f + shift, r, p;
    uint32_t bits;
    memcpy(&bits, &whole, sizeof bits);
    whole -= shift;
    r = x - whole * 0.693359375f + whole * 2.12194440e-4f; /* ln(2) in two parts, the first exact when multiplied */
    p = 0x1.6d110a0000000p-10f;
    p = p * r + 0x1.120b6e0000000p-7f;
    p = p * r + 0x1.55551a0000000p-5f;
    p = p * r + 0x1.5554dc0000000p-3f;
    p = p * r + 0x1.0000000000000p-1f;
    p = p * (r * r) + r + 1.0f;
    /* Times 2^whole, as 2^(whole + 64) made from exponent bits and 2^-64: alone it could be too small for a normal float. */
    bits = (bits + (127u + 64u)) << 23;
    memcpy(&r, &bits, sizeof r);
    p *= r;
    p *= 5.42101086242752217e-20f;
    memcpy(&bits, &p, sizeof bits);
    bits &= vanishes - 1u;
    memcpy(&p, &bits, sizeof p);
    return p;
}
#endif
