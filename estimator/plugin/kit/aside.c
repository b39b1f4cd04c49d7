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

#include <stdlib.h>
#include <string.h>

enum { LIMIT_MS = 5000, MEMORY_LIMIT_MIB = 4096 };

typedef struct visit {
    const st_paths *paths;
    const char *name;
    const st_plugin_viewer *viewer;
} visit;

/* ---- the child's side ---- */

/* A text and a zero byte; no text is told from an empty one. */
static void put(st_buffer *answer, const char *text)
{
    st_buffer_append(answer, text != NULL ? "+" : "-", 1);
    st_buffer_append(answer, text != NULL ? text : "", (text != NULL ? strlen(text) : 0) + 1);
}

static void put_number(st_buffer *answer, int number)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", number);
    put(answer, text);
}

static void put_faults(st_buffer *answer, const st_errors *errors)
{
    put_number(answer, (int)st_errors_size(errors));
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        const st_error *error = st_errors_at(errors, i);
        put_number(answer, error->status);
        put_number(answer, error->severity == ST_SEVERITY_WARNING);
        put(answer, error->place.file);
        put_number(answer, error->place.line);
        put(answer, error->message);
        put(answer, error->found);
        put(answer, error->expected);
        put(answer, error->suggestion);
    }
}

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
    put_faults(answer, errors);
    if (status == ST_OK)
        own->viewer->show(own->viewer->context, module, answer);
    st_arena_destroy(arena);
    st_errors_destroy(errors);
}

/* ---- the parent's side ---- */

typedef struct answer {
    const char *at;
    const char *end;
    bool broken;
} answer;

static const char *take(answer *self)
{
    const char *text = self->at;
    size_t left = (size_t)(self->end - text);
    const char *end = left > 0 ? memchr(text, '\0', left) : NULL;
    if (end == NULL || (*text != '+' && *text != '-')) {
        self->broken = true;
        return NULL;
    }
    self->at = end + 1;
    return *text == '+' ? text + 1 : NULL;
}

static int take_number(answer *self)
{
    const char *text = take(self);
    return text != NULL ? (int)strtol(text, NULL, 10) : 0;
}

/* Adds an error of the child's; its status, where it is an error. */
static st_status take_fault(answer *self, st_errors *errors)
{
    st_error error = {.status = (st_status)take_number(self)};
    error.severity = take_number(self) != 0 ? ST_SEVERITY_WARNING : ST_SEVERITY_ERROR;
    error.place.file = take(self);
    error.place.line = take_number(self);
    error.message = take(self);
    error.found = take(self);
    error.expected = take(self);
    error.suggestion = take(self);
    bool known = error.status <= ST_ERR_MEMORY && error.status >= ST_ERR_PROVIDER;
    if (self->broken || error.message == NULL || !known) {
        self->broken = true;
        return ST_OK;
    }
    st_status status = st_errors_add(errors, &error);
    return error.severity == ST_SEVERITY_ERROR ? status : ST_OK;
}

static st_status refuse(const visit *own, const char *reason, st_errors *errors)
{
    return st_fail(errors, ST_ERR_PROVIDER, (st_place){0}, "plugin %s cannot be used: %s",
                   own->name, reason);
}

static st_status read_answer(const visit *own, const st_child_result *result, st_buffer *text,
                             st_errors *errors)
{
    answer from = {.at = result->text, .end = result->text + result->length};
    int faults = take_number(&from);
    st_status status = ST_OK;
    for (int i = 0; i < faults && i <= ST_ERRORS_KEPT && !from.broken; i++) {
        st_status fault = take_fault(&from, errors);
        status = status == ST_OK ? fault : status;
    }
    if (from.broken)
        return refuse(own, st_child_forged, errors);
    st_buffer_append(text, from.at, (size_t)(from.end - from.at));
    return status;
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
    return read_answer(&own, &result, text, errors);
}
