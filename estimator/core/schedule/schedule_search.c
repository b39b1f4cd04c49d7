/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZB-2p: an order without idle time between a stage's first and last task, if memory allows one.
 *
 * Qi et al. 2024 (section 3.1) search with a heuristic that prefers backward passes, then forward
 * ones as far as memory allows, and fills gaps with weights' gradients, under a few choices on a
 * grid: how many forward passes come first, whether forward passes take turns with backward ones,
 * and whether a gap that is too small for weights' gradients is filled anyway where the stage
 * has been idle the longest. So does this: a simulation of all stages in the order of time, run
 * once per choice, and keeps the one with the least busy span.
 */
#include "schedule/schedule_internal.h"

#define NEVER INT64_MAX
/* Memory is counted in whole parts of what a micro-batch's activations take. */
enum { MEMORY_PARTS = 1000 };

/* How many forward passes a stage runs before its first backward one. */
typedef enum st_warm_up {
    WARM_UP_PLAIN,     /* two more than the next stage, the last one has one */
    WARM_UP_EAGER,     /* as long as nothing else is ready */
    WARM_UP_UNDELAYED, /* as many as end before the backward pass can begin */
    WARM_UPS
} st_warm_up;

/* One choice of the grid. */
typedef struct st_search_rule {
    int64_t gap_percent; /* weights' gradients go into gaps of at least so much of their time */
    bool balanced;       /* and into smaller ones of a stage that would be idle the longest */
    bool alternate;      /* forward after every backward pass where both are ready */
    st_warm_up warm_up;
} st_search_rule;

typedef struct st_search_stage {
    int64_t now;
    uint32_t done[ST_PASSES];
    int64_t held; /* memory */
    bool last_was_backward;
    bool asleep; /* until a neighbour hands something over */
    int64_t first;
    int64_t idle; /* since then */
} st_search_stage;

typedef struct st_search {
    const st_schedule_shape *shape;
    st_search_rule rule;
    int64_t limit;
    int64_t weights_part;
    st_search_stage *stages;
    int64_t *times;      /* by stage and pass */
    int64_t *soonest;    /* by stage: when its first backward pass can begin at best */
    int64_t *work;       /* by stage: all its passes */
    int64_t *ready[2];   /* by pass, stage and micro-batch; NEVER: not yet known */
    st_slots *lists;     /* NULL: only the span counts */
    st_stage_heap awake; /* stages that may do something */
    int64_t most_idle;   /* of a stage so far */
    int64_t least;       /* span of the best rule so far */
    int64_t floor;       /* no span is less: the most work of a stage */
} st_search;

static int64_t pass_time(const st_search *search, uint32_t stage, st_pass pass)
{
    return search->times[(size_t)stage * ST_PASSES + (size_t)pass];
}

static int64_t *ready_at(const st_search *search, st_pass pass, uint32_t stage, uint32_t micro)
{
    return &search->ready[pass][(size_t)stage * search->shape->micros + micro];
}

static int64_t next_ready(const st_search *search, st_pass pass, uint32_t stage)
{
    uint32_t micro = search->stages[stage].done[pass];
    return micro == search->shape->micros ? NEVER : *ready_at(search, pass, stage, micro);
}

static void hand_over(st_search *search, st_pass pass, uint32_t stage, uint32_t micro, int64_t at)
{
    *ready_at(search, pass, stage, micro) = at;
    if (search->stages[stage].asleep) {
        search->stages[stage].asleep = false;
        st_stage_heap_push(&search->awake, stage, search->stages[stage].now);
    }
}

static void run(st_search *search, uint32_t stage, st_pass pass)
{
    const st_schedule_shape *shape = search->shape;
    st_search_stage *state = &search->stages[stage];
    uint32_t micro = state->done[pass]++;
    int64_t end = state->now + pass_time(search, stage, pass);
    state->first = state->first == NEVER ? state->now : state->first;
    state->now = end;
    state->last_was_backward = pass == ST_PASS_BACKWARD;
    if (search->lists != NULL)
        st_slots_add(&search->lists[stage], pass, 0, micro, false);
    if (pass == ST_PASS_FORWARD) {
        state->held += MEMORY_PARTS;
        if (stage + 1 < shape->stages)
            hand_over(search, ST_PASS_FORWARD, stage + 1, micro, end + shape->transfer);
        else
            hand_over(search, ST_PASS_BACKWARD, stage, micro, end);
    } else if (pass == ST_PASS_BACKWARD) {
        state->held -= MEMORY_PARTS - search->weights_part;
        if (stage > 0)
            hand_over(search, ST_PASS_BACKWARD, stage - 1, micro, end + shape->transfer);
    } else {
        state->held -= search->weights_part;
    }
}

