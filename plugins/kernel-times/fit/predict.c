/* SPDX-License-Identifier: Apache-2.0 */
/* Predictors, tried on what they have not seen; see predict.h. */
#include "kernel-times/fit/predict.h"

#include "base/memory.h"
#include "steptime/tool/input_files.h"
#include "fit/trees/shuffle.h"

#include <math.h>
#include <string.h>

enum { LEAST_SAMPLES = 5, LEAST_FOR_TREES = 20 };

/* ---- samples as the rows of a profile ---- */

/* The samples that count, or all; no models yet. */
static st_status build(const st_time_set *set, const bool *counts, st_arena *arena, st_times *times,
                       st_errors *errors)
{
    *times = (st_times){.row_count = 0};
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++)
        if (set->has[i])
            times->shape[times->shape_count++] = (st_times_feature)i;
    times->piece_count = set->piece_count;
    memcpy(times->pieces, set->pieces, set->piece_count * sizeof times->pieces[0]);
    size_t stride = times->shape_count + times->piece_count;
    times->rows = st_arena_alloc(arena, (set->count + 1) * stride, sizeof *times->rows);
    if (times->rows == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < set->count; i++)
        if (counts == NULL || counts[i]) {
            const st_time_sample *sample = &set->samples[i];
            size_t row_stride = times->shape_count + times->piece_count;
            double *row = times->rows + times->row_count * row_stride;
            for (size_t j = 0; j < times->shape_count; j++)
                row[j] = sample->shape.features[times->shape[j]];
            memcpy(row + times->shape_count, sample->times, times->piece_count * sizeof *row);
            times->row_count++;
        }
    st_times_note_ranges(times);
    return ST_OK;
}

/* ---- one model ---- */

static bool is_possible(const st_times_learner *learner, st_times_form form, size_t rows)
{
    return form == ST_TIMES_ROOFLINE || (learner->library != NULL && rows >= LEAST_FOR_TREES);
}

static st_status fit_form(const st_times_learner *learner, size_t piece, st_times_form form,
                          st_times *times)
{
    st_times_model *model = &times->models[piece];
    bool same_trees = form == ST_TIMES_WITHIN && model->given && model->form == ST_TIMES_BOTH;
    model->given = true;
    model->form = form;
    return form == ST_TIMES_ROOFLINE || same_trees ? ST_OK : st_times_train(times, piece, learner);
}

st_status st_times_hold_out(const st_times_learner *learner, size_t piece, const bool *counts,
                            double *const *errors_of, size_t *count)
{
    const st_time_set *set = learner->set;
    st_times times;
    st_status status = build(set, counts, learner->arena, &times, learner->errors);
    if (status == ST_OK)
        status = st_times_fit_roofline(set, piece, counts, learner->arena,
                                       &times.models[piece].roofline, learner->errors);
    for (st_times_form form = 0; form < ST_TIMES_FORMS && status == ST_OK; form++) {
        bool possible = is_possible(learner, form, times.row_count);
        status = possible ? fit_form(learner, piece, form, &times) : ST_OK;
        *count = 0;
        for (size_t i = 0; i < set->count && status == ST_OK; i++) {
            const st_time_sample *sample = &set->samples[i];
            if (counts[i])
                continue;
            double estimate =
                possible ? st_times_predict(&times, piece, &sample->shape) : (double)NAN;
            errors_of[form][(*count)++] = estimate / sample->times[piece] - 1;
        }
    }
    return status;
}

/* ---- the best of all ---- */

