/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates of measured rows, jobs as rows, and which rows a fit has used; see measured.h. */
#include "calibrate/steps/measured.h"

#include "job/keys.h"
#include "estimate/estimate_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- estimates ---- */

/* The rows of one variant, side by side. */
typedef struct row_run {
    st_measured *measured;
    size_t variant;
    size_t *rows; /* indices of its rows */
    size_t row_count;
    const st_program *program;
    st_column *columns;
    double *inputs; /* inputs[input * row_count + row] */
    double *estimates;
    double *fits;
    double *more[ST_MEASURED_MORE];
    double **checks;
    size_t check_count;
} row_run;

static st_status compile(row_run *run, st_arena *arena, st_errors *errors)
{
    static const st_provider_list none = {0};
    const st_measured *measured = run->measured;
    const st_provider_list *providers =
        run->variant < measured->variant_count ? &measured->variants[run->variant] : &none;
    const char *names[2 + ST_MEASURED_MORE] = {measured->cell};
    size_t count = 1;
    for (size_t i = 0; i < measured->more_count; i++)
        names[count++] = measured->more[i];
    if (measured->fits != NULL)
        names[count++] = measured->fits;
    const st_program_options options = {.outputs = names,
                                        .output_count = count,
                                        .providers = providers->items,
                                        .provider_count = providers->count};
    return st_program_compile(measured->sheet, &options, arena, &run->program, errors);
}

static void gather(row_run *run)
{
    const st_measured *measured = run->measured;
    run->row_count = 0;
    for (size_t i = 0; i < measured->row_count; i++)
        if (measured->rows[i].variant == run->variant)
            run->rows[run->row_count++] = i;
    for (size_t i = 0; i < measured->input_count; i++) {
        double *values = run->inputs + i * run->row_count;
        for (size_t row = 0; row < run->row_count; row++)
            values[row] = measured->inputs[i * measured->row_count + run->rows[row]];
        run->columns[i] = (st_column){values, 1};
    }
}

static bool allocate_more(row_run *run, st_arena *arena)
{
    st_measured *measured = run->measured;
    if (measured->more_count > ST_MEASURED_MORE)
        return false;
    measured->more_values = st_arena_alloc(arena, ST_MEASURED_MORE, sizeof *measured->more_values);
    for (size_t i = 0; measured->more_values != NULL && i < measured->more_count; i++) {
        run->more[i] = st_arena_alloc(arena, measured->row_count + 1, sizeof *run->more[i]);
        measured->more_values[i] =
            st_arena_alloc(arena, measured->row_count + 1, sizeof *run->more[i]);
        if (run->more[i] == NULL || measured->more_values[i] == NULL)
            return false;
    }
    return measured->more_values != NULL;
}

static bool allocate(row_run *run, st_arena *arena)
{
    const st_measured *measured = run->measured;
    size_t rows = measured->row_count;
    if (!allocate_more(run, arena))
        return false;
    (void)st_sheet_checks(measured->sheet, &run->check_count);
    run->columns = st_arena_alloc(arena, measured->input_count + 1, sizeof *run->columns);
    run->inputs = st_arena_alloc(arena, measured->input_count * rows + 1, sizeof *run->inputs);
    run->rows = st_arena_alloc(arena, rows + 1, sizeof *run->rows);
    run->estimates = st_arena_alloc(arena, rows + 1, sizeof *run->estimates);
    run->fits = st_arena_alloc(arena, rows + 1, sizeof *run->fits);
    run->checks = st_arena_alloc(arena, run->check_count + 1, sizeof *run->checks);
    if (run->columns == NULL || run->inputs == NULL || run->rows == NULL ||
        run->estimates == NULL || run->fits == NULL || run->checks == NULL)
        return false;
    for (size_t i = 0; i < run->check_count; i++) {
        run->checks[i] = st_arena_alloc(arena, rows + 1, sizeof *run->checks[i]);
        if (run->checks[i] == NULL)
            return false;
    }
    return true;
}

/* The check that rejects a row; NULL where all hold. What does not fit in memory may well have run:
 * that is an answer to be compared, and no reason to leave the row out. */
static const st_sheet_check *failing_check(const row_run *run, size_t row)
{
    const char *fits = run->measured->fits != NULL ? run->measured->fits : "";
    const st_sheet_check *checks = st_sheet_checks(run->measured->sheet, &(size_t){0});
    for (size_t i = 0; i < run->check_count; i++)
        if (!checks[i].warning && !checks[i].limit && strcmp(checks[i].formula, fits) != 0 &&
            run->checks[i][row] != 1.0)
            return &checks[i];
    return NULL;
}

/* What a check says where it fails, with the names of the values that differ from row to row. */
static const char *words_of(const st_sheet_check *check, st_arena *arena)
{
    char *words = st_arena_copy(arena, check->message, strlen(check->message));
    size_t length = 0;
    for (size_t i = 0; words != NULL && words[i] != '\0'; i++)
        if (words[i] != '{' && words[i] != '}')
            words[length++] = words[i];
    if (words != NULL)
        words[length] = '\0';
    return words;
}

