/* SPDX-License-Identifier: Apache-2.0 */
/* A strategy beside a job: what it says in place of the job's plan; see strategy.h. */
#include "timeline/strategy.h"

#include "base/memory.h"
#include "estimate/placement.h"
#include "job/files.h"

#include <string.h>

typedef struct applier {
    const st_strategy *strategy;
    const st_job *job;
    st_arena *arena;
    st_errors *errors;
    st_strategy_sets *sets;
    st_status status; /* of the first error */
} applier;

static double number_of(const applier *self, const char *path)
{
    const st_job_value *value = st_job_value_of(self->job, path);
    return value != NULL && value->origin != ST_ORIGIN_NONE ? value->number : 0;
}

/* --- layers ----------------------------------------------------------------------------------- */

/* The spans of all chunks in the order of the model. */
static const st_strategy_span *span_of(const st_strategy *strategy, size_t place)
{
    return &strategy->stages[place % strategy->count].layers.items[place / strategy->count];
}

static void check_chunks(applier *self)
{
    const st_strategy *strategy = self->strategy;
    for (size_t i = 1; i < strategy->count; i++)
        if (strategy->stages[i].layers.count != strategy->stages[0].layers.count)
            ST_NOTE(self, ST_ERR_VALUE, strategy->stages[i].layers.items[0].place,
                    "stage %zu has %zu ranges of layers" ST_EXPECTED
                    "%zu, one for each chunk, as stage 0 has",
                    i, strategy->stages[i].layers.count, strategy->stages[0].layers.count);
}

static void check_layers(applier *self)
{
    const st_strategy *strategy = self->strategy;
    size_t places = strategy->count * strategy->stages[0].layers.count;
    uint32_t layers = (uint32_t)number_of(self, "model.layers");
    uint32_t next = 0;
    for (size_t i = 0; i < places && self->status == ST_OK; i++) {
        const st_strategy_span *span = span_of(strategy, i);
        if (span->first < next)
            ST_NOTE(self, ST_ERR_VALUE, span->place,
                    "layer %lu is on stage %zu and on an earlier one, or before it in the "
                    "model" ST_EXPECTED "a range from %lu",
                    (unsigned long)span->first, i % strategy->count, (unsigned long)next);
        else if (span->first > next)
            ST_NOTE(self, ST_ERR_VALUE, span->place,
                    "layer %lu is on no stage" ST_EXPECTED "a range from %lu", (unsigned long)next,
                    (unsigned long)next);
        else if (span->last >= layers)
            ST_NOTE(self, ST_ERR_VALUE, span->place,
                    "there is no layer %lu" ST_EXPECTED "from 0 to %lu (model.layers)",
                    (unsigned long)span->last, (unsigned long)layers - 1);
        next = span->last + 1;
    }
    if (self->status == ST_OK && next < layers)
        ST_NOTE(self, ST_ERR_VALUE, span_of(strategy, places - 1)->place,
                "layer %lu is on no stage" ST_EXPECTED "all layers to %lu (model.layers)",
                (unsigned long)next, (unsigned long)layers - 1);
}

const double *st_strategy_layers(const st_strategy *strategy, st_arena *arena)
{
    size_t places = strategy->count * strategy->stages[0].layers.count;
    double *layers = st_arena_alloc(arena, places, sizeof *layers);
    for (size_t i = 0; layers != NULL && i < places; i++) {
        const st_strategy_span *span = span_of(strategy, i);
        layers[i] = 1.0 + span->last - span->first;
    }
    return layers;
}

/* --- devices ---------------------------------------------------------------------------------- */

static size_t device_count(const st_strategy_stage *stage)
{
    size_t count = 0;
    for (size_t i = 0; i < stage->devices.count; i++)
        count += (size_t)1 + stage->devices.items[i].last - stage->devices.items[i].first;
    return count;
}

static void check_device(applier *self, const st_strategy_span *span, size_t stage,
                         uint16_t *stage_of)
{
    for (uint32_t rank = span->first; rank <= span->last; rank++) {
        if (stage_of[rank] != 0) {
            ST_NOTE(self, ST_ERR_VALUE, span->place,
                    "device %lu is on stage %zu and on stage %u" ST_EXPECTED "each on one stage",
                    (unsigned long)rank, stage, stage_of[rank] - 1U);
            return;
        }
        stage_of[rank] = (uint16_t)(stage + 1);
    }
}

/* Every device once, and no more of them than the cluster has. */
static void check_devices(applier *self)
{
    const st_strategy *strategy = self->strategy;
    double gpus = number_of(self, "cluster.nodes") * number_of(self, "cluster.gpus_per_node");
    uint16_t *stage_of = st_arena_alloc(self->arena, ST_STRATEGY_NUMBER + 1, sizeof *stage_of);
    if (stage_of == NULL) {
        self->status = st_out_of_memory(self->errors);
        return;
    }
    for (size_t i = 0; i < strategy->count; i++) {
        const st_strategy_stage *stage = &strategy->stages[i];
        for (size_t k = 0; k < stage->devices.count; k++) {
            const st_strategy_span *span = &stage->devices.items[k];
            if (gpus > 0 && span->last >= gpus)
                ST_NOTE(self, ST_ERR_VALUE, span->place,
                        "there is no device %lu" ST_EXPECTED "from 0 to %.0f, as the cluster has",
                        (unsigned long)span->last, gpus - 1);
            check_device(self, span, i, stage_of);
        }
        if (device_count(stage) != device_count(&strategy->stages[0]))
            ST_NOTE(self, ST_ERR_VALUE, stage->devices.items[0].place,
                    "stage %zu has %zu devices" ST_EXPECTED "%zu, as stage 0 has", i,
                    device_count(stage), device_count(&strategy->stages[0]));
    }
}

