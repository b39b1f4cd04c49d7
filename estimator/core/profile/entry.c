/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of profiles, independent of their storage: valid contents, their options, and
 * the one that a job means. */
#include "profile/database.h"

#include "base/text.h"
#include "base/utf8.h"
#include "base/yaml.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 100, TEXT_BYTES = 500, PROVENANCE_BYTES = 65536, MOST_COUNT = 1 << 30 };
enum { NAMES = 3 /* of the texts: name, kind and plugin */ };

const char *const st_profile_names[ST_PROFILE_TEXTS] = {
    "name", "kind", "plugin", "cluster", "fabric", "nccl", "collective", "provenance"};

const char *st_profiles_path(st_arena *arena)
{
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    if (data != NULL && data[0] == '/')
        return st_arena_printf(arena, "%s/steptime/profiles.db", data);
    if (home != NULL && home[0] == '/')
        return st_arena_printf(arena, "%s/.local/share/steptime/profiles.db", home);
    return NULL;
}

const char *st_profile_describe(const st_profile *entry, st_errors *errors)
{
    return st_errors_text(errors, "profile '%s' of %s for %s on %zu ranks and %zu nodes",
                          entry->name, entry->plugin,
                          entry->collective[0] != '\0' ? entry->collective : "any collective",
                          entry->ranks, entry->nodes);
}

/* ---- valid entries ---- */

static bool is_name(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '_' || (i > 0 && (c == '.' || c == '-'));
        if (!plain)
            return false;
    }
    return length > 0 && length <= NAME_BYTES;
}

static bool is_text(const char *text, size_t most)
{
    size_t length = strnlen(text, most + 1);
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t bytes = st_utf8_decode(text + i, length - i, &code);
        if (bytes == 0 || st_utf8_is_control(code))
            return false;
        i += bytes;
    }
    return length <= most;
}

st_status st_profile_check(const st_profile *entry, st_place place, st_errors *errors)
{
    for (size_t i = 0; i < NAMES; i++)
        if (!is_name(entry->texts[i]))
            return st_fail(errors, ST_ERR_VALUE, place,
                           "invalid %s of a profile" ST_FOUND "'%s'" ST_EXPECTED
                           "letters, digits, '.', '_' and '-'",
                           st_profile_names[i], entry->texts[i]);
    for (size_t i = NAMES; i < ST_PROFILE_KEYS; i++)
        if (!is_text(entry->texts[i], TEXT_BYTES))
            return st_fail(errors, ST_ERR_VALUE, place,
                           "a text of a profile is too long or contains control characters" ST_FOUND
                           "'%s'" ST_EXPECTED "at most 500 bytes",
                           entry->texts[i]);
    if (entry->ranks > MOST_COUNT || entry->nodes > MOST_COUNT)
        return st_fail(errors, ST_ERR_VALUE, place,
                       "a profile has too many ranks or nodes" ST_EXPECTED "at most 2^30");
    if (entry->nodes > 0 && entry->ranks % entry->nodes != 0)
        return st_fail(errors, ST_ERR_VALUE, place,
                       "the number of ranks is not a multiple of the number of nodes" ST_FOUND
                       "%zu ranks on %zu nodes",
                       entry->ranks, entry->nodes);
    if (entry->payload_bytes > ST_PROFILE_MAX_BYTES)
        return st_fail(errors, ST_ERR_VALUE, place,
                       "the payload of a profile is too large" ST_EXPECTED "at most 16 MiB");
    if (strnlen(entry->provenance, PROVENANCE_BYTES + 1) > PROVENANCE_BYTES)
        return st_fail(errors, ST_ERR_VALUE, place,
                       "the provenance of a profile is too long" ST_EXPECTED "at most 64 KiB");
    return ST_OK;
}

/* ---- options ---- */

void st_profile_write_options(const st_profile_option *options, size_t count, st_buffer *buffer)
{
    st_buffer_text(buffer, "{");
    for (size_t i = 0; i < count; i++) {
        st_buffer_text(buffer, i > 0 ? ", " : "");
        st_buffer_json_string(buffer, options[i].name);
        st_buffer_quoted(buffer, ": ", options[i].text, "");
    }
    st_buffer_text(buffer, "}");
}

