/* SPDX-License-Identifier: Apache-2.0 */
/* Orders gone through once; see pipeline_time.h. */
#include "schedule/pipeline_time.h"

#include <math.h>

#define MOST_PASSES (UINT64_C(1) << 22)
#define MOST_LAYERS (double)(1 << 26) /* of all passes; about a second */

/* Steps with gradients and weights: with computation at its speed, and slowed down by messages. */
enum { EVEN, SLOWED, MODES };

/* A moment where nothing is transferred, where a stage stops for every transfer, and where weights
 * are gathered and gradients reduced besides. */
typedef struct st_moment {
    int64_t bare;
    int64_t sending;
    double all[MODES];
} st_moment;

typedef struct st_pass_time {
    int64_t work;     /* all parts of it but */
    int64_t alone;    /* extra time when it does not run fused with others */
    int64_t computes; /* of the work */
    double rate;      /* of hidden messages during it, of their rate alone */
    double slow;      /* of its computation during them; at least 1 */
} st_pass_time;

/* A slot of a stage. Moments and times are places in the lists of the walk. */
typedef struct st_walk_pass {
    uint32_t stage;
    uint32_t ready; /* what it waits for; 0: nothing */
    uint32_t sent;  /* what it ends with; 0: nobody waits for it */
    uint32_t place;
    uint32_t behind; /* chunks whose first passes are done, where it follows one of them */
    uint8_t kind;
    bool first;         /* of its stage */
    bool last_backward; /* of its chunk */
    bool with_next;
} st_walk_pass;

struct st_pipeline_walk {
    st_walk_pass *passes;
    size_t count;
    uint32_t *of_stage;  /* the passes of the first stage in its order, then those of the next */
    size_t *stage_first; /* by stage, and the end */
    /* Of the replay that is under way. */
    st_pass_time *times; /* by place and kind of pass */
    st_moment *sent;     /* 0: the start, 1: what nobody waits for */
    st_moment *begins;   /* by stage */
    st_moment *now;
    int64_t *busy;
};

/* --- the walk ----------------------------------------------------------------------------------
 */

typedef struct st_walk_maker {
    const st_schedule_shape *shape;
    const st_schedule_order *order;
    st_pipeline_walk *walk;
    uint32_t last;         /* place */
    size_t *next;          /* by stage: slots that are done */
    size_t *last_backward; /* slot, by stage and chunk */
    uint32_t *begun;       /* chunks of a stage whose first passes are done, by stage */
    bool *was_begun;       /* by stage and chunk */
    bool *is_behind;       /* by stage: its last pass was the first one of a chunk */
    uint32_t *known;       /* by moment: its place in `sent`, from 1; 0: not yet */
    uint32_t *unused;      /* places that were waited for, to be used again: few are at a time */
    size_t unused_count;
    uint32_t used;
} st_walk_maker;

/* A place for a moment that somebody waits for; all others share one. */
static uint32_t new_place(st_walk_maker *maker, uint32_t place, st_pass pass)
{
    if (place == 0 && pass == ST_PASS_BACKWARD)
        return 1;
    return maker->unused_count > 0 ? maker->unused[--maker->unused_count] : maker->used++;
}

static uint32_t moment_at(const st_walk_maker *maker, uint32_t place, uint32_t micro, st_pass pass)
{
    return 1 + (place * maker->shape->micros + micro) * 2 + (uint32_t)pass;
}

static size_t chunk_index(const st_walk_maker *maker, uint32_t stage, uint32_t chunk)
{
    return (size_t)stage * st_schedule_rank_chunks(maker->shape) + chunk;
}

