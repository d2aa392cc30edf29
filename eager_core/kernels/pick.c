/* One element of each contiguous row, named by an index, and back. */
#include <math.h>

#include "loops.h"

/* An index beyond the row was refused before; it can only be one that another thread has written since. */
#define PICK(NAME, T) \
    static void pick_##NAME(const void *x_, const void *index_, void *out_, intptr_t rows, intptr_t n) \
    { \
        const T *x = (const T *)x_; \
        const int64_t *index = (const int64_t *)index_; \
        T *out = (T *)out_; \
        for (intptr_t i = 0; i < rows; i++, x += n) out[i] = index[i] >= 0 && index[i] < n ? x[index[i]] : (T)NAN; \
    } \
    static void put_##NAME(const void *picked_, const void *index_, void *out_, intptr_t rows, intptr_t n) \
    { \
        const T *picked = (const T *)picked_; \
        const int64_t *index = (const int64_t *)index_; \
        T *out = (T *)out_; \
        memset(out, 0, sizeof(T) * (size_t)(rows * n)); \
        for (intptr_t i = 0; i < rows; i++, out += n) if (index[i] >= 0 && index[i] < n) out[index[i]] = picked[i]; \
    }
PICK(float32, float)
PICK(float64, double)

eager_rows eager_pick_loop(int put, int dtype)
{
    if (dtype == EAGER_FLOAT32) return put ? put_float32 : pick_float32;
    return dtype == EAGER_FLOAT64 ? put ? put_float64 : pick_float64 : NULL;
}
