/* SPDX-License-Identifier: Apache-2.0 */
/* See matching.h. Two runs of one program differ little, so that the greedy algorithm, whose time
 * grows with the length times the differences, is nearly linear. */
#include "overlap-xgboost/fit/matching.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sequences ---- */

typedef struct matcher {
    st_sequence left; /* without what both begin and end with */
    st_sequence right;
    size_t *matches;  /* of `left` */
    size_t before;    /* items that both begin with */
    int32_t *reached; /* for each number of edits d, the furthest left item on diagonals -d to d */
    size_t rows;
} matcher;

/* Row d begins at d * d, for the rows before it have 1, 3, 5, ... diagonals. */
static int32_t *row_of(const matcher *match, int32_t edits)
{
    return match->reached + (size_t)edits * (size_t)edits + (size_t)edits;
}

/* Whether a diagonal is best reached from the one above it, by an item of `right` alone. */
static bool is_down(const matcher *match, int32_t edits, int32_t diagonal)
{
    const int32_t *last = row_of(match, edits - 1);
    return diagonal == -edits || (diagonal != edits && last[diagonal - 1] < last[diagonal + 1]);
}

/* The best start on a diagonal with one edit more than the row before. */
static int32_t step(const matcher *match, int32_t edits, int32_t diagonal)
{
    if (edits == 0)
        return 0;
    const int32_t *last = row_of(match, edits - 1);
    return is_down(match, edits, diagonal) ? last[diagonal + 1] : last[diagonal - 1] + 1;
}

/* Fills rows until the end of both is reached; the number of edits, -1 beyond the limit. */
static int32_t advance(matcher *match)
{
    int32_t left_count = (int32_t)match->left.count;
    int32_t right_count = (int32_t)match->right.count;
    for (int32_t edits = 0; edits < (int32_t)match->rows; edits++) {
        int32_t *row = row_of(match, edits);
        for (int32_t diagonal = -edits; diagonal <= edits; diagonal += 2) {
            int32_t x = step(match, edits, diagonal);
            while (x < left_count && x - diagonal >= 0 && x - diagonal < right_count &&
                   match->left.items[x] == match->right.items[x - diagonal])
                x++;
            row[diagonal] = x;
            if (x >= left_count && x - diagonal >= right_count)
                return edits;
        }
    }
    return -1;
}

/* Walks back from the end: whatever lies on a diagonal is a match. */
static void trace_back(const matcher *match, int32_t edits)
{
    int32_t x = (int32_t)match->left.count;
    int32_t diagonal = x - (int32_t)match->right.count;
    for (; edits >= 0; edits--) {
        int32_t start = step(match, edits, diagonal);
        for (; x > start; x--)
            match->matches[x - 1] = match->before + (size_t)(x - 1 - diagonal);
        if (edits > 0) {
            diagonal += is_down(match, edits, diagonal) ? 1 : -1;
            x = row_of(match, edits - 1)[diagonal];
        }
    }
}

static st_sequence inner(st_sequence whole, size_t before, size_t after)
{
    return (st_sequence){whole.items + before, whole.count - before - after};
}

st_status st_matching(st_sequence left, st_sequence right, size_t *matches)
{
    size_t least = left.count < right.count ? left.count : right.count;
    size_t before = 0;
    size_t after = 0;
    while (before < least && left.items[before] == right.items[before]) {
        matches[before] = before;
        before++;
    }
    while (after < least - before &&
           left.items[left.count - 1 - after] == right.items[right.count - 1 - after]) {
        matches[left.count - 1 - after] = right.count - 1 - after;
        after++;
    }
    matcher match = {.left = inner(left, before, after),
                     .right = inner(right, before, after),
                     .matches = matches + before,
                     .before = before};
    size_t most = match.left.count + match.right.count;
    for (size_t i = 0; i < match.left.count; i++)
        match.matches[i] = SIZE_MAX;
    if (match.left.count == 0 || match.right.count == 0)
        return ST_OK;
    if (match.left.count > INT32_MAX / 2 || match.right.count > INT32_MAX / 2)
        return ST_ERR_LIMIT;
    match.rows = (most < ST_MATCHING_MAX_APART ? most : ST_MATCHING_MAX_APART) + 1;
    match.reached = calloc(match.rows * match.rows, sizeof *match.reached);
    if (match.reached == NULL)
        return ST_ERR_MEMORY;
    int32_t edits = advance(&match);
    if (edits >= 0)
        trace_back(&match, edits);
    free(match.reached);
    return edits >= 0 ? ST_OK : ST_ERR_LIMIT;
}

