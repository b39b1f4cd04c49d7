/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of steptime-trace, for the program and for callers in one process. */
#include "base/text.h"
#include "command/tool.h"
#include "steptime/tool/gpus.h"
#include "steptime/trace.h"
#include "trace/bytes.h"
#include "trace/cli/traces.h"
#include "trace/cli/verbs.h"
#include "trace/depend.h"
#include "trace/gpu_ratios.h"
#include "trace/link.h"
#include "trace/trace_replay.h"
#include "trace/view.h"
#include "trace/xalloc.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* steptime trace export */

typedef struct export_options {
    cli_texts have;
    cli_texts removed;
    const char *folder;
    bool no_delays;
    bool critical;
} export_options;

static const cli_option export_rows[] = {
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

static const cli_verb verb_export = {
    .name = "trace export",
    CLI_TAKES_TRACES,
    .summary = "write a recorded step as a trace, as it is or changed",
    .doc =
        "The trace opens in Perfetto (ui.perfetto.dev) and chrome://tracing, and 'steptime trace' "
        "reads it. It has all events of the recording, with their times after a change. Several "
        "ranks become one file with a process for each, or with --folder one file for each. A name "
        "that ends in .gz compresses it.",
    .examples = CLI_EXAMPLES(
        {"steptime trace export traces/ -o step.json.gz", "open it in ui.perfetto.dev"},
        {"steptime trace export traces/ --critical -o path.json", "with the critical path"},
        {"steptime trace export traces/ --set speed.gemm=2 --folder faster/",
         "the step as it would be"}),
    CLI_OPTIONS(export_rows, export_options),
    .run = run_export,
};

/* steptime trace summary, trace graph, trace replay */

enum { MOST_TOP = 100000, MOST_STEPS_OF_PATH = 1000000, MOST_TRIED = 1000 };

/* Of the views; each has rows for some. */
typedef struct view_options {
    uint64_t top;
    bool full_names;
    bool simple;
    bool no_delays;
    const char *gpu;
    const char *svg;
} view_options;

static const cli_option summary_rows[] = {
    CLI_ROW_STEPS,
    CLI_ROW_PARTIAL,
    CLI_COUNT(view_options, top, "top", 0, MOST_TOP, "how many kernels to list", .initial = "5"),
    CLI_FLAG(view_options, full_names, "full-names",
             "show whole names of kernels; JSON always has them"),
    CLI_RESULT(view_options, svg, "svg", "draw the streams of up to 16 ranks into FILE"),
    CLI_ROW_JSON,
    CLI_ROW_CSV,
    CLI_ROW_OUTPUT,
    CLI_END,
};

static const cli_option graph_rows[] = {
    CLI_ROWS_TRACES,
    CLI_END,
};

static st_status view_summary(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const view_options *options = run->options;
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

static const cli_verb verb_graph = {
    .name = "trace graph",
    CLI_VIEWS_TRACES(CLI_TRACE_GRAPH, view_graph),
    .summary = "show what waits for what in a recorded step",
    .doc = "Builds the task graph of the ranks and counts its dependencies: exact where the trace "
           "has ids for them, inferred from the order of calls where it has none, contradicted, "
           "and left out, where the recorded times rule an inferred one out.",
    .examples = CLI_EXAMPLES({"steptime trace graph traces/", "how many dependencies are certain"}),
    .options = graph_rows,
};

static const cli_verb verb_replay = {
    .name = "trace replay",
    CLI_VIEWS_TRACES(CLI_TRACE_GRAPH, view_replay),
    .summary = "replay the task graph of a recorded step",
    .doc = "Replays the ranks together, with coupled collectives, and compares the breakdown of "
           "time with the recording: with the unexplained delays of tasks, and by dependencies "
           "alone. The right length alone proves little: docs/traces.md explains why.",
    .examples =
        CLI_EXAMPLES({"steptime trace replay traces/", "every rank of a job, collectives coupled"},
                     {"steptime trace replay rank0.json.gz --json", "one rank alone"}),
    .options = graph_rows,
};

static const cli_verb verb_summary = {
    .name = "trace summary",
    CLI_VIEWS_TRACES(CLI_TRACE_IDLE, view_summary),
    .summary = "show what a recorded step spent its time on",
    .doc = "Reads traces of PyTorch's profiler (.json, .json.gz, one file per rank) and shows for "
           "each rank where the time of the GPU went, its kernels by class, its steps and its "
           "longest kernels. In a folder, it reads every such file. docs/traces.md explains the "
           "numbers.",
    .examples = CLI_EXAMPLES(
        {"steptime trace summary rank0.pt.trace.json.gz", "one rank"},
        {"steptime trace summary traces/ --json", "every rank in a folder"},
        {"steptime trace summary traces/ --steps 2..4", "what runs in these steps"},
        {"steptime trace summary cut.json --partial", "a file that ends in the middle"}),
    CLI_OPTIONS(summary_rows, view_options),
};

/* steptime trace idle, trace kernels, trace collectives */

static const cli_option view_rows[] = {
    CLI_ROW_STEPS,
    CLI_ROWS_TRACES,
    CLI_END,
};

static const cli_option kernels_rows[] = {
    CLI_COUNT(view_options, top, "top", 1, MOST_TOP, "how many kernels to list, the longest",
              .initial = "20"),
    CLI_ROW_FULL_NAMES(view_options),
    CLI_ROW_STEPS,
    CLI_ROWS_TRACES,
    CLI_END,
};

static const cli_option idle_rows[] = {
    CLI_FLAG(view_options, simple, "simple",
             "each gap belongs to the cause that is seen before its task, without a replay"),
    CLI_ROW_STEPS,
    CLI_ROWS_TRACES,
    CLI_END,
};

static st_status view_idle(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    st_idle_rank *ranks = NULL;
    size_t count = st_view_idle(recorded->set, run->arena, &ranks);
    st_status status = ST_OK;
    const view_options *options = run->options;
    if (!options->simple)
        status = st_view_idle_causes(recorded->set, run->arena, ranks, count, run->errors);
    if (status == ST_OK)
        st_view_idle_result(ranks, count, run->arena, result);
    return status;
}

static st_status ask_view(cli_run *run, const char *name, const st_sql_value *values, size_t count,
                          const cli_recorded *recorded, st_result *result)
{
    st_sql_question question = {.is_view = true, .values = values, .value_count = count};
    st_status status = cli_read_view(run, name, &question.text);
    if (status == ST_OK)
        status = st_sql_ask(&question, recorded->set, run->arena, result, run->errors);
    return status;
}

static st_status view_kernels(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const view_options *options = run->options;
    const st_sql_value values[] = {{":top", (int64_t)options->top},
                                   {":full_names", options->full_names}};
    return ask_view(run, "kernels", values, ST_COUNT(values), recorded, result);
}

/* ---- trace roofline ---- */

static const cli_option roofline_rows[] = {
    CLI_TEXT(view_options, gpu, "gpu", "GPU",
             "the recorded GPU, where the recording does not name it"),
    CLI_COUNT(view_options, top, "top", 1, MOST_TOP,
              "how many to list, the most time above the achievable", .initial = "20"),
    CLI_ROW_FULL_NAMES(view_options),
    CLI_ROW_STEPS,
    CLI_ROWS_TRACES,
    CLI_END,
};

static st_status view_roofline(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const view_options *options = run->options;
    st_prices_request request = {0};
    st_prices *prices = NULL;
    size_t without = 0;
    size_t works = 0;
    const st_sql_value values[] = {{":top", (int64_t)options->top},
                                   {":full_names", options->full_names}};
    st_status status =
        cli_recorded_gpu(run, recorded->set, options->gpu, "--gpu NAME", &request.gpu);
    if (status == ST_OK)
        status = st_prices_open(run->paths, &request, run->arena, &prices, run->errors);
    if (status == ST_OK)
        status = st_recorded_work(recorded->set, prices, &without, run->errors);
    for (size_t i = 0; i < recorded->set->count && status == ST_OK; i++)
        works += recorded->set->work_counts[i];
    if (status == ST_OK && works == 0)
        return st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = recorded->set->ranks[0]->file},
                       "no kernel has an operator with shapes" ST_HINT
                       "record with torch.profiler.profile(record_shapes=True)");
    return status == ST_OK ? ask_view(run, "roofline", values, ST_COUNT(values), recorded, result)
                           : status;
}

