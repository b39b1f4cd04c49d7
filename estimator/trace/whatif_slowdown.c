/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if with interference: kernels that ran concurrently with collectives were recorded slowed.
 * Their times alone are found from the slowdown that is said to have held; the replay slows them
 * anew, where and as long as they run concurrently with a collective after the change.
 */
#include "trace/whatif.h"

#include "steptime/quantity.h"
#include "schedule/graph_internal.h"

#include <math.h>
#include <stdlib.h>

/* When a rank communicates: times in order that do not touch. */
typedef struct span {
    int64_t start_ns;
    int64_t end_ns;
    int64_t before_ns; /* all spans before it */
} span;

typedef struct spans {
    span *items;
    size_t count;
} spans;

static int by_start(const void *a, const void *b)
{
    const span *left = a;
    const span *right = b;
    return ST_ORDER(left->start_ns, right->start_ns);
}

static size_t rank_of(const st_graph *graph, st_task_id task)
{
    return graph->resources[graph->resource[task]].rank_index;
}

static void merge(spans *list)
{
    size_t kept = 0;
    if (list->count == 0)
        return;
    qsort(list->items, list->count, sizeof *list->items, by_start);
    for (size_t i = 0; i < list->count; i++) {
        span *last = kept > 0 ? &list->items[kept - 1] : NULL;
        if (last != NULL && list->items[i].start_ns <= last->end_ns)
            last->end_ns =
                list->items[i].end_ns > last->end_ns ? list->items[i].end_ns : last->end_ns;
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
    for (size_t i = 1; i < kept; i++) {
        const span *before = &list->items[i - 1];
        list->items[i].before_ns = before->before_ns + before->end_ns - before->start_ns;
    }
}

/* Communication of a rank from the start of the replay to a moment. */
static int64_t until(const spans *list, int64_t at_ns)
{
    size_t low = 0;
    size_t high = list->count;
    while (low < high) { /* the first span that starts at or behind it */
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].start_ns < at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    const span *last = &list->items[low - 1];
    int64_t end_ns = last->end_ns < at_ns ? last->end_ns : at_ns;
    return last->before_ns + end_ns - last->start_ns;
}

/* The spans of all ranks, as the replay that ran has them; the caller frees items. */
static st_status find_spans(const st_whatif *w, spans *ranks)
{
    const st_graph *graph = w->graph->graph;
    size_t tasks = st_graph_task_count(graph);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < tasks; i++) {
            spans *list = &ranks[rank_of(graph, (st_task_id)i)];
            if (st_graph_work(graph, (st_task_id)i) != ST_WORK_COMMUNICATION)
                continue;
            st_task_time time = st_replay_task(w->replay, (st_task_id)i);
            if (round == 1 && list->items != NULL)
                list->items[list->count] = (span){.start_ns = time.start_ns, .end_ns = time.end_ns};
            list->count++;
        }
        for (size_t i = 0; i < st_graph_rank_count(graph) && round == 0; i++) {
            ranks[i].items = calloc(ranks[i].count + 1, sizeof *ranks[i].items);
            if (ranks[i].items == NULL)
                return ST_ERR_MEMORY;
            ranks[i].count = 0;
        }
    }
    for (size_t i = 0; i < st_graph_rank_count(graph); i++)
        merge(&ranks[i]);
    return ST_OK;
}

static st_status relieve(st_whatif *w, const spans *ranks, double slowdown)
{
    st_graph *graph = w->graph->graph;
    st_status status = ST_OK;
    for (size_t i = 0; i < st_graph_task_count(graph) && status == ST_OK; i++) {
        st_task_id task = (st_task_id)i;
        if (st_graph_work(graph, task) != ST_WORK_COMPUTE)
            continue;
        st_task_time time = st_replay_task(w->replay, task);
        const spans *list = &ranks[rank_of(graph, task)];
        int64_t beside_ns = until(list, time.end_ns) - until(list, time.start_ns);
        if (beside_ns > 0) {
            double less_ns = (double)beside_ns * (1 - 1 / slowdown);
            status = st_graph_set_duration(
                graph, task, graph->duration_ns[task] - (int64_t)llround(less_ns), w->errors);
            w->relieved++;
        }
    }
    return status;
}

st_status st_whatif_relieve(st_whatif *w)
{
    double slowdown = w->values.have[ST_KEY_SLOWDOWN];
    size_t count = st_graph_rank_count(w->graph->graph);
    if (!(slowdown > 1))
        return ST_OK;
    spans *ranks = calloc(count + 1, sizeof *ranks);
    st_status status = ranks == NULL ? ST_ERR_MEMORY : find_spans(w, ranks);
    if (status == ST_OK)
        status = relieve(w, ranks, slowdown);
    for (size_t i = 0; ranks != NULL && i < count; i++)
        free(ranks[i].items);
    free(ranks);
    char factor[ST_QUANTITY_TEXT];
    if (status == ST_OK)
        status = st_whatif_note(
            w, "%zu %s ran alongside a collective and %s taken to have been slowed %s times",
            w->relieved, w->relieved == 1 ? "task" : "tasks", w->relieved == 1 ? "is" : "are",
            st_number_format(slowdown, factor, sizeof factor));
    return status;
}

static double rate_beside(void *self, const st_graph *graph, st_task_id task,
                          const st_task_id *beside, size_t count)
{
    const double *slowdown = self;
    if (st_graph_work(graph, task) != ST_WORK_COMPUTE)
        return 1;
    for (size_t i = 0; i < count; i++)
        if (st_graph_work(graph, beside[i]) == ST_WORK_COMMUNICATION)
            return 1 / *slowdown;
    return 1;
}

st_status st_whatif_replay(st_whatif *w)
{
    double slowdown = w->values.set[ST_KEY_SLOWDOWN];
    if (!(slowdown > 1))
        return st_replay_run(w->replay, w->errors);
    st_rate_rule rule = {.rate = rate_beside, .self = &slowdown};
    return st_replay_run_rates(w->replay, &rule, w->errors);
}
