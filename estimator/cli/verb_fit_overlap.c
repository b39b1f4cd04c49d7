/* SPDX-License-Identifier: Apache-2.0 */
/* steptime fit overlap */
#include "cli/cli.h"

#include "base/output.h"
#include "job/files.h"
#include "overlap/overlap_report.h"

#include <math.h>
#include <string.h>

static const cli_option options[] = {
    {CLI_TEST, CLI_ONE, CLI_WORD_FILE, 0, "test", "FILE", NULL,
     "also predict the kernels of this table, which the model has not seen"},
    {CLI_RECIPE, CLI_ONE, CLI_WORD_CHOICE, 0, "recipe", "RECIPE", "echo bag-40 bag-25",
     "train this one instead of the best of all on held-out kernels"},
    {CLI_SVG, CLI_ONE, CLI_WORD_FILE, 0, "svg", "FILE", NULL,
     "draw the importance of the features to FILE"},
    {CLI_WRITE, CLI_ONE, CLI_WORD_FILE, 'o', "output", "FILE", NULL,
     "write the model to FILE, for the option 'model' of the plugin overlap-xgboost"},
    CLI_ROW_JSON,
    CLI_ROW_END,
};

static const cli_example examples[] = {
    {"steptime fit overlap kernels.csv", "how well slowdowns can be predicted"},
    {"steptime fit overlap kernels.csv --test others.csv -o slowdown.model --svg importance.svg",
     "a model, tried on other kernels"},
    {NULL, NULL},
};

typedef struct overlap_run {
    cli_run *run;
    st_trees_library *library;
    st_kernels kernels;
    st_kernels test;
    size_t *rows; /* all of either table */
    st_trials trials;
    st_slowdown_model model;
    st_overlap_report report;
} overlap_run;

static st_status read_kernels(overlap_run *own, const char *file, st_kernels *kernels)
{
    st_source source = {0};
    const st_csv *csv = NULL;
    st_status status =
        st_file_read_table(file, (st_place){0}, own->run->arena, &source, own->run->errors);
    if (status == ST_OK)
        status = st_csv_parse(source.file, source.text, source.length, own->run->arena, &csv,
                              own->run->errors);
    if (status == ST_OK)
        status = st_kernels_read(csv, own->run->arena, kernels, own->run->errors);
    return status;
}

static st_status read_tables(overlap_run *own)
{
    const char *test = cli_value(own->run, CLI_TEST);
    st_status status = read_kernels(own, own->run->arguments[0], &own->kernels);
    if (test != NULL) {
        st_status read = read_kernels(own, test, &own->test);
        status = status == ST_OK ? read : status;
    }
    if (status != ST_OK)
        return status;
    size_t most = own->kernels.count > own->test.count ? own->kernels.count : own->test.count;
    own->rows = st_arena_alloc(own->run->arena, most, sizeof *own->rows);
    if (own->rows == NULL)
        return st_out_of_memory(own->run->errors);
    for (size_t i = 0; i < most; i++)
        own->rows[i] = i;
    return ST_OK;
}

static st_status learn(overlap_run *own)
{
    const char *name = cli_value(own->run, CLI_RECIPE);
    const st_recipe *only = name != NULL ? st_recipe_find(name) : NULL;
    st_kernel_rows rows = {&own->kernels, own->rows, own->kernels.count};
    st_status status = st_slowdown_try(own->library, &own->kernels, only, own->run->arena,
                                       &own->trials, own->run->errors);
    if (status == ST_OK)
        status = st_slowdown_train(own->library, &rows, own->trials.items[own->trials.best].recipe,
                                   own->run->arena, &own->model, own->run->errors);
    if (status == ST_OK)
        status = st_slowdown_importance(&own->model, own->report.importance, own->run->errors);
    return status;
}

static size_t count_outside(const st_slowdown_model *model, const st_kernels *kernels)
{
    size_t outside = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        bool inside = true;
        for (size_t j = 0; j < ST_FEATURES; j++) {
            float value = kernels->rows[i].features[j];
            inside = inside && !(value < model->least[j] || value > model->most[j]);
        }
        outside += inside ? 0 : 1;
    }
    return outside;
}

static st_status test_model(overlap_run *own)
{
    const st_kernels *test = &own->test;
    double constants[] = {0, own->report.constant, 1};
    if (test->count == 0)
        return ST_OK;
    double *factors = st_arena_alloc(own->run->arena, test->count, sizeof *factors);
    if (factors == NULL)
        return st_out_of_memory(own->run->errors);
    st_kernel_rows rows = {test, own->rows, test->count};
    st_status status =
        st_slowdown_predict(&own->model, &rows, own->run->arena, factors, own->run->errors);
    for (size_t k = 0; k < 3 && status == ST_OK; k++) {
        for (size_t i = 0; i < test->count && k > 0; i++)
            factors[i] = st_slowdown_of_share(&test->rows[i], constants[k]);
        own->report.test_errors[k] = st_slowdown_compare(&rows, factors);
    }
    own->report.test = test;
    own->report.test_clamped = count_outside(&own->model, test);
    return status;
}

static st_status write_files(overlap_run *own)
{
    const char *model = cli_value(own->run, CLI_WRITE);
    const char *svg = cli_value(own->run, CLI_SVG);
    st_buffer buffer = {0};
    st_status status = ST_OK;
    if (model != NULL) {
        status = st_slowdown_write(&own->model, &buffer, own->run->errors);
        if (status == ST_OK)
            status = st_output_write(model, buffer.data, buffer.length, own->run->errors);
        st_buffer_free(&buffer);
    }
    if (svg != NULL && status == ST_OK) {
        st_overlap_write_svg(&own->report, &buffer);
        status = buffer.failed ? st_out_of_memory(own->run->errors)
                               : st_output_write(svg, buffer.data, buffer.length, own->run->errors);
        st_buffer_free(&buffer);
    }
    return status;
}

static void write_result(overlap_run *own)
{
    if (cli_is_given(own->run, CLI_JSON))
        st_overlap_write_json(&own->report, &own->run->result);
    else
        st_overlap_write_text(&own->report, &own->run->result);
}

static int run_fit_overlap(cli_run *run)
{
    overlap_run own = {.run = run};
    st_status status = read_tables(&own);
    if (status == ST_OK)
        status = st_trees_open(&own.library, run->errors);
    if (status == ST_OK)
        status = learn(&own);
    if (status == ST_OK) {
        own.report.kernels = &own.kernels;
        own.report.trials = &own.trials;
        own.report.recipe = own.model.recipe;
        own.report.constant =
            st_slowdown_constant(&(st_kernel_rows){&own.kernels, own.rows, own.kernels.count});
        status = test_model(&own);
    }
    if (status == ST_OK)
        status = write_files(&own);
    if (status == ST_OK)
        write_result(&own);
    st_slowdown_destroy(&own.model);
    st_trees_close(own.library);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_fit_overlap = {
    .name = "fit overlap",
    .arguments = "TABLE",
    .minimum = 1,
    .maximum = 1,
    .words = {CLI_WORD_FILE, CLI_WORD_NONE},
    .summary = "learn how much communication slows the kernels beside it",
    .doc =
        "Reads kernels that were measured alone and beside a collective, as docs/overlap.md "
        "describes the table, trains boosted trees on them with XGBoost and tells how far off "
        "predictions are on kernels that were not seen: once with random rows held out, once with "
        "all kernels of a name. Beside the model stand one constant slowdown for all kernels, and "
        "none. The recipe with the highest share of kernels within 5, 10 and 15 % is trained on "
        "all kernels.",
    .examples = examples,
    .options = options,
    .run = run_fit_overlap,
};