/* A slot, or several that run as one; how many, 0 where they cannot yet. */
static size_t add_passes(st_walk_maker *maker, uint32_t stage, size_t next)
{
    const st_slot *slots = maker->order->slots[stage];
    st_pipeline_walk *walk = maker->walk;
    size_t count = 0;
    bool more = true;
    for (; more; count++) {
        const st_slot *slot = &slots[next + count];
        uint32_t place = st_schedule_place(maker->shape, stage, slot->chunk);
        uint32_t ready;
        if (slot->pass == ST_PASS_FORWARD)
            ready = place == 0 ? 0 : moment_at(maker, place - 1, slot->micro, ST_PASS_FORWARD);
        else if (slot->pass == ST_PASS_WEIGHTS)
            ready = 0;
        else
            ready = place == maker->last
                        ? moment_at(maker, place, slot->micro, ST_PASS_FORWARD)
                        : moment_at(maker, place + 1, slot->micro, ST_PASS_BACKWARD);
        if (maker->known[ready] == 0)
            return 0;
        more = slot->with_next && next + count + 1 < maker->order->counts[stage];
        walk->passes[walk->count + count] = (st_walk_pass){
            .stage = stage,
            .ready = maker->known[ready] - 1,
            .sent = slot->pass == ST_PASS_WEIGHTS
                        ? 0
                        : moment_at(maker, place, slot->micro, (st_pass)slot->pass),
            .place = place,
            .behind = count == 0 && maker->is_behind[stage] ? maker->begun[stage] : 0,
            .kind = slot->with_weights ? ST_PASS_WITH_WEIGHTS : (uint8_t)slot->pass,
            .first = next + count == 0,
            .last_backward =
                next + count == maker->last_backward[chunk_index(maker, stage, slot->chunk)],
            .with_next = more};
    }
    maker->is_behind[stage] = false;
    for (size_t i = 0; i < count; i++) {
        bool *was_begun = &maker->was_begun[chunk_index(maker, stage, slots[next + i].chunk)];
        maker->begun[stage] += *was_begun ? 0 : 1;
        maker->is_behind[stage] = maker->is_behind[stage] || !*was_begun;
        *was_begun = true;
    }
    /* All of these passes wait before one of them ends. */
    for (size_t i = 0; i < count; i++)
        if (walk->passes[walk->count + i].ready != 0)
            maker->unused[maker->unused_count++] = walk->passes[walk->count + i].ready;
    for (size_t i = 0; i < count; i++) {
        st_walk_pass *pass = &walk->passes[walk->count + i];
        const uint32_t moment = pass->sent;
        pass->sent = moment != 0 ? new_place(maker, pass->place, (st_pass)slots[next + i].pass) : 0;
        maker->known[moment] = pass->sent + 1;
    }
    walk->count += count;
    return count;
}

/* false for an order that waits on itself. */
static bool add_all(st_walk_maker *maker)
{
    size_t left = 0;
    for (uint32_t i = 0; i < maker->shape->stages; i++) {
        for (size_t k = 0; k < maker->order->counts[i]; k++) {
            const st_slot *slot = &maker->order->slots[i][k];
            if (slot->pass == ST_PASS_BACKWARD)
                maker->last_backward[chunk_index(maker, i, slot->chunk)] = k;
        }
        left += maker->order->counts[i];
    }
    maker->known[0] = 1;
    maker->used = 2; /* the start, and what nobody waits for */
    for (size_t before = left + 1; left > 0 && left < before;) {
        before = left;
        for (uint32_t stage = 0; stage < maker->shape->stages; stage++) {
            size_t next = maker->next[stage];
            size_t count = 1;
            while (count > 0 && next < maker->order->counts[stage]) {
                count = add_passes(maker, stage, next);
                next += count;
            }
            left -= next - maker->next[stage];
            maker->next[stage] = next;
        }
    }
    return left == 0;
}

static bool prepare(st_walk_maker *maker, st_arena *arena, st_arena *scratch)
{
    const st_schedule_shape *shape = maker->shape;
    st_pipeline_walk *walk = maker->walk;
    size_t places = st_schedule_places(shape);
    size_t moments = 2 + places * shape->micros * 2;
    size_t chunks = (size_t)shape->stages * st_schedule_rank_chunks(shape);
    size_t passes = 0;
    for (uint32_t i = 0; i < shape->stages; i++)
        passes += maker->order->counts[i];
    maker->last = (uint32_t)places - 1;
    maker->next = st_arena_alloc(scratch, shape->stages, sizeof(*maker->next));
    maker->last_backward = st_arena_alloc(scratch, chunks, sizeof(*maker->last_backward));
    maker->begun = st_arena_alloc(scratch, shape->stages, sizeof(*maker->begun));
    maker->was_begun = st_arena_alloc(scratch, chunks, sizeof(*maker->was_begun));
    maker->is_behind = st_arena_alloc(scratch, shape->stages, sizeof(*maker->is_behind));
    maker->known = st_arena_alloc(scratch, moments, sizeof(*maker->known));
    maker->unused = st_arena_alloc(scratch, moments, sizeof(*maker->unused));
    walk->passes = st_arena_alloc(arena, passes, sizeof(*walk->passes));
    walk->times = st_arena_alloc(arena, places * ST_PASS_KINDS, sizeof(*walk->times));
    walk->sent = st_arena_alloc(arena, moments, sizeof(*walk->sent));
    walk->begins = st_arena_alloc(arena, shape->stages, sizeof(*walk->begins));
    walk->now = st_arena_alloc(arena, shape->stages, sizeof(*walk->now));
    walk->busy = st_arena_alloc(arena, shape->stages, sizeof(*walk->busy));
    walk->of_stage = st_arena_alloc(arena, passes, sizeof(*walk->of_stage));
    walk->stage_first =
        st_arena_alloc(arena, (size_t)shape->stages + 1, sizeof(*walk->stage_first));
    return !st_arena_failed(arena) && !st_arena_failed(scratch);
}

