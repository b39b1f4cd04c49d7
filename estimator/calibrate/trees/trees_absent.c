/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of trees.c in a build without XGBoost: nothing can be opened, so nothing else runs.
 */
#include "calibrate/trees/trees.h"

#ifndef STEPTIME_HAVE_XGBOOST

static st_status left_out(st_errors *errors)
{
    return st_fail(errors, ST_ERR_IO, (st_place){0},
                   "this build has no XGBoost" ST_HINT
                   "install libxgboost-dev and build again with -Dxgboost=enabled");
}

st_status st_trees_open(st_trees_library **library, st_errors *errors)
{
    *library = NULL;
    return left_out(errors);
}

void st_trees_close(st_trees_library *library)
{
    (void)library;
}

st_status st_trees_train(st_trees_library *library, const st_samples *samples,
                         const st_trees_options *options, st_trees **trees, st_errors *errors)
{
    (void)library;
    (void)samples;
    (void)options;
    *trees = NULL;
    return left_out(errors);
}

void st_trees_destroy(st_trees *trees)
{
    (void)trees;
}

st_status st_trees_predict(const st_trees *trees, const float *features, size_t count,
                           float *predictions, st_errors *errors)
{
    (void)trees;
    (void)features;
    (void)count;
    (void)predictions;
    return left_out(errors);
}

st_status st_trees_gains(const st_trees *trees, double *gains, st_errors *errors)
{
    (void)trees;
    (void)gains;
    return left_out(errors);
}

st_status st_trees_dump(const st_trees *trees, const char *const **texts, size_t *count,
                        st_errors *errors)
{
    (void)trees;
    *texts = NULL;
    *count = 0;
    return left_out(errors);
}

st_status st_trees_save(const st_trees *trees, const char **bytes, size_t *size_bytes,
                        st_errors *errors)
{
    (void)trees;
    *bytes = NULL;
    *size_bytes = 0;
    return left_out(errors);
}

#endif
