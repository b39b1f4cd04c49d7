/* SPDX-License-Identifier: Apache-2.0 */
/* Layer times tried on measured steps, those that they come from and others; see steps.h. */
#include "calibrate/layers/steps.h"

#include "calibrate/layers/time_cells.h"
#include "job/files.h"

#include <math.h>
#include <string.h>

/* ---- a provider of layer times ---- */

typedef struct layer_provider {
    const st_times *times;
    st_times_origin origin; /* of the latest row */
} layer_provider;

static st_status evaluate(void *context, size_t rows, const double *const *arguments,
                          double *values)
{
    layer_provider *self = context;
    for (size_t i = 0; i < rows; i++) {
        cell_row row;
        st_times_answer answer;
        st_cell_read(&st_cell_layer, arguments, i, &row);
        st_times_ask(self->times, &row.shape, &answer);
        values[i] = answer.sum;
        self->origin = answer.origin;
    }
    return ST_OK;
}

static st_status make_provider(layer_provider *self, st_arena *arena, st_provider *provider,
                               st_errors *errors)
{
    const char **names = st_arena_alloc(arena, ST_CELL_COUNT_layer, sizeof *names);
    st_unit *units = st_arena_alloc(arena, ST_CELL_COUNT_layer, sizeof *units);
    st_unit time;
    st_status status = ST_OK;
    if (names == NULL || units == NULL) {
        return st_out_of_memory(errors);
    }
    for (size_t i = 0; i < ST_CELL_COUNT_layer && status == ST_OK; i++) {
        const st_plugin_argument *argument = st_cell_layer_arguments[i];
        names[i] = i == 0 ? "F_fp16" : i == 1 ? "BW" : argument->name; /* the sheet's names */
        const char *unit = argument->unit[0] != '\0' ? argument->unit : "1";
        status = st_unit_parse(unit, strlen(unit), (st_place){0}, &units[i], errors);
    }
    if (status == ST_OK) {
        status = st_unit_parse("us", 2, (st_place){0}, &time, errors);
    }
    if (status == ST_OK) {
        *provider = (st_provider){.name = ST_CELL_NAME_layer,
                                  .source = "kernel-times",
                                  .argument_names = names,
                                  .argument_units = units,
                                  .argument_count = ST_CELL_COUNT_layer,
                                  .unit = time,
                                  .evaluate = evaluate,
                                  .self = self};
    }
    return status;
}

/* ---- rows ---- */

static void add_error(st_step_errors *result, st_step_part part, double formula, double refined)
{
    size_t index = result->count[part]++;
    result->formula[part][index] = formula;
    result->refined[part][index] = refined;
}

static st_step_part part_of(bool used, st_times_origin origin)
{
    return used                           ? ST_STEPS_USED
           : origin == ST_TIMES_OUTSIDE   ? ST_STEPS_OUTSIDE
           : origin == ST_TIMES_PREDICTED ? ST_STEPS_PREDICTED
                                          : ST_STEPS_MEASURED;
}

/* Room for the rows of one more table. */
static bool make_room(const st_measured *measured, st_arena *arena, st_step_errors *result)
{
    for (size_t i = 0; i < ST_STEP_PARTS; i++) {
        size_t room = result->count[i] + measured->row_count + 1;
        double *formula = st_arena_alloc(arena, room, sizeof *formula);
        double *refined = st_arena_alloc(arena, room, sizeof *refined);
        if (formula == NULL || refined == NULL) {
            return false;
        }
        if (result->count[i] > 0) {
            memcpy(formula, result->formula[i], result->count[i] * sizeof *formula);
            memcpy(refined, result->refined[i], result->count[i] * sizeof *refined);
        }
        result->formula[i] = formula;
        result->refined[i] = refined;
    }
    return true;
}

st_status st_step_try(const st_measured *measured, const st_times *times, const bool *used,
                      st_arena *arena, st_step_errors *result, st_errors *errors)
{
    static const char *const names[] = {"step_time", "n_layers[moe]"};
    layer_provider self = {.times = times};
    st_provider provider;
    double *formula[2];
    double *refined[2];
    st_times_origin *origins = st_arena_alloc(arena, measured->row_count + 1, sizeof *origins);
    if (origins == NULL || !make_room(measured, arena, result)) {
        return st_out_of_memory(errors);
    }
    st_status status = make_provider(&self, arena, &provider, errors);
    if (status == ST_OK) {
        st_step_request request = {.names = names, .count = 2};
        status = st_step_cells(measured, &request, arena, formula, errors);
    }
    if (status == ST_OK) {
        st_step_request request = {.names = names,
                                   .count = 2,
                                   .provider = &provider,
                                   .current = &self.origin,
                                   .origins = origins};
        status = st_step_cells(measured, &request, arena, refined, errors);
    }
    for (size_t i = 0; i < measured->row_count && status == ST_OK; i++) {
        const st_row *row = &measured->rows[i];
        if (row->left_out != NULL || row->ran_out || !(row->measured > 0) || formula[1][i] > 0 ||
            !isfinite(refined[0][i])) {
            continue;
        }
        st_step_part part = part_of(used[row->line], origins[i]);
        double before = formula[0][i] / row->measured - 1;
        double after = refined[0][i] / row->measured - 1;
        add_error(result, part, before, after);
        if (part != ST_STEPS_USED) {
            add_error(result, ST_STEPS_OTHERS, before, after);
        }
    }
    return status;
}
