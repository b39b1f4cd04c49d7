/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a sheet's summary; see summary_values.h. */
#include "estimate/summary_values.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { MOST = 512 }; /* a summary has at most 8 bars of 32 parts */

static void add_name(st_summary_values *values, const char *name)
{
    if (name != NULL && values->count < MOST && !st_has_text(values->names, values->count, name))
        values->names[values->count++] = name;
}

/* A cell, or every member of a family. */
static void add_part(const st_sheet *sheet, const char *name, const st_enum *members,
                     st_arena *arena, st_summary_values *values)
{
    for (size_t i = 0; name != NULL && i < (members != NULL ? members->count : 1); i++)
        add_name(values, st_summary_cell(sheet, name, i, arena));
}

/* Names of the summary, each once; bars of what the job cannot have have no numbers. */
static bool list_names(const st_estimate *estimate, st_arena *arena, st_summary_values *values)
{
    *values = (st_summary_values){.names = st_arena_alloc(arena, MOST, sizeof *values->names)};
    st_absence absence;
    if (values->names == NULL || !st_estimate_find_absent(estimate, arena, &absence))
        return false;
    const st_sheet *sheet = estimate->sheet;
    const st_summary *summary = st_sheet_summary(sheet);
    for (size_t i = 0; i < summary->answer_count; i++) {
        add_name(values, summary->answer[i].cell);
        add_name(values, summary->answer[i].inner);
    }
    for (size_t i = 0; i < summary->bar_count; i++) {
        const st_summary_bar *bar = &summary->bars[i];
        const st_enum *members = st_summary_members(sheet, bar);
        if (st_estimate_is_absent(&absence, bar->total))
            continue;
        add_name(values, bar->total);
        add_name(values, bar->limit);
        add_name(values, bar->member);
        for (size_t k = 0; k < bar->count; k++) {
            add_part(sheet, bar->parts[k].cell, members, arena, values);
            add_part(sheet, bar->parts[k].hidden, members, arena, values);
        }
    }
    for (size_t i = 0; i < summary->rest_count; i++) {
        const st_summary_bar *rest = &summary->rests[i];
        for (size_t k = 0; k < rest->count; k++)
            add_part(sheet, rest->parts[k].cell, st_summary_members(sheet, rest), arena, values);
    }
    return true;
}

bool st_summary_names(const st_estimate *estimate, st_arena *arena, const char ***names,
                      size_t *count)
{
    st_summary_values values;
    bool good = list_names(estimate, arena, &values);
    *names = values.names;
    *count = values.count;
    return good;
}

/* The value of a name that the estimate computes; false where it does not. */
static bool is_known(const st_estimate *estimate, const char *name, double *value)
{
    size_t shown = estimate->shown_count;
    size_t i = ST_FIND(estimate->shown, shown, name, name);
    if (i == SIZE_MAX) {
        size_t aside = st_text_at(estimate->aside, estimate->aside_count, name);
        i = aside < estimate->aside_count ? shown + aside : SIZE_MAX;
    }
    if (estimate->values == NULL || i == SIZE_MAX)
        return false;
    *value = estimate->values[i];
    return true;
}

st_status st_summary_compute(const st_estimate *estimate, st_arena *arena,
                             st_summary_values *values, st_errors *errors)
{
    if (!list_names(estimate, arena, values))
        return st_out_of_memory(errors);
    if (values->count <= 0)
        return ST_OK;
    double *numbers = st_arena_alloc(arena, values->count, sizeof *numbers);
    if (numbers == NULL)
        return st_out_of_memory(errors);
    /* What has a value comes first. */
    size_t known = 0;
    for (size_t i = 0; i < values->count; i++) {
        const char *name = values->names[i];
        if (!is_known(estimate, name, &numbers[known]))
            continue;
        values->names[i] = values->names[known];
        values->names[known++] = name;
    }
    values->values = numbers;
    if (known == values->count)
        return ST_OK;
    const st_program *program = NULL;
    st_status status = st_estimate_compile_names(estimate, values->names + known,
                                                 values->count - known, arena, &program, errors);
    if (status != ST_OK)
        return status;
    st_workspace *workspace = st_workspace_create(program);
    if (workspace == NULL)
        return st_out_of_memory(errors);
    status = st_program_run_one(program, workspace, estimate->input_values, numbers + known, NULL);
    st_workspace_destroy(workspace);
    return status;
}

double st_summary_value(const st_summary_values *values, const char *name)
{
    size_t i = name != NULL ? st_text_at(values->names, values->count, name) : SIZE_MAX;
    return name == NULL ? 0 : i < values->count ? values->values[i] : (double)NAN;
}

const st_type *st_summary_type(const st_estimate *estimate, const char *name)
{
    const st_sheet_cell *cell = st_sheet_find_cell(estimate->sheet, name);
    const st_sheet_input *input = st_sheet_find_input(estimate->sheet, name);
    return cell != NULL ? &cell->type : input != NULL ? &input->type : NULL;
}

double st_summary_part_value(const st_estimate *estimate, const st_summary_values *values,
                             const char *name, size_t member, st_arena *arena)
{
    const char *cell = name != NULL ? st_summary_cell(estimate->sheet, name, member, arena) : NULL;
    return cell != NULL ? st_summary_value(values, cell) : 0;
}
