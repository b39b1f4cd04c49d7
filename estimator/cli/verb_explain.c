/* SPDX-License-Identifier: Apache-2.0 */
/* steptime explain */
#include "cli/cli.h"

enum {
    DEPTH_MAX = 1000, /* levels; nobody reads deeper, and every level costs a call */
    DIGITS_MAX = 17   /* what a double can tell apart */
};

typedef struct explain_options {
    uint64_t depth;
    uint64_t digits;
} explain_options;

static const cli_option option_rows[] = {
    CLI_COUNT(explain_options, depth, "depth", 0, UINT64_MAX,
              "levels below the cell; 0 shows the cell alone, without this option it goes down to "
              "the inputs"),
    CLI_COUNT(explain_options, digits, "digits", 1, DIGITS_MAX,
              "significant digits of every number, 1 to 17; 4 where it is left out"),
    CLI_ROW_SHEET,
    CLI_ROW_SET,
    CLI_ROW_REFINE,
    CLI_ROW_JSON,
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_ROW_COLOR,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime explain gpt-3b-32x3090 T_iter", "an iteration's time, down to the job's numbers"},
    {"steptime explain gpt-3b-32x3090 T_iter --depth 1", "one level only"},
    {"steptime explain gpt-3b-32x3090 T_iter --depth 0 --digits 9", "to be checked by hand"},
    {"steptime explain gpt-3b-32x3090 mu", "where an input comes from"},
    {NULL, NULL},
};

static st_explain_view view_of(const cli_run *run)
{
    const explain_options *options = run->options;
    bool is_short = cli_is_given(run, &options->depth) && options->depth < DEPTH_MAX;
    return (st_explain_view){.cell = run->arguments[1],
                             .depth = is_short ? (int)options->depth : DEPTH_MAX,
                             .style = options->digits > 0 ? ST_STYLE_DIGITS((int)options->digits)
                                                          : ST_STYLE_SCALED};
}

static int run_explain(cli_run *run)
{
    st_paths *paths = NULL;
    st_estimate estimate = {0};
    const st_explanation *explanation = NULL;
    const st_explain_view view = view_of(run);
    st_status status = cli_paths(run, &paths);
    if (status == ST_OK)
        status = cli_load_job(run, paths, &estimate);
    if (status == ST_OK)
        status = st_estimate_show_names(&estimate, &run->arguments[1], 1, (st_place){0}, run->arena,
                                        run->errors);
    if (status == ST_OK)
        status = st_estimate_run(&estimate, run->arena, run->errors);
    if (status == ST_OK)
        status = st_program_explain_view(estimate.program, estimate.input_values, &view, run->arena,
                                         &explanation, run->errors);
    if (status == ST_OK) {
        st_result result;
        st_explanation_report(&estimate, explanation, run->arena, &result);
        cli_show(run, &result);
    }
    st_paths_destroy(paths);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_explain = {
    .name = "explain",
    .arguments = "JOB CELL",
    .minimum = 2,
    .maximum = 2,
    .words = {CLI_WORD_JOB, CLI_WORD_CELL},
    .summary = "show how a number of an estimate comes about",
    .doc =
        "Shows a cell's meaning, its formula, the formula with numbers, the result and the source, "
        "then the same for everything that the formula reads, down to the inputs and where they "
        "come from. What was shown before is not shown again.",
    .examples = examples,
    .options = option_rows,
    .options_bytes = sizeof(explain_options),
    .run = run_explain,
};
