/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs whose inputs change at different paces, as along the axes of a sweep.
 *
 * The caller gives every input a level: 0 for one that never changes, 1 for the outermost axis, and
 * so on inwards; the innermost axes are columns, all others scalars. An operation over scalars runs
 * only when the outermost axis on which it depends, or one inside of that, has moved on. Bits are
 * those of st_program_run.
 */
#ifndef STEPTIME_PROGRAM_RATES_H
#define STEPTIME_PROGRAM_RATES_H

#include "program/blocks.h"
#include "program/program.h"

typedef struct st_paced {
    /* Kept by the workspace: the array must outlive it, and its strides must stay. */
    const st_column *inputs;
    /* The outermost level whose inputs differ from the run before; 0: lay the run out anew. */
    unsigned level;
    size_t rows;
    double *const *outputs;
    double *const *checks;   /* NULL, or: only those that differ from row to row are written */
    const st_ruling *judges; /* per check, kept like the inputs */
    double *verdicts;        /* per row the least that its checks say, infinity where all hold;
                              * NULL: not wanted, in this and all runs of the same layout */
    /* Per row: 1 + the number, in the program's options, of a provider without a fallback that
     * refuses what it is asked there, 0 where none does. NULL: nobody asks. */
    uint32_t *refused;
} st_paced;

/* Levels per input of the sheet; the next run must be of level 0. */
void st_paced_begin(st_workspace *workspace, const uint8_t *input_levels);
/* Allocates nothing. */
void st_paced_run(st_workspace *workspace, const st_paced *run);
/* A check that is the same in all rows of the last run, and its value there. */
bool st_paced_scalar_check(const st_workspace *workspace, size_t check, double *value);

#endif
