/* SPDX-License-Identifier: Apache-2.0 */
/* Layer times from tables of times, from measured steps and from traces; see layer_fit.h. */
#include "kernel-times/fit/layer_fit.h"

#include <string.h>
#include <sys/stat.h>

/* ---- what an argument is ---- */

/* ---- tables ---- */

/* ---- traces ---- */

static st_status read_traces(st_layer_fit *own, const char *const *paths, size_t count)
{
    const char *job = own->asked->job;
    st_trace_set *set = NULL;
    uint32_t layers = own->asked->layers;
    if (job == NULL)
        return st_fail(own->errors, ST_ERR_USAGE, (st_place){0},
                       "a trace does not contain the shape of its layers" ST_HINT
                       "give the traced job with --job");
    st_status status = st_trace_set_read(paths, count, NULL, &set, own->errors);
    if (status == ST_OK)
        status = st_trace_layers_find(set, layers, own->arena, &own->layers, own->errors);
    if (status == ST_OK)
        status =
            st_trace_layers_take(&own->layers, own->paths, job, own->arena, own->sets, own->errors);
    st_trace_set_destroy(set);
    return status;
}

/* ---- everything ---- */

static st_status read_arguments(st_layer_fit *own)
{
    size_t traces = 0;
    st_status status = ST_OK;
    const char **paths = st_arena_alloc(own->arena, own->asked->file_count + 1, sizeof *paths);
    if (paths == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < own->asked->file_count; i++) {
        /* Folders and JSON are traces, all else tables. */
        const char *path = own->asked->files[i];
        struct stat found;
        bool is_folder = stat(path, &found) == 0 && S_ISDIR(found.st_mode);
        if (is_folder || st_ends_in(path, ".json") || st_ends_in(path, ".json.gz")) {
            paths[traces++] = own->asked->files[i];
            continue;
        }
        st_status read = st_time_file_read(own->asked->files[i], own->paths, own->asked->gpu,
                                           own->arena, own->sets, own->errors);
        status = status == ST_OK ? read : status;
    }
    if (status == ST_OK && traces > 0)
        status = read_traces(own, paths, traces);
    return status;
}

st_status st_layer_fit_read(st_layer_fit *own)
{
    own->sets = st_arena_alloc(own->arena, 1, sizeof *own->sets);
    if (own->sets == NULL)
        return ST_ERR_MEMORY;
    if (own->asked->table_count + own->asked->file_count == 0)
        return st_fail(own->errors, ST_ERR_USAGE, (st_place){0},
                       "'fit kernels' needs measured times" ST_HINT
                       "give tables of layer times or traces, or measured steps with "
                       "--table FILE");
    st_status status = read_arguments(own);
    for (size_t i = 0; i < own->asked->table_count && status == ST_OK; i++) {
        st_measured *sets = NULL;
        size_t count = 0;
        st_status step_status = st_measured_read(&own->asked->steps, &own->asked->tables[i],
                                                 own->arena, &sets, &count, own->errors);
        for (size_t j = 0; j < count && step_status == ST_OK; j++)
            step_status = st_time_steps(&sets[j], own->arena, own->sets, &own->rows, own->errors);
        status = step_status;
    }
    if (status == ST_OK && own->asked->table_count > 0 && own->rows.used == 0)
        status =
            st_fail(own->errors, ST_ERR_VALUE, (st_place){.file = own->asked->tables[0].file},
                    "no layer time follows from these rows: %zu left out, %zu with a pipeline, "
                    "%zu with MoE layers, %zu faster than the ends of the model" ST_HINT
                    "layer times need measured steps with pp 1",
                    own->rows.left_out, own->rows.pipelined, own->rows.mixed, own->rows.shorter);
    for (size_t i = 0; i < own->sets->count && status == ST_OK; i++)
        st_time_merge(&own->sets->sets[i]);
    return status;
}
