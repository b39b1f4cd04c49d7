/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace memory */
#include "trace/cli/verbs.h"
#include "trace/cli/traces.h"
#include "trace/view_memory.h"

enum { MOST_TOP = 100000 };

typedef struct memory_options {
    uint64_t top;
    const char *svg;
} memory_options;

static const cli_option rows[] = {
    CLI_COUNT(memory_options, top, "top", 0, MOST_TOP, "how many blocks at the peak to list",
              .initial = "10"),
    CLI_RESULT(memory_options, svg, "svg", "draw memory over time into FILE"),
    CLI_ROWS_TRACES,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace memory rank0.json.gz --svg memory.svg", "the peak, and a picture"},
    {"steptime trace memory traces/ --csv", "memory over time by category"},
    {NULL, NULL},
};

static st_status view_memory(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const memory_options *options = run->options;
    st_memory_view view;
    st_status status = st_view_memory(recorded->set, run->arena, &view, run->errors);
    if (status != ST_OK)
        return status;
    if (options->svg != NULL)
        st_view_memory_svg(&view, cli_make_file(run, options->svg));
    st_view_memory_result(&view, (size_t)options->top, run->arena, result);
    return ST_OK;
}

const cli_verb cli_verb_trace_memory = {
    .name = "trace memory",
    CLI_VIEWS_TRACES(CLI_TRACE_DETAILS, view_memory),
    .summary = "show the memory of GPUs over a recorded step, by category",
    .doc = "Needs recordings with profile_memory=True. Shows over time what was allocated before "
           "the recording, in the forward and backward passes, in the optimizer and elsewhere, and "
           "the peak with its largest blocks and the operators that allocated them.",
    .examples = examples,
    .options = rows,
    .options_bytes = sizeof(memory_options),
};
