/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient-boosted trees by XGBoost's C API. The library is loaded when the first of these
 * functions is called, not with the program, which would start far slower with it. Where it is
 * missing, or was left out of the build, st_trees_open says so (ST_ERR_IO).
 */
#ifndef STEPTIME_CALIBRATE_TREES_TREES_H
#define STEPTIME_CALIBRATE_TREES_TREES_H

#include "steptime/status.h"

typedef struct st_trees_library st_trees_library;
typedef struct st_trees st_trees;

st_status st_trees_open(st_trees_library **library, st_errors *errors) ST_NODISCARD;
void st_trees_close(st_trees_library *library); /* after the last of its trees */

typedef struct st_trees_options {
    const char *objective; /* XGBoost's name */
    double huber_slope;    /* of reg:pseudohubererror */
    int depth;
    int rounds;
    double learning_rate;
    double min_child_weight;
    double base_score;
    unsigned seed;
} st_trees_options;

/* Row after row; NaN where a feature is not known. */
typedef struct st_samples {
    const float *features;
    const float *targets;
    const float *weights;
    size_t count;
    size_t feature_count;
} st_samples;

st_status st_trees_train(st_trees_library *library, const st_samples *samples,
                         const st_trees_options *options, st_trees **trees,
                         st_errors *errors) ST_NODISCARD;
void st_trees_destroy(st_trees *trees);

/* predictions: one for each row of `features`. */
st_status st_trees_predict(const st_trees *trees, const float *features, size_t count,
                           float *predictions, st_errors *errors) ST_NODISCARD;

/* Adds each feature's gain over all splits to `gains`, which has one for each. */
st_status st_trees_gains(const st_trees *trees, double *gains, st_errors *errors) ST_NODISCARD;

/*
 * Each tree as a text, a node a line, depth first: "0:[f3<1.5] yes=1,no=2,missing=1", "2:leaf=0.1".
 * A prediction is the base score plus a leaf of each; valid until the next call for these trees.
 */
st_status st_trees_dump(const st_trees *trees, const char *const **texts, size_t *count,
                        st_errors *errors) ST_NODISCARD;

/* The model in XGBoost's UBJSON form; valid until the next call for the same trees. */
st_status st_trees_save(const st_trees *trees, const char **bytes, size_t *size_bytes,
                        st_errors *errors) ST_NODISCARD;

#endif
