/* SPDX-License-Identifier: Apache-2.0 */
/* What the providers answer: a sheet's own formula, corrected by measured neighbours. */
#ifndef ST_OPERATOR_ANSWERS_H
#define ST_OPERATOR_ANSWERS_H

#include "shapes.h"
#include "trees.h"
#include "steptime/plugin.h"

typedef struct operator_times {
    const st_plugin_host *host;
    st_shapes shapes[ST_OPERATORS];
    st_shape_trees *trees[ST_OPERATORS]; /* NULL: neighbours answer */
    double widths[ST_OPERATORS];         /* bytes of a number of each table */
    double reach;
} operator_times;

extern const st_plugin_provider *const st_operator_providers[ST_OPERATORS];

#endif