st_pipeline_walk *st_pipeline_walk_make(const st_schedule_shape *shape, st_arena *arena)
{
    st_schedule_order order;
    st_walk_maker maker = {.shape = shape, .order = &order};
    st_pipeline_walk *made = NULL;
    st_arena *scratch = st_arena_create();
    if (scratch == NULL ||
        3 * (uint64_t)shape->stages * shape->micros * shape->chunks > MOST_PASSES ||
        st_schedule_order_make(shape, scratch, &order, NULL) != ST_OK)
        goto cleanup;
    maker.walk = st_arena_alloc(arena, 1, sizeof(*maker.walk));
    if (maker.walk != NULL && prepare(&maker, arena, scratch) && add_all(&maker)) {
        made = maker.walk;
        for (uint32_t stage = 0; stage < shape->stages; stage++) {
            made->stage_first[stage + 1] = made->stage_first[stage] + order.counts[stage];
            maker.next[stage] = made->stage_first[stage];
        }
        for (size_t i = 0; i < made->count; i++)
            made->of_stage[maker.next[made->passes[i].stage]++] = (uint32_t)i;
    }
cleanup:
    st_arena_destroy(scratch);
    return made;
}

/* --- one replay, of all kinds of moments at once: what waits for what is the same in each -------
 */

/*
 * Gradients and weights of a stage in one mode; times in ticks. Weights go first, as a pass waits
 * for them; gradients go on while no weights are on their way.
 */
typedef struct data_queue {
    double asked_weights; /* all that could begin, one after the other, and of them what is done */
    double done_weights;
    double asked_gradients;
    double done_gradients;
    size_t
        ahead_pass; /* of the stage, whose weights were asked for last, and how many layers of it */
    uint32_t ahead_layers;
    uint64_t asked; /* layers whose weights were asked for, and those that were computed */
    uint64_t computed;
    double *due; /* `asked_weights` with those of a layer, of the layers ahead; a ring */
} data_queue;

typedef struct pass_replay {
    const st_pipeline_walk *walk;
    const st_schedule_shape *shape;
    const st_schedule_ends *ends;
    const st_pipeline_data *data;
    int64_t transfer; /* that is waited for */
    uint32_t parts;   /* into which slowed passes are cut */
    bool split;       /* weights or gradients move with each pass */
    int modes;
    data_queue *queues; /* by mode and stage */
} pass_replay;

#define RATE_LEAST                                                                                 \
    1e-6 /* of messages during a pass whose own messages need its links throughout                 \
          */

/* Messages that go on during a pass, over its time. */
static double rate_of(double moves, int64_t time)
{
    return time > 0 ? fmin(fmax(moves / (double)time, RATE_LEAST), 1) : 1;
}

static void fill_times(const pass_replay *replay)
{
    const st_pipeline_data *data = replay->data;
    uint32_t places = st_schedule_places(replay->shape);
    for (uint32_t place = 0; place < places; place++) {
        st_pass_time *times = &replay->walk->times[(size_t)place * ST_PASS_KINDS];
        double moves[ST_PASSES];
        for (int pass = 0; pass < ST_PASSES; pass++) {
            const int64_t *part = replay->shape->times[place].part[pass];
            times[pass] = (st_pass_time){.alone = part[ST_PART_ALONE],
                                         .computes = part[ST_PART_WORK] + part[ST_PART_SLOWDOWN],
                                         .slow = data != NULL ? data->slow[pass] : 1};
            for (int i = 0; i < ST_PART_ALONE; i++)
                times[pass].work += part[i];
            moves[pass] = data != NULL ? data->moves[(size_t)place * ST_PASSES + (size_t)pass]
                                       : (double)times[pass].work;
            times[pass].rate = rate_of(moves[pass], times[pass].work);
        }
        st_pass_time *both = &times[ST_PASS_WITH_WEIGHTS];
        *both = times[ST_PASS_BACKWARD];
        both->work += times[ST_PASS_WEIGHTS].work;
        both->computes += times[ST_PASS_WEIGHTS].computes;
        both->rate = rate_of(moves[ST_PASS_BACKWARD] + moves[ST_PASS_WEIGHTS], both->work);
    }
}

