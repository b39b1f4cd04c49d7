/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of plans; see ledger.h. */
#include "search/ledger.h"

#include <math.h>
#include <stdlib.h>

bool st_ledger_make(st_ledger *ledger, uint64_t rows, bool dense)
{
    *ledger = (st_ledger){.rows = rows};
    if (!dense) {
        return true;
    }
    size_t count = (size_t)rows + 1;
    ledger->low = malloc(count * sizeof *ledger->low);
    ledger->high = malloc(count * sizeof *ledger->high);
    ledger->states = calloc(count, sizeof *ledger->states);
    if (ledger->low == NULL || ledger->high == NULL || ledger->states == NULL) {
        st_ledger_free(ledger);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        ledger->low[i] = -HUGE_VAL;
        ledger->high[i] = HUGE_VAL;
    }
    return true;
}

void st_ledger_free(st_ledger *ledger)
{
    free(ledger->low);
    free(ledger->high);
    free(ledger->states);
    free(ledger->keys);
    *ledger = (st_ledger){0};
}

/* The place of a key, or the free one where it would be (SplitMix64's finish as the hash). */
static size_t find(const uint64_t *keys, size_t capacity, uint64_t key)
{
    uint64_t hash = key;
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9U;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBU;
    size_t place = (size_t)(hash ^ (hash >> 31)) & (capacity - 1);
    while (keys[place] != 0 && keys[place] != key) {
        place = (place + 1) & (capacity - 1);
    }
    return place;
}

/* Room for one more, half of the places free at least. */
static bool make_room(st_ledger *ledger)
{
    enum { FIRST = 1024 };
    if (2 * (ledger->count + 1) <= ledger->capacity) {
        return true;
    }
    size_t capacity = ledger->capacity > 0 ? 2 * ledger->capacity : FIRST;
    uint64_t *keys = calloc(capacity, sizeof *keys);
    if (keys == NULL) {
        return false;
    }
    for (size_t i = 0; i < ledger->capacity; i++) {
        if (ledger->keys[i] != 0) {
            keys[find(keys, capacity, ledger->keys[i])] = ledger->keys[i];
        }
    }
    free(ledger->keys);
    ledger->keys = keys;
    ledger->capacity = capacity;
    return true;
}

bool st_ledger_is_computed(const st_ledger *ledger, uint64_t row)
{
    if (ledger->states != NULL) {
        return (ledger->states[row] & ST_STATE_COMPUTED) != 0;
    }
    return ledger->capacity > 0 && ledger->keys[find(ledger->keys, ledger->capacity, row + 1)] != 0;
}

bool st_ledger_note(st_ledger *ledger, uint64_t row, bool passes, double goal)
{
    if (ledger->states != NULL) {
        ledger->states[row] |= ST_STATE_COMPUTED | (passes ? ST_STATE_PASSED : ST_STATE_FAILED);
        ledger->low[row] = passes ? goal : HUGE_VAL;
        ledger->high[row] = ledger->low[row];
        return true;
    }
    if (!make_room(ledger)) {
        return false;
    }
    size_t place = find(ledger->keys, ledger->capacity, row + 1);
    ledger->count += ledger->keys[place] == 0 ? 1 : 0;
    ledger->keys[place] = row + 1;
    return true;
}
