/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of measured times; see samples.h. */
#include "steptime/tool/input_files.h"
#include "base/memory.h"
#include "kernel-times/fit/samples.h"

#include "steptime/keys.h"
#include "steptime/tool/job_values.h"
#include "steptime/tool/gpus.h"
#include "steptime/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the GPU ---- */

st_status st_time_gpu(const st_paths *paths, const char *gpu, st_place place, st_arena *arena,
                      st_time_sets *sets, st_errors *errors)
{
    st_gpus gpus = {0};
    const st_job *job = NULL;
    st_status status = st_gpus_list(paths, arena, &gpus, errors);
    if (status != ST_OK)
        return status;
    const char *name = st_gpus_find(&gpus, gpu, NULL);
    if (name == NULL)
        return st_gpus_unknown(&gpus, gpu, place, errors);
    if (sets->gpu != NULL)
        return strcmp(sets->gpu, name) == 0
                   ? ST_OK
                   : st_fail(errors, ST_ERR_VALUE, place,
                             "times of two GPUs, %s and %s" ST_HINT "make a profile for each",
                             sets->gpu, name);
    const char *set = st_arena_printf(arena, ST_KEY_CLUSTER_GPU "=%s", name);
    const char *kept = st_arena_copy(arena, name, strlen(name));
    if (set == NULL || kept == NULL)
        return st_out_of_memory(errors);
    status = st_job_load(paths, NULL, &set, 1, arena, &job, errors);
    if (status == ST_OK) {
        sets->gpu = kept;
        sets->peak = st_job_number(job, ST_KEY_CLUSTER_GPU_PEAK_FP16);
        sets->bandwidth = st_job_number(job, ST_KEY_CLUSTER_GPU_MEMORY_BANDWIDTH);
    }
    return status;
}

/* ---- sets ---- */

st_time_set *st_time_set_of(st_time_sets *sets, st_times_cell cell, const bool *has,
                            const st_times_piece *pieces, size_t piece_count)
{
    for (size_t i = 0; i < sets->count; i++) {
        st_time_set *set = &sets->sets[i];
        if (set->cell == cell) {
            bool same = memcmp(set->has, has, sizeof set->has) == 0 &&
                        set->piece_count == piece_count &&
                        memcmp(set->pieces, pieces, piece_count * sizeof pieces[0]) == 0;
            return same ? set : NULL;
        }
    }
    if (sets->count == ST_TIME_SETS)
        return NULL;
    st_time_set *set = &sets->sets[sets->count++];
    *set = (st_time_set){.cell = cell, .piece_count = piece_count};
    memcpy(set->has, has, sizeof set->has);
    memcpy(set->pieces, pieces, piece_count * sizeof pieces[0]);
    return set;
}

st_status st_time_add(st_time_set *set, const st_time_sample *sample, st_arena *arena,
                      st_errors *errors)
{
    return ST_APPEND(arena, set->samples, set->count, *sample) ? ST_OK : st_out_of_memory(errors);
}

/* By the group, then by all features; what is not known is alike. */
static int compare_shapes(const void *left, const void *right)
{
    const st_time_sample *a = left;
    const st_time_sample *b = right;
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++) {
        if (i == ST_TIMES_CLOSED)
            continue;
        double x = a->shape.features[i];
        double y = b->shape.features[i];
        if (x < y || x > y)
            return x < y ? -1 : 1;
    }
    return 0;
}

void st_time_merge(st_time_set *set)
{
    size_t kept = 0;
    st_sort(set->samples, set->count, sizeof set->samples[0], compare_shapes);
    for (size_t i = 0; i < set->count; i++) {
        st_time_sample *last = kept > 0 ? &set->samples[kept - 1] : NULL;
        if (last != NULL && compare_shapes(last, &set->samples[i]) == 0) {
            const st_time_sample *from = &set->samples[i];
            double sum = (double)(last->repeats + from->repeats);
            double share = (double)from->repeats / sum;
            for (size_t j = 0; j < set->piece_count; j++)
                last->times[j] += share * (from->times[j] - last->times[j]);
            last->shape.features[ST_TIMES_CLOSED] +=
                share *
                (from->shape.features[ST_TIMES_CLOSED] - last->shape.features[ST_TIMES_CLOSED]);
            last->repeats += from->repeats;
        } else {
            set->samples[kept++] = set->samples[i];
        }
    }
    set->count = kept;
}
