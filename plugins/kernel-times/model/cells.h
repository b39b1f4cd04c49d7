/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of the sheet megatron that measured times replace, what each reads, and the
 * formula's own time, next to the measured one.
 */
#ifndef KERNEL_TIMES_CELLS_H
#define KERNEL_TIMES_CELLS_H

#include "kernel-times/model/times.h"

#include "steptime/plugin.h"

/* The GPU's two rates, then the features up to the width; then a cell's own. */
enum { ST_CELL_COMMON = 14, ST_CELL_MOST_OWN = 13 };

/* What a row of arguments says; NaN where the sheet has nothing of the name. */
typedef struct cell_row {
    double peak;
    double bandwidth;
    st_times_shape shape; /* with the formula's own time */
    double rest;          /* part of that which measured pieces do not contain */
} cell_row;

typedef struct st_cell {
    const char *name;
    const char *backward_of; /* the cell whose pieces can answer for it; NULL: none */
    bool products_only;      /* its GEMMs once, and not all pieces */
    size_t argument_count;
    void (*close)(const double *own,
                  cell_row *row); /* `own`: the arguments behind the common ones */
} st_cell;

/* One for each cell, in the order of the cells; they call the functions of plugin.c. */
extern const st_plugin_provider *const st_cell_providers[ST_TIMES_CELLS];
int st_cells_evaluate(void *instance, const st_cell *cell, size_t rows,
                      const double *const *columns, double *values);
int st_cells_explain(void *instance, const st_cell *cell, const double *const *columns,
                     const st_plugin_sink *sink);

bool st_cell_is_known(const char *name);
void st_cell_read(const st_cell *cell, const double *const *columns, size_t row, cell_row *result);

#endif
