/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates of measured rows, jobs as rows, and which rows a fit has used; see measured.h. */
#include "fit/steps/measured.h"

#include "fit/steps/row_checks.h"

#include "steptime/keys.h"
#include "steptime/tool/job_keys.h"
#include "steptime/tool/job_values.h"
#include "steptime/tool/estimates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- estimates ---- */

typedef struct row_run {
    const st_measured *measured;
    const st_asked_cells *asked;
    size_t check_count;
    size_t *rows; /* of one variant, side by side */
    size_t row_count;
    st_column *columns;
    double *inputs;   /* inputs[input * row_count + row] */
    double **outputs; /* by cell, then by check */
    st_arena *arena;
    st_errors *errors;
} run_of_rows;

size_t st_measured_variants(const st_measured *measured)
{
    return measured->variant_count > 0 ? measured->variant_count : 1;
}

const st_provider_list *st_measured_providers(const st_measured *measured, size_t variant)
{
    static const st_provider_list none = {0};
    return variant < measured->variant_count ? &measured->variants[variant] : &none;
}

static st_status run_rows(run_of_rows *rows_run, const st_program *program, st_workspace *workspace)
{
    const st_measured *measured = rows_run->measured;
    for (size_t i = 0; i < measured->input_count; i++) {
        double *values = rows_run->inputs + i * rows_run->row_count;
        for (size_t row = 0; row < rows_run->row_count; row++)
            values[row] = measured->inputs[i * measured->row_count + rows_run->rows[row]];
        rows_run->columns[i] = (st_column){values, 1};
    }
    st_status status =
        st_program_run(program, workspace, rows_run->columns, rows_run->row_count,
                       rows_run->outputs, rows_run->outputs + rows_run->asked->count);
    if (status == ST_OK) {
        const st_asked_cells *asked = rows_run->asked;
        for (size_t i = 0; i < asked->count + rows_run->check_count; i++) {
            double *into = i < asked->count ? asked->values[i] : asked->checks[i - asked->count];
            for (size_t row = 0; row < rows_run->row_count; row++)
                into[rows_run->rows[row]] = rows_run->outputs[i][row];
        }
    }
    return status;
}

static st_status run_variant(run_of_rows *rows_run, size_t variant)
{
    const st_measured *measured = rows_run->measured;
    const st_program *program = NULL;
    st_status status = ST_ERR_MEMORY;
    const st_asked_cells *asked = rows_run->asked;
    const st_provider_list *list = st_measured_providers(rows_run->measured, variant);
    size_t waiting = 0; /* without rows nothing was asked of its providers */
    for (size_t i = 0; i < measured->row_count; i++)
        waiting += measured->rows[i].variant == variant && measured->rows[i].left_out == NULL;
    if (waiting == 0)
        return ST_OK;
    const st_provider **providers =
        st_arena_alloc(rows_run->arena, list->count + 1, sizeof(*providers));
    size_t count = 0;
    if (providers != NULL) {
        if (asked->before != NULL)
            providers[count++] = asked->before;
        for (size_t i = 0; i < list->count; i++)
            providers[count++] = list->items[i];
        const st_program_options options = {.outputs = asked->names,
                                            .output_count = asked->count,
                                            .providers = providers,
                                            .provider_count = count,
                                            .without_checks = asked->checks == NULL};
        status = st_program_compile(rows_run->measured->sheet, &options, rows_run->arena, &program,
                                    rows_run->errors);
    }
    if (status != ST_OK)
        return status;
    st_workspace *workspace = st_workspace_create(program);
    if (workspace == NULL)
        return ST_ERR_MEMORY;
    rows_run->row_count = 0;
    for (size_t i = 0; i < measured->row_count && status == ST_OK; i++) {
        if (measured->rows[i].variant != variant)
            continue;
        rows_run->rows[rows_run->row_count++] = i;
        if (rows_run->asked->row == NULL)
            continue;
        *rows_run->asked->row = i;
        status = run_rows(rows_run, program, workspace);
        rows_run->row_count = 0;
    }
    if (status == ST_OK && rows_run->asked->row == NULL)
        status = run_rows(rows_run, program, workspace);
    st_workspace_destroy(workspace);
    return status;
}