static void check_places(applier *self, const st_placement *placement)
{
    const st_strategy *strategy = self->strategy;
    size_t stride = placement->stride[ST_GROUP_PP];
    for (size_t i = 0; i < strategy->count; i++) {
        const st_strategy_spans *devices = &strategy->stages[i].devices;
        for (size_t k = 0; k < devices->count; k++) {
            const st_strategy_span *span = &devices->items[k];
            for (uint32_t rank = span->first; rank <= span->last; rank++) {
                if (rank < placement->ranks && rank / stride % strategy->count == i)
                    continue;
                ST_NOTE(self, ST_ERR_VALUE, span->place,
                        "device %lu is on stage %zu" ST_EXPECTED
                        "the stage on which parallel.order puts it; stage %zu begins with device "
                        "%zu, of %zu",
                        (unsigned long)rank, i, i, i * stride, placement->ranks);
                break;
            }
        }
    }
}

/* The size of data parallelism, and ranks on the stages of the job's order. */
static size_t place_devices(applier *self)
{
    const st_strategy *strategy = self->strategy;
    const st_job_value *order = st_job_value_of(self->job, "parallel.order");
    size_t tp = (size_t)number_of(self, "parallel.tp");
    size_t cp = (size_t)number_of(self, "parallel.cp");
    size_t devices = device_count(&strategy->stages[0]);
    st_placement placement;
    tp = tp > 0 ? tp : 1;
    cp = cp > 0 ? cp : 1;
    if (devices % (tp * cp) != 0) {
        ST_NOTE(self, ST_ERR_VALUE, strategy->stages[0].devices.items[0].place,
                "a stage has %zu devices" ST_EXPECTED
                "a multiple of %zu (parallel.tp * parallel.cp)",
                devices, tp * cp);
        return 1;
    }
    st_placement_plan plan = {.size = {tp, cp, 1, devices / (tp * cp), strategy->count, 0},
                              .gpus_per_node = 1};
    if (order != NULL && order->origin != ST_ORIGIN_NONE) {
        plan.order = order->text;
        plan.place = order->place;
    }
    self->status = st_placement_create(&plan, &placement, self->errors);
    if (self->status == ST_OK)
        check_places(self, &placement);
    return devices / (tp * cp);
}

/* --- in place of the job's plan --------------------------------------------------------------- */

static void add_set(applier *self, const char *text)
{
    if (text == NULL && self->status == ST_OK)
        self->status = st_out_of_memory(self->errors);
    self->sets->items[self->sets->count++] = text;
}

static void add_count(applier *self, const char *path, size_t count)
{
    add_set(self, st_arena_printf(self->arena, "%s=%zu", path, count));
}

/* The layers as parallel.layout writes them; a plan of one stage has none. */
static void add_layout(applier *self)
{
    size_t places = self->strategy->count * self->strategy->stages[0].layers.count;
    st_buffer text = {0};
    if (places > 1) {
        st_buffer_text(&text, "parallel.layout=E");
        for (size_t i = 0; i < places; i++) {
            const st_strategy_span *span = span_of(self->strategy, i);
            st_buffer_printf(&text, "%st*%lu", i > 0 ? "|" : "",
                             (unsigned long)span->last - span->first + 1);
        }
        for (uint32_t mtp = (uint32_t)number_of(self, "model.mtp"); mtp > 0; mtp--)
            st_buffer_text(&text, "m");
        st_buffer_text(&text, "L");
        add_set(self, st_arena_copy(self->arena, text.data, text.length));
    }
    st_buffer_free(&text);
}

static void check_schedule(applier *self)
{
    const st_job_value *own = st_job_value_of(self->job, "parallel.schedule");
    for (int i = ST_SCHEDULE_ZERO_BUBBLE_V; own != NULL && own->text != NULL && i < ST_SCHEDULES;
         i++)
        if (strcmp(own->text, st_schedule_name((st_schedule_kind)i)) == 0)
            ST_NOTE(self, ST_ERR_VALUE, own->place,
                    "schedule '%s' of the job has its own chunks" ST_EXPECTED
                    "a schedule or orders in the strategy",
                    own->text);
}

