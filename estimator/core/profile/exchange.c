/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles as a text to send to someone: JSON, which the reader of YAML reads too, with its bounds
 * and its places. A binary payload is in base64.
 */
#include "profile/database.h"

#include "base/utf8.h"
#include "base/yaml_read.h"
#include "base/result.h"
#include "steptime/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "steptime profiles"

enum { MOST_ENTRIES = 10000, MOST_COUNT = 1 << 30 };

static const char digits[] = ST_BASE64_DIGITS;

/* ---- writing ---- */

static void put_profile(const void *context, size_t index, st_node *map)
{
    const st_profile *entry = (const st_profile *)context + index;
    for (size_t i = 0; i < ST_PROFILE_KEYS; i++)
        st_put_text(map, st_profile_names[i], entry->texts[i]);
    st_put_count(map, "ranks", entry->ranks);
    st_put_count(map, "nodes", entry->nodes);
    bool is_text = true;
    const char *text_payload = entry->payload;
    for (size_t i = 0; i < entry->payload_bytes;) {
        uint32_t code = 0;
        size_t bytes = st_utf8_decode(text_payload + i, entry->payload_bytes - i, &code);
        if (bytes == 0 || (st_utf8_is_control(code) && code != '\n' && code != '\t')) {
            is_text = false;
            break;
        }
        i += bytes;
    }
    if (is_text) {
        st_put_format(map, "payload", "%.*s", (int)entry->payload_bytes,
                      (const char *)entry->payload);
    } else {
        const unsigned char *payload = entry->payload;
        st_buffer text = {0};
        st_buffer_base64(&text, payload, entry->payload_bytes);
        st_put_buffer(map, "payload_base64", &text);
    }
    st_put_text(map, "provenance", entry->provenance);
}

void st_profiles_export(const st_profile *entries, size_t count, st_buffer *buffer)
{
    st_result result;
    st_arena *arena = st_arena_create();
    if (arena == NULL) {
        buffer->failed = true;
        return;
    }
    st_node *root = st_result_begin_plain(&result, arena);
    st_put_text(root, "format", FORMAT);
    st_put_count(root, "schema", ST_PROFILE_SCHEMA);
    (void)st_put_maps(root, "profiles", put_profile, entries, count);
    st_result_write_json(&result, buffer);
    st_arena_destroy(arena);
}

/* ---- reading ---- */

static const char *const root_keys[] = {"format", "schema", "profiles"};
static const char *const entry_keys[] = {
    "name", "kind",       "plugin", "provenance", "cluster", "fabric",
    "nccl", "collective", "ranks",  "nodes",      "payload", "payload_base64",
};

/* "" where the text is absent or empty. */
static const char *read_text(st_yaml_reader *reader, const st_yaml_node *map, const char *key)
{
    const st_yaml_node *node = st_yaml_get(map, key);
    if (node == NULL || (node->kind == ST_YAML_SCALAR && node->length == 0))
        return "";
    return st_read_is(reader, node, ST_YAML_SCALAR, key) ? node->text : "";
}

static size_t read_count(st_yaml_reader *reader, const st_yaml_node *map, const char *key)
{
    const st_yaml_node *node = st_yaml_get(map, key);
    double value = 0;
    if (node == NULL || !st_read_is(reader, node, ST_YAML_SCALAR, key))
        return 0;
    st_status status =
        st_number_parse(node->text, node->length, node->place, &value, reader->errors);
    if (status != ST_OK) {
        st_note(&reader->status, status);
        return 0;
    }
    if (value >= 0 && value <= MOST_COUNT && value == floor(value))
        return (size_t)value;
    ST_NOTE(reader, ST_ERR_VALUE, node->place,
            "invalid number of ranks or nodes" ST_FOUND "%s" ST_EXPECTED
            "a whole number up to 2^30",
            st_yaml_describe(node, reader->errors));
    return 0;
}

/* SIZE_MAX where the text is not valid base64. */
static size_t decode(const char *text, size_t length, unsigned char *bytes)
{
    size_t used = 0;
    if (length % 4 != 0)
        return SIZE_MAX;
    for (size_t i = 0; i < length; i += 4) {
        unsigned group = 0;
        unsigned padding = 0;
        for (size_t k = 0; k < 4; k++) {
            const char c = text[i + k];
            const char *digit = c != '\0' ? strchr(digits, c) : NULL;
            bool pads = text[i + k] == '=' && k >= 2 && i + 4 == length;
            if ((digit == NULL && !pads) || (digit != NULL && padding > 0))
                return SIZE_MAX;
            padding += pads ? 1 : 0;
            group = group << 6 | (pads ? 0 : (unsigned)(digit - digits));
        }
        for (unsigned k = 0; k < 3 - padding; k++)
            bytes[used++] = (unsigned char)(group >> (16 - 8 * k));
    }
    return used;
}