/* ---- concurrent collectives ---- */

ST_COMPARE(by_place, st_concurrent_span, ST_RISING(device) ST_RISING(start_ns));

st_status st_concurrent_make(const st_recorded *recorded, st_arena *arena,
                             st_concurrent *concurrent)
{
    size_t count = 0;
    for (size_t i = 0; i < recorded->count; i++)
        count += recorded->kernels[i].collective != NULL ? 1 : 0;
    *concurrent =
        (st_concurrent){.spans = st_arena_alloc(arena, count + 1, sizeof *concurrent->spans)};
    if (concurrent->spans == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < recorded->count; i++) {
        const st_recorded_kernel *kernel = &recorded->kernels[i];
        if (kernel->collective != NULL && kernel->end_ns > kernel->start_ns)
            concurrent->spans[concurrent->count++] =
                (st_concurrent_span){.device = kernel->device,
                                     .start_ns = kernel->start_ns,
                                     .end_ns = kernel->end_ns,
                                     .collective = kernel->collective,
                                     .longest_ns = kernel->end_ns - kernel->start_ns};
    }
    qsort(concurrent->spans, concurrent->count, sizeof *concurrent->spans, by_place);
    /* Joins spans that touch; they are sorted. */
    size_t kept = 0;
    for (size_t i = 0; i < concurrent->count; i++) {
        st_concurrent_span next = concurrent->spans[i];
        st_concurrent_span *last = kept > 0 ? &concurrent->spans[kept - 1] : NULL;
        if (last == NULL || last->device != next.device || next.start_ns > last->end_ns) {
            concurrent->spans[kept++] = next;
            continue;
        }
        if (next.longest_ns > last->longest_ns) {
            last->collective = next.collective;
            last->longest_ns = next.longest_ns;
        }
        last->end_ns = next.end_ns > last->end_ns ? next.end_ns : last->end_ns;
    }
    concurrent->count = kept;
    return ST_OK;
}

/* The first span that ends behind the kernel's start, on its device. */
static size_t first_span(const st_concurrent *concurrent, const st_recorded_kernel *kernel)
{
    const st_concurrent_span *spans = concurrent->spans;
    size_t low = 0;
    ST_BISECT(low, concurrent->count,
              spans[middle].device < kernel->device || (spans[middle].device == kernel->device &&
                                                        spans[middle].end_ns <= kernel->start_ns));
    return low;
}

int64_t st_concurrent_time(const st_concurrent *concurrent, const st_recorded_kernel *kernel,
                           const st_recorded_collective **collective)
{
    int64_t sum_ns = 0;
    int64_t most_ns = 0;
    const st_recorded_collective *longest = NULL;
    for (size_t i = first_span(concurrent, kernel); i < concurrent->count; i++) {
        const st_concurrent_span *span = &concurrent->spans[i];
        if (span->device != kernel->device || span->start_ns >= kernel->end_ns)
            break;
        int64_t from_ns = span->start_ns > kernel->start_ns ? span->start_ns : kernel->start_ns;
        int64_t to_ns = span->end_ns < kernel->end_ns ? span->end_ns : kernel->end_ns;
        sum_ns += to_ns - from_ns;
        if (to_ns - from_ns > most_ns) {
            most_ns = to_ns - from_ns;
            longest = span->collective;
        }
    }
    if (collective != NULL)
        *collective = longest;
    return sum_ns;
}

/* ---- counted kernels ---- */

/* The counted kernels of one kind behind each other, then in the order in which they ran. */
typedef struct kind_order {
    const st_counted_kernel **sorted;
    size_t *used; /* at the first of each kind: how many of them were asked for */
} kind_order;

