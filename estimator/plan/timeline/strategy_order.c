/* SPDX-License-Identifier: Apache-2.0 */
/* The orders of passes of a strategy: errors are reported at the pass, in the
 * file's own words. */
#include "timeline/strategy.h"

#include "base/memory.h"

#include <string.h>

/* Orders on trial. */
typedef struct order_trial {
    const st_strategy *strategy;
    const st_schedule_shape *shape;
    const st_strategy_pass **placed; /* by chunk of the model, micro-batch and pass */
    bool *done;                      /* the same */
    size_t *next;                    /* by stage: passes that have run */
    st_errors *errors;
} order_trial;

static const char *const pass_names[ST_PASSES] = {"forward pass", "gradients of activations",
                                                  "gradients of weights"};

static size_t cell_of(const order_trial *self, uint32_t place, uint32_t micro, size_t pass)
{
    return ((size_t)place * self->shape->micros + micro) * ST_PASSES + pass;
}

/* "F3", with chunks "B3.1", as the file has it. */
static const char *slot_text(const order_trial *self, const st_slot *slot)
{
    static const char letters[ST_PASSES] = {'F', 'I', 'W'};
    char letter = slot->with_weights ? 'B' : letters[slot->pass];
    return self->shape->chunks > 1
               ? st_errors_text(self->errors, "%c%lu.%u", letter, (unsigned long)slot->micro,
                                (unsigned)slot->chunk)
               : st_errors_text(self->errors, "%c%lu", letter, (unsigned long)slot->micro);
}

/* --- every pass once -------------------------------------------------------------------------- */

static st_status put_pass(order_trial *self, uint32_t stage, const st_strategy_pass *pass)
{
    const st_slot *slot = &pass->slot;
    if (slot->micro >= self->shape->micros || slot->chunk >= self->shape->chunks)
        return st_fail(self->errors, ST_ERR_VALUE, pass->place,
                       "unknown micro-batch %lu of chunk %u" ST_EXPECTED
                       "%lu micro-batches and %lu chunks, both from 0",
                       (unsigned long)slot->micro, (unsigned)slot->chunk,
                       (unsigned long)self->shape->micros, (unsigned long)self->shape->chunks);
    uint32_t place = st_schedule_place(self->shape, stage, slot->chunk);
    const st_strategy_pass **placed = &self->placed[cell_of(self, place, slot->micro, 0)];
    size_t last = slot->with_weights ? ST_PASS_WEIGHTS : slot->pass;
    if (slot->pass == ST_PASS_WEIGHTS && placed[ST_PASS_BACKWARD] == NULL)
        return st_fail(self->errors, ST_ERR_VALUE, pass->place,
                       "stage %lu runs %s before the gradients of activations that it needs",
                       (unsigned long)stage, slot_text(self, slot));
    for (size_t i = slot->pass; i <= last; i++) {
        if (placed[i] != NULL)
            return st_fail(self->errors, ST_ERR_VALUE, pass->place,
                           "stage %lu runs %s twice" ST_FOUND "%s after %s" ST_EXPECTED
                           "every pass of every micro-batch and chunk once",
                           (unsigned long)stage, pass_names[i], slot_text(self, slot),
                           slot_text(self, &placed[i]->slot));
        placed[i] = pass;
    }
    return ST_OK;
}

static st_status find_missing(const order_trial *self, uint32_t stage)
{
    const st_schedule_shape *shape = self->shape;
    for (uint16_t chunk = 0; chunk < shape->chunks; chunk++) {
        uint32_t place = st_schedule_place(shape, stage, chunk);
        for (uint32_t micro = 0; micro < shape->micros; micro++)
            for (int pass = 0; pass < ST_PASSES; pass++) {
                const st_slot slot = {.micro = micro, .chunk = chunk, .pass = (uint8_t)pass};
                if (self->placed[cell_of(self, place, micro, slot.pass)] == NULL)
                    return st_fail(self->errors, ST_ERR_VALUE,
                                   self->strategy->stages[stage].order_place,
                                   "stage %lu lacks %s, %s" ST_EXPECTED
                                   "every pass of every micro-batch and chunk once",
                                   (unsigned long)stage, slot_text(self, &slot), pass_names[pass]);
            }
    }
    return ST_OK;
}

/* --- cycles ----------------------------------------------------------------------------------- */

/* The stage and pass for whose end a pass waits; false: for none that has not run. */
static bool waits_for(const order_trial *self, uint32_t stage, const st_slot *slot, uint32_t *on,
                      st_slot *needed)
{
    uint32_t last = st_schedule_places(self->shape) - 1;
    uint32_t place = st_schedule_place(self->shape, stage, slot->chunk);
    bool forward = slot->pass == ST_PASS_FORWARD;
    if (slot->pass == ST_PASS_WEIGHTS || (forward && place == 0))
        return false;
    bool turns = !forward && place == last;
    uint32_t other = turns ? place : forward ? place - 1 : place + 1;
    uint8_t pass = turns ? ST_PASS_FORWARD : slot->pass;
    size_t cell = cell_of(self, other, slot->micro, pass);
    *on = st_schedule_stage(self->shape, other, slot->micro);
    *needed = self->placed[cell]->slot;
    return !self->done[cell];
}

