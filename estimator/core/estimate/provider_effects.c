/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plugins change: the estimate also runs without them, and every cell that they have a
 * part in is compared with its closed form.
 */
#include "estimate/provider_effects.h"

#include "base/chars.h"
#include "estimate/groups.h"

#include "sheet/type_write.h"

#include <math.h>
#include <string.h>

/* A run of a program for the cells of the estimate and the refined ones behind them. */
typedef struct rerun {
    const char **names;
    size_t count;
    double *values;
} rerun;

/* The cell's entry, made where there is none; NULL when out of memory. */
static st_refined_cell *entry_of(st_estimate *estimate, const st_refined *item)
{
    size_t known = ST_FIND(estimate->refined, estimate->refined_count, name, item->cell);
    if (known < estimate->refined_count)
        return &estimate->refined[known];
    st_refined_cell *entry = &estimate->refined[estimate->refined_count++];
    const st_sheet_cell *cell = st_sheet_find_cell(estimate->sheet, item->cell);
    *entry = (st_refined_cell){.name = item->cell,
                               .doc = st_text_or_empty(cell->doc),
                               .type = item->type,
                               .providers = "",
                               .refusal = ""};
    return entry;
}

static st_status gather(st_estimate *estimate, st_arena *arena, st_errors *errors)
{
    const st_refined *list = NULL;
    size_t count = 0;
    st_status status =
        st_program_refined(estimate->program, estimate->input_values, arena, &list, &count, errors);
    estimate->refined = st_arena_alloc(arena, count + 1, sizeof *estimate->refined);
    estimate->refined_count = 0; /* the estimate may have run before, with other inputs */
    if (status != ST_OK || estimate->refined == NULL)
        return status == ST_OK ? ST_ERR_MEMORY : status;
    for (size_t i = 0; i < count; i++) {
        bool is_plugin = false;
        const st_provider *provider = list[i].provider;
        for (size_t j = 0; j < estimate->plugin_count; j++)
            if (estimate->providers[j] == provider) {
                is_plugin = true;
                break;
            }
        if (!is_plugin)
            continue;
        /* "nccl-whitebox for all_reduce, alpha-beta for all_gather" */
        st_refined_cell *entry = entry_of(estimate, &list[i]);
        const st_refined *item = &list[i];
        const char *text = st_arena_printf(
            arena, "%s%s%s for %s%s%s%s", entry->providers, entry->providers[0] == '\0' ? "" : ", ",
            item->provider->source, item->provider->name, item->origin[0] == '\0' ? "" : " (",
            item->origin, item->origin[0] == '\0' ? "" : ")");
        entry->providers = text;
        if (*item->refusal != '\0')
            entry->refusal = item->refusal;
        if (text == NULL)
            return ST_ERR_MEMORY;
    }
    return ST_OK;
}

/* Values of cells with the given providers; NaN where they cannot do without another one. */
static st_status run_cells(const st_estimate *estimate, const st_provider *const *providers,
                           size_t count, const rerun *variant, st_arena *arena)
{
    const st_program_options options = {.outputs = variant->names,
                                        .output_count = variant->count,
                                        .providers = providers,
                                        .provider_count = count,
                                        .without_checks = true};
    const st_program *program = NULL;
    for (size_t i = 0; i < variant->count; i++)
        variant->values[i] = (double)NAN;
    st_status status = st_program_compile(estimate->sheet, &options, arena, &program, NULL);
    if (status != ST_OK)
        return status;
    st_workspace *workspace = st_workspace_create(program);
    status = workspace == NULL ? ST_ERR_MEMORY
                               : st_program_run_one(program, workspace, estimate->input_values,
                                                    variant->values, NULL);
    st_workspace_destroy(workspace);
    return status;
}

/* All together, or one by one where some call what only a plugin brings. */
static st_status run_with(const st_estimate *estimate, const st_provider *const *providers,
                          size_t count, rerun *variant, st_arena *arena)
{
    variant->values = st_arena_alloc(arena, variant->count + 1, sizeof *variant->values);
    if (variant->values == NULL)
        return ST_ERR_MEMORY;
    st_status status = run_cells(estimate, providers, count, variant, arena);
    if (status == ST_OK || status == ST_ERR_MEMORY)
        return status;
    for (size_t i = 0; i < variant->count; i++) {
        rerun one = {.names = variant->names + i, .count = 1, .values = variant->values + i};
        if (run_cells(estimate, providers, count, &one, arena) == ST_ERR_MEMORY)
            return ST_ERR_MEMORY;
    }
    return ST_OK;
}