static st_status take_row(const row_run *run, size_t index, st_arena *arena)
{
    st_row *row = &run->measured->rows[run->rows[index]];
    row->estimate = run->estimates[index];
    row->error = row->estimate / row->measured - 1.0;
    row->fits = run->fits[index] == 1.0;
    for (size_t i = 0; i < run->measured->more_count; i++)
        run->measured->more_values[i][run->rows[index]] = run->more[i][index];
    if (row->left_out != NULL)
        return ST_OK;
    const st_sheet_check *check = failing_check(run, index);
    if (check != NULL)
        row->left_out = words_of(check, arena);
    else if (!isfinite(row->estimate))
        row->left_out = st_arena_printf(arena, "%s has no finite value", run->measured->cell);
    else
        row->estimated = true;
    if (row->estimated && row->unmeasured)
        row->left_out = "nothing was measured";
    return row->left_out != NULL || row->estimated ? ST_OK : ST_ERR_MEMORY;
}

static st_status run_variant(row_run *run, st_arena *arena, st_errors *errors)
{
    gather(run);
    st_status status = compile(run, arena, errors);
    if (status != ST_OK)
        return status;
    st_workspace *workspace = st_workspace_create(run->program);
    if (workspace == NULL)
        return ST_ERR_MEMORY;
    double *outputs[2 + ST_MEASURED_MORE] = {run->estimates};
    for (size_t i = 0; i < run->measured->more_count; i++)
        outputs[1 + i] = run->more[i];
    outputs[1 + run->measured->more_count] = run->fits;
    status =
        st_program_run(run->program, workspace, run->columns, run->row_count, outputs, run->checks);
    st_workspace_destroy(workspace);
    for (size_t i = 0; status == ST_OK && i < run->row_count; i++)
        status = take_row(run, i, arena);
    return status;
}

st_status st_measured_run(st_measured *measured, st_arena *arena, st_errors *errors)
{
    row_run run = {.measured = measured};
    st_status status = allocate(&run, arena) ? ST_OK : ST_ERR_MEMORY;
    size_t variants = measured->variant_count > 0 ? measured->variant_count : 1;
    for (run.variant = 0; run.variant < variants && status == ST_OK; run.variant++)
        status = run_variant(&run, arena, errors);
    return status;
}

/* ---- jobs ---- */

static st_status no_measurement(const st_estimate *estimate, const char *path, st_errors *errors)
{
    return st_fail(errors, ST_ERR_NAME, (st_place){.file = st_job_file(estimate->job)},
                   "job %s has no measured step time" ST_HINT
                   "add 'measured: {step_time: ...}' (%s)",
                   st_job_name(estimate->job), path);
}

static st_status load_job(const st_measured_request *request, const char *job, st_arena *arena,
                          st_estimate *estimate, st_errors *errors)
{
    const char **sets = st_arena_alloc(arena, request->set_count + 1, sizeof *sets);
    size_t count = 0;
    if (sets == NULL)
        return ST_ERR_MEMORY;
    if (request->constants != NULL)
        sets[count++] = st_arena_printf(arena, ST_CONSTANTS "=%s", request->constants);
    if (count > 0 && sets[0] == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < request->set_count; i++)
        sets[count++] = request->sets[i];
    const st_request own = {.job = job,
                            .sheet = request->sheet,
                            .sets = sets,
                            .set_count = count,
                            .refine = request->refine,
                            .refine_count = request->refine_count};
    return st_estimate_load(request->paths, &own, arena, estimate, errors);
}

st_status st_measured_job(const st_measured_request *request, const char *job, st_arena *arena,
                          st_measured *measured, st_errors *errors)
{
    static const char path[] = "measured.step_time";
    st_estimate estimate = {0};
    st_status status = load_job(request, job, arena, &estimate, errors);
    if (status != ST_OK)
        return status;
    const st_job_value *value = st_job_value_of(estimate.job, path);
    if (value == NULL || value->origin == ST_ORIGIN_NONE)
        return no_measurement(&estimate, path, errors);
    st_row *row = st_arena_alloc(arena, 1, sizeof *row);
    double *inputs = st_arena_alloc(arena, estimate.input_count + 1, sizeof *inputs);
    st_provider_list *variant = st_arena_alloc(arena, 1, sizeof *variant);
    if (row == NULL || inputs == NULL || variant == NULL)
        return ST_ERR_MEMORY;
    *variant = (st_provider_list){estimate.providers, estimate.provider_count};
    memcpy(inputs, estimate.input_values, estimate.input_count * sizeof *inputs);
    *row = (st_row){.id = st_job_name(estimate.job), .measured = value->number};
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

static void mark(st_measured *measured, const char **ids, size_t count)
{
    if (count == 0)
        return;
    qsort(ids, count, sizeof ids[0], st_order_texts);
    for (size_t i = 0; i < measured->row_count; i++)
        if (bsearch(&measured->rows[i].id, ids, count, sizeof ids[0], st_order_texts) != NULL)
            measured->rows[i].fitted = true;
}

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
    mark(measured, ids, count);
    return reader.status;
}
