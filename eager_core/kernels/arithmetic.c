/* Loops in front of NumPy's for + - * / of float32 and float64, which stand in the tables in their place.
 *
 * NumPy's look for overlap, alignment and the best instructions first: on a few elements that is dearer than the work, which is done here.
 * So are sums: the same loop of +, with a result that stands still. Anything else goes on to NumPy's loop. The results are the same bits,
 * but for sums (sums.c). */
#include "loops.h"

#define FEW 64

#if defined(__GNUC__)
#define VECTOR(NAME, T, N) typedef T NAME __attribute__((vector_size(N * sizeof(T)), aligned(sizeof(T)), may_alias));
VECTOR(four_float, float, 4)
VECTOR(two_float, float, 2)
VECTOR(two_double, double, 2)
#define VECTORS_float(OP, A, B) \
    for (; left >= 4; left -= 4) STEP(four_float, 4, OP, A, B) \
    if (left & 2) STEP(two_float, 2, OP, A, B)
#define VECTORS_double(OP, A, B) for (; left >= 2; left -= 2) STEP(two_double, 2, OP, A, B)
#else
#define VECTORS_float(OP, A, B) for (; left > 1; left--) STEP(float, 1, OP, A, B)
#define VECTORS_double(OP, A, B) for (; left > 1; left--) STEP(double, 1, OP, A, B)
#endif
#define STEP(V, N, OP, A, B) { *(V *)out = A(V, a) OP B(V, b); a += N; b += N; out += N; }
#define EACH(V, p) *(const V *)p
#define ONE(V, p) p##0 /* stands for a whole vector, too */

#define CALCULATE(T, OP, A, B) { \
        intptr_t left = count; \
        VECTORS_##T(OP, A, B) \
        if (left & 1) *out = A(T, a) OP B(T, b); \
        return; \
    }

/* The output is the input, or before it, or away from it. Else an element written would be read later (a running sum), and all at once is
 * another result than one by one. */
#define INDEPENDENT(p) ((uintptr_t)out - (uintptr_t)(p) - 1 >= (uintptr_t)count * sizeof *out - 1)

/* SUM: what to do with a result that stands still. */
#define LOOP(NAME, T, OP, SUM) \
    EAGER_SHARED void NAME##_##T(char **args, const intptr_t *n, const intptr_t *steps, void *data) \
    { \
        const intptr_t count = *n, size = EAGER_SIZE(T), a_step = steps[0], b_step = steps[1]; \
        const eager_front_data *const behind = (const eager_front_data *)data; \
        if (count <= FEW && count > 0 && steps[2] == size) { \
            const T *a = (const T *)args[0], *b = (const T *)args[1]; \
            T *out = (T *)args[2]; \
            if (a_step == size && INDEPENDENT(a)) { \
                if (b_step == size && INDEPENDENT(b)) CALCULATE(T, OP, EACH, EACH) \
                if (b_step == 0) { \
                    const T b0 = *b; \
                    CALCULATE(T, OP, EACH, ONE) \
                } \
            } else if (a_step == 0 && b_step == size && INDEPENDENT(b)) { \
                const T a0 = *a; \
                CALCULATE(T, OP, ONE, EACH) \
            } \
        } \
        SUM \
        behind->loop(args, n, steps, behind->data); \
    }
#define STANDS_STILL (steps[2] == 0 && a_step == 0 && args[0] == args[2])
#define LOOPS(T) \
    LOOP(add, T, +, if (STANDS_STILL) { behind->sum(args, n, steps, NULL); return; }) \
    LOOP(subtract, T, -, ) LOOP(multiply, T, *, ) LOOP(divide, T, /, )
LOOPS(float)
LOOPS(double)

eager_loop eager_front_loop(int operation, int dtype)
{
    static const eager_loop loops[EAGER_FRONT_LOOPS][2] = {
        [EAGER_FRONT_ADD] = { add_float, add_double }, [EAGER_FRONT_SUBTRACT] = { subtract_float, subtract_double },
        [EAGER_FRONT_MULTIPLY] = { multiply_float, multiply_double }, [EAGER_FRONT_DIVIDE] = { divide_float, divide_double },
    };
    return dtype == EAGER_FLOAT32 ? loops[operation][0] : dtype == EAGER_FLOAT64 ? loops[operation][1] : NULL;
}