/* --- gradients and weights of a stage ----------------------------------------------------------
 */

static double left_in(const data_queue *queue)
{
    return queue->asked_weights - queue->done_weights + queue->asked_gradients -
           queue->done_gradients;
}

/* Moves messages on by this much of their time alone. */
static void move_on(data_queue *queue, double ticks)
{
    double weights = fmin(ticks, queue->asked_weights - queue->done_weights);
    queue->done_weights = ticks < queue->asked_weights - queue->done_weights
                              ? queue->done_weights + ticks
                              : queue->asked_weights;
    queue->done_gradients = fmin(queue->asked_gradients, queue->done_gradients + (ticks - weights));
}

static void idle_until(data_queue *queue, double *now, double until)
{
    if (until <= *now)
        return;
    move_on(queue, until - *now);
    *now = until;
}

static void wait_for_weights(data_queue *queue, double *now, double due)
{
    if (due > queue->done_weights)
        idle_until(queue, now, *now + (due - queue->done_weights));
}

static void wait_for_all(data_queue *queue, double *now)
{
    if (queue->asked_gradients > queue->done_gradients)
        idle_until(queue, now, *now + left_in(queue));
}

/*
 * A part of a pass while messages of the queue are on their way, at this rate during undisturbed
 * work: while it takes longer, its own messages need links and NICs for no longer.
 */
static void run_beside(data_queue *queue, double *now, double ticks, double rate, double slow)
{
    double left = left_in(queue);
    double moved = rate + slow - 1;
    if (left == 0) { /* as in most passes */
        *now += ticks;
    } else if (left > ticks * moved) {
        move_on(queue, ticks * moved);
        *now += ticks * slow;
    } else {
        queue->done_weights = queue->asked_weights;
        queue->done_gradients = queue->asked_gradients;
        *now += ticks + left / moved * (slow - 1);
    }
}

/* Asks for weights up to `prefetch` layers ahead of the next one, in the order of the stage. */
static void gather_ahead(const pass_replay *replay, uint32_t stage, data_queue *queue)
{
    const st_pipeline_walk *walk = replay->walk;
    uint64_t ring = (uint64_t)replay->data->prefetch + 1;
    while (queue->asked < queue->computed + ring) {
        size_t end = walk->stage_first[stage + 1];
        const st_walk_pass *pass = NULL;
        while (queue->ahead_pass < end) {
            pass = &walk->passes[walk->of_stage[queue->ahead_pass]];
            if (pass->kind != ST_PASS_WEIGHTS &&
                queue->ahead_layers < replay->data->layers[pass->place])
                break;
            queue->ahead_pass++;
            queue->ahead_layers = 0;
        }
        if (pass == NULL || queue->ahead_pass == end)
            return;
        queue->ahead_layers++;
        queue->asked_weights += replay->data->gather_hidden / replay->data->layers[pass->place];
        queue->due[queue->asked++ % ring] =
            replay->data->gather_hidden > 0 ? queue->asked_weights : 0;
    }
}

static bool is_split(const st_pipeline_data *data)
{
    return data != NULL &&
           data->gather_hidden + data->gather_exposed + data->reduce_hidden + data->reduce_exposed >
               0;
}

/* A pass in one mode. */
typedef struct timed_pass {
    const st_walk_pass *pass;
    const st_pass_time *time;
    double ready; /* when it can begin */
    double ticks;
    bool slowed;
} timed_pass;

/* Each of the parts of a pass: what is slowed, and the rest. */
typedef struct pass_part {
    double computes;
    double rest;
    double rate;
    double slow;
} pass_part;

static pass_part part_of_pass(const timed_pass *timed, uint32_t count)
{
    const st_pass_time *time = timed->time;
    double ticks = timed->ticks / count;
    if (!timed->slowed || time->slow <= 1)
        return (pass_part){.rest = ticks, .rate = time->rate, .slow = 1};
    double computes = (double)time->computes / count;
    return (pass_part){computes, fmax(ticks - computes, 0), time->rate, time->slow};
}