st_status st_estimate_compare_formulas(st_estimate *estimate, st_arena *arena, st_errors *errors)
{
    if (estimate->plugin_count == 0)
        return ST_OK;
    st_status status = gather(estimate, arena, errors);
    if (status != ST_OK)
        return status;
    size_t shown = estimate->shown_count;
    rerun with = {.count = shown + estimate->refined_count};
    with.names = st_arena_alloc(arena, with.count + 1, sizeof *with.names);
    if (with.names == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < shown; i++)
        with.names[i] = estimate->shown[i].name;
    for (size_t i = 0; i < estimate->refined_count; i++)
        with.names[shown + i] = estimate->refined[i].name;
    rerun without = with;
    status = run_with(estimate, estimate->providers, estimate->provider_count, &with, arena);
    if (status == ST_OK)
        status = run_with(estimate, estimate->providers + estimate->plugin_count,
                          estimate->provider_count - estimate->plugin_count, &without, arena);
    for (size_t i = 0; i < shown && status == ST_OK; i++) {
        estimate->shown[i].formula_value =
            st_sheet_known(estimate->sheet, estimate->shown[i].name, without.values[i]);
        const double a = with.values[i];
        const double b = without.values[i];
        estimate->shown[i].refined = !(a == b) && !(isnan(a) && isnan(b));
    }
    for (size_t i = 0; i < estimate->refined_count && status == ST_OK; i++) {
        estimate->refined[i].value = with.values[shown + i];
        estimate->refined[i].formula_value = without.values[shown + i];
    }
    return status;
}

/* ---- showing --------------------------------------------------------------------------------- */

/* Name, value and, for people, "closed form 426 us, +3.5 %". */
static void put_value(st_node *row, const char *name, const st_type *type, double value,
                      double formula_value)
{
    char number[ST_QUANTITY_TEXT];
    (void)st_type_format(type, formula_value, ST_STYLE_SCALED, number, sizeof number);
    st_put_text(row, "name", name);
    st_put_value(row, "value", type, value);
    if (!isfinite(formula_value))
        st_put_text(row, ".meaning", "no closed form");
    else if (type->kind != ST_TYPE_NUMBER || formula_value == 0.0)
        st_put_format(row, ".meaning", "closed form %s", number);
    else
        st_put_format(row, ".meaning", "closed form %s, %+.1f %%", number,
                      100 * (value / formula_value - 1));
}

static void fill_refined(const void *context, size_t index, st_node *row)
{
    const st_refined_cell *cell = &((const st_estimate *)context)->refined[index];
    put_value(row, cell->name, cell->type, cell->value, cell->formula_value);
    st_put_value(row, "formula_value", cell->type, cell->formula_value);
    st_put_unit(row, "unit", cell->type);
    st_put_number(row, "difference", cell->value / cell->formula_value - 1);
    st_put_text(row, "provider", cell->providers);
    st_put_text_or_null(row, "refusal", cell->refusal);
    if (cell->refusal[0] == '\0')
        st_put_text(row, ".origin", cell->providers);
    else
        st_put_format(row, ".origin", "formula: %s refuses: %s", cell->providers, cell->refusal);
}

/* What is shown and follows a refined cell, once. */
static void fill_follower(const void *context, size_t index, st_node *row)
{
    const st_estimate *estimate = context;
    const st_shown *shown = &estimate->shown[index];
    if (shown->refined && !ST_HAS(estimate->shown, index, name, shown->name) &&
        !ST_HAS(estimate->refined, estimate->refined_count, name, shown->name))
        put_value(row, shown->name, shown->type, shown->value, shown->formula_value);
}

void st_refined_report(const st_estimate *estimate, st_node *root, st_table *table)
{
    if (estimate->plugin_count == 0)
        return;
    st_node *rows = st_put_rows(root, "refined", fill_refined, estimate, estimate->refined_count);
    st_node *followers =
        st_put_rows(root, ".followers", fill_follower, estimate, estimate->shown_count);
    st_table_title(table, "");
    st_table_title(table, "Refined by plugins");
    st_table_show(table, rows, "name,value,.meaning,.origin");
    st_table_show(table, followers, "name,value,.meaning,");
}
