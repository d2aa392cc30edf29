/* Sums of columns of float32 and float64: out[c] += all elements of column c.
 *
 * Rows lie side by side in vectors, so columns are added without a step from lane to lane. Eight rows at a time are added in pairs of pairs,
 * four of those sums one after the other, and these again in pairs: rounding grows with log(rows). A narrow matrix without gaps is read as
 * one of several rows in one, whose columns are put together at the end. The order depends on the shape, and on whether there are gaps. */
#include "loops.h"

#define ROOM 4096 /* numbers of all levels of a piece of the columns */
#define ROWS 8
#define BLOCK 4   /* times so many rows */
#define WIDE 64   /* columns; below, rows are taken together */

/* acc = (or +=) the sum of eight rows, in vectors as wide as the compiler likes. */
#define DEFINE(NAME, T, TARGET) \
    TARGET static void eight_##NAME(T *restrict acc, const T *a, intptr_t step, intptr_t n, int first) \
    { \
        const T *const b = a + step, *const c = b + step, *const d = c + step; \
        const T *const e = d + step, *const f = e + step, *const g = f + step, *const h = g + step; \
        if (first) \
            for (intptr_t i = 0; i < n; i++) acc[i] = ((a[i] + b[i]) + (c[i] + d[i])) + ((e[i] + f[i]) + (g[i] + h[i])); \
        else \
            for (intptr_t i = 0; i < n; i++) acc[i] += ((a[i] + b[i]) + (c[i] + d[i])) + ((e[i] + f[i]) + (g[i] + h[i])); \
    } \
    TARGET static void add_##NAME(T *restrict acc, const T *restrict a, intptr_t n) \
    { \
        for (intptr_t i = 0; i < n; i++) acc[i] += a[i]; \
    } \
    /* All rows of at most ROOM columns over the number of levels. The sums end up in the return value. */ \
    TARGET static const T *piece_##NAME(T *room, const T *a, intptr_t rows, intptr_t step, intptr_t n) \
    { \
        intptr_t blocks = 0; \
        T *level = room; /* that of the block in hand: levels in use lie below, the largest first */ \
        while (rows >= ROWS) { \
            int in_block = 0; \
            for (; in_block < BLOCK && rows >= ROWS; in_block++, rows -= ROWS, a += ROWS * step) \
                eight_##NAME(level, a, step, n, in_block == 0); \
            for (int k = 0; blocks >> k & 1; k++, level -= n) add_##NAME(level - n, level, n); \
            level += n; \
            blocks++; \
        } \
        if (!blocks) { \
            memset(room, 0, (size_t)n * sizeof(T)); \
            level += n; \
        } \
        for (; rows > 0; rows--, a += step) add_##NAME(level - n, a, n); \
        for (level -= n; level > room; level -= n) add_##NAME(level - n, level, n); \
        return room; \
    } \
    TARGET static void columns_##NAME(const char *from, intptr_t rows, intptr_t step, intptr_t columns, char *to) \
    { \
        T room[ROOM], *out = (T *)to; \
        const T *a = (const T *)from; \
        intptr_t together = 1, levels = 2, whole; \
        if (step == columns * EAGER_SIZE(T)) \
            while (columns * together < WIDE && rows >= 2 * together * ROWS * BLOCK) together *= 2; \
        step = step / EAGER_SIZE(T) * together; \
        whole = rows / together; \
        for (intptr_t blocks = whole / (ROWS * BLOCK); blocks; blocks /= 2) levels++; \
        for (intptr_t at = 0; at < columns * together;) { \
            const intptr_t most = together > 1 ? columns * together : ROOM / levels / 32 * 32, left = columns * together - at; \
            const intptr_t n = left < most ? left : most; \
            const T *sums = piece_##NAME(room, a + at, whole, step, n); \
            if (together == 1) add_##NAME(out + at, sums, n); \
            at += n; \
        } \
        if (together > 1) { \
            for (intptr_t half = together / 2; half; half /= 2) \
                for (intptr_t i = 0; i < half * columns; i++) room[i] += room[i + half * columns]; \
            a += whole * step; \
            for (rows -= whole * together; rows > 0; rows--, a += columns) add_##NAME(room, a, columns); \
            add_##NAME(out, room, columns); \
        } \
    }

