/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin looked at from a safe distance; see aside.h.
 *
 * The child answers with the errors that it found, each as texts that end in a zero byte, and then
 * with what it was to show.
 */
#include "plugin/kit/aside.h"

#include "job/files.h"
#include "plugin/child.h"
#include "plugin/isolate.h"
#include "plugin/wire.h"

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
    const visit *own = context;
    const st_plugin_module *module = NULL;
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    if (arena == NULL || errors == NULL)
        return; /* no answer is one */
    st_status status =
        st_plugin_load_here(own->paths, own->name, (st_place){0}, arena, &module, errors);
    st_wire_put_number(answer, (double)st_errors_size(errors));
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        const st_error *error = st_errors_at(errors, i);
        st_wire_put_number(answer, -error->status);
        st_wire_put_number(answer, error->severity == ST_SEVERITY_WARNING ? 1 : 0);
        st_wire_put(answer, error->place.file);
        st_wire_put_number(answer, error->place.line);
        st_wire_put(answer, error->message);
        st_wire_put(answer, error->found);
        st_wire_put(answer, error->expected);
        st_wire_put(answer, error->suggestion);
    }
    if (status == ST_OK)
        own->viewer->show(own->viewer->context, module, answer);
    st_arena_destroy(arena);
    st_errors_destroy(errors);
}

/* ---- the parent's side ---- */

/* Adds an error of the child's; its status, where it is an error. */
static st_status take_fault(st_wire *from, st_errors *errors)
{
    st_error error = {.status = (st_status) - (int)st_wire_take_count(from, -ST_ERR_PROVIDER)};
    error.severity = st_wire_take_count(from, 1) != 0 ? ST_SEVERITY_WARNING : ST_SEVERITY_ERROR;
    error.place.file = st_wire_take(from);
    error.place.line = (int)st_wire_take_count(from, INT_MAX);
    error.message = st_wire_take(from);
    error.found = st_wire_take(from);
    error.expected = st_wire_take(from);
    error.suggestion = st_wire_take(from);
    from->broken = from->broken || error.message == NULL || error.status == ST_OK;
    if (from->broken)
        return ST_OK;
    st_status status = st_errors_add(errors, &error);
    return error.severity == ST_SEVERITY_ERROR ? status : ST_OK;
}

static st_status refuse(const visit *own, const char *reason, st_errors *errors)
{
    return st_fail(errors, ST_ERR_PROVIDER, (st_place){0}, "plugin %s cannot be used: %s",
                   own->name, reason);
}

st_status st_plugin_aside(const st_paths *paths, const char *name, const st_plugin_viewer *viewer,
                          st_arena *arena, st_buffer *text, st_errors *errors)
{
    const st_child_limits limits = {LIMIT_MS, (size_t)MEMORY_LIMIT_MIB * 1024 * 1024};
    visit own = {.paths = paths, .name = name, .viewer = viewer};
    st_child_result result;
    st_status status = st_child_run(work, &own, &limits, arena, &result, errors);
    if (status != ST_OK)
        return status;
    if (result.end != ST_CHILD_DONE) {
        const char *reason = st_child_end_text(&result, LIMIT_MS, arena);
        return reason != NULL ? refuse(&own, reason, errors) : st_out_of_memory(errors);
    }
    st_wire from = {.at = result.text, .end = result.text + result.length};
    size_t faults = st_wire_take_count(&from, ST_ERRORS_KEPT);
    st_status answer_status = ST_OK;
    for (size_t i = 0; i < faults && !from.broken; i++)
        st_note(&answer_status, take_fault(&from, errors));
    if (from.broken)
        return refuse(&own, st_child_forged, errors);
    st_buffer_append(text, from.at, (size_t)(from.end - from.at));
    return answer_status;
}
