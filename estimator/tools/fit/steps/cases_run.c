/* SPDX-License-Identifier: Apache-2.0 */
/* Runs validation cases and compares what comes out with what was published; see cases.h. */
#include "fit/steps/cases.h"

#include "base/error_scope.h"
#include "steptime/tool/estimates.h"

#include <math.h>
#include <string.h>

static st_status choose_cells(const st_case *item, st_estimate *estimate, st_arena *arena,
                              st_errors *errors)
{
    const char **names = st_arena_alloc(arena, item->value_count + 1, sizeof *names);
    if (names == NULL)
        return ST_ERR_MEMORY;
    st_status status = ST_OK;
    for (size_t i = 0; i < item->value_count; i++) {
        /* one by one, so that each unknown name has the place of its own line */
        st_status known = st_estimate_show_names(estimate, &item->values[i].cell, 1,
                                                 item->values[i].cell_place, arena, errors);
        status = status == ST_OK ? known : status;
        names[i] = item->values[i].cell;
    }
    if (status != ST_OK)
        return status;
    return st_estimate_show_names(estimate, names, item->value_count, item->place, arena, errors);
}

bool st_case_value_as_told(const st_case_value *value)
{
    return value->ok == (value->missed[0] == '\0');
}

st_status st_cases_run(const st_paths *paths, st_arena *arena, st_case_source *source,
                       st_errors *errors)
{
    source->compared = 0;
    source->failed = 0;
    source->explained = 0;
    source->missed = 0;
    for (size_t i = 0; i < source->case_count; i++) {
        st_case *item = &source->cases[i];
        /* The warnings of a case's sheet belong to `sheet check`. */
        st_error_scope quiet = {.edit = st_error_is_severe};
        st_errors_enter(errors, &quiet);
        st_estimate *estimate = st_estimate_new(arena);
        st_request request = {.job = item->job,
                              .sheet = item->sheet,
                              .sets = item->sets,
                              .set_count = item->set_count};
        st_status status = estimate != NULL
                               ? st_estimate_load(paths, &request, arena, estimate, errors)
                               : ST_ERR_MEMORY;
        if (status == ST_OK)
            status = choose_cells(item, estimate, arena, errors);
        if (status == ST_OK) {
            for (size_t j = 0; j < item->value_count; j++) {
                st_case_value *value = &item->values[j];
                st_status parsed = ST_OK;
                value->type = st_estimate_shown_type(estimate, j);
                if (value->type->kind == ST_TYPE_NUMBER)
                    parsed = st_quantity_parse(value->published, strlen(value->published),
                                               &value->type->unit, value->published_place,
                                               &value->published_value, errors);
                else
                    parsed =
                        st_fail(errors, ST_ERR_VALUE, value->cell_place,
                                "cell '%s' is not a number and cannot be compared", value->cell);
                status = status == ST_OK ? parsed : status;
            }
        }
        if (status == ST_OK)
            status = st_estimate_run(estimate, arena, errors);
        if (status == ST_OK) {
            for (size_t j = 0; j < item->value_count; j++) {
                st_case_value *value = &item->values[j];
                value->value = st_estimate_shown_value(estimate, j);
                double difference = value->value - value->published_value;
                value->difference_frac =
                    difference == 0.0 ? 0.0 : difference / fabs(value->published_value);
                value->compared = true;
                value->ok = fabs(value->difference_frac) <= value->tolerance_frac;
            }
            item->ran = true;
        }
        st_errors_leave(errors, &quiet);
        if (status != ST_OK && status != ST_ERR_MEMORY)
            st_fail(errors, status, item->place, "case '%s' cannot run", item->name);
        if (status == ST_ERR_MEMORY)
            return ST_ERR_MEMORY;
        for (size_t k = 0; k < item->value_count; k++) {
            const st_case_value *value = &item->values[k];
            if (!value->compared)
                source->missed++;
            else if (!st_case_value_as_told(value))
                source->failed++;
            else if (!value->ok)
                source->explained++;
            source->compared += value->compared ? 1 : 0;
        }
    }
    return ST_OK;
}
