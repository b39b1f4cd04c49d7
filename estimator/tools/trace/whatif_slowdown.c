/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if with interference: kernels that ran concurrently with collectives were recorded slowed.
 * Their times alone are found from the slowdown that is said to have held; the replay slows them
 * anew, where and as long as they run concurrently with a collective after the change.
 */
#include "trace/whatif.h"

#include "steptime/quantity.h"
#include "trace/busy.h"
#include "steptime/tool/graph_arrays.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>

static size_t rank_of(const st_graph *graph, st_task_id task)
{
    return st_graph_rank_index(graph, st_graph_task(graph, task).resource);
}

/* The spans of all ranks with work of a kind, as the replay that ran has them; NULL when out of
 * memory. */
static st_busy_spans *find_spans(const st_whatif *w, st_work work)
{
    const st_graph *graph = w->graph->graph;
    size_t count = st_graph_rank_count(graph);
    st_busy_spans *ranks = st_xalloc(w->arena, count + 1, sizeof *ranks);
    for (size_t i = 0; i < st_graph_task_count(graph); i++)
        ranks[rank_of(graph, (st_task_id)i)].count +=
            st_graph_work(graph, (st_task_id)i) == work ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        ranks[i].items = st_xalloc(w->arena, ranks[i].count + 1, sizeof *ranks[i].items);
        ranks[i].count = 0;
    }
    for (size_t i = 0; i < st_graph_task_count(graph); i++) {
        st_busy_spans *list = &ranks[rank_of(graph, (st_task_id)i)];
        if (st_graph_work(graph, (st_task_id)i) != work)
            continue;
        st_task_time time = st_replay_task(w->replay, (st_task_id)i);
        list->items[list->count++] =
            (st_busy_span){.start_ns = time.start_ns, .end_ns = time.end_ns};
    }
    for (size_t i = 0; i < count; i++)
        st_busy_spans_merge(&ranks[i]);
    return ranks;
}

/* What slows, and what is slowed by it. */
typedef struct interference {
    st_whatif_key key;
    st_work by;
    st_work slowed;
    const char *by_name;
    const char *slowed_name;
} interference;

static const interference interferences[] = {
    {ST_WHATIF_SLOWDOWN, ST_WORK_COMMUNICATION, ST_WORK_COMPUTE, "a collective", "task"},
    {ST_WHATIF_SLOWED_COLLECTIVES, ST_WORK_COMPUTE, ST_WORK_COMMUNICATION, "computation",
     "collective"},
};

/* A collective waits for other ranks before it transfers; only the transfer is slowed. */
static int64_t start_of(const st_graph *graph, st_task_id task, st_task_time time)
{
    int64_t work_ns = st_graph_task(graph, task).duration_ns;
    return time.end_ns - time.start_ns > work_ns ? time.end_ns - work_ns : time.start_ns;
}

/* Both kinds by the replay as recorded, whose times stay what they were. */
void st_whatif_relieve(st_whatif *w)
{
    for (size_t i = 0; i < ST_COUNT(interferences); i++) {
        const interference *kind = &interferences[i];
        double slowdown = w->values.have[kind->key];
        char factor[ST_QUANTITY_TEXT];
        if (!(slowdown > 1))
            continue;
        const st_busy_spans *ranks = find_spans(w, kind->by);
        /* How many tasks were slowed. */
        const st_graph *graph = w->graph->graph;
        double relieve_slowdown = w->values.have[kind->key];
        size_t relieved = 0;
        for (st_task_id task = 0; task < st_graph_task_count(graph); task++) {
            if (st_graph_work(graph, task) != kind->slowed)
                continue;
            st_task_time time = st_replay_task(w->replay, task);
            const st_busy_spans *list = &ranks[rank_of(graph, task)];
            int64_t overlap_ns = st_busy_spans_until(list, time.end_ns) -
                                 st_busy_spans_until(list, start_of(graph, task, time));
            if (overlap_ns > 0) {
                double less_ns = (double)overlap_ns * (1 - 1 / relieve_slowdown);
                st_whatif_set_ns(
                    w, task, st_graph_task(graph, task).duration_ns - (int64_t)llround(less_ns));
                relieved++;
            }
        }
        st_whatif_note(w, "%zu %s%s ran alongside %s and %s taken to have been slowed %s times",
                       relieved, kind->slowed_name, relieved == 1 ? "" : "s", kind->by_name,
                       relieved == 1 ? "is" : "are",
                       st_number_format(slowdown, factor, sizeof factor));
    }
}

static double rate_overlapped(void *self, const st_graph *graph, st_task_id task,
                              const st_task_id *others, size_t count)
{
    const st_whatif *w = self;
    st_work work = st_graph_work(graph, task);
    double rate = 1;
    for (size_t k = 0; k < ST_COUNT(interferences); k++) {
        const interference *kind = &interferences[k];
        bool slowed = false;
        for (size_t i = 0; i < count && work == kind->slowed; i++)
            slowed = slowed || st_graph_work(graph, others[i]) == kind->by;
        rate /= slowed ? w->values.set[kind->key] : 1;
    }
    return rate;
}

void st_whatif_replay(st_whatif *w)
{
    bool slows = false;
    st_rate_rule rule = {.rate = rate_overlapped, .self = w};
    for (size_t k = 0; k < ST_COUNT(interferences); k++)
        slows = slows || w->values.set[interferences[k].key] > 1;
    st_note(&w->status, slows ? st_replay_run_rates(w->replay, &rule, w->errors)
                              : st_replay_run(w->replay, w->errors));
}
