/* SPDX-License-Identifier: Apache-2.0 */
/* One program over the cells of the roles, or over the checks alone; see steptime/tool/estimates.h.
 */
#include "estimate/estimate_internal.h"

#include "base/memory.h"

st_status st_estimate_roles(const st_paths *paths, const st_request *request,
                            const st_role_list *roles, st_arena *arena, double *values,
                            st_errors *errors)
{
    st_estimate estimate = {0};
    st_workspace *workspace = NULL;
    const st_program *program = NULL;
    const char **names = st_arena_alloc(arena, roles->count, sizeof *names);
    bool refined = request->refine_count > 0;
    st_status status = refined ? st_estimate_load(paths, request, arena, &estimate, errors)
                               : st_estimate_open(paths, request, arena, &estimate, errors);
    if (names == NULL)
        return st_out_of_memory(errors);
    if (status == ST_OK)
        status = st_sheet_need_roles(estimate.sheet, roles, names, errors);
    if (status != ST_OK)
        return status;
    st_program_options options = {.outputs = names,
                                  .output_count = roles->count,
                                  .providers = estimate.providers,
                                  .provider_count = estimate.provider_count,
                                  .without_checks = true};
    status = st_program_compile(estimate.sheet, &options, arena, &program, errors);
    if (status != ST_OK)
        return status;
    workspace = st_workspace_create(program);
    if (workspace == NULL)
        return st_out_of_memory(errors);
    status = st_program_run_one(program, workspace, estimate.input_values, values, NULL);
    st_workspace_destroy(workspace);
    return status == ST_OK ? st_program_verify(program, estimate.input_values, errors) : status;
}

st_status st_estimate_check_plan(const st_paths *paths, const st_request *request, st_arena *arena,
                                 st_errors *errors)
{
    st_estimate estimate = {0};
    st_errors *found = st_errors_create();
    if (found == NULL)
        return st_out_of_memory(errors);
    st_status status = st_estimate_load(paths, request, arena, &estimate, found);
    if (status == ST_OK) {
        static const char *const none[] = {NULL};
        const st_program *program = NULL;
        const st_program_options options = {.outputs = none,
                                            .providers = estimate.providers,
                                            .provider_count = estimate.provider_count};
        st_status check_status =
            st_program_compile(estimate.sheet, &options, arena, &program, found);
        status = check_status == ST_OK ? st_program_verify(program, estimate.input_values, found)
                                       : check_status;
    }
    for (size_t i = 0; i < st_errors_size(found) && status != ST_OK; i++)
        if (st_errors_at(found, i)->severity == ST_SEVERITY_ERROR)
            (void)st_errors_add(errors, st_errors_at(found, i));
    st_errors_destroy(found);
    return status;
}
