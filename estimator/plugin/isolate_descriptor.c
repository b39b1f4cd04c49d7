/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor on its way from the process that has loaded a plugin to the one that uses it. */
#include "plugin/isolate.h"
#include "plugin/wire.h"

#include <stdint.h>

/* ---- writing --------------------------------------------------------------------------------- */

static void put_option(const st_plugin_option *option, st_buffer *to)
{
    st_wire_put_number(to, option->kind);
    st_wire_put_number(to, option->flags);
    st_wire_put(to, option->name);
    st_wire_put(to, option->unit);
    st_wire_put(to, option->choices);
    st_wire_put(to, option->default_text);
    st_wire_put_number(to, option->minimum);
    st_wire_put_number(to, option->maximum);
    st_wire_put(to, option->doc);
    st_wire_put(to, option->cite);
}

static void put_provider(const st_plugin_provider *provider, st_buffer *to)
{
    st_wire_put_number(to, provider->flags);
    st_wire_put(to, provider->name);
    st_wire_put(to, provider->unit);
    st_wire_put(to, provider->doc);
    st_wire_put(to, provider->cite);
    st_wire_put_number(to, provider->explain != NULL);
    st_wire_put_number(to, (double)provider->argument_count);
    for (size_t i = 0; i < provider->argument_count; i++) {
        const st_plugin_argument *argument = provider->arguments[i];
        st_wire_put_number(to, argument->flags);
        st_wire_put(to, argument->name);
        st_wire_put(to, argument->unit);
        st_wire_put(to, argument->doc);
    }
}

void st_isolate_put(const st_plugin *shown, st_buffer *to)
{
    st_wire_put(to, shown->id);
    st_wire_put(to, shown->version);
    st_wire_put(to, shown->licence);
    st_wire_put(to, shown->summary);
    st_wire_put_number(to, shown->abi);
    st_wire_put_number(to, (double)shown->option_count);
    for (size_t i = 0; i < shown->option_count; i++)
        put_option(shown->options[i], to);
    st_wire_put_number(to, (double)shown->provider_count);
    for (size_t i = 0; i < shown->provider_count; i++)
        put_provider(shown->providers[i], to);
    st_wire_put_number(to, (double)shown->schedule_count);
    for (size_t i = 0; i < shown->schedule_count; i++) {
        st_wire_put_number(to, shown->schedules[i]->flags);
        st_wire_put(to, shown->schedules[i]->name);
        st_wire_put(to, shown->schedules[i]->doc);
        st_wire_put(to, shown->schedules[i]->cite);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct taking {
    st_wire wire;
    st_arena *arena;
    bool failed;
} taking;

static const char *take_text(taking *own)
{
    return st_wire_take(&own->wire);
}

static uint32_t take_word(taking *own)
{
    return (uint32_t)st_wire_take_count(&own->wire, UINT32_MAX);
}

static void *make(taking *own, size_t count, size_t bytes)
{
    void *made = st_arena_alloc(own->arena, count + 1, bytes);
    own->failed = own->failed || made == NULL;
    return made;
}

/* Nobody calls these: a module that is apart has no code here. */
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

static void take_schedules(taking *own, st_plugin *shown)
{
    size_t count = st_wire_take_count(&own->wire, ST_PLUGIN_MAX_SCHEDULES);
    st_plugin_schedule *schedules = make(own, count, sizeof *schedules);
    const st_plugin_schedule **pointers = make(own, count, sizeof *pointers);
    for (size_t i = 0; i < count && !own->failed; i++) {
        schedules[i].struct_size = sizeof *schedules;
        schedules[i].flags = take_word(own);
        schedules[i].name = take_text(own);
        schedules[i].doc = take_text(own);
        schedules[i].cite = take_text(own);
        schedules[i].order = order_nowhere;
        pointers[i] = &schedules[i];
    }
    shown->schedules = pointers;
    shown->schedule_count = count;
}

static void take_option(taking *own, st_plugin_option *option)
{
    option->struct_size = sizeof *option;
    option->kind = take_word(own);
    option->flags = take_word(own);
    option->name = take_text(own);
    option->unit = take_text(own);
    option->choices = take_text(own);
    option->default_text = take_text(own);
    option->minimum = st_wire_take_number(&own->wire);
    option->maximum = st_wire_take_number(&own->wire);
    option->doc = take_text(own);
    option->cite = take_text(own);
}

static void take_arguments(taking *own, st_plugin_provider *provider)
{
    size_t count = st_wire_take_count(&own->wire, ST_REMOTE_COLUMNS);
    st_plugin_argument *arguments = make(own, count, sizeof *arguments);
    const st_plugin_argument **pointers = make(own, count, sizeof *pointers);
    for (size_t i = 0; i < count && !own->failed; i++) {
        arguments[i].struct_size = sizeof *arguments;
        arguments[i].flags = take_word(own);
        arguments[i].name = take_text(own);
        arguments[i].unit = take_text(own);
        arguments[i].doc = take_text(own);
        pointers[i] = &arguments[i];
    }
    provider->arguments = pointers;
    provider->argument_count = count;
}

static void take_provider(taking *own, st_plugin_provider *provider)
{
    provider->struct_size = sizeof *provider;
    provider->flags = take_word(own);
    provider->name = take_text(own);
    provider->unit = take_text(own);
    provider->doc = take_text(own);
    provider->cite = take_text(own);
    provider->evaluate = evaluate_nowhere;
    provider->explain = st_wire_take_count(&own->wire, 1) != 0 ? explain_nowhere : NULL;
    take_arguments(own, provider);
}

static void take_options(taking *own, st_plugin *shown)
{
    size_t count = st_wire_take_count(&own->wire, ST_PLUGIN_MAX_OPTIONS);
    st_plugin_option *options = make(own, count, sizeof *options);
    const st_plugin_option **pointers = make(own, count, sizeof *pointers);
    for (size_t i = 0; i < count && !own->failed; i++) {
        take_option(own, &options[i]);
        pointers[i] = &options[i];
    }
    shown->options = pointers;
    shown->option_count = count;
}

static void take_providers(taking *own, st_plugin *shown)
{
    size_t count = st_wire_take_count(&own->wire, ST_PLUGIN_MAX_PROVIDERS);
    st_plugin_provider *providers = make(own, count, sizeof *providers);
    const st_plugin_provider **pointers = make(own, count, sizeof *pointers);
    for (size_t i = 0; i < count && !own->failed; i++) {
        take_provider(own, &providers[i]);
        pointers[i] = &providers[i];
    }
    shown->providers = pointers;
    shown->provider_count = count;
}

const st_plugin *st_isolate_take(const char *text, size_t length, st_arena *arena)
{
    char *copy = st_arena_copy(arena, text, length);
    taking own = {.arena = arena};
    st_plugin *shown = make(&own, 1, sizeof *shown);
    if (copy == NULL || own.failed)
        return NULL;
    own.wire = (st_wire){.at = copy, .end = copy + length};
    shown->struct_size = sizeof *shown;
    shown->id = take_text(&own);
    shown->version = take_text(&own);
    shown->licence = take_text(&own);
    shown->summary = take_text(&own);
    shown->abi = take_word(&own);
    take_options(&own, shown);
    take_providers(&own, shown);
    take_schedules(&own, shown);
    return own.failed || own.wire.broken ? NULL : shown;
}