st_status st_measured_ask(const st_measured *measured, const st_asked_cells *asked, st_arena *arena,
                          st_errors *errors)
{
    run_of_rows rows_run = {.measured = measured, .asked = asked, .arena = arena, .errors = errors};
    size_t rows = measured->row_count;
    if (asked->checks != NULL)
        (void)st_sheet_checks(measured->sheet, &rows_run.check_count);
    size_t outputs = asked->count + rows_run.check_count;
    rows_run.columns = st_arena_alloc(arena, measured->input_count + 1, sizeof *rows_run.columns);
    rows_run.inputs =
        st_arena_alloc(arena, measured->input_count * rows + 1, sizeof *rows_run.inputs);
    rows_run.rows = st_arena_alloc(arena, rows + 1, sizeof *rows_run.rows);
    rows_run.outputs = st_arena_alloc(arena, outputs + 1, sizeof *rows_run.outputs);
    for (size_t i = 0; rows_run.outputs != NULL && i < outputs; i++)
        rows_run.outputs[i] = st_arena_alloc(arena, rows + 1, sizeof *rows_run.outputs[i]);
    bool failed = rows_run.outputs == NULL || st_arena_failed(arena);
    st_status status = failed ? ST_ERR_MEMORY : ST_OK;
    for (size_t i = 0; i < st_measured_variants(measured) && status == ST_OK; i++)
        status = run_variant(&rows_run, i);
    return status;
}

/* What a check says where it fails, with its numbers in this row. */
static const char *words_of_check(const st_measured *measured, size_t index,
                                  const st_sheet_check *check, st_arena *arena)
{
    const st_provider_list *list = st_measured_providers(measured, measured->rows[index].variant);
    const st_program_options options = {.outputs = &measured->cell,
                                        .output_count = 1,
                                        .providers = list->items,
                                        .provider_count = list->count};
    const st_program *program = NULL;
    double *inputs = st_arena_alloc(arena, measured->input_count + 1, sizeof *inputs);
    const char *words = NULL;
    if (measured->are_trials || strchr(check->message, '{') == NULL)
        return check->message;
    st_errors *errors = st_errors_create();
    for (size_t i = 0; inputs != NULL && i < measured->input_count; i++)
        inputs[i] = measured->inputs[i * measured->row_count + index];
    if (inputs != NULL && errors != NULL &&
        st_program_compile(measured->sheet, &options, arena, &program, errors) == ST_OK)
        (void)!st_program_verify(program, inputs, errors);
    for (size_t i = 0; errors != NULL && words == NULL && i < st_errors_size(errors); i++)
        if (st_errors_at(errors, i)->severity == ST_SEVERITY_ERROR &&
            st_errors_at(errors, i)->status == ST_ERR_CHECK)
            words = st_arena_printf(arena, "%s", st_errors_at(errors, i)->message);
    st_errors_destroy(errors);
    return words != NULL ? words : check->message;
}

/* The compared cell, more that are asked for, and whether memory suffices. */
static size_t own_cells(const st_measured *measured)
{
    return 1 + measured->more_count + (measured->fits != NULL ? 1 : 0);
}

/* Leaves out a row whose table states a rate that its step cannot have. */
static void check_rates(st_measured *measured, double mfu, size_t index, st_errors *errors)
{
    st_row *row = &measured->rows[index];
    const size_t peak = st_sheet_reading_index(measured->sheet, ST_KEY_CLUSTER_GPU_PEAK_BF16);
    const st_row_check check = {
        .csv = measured->csv,
        .source = measured->source,
        .row = row,
        .mfu = mfu * row->estimate / row->measured,
        .flops_gpu = peak != SIZE_MAX ? mfu * row->estimate / row->measured *
                                            measured->inputs[peak * measured->row_count + index]
                                      : 0,
        .errors = errors};
    if (row->left_out == NULL && row->measured > 0)
        row->left_out = st_row_rate_contradiction(&check);
    row->estimated = row->left_out == NULL;
}

