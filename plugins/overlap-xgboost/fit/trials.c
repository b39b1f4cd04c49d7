/* SPDX-License-Identifier: Apache-2.0 */
/* The folds are the same in every run: the shuffle has a fixed seed. */
#include "overlap-xgboost/fit/trials.h"

#include "base/memory.h"
#include "fit/trees/shuffle.h"

#include <string.h>

typedef struct fold_run {
    st_trees_library *library;
    const st_kernels *kernels;
    st_arena *arena;
    st_errors *errors;
    st_trials *trials;
    size_t *fold;     /* of each kernel */
    size_t *learn;    /* rows of the other folds */
    size_t *held;     /* rows of this one */
    size_t *everyone; /* all rows */
    size_t learn_count;
    size_t held_count;
    double *predicted; /* for one fold */
    double *factors[ST_MAX_RECIPES + ST_BASELINES];
} fold_run;

static void keep(fold_run *fold, size_t trial)
{
    for (size_t i = 0; i < fold->held_count; i++)
        fold->factors[trial][fold->held[i]] = fold->predicted[i];
}

static st_status run_baselines(fold_run *fold)
{
    st_kernel_rows learn = {fold->kernels, fold->learn, fold->learn_count};
    st_kernel_rows held = {fold->kernels, fold->held, fold->held_count};
    for (size_t k = 0; k < ST_BASELINES; k++) {
        st_status status =
            st_baseline_predict((st_baseline)k, &learn, &held, fold->arena, fold->predicted);
        if (status != ST_OK)
            return st_out_of_memory(fold->errors);
        keep(fold, fold->trials->recipe_count + k);
    }
    return ST_OK;
}

static st_status run_split(fold_run *folds, st_split split)
{
    st_status status = ST_OK;
    if (split == ST_SPLIT_NAMES) {
        /* All kernels of a name fall into one fold; the names are dealt out one after the other. */
        size_t names = 0;
        for (size_t i = 0; i < folds->kernels->count; i++) {
            size_t same = 0;
            while (strcmp(folds->kernels->rows[same].name, folds->kernels->rows[i].name) != 0)
                same++;
            folds->fold[i] = same < i ? folds->fold[same] : names++ % ST_FOLDS;
        }
    } else {
        st_dice dice = st_dice_of(42);
        for (size_t i = 0; i < folds->kernels->count; i++)
            folds->everyone[i] = i;
        st_shuffle(folds->everyone, folds->kernels->count, &dice);
        for (size_t i = 0; i < folds->kernels->count; i++)
            folds->fold[folds->everyone[i]] = i % ST_FOLDS;
    }
    for (size_t fold = 0; fold < ST_FOLDS && status == ST_OK; fold++) {
        folds->learn_count = folds->held_count = 0;
        for (size_t i = 0; i < folds->kernels->count; i++)
            if (folds->fold[i] == fold)
                folds->held[folds->held_count++] = i;
            else
                folds->learn[folds->learn_count++] = i;
        st_slowdown_model model = {0};
        st_kernel_rows learn = {folds->kernels, folds->learn, folds->learn_count};
        st_kernel_rows held = {folds->kernels, folds->held, folds->held_count};
        status = ST_OK;
        for (size_t i = 0; i < folds->trials->recipe_count && status == ST_OK; i++) {
            const st_recipe *recipe = folds->trials->items[i].recipe;
            status = st_slowdown_train(folds->library, &learn, recipe, folds->arena, &model,
                                       folds->errors);
            if (status == ST_OK)
                status = st_slowdown_predict(&model, &held, folds->arena, folds->predicted,
                                             folds->errors);
            if (status == ST_OK)
                keep(folds, i);
            st_slowdown_destroy(&model);
        }
        if (status == ST_OK)
            status = run_baselines(folds);
    }
    for (size_t i = 0; i < folds->kernels->count; i++)
        folds->everyone[i] = i;
    st_kernel_rows all = {folds->kernels, folds->everyone, folds->kernels->count};
    for (size_t i = 0; i < folds->trials->count && status == ST_OK; i++)
        for (size_t part = 0; part < ST_SLOWDOWN_PARTS; part++)
            folds->trials->items[i].held_out[split][part] =
                st_slowdown_compare(&all, folds->factors[i], (st_slowdown_part)part);
    return status;
}

static double score(const st_trial *trial)
{
    double sum = 0;
    for (size_t i = 0; i < ST_SPLITS; i++) {
        const st_slowdown_errors *errors = &trial->held_out[i][ST_SLOWDOWN_ALL];
        sum += errors->within_5 + errors->within_10 + errors->within_15;
    }
    return sum / (3 * ST_SPLITS);
}

st_status st_slowdown_try(st_trees_library *library, const st_kernels *kernels,
                          const st_recipe *only, st_arena *arena, st_trials *trials,
                          st_errors *errors)
{
    fold_run fold = {
        .library = library, .kernels = kernels, .arena = arena, .errors = errors, .trials = trials};
    size_t *places = st_arena_alloc(arena, 4 * kernels->count, sizeof *places);
    double *values =
        st_arena_alloc(arena, (ST_MAX_RECIPES + ST_BASELINES + 1) * kernels->count, sizeof *values);
    if (places == NULL || values == NULL)
        return st_out_of_memory(errors);
    fold.fold = places;
    fold.learn = places + kernels->count;
    fold.held = places + 2 * kernels->count;
    fold.everyone = places + 3 * kernels->count;
    fold.predicted = values;
    for (size_t i = 0; i < ST_MAX_RECIPES + ST_BASELINES; i++)
        fold.factors[i] = values + (i + 1) * kernels->count;
    size_t count = 0;
    const st_recipe *recipes = st_recipes(&count);
    *trials = (st_trials){0};
    for (size_t i = 0; i < count && i < ST_MAX_RECIPES; i++) {
        if (only == NULL || only == &recipes[i])
            trials->items[trials->count++] =
                (st_trial){.recipe = &recipes[i], .name = recipes[i].name};
    }
    trials->recipe_count = trials->count;
    for (size_t i = 0; i < ST_BASELINES; i++)
        trials->items[trials->count++] = (st_trial){.name = st_baseline_names[i]};
    st_status status = ST_OK;
    for (int split = 0; split < ST_SPLITS && status == ST_OK; split++)
        status = run_split(&fold, (st_split)split);
    for (size_t i = 1; i < trials->recipe_count; i++)
        trials->best =
            score(&trials->items[i]) > score(&trials->items[trials->best]) ? i : trials->best;
    return status;
}
