/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace path */
#include "trace/cli/verbs.h"
#include "trace/cli/traces.h"
#include "trace/view_path.h"

enum { MOST_TOP = 1000000 };

typedef struct path_options {
    uint64_t top;
    bool full_names;
    bool no_delays;
} path_options;

static const cli_option rows[] = {
    CLI_COUNT(path_options, top, "top", 0, MOST_TOP,
              "how many tasks to list, those that add most; 0 for all", .initial = "30"),
    CLI_ROW_FULL_NAMES(path_options),
    CLI_FLAG(path_options, no_delays, "no-delays",
             "by dependencies alone, without unexplained delays"),
    CLI_ROWS_TRACES,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace path traces/", "the tasks on the critical path that last longest"},
    {"steptime trace export traces/ --critical -o path.json", "the path in ui.perfetto.dev"},
    {NULL, NULL},
};

static st_status view_path(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const path_options *options = run->options;
    st_path_view view;
    st_status status =
        st_view_path(recorded->graph, !options->no_delays, run->arena, &view, run->errors);
    if (status == ST_OK)
        st_view_path_result(&view, (size_t)options->top, options->full_names, run->arena, result);
    return status;
}

const cli_verb cli_verb_trace_path = {
    .name = "trace path",
    CLI_VIEWS_TRACES(CLI_TRACE_GRAPH, view_path),
    .summary = "list the critical path of a recorded step, task by task",
    .doc =
        "The chain of host work, launches, GPU tasks and collectives over all ranks on which the "
        "length of the recording depends: what each task adds, and how it depends on the one "
        "before. 'steptime trace replay' sums it up by category.",
    .examples = examples,
    .options = rows,
    .options_bytes = sizeof(path_options),
};