/* Which samples are held out together: those of a group, or where there is one some at random. */
static size_t make_folds(const st_time_set *set, st_arena *arena, size_t *folds)
{
    bool seen[ST_TIME_GROUPS] = {false};
    size_t names[ST_TIME_GROUPS];
    size_t groups = 0;
    for (size_t i = 0; i < set->count; i++) {
        size_t group = set->samples[i].group;
        if (!seen[group]) {
            seen[group] = true;
            names[group] = groups++;
        }
    }
    if (groups > 1 && groups <= ST_TIME_FOLDS) {
        for (size_t i = 0; i < set->count; i++)
            folds[i] = names[set->samples[i].group];
        return groups;
    }
    size_t count = set->count < ST_TIME_FOLDS ? set->count : ST_TIME_FOLDS;
    size_t *order = st_arena_alloc(arena, set->count + 1, sizeof *order);
    st_dice dice = st_dice_of(1);
    for (size_t i = 0; order != NULL && i < set->count; i++)
        order[i] = i;
    if (order == NULL)
        return 0;
    st_shuffle(order, set->count, &dice);
    for (size_t i = 0; i < set->count; i++)
        folds[order[i]] = i % count;
    return count;
}

/* Errors of all forms on all folds of a piece. */
static st_status try_forms(const st_times_learner *learner, size_t piece, const size_t *folds,
                           size_t fold_count, st_error_summary *summaries)
{
    double *errors_of[ST_TIMES_FORMS];
    double *next[ST_TIMES_FORMS];
    size_t total = 0;
    st_status status = ST_OK;
    bool *counts = st_arena_alloc(learner->arena, learner->set->count + 1, sizeof *counts);
    for (size_t i = 0; i < ST_TIMES_FORMS; i++)
        errors_of[i] = st_arena_alloc(learner->arena, learner->set->count + 1, sizeof **errors_of);
    if (st_arena_failed(learner->arena))
        return st_out_of_memory(learner->errors);
    for (size_t fold = 0; fold < fold_count && status == ST_OK; fold++) {
        size_t count = 0;
        for (size_t i = 0; i < learner->set->count; i++)
            counts[i] = folds[i] != fold;
        for (size_t i = 0; i < ST_TIMES_FORMS; i++)
            next[i] = errors_of[i] + total;
        status = st_times_hold_out(learner, piece, counts, next, &count);
        total += count;
    }
    for (size_t i = 0; i < ST_TIMES_FORMS && status == ST_OK; i++)
        summaries[i] = st_summarize_errors(errors_of[i], total);
    return status;
}

st_status st_times_learn(const st_time_set *set, st_trees_library *library, st_times_form only,
                         st_arena *arena, st_time_models *models, st_errors *errors)
{
    const st_times_learner learner = {set, library, arena, errors};
    *models = (st_time_models){.set = set};
    size_t *folds = st_arena_alloc(arena, set->count + 1, sizeof *folds);
    st_status status = build(set, NULL, arena, &models->times, errors);
    size_t fold_count = folds != NULL ? make_folds(set, arena, folds) : 0;
    if (status == ST_OK && fold_count == 0)
        return st_out_of_memory(errors);
    for (size_t piece = 0; piece < set->piece_count && status == ST_OK; piece++) {
        st_times_form form = only;
        if (only == ST_TIMES_FORMS && set->count >= LEAST_SAMPLES) {
            status = try_forms(&learner, piece, folds, fold_count, models->held_out[piece]);
            /* Trees within the range of what was measured are not worse than the roofline where
             * nothing held out lies in that range, and are taken then. Other ties and NaN go to
             * the roofline. */
            const st_error_summary *summaries = models->held_out[piece];
            st_times_form best = ST_TIMES_ROOFLINE;
            if (summaries[ST_TIMES_WITHIN].mean_absolute <= summaries[best].mean_absolute)
                best = ST_TIMES_WITHIN;
            for (st_times_form best_form = 1; best_form < ST_TIMES_FORMS; best_form++)
                if (summaries[best_form].mean_absolute < summaries[best].mean_absolute)
                    best = best_form;
            form = best;
        } else if (only == ST_TIMES_FORMS || !is_possible(&learner, only, set->count)) {
            form = ST_TIMES_ROOFLINE;
        }
        if (status == ST_OK)
            status = st_times_fit_roofline(set, piece, NULL, arena,
                                           &models->times.models[piece].roofline, errors);
        if (status == ST_OK)
            status = fit_form(&learner, piece, form, &models->times);
    }
    return status;
}
