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

enum { ST_PRODUCT_LISTS = 6 };

/* Rows `first` and on of a product of lists, whose last one moves with every row. */
typedef struct st_product {
    const double *const *lists;
    const size_t *counts; /* values of each list, at least one */
    uint64_t first;
} st_product;

typedef struct st_paced {
    /* Kept by the workspace: the array must outlive it, and its strides must stay. */
    const st_column *inputs;
    /* The outermost level whose inputs differ from the run before; 0: lay the run out anew. */
    unsigned level;
    size_t rows;
    double *const *outputs;
    double *const *checks;       /* NULL, or: only those that differ from row to row are written */
    const st_check_codes *codes; /* per check, kept like the inputs */
    double *failures;            /* per row the least that its checks say, infinity where all hold;
                                  * NULL: not wanted, in this and all runs of the same layout */
    /* Per row: 1 + the number, in the program's options, of a provider without a fallback that
     * refuses what it is asked there, 0 where none does. NULL: nobody asks. */
    uint32_t *refused;
    /* What the rows are a part of: what depends on some of its lists alone is computed once for
     * each of their combinations. NULL: unknown, and where `refused` is wanted it counts for
     * nothing. */
    const st_product *product;
} st_paced;

/* Levels per input of the sheet; the next run must be of level 0. */
void st_paced_begin(st_workspace *workspace, const uint8_t *input_levels);
/*
 * Says that runs may be parts of products: per input 1 + the list from which its values come where
 * it differs from row to row, 0: none; and how many rows a run has at most. The columns of these
 * inputs stay wanted, for outputs that are inputs. False when out of memory.
 */
bool st_paced_product(st_workspace *workspace, const uint8_t *input_lists, size_t list_count,
                      size_t most_rows);
/* Allocates nothing, but where a run with products is laid out. */
void st_paced_run(st_workspace *workspace, const st_paced *run);
/* A check that is the same in all rows of the last run, and its value there. */
bool st_paced_scalar_check(const st_workspace *workspace, size_t check, double *value);

#endif