static void read_entry(st_yaml_reader *reader, const st_yaml_node *map, st_profile *entry)
{
    if (!st_read_is(reader, map, ST_YAML_MAP, "an entry of 'profiles'"))
        return;
    st_read_keys(reader, map, "profile", entry_keys, ST_COUNT(entry_keys), 4);
    for (size_t i = 0; i < ST_PROFILE_KEYS; i++)
        entry->texts[i] = read_text(reader, map, st_profile_names[i]);
    entry->ranks = read_count(reader, map, "ranks");
    entry->nodes = read_count(reader, map, "nodes");
    entry->payload = "";
    entry->provenance = read_text(reader, map, "provenance");
    const st_yaml_node *plain = st_yaml_get(map, "payload");
    const st_yaml_node *coded = st_yaml_get(map, "payload_base64");
    if ((plain == NULL) == (coded == NULL)) {
        ST_NOTE(reader, ST_ERR_VALUE, map->place,
                "an entry requires either 'payload' or 'payload_base64'");
    } else if (plain != NULL) {
        if (st_read_is(reader, plain, ST_YAML_SCALAR, "payload")) {
            entry->payload = plain->text;
            entry->payload_bytes = plain->length;
        }
    } else if (st_read_is(reader, coded, ST_YAML_SCALAR, "payload_base64")) {
        unsigned char *bytes = st_read_alloc(reader, coded->length + 1, 1);
        size_t length = bytes != NULL ? decode(coded->text, coded->length, bytes) : 0;
        if (length == SIZE_MAX) {
            ST_NOTE(reader, ST_ERR_VALUE, coded->place, "payload is not valid base64");
        } else {
            entry->payload = bytes;
            entry->payload_bytes = length;
        }
    }
    if (reader->status != ST_OK)
        return;
    reader->status = st_profile_check(entry, map->place, reader->errors);
    if (reader->status == ST_OK) {
        /* Options that cannot be read would be an error of every job that names the profile. */
        const st_profile_option *options = NULL;
        size_t count = 0;
        if (strcmp(entry->kind, ST_PROFILE_OPTIONS) == 0 &&
            st_profile_options(entry, reader->arena, &options, &count, NULL) != ST_OK)
            ST_NOTE(reader, ST_ERR_VALUE, map->place,
                    "the payload does not contain options" ST_EXPECTED
                    "a JSON object that maps option names to strings");
    }
}

/* An entry and its place. */
typedef struct placed {
    const st_profile *entry;
    st_place place;
} placed;

static int compare_keys(const st_profile *a, const st_profile *b)
{
    int order = 0;
    for (size_t i = 0; order == 0 && i < ST_PROFILE_KEYS; i++)
        order = strcmp(a->texts[i], b->texts[i]);
    ST_RISING(ranks) ST_RISING(nodes) return order;
}

ST_COMPARE(compare_placed, placed,
           ST_THEN(compare_keys(a->entry, b->entry)) ST_RISING(place.line) ST_RISING(place.column));

static size_t read_entries(st_yaml_reader *reader, const st_yaml_node *root, st_profile **entries)
{
    if (!st_read_is(reader, root, ST_YAML_MAP, "an export of profiles"))
        return 0;
    const char *format = read_text(reader, root, "format");
    size_t schema = read_count(reader, root, "schema");
    if (strcmp(format, FORMAT) != 0)
        ST_NOTE(reader, ST_ERR_SYNTAX, root->place,
                "not an export of profiles" ST_EXPECTED "\"format\": \"" FORMAT "\"");
    else if (schema == 0)
        ST_NOTE(reader, ST_ERR_VALUE, root->place,
                "an export of profiles has no schema" ST_EXPECTED "\"schema\": %d",
                ST_PROFILE_SCHEMA);
    else if (schema > ST_PROFILE_SCHEMA)
        ST_NOTE(reader, ST_ERR_VALUE, root->place,
                "the profiles have schema %zu, and this steptime supports schemas up to %d" ST_HINT
                "use a newer steptime",
                schema, ST_PROFILE_SCHEMA);
    if (reader->status != ST_OK)
        return 0;
    st_read_keys(reader, root, "an export of profiles", root_keys, ST_COUNT(root_keys), 3);
    const st_yaml_node *list = st_read_list(reader, root, "profiles", MOST_ENTRIES);
    size_t count = list != NULL ? list->count : 0;
    *entries = st_read_alloc(reader, count + 1, sizeof **entries);
    for (size_t i = 0; i < count && *entries != NULL; i++)
        read_entry(reader, list->items[i], &(*entries)[i]);
    if (reader->status == ST_OK && count > 1) {
        /* Of two entries with one key, which one was meant? */
        const st_profile *twin_entries = *entries;
        placed *sorted = st_read_alloc(reader, count + 1, sizeof *sorted);
        if (sorted != NULL && reader->status == ST_OK) {
            for (size_t i = 0; i < count; i++)
                sorted[i] = (placed){&twin_entries[i], list->items[i]->place};
            qsort(sorted, count, sizeof *sorted, compare_placed);
            for (size_t i = 1; i < count; i++)
                if (compare_keys(sorted[i].entry, sorted[i - 1].entry) == 0)
                    ST_NOTE(reader, ST_ERR_NAME, sorted[i].place,
                            "profile '%s' of %s for %s on %zu ranks and %zu nodes "
                            "is a duplicate of line %d",
                            sorted[i].entry->name, sorted[i].entry->plugin,
                            sorted[i].entry->collective, sorted[i].entry->ranks,
                            sorted[i].entry->nodes, sorted[i - 1].place.line);
        }
    }
    return count;
}

st_status st_profiles_read(const st_profile_text *text, st_arena *arena, const st_profile **entries,
                           size_t *count, st_errors *errors)
{
    st_yaml_reader reader = {.arena = arena, .errors = errors, .file = text->file};
    const st_yaml_node *root = NULL;
    st_profile *read = NULL;
    size_t found = 0;
    reader.status = st_yaml_parse_large(text->file, text->text, text->length, arena, &root, errors);
    if (reader.status == ST_OK)
        found = read_entries(&reader, root, &read);
    if (reader.status == ST_OK) {
        *entries = read;
        *count = found;
    }
    return reader.status;
}
