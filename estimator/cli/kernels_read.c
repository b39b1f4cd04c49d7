/* SPDX-License-Identifier: Apache-2.0 */
/* Layer times from tables of times, from measured steps and from traces; see kernels.h. */
#include "cli/kernels.h"

#include <string.h>
#include <sys/stat.h>

/* ---- what an argument is ---- */

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t size = strlen(end);
    return length >= size && strcmp(text + length - size, end) == 0;
}

/* Folders and JSON are traces, all else tables. */
static bool is_trace(const char *path)
{
    struct stat found;
    bool is_folder = stat(path, &found) == 0 && S_ISDIR(found.st_mode);
    return is_folder || ends_in(path, ".json") || ends_in(path, ".json.gz");
}

/* ---- tables ---- */

static st_status read_table(cli_kernels *own, const char *file)
{
    cli_run *run = own->run;
    const st_csv *csv = NULL;
    st_status status = st_time_csv_read(file, run->arena, &csv, run->errors);
    if (status == ST_OK)
        status = st_time_table_read(csv, own->paths, own->options->gpu, run->arena, own->sets,
                                    run->errors);
    return status;
}

static st_status read_steps(cli_kernels *own, const cli_table *table)
{
    cli_run *run = own->run;
    st_measured *sets = NULL;
    size_t count = 0;
    st_measured_table asked = {.file = table->file, .filter = table->filter};
    st_status status =
        st_measured_read(&own->request, &asked, run->arena, &sets, &count, run->errors);
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = st_time_steps(&sets[i], run->arena, own->sets, &own->rows, run->errors);
    return status;
}

static st_status no_steps(const cli_kernels *own)
{
    st_errors *errors = own->run->errors;
    return st_fail(errors, ST_ERR_VALUE, (st_place){.file = own->tables[0].file},
                   "no layer time can be told from these rows: %zu left out, %zu with a pipeline, "
                   "%zu with MoE layers, %zu faster than the ends of the model" ST_HINT
                   "layer times need measured steps with pp 1",
                   own->rows.left_out, own->rows.pipelined, own->rows.mixed, own->rows.shorter);
}

/* ---- traces ---- */

static st_status read_traces(cli_kernels *own, const char *const *paths, size_t count)
{
    cli_run *run = own->run;
    const char *job = own->options->job;
    st_trace_set *set = NULL;
    uint32_t layers = (uint32_t)own->options->layers;
    if (job == NULL)
        return cli_wrong_use(run, "a trace does not tell the shape of its layers",
                             "give the job that was traced with --job");
    st_status status = st_trace_set_read(paths, count, NULL, &set, run->errors);
    if (status == ST_OK)
        status = st_trace_layers_find(set, layers, run->arena, &own->layers, run->errors);
    if (status == ST_OK)
        status =
            st_trace_layers_take(&own->layers, own->paths, job, run->arena, own->sets, run->errors);
    st_trace_set_destroy(set);
    return status;
}

/* ---- everything ---- */

static st_status read_arguments(cli_kernels *own)
{
    cli_run *run = own->run;
    size_t traces = 0;
    st_status status = ST_OK;
    const char **paths = st_arena_alloc(run->arena, run->argument_count + 1, sizeof *paths);
    if (paths == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < run->argument_count; i++) {
        if (is_trace(run->arguments[i])) {
            paths[traces++] = run->arguments[i];
            continue;
        }
        st_status read = read_table(own, run->arguments[i]);
        status = status == ST_OK ? read : status;
    }
    if (status == ST_OK && traces > 0)
        status = read_traces(own, paths, traces);
    return status;
}

st_status cli_kernels_read(cli_kernels *own)
{
    cli_run *run = own->run;
    own->sets = st_arena_alloc(run->arena, 1, sizeof *own->sets);
    if (own->sets == NULL)
        return ST_ERR_MEMORY;
    if (own->table_count + run->argument_count == 0)
        return cli_wrong_use(run, "'fit kernels' needs measured times",
                             "give tables of layer times or traces, or measured steps with "
                             "--table FILE");
    st_status status = read_arguments(own);
    for (size_t i = 0; i < own->table_count && status == ST_OK; i++)
        status = read_steps(own, &own->tables[i]);
    if (status == ST_OK && own->table_count > 0 && own->rows.used == 0)
        status = no_steps(own);
    for (size_t i = 0; i < own->sets->count && status == ST_OK; i++)
        st_time_merge(&own->sets->sets[i]);
    return status;
}
