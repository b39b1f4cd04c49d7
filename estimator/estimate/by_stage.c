/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the sheet a stage, with the input of role 'stage_asked' set to it. */
#include "estimate/by_stage.h"

#include "base/memory.h"
#include "sheet/roles.h"

#include <string.h>

/* That input, of a copy of all values; NULL: the sheet has none. */
static double *stage_input(st_estimate *estimate, double *values)
{
    const char *name = st_sheet_role(estimate->sheet, ST_ROLE_STAGE_ASKED);
    memcpy(values, estimate->input_values, estimate->input_count * sizeof *values);
    for (size_t i = 0; name != NULL && i < estimate->input_count; i++) {
        if (strcmp(estimate->inputs[i].input->name, name) == 0) {
            estimate->input_values = values;
            return &values[i];
        }
    }
    return NULL;
}

st_status st_estimate_by_stage(st_estimate *estimate, const st_stage_question *question,
                               st_arena *arena, double *values, st_errors *errors)
{
    size_t count = question->count;
    const double *before = estimate->input_values;
    double *copy = st_arena_alloc(arena, estimate->input_count + 1, sizeof *copy);
    if (copy == NULL)
        return st_out_of_memory(errors);
    st_status status =
        st_estimate_show_names(estimate, question->cells, count, (st_place){0}, arena, errors);
    double *asked = stage_input(estimate, copy);
    for (size_t stage = 0; stage < question->stages && status == ST_OK; stage++) {
        if (stage > 0 && asked == NULL) {
            memcpy(&values[stage * count], values, count * sizeof *values);
            continue;
        }
        if (asked != NULL)
            *asked = (double)stage;
        status = st_estimate_run(estimate, arena, stage == 0 ? errors : NULL);
        for (size_t i = 0; i < count && status == ST_OK; i++)
            values[stage * count + i] = estimate->shown[i].value;
    }
    estimate->input_values = before;
    return status;
}
