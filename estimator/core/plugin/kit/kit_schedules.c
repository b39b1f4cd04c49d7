/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules for pipelines of several shapes, each asked twice. */
#include "plugin/kit/kit_schedules.h"

#include "base/lists.h"
#include "plugin/module.h"

#include <string.h>

static const uint32_t stage_counts[] = {1, 2, 4, 5};
static const uint32_t micro_counts[] = {1, 3, 8, 12};
static const uint32_t chunk_counts[] = {1, 2, 3};

enum {
    STAGE_COUNTS = ST_COUNT(stage_counts),
    MICRO_COUNTS = ST_COUNT(micro_counts),
    CHUNK_COUNTS = ST_COUNT(chunk_counts),
    MOST_CHUNKS = 15
};

static bool same_order(const st_schedule_order *one, const st_schedule_order *other)
{
    for (size_t i = 0; i < one->stages; i++) {
        if (one->counts[i] != other->counts[i])
            return false;
        for (size_t k = 0; k < one->counts[i]; k++) {
            const st_slot *a = &one->slots[i][k];
            const st_slot *b = &other->slots[i][k];
            if (a->micro != b->micro || a->chunk != b->chunk || a->pass != b->pass ||
                a->with_weights != b->with_weights)
                return false;
        }
    }
    return true;
}

static const char *first_error(const st_errors *errors)
{
    for (size_t i = 0; i < st_errors_size(errors); i++)
        if (st_errors_at(errors, i)->severity == ST_SEVERITY_ERROR)
            return st_errors_at(errors, i)->message;
    return "no memory";
}

static st_finding_kind try_schedule(const st_plugin_instance *instance, size_t schedule,
                                    st_errors *errors, st_buffer *text)
{
    const st_plugin_schedule *shown = instance->module->shown.schedules[schedule];
    size_t chunks = (shown->flags & ST_PLUGIN_CHUNKED) != 0 ? CHUNK_COUNTS : 1;
    const size_t of_chunk = (size_t)STAGE_COUNTS * MICRO_COUNTS;
    size_t shapes = of_chunk * chunks;
    st_chunk_times times[MOST_CHUNKS];
    st_finding_kind kind = ST_FINDING_PASS;
    size_t known = 0;
    for (size_t i = 0; i < shapes && kind == ST_FINDING_PASS; i++) {
        uint32_t chunk_count = chunk_counts[i / of_chunk];
        st_schedule_shape shape = {.kind =
                                       chunk_count > 1 ? ST_SCHEDULE_INTERLEAVED : ST_SCHEDULE_1F1B,
                                   .stages = stage_counts[i % STAGE_COUNTS],
                                   .micros = micro_counts[i / STAGE_COUNTS % MICRO_COUNTS],
                                   .chunks = chunk_count,
                                   .times = times,
                                   .transfer = 37};
        /* Uneven times, which a schedule may use. */
        const uint32_t count = shape.stages * chunk_count;
        for (uint32_t j = 0; j < count; j++) {
            times[j] = (st_chunk_times){0};
            times[j].part[ST_PASS_FORWARD][ST_PART_WORK] = 2385 + 17 * (int64_t)j;
            times[j].part[ST_PASS_BACKWARD][ST_PART_WORK] = 2911;
            times[j].part[ST_PASS_WEIGHTS][ST_PART_WORK] = 1234;
            times[j].part[ST_PASS_BACKWARD][ST_PART_TP] = 71;
        }
        /* One shape; `known` counts those that the schedule does not refuse. */
        const st_plugin_order_request request = {
            .instance = instance, .schedule = schedule, .shape = &shape, .ticks_per_s = 1e9};
        st_schedule_order orders[2];
        kind = ST_FINDING_PASS;
        st_arena *arena = st_arena_create();
        st_status status = arena == NULL ? ST_ERR_MEMORY : ST_OK;
        st_errors_clear(errors);
        for (int turn = 0; turn < 2 && status == ST_OK; turn++)
            status = st_plugin_order_make(&request, arena, &orders[turn], errors);
        const char *error = status == ST_OK ? "" : first_error(errors);
        bool refused = status == ST_ERR_PROVIDER && strstr(error, "' refuses ") != NULL;
        known += status == ST_OK ? 1 : 0;
        if (status != ST_OK && (!refused || strstr(error, "no reason given") != NULL)) {
            st_buffer_text(text, error);
            kind = ST_FINDING_FAIL;
        } else if (status == ST_OK && !same_order(&orders[0], &orders[1])) {
            st_buffer_printf(text, "%s: returns two orders for the same pipeline",
                             instance->module->shown.schedules[schedule]->name);
            kind = ST_FINDING_FAIL;
        }
        st_arena_destroy(arena);
    }
    if (kind == ST_FINDING_PASS && known == 0) {
        st_buffer_printf(text, "%s: refuses every pipeline", shown->name);
        kind = ST_FINDING_FAIL;
    }
    return kind;
}

st_finding_kind st_kit_schedules(const st_plugin_instance *instance, st_errors *errors,
                                 st_buffer *text)
{
    size_t count = instance->module->shown.schedule_count;
    st_finding_kind kind = count == 0 ? ST_FINDING_SKIP : ST_FINDING_PASS;
    for (size_t i = 0; i < count && kind == ST_FINDING_PASS; i++)
        kind = try_schedule(instance, i, errors, text);
    return kind;
}