/* Row by row: sums in the order of those that go together. */
static void by_the_loop(const eager_walk *walk, char *const *pointers, const eager_axis *kept, const eager_axis *reduced)
{
    char *args[3] = { pointers[0], pointers[1], pointers[2] };
    for (intptr_t r = 0; r < kept->length; r++) {
        walk->loop(args, &reduced->length, reduced->steps, walk->data);
        for (int op = 0; op < 3; op++) args[op] += kept->steps[op];
    }
}

/* The longest axes are those of columns and rows; the axis of few columns stands behind that of the rows (plan.c). */
void eager_run_reduction(const eager_walk *walk, const eager_column_sums *sums)
{
    const eager_axis *kept = &walk->axes[0], *reduced = &walk->axes[1];
    eager_walk outer = *walk;
    intptr_t index[EAGER_MAX_NDIM] = {0};
    int by_rows = 0;
    if (sums && walk->ndim > 1) {
        if (!kept->steps[2]) {
            kept = &walk->axes[1];
            reduced = &walk->axes[0];
        }
        if (kept->steps[2] != sums->size || reduced->steps[2] || walk->pointers[0] != walk->pointers[2]) sums = NULL;
        else if ((sums->rows || sums->call) && reduced->steps[1] == sums->size && kept->steps[1] % sums->size == 0
                 && reduced->length >= sums->least && reduced->length <= sums->most) by_rows = 1;
        else if (!sums->call || kept->steps[1] != sums->size || reduced->length < ROWS || reduced->steps[1] % sums->size
                 || (reduced == walk->axes && reduced->steps[1] < kept->steps[1])) sums = NULL;
    }
    if (!sums || walk->ndim < 2) {
        eager_run_walk(walk);
        return;
    }
    for (;;) {
        int d = 2;
        if (by_rows && !sums->rows) by_the_loop(walk, outer.pointers, kept, reduced);
        else if (by_rows) sums->rows(outer.pointers[1], kept->length, kept->steps[1], reduced->length, outer.pointers[2]);
        else sums->call(outer.pointers[1], reduced->length, reduced->steps[1], kept->length, outer.pointers[2]);
        for (; d < walk->ndim; d++) {
            if (++index[d] < walk->axes[d].length) {
                for (int op = 0; op < 3; op++) outer.pointers[op] += walk->axes[d].steps[op];
                break;
            }
            index[d] = 0;
            for (int op = 0; op < 3; op++) outer.pointers[op] -= walk->axes[d].steps[op] * (walk->axes[d].length - 1);
        }
        if (d >= walk->ndim) return;
    }
}

DEFINE(float32_any, float, )
DEFINE(float64_any, double, )

#if defined(__x86_64__) && defined(__GNUC__)
#define AVX2 __attribute__((target("avx2")))
DEFINE(float32_avx2, float, AVX2)
DEFINE(float64_avx2, double, AVX2)
#define FASTEST(NAME) (__builtin_cpu_supports("avx2") ? columns_##NAME##_avx2 : columns_##NAME##_any)
#else
#define FASTEST(NAME) columns_##NAME##_any
#endif

int eager_find_column_sums(int dtype, eager_column_sums *sums)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
#endif
    sums->size = dtype == EAGER_FLOAT32 ? EAGER_SIZE(float) : EAGER_SIZE(double);
    sums->call = dtype == EAGER_FLOAT32 ? FASTEST(float32) : FASTEST(float64);
    return dtype == EAGER_FLOAT32 || dtype == EAGER_FLOAT64;
}
