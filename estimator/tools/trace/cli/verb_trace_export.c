/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace export */
#include "trace/cli/verbs.h"
#include "trace/cli/traces.h"
#include "trace/bytes.h"
#include "trace/trace_replay.h"
#include "trace/xalloc.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

typedef struct export_options {
    cli_texts have;
    cli_texts removed;
    const char *folder;
    bool no_delays;
    bool critical;
} export_options;

static const cli_option rows[] = {
    CLI_TEXTS(cli_common, sets, "set", "KEY=VALUE",
              "change the recorded step first, as 'trace whatif' does; may be repeated",
              .word = CLI_WORD_KEY, .common = true),
    CLI_TEXTS(export_options, have, "have", "KEY=VALUE",
              "value that the recorded job had, if the trace lacks it; may be repeated",
              .word = CLI_WORD_KEY),
    CLI_TEXTS(export_options, removed, "remove", "PATTERN",
              "kernels that are not launched; may be repeated"),
    CLI_FLAG(export_options, no_delays, "no-delays",
             "replay by dependencies alone, without unexplained delays"),
    CLI_FLAG(export_options, critical, "critical",
             "add a process that shows the critical path of each rank"),
    CLI_TEXT(export_options, folder, "folder", "DIR",
             "write one compressed file for each rank into DIR instead of one file",
             .word = CLI_WORD_FOLDER),
    CLI_ROW_PARTIAL,
    CLI_ROW_OUTPUT,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace export traces/ -o step.json.gz", "open it in ui.perfetto.dev"},
    {"steptime trace export traces/ --critical -o path.json", "with the critical path"},
    {"steptime trace export traces/ --set speed.gemm=2 --folder faster/",
     "the step as it would be"},
    {NULL, NULL},
};

/* ---- when tasks run ---- */

static st_status replay_times(cli_run *run, st_trace_graph *graph, bool delays,
                              st_trace_times *times)
{
    st_replay *replay = st_xmemory(st_replay_create(graph->graph));
    st_status status = st_trace_graph_delays(graph, delays, run->errors);
    if (status == ST_OK)
        status = st_replay_run(replay, run->errors);
    if (status == ST_OK)
        status = st_replayed_times(graph, replay, run->arena, times, run->errors);
    st_replay_destroy(replay);
    return status;
}

static st_status find_times(cli_run *run, st_trace_graph *graph, st_trace_outcome *outcome,
                            st_trace_export *asked)
{
    const export_options *options = run->options;
    if (run->common.sets.count + options->removed.count > 0) {
        asked->before = &outcome->times_before;
        asked->after = &outcome->times_after;
        st_trace_change change = {.have = options->have.items,
                                  .have_count = options->have.count,
                                  .sets = run->common.sets.items,
                                  .set_count = run->common.sets.count,
                                  .removed = options->removed.items,
                                  .removed_count = options->removed.count,
                                  .keep_times = true};
        if (options->no_delays)
            return cli_wrong_use(run, "--no-delays with --set or --remove", "give one of them");
        st_status time_status = st_trace_whatif(graph, &change, run->arena, outcome, run->errors);
        if (time_status == ST_OK && outcome->times_after.tasks == NULL)
            time_status =
                st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = "--set"}, CLI_NO_NEW_THREADS);
        return time_status;
    }
    if (!options->no_delays && !options->critical)
        return ST_OK;
    st_status status = replay_times(run, graph, true, &outcome->times_before);
    asked->after = &outcome->times_before;
    if (status == ST_OK && options->no_delays) {
        status = replay_times(run, graph, false, &outcome->times_after);
        asked->before = &outcome->times_before;
        asked->after = &outcome->times_after;
    }
    return status;
}

/* ---- files ---- */

static st_status write_folder(cli_run *run, const st_trace_export *asked)
{
    const export_options *options = run->options;
    const st_trace_set *set = asked->set;
    st_status status = ST_OK;
    if (mkdir(options->folder, 0777) != 0 && errno != EEXIST)
        return st_fail(run->errors, ST_ERR_IO, (st_place){.file = options->folder},
                       "cannot make the folder: %s", strerror(errno));
    for (size_t i = 0; i < set->count && status == ST_OK; i++) {
        int64_t rank = set->ranks[i]->rank;
        st_buffer text = {0};
        const char *path = st_xprintf(run->arena, "%s/rank%lld.json.gz", options->folder,
                                      rank < 0 ? (long long)i : (long long)rank);
        status = st_trace_export_rank(asked, i, &text, run->errors);
        if (status == ST_OK)
            status = st_gzip(&text, run->errors);
        if (status == ST_OK)
            status = cli_write_file(run, path, &text);
        st_buffer_free(&text);
    }
    return status;
}

/* For another replay, and for the clocks of ranks in one file. */
static bool needs_graph(const cli_run *run, const st_trace_set *set)
{
    const export_options *options = run->options;
    return options->no_delays || options->critical || options->removed.count > 0 ||
           run->common.sets.count > 0 || (options->folder == NULL && set->count > 1);
}

static int run_export(cli_run *run)
{
    const export_options *options = run->options;
    st_trace_set *set = NULL;
    st_trace_graph *graph = NULL;
    st_trace_outcome outcome = {0};
    st_trace_export asked = {.critical = options->critical, .partial = run->common.partial};
    st_status status = ST_OK;
    if (options->folder != NULL && run->common.output != NULL)
        status = cli_wrong_use(run, "--folder and --output", "give one of them");
    if (status == ST_OK)
        status = cli_read_traces(run, CLI_TRACE_OPERATORS, &set);
    if (status == ST_OK && needs_graph(run, set))
        status = st_trace_graph_make(set, &graph, run->errors);
    asked.set = set;
    asked.graph = graph;
    if (status == ST_OK)
        status = find_times(run, graph, &outcome, &asked);
    if (status == ST_OK)
        status = options->folder != NULL
                     ? write_folder(run, &asked)
                     : cli_make_trace(run, &asked, run->common.output, &run->result);
    st_trace_graph_destroy(graph);
    st_trace_set_destroy(set);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_trace_export = {
    .name = "trace export",
    CLI_TAKES_TRACES,
    .summary = "write a recorded step as a trace, as it is or changed",
    .doc =
        "The trace opens in Perfetto (ui.perfetto.dev) and chrome://tracing, and 'steptime trace' "
        "reads it. It has all events of the recording, with their times after a change. Several "
        "ranks become one file with a process for each, or with --folder one file for each. A name "
        "that ends in .gz compresses it.",
    .examples = examples,
    .options = rows,
    .options_bytes = sizeof(export_options),
    .run = run_export,
};
