/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boosted trees over the shapes of a table: the time of a shape is that of a roofline at the best
 * rates of the table, times what trees say it is off. They are trained when the plugin is opened,
 * by XGBoost's library, which is loaded when they are asked for.
 */
#ifndef ST_OPERATOR_TREES_H
#define ST_OPERATOR_TREES_H

#include "shapes.h"

typedef struct st_shape_trees st_shape_trees;

/* Of products or attention. NULL, or what is wrong, in `reason`, which has room for
 * ST_TABLE_REASON; `trees` is set only on success. `multiprocessors` of the GPU determine how far
 * its last wave of tiles is filled; 0: not known. */
const char *st_shape_trees_train(const st_shapes *shapes, double width, double multiprocessors,
                                 st_shape_trees **trees, char *reason);
void st_shape_trees_free(st_shape_trees *trees); /* NULL is fine */

/* What XGBoost itself says of its last failure in this thread. */
const char *st_shape_trees_error(const st_shape_trees *trees);

/* Seconds; NaN where XGBoost fails. */
double st_shape_trees_time(const st_shape_trees *trees, const double *sizes);

#endif
