/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules of plugins: the passes that one hands over become an order, and the order is tried
 * before anybody relies on it.
 */
#include "plugin/module.h"

#include "job/files.h"
#include "schedule/schedule_internal.h"

#include <string.h>

size_t st_plugin_find_schedule(const st_plugin_module *module, const char *name)
{
    if (name[0] == '\0')
        return module->shown.schedule_count == 1 ? 0 : SIZE_MAX;
    for (size_t i = 0; i < module->shown.schedule_count; i++)
        if (strcmp(module->shown.schedules[i]->name, name) == 0)
            return i;
    return SIZE_MAX;
}

/* An order on its way from a plugin. */
typedef struct ordering {
    const st_schedule_shape *shape;
    st_slots *lists; /* by stage */
    size_t most;     /* passes of a stage */
    char fault[160]; /* the first; "" for none */
} ordering;

static const char *const pass_names[] = {
    [ST_PLUGIN_FORWARD] = "forward",
    [ST_PLUGIN_BACKWARD] = "backward",
    [ST_PLUGIN_WEIGHTS] = "weights",
    [ST_PLUGIN_BOTH] = "backward",
};

/* Called by the plugin; what lies outside of the pipeline ends it. */
static int add_pass(void *context, uint32_t stage, uint32_t kind, uint32_t micro, uint32_t chunk)
{
    ordering *made = context;
    const st_schedule_shape *shape = made->shape;
    if (made->fault[0] != '\0')
        return 1;
    if (stage >= shape->stages) {
        (void)snprintf(made->fault, sizeof(made->fault),
                       "returns a pass of stage %lu; the pipeline has %lu stages, counted from 0",
                       (unsigned long)stage, (unsigned long)shape->stages);
    } else if (kind > ST_PLUGIN_BOTH) {
        (void)snprintf(made->fault, sizeof(made->fault),
                       "returns a pass of unknown kind for stage %lu: %lu", (unsigned long)stage,
                       (unsigned long)kind);
    } else if (micro >= shape->micros || chunk >= shape->chunks) {
        (void)snprintf(
            made->fault, sizeof(made->fault),
            "returns a %s pass of micro-batch %lu and chunk %lu for stage %lu; there are "
            "%lu micro-batches and %lu chunks, counted from 0",
            pass_names[kind], (unsigned long)micro, (unsigned long)chunk, (unsigned long)stage,
            (unsigned long)shape->micros, (unsigned long)shape->chunks);
    } else if (made->lists[stage].count == made->most) {
        (void)snprintf(made->fault, sizeof(made->fault),
                       "returns more than %zu passes for stage %lu", made->most,
                       (unsigned long)stage);
    } else {
        bool both = kind == ST_PLUGIN_BOTH;
        st_slots_add(&made->lists[stage], both ? ST_PASS_BACKWARD : (st_pass)kind, chunk, micro,
                     both);
    }
    return made->fault[0] != '\0' ? 1 : 0;
}

/* Seconds of the passes of every chunk of the model. */
static bool fill_pipeline(const st_schedule_shape *shape, double ticks_per_s, st_arena *arena,
                          st_plugin_pipeline *pipeline)
{
    uint32_t places = st_schedule_places(shape);
    double *seconds[ST_PASSES];
    for (int pass = 0; pass < ST_PASSES; pass++) {
        seconds[pass] = st_arena_alloc(arena, places, sizeof(double));
        for (uint32_t i = 0; seconds[pass] != NULL && i < places; i++)
            for (int part = 0; part < ST_PARTS; part++)
                seconds[pass][i] += (double)shape->times[i].part[pass][part] / ticks_per_s;
    }
    *pipeline = (st_plugin_pipeline){.struct_size = sizeof(*pipeline),
                                     .stages = shape->stages,
                                     .micro_batches = shape->micros,
                                     .chunks = shape->chunks,
                                     .forward_s = seconds[ST_PASS_FORWARD],
                                     .backward_s = seconds[ST_PASS_BACKWARD],
                                     .weights_s = seconds[ST_PASS_WEIGHTS],
                                     .transfer_s = (double)shape->transfer / ticks_per_s};
    return seconds[0] != NULL && seconds[1] != NULL && seconds[2] != NULL;
}

static bool make_lists(const st_schedule_shape *shape, st_arena *arena, ordering *made)
{
    made->shape = shape;
    made->most = (size_t)3 * shape->micros * shape->chunks;
    made->lists = st_arena_alloc(arena, shape->stages, sizeof(*made->lists));
    bool good = made->lists != NULL;
    for (uint32_t i = 0; i < shape->stages && good; i++) {
        made->lists[i].items = st_arena_alloc(arena, made->most, sizeof(st_slot));
        good = made->lists[i].items != NULL;
    }
    return good;
}

