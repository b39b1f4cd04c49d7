/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predictors of layer times for shapes that were not measured: a roofline that is fitted to the
 * times (GSL), trees on the shape (XGBoost), and trees on what the roofline leaves; which of them
 * is best is found out on shapes that they have not seen.
 */
#ifndef STEPTIME_TIMES_PREDICT_H
#define STEPTIME_TIMES_PREDICT_H

#include "times/samples.h"

/* Fits floor and slopes to some of a set's samples; `counts` NULL: all. */
st_status st_times_fit_roofline(const st_time_set *set, size_t piece, const bool *counts,
                                st_arena *arena, st_times_roofline *line,
                                st_errors *errors) ST_NODISCARD;

/* The models of a set's pieces, by their index. */
typedef struct st_time_models {
    const st_time_set *set;
    st_times_model models[ST_TIMES_PIECES];
} st_time_models;

/* The text that the plugin reads; see times.h. */
void st_times_write(const st_time_models *models, const st_time_sets *sets, st_buffer *buffer);

#endif
