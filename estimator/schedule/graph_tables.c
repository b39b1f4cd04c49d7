/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow and tables that number what they are asked for, both by doubling. */
#include "schedule/graph_internal.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

void *st_array_room(void *items, size_t item_bytes, size_t count, size_t *capacity)
{
    if (count < *capacity)
        return items;
    size_t wanted = *capacity < FIRST_CAPACITY ? FIRST_CAPACITY : 2 * *capacity;
    if (wanted > SIZE_MAX / 2 / item_bytes)
        return NULL;
    void *grown = realloc(items, wanted * item_bytes);
    if (grown != NULL)
        *capacity = wanted;
    return grown;
}

/* The finalizer of splitmix64 (Steele, Lea and Flood 2014), over both halves. */
static uint64_t mixed(st_pair pair)
{
    uint64_t x = pair.first * 0x9e3779b97f4a7c15U + pair.second;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

/* The slot that holds the pair, or the free one where it belongs. */
static size_t slot_of(const st_pair_table *table, st_pair pair)
{
    size_t slot = (size_t)mixed(pair) & (table->slot_count - 1);
    while (table->slots[slot] != 0) {
        const st_pair *there = &table->pairs[table->slots[slot] - 1];
        if (there->first == pair.first && there->second == pair.second)
            break;
        slot = (slot + 1) & (table->slot_count - 1);
    }
    return slot;
}

static bool widen(st_pair_table *table)
{
    size_t wanted = table->slot_count == 0 ? (size_t)2 * FIRST_CAPACITY : 2 * table->slot_count;
    uint32_t *slots = calloc(wanted, sizeof(*slots));
    if (slots == NULL)
        return false;
    free(table->slots);
    table->slots = slots;
    table->slot_count = wanted;
    for (size_t i = 0; i < table->count; i++)
        slots[slot_of(table, table->pairs[i])] = (uint32_t)i + 1;
    return true;
}

uint32_t st_pair_find(const st_pair_table *table, st_pair pair)
{
    if (table->slot_count == 0)
        return ST_TASK_NONE;
    uint32_t held = table->slots[slot_of(table, pair)];
    return held == 0 ? ST_TASK_NONE : held - 1;
}

uint32_t st_pair_number(st_pair_table *table, st_pair pair)
{
    if (2 * (table->count + 1) > table->slot_count && !widen(table))
        return ST_TASK_NONE;
    size_t slot = slot_of(table, pair);
    if (table->slots[slot] != 0)
        return table->slots[slot] - 1;
    st_pair *pairs = st_array_room(table->pairs, sizeof(*pairs), table->count, &table->capacity);
    if (pairs == NULL)
        return ST_TASK_NONE;
    table->pairs = pairs;
    if (table->count >= ST_TASK_NONE - 1)
        return ST_TASK_NONE;
    pairs[table->count++] = pair;
    table->slots[slot] = (uint32_t)table->count;
    return (uint32_t)table->count - 1;
}

void st_pair_table_free(st_pair_table *table)
{
    free(table->pairs);
    free(table->slots);
    *table = (st_pair_table){0};
}
