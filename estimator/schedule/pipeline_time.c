/* SPDX-License-Identifier: Apache-2.0 */
/* Orders gone through once; see pipeline_time.h. */
#include "schedule/pipeline_time.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

#define MOST_PASSES (UINT64_C(1) << 22)
#define TICKS_PER_S 1e12
#define MOST_TICKS  1e15
#define NOT_YET     INT64_MIN

/* One replay of an order. */
typedef struct st_pass_times {
    const st_schedule_shape *shape;
    const st_schedule_order *order;
    bool exchanges;  /* transfers are waited for */
    size_t *next;    /* by stage: slots that are done */
    int64_t *begins; /* by stage */
    int64_t *now;
    int64_t *sent; /* by place, micro-batch and direction */
} st_pass_times;

static int64_t *sent_at(const st_pass_times *own, uint32_t place, uint32_t micro, st_pass pass)
{
    return &own->sent[((size_t)place * own->shape->micros + micro) * 2 + (size_t)pass];
}

static int64_t slot_time(const st_pass_times *own, const st_slot *slot, uint32_t place)
{
    const st_chunk_times *times = &own->shape->times[place];
    return times->part[slot->pass][ST_PART_WORK] +
           (slot->with_weights ? times->part[ST_PASS_WEIGHTS][ST_PART_WORK] : 0);
}

/* When what a slot needs is there; NOT_YET: nobody knows. */
static int64_t ready_at(const st_pass_times *own, const st_slot *slot, uint32_t place)
{
    uint32_t last = st_schedule_places(own->shape) - 1;
    switch (slot->pass) {
    case ST_PASS_FORWARD:
        return place == 0 ? 0 : *sent_at(own, place - 1, slot->micro, ST_PASS_FORWARD);
    case ST_PASS_BACKWARD:
        return place == last ? *sent_at(own, place, slot->micro, ST_PASS_FORWARD)
                             : *sent_at(own, place + 1, slot->micro, ST_PASS_BACKWARD);
    default:
        return 0;
    }
}

/* A slot, or several that run as one; how many, 0 where they cannot yet. */
static size_t run_slots(st_pass_times *own, uint32_t stage)
{
    const st_slot *slots = &own->order->slots[stage][own->next[stage]];
    size_t left = own->order->counts[stage] - own->next[stage];
    size_t count = 0;
    int64_t start = own->now[stage];
    int64_t time = 0;
    do {
        uint32_t place = st_schedule_place(own->shape, stage, slots[count].chunk);
        int64_t ready = ready_at(own, &slots[count], place);
        if (ready == NOT_YET) {
            return 0;
        }
        start = ready > start ? ready : start;
        time += slot_time(own, &slots[count], place);
        count++;
    } while (count < left && slots[count - 1].with_next);
    own->begins[stage] = own->next[stage] == 0 ? start : own->begins[stage];
    own->now[stage] = start + time;
    for (size_t i = 0; i < count; i++) {
        if (slots[i].pass != ST_PASS_WEIGHTS) {
            uint32_t place = st_schedule_place(own->shape, stage, slots[i].chunk);
            own->now[stage] += own->exchanges ? own->shape->transfer : 0;
            *sent_at(own, place, slots[i].micro, (st_pass)slots[i].pass) = own->now[stage];
        }
    }
    return count;
}

/* false for an order that waits on itself. */
static bool run_all(st_pass_times *own)
{
    size_t left = 0;
    for (uint32_t i = 0; i < own->shape->stages; i++) {
        own->next[i] = 0;
        own->now[i] = 0;
        left += own->order->counts[i];
    }
    size_t cells = (size_t)st_schedule_places(own->shape) * own->shape->micros * 2;
    for (size_t i = 0; i < cells; i++) {
        own->sent[i] = NOT_YET;
    }
    for (size_t before = left + 1; left > 0 && left < before;) {
        before = left;
        for (uint32_t stage = 0; stage < own->shape->stages; stage++) {
            size_t count = 1;
            while (count > 0 && own->next[stage] < own->order->counts[stage]) {
                count = run_slots(own, stage);
                own->next[stage] += count;
                left -= count;
            }
        }
    }
    return left == 0;
}

/* From the first pass to the end of the step, with the exchange of tied embeddings. */
static int64_t span_of(const st_pass_times *own, int64_t tied)
{
    uint32_t last = own->shape->stages - 1;
    bool staggered = own->shape->kind == ST_SCHEDULE_ZERO_BUBBLE_2;
    int64_t longest = 0;
    int64_t met = own->now[0] > own->now[last] ? own->now[0] : own->now[last];
    for (uint32_t i = 0; i <= last; i++) {
        bool meets = tied > 0 && last > 0 && (i == 0 || i == last);
        int64_t end = meets ? met + tied : own->now[i];
        int64_t span = end - (staggered ? own->begins[i] : 0);
        longest = span > longest ? span : longest;
    }
    return longest;
}

