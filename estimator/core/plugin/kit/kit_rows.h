/* SPDX-License-Identifier: Apache-2.0 */
/* Rows to try a provider with, and one provider under test. */
#ifndef STEPTIME_PLUGIN_KIT_KIT_ROWS_H
#define STEPTIME_PLUGIN_KIT_KIT_ROWS_H

#include "plugin/module.h"

enum { ST_KIT_SIZES = 9, ST_KIT_GROUPS = 8, ST_KIT_ROWS = ST_KIT_SIZES * ST_KIT_GROUPS };

/* A block of rows: for every group size all message sizes, ascending. */
typedef struct st_kit_rows {
    size_t count;
    size_t columns;
    double *values[ST_REMOTE_COLUMNS];
    /* What the provider gets: NULL for an optional one left out. */
    const double *given[ST_REMOTE_COLUMNS];
    size_t size;      /* column of the message, SIZE_MAX: none */
    size_t ranks;     /* column of the ranks, SIZE_MAX: none */
    size_t bandwidth; /* column of the bandwidth, SIZE_MAX: none */
} st_kit_rows;

/* False when out of memory. */
bool st_kit_fill(const st_module_provider *provider, bool with_optional, st_arena *arena,
                 st_kit_rows *rows);

#endif
