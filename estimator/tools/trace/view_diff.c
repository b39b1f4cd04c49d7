/* SPDX-License-Identifier: Apache-2.0 */
/* See view_diff.h. Each side is a tree; its nodes become rows by their paths, which are then
 * merged. */
#include "trace/view_diff.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A node of one side. */
typedef struct piece {
    const char *place;
    const st_tree_node *node;
    int side;
} piece;

static bool has_modules(const st_trace_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        for (size_t k = 0; k < set->ranks[i]->frame_count; k++)
            if (set->ranks[i]->frames[k].kind == ST_FRAME_MODULE)
                return true;
    return false;
}

static size_t count_steps(const st_trace_set *set)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < set->count; i++) {
        size_t steps = set->ranks[i]->kind_counts[ST_TRACE_STEP];
        least = steps < least ? steps : least;
    }
    return set->count > 0 ? least : 0;
}

/* ---- rows ---- */

/* "Net_0 > Linear_1": what is around a node, by node of a tree. */
static const char **name_places(const st_tree *tree, st_arena *arena)
{
    const char **places = st_xalloc(arena, tree->count, sizeof *places);
    for (size_t i = 0; i < tree->count; i++) {
        uint32_t parent = tree->nodes[i].parent;
        places[i] = "";
        if (parent == ST_TRACE_NONE || parent == 0)
            continue;
        const char *around =
            places[parent][0] != '\0'
                ? st_xprintf(arena, "%s > %s", places[parent], tree->nodes[parent].name)
                : tree->nodes[parent].name;
        if (around == NULL)
            return NULL;
        places[i] = around;
    }
    return places;
}

ST_COMPARE(compare_pieces, piece,
           ST_RISING(node->is_kernel) ST_BY_TEXT(place) ST_BY_TEXT(node->name) ST_RISING(side));

static bool is_same(const piece *a, const piece *b)
{
    return a->node->is_kernel == b->node->is_kernel && strcmp(a->place, b->place) == 0 &&
           strcmp(a->node->name, b->node->name) == 0;
}

static double change_of(const st_diff_row *row)
{
    return row->time_ns[1] - row->time_ns[0];
}

static int compare_rows(const void *left, const void *right)
{
    const st_diff_row *a = left;
    const st_diff_row *b = right;
    double first = fabs(change_of(a));
    double second = fabs(change_of(b));
    if (first < second || first > second)
        return first > second ? -1 : 1;
    int names = strcmp(a->name, b->name);
    return names != 0 ? names : strcmp(a->place, b->place);
}

static void merge(const st_tree *trees, st_arena *arena, st_trace_diff *diff)
{
    size_t room = trees[0].count + trees[1].count;
    size_t count = 0;
    piece *pieces = st_xmalloc(room * sizeof *pieces);
    diff->rows = st_xalloc(arena, room, sizeof *diff->rows);
    for (int side = 0; side < 2; side++) {
        const st_tree *tree = &trees[side];
        const char **places = name_places(tree, arena);
        for (size_t i = 1; i < tree->count; i++)
            pieces[count++] = (piece){places[i], &tree->nodes[i], side};
    }
    st_sort(pieces, count, sizeof *pieces, compare_pieces);
    for (size_t i = 0; i < count; i++) {
        const piece *one = &pieces[i];
        if (i == 0 || !is_same(one, one - 1))
            diff->rows[diff->count++] = (st_diff_row){
                .name = one->node->name, .place = one->place, .is_kernel = one->node->is_kernel};
        st_diff_row *row = &diff->rows[diff->count - 1];
        double divisor = diff->sides[one->side].divisor;
        row->has[one->side] = true;
        row->time_ns[one->side] += (double)one->node->gpu_ns / divisor;
        row->count[one->side] += (double)one->node->kernels / divisor;
    }
    st_sort(diff->rows, diff->count, sizeof *diff->rows, compare_rows);
    free(pieces);
}

const char *st_diff_word(const st_diff_row *row)
{
    if (!row->has[0])
        return "new";
    if (!row->has[1])
        return "gone";
    return change_of(row) > 0 ? "grew" : change_of(row) < 0 ? "shrank" : "same";
}

st_status st_view_diff(const st_trace_set *before, const st_trace_set *after, st_arena *arena,
                       st_trace_diff *diff, st_errors *errors)
{
    const st_trace_set *sets[] = {before, after};
    st_tree trees[2];
    st_status status = ST_OK;
    *diff = (st_trace_diff){.by_module = has_modules(before) && has_modules(after)};
    for (int i = 0; i < 2; i++) {
        const st_trace_set *set = sets[i];
        diff->sides[i] = (st_diff_side){.name = set->ranks[0]->file,
                                        .ranks = set->count,
                                        .steps = count_steps(set),
                                        .divisor = (double)set->count};
    }
    diff->by_step = diff->sides[0].steps > 0 && diff->sides[1].steps > 0;
    for (int i = 0; i < 2 && status == ST_OK; i++) {
        diff->sides[i].divisor *= diff->by_step ? (double)diff->sides[i].steps : 1;
        status = st_view_tree_kernels(sets[i], diff->by_module ? ST_TREE_MODULE : ST_TREE_NOTHING,
                                      arena, &trees[i], errors);
        if (status == ST_OK && trees[i].count == 1)
            status = st_fail(errors, ST_ERR_VALUE, (st_place){.file = diff->sides[i].name},
                             "the trace has no GPU work" ST_EXPECTED "kernels to compare");
        if (status == ST_OK)
            diff->total_ns[i] = (double)trees[i].nodes[0].gpu_ns / diff->sides[i].divisor;
    }
    if (status == ST_OK)
        merge(trees, arena, diff);
    return status;
}
