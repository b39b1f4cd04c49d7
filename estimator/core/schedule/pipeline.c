/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of pipeline schedules that do not depend on times. */
#include "schedule/schedule_internal.h"

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A pass of the k-th turn in one direction of an interleaved stage: groups of as many micro-batches
 * as stages go through a chunk before the next chunk's turn (Narayanan et al. 2021, section 2.2.2).
 * Where micro-batches are not a multiple of stages, the last group's places stay empty. */
static void add_turn(const st_schedule_shape *shape, uint32_t turn, bool forward, st_slots *slots)
{
    uint32_t group = turn / (shape->stages * shape->chunks);
    uint32_t chunk = turn / shape->stages % shape->chunks;
    uint32_t micro = group * shape->stages + turn % shape->stages;
    if (micro < shape->micros)
        st_slots_add(slots, forward ? ST_PASS_FORWARD : ST_PASS_BACKWARD,
                     forward ? chunk : shape->chunks - 1 - chunk, micro, !forward);
}

static void order_interleaved(const st_schedule_shape *shape, uint32_t stage, st_slots *slots)
{
    uint32_t groups = (shape->micros + shape->stages - 1) / shape->stages;
    uint32_t turns = shape->chunks == 1 ? shape->micros : groups * shape->stages * shape->chunks;
    uint32_t later = shape->stages - 1 - stage;
    uint32_t ahead = shape->chunks == 1 ? later : 2 * later + (shape->chunks - 1) * shape->stages;
    ahead = smaller(ahead, turns);
    for (uint32_t i = 0; i < turns + ahead; i++) {
        if (i < turns)
            add_turn(shape, i, true, slots);
        if (i >= ahead)
            add_turn(shape, i - ahead, false, slots);
    }
}

/* ZB-H1: 1F1B in which stage s computes the weights' gradients s micro-batches later, so that no
 * stage holds more activations than the first one of 1F1B (Qi et al. 2024, section 2.2). */
static void order_zero_bubble(const st_schedule_shape *shape, uint32_t stage, st_slots *slots)
{
    uint32_t ahead = smaller(shape->stages - 1 - stage, shape->micros);
    uint32_t weights = 0;
    for (uint32_t i = 0; i < shape->micros + ahead; i++) {
        if (i < shape->micros)
            st_slots_add(slots, ST_PASS_FORWARD, 0, i, false);
        if (i >= ahead) {
            uint32_t micro = i - ahead;
            st_slots_add(slots, ST_PASS_BACKWARD, 0, micro, false);
            if (micro >= stage)
                st_slots_add(slots, ST_PASS_WEIGHTS, 0, weights++, false);
        }
    }
    while (weights < shape->micros)
        st_slots_add(slots, ST_PASS_WEIGHTS, 0, weights++, false);
}

/* --- DualPipe ----------------------------------------------------------------------------------
 */

typedef struct st_dual {
    st_slots *slots;
    uint32_t half;       /* micro-batches of a direction */
    uint32_t forward[2]; /* passes so far, by direction as this stage sees it */
    uint32_t backward[2];
    uint32_t swapped; /* 1 in the second half of the stages, whose near end is the other one */
    uint32_t *queue;  /* micro-batches whose weights' gradients wait, in order */
    uint32_t queue_first;
    uint32_t queue_count;
} st_dual;

static void dual_forward(st_dual *dual, uint32_t side)
{
    uint32_t chunk = side ^ dual->swapped;
    st_slots_add(dual->slots, ST_PASS_FORWARD, chunk, chunk * dual->half + dual->forward[side]++,
                 false);
}

static void dual_backward(st_dual *dual, uint32_t side, bool later)
{
    uint32_t chunk = side ^ dual->swapped;
    uint32_t micro = chunk * dual->half + dual->backward[side]++;
    st_slots_add(dual->slots, ST_PASS_BACKWARD, chunk, micro, !later);
    if (later)
        dual->queue[dual->queue_count++] = micro;
}

static void dual_weights(st_dual *dual)
{
    if (dual->queue_first < dual->queue_count) {
        uint32_t micro = dual->queue[dual->queue_first++];
        st_slots_add(dual->slots, ST_PASS_WEIGHTS, micro >= dual->half ? 1 : 0, micro, false);
    }
}

/* Forward on one side and backward on the other, which overlap each other's communication. */
static void dual_both(st_dual *dual, uint32_t side, bool together)
{
    dual_forward(dual, side);
    dual->slots->items[dual->slots->count - 1].with_next = together;
    dual_backward(dual, 1 - side, false);
}

