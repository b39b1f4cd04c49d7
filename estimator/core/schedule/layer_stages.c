/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting by a search for the smallest largest stage; replays of one pass after the other. */
#include "schedule/layer_stages.h"

#include <math.h>

#define MOST_PASSES (1 << 22)
enum { MAX_UNITS = 4096, CUT_STEPS = 60 };

/* ---- cutting ---- */

static double share_of(const st_layer_pipeline *pipeline, const st_tensor *tensor)
{
    const st_layers *layers = pipeline->layers;
    int compiled = pipeline->compiled ? ST_COMPILED : ST_UNCOMPILED;
    double moved = layers->moved[compiled];
    double flop = layers->forward_flop;
    double share = moved > 0 ? pipeline->moved_share * tensor->moved[compiled] / moved : 0;
    return share + (flop > 0 ? (1 - pipeline->moved_share) * tensor->forward_flop / flop : 0);
}

static double weight_of(const st_layer_pipeline *pipeline, const st_tensor *tensor)
{
    return pipeline->by_parameters ? tensor->parameters : share_of(pipeline, tensor);
}

/* Layer after layer into stages of at most `most`, each of at least one layer, as many layers left
 * over as there are stages behind; false where the last stage would have more. */
static bool fill_stages(const st_layer_pipeline *pipeline, double most, size_t layer_count,
                        st_layer_stage *stages)
{
    const st_layers *layers = pipeline->layers;
    size_t count = (size_t)pipeline->stages;
    size_t stage = 0;
    size_t left = layer_count;
    double weight = 0;
    bool is_empty = true;
    for (size_t i = 0; i < count; i++)
        stages[i] = (st_layer_stage){0};
    for (size_t i = 0, end = 0; i < layers->count; i = end, left--) {
        double layer = 0;
        for (end = i; end == i || (end < layers->count && !layers->tensors[end].begins); end++)
            layer += weight_of(pipeline, &layers->tensors[end]);
        bool is_full = weight + layer > most || left == count - 1 - stage;
        if (!is_empty && is_full && stage + 1 < count) {
            stage++;
            weight = 0;
        }
        weight += layer;
        is_empty = false;
        if (weight > most)
            return false;
        for (size_t j = i; j < end; j++) {
            stages[stage].share += share_of(pipeline, &layers->tensors[j]);
            stages[stage].parameters += layers->tensors[j].parameters;
            stages[stage].kept += layers->tensors[j].kept;
        }
        stages[stage].output = layers->tensors[i].output;
    }
    return stage + 1 == count;
}

static double in_flight(const st_layer_pipeline *pipeline, size_t stage)
{
    double behind = pipeline->stages - (double)stage;
    return pipeline->gpipe != 0 ? pipeline->micros : fmin(behind, pipeline->micros);
}

bool st_layer_stages_cut(const st_layer_pipeline *pipeline, st_layer_stage *stages)
{
    const st_layers *layers = pipeline->layers;
    size_t layer_count = 0;
    double low = 0;
    double high = 0;
    for (size_t i = 0; i < layers->count; i++) {
        layer_count += layers->tensors[i].begins ? 1 : 0;
        high += weight_of(pipeline, &layers->tensors[i]);
    }
    bool known = pipeline->stages >= 1 && pipeline->stages <= ST_LAYER_STAGES &&
                 pipeline->stages == floor(pipeline->stages) &&
                 pipeline->stages <= (double)layer_count;
    if (!known)
        return false;
    high *= 1 + 1e-9; /* sums in another order */
    for (int i = 0; i < CUT_STEPS; i++) {
        double middle = (low + high) / 2;
        bool fits = fill_stages(pipeline, middle, layer_count, stages);
        low = fits ? low : middle;
        high = fits ? middle : high;
    }
    (void)fill_stages(pipeline, high, layer_count, stages);
    for (size_t i = 0; i < (size_t)pipeline->stages; i++)
        stages[i].in_flight = in_flight(pipeline, i);
    return true;
}

/* ---- the pipeline ---- */

typedef struct pipeline_clock {
    const st_layer_pipeline *pipeline;
    const st_layer_stage *stages;
    const st_schedule_order *order;
    bool sends; /* else transfers take no time */
    size_t count;
    size_t micros;
    size_t *done; /* passes by stage */
    double *free; /* when a stage is free */
    double *sent; /* when its last transfer ends, by direction and stage */
    double *ends; /* of the passes with their transfers, by direction, stage and micro-batch */
} pipeline_clock;

static double *end_of(const pipeline_clock *clock, bool backward, size_t stage, size_t micro)
{
    return &clock->ends[((backward ? clock->count : 0) + stage) * clock->micros + micro];
}

/* When what a pass hands on is there; a stage sends one thing after the other in each direction. */
static double arrival(const pipeline_clock *clock, size_t stage, bool backward)
{
    const st_layer_pipeline *pipeline = clock->pipeline;
    bool is_last = backward ? stage == 0 : stage + 1 == clock->count;
    if (is_last || !clock->sends)
        return clock->free[stage];
    double *sent = &clock->sent[(backward ? clock->count : 0) + stage];
    double values = clock->stages[backward ? stage - 1 : stage].output;
    *sent = fmax(*sent, clock->free[stage]) + pipeline->start + values * pipeline->value_time;
    return *sent;
}

