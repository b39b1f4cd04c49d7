/* SPDX-License-Identifier: Apache-2.0 */
/* What tools see of an estimate, whose structure is the library's own. */
#include "estimate/estimate_internal.h"

#include "estimate/builtin.h"

st_estimate *st_estimate_new(st_arena *arena)
{
    st_estimate *estimate = st_arena_alloc(arena, 1, sizeof *estimate);
    if (estimate != NULL)
        *estimate = (st_estimate){0};
    return estimate;
}

st_estimate_parts st_estimate_parts_of(const st_estimate *estimate)
{
    return (st_estimate_parts){.job = estimate->job,
                               .sheet = estimate->sheet,
                               .inputs = estimate->inputs,
                               .input_values = estimate->input_values,
                               .input_count = estimate->input_count,
                               .providers = {estimate->providers, estimate->provider_count},
                               .plugin_count = estimate->plugin_count};
}

const st_type *st_estimate_shown_type(const st_estimate *estimate, size_t index)
{
    return estimate->shown[index].type;
}

double st_estimate_shown_value(const st_estimate *estimate, size_t index)
{
    return estimate->shown[index].value;
}

st_status st_estimate_providers(const st_provider_wish *wish, st_arena *arena,
                                st_provider_list *list, st_errors *errors)
{
    const st_request request = {.refine = wish->refine, .refine_count = wish->refine_count};
    st_estimate estimate = {.job = wish->job, .sheet = wish->sheet};
    if (wish->refine_count == 0)
        return st_builtin_providers(wish->paths, wish->job, wish->sheet, arena, list, errors);
    st_status status = st_estimate_gather(wish->paths, &request, arena, &estimate, errors);
    *list = st_estimate_parts_of(&estimate).providers;
    return status;
}
