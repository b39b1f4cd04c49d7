/* SPDX-License-Identifier: Apache-2.0 */
/* See run_logs.h. A log becomes a job as `steptime import` writes it, whose values are those of
 * --set. */
#include "fit/cli/run_logs.h"

#include "launch/frameworks/frameworks.h"
#include "base/error_scope.h"
#include "steptime/keys.h"
#include "steptime/tool/input_files.h"
#include "steptime/tool/job_keys.h"

#include <string.h>
#include <unistd.h>

bool cli_is_log(cli_run *run, const char *file, st_source *text)
{
    return access(file, R_OK) == 0 && !st_file_is_folder(file) &&
           st_file_read_foreign(file, (st_place){0}, run->arena, text, NULL) == ST_OK &&
           st_is_log(text->text, text->length);
}

static st_status add_sets(cli_run *run, const st_yaml_node *map, const char *prefix,
                          const char ***sets, size_t *count)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < map->count && status == ST_OK; i++) {
        const st_yaml_node *node = map->items[i];
        const char *path = st_arena_printf(run->arena, "%s%s", prefix, map->keys[i]);
        const char *below = path != NULL ? st_arena_printf(run->arena, "%s.", path) : NULL;
        if (below == NULL)
            return st_out_of_memory(run->errors);
        if (node->kind == ST_YAML_MAP) {
            status = add_sets(run, node, below, sets, count);
            continue;
        }
        /* A section that builds on a file is that file, with values of its own behind it. */
        const bool is_base = strcmp(map->keys[i], "base") == 0 && prefix[0] != '\0';
        const char *key = is_base ? st_arena_copy(run->arena, prefix, strlen(prefix) - 1) : path;
        const char *set = node->kind == ST_YAML_SCALAR && key != NULL
                              ? st_arena_printf(run->arena, "%s=%s", key, node->text)
                              : NULL;
        if (set != NULL && !ST_APPEND(run->arena, *sets, *count, set))
            return st_out_of_memory(run->errors);
    }
    return status;
}

/* The keys of a job among those of --set, which the importer needs where the log lacks them. */
static const char **keys_of_jobs(cli_run *run, const st_measured_request *request, size_t *count)
{
    const char **keys = st_arena_alloc(run->arena, request->set_count + 1, sizeof *keys);
    *count = 0;
    for (size_t i = 0; keys != NULL && i < request->set_count; i++) {
        st_assignment read;
        if (st_assignment_read(request->sets[i], run->arena, &read) &&
            (st_key_find(read.key) != NULL || strcmp(read.key, ST_KEY_MODEL) == 0))
            keys[(*count)++] = request->sets[i];
    }
    return keys;
}

/* A time or a model that --set gives is in the job of the importer. */
static st_measured_request without_time(cli_run *run, const st_measured_request *request)
{
    st_measured_request rest = *request;
    const char **sets = st_arena_alloc(run->arena, request->set_count + 1, sizeof *sets);
    rest.sets = sets;
    rest.set_count = 0;
    for (size_t i = 0; sets != NULL && i < request->set_count; i++)
        if (strncmp(request->sets[i], ST_KEY_MEASURED_STEP_TIME "=",
                    sizeof ST_KEY_MEASURED_STEP_TIME) != 0 &&
            strncmp(request->sets[i], ST_KEY_MODEL "=", sizeof ST_KEY_MODEL) != 0)
            sets[rest.set_count++] = request->sets[i];
    return rest;
}

typedef struct log_errors {
    const st_measured_request *request;
    const char *file;
} log_errors;

/* Keys of a log's job that no formula reads are as little of a mistake as in a file. What the job
 * lacks the log lacks. */
static bool is_asked(const void *context, st_errors *errors, st_error *error)
{
    const log_errors *log = context;
    static const char mark[] = "--set ";
    (void)errors;
    if (error->place.file != NULL && strcmp(error->place.file, "job ''") == 0)
        error->place.file = log->file;
    if (error->severity != ST_SEVERITY_WARNING || error->place.file == NULL ||
        strncmp(error->place.file, mark, sizeof mark - 1) != 0)
        return true;
    return st_has_text(log->request->sets, log->request->set_count,
                       error->place.file + sizeof mark - 1);
}