static bool prepare(st_pass_times *own, st_arena *arena)
{
    const st_schedule_shape *shape = own->shape;
    size_t cells = (size_t)st_schedule_places(shape) * shape->micros * 2;
    own->next = st_arena_alloc(arena, shape->stages, sizeof(*own->next));
    own->begins = st_arena_alloc(arena, shape->stages, sizeof(*own->begins));
    own->now = st_arena_alloc(arena, shape->stages, sizeof(*own->now));
    own->sent = st_arena_alloc(arena, cells, sizeof(*own->sent));
    return own->next != NULL && own->begins != NULL && own->now != NULL && own->sent != NULL;
}

/* --- a pipeline of times ------------------------------------------------------------------------
 */

static int64_t ticks_of(double seconds, bool *good)
{
    double ticks = seconds * TICKS_PER_S;
    *good = *good && ticks >= 0 && ticks <= MOST_TICKS;
    return *good ? (int64_t)llround(ticks) : 0;
}

/* The times of every stage; false where one is none. */
static bool fill_stages(const st_pipeline *pipeline, uint32_t stages, st_chunk_times *times)
{
    bool good = pipeline->shorter >= 0 && pipeline->shorter_share >= 0;
    for (uint32_t i = 0; i < stages; i++) {
        int end = i == 0 ? ST_END_FIRST : i + 1 == stages ? ST_END_LAST : ST_END_MIDDLE;
        bool shorter = end == ST_END_MIDDLE && i + 1 + pipeline->shorter >= stages;
        for (int pass = 0; pass < ST_PASSES; pass++) {
            double time = pipeline->pass[pass][end] * (shorter ? pipeline->shorter_share : 1);
            times[i].part[pass][ST_PART_WORK] = ticks_of(time, &good);
        }
    }
    return good;
}

static bool is_count(double value)
{
    return value >= 1 && value <= (double)MOST_PASSES && value == floor(value);
}

static st_pipeline_times replay(const st_pipeline *pipeline, st_arena *arena)
{
    const st_pipeline_times unknown = {(double)NAN, (double)NAN, (double)NAN};
    bool good = is_count(pipeline->stages) && is_count(pipeline->micros) &&
                3 * pipeline->stages * pipeline->micros <= (double)MOST_PASSES &&
                pipeline->kind >= 0 && pipeline->kind < ST_SCHEDULES;
    if (!good) {
        return unknown;
    }
    uint32_t stages = (uint32_t)pipeline->stages;
    st_chunk_times *times = st_arena_alloc(arena, stages, sizeof(*times));
    st_schedule_shape shape = {.kind = (st_schedule_kind)pipeline->kind,
                               .stages = stages,
                               .micros = (uint32_t)pipeline->micros,
                               .chunks = 1,
                               .times = times,
                               .transfer = ticks_of(pipeline->transfer, &good),
                               .held_for_weights = pipeline->held_for_weights};
    int64_t tied = ticks_of(pipeline->tied, &good);
    st_schedule_order order;
    st_pass_times own = {.shape = &shape, .order = &order};
    if (times == NULL || !fill_stages(pipeline, stages, times) || !good ||
        st_schedule_order_make(&shape, arena, &order, NULL) != ST_OK || !prepare(&own, arena) ||
        !run_all(&own)) {
        return unknown;
    }
    st_pipeline_times result = {.passes = (double)span_of(&own, 0) / TICKS_PER_S};
    own.exchanges = shape.transfer > 0 && stages > 1;
    (void)run_all(&own);
    result.with_transfers = (double)span_of(&own, 0) / TICKS_PER_S;
    result.with_tied = (double)span_of(&own, tied) / TICKS_PER_S;
    return result;
}

/* Plans that are asked for again, as the terms of one step are; each thread has its own. */
typedef struct st_known_pipeline {
    st_pipeline pipeline;
    st_pipeline_times times;
} st_known_pipeline;

enum { KNOWN = 64 };

static uint64_t hash_of(const st_pipeline *pipeline)
{
    const double *numbers = (const double *)pipeline;
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof *pipeline / sizeof(double); i++) {
        uint64_t bits = 0;
        memcpy(&bits, &numbers[i], sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    return hash;
}

st_pipeline_times st_pipeline_replay(const st_pipeline *pipeline)
{
    static _Thread_local st_known_pipeline known[KNOWN];
    st_known_pipeline *entry = &known[hash_of(pipeline) % KNOWN];
    if (entry->pipeline.stages > 0 && memcmp(&entry->pipeline, pipeline, sizeof *pipeline) == 0) {
        return entry->times;
    }
    st_arena *arena = st_arena_create();
    if (arena == NULL) {
        return (st_pipeline_times){(double)NAN, (double)NAN, (double)NAN};
    }
    *entry = (st_known_pipeline){*pipeline, replay(pipeline, arena)};
    st_arena_destroy(arena);
    return entry->times;
}
