/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overrides that contradict each other. A sheet may override what the sheets that it includes
 * override; two sheets where neither includes the other may not, since the effective one would
 * depend on the order in which a third one lists them. The third may settle it with an override of
 * its own.
 */
#include "sheet/loader.h"

enum { WORD_BITS = 64 };

bool st_loader_new_file(st_loader *loader, const char *file, st_place place)
{
    size_t count = loader->files.count;
    if (count == ST_SHEET_MAX_FILES) {
        loader->include_failed = true;
        return st_loader_fail(loader, place, ST_ERR_LIMIT,
                              "too many sheets are included" ST_EXPECTED "at most 1024");
    }
    size_t files = count;
    if (!ST_LOADER_APPEND(loader, loader->included, files, (st_included){{0}}))
        return false;
    return st_names_put(&loader->files, file, count) || st_loader_out_of_memory(loader);
}

void st_loader_note_include(st_loader *loader, const char *file)
{
    size_t by = 0;
    size_t index = 0;
    if (loader->depth == 0 ||
        !st_names_get(&loader->files, loader->stack[loader->depth - 1], &by) ||
        !st_names_get(&loader->files, file, &index))
        return;
    st_included *included = &loader->included[by];
    included->words[index / WORD_BITS] |= UINT64_C(1) << index % WORD_BITS;
    for (size_t i = 0; i < ST_SHEET_MAX_FILES / WORD_BITS; i++)
        included->words[i] |= loader->included[index].words[i];
}

/* Whether a file includes another, by itself or by what it includes. */
static bool includes(const st_loader *loader, const char *by, const char *file)
{
    size_t includer = 0;
    size_t index = 0;
    if (!st_names_get(&loader->files, by, &includer) || !st_names_get(&loader->files, file, &index))
        return false;
    return (loader->included[includer].words[index / WORD_BITS] >> index % WORD_BITS & 1) != 0;
}

void st_loader_note_override(st_loader *loader, st_overrides *overrides, const char *name,
                             st_place place)
{
    size_t index = overrides->count;
    if (st_names_get(&overrides->names, name, &index)) {
        st_override *known = &overrides->items[index];
        bool settled = known->rival.file == NULL || includes(loader, place.file, known->rival.file);
        if (!includes(loader, place.file, known->last.file))
            known->rival = known->last;
        else if (settled)
            known->rival = (st_place){0};
        known->last = place;
        return;
    }
    const st_override made = {.name = name, .last = place};
    overrides->names.arena = loader->arena;
    if (ST_LOADER_APPEND(loader, overrides->items, overrides->count, made) &&
        !st_names_put(&overrides->names, name, index))
        (void)st_loader_out_of_memory(loader);
}

void st_loader_check_overrides(st_loader *loader, const st_overrides *overrides)
{
    for (size_t i = 0; i < overrides->count; i++) {
        const st_override *item = &overrides->items[i];
        if (item->rival.file != NULL)
            (void)st_loader_fail(loader, item->last, ST_ERR_NAME,
                                 "conflicting overrides of '%s' here and at %s:%d: neither sheet "
                                 "includes the other" ST_EXPECTED
                                 "one override, or another one in a sheet that includes both",
                                 item->name, item->rival.file, item->rival.line);
    }
}