static const cli_verb verb_roofline = {
    .name = "trace roofline",
    CLI_VIEWS_TRACES(CLI_TRACE_DETAILS, view_roofline),
    .summary = "compare recorded operators with the rates of their GPU",
    .doc = "For each operator and shape: time of its kernels, TFLOP/s and TB/s, the share of what "
           "the sheet kernels achieves on this GPU and of the data sheet's peak rates, and the "
           "time above the achievable, which is what a faster kernel could gain. Needs "
           "record_shapes=True.",
    .examples = CLI_EXAMPLES(
        {"steptime trace roofline traces/", "which shapes take longer than they must"},
        {"steptime trace roofline rank0.json.gz --gpu h100-sxm --csv", "for a spreadsheet"}),
    CLI_OPTIONS(roofline_rows, view_options),
};

static st_status view_collectives(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const st_trace_set *set = recorded->set;
    for (size_t r = 0; r < set->count; r++)
        for (size_t i = 0; i < set->ranks[r]->event_count; i++)
            if (st_trace_is_gpu(&set->ranks[r]->events[i]) &&
                set->ranks[r]->events[i].class_ == ST_TRACE_COMMUNICATION)
                return ask_view(run, "collectives", NULL, 0, recorded, result);
    return st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = set->ranks[0]->file},
                   "the trace has no collectives" ST_EXPECTED
                   "kernels of NCCL or RCCL, as ranks of a job run them");
}

