/* SPDX-License-Identifier: Apache-2.0 */
/* Trees on the shapes of layers, trained by XGBoost and kept as plain nodes. */
#ifndef STEPTIME_CALIBRATE_LAYERS_FOREST_H
#define STEPTIME_CALIBRATE_LAYERS_FOREST_H

#include "calibrate/trees/trees.h"
#include "calibrate/layers/samples.h"

typedef struct st_forest_data {
    st_trees_library *library;
    st_arena *arena;
    st_errors *errors;
} st_forest_data;

/*
 * Trains the trees of a piece on the rows of `times`. Its model must say its form, trees or trees
 * on the roofline, and have the roofline.
 */
st_status st_times_train(st_times *times, size_t piece, const st_forest_data *data) ST_NODISCARD;

#endif
