/* Write stamps: which granules of a storage a region of elements touches. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

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

enum { BLOCK_SHIFT = 5, BLOCK = 1 << BLOCK_SHIFT };
static const uint32_t MIXED = 0xffffffff;

/* `blocks[b]` is the stamp of all granules of block b, or MIXED: then each has its own in `granules`. */
typedef struct {
    uint32_t *blocks, *granules;
    int shift; /* a granule has 2**shift bytes */
} table;

static intptr_t block_count(intptr_t nbytes, int shift)
{
    return (nbytes + ((intptr_t)BLOCK << shift) - 1) >> shift >> BLOCK_SHIFT;
}

static table table_of(const eager_stamps *stamps)
{
    const int shift = __builtin_ctz((unsigned)stamps->granule);
    return (table){stamps->first, stamps->first + block_count(stamps->nbytes, shift), shift};
}

uint32_t *eager_make_stamps(intptr_t nbytes, int granule)
{
    const intptr_t blocks = block_count(nbytes, __builtin_ctz((unsigned)granule));
    /* Only what stands for blocks is cleared: the rest is written when a block becomes mixed, and in large storages rarely touched. */
    uint32_t *stamps = malloc((size_t)blocks * (BLOCK + 1) * sizeof *stamps);
    if (stamps != NULL) memset(stamps, 0, (size_t)blocks * sizeof *stamps);
    return stamps;
}

/* Granules of one block, `last` included. */
static void stamp_part(const table *t, intptr_t first, intptr_t last, uint32_t stamp)
{
    const intptr_t block = first >> BLOCK_SHIFT;
    if (t->blocks[block] != MIXED) {
        uint32_t *of_block = t->granules + (block << BLOCK_SHIFT);
        for (int i = 0; i < BLOCK; i++) of_block[i] = t->blocks[block];
        t->blocks[block] = MIXED;
    }
    for (intptr_t i = first; i <= last; i++) t->granules[i] = stamp;
}

static void stamp_run(const table *t, intptr_t first, intptr_t last, uint32_t stamp)
{
    intptr_t block = first >> BLOCK_SHIFT;
    for (; first <= last; first = ++block << BLOCK_SHIFT) {
        const intptr_t block_last = first | (BLOCK - 1);
        if (first & (BLOCK - 1) || block_last > last)
            stamp_part(t, first, block_last < last ? block_last : last, stamp);
        else
            t->blocks[block] = stamp;
    }
}

void eager_stamp_region(const eager_stamps *stamps, const eager_region *region, uint32_t stamp)
{
    const table t = table_of(stamps);
    runs r;
    if (!find_runs(&r, stamps->granule, region)) return;
    do stamp_run(&t, r.first >> t.shift, (r.first + r.run - 1) >> t.shift, stamp);
    while (next_run(&r));
}

/* How many of the granules, 0, 1 or 2 for none, some or all, bear a stamp greater than `limit`. */
static int newer_in_block(const table *t, intptr_t first, intptr_t last, uint32_t limit)
{
    const uint32_t of_all = t->blocks[first >> BLOCK_SHIFT];
    int any = 0, all = 1; /* no exit inside, so that it vectorises */
    if (of_all != MIXED) return of_all > limit ? 2 : 0;
    for (intptr_t i = first; i <= last; i++) {
        any |= t->granules[i] > limit;
        all &= t->granules[i] > limit;
    }
    return any + all;
}

/* Whether some, or `all`, granules of the region bear a stamp greater than `limit`. */
static int newer(const eager_stamps *stamps, const eager_region *region, uint32_t limit, int all)
{
    const table t = table_of(stamps);
    runs r;
    if (!find_runs(&r, stamps->granule, region)) return all;
    do {
        const intptr_t last = (r.first + r.run - 1) >> t.shift;
        for (intptr_t first = r.first >> t.shift, block_last; first <= last; first = block_last + 1) {
            block_last = first | (BLOCK - 1);
            const int found = newer_in_block(&t, first, block_last < last ? block_last : last, limit);
            if (all ? found < 2 : found > 0) return !all;
        }
    } while (next_run(&r));
    return all;
}

int eager_region_newer(const eager_stamps *stamps, const eager_region *region, uint32_t limit)
{
    return newer(stamps, region, limit, 0);
}

int eager_region_all_newer(const eager_stamps *stamps, const eager_region *region, uint32_t limit)
{
    return newer(stamps, region, limit, 1);
}
