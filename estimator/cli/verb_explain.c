/* SPDX-License-Identifier: Apache-2.0 */
/* steptime explain */
#include "cli/cli.h"

#include <string.h>

enum {
    DEPTH_MAX = 1000, /* levels; nobody reads deeper, and every level costs a call */
    DIGITS_MAX = 17   /* what a double can tell apart */
};

static const cli_option options[] = {
    {CLI_DEPTH, CLI_ONE, CLI_WORD_NONE, 0, "depth", "N", NULL,
     "levels below the cell; 0 shows the cell alone, without this option it goes down to the "
     "inputs"},
    {CLI_DIGITS, CLI_ONE, CLI_WORD_NONE, 0, "digits", "N", NULL,
     "significant digits of every number, 1 to 17; 4 where it is left out"},
    CLI_ROW_SHEET,
    CLI_ROW_SET,
    CLI_ROW_REFINE,
    CLI_ROW_JSON,
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_ROW_COLOR,
    CLI_ROW_END,
};

static const cli_example examples[] = {
    {"steptime explain gpt-3b-32x3090 T_iter", "an iteration's time, down to the job's numbers"},
    {"steptime explain gpt-3b-32x3090 T_iter --depth 1", "one level only"},
    {"steptime explain gpt-3b-32x3090 T_iter --depth 0 --digits 9", "to be checked by hand"},
    {"steptime explain gpt-3b-32x3090 mu", "where an input comes from"},
    {NULL, NULL},
};

/* The value of an option that is a whole number; larger ones than `most` are `most`. */
static st_status read_whole(cli_run *run, cli_option_id option, const char *name,
                            const char *expected, int most, int *value)
{
    const char *text = cli_value(run, option);
    if (text == NULL)
        return ST_OK;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || text[digits] != '\0')
        return st_fail(run->errors, ST_ERR_USAGE, (st_place){0},
                       "%s" ST_FOUND "'%s'" ST_EXPECTED "%s", name, text, expected);
    *value = 0;
    for (size_t i = 0; i < digits && *value < most; i++)
        *value = *value * 10 + (text[i] - '0');
    *value = *value < most ? *value : most;
    return ST_OK;
}

static st_status read_view(cli_run *run, st_explain_view *view)
{
    static const char expected[] = "from 1 to 17 digits";
    int digits = 0;
    *view =
        (st_explain_view){.cell = run->arguments[1], .depth = DEPTH_MAX, .style = ST_STYLE_SCALED};
    st_status status = read_whole(run, CLI_DEPTH, "option --depth", "a whole number of levels",
                                  DEPTH_MAX, &view->depth);
    if (status == ST_OK && cli_is_given(run, CLI_DIGITS)) {
        status = read_whole(run, CLI_DIGITS, "option --digits", expected, DIGITS_MAX + 1, &digits);
        view->style = ST_STYLE_DIGITS(digits);
        if (status == ST_OK && (digits < 1 || digits > DIGITS_MAX))
            status = st_fail(run->errors, ST_ERR_USAGE, (st_place){0},
                             "option --digits" ST_FOUND "'%s'" ST_EXPECTED "%s",
                             cli_value(run, CLI_DIGITS), expected);
    }
    return status;
}

static int run_explain(cli_run *run)
{
    st_paths *paths = NULL;
    st_estimate estimate = {0};
    st_explain_view view;
    const st_explanation *explanation = NULL;
    st_status status = read_view(run, &view);
    if (status == ST_OK)
        status = cli_paths(run, &paths);
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
    .options = options,
    .run = run_explain,
};
