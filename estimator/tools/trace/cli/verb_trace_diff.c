/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace diff */
#include "trace/cli/verbs.h"
#include "trace/cli/traces.h"
#include "trace/view_diff.h"

enum { MOST_TOP = 100000 };

typedef struct diff_options {
    uint64_t top;
    bool full_names;
    const char *svg;
} diff_options;

static const cli_option rows[] = {
    CLI_COUNT(diff_options, top, "top", 1, MOST_TOP, "how many to list, the greatest changes",
              .initial = "20"),
    CLI_ROW_FULL_NAMES(diff_options),
    CLI_RESULT(diff_options, svg, "svg", "draw the changes of kernels into FILE"),
    CLI_ROWS_TRACES,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace diff before/ after/", "what grew, what shrank, what is new or gone"},
    {"steptime trace diff a.json.gz b.json.gz --top 50 --svg diff.svg", "with a picture"},
    {NULL, NULL},
};

static st_status read_side(cli_run *run, size_t side, st_trace_set **set)
{
    st_trace_options options = {.partial = run->common.partial, .details = true};
    return st_trace_set_read(&run->arguments[side], 1, &options, set, run->errors);
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
        status = st_view_diff(sets[0], sets[1], run->arena, &diff, run->errors);
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

const cli_verb cli_verb_trace_diff = {
    .name = "trace diff",
    .arguments = "FILE|FOLDER FILE|FOLDER",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "compare two recordings, by module and kernel",
    .doc = "GPU time of a rank and step before and after, matched by module (where both recordings "
           "have modules) and kernel: what grew, what shrank, what is new and what is gone. The "
           "changes of kernels add up to the change of all.",
    .examples = examples,
    .options = rows,
    .options_bytes = sizeof(diff_options),
    .run = run_diff,
};
