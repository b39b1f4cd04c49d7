/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running one row again after some of its inputs changed: only the instructions that depend on
 * them, listed once for each input. Lists of several inputs run one after the other: what depends
 * on two of them is right after the later list, which has it, too.
 */
#include "program/program.h"
#include "program/scalar.h"
#include "program/workspace.h"

#include <stdlib.h>
#include <string.h>

typedef struct reach {
    const bool *depends; /* per slot */
    bool found;
} reach;

static void look(void *context, uint32_t slot)
{
    reach *search = context;
    search->found = search->found || search->depends[slot];
}

/* Lists the instructions that depend on an input, in the order of single rows, with one of
 * ST_OP_CONSTANT behind them; false when out of memory. */
static bool list_dependents(const st_program *program, st_workspace *workspace, size_t input)
{
    if (workspace->dependents[input] != NULL)
        return true;
    bool *depends = calloc(program->slot_count + 1, sizeof *depends);
    st_instruction *list = calloc(program->instruction_count + 1, sizeof *list);
    size_t count = 0;
    if (depends != NULL)
        depends[input] = true;
    for (size_t i = 0; depends != NULL && list != NULL && i < program->instruction_count; i++) {
        reach search = {.depends = depends};
        st_instruction_visit(program, &program->grouped[i], look, &search);
        if (!search.found)
            continue;
        depends[program->grouped[i].target] = true;
        list[count++] = program->grouped[i];
    }
    st_instruction *kept =
        depends != NULL && list != NULL ? realloc(list, (count + 1) * sizeof *list) : NULL;
    free(depends);
    if (kept == NULL) {
        free(list);
        return false;
    }
    kept[count].op = ST_OP_CONSTANT;
    workspace->dependents[input] = kept;
    workspace->dependent_counts[input] = count;
    return true;
}

static bool has_lists(const st_program *program, st_workspace *workspace)
{
    size_t count = program->sheet->input_count + 1;
    if (workspace->dependent_counts == NULL)
        workspace->dependent_counts = calloc(count, sizeof *workspace->dependent_counts);
    if (workspace->dependents == NULL && workspace->dependent_counts != NULL)
        workspace->dependents = calloc(count, sizeof *workspace->dependents);
    return workspace->dependents != NULL;
}

/* False where the whole program has to run. */
static bool run_dependents(const st_program *program, st_workspace *workspace, const double *inputs)
{
    enum { MOST = 16 };
    double *scalars = workspace->scalars;
    size_t changed[MOST];
    size_t changed_count = 0;
    size_t steps = 0;
    for (size_t i = 0; i < program->sheet->input_count; i++) {
        if (memcmp(&scalars[i], &inputs[i], sizeof *scalars) == 0)
            continue;
        if (changed_count == MOST || !list_dependents(program, workspace, i))
            return false;
        steps += workspace->dependent_counts[i];
        changed[changed_count++] = i;
    }
    if (steps >= program->instruction_count)
        return false;
    for (size_t i = 0; i < changed_count; i++)
        scalars[changed[i]] = inputs[changed[i]];
    for (size_t i = 0; i < changed_count; i++)
        st_scalars_run(program, workspace->dependents[changed[i]], scalars);
    return true;
}

st_status st_program_run_again(const st_program *program, st_workspace *workspace,
                               const double *inputs, double *outputs, double *checks)
{
    if (workspace->has_row && has_lists(program, workspace) &&
        run_dependents(program, workspace, inputs)) {
        st_scalars_give(program, workspace->scalars, outputs, checks);
        return ST_OK;
    }
    st_status status = st_program_run_one(program, workspace, inputs, outputs, checks);
    workspace->has_row = status == ST_OK;
    return status;
}