static void run_part(const pass_part *part, data_queue *queue, double *now)
{
    if (part->slow > 1)
        run_beside(queue, now, part->computes, part->rate, part->slow);
    run_beside(queue, now, part->rest, part->rate, 1);
}

/* A pass, layer by layer where its weights or gradients are split. */
static void run_layers(const pass_replay *replay, const timed_pass *timed, data_queue *queue,
                       double *now)
{
    const st_walk_pass *pass = timed->pass;
    const st_pipeline_data *data = replay->data;
    if (!replay->split && left_in(queue) == 0) { /* as in most passes: parts add up to the whole */
        idle_until(queue, now, timed->ready);
        if (pass->first)
            replay->walk->begins[pass->stage].all[timed->slowed ? SLOWED : EVEN] = *now;
        *now += timed->ticks;
        return;
    }
    uint32_t layers = replay->split ? data->layers[pass->place] : timed->slowed ? replay->parts : 1;
    bool gathers = replay->split && pass->kind != ST_PASS_WEIGHTS;
    bool reduces =
        replay->split && (pass->kind == ST_PASS_WEIGHTS || pass->kind == ST_PASS_WITH_WEIGHTS);
    const pass_part part = part_of_pass(timed, layers);
    for (uint32_t i = 0; i < layers; i++) {
        if (gathers) {
            gather_ahead(replay, pass->stage, queue);
            *now += data->gather_exposed / layers;
        }
        if (i == 0)
            idle_until(queue, now, timed->ready);
        if (gathers)
            wait_for_weights(queue, now,
                             queue->due[queue->computed++ % ((uint64_t)data->prefetch + 1)]);
        if (i == 0 && pass->first)
            replay->walk->begins[pass->stage].all[timed->slowed ? SLOWED : EVEN] = *now;
        run_part(&part, queue, now);
        if (gathers) /* also while weight gradients follow */
            gather_ahead(replay, pass->stage, queue);
        if (reduces) {
            queue->asked_gradients += data->reduce_hidden / layers;
            *now += data->reduce_exposed / layers;
        }
    }
}