/* Whether the stage may take up another micro-batch. */
static bool may_forward(const st_search *search, uint32_t stage)
{
    const st_search_stage *state = &search->stages[stage];
    if (state->held + MEMORY_PARTS > search->limit)
        return false;
    if (state->done[ST_PASS_BACKWARD] > 0 || state->done[ST_PASS_FORWARD] == 0)
        return true;
    switch (search->rule.warm_up) {
    case WARM_UP_PLAIN:
        return state->done[ST_PASS_FORWARD] < 2 * (search->shape->stages - stage) - 1;
    case WARM_UP_UNDELAYED:
        return state->now + pass_time(search, stage, ST_PASS_FORWARD) <= search->soonest[stage];
    default:
        return true;
    }
}

/* Whether weights' gradients go into the gap before `next`. */
static bool fills_gap(const st_search *search, uint32_t stage, int64_t next)
{
    const st_search_stage *state = &search->stages[stage];
    if (state->done[ST_PASS_WEIGHTS] == state->done[ST_PASS_BACKWARD])
        return false;
    if (next == NEVER)
        return true;
    int64_t gap = next - state->now;
    int64_t wanted = pass_time(search, stage, ST_PASS_WEIGHTS) / 100 * search->rule.gap_percent;
    return gap >= wanted || (search->rule.balanced && state->idle + gap > search->most_idle);
}

/* What the stage does next, at its time; false where it sleeps or waits. */
static bool decide(st_search *search, uint32_t stage, st_pass *pass)
{
    const st_search_stage *state = &search->stages[stage];
    int64_t backward = next_ready(search, ST_PASS_BACKWARD, stage);
    int64_t forward =
        may_forward(search, stage) ? next_ready(search, ST_PASS_FORWARD, stage) : NEVER;
    int64_t next = forward < backward ? forward : backward;
    bool forward_first =
        search->rule.alternate && state->last_was_backward && forward <= state->now;
    if (backward <= state->now && !forward_first) {
        *pass = ST_PASS_BACKWARD;
    } else if (forward <= state->now) {
        *pass = ST_PASS_FORWARD;
    } else if (fills_gap(search, stage, next)) {
        *pass = ST_PASS_WEIGHTS;
    } else {
        /* Sleeps, or waits till a later time. */
        st_search_stage *until_self = &search->stages[stage];
        until_self->asleep = next == NEVER;
        if (next != NEVER) {
            until_self->idle += until_self->first == NEVER ? 0 : next - until_self->now;
            search->most_idle =
                until_self->idle > search->most_idle ? until_self->idle : search->most_idle;
            until_self->now = next;
        }
        return false;
    }
    return true;
}

/* The longest span from a stage's first to its last task; NEVER where the rule gets stuck, or worse
 * than the best so far. */
static int64_t simulate(st_search *search)
{
    const st_schedule_shape *shape = search->shape;
    size_t passes = (size_t)shape->stages * shape->micros;
    int64_t longest = 0;
    for (size_t i = 0; i < passes; i++) {
        search->ready[ST_PASS_FORWARD][i] = i < shape->micros ? 0 : NEVER;
        search->ready[ST_PASS_BACKWARD][i] = NEVER;
    }
    search->most_idle = 0;
    search->awake.count = 0;
    for (uint32_t i = 0; i < shape->stages; i++) {
        search->stages[i] = (st_search_stage){.first = NEVER};
        st_stage_heap_push(&search->awake, i, 0);
    }
    while (search->awake.count > 0) {
        uint32_t stage = st_stage_heap_pop(&search->awake);
        st_pass pass = ST_PASS_FORWARD;
        if (decide(search, stage, &pass))
            run(search, stage, pass);
        if (search->work[stage] + search->stages[stage].idle > search->least)
            return NEVER;
        if (!search->stages[stage].asleep &&
            search->stages[stage].done[ST_PASS_WEIGHTS] < shape->micros)
            st_stage_heap_push(&search->awake, stage, search->stages[stage].now);
    }
    for (uint32_t i = 0; i < shape->stages; i++) {
        int64_t span = search->stages[i].now - search->stages[i].first;
        if (search->stages[i].done[ST_PASS_WEIGHTS] < shape->micros)
            return NEVER;
        longest = span > longest ? span : longest;
    }
    return longest;
}

