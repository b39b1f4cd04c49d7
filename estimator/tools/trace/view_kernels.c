/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels, copies and fills of all ranks by name. */
#include "base/number.h"
#include "trace/link.h"
#include "trace/view.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT = 48 };

/* What one rank runs of a name. */
typedef struct piece {
    const char *name;
    st_trace_class class_;
    uint64_t count;
    int64_t total_ns;
    int64_t least_ns;
    int64_t most_ns;
    int64_t rank;
} piece;

ST_COMPARE(compare_names, piece, ST_BY_TEXT(name) ST_RISING(rank));

ST_COMPARE(compare_rows, st_kernel_row, ST_FALLING(total_ns) ST_BY_TEXT(name));

/* Adds the pieces of a rank to `pieces`, which has room for all its names. */
static st_status tally_rank(const st_trace *trace, int64_t rank, piece *pieces, size_t *count)
{
    piece *by_name = calloc((size_t)trace->name_count + 1, sizeof *by_name);
    if (by_name == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (!st_trace_is_gpu(event))
            continue;
        piece *one = &by_name[event->name];
        if (one->count == 0)
            *one = (piece){.name = trace->names[event->name],
                           .class_ = (st_trace_class)event->class_,
                           .least_ns = event->duration_ns,
                           .rank = rank};
        one->count++;
        one->total_ns = st_add_ns(one->total_ns, event->duration_ns);
        one->least_ns = event->duration_ns < one->least_ns ? event->duration_ns : one->least_ns;
        one->most_ns = event->duration_ns > one->most_ns ? event->duration_ns : one->most_ns;
    }
    for (uint32_t i = 0; i < trace->name_count; i++)
        if (by_name[i].count > 0)
            pieces[(*count)++] = by_name[i];
    free(by_name);
    return ST_OK;
}

static st_status merge(piece *pieces, size_t count, st_arena *arena, st_kernel_table *table)
{
    table->rows = st_arena_alloc(arena, count + 1, sizeof *table->rows);
    if (table->rows == NULL)
        return ST_ERR_MEMORY;
    st_sort(pieces, count, sizeof *pieces, compare_names);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(pieces[i].name, pieces[i - 1].name) != 0)
            table->rows[table->count++] =
                (st_kernel_row){.name = pieces[i].name, .class_ = pieces[i].class_};
        const piece *one = &pieces[i];
        st_kernel_row *row = &table->rows[table->count - 1];
        row->count += one->count;
        row->total_ns = st_add_ns(row->total_ns, one->total_ns);
        row->least_ns =
            row->ranks == 0 || one->least_ns < row->least_ns ? one->least_ns : row->least_ns;
        row->most_ns = one->most_ns > row->most_ns ? one->most_ns : row->most_ns;
        if (row->ranks == 0 || one->total_ns < row->rank_least_ns)
            row->rank_least_ns = one->total_ns;
        if (row->ranks == 0 || one->total_ns > row->rank_most_ns) {
            row->rank_most_ns = one->total_ns;
            row->rank_most = one->rank;
        }
        row->ranks++;
        table->total_ns = st_add_ns(table->total_ns, pieces[i].total_ns);
    }
    st_sort(table->rows, table->count, sizeof *table->rows, compare_rows);
    return ST_OK;
}

st_status st_view_kernels(const st_trace_set *set, st_arena *arena, st_kernel_table *table)
{
    size_t room = 1;
    size_t count = 0;
    *table = (st_kernel_table){.ranks = set->count};
    for (size_t i = 0; i < set->count; i++)
        room += set->ranks[i]->name_count;
    piece *pieces = malloc(room * sizeof *pieces);
    st_status status = pieces != NULL ? ST_OK : ST_ERR_MEMORY;
    for (size_t i = 0; i < set->count && status == ST_OK; i++) {
        int64_t rank = set->ranks[i]->rank;
        status = tally_rank(set->ranks[i], rank < 0 ? (int64_t)i : rank, pieces, &count);
    }
    if (status == ST_OK)
        status = merge(pieces, count, arena, table);
    free(pieces);
    return status;
}

/* ---- the result ---- */