static st_status take_row(st_measured *measured, const st_asked_cells *asked, size_t index,
                          st_arena *arena, st_errors *errors)
{
    st_row *row = &measured->rows[index];
    row->estimate = asked->values[0][index];
    row->error = row->estimate / row->measured - 1.0;
    row->fits = measured->fits != NULL && asked->values[own_cells(measured) - 1][index] == 1.0;
    if (row->left_out != NULL)
        return ST_OK;
    /* The check that rejects a row. What does not fit in memory may well have run: that is an
     * answer to be compared, and no reason to leave the row out. */
    const st_sheet_check *check = NULL;
    const char *fits = measured->fits != NULL ? measured->fits : "";
    size_t count = 0;
    const st_sheet_check *failing_checks = st_sheet_checks(measured->sheet, &count);
    for (size_t i = 0; i < count; i++)
        if (!failing_checks[i].warning && !failing_checks[i].limit &&
            strcmp(failing_checks[i].formula, fits) != 0 && asked->checks[i][index] != 1.0) {
            check = &failing_checks[i];
            break;
        }
    if (check != NULL) {
        row->left_out = words_of_check(measured, index, check, arena);
    } else if (!isfinite(row->estimate)) {
        row->left_out = st_arena_printf(arena, "%s has no finite value", measured->cell);
    } else {
        row->estimated = true;
    }
    if (row->estimated && row->unmeasured)
        row->left_out = "nothing was measured";
    else if (row->estimated && asked->count > own_cells(measured))
        check_rates(measured, asked->values[own_cells(measured)][index], index, errors);
    return row->left_out != NULL || row->estimated ? ST_OK : ST_ERR_MEMORY;
}

/* A list for each of some cells, with a value for each row; NULL without memory. */
static double **make_values(size_t cells, size_t rows, st_arena *arena)
{
    double **values = st_arena_alloc(arena, cells + 1, sizeof *values);
    for (size_t i = 0; values != NULL && i < cells; i++)
        values[i] = st_arena_alloc(arena, rows + 1, sizeof *values[i]);
    return st_arena_failed(arena) ? NULL : values;
}

/* The cell that is compared, more that are asked for, and whether memory suffices. */
st_status st_measured_run(st_measured *measured, st_arena *arena, st_errors *errors)
{
    size_t checks = 0;
    const size_t own = own_cells(measured);
    const char *const mfu = st_sheet_role(measured->sheet, ST_ROLE_MFU);
    const bool has_rates = measured->csv != NULL && mfu != NULL && !measured->are_trials &&
                           st_measured_is_step(measured) &&
                           (st_csv_column(measured->csv, "mfu_pct") != SIZE_MAX ||
                            st_csv_column(measured->csv, "tflops_per_gpu") != SIZE_MAX);
    const size_t count = own + (has_rates ? 1 : 0);
    const char **names = st_arena_alloc(arena, count + 1, sizeof *names);
    double **values = make_values(count, measured->row_count, arena);
    (void)st_sheet_checks(measured->sheet, &checks);
    const st_asked_cells asked = {.names = names,
                                  .count = count,
                                  .values = values,
                                  .checks = make_values(checks, measured->row_count, arena)};
    if (names == NULL || values == NULL || asked.checks == NULL)
        return ST_ERR_MEMORY;
    names[0] = measured->cell;
    for (size_t i = 0; i < measured->more_count; i++)
        names[1 + i] = measured->more[i];
    if (measured->fits != NULL)
        names[own - 1] = measured->fits;
    if (has_rates)
        names[own] = mfu;
    measured->more_values = values + 1;
    st_status status = st_measured_ask(measured, &asked, arena, errors);
    for (size_t i = 0; i < measured->row_count && status == ST_OK; i++)
        status = take_row(measured, &asked, i, arena, errors);
    return status;
}

/* ---- jobs ---- */

