/* SPDX-License-Identifier: Apache-2.0 */
/* Orders gone through once; see pipeline_time.h. */
#include "schedule/pipeline_time.h"

#include "base/memory.h"

#define MOST_PASSES (UINT64_C(1) << 22)
#define NOT_YET     INT64_MIN

/* A moment where nothing is transferred, where a stage stops for every transfer, and where weights
 * are gathered and gradients reduced besides. */
typedef struct st_moment {
    int64_t bare;
    int64_t sending;
    int64_t all;
} st_moment;

/* One replay of an order, of all kinds at once: what waits for what is the same in each. */
typedef struct st_pass_times {
    const st_schedule_shape *shape;
    const st_schedule_order *order;
    const st_schedule_ends *ends;
    int64_t transfer;  /* that is waited for */
    uint32_t last;     /* place */
    size_t *next;      /* by stage: slots that are done */
    st_moment *begins; /* by stage */
    st_moment *now;
    st_moment *sent; /* by place, micro-batch and direction */
    int64_t *pass;   /* by place and pass */
    int64_t *busy;   /* by stage */
    int64_t *reduced;
    size_t *last_backward; /* slot */
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

/* All parts of a pass but what it takes longer alone. */
static int64_t pass_time(const st_chunk_times *times, int pass)
{
    int64_t time = 0;
    for (int part = 0; part < ST_PART_ALONE; part++)
        time += times->part[pass][part];
    return time;
}

static int64_t slot_time(const st_pass_times *own, const st_slot *slot, uint32_t place)
{
    const int64_t *pass = &own->pass[(size_t)place * ST_PASSES];
    return pass[slot->pass] + (slot->with_weights ? pass[ST_PASS_WEIGHTS] : 0);
}

/* What a pass takes longer where it is no part of several that run as one. */
static int64_t time_alone(const st_pass_times *own, const st_slot *slot, uint32_t place)
{
    return own->shape->times[place].part[slot->pass][ST_PART_ALONE];
}

/* When what a slot needs is there; NOT_YET: nobody knows. */
static const st_moment *ready_at(const st_pass_times *own, const st_slot *slot, uint32_t place)
{
    static const st_moment at_once = {0, 0, 0};
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
        now.bare = st_later(ready->bare, now.bare);
        now.sending = st_later(ready->sending, now.sending);
        now.all = st_later(ready->all, now.all);
        time += slot_time(own, &slots[count], place);
        count++;
    } while (count < left && slots[count - 1].with_next);
    own->busy[stage] += time;
    if (count == 1)
        time += time_alone(own, slots, place_of(own, stage, slots->chunk));
    if (next == 0)
        own->begins[stage] = now;
    else
        now.all = st_later(now.all, own->ends->gather_exposed + own->ends->gather_hidden);
    if (next <= own->last_backward[stage] && own->last_backward[stage] < next + count)
        own->reduced[stage] = now.all + own->ends->reduce_hidden;
    now.bare += time;
    now.sending += time;
    now.all += time;
    for (size_t i = 0; i < count; i++) {
        if (slots[i].pass != ST_PASS_WEIGHTS) {
            uint32_t place = place_of(own, stage, slots[i].chunk);
            now.sending += own->transfer;
            now.all += own->transfer;
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
        own->now[i] = (st_moment){.all = own->ends->gather_exposed};
        own->busy[i] = 0;
        own->last_backward[i] = own->order->counts[i] - 1;
        while (own->order->slots[i][own->last_backward[i]].pass != ST_PASS_BACKWARD)
            own->last_backward[i]--;
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

typedef enum st_reach { REACH_BARE, REACH_SENDING, REACH_TIED, REACH_ALL } st_reach;

static int64_t part_of(const st_moment *moment, st_reach reach)
{
    return reach == REACH_BARE ? moment->bare : reach == REACH_ALL ? moment->all : moment->sending;
}

/* When a stage has reduced its gradients, or done its last pass. */
static int64_t end_of(const st_pass_times *own, uint32_t stage, st_reach reach)
{
    int64_t end = part_of(&own->now[stage], reach);
    return reach == REACH_ALL ? st_later(end, own->reduced[stage]) + own->ends->reduce_exposed
                              : end;
}

/* From the first pass, or from what it waits for, to the end of the step. */
static int64_t span_of(const st_pass_times *own, st_reach reach)
{
    uint32_t last = own->shape->stages - 1;
    bool staggered = st_schedule_is_staggered(own->shape->kind);
    int64_t tied = reach == REACH_TIED || reach == REACH_ALL ? own->ends->tied : 0;
    int64_t longest = 0;
    int64_t met = st_later(end_of(own, 0, reach), end_of(own, last, reach));
    for (uint32_t i = 0; i <= last; i++) {
        bool meets = tied > 0 && last > 0 && (i == 0 || i == last);
        int64_t end = meets ? met + tied : end_of(own, i, reach);
        int64_t begin = part_of(&own->begins[i], reach);
        begin -= reach == REACH_ALL ? own->ends->gather_exposed : 0;
        longest = st_later(longest, end - (staggered ? begin : 0));
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
    own->pass = st_arena_alloc(arena, (size_t)places * ST_PASSES, sizeof(*own->pass));
    own->busy = st_arena_alloc(arena, shape->stages, sizeof(*own->busy));
    own->reduced = st_arena_alloc(arena, shape->stages, sizeof(*own->reduced));
    own->last_backward = st_arena_alloc(arena, shape->stages, sizeof(*own->last_backward));
    for (size_t i = 0; own->pass != NULL && i < (size_t)places * ST_PASSES; i++)
        own->pass[i] = pass_time(&shape->times[i / ST_PASSES], (int)(i % ST_PASSES));
    return own->next != NULL && own->begins != NULL && own->now != NULL && own->sent != NULL &&
           own->pass != NULL && own->busy != NULL && own->reduced != NULL &&
           own->last_backward != NULL;
}

/* Whether ticks can count a step in which nothing runs beside anything else: no moment is later. */
static bool can_count(const st_pipeline *pipeline)
{
    const st_schedule_shape *shape = pipeline->shape;
    const st_schedule_ends *ends = pipeline->ends;
    uint32_t places = st_schedule_places(shape);
    double each = 2 * (double)shape->transfer * places;
    for (uint32_t i = 0; i < places; i++)
        for (int pass = 0; pass < ST_PASSES; pass++)
            for (int part = 0; part < ST_PARTS; part++)
                each += (double)shape->times[i].part[pass][part];
    double once = (double)ends->gather_hidden + (double)ends->gather_exposed +
                  (double)ends->reduce_hidden + (double)ends->reduce_exposed + (double)ends->tied;
    return each * shape->micros + once < (double)(INT64_MAX / 2);
}

bool st_pipeline_replay(const st_pipeline *pipeline, st_arena *arena, st_pipeline_times *times)
{
    const st_schedule_shape *shape = pipeline->shape;
    st_schedule_order order;
    st_pass_times own = {.shape = shape,
                         .order = &order,
                         .ends = pipeline->ends,
                         .transfer = shape->stages > 1 ? shape->transfer : 0};
    if (3 * (uint64_t)shape->stages * shape->micros * shape->chunks > MOST_PASSES ||
        !can_count(pipeline) || st_schedule_order_make(shape, arena, &order, NULL) != ST_OK ||
        !prepare(&own, arena) || !run_all(&own))
        return false;
    *times = (st_pipeline_times){.passes = span_of(&own, REACH_BARE),
                                 .with_transfers = span_of(&own, REACH_SENDING),
                                 .with_tied = span_of(&own, REACH_TIED),
                                 .with_data = span_of(&own, REACH_ALL)};
    for (uint32_t i = 0; i < shape->stages; i++)
        times->busiest = own.busy[i] > times->busiest ? own.busy[i] : times->busiest;
    return true;
}