/* The eight phases of deepseek-ai/DualPipe; `inner` counts stages from the near end. */
static void order_dualpipe(const st_schedule_shape *shape, uint32_t stage, uint32_t *queue,
                           st_slots *slots)
{
    uint32_t inner = smaller(stage, shape->stages - 1 - stage);
    uint32_t outer = shape->stages / 2 - inner - 1;
    st_dual dual = {.slots = slots,
                    .half = shape->micros / 2,
                    .swapped = stage >= shape->stages / 2 ? 1 : 0,
                    .queue = queue};
    for (uint32_t i = 0; i < 2 * outer; i++)
        dual_forward(&dual, 0);
    for (uint32_t i = 0; i < inner + 1; i++) {
        dual_forward(&dual, 0);
        dual_forward(&dual, 1);
    }
    for (uint32_t i = 0; i < outer; i++) {
        dual_backward(&dual, 1, true);
        dual_weights(&dual);
        dual_forward(&dual, 1);
    }
    const uint32_t rounds = dual.half - shape->stages + inner + 1;
    for (uint32_t i = 0; i < rounds; i++) {
        dual_both(&dual, 0, i > 0 || outer > 0); /* the middle stages begin apart */
        dual_both(&dual, 1, true);
    }
    for (uint32_t i = 0; i < outer; i++) {
        dual_backward(&dual, 1, false);
        dual_both(&dual, 1, true);
    }
    bool later = false;
    for (uint32_t i = 0; i < inner + 1; i++) {
        later = later || (i == (inner + 1) / 2 && inner % 2 == 1);
        dual_backward(&dual, 1, later);
        later = later || (i == (inner + 1) / 2 && inner % 2 == 0);
        dual_backward(&dual, 0, later);
    }
    for (uint32_t i = 0; i < outer; i++) {
        dual_weights(&dual);
        dual_backward(&dual, 0, true);
    }
    while (dual.queue_first < dual.queue_count)
        dual_weights(&dual);
}

st_status st_schedule_order_make(const st_schedule_shape *shape, st_arena *arena,
                                 st_schedule_order *order, st_errors *errors)
{
    st_status status = st_schedule_check(shape, errors);
    if (status != ST_OK)
        return status;
    size_t most = (size_t)3 * shape->micros * shape->chunks;
    const st_slot **slots = st_arena_alloc(arena, shape->stages, sizeof(*slots));
    size_t *counts = st_arena_alloc(arena, shape->stages, sizeof(*counts));
    uint32_t *queue = st_arena_alloc(arena, shape->micros, sizeof(*queue));
    st_slots *lists = st_arena_alloc(arena, shape->stages, sizeof(*lists));
    if (slots == NULL || counts == NULL || queue == NULL || lists == NULL)
        return st_out_of_memory(errors);
    for (uint32_t i = 0; i < shape->stages; i++) {
        lists[i].items = st_arena_alloc(arena, most, sizeof(st_slot));
        if (lists[i].items == NULL)
            return st_out_of_memory(errors);
        if (!st_schedule_looks_at_times(shape->kind)) {
            st_slots *stage_slots = &lists[i];
            switch (shape->kind) {
            case ST_SCHEDULE_GPIPE:
                for (uint32_t j = 0; j < shape->micros; j++)
                    st_slots_add(stage_slots, ST_PASS_FORWARD, 0, j, false);
                for (uint32_t j = 0; j < shape->micros; j++)
                    st_slots_add(stage_slots, ST_PASS_BACKWARD, 0, j, true);
                break;
            case ST_SCHEDULE_ZERO_BUBBLE:
                order_zero_bubble(shape, i, stage_slots);
                break;
            case ST_SCHEDULE_DUALPIPE:
                order_dualpipe(shape, i, queue, stage_slots);
                break;
            default: /* 1F1B is the interleaved schedule with one chunk */
                order_interleaved(shape, i, stage_slots);
                break;
            }
        }
    }
    if (st_schedule_is_folded(shape->kind))
        status = st_schedule_fold(shape, arena, lists, errors);
    else if (shape->kind == ST_SCHEDULE_ZERO_BUBBLE_2)
        status = st_schedule_search(shape, arena, lists, errors);
    for (uint32_t i = 0; i < shape->stages; i++) {
        slots[i] = lists[i].items;
        counts[i] = lists[i].count;
    }
    if (status == ST_OK)
        *order = (st_schedule_order){.slots = slots, .counts = counts, .stages = shape->stages};
    return status;
}