/* The passes that run as one in a mode; `ready` is what they wait for. */
static void run_mode(const pass_replay *replay, int mode, const st_walk_pass *passes, size_t count,
                     double ready)
{
    const st_pipeline_walk *walk = replay->walk;
    uint32_t stage = passes->stage;
    data_queue *queue = &replay->queues[(size_t)mode * replay->shape->stages + stage];
    double *now = &walk->now[stage].all[mode];
    uint32_t chunks = st_schedule_rank_chunks(replay->shape);
    /* Of several chunks the hidden part of one's weights is there before the pass behind its first
     * one; a single chunk begins to gather when its first pass can begin, which ends no earlier. */
    bool gathers = passes->first && chunks == 1 && replay->ends->gather_hidden > 0;
    if (gathers) {
        idle_until(queue, now, ready);
        queue->asked_weights += (double)replay->ends->gather_hidden;
    } else if (passes->behind > 0 && chunks > 1)
        wait_for_weights(queue, now, (double)replay->ends->gather_hidden * passes->behind / chunks);
    for (size_t i = 0; i < count; i++) {
        if (passes[i].last_backward && replay->ends->reduce_hidden > 0) {
            idle_until(queue, now, ready);
            queue->asked_gradients += (double)replay->ends->reduce_hidden / chunks;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const st_walk_pass *pass = &passes[i];
        const st_pass_time *time = &walk->times[(size_t)pass->place * ST_PASS_KINDS + pass->kind];
        const timed_pass timed = {.pass = pass,
                                  .time = time,
                                  .ready = i == 0 ? ready : *now,
                                  .ticks = (double)(time->work + (count == 1 ? time->alone : 0)),
                                  .slowed = mode == SLOWED};
        run_layers(replay, &timed, queue, now);
    }
    if (gathers)
        wait_for_weights(queue, now, queue->asked_weights);
}

/* A pass, or several that run as one; how many. */
static size_t run_passes(const pass_replay *replay, const st_walk_pass *passes)
{
    const st_pipeline_walk *walk = replay->walk;
    uint32_t stage = passes->stage;
    st_moment *now = &walk->now[stage];
    st_moment ready = {.all = {0}};
    int64_t time = 0;
    size_t count = 0;
    do {
        const st_walk_pass *pass = &passes[count];
        const st_moment *sent = &walk->sent[pass->ready];
        ready.bare = st_later(sent->bare, ready.bare);
        ready.sending = st_later(sent->sending, ready.sending);
        for (int mode = 0; mode < replay->modes; mode++)
            ready.all[mode] = fmax(sent->all[mode], ready.all[mode]);
        time += walk->times[(size_t)pass->place * ST_PASS_KINDS + pass->kind].work;
    } while (passes[count++].with_next);
    walk->busy[stage] += time;
    if (count == 1)
        time += walk->times[(size_t)passes->place * ST_PASS_KINDS + passes->kind].alone;
    now->bare = st_later(ready.bare, now->bare);
    now->sending = st_later(ready.sending, now->sending);
    if (passes->first)
        walk->begins[stage] = *now;
    now->bare += time;
    now->sending += time;
    for (int mode = 0; mode < replay->modes; mode++)
        run_mode(replay, mode, passes, count, ready.all[mode]);
    const double sending = replay->data != NULL ? replay->data->rate_sending : 1;
    for (size_t i = 0; i < count; i++) {
        if (passes[i].sent == 0)
            continue;
        /* By field: a copy of the whole would wait for the fields just written. */
        st_moment *sent = &walk->sent[passes[i].sent];
        now->sending += replay->transfer;
        sent->bare = now->bare;
        sent->sending = now->sending;
        for (int mode = 0; mode < replay->modes; mode++) {
            run_beside(&replay->queues[(size_t)mode * replay->shape->stages + stage],
                       &now->all[mode], (double)replay->transfer, sending, 1);
            sent->all[mode] = now->all[mode];
        }
    }
    return count;
}

typedef enum st_reach { REACH_BARE, REACH_SENDING, REACH_TIED, REACH_DATA, REACH_SLOWED } st_reach;

static int64_t part_of(const st_moment *moment, st_reach reach)
{
    return reach == REACH_BARE     ? moment->bare
           : reach == REACH_DATA   ? llround(moment->all[EVEN])
           : reach == REACH_SLOWED ? llround(moment->all[SLOWED])
                                   : moment->sending;
}

/* When a stage has reduced its gradients, or done its last pass. */
static int64_t end_of(const pass_replay *replay, uint32_t stage, st_reach reach)
{
    const st_moment *now = &replay->walk->now[stage];
    if (reach < REACH_DATA)
        return part_of(now, reach);
    int mode = reach == REACH_DATA ? EVEN : SLOWED;
    double end = now->all[mode];
    data_queue queue = replay->queues[(size_t)mode * replay->shape->stages + stage];
    wait_for_all(&queue, &end);
    return llround(end) + replay->ends->reduce_exposed;
}

/* Weights that a stage gathers before its first pass. */
static int64_t gathered_first(const pass_replay *replay, uint32_t stage, st_reach reach)
{
    int64_t time = replay->ends->gather_exposed;
    if (reach < REACH_DATA)
        return 0;
    if (!replay->split)
        return time;
    const st_pipeline_walk *walk = replay->walk;
    const st_walk_pass *pass = &walk->passes[walk->of_stage[walk->stage_first[stage]]];
    return time + llround((replay->data->gather_exposed + replay->data->gather_hidden) /
                          replay->data->layers[pass->place]);
}

/* From the first pass, or from what it waits for, to the end of the step. */
static int64_t span_of(const pass_replay *replay, st_reach reach)
{
    uint32_t last = replay->shape->stages - 1;
    bool staggered = st_schedule_is_staggered(replay->shape->kind);
    int64_t tied = reach >= REACH_TIED ? replay->ends->tied : 0;
    int64_t longest = 0;
    int64_t met = st_later(end_of(replay, 0, reach), end_of(replay, last, reach));
    for (uint32_t i = 0; i <= last; i++) {
        bool meets = tied > 0 && last > 0 && (i == 0 || i == last);
        int64_t end = meets ? met + tied : end_of(replay, i, reach);
        int64_t begin = part_of(&replay->walk->begins[i], reach) - gathered_first(replay, i, reach);
        longest = st_later(longest, end - (staggered ? begin : 0));
    }
    return longest;
}

/* Whether ticks count all passes one after the other, and layers can be gone through. */
static bool is_countable(const st_pipeline *pipeline, const st_pipeline_walk *walk)
{
    const st_schedule_shape *shape = pipeline->shape;
    const st_schedule_ends *ends = pipeline->ends;
    uint32_t places = st_schedule_places(shape);
    double each = 2 * (double)shape->transfer * places;
    const st_pipeline_data *data = pipeline->data;
    double layers = 0;
    for (uint32_t i = 0; i < places; i++) {
        for (int pass = 0; pass < ST_PASSES; pass++)
            for (int part = 0; part < ST_PARTS; part++)
                each += (double)shape->times[i].part[pass][part];
        layers += is_split(data) ? (double)data->layers[i] / places : 0;
    }
    double once = (double)ends->gather_hidden + (double)ends->gather_exposed +
                  (double)ends->reduce_hidden + (double)ends->reduce_exposed + (double)ends->tied;
    each += is_split(data) ? 2 * places *
                                 (data->gather_hidden + data->gather_exposed + data->reduce_hidden +
                                  data->reduce_exposed)
                           : 0;
    return each * shape->micros + once < (double)(INT64_MAX / 2) &&
           layers * (double)walk->count < MOST_LAYERS;
}

static bool is_slowed(const st_pipeline_data *data)
{
    bool slowed = false;
    for (int i = 0; data != NULL && i < ST_PASSES; i++)
        slowed = slowed || data->slow[i] > 1;
    return slowed;
}

uint32_t st_slowed_parts(double layers)
{
    return layers >= ST_SLOWED_PARTS ? ST_SLOWED_PARTS : layers > 1 ? (uint32_t)layers : 1;
}

bool st_pipeline_replay(const st_pipeline *pipeline, st_pipeline_walk *walk,
                        st_pipeline_times *times)
{
    const st_schedule_shape *shape = pipeline->shape;
    size_t ring = pipeline->data != NULL ? (size_t)pipeline->data->prefetch + 1 : 1;
    pass_replay replay = {.walk = walk,
                          .shape = shape,
                          .ends = pipeline->ends,
                          .data = pipeline->data,
                          .split = is_split(pipeline->data),
                          .modes = is_slowed(pipeline->data) ? MODES : 1,
                          .transfer = shape->stages > 1 ? shape->transfer : 0};
    uint32_t most = 1;
    for (uint32_t i = 0; replay.modes == MODES && i < st_schedule_places(shape); i++)
        most = pipeline->data->layers[i] > most ? pipeline->data->layers[i] : most;
    replay.parts = st_slowed_parts(most);
    if (!is_countable(pipeline, walk))
        return false;
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return false;
    replay.queues = st_arena_alloc(arena, (size_t)MODES * shape->stages, sizeof *replay.queues);
    double *rings = st_arena_alloc(arena, (size_t)MODES * shape->stages * ring, sizeof *rings);
    bool good = replay.queues != NULL && rings != NULL;
    if (good) {
        fill_times(&replay);
        walk->sent[0] = (st_moment){.all = {0}};
        for (uint32_t i = 0; i < shape->stages; i++) {
            double begin = (double)pipeline->ends->gather_exposed;
            walk->now[i] = (st_moment){.all = {begin, begin}};
            walk->busy[i] = 0;
            for (size_t mode = 0; mode < MODES; mode++)
                replay.queues[mode * shape->stages + i] =
                    (data_queue){.asked_weights = st_schedule_rank_chunks(shape) > 1
                                                      ? (double)pipeline->ends->gather_hidden
                                                      : 0,
                                 .ahead_pass = walk->stage_first[i],
                                 .due = &rings[(mode * shape->stages + i) * ring]};
        }
        for (size_t i = 0; i < walk->count;)
            i += run_passes(&replay, &walk->passes[i]);
        *times = (st_pipeline_times){.passes = span_of(&replay, REACH_BARE),
                                     .with_transfers = span_of(&replay, REACH_SENDING),
                                     .with_tied = span_of(&replay, REACH_TIED),
                                     .with_data = span_of(&replay, REACH_DATA)};
        times->with_slowdown =
            replay.modes == MODES ? span_of(&replay, REACH_SLOWED) : times->with_data;
        for (uint32_t i = 0; i < shape->stages; i++)
            times->busiest = walk->busy[i] > times->busiest ? walk->busy[i] : times->busiest;
    }
    st_arena_destroy(arena);
    return good;
}
