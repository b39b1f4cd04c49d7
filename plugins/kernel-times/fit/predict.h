/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predictors of layer times for shapes that were not measured: a roofline that is fitted to the
 * times (GSL), trees on the shape, and trees on what the roofline leaves (XGBoost). Which of them
 * is best is found out on shapes that they have not seen: whole models where there are several,
 * else single shapes.
 */
#ifndef STEPTIME_CALIBRATE_LAYERS_PREDICT_H
#define STEPTIME_CALIBRATE_LAYERS_PREDICT_H

#include "fit/steps/stats.h"
#include "fit/trees/trees.h"
#include "kernel-times/fit/samples.h"

enum { ST_TIME_FOLDS = 10 };

/* Fits floor and slopes to some of a set's samples; `counts` NULL: all. */
st_status st_times_fit_roofline(const st_time_set *set, size_t piece, const bool *counts,
                                st_arena *arena, st_times_roofline *line,
                                st_errors *errors) ST_NODISCARD;

/* The models of a set's pieces, with what is known of each form. */
typedef struct st_time_models {
    const st_time_set *set;
    st_times times; /* all samples; ready to be asked, and in the arena: not to be freed */
    st_error_summary held_out[ST_TIMES_PIECES][ST_TIMES_FORMS]; /* count 0: not tried */
} st_time_models;

/*
 * Tries all forms on held-out samples and fits the best of each piece to all. Without XGBoost
 * (`library` NULL) trees are not tried. `only` is the one form that is wanted, ST_TIMES_FORMS the
 * best. Fewer than five samples are too few to choose: then it is the roofline.
 */
st_status st_times_learn(const st_time_set *set, st_trees_library *library, st_times_form only,
                         st_arena *arena, st_time_models *models, st_errors *errors) ST_NODISCARD;

/* What predictors are trained with. */
typedef struct st_times_learner {
    const st_time_set *set;
    st_trees_library *library; /* NULL: no trees */
    st_arena *arena;
    st_errors *errors;
} st_times_learner;

/*
 * Trains each form of a piece on the samples that count; the errors of the others, which `count`
 * becomes the number of, by form: relative, NaN where it cannot be trained.
 */
st_status st_times_hold_out(const st_times_learner *learner, size_t piece, const bool *counts,
                            double *const *errors_of, size_t *count) ST_NODISCARD;

/*
 * Trains the trees of a piece on the rows of `times`. Its model must say its form, trees or trees
 * on the roofline, and have the roofline.
 */
st_status st_times_train(st_times *times, size_t piece,
                         const st_times_learner *learner) ST_NODISCARD;

/* The text that the plugin reads; see times.h. */
void st_times_write(const st_time_models *models, const st_time_sets *sets, st_buffer *buffer);

#endif
