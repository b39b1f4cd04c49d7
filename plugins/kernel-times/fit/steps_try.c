/* SPDX-License-Identifier: Apache-2.0 */
/* Layer times tried on measured steps, those that they come from and others; see steps.h. */
#include "kernel-times/fit/steps.h"

#include "base/memory.h"

#include <math.h>

static void add_error(st_step_errors *result, st_step_part part, double formula, double refined,
                      st_arena *arena)
{
    size_t count = result->count[part];
    (void)ST_APPEND(arena, result->formula[part], count, formula);
    (void)ST_APPEND(arena, result->refined[part], result->count[part], refined);
}

st_status st_step_try(const st_measured *measured, const st_times *times, const bool *used,
                      st_arena *arena, st_step_errors *result, st_errors *errors)
{
    double *formula[ST_STEP_VALUES];
    double *refined[ST_STEP_VALUES];
    st_times_origin *origins = st_arena_alloc(arena, measured->row_count + 1, sizeof *origins);
    double *answers = st_arena_alloc(arena, measured->row_count + 1, sizeof *answers);
    if (origins == NULL || answers == NULL)
        return st_out_of_memory(errors);
    st_status status = st_step_ask(measured, NULL, arena, formula, errors);
    if (status == ST_OK) {
        /* What the times say of the layers of each row. */
        for (size_t i = 0; i < measured->row_count; i++) {
            st_times_shape shape;
            st_times_answer answer;
            st_step_shape(formula, i, &shape);
            st_times_ask(times, &shape, &answer);
            answers[i] = answer.sum;
            origins[i] = answer.origin;
        }
        status = st_step_ask(measured, &(st_step_layers){.times = answers}, arena, refined, errors);
    }
    for (size_t i = 0; i < measured->row_count && status == ST_OK; i++) {
        const st_row *row = &measured->rows[i];
        if (row->left_out != NULL || row->ran_out || !(row->measured > 0) ||
            formula[ST_STEP_MOE_LAYERS][i] > 0 || !isfinite(refined[ST_STEP_TIME][i]))
            continue;
        const st_times_origin origin = origins[i];
        st_step_part part = used[row->line]                ? ST_STEPS_USED
                            : origin == ST_TIMES_OUTSIDE   ? ST_STEPS_OUTSIDE
                            : origin == ST_TIMES_PREDICTED ? ST_STEPS_PREDICTED
                                                           : ST_STEPS_MEASURED;
        double before = formula[ST_STEP_TIME][i] / row->measured - 1;
        double after = refined[ST_STEP_TIME][i] / row->measured - 1;
        add_error(result, part, before, after, arena);
        if (part != ST_STEPS_USED)
            add_error(result, ST_STEPS_OTHERS, before, after, arena);
    }
    return st_arena_failed(arena) ? st_out_of_memory(errors) : status;
}
