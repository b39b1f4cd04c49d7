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
#include "steptime/tool/paced_runs.h"

enum { ST_PRODUCT_LISTS = 6 };

/* Rows `first` and on of a product of lists, whose last one moves with every row. */
typedef struct st_product {
    const double *const *lists;
    const size_t *counts; /* values of each list, at least one */
    uint64_t first;
    const uint32_t *picked; /* the rows from `first` on that are run, rising; NULL: all */
} st_product;
/*
 * Says that runs may be parts of products: per input 1 + the list from which its values come where
 * it differs from row to row, 0: none; and how many rows a run has at most. The columns of these
 * inputs stay wanted, for outputs that are inputs. False when out of memory.
 */
bool st_paced_product(st_workspace *workspace, const uint8_t *input_lists, size_t list_count,
                      size_t most_rows);
/* A check that is the same in all rows of the last run, and its value there. */
bool st_paced_scalar_check(const st_workspace *workspace, size_t check, double *value);

#endif
