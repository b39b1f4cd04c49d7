/* SPDX-License-Identifier: Apache-2.0 */
/* steptime fit */
#include "fit/cli/verbs.h"
#include "fit/cli/tables.h"

#include "fit/steps/fit_spec.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LOSS_SOFT_L1, LOSS_SQUARE };

typedef struct fit_options {
    cli_table_options tables;
    cli_texts varies;
    unsigned loss;
    double scale;
    const char *group;
    const char *spec;
    const char *output;
} fit_options;

static const cli_option option_rows[] = {
    CLI_ROWS_TABLE(fit_options, tables),
    CLI_TEXTS(fit_options, varies, "vary", "KEY=LOW..HIGH",
              "fit this key or constant between two bounds, in its unit; several are separated by "
              "commas; LOW..START..HIGH begins elsewhere than at the rows' own value",
              .word = CLI_WORD_KEY),
    CLI_CHOICE(fit_options, loss, "loss", "LOSS", "soft-l1 square",
               "how large errors count: soft-l1 (less than their squares, the default) or square"),
    CLI_NUMBER(fit_options, scale, "scale", "SHARE", DBL_MIN, HUGE_VAL,
               "relative error above which soft-l1 turns linear", .pure = true,
               .range = "a share above 0, such as 0.1 or 10 %", .initial = "10 %"),
    CLI_TEXT(fit_options, group, "group", "COLUMN,...",
             "for each value of these columns, also estimate its rows by a fit to all others"),
    CLI_FILE(fit_options, spec, "spec",
             "read tables, constants with their priors, and groups to leave out from FILE "
             "(docs/tables.md)"),
    CLI_RESULT(fit_options, output, "output",
               "write the constants and their sources to FILE, only on success", .letter = 'o'),
    CLI_ROW_SHEET,
    CLI_ROW_CONSTANTS(fit_options, tables),
    CLI_ROW_SET,
    CLI_ROW_REFINE,
    CLI_ROW_DB,
    CLI_ROW_JSON,
    CLI_ROW_PATH,
    CLI_ROW_COLOR,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime fit --table runs.csv --vary cluster.gpu.gemm_efficiency=0.2..0.9 -o mine.yaml",
     "how fast GEMMs are on your GPUs"},
    {"steptime fit --table runs.csv --rows '::2' --group gpus --vary constants.site_factor=0.8..2",
     "one factor, from every other row, tried on each number of GPUs"},
    {"steptime fit job-1.yaml job-2.yaml job-3.yaml --vary 'constants.layer_launch=1 ms..9 ms'",
     "from jobs that say 'measured: {step_time: ...}'"},
    {NULL, NULL},
};

typedef struct fit_run {
    cli_run *run;
    const fit_options *options;
    st_measured_request request;
    const st_measured_table *tables;
    size_t table_count;
    st_measured *sets;
    size_t set_count;
    st_fit_spec spec;
    const char *mfu; /* the cell that fills that role */
    st_calibration calibration;
} fit_run;

/* ---- rows ---- */

static st_status add_set(fit_run *verb, const st_measured *measured)
{
    st_measured set = *measured;
    verb->mfu = st_sheet_role(measured->sheet, ST_ROLE_MFU);
    if (verb->mfu != NULL) {
        set.more = &verb->mfu;
        set.more_count = 1;
    }
    if (!ST_APPEND(verb->run->arena, verb->sets, verb->set_count, set))
        return ST_ERR_MEMORY;
    return st_measured_run(&verb->sets[verb->set_count - 1], verb->run->arena, verb->run->errors);
}

static st_status read_table(fit_run *verb, const st_measured_table *table)
{
    st_measured *sets = NULL;
    size_t count = 0;
    st_status status =
        st_measured_read(&verb->request, table, verb->run->arena, &sets, &count, verb->run->errors);
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = add_set(verb, &sets[i]);
    return status;
}

/* Says of the first row that is left out why; of rows that are not there nothing would be said. */
static void explain_empty(const fit_run *verb)
{
    for (size_t i = 0; i < verb->set_count; i++) {
        const st_measured *set = &verb->sets[i];
        for (size_t row = 0; row < set->row_count; row++)
            if (set->rows[row].left_out == NULL)
                return;
    }
    for (size_t i = 0; i < verb->set_count; i++)
        if (verb->sets[i].row_count > 0)
            st_report(verb->run->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE,
                      (st_place){.file = verb->sets[i].file}, "all rows are left out: %s",
                      verb->sets[i].rows[0].left_out);
}

static st_status read_rows(fit_run *verb)
{
    st_status status = ST_OK;
    if (verb->table_count + verb->run->argument_count == 0)
        return cli_wrong_use(verb->run, "'fit' needs measured rows",
                             "give --table FILE, or jobs with 'measured: {step_time: ...}'");
    if (verb->options->varies.count == 0 && verb->options->spec == NULL)
        return cli_wrong_use(verb->run, "'fit' needs a constant to fit",
                             "give --vary KEY=LOW..HIGH");
    for (size_t i = 0; i < verb->table_count; i++) {
        st_status read = read_table(verb, &verb->tables[i]);
        status = status == ST_OK ? read : status;
    }
    for (size_t i = 0; i < verb->run->argument_count; i++) {
        st_measured measured = {0};
        st_status job_status = st_measured_job(&verb->request, verb->run->arguments[i],
                                               verb->run->arena, &measured, verb->run->errors);
        st_status read = job_status == ST_OK ? add_set(verb, &measured) : job_status;
        status = status == ST_OK ? read : status;
    }
    verb->calibration.first_test = verb->spec.test_count > 0 ? verb->set_count : 0;
    for (size_t i = 0; i < verb->spec.test_count; i++) {
        st_status read = read_table(verb, &verb->spec.tests[i]);
        status = status == ST_OK ? read : status;
    }
    if (status == ST_OK)
        explain_empty(verb);
    return status;
}

