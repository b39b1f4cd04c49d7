/* SPDX-License-Identifier: Apache-2.0 */
/* See mangled.h. */
#include "record/library/mangled.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Behind a name with its length in front of it; NULL: there is none. */
static const char *skip_name(const char *at)
{
    char *end = NULL;
    unsigned long length = strtoul(at, &end, 10);
    if (end == at || length == 0 || length > strlen(end))
        return NULL;
    return end + length;
}

uint64_t st_mangled_bytes(uint8_t kind)
{
    static const char *const letters[] = {[1] = "bahc", [2] = "st", [4] = "ijf", [8] = "lmxydP"};
    for (size_t bytes = 1; bytes <= 8; bytes *= 2)
        if (kind != 0 && strchr(letters[bytes], kind) != NULL)
            return bytes;
    return 0;
}

/* Types that later ones are spelled by, as S_, S0_, S1_, ... in the order in which they are read:
 * by their letters, 0 of a class. */
typedef struct spelling {
    uint8_t known[64];
    size_t count;
} name_spelling;

static void remember(name_spelling *spelling, uint8_t read)
{
    if (spelling->count < sizeof spelling->known)
        spelling->known[spelling->count++] = read;
}

/* Behind a type; NULL: it is spelled in a way not known here. Qualifiers and pointers are read up
 * to what they are of, and remembered from there on. */
static const char *read_type(name_spelling *spelling, const char *at, uint8_t *read)
{
    const char *prefix = at;
    at += strspn(at, "PKVr");
    const char *end = NULL;
    if (*at == 'S') {
        /* S_ is the first, S0_ the second, up to S9_, SA_. */
        end = NULL;
        const char *substitution_at = at + 1;
        size_t index = 0;
        if (isdigit((unsigned char)*substitution_at))
            index = (size_t)(*substitution_at++ - '0') + 1;
        else if (isupper((unsigned char)*substitution_at))
            index = (size_t)(*substitution_at++ - 'A') + 11;
        if (*substitution_at == '_' && index < spelling->count) {
            *read = spelling->known[index];
            end = substitution_at + 1;
        }
    } else if (isdigit((unsigned char)*at)) {
        *read = 0;
        end = skip_name(at);
        remember(spelling, *read);
    } else if (islower((unsigned char)*at)) {
        *read = (uint8_t)*at;
        end = at + 1;
    }
    for (; end != NULL && at > prefix; at--) {
        if (at[-1] == 'P')
            *read = 'P';
        remember(spelling, *read);
    }
    return end;
}

size_t st_mangled_kinds(const char *name, uint8_t *kinds, size_t most)
{
    name_spelling spelling = {.count = 0};
    if (strncmp(name, "_Z", 2) != 0)
        return 0;
    const char *at = skip_name(name + 2);
    size_t count = 0;
    while (at != NULL && *at != '\0' && count < most) {
        at = read_type(&spelling, at, &kinds[count]);
        if (at == NULL || st_mangled_bytes(kinds[count]) == 0)
            break;
        count++;
    }
    return count;
}
