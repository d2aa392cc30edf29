/* Parts of a walk, for threads to share.  Parts do together exactly what the whole does, bit for bit: each element of the output is
 * written by one part, with the same steps in the same order, and nothing that a part reads is written by another. */
#include "kernels.h"

#define ENOUGH 16   /* an outer axis of that length is cut, however long those inside are */
#define FEW_ROWS 64 /* more of them are not added up in columns: pieces of rows are slower for two threads than whole rows for one */
#define LARGEST 16  /* bytes of an element */

static intptr_t magnitude(intptr_t step) { return step < 0 ? -step : step; }

/* Memory of an operand: from, to. An element is not longer than the shortest step. */
static void extent(const eager_walk *walk, int op, uintptr_t *from, uintptr_t *to)
{
    intptr_t before = 0, after = 0, element = LARGEST;
    for (int d = 0; d < walk->ndim; d++) {
        const intptr_t step = walk->axes[d].steps[op], reach = step * (walk->axes[d].length - 1);
        if (step && magnitude(step) < element) element = magnitude(step);
        if (reach < 0) before += reach;
        else after += reach;
    }
    *from = (uintptr_t)walk->pointers[op] + (uintptr_t)before;
    *to = (uintptr_t)walk->pointers[op] + (uintptr_t)(after + element);
}

static int same_place(const eager_walk *walk, int a, int b)
{
    if (walk->pointers[a] != walk->pointers[b]) return 0;
    for (int d = 0; d < walk->ndim; d++) if (walk->axes[d].steps[a] != walk->axes[d].steps[b]) return 0;
    return 1;
}

/* Whether no two indices of the axes along which the output moves lead to one place. */
static int apart(const eager_walk *walk)
{
    const int output = walk->operands - 1;
    intptr_t reach = 0, last = 0;
    for (;;) {
        int next = -1;
        for (int d = 0; d < walk->ndim; d++) {
            const intptr_t step = magnitude(walk->axes[d].steps[output]);
            if (step > last && (next < 0 || step < magnitude(walk->axes[next].steps[output]))) next = d;
        }
        if (next < 0) break;
        last = magnitude(walk->axes[next].steps[output]);
        if (last <= reach) return 0;
        reach += last * (walk->axes[next].length - 1);
    }
    for (int d = 0; d < walk->ndim; d++)
        for (int e = 0; e < d; e++)
            if (walk->axes[d].steps[output] && magnitude(walk->axes[d].steps[output]) == magnitude(walk->axes[e].steps[output])) return 0;
    return 1;
}

/* The outermost axis that is long enough, else the longest; of those along which the output moves, or stands still. -1: none. */
static int choose(const eager_walk *walk, int moves)
{
    const int output = walk->operands - 1;
    int chosen = -1;
    for (int d = walk->ndim - 1; d >= 0; d--) {
        const intptr_t length = walk->axes[d].length;
        if (length < 2 || (walk->axes[d].steps[output] != 0) != moves) continue;
        if (length >= ENOUGH) return d;
        if (chosen < 0 || length > walk->axes[chosen].length) chosen = d;
    }
    return chosen;
}

int eager_choose_cut(const eager_walk *walk, eager_cut *cut)
{
    const int output = walk->operands - 1;
    uintptr_t from, to, a, b;
    intptr_t reduced = 1;
    int kept;
    extent(walk, output, &from, &to);
    for (int op = 0; op < output; op++) {
        if (!walk->pointers[op] || same_place(walk, op, output)) continue;
        extent(walk, op, &a, &b);
        if (a < to && from < b) return 0;
    }
    if (!apart(walk)) return 0;
    cut->outputs = 1;
    for (int d = 0; d < walk->ndim; d++)
        if (walk->axes[d].steps[output]) cut->outputs *= walk->axes[d].length;
        else reduced *= walk->axes[d].length;
    kept = choose(walk, 1);
    if (reduced > 1 && same_place(walk, 0, output)
        && (kept < 0 || walk->axes[kept].length < ENOUGH || (kept == 0 && reduced > FEW_ROWS))) {
        cut->axis = choose(walk, 0);
        cut->adds_up = 1;
    } else {
        cut->axis = kept;
        cut->adds_up = 0;
    }
    return cut->axis >= 0;
}

void eager_take_part(const eager_walk *walk, int axis, intptr_t begin, intptr_t end, eager_walk *part)
{
    *part = *walk;
    part->axes[axis].length = end - begin;
    for (int op = 0; op < walk->operands; op++)
        if (part->pointers[op]) part->pointers[op] += begin * walk->axes[axis].steps[op];
}
