/* Conversions between all pairs of dtypes.  Values out of range of the target convert as the C compiler does it, as in NumPy. */
#include "loops.h"

/* Per dtype: type of an element, type of its parts, kind (Bool, Real, Complex). */
#define T_BOOL uint8_t
#define T_INT8 int8_t
#define T_UINT8 uint8_t
#define T_INT16 int16_t
#define T_UINT16 uint16_t
#define T_INT32 int32_t
#define T_UINT32 uint32_t
#define T_INT64 int64_t
#define T_UINT64 uint64_t
#define T_FLOAT32 float
#define T_FLOAT64 double
#define T_COMPLEX64 eager_c64
#define T_COMPLEX128 eager_c128
#define P_BOOL uint8_t
#define P_INT8 int8_t
#define P_UINT8 uint8_t
#define P_INT16 int16_t
#define P_UINT16 uint16_t
#define P_INT32 int32_t
#define P_UINT32 uint32_t
#define P_INT64 int64_t
#define P_UINT64 uint64_t
#define P_FLOAT32 float
#define P_FLOAT64 double
#define P_COMPLEX64 float
#define P_COMPLEX128 double
#define K_BOOL B
#define K_INT8 R
#define K_UINT8 R
#define K_INT16 R
#define K_UINT16 R
#define K_INT32 R
#define K_UINT32 R
#define K_INT64 R
#define K_UINT64 R
#define K_FLOAT32 R
#define K_FLOAT64 R
#define K_COMPLEX64 C
#define K_COMPLEX128 C

/* y = x by kind of x and kind of y.  A bool is read as "not 0": foreign memory may hold other bytes than 0 and 1. */
#define CONVERT_B_B(P, y, x) ((y) = (x) != 0)
#define CONVERT_B_R(P, y, x) ((y) = (P)((x) != 0))
#define CONVERT_B_C(P, y, x) ((y).re = (P)((x) != 0), (y).im = 0)
#define CONVERT_R_B(P, y, x) ((y) = (x) != 0)
#define CONVERT_R_R(P, y, x) ((y) = (P)(x))
#define CONVERT_R_C(P, y, x) ((y).re = (P)(x), (y).im = 0)
#define CONVERT_C_B(P, y, x) ((y) = (x).re != 0 || (x).im != 0)
#define CONVERT_C_R(P, y, x) ((y) = (P)(x).re)
#define CONVERT_C_C(P, y, x) ((y).re = (P)(x).re, (y).im = (P)(x).im)
#define PASTE(FROM, TO) CONVERT_##FROM##_##TO
#define CONVERT(FROM, TO) PASTE(FROM, TO)

/* The library's own memset and memcpy store faster than a loop compiled for any processor. */
static void repeat(char *out, const char *element, size_t size, intptr_t count)
{
    const size_t nbytes = (size_t)count * size, first = nbytes < 4096 ? nbytes : 4096;
    size_t done = size;
    int zero = 1;
    for (size_t i = 0; i < size; i++) zero &= element[i] == 0;
    if (zero) {
        memset(out, 0, nbytes);
        return;
    }
    memcpy(out, element, size);
    for (; done < first; done *= 2) memcpy(out + done, out, first - done < done ? first - done : done);
    for (done = first; done < nbytes; done += first) memcpy(out + done, out, nbytes - done < first ? nbytes - done : first);
}

/* The paths: bytes as they are, side by side, one value repeated (a fill), and any other. */
#define CAST(FROM, TO) \
    static void cast_##FROM##_##TO(char **args, const intptr_t *n, const intptr_t *steps, void *data) \
    { \
        const intptr_t count = *n, step = steps[0], out_step = steps[1]; \
        (void)data; \
        if (out_step == EAGER_SIZE(T_##TO) && step == EAGER_SIZE(T_##FROM)) { \
            const T_##FROM *in = (const T_##FROM *)args[0]; \
            T_##TO *out = (T_##TO *)args[1]; \
            if (EAGER_##FROM == (int)EAGER_##TO) { \
                if (args[0] != args[1]) memcpy(args[1], args[0], (size_t)count * sizeof(T_##TO)); \
                return; \
            } \
            EAGER_INDEPENDENT \
            for (intptr_t i = 0; i < count; i++) { \
                const T_##FROM x = in[i]; \
                T_##TO y; \
                CONVERT(K_##FROM, K_##TO)(P_##TO, y, x); \
                out[i] = y; \
            } \
        } else if (out_step == EAGER_SIZE(T_##TO) && step == 0 && count > 0) { \
            const T_##FROM x = *(const T_##FROM *)args[0]; \
            T_##TO y; \
            CONVERT(K_##FROM, K_##TO)(P_##TO, y, x); \
            repeat(args[1], (const char *)&y, sizeof y, count); \
        } else { \
            const char *in = args[0]; \
            char *out = args[1]; \
            for (intptr_t i = 0; i < count; i++, in += step, out += out_step) { \
                const T_##FROM x = *(const T_##FROM *)in; \
                T_##TO y; \
                CONVERT(K_##FROM, K_##TO)(P_##TO, y, x); \
                *(T_##TO *)out = y; \
            } \
        } \
    }

#define CASTS(FROM) \
    CAST(FROM, BOOL) CAST(FROM, INT8) CAST(FROM, UINT8) CAST(FROM, INT16) CAST(FROM, UINT16) CAST(FROM, INT32) CAST(FROM, UINT32) \
    CAST(FROM, INT64) CAST(FROM, UINT64) CAST(FROM, FLOAT32) CAST(FROM, FLOAT64) CAST(FROM, COMPLEX64) CAST(FROM, COMPLEX128)
CASTS(BOOL) CASTS(INT8) CASTS(UINT8) CASTS(INT16) CASTS(UINT16) CASTS(INT32) CASTS(UINT32)
CASTS(INT64) CASTS(UINT64) CASTS(FLOAT32) CASTS(FLOAT64) CASTS(COMPLEX64) CASTS(COMPLEX128)

#define ENTRY(FROM, TO) [EAGER_##TO] = cast_##FROM##_##TO
#define ROW(FROM) [EAGER_##FROM] = { \
    ENTRY(FROM, BOOL), ENTRY(FROM, INT8), ENTRY(FROM, UINT8), ENTRY(FROM, INT16), ENTRY(FROM, UINT16), ENTRY(FROM, INT32), \
    ENTRY(FROM, UINT32), ENTRY(FROM, INT64), ENTRY(FROM, UINT64), ENTRY(FROM, FLOAT32), ENTRY(FROM, FLOAT64), \
    ENTRY(FROM, COMPLEX64), ENTRY(FROM, COMPLEX128) }
static const eager_loop casts[EAGER_DTYPES][EAGER_DTYPES] = {
    ROW(BOOL), ROW(INT8), ROW(UINT8), ROW(INT16), ROW(UINT16), ROW(INT32), ROW(UINT32),
    ROW(INT64), ROW(UINT64), ROW(FLOAT32), ROW(FLOAT64), ROW(COMPLEX64), ROW(COMPLEX128),
};

eager_loop eager_cast_loop(int from, int to) { return casts[from][to]; }
