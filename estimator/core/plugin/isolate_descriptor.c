/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A descriptor on its way from the process that has loaded a plugin to the one that uses it. One
 * walk over it writes and reads, so that both keep to one order.
 */
#include "plugin/isolate.h"
#include "plugin/ipc.h"

#include <stdint.h>
#include <string.h>

typedef struct passing {
    st_buffer *to; /* NULL: it is read */
    st_ipc_reader wire;
    st_arena *arena;
    bool failed;
} passing;

static void pass_text(passing *stream, const char **text)
{
    if (stream->to != NULL)
        st_ipc_write(stream->to, *text);
    else
        *text = st_ipc_read(&stream->wire);
}

static void pass_number(passing *stream, double *number)
{
    if (stream->to != NULL)
        st_ipc_write_number(stream->to, *number);
    else
        *number = st_ipc_read_number(&stream->wire);
}

static size_t pass_count(passing *stream, size_t count, size_t most)
{
    if (stream->to == NULL)
        return st_ipc_read_count(&stream->wire, most);
    st_ipc_write_number(stream->to, (double)count);
    return count;
}

static void pass_word(passing *stream, uint32_t *word)
{
    *word = (uint32_t)pass_count(stream, *word, UINT32_MAX);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Structures that begin with their size. */
typedef struct kind {
    size_t size_bytes;
    size_t most;
    void (*pass)(passing *own, void *one);
} kind;

/* What is written is a copy, which the walk may change. */
typedef union copied {
    st_plugin_option option;
    st_plugin_argument argument;
    st_plugin_provider provider;
    st_plugin_schedule schedule;
} copied;

/* A list of pointers; returns the decoded one. */
static const void *pass_list(passing *stream, const kind *of, const void *list, size_t *count)
{
    *count = pass_count(stream, *count, of->most);
    if (stream->to == NULL) {
        const size_t list_count = *count;
        char *items = st_arena_alloc(stream->arena, list_count + 1, of->size_bytes);
        char *pointers = st_arena_alloc(stream->arena, list_count + 1, sizeof(void *));
        const uint32_t size_bytes = (uint32_t)of->size_bytes;
        stream->failed = stream->failed || items == NULL || pointers == NULL;
        for (size_t i = 0; i < list_count && !stream->failed; i++) {
            void *one = items + i * of->size_bytes;
            memcpy(one, &size_bytes, sizeof size_bytes);
            of->pass(stream, one);
            memcpy(pointers + i * sizeof one, &one, sizeof one);
        }
        return pointers;
    }
    const size_t list_count = *count;
    for (size_t i = 0; i < list_count; i++) {
        const void *one;
        copied copy;
        memcpy(&one, (const char *)list + i * sizeof one, sizeof one);
        memcpy(&copy, one, of->size_bytes);
        of->pass(stream, &copy);
    }
    return list;
}

/* ---- their contents -------------------------------------------------------------------------- */

/* Never called: an isolated module has no code in this process. */
static int evaluate_nowhere(void *instance, size_t rows, const double *const *columns,
                            double *values)
{
    (void)instance;
    (void)rows;
    (void)columns;
    (void)values;
    return ST_PLUGIN_FAILED;
}

static int explain_nowhere(void *instance, const double *const *columns, const st_plugin_sink *sink)
{
    (void)instance;
    (void)columns;
    (void)sink;
    return ST_PLUGIN_FAILED;
}

static int order_nowhere(void *instance, const st_plugin_pipeline *pipeline,
                         const st_plugin_order *order)
{
    (void)instance;
    (void)pipeline;
    (void)order;
    return ST_PLUGIN_FAILED;
}

static void pass_option(passing *stream, void *one)
{
    st_plugin_option *option = one;
    pass_word(stream, &option->kind);
    pass_word(stream, &option->flags);
    pass_text(stream, &option->name);
    pass_text(stream, &option->unit);
    pass_text(stream, &option->choices);
    pass_text(stream, &option->default_text);
    pass_number(stream, &option->minimum);
    pass_number(stream, &option->maximum);
    pass_text(stream, &option->doc);
    pass_text(stream, &option->cite);
}

static void pass_argument(passing *stream, void *one)
{
    st_plugin_argument *argument = one;
    pass_word(stream, &argument->flags);
    pass_text(stream, &argument->name);
    pass_text(stream, &argument->unit);
    pass_text(stream, &argument->doc);
}

static void pass_provider(passing *stream, void *one)
{
    static const kind arguments = {sizeof(st_plugin_argument), ST_REMOTE_COLUMNS, pass_argument};
    st_plugin_provider *provider = one;
    pass_word(stream, &provider->flags);
    pass_text(stream, &provider->name);
    pass_text(stream, &provider->unit);
    pass_text(stream, &provider->doc);
    pass_text(stream, &provider->cite);
    provider->evaluate = evaluate_nowhere;
    provider->explain =
        pass_count(stream, provider->explain != NULL ? 1 : 0, 1) != 0 ? explain_nowhere : NULL;
    provider->arguments =
        pass_list(stream, &arguments, provider->arguments, &provider->argument_count);
}

static void pass_schedule(passing *stream, void *one)
{
    st_plugin_schedule *schedule = one;
    pass_word(stream, &schedule->flags);
    pass_text(stream, &schedule->name);
    pass_text(stream, &schedule->doc);
    pass_text(stream, &schedule->cite);
    schedule->order = order_nowhere;
}

static void pass_plugin(passing *stream, st_plugin *shown)
{
    static const kind options = {sizeof(st_plugin_option), ST_PLUGIN_MAX_OPTIONS, pass_option};
    static const kind providers = {sizeof(st_plugin_provider), ST_PLUGIN_MAX_PROVIDERS,
                                   pass_provider};
    static const kind schedules = {sizeof(st_plugin_schedule), ST_PLUGIN_MAX_SCHEDULES,
                                   pass_schedule};
    pass_text(stream, &shown->id);
    pass_text(stream, &shown->version);
    pass_text(stream, &shown->licence);
    pass_text(stream, &shown->summary);
    pass_word(stream, &shown->abi);
    shown->options = pass_list(stream, &options, shown->options, &shown->option_count);
    shown->providers = pass_list(stream, &providers, shown->providers, &shown->provider_count);
    shown->schedules = pass_list(stream, &schedules, shown->schedules, &shown->schedule_count);
}

void st_isolate_put(const st_plugin *shown, st_buffer *to)
{
    passing stream = {.to = to};
    st_plugin copy = *shown;
    pass_plugin(&stream, &copy);
}

const st_plugin *st_isolate_take(const char *text, size_t length, st_arena *arena)
{
    char *copy = st_arena_copy(arena, text, length);
    st_plugin *shown = st_arena_alloc(arena, 1, sizeof *shown);
    if (copy == NULL || shown == NULL)
        return NULL;
    passing stream = {.wire = {.at = copy, .end = copy + length}, .arena = arena};
    shown->struct_size = sizeof *shown;
    pass_plugin(&stream, shown);
    return stream.failed || stream.wire.broken ? NULL : shown;
}
