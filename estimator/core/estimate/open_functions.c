/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables as providers; see open_functions.h. */
#include "estimate/open_functions.h"

#include "sheet/binding.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

const st_sheet_function *st_open_function_find(const st_sheet *sheet, const char *name)
{
    const st_sheet_function *function = st_sheet_find_function(sheet, name);
    return function != NULL && function->open ? function : NULL;
}

st_status st_open_evaluate(void *context, size_t rows, const double *const *arguments,
                           double *values)
{
    const st_open_self *provider = context;
    double row[ST_OPEN_ARGUMENTS] = {0};
    for (size_t i = 0; i < rows; i++) {
        bool finite = true;
        for (size_t j = 0; j < provider->argument_count; j++) {
            row[j] = arguments[j][i];
            finite = finite && isfinite(row[j]);
        }
        values[i] = finite
                        ? provider->function->value(provider->over, row, provider->function->which)
                        : (double)NAN;
    }
    return ST_OK;
}

st_status st_open_provider(const st_open_function *function, const void *over, st_arena *arena,
                           st_provider *provider, st_errors *errors)
{
    st_open_self *state = st_arena_alloc(arena, 1, sizeof(*state));
    st_unit *units = st_arena_alloc(arena, ST_OPEN_ARGUMENTS, sizeof(*units));
    if (state == NULL || units == NULL)
        return st_out_of_memory(errors);
    *state = (st_open_self){.function = function, .over = over};
    *provider = (st_provider){.name = function->name,
                              .argument_units = units,
                              .evaluate = st_open_evaluate,
                              .self = state};
    st_status status = st_unit_parse(function->unit, strlen(function->unit), (st_place){0},
                                     &provider->unit, errors);
    for (size_t i = 0; function->units[i] != NULL && status == ST_OK; i++) {
        status = st_unit_parse(function->units[i], strlen(function->units[i]), (st_place){0},
                               &units[i], errors);
        state->argument_count = i + 1;
    }
    provider->argument_count = state->argument_count;
    return status;
}
