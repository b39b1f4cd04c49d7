/* SPDX-License-Identifier: Apache-2.0 */
/* Layer times from measured steps; see steps.h. */
#include "calibrate/layers/steps.h"

#include "job/files.h"

#include <math.h>
#include <string.h>

/* ---- cells of all rows ---- */

typedef struct cell_run {
    const st_measured *measured;
    const st_step_request *request;
    st_arena *arena;
    double **values;
    st_errors *errors;
} cell_run;

static st_status compile(const cell_run *own, size_t variant, const st_program **program)
{
    static const st_provider_list none = {0};
    const st_measured *measured = own->measured;
    const st_provider_list *list =
        variant < measured->variant_count ? &measured->variants[variant] : &none;
    const st_provider **providers = st_arena_alloc(own->arena, list->count + 1, sizeof(*providers));
    size_t count = 0;
    if (providers == NULL) {
        return st_out_of_memory(own->errors);
    }
    if (own->request->provider != NULL) {
        providers[count++] = own->request->provider;
    }
    for (size_t i = 0; i < list->count; i++) {
        providers[count++] = list->items[i];
    }
    st_program_options options = {.outputs = own->request->names,
                                  .output_count = own->request->count,
                                  .providers = providers,
                                  .provider_count = count,
                                  .without_checks = true};
    return st_program_compile(measured->sheet, &options, own->arena, program, own->errors);
}

/* Row after row: rows of a variant do not lie side by side. */
static st_status run_variant(const cell_run *own, size_t variant)
{
    const st_measured *measured = own->measured;
    const st_program *program = NULL;
    double *inputs = st_arena_alloc(own->arena, measured->input_count + 1, sizeof *inputs);
    double *outputs = st_arena_alloc(own->arena, own->request->count, sizeof *outputs);
    if (inputs == NULL || outputs == NULL) {
        return st_out_of_memory(own->errors);
    }
    st_status status = compile(own, variant, &program);
    st_workspace *workspace = status == ST_OK ? st_workspace_create(program) : NULL;
    if (status == ST_OK && workspace == NULL) {
        status = st_out_of_memory(own->errors);
    }
    for (size_t row = 0; row < measured->row_count && status == ST_OK; row++) {
        if (measured->rows[row].variant != variant) {
            continue;
        }
        for (size_t i = 0; i < measured->input_count; i++) {
            inputs[i] = measured->inputs[i * measured->row_count + row];
        }
        status = st_program_run_one(program, workspace, inputs, outputs, NULL);
        for (size_t i = 0; i < own->request->count; i++) {
            own->values[i][row] = outputs[i];
        }
        if (own->request->origins != NULL) {
            own->request->origins[row] = *own->request->current;
        }
    }
    st_workspace_destroy(workspace);
    return status;
}

st_status st_step_cells(const st_measured *measured, const st_step_request *request,
                        st_arena *arena, double **values, st_errors *errors)
{
    cell_run own = {.measured = measured,
                    .request = request,
                    .arena = arena,
                    .values = values,
                    .errors = errors};
    st_status status = ST_OK;
    for (size_t i = 0; i < request->count; i++) {
        values[i] = st_arena_alloc(arena, measured->row_count + 1, sizeof **values);
        if (values[i] == NULL) {
            (void)st_out_of_memory(errors);
            return ST_ERR_MEMORY;
        }
    }
    size_t variants = measured->variant_count > 0 ? measured->variant_count : 1;
    for (size_t i = 0; i < variants && status == ST_OK; i++) {
        status = run_variant(&own, i);
    }
    return status;
}

/* ---- layers ---- */

/* Behind the features of a shape. */
enum { STEP = ST_TIMES_WIDTH + 1, LAYER, DENSE, MIXED, STAGES, FACTOR, PEAK, BANDWIDTH, CELLS };

static const char *const cells[CELLS] = {[ST_TIMES_TOKENS] = "n",
                                         [ST_TIMES_SEQUENCE] = "s",
                                         [ST_TIMES_HIDDEN] = "h",
                                         [ST_TIMES_INNER] = "f",
                                         [ST_TIMES_HEADS] = "a",
                                         [ST_TIMES_KV_HEADS] = "kv",
                                         [ST_TIMES_TENSOR] = "t",
                                         [ST_TIMES_UP] = "up",
                                         [ST_TIMES_CONTEXT] = "cp",
                                         [ST_TIMES_PASSES] = "passes",
                                         [ST_TIMES_WIDTH] = "w",
                                         [ST_TIMES_SPLIT] = "norm_split",
                                         [STEP] = "step_time",
                                         [LAYER] = "t_layer[dense]",
                                         [DENSE] = "n_layers[dense]",
                                         [MIXED] = "n_layers[moe]",
                                         [STAGES] = "p",
                                         [FACTOR] = "site_factor",
                                         [PEAK] = "F_fp16",
                                         [BANDWIDTH] = "BW"};

