/* SPDX-License-Identifier: Apache-2.0 */
/* Layer times from tables of times, from measured steps and from traces; see layer_fit.h. */
#include "kernel-times/fit/layer_fit.h"

#include <string.h>
#include <sys/stat.h>

/* ---- what an argument is ---- */

/* ---- tables ---- */

/* ---- traces ---- */

static st_status read_traces(st_layer_fit *fit, const char *const *paths, size_t count)
{
    const char *job = fit->asked->job;
    st_trace_set *set = NULL;
    uint32_t layers = fit->asked->layers;
    if (job == NULL)
        return st_fail(fit->errors, ST_ERR_USAGE, (st_place){0},
                       "a trace does not contain the shape of its layers" ST_HINT
                       "give the traced job with --job");
    st_status status = st_trace_set_read(paths, count, NULL, &set, fit->errors);
    if (status == ST_OK)
        status = st_trace_layers_find(set, layers, fit->arena, &fit->layers, fit->errors);
    if (status == ST_OK)
        status =
            st_trace_layers_take(&fit->layers, fit->paths, job, fit->arena, fit->sets, fit->errors);
    st_trace_set_destroy(set);
    return status;
}

/* ---- everything ---- */

static st_status read_arguments(st_layer_fit *fit)
{
    size_t traces = 0;
    st_status status = ST_OK;
    const char **paths = st_arena_alloc(fit->arena, fit->asked->file_count + 1, sizeof *paths);
    if (paths == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < fit->asked->file_count; i++) {
        /* Folders and JSON are traces, all else tables. */
        const char *path = fit->asked->files[i];
        struct stat found;
        bool is_folder = stat(path, &found) == 0 && S_ISDIR(found.st_mode);
        if (is_folder || st_ends_in(path, ".json") || st_ends_in(path, ".json.gz")) {
            paths[traces++] = fit->asked->files[i];
            continue;
        }
        st_status read = st_time_file_read(fit->asked->files[i], fit->paths, fit->asked->gpu,
                                           fit->arena, fit->sets, fit->errors);
        status = status == ST_OK ? read : status;
    }
    if (status == ST_OK && traces > 0)
        status = read_traces(fit, paths, traces);
    return status;
}

st_status st_layer_fit_read(st_layer_fit *fit)
{
    fit->sets = st_arena_alloc(fit->arena, 1, sizeof *fit->sets);
    if (fit->sets == NULL)
        return ST_ERR_MEMORY;
    if (fit->asked->table_count + fit->asked->file_count == 0)
        return st_fail(fit->errors, ST_ERR_USAGE, (st_place){0},
                       "'fit kernels' needs measured times" ST_HINT
                       "give tables of layer times or traces, or measured steps with "
                       "--table FILE");
    st_status status = read_arguments(fit);
    for (size_t i = 0; i < fit->asked->table_count && status == ST_OK; i++) {
        st_measured *sets = NULL;
        size_t count = 0;
        st_status step_status = st_measured_read(&fit->asked->steps, &fit->asked->tables[i],
                                                 fit->arena, &sets, &count, fit->errors);
        for (size_t j = 0; j < count && step_status == ST_OK; j++)
            step_status = st_time_steps(&sets[j], fit->arena, fit->sets, &fit->rows, fit->errors);
        status = step_status;
    }
    if (status == ST_OK && fit->asked->table_count > 0 && fit->rows.used == 0)
        status =
            st_fail(fit->errors, ST_ERR_VALUE, (st_place){.file = fit->asked->tables[0].file},
                    "no layer time follows from these rows: %zu left out, %zu with a pipeline, "
                    "%zu with MoE layers, %zu faster than the ends of the model" ST_HINT
                    "layer times need measured steps with pp 1",
                    fit->rows.left_out, fit->rows.pipelined, fit->rows.mixed, fit->rows.shorter);
    for (size_t i = 0; i < fit->sets->count && status == ST_OK; i++)
        st_time_merge(&fit->sets->sets[i]);
    return status;
}