st_status st_strategy_apply(const st_strategy *strategy, const st_job *job, st_arena *arena,
                            st_strategy_sets *sets, st_errors *errors)
{
    static const char *const ends[] = {"parallel.first_stage_layers", "parallel.last_stage_layers"};
    applier self = {strategy, job, arena, errors, sets, ST_OK};
    size_t dp = 1;
    *sets = (st_strategy_sets){0};
    check_chunks(&self);
    check_devices(&self);
    if (self.status == ST_OK)
        check_layers(&self);
    if (self.status == ST_OK)
        dp = place_devices(&self);
    if (strategy->schedule == NULL && strategy->stages[0].order == NULL)
        check_schedule(&self);
    if (self.status != ST_OK)
        return self.status;
    add_count(&self, "parallel.pp", strategy->count);
    add_count(&self, "parallel.dp", dp);
    add_count(&self, "parallel.virtual_stages", strategy->stages[0].layers.count);
    for (size_t i = 0; i < ST_COUNT(ends); i++)
        if (number_of(&self, ends[i]) > 0)
            add_count(&self, ends[i], 0);
    add_layout(&self);
    if (strategy->stages[0].order != NULL)
        add_set(&self, "parallel.schedule=1f1b");
    else if (strategy->schedule != NULL)
        add_set(&self, st_arena_printf(arena, "parallel.schedule=%s", strategy->schedule));
    return self.status;
}

/* --- orders ----------------------------------------------------------------------------------- */

/* Tries the orders, with errors told at the first of them. */
static st_status try_orders(const st_strategy *strategy, const st_timeline_plan *plan,
                            st_errors *errors)
{
    st_errors *own = st_errors_create();
    if (own == NULL)
        return st_out_of_memory(errors);
    st_status status = st_schedule_try(&plan->schedule.shape, plan->order, own);
    for (size_t i = 0; i < st_errors_size(own); i++) {
        st_error error = *st_errors_at(own, i);
        const char *word = error.status == ST_ERR_CYCLE ? "waits on itself" : "is no step";
        error.message =
            st_errors_text(errors, "strategy '%s' %s: %s", strategy->name, word, error.message);
        error.place = strategy->stages[0].order_place;
        (void)st_errors_add(errors, &error);
    }
    st_errors_destroy(own);
    return status;
}

st_status st_strategy_order(const st_strategy *strategy, st_arena *arena, st_timeline_plan *plan,
                            st_errors *errors)
{
    st_schedule_shape *shape = &plan->schedule.shape;
    st_schedule_order *order = st_arena_alloc(arena, 1, sizeof *order);
    const st_slot **slots = st_arena_alloc(arena, strategy->count, sizeof *slots);
    size_t *counts = st_arena_alloc(arena, strategy->count, sizeof *counts);
    if (strategy->stages[0].order == NULL)
        return ST_OK;
    if (order == NULL || slots == NULL || counts == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < strategy->count; i++) {
        const st_strategy_stage *stage = &strategy->stages[i];
        st_slot *own = st_arena_alloc(arena, stage->pass_count + 1, sizeof *own);
        if (own == NULL)
            return st_out_of_memory(errors);
        for (size_t k = 0; k < stage->pass_count; k++) {
            own[k] = stage->order[k].slot;
            if (own[k].micro >= shape->micros || own[k].chunk >= shape->chunks)
                return st_fail(errors, ST_ERR_VALUE, stage->order[k].place,
                               "there is no micro-batch %lu of chunk %u" ST_EXPECTED
                               "%lu micro-batches and %lu chunks, both from 0",
                               (unsigned long)own[k].micro, (unsigned)own[k].chunk,
                               (unsigned long)shape->micros, (unsigned long)shape->chunks);
        }
        slots[i] = own;
        counts[i] = stage->pass_count;
    }
    *order = (st_schedule_order){.slots = slots, .counts = counts, .stages = strategy->count};
    plan->closed_same_schedule = false;
    plan->order = order;
    plan->order_name = strategy->name;
    return try_orders(strategy, plan, errors);
}

/* --- as a whole ------------------------------------------------------------------------------- */

st_status st_strategy_load(const char *path, const st_job *job, st_arena *arena,
                           const st_strategy **strategy, st_strategy_sets *sets, st_errors *errors)
{
    st_source source = {0};
    const st_yaml_node *root = NULL;
    st_strategy *read = st_arena_alloc(arena, 1, sizeof *read);
    if (read == NULL)
        return st_out_of_memory(errors);
    st_status status = st_file_read(path, (st_place){.file = "--strategy"}, arena, &source, errors);
    if (status == ST_OK)
        status = st_yaml_read(&source, arena, &root, errors);
    if (status == ST_OK)
        status = st_strategy_read(root, arena, read, errors);
    if (status == ST_OK)
        status = st_strategy_apply(read, job, arena, sets, errors);
    *strategy = status == ST_OK ? read : NULL;
    return status;
}

st_status st_strategy_plan(const st_strategy *strategy, st_estimate *estimate, st_arena *arena,
                           st_timeline_plan *plan, st_errors *errors)
{
    const double *layers = st_strategy_layers(strategy, arena);
    if (layers == NULL)
        return st_out_of_memory(errors);
    st_status status = st_timeline_plan_of(estimate, layers, arena, plan, errors);
    return status == ST_OK ? st_strategy_order(strategy, arena, plan, errors) : status;
}