st_status cli_measured_log(cli_run *run, const st_measured_request *request, const char *cluster,
                           const st_source *text, size_t peer_count, st_measured *measured)
{
    st_buffer job = {0};
    st_import_request asked = {.paths = run->paths,
                               .file = text->file,
                               .text = text->text,
                               .length = text->length,
                               .cluster = cluster};
    const st_measured_request rest = without_time(run, request);
    st_measured_request with = rest;
    const char **sets = NULL;
    size_t count = 0;
    bool is_single_step = false;
    asked.is_single_step = &is_single_step;
    asked.sets = keys_of_jobs(run, request, &asked.set_count);
    st_status status = asked.sets != NULL && rest.sets != NULL ? ST_OK : ST_ERR_MEMORY;
    if (status == ST_OK)
        status = peer_count > 0 ? st_import_peer(&asked, text, peer_count, &job, run->errors)
                                : st_log_import(&asked, &job, run->errors);
    const char *copy = status == ST_OK ? st_buffer_keep(&job, run->arena) : NULL;
    const st_yaml_node *root = NULL;
    st_buffer_free(&job);
    if (status == ST_OK && copy == NULL)
        status = st_out_of_memory(run->errors);
    if (status == ST_OK)
        status = st_yaml_parse(text->file, copy, strlen(copy), run->arena, &root, run->errors);
    if (status == ST_OK)
        status = add_sets(run, root, "", &sets, &count);
    for (size_t i = 0; i < rest.set_count && status == ST_OK; i++)
        if (!ST_APPEND(run->arena, sets, count, rest.sets[i]))
            status = st_out_of_memory(run->errors);
    if (status != ST_OK)
        return status;
    const st_yaml_node *steps = st_yaml_get(root, "measured");
    const bool has_dp = st_yaml_get(st_yaml_get(root, "parallel"), "dp") != NULL;
    if (!has_dp)
        return st_fail(run->errors, ST_ERR_NAME, (st_place){.file = text->file},
                       "the log does not say how many ranks ran" ST_HINT
                       "set it with --set parallel.dp=...");
    if (steps == NULL && peer_count > 0)
        return st_fail(run->errors, ST_ERR_NAME, (st_place){.file = text->file},
                       "no file has the time of the step that the tool prints" ST_HINT
                       "set it with --set " ST_KEY_MEASURED_STEP_TIME "=...");
    if (steps == NULL)
        return st_fail(run->errors, ST_ERR_NAME, (st_place){.file = text->file},
                       "the log has no time of a step that can be read" ST_EXPECTED
                       "whole lines with 'elapsed time per iteration', 'train_step_timing in s', "
                       "'iter time (s)', 'CurrSamplesPerSec=', 'tps:', 'completed step:' or "
                       "'Step Time :'" ST_HINT "set it with --set " ST_KEY_MEASURED_STEP_TIME
                       "=...");
    with.sets = sets;
    with.set_count = count;
    const log_errors context = {.request = &rest, .file = text->file};
    st_error_scope scope = {.edit = is_asked, .context = &context};
    st_errors_enter(run->errors, &scope);
    status = st_measured_job(&with, NULL, run->arena, measured, run->errors);
    st_errors_leave(run->errors, &scope);
    if (status == ST_OK) {
        measured->file = text->file;
        measured->is_single_step = is_single_step;
        measured->rows[0].id = st_last_part(text->file, '/');
    }
    return status;
}

st_status cli_save_site(cli_run *run, const st_site *site, const char *file)
{
    st_buffer buffer = {0};
    if (site->term_count == 0)
        return st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = file},
                       "no constant explains the difference: no stack to save");
    if (!site->is_explained)
        return st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = file},
                       "no term explains the difference within its prior: no stack to save" ST_HINT
                       "check the cluster, the keys of the job and the steps of the log");
    for (size_t i = 0; i < site->run_count; i++)
        if (site->runs[i]->is_single_step)
            return st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = file},
                           "%s has a single step, which may be warm-up: no stack to save" ST_HINT
                           "give a log with more steps",
                           site->runs[i]->rows[0].id);
    const char *name = st_last_part(file, '/');
    st_site_write(site, name, &buffer);
    if (site->run_count == 1)
        (void)st_report(run->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){.file = file},
                        "one run, %s, corrects this stack: no other run says how wrong it is",
                        site->runs[0]->rows[0].id);
    st_status status = cli_write_file(run, file, &buffer);
    st_buffer_free(&buffer);
    return status;
}
