/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that number their keys. */
#include "schedule/graph_internal.h"

static uint64_t hash_of(st_pair pair)
{
    return st_hash_number(st_hash_number(ST_HASH_BEGIN, pair.first), pair.second);
}

uint32_t st_pair_find(const st_pair_table *table, st_pair pair)
{
    uint32_t found = 0;
    ST_INDEX_FIND(&table->index, hash_of(pair), found,
                  table->pairs[found].first == pair.first &&
                      table->pairs[found].second == pair.second);
    return found;
}

uint32_t st_pair_number(st_pair_table *table, st_pair pair)
{
    uint32_t found = st_pair_find(table, pair);
    if (found != ST_INDEX_NONE)
        return found;
    if (table->count >= ST_TASK_NONE - 1 || !ST_ROOM(table->pairs, table->count, table->capacity) ||
        !st_index_add(&table->index, NULL, hash_of(pair), table->count))
        return ST_TASK_NONE;
    table->pairs[table->count++] = pair;
    return (uint32_t)table->count - 1;
}

void st_pair_table_free(st_pair_table *table)
{
    free(table->pairs);
    st_index_free(&table->index);
    *table = (st_pair_table){0};
}
