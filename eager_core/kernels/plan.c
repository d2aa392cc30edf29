/* Runs an elementwise loop over n-dimensional operands.
 *
 * Axes may be visited in any order, each always from its first element to its last: a reduction carries its state through memory
 * (output stride 0), and a running sum reads what the step before wrote. */
#include "kernels.h"

/* Below this many elements a call costs more than the loop; a longer axis then pays even if its steps are wide. */
#define SHORT_AXIS 8

typedef eager_axis axis;

/* Merge neighbours (innermost first) that advance all operands as one longer axis would; the number of axes left. */
static int merge_axes(axis *axes, int ndim, int operands)
{
    int last = 0;
    for (int d = 1; d < ndim; d++) {
        int op = 0;
        while (op < operands && axes[d].steps[op] == axes[last].steps[op] * axes[last].length) op++;
        if (op == operands) axes[last].length *= axes[d].length;
        else axes[++last] = axes[d];
    }
    return last + 1;
}

static intptr_t magnitude(intptr_t step) { return step < 0 ? -step : step; }

/* 1 if `a` belongs inside `b` by its steps of operand `op`, -1 if outside, 0 if that operand has no opinion. */
static int compare_steps(const axis *a, const axis *b, int op)
{
    const intptr_t x = magnitude(a->steps[op]), y = magnitude(b->steps[op]);
    if (!x || !y || x == y) return 0;
    return x < y ? 1 : -1;
}

/* The output decides, then the inputs; in a reduction the operand reduced decides, for it is the one with many elements (it stands
 * last among the inputs: NumPy's loops take the running value first). */
static int belongs_inside(const axis *a, const axis *b, int operands, int reduces)
{
    const int output = operands - 1;
    int order = reduces ? 0 : compare_steps(a, b, output);
    for (int i = 0; !order && i < output; i++) order = compare_steps(a, b, reduces ? output - 1 - i : i);
    return (order ? order : compare_steps(a, b, output)) > 0;
}

static void sort_axes(axis *axes, int ndim, int operands)
{
    int reduces = 0;
    for (int d = 0; d < ndim; d++) reduces |= axes[d].steps[operands - 1] == 0;
    for (int d = 1; d < ndim; d++) {
        const axis moved = axes[d];
        int to = d;
        for (; to > 0 && belongs_inside(&moved, &axes[to - 1], operands, reduces); to--) axes[to] = axes[to - 1];
        axes[to] = moved;
    }
}

static void avoid_short_inner_axis(axis *axes, int ndim)
{
    int longest = 0;
    if (axes[0].length >= SHORT_AXIS) return;
    for (int d = 1; d < ndim; d++) if (axes[d].length > axes[longest].length) longest = d;
    if (axes[longest].length >= 2 * axes[0].length) {
        const axis moved = axes[longest];
        for (int d = longest; d > 0; d--) axes[d] = axes[d - 1];
        axes[0] = moved;
    }
}

int eager_begin_walk(const eager_plan *plan, eager_walk *walk)
{
    const int operands = plan->operands;
    axis *axes = walk->axes;
    int ndim = 0;

    for (int d = plan->ndim - 1; d >= 0; d--) {
        if (plan->shape[d] == 0) return 0;
        if (plan->shape[d] == 1) continue;
        axes[ndim].length = plan->shape[d];
        for (int op = 0; op < operands; op++) axes[ndim].steps[op] = plan->strides[op][d];
        ndim++;
    }
    if (ndim == 0) { /* one element: the steps do not matter, but 0 would tell NumPy's loops "a reduction", which is as right */
        axes[0].length = 1;
        for (int op = 0; op < operands; op++) axes[0].steps[op] = 0;
        ndim = 1;
    }
    if (ndim > 1) ndim = merge_axes(axes, ndim, operands);
    if (ndim > 1) {
        sort_axes(axes, ndim, operands);
        ndim = merge_axes(axes, ndim, operands);
        avoid_short_inner_axis(axes, ndim);
    }
    walk->loop = plan->loop;
    walk->data = plan->data;
    walk->operands = operands;
    walk->ndim = ndim;
    for (int op = 0; op < operands; op++) walk->pointers[op] = plan->pointers[op];
    return 1;
}

void eager_run_walk(const eager_walk *walk)
{
    const int operands = walk->operands, ndim = walk->ndim;
    const axis *axes = walk->axes;
    char *pointers[EAGER_MAX_OPERANDS];
    intptr_t index[EAGER_MAX_NDIM] = {0};

    for (int op = 0; op < operands; op++) pointers[op] = walk->pointers[op];
    for (;;) {
        int d = 1;
        walk->loop(pointers, &axes[0].length, axes[0].steps, walk->data);
        for (; d < ndim; d++) {
            if (++index[d] < axes[d].length) {
                for (int op = 0; op < operands; op++) pointers[op] += axes[d].steps[op];
                break;
            }
            index[d] = 0;
            for (int op = 0; op < operands; op++) pointers[op] -= axes[d].steps[op] * (axes[d].length - 1);
        }
        if (d >= ndim) return;
    }
}

void eager_run_plan(const eager_plan *plan)
{
    eager_walk walk;
    if (eager_begin_walk(plan, &walk)) eager_run_walk(&walk);
}