static st_status load_job(const st_measured_request *request, const char *job, st_arena *arena,
                          st_estimate *estimate, st_errors *errors)
{
    const char **sets = st_arena_alloc(arena, request->set_count + 1, sizeof *sets);
    size_t count = 0;
    if (sets == NULL)
        return ST_ERR_MEMORY;
    if (request->constants != NULL)
        sets[count++] = st_arena_printf(arena, ST_KEY_CONSTANTS "=%s", request->constants);
    if (count > 0 && sets[0] == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < request->set_count; i++)
        sets[count++] = request->sets[i];
    const st_request request_here = {.job = job,
                                     .sheet = request->sheet,
                                     .sets = sets,
                                     .set_count = count,
                                     .refine = request->refine,
                                     .refine_count = request->refine_count};
    return st_estimate_load(request->paths, &request_here, arena, estimate, errors);
}

st_status st_measured_job(const st_measured_request *request, const char *job, st_arena *arena,
                          st_measured *measured, st_errors *errors)
{
    static const char path[] = ST_KEY_MEASURED_STEP_TIME;
    st_estimate *loaded = st_estimate_new(arena);
    st_status status =
        loaded != NULL ? load_job(request, job, arena, loaded, errors) : ST_ERR_MEMORY;
    if (status != ST_OK)
        return status;
    const st_estimate_parts estimate = st_estimate_parts_of(loaded);
    const st_job_value *value = st_job_value_of(estimate.job, path);
    if (value == NULL || value->origin == ST_ORIGIN_NONE) {
        const st_job *measurement_job = estimate.job;
        return st_fail(errors, ST_ERR_NAME, (st_place){.file = st_job_file(measurement_job)},
                       "job %s has no measured step time" ST_HINT
                       "add 'measured: {step_time: ...}' (%s)",
                       st_job_name(measurement_job), path);
    }
    st_row *row = st_arena_alloc(arena, 1, sizeof *row);
    double *inputs = st_arena_alloc(arena, estimate.input_count + 1, sizeof *inputs);
    st_provider_list *variant = st_arena_alloc(arena, 1, sizeof *variant);
    if (row == NULL || inputs == NULL || variant == NULL)
        return ST_ERR_MEMORY;
    *variant = estimate.providers;
    memcpy(inputs, estimate.input_values, estimate.input_count * sizeof *inputs);
    *row =
        (st_row){.id = st_job_name(estimate.job), .measured = value->number, .job = estimate.job};
    *measured = (st_measured){.name = "jobs",
                              .file = st_job_file(estimate.job),
                              .sheet = estimate.sheet,
                              .rows = row,
                              .row_count = 1,
                              .input_count = estimate.input_count,
                              .inputs = inputs,
                              .variants = variant,
                              .variant_count = 1};
    return st_measured_find_cell(measured, NULL, ST_ROLE_STEP, errors);
}

/* ---- rows of a fit ---- */

st_status st_measured_mark_fitted(st_measured *measured, const st_paths *paths,
                                  const char *constants, st_arena *arena, st_errors *errors)
{
    st_source text = {0};
    const st_yaml_node *root = NULL;
    st_place place = measured->source != NULL ? measured->source->place : (st_place){0};
    st_status status =
        st_paths_read(paths, ST_FOLDER_CONSTANTS, constants, place, arena, &text, errors);
    if (status == ST_OK)
        status = st_yaml_read(&text, arena, &root, errors);
    if (status != ST_OK)
        return status;
    st_yaml_reader reader = {.arena = arena, .errors = errors, .file = text.file};
    const st_yaml_node *fit = root->kind == ST_YAML_MAP ? st_read_map(&reader, root, "fit") : NULL;
    const st_yaml_node *rows =
        fit != NULL ? st_read_list(&reader, fit, "rows", ST_YAML_MAX_NODES) : NULL;
    size_t count = 0;
    const char **ids = st_read_texts(&reader, rows, "the id of a row is not a text", &count);
    if (count != 0) {
        qsort(ids, count, sizeof ids[0], st_order_texts);
        for (size_t i = 0; i < measured->row_count; i++)
            if (bsearch(&measured->rows[i].id, ids, count, sizeof ids[0], st_order_texts) != NULL)
                measured->rows[i].fitted = true;
    }
    return reader.status;
}