static const cli_verb verb_idle = {
    .name = "trace idle",
    CLI_VIEWS_TRACES(CLI_TRACE_OPERATORS, view_idle),
    .summary = "show why a GPU was idle, and how far the host was ahead",
    .doc =
        "Shows how much of the idle time of each rank's GPU, and of each of its streams, a replay "
        "saves without host work (host-bound), without the host's waits for the GPU (sync), "
        "without waits for computation of another stream (dependency) or for collectives "
        "(communication), without lags of launches (launch), and without what has no known reason "
        "(unknown). Their sum and what is left of the idle time are shown. --simple divides gaps "
        "between these instead. Queue lengths and launch delays follow.",
    .examples = CLI_EXAMPLES(
        {"steptime trace idle rank0.json.gz", "why the GPU and its streams are idle"},
        {"steptime trace idle traces/ --steps 2..4", "only in steps 2 to 4 of each rank"}),
    CLI_OPTIONS(idle_rows, view_options),
};

static const cli_verb verb_kernels = {
    .name = "trace kernels",
    CLI_VIEWS_TRACES(CLI_TRACE_CALLS, view_kernels),
    .summary = "list the kernels of a recorded step, over all ranks",
    .doc =
        "Number, total, mean, least and most time of each kernel, copy and fill by its full name, "
        "and on which rank it takes longest.",
    .examples = CLI_EXAMPLES(
        {"steptime trace kernels traces/ --top 50", "the 50 longest over all ranks"},
        {"steptime trace kernels rank0.json.gz --csv -o kernels.csv", "for a spreadsheet"}),
    CLI_OPTIONS(kernels_rows, view_options),
};

