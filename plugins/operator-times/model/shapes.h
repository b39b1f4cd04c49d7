/* SPDX-License-Identifier: Apache-2.0 */
/* Measured operators, and by how much a formula is off near a shape. */
#ifndef ST_OPERATOR_SHAPES_H
#define ST_OPERATOR_SHAPES_H

#include <stdbool.h>
#include <stddef.h>

#include "table.h"

enum { ST_SHAPES_NEAREST = 8, ST_SHAPES_PLACES = 5, ST_SHAPES_TEXT = 120 };

/* All before experts may have trees. */
typedef enum st_operator {
    ST_PRODUCT,
    ST_ATTENTION,
    ST_MOVED, /* kernels that memory bounds */
    ST_EXPERTS,
    ST_OPERATORS
} st_operator;

/* Sizes of each, in the order of its columns. */
enum { ST_M, ST_N, ST_K };
enum { ST_BATCH, ST_SEQUENCE, ST_HEADS, ST_KV_HEADS, ST_HEAD_DIM };
/* Rows and their width are 0 where they are not known, reductions for element-wise kernels. */
enum { ST_BYTES, ST_ROWS, ST_ROW_WIDTH, ST_REDUCTIONS };
enum { ST_TOKENS, ST_TOP_K, ST_EXPERT_COUNT, ST_HIDDEN, ST_FFN };

/* What a formula takes besides the sizes. */
typedef struct st_rates {
    double rate;      /* FLOP/s of large operators */
    double bandwidth; /* B/s; 0: arithmetic alone counts, and what is moved takes no time */
    double width;     /* bytes of a number; of what is moved all have one */
    double result;    /* products: of one of the result; 0: as many */
    double half;      /* attention: tokens of a sequence, experts: of an expert, at half the rate */
    double moving;    /* experts: seconds to move a number of a row around the products */
    double constant_s; /* each takes so long besides; products, 0: no smooth corner either */
} st_rates;

typedef struct st_shapes {
    st_operator of;
    st_table table;
    double (*places)[ST_SHAPES_PLACES]; /* scaled logarithms */
    double least[ST_SHAPES_PLACES];
    double most[ST_SHAPES_PLACES];
} st_shapes;

typedef struct st_neighbours {
    size_t count;
    double distances[ST_SHAPES_NEAREST];
    const st_measured *rows[ST_SHAPES_NEAREST];
    double ratios[ST_SHAPES_NEAREST]; /* measured over formula */
    double share;                     /* of the measured ones; the rest is the formula's */
} st_neighbours;

/* NULL, or what is wrong with the table, in `reason`, which has room for ST_TABLE_REASON. */
const char *st_shapes_read(st_shapes *shapes, st_operator of, const char *text,
                           const st_table_filter *filter, char *reason);
void st_shapes_free(st_shapes *shapes);

/* The slower of arithmetic and memory; memory alone of what is moved; that of experts with
 * permutation and activation. */
double st_shapes_formula(st_operator of, const double *sizes, const st_rates *rates);
/* Of experts: permutation and activation alone; of others 0. */
double st_shapes_around(st_operator of, const double *sizes, const st_rates *rates);

/* NULL, or in which size a shape lies outside of what was measured, in `reason`. */
const char *st_shapes_outside(const st_shapes *shapes, const double *sizes, char *reason);

/*
 * Measured over formula at the nearest shapes, the nearer the heavier. Shapes further away than
 * `reach`, in logarithms, count less than the formula itself; of an infinite one all count.
 */
double st_shapes_ratio(const st_shapes *shapes, const double *sizes, const st_rates *rates,
                       double reach, st_neighbours *neighbours);

/* A shape as people write it, in `text`, which has room for ST_SHAPES_TEXT. */
const char *st_shapes_text(st_operator of, const double *sizes, char *text);

#endif
