/* SPDX-License-Identifier: Apache-2.0 */
/* See view.h. Each side is a tree; its nodes become rows by their paths, which are then
 * merged. */
#include "base/number.h"
#include "base/svg.h"
#include "trace/link.h"
#include "trace/view.h"
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

static double change_of_row(const st_diff_row *row)
{
    return row->time_ns[1] - row->time_ns[0];
}

static int compare_rows(const void *left, const void *right)
{
    const st_diff_row *a = left;
    const st_diff_row *b = right;
    double first = fabs(change_of_row(a));
    double second = fabs(change_of_row(b));
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
    return change_of_row(row) > 0 ? "grew" : change_of_row(row) < 0 ? "shrank" : "same";
}

static const char *gpu_of(const st_trace_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->ranks[i]->gpu != ST_TRACE_NONE)
            return set->ranks[i]->names[set->ranks[i]->gpu];
    return "";
}

/* Kernels of HIP's runtime have other names than those of CUDA. */
static bool is_amd(const st_trace_set *set)
{
    const st_trace *trace = set->ranks[0];
    for (size_t i = 0; i < trace->event_count; i++)
        if (trace->events[i].kind == ST_TRACE_CALL)
            return strncmp(trace->names[trace->events[i].name], "hip", 3) == 0;
    return strncmp(gpu_of(set), "AMD", 3) == 0;
}

st_status st_view_diff(const st_diff_ask *ask, st_arena *arena, st_trace_diff *diff,
                       st_errors *errors)
{
    const st_trace_set *const *sets = ask->sets;
    st_tree trees[2];
    st_status status = ST_OK;
    *diff = (st_trace_diff){.by_module = has_modules(sets[0]) && has_modules(sets[1]),
                            .by_operator =
                                ask->by == ST_DIFF_OPERATOR ||
                                (ask->by == ST_DIFF_AUTO && is_amd(sets[0]) != is_amd(sets[1]))};
    for (int i = 0; i < 2; i++) {
        const st_trace_set *set = sets[i];
        diff->sides[i] = (st_diff_side){.name = set->ranks[0]->file,
                                        .gpu = gpu_of(set),
                                        .ranks = set->count,
                                        .steps = count_steps(set),
                                        .divisor = (double)set->count};
    }
    diff->by_step = diff->sides[0].steps > 0 && diff->sides[1].steps > 0;
    for (int i = 0; i < 2 && status == ST_OK; i++) {
        diff->sides[i].divisor *= diff->by_step ? (double)diff->sides[i].steps : 1;
        const st_tree_ask tree = {.set = sets[i],
                                  .other = sets[1 - i],
                                  .by = diff->by_module ? ST_TREE_MODULE : ST_TREE_NOTHING,
                                  .leaf = diff->by_operator ? ST_LEAF_OPERATOR : ST_LEAF_KERNEL,
                                  .fold = ask->fold};
        status = st_view_tree_asked(&tree, arena, &trees[i], errors);
        if (status == ST_OK && trees[i].count == 1)
            status = st_trace_no_work(sets[i]->ranks[0], ST_SEVERITY_ERROR, errors);
        if (status == ST_OK)
            diff->total_ns[i] = (double)trees[i].nodes[0].gpu_ns / diff->sides[i].divisor;
    }
    if (status == ST_OK)
        merge(trees, arena, diff);
    return status;
}

/* What differs between two recordings: as a result, and as a picture. */

enum { TEXT = 48, LEFT = 470, HALF = 300, TOP = 70, ROW = 22 };

static double change_of(const double time_ns[2])
{
    return time_ns[1] - time_ns[0];
}

static void put_time(st_node *node, const char *key, double time_ns, bool is_signed)
{
    char text[TEXT];
    st_put_format(node, key, "%s%s ms", is_signed && time_ns > 0 ? "+" : "",
                  st_number_print('f', 3, time_ns / 1e6, text, sizeof text));
}

