/* SPDX-License-Identifier: Apache-2.0 */
/* Orders gone through once; see pipeline_time.h. */
#include "schedule/pipeline_time.h"

#define MOST_PASSES (UINT64_C(1) << 22)

/* A moment where nothing is transferred, where a stage stops for every transfer, and where weights
 * are gathered and gradients reduced besides. */
typedef struct st_moment {
    int64_t bare;
    int64_t sending;
    int64_t all;
} st_moment;

/* What a slot may be; a backward pass with the weights' gradients is a kind of its own. */
enum { WITH_WEIGHTS = ST_PASSES, PASS_KINDS };

typedef struct st_pass_time {
    int64_t work;  /* all parts of it but */
    int64_t alone; /* extra time when it does not run fused with others */
} st_pass_time;

/* A slot of a stage. Moments and times are places in the lists of the walk. */
typedef struct st_walk_pass {
    uint32_t stage;
    uint32_t ready; /* what it waits for; 0: nothing */
    uint32_t sent;  /* what it ends with; 0: nobody waits for it */
    uint32_t time;
    bool first;         /* of its stage */
    bool last_backward; /* of its stage */
    bool with_next;
} st_walk_pass;

struct st_pipeline_walk {
    st_walk_pass *passes;
    size_t count;
    /* Of the replay that is under way. */
    st_pass_time *times; /* by place and kind of pass */
    st_moment *sent;     /* 0: the start; by place, micro-batch and direction */
    st_moment *begins;   /* by stage */
    st_moment *now;
    int64_t *busy;
    int64_t *reduced;
};

/* --- the walk ----------------------------------------------------------------------------------
 */

typedef struct st_walk_maker {
    const st_schedule_shape *shape;
    const st_schedule_order *order;
    st_pipeline_walk *walk;
    uint32_t last;         /* place */
    size_t *next;          /* by stage: slots that are done */
    size_t *last_backward; /* slot */
    bool *known;           /* by moment */
} st_walk_maker;

static uint32_t moment_at(const st_walk_maker *maker, uint32_t place, uint32_t micro, st_pass pass)
{
    return 1 + (place * maker->shape->micros + micro) * 2 + (uint32_t)pass;
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
        if (!maker->known[ready])
            return 0;
        more = slot->with_next && next + count + 1 < maker->order->counts[stage];
        walk->passes[walk->count + count] = (st_walk_pass){
            .stage = stage,
            .ready = ready,
            .sent = slot->pass == ST_PASS_WEIGHTS
                        ? 0
                        : moment_at(maker, place, slot->micro, (st_pass)slot->pass),
            .time = place * PASS_KINDS + (slot->with_weights ? WITH_WEIGHTS : slot->pass),
            .first = next + count == 0,
            .last_backward = next + count == maker->last_backward[stage],
            .with_next = more};
    }
    for (size_t i = 0; i < count; i++)
        maker->known[walk->passes[walk->count + i].sent] = true;
    walk->count += count;
    return count;
}

/* false for an order that waits on itself. */
static bool add_all(st_walk_maker *maker)
{
    size_t left = 0;
    for (uint32_t i = 0; i < maker->shape->stages; i++) {
        maker->last_backward[i] = maker->order->counts[i] - 1;
        while (maker->order->slots[i][maker->last_backward[i]].pass != ST_PASS_BACKWARD)
            maker->last_backward[i]--;
        left += maker->order->counts[i];
    }
    maker->known[0] = true;
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
    size_t moments = 1 + places * shape->micros * 2;
    size_t passes = 0;
    for (uint32_t i = 0; i < shape->stages; i++)
        passes += maker->order->counts[i];
    maker->last = (uint32_t)places - 1;
    maker->next = st_arena_alloc(scratch, shape->stages, sizeof(*maker->next));
    maker->last_backward = st_arena_alloc(scratch, shape->stages, sizeof(*maker->last_backward));
    maker->known = st_arena_alloc(scratch, moments, sizeof(*maker->known));
    walk->passes = st_arena_alloc(arena, passes, sizeof(*walk->passes));
    walk->times = st_arena_alloc(arena, places * PASS_KINDS, sizeof(*walk->times));
    walk->sent = st_arena_alloc(arena, moments, sizeof(*walk->sent));
    walk->begins = st_arena_alloc(arena, shape->stages, sizeof(*walk->begins));
    walk->now = st_arena_alloc(arena, shape->stages, sizeof(*walk->now));
    walk->busy = st_arena_alloc(arena, shape->stages, sizeof(*walk->busy));
    walk->reduced = st_arena_alloc(arena, shape->stages, sizeof(*walk->reduced));
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
    if (maker.walk != NULL && prepare(&maker, arena, scratch) && add_all(&maker))
        made = maker.walk;
cleanup:
    st_arena_destroy(scratch);
    return made;
}

/* --- one replay, of all kinds of moments at once: what waits for what is the same in each -------
 */

typedef struct pass_replay {
    const st_pipeline_walk *walk;
    const st_schedule_shape *shape;
    const st_schedule_ends *ends;
    int64_t transfer; /* that is waited for */
    int64_t gathered; /* when the weights of a stage's second pass are there */
} pass_replay;

