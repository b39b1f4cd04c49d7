/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of plans; see states.h. */
#include "search/guided/states.h"

#include <math.h>

bool st_plan_states_make(st_plan_states *states, uint64_t rows, bool dense, st_arena *arena)
{
    *states = (st_plan_states){.rows = rows, .arena = arena};
    if (!dense)
        return true;
    size_t count = (size_t)rows + 1;
    states->low = st_arena_alloc(arena, count, sizeof *states->low);
    states->high = st_arena_alloc(arena, count, sizeof *states->high);
    states->marks = st_arena_alloc(arena, count, sizeof *states->marks);
    for (size_t i = 0; !st_arena_failed(arena) && i < count; i++) {
        states->low[i] = -HUGE_VAL;
        states->high[i] = HUGE_VAL;
    }
    return !st_arena_failed(arena);
}

/* The place of a key, or the free one where it would be (SplitMix64's finish as the hash). */
static size_t find(const uint64_t *keys, size_t capacity, uint64_t key)
{
    uint64_t hash = key;
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9U;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBU;
    size_t place = (size_t)(hash ^ (hash >> 31)) & (capacity - 1);
    while (keys[place] != 0 && keys[place] != key)
        place = (place + 1) & (capacity - 1);
    return place;
}

/* Room for one more, half of the places free at least. */
static bool make_room(st_plan_states *states)
{
    enum { FIRST = 1024 };
    if (2 * (states->count + 1) <= states->capacity)
        return true;
    size_t capacity = states->capacity > 0 ? 2 * states->capacity : FIRST;
    uint64_t *keys = st_arena_alloc(states->arena, capacity, sizeof *keys);
    if (keys == NULL)
        return false;
    for (size_t i = 0; i < states->capacity; i++)
        if (states->keys[i] != 0)
            keys[find(keys, capacity, states->keys[i])] = states->keys[i];
    states->keys = keys;
    states->capacity = capacity;
    return true;
}

bool st_plan_states_is_computed(const st_plan_states *states, uint64_t row)
{
    if (states->marks != NULL)
        return (states->marks[row] & ST_STATE_COMPUTED) != 0;
    return states->capacity > 0 && states->keys[find(states->keys, states->capacity, row + 1)] != 0;
}

bool st_plan_states_note(st_plan_states *states, uint64_t row, bool passes, double goal)
{
    if (states->marks != NULL) {
        states->marks[row] |= ST_STATE_COMPUTED | (passes ? ST_STATE_PASSED : ST_STATE_FAILED);
        states->low[row] = passes ? goal : HUGE_VAL;
        states->high[row] = states->low[row];
        return true;
    }
    if (!make_room(states))
        return false;
    size_t place = find(states->keys, states->capacity, row + 1);
    states->count += states->keys[place] == 0 ? 1 : 0;
    states->keys[place] = row + 1;
    return true;
}
