/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/view.h"

#include "trace/trace_replay.h"
#include "trace/xalloc.h"

#include <stdlib.h>

enum { TEXT = 48 };

static int compare_times(const void *left, const void *right)
{
    return ST_ORDER(*(const int64_t *)right, *(const int64_t *)left);
}

/* The `top` largest of many numbers: when twice as many are there, the smaller half goes. */
typedef struct largest {
    int64_t *numbers;
    size_t count;
    size_t top;
} largest;

static void add_number(largest *l, int64_t number)
{
    if (l->count == 2 * l->top) {
        st_sort(l->numbers, l->count, sizeof *l->numbers, compare_times);
        l->count = l->top;
    }
    l->numbers[l->count++] = number;
}

/* What one must add to be among the `top` that add most, and how many of those that add just that
 * are. */
static int64_t least_of_top(largest *l, size_t *equal)
{
    size_t top = l->top;
    st_sort(l->numbers, l->count, sizeof *l->numbers, compare_times);
    *equal = 0;
    while (*equal < top && l->numbers[top - 1 - *equal] == l->numbers[top - 1])
        ++*equal;
    return l->numbers[top - 1];
}

/* A path that was replayed, and which of its steps become rows. */
typedef struct path_rows {
    const st_trace_graph *graph;
    const st_replay *replay;
    const st_path_step *steps;
    size_t count;
    int64_t least_ns; /* rows add at least so much */
    size_t equal;     /* so many of those that add just that */
} path_rows;

/* Of a path of millions few steps become rows. */
static void make_rows(path_rows *rows, st_arena *arena, st_path_view *view)
{
    int64_t reached_ns = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const st_path_step *step = &rows->steps[i];
        st_task_time time = st_replay_task(rows->replay, step->task);
        int64_t adds_ns = time.end_ns > reached_ns ? time.end_ns - reached_ns : 0;
        reached_ns += adds_ns;
        if (adds_ns == 0 || adds_ns < rows->least_ns ||
            (adds_ns == rows->least_ns && rows->equal == 0))
            continue;
        rows->equal -= adds_ns == rows->least_ns;
        st_task_view task = st_graph_task(rows->graph->graph, step->task);
        st_path_row row = {.task = task,
                           .resource = st_graph_resource_name(rows->graph->graph, task.resource),
                           .why = i > 0 ? st_edge_kind_name(step->edge) : "",
                           .start_ns = time.start_ns,
                           .end_ns = time.end_ns,
                           .adds_ns = adds_ns};
        ST_XAPPEND(arena, view->rows, view->count, row);
    }
    view->length_ns = reached_ns;
}

st_status st_view_path(st_trace_graph *graph, size_t top, st_arena *arena, st_path_view *view,
                       st_errors *errors)
{
    const st_path_step *steps = NULL;
    size_t count = 0;
    st_arena *scratch = st_xarena();
    st_replay *replay = st_xmemory(st_replay_create(graph->graph));
    st_status status = st_replay_run(replay, errors);
    if (status == ST_OK)
        status = st_replayed_path(graph, replay, scratch, &steps, &count, errors);
    if (status == ST_OK) {
        largest adds = {.top = top > 0 && top < count ? top : count};
        adds.numbers = st_xmalloc((2 * adds.top + 1) * sizeof *adds.numbers);
        int64_t reached_ns = 0;
        *view = (st_path_view){0};
        for (size_t i = 0; i < count; i++) {
            int64_t end_ns = st_replay_task(replay, steps[i].task).end_ns;
            if (end_ns > reached_ns)
                add_number(&adds, end_ns - reached_ns);
            view->total += end_ns > reached_ns;
            reached_ns = end_ns > reached_ns ? end_ns : reached_ns;
        }
        path_rows rows = {
            .graph = graph, .replay = replay, .steps = steps, .count = count, .equal = view->total};
        if (adds.top < view->total)
            rows.least_ns = least_of_top(&adds, &rows.equal);
        make_rows(&rows, arena, view);
        free(adds.numbers);
    }
    st_replay_destroy(replay);
    st_arena_destroy(scratch);
    return status;
}

/* ---- the result ---- */

void st_view_path_result(const st_path_view *view, size_t top, bool full_names, st_arena *arena,
                         st_result *result)
{
    char text[TEXT];
    size_t equal = 0;
    /* What a task must add to be among the `top` ones, and how many of those that add just that
     * are. */
    int64_t least_ns = 0;
    int64_t *least_adds_ns = st_xalloc(arena, view->count + 1, sizeof *least_adds_ns);
    equal = view->count;
    if (top != 0 && top < view->count) {
        equal = 0;
        for (size_t i = 0; i < view->count; i++)
            least_adds_ns[i] = view->rows[i].adds_ns;
        st_sort(least_adds_ns, view->count, sizeof *least_adds_ns, compare_times);
        while (equal < top && least_adds_ns[top - 1 - equal] == least_adds_ns[top - 1])
            ++equal;
        least_ns = least_adds_ns[top - 1];
    }
    int64_t shown_ns = 0;
    size_t shown = 0;
    size_t total = view->total > view->count ? view->total : view->count;
    st_node *root = st_result_begin(result, arena);
    st_put_ns(root, "length_ns", view->length_ns);
    st_put_count(root, "tasks", total);
    st_say(root, "critical path of %s, %zu tasks; the largest contributions in order of time\n\n",
           st_ms_text(view->length_ns, text, TEXT), total);
    st_table *table = st_say_columns(root, ">begins|>adds|>share|>rank|on|category|*task|after");
    st_node *rows = st_put_list(root, "path");
    for (size_t i = 0; i < view->count; i++) {
        int64_t adds_ns = view->rows[i].adds_ns;
        if (adds_ns < least_ns || (adds_ns == least_ns && equal == 0))
            continue;
        equal -= adds_ns == least_ns;
        const st_path_row *row = &view->rows[i];
        st_node *node = st_put_line_map(rows, NULL);
        const char *name = row->task.name[0] != '\0' ? row->task.name : row->task.category_name;
        st_put_ns(node, "start_ns", row->start_ns);
        st_put_ns(node, "end_ns", row->end_ns);
        st_put_ns(node, "adds_ns", row->adds_ns);
        st_put_count(node, "rank", row->task.rank);
        st_put_text(node, "on", row->resource);
        st_put_text(node, "category", row->task.category_name);
        st_put_text(node, "name", name);
        st_put_text_or_null(node, "why", row->why);
        st_put_ms(node, ".start", row->start_ns);
        st_put_ms(node, ".adds", row->adds_ns);
        st_put_share(node, ".share", row->adds_ns, view->length_ns);
        st_put_short(node, ".name", name, full_names);
        shown_ns += adds_ns;
        shown++;
    }
    st_table_show(table, rows, ".start,.adds,.share,rank,on,category,.name,why");
    st_put_count(root, "others", total - shown);
    st_put_ns(root, "others_ns", view->length_ns - shown_ns);
    st_say(root, "  %zu others add %s\n", total - shown,
           st_ms_text(view->length_ns - shown_ns, text, TEXT));
    st_result_csv(result, "path", "start_ns,end_ns,adds_ns,rank,on,category,name,why");
}
