/* Loops in front of NumPy's for + - * / of float32 and float64, which stand in the tables in their place.
 *
 * NumPy's look for overlap, alignment and the best instructions first: on a few elements that is dearer than the work, which is done here
 * (no overlap is looked for: see loops.h). So are sums: the same loop of +, with a result that stands still. Anything else goes on to
 * NumPy's loop. The results are NumPy's to the bit, but for sums (sums.c). */
#include "loops.h"

#define FEW 64

#if defined(__GNUC__)
typedef float four_float __attribute__((vector_size(16), aligned(sizeof(float)), may_alias));
typedef double four_double __attribute__((vector_size(32), aligned(sizeof(double)), may_alias));
#define FOUR 4
#else
typedef float four_float;
typedef double four_double;
#define FOUR 1
#endif
#define EACH(V, p, i) *(const V *)((p) + (i))
#define ONE(V, p, i) p##0 /* stands for a whole vector, too */

/* The last four are taken first, for they may overlap those before, and the output may be an input. */
#define CALCULATE(T, OP, A, B) { \
        if (count >= FOUR) { \
            const intptr_t end = count - FOUR; \
            const four_##T last = A(four_##T, a, end) OP B(four_##T, b, end); \
            for (intptr_t i = 0; i < end; i += FOUR) *(four_##T *)(out + i) = A(four_##T, a, i) OP B(four_##T, b, i); \
            *(four_##T *)(out + end) = last; \
        } else for (intptr_t i = 0; i < count; i++) out[i] = A(T, a, i) OP B(T, b, i); \
        return; \
    }

/* SUM: what to do with a result that stands still. */
#define LOOP(NAME, T, OP, SUM) \
    EAGER_SHARED void NAME##_##T(char **args, const intptr_t *n, const intptr_t *steps, void *data) \
    { \
        const intptr_t count = *n, size = EAGER_SIZE(T), a_step = steps[0], b_step = steps[1]; \
        const eager_front_data *const behind = (const eager_front_data *)data; \
        if (count <= FEW && count > 0 && steps[2] == size) { \
            const T *a = (const T *)args[0], *b = (const T *)args[1]; \
            T *out = (T *)args[2]; \
            if (a_step == size) { \
                if (b_step == size) CALCULATE(T, OP, EACH, EACH) \
                if (b_step == 0) { \
                    const T b0 = *b; \
                    CALCULATE(T, OP, EACH, ONE) \
                } \
            } else if (a_step == 0 && b_step == size) { \
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
