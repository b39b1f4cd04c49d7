/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/frameworks/formats.h"

#include "base/memory.h"

#include <string.h>

/* ST_FRAMEWORKS where it is none. */
static st_framework framework_of(const char *format)
{
    st_framework found = (st_framework)0;
    while (found < ST_FRAMEWORKS && strcmp(st_framework_name(found), format) != 0)
        found++;
    return found;
}

/* The frameworks, and `others` behind them. */
static st_status unknown(const char *format, const char *const others[2], st_errors *errors)
{
    const char *names[ST_FRAMEWORKS + 2] = {NULL};
    size_t count = 0;
    for (; count < ST_FRAMEWORKS; count++)
        names[count] = st_framework_name((st_framework)count);
    for (size_t i = 0; i < 2 && others[i] != NULL; i++)
        names[count++] = others[i];
    return st_fail(errors, ST_ERR_USAGE, (st_place){0}, "unknown format '%.40s'" ST_HINT "%s",
                   format, st_errors_nearest(errors, format, names, count));
}

st_status st_format_import(const char *format, const st_import_request *request, st_buffer *job,
                           st_errors *errors)
{
    static const char *const others[2] = {"hf", "layers"};
    st_framework framework = framework_of(format);
    if (framework < ST_FRAMEWORKS)
        return st_framework_import(framework, request, job, errors);
    if (strcmp(format, "layers") == 0)
        return st_import_layers(request, job, errors);
    return strcmp(format, "hf") == 0 ? st_import_hf(request, job, errors)
                                     : unknown(format, others, errors);
}

st_status st_format_export(const char *format, const st_paths *paths, const st_request *request,
                           const st_export_options *options, st_buffer *file, st_errors *errors)
{
    static const char *const others[2] = {NULL, NULL};
    st_framework framework = framework_of(format);
    const st_job *job = NULL;
    st_arena *arena = st_arena_create();
    st_status status = arena != NULL ? ST_OK : st_out_of_memory(errors);
    if (status == ST_OK && framework == ST_FRAMEWORKS)
        status = unknown(format, others, errors);
    if (status == ST_OK)
        status = st_settled_job(paths, request, arena, &job, errors);
    if (status == ST_OK)
        status = st_framework_export(framework, paths, job, options, file, errors);
    if (status == ST_OK)
        status = st_estimate_check_plan(paths, request, arena, errors);
    st_arena_destroy(arena);
    return status;
}
