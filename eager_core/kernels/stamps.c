/* Write stamps: which granules of a storage a region of elements touches. */
#include "kernels.h"

/* The region as runs of bytes: every granule a run overlaps is touched. Runs start at `first` plus multiples of the outer axes. */
typedef struct {
    intptr_t first, run;
    int ndim;
    intptr_t shape[EAGER_MAX_NDIM], steps[EAGER_MAX_NDIM], index[EAGER_MAX_NDIM];
} runs;

/* 0 if there is nothing to touch. */
static int find_runs(runs *r, int granule, const eager_region *region)
{
    int axes = 0, solid = 0;
    r->first = region->offset;
    r->run = region->itemsize;
    for (int d = 0; d < region->ndim; d++) {
        const intptr_t length = region->shape[d];
        intptr_t step = region->strides[d] * region->itemsize;
        int to = axes;
        if (length == 0) return 0;
        if (length == 1 || step == 0) continue;
        if (step < 0) { /* the order does not matter: start from the other end */
            r->first += step * (length - 1);
            step = -step;
        }
        for (; to > 0 && r->steps[to - 1] > step; to--) {
            r->steps[to] = r->steps[to - 1];
            r->shape[to] = r->shape[to - 1];
        }
        r->steps[to] = step;
        r->shape[to] = length;
        axes++;
    }
    /* A gap shorter than a granule hides no granule, so such an axis only makes the run longer. */
    for (; solid < axes && r->steps[solid] - r->run < granule; solid++) r->run += r->steps[solid] * (r->shape[solid] - 1);
    r->ndim = axes - solid;
    for (int d = 0; d < r->ndim; d++) {
        r->steps[d] = r->steps[d + solid];
        r->shape[d] = r->shape[d + solid];
        r->index[d] = 0;
    }
    return 1;
}

static int next_run(runs *r)
{
    for (int d = 0; d < r->ndim; d++) {
        if (++r->index[d] < r->shape[d]) {
            r->first += r->steps[d];
            return 1;
        }
        r->index[d] = 0;
        r->first -= r->steps[d] * (r->shape[d] - 1);
    }
    return 0;
}

void eager_stamp_region(uint32_t *stamps, int granule, const eager_region *region, uint32_t stamp)
{
    runs r;
    if (!find_runs(&r, granule, region)) return;
    do {
        const intptr_t last = (r.first + r.run - 1) / granule;
        for (intptr_t i = r.first / granule; i <= last; i++) stamps[i] = stamp;
    } while (next_run(&r));
}

int eager_region_newer(const uint32_t *stamps, int granule, const eager_region *region, uint32_t limit)
{
    runs r;
    if (!find_runs(&r, granule, region)) return 0;
    do {
        const intptr_t last = (r.first + r.run - 1) / granule;
        int newer = 0; /* no exit inside a run, so that it vectorises */
        for (intptr_t i = r.first / granule; i <= last; i++) newer |= stamps[i] > limit;
        if (newer) return 1;
    } while (next_run(&r));
    return 0;
}

int eager_region_all_newer(const uint32_t *stamps, int granule, const eager_region *region, uint32_t limit)
{
    runs r;
    if (!find_runs(&r, granule, region)) return 1;
    do {
        const intptr_t last = (r.first + r.run - 1) / granule;
        int older = 0;
        for (intptr_t i = r.first / granule; i <= last; i++) older |= stamps[i] <= limit;
        if (older) return 0;
    } while (next_run(&r));
    return 1;
}
