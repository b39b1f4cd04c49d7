/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of a program whose inputs change at different paces. */
#ifndef STEPTIME_TOOL_PACED_RUNS_H
#define STEPTIME_TOOL_PACED_RUNS_H

#include "steptime/tool/programs.h"

typedef struct st_paced {
    /* Kept by the workspace: the array must outlive it, and its strides must stay. */
    const st_column *inputs;
    /* The outermost level whose inputs differ from the run before; 0: lay the run out anew. */
    unsigned level;
    size_t rows;
    double *const *outputs; /* each NULL, or all: not wanted, in all runs of the same layout */
    double *const *checks;  /* NULL, or: only those that differ from row to row are written */
    const struct st_check_codes *codes; /* per check, kept like the inputs */
    double *failures; /* per row the least that its checks say, infinity where all hold;
                       * NULL: not wanted, in this and all runs of the same layout */
    /* Per row: 1 + the number, in the program's options, of a provider without a fallback that
     * refuses the row, 0 where none does. NULL: not wanted. */
    uint32_t *refused;
    /* What the rows are a part of: what depends on some of its lists alone is computed once for
     * each of their combinations. NULL: unknown, and where `refused` is wanted it counts for
     * nothing. */
    const struct st_product *product;
} st_paced;

/* Levels per input of the sheet; the next run must be of level 0. */
void st_paced_begin(st_workspace *workspace, const uint8_t *input_levels);
/* Allocates nothing, but where a run with products is laid out. */
void st_paced_run(st_workspace *workspace, const st_paced *paced);

#endif