/* Runs what can of a stage; whether anything did. */
static bool run_stage(order_trial *self, uint32_t stage)
{
    const st_strategy_stage *own = &self->strategy->stages[stage];
    size_t before = self->next[stage];
    for (; self->next[stage] < own->pass_count; self->next[stage]++) {
        const st_slot *slot = &own->order[self->next[stage]].slot;
        uint32_t on = 0;
        st_slot needed;
        if (waits_for(self, stage, slot, &on, &needed))
            break;
        uint32_t place = st_schedule_place(self->shape, stage, slot->chunk);
        self->done[cell_of(self, place, slot->micro, slot->pass)] = true;
    }
    return self->next[stage] > before;
}

/* The pass at which a stage waits, and the one that it waits for; returns the stage of the latter.
 */
static uint32_t blocker(const order_trial *self, uint32_t stage, const st_slot **at,
                        st_slot *needed)
{
    uint32_t on = stage;
    *at = &self->strategy->stages[stage].order[self->next[stage]].slot;
    (void)waits_for(self, stage, *at, &on, needed);
    return on;
}

/* Follows waiting stages until one occurs twice. */
static st_status tell_cycle(const order_trial *self, uint32_t stage)
{
    enum { MOST_LISTED = 8 };
    const st_strategy *strategy = self->strategy;
    const st_slot *at = NULL;
    st_slot needed = {0};
    st_buffer text = {0};
    size_t listed = 0;
    for (size_t i = 0; i < strategy->count; i++) /* it comes into the cycle at the latest then */
        stage = blocker(self, stage, &at, &needed);
    uint32_t first = stage;
    do {
        uint32_t on = blocker(self, stage, &at, &needed);
        if (listed < MOST_LISTED)
            st_buffer_printf(&text, "%sstage %lu waits at %s, which needs %s of stage %lu",
                             listed > 0 ? "; " : "", (unsigned long)stage, slot_text(self, at),
                             slot_text(self, &needed), (unsigned long)on);
        listed++;
        stage = on;
    } while (stage != first);
    if (listed > MOST_LISTED)
        st_buffer_printf(&text, "; and so on over %zu stages", listed);
    st_status status =
        st_fail(self->errors, ST_ERR_CYCLE, strategy->stages[first].order[self->next[first]].place,
                "the orders of '%s' deadlock: %s", strategy->name, st_buffer_read(&text));
    st_buffer_free(&text);
    return status;
}

/* --- as a whole ------------------------------------------------------------------------------- */

static st_status try_orders(order_trial *self, st_arena *arena)
{
    const st_strategy *strategy = self->strategy;
    size_t cells = (size_t)st_schedule_places(self->shape) * self->shape->micros * ST_PASSES;
    st_status status = ST_OK;
    for (uint32_t i = 0; i < strategy->count && status == ST_OK; i++) {
        const st_strategy_stage *own = &self->strategy->stages[i];
        uint64_t least = 2 * (uint64_t)self->shape->micros * self->shape->chunks;
        status =
            own->pass_count >= least
                ? ST_OK
                : st_fail(self->errors, ST_ERR_VALUE, own->order_place,
                          "stage %lu has %zu passes" ST_EXPECTED
                          "%llu or more, F and B of %lu micro-batches and %lu chunks",
                          (unsigned long)i, own->pass_count, (unsigned long long)least,
                          (unsigned long)self->shape->micros, (unsigned long)self->shape->chunks);
    }
    if (status != ST_OK)
        return status;
    self->placed = st_arena_alloc(arena, cells, sizeof(*self->placed));
    self->done = st_arena_alloc(arena, cells, sizeof(*self->done));
    self->next = st_arena_alloc(arena, strategy->count, sizeof(*self->next));
    if (self->placed == NULL || self->done == NULL || self->next == NULL)
        return st_out_of_memory(self->errors);
    for (uint32_t i = 0; i < strategy->count; i++) {
        const st_strategy_stage *stage = &strategy->stages[i];
        for (size_t k = 0; k < stage->pass_count && status == ST_OK; k++)
            status = put_pass(self, i, &stage->order[k]);
        if (status == ST_OK)
            status = find_missing(self, i);
    }
    if (status != ST_OK)
        return status;
    size_t count = self->strategy->count;
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t stage = 0; stage < count; stage++)
            moved = run_stage(self, stage) || moved;
    }
    for (uint32_t stage = 0; stage < count; stage++)
        if (self->next[stage] < self->strategy->stages[stage].pass_count)
            return tell_cycle(self, stage);
    return ST_OK;
}

st_status st_strategy_order(const st_strategy *strategy, st_arena *arena, st_timeline_plan *plan,
                            st_errors *errors)
{
    st_schedule_order *order = st_arena_alloc(arena, 1, sizeof *order);
    const st_slot **slots = st_arena_alloc(arena, strategy->count, sizeof *slots);
    size_t *counts = st_arena_alloc(arena, strategy->count, sizeof *counts);
    order_trial trial = {.strategy = strategy, .shape = &plan->schedule.shape, .errors = errors};
    if (strategy->stages[0].order == NULL)
        return ST_OK;
    if (order == NULL || slots == NULL || counts == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < strategy->count; i++) {
        const st_strategy_stage *stage = &strategy->stages[i];
        st_slot *own = st_arena_alloc(arena, stage->pass_count + 1, sizeof *own);
        if (own == NULL)
            return st_out_of_memory(errors);
        for (size_t k = 0; k < stage->pass_count; k++)
            own[k] = stage->order[k].slot;
        slots[i] = own;
        counts[i] = stage->pass_count;
    }
    *order = (st_schedule_order){.slots = slots, .counts = counts, .stages = strategy->count};
    plan->closed_same_schedule = false;
    plan->order = order;
    plan->order_name = strategy->name;
    return try_orders(&trial, arena);
}
