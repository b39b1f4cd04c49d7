/* SPDX-License-Identifier: Apache-2.0 */
/* See texts.h: a hash table of texts that grows by doubling. */
#include "record/library/texts.h"

#include "base/hash.h"
#include "record/library/entry.h"

#include <stdlib.h>

static char **texts; /* by number, less the functions' */
static uint32_t count;
static uint32_t capacity;
static uint32_t *slots; /* index in `texts` + 1; 0: free */
static uint32_t slot_count;

static uint32_t *slot_of(const char *text)
{
    uint64_t at = st_hash_text(ST_HASH_BEGIN, text);
    while (slots[at % slot_count] != 0 && strcmp(texts[slots[at % slot_count] - 1], text) != 0)
        at++;
    return &slots[at % slot_count];
}

static bool grow(void)
{
    uint32_t wanted = capacity > 0 ? 2 * capacity : 512;
    char **more = realloc(texts, wanted * sizeof *texts);
    if (more != NULL)
        texts = more;
    uint32_t *free_slots = calloc((size_t)wanted * 2, sizeof *slots);
    if (more == NULL || free_slots == NULL) {
        free(free_slots);
        return false;
    }
    free(slots);
    slots = free_slots;
    slot_count = wanted * 2;
    capacity = wanted;
    for (uint32_t i = 0; i < count; i++)
        *slot_of(texts[i]) = i + 1;
    return true;
}

uint32_t st_string(const char *text)
{
    if (count == capacity && !grow())
        return 0;
    uint32_t *slot = slot_of(text);
    if (*slot == 0) {
        char *copy = strdup(text);
        if (copy == NULL)
            return 0;
        texts[count++] = copy;
        *slot = count;
    }
    return st_entry_count + *slot;
}

const char *st_string_text(uint32_t string)
{
    if (string == 0 || string > st_entry_count + count)
        return "";
    return string <= st_entry_count ? st_entries[string - 1].name
                                    : texts[string - 1 - st_entry_count];
}
