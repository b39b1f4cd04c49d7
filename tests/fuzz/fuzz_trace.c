/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace of any bytes, whole and in part. What is read is in order, names what exists, and adds
 * up: the four parts of a rank's time are its window, causes its idle time, and parts of a tree or
 * of memory their whole. Its graph, if it has GPU work, replays.
 */
#include "fuzz.h"
#include "job/files.h"
#include "trace/sql.h"
#include "trace/view.h"

#include <stdlib.h>

static void check_trace(const st_trace *trace)
{
    size_t counted = 0;
    for (int i = 0; i < ST_TRACE_KINDS; i++)
        counted += trace->kind_counts[i];
    FUZZ_REQUIRE(counted == trace->event_count);
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        FUZZ_REQUIRE(event->duration_ns >= 0);
        FUZZ_REQUIRE(event->name < trace->name_count && event->track < trace->track_count);
        FUZZ_REQUIRE(i == 0 || trace->events[i - 1].start_ns <= event->start_ns);
    }
}

static void check_summary(const st_trace *trace)
{
    st_trace_summary summary;
    st_arena *arena = st_arena_create();
    FUZZ_REQUIRE(arena != NULL);
    st_trace_summarize(trace, arena, &summary);
    const st_trace_breakdown *time = &summary.time;
    FUZZ_REQUIRE(time->exposed_compute_ns >= 0 && time->exposed_communication_ns >= 0);
    FUZZ_REQUIRE(time->overlapped_ns >= 0 && time->idle_ns >= 0);
    FUZZ_REQUIRE(time->exposed_compute_ns + time->exposed_communication_ns + time->overlapped_ns +
                     time->idle_ns ==
                 time->window_ns);
    for (size_t i = 0; i < summary.period_count; i++)
        FUZZ_REQUIRE(summary.utilization_frac[i] >= 0 && summary.utilization_frac[i] <= 1);
    st_arena_destroy(arena);
}

/* Dependencies of a trace that contradicts itself may form a cycle; then that is said. */
static void check_graph(st_trace *trace, st_errors *errors)
{
    st_trace_set set = {.ranks = &trace, .count = 1, .world_size = -1};
    st_trace_graph *graph = NULL;
    st_status status = st_trace_graph_make(&set, &graph, errors);
    FUZZ_REQUIRE((status == ST_OK) == (graph != NULL));
    if (graph == NULL)
        return;
    st_replay *replay = st_replay_create(graph->graph);
    st_trace_breakdown time;
    FUZZ_REQUIRE(replay != NULL);
    if (st_replay_run(replay, errors) == ST_OK)
        st_trace_replay_rank(graph, replay, 0, &time);
    st_replay_destroy(replay);
    st_trace_graph_destroy(graph);
}

static void check_idle(const st_trace_set *set, st_arena *arena)
{
    st_idle_rank *ranks = NULL;
    st_view_idle(set, arena, &ranks);
    for (size_t i = 0; i <= ranks->stream_count; i++) {
        const st_idle *idle = i < ranks->stream_count ? &ranks->streams[i] : &ranks->gpu;
        int64_t sum_ns = 0;
        for (int k = 0; k < ST_IDLE_CAUSES; k++) {
            FUZZ_REQUIRE(idle->causes_ns[k] >= 0);
            sum_ns += idle->causes_ns[k];
        }
        FUZZ_REQUIRE(sum_ns == idle->idle_ns && sum_ns <= ranks->window_ns);
    }
}

static void check_tree(const st_trace_set *set, st_tree_by by, st_arena *arena, st_errors *errors)
{
    st_tree tree;
    if (st_view_tree(set, by, false, arena, &tree, errors) != ST_OK)
        return;
    for (size_t i = 0; i < tree.count; i++) {
        const st_tree_node *node = &tree.nodes[i];
        FUZZ_REQUIRE(node->gpu_ns >= node->self_ns && node->self_ns >= 0);
        FUZZ_REQUIRE(i == 0 ? node->parent == ST_TRACE_NONE : node->parent < i);
        FUZZ_REQUIRE(tree.order[i] < tree.count);
    }
}

static void check_views(st_trace *trace, st_errors *errors)
{
    st_trace_set set = {.ranks = &trace, .count = 1, .world_size = -1};
    st_arena *arena = st_arena_create();
    static const char *const views[] = {"views/kernels.sql", "views/collectives.sql"};
    st_sql_question question = {.is_view = true};
    st_result result;
    st_memory_view memory;
    FUZZ_REQUIRE(arena != NULL);
    check_idle(&set, arena);
    for (int by = 0; by < ST_TREE_BYS; by++)
        check_tree(&set, (st_tree_by)by, arena, errors);
    for (size_t i = 0; i < ST_COUNT(views); i++) {
        FUZZ_REQUIRE(st_file_embedded(views[i], arena, &question.text));
        FUZZ_REQUIRE(st_sql_ask(&question, &set, arena, &result, errors) == ST_OK);
    }
    (void)!st_view_memory(&set, arena, &memory, errors);
    st_errors_clear(errors);
    if (st_trace_cut_steps(&set, "5", errors) == ST_OK) {
        check_trace(trace);
        check_summary(trace);
    }
    st_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    bool whole = false;
    for (int partial = 0; partial < 2; partial++) {
        st_trace *trace = NULL;
        st_trace_options options = {.partial = partial == 1, .details = true};
        st_errors *errors = st_errors_create();
        FUZZ_REQUIRE(errors != NULL);
        st_status status = st_trace_read_memory("input", text, size, &options, &trace, errors);
        fuzz_check_errors(status, errors);
        FUZZ_REQUIRE((status == ST_OK) == (trace != NULL));
        FUZZ_REQUIRE(!whole || status == ST_OK); /* --partial refuses nothing that is sound */
        whole = status == ST_OK;
        if (trace != NULL) {
            check_trace(trace);
            check_summary(trace);
            check_graph(trace, errors);
            check_views(trace, errors);
        }
        st_trace_destroy(trace);
        st_errors_destroy(errors);
    }
    free(text);
    return 0;
}