static int64_t memory_limit(const st_schedule_shape *shape)
{
    uint64_t held = shape->held == 0 ? 2 * (uint64_t)shape->stages : shape->held;
    return (int64_t)held * MEMORY_PARTS;
}

st_status st_schedule_search(const st_schedule_shape *shape, st_arena *arena, st_slots *lists,
                             st_errors *errors)
{
    size_t passes = (size_t)shape->stages * shape->micros;
    double share = shape->held_for_weights == 0 ? 1 : shape->held_for_weights;
    st_status status = st_schedule_check_times(shape, errors);
    if (status != ST_OK)
        return status;
    st_search search = {
        .shape = shape,
        .limit = memory_limit(shape),
        .weights_part = (int64_t)(share * MEMORY_PARTS + 0.5),
        .stages = st_arena_alloc(arena, shape->stages, sizeof(st_search_stage)),
        .awake = {.entries = st_arena_alloc(arena, shape->stages, sizeof(st_stage_entry))},
        .times = st_arena_alloc(arena, (size_t)shape->stages * ST_PASSES, sizeof(int64_t)),
        .soonest = st_arena_alloc(arena, shape->stages, sizeof(int64_t)),
        .work = st_arena_alloc(arena, shape->stages, sizeof(int64_t)),
        .ready = {st_arena_alloc(arena, passes, sizeof(int64_t)),
                  st_arena_alloc(arena, passes, sizeof(int64_t))}};
    if (search.stages == NULL || search.awake.entries == NULL || search.times == NULL ||
        search.soonest == NULL || search.work == NULL || search.ready[0] == NULL ||
        search.ready[1] == NULL)
        return st_out_of_memory(errors);
    /* The first micro-batch goes straight forward and back; and the work of every stage. */
    uint32_t stages = search.shape->stages;
    int64_t time = 0;
    for (uint32_t i = 0; i < stages; i++) {
        for (int pass = 0; pass < ST_PASSES; pass++) {
            /* The parts of a pass together. */
            const int64_t *part = search.shape->times[i].part[pass];
            int64_t whole = 0;
            for (int j = 0; j < ST_PARTS; j++)
                whole += part[j];
            search.times[(size_t)i * ST_PASSES + (size_t)pass] = whole;
            search.work[i] += search.shape->micros * whole;
        }
        search.floor = search.work[i] > search.floor ? search.work[i] : search.floor;
    }
    for (uint32_t i = 0; i < stages; i++)
        time += pass_time(&search, i, ST_PASS_FORWARD) + (i > 0 ? search.shape->transfer : 0);
    for (uint32_t i = stages; i-- > 0;) {
        search.soonest[i] = time;
        time += pass_time(&search, i, ST_PASS_BACKWARD) + search.shape->transfer;
    }
    /* The rule with the least span, which `search` holds then; NEVER: none gets through. */
    static const int64_t gaps[] = {0, 50, 100};
    st_search_rule best = {0};
    search.least = NEVER;
    for (int i = 0; i < 12 * WARM_UPS && search.least > search.floor; i++) {
        search.rule =
            (st_search_rule){gaps[i % 3], (i / 6) % 2 != 0, (i / 3) % 2 != 0, (st_warm_up)(i / 12)};
        int64_t span = simulate(&search);
        if (span < search.least) {
            search.least = span;
            best = search.rule;
        }
    }
    if (search.least == NEVER)
        return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                       "no zero_bubble_2 schedule fits in memory");
    search.rule = best;
    search.lists = lists;
    (void)simulate(&search);
    return ST_OK;
}
