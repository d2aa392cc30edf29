/* Functions of one number in plain arithmetic without branches, so that compilers make vector code of a loop over them.
 *
 * They need fused multiply-add (FMA) in hardware: each is inlined into loops that are compiled for such processors (vector_math.c).
 * Every multiplication with an addition is written as FMA, so that an element's result depends neither on its place in the array nor on
 * what a compiler makes of a sum. Coefficients: tools/polynomials.py. Errors in units in the last place: docs/accuracy.md. */
#ifndef EAGER_VECTOR_MATH_H
#define EAGER_VECTOR_MATH_H
#include <math.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define FMA __builtin_fma

INLINE uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define SIGN_BIT 0x8000000000000000u

INLINE double with_sign_of(double magnitude, double x) { return from_bits(bits_of(magnitude) | (bits_of(x) & SIGN_BIT)); }

INLINE double polynomial_sin(double z)
{
    double p = 0x1.5e0af186af739p-33;
    p = FMA(p, z, -0x1.ae600a926c89ap-26);
    p = FMA(p, z, 0x1.71de37961e4c6p-19);
    p = FMA(p, z, -0x1.a01a019e8357dp-13);
    p = FMA(p, z, 0x1.1111111110bb1p-7);
    p = FMA(p, z, -0x1.5555555555555p-3);
    return p;
}

INLINE double polynomial_cos(double z)
{
    double p = -0x1.907d7aebd5e3dp-37;
    p = FMA(p, z, 0x1.1eeb68b109173p-29);
    p = FMA(p, z, -0x1.27e4fa17a41b4p-22);
    p = FMA(p, z, 0x1.a01a019f4e867p-16);
    p = FMA(p, z, -0x1.6c16c16c16966p-10);
    p = FMA(p, z, 0x1.5555555555555p-5);
    return p;
}

INLINE double polynomial_sin_short(double z)
{
    double p = 0x1.6dbdd26f56d2dp-19;
    p = FMA(p, z, -0x1.a013a6edc8f34p-13);
    p = FMA(p, z, 0x1.11110deeb33b2p-7);
    p = FMA(p, z, -0x1.555555545dd83p-3);
    return p;
}

INLINE double polynomial_cos_short(double z)
{
    double p = -0x1.25242a3a17327p-22;
    p = FMA(p, z, 0x1.a015c40ec65ecp-16);
    p = FMA(p, z, -0x1.6c16bf5495185p-10);
    p = FMA(p, z, 0x1.5555555502be6p-5);
    return p;
}

INLINE double polynomial_exp(double z)
{
    double p = 0x1.af38a9b0ec855p-26;
    p = FMA(p, z, 0x1.289185613a3d6p-22);
    p = FMA(p, z, 0x1.71de0dae63bb3p-19);
    p = FMA(p, z, 0x1.a019b90d2ae7ap-16);
    p = FMA(p, z, 0x1.a01a01a7c41d5p-13);
    p = FMA(p, z, 0x1.6c16c1788bd90p-10);
    p = FMA(p, z, 0x1.11111111109b3p-7);
    p = FMA(p, z, 0x1.5555555553d63p-5);
    p = FMA(p, z, 0x1.5555555555556p-3);
    p = FMA(p, z, 0x1.0000000000001p-1);
    return p;
}

INLINE double polynomial_exp_short(double z)
{
    double p = 0x1.a124f19fe89acp-13;
    p = FMA(p, z, 0x1.6d43246b523b4p-10);
    p = FMA(p, z, 0x1.1110e0f238322p-7);
    p = FMA(p, z, 0x1.5554e9063586ep-5);
    p = FMA(p, z, 0x1.5555555a78ed4p-3);
    p = FMA(p, z, 0x1.0000000b9129bp-1);
    return p;
}

INLINE double polynomial_erf(double z)
{
    double p = 0x1.05ffd737fb32ep-34;
    p = FMA(p, z, -0x1.389d4f2641625p-30);
    p = FMA(p, z, 0x1.f7b4bf3b13964p-27);
    p = FMA(p, z, -0x1.5f1ecb6f0764cp-23);
    p = FMA(p, z, 0x1.b9df224ca4b97p-20);
    p = FMA(p, z, -0x1.f4d1e3183f7aep-17);
    p = FMA(p, z, 0x1.f9a321d5b8e1ep-14);
    p = FMA(p, z, -0x1.c02db3dac435fp-11);
    p = FMA(p, z, 0x1.565bcd0dbaa38p-8);
    p = FMA(p, z, -0x1.b82ce31284e00p-6);
    p = FMA(p, z, 0x1.ce2f21a042b30p-4);
    p = FMA(p, z, -0x1.812746b0379e6p-2);
    p = FMA(p, z, 0x1.06eba8214db69p-3);
    return p;
}

