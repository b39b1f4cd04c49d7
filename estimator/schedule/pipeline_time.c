/* SPDX-License-Identifier: Apache-2.0 */
/* Orders gone through once; see pipeline_time.h. */
#include "schedule/pipeline_time.h"

#include "base/memory.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PASSES (UINT64_C(1) << 22)
#define TICKS_PER_S 1e12
#define MOST_TICKS  1e15
#define NOT_YET     INT64_MIN

/* A moment where nothing is transferred, and where a stage stops for every transfer. */
typedef struct st_moment {
    int64_t bare;
    int64_t sending;
} st_moment;

/* One replay of an order, of both kinds at once: what waits for what is the same in both. */
typedef struct st_pass_times {
    const st_schedule_shape *shape;
    const st_schedule_order *order;
    int64_t transfer;  /* that is waited for */
    uint32_t last;     /* place */
    size_t *next;      /* by stage: slots that are done */
    st_moment *begins; /* by stage */
    st_moment *now;
    st_moment *sent; /* by place, micro-batch and direction */
} st_pass_times;

static st_moment *sent_at(const st_pass_times *own, uint32_t place, uint32_t micro, st_pass pass)
{
    return &own->sent[((size_t)place * own->shape->micros + micro) * 2 + (size_t)pass];
}

/* st_schedule_place, which is asked for every slot. */
static uint32_t place_of(const st_pass_times *own, uint32_t stage, uint32_t chunk)
{
    return chunk == 0 ? stage : st_schedule_place(own->shape, stage, chunk);
}

static int64_t slot_time(const st_pass_times *own, const st_slot *slot, uint32_t place)
{
    const st_chunk_times *times = &own->shape->times[place];
    return times->part[slot->pass][ST_PART_WORK] +
           (slot->with_weights ? times->part[ST_PASS_WEIGHTS][ST_PART_WORK] : 0);
}

/* What a pass takes longer where it is no part of several that run as one. */
static int64_t time_alone(const st_pass_times *own, const st_slot *slot, uint32_t place)
{
    return own->shape->times[place].part[slot->pass][ST_PART_ALONE];
}

/* When what a slot needs is there; NOT_YET: nobody knows. */
static const st_moment *ready_at(const st_pass_times *own, const st_slot *slot, uint32_t place)
{
    static const st_moment at_once = {0, 0};
    switch (slot->pass) {
    case ST_PASS_FORWARD:
        return place == 0 ? &at_once : sent_at(own, place - 1, slot->micro, ST_PASS_FORWARD);
    case ST_PASS_BACKWARD:
        return place == own->last ? sent_at(own, place, slot->micro, ST_PASS_FORWARD)
                                  : sent_at(own, place + 1, slot->micro, ST_PASS_BACKWARD);
    default:
        return &at_once;
    }
}

/* A slot, or several that run as one; how many, 0 where they cannot yet. */
static size_t run_slots(st_pass_times *own, uint32_t stage, size_t next)
{
    const st_slot *slots = &own->order->slots[stage][next];
    size_t left = own->order->counts[stage] - next;
    size_t count = 0;
    st_moment now = own->now[stage];
    int64_t time = 0;
    do {
        uint32_t place = place_of(own, stage, slots[count].chunk);
        const st_moment *ready = ready_at(own, &slots[count], place);
        if (ready->bare == NOT_YET)
            return 0;
        now.bare = ready->bare > now.bare ? ready->bare : now.bare;
        now.sending = ready->sending > now.sending ? ready->sending : now.sending;
        time += slot_time(own, &slots[count], place);
        count++;
    } while (count < left && slots[count - 1].with_next);
    if (count == 1)
        time += time_alone(own, slots, place_of(own, stage, slots->chunk));
    if (next == 0)
        own->begins[stage] = now;
    now.bare += time;
    now.sending += time;
    for (size_t i = 0; i < count; i++) {
        if (slots[i].pass != ST_PASS_WEIGHTS) {
            uint32_t place = place_of(own, stage, slots[i].chunk);
            now.sending += own->transfer;
            *sent_at(own, place, slots[i].micro, (st_pass)slots[i].pass) = now;
        }
    }
    own->now[stage] = now;
    return count;
}

/* false for an order that waits on itself. */
static bool run_all(st_pass_times *own)
{
    size_t left = 0;
    for (uint32_t i = 0; i < own->shape->stages; i++) {
        own->next[i] = 0;
        own->now[i] = (st_moment){0, 0};
        left += own->order->counts[i];
    }
    size_t cells = (size_t)(own->last + 1) * own->shape->micros * 2;
    for (size_t i = 0; i < cells; i++)
        own->sent[i].bare = NOT_YET;
    for (size_t before = left + 1; left > 0 && left < before;) {
        before = left;
        for (uint32_t stage = 0; stage < own->shape->stages; stage++) {
            size_t next = own->next[stage];
            size_t count = 1;
            while (count > 0 && next < own->order->counts[stage]) {
                count = run_slots(own, stage, next);
                next += count;
            }
            left -= next - own->next[stage];
            own->next[stage] = next;
        }
    }
    return left == 0;
}

static int64_t part_of(const st_moment *moment, bool sending)
{
    return sending ? moment->sending : moment->bare;
}

