/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which item of a list has a key: open addressing over hashes, which doubles when it is half full.
 * List and keys stay their owner's; nothing is ever removed. An item is in its list before
 * its key is added, so that what is found is there, also once memory is out.
 *
 *     uint32_t found = 0;
 *     ST_INDEX_FIND(&names->index, hash, found, st_same(names->texts[found], text));
 *     if (found == ST_INDEX_NONE && !st_index_add(&names->index, arena, hash, names->count))
 *         return ST_ERR_MEMORY;
 */
#ifndef STEPTIME_BASE_INDEX_H
#define STEPTIME_BASE_INDEX_H

#include "base/hash.h"
#include "steptime/arena.h"

#include <stdlib.h>

#define ST_INDEX_NONE UINT32_MAX

typedef struct st_index_slot {
    uint32_t hash; /* distinguishes most keys */
    uint32_t item; /* and one; 0: free */
} st_index_slot;

typedef struct st_index {
    st_index_slot *slots;
    size_t slot_count; /* a power of two */
    size_t count;
} st_index;

static inline uint32_t st_index_mix(uint64_t hash)
{
    return (uint32_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

/* The next item with this hash, mixed, from slot *at on; ST_INDEX_NONE behind the last. */
static inline uint32_t st_index_next(const st_index *index, uint32_t mixed, size_t *at)
{
    while (index->slot_count > 0) {
        const st_index_slot *slot = &index->slots[(*at)++ & (index->slot_count - 1)];
        if (slot->item == 0)
            break;
        if (slot->hash == mixed)
            return slot->item - 1;
    }
    return ST_INDEX_NONE;
}

/* Sets `found`, a uint32_t, to the item with this hash for which `same` holds, which says it of
 * `found`; ST_INDEX_NONE where there is none. */
#define ST_INDEX_FIND(index, hash, found, same)                                                    \
    for (size_t st_mixed = st_index_mix(hash), st_at = st_mixed;                                   \
         ((found) = st_index_next((index), (uint32_t)st_mixed, &st_at)) != ST_INDEX_NONE &&        \
         !(same);)                                                                                 \
    (void)0

static inline void st_index_put(st_index *index, st_index_slot item)
{
    size_t at = item.hash;
    while (index->slots[at & (index->slot_count - 1)].item != 0)
        at++;
    index->slots[at & (index->slot_count - 1)] = item;
    index->count++;
}

/* How many slots it has to have for one item more; 0: it has them. */
static inline size_t st_index_wanted(const st_index *index)
{
    return 2 * (index->count + 1) <= index->slot_count ? 0
           : index->slot_count == 0                    ? 64
                                                       : 2 * index->slot_count;
}

/* Into slots that are all free; false where there are none. */
static inline bool st_index_move(st_index *index, st_index_slot *slots, size_t count)
{
    st_index larger = {.slots = slots, .slot_count = count};
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < index->slot_count; i++)
        if (index->slots[i].item != 0)
            st_index_put(&larger, index->slots[i]);
    *index = larger;
    return true;
}

/* Slots of an arena for so many items; false when out of memory. */
static inline bool st_index_reserve(st_index *index, st_arena *arena, size_t items)
{
    size_t count = 64;
    while (count < 2 * items)
        count *= 2;
    return st_index_move(index, st_arena_alloc(arena, count, sizeof *index->slots), count);
}

/* All zero at the beginning; ends in st_index_free. False when out of memory. */
static inline bool st_index_add_own(st_index *index, uint64_t hash, size_t item)
{
    const size_t wanted = st_index_wanted(index);
    st_index_slot *old = index->slots;
    if (wanted > 0 && !st_index_move(index, calloc(wanted, sizeof *old), wanted))
        return false;
    if (wanted > 0)
        free(old);
    st_index_put(index, (st_index_slot){st_index_mix(hash), (uint32_t)item + 1});
    return true;
}

/* The same with slots of an arena, which has no end of its own; NULL: as above. */
static inline bool st_index_add(st_index *index, st_arena *arena, uint64_t hash, size_t item)
{
    const size_t wanted = st_index_wanted(index);
    if (arena == NULL)
        return st_index_add_own(index, hash, item);
    if (wanted > 0 &&
        !st_index_move(index, st_arena_alloc(arena, wanted, sizeof *index->slots), wanted))
        return false;
    st_index_put(index, (st_index_slot){st_index_mix(hash), (uint32_t)item + 1});
    return true;
}

static inline void st_index_free(st_index *index)
{
    free(index->slots);
    *index = (st_index){0};
}

#endif
