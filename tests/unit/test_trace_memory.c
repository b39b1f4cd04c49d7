/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading, replaying and changing a trace does when memory runs out: every allocation fails
 * once, then all from one on. Each time the process ends and says why, or the library returns the
 * failure; never is there a result.
 */
#include "../support/faults.h"
#include "trace/trace.h"
#include "trace_support.h"

#include "job/files.h"
#include "trace/sql.h"
#include "trace/trace_export.h"
#include "trace/trace_replay.h"
#include "trace/view.h"

#include <sys/wait.h>
#include <unistd.h>

/* Two ranks that meet, an exact and an inferred wait, a sync and a step. */
static char *make_trace(int rank)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    fprintf(stream, "{\"distributedInfo\":{\"rank\":%d,\"world_size\":2},\"traceEvents\":[", rank);
    fprintf(stream, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":"
                    "1,\"tid\":1,\"ts\":1,\"dur\":900}");
    for (int i = 0; i < 12; i++) {
        const char *name = i == 5       ? "ncclB"
                           : i % 3 == 0 ? "gemm"
                           : i % 3 == 1 ? "add\\u00e9"
                                        : "mul";
        fprintf(stream,
                ",\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,"
                "\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%d}}",
                i == 4 ? "cudaStreamWaitEvent" : "cudaLaunchKernel", 1 + i / 9, 20 + 40 * i,
                60 + i);
        if (i != 4)
            fprintf(stream,
                    ",\n{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":%d,"
                    "\"ts\":%d,"
                    "\"dur\":10,\"args\":{\"correlation\":%d,\"stream\":%d,\"Collective name\":"
                    "\"allreduce\"}}",
                    name, i == 5 ? 20 : 7, 30 + 40 * i, 60 + i, i == 5 ? 20 : 7);
    }
    fprintf(stream,
            ",\n{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Sync\",\"pid\":0,\"tid\":7,"
            "\"ts\":505,\"dur\":1,\"args\":{\"stream\":7,\"correlation\":90}}");
    fprintf(stream, ",\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaStreamSynchronize\","
                    "\"pid\":1,\"tid\":2,\"ts\":500,\"dur\":30,\"args\":{\"correlation\":90}}]}");
    assert_int_equal(fclose(stream), 0);
    return text;
}

static st_status write_view(const char *file, const st_trace_set *set, st_arena *arena,
                            st_buffer *buffer)
{
    st_sql_question question = {.is_view = true};
    st_result result;
    st_status status = st_file_embedded(file, arena, &question.text) ? ST_OK : ST_ERR_MEMORY;
    if (status == ST_OK)
        status = st_sql_ask(&question, set, arena, &result, NULL);
    if (status == ST_OK)
        st_result_write_text(&result, &(st_paint){0}, buffer);
    return status;
}

/* All views. */
static st_status look(const st_trace_set *set, st_arena *arena, st_buffer *buffer)
{
    st_idle_rank *idle = NULL;
    st_result result;
    st_view_idle(set, arena, &idle);
    st_view_idle_result(idle, set->count, arena, &result);
    st_result_write_text(&result, &(st_paint){0}, buffer);
    st_status status = write_view("views/kernels.sql", set, arena, buffer);
    return status == ST_OK ? write_view("views/collectives.sql", set, arena, buffer) : status;
}

static st_status replay_and_report(st_trace_graph *graph, st_arena *arena, st_buffer *buffer)
{
    static const char *const sets[] = {"speed.gemm=2"};
    st_trace_replay_report report;
    st_trace_outcome outcome;
    st_trace_change change = {.sets = sets, .set_count = 1, .keep_times = true};
    st_replay *replay = st_replay_create(graph->graph);
    st_status status =
        replay == NULL ? ST_ERR_MEMORY : st_trace_replay_make(graph, replay, arena, &report, NULL);
    if (status == ST_OK) {
        st_result result;
        st_trace_replay_result(&report, arena, &result);
        st_result_write_text(&result, &(st_paint){0}, buffer);
        status = look(graph->set, arena, buffer);
    }
    if (status == ST_OK)
        status = st_trace_whatif(graph, &change, arena, &outcome, NULL);
    st_trace_export asked = {.set = graph->set,
                             .graph = graph,
                             .before = &outcome.times_before,
                             .after = &outcome.times_after};
    st_export_map map;
    if (status == ST_OK)
        st_export_map_make(&asked, 0, arena, &map);
    st_replay_destroy(replay);
    return status;
}

/* All that `steptime trace` does with two ranks. */
static st_status run_all(const char *const *texts)
{
    st_trace *ranks[2] = {NULL, NULL};
    st_trace_graph *graph = NULL;
    st_trace_report report;
    st_buffer buffer = {0};
    st_status status = ST_OK;
    st_trace_set set = {.ranks = ranks, .count = 2, .world_size = 2};
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < 2 && status == ST_OK; i++)
        status = st_trace_read_memory("t", texts[i], strlen(texts[i]), NULL, &ranks[i], NULL);
    if (status == ST_OK) {
        st_result result;
        st_trace_report_make(&set, 3, arena, &report, NULL);
        st_trace_summary_result(&report, arena, &result);
        st_result_write_text(&result, &(st_paint){0}, &buffer);
        status = st_trace_graph_make(&set, &graph, NULL);
    }
    if (status == ST_OK)
        status = replay_and_report(graph, arena, &buffer);
    if (status == ST_OK && buffer.failed)
        status = ST_ERR_MEMORY;
    st_buffer_free(&buffer);
    st_trace_graph_destroy(graph);
    st_trace_destroy(ranks[0]);
    st_trace_destroy(ranks[1]);
    st_arena_destroy(arena);
    return status;
}

/* What a process ends with; the tool itself ends with 1 and says why. */
enum { TOOL_ENDED = 1, DONE = 20, OUT_OF_MEMORY, WRONG };

/* In a process of its own, which may end. */
static int run_with_fault(const char *const *texts, int at, bool is_lasting, char said[64])
{
    int ends[2];
    int code = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        set_fault(at, is_lasting);
        arm();
        st_status status = run_all(texts);
        disarm();
        bool is_done = status == ST_OK && fault.failed == 0;
        bool is_refused = status == ST_ERR_MEMORY && fault.failed > 0;
        _exit(is_done ? DONE : is_refused ? OUT_OF_MEMORY : WRONG);
    }
    (void)close(ends[1]);
    ssize_t length = read(ends[0], said, 63);
    said[length > 0 ? length : 0] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &code, 0), child);
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

static void fail_each(const char *const *texts, bool is_lasting)
{
    int at = 0;
    int code = 0;
    size_t ended = 0;
    for (; code != DONE && at < MOST_ALLOCATIONS; at++) {
        char said[64];
        code = run_with_fault(texts, at, is_lasting, said);
        if (code == TOOL_ENDED)
            assert_string_equal(said, "error: out of memory\n");
        else if (code != DONE && code != OUT_OF_MEMORY)
            fail_msg("allocation %d: ended with %d: %s", at, code, said);
        ended += code == TOOL_ENDED;
    }
    assert_true(ended > 50 && at < MOST_ALLOCATIONS);
}

static void test_every_allocation(void **state)
{
    char *texts[2] = {make_trace(0), make_trace(1)};
    const char *const given[2] = {texts[0], texts[1]};
    (void)state;
    assert_int_equal(run_all(given), ST_OK);
    fail_each(given, false);
    fail_each(given, true);
    free(texts[0]);
    free(texts[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation),
    };
    return cmocka_run_group_tests_name("trace_memory", tests, NULL, NULL);
}
