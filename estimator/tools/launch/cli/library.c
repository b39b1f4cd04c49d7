/* SPDX-License-Identifier: Apache-2.0 */
/* Import and export for other programs; see steptime/launch.h. */
#include "steptime/launch.h"

#include "base/memory.h"
#include "base/sized_struct.h"
#include "launch/frameworks/formats.h"

#include <string.h>

/* Moves what was written, all or nothing. */
static st_status give(st_buffer *made, st_buffer *result, st_status status, st_errors *errors)
{
    if (status == ST_OK && made->length > 0)
        st_buffer_append(result, made->data, made->length);
    if (status == ST_OK && (made->failed || result->failed))
        status = st_out_of_memory(errors);
    st_buffer_free(made);
    return status;
}

static st_status missing(const char *what, st_errors *errors)
{
    return st_fail(errors, ST_ERR_USAGE, (st_place){0}, "the request has no %s", what);
}

st_status st_launch_import(const st_launch_import_request *request, st_buffer *job,
                           st_errors *errors)
{
    st_launch_import_request asked;
    st_buffer made = {0};
    st_paths *paths = NULL;
    st_status status = st_sized_take(request, &asked, sizeof asked, errors);
    if (status == ST_OK && (asked.format == NULL || asked.text == NULL))
        status = missing(asked.format == NULL ? "format" : "text", errors);
    if (status == ST_OK)
        status = st_paths_create(asked.folders, asked.folder_count, &paths, errors);
    if (status != ST_OK)
        return status;
    const st_import_request source = {.paths = paths,
                                      .file = asked.name != NULL ? asked.name : "the source",
                                      .text = asked.text,
                                      .length = asked.length,
                                      .cluster = asked.cluster,
                                      .assume = asked.assume,
                                      .strict = asked.strict,
                                      .sets = asked.sets,
                                      .set_count = asked.set_count};
    status = st_format_import(asked.format, &source, &made, errors);
    st_paths_destroy(paths);
    return give(&made, job, status, errors);
}

st_status st_launch_export(const st_launch_export_request *request, st_buffer *file,
                           st_errors *errors)
{
    st_launch_export_request asked;
    st_buffer made = {0};
    st_paths *paths = NULL;
    st_status status = st_sized_take(request, &asked, sizeof asked, errors);
    if (status == ST_OK && asked.format == NULL)
        status = missing("format", errors);
    if (status == ST_OK)
        status = st_paths_create(asked.folders, asked.folder_count, &paths, errors);
    if (status != ST_OK)
        return status;
    const st_request job = {.job = asked.job, .sets = asked.sets, .set_count = asked.set_count};
    const st_export_options options = {.version = asked.version, .is_batch = asked.slurm};
    status = st_format_export(asked.format, paths, &job, &options, &made, errors);
    st_paths_destroy(paths);
    return give(&made, file, status, errors);
}