INLINE double polynomial_erf_short(double z)
{
    double p = 0x1.4a5690869d13fp-14;
    p = FMA(p, z, -0x1.a45087f1a200ap-11);
    p = FMA(p, z, 0x1.541270c79ca2cp-8);
    p = FMA(p, z, -0x1.b7faba961c85ap-6);
    p = FMA(p, z, 0x1.ce2d10ed44e09p-4);
    p = FMA(p, z, -0x1.81273e7a02443p-2);
    p = FMA(p, z, 0x1.06eba7f673903p-3);
    return p;
}

INLINE double polynomial_erfcx(double z)
{
    double p = 0x1.5d5e7634f4ca6p-24;
    p = FMA(p, z, -0x1.a36ff5774dd16p-20);
    p = FMA(p, z, -0x1.32951befcce73p-19);
    p = FMA(p, z, 0x1.f64be7b5a367bp-18);
    p = FMA(p, z, 0x1.38381b1459556p-16);
    p = FMA(p, z, -0x1.1ea84db776574p-15);
    p = FMA(p, z, -0x1.0e460ac2287b2p-13);
    p = FMA(p, z, 0x1.def25794251e9p-13);
    p = FMA(p, z, 0x1.cb3b600ad87b6p-11);
    p = FMA(p, z, -0x1.5a57167cd25c8p-9);
    p = FMA(p, z, -0x1.05bb2fe3d797cp-8);
    p = FMA(p, z, 0x1.470ba1f66220cp-5);
    p = FMA(p, z, -0x1.001154371704cp-3);
    p = FMA(p, z, 0x1.01c11a735ce12p-2);
    p = FMA(p, z, -0x1.7ca88dec217a4p-2);
    p = FMA(p, z, 0x1.afbb3f3b7343ap-3);
    return p;
}

INLINE double polynomial_erfcx_short(double z)
{
    double p = -0x1.9866920edf141p-9;
    p = FMA(p, z, -0x1.053fdc3a6a432p-8);
    p = FMA(p, z, 0x1.476364af29babp-5);
    p = FMA(p, z, -0x1.000fd2dc69d8ap-3);
    p = FMA(p, z, 0x1.01c0d8e796cf0p-2);
    p = FMA(p, z, -0x1.7ca8915448978p-2);
    p = FMA(p, z, 0x1.afbb3fbbf74a1p-3);
    return p;
}

/* Adding it rounds to an integer, which the low bits show. */
#define ROUNDER 0x1.8p52

/* sin(x + quarters pi / 2) for |x| <= CIRCLE_LIMIT. With k the nearest multiple of pi / 2, x - k pi / 2 is r + rest: pi / 2 is taken in
 * three parts, of which the first leaves an exact difference; what rounding takes from the second's product and difference is known. */
#define CIRCLE_LIMIT 1e6
INLINE double circle(double x, uint64_t quarters)
{
    const double rounded = FMA(x, 0x1.45f306dc9c883p-1, ROUNDER), k = rounded - ROUNDER;
    const uint64_t q = bits_of(rounded) + quarters;
    const double first = FMA(-k, 0x1.921fb54442d18p+0, x);
    const double second = -k * 0x1.1a62633145c07p-54, lost = FMA(-k, 0x1.1a62633145c07p-54, -second);
    const double r = first + second, taken = r - first;
    const double rest = FMA(k, 0x1.f1976b7ed8fbcp-110, lost + ((first - (r - taken)) + (second - taken)));
    const double z = r * r, half = 0.5 * z, w = 1.0 - half;
    const double sine = r + FMA(r * z, polynomial_sin(z), FMA(-half, rest, rest));
    const double cosine = w + (((1.0 - w) - half) + FMA(z * z, polynomial_cos(z), -(r * rest)));
    const uint64_t choice = -(q & 1);
    return from_bits(((bits_of(sine) & ~choice) | (bits_of(cosine) & choice)) ^ ((q & 2) << 62));
}

INLINE double vector_sin(double x)
{
    const double y = circle(x, 0);
    return x == 0.0 ? x : y; /* -0.0 */
}

INLINE double vector_cos(double x) { return circle(x, 1); }

/* The same for float, in double, with what float needs of pi / 2 and of the polynomials. */
INLINE double circle_single(double x, uint64_t quarters)
{
    const double rounded = FMA(x, 0x1.45f306dc9c883p-1, ROUNDER), k = rounded - ROUNDER;
    const uint64_t q = bits_of(rounded) + quarters;
    const double r = FMA(-k, 0x1.1a62633145c07p-54, FMA(-k, 0x1.921fb54442d18p+0, x)), z = r * r;
    const double sine = FMA(r * z, polynomial_sin_short(z), r);
    const double cosine = FMA(z * z, polynomial_cos_short(z), FMA(z, -0.5, 1.0));
    const uint64_t choice = -(q & 1);
    return from_bits(((bits_of(sine) & ~choice) | (bits_of(cosine) & choice)) ^ ((q & 2) << 62));
}