st_status st_profile_options(const st_profile *entry, st_arena *arena,
                             const st_profile_option **options, size_t *count, st_errors *errors)
{
    const char *file = st_errors_text(errors, "profile '%s'", entry->name);
    const st_yaml_node *root = NULL;
    if (strcmp(entry->kind, ST_PROFILE_TIMES) == 0 || strcmp(entry->kind, ST_PROFILE_MODEL) == 0) {
        /* A payload of another kind as the one option of that name. */
        st_profile_option *whole = st_arena_alloc(arena, 1, sizeof *whole);
        char *text = st_arena_copy(arena, entry->payload, entry->payload_bytes);
        if (whole == NULL || text == NULL)
            return ST_ERR_MEMORY;
        if (strlen(text) != entry->payload_bytes)
            return st_fail(errors, ST_ERR_VALUE,
                           (st_place){.file = st_errors_text(errors, "profile '%s'", entry->name)},
                           "the payload of the profile is not text");
        *whole = (st_profile_option){entry->kind, text};
        *options = whole;
        *count = 1;
        return ST_OK;
    }
    st_status status =
        st_yaml_parse(file, entry->payload, entry->payload_bytes, arena, &root, errors);
    if (status != ST_OK)
        return status;
    if (strcmp(entry->kind, ST_PROFILE_OPTIONS) != 0 || root->kind != ST_YAML_MAP)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = file},
                       "the profile has no options" ST_FOUND "kind '%s'", entry->kind);
    st_profile_option *found = st_arena_alloc(arena, root->count + 1, sizeof *found);
    if (found == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < root->count; i++) {
        if (root->items[i]->kind != ST_YAML_SCALAR)
            return st_fail(errors, ST_ERR_VALUE, (st_place){.file = file},
                           "an option of the profile is not a string" ST_FOUND "'%s'",
                           root->keys[i]);
        found[i] = (st_profile_option){root->keys[i], root->items[i]->text};
    }
    *options = found;
    *count = root->count;
    return ST_OK;
}

/* ---- the entry that a job means ---- */

static size_t distance(size_t have, size_t want)
{
    if (want == 0 || have == 0)
        return 0;
    size_t larger = have > want ? have : want;
    size_t smaller = have > want ? want : have;
    size_t doublings = 0;
    while (smaller < larger && smaller < MOST_COUNT) {
        smaller *= 2;
        doublings++;
    }
    return doublings;
}

/* Nodes count before ranks; what holds for any is further than what fits, nearer than the next. */
static size_t apart(const st_profile *entry, const st_profile_filter *filter)
{
    bool for_any = entry->nodes == 0 && filter->nodes != 0;
    bool of_any = filter->collective != NULL && entry->collective[0] == '\0';
    return 1000 * distance(entry->nodes, filter->nodes) +
           10 * distance(entry->ranks, filter->ranks) + (for_any ? 2 : 0) + (of_any ? 1 : 0);
}

static bool fits(const st_profile *entry, const st_profile_filter *filter)
{
    const char *own = entry->collective;
    return filter->collective == NULL || own[0] == '\0' || strcmp(own, filter->collective) == 0;
}

/* The nearest; the first of several. */
static const st_profile *nearest(const st_profile *entries, size_t count,
                                 const st_profile_filter *filter)
{
    const st_profile *best = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t own = apart(&entries[i], filter);
        if (fits(&entries[i], filter) && own < least) {
            best = &entries[i];
            least = own;
        }
    }
    return best;
}

size_t st_profile_nearest(const st_profile_found *found, size_t count,
                          const st_profile_filter *filter)
{
    size_t best = 0;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t own = apart(found[i].entry, filter);
        if (own < least) {
            best = i;
            least = own;
        }
    }
    return best;
}

static st_status no_entry(const st_profile *entries, size_t count, const st_profile_filter *filter,
                          st_errors *errors)
{
    const char *has = NULL;
    for (size_t i = 0; i < count; i++)
        if (has == NULL || strstr(has, entries[i].collective) == NULL)
            has = st_errors_text(errors, "%s%s%s", has != NULL ? has : "", has != NULL ? ", " : "",
                                 entries[i].collective);
    return st_fail(errors, ST_ERR_NAME, (st_place){0},
                   "profile '%s' has no options of %s for %s" ST_FOUND "%s", filter->name,
                   filter->plugin, filter->collective, st_or_none(has));
}

/* Entries of the profile and plugin; an error if there are none. */
static st_status must_find(st_profiles *profiles, const st_profile_filter *filter, st_arena *arena,
                           const st_profile **entries, size_t *count, st_errors *errors)
{
    const st_profile *all = NULL;
    size_t others = 0;
    /* Entries of a plugin: its options, or where there are none its times, or its model. */
    static const char *const kinds[] = {ST_PROFILE_OPTIONS, ST_PROFILE_TIMES, ST_PROFILE_MODEL};
    st_status status = ST_OK;
    *count = 0;
    for (size_t i = 0; i < 3 && *count == 0 && status == ST_OK; i++) {
        st_profile_filter entrie_all = {
            .name = filter->name, .kind = kinds[i], .plugin = filter->plugin};
        status = st_profiles_find(profiles, &entrie_all, arena, entries, count, errors);
    }
    if (status != ST_OK || *count > 0)
        return status;
    st_profile_filter named = {.name = filter->name};
    status = st_profiles_find(profiles, &named, arena, &all, &others, errors);
    if (status == ST_OK && others == 0)
        return st_profiles_unknown(profiles, filter->name, errors);
    if (status == ST_OK)
        status = st_fail(errors, ST_ERR_NAME, (st_place){0},
                         "profile '%s' has no options for plugin '%s'" ST_FOUND "'%s'",
                         filter->name, filter->plugin, all[0].plugin);
    return status;
}