static const cli_verb verb_collectives = {
    .name = "trace collectives",
    CLI_VIEWS_TRACES(CLI_TRACE_CALLS, view_collectives),
    .summary = "list the collectives of a recorded step, and late ranks",
    .doc = "Collectives by kind, group and message: how long their kernels last, the transfer from "
           "the arrival of the last rank on with its algorithm and bus bandwidth (as nccl-tests "
           "count them), and the skew between the first and the last arrival. Ranks follow, sorted "
           "by how much they delay all others. Values that the traces lack are 'unknown'.",
    .examples = CLI_EXAMPLES(
        {"steptime trace collectives traces/", "bandwidths, and which ranks the others wait for"}),
    .options = view_rows,
};

/* steptime trace breakdown */

typedef struct breakdown_options {
    unsigned by;
    uint64_t depth;
    double least;
    const char *svg;
    bool instances;
} breakdown_options;

static const cli_option tree_rows[] = {
    CLI_CHOICE(breakdown_options, by, "by", "WHAT", ST_TREE_WORDS,
               "module (nn.Module), annotation (record_function), stack (functions of Python) or "
               "operator"),
    CLI_COUNT(breakdown_options, depth, "depth", 0, 4096, "how many levels to show, 0 for all",
              .initial = "4"),
    CLI_NUMBER(breakdown_options, least, "least", "PERCENT", 0, 100,
               "hide parts below this share of all GPU time", .range = "a number from 0 to 100",
               .initial = "0.5"),
    CLI_FLAG(breakdown_options, instances, "instances",
             "keep Attention_0 to Attention_31 apart instead of one Attention_*"),
    CLI_RESULT(breakdown_options, svg, "svg", "draw all levels into FILE"),
    CLI_ROW_STEPS,
    CLI_ROWS_TRACES,
    CLI_END,
};

static st_status view_tree(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const breakdown_options *options = run->options;
    st_tree_limits limits = {options->depth, options->least / 100};
    st_tree tree;
    const st_tree_ask ask = {
        .set = recorded->set, .by = (st_tree_by)options->by, .fold = !options->instances};
    st_status status = st_view_tree_asked(&ask, run->arena, &tree, run->errors);
    if (status != ST_OK)
        return status;
    if (options->svg != NULL)
        st_view_tree_svg(&tree, cli_make_file(run, options->svg));
    st_view_tree_result(&tree, &limits, run->arena, result);
    return ST_OK;
}

static const cli_verb verb_breakdown = {
    .name = "trace breakdown",
    CLI_VIEWS_TRACES(CLI_TRACE_DETAILS, view_tree),
    .summary = "show GPU time by module, annotation, Python stack or operator",
    .doc = "Every kernel, copy and fill belongs to the innermost module (annotation, function, "
           "operator) that launched it; launches of the backward thread belong to the one that ran "
           "the operator forward. The parts and 'unattributed' add up to all time.",
    .examples = CLI_EXAMPLES({"steptime trace breakdown traces/", "by module, over all ranks"},
                             {"steptime trace breakdown rank0.json.gz --by stack --svg stack.svg",
                              "by Python, with a picture"},
                             {"steptime trace breakdown traces/ --by annotation --steps 3",
                              "one step by its annotations"}),
    CLI_OPTIONS(tree_rows, breakdown_options),
};

/* steptime trace memory */

static const cli_option memory_rows[] = {
    CLI_COUNT(view_options, top, "top", 0, MOST_TOP, "how many blocks at the peak to list",
              .initial = "10"),
    CLI_RESULT(view_options, svg, "svg", "draw memory over time into FILE"),
    CLI_ROWS_TRACES,
    CLI_END,
};

static st_status view_memory(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const view_options *options = run->options;
    st_memory_view view;
    st_status status = st_view_memory(recorded->set, run->arena, &view, run->errors);
    if (status != ST_OK)
        return status;
    if (options->svg != NULL)
        st_view_memory_svg(&view, cli_make_file(run, options->svg));
    st_view_memory_result(&view, (size_t)options->top, run->arena, result);
    return ST_OK;
}

