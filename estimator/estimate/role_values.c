/* SPDX-License-Identifier: Apache-2.0 */
/* One program over the cells of the roles; see role_values.h. */
#include "estimate/role_values.h"

#include "base/memory.h"

st_status st_estimate_roles(const st_paths *paths, const st_request *request,
                            const st_role_list *roles, st_arena *arena, double *values,
                            st_errors *errors)
{
    st_estimate estimate = {0};
    st_workspace *workspace = NULL;
    const st_program *program = NULL;
    const char **names = st_arena_alloc(arena, roles->count, sizeof *names);
    st_status status = st_estimate_open(paths, request, arena, &estimate, errors);
    if (names == NULL)
        return st_out_of_memory(errors);
    if (status == ST_OK)
        status = st_sheet_need_roles(estimate.sheet, roles, names, errors);
    if (status != ST_OK)
        return status;
    st_program_options options = {
        .outputs = names, .output_count = roles->count, .without_checks = true};
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
