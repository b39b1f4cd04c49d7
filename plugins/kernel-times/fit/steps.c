/* SPDX-License-Identifier: Apache-2.0 */
/* Layer times from measured steps; see steps.h. */
#include "kernel-times/fit/steps.h"

#include <math.h>
#include <string.h>

/* ---- what the sheet says of all rows ---- */

static const st_role_part roles[ST_STEP_VALUES] = {
    ST_TIME_SHAPE_ROLES,
    [ST_STEP_TIME] = {.role = ST_ROLE_STEP},
    [ST_STEP_LAYER] = {ST_ROLE_LAYER_TIME, ST_LAYER_TIME_ALL},
    [ST_STEP_LAYERS] = {.role = ST_ROLE_LAYERS},
    [ST_STEP_MICROS] = {.role = ST_ROLE_MICRO_BATCHES},
    [ST_STEP_STAGES] = {.role = ST_ROLE_PP},
    [ST_STEP_PEAK] = {.role = ST_ROLE_PEAK_RATE},
    [ST_STEP_BANDWIDTH] = {.role = ST_ROLE_MEMORY_BANDWIDTH},
    [ST_STEP_FACTOR] = {.role = ST_ROLE_SITE_FACTOR},
    [ST_STEP_MOE_LAYERS] = {.role = ST_ROLE_MOE_LAYERS}};

static st_status give_time(void *context, size_t rows, const double *const *arguments,
                           double *values)
{
    const st_step_layers *layers = context;
    (void)arguments;
    for (size_t i = 0; i < rows; i++)
        values[i] = layers->times[layers->row];
    return ST_OK;
}

st_status st_step_ask(const st_measured *measured, st_step_layers *layers, st_arena *arena,
                      double **values, st_errors *errors)
{
    bool has_moe = st_sheet_role(measured->sheet, ST_ROLE_MOE_LAYERS) != NULL;
    const char *names[ST_STEP_VALUES];
    st_provider provider = {0};
    const st_asked_cells asked = {.names = names,
                                  .count = has_moe ? ST_STEP_VALUES : ST_STEP_MOE_LAYERS,
                                  .values = values,
                                  .before = layers != NULL ? &provider : NULL,
                                  .row = layers != NULL ? &layers->row : NULL};
    const st_role_list wanted = {roles, asked.count, "layer times need"};
    if (!st_measured_is_step(measured)) {
        (void)st_fail(errors, ST_ERR_NAME, (st_place){.file = measured->file},
                      "layer times need step times" ST_FOUND "%s", measured->cell);
        return ST_ERR_NAME;
    }
    st_status status = st_sheet_need_roles(measured->sheet, &wanted, names, errors);
    if (status == ST_OK && layers != NULL) {
        /* The argument keeps the time from being taken for a constant. */
        static const st_unit one = {.multiplier = 1, .divisor = 1, .text = "1"};
        const st_sheet_cell *cell = st_sheet_find_cell(measured->sheet, names[ST_STEP_LAYER]);
        if (cell == NULL) {
            status = st_fail(errors, ST_ERR_NAME, (st_place){.file = measured->file},
                             "'%s' is an input of sheet %s" ST_EXPECTED
                             "an open cell for the time of a layer",
                             names[ST_STEP_LAYER], st_sheet_name(measured->sheet));
        } else {
            provider = (st_provider){.name = cell->name,
                                     .source = "kernel-times",
                                     .argument_names = &names[ST_TIMES_TOKENS],
                                     .argument_units = &one,
                                     .argument_count = 1,
                                     .unit = cell->type.unit,
                                     .evaluate = give_time,
                                     .self = layers};
        }
    }
    for (size_t i = 0; i < ST_STEP_VALUES; i++)
        values[i] = st_arena_alloc(arena, measured->row_count + 1, sizeof **values);
    if (st_arena_failed(arena))
        return st_out_of_memory(errors);
    return status == ST_OK ? st_measured_ask(measured, &asked, arena, errors) : status;
}

/* ---- layers ---- */

/* Counts the row; false if no layer time follows from it. */
static bool is_usable(const st_row *row, size_t index, double *const *values, st_step_rows *rows)
{
    if (row->left_out != NULL || row->ran_out || !(row->measured > 0)) {
        rows->left_out++;
        return false;
    }
    if (values[ST_STEP_STAGES][index] != 1) {
        rows->pipelined++;
        return false;
    }
    if (!(values[ST_STEP_LAYERS][index] > 0) || values[ST_STEP_MOE_LAYERS][index] != 0) {
        rows->mixed++;
        return false;
    }
    return true;
}

void st_step_shape(double *const *values, size_t row, st_times_shape *shape)
{
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++)
        shape->features[i] = i <= ST_TIMES_WIDTH ? values[i][row] : (double)NAN;
    shape->features[ST_TIMES_CLOSED] = values[ST_STEP_LAYER][row];
}

st_status st_time_steps(const st_measured *measured, st_arena *arena, st_time_sets *sets,
                        st_step_rows *rows, st_errors *errors)
{
    static const st_times_piece whole[] = {ST_TIMES_WHOLE};
    bool has[ST_TIMES_FEATURES] = {false};
    double *values[ST_STEP_VALUES];
    st_status status = st_step_ask(measured, NULL, arena, values, errors);
    for (size_t i = 0; i < ST_STEP_TIME; i++)
        has[i] = true;
    has[ST_TIMES_CLOSED] = true;
    st_time_set *set =
        status == ST_OK ? st_time_set_of(sets, ST_TIMES_OF_LAYER, has, whole, 1) : NULL;
    if (status == ST_OK && set == NULL)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = measured->file},
                       "a profile cannot hold both steps and layers");
    for (size_t row = 0; row < measured->row_count && status == ST_OK; row++) {
        if (!is_usable(&measured->rows[row], row, values, rows))
            continue;
        st_time_sample sample;
        /* The GPU's rates as the rows have them; one for all. */
        status = ST_OK;
        const char *name = st_measured_field(measured, row, "gpu");
        if (sets->gpu == NULL) {
            sets->gpu = name[0] != '\0' ? name : "unknown";
            sets->peak = values[ST_STEP_PEAK][row];
            sets->bandwidth = values[ST_STEP_BANDWIDTH][row];
        } else if (sets->peak != values[ST_STEP_PEAK][row] ||
                   sets->bandwidth != values[ST_STEP_BANDWIDTH][row]) {
            status = st_fail(errors, ST_ERR_VALUE, (st_place){.file = measured->file},
                             "times of two GPUs, %s and %s" ST_HINT "make a profile for each",
                             sets->gpu, name[0] != '\0' ? name : "another one");
        }
        /* The time of a row's layers. */
        double layers = values[ST_STEP_FACTOR][row] *
                        (values[ST_STEP_MICROS][row] * values[ST_STEP_LAYERS][row]);
        double off = (measured->rows[row].measured - values[ST_STEP_TIME][row]) / layers;
        sample = (st_time_sample){.repeats = 1};
        st_step_shape(values, row, &sample.shape);
        sample.times[0] = values[ST_STEP_LAYER][row] + off;
        if (!(sample.times[0] > 1e-9)) {
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
    double *values[ST_STEP_VALUES];
    st_step_rows rows = {0};
    st_status status = st_step_ask(measured, NULL, arena, values, errors);
    for (size_t row = 0; row < measured->row_count && status == ST_OK; row++)
        if (is_usable(&measured->rows[row], row, values, &rows))
            lines[measured->rows[row].line] = true;
    return status;
}