static const cli_verb verb_memory = {
    .name = "trace memory",
    CLI_VIEWS_TRACES(CLI_TRACE_DETAILS | CLI_TRACE_IDLE, view_memory),
    .summary = "show the memory of GPUs over a recorded step, by category",
    .doc = "Needs recordings with profile_memory=True. Shows over time what was allocated before "
           "the recording, in the forward and backward passes, in the optimizer and elsewhere, and "
           "the peak with its largest blocks and the operators that allocated them.",
    .examples = CLI_EXAMPLES(
        {"steptime trace memory rank0.json.gz --svg memory.svg", "the peak, and a picture"},
        {"steptime trace memory traces/ --csv", "memory over time by category"}),
    CLI_OPTIONS(memory_rows, view_options),
};

/* steptime trace diff */

typedef struct diff_options {
    uint64_t top;
    bool full_names;
    const char *svg;
    unsigned by;
    bool instances;
} diff_options;

static const cli_option diff_rows[] = {
    CLI_COUNT(diff_options, top, "top", 1, MOST_TOP, "how many to list, the greatest changes",
              .initial = "20"),
    CLI_ROW_FULL_NAMES(diff_options),
    CLI_CHOICE(diff_options, by, "by", "WHAT", "auto kernel operator",
               "match kernels or operators; auto takes operators where the vendors differ"),
    CLI_FLAG(diff_options, instances, "instances",
             "keep Attention_0 to Attention_31 apart instead of one Attention_*"),
    CLI_RESULT(diff_options, svg, "svg", "draw the changes of kernels into FILE"),
    CLI_ROWS_TRACES,
    CLI_END,
};

static st_status read_side(cli_run *run, size_t side, st_trace_set **set)
{
    st_trace_options options = {.details = true, .apart = true};
    return cli_read_set(run, &run->arguments[side], 1, &options, set);
}

static int run_diff(cli_run *run)
{
    const diff_options *options = run->options;
    st_trace_set *sets[2] = {NULL, NULL};
    st_trace_diff diff;
    st_status status = read_side(run, 0, &sets[0]);
    if (status == ST_OK)
        status = read_side(run, 1, &sets[1]);
    if (status == ST_OK)
        status = st_view_diff(&(st_diff_ask){.sets = {sets[0], sets[1]},
                                             .by = (st_diff_by)options->by,
                                             .fold = !options->instances},
                              run->arena, &diff, run->errors);
    if (status == ST_OK && options->svg != NULL)
        st_view_diff_svg(&diff, (size_t)options->top, cli_make_file(run, options->svg));
    if (status == ST_OK) {
        st_result result;
        st_view_diff_result(&diff, (size_t)options->top, options->full_names, run->arena, &result);
        cli_show(run, &result);
    }
    st_trace_set_destroy(sets[0]);
    st_trace_set_destroy(sets[1]);
    return cli_exit_code(run, status);
}

static const cli_verb verb_diff = {
    .name = "trace diff",
    .arguments = "FILE|FOLDER FILE|FOLDER",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "compare two recordings, by module and kernel",
    .doc = "GPU time of a rank and step before and after, matched by module (where both recordings "
           "have modules) and kernel: what grew, what shrank, what is new and what is gone. The "
           "changes of kernels add up to the change of all.",
    .examples = CLI_EXAMPLES(
        {"steptime trace diff before/ after/", "what grew, what shrank, what is new or gone"},
        {"steptime trace diff a.json.gz b.json.gz --top 50 --svg diff.svg", "with a picture"}),
    CLI_OPTIONS(diff_rows, diff_options),
    .run = run_diff,
};

/* steptime trace path */