static st_status choose(st_profiles *profiles, const st_profile_filter *filter, st_arena *arena,
                        const st_profile **entry, st_errors *errors)
{
    const st_profile *entries = NULL;
    size_t count = 0;
    st_status status = must_find(profiles, filter, arena, &entries, &count, errors);
    if (status != ST_OK)
        return status;
    *entry = nearest(entries, count, filter);
    return *entry != NULL ? ST_OK : no_entry(entries, count, filter, errors);
}

st_status st_profile_settings(const char *file, const st_profile_filter *filter, st_arena *arena,
                              st_profile_found *found, st_errors *errors)
{
    st_profiles *profiles = NULL;
    st_profile_found own = {.entry = NULL};
    st_status status = st_profiles_open(file, ST_PROFILES_READ, &profiles, errors);
    if (status != ST_OK)
        return status;
    status = choose(profiles, filter, arena, &own.entry, errors);
    if (status == ST_OK && own.entry != NULL)
        status = st_profile_options(own.entry, arena, &own.options, &own.count, errors);
    if (status == ST_OK)
        *found = own;
    st_profiles_close(profiles);
    return status;
}

/* The one of the same group that came before; NULL: none did. */
static st_profile_found *same_group(st_profile_found *found, size_t count, const st_profile *entry)
{
    for (size_t i = 0; i < count; i++)
        if (found[i].entry->nodes == entry->nodes && found[i].entry->ranks == entry->ranks)
            return &found[i];
    return NULL;
}

/* Those that fit, of each group the first; that of the collective before that of any. */
static void keep_fitting(const st_profile *entries, size_t count, const st_profile_filter *filter,
                         st_profile_found *found, size_t *kept, st_errors *errors)
{
    for (size_t i = 0; i < count; i++) {
        if (!fits(&entries[i], filter))
            continue;
        st_profile_found *twin =
            filter->collective != NULL ? same_group(found, *kept, &entries[i]) : NULL;
        if (twin == NULL) {
            found[(*kept)++].entry = &entries[i];
        } else if (strcmp(twin->entry->collective, entries[i].collective) == 0) {
            const st_profile *first = twin->entry;
            const st_profile *entry = &entries[i];
            st_report(errors, ST_SEVERITY_WARNING, ST_ERR_NAME, (st_place){0},
                      "profile '%s' has two entries for %s on %zu ranks and %zu node%s: uses "
                      "cluster '%s', fabric "
                      "'%s' and NCCL '%s', ignores '%s', '%s' and '%s'",
                      entry->name, entry->collective, entry->ranks, entry->nodes,
                      entry->nodes == 1 ? "" : "s", first->cluster, first->fabric, first->nccl,
                      entry->cluster, entry->fabric, entry->nccl);
        } else if (twin->entry->collective[0] == '\0') {
            twin->entry = &entries[i];
        }
    }
}

static st_status read_all_options(st_profile_found *found, size_t count, st_arena *arena,
                                  st_errors *errors)
{
    for (size_t i = 0; i < count; i++) {
        st_status status =
            st_profile_options(found[i].entry, arena, &found[i].options, &found[i].count, errors);
        if (status != ST_OK)
            return status;
    }
    return ST_OK;
}

st_status st_profile_all(const char *file, const st_profile_filter *filter, st_arena *arena,
                         st_profile_found **found, size_t *count, st_errors *errors)
{
    st_profiles *profiles = NULL;
    const st_profile *entries = NULL;
    size_t all = 0;
    *count = 0;
    st_status status = st_profiles_open(file, ST_PROFILES_READ, &profiles, errors);
    if (status == ST_OK)
        status = must_find(profiles, filter, arena, &entries, &all, errors);
    *found = status == ST_OK ? st_arena_alloc(arena, all + 1, sizeof **found) : NULL;
    if (status == ST_OK && *found == NULL)
        status = ST_ERR_MEMORY;
    if (status == ST_OK) {
        keep_fitting(entries, all, filter, *found, count, errors);
        status = read_all_options(*found, *count, arena, errors);
    }
    st_profiles_close(profiles);
    return status;
}