static void put_row(const st_kernel_row *row, const st_kernel_table *table, bool full_names,
                    st_node *node)
{
    char text[TEXT];
    double mean_ns = (double)row->total_ns / (double)row->count;
    st_put_text(node, "name", row->name);
    st_put_text(node, "class", st_trace_class_name(row->class_));
    st_put_count(node, "count", row->count);
    st_put_ns(node, "total_ns", row->total_ns);
    st_put_number(node, "mean_ns", mean_ns);
    st_put_ns(node, "least_ns", row->least_ns);
    st_put_ns(node, "most_ns", row->most_ns);
    st_put_count(node, "ranks", row->ranks);
    st_put_ns(node, "rank_least_ns", row->rank_least_ns);
    st_put_ns(node, "rank_most_ns", row->rank_most_ns);
    st_put_ns(node, "rank_most", row->rank_most);
    st_put_short(node, ".name", row->name, full_names);
    st_put_ms(node, ".time", row->total_ns);
    st_put_share(node, ".share", row->total_ns, table->total_ns);
    const double times_us[] = {mean_ns / 1e3, (double)row->least_ns / 1e3,
                               (double)row->most_ns / 1e3};
    static const char *const keys[] = {".mean", ".least", ".most"};
    for (size_t i = 0; i < ST_COUNT(keys); i++)
        st_put_format(node, keys[i], "%s us",
                      st_number_print('f', 1, times_us[i], text, sizeof text));
    st_put_ms(node, ".rank_least", row->rank_least_ns);
    st_put_ms(node, ".rank_most", row->rank_most_ns);
}

/* The rows that there is no room for, together. */
static void put_others(const st_kernel_table *table, size_t top, st_table *shown, st_node *root)
{
    size_t kernels = table->count > top ? table->count - top : 0;
    uint64_t count = 0;
    int64_t total_ns = 0;
    for (size_t i = top; i < table->count; i++) {
        count += table->rows[i].count;
        total_ns = st_add_ns(total_ns, table->rows[i].total_ns);
    }
    st_node *others = st_put_line_map(root, "others");
    st_put_count(others, "kernels", kernels);
    st_put_count(others, "count", count);
    st_put_ns(others, "total_ns", total_ns);
    if (kernels == 0)
        return;
    st_put_format(others, ".name", "%zu others", kernels);
    st_put_ms(others, ".time", total_ns);
    st_put_share(others, ".share", total_ns, table->total_ns);
    st_table_show(shown, others,
                  table->ranks > 1 ? ".name,,count,.time,.share,,,,,,"
                                   : ".name,,count,.time,.share,,,");
}

void st_view_kernels_result(const st_kernel_table *table, size_t top, bool full_names,
                            st_arena *arena, st_result *result)
{
    static const st_table_column columns[] = {
        {.title = "kernel", .ink = ST_INK_NAME}, {.title = "class"},
        {.title = "count", .right = true},       {.title = "time", .right = true},
        {.title = "share", .right = true},       {.title = "mean", .right = true},
        {.title = "least", .right = true},       {.title = "most", .right = true},
        {.title = "least rank", .right = true},  {.title = "most rank", .right = true},
        {.title = "is rank", .right = true}};
    st_node *root = st_result_begin(result, arena);
    st_put_count(root, "ranks", table->ranks);
    st_put_count(root, "kernels", table->count);
    st_put_ns(root, "total_ns", table->total_ns);
    st_say(root, "%zu kernels on %zu ranks%s\n\n", table->count, table->ranks,
           table->count > top ? ", the longest" : "");
    st_table *shown = st_say_table(root, columns, table->ranks > 1 ? 11 : 8, 2);
    st_node *rows = st_put_list(root, "rows");
    for (size_t i = 0; i < table->count && i < top; i++)
        put_row(&table->rows[i], table, full_names, st_put_line_map(rows, NULL));
    st_table_show(shown, rows,
                  table->ranks > 1 ? ".name,class,count,.time,.share,.mean,.least,.most,"
                                     ".rank_least,.rank_most,rank_most"
                                   : ".name,class,count,.time,.share,.mean,.least,.most");
    put_others(table, top, shown, root);
    st_result_csv(result, "rows",
                  "name,class,count,total_ns,mean_ns,least_ns,most_ns,ranks,rank_least_ns,"
                  "rank_most_ns,rank_most");
    if (table->count > top)
        st_result_csv(result, "others",
                      ".name,.none,count,total_ns,.none,.none,.none,.none,.none,.none,.none");
}
