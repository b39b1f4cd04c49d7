/* SPDX-License-Identifier: Apache-2.0 */
/* How far off layer times are on what they have not seen; see layer_fit.h. */
#include "kernel-times/fit/layer_fit.h"

#include <stdlib.h>
#include <string.h>

/* ---- measured steps ---- */

/* Tries the times on all rows of a table; those that they come from count apart. */
static st_status try_table(st_layer_fit *fit, const st_measured_table *table, const st_times *times)
{
    st_measured *all = NULL;
    st_measured *used = NULL;
    size_t all_count = 0;
    size_t used_count = 0;
    st_measured_table asked = {.file = table->file};
    st_status status =
        st_measured_read(&fit->asked->steps, &asked, fit->arena, &all, &all_count, fit->errors);
    asked.filter = table->filter;
    if (status == ST_OK)
        status = st_measured_read(&fit->asked->steps, &asked, fit->arena, &used, &used_count,
                                  fit->errors);
    if (status != ST_OK || all_count == 0)
        return status;
    bool *lines = st_arena_alloc(fit->arena, all[0].csv->row_count + 1, sizeof *lines);
    if (lines == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < used_count && status == ST_OK; i++)
        status = st_step_usable(&used[i], fit->arena, lines, fit->errors);
    for (size_t i = 0; i < all_count && status == ST_OK; i++)
        status = st_step_try(&all[i], times, lines, fit->arena, &fit->step_errors, fit->errors);
    return status;
}

/* With the times as the plugin will read them. */
st_status st_layer_fit_try_steps(st_layer_fit *fit)
{
    /* The models of step times. */
    const st_time_models *models = NULL;
    for (size_t i = 0; i < fit->sets->count; i++)
        if (fit->sets->sets[i].cell == ST_TIMES_OF_LAYER) {
            models = &fit->models[i];
            break;
        }
    st_buffer buffer = {0};
    st_times times;
    char reason[200];
    st_status status = ST_OK;
    if (fit->asked->table_count == 0 || models == NULL)
        return ST_OK;
    st_times_write(models, fit->sets, &buffer);
    const char *fault =
        buffer.failed ? "out of memory"
                      : st_times_read(&times, buffer.data, buffer.length, reason, sizeof reason);
    st_buffer_free(&buffer);
    if (fault != NULL)
        return st_fail(fit->errors, ST_ERR_LIMIT, (st_place){0}, "%s", fault);
    for (size_t i = 0; i < fit->asked->table_count && status == ST_OK; i++)
        status = try_table(fit, &fit->asked->tables[i], &times);
    st_times_free(&times);
    return status;
}

/* ---- tables of layer times ---- */

static st_layer_fit_test *add_test(st_layer_fit *fit, const char *name,
                                   const st_time_models *models)
{
    const st_layer_fit_test test = {.name = name, .models = models};
    return ST_APPEND(fit->arena, fit->tests, fit->test_count, test)
               ? &fit->tests[fit->test_count - 1]
               : NULL;
}

/* Errors of the samples that do not count, and the sums of their pieces. */
typedef struct held_out {
    double *errors_of[ST_TIMES_FORMS];
    double *sums[ST_TIMES_FORMS]; /* estimates */
    double *measured;             /* sums, too */
    size_t count;
} held_out;

static bool make_room(held_out *errors, size_t count, st_arena *arena)
{
    errors->measured = st_arena_alloc(arena, count + 1, sizeof *errors->measured);
    for (size_t i = 0; i < ST_TIMES_FORMS; i++) {
        errors->errors_of[i] = st_arena_alloc(arena, count + 1, sizeof **errors->errors_of);
        errors->sums[i] = st_arena_alloc(arena, count + 1, sizeof **errors->sums);
    }
    return !st_arena_failed(arena);
}