static const cli_option path_rows[] = {
    CLI_COUNT(view_options, top, "top", 0, MOST_STEPS_OF_PATH,
              "how many tasks to list, those that add most; 0 for all", .initial = "30"),
    CLI_ROW_FULL_NAMES(view_options),
    CLI_FLAG(view_options, no_delays, "no-delays",
             "by dependencies alone, without unexplained delays"),
    CLI_ROWS_TRACES,
    CLI_END,
};

static st_status view_path(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const view_options *options = run->options;
    st_path_view view;
    st_trace_graph *graph = NULL;
    st_status status = st_trace_graph_of_path(
        recorded->set, options->no_delays ? ST_GRAPH_WITHOUT_DELAYS : 0, &graph, run->errors);
    if (status == ST_OK)
        status = st_view_path(graph, (size_t)options->top, run->arena, &view, run->errors);
    if (status == ST_OK)
        st_view_path_result(&view, (size_t)options->top, options->full_names, run->arena, result);
    st_trace_graph_destroy(graph);
    return status;
}

static const cli_verb verb_path = {
    .name = "trace path",
    CLI_VIEWS_TRACES(CLI_TRACE_OPERATORS, view_path),
    .summary = "list the critical path of a recorded step, task by task",
    .doc =
        "The chain of host work, launches, GPU tasks and collectives over all ranks on which the "
        "length of the recording depends: what each task adds, and how it depends on the one "
        "before. 'steptime trace replay' sums it up by category.",
    .examples = CLI_EXAMPLES(
        {"steptime trace path traces/", "the tasks on the critical path that last longest"},
        {"steptime trace export traces/ --critical -o path.json", "the path in ui.perfetto.dev"}),
    CLI_OPTIONS(path_rows, view_options),
};

/* steptime trace rank */

typedef struct rank_options {
    double speed;
    uint64_t top;
} rank_options;

static const cli_option rank_rows[] = {
    CLI_NUMBER(rank_options, speed, "speed", "FACTOR", 1 + DBL_EPSILON, 1e6,
               "how many times as fast", .range = "a number above 1, at most 1000000",
               .initial = "2"),
    CLI_COUNT(rank_options, top, "top", 0, MOST_TRIED, "how many kernels to try, the longest first",
              .initial = "10"),
    CLI_ROWS_TRACES,
    CLI_END,
};

static st_status view_gains(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const rank_options *options = run->options;
    st_trace_ranking ranking;
    st_status status = st_trace_rank_gains(recorded->set, options->speed, (size_t)options->top,
                                           run->arena, &ranking, run->errors);
    if (status == ST_OK)
        st_trace_ranking_result(&ranking, run->arena, result);
    return status;
}

static const cli_verb verb_rank = {
    .name = "trace rank",
    CLI_VIEWS_TRACES(CLI_TRACE_OPERATORS, view_gains),
    .summary = "rank what shortens a recorded step most if it gets faster",
    .doc = "Runs 'trace whatif' for each class of kernels, for links, the host, launches and the "
           "longest kernels, and lists the resulting windows, the most useful first.",
    .examples = CLI_EXAMPLES(
        {"steptime trace rank traces/", "what to make faster first"},
        {"steptime trace rank rank0.json.gz --speed 1.25 --top 30", "smaller steps, more kernels"}),
    CLI_OPTIONS(rank_rows, rank_options),
};

/* steptime trace sql */

static const double MOST_SECONDS = 86400;

typedef struct sql_options {
    const char *view;
    double limit_s;
} sql_options;

static const cli_option sql_rows[] = {
    CLI_TEXT(sql_options, view, "view", "NAME|FILE.sql",
             "run the statements of a view instead: NAME.sql in the folder 'views' of the search "
             "path, or a file",
             .word = CLI_WORD_FILE),
    CLI_NUMBER(sql_options, limit_s, "limit", "SECONDS", 0, MOST_SECONDS,
               "stop a statement that takes longer; 0: never",
               .range = "a number of seconds from 0 to 86400", .initial = "60"),
    CLI_ROW_STEPS,
    CLI_ROW_PATH,
    CLI_ROWS_TRACES,
    CLI_END,
};

