/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of the sheet megatron that measured times replace, what each reads, and the
 * formula's own time, next to the measured one.
 */
#ifndef KERNEL_TIMES_CELLS_H
#define KERNEL_TIMES_CELLS_H

#include "calibrate/layers/times.h"

#include "steptime/plugin.h"

enum {
    ST_CELL_COMMON = 14, /* the GPU's two rates, then the features up to the width */
    ST_CELL_COUNT_layer = ST_CELL_COMMON + 3,
    ST_CELL_COUNT_forward = ST_CELL_COMMON + 5,
    ST_CELL_COUNT_backward = ST_CELL_COMMON + 7,
    ST_CELL_COUNT_wgrad = ST_CELL_COMMON + 3,
    ST_CELL_COUNT_logits = ST_CELL_COMMON + 3,
    ST_CELL_COUNT_optimizer = ST_CELL_COMMON + 7,
    ST_CELL_COUNT_forward_moe = ST_CELL_COMMON + 11,
    ST_CELL_COUNT_backward_moe = ST_CELL_COMMON + 13
};

#define ST_CELL_DOC_layer        "dense layer, all passes with communication and launches"
#define ST_CELL_DOC_forward      "dense layer, forward"
#define ST_CELL_DOC_backward     "dense layer, backward"
#define ST_CELL_DOC_wgrad        "weight gradients of a dense layer"
#define ST_CELL_DOC_logits       "output layer, forward and backward"
#define ST_CELL_DOC_optimizer    "optimizer step"
#define ST_CELL_DOC_forward_moe  "MoE layer, forward"
#define ST_CELL_DOC_backward_moe "MoE layer, backward"

extern const st_plugin_argument *const st_cell_layer_arguments[ST_CELL_COUNT_layer];
extern const st_plugin_argument *const st_cell_forward_arguments[ST_CELL_COUNT_forward];
extern const st_plugin_argument *const st_cell_backward_arguments[ST_CELL_COUNT_backward];
extern const st_plugin_argument *const st_cell_wgrad_arguments[ST_CELL_COUNT_wgrad];
extern const st_plugin_argument *const st_cell_logits_arguments[ST_CELL_COUNT_logits];
extern const st_plugin_argument *const st_cell_optimizer_arguments[ST_CELL_COUNT_optimizer];
extern const st_plugin_argument *const st_cell_forward_moe_arguments[ST_CELL_COUNT_forward_moe];
extern const st_plugin_argument *const st_cell_backward_moe_arguments[ST_CELL_COUNT_backward_moe];

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

extern const st_cell st_cell_layer;
extern const st_cell st_cell_forward;
extern const st_cell st_cell_backward;
extern const st_cell st_cell_wgrad;
extern const st_cell st_cell_logits;
extern const st_cell st_cell_optimizer;
extern const st_cell st_cell_forward_moe;
extern const st_cell st_cell_backward_moe;

bool st_cell_is_known(const char *name);
void st_cell_read(const st_cell *cell, const double *const *columns, size_t row, cell_row *result);

#endif