/* An error with the plugin and its schedule before it. */
static st_status add_error(const st_plugin_order_request *request, const st_error *error,
                           st_errors *errors)
{
    const st_plugin *shown = &request->instance->module->shown;
    st_error error_of_schedule = *error;
    error_of_schedule.place = request->place;
    error_of_schedule.message =
        st_errors_text(errors, "schedule '%s' of plugin '%s' %s",
                       shown->schedules[request->schedule]->name, shown->id, error->message);
    return st_errors_add(errors, &error_of_schedule);
}

static st_status call(const st_plugin_order_request *request, const st_plugin_pipeline *pipeline,
                      ordering *made, st_arena *arena, st_errors *errors)
{
    const st_plugin_instance *instance = request->instance;
    if (instance->remote != NULL)
        return add_error(request,
                         &(st_error){.status = ST_ERR_USAGE,
                                     .message = "cannot run in a separate process",
                                     .suggestion = "omit --isolate and the job's 'isolate'"},
                         errors);
    const st_plugin_order sink = {.struct_size = sizeof(sink), .context = made, .pass = add_pass};
    st_error error = {.status = ST_ERR_PROVIDER};
    st_instance_clear_error(instance);
    const st_plugin_schedule *schedule = instance->module->shown.schedules[request->schedule];
    st_guard guard;
    st_guard_remember();
    st_guard_begin(&guard, instance->module->who, schedule->name, true);
    int result = schedule->order(instance->instance, pipeline, &sink);
    st_guard_end(&guard);
    st_plugin_take_warnings(instance, request->place, errors);
    if (made->fault[0] != '\0') {
        error.message = made->fault;
        return add_error(request, &error, errors);
    }
    if (result != ST_PLUGIN_OK) {
        const char *why = st_instance_error(instance, arena);
        error.message = st_errors_text(
            errors, "refuses a pipeline (stages %lu, micro-batches %lu, chunks %lu): %s",
            (unsigned long)pipeline->stages, (unsigned long)pipeline->micro_batches,
            (unsigned long)pipeline->chunks, why != NULL ? why : "no reason given");
        return add_error(request, &error, errors);
    }
    return ST_OK;
}

st_status st_plugin_order_make(const st_plugin_order_request *request, st_arena *arena,
                               st_schedule_order *order, st_errors *errors)
{
    ordering made = {0};
    st_plugin_pipeline pipeline;
    const st_schedule_shape *shape = request->shape;
    st_status status = st_schedule_check(shape, errors);
    if (status == ST_OK) {
        const st_plugin *shown = &request->instance->module->shown;
        uint32_t chunks = request->shape->chunks;
        if (chunks != 1 && (shown->schedules[request->schedule]->flags & ST_PLUGIN_CHUNKED) == 0) {
            status =
                add_error(request,
                          &(st_error){.status = ST_ERR_VALUE,
                                      .message = "supports one chunk per stage",
                                      .found = st_errors_text(errors, "%lu", (unsigned long)chunks),
                                      .expected = "1 (parallel.virtual_stages)"},
                          errors);
        }
    }
    if (status != ST_OK)
        return status;
    const st_slot **slots = st_arena_alloc(arena, shape->stages, sizeof(*slots));
    size_t *counts = st_arena_alloc(arena, shape->stages, sizeof(*counts));
    if (slots == NULL || counts == NULL || !make_lists(shape, arena, &made) ||
        !fill_pipeline(shape, request->ticks_per_s, arena, &pipeline))
        return st_out_of_memory(errors);
    status = call(request, &pipeline, &made, arena, errors);
    for (uint32_t i = 0; i < shape->stages; i++) {
        slots[i] = made.lists[i].items;
        counts[i] = made.lists[i].count;
    }
    *order = (st_schedule_order){.slots = slots, .counts = counts, .stages = shape->stages};
    if (status != ST_OK)
        return status;
    /* Tries the order and reports errors as the plugin's. */
    st_errors *collected = st_errors_create();
    if (collected == NULL)
        return st_out_of_memory(errors);
    st_status verify_status = st_schedule_try(request->shape, order, collected);
    for (size_t i = 0; i < st_errors_size(collected); i++) {
        st_error error = *st_errors_at(collected, i);
        const char *word = error.status == ST_ERR_CYCLE ? "waits on itself" : "is not a valid step";
        error.message = st_errors_text(errors, "%s: %s", word, error.message);
        (void)add_error(request, &error, errors);
    }
    st_errors_destroy(collected);
    return verify_status;
}
