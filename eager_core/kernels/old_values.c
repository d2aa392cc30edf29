/* The undo log's copies: a region packed into a row of bytes, and old memory put together from pages. */
#include <stdlib.h>
#include <string.h>
#include "kernels.h"

/* The region in C order, as pieces of memory without gaps. */
typedef struct {
    intptr_t first, length;
    int ndim;
    intptr_t shape[EAGER_MAX_NDIM], steps[EAGER_MAX_NDIM], index[EAGER_MAX_NDIM];
} pieces;

static int find_pieces(pieces *p, const eager_region *region)
{
    int solid = 1;
    p->first = region->offset;
    p->length = region->itemsize;
    p->ndim = 0;
    for (int d = 0; d < region->ndim; d++)
        if (region->shape[d] == 0) return 0;
    for (int d = region->ndim - 1; d >= 0; d--) {
        const intptr_t step = region->strides[d] * region->itemsize;
        if (region->shape[d] == 1) continue;
        if (solid && step == p->length) {
            p->length *= region->shape[d];
            continue;
        }
        solid = 0;
        p->shape[p->ndim] = region->shape[d];
        p->steps[p->ndim] = step;
        p->index[p->ndim++] = 0;
    }
    return 1;
}

static int next_piece(pieces *p)
{
    for (int d = 0; d < p->ndim; d++) {
        p->first += p->steps[d];
        if (++p->index[d] < p->shape[d]) return 1;
        p->first -= p->steps[d] * p->shape[d];
        p->index[d] = 0;
    }
    return 0;
}

void eager_pack_region(const char *memory, const eager_region *region, char *packed)
{
    pieces p;
    if (!find_pieces(&p, region)) return;
    do {
        memcpy(packed, memory + p.first, p.length);
        packed += p.length;
    } while (next_piece(&p));
}

static void swap_bytes(char *a, char *b, intptr_t n)
{
    char held[256];
    while (n > 0) {
        const intptr_t now = n < (intptr_t)sizeof held ? n : (intptr_t)sizeof held;
        memcpy(held, a, now);
        memcpy(a, b, now);
        memcpy(b, held, now);
        a += now;
        b += now;
        n -= now;
    }
}

int eager_make_pages(eager_pages *old, const eager_region *region)
{
    pieces p;
    if (!find_pieces(&p, region)) return 0;
    do {
        const intptr_t last = (p.first + p.length - 1) / EAGER_PAGE;
        for (intptr_t k = p.first / EAGER_PAGE; k <= last; k++) {
            const intptr_t begin = k * EAGER_PAGE, left = old->nbytes - begin, length = left < EAGER_PAGE ? left : EAGER_PAGE;
            if (old->pages[k] != NULL) continue;
            old->pages[k] = malloc(length);
            if (old->pages[k] == NULL) return -1;
            memcpy(old->pages[k], old->live + begin, length);
        }
    } while (next_piece(&p));
    return 0;
}

void eager_swap_region(eager_pages *old, const eager_region *region, char *packed)
{
    pieces p;
    if (!find_pieces(&p, region)) return;
    do {
        intptr_t at = p.first, left = p.length;
        while (left > 0) {
            const intptr_t inside = at % EAGER_PAGE, room = EAGER_PAGE - inside, now = left < room ? left : room;
            swap_bytes(old->pages[at / EAGER_PAGE] + inside, packed, now);
            packed += now;
            at += now;
            left -= now;
        }
    } while (next_piece(&p));
}

void eager_read_region(const eager_pages *old, const eager_region *region, char *packed)
{
    pieces p;
    if (!find_pieces(&p, region)) return;
    do {
        intptr_t at = p.first, left = p.length;
        while (left > 0) {
            const intptr_t k = at / EAGER_PAGE, inside = at % EAGER_PAGE, room = EAGER_PAGE - inside, now = left < room ? left : room;
            memcpy(packed, old->pages[k] == NULL ? old->live + at : old->pages[k] + inside, now);
            packed += now;
            at += now;
            left -= now;
        }
    } while (next_piece(&p));
}
