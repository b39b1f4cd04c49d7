/* SPDX-License-Identifier: Apache-2.0 */
/* steptime explain */
#include "cli/verbs.h"

enum {
    DIGITS_MAX = 17, /* digits of a double */
    SCREEN = 50,     /* lines */
    WIDTH = 100      /* characters, of what is folded and goes to no terminal */
};

typedef struct explain_options {
    uint64_t depth;
    uint64_t digits;
    bool all;
} explain_options;

static const cli_option option_rows[] = {
    CLI_COUNT(explain_options, depth, "depth", 0, UINT64_MAX,
              "formulas of so many levels below the cell; 0 shows only the cell (default: "
              "what fits a screen, folded)"),
    CLI_FLAG(explain_options, all, "all", "formulas down to the inputs and their sources"),
    CLI_COUNT(explain_options, digits, "digits", 1, DIGITS_MAX,
              "significant digits of every number, 1 to 17 (default: 4)"),
    CLI_ROWS_JOB,
    CLI_ROW_CHECK,
    CLI_ROW_QUIET,
    CLI_ROW_JSON,
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_ROW_COLOR,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime explain gpt-3b-32x3090 T_iter",
     "the time of an iteration, and a tree of what it depends on"},
    {"steptime explain gpt-3b-32x3090 T_iter --all", "down to the numbers of the job"},
    {"steptime explain gpt-3b-32x3090 T_iter --depth 1", "one level only"},
    {"steptime explain gpt-3b-32x3090 T_iter --depth 0 --digits 9", "numbers to check by hand"},
    {"steptime explain gpt-3b-32x3090 mu", "where an input comes from"},
    {NULL, NULL},
};

static int run_explain(cli_run *run)
{
    st_estimate_request request = cli_estimate_request(run);
    /* --depth counts the levels below the cell. */
    const explain_options *options = run->options;
    bool is_short = cli_is_given(run, &options->depth) && options->depth < SIZE_MAX;
    st_estimate_view view = cli_view(run);
    view.levels = is_short ? (size_t)options->depth + 1 : 0;
    view.lines = is_short || options->all ? 0 : SCREEN;
    view.width = view.lines > 0 && view.width == 0 ? WIDTH : view.width;
    view.digits = (size_t)options->digits;
    st_estimate *estimate = NULL;
    request.cells = &run->arguments[1];
    request.cell_count = 1;
    st_status status = st_estimate_create(&request, &estimate, run->errors);
    if (status == ST_OK)
        status = st_estimate_explain(estimate, run->arguments[1], &view, &run->result, run->errors);
    if (status == ST_OK)
        cli_limits_shown(run);
    st_estimate_destroy(estimate);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_explain = {
    .name = "explain",
    .arguments = "JOB CELL",
    .words = {CLI_WORD_JOB, CLI_WORD_CELL},
    .summary = "show how a number of an estimate is computed",
    .doc = "Shows a cell's meaning, its formula, the formula with numbers, the result and the "
           "source, then a tree of what the formula reads, largest parts first, that fits a "
           "screen. With --depth or --all everything that the formula reads has its formula, down "
           "to the inputs and their sources. Each cell is shown once.",
    .examples = examples,
    CLI_OPTIONS(option_rows, explain_options),
    .run = run_explain,
};
