/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two recordings: as a result, and as a picture. */
#include "base/number.h"
#include "base/svg.h"
#include "trace/view_diff.h"

#include <math.h>
#include <string.h>

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
    st_say(root, "%s\n", kernels ? "Kernels" : "Modules");
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
    bool same = true;
    for (size_t i = 0; i < diff->count && same; i++)
        same = strcmp(st_diff_word(&diff->rows[i]), "same") == 0;
    st_put_bool(root, "same", same);
    st_put_bool(root, "by_module", diff->by_module);
    st_put_bool(root, "by_step", diff->by_step);
    st_say(root, "GPU time of a rank%s%s\n\n", diff->by_step ? " and step" : "",
           diff->by_module ? ""
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
