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
               "gpu: also estimate each GPU from its data sheet and the constants of others (of "
               "its architecture, else of all)"),
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
     "rates of GEMMs on each GPU of a table"},
    {"steptime fit operators gemm_lowprec.csv.gz attention_forward.csv.gz --each",
     "each kernel library alone"},
    {"steptime fit operators gemm_bf16.csv.gz --leave gpu",
     "how well its data sheet and related GPUs predict a GPU"},
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
    .doc = "Reads tables of measured operators (CSV, packed by gzip or not), groups their rows by "
           "GPU and precision, and fits the constants of the sheet operators: the rates of large "
           "and of thin products, and the fixed cost of each. Shows the constants with their "
           "standard errors and the errors of the sheet on half of the shapes when it is fitted to "
           "the other half, next to three baselines: one rate for all shapes, the rates of the "
           "nearest measured shapes, and the sheet corrected by these.\n\n"
           "A folder validation/NAME whose table.yaml names the sheet operators defines the "
           "columns of a table and the rows to leave out. docs/operators.md says more.",
    .examples = examples,
    CLI_OPTIONS(option_rows, fit_operators_options),
    .run = run_fit_operators,
};
