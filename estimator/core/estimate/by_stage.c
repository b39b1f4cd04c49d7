/* SPDX-License-Identifier: Apache-2.0 */
/* One row of the sheet a stage or chunk, with the inputs of roles 'stage_asked' and 'chunk_asked'
 * set to it, all by one program. */
#include "estimate/estimate_internal.h"

#include "base/memory.h"
#include "steptime/tool/roles.h"

#include <math.h>
#include <string.h>

/* An input of a role, of a copy of all values; NULL: the sheet has none. */
static double *asked_input(const st_estimate *estimate, st_role role, double *values)
{
    const char *name = st_sheet_role(estimate->sheet, role);
    size_t i = name != NULL ? st_estimate_input(estimate, name) : SIZE_MAX;
    return i < estimate->input_count ? &values[i] : NULL;
}

/* Whether a row has a value that is not finite, or a check other than a warning fails. */
static bool is_wrong(const st_estimate *estimate, const double *values, const double *checks)
{
    size_t count = 0;
    const st_sheet_check *all = st_sheet_checks(estimate->sheet, &count);
    bool wrong = false;
    for (size_t i = 0; i < count && !estimate->checks_warn; i++)
        wrong = wrong || (!all[i].warning && checks[i] != 1.0);
    for (size_t i = 0; i < estimate->shown_count; i++)
        wrong = wrong || !isfinite(values[i]);
    return wrong;
}

/* A further row of the program that has run; what the first one warns of, this one does, too. */
static st_status run_again(const st_estimate *estimate, st_workspace *workspace,
                           const double *inputs, double *values, double *checks)
{
    st_status status = st_program_run_one(estimate->program, workspace, inputs, values, checks);
    if (status == ST_OK && is_wrong(estimate, values, checks))
        status = st_program_verify(estimate->program, inputs, NULL);
    for (size_t i = 0; i < estimate->shown_count; i++)
        values[i] = st_sheet_known(estimate->sheet, estimate->shown[i].name, values[i]);
    return status;
}

st_status st_estimate_by_stage(st_estimate *estimate, const st_stage_question *question,
                               st_arena *arena, double *values, st_errors *errors)
{
    size_t count = question->count;
    size_t chunks = question->chunks == 0 ? 1 : question->chunks;
    const double *before = estimate->input_values;
    double *copy = st_arena_alloc(arena, estimate->input_count + 1, sizeof *copy);
    if (copy == NULL)
        return st_out_of_memory(errors);
    memcpy(copy, before, estimate->input_count * sizeof *copy);
    st_status status =
        st_estimate_show_names(estimate, question->cells, count, (st_place){0}, arena, errors);
    double *stage = asked_input(estimate, ST_ROLE_STAGE_ASKED, copy);
    double *chunk = asked_input(estimate, ST_ROLE_CHUNK_ASKED, copy);
    if (stage != NULL)
        estimate->input_values = copy;
    st_workspace *workspace = NULL;
    double *checks = NULL;
    for (size_t i = 0; i < question->stages * chunks && status == ST_OK; i++) {
        double *row = &values[i * count];
        if (i > 0 && stage == NULL) {
            memcpy(row, values, count * sizeof *values);
            continue;
        }
        size_t at = i / chunks;
        if (stage != NULL)
            *stage = (double)at;
        if (chunk != NULL)
            *chunk = question->chunks == 0 ? 0 : (double)(i % chunks) + 1;
        if (i > 0) {
            status = run_again(estimate, workspace, copy, row, checks);
            continue;
        }
        status = st_estimate_run(estimate, arena, errors);
        for (size_t k = 0; k < count && status == ST_OK; k++)
            row[k] = estimate->shown[k].value;
        size_t check_count = 0;
        (void)st_sheet_checks(estimate->sheet, &check_count);
        checks = st_arena_alloc(arena, check_count + 1, sizeof *checks);
        workspace = status == ST_OK ? st_workspace_create(estimate->program) : NULL;
        if (status == ST_OK && (workspace == NULL || checks == NULL))
            status = st_out_of_memory(errors);
    }
    st_workspace_destroy(workspace);
    estimate->input_values = before;
    return status;
}
