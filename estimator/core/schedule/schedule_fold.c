/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded schedules: a stage has a chunk on the way there and one on the way back, so that first and
 * last chunk of the model share a stage (Qi et al. 2024b).
 *
 * Forward and backward passes come first. V-Half and V-Min repeat a block of four passes every six
 * slots; how far apart the passes of neighbouring stages lie is what a block's memory follows from.
 * ZB-V fills the memory of 1F1B before the first backward pass and then takes turns. Weights'
 * gradients then go where they fit: into gaps that are long enough, under a few choices on a grid
 * and keeps the best, or before a forward pass that would otherwise exceed memory.
 */
#include "schedule/schedule_internal.h"

#define NEVER INT64_MAX
/* Memory is counted in whole parts of what a chunk's activations take. */
enum { MEMORY_PARTS = 1000, BLOCK_SLOTS = 6 };

/* Passes of a stage by the order in which a micro-batch comes to them. */
typedef enum st_fold_pass {
    FOLD_FORWARD,       /* of the chunk on the way there */
    FOLD_FORWARD_BACK,  /* of the one on the way back */
    FOLD_BACKWARD_BACK, /* whose backward pass is the first */
    FOLD_BACKWARD,
    FOLD_PASSES
} st_fold_pass;

static void add_pass(st_slots *slots, st_fold_pass pass, uint32_t micro)
{
    bool back = pass == FOLD_FORWARD_BACK || pass == FOLD_BACKWARD_BACK;
    st_slots_add(slots,
                 pass == FOLD_FORWARD || pass == FOLD_FORWARD_BACK ? ST_PASS_FORWARD
                                                                   : ST_PASS_BACKWARD,
                 back ? 1 : 0, micro, false);
}

/* --- blocks that repeat -------------------------------------------------------------------------
 */

/* The slot of a stage's pass of the first micro-batch: each direction takes so many slots from
 * stage to stage, and the turn at the last one some more where passes would meet. */
static uint64_t slot_of(const st_schedule_shape *shape, uint32_t stage, st_fold_pass pass)
{
    uint64_t stages = shape->stages;
    uint64_t s = stage;
    if (shape->kind == ST_SCHEDULE_V_MIN) {
        uint64_t wait = stages % 3 == 0 ? 2 : 0;
        const uint64_t slots[FOLD_PASSES] = {s, 2 * stages - s - 1, 2 * stages + wait + s,
                                             4 * stages + wait - s - 1};
        return slots[pass];
    }
    uint64_t wait = stages % 2 == 0 ? 3 : 0;
    const uint64_t slots[FOLD_PASSES] = {2 * s, 3 * stages - s - 2, 3 * stages + wait + 2 * s - 1,
                                         6 * stages + wait - s - 2};
    return slots[pass];
}

/* The passes of a stage by their slots, a block every six. */
static void order_blocks(const st_schedule_shape *shape, uint32_t stage, st_slots *slots)
{
    uint32_t next[FOLD_PASSES] = {0};
    for (uint64_t i = 0; i < (uint64_t)FOLD_PASSES * shape->micros; i++) {
        size_t first = 0;
        uint64_t soonest = UINT64_MAX;
        for (size_t pass = 0; pass < FOLD_PASSES; pass++) {
            uint64_t slot =
                slot_of(shape, stage, (st_fold_pass)pass) + (uint64_t)BLOCK_SLOTS * next[pass];
            if (next[pass] < shape->micros && slot < soonest) {
                first = pass;
                soonest = slot;
            }
        }
        add_pass(slots, (st_fold_pass)first, next[first]++);
    }
}

/* --- ZB-V ---------------------------------------------------------------------------------------
 */

typedef struct st_fold_stage {
    uint32_t done[FOLD_PASSES];
    uint64_t now;  /* in forward passes */
    uint64_t back; /* end of the first pass on the way back */
} st_fold_stage;

typedef struct st_turns {
    const st_schedule_shape *shape;
    st_fold_stage *stages;
    st_slots *lists;
} st_turns;

static void put(st_turns *turns, uint32_t stage, st_fold_pass pass)
{
    st_fold_stage *state = &turns->stages[stage];
    if (state->done[pass] < turns->shape->micros)
        add_pass(&turns->lists[stage], pass, state->done[pass]++);
}

/* One more pass there on all stages up to this one. */
static void put_forward(st_turns *turns, uint32_t last)
{
    for (uint32_t i = 0; i <= last; i++) {
        uint64_t before = i == 0 ? 0 : turns->stages[i - 1].now;
        uint64_t now = turns->stages[i].now;
        turns->stages[i].now = (now > before ? now : before) + 1;
        put(turns, i, FOLD_FORWARD);
    }
}

