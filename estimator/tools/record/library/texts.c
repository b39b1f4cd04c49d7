/* SPDX-License-Identifier: Apache-2.0 */
/* See texts.h. */
#include "record/library/texts.h"

#include "base/index.h"
#include "base/lists.h"
#include "record/library/entry.h"

static char **texts; /* by number, less the functions' */
static uint32_t count;
static size_t capacity;
static st_index numbers;

uint32_t st_string(const char *text)
{
    const uint64_t hash = st_hash_text(ST_HASH_BEGIN, text);
    uint32_t found = 0;
    ST_INDEX_FIND(&numbers, hash, found, strcmp(texts[found], text) == 0);
    if (found != ST_INDEX_NONE)
        return st_entry_count + found + 1;
    char *copy = ST_ROOM(texts, count, capacity) ? strdup(text) : NULL;
    if (copy == NULL || !st_index_add_own(&numbers, hash, count)) {
        free(copy);
        return 0;
    }
    texts[count++] = copy;
    return st_entry_count + count;
}

const char *st_string_text(uint32_t string)
{
    if (string == 0 || string > st_entry_count + count)
        return "";
    return string <= st_entry_count ? st_entries[string - 1].name
                                    : texts[string - 1 - st_entry_count];
}