static st_status check_sheet(const st_measured *measured, st_errors *errors)
{
    for (size_t i = 0; i < CELLS; i++) {
        if (st_sheet_find_cell(measured->sheet, cells[i]) == NULL &&
            st_sheet_find_input(measured->sheet, cells[i]) == NULL) {
            return st_fail(errors, ST_ERR_NAME, (st_place){.file = measured->file},
                           "layer times cannot be told with sheet %s, which has no '%s'; the sheet "
                           "megatron has",
                           st_sheet_name(measured->sheet), cells[i]);
        }
    }
    if (strcmp(measured->cell, "step_time") != 0) {
        return st_fail(errors, ST_ERR_NAME, (st_place){.file = measured->file},
                       "layer times need step times" ST_FOUND "%s", measured->cell);
    }
    return ST_OK;
}

/* The GPU's rates as the rows have them; one for all. */
static st_status take_gpu(const st_measured *measured, size_t row, double *const *values,
                          st_time_sets *sets, st_errors *errors)
{
    const char *name = st_measured_field(measured, row, "gpu");
    if (sets->gpu == NULL) {
        sets->gpu = name[0] != '\0' ? name : "unknown";
        sets->peak = values[PEAK][row];
        sets->bandwidth = values[BANDWIDTH][row];
        return ST_OK;
    }
    if (sets->peak == values[PEAK][row] && sets->bandwidth == values[BANDWIDTH][row]) {
        return ST_OK;
    }
    return st_fail(errors, ST_ERR_VALUE, (st_place){.file = measured->file},
                   "times of two GPUs, %s and %s" ST_HINT "make a profile of each", sets->gpu,
                   name[0] != '\0' ? name : "another one");
}

/* Counts the row; false where no layer time can be told from it. */
static bool is_usable(const st_row *row, size_t index, double *const *values, st_step_rows *rows)
{
    if (row->left_out != NULL || row->ran_out || !(row->measured > 0)) {
        rows->left_out++;
        return false;
    }
    if (values[STAGES][index] != 1) {
        rows->pipelined++;
        return false;
    }
    if (!(values[DENSE][index] > 0) || values[MIXED][index] != 0) {
        rows->mixed++;
        return false;
    }
    return true;
}

/* The time of a row's layers; false where nothing is left for them. */
static bool take_layer(const st_measured *measured, size_t row, double *const *values,
                       st_time_sample *sample)
{
    double layers = values[FACTOR][row] * values[DENSE][row];
    double off = (measured->rows[row].measured - values[STEP][row]) / layers;
    *sample = (st_time_sample){.repeats = 1};
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++) {
        sample->shape.features[i] = i < STEP ? values[i][row] : (double)NAN;
    }
    sample->shape.features[ST_TIMES_CLOSED] = values[LAYER][row];
    sample->times[0] = values[LAYER][row] + off;
    return sample->times[0] > 1e-9;
}

st_status st_time_steps(const st_measured *measured, st_arena *arena, st_time_sets *sets,
                        st_step_rows *rows, st_errors *errors)
{
    static const st_times_piece whole[] = {ST_TIMES_WHOLE};
    bool has[ST_TIMES_FEATURES] = {false};
    double *values[CELLS];
    st_status status = check_sheet(measured, errors);
    if (status == ST_OK) {
        st_step_request request = {.names = cells, .count = CELLS};
        status = st_step_cells(measured, &request, arena, values, errors);
    }
    for (size_t i = 0; i < STEP; i++) {
        has[i] = true;
    }
    has[ST_TIMES_CLOSED] = true;
    st_time_set *set =
        status == ST_OK ? st_time_set_of(sets, "t_layer[dense]", has, whole, 1) : NULL;
    if (status == ST_OK && set == NULL) {
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = measured->file},
                       "steps and layers do not go into one profile");
    }
    for (size_t row = 0; row < measured->row_count && status == ST_OK; row++) {
        if (!is_usable(&measured->rows[row], row, values, rows)) {
            continue;
        }
        st_time_sample sample;
        status = take_gpu(measured, row, values, sets, errors);
        if (!take_layer(measured, row, values, &sample)) {
            rows->shorter++;
        } else if (status == ST_OK) {
            rows->used++;
            status = st_time_add(set, &sample, arena, errors);
        }
    }
    return status;
}

st_status st_step_usable(const st_measured *measured, st_arena *arena, bool *lines,
                         st_errors *errors)
{
    double *values[CELLS];
    st_step_rows rows = {0};
    st_step_request request = {.names = cells, .count = CELLS};
    st_status status = st_step_cells(measured, &request, arena, values, errors);
    for (size_t row = 0; row < measured->row_count && status == ST_OK; row++) {
        if (is_usable(&measured->rows[row], row, values, &rows)) {
            lines[measured->rows[row].line] = true;
        }
    }
    return status;
}