/* Whether the second of a direction's two passes is next, which a later stage has done. */
static bool is_second_next(const st_turns *turns, uint32_t stage, st_fold_pass second)
{
    const uint32_t *own = turns->stages[stage].done;
    if (own[second] >= own[second - 1])
        return false;
    return stage + 1 == turns->shape->stages ||
           turns->stages[stage + 1].done[second] > own[second] ||
           (second == FOLD_BACKWARD && own[second - 1] == turns->shape->micros);
}

static bool order_turns(const st_schedule_shape *shape, st_arena *arena, st_slots *lists)
{
    st_turns turns = {.shape = shape,
                      .stages = st_arena_alloc(arena, shape->stages, sizeof(st_fold_stage)),
                      .lists = lists};
    bool *second = st_arena_alloc(arena, shape->stages, sizeof(*second));
    if (turns.stages == NULL || second == NULL)
        return false;
    /* The first micro-batch goes there and back; while it is away, stages take up others as far
     * as their memory reaches, two chunks for each stage before them left free. */
    uint32_t first_stages = turns.shape->stages;
    put_forward(&turns, first_stages - 1);
    for (uint32_t i = first_stages; i-- > 0;) {
        st_fold_stage *state = &turns.stages[i];
        uint64_t comes = i + 1 == first_stages ? state->now : turns.stages[i + 1].back;
        while (state->done[FOLD_FORWARD] + 2 + 2 * (uint64_t)i <= 2 * (uint64_t)first_stages &&
               state->now + 1 <= comes && state->done[FOLD_FORWARD] < turns.shape->micros)
            put_forward(&turns, i);
        state->now = (state->now > comes ? state->now : comes) + 1;
        state->back = state->now;
        put(&turns, i, FOLD_FORWARD_BACK);
    }
    /* Later stages go on with both chunks in turn until none has fewer than the one before it. */
    bool back = false;
    for (uint32_t i = 1; i < turns.shape->stages; i++) {
        const uint32_t *before = turns.stages[i - 1].done;
        const uint32_t *own = turns.stages[i].done;
        while ((uint64_t)own[FOLD_FORWARD] + own[FOLD_FORWARD_BACK] <
                   (uint64_t)before[FOLD_FORWARD] + before[FOLD_FORWARD_BACK] ||
               (own[FOLD_FORWARD_BACK] <= before[FOLD_FORWARD_BACK] &&
                before[FOLD_FORWARD_BACK] < turns.shape->micros)) {
            for (uint32_t j = turns.shape->stages; j-- > i;)
                put(&turns, j, back ? FOLD_FORWARD_BACK : FOLD_FORWARD);
            back = !back;
        }
    }
    for (uint64_t i = 0; i < 2 * (uint64_t)shape->micros; i++) {
        /* A backward pass of every stage: which one is seen before any of them is added. */
        uint32_t stages = turns.shape->stages;
        for (uint32_t j = 0; j < stages; j++)
            second[j] = is_second_next(&turns, j, FOLD_BACKWARD);
        for (uint32_t j = 0; j < stages; j++)
            put(&turns, j, second[j] ? FOLD_BACKWARD : FOLD_BACKWARD_BACK);
        for (uint32_t j = 0; j < turns.shape->stages; j++) {
            const uint32_t *own = turns.stages[j].done;
            if (is_second_next(&turns, j, FOLD_FORWARD_BACK))
                put(&turns, j, FOLD_FORWARD_BACK);
            else if (j == 0 || turns.stages[j - 1].done[FOLD_FORWARD] > own[FOLD_FORWARD])
                put(&turns, j, FOLD_FORWARD);
        }
    }
    return true;
}

/* --- gradients of weights -----------------------------------------------------------------------
 */

/* One choice of the grid, as ZB-2p's search has it. */
typedef struct st_fill_rule {
    int64_t gap_percent; /* gaps of at least so much of their time */
    bool balanced;       /* and smaller ones of a stage that would be idle the longest */
} st_fill_rule;

typedef struct st_fill_stage {
    int64_t now;
    int64_t first;
    int64_t idle;
    int64_t held;
    size_t next;   /* pass of the order */
    size_t behind; /* pass of the order whose weights' gradients are next */
    uint32_t waiting;
    bool asleep; /* until a neighbour hands something over */
} st_fill_stage;

typedef struct st_fill {
    const st_schedule_shape *shape;
    const st_slots *order; /* forward and backward passes, by stage */
    st_slots *lists;       /* NULL: only the span counts */
    st_fill_rule rule;
    int64_t limit;
    int64_t weights_part;
    st_fill_stage *stages;
    int64_t *times;    /* by place and pass */
    int64_t *ready[2]; /* by pass, place and micro-batch; NEVER: not yet known */
    st_stage_heap awake;
    int64_t most_idle;
} st_fill;

static int64_t *ready_of(const st_fill *fill, st_pass pass, uint32_t place, uint32_t micro)
{
    return &fill->ready[pass][(size_t)place * fill->shape->micros + micro];
}