st_status cli_read_view(cli_run *run, const char *name, st_source *source)
{
    /* A name with the ending is a file of the working folder, as with .yaml. */
    bool is_file = strchr(name, '/') == NULL && st_ends_in(name, ".sql");
    const char *path = is_file ? st_xprintf(run->arena, "./%s", name) : name;
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = st_paths_read(run->paths, ST_FOLDER_VIEWS, path, (st_place){.file = "--view"},
                               run->arena, source, run->errors);
    return status;
}

static int ask(cli_run *run)
{
    const sql_options *options = run->options;
    st_sql_question question = {.is_view = options->view != NULL, .limit_s = options->limit_s};
    st_status status = ST_OK;
    if (question.is_view) {
        status = cli_read_view(run, options->view, &question.text);
    } else if (run->argument_count < 2) {
        status = cli_wrong_use(run, "the statement is missing",
                               "write it after the files, or name a view with --view");
    } else {
        const char *sql = run->arguments[--run->argument_count];
        question.text = (st_source){.file = "SQL", .text = sql, .length = strlen(sql)};
    }
    bool needs_details = false;
    st_trace_set *set = NULL;
    st_result result;
    if (status == ST_OK)
        status = st_sql_check(&question, &needs_details, run->errors);
    if (status == ST_OK)
        status = cli_read_traces(run, needs_details ? CLI_TRACE_DETAILS : CLI_TRACE_CALLS, &set);
    if (status == ST_OK)
        status = st_sql_ask(&question, set, run->arena, &result, run->errors);
    if (status == ST_OK)
        cli_show(run, &result);
    st_trace_set_destroy(set);
    return cli_exit_code(run, status);
}

static const cli_verb verb_sql = {
    .name = "trace sql",
    .arguments = "FILE|FOLDER... [SELECT]",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .run = ask,
    .summary = "query a recorded step with SQL",
    .doc = "Runs one SELECT of SQLite on the recordings, whose kernels, calls, steps and other "
           "events are tables. 'SELECT * FROM columns' lists them; docs/traces.md has the same "
           "list. A view is a file of such statements. Statements can only read.",
    .examples = CLI_EXAMPLES(
        {"steptime trace sql traces/ 'SELECT class, sum(duration_ns) / 1e6 AS ms FROM kernels "
         "GROUP BY "
         "class ORDER BY ms DESC'",
         "time by class of kernel"},
        {"steptime trace sql rank0.json.gz 'SELECT * FROM columns'",
         "all tables and their columns"},
        {"steptime trace sql traces/ --view slow.sql --csv -o slow.csv", "a view of your own"}),
    CLI_OPTIONS(sql_rows, sql_options),
};

/* clang-format off */
static const cli_verb *const verbs[] = {
    &verb_summary,
    &verb_idle,
    &verb_breakdown,
    &verb_kernels,
    &verb_roofline,
    &verb_collectives,
    &verb_memory,
    &verb_diff,
    &verb_graph,
    &verb_replay,
    &verb_path,
    &verb_export,
    &cli_verb_trace_whatif,
    &verb_rank,
    &verb_sql,
};
/* clang-format on */

const cli_program cli_trace_program = {
    .verbs = verbs, .verb_count = ST_COUNT(verbs), .mark = CLI_TOOL_MARK("trace")};

typedef struct trace_call {
    const char *const *words;
    size_t count;
    st_answer *answer;
    st_errors *errors;
} trace_call;

static st_status run_call(void *context)
{
    const trace_call *call = context;
    return cli_call(&cli_trace_program, call->words, call->count, call->answer, call->errors);
}

st_status st_trace_run(const char *const *words, size_t count, st_answer *answer, st_errors *errors)
{
    const cli_program *outer = cli_running();
    st_status status = st_xcall(run_call, &(trace_call){words, count, answer, errors});
    cli_set_program(outer);
    return status;
}