static void put_times(st_node *node, const double time_ns[2])
{
    char text[TEXT];
    st_put_number(node, "before_ns", time_ns[0]);
    st_put_number(node, "after_ns", time_ns[1]);
    st_put_number(node, "change_ns", change_of(time_ns));
    put_time(node, ".before", time_ns[0], false);
    put_time(node, ".after", time_ns[1], false);
    put_time(node, ".change", change_of(time_ns), true);
    if (time_ns[0] > 0 && time_ns[1] > 0)
        st_put_format(
            node, ".percent", "%s%s %%", change_of(time_ns) > 0 ? "+" : "",
            st_number_print('f', 1, 100 * (time_ns[1] / time_ns[0] - 1), text, sizeof text));
}

static void put_list(const st_trace_diff *diff, bool kernels, size_t top, bool full_names,
                     st_node *root)
{
    static const char keys[] = ".name,.place,what,.before,.after,.change,.percent,.count";
    double shown_ns[2] = {0, 0};
    size_t shown = 0;
    size_t others = 0;
    st_say(root, "%s\n", !kernels ? "Modules" : diff->by_operator ? "Operators" : "Kernels");
    st_table *table = st_say_columns(root, "*|in||>before|>after|>change|>|>number");
    st_node *list = st_put_list(root, kernels ? "kernels" : "modules");
    for (size_t i = 0; i < diff->count; i++) {
        const st_diff_row *row = &diff->rows[i];
        if (row->is_kernel != kernels)
            continue;
        others += shown >= top;
        if (shown >= top)
            continue;
        char text[2][TEXT];
        st_node *node = st_put_line_map(list, NULL);
        st_put_text(node, "name", row->name);
        st_put_text(node, "place", row->place);
        st_put_text(node, "what", st_diff_word(row));
        put_times(node, row->time_ns);
        st_put_number(node, "count_before", row->count[0]);
        st_put_number(node, "count_after", row->count[1]);
        st_put_short(node, ".name", row->name, full_names);
        st_put_short(node, ".place", row->place, full_names);
        st_put_format(node, ".count", "%s -> %s",
                      st_number_print('g', 6, row->count[0], text[0], TEXT),
                      st_number_print('g', 6, row->count[1], text[1], TEXT));
        shown++;
        shown_ns[0] += row->time_ns[0];
        shown_ns[1] += row->time_ns[1];
    }
    st_table_show(table, list, keys);
    if (!kernels) {
        st_say(root, "\n");
        return;
    }
    /* The rows that are not shown, and the total. */
    const double rest_ns[] = {diff->total_ns[0] - shown_ns[0], diff->total_ns[1] - shown_ns[1]};
    st_node *rest = st_put_line_map(root, "others");
    st_put_format(rest, ".name", "%zu others", others);
    st_put_count(rest, "count", others);
    put_times(rest, rest_ns);
    st_node *total = st_put_line_map(root, "total");
    st_put_text(total, ".name", "total");
    put_times(total, diff->total_ns);
    const char *const sums[] = {"others", "total"};
    for (size_t i = 0; i < ST_COUNT(sums); i++) {
        const st_item *item = st_node_find(root, sums[i], i == 0 ? 6 : 5);
        if (item != NULL && item->kind == ST_ITEM_NODE)
            st_table_show(table, item->node, ".name,,,.before,.after,.change,.percent,");
    }
}

static void put_difference(st_node *list, st_node *root, const char *text)
{
    st_put_text(list, NULL, text);
    st_say(root, "differs %s\n", text);
}