/* From the first pass to the end of the step, with the exchange of tied embeddings. */
static int64_t span_of(const st_pass_times *own, bool sending, int64_t tied)
{
    uint32_t last = own->shape->stages - 1;
    bool staggered = st_schedule_is_staggered(own->shape->kind);
    int64_t longest = 0;
    int64_t first_end = part_of(&own->now[0], sending);
    int64_t last_end = part_of(&own->now[last], sending);
    int64_t met = first_end > last_end ? first_end : last_end;
    for (uint32_t i = 0; i <= last; i++) {
        bool meets = tied > 0 && last > 0 && (i == 0 || i == last);
        int64_t end = meets ? met + tied : part_of(&own->now[i], sending);
        int64_t span = end - (staggered ? part_of(&own->begins[i], sending) : 0);
        longest = span > longest ? span : longest;
    }
    return longest;
}

static bool prepare(st_pass_times *own, st_arena *arena)
{
    const st_schedule_shape *shape = own->shape;
    uint32_t places = st_schedule_places(shape);
    size_t cells = (size_t)places * shape->micros * 2;
    own->last = places - 1;
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

/* The times of every chunk of the model; false where one is none. */
static bool fill_places(const st_pipeline *pipeline, uint32_t places, st_chunk_times *times)
{
    bool good = pipeline->shorter >= 0 && pipeline->shorter_share >= 0;
    for (uint32_t i = 0; i < places; i++) {
        int end = i == 0 ? ST_END_FIRST : i + 1 == places ? ST_END_LAST : ST_END_MIDDLE;
        bool shorter = end == ST_END_MIDDLE && i + 1 + pipeline->shorter >= places;
        double share = shorter ? pipeline->shorter_share : 1;
        for (int pass = 0; pass < ST_PASSES; pass++) {
            int64_t *part = times[i].part[pass];
            part[ST_PART_WORK] = ticks_of(pipeline->pass[pass][end] * share, &good);
            part[ST_PART_ALONE] = ticks_of(pipeline->alone[pass][end] * share, &good);
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
    if (!good)
        return unknown;
    uint32_t stages = (uint32_t)pipeline->stages;
    st_schedule_kind kind = (st_schedule_kind)pipeline->kind;
    st_schedule_shape shape = {.kind = kind,
                               .stages = stages,
                               .micros = (uint32_t)pipeline->micros,
                               .chunks = st_schedule_is_folded(kind) ? 2 : 1,
                               .transfer = ticks_of(pipeline->transfer, &good),
                               .held_for_weights = pipeline->held_for_weights};
    uint32_t places = st_schedule_places(&shape);
    st_chunk_times *times = st_arena_alloc(arena, places, sizeof(*times));
    shape.times = times;
    int64_t tied = ticks_of(pipeline->tied, &good);
    st_schedule_order order;
    st_pass_times own = {
        .shape = &shape, .order = &order, .transfer = stages > 1 ? shape.transfer : 0};
    if (times == NULL || !fill_places(pipeline, places, times) || !good ||
        st_schedule_order_make(&shape, arena, &order, NULL) != ST_OK || !prepare(&own, arena) ||
        !run_all(&own))
        return unknown;
    return (st_pipeline_times){.passes = (double)span_of(&own, false, 0) / TICKS_PER_S,
                               .with_transfers = (double)span_of(&own, true, 0) / TICKS_PER_S,
                               .with_tied = (double)span_of(&own, true, tied) / TICKS_PER_S};
}

/* Plans that are asked for again, as the terms of one step are, a block of rows at a time; each
 * thread has its own. */
typedef struct st_known_pipeline {
    st_pipeline pipeline;
    st_pipeline_times times;
} st_known_pipeline;

enum { SETS = 128, WAYS = 4 };

/* Of plans that share a hash the oldest goes first. */
typedef struct st_known_set {
    st_known_pipeline ways[WAYS];
    unsigned oldest;
} st_known_set;

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

static pthread_key_t known_key;
static bool has_known_key;

static void make_known_key(void)
{
    has_known_key = pthread_key_create(&known_key, free) == 0;
}

/* The calling thread's, freed with it; NULL where there is no room. Too large for a thread-local
 * variable: a library that is opened at run time has little room for these. */
static st_known_set *known_sets(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pthread_once(&once, make_known_key) != 0 || !has_known_key)
        return NULL;
    st_known_set *sets = pthread_getspecific(known_key);
    if (sets != NULL)
        return sets;
    sets = calloc(SETS, sizeof *sets);
    if (sets != NULL && pthread_setspecific(known_key, sets) != 0) {
        free(sets);
        return NULL;
    }
    return sets;
}

st_pipeline_times st_pipeline_replay(const st_pipeline *pipeline)
{
    st_known_set *sets = known_sets();
    st_known_set *set = sets != NULL ? &sets[hash_of(pipeline) % SETS] : NULL;
    for (size_t i = 0; set != NULL && i < WAYS; i++) {
        const st_known_pipeline *entry = &set->ways[i];
        if (entry->pipeline.stages > 0 && memcmp(&entry->pipeline, pipeline, sizeof *pipeline) == 0)
            return entry->times;
    }
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return (st_pipeline_times){(double)NAN, (double)NAN, (double)NAN};
    st_pipeline_times times = replay(pipeline, arena);
    st_arena_destroy(arena);
    if (set != NULL)
        set->ways[set->oldest++ % WAYS] = (st_known_pipeline){*pipeline, times};
    return times;
}
