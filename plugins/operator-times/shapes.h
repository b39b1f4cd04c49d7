/* SPDX-License-Identifier: Apache-2.0 */
/* Measured matrix products, and by how much a formula is off near a shape. */
#ifndef ST_OPERATOR_SHAPES_H
#define ST_OPERATOR_SHAPES_H

#include <stddef.h>

enum { ST_SHAPES_NEAREST = 8, ST_SHAPES_REASON = 240 };

typedef struct st_product {
    double m;
    double n;
    double k;
    double time_s; /* of a table, else unused */
} st_product;

/* What the formula takes besides the shape. */
typedef struct st_rates {
    double rate;      /* FLOP/s */
    double bandwidth; /* B/s; 0: arithmetic alone counts */
    double width;     /* bytes of a number */
    double constant_s;
    double corner; /* share of the shorter of both that counts, too; NaN: a smooth corner */
} st_rates;

typedef struct st_shapes {
    st_product *products;
    double (*logs)[3];
    size_t count;
} st_shapes;

/* Which rows of a table count; "" for all. */
typedef struct st_shapes_filter {
    const char *gpu;
    const char *dtype;
    const char *source;
} st_shapes_filter;

/*
 * Reads CSV with columns m, n, k and us, and perhaps gpu, dtype and source, behind lines of
 * comments. NULL, or what is wrong, in `reason`, which has room for ST_SHAPES_REASON.
 */
const char *st_shapes_read(st_shapes *shapes, const char *text, const st_shapes_filter *filter,
                           char *reason);
void st_shapes_free(st_shapes *shapes);

/* The slower of arithmetic and memory with a corner, and a constant. */
double st_product_formula(const st_product *product, const st_rates *rates);

/*
 * Measured over formula at the nearest shapes, the nearer the heavier; shapes further away than
 * `reach`, in logarithms, count less than the formula itself. *nearest: the distance of the first.
 */
double st_shapes_ratio(const st_shapes *shapes, const st_product *product, const st_rates *rates,
                       double reach, double *nearest);

#endif
