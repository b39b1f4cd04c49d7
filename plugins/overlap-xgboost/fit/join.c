/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and counters in one order, matched where function, grid and block agree. */
#include "overlap-xgboost/fit/join.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    st_join *own = st_arena_alloc(arena, 1, sizeof *own);
    if (own == NULL || !make_order(counters, by_function, arena, &own->by_function) ||
        !make_order(counters, by_shape, arena, &own->by_shape))
        return ST_ERR_MEMORY;
    own->count = counters->count;
    for (size_t i = 0; i < counters->count; i++)
        own->has_shapes = own->has_shapes || counters->kernels[i].grid[0] > 0;
    *join = own;
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
