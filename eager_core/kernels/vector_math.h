/* Functions of one number in plain arithmetic without branches, so that compilers make vector code of a loop over them.
 *
 * They need fused multiply-add (FMA) in hardware: each is inlined into loops that are compiled for such processors (vector_math.c).
 * Every multiplication with an addition is written as FMA, so that an element's result depends neither on its place in the array nor on
 * what a compiler makes of a sum. Errors in units in the last place: docs/accuracy.md.
 *
 * `brief`, a constant, asks for what float needs of a result and can give of an argument. Most functions of float are calculated so, in double:
 * that costs twice the time, and no digits. */
#ifndef EAGER_VECTOR_MATH_H
#define EAGER_VECTOR_MATH_H
#include "loops.h"

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

#define POLYNOMIAL(NAME, TABLE) \
    INLINE double polynomial_##NAME(double z, int brief) \
    { \
        double p; \
        if (brief) { EAGER_POLYNOMIAL_##TABLE##_SHORT(EAGER_FIRST, NEXT) } else { EAGER_POLYNOMIAL_##TABLE(EAGER_FIRST, NEXT) } \
        return p; \
    }
#define NEXT(c) p = FMA(p, z, c);
#define NEXT_IN_FLOAT(c) p = __builtin_fmaf(p, z, c);
POLYNOMIAL(sin, SIN) POLYNOMIAL(cos, COS) POLYNOMIAL(exp, EXP) POLYNOMIAL(erf, ERF) POLYNOMIAL(erfcx, ERFCX) POLYNOMIAL(erfc, ERFC)

/* Adding it rounds to an integer, which the low bits show. */
#define ROUNDER 0x1.8p52

/* sin(x + quarters pi / 2) for |x| <= CIRCLE_LIMIT. With k the nearest multiple of pi / 2, x - k pi / 2 is r + rest: pi / 2 is taken in
 * three parts, of which the first leaves an exact difference; what rounding takes from the second's product and difference is known. */
#define CIRCLE_LIMIT 1e6
INLINE double circle(double x, uint64_t quarters, int brief)
{
    const double rounded = FMA(x, 0x1.45f306dc9c883p-1, ROUNDER), k = rounded - ROUNDER;
    const uint64_t q = bits_of(rounded) + quarters, choice = -(q & 1);
    const double first = FMA(-k, EAGER_HALF_PI_0, x);
    double sine, cosine;
    if (brief) {
        const double r = FMA(-k, EAGER_HALF_PI_1, first), z = r * r;
        sine = FMA(r * z, polynomial_sin(z, 1), r);
        cosine = FMA(z * z, polynomial_cos(z, 1), FMA(z, -0.5, 1.0));
    } else {
        const double second = -k * EAGER_HALF_PI_1, lost = FMA(-k, EAGER_HALF_PI_1, -second);
        const double r = first + second, taken = r - first;
        const double rest = FMA(-k, EAGER_HALF_PI_2, lost + ((first - (r - taken)) + (second - taken)));
        const double z = r * r, half = 0.5 * z, w = 1.0 - half;
        sine = r + FMA(r * z, polynomial_sin(z, 0), FMA(-half, rest, rest));
        cosine = w + (((1.0 - w) - half) + FMA(z * z, polynomial_cos(z, 0), -(r * rest)));
    }
    return from_bits(((bits_of(sine) & ~choice) | (bits_of(cosine) & choice)) ^ ((q & 2) << 62));
}

INLINE double sin_of(double x, int brief)
{
    const double y = circle(x, 0, brief);
    return x == 0.0 ? x : y; /* -0.0 */
}

INLINE double cos_of(double x, int brief) { return circle(x, 1, brief); }

/* p with exp(x) = 2^k (1 + p), and k in the low bits of *rounded. */
INLINE double exp_parts(double x, double *rounded, int brief)
{
    const double k = (*rounded = FMA(x, 0x1.71547652b82fep+0, ROUNDER)) - ROUNDER, first = FMA(-k, EAGER_LN2_0, x);
    const double r = brief ? first : FMA(-k, EAGER_LN2_1, first);
    return FMA(r * r, polynomial_exp(r, brief), r);
}

INLINE double power_of_two(double rounded, uint64_t more) { return from_bits((bits_of(rounded) + 1023 + more) << 52); }

/* exp(x), for x beyond the largest exponents too. They need the power as 2^(k + lift) and 2^-lift. */
INLINE double exp_of(double x)
{
    double rounded;
    const double p = exp_parts(x, &rounded, 0);
    const double y = (1.0 + p) * from_bits((bits_of(rounded) + (x < 0.0 ? 1223 : 1022)) << 52) * (x < 0.0 ? 0x1p-200 : 2.0);
    return x > 709.8 ? HUGE_VAL : x < -746.0 ? 0.0 : y;
}

/* exp(x + low) times 1 / DROP for x <= 0 or NaN and tiny `low`. A factor should come before DROP does: that may leave a subnormal number,
 * of few digits. Brief: x > -700. */
#define DROP(brief) ((brief) ? 1.0 : 0x1p-200)
INLINE double lifted_exp(double x, double low, int brief)
{
    double rounded;
    const double p = exp_parts(x, &rounded, brief);
    double y;
    if (brief) return FMA(power_of_two(rounded, 0), p, power_of_two(rounded, 0));
    y = (1.0 + p) * power_of_two(rounded, 200);
    return x < -746.0 ? 0.0 : FMA(y, low, y);
}

INLINE double log_of(double x) /* of positive, normal numbers */
{
    /* x = 2^k (1 + f), with 1 + f between sqrt(1 / 2) and sqrt(2). */
    const uint64_t power = (bits_of(x) - 0x3fe6a09e667f3bcdu + ((uint64_t)1023 << 52)) >> 52;
    const double k = from_bits(power | bits_of(0x1p52)) - (0x1p52 + 1023.0);
    const double f = from_bits(bits_of(x) - ((power - 1023) << 52)) - 1.0, half = 0.5 * f * f, s = f / (2.0 + f), z = s * s;
    const double high = k * EAGER_LN2_0, sum = high + f, rest = ((high - sum) + f) + FMA(k, EAGER_LN2_0, -high);
    double p;
    EAGER_POLYNOMIAL_LOG(EAGER_FIRST, NEXT)
    return sum + (FMA(k, EAGER_LN2_1, rest) - FMA(-s, FMA(z, p, half), half));
}

/* 1 / (1 + e) and e / (1 + e) are the two halves. Not 1 - 1 / (1 + e): that loses the left tail. */
INLINE double sigmoid_of(double x)
{
    const double e = lifted_exp(-fabs(x), 0.0, 0) * DROP(0);
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

INLINE double tanh_of(double x)
{
    const double a = fabs(x), y = a > 22.0 ? 44.0 : a + a; /* from there on it is 1 */
    double rounded;
    const double p = exp_parts(y, &rounded, 0), scale = power_of_two(rounded, 0), e = FMA(scale, p, scale - 1.0);
    return with_sign_of(e / (e + 2.0), x);
}

/* x + x P(x^2) up to 1, and 1 - exp(-x^2) Q(t) beyond, t = (x - 2.5) / (x + 2.5). */
INLINE double erf_of(double x, int brief)
{
    const double limit = brief ? 4.0 : 6.0, a = fabs(x), u = a > limit ? limit : a, z = a * a;
    double rounded;
    const double p = exp_parts(-(u * u), &rounded, brief), scale = power_of_two(rounded, 0);
    const double far = FMA(-FMA(scale, p, scale), polynomial_erfcx((u - 2.5) / (u + 2.5), brief), 1.0);
    const double near = FMA(a, polynomial_erf(z, brief), a);
    return with_sign_of(a < 1.0 ? near : far, x);
}

/* erfc(a) exp(a^2), 0 <= a <= 28. */
INLINE double erfcx_of(double a, int brief)
{
    const double centre = brief ? 3.0 : 4.0, q = 1.0 / (a + centre);
    return q * polynomial_erfc((a - centre) * q, brief);
}

/* exp(-a^2 / divisor) times 1 / DROP: the square is taken to twice the digits, as its error is one of the result. */
INLINE double lifted_normal(double a, double divisor, int brief)
{
    const double square = a * a;
    return lifted_exp(-square / divisor, -FMA(a, a, -square) / divisor, brief);
}

INLINE double erfc_of(double x, int brief)
{
    const double limit = brief ? 10.5 : 28.0, a = fabs(x), u = a > limit ? limit : a;
    const double tail = lifted_normal(u, 1.0, brief) * erfcx_of(u, brief) * DROP(brief);
    const double near = 1.0 - FMA(x, polynomial_erf(x * x, brief), x);
    return a < 0.5 ? near : x < 0.0 ? 2.0 - tail : tail;
}

/* Of x P(x), P the normal distribution; a = |x|, and what is 0 or 1 beyond `limit`. The other half is x - a P(-a), and 1 less the slope. */
#define SQRT_HALF 0x1.6a09e667f3bcdp-1
#define DENSITY 0x1.9884533d43651p-2 /* 1 / sqrt(2 pi) */
INLINE double gelu_of(double x)
{
    const double a = fabs(x), u = a > 39.0 ? 39.0 : a;
    const double tail = u * (0.5 * erfcx_of(u * SQRT_HALF, 0)) * lifted_normal(u, 2.0, 0) * DROP(0);
    return (x >= 0.0 ? x : -0.0) - tail;
}

INLINE double gelu_slope(double x)
{
    const double a = fabs(x), u = a > 39.0 ? 39.0 : a;
    const double slope = FMA(-DENSITY, u, 0.5 * erfcx_of(u * SQRT_HALF, 0)) * lifted_normal(u, 2.0, 0) * DROP(0);
    return x < 0.0 ? slope : 1.0 - slope;
}

/* The same with 1 / (1 + exp(-v)) for P, v = 2 sqrt(2 / pi) (x + 0.044715 x^3) to twice the digits: exp(-|v|) over DROP. */
INLINE double lifted_tanh_form(double u, double *slope, int brief)
{
    const double square = u * u, w = FMA(EAGER_GELU_CUBE_0, square, EAGER_GELU_0), v = u * w;
    double low = 0.0;
    if (!brief) {
        const double square_low = FMA(u, u, -square), rest = FMA(EAGER_GELU_CUBE_1, square, EAGER_GELU_1);
        low = FMA(u, FMA(EAGER_GELU_CUBE_0, square, EAGER_GELU_0 - w) + FMA(EAGER_GELU_CUBE_0, square_low, rest), FMA(u, w, -v));
    }
    *slope = FMA(3.0 * EAGER_GELU_CUBE_0, square, EAGER_GELU_0 + EAGER_GELU_1);
    return lifted_exp(-v, -low, brief);
}

INLINE double gelu_tanh_of(double x, int brief)
{
    const double limit = brief ? 12.0 : 25.0, a = fabs(x), u = a > limit ? limit : a;
    double slope;
    const double e = lifted_tanh_form(u, &slope, brief), n = 1.0 + e * DROP(brief);
    return x > 0.0 ? x / n : with_sign_of(u * e / n * DROP(brief), x);
}

INLINE double gelu_tanh_slope(double x, int brief)
{
    const double limit = brief ? 12.0 : 25.0, a = fabs(x), u = a > limit ? limit : a;
    double slope;
    const double e = lifted_tanh_form(u, &slope, brief), n = 1.0 / (1.0 + e * DROP(brief));
    const double tail = e * n * FMA(-u * slope, n, 1.0) * DROP(brief);
    return x < 0.0 ? tail : 1.0 - tail;
}

/* In float: these are as fast as memory. */
INLINE float sigmoid_in_float(float x)
{
    const float e = eager_lifted_exp_negative(-fabsf(x), 1, 0) * EAGER_DROP;
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/* P(-a) / p(a) sqrt(1 / (2 pi)), and exp(-a^2 / 2) over EAGER_DROP. */
INLINE float normal_in_float(float a, float *lifted)
{
    const float b = a * (float)SQRT_HALF, q = 1.0f / (b + 3.0f), z = (b - 3.0f) * q, square = a * a;
    const float e = eager_lifted_exp_negative(-0.5f * square, 1, 1);
    float p;
    *lifted = __builtin_fmaf(e, -0.5f * __builtin_fmaf(a, a, -square), e);
    EAGER_POLYNOMIAL_ERFC_SINGLE(EAGER_FIRST, NEXT_IN_FLOAT)
    return 0.5f * q * p;
}

INLINE float gelu_in_float(float x)
{
    const float a = fabsf(x), u = a > 14.42f ? 14.42f : a;
    float e;
    const float tail = u * normal_in_float(u, &e) * e * EAGER_DROP;
    return (x >= 0.0f ? x : -0.0f) - tail;
}

INLINE float gelu_slope_in_float(float x)
{
    const float a = fabsf(x), u = a > 14.42f ? 14.42f : a;
    float e;
    const float ratio = normal_in_float(u, &e), slope = __builtin_fmaf(-(float)DENSITY, u, ratio) * e * EAGER_DROP;
    return x < -14.42f ? 0.0f : x < 0.0f ? slope : 1.0f - slope;
}
#endif
