/* SPDX-License-Identifier: Apache-2.0 */
/* steptime explain */
#include "cli/cli.h"

#include <string.h>

enum { DEPTH_MAX = 1000 }; /* levels; nobody reads deeper, and every level costs a call */

static const cli_option options[] = {
    {CLI_DEPTH, CLI_ONE, CLI_WORD_NONE, 0, "depth", "N", NULL,
     "levels below the cell; 0 shows the cell alone, without this option it goes down to the "
     "inputs"},
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
    {"steptime explain gpt-3b-32x3090 mu", "where an input comes from"},
    {NULL, NULL},
};

static st_status read_depth(cli_run *run, int *depth)
{
    const char *text = cli_value(run, CLI_DEPTH);
    *depth = DEPTH_MAX;
    if (text == NULL)
        return ST_OK;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || text[digits] != '\0')
        return st_errors_add(run->errors,
                             &(st_error){.status = ST_ERR_USAGE,
                                         .message = "option --depth",
                                         .found = st_errors_text(run->errors, "'%s'", text),
                                         .expected = "a whole number of levels"});
    int value = 0;
    for (size_t i = 0; i < digits && value < DEPTH_MAX; i++)
        value = value * 10 + (text[i] - '0');
    *depth = value < DEPTH_MAX ? value : DEPTH_MAX;
    return ST_OK;
}

static st_status write_explanation(cli_run *run, const st_estimate *estimate, int depth)
{
    const st_explanation *explanation = NULL;
    st_status status =
        st_program_explain(estimate->program, estimate->input_values, run->arguments[1], depth,
                           run->arena, &explanation, run->errors);
    if (status != ST_OK)
        return status;
    if (cli_is_given(run, CLI_JSON)) {
        st_explanation_write_json(estimate, explanation, &run->result);
    } else {
        st_paint paint = cli_paint(run);
        st_explanation_write_text(estimate, explanation, &paint, run->arena, &run->result);
    }
    return ST_OK;
}

static int run_explain(cli_run *run)
{
    st_paths *paths = NULL;
    st_estimate estimate = {0};
    int depth = 0;
    st_status status = read_depth(run, &depth);
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
        status = write_explanation(run, &estimate, depth);
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