/* ---- options ---- */

/* Tables and settings of --spec precede those of the command line. */
static st_status read_spec(fit_run *verb)
{
    cli_run *run = verb->run;
    if (verb->options->spec == NULL)
        return ST_OK;
    if (verb->options->varies.count > 0)
        return cli_wrong_use(run, "--spec and --vary exclude each other", NULL);
    st_status status = st_fit_spec_load(verb->options->spec, run->arena, &verb->spec, run->errors);
    if (status != ST_OK)
        return status;
    size_t count = verb->spec.table_count + verb->table_count;
    st_measured_table *tables = st_arena_alloc(run->arena, count + 1, sizeof *tables);
    const char **sets = st_arena_alloc(
        run->arena, verb->spec.set_count + verb->request.set_count + 1, sizeof *sets);
    if (tables == NULL || sets == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        tables[i] = i < verb->spec.table_count ? verb->spec.tables[i]
                                               : verb->tables[i - verb->spec.table_count];
    for (size_t i = 0; i < verb->spec.set_count; i++)
        sets[i] = verb->spec.sets[i];
    for (size_t i = 0; i < verb->request.set_count; i++)
        sets[verb->spec.set_count + i] = verb->request.sets[i];
    verb->tables = tables;
    verb->table_count = count;
    verb->request.sets = sets;
    verb->request.set_count += verb->spec.set_count;
    return ST_OK;
}

/* ---- results ---- */

static int run_fit(cli_run *run)
{
    fit_run verb = {.run = run, .options = run->options};
    st_status status = cli_today(run);
    if (status == ST_OK)
        status = cli_paths(run);
    if (status == ST_OK)
        status = cli_tables(run, &verb.options->tables, &verb.tables, &verb.table_count);
    if (status == ST_OK)
        status = cli_table_request(run, &verb.options->tables, &verb.request);
    if (status == ST_OK)
        status = read_spec(&verb);
    if (status == ST_OK)
        status = read_rows(&verb);
    if (status == ST_OK) {
        const fit_options *options = verb.options;
        st_calibration *calibration = &verb.calibration;
        calibration->sets = verb.sets;
        calibration->set_count = verb.set_count;
        calibration->loss = options->loss == LOSS_SQUARE ? ST_LOSS_SQUARE : ST_LOSS_SOFT_L1;
        calibration->scale = options->scale;
        if (options->group != NULL)
            calibration->columns =
                st_text_split(options->group, ",", verb.run->arena, &calibration->column_count);
        if (options->spec != NULL)
            status = st_fit_spec_apply(&verb.spec, calibration, verb.run->arena, verb.run->errors);
        else
            status = st_varied_parse(calibration, options->varies.items, options->varies.count,
                                     verb.run->arena, verb.run->errors);
    }
    if (status == ST_OK)
        status = st_calibrate(&verb.calibration, run->arena, run->errors);
    if (status == ST_OK) {
        const st_fit_record record = {.date = verb.run->today,
                                      .tables = verb.tables,
                                      .table_count = verb.table_count,
                                      .sets = verb.request.sets,
                                      .set_count = verb.request.set_count,
                                      .refine = verb.request.refine,
                                      .refine_count = verb.request.refine_count};
        if (verb.options->output != NULL)
            st_calibration_write_yaml(&verb.calibration, &record,
                                      cli_make_file(verb.run, verb.options->output));
        st_result result;
        st_calibration_report(&verb.calibration, &record, verb.run->arena, &result);
        cli_show(verb.run, &result);
    }
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_fit = {
    .name = "fit",
    .arguments = "[JOB...]",
    .words = {CLI_WORD_JOB, CLI_WORD_JOB},
    .summary = "calibrate constants to measured step times",
    .doc =
        "Fits the keys and constants that --vary names to measured rows, by least squares on the "
        "relative error with a loss that limits outliers. Shows the standard error of each "
        "constant, the errors of the rows, and the errors of each row (with --group: of each "
        "group) when the fit leaves it out.\n\n"
        "Rows come from tables (--table, as for 'steptime validate') and from jobs that have "
        "'measured: {step_time: ...}'. With -o the constants are written to a file, which a "
        "job takes with 'constants: NAME|FILE'.\n\n"
        "--spec reads all of this from a file, which may give each constant a prior with its "
        "uncertainty and source, and the rows for which it holds. The errors of rows that are left "
        "out are then compared with those of a constant MFU and of the nearest row's MFU.\n\n"
        "A fit fails if it has fewer rows than constants, if no row is sensitive to a constant, or "
        "if the rows cannot separate two constants.",
    .examples = examples,
    CLI_OPTIONS(option_rows, fit_options),
    .run = run_fit,
};