static int64_t time_of(const st_fill *fill, uint32_t stage, const st_slot *slot, st_pass pass)
{
    uint32_t place = st_schedule_place(fill->shape, stage, slot->chunk);
    return fill->times[(size_t)place * ST_PASSES + (size_t)pass];
}

static void hand_on(st_fill *fill, uint32_t from, const st_slot *slot, uint32_t place)
{
    st_pass pass = (st_pass)slot->pass;
    uint32_t to = st_schedule_stage(fill->shape, place, slot->micro);
    int64_t now = fill->stages[from].now;
    *ready_of(fill, pass, place, slot->micro) = now + (to == from ? 0 : fill->shape->transfer);
    if (fill->stages[to].asleep) {
        fill->stages[to].asleep = false;
        st_stage_heap_push(&fill->awake, to, fill->stages[to].now);
    }
}

/* Gradients of weights, in the order of the backward passes. */
static void run_weights(st_fill *fill, uint32_t stage)
{
    st_fill_stage *state = &fill->stages[stage];
    const st_slots *order = &fill->order[stage];
    while (order->items[state->behind].pass != ST_PASS_BACKWARD)
        state->behind++;
    const st_slot *slot = &order->items[state->behind++];
    state->now += time_of(fill, stage, slot, ST_PASS_WEIGHTS);
    state->held -= fill->weights_part;
    state->waiting--;
    if (fill->lists != NULL)
        st_slots_add(&fill->lists[stage], ST_PASS_WEIGHTS, slot->chunk, slot->micro, false);
}

static bool fills_gap(const st_fill *fill, const st_fill_stage *state, int64_t gap, int64_t time)
{
    return gap >= time / 100 * fill->rule.gap_percent ||
           (fill->rule.balanced && gap > 0 && state->idle + gap > fill->most_idle);
}

/* The next thing that a stage does; false where memory holds it up for good. */
static bool step(st_fill *fill, uint32_t stage)
{
    st_fill_stage *state = &fill->stages[stage];
    if (state->next == fill->order[stage].count) {
        run_weights(fill, stage);
        return true;
    }
    const st_slot *slot = &fill->order[stage].items[state->next];
    uint32_t place = st_schedule_place(fill->shape, stage, slot->chunk);
    int64_t ready = *ready_of(fill, (st_pass)slot->pass, place, slot->micro);
    bool full = slot->pass == ST_PASS_FORWARD && state->held + MEMORY_PARTS > fill->limit;
    if (ready == NEVER && state->waiting == 0) {
        state->asleep = true;
        return true;
    }
    int64_t start = ready > state->now ? ready : state->now;
    int64_t weights = time_of(fill, stage, slot, ST_PASS_WEIGHTS);
    if (state->waiting > 0 &&
        (full || ready == NEVER || fills_gap(fill, state, start - state->now, weights))) {
        run_weights(fill, stage);
        return true;
    }
    if (!full) {
        st_fill_stage *pass_state = &fill->stages[stage];
        uint32_t pass_place = st_schedule_place(fill->shape, stage, slot->chunk);
        uint32_t last = 2 * fill->shape->stages - 1;
        pass_state->idle += pass_state->first == NEVER ? 0 : start - pass_state->now;
        pass_state->first = pass_state->first == NEVER ? start : pass_state->first;
        fill->most_idle = pass_state->idle > fill->most_idle ? pass_state->idle : fill->most_idle;
        pass_state->now = start + time_of(fill, stage, slot, (st_pass)slot->pass);
        pass_state->next++;
        if (fill->lists != NULL)
            st_slots_add(&fill->lists[stage], (st_pass)slot->pass, slot->chunk, slot->micro, false);
        if (slot->pass == ST_PASS_FORWARD) {
            pass_state->held += MEMORY_PARTS;
            if (pass_place < last)
                hand_on(fill, stage, slot, pass_place + 1);
            else
                *ready_of(fill, ST_PASS_BACKWARD, last, slot->micro) = pass_state->now;
        } else {
            pass_state->held -= MEMORY_PARTS - fill->weights_part;
            pass_state->waiting++;
            if (pass_place > 0)
                hand_on(fill, stage, slot, pass_place - 1);
        }
    }
    return !full;
}

