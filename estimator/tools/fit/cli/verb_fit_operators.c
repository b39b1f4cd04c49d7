/* SPDX-License-Identifier: Apache-2.0 */
/* steptime fit operators */
#include "fit/cli/verbs.h"

#include "operator-times/fit/operators.h"

typedef struct fit_operators_options {
    bool each;
    unsigned leave;
    const char *output;
} fit_operators_options;

enum { LEAVE_NONE, LEAVE_GPU };

static const cli_option option_rows[] = {
    CLI_FLAG(fit_operators_options, each, "each",
             "fit each source of a table alone, instead of all of a GPU and precision together"),
    CLI_CHOICE(fit_operators_options, leave, "leave", "WHAT", "nothing gpu",
               "gpu: also estimate each GPU by the constants of its kin - others of its "
               "architecture, or all others - and its own data sheet"),
    CLI_RESULT(fit_operators_options, output, "output",
               "write the constants to FILE, as keys for files of GPUs", .letter = 'o'),
    CLI_ROW_SET,
    CLI_ROW_JSON,
    CLI_ROW_PATH,
    CLI_ROW_COLOR,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime fit operators gemm_bf16.csv.gz -o operators.yaml",
     "what GEMMs reach, on each GPU of a table"},
    {"steptime fit operators gemm_lowprec.csv.gz attention_forward.csv.gz --each",
     "each kernel library alone"},
    {"steptime fit operators gemm_bf16.csv.gz --leave gpu",
     "how far a GPU is known by its data sheet and its kin"},
    {NULL, NULL},
};

static int run_fit_operators(cli_run *run)
{
    const fit_operators_options *options = run->options;
    st_status status = cli_today(run);
    if (status == ST_OK)
        status = cli_paths(run);
    st_operator_fit fit = {.request = {.paths = run->paths,
                                       .sets = run->common.sets.items,
                                       .set_count = run->common.sets.count},
                           .files = run->arguments,
                           .file_count = run->argument_count,
                           .each = options->each,
                           .leave_gpu = options->leave == LEAVE_GPU,
                           .date = run->today,
                           .arena = run->arena,
                           .errors = run->errors};
    if (status == ST_OK)
        status = st_operators_read(&fit);
    if (status == ST_OK)
        status = st_operators_fit(&fit);
    if (status == ST_OK && options->output != NULL)
        st_operators_write_yaml(&fit, cli_make_file(run, options->output));
    if (status == ST_OK) {
        st_result result;
        st_operators_report(&fit, &result);
        cli_show(run, &result);
    }
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_fit_operators = {
    .name = "fit operators",
    .arguments = "TABLE...",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "calibrate GEMMs, attention and experts to times measured alone",
    .doc =
        "Reads tables of measured operators (CSV, packed by gzip or not), puts their rows together "
        "by GPU and precision, and fits the constants that the sheet operators has for them: what "
        "large products reach, what thin ones reach, and what each costs besides. Shows the "
        "constants with their standard errors and how far off the sheet is on half of the shapes "
        "when it is fitted to the other half, beside what is naive: one rate for all shapes, the "
        "rates of the nearest measured shapes, and the sheet corrected by these.\n\n"
        "A folder validation/NAME whose table.yaml names the sheet operators says what the columns "
        "of a table mean and which rows are left out. docs/operators.md says more.",
    .examples = examples,
    .options = option_rows,
    .options_bytes = sizeof(fit_operators_options),
    .run = run_fit_operators,
};
