/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace memory */
#include "cli/traces.h"
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
    CLI_ROW_PARTIAL,
    CLI_ROW_JSON,
    CLI_ROW_CSV,
    CLI_ROW_OUTPUT,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace memory rank0.json.gz --svg memory.svg", "the peak, and a picture"},
    {"steptime trace memory traces/ --csv", "memory over time by category"},
    {NULL, NULL},
};

static int run_memory(cli_run *run)
{
    const memory_options *options = run->options;
    st_trace_set *set = NULL;
    st_memory_view view;
    st_buffer svg = {0};
    st_status status = cli_read_details(run, &set);
    if (status == ST_OK)
        status = st_view_memory(set, run->arena, &view, run->errors);
    if (status == ST_OK && options->svg != NULL) {
        st_view_memory_svg(&view, &svg);
        status = cli_write_file(run, options->svg, &svg);
    }
    if (status == ST_OK) {
        st_result result;
        st_view_memory_result(&view, (size_t)options->top, run->arena, &result);
        cli_show(run, &result);
    }
    st_buffer_free(&svg);
    st_trace_set_destroy(set);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_trace_memory = {
    .name = "trace memory",
    .arguments = "FILE|FOLDER...",
    .minimum = 1,
    .maximum = SIZE_MAX,
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "show the memory of GPUs over a recorded step, by category",
    .doc =
        "From recordings with profile_memory=True: what was there before, and what was allocated "
        "forward, backward, in the optimizer or elsewhere, as long as it stays; the peak with "
        "its largest blocks and the operators that took them.",
    .examples = examples,
    .options = rows,
    .options_bytes = sizeof(memory_options),
    .run = run_memory,
};