/* The longest span of a stage from its first to its last task; NEVER where the rule gets stuck. */
static int64_t simulate(st_fill *fill)
{
    int64_t longest = 0;
    size_t cells = 2 * (size_t)fill->shape->stages * fill->shape->micros;
    for (size_t i = 0; i < cells; i++) {
        fill->ready[ST_PASS_FORWARD][i] = i < fill->shape->micros ? 0 : NEVER;
        fill->ready[ST_PASS_BACKWARD][i] = NEVER;
    }
    fill->most_idle = 0;
    fill->awake.count = 0;
    for (uint32_t i = 0; i < fill->shape->stages; i++) {
        fill->stages[i] = (st_fill_stage){.first = NEVER};
        st_stage_heap_push(&fill->awake, i, 0);
    }
    while (fill->awake.count > 0) {
        uint32_t stage = st_stage_heap_pop(&fill->awake);
        const st_fill_stage *state = &fill->stages[stage];
        if (!step(fill, stage))
            return NEVER;
        if (!state->asleep && (state->next < fill->order[stage].count || state->waiting > 0))
            st_stage_heap_push(&fill->awake, stage, state->now);
    }
    for (uint32_t i = 0; i < fill->shape->stages; i++) {
        const st_fill_stage *state = &fill->stages[i];
        if (state->next < fill->order[i].count)
            return NEVER;
        longest = state->now - state->first > longest ? state->now - state->first : longest;
    }
    return longest;
}

/* Activations of so many micro-batches, of both chunks (Qi et al. 2024b). */
static int64_t memory_limit(const st_schedule_shape *shape)
{
    int64_t stages = shape->stages;
    int64_t held = shape->kind == ST_SCHEDULE_V_MIN    ? (stages + 4) / 3
                   : shape->kind == ST_SCHEDULE_V_HALF ? (stages + 2) / 2
                                                       : stages;
    return INT64_C(2) * MEMORY_PARTS * (shape->held == 0 ? held : (int64_t)shape->held);
}

static bool prepare(st_fill *fill, st_arena *arena)
{
    const st_schedule_shape *shape = fill->shape;
    size_t places = 2 * (size_t)shape->stages;
    fill->stages = st_arena_alloc(arena, shape->stages, sizeof(*fill->stages));
    fill->times = st_arena_alloc(arena, places * ST_PASSES, sizeof(*fill->times));
    fill->ready[0] = st_arena_alloc(arena, places * shape->micros, sizeof(int64_t));
    fill->ready[1] = st_arena_alloc(arena, places * shape->micros, sizeof(int64_t));
    fill->awake.entries = st_arena_alloc(arena, shape->stages, sizeof(st_stage_entry));
    if (fill->stages == NULL || fill->times == NULL || fill->ready[0] == NULL ||
        fill->ready[1] == NULL || fill->awake.entries == NULL)
        return false;
    for (size_t i = 0; i < places * ST_PASSES; i++) {
        const int64_t *part = shape->times[i / ST_PASSES].part[i % ST_PASSES];
        for (int j = 0; j < ST_PARTS; j++)
            fill->times[i] += part[j];
    }
    return true;
}

/* Adds the gradients of weights by the rule with the least span. */
static st_status fill_gaps(st_fill *fill, st_slots *lists, st_errors *errors)
{
    static const st_fill_rule rules[] = {{0, false}, {50, false}, {100, false},
                                         {0, true},  {50, true},  {100, true}};
    enum { RULES = sizeof rules / sizeof rules[0] };
    int64_t least = NEVER;
    st_fill_rule best = rules[0];
    for (size_t i = 0; i < RULES; i++) {
        fill->rule = rules[i];
        int64_t span = simulate(fill);
        if (span < least) {
            least = span;
            best = rules[i];
        }
    }
    if (least == NEVER) {
        return st_fail(errors, ST_ERR_VALUE, (st_place){0}, "no %s schedule fits in memory",
                       st_schedule_name(fill->shape->kind));
    }
    fill->rule = best;
    fill->lists = lists;
    (void)simulate(fill);
    return ST_OK;
}

st_status st_schedule_fold(const st_schedule_shape *shape, st_arena *arena, st_slots *lists,
                           st_errors *errors)
{
    st_status status = st_schedule_check_times(shape, errors);
    if (status != ST_OK)
        return status;
    double share = shape->held_for_weights == 0 ? 1 : shape->held_for_weights;
    st_slots *order = st_arena_alloc(arena, shape->stages, sizeof(*order));
    st_fill fill = {.shape = shape,
                    .order = order,
                    .limit = memory_limit(shape),
                    .weights_part = (int64_t)(share * MEMORY_PARTS + 0.5)};
    bool good = order != NULL && prepare(&fill, arena);
    for (uint32_t i = 0; i < shape->stages && good; i++) {
        order[i].items =
            st_arena_alloc(arena, (size_t)FOLD_PASSES * shape->micros, sizeof(st_slot));
        good = order[i].items != NULL;
        if (good && shape->kind != ST_SCHEDULE_ZERO_BUBBLE_V)
            order_blocks(shape, i, &order[i]);
    }
    if (good && shape->kind == ST_SCHEDULE_ZERO_BUBBLE_V)
        good = order_turns(shape, arena, order);
    return good ? fill_gaps(&fill, lists, errors) : st_out_of_memory(errors);
}
