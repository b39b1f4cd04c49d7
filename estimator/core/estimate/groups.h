/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of a sheet in the order of its report: every cell once, with what no section shows
 * last. */
#ifndef STEPTIME_ESTIMATE_GROUPS_H
#define STEPTIME_ESTIMATE_GROUPS_H

#include "steptime/sheet.h"

typedef struct st_cell_group {
    const char *title; /* "" for cells that no section shows */
    const st_sheet_cell **cells;
    size_t count;
} st_cell_group;

/* NULL when out of memory. Groups without cells are left out. */
const st_cell_group *st_sheet_groups(const st_sheet *sheet, st_arena *arena, size_t *count);

/* "all_reduce(size, ranks, bandwidth)" */
void st_signature_write(const st_sheet_function *function, st_buffer *buffer);

#endif
