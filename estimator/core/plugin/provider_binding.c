/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/provider_binding.h"

#include "plugin/isolate.h"

#include <math.h>
#include <string.h>

/* ---- which entry of the profile -------------------------------------------------------------- */

/* The number of a tie in a row, 0 where it has none or makes no sense. */
static double value_of(const st_tie *tie, const double *const *arguments, size_t row)
{
    const double most = 1073741824; /* as profiles count: 2^30 */
    double value = tie->column != SIZE_MAX ? arguments[tie->column][row]
                   : tie->constant != NULL ? tie->constant[0]
                                           : 0;
    return value >= 1 && value <= most ? value : 0;
}

st_profile_filter st_binding_group(const st_provider_binding *binding,
                                   const double *const *arguments, size_t row)
{
    double ranks = value_of(&binding->group.ranks, arguments, row);
    double per_node = value_of(&binding->group.per_node, arguments, row);
    double nodes = value_of(&binding->group.nodes, arguments, row);
    if (ranks > 0)
        nodes = per_node > 0 ? ceil(ranks / fmin(per_node, ranks)) : 0;
    else
        ranks = nodes * per_node;
    return (st_profile_filter){.ranks = (size_t)ranks, .nodes = (size_t)nodes};
}

static size_t entry_of(const st_provider_binding *binding, const double *const *arguments,
                       size_t row)
{
    if (binding->count == 1)
        return 0;
    const st_profile_filter filter = st_binding_group(binding, arguments, row);
    return st_profile_nearest(binding->entries, binding->count, &filter);
}

static bool same_value(const st_tie *tie, const double *const *arguments, size_t row)
{
    return tie->column == SIZE_MAX ||
           arguments[tie->column][row] == arguments[tie->column][row - 1];
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void fill_columns(const st_provider_binding *binding, const double *const *arguments,
                         size_t first, const double **columns)
{
    for (size_t i = 0; i < binding->argument_count; i++) {
        const st_tie *one = &binding->ties[i];
        columns[i] = one->column != SIZE_MAX ? arguments[one->column] + first : one->constant;
    }
}

/* The rows from `first` on that one instance is asked for; fills its columns. */
static size_t next_rows(const st_provider_binding *binding, size_t rows,
                        const double *const *arguments, size_t first, const double **columns,
                        const st_plugin_instance **instance)
{
    size_t left = rows - first;
    size_t most = left < ST_PLUGIN_BLOCK_ROWS ? left : ST_PLUGIN_BLOCK_ROWS;
    size_t entry = 0;
    /* How many rows from `first` on mean the same entry; plans that differ in nothing else
     * are near. */
    size_t count;
    const size_t end = first + most;
    size_t row = first + 1;
    entry = entry_of(binding, arguments, first);
    if (binding->count == 1) {
        count = end - first;
    } else {
        while (row < end && ((same_value(&binding->group.ranks, arguments, row) &&
                              same_value(&binding->group.per_node, arguments, row) &&
                              same_value(&binding->group.nodes, arguments, row)) ||
                             entry_of(binding, arguments, row) == entry))
            row++;
        count = row - first;
    }
    fill_columns(binding, arguments, first, columns);
    *instance = binding->instances[entry];
    return count;
}

st_status st_binding_evaluate(void *context, size_t rows, const double *const *arguments,
                              double *values)
{
    const st_provider_binding *binding = context;
    const st_plugin_instance *instance;
    const double *columns[64];
    for (size_t first = 0, count = 0; first < rows; first += count) {
        count = next_rows(binding, rows, arguments, first, columns, &instance);
        st_status status =
            st_plugin_evaluate(instance, binding->provider, count, columns, values + first);
        if (status != ST_OK)
            return status;
    }
    return ST_OK;
}

bool st_binding_put_off(void *context, size_t rows, const double *const *arguments)
{
    const st_provider_binding *binding = context;
    const st_plugin_instance *instance;
    const double *columns[64];
    bool any = false;
    for (size_t first = 0, count = 0; first < rows; first += count) {
        count = next_rows(binding, rows, arguments, first, columns, &instance);
        any = st_plugin_put_off(instance, binding->provider, count, columns) || any;
    }
    return any;
}

st_status st_binding_explain(void *context, const double *const *arguments, st_arena *arena,
                             st_provider_account *account)
{
    const st_provider_binding *binding = context;
    const double *columns[64];
    size_t entry = entry_of(binding, arguments, 0);
    fill_columns(binding, arguments, 0, columns);
    st_status status =
        st_plugin_explain(binding->instances[entry], binding->provider, columns, arena, account);
    bool fitted = binding->entries != NULL &&
                  strcmp(binding->entries[entry].entry->kind, ST_PROFILE_OPTIONS) == 0;
    if (status != ST_OK || !fitted || account->refusal != NULL)
        return status;
    /* Which entry it was is a term of its own, behind those of the plugin. */
    st_provider_term *terms = st_arena_alloc(arena, account->count + 1, sizeof *terms);
    /* "site-b, of 16 ranks on 2 nodes". */
    const char *text;
    const st_profile *profile = binding->entries[entry].entry;
    if (profile->ranks == 0 || profile->nodes == 0)
        text = st_arena_printf(arena, "%s, of any number of ranks", binding->profile);
    else
        text = st_arena_printf(arena, "%s, of %zu ranks on %zu node%s", binding->profile,
                               profile->ranks, profile->nodes, profile->nodes == 1 ? "" : "s");
    if (terms == NULL || text == NULL)
        return ST_ERR_MEMORY;
    if (account->count > 0)
        memcpy(terms, account->terms, account->count * sizeof *terms);
    terms[account->count++] = (st_provider_term){.name = "profile",
                                                 .doc = "the entry that is nearest to the group",
                                                 .text = text,
                                                 .unit = st_unit_one()};
    account->terms = terms;
    return ST_OK;
}
