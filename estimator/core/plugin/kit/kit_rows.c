/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows as clusters have them: groups of 1 to 512 ranks, 8 to a node, messages from bytes to
 * gigabytes. What an argument means is reported by its name and its dimension.
 */
#include "plugin/kit/kit_rows.h"
#include "base/dimension.h"
#include "steptime/keys.h"

#include <string.h>

static const double sizes_bytes[ST_KIT_SIZES] = {1,     48,    4096,   65536, 1048576,
                                                 5.5e6, 6.7e7, 1.25e9, 1.7e10};
static const double group_ranks[ST_KIT_GROUPS] = {1, 2, 4, 8, 16, 32, 128, 512};

enum { PER_NODE = 8 };

static bool is_of(const st_unit *unit, const char *text)
{
    st_unit other;
    return st_unit_parse(text, strlen(text), (st_place){0}, &other, NULL) == ST_OK &&
           st_dimension_equal(unit->dimension, other.dimension);
}

/* The value of a column that is neither the message nor the group. */
static double other_value(const char *name, const st_unit *unit, double ranks)
{
    double per_node = ranks < PER_NODE ? ranks : PER_NODE;
    if (strcmp(name, "per_node") == 0)
        return per_node;
    if (strcmp(name, "nodes") == 0)
        return ranks / per_node;
    if (strcmp(name, ST_KEY_CLUSTER_GPUS_PER_NODE) == 0)
        return PER_NODE;
    if (is_of(unit, "B/s"))
        return ranks > PER_NODE ? 4.5e10 : 3.3e11;
    if (is_of(unit, "FLOP/s"))
        return 4.1e14;
    if (is_of(unit, "s"))
        return 2.385e-5;
    return is_of(unit, "FLOP") ? 7.5e12 : is_of(unit, "B") ? 2.5e8 : 2;
}

bool st_kit_fill(const st_module_provider *provider, bool with_optional, st_arena *arena,
                 st_kit_rows *rows)
{
    *rows = (st_kit_rows){.count = ST_KIT_ROWS, .columns = provider->shown.argument_count};
    rows->size = SIZE_MAX;
    rows->ranks = SIZE_MAX;
    rows->bandwidth = SIZE_MAX;
    for (size_t i = 0; i < rows->columns; i++) {
        const char *name = provider->arguments[i].name;
        const st_unit *unit = &provider->argument_units[i];
        if (strcmp(name, "ranks") == 0)
            rows->ranks = i;
        else if (strcmp(name, "bandwidth") == 0 && is_of(unit, "B/s"))
            rows->bandwidth = i;
        else if (strcmp(name, "size") == 0 && is_of(unit, "B"))
            rows->size = i;
    }
    for (size_t i = 0; i < rows->columns && rows->size == SIZE_MAX; i++)
        rows->size = is_of(&provider->argument_units[i], "B") ? i : SIZE_MAX;
    for (size_t i = 0; i < rows->columns; i++) {
        const st_plugin_argument *argument = &provider->arguments[i];
        rows->values[i] = st_arena_alloc(arena, ST_KIT_ROWS, sizeof(double));
        if (rows->values[i] == NULL)
            return false;
        for (size_t row = 0; row < ST_KIT_ROWS; row++) {
            double ranks = group_ranks[row / ST_KIT_SIZES];
            rows->values[i][row] =
                i == rows->size ? sizes_bytes[row % ST_KIT_SIZES]
                : i == rows->ranks
                    ? ranks
                    : other_value(argument->name, &provider->argument_units[i], ranks);
        }
        bool optional = (argument->flags & ST_PLUGIN_OPTIONAL) != 0;
        rows->given[i] = optional && !with_optional ? NULL : rows->values[i];
    }
    return true;
}