struct st_join {
    kind_order by_function;
    kind_order by_shape; /* by function, grid and block */
    size_t count;
    bool has_shapes;
};

static int compare_sizes(const int64_t left[3], const int64_t right[3])
{
    for (size_t i = 0; i < 3; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

static int compare_kinds(const st_counted_kernel *left, const st_counted_kernel *right)
{
    int result = strcmp(left->name, right->name);
    result = result != 0 ? result : compare_sizes(left->grid, right->grid);
    return result != 0 ? result : compare_sizes(left->block, right->block);
}

static int by_shape(const void *left, const void *right)
{
    const st_counted_kernel *a = *(const st_counted_kernel *const *)left;
    const st_counted_kernel *b = *(const st_counted_kernel *const *)right;
    int result = compare_kinds(a, b);
    return result != 0 ? result : (a > b) - (a < b);
}

static int by_function(const void *left, const void *right)
{
    const st_counted_kernel *a = *(const st_counted_kernel *const *)left;
    const st_counted_kernel *b = *(const st_counted_kernel *const *)right;
    int result = strcmp(a->name, b->name);
    return result != 0 ? result : (a > b) - (a < b);
}

static bool make_order(const st_counters *counters, int (*order)(const void *, const void *),
                       st_arena *arena, kind_order *made)
{
    made->sorted = st_arena_alloc(arena, counters->count + 1, sizeof(void *));
    made->used = st_arena_alloc(arena, counters->count + 1, sizeof *made->used);
    if (made->sorted == NULL || made->used == NULL)
        return false;
    for (size_t i = 0; i < counters->count; i++)
        made->sorted[i] = &counters->kernels[i];
    qsort(made->sorted, counters->count, sizeof(void *), order);
    return true;
}

st_status st_join_make(const st_counters *counters, st_arena *arena, st_join **join)
{
    st_join *made = st_arena_alloc(arena, 1, sizeof *made);
    if (made == NULL || !make_order(counters, by_function, arena, &made->by_function) ||
        !make_order(counters, by_shape, arena, &made->by_shape))
        return ST_ERR_MEMORY;
    made->count = counters->count;
    for (size_t i = 0; i < counters->count; i++)
        made->has_shapes = made->has_shapes || counters->kernels[i].grid[0] > 0;
    *join = made;
    return ST_OK;
}

/* The first that is not below (`above` false) or is above (`above` true) what is wanted. */
static size_t bound(const st_join *join, const st_counted_kernel *wanted, bool shaped, bool above)
{
    const st_counted_kernel *const *sorted =
        (shaped ? &join->by_shape : &join->by_function)->sorted;
    size_t low = 0;
    ST_BISECT(low, join->count,
              (shaped ? compare_kinds(sorted[middle], wanted)
                      : strcmp(sorted[middle]->name, wanted->name)) < (above ? 1 : 0));
    return low;
}

const st_counted_kernel *st_join_next(st_join *join, const st_recorded_kernel *kernel)
{
    char name[1024];
    size_t length = 0;
    const char *function = st_function_name(kernel->name, &length);
    if (length >= sizeof name)
        return NULL;
    memcpy(name, function, length);
    name[length] = '\0';
    st_counted_kernel wanted = {.name = name};
    memcpy(wanted.grid, kernel->grid, sizeof wanted.grid);
    memcpy(wanted.block, kernel->block, sizeof wanted.block);
    bool shaped = join->has_shapes && kernel->grid[0] > 0;
    kind_order *order = shaped ? &join->by_shape : &join->by_function;
    size_t first = bound(join, &wanted, shaped, false);
    size_t last = bound(join, &wanted, shaped, true);
    if (first == last)
        return NULL;
    const st_counted_kernel *found = order->sorted[first + order->used[first] % (last - first)];
    order->used[first]++;
    bool is_known = true;
    for (size_t i = 0; i < ST_COUNTERS; i++)
        if (isnan(found->values[i])) {
            is_known = false;
            break;
        }
    return is_known ? found : NULL;
}
