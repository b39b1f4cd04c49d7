/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin loaded by a child process; see probe_process.h.
 *
 * The child answers with its errors and then with the text that the viewer wrote.
 */
#include "plugin/kit/probe_process.h"

#include "job/files.h"
#include "plugin/child.h"
#include "plugin/isolate.h"
#include "plugin/namespaces.h"
#include "plugin/ipc.h"

#include <limits.h>

enum { LIMIT_MS = 5000, MEMORY_LIMIT_MIB = 4096 };

typedef struct visit {
    const st_paths *paths;
    const char *name;
    const st_plugin_viewer *viewer;
} visit;

/* ---- the child's side ---- */

static void work(void *context, st_buffer *answer)
{
    const visit *request = context;
    const st_plugin_module *module = NULL;
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    if (arena == NULL || errors == NULL)
        return; /* no answer means failure */
    st_status status =
        st_plugin_load_here(request->paths, request->name, (st_place){0}, arena, &module, errors);
    st_ipc_write_number(answer, (double)st_errors_size(errors));
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        const st_error *error = st_errors_at(errors, i);
        st_ipc_write_number(answer, -error->status);
        st_ipc_write_number(answer, error->severity == ST_SEVERITY_WARNING ? 1 : 0);
        st_ipc_write(answer, error->place.file);
        st_ipc_write_number(answer, error->place.line);
        st_ipc_write(answer, error->message);
        st_ipc_write(answer, error->found);
        st_ipc_write(answer, error->expected);
        st_ipc_write(answer, error->suggestion);
    }
    if (status == ST_OK)
        request->viewer->show(request->viewer->context, module, answer);
    st_arena_destroy(arena);
    st_errors_destroy(errors);
}

/* ---- the parent's side ---- */

/* Adds an error of the child's; its status, where it is an error. */
static st_status read_fault(st_ipc_reader *from, st_errors *errors)
{
    st_error error = {.status = (st_status) - (int)st_ipc_read_count(from, -ST_ERR_PROVIDER)};
    error.severity = st_ipc_read_count(from, 1) != 0 ? ST_SEVERITY_WARNING : ST_SEVERITY_ERROR;
    error.place.file = st_ipc_read(from);
    error.place.line = (int)st_ipc_read_count(from, INT_MAX);
    error.message = st_ipc_read(from);
    error.found = st_ipc_read(from);
    error.expected = st_ipc_read(from);
    error.suggestion = st_ipc_read(from);
    from->broken = from->broken || error.message == NULL || error.status == ST_OK;
    if (from->broken)
        return ST_OK;
    st_status status = st_errors_add(errors, &error);
    return error.severity == ST_SEVERITY_ERROR ? status : ST_OK;
}

static st_status refuse(const visit *request, const char *reason, st_errors *errors)
{
    return st_fail(errors, ST_ERR_PROVIDER, (st_place){0}, "plugin %s cannot be used: %s",
                   request->name, reason);
}

st_status st_plugin_probe(const st_paths *paths, const char *name, const st_plugin_viewer *viewer,
                          st_arena *arena, st_buffer *text, st_errors *errors)
{
    const st_child_limits limits = {LIMIT_MS, (size_t)MEMORY_LIMIT_MIB * 1024 * 1024, NULL};
    visit request = {.paths = paths, .name = name, .viewer = viewer};
    st_child_result result;
    st_status status = st_child_run(work, &request, &limits, arena, &result, errors);
    if (status != ST_OK)
        return status;
    if (result.end != ST_CHILD_DONE) {
        const char *reason = st_child_end_text(&result, LIMIT_MS, arena);
        return reason != NULL ? refuse(&request, reason, errors) : st_out_of_memory(errors);
    }
    st_ipc_reader from = {.at = result.text, .end = result.text + result.length};
    size_t faults = st_ipc_read_count(&from, ST_ERRORS_KEPT);
    st_status answer_status = ST_OK;
    for (size_t i = 0; i < faults && !from.broken; i++)
        st_note(&answer_status, read_fault(&from, errors));
    if (from.broken)
        return refuse(&request, st_child_forged, errors);
    st_buffer_append(text, from.at, (size_t)(from.end - from.at));
    return answer_status;
}

static void do_nothing(void *context, st_buffer *text)
{
    (void)context;
    (void)text;
}

st_status st_plugin_isolation_lacks(st_arena *arena, const char **lacking, st_errors *errors)
{
    st_child_result result;
    st_status status = st_child_run(do_nothing, NULL, &(st_child_limits){LIMIT_MS, 0, NULL}, arena,
                                    &result, errors);
    if (status == ST_OK && (*lacking = st_walls_text(ST_WALLS & ~result.walls, arena)) == NULL)
        status = st_out_of_memory(errors);
    return status;
}