void st_view_diff_result(const st_trace_diff *diff, size_t top, bool full_names, st_arena *arena,
                         st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    static const char *const names[] = {"before", "after"};
    for (int i = 0; i < 2; i++) {
        const st_diff_side *side = &diff->sides[i];
        st_node *node = st_put_line_map(root, names[i]);
        st_put_text(node, "file", side->name);
        st_put_count(node, "ranks", side->ranks);
        st_put_count(node, "steps", side->steps);
        st_say(root, "%-7s %s: %zu ranks, %zu steps\n", names[i], side->name, side->ranks,
               side->steps);
    }
    st_node *differs = st_put_list(root, "differs");
    const st_diff_side *before = &diff->sides[0];
    const st_diff_side *after = &diff->sides[1];
    if (before->gpu != NULL && after->gpu != NULL && *before->gpu != '\0' && *after->gpu != '\0' &&
        strcmp(before->gpu, after->gpu) != 0)
        put_difference(differs, root,
                       st_xprintf(arena, "GPU: %s before, %s after", before->gpu, after->gpu));
    if (before->ranks != after->ranks)
        put_difference(
            differs, root,
            st_xprintf(arena,
                       "ranks: %zu before, %zu after; times are of one rank, and its work "
                       "depends on their number",
                       before->ranks, after->ranks));
    if (before->steps != after->steps)
        put_difference(differs, root,
                       st_xprintf(arena, "steps: %zu before, %zu after%s", before->steps,
                                  after->steps,
                                  diff->by_step ? "; times are of one step"
                                                : "; times are of all that was recorded"));
    bool same = true;
    for (size_t i = 0; i < diff->count && same; i++)
        same = strcmp(st_diff_word(&diff->rows[i]), "same") == 0;
    st_put_bool(root, "same", same);
    st_put_bool(root, "by_module", diff->by_module);
    st_put_bool(root, "by_operator", diff->by_operator);
    st_put_bool(root, "by_step", diff->by_step);
    st_say(root, "GPU time of a rank%s%s\n\n", diff->by_step ? " and step" : "",
           diff->by_module     ? ""
           : diff->by_operator ? ", by operator"
                               : ", by kernel alone: not both have modules (with_stack=True, "
                                 "with_modules=True)");
    if (diff->by_module)
        put_list(diff, false, top, full_names, root);
    put_list(diff, true, top, full_names, root);
    if (same)
        st_say(root, "\n  no difference\n");
    st_result_csv(result, "kernels",
                  "place,name,what,before_ns,after_ns,change_ns,count_before,count_after");
}

/* ---- the picture ---- */

static void draw_row(const st_diff_row *row, size_t place, double most_ns, st_buffer *svg)
{
    char text[TEXT];
    char name[64];
    double change_ns = change_of(row->time_ns);
    double width = most_ns > 0 ? HALF * fabs(change_ns) / most_ns : 0;
    double y = TOP + ROW * (double)place;
    st_svg_box box = {.x = change_ns < 0 ? LEFT + HALF - width : LEFT + HALF,
                      .y = y,
                      .width = width,
                      .height = ROW - 4};
    (void)snprintf(name, sizeof name, "%.60s", row->name);
    st_svg_box_write(svg, box, st_svg_color(change_ns < 0 ? ST_SVG_GREEN : ST_SVG_VERMILION));
    st_svg_text(svg, (st_svg_point){LEFT - 8, y + ROW - 8}, "end", name);
    st_svg_text(svg, (st_svg_point){LEFT + 2 * HALF + 8, y + ROW - 8}, "",
                st_ms_text((int64_t)change_ns, text, sizeof text));
}

void st_view_diff_svg(const st_trace_diff *diff, size_t top, st_buffer *svg)
{
    char title[128];
    char text[2][TEXT];
    size_t rows = 0;
    double most_ns = 0;
    for (size_t i = 0; i < diff->count; i++) {
        if (!diff->rows[i].is_kernel)
            continue;
        most_ns = fmax(most_ns, fabs(change_of(diff->rows[i].time_ns)));
        rows++;
    }
    rows = rows < top ? rows : top;
    (void)snprintf(title, sizeof title, "GPU time of a rank%s: %s before, %s after",
                   diff->by_step ? " and step" : "",
                   st_ms_text((int64_t)diff->total_ns[0], text[0], TEXT),
                   st_ms_text((int64_t)diff->total_ns[1], text[1], TEXT));
    st_svg_begin(svg, LEFT + 2 * HALF + 120, TOP + ROW * (int)(rows + 1), title);
    st_svg_text(svg, (st_svg_point){20, 30}, "large", title);
    size_t place = 0;
    for (size_t i = 0; i < diff->count && place < rows; i++)
        if (diff->rows[i].is_kernel)
            draw_row(&diff->rows[i], place++, most_ns, svg);
    st_svg_line(svg, (st_svg_point){LEFT + HALF, TOP - 6},
                (st_svg_point){LEFT + HALF, TOP + ROW * (double)rows}, "ink");
    st_svg_end(svg);
}
