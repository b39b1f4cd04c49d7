/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which recipe does best on kernels that it has not seen: five folds, once over random rows and
 * once over kernels' names, so that each kernel is predicted by models that never saw it, and in
 * the second case never saw its kind.
 */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_TRIALS_H
#define STEPTIME_CALIBRATE_SLOWDOWN_TRIALS_H

#include "overlap-xgboost/fit/slowdown.h"

enum { ST_FOLDS = 5, ST_MAX_RECIPES = 8 };

typedef enum st_split { ST_SPLIT_ROWS, ST_SPLIT_NAMES, ST_SPLITS } st_split;

typedef struct st_trial {
    const st_recipe *recipe; /* NULL: a baseline */
    const char *name;
    st_slowdown_errors held_out[ST_SPLITS][ST_SLOWDOWN_PARTS];
} st_trial;

typedef struct st_trials {
    st_trial items[ST_MAX_RECIPES + ST_BASELINES]; /* recipes, then baselines */
    size_t count;
    size_t recipe_count;
    size_t best; /* of the recipes: the highest mean share within 5, 10 and 15 % over both splits */
} st_trials;

/* `only` limits the recipes to one; NULL: all. */
st_status st_slowdown_try(st_trees_library *library, const st_kernels *kernels,
                          const st_recipe *only, st_arena *arena, st_trials *trials,
                          st_errors *errors) ST_NODISCARD;

#endif