/* Trains with the samples that count and tries the others. */
static st_status hold_out(st_layer_fit *fit, const st_time_set *set, const bool *counts,
                          st_layer_fit_test *test)
{
    held_out left = {.count = 0};
    const st_times_learner learner = {set, fit->library, fit->arena, fit->errors};
    st_status status = make_room(&left, set->count, fit->arena) ? ST_OK : ST_ERR_MEMORY;
    for (size_t piece = 0; piece < set->piece_count && status == ST_OK; piece++) {
        status = st_times_hold_out(&learner, piece, counts, left.errors_of, &left.count);
        if (status == ST_OK) {
            double repeats = st_times_repeats(set->pieces[piece]);
            size_t index = 0;
            for (size_t i = 0; i < set->count; i++) {
                double measured = repeats * set->samples[i].times[piece];
                if (counts[i])
                    continue;
                left.measured[index] += measured;
                for (size_t form = 0; form < ST_TIMES_FORMS; form++)
                    left.sums[form][index] += measured * (1 + left.errors_of[form][index]);
                index++;
            }
        }
        for (size_t i = 0; i < ST_TIMES_FORMS && status == ST_OK; i++)
            test->errors[piece][i] = st_summarize_errors(left.errors_of[i], left.count);
    }
    if (status == ST_OK) {
        for (size_t form = 0; form < ST_TIMES_FORMS; form++) {
            for (size_t i = 0; i < left.count; i++)
                left.errors_of[form][i] = left.sums[form][i] / left.measured[i] - 1;
            test->sums[form] = st_summarize_errors(left.errors_of[form], left.count);
        }
    }
    return status;
}

static bool is_same_kind(const st_time_set *left, const st_time_set *right)
{
    return left->cell == right->cell && memcmp(left->has, right->has, sizeof left->has) == 0 &&
           left->piece_count == right->piece_count &&
           memcmp(left->pieces, right->pieces, left->piece_count * sizeof left->pieces[0]) == 0;
}

static st_status test_file(st_layer_fit *fit, const char *file)
{
    bool found = false;
    st_time_sets *tested = st_arena_alloc(fit->arena, 1, sizeof *tested);
    if (tested == NULL)
        return ST_ERR_MEMORY;
    st_status status =
        st_time_file_read(file, fit->paths, fit->asked->gpu, fit->arena, tested, fit->errors);
    for (size_t i = 0; status == ST_OK && i < fit->sets->count; i++) {
        for (size_t k = 0; k < tested->count && status == ST_OK; k++) {
            st_time_set both;
            bool *counts = NULL;
            if (!is_same_kind(&fit->sets->sets[i], &tested->sets[k]))
                continue;
            found = true;
            st_time_merge(&tested->sets[k]);
            /* The samples of --test behind those of the fit, as one set of which the first ones
             * count. */
            status = ST_OK;
            const st_time_set *fitted = &fit->sets->sets[i];
            const st_time_set *join_test = &tested->sets[k];
            size_t count = fitted->count + join_test->count;
            both = *fitted;
            both.samples = st_arena_alloc(fit->arena, count + 1, sizeof *both.samples);
            counts = st_arena_alloc(fit->arena, count + 1, sizeof *counts);
            if (both.samples == NULL || counts == NULL) {
                status = ST_ERR_MEMORY;
            } else {
                memcpy(both.samples, fitted->samples, fitted->count * sizeof *both.samples);
                memcpy(both.samples + fitted->count, join_test->samples,
                       join_test->count * sizeof *both.samples);
                both.count = count;
                for (size_t j = 0; j < fitted->count; j++)
                    counts[j] = true;
            }
            st_layer_fit_test *test = status == ST_OK ? add_test(fit, file, &fit->models[i]) : NULL;
            if (status == ST_OK)
                status = test != NULL ? hold_out(fit, &both, counts, test) : ST_ERR_MEMORY;
        }
    }
    return status == ST_OK && !found
               ? st_fail(fit->errors, ST_ERR_NAME, (st_place){.file = file},
                         "this table has none of the fitted times, or has other columns")
               : status;
}

st_status st_layer_fit_test_all(st_layer_fit *fit)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < fit->asked->test_count && status == ST_OK; i++)
        status = test_file(fit, fit->asked->tests[i]);
    if (status != ST_OK || !fit->asked->leave_one_out)
        return status;
    if (fit->sets->group_count < 2)
        return st_fail(fit->errors, ST_ERR_USAGE, (st_place){0},
                       "--leave-one-out needs times of two models or files");
    for (size_t i = 0; i < fit->sets->count; i++)
        for (size_t group = 0; group < fit->sets->group_count && status == ST_OK; group++) {
            status = ST_ERR_MEMORY;
            const st_time_set *set = &fit->sets->sets[i];
            size_t left = 0;
            bool *counts = st_arena_alloc(fit->arena, set->count + 1, sizeof *counts);
            if (counts != NULL) {
                for (size_t j = 0; j < set->count; j++) {
                    counts[j] = set->samples[j].group != group;
                    left += counts[j] ? 0 : 1;
                }
                if (left == 0) {
                    status = ST_OK;
                } else {
                    st_layer_fit_test *test =
                        add_test(fit, fit->sets->groups[group], &fit->models[i]);
                    status = test != NULL ? hold_out(fit, set, counts, test) : ST_ERR_MEMORY;
                }
            }
        }
    return status;
}
