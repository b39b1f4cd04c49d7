/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by name, for programs that ask for them while they run. */
#include "record/library/handlers.h"

#include "base/lists.h"

char st_spare_names[ST_SPARES][ST_SPARE_BYTES];
static uint32_t spares_used;

/* The first entry that is not before a name. */
static uint32_t not_before(const char *name)
{
    size_t low = 0;
    ST_BISECT(low, st_entry_count - ST_SPARES, strcmp(st_entries[middle].name, name) < 0);
    return (uint32_t)low;
}

st_function st_address_of(const char *name)
{
    const st_entry *found = NULL;
    size_t length = strlen(name);
    uint32_t real = st_entry_count - ST_SPARES;
    for (uint32_t i = not_before(name); i < real; i++) {
        const char *other = st_entries[i].name;
        if (strncmp(other, name, length) != 0)
            break;
        const char *rest = other + length;
        bool version = strncmp(rest, "_v", 2) == 0 && strspn(rest + 2, "0123456789") > 0 &&
                       rest[2 + strspn(rest + 2, "0123456789")] == '\0';
        /* Of versions the newest that works, else the name itself. */
        if (*rest == '\0' || (version && (found == NULL || st_entries[i].run != NULL)))
            found = &st_entries[i];
    }
    if (found != NULL)
        return found->address;
    uint32_t first = st_entry_count - ST_SPARES;
    uint32_t at = 0;
    while (at < spares_used && strcmp(st_spare_names[at], name) != 0)
        at++;
    if (at == ST_SPARES)
        at = ST_SPARES - 1; /* more unknown names than this are one */
    if (at == spares_used) {
        (void)snprintf(st_spare_names[at], ST_SPARE_BYTES, "%s", name);
        spares_used++;
    }
    return st_entries[first + at].address;
}

static const st_entry *exact(const char *name)
{
    uint32_t at = not_before(name);
    bool found = at < st_entry_count - ST_SPARES && strcmp(st_entries[at].name, name) == 0;
    return found ? &st_entries[at] : NULL;
}

st_function st_address_of_known(const char *name)
{
    const st_entry *found = exact(name);
    return found != NULL ? found->address : NULL;
}

st_function st_address_of_runtime(const char *name)
{
    const st_entry *found = exact(name);
    return found != NULL && found->library == ST_CUDART ? found->address : NULL;
}