static void fill_times(const pass_replay *replay)
{
    uint32_t places = st_schedule_places(replay->shape);
    for (uint32_t place = 0; place < places; place++) {
        st_pass_time *times = &replay->walk->times[(size_t)place * PASS_KINDS];
        for (int pass = 0; pass < ST_PASSES; pass++) {
            const int64_t *part = replay->shape->times[place].part[pass];
            times[pass] = (st_pass_time){.alone = part[ST_PART_ALONE]};
            for (int i = 0; i < ST_PART_ALONE; i++)
                times[pass].work += part[i];
        }
        times[WITH_WEIGHTS] = times[ST_PASS_BACKWARD];
        times[WITH_WEIGHTS].work += times[ST_PASS_WEIGHTS].work;
    }
}

/* A pass, or several that run as one; how many. */
static size_t run_passes(const pass_replay *replay, const st_walk_pass *passes)
{
    const st_pipeline_walk *walk = replay->walk;
    uint32_t stage = passes->stage;
    st_moment now = walk->now[stage];
    int64_t time = 0;
    size_t count = 0;
    bool reduces = false;
    do {
        const st_moment *ready = &walk->sent[passes[count].ready];
        now.bare = st_later(ready->bare, now.bare);
        now.sending = st_later(ready->sending, now.sending);
        now.all = st_later(ready->all, now.all);
        time += walk->times[passes[count].time].work;
        reduces = reduces || passes[count].last_backward;
    } while (passes[count++].with_next);
    walk->busy[stage] += time;
    if (count == 1)
        time += walk->times[passes->time].alone;
    if (passes->first)
        walk->begins[stage] = now;
    else
        now.all = st_later(now.all, replay->gathered);
    if (reduces)
        walk->reduced[stage] = now.all + replay->ends->reduce_hidden;
    now.bare += time;
    now.sending += time;
    now.all += time;
    for (size_t i = 0; i < count; i++) {
        if (passes[i].sent != 0) {
            now.sending += replay->transfer;
            now.all += replay->transfer;
            walk->sent[passes[i].sent] = now;
        }
    }
    walk->now[stage] = now;
    return count;
}

typedef enum st_reach { REACH_BARE, REACH_SENDING, REACH_TIED, REACH_ALL } st_reach;

static int64_t part_of(const st_moment *moment, st_reach reach)
{
    return reach == REACH_BARE ? moment->bare : reach == REACH_ALL ? moment->all : moment->sending;
}

/* When a stage has reduced its gradients, or done its last pass. */
static int64_t end_of(const pass_replay *replay, uint32_t stage, st_reach reach)
{
    int64_t end = part_of(&replay->walk->now[stage], reach);
    return reach == REACH_ALL
               ? st_later(end, replay->walk->reduced[stage]) + replay->ends->reduce_exposed
               : end;
}

/* From the first pass, or from what it waits for, to the end of the step. */
static int64_t span_of(const pass_replay *replay, st_reach reach)
{
    uint32_t last = replay->shape->stages - 1;
    bool staggered = st_schedule_is_staggered(replay->shape->kind);
    int64_t tied = reach == REACH_TIED || reach == REACH_ALL ? replay->ends->tied : 0;
    int64_t longest = 0;
    int64_t met = st_later(end_of(replay, 0, reach), end_of(replay, last, reach));
    for (uint32_t i = 0; i <= last; i++) {
        bool meets = tied > 0 && last > 0 && (i == 0 || i == last);
        int64_t end = meets ? met + tied : end_of(replay, i, reach);
        int64_t begin = part_of(&replay->walk->begins[i], reach);
        begin -= reach == REACH_ALL ? replay->ends->gather_exposed : 0;
        longest = st_later(longest, end - (staggered ? begin : 0));
    }
    return longest;
}

bool st_pipeline_replay(const st_pipeline *pipeline, st_pipeline_walk *walk,
                        st_pipeline_times *times)
{
    const st_schedule_shape *shape = pipeline->shape;
    const st_schedule_ends *ends = pipeline->ends;
    const pass_replay replay = {.walk = walk,
                                .shape = shape,
                                .ends = ends,
                                .transfer = shape->stages > 1 ? shape->transfer : 0,
                                .gathered = ends->gather_exposed + ends->gather_hidden};
    uint32_t places = st_schedule_places(shape);
    double each = 2 * (double)shape->transfer * places;
    for (uint32_t i = 0; i < places; i++)
        for (int pass = 0; pass < ST_PASSES; pass++)
            for (int part = 0; part < ST_PARTS; part++)
                each += (double)shape->times[i].part[pass][part];
    double once = (double)ends->gather_hidden + (double)ends->gather_exposed +
                  (double)ends->reduce_hidden + (double)ends->reduce_exposed + (double)ends->tied;
    if (!(each * shape->micros + once < (double)(INT64_MAX / 2)))
        return false;
    fill_times(&replay);
    const st_pipeline_walk *all_walk = replay.walk;
    all_walk->sent[0] = (st_moment){0};
    for (uint32_t i = 0; i < replay.shape->stages; i++) {
        all_walk->now[i] = (st_moment){.all = replay.ends->gather_exposed};
        all_walk->busy[i] = 0;
    }
    for (size_t i = 0; i < all_walk->count;)
        i += run_passes(&replay, &all_walk->passes[i]);
    *times = (st_pipeline_times){.passes = span_of(&replay, REACH_BARE),
                                 .with_transfers = span_of(&replay, REACH_SENDING),
                                 .with_tied = span_of(&replay, REACH_TIED),
                                 .with_data = span_of(&replay, REACH_ALL)};
    for (uint32_t i = 0; i < shape->stages; i++)
        times->busiest = walk->busy[i] > times->busiest ? walk->busy[i] : times->busiest;
    return true;
}
