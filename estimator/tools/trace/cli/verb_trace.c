/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace summary, trace graph, trace replay */
#include "trace/cli/verbs.h"
#include "trace/cli/traces.h"
#include "trace/trace_replay.h"
#include "trace/xalloc.h"

#include <stdlib.h>

enum { MOST_TOP = 100000 };

typedef struct summary_options {
    uint64_t top;
    bool full_names;
    const char *svg;
} summary_options;

static const cli_option summary_rows[] = {
    CLI_ROW_STEPS,
    CLI_ROW_PARTIAL,
    CLI_COUNT(summary_options, top, "top", 0, MOST_TOP, "how many kernels to list", .initial = "5"),
    CLI_FLAG(summary_options, full_names, "full-names",
             "show whole names of kernels; JSON always has them"),
    CLI_RESULT(summary_options, svg, "svg", "draw the streams of up to 16 ranks into FILE"),
    CLI_ROW_JSON,
    CLI_ROW_CSV,
    CLI_ROW_OUTPUT,
    CLI_END,
};

static const cli_example summary_examples[] = {
    {"steptime trace summary rank0.pt.trace.json.gz", "one rank"},
    {"steptime trace summary traces/ --json", "every rank in a folder"},
    {"steptime trace summary traces/ --steps 2..4", "what runs in these steps"},
    {"steptime trace summary cut.json --partial", "a file that ends in the middle"},
    {NULL, NULL},
};

static const cli_option graph_rows[] = {
    CLI_ROWS_TRACES,
    CLI_END,
};

static const cli_example graph_examples[] = {
    {"steptime trace graph traces/", "how many dependencies are certain"},
    {NULL, NULL},
};

static const cli_example replay_examples[] = {
    {"steptime trace replay traces/", "every rank of a job, collectives coupled"},
    {"steptime trace replay rank0.json.gz --json", "one rank alone"},
    {NULL, NULL},
};

static st_status view_summary(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const summary_options *options = run->options;
    st_trace_report report = {0};
    st_trace_report_make(recorded->set, (size_t)options->top, run->arena, &report, run->errors);
    report.full_names = options->full_names;
    if (options->svg != NULL)
        st_view_streams_svg(recorded->set, cli_make_file(run, options->svg));
    st_trace_summary_result(&report, run->arena, result);
    return ST_OK;
}

static st_status view_graph(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    st_trace_graph_result(recorded->graph, run->arena, result);
    return ST_OK;
}

static st_status view_replay(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    st_replay *replay = st_xmemory(st_replay_create(recorded->graph->graph));
    st_trace_replay_report report;
    st_status status =
        st_trace_replay_make(recorded->graph, replay, run->arena, &report, run->errors);
    if (status == ST_OK)
        st_trace_replay_result(&report, run->arena, result);
    st_replay_destroy(replay);
    return status;
}

const cli_verb cli_verb_trace_graph = {
    .name = "trace graph",
    CLI_VIEWS_TRACES(CLI_TRACE_GRAPH, view_graph),
    .summary = "show what waits for what in a recorded step",
    .doc = "Builds the task graph of the ranks and counts its dependencies: exact where the trace "
           "has ids for them, inferred from the order of calls where it has none, contradicted, "
           "and left out, where the recorded times rule an inferred one out.",
    .examples = graph_examples,
    .options = graph_rows,
};

const cli_verb cli_verb_trace_replay = {
    .name = "trace replay",
    CLI_VIEWS_TRACES(CLI_TRACE_GRAPH, view_replay),
    .summary = "replay the task graph of a recorded step",
    .doc = "Replays the ranks together, with coupled collectives, and compares the breakdown of "
           "time with the recording: with the unexplained delays of tasks, and by dependencies "
           "alone. The right length alone proves little: docs/traces.md explains why.",
    .examples = replay_examples,
    .options = graph_rows,
};

const cli_verb cli_verb_trace_summary = {
    .name = "trace summary",
    CLI_VIEWS_TRACES(CLI_TRACE_CALLS, view_summary),
    .summary = "show what a recorded step spent its time on",
    .doc = "Reads traces of PyTorch's profiler (.json, .json.gz, one file per rank) and shows for "
           "each rank where the time of the GPU went, its kernels by class, its steps and its "
           "longest kernels. In a folder, it reads every such file. docs/traces.md explains the "
           "numbers.",
    .examples = summary_examples,
    .options = summary_rows,
    .options_bytes = sizeof(summary_options),
};
