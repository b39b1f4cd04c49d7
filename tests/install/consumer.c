/* SPDX-License-Identifier: Apache-2.0 */
/* A program of somebody else: knows the installed headers and `pkg-config steptime`, nothing more.
 */
#include <steptime/steptime.h>

#include <stdio.h>
#include <string.h>

/* Loads a job and its sheet, and prints one cell at its exact value. */
static st_status print_cell(const st_paths *paths, const char *job_name, const char *cell,
                            st_arena *arena, st_errors *errors)
{
    const st_job *job = NULL;
    const st_sheet *sheet = NULL;
    const st_program *program = NULL;
    const st_bound_input *bound = NULL;
    double inputs[64] = {0};
    double output = 0;
    size_t count = 0;
    st_program_options options = {.outputs = &cell, .output_count = 1, .without_checks = true};
    st_sheet_reader reader = st_paths_sheet_reader(paths);
    if (st_job_load(paths, job_name, NULL, 0, arena, &job, errors) != ST_OK ||
        st_sheet_load(&reader, "li2024", arena, &sheet, errors) != ST_OK ||
        st_job_bind(job, sheet, arena, &bound, errors) != ST_OK ||
        st_program_compile(sheet, &options, arena, &program, errors) != ST_OK) {
        return st_errors_status(errors);
    }
    (void)st_sheet_inputs(sheet, &count);
    st_workspace *workspace = st_workspace_create(program);
    if (!workspace || count > sizeof inputs / sizeof inputs[0]) {
        st_workspace_destroy(workspace);
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        inputs[i] = bound[i].value;
    }
    st_status status = st_program_run_one(program, workspace, inputs, &output, NULL);
    st_workspace_destroy(workspace);
    char text[ST_QUANTITY_TEXT];
    puts(st_type_format(st_program_output_type(program, 0), output, ST_STYLE_EXACT, text,
                        sizeof text));
    return status;
}

int main(int argc, char **argv)
{
    st_paths *paths = NULL;
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    st_status status = ST_ERR_USAGE;
    if (argc == 3 && arena && errors) {
        status = st_paths_create(NULL, 0, &paths, errors);
        if (status == ST_OK) {
            status = print_cell(paths, argv[1], argv[2], arena, errors);
        }
        st_errors_write(errors, stderr);
    }
    st_paths_destroy(paths);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    return status == ST_OK ? 0 : 1;
}