static bool run_pass(pipeline_clock *clock, size_t stage)
{
    if (clock->done[stage] == clock->order->counts[stage])
        return false;
    const st_slot *slot = &clock->order->slots[stage][clock->done[stage]];
    bool backward = slot->pass != ST_PASS_FORWARD;
    /* When the inputs of a pass are ready; NaN: not yet. */
    double ready = 0;
    const size_t micro = slot->micro;
    if (backward || stage != 0) {
        if (!backward)
            ready = *end_of(clock, false, stage - 1, micro);
        else
            ready = stage + 1 == clock->count ? *end_of(clock, false, stage, micro)
                                              : *end_of(clock, true, stage + 1, micro);
    }
    if (isnan(ready))
        return false;
    double pass = backward ? clock->pipeline->backward : clock->pipeline->forward;
    clock->free[stage] = fmax(ready, clock->free[stage]) + clock->stages[stage].share * pass;
    *end_of(clock, backward, stage, slot->micro) = arrival(clock, stage, backward);
    clock->done[stage]++;
    return true;
}

static double run_all(pipeline_clock *clock)
{
    double end = 0;
    bool moves = true;
    for (size_t i = 0; i < 2 * clock->count * clock->micros; i++)
        clock->ends[i] = (double)NAN;
    while (moves) {
        moves = false;
        for (size_t stage = 0; stage < clock->count; stage++)
            while (run_pass(clock, stage))
                moves = true;
    }
    for (size_t stage = 0; stage < clock->count; stage++)
        end = fmax(end, clock->free[stage]);
    return end;
}

double st_layer_stages_run(const st_layer_pipeline *pipeline, bool with_transfers)
{
    st_layer_stage stages[ST_LAYER_STAGES];
    double end = (double)NAN;
    bool known = pipeline->micros >= 1 && pipeline->micros == floor(pipeline->micros) &&
                 pipeline->micros * pipeline->stages <= MOST_PASSES &&
                 st_layer_stages_cut(pipeline, stages);
    st_arena *arena = known ? st_arena_create() : NULL;
    if (arena != NULL) {
        st_schedule_order order;
        pipeline_clock clock = {.pipeline = pipeline,
                                .stages = stages,
                                .order = &order,
                                .sends = with_transfers,
                                .count = (size_t)pipeline->stages,
                                .micros = (size_t)pipeline->micros};
        const st_schedule_shape shape = {.kind = pipeline->gpipe != 0 ? ST_SCHEDULE_GPIPE
                                                                      : ST_SCHEDULE_1F1B,
                                         .stages = (uint32_t)clock.count,
                                         .micros = (uint32_t)clock.micros,
                                         .chunks = 1};
        clock.done = st_arena_alloc(arena, clock.count, sizeof *clock.done);
        clock.free = st_arena_alloc(arena, clock.count, sizeof *clock.free);
        clock.sent = st_arena_alloc(arena, 2 * clock.count, sizeof *clock.sent);
        clock.ends = st_arena_alloc(arena, 2 * clock.count * clock.micros, sizeof *clock.ends);
        bool can = clock.done != NULL && clock.free != NULL && clock.sent != NULL &&
                   clock.ends != NULL &&
                   st_schedule_order_make(&shape, arena, &order, NULL) == ST_OK;
        end = can ? run_all(&clock) : (double)NAN;
    }
    st_arena_destroy(arena);
    return end;
}

/* ---- shards ---- */

typedef struct unit_list {
    st_bucket units[MAX_UNITS]; /* from the last layers to the first */
    size_t count;
} unit_list;

static bool add_unit(void *context, const st_bucket *bucket)
{
    unit_list *list = context;
    if (list->count == MAX_UNITS)
        return false;
    list->units[list->count++] = *bucket;
    return true;
}

/* Share of a pass that a unit takes. */
static double work_of(const unit_list *list, size_t unit)
{
    return list->units[unit].ready_frac - (unit > 0 ? list->units[unit - 1].ready_frac : 0);
}

/* The forward pass from the first layers to the last; returns its end. */
static double run_forward(const st_shards *shards, const unit_list *list)
{
    double now = 0;
    double stream = 0;
    double before = 0; /* when the unit before began, from which on this one is gathered */
    for (size_t i = list->count; i-- > 0;) {
        stream = fmax(stream, before) + st_bucket_time(shards->gather, list->units[i].bytes);
        now = fmax(now, stream);
        before = now;
        now += work_of(list, i) * shards->forward;
    }
    return now;
}

static double run_backward(const st_shards *shards, const unit_list *list)
{
    double now = 0;
    double stream = 0;
    double before = 0;
    double gathered = 0;
    for (size_t i = 0; i < list->count; i++) {
        double gather = st_bucket_time(shards->gather, list->units[i].bytes);
        if (i == 0 && shards->gathers_again)
            gathered = stream = gather;
        now = fmax(now, gathered);
        before = now;
        now += work_of(list, i) * shards->backward;
        if (i + 1 < list->count && shards->gathers_again) {
            stream =
                fmax(stream, before) + st_bucket_time(shards->gather, list->units[i + 1].bytes);
            gathered = stream;
        }
        stream = fmax(stream, now) + shards->scatter * gather;
    }
    return fmax(now, stream);
}

double st_shards_exposed(const st_shards *shards)
{
    unit_list list = {.count = 0};
    size_t count = st_buckets_visit(shards->layers, &shards->caps, add_unit, &list);
    if (count > MAX_UNITS || list.count < count)
        return (double)NAN;
    return run_forward(shards, &list) + run_backward(shards, &list) - shards->forward -
           shards->backward;
}