INLINE float vector_sin_single(float x)
{
    const float y = (float)circle_single(x, 0);
    return x == 0.0f ? x : y;
}

INLINE float vector_cos_single(float x) { return (float)circle_single(x, 1); }

/* exp(x) - 1 = 2^k (1 + p) - 1 for |x| < 700; *scale is 2^k. */
INLINE double exp_parts(double x, double *scale)
{
    const double rounded = FMA(x, 0x1.71547652b82fep+0, ROUNDER), k = rounded - ROUNDER;
    const double r = FMA(-k, 0x1.abc9e3b39803fp-56, FMA(-k, 0x1.62e42fefa39efp-1, x));
    *scale = from_bits((bits_of(rounded) + 1023) << 52);
    return FMA(r * r, polynomial_exp(r), r);
}

/* exp(x) for x <= 0 or NaN; below about -744 it is 0 or subnormal. */
INLINE double exp_of_negative(double x)
{
    const double rounded = FMA(x, 0x1.71547652b82fep+0, ROUNDER), k = rounded - ROUNDER;
    const double r = FMA(-k, 0x1.abc9e3b39803fp-56, FMA(-k, 0x1.62e42fefa39efp-1, x));
    const double y = 1.0 + FMA(r * r, polynomial_exp(r), r);
    /* 2^k as 2^(k + 200) and 2^-200: alone it could be too small for a normal number. */
    const double scaled = y * from_bits((bits_of(rounded) + 1223) << 52) * 0x1p-200;
    return x < -746.0 ? 0.0 : scaled;
}

/* 1 / (1 + e) and e / (1 + e) are the two halves. Not 1 - 1 / (1 + e): that loses the left tail. */
INLINE double vector_sigmoid(double x)
{
    const double e = exp_of_negative(-fabs(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

INLINE double vector_tanh(double x)
{
    const double a = fabs(x), y = a > 22.0 ? 44.0 : a + a; /* from there on it is 1 */
    double scale;
    const double p = exp_parts(y, &scale), e = FMA(scale, p, scale - 1.0);
    return with_sign_of(e / (e + 2.0), x);
}

/* x + x P(x^2) up to 1, and 1 - exp(-x^2) Q(t) beyond, t = (x - 2.5) / (x + 2.5). */
INLINE double vector_erf(double x)
{
    const double a = fabs(x), u = a > 6.0 ? 6.0 : a, z = a * a;
    double scale;
    const double p = exp_parts(-(u * u), &scale);
    const double far = FMA(-FMA(scale, p, scale), polynomial_erfcx((u - 2.5) / (u + 2.5)), 1.0);
    const double near = FMA(a, polynomial_erf(z), a);
    return with_sign_of(a < 1.0 ? near : far, x);
}

/* The same for float, in double, with what float needs of the polynomials. */
INLINE float vector_erf_single(float single)
{
    const double x = single, a = fabs(x), u = a > 4.0 ? 4.0 : a, z = a * a, y = -(u * u);
    const double rounded = FMA(y, 0x1.71547652b82fep+0, ROUNDER), k = rounded - ROUNDER, r = FMA(-k, 0x1.62e42fefa39efp-1, y);
    const double e = FMA(r * r, polynomial_exp_short(r), r + 1.0) * from_bits((bits_of(rounded) + 1023) << 52);
    const double far = FMA(-e, polynomial_erfcx_short((u - 2.5) / (u + 2.5)), 1.0);
    const double near = FMA(a, polynomial_erf_short(z), a);
    return (float)with_sign_of(a < 1.0 ? near : far, x);
}

/* exp(x) for x <= 0 or NaN, within 1 ulp, subnormal results too. */
INLINE float exp_of_negative_single(float x)
{
    const float rounder = 0x1.8p23f, rounded = __builtin_fmaf(x, 0x1.715476p+0f, rounder), k = rounded - rounder;
    const float r = __builtin_fmaf(-k, -0x1.05c610p-29f, __builtin_fmaf(-k, 0x1.62e430p-1f, x));
    float p = 0x1.6d110a0000000p-10f, power;
    p = __builtin_fmaf(p, r, 0x1.120b6e0000000p-7f);
    p = __builtin_fmaf(p, r, 0x1.55551a0000000p-5f);
    p = __builtin_fmaf(p, r, 0x1.5554dc0000000p-3f);
    p = __builtin_fmaf(p, r, 0x1.0000000000000p-1f);
    p = 1.0f + __builtin_fmaf(r * r, p, r);
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    bits = (bits + (127u + 64u)) << 23;
    memcpy(&power, &bits, sizeof power);
    return x < -104.0f ? 0.0f : p * power * 0x1p-64f;
}

INLINE float vector_sigmoid_single(float x)
{
    const float e = exp_of_negative_single(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
#endif
