/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of schedules share. */
#ifndef STEPTIME_SCHEDULE_SCHEDULE_INTERNAL_H
#define STEPTIME_SCHEDULE_SCHEDULE_INTERNAL_H

#include "schedule/schedule.h"
#include "schedule/graph_internal.h"

enum { ST_MOST_PREFETCH = 1024, ST_MOST_PIECES = 100000 };

/* A list with room for all that will be added. */
typedef struct st_slots {
    st_slot *items;
    size_t count;
} st_slots;

static inline void st_slots_add(st_slots *slots, st_pass pass, uint32_t chunk, uint32_t micro,
                                bool with_weights)
{
    slots->items[slots->count++] = (st_slot){.micro = micro,
                                             .chunk = (uint16_t)chunk,
                                             .pass = (uint8_t)pass,
                                             .with_weights = with_weights};
}

/* Refuses shapes that a schedule does not know. */
st_status st_schedule_check(const st_schedule_shape *shape, st_errors *errors) ST_NODISCARD;

/* Every pass once and on its stage. */
st_status st_schedule_check_order(const st_schedule_shape *shape, const st_schedule_order *order,
                                  st_errors *errors) ST_NODISCARD;
st_status st_schedule_check_groups(const st_schedule_groups *groups,
                                   st_errors *errors) ST_NODISCARD;
/* Pieces end one after the other and the last one at the end of the pass; times, prefetch. */
st_status st_schedule_check_pieces(const st_schedule_plan *plan, st_errors *errors) ST_NODISCARD;

/* ZB-2p: looks for the order with the least idle time of a stage; `lists` is empty, one a stage. */
st_status st_schedule_search(const st_schedule_shape *shape, st_arena *arena, st_slots *lists,
                             st_errors *errors) ST_NODISCARD;

/* Orders of folded schedules, with weights' gradients where they fit; `lists` as above. */
st_status st_schedule_fold(const st_schedule_shape *shape, st_arena *arena, st_slots *lists,
                           st_errors *errors) ST_NODISCARD;

/* Times of all chunks that a simulation can add up, transfers too. */
st_status st_schedule_check_times(const st_schedule_shape *shape, st_errors *errors) ST_NODISCARD;

/* Stages by their time, the furthest behind first, of equals the lower number. Room for all that
 * are pushed. */
typedef struct st_stage_entry {
    int64_t time;
    uint32_t stage;
} st_stage_entry;

typedef struct st_stage_heap {
    st_stage_entry *entries;
    size_t count;
} st_stage_heap;

void st_stage_heap_push(st_stage_heap *heap, uint32_t stage, int64_t time);
/* The heap is not empty. */
uint32_t st_stage_heap_pop(st_stage_heap *heap);

#endif
