/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests of plugins; see manifest.h. */
#include "plugin/linked.h"
#include "plugin/kit/manifest.h"

#include "base/oom_flag.h"
#include "base/lists.h"
#include "base/text.h"
#include "base/yaml_read.h"
#include "job/files.h"
#include "plugin/kit/probe_process.h"
#include "plugin/module.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { READ_BYTES = 65536, MOST_NAMES = 256, MOST_BYTES = 1 << 30 };

static const char *const keys[] = {"plugin",  "bytes",     "crc32",    "version",
                                   "summary", "providers", "schedules"};

enum { KEYS = ST_COUNT(keys), REQUIRED = 5 };

/* ---- the shared object ----------------------------------------------------------------------- */

typedef struct sum {
    unsigned long long bytes;
    unsigned long crc;
} sum;

/* Anything else, a pipe for one, may be read for ever. */
static bool is_ordinary(const char *file)
{
    struct stat status;
    return stat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= MOST_BYTES;
}

/* What an ordinary file holds; false where it cannot be read. */
static bool sum_file(const char *file, sum *result)
{
    unsigned char block[READ_BYTES];
    size_t length = 0;
    *result = (sum){0};
    if (!is_ordinary(file))
        return false;
    FILE *stream = fopen(file, "rbe");
    if (stream == NULL) {
        st_oom_note_errno(errno);
        return false;
    }
    while ((length = fread(block, 1, sizeof block, stream)) > 0) {
        result->crc = crc32(result->crc, block, (uInt)length);
        result->bytes += length;
    }
    bool good = ferror(stream) == 0;
    return fclose(stream) == 0 && good;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* In the child: all but length and check sum. */
static void describe(void *context, const st_plugin_module *module, st_buffer *text)
{
    (void)context;
    const st_plugin *shown = st_plugin_descriptor(module);
    st_buffer_quoted(text, "plugin: ", shown->id, "\n");
    st_buffer_quoted(text, "version: ", shown->version, "\n");
    st_buffer_quoted(text, "summary: ", shown->summary, "\n");
    for (size_t i = 0; i < shown->provider_count; i++)
        st_buffer_quoted(text, i == 0 ? "providers: [" : ", ", shown->providers[i]->name, "");
    st_buffer_text(text, shown->provider_count > 0 ? "]\n" : "");
    for (size_t i = 0; i < shown->schedule_count; i++)
        st_buffer_quoted(text, i == 0 ? "schedules: [" : ", ", shown->schedules[i]->name, "");
    st_buffer_text(text, shown->schedule_count > 0 ? "]\n" : "");
}

st_status st_plugin_write_manifest(const st_paths *paths, const char *name, st_arena *arena,
                                   st_buffer *text, st_errors *errors)
{
    const st_plugin_viewer viewer = {.show = describe};
    const char *file = NULL;
    sum total = {0};
    st_status status = st_plugin_locate(paths, name, (st_place){0}, arena, &file, errors);
    if (status == ST_OK && !sum_file(file, &total))
        status = st_fail(errors, ST_ERR_IO, (st_place){.file = file}, "cannot be read");
    if (status == ST_OK)
        status = st_plugin_probe(paths, file, &viewer, arena, text, errors);
    if (status == ST_OK)
        st_buffer_printf(text, "bytes: %llu\ncrc32: %08lx\n", total.bytes, total.crc);
    return status == ST_OK && text->failed ? st_out_of_memory(errors) : status;
}

/* "a/b.manifest" of "a/b.so", "" where there is none; NULL when out of memory. */
static const char *manifest_of(const char *file, st_arena *arena)
{
    const char *path = st_arena_printf(arena, "%.*s.manifest", (int)strlen(file) - 3, file);
    return path == NULL || access(path, F_OK) == 0 || errno != ENOENT ? path : "";
}

static st_status read_manifest(const char *path, const char *file, st_arena *arena,
                               st_source *source, st_errors *errors)
{
    if (!is_ordinary(path))
        return st_fail(errors, ST_ERR_IO, (st_place){.file = path},
                       "the manifest is not a regular file");
    return st_file_read(path, (st_place){.file = file}, arena, source, errors);
}

st_status st_plugin_match_manifest(const st_paths *paths, const char *name, st_arena *arena,
                                   st_manifest_match *match, st_errors *errors)
{
    const char *file = NULL;
    st_buffer text = {0};
    st_source source = {0};
    *match = ST_MANIFEST_ABSENT;
    st_status status = st_plugin_locate(paths, name, (st_place){0}, arena, &file, errors);
    if (status != ST_OK)
        return status;
    const char *path = manifest_of(file, arena);
    if (path == NULL || path[0] == '\0')
        return path == NULL ? st_out_of_memory(errors) : ST_OK;
    status = read_manifest(path, file, arena, &source, errors);
    if (status == ST_OK)
        status = st_plugin_write_manifest(paths, file, arena, &text, errors);
    if (status == ST_OK)
        *match = source.text != NULL && source.length == text.length &&
                         memcmp(source.text, text.data, text.length) == 0
                     ? ST_MANIFEST_SAME
                     : ST_MANIFEST_OTHER;
    st_buffer_free(&text);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* "a, b" of a list of names; "" where the key is absent. */
static const char *names_of(st_yaml_reader *reader, const st_yaml_node *root, const char *key)
{
    const st_yaml_node *list = st_read_list(reader, root, key, MOST_NAMES);
    const char *text = "";
    for (size_t i = 0; list != NULL && i < list->count && text != NULL; i++)
        if (st_read_is(reader, list->items[i], ST_YAML_SCALAR, "a name"))
            text = st_arena_printf(reader->arena, "%s%s%s", text, i == 0 ? "" : ", ",
                                   list->items[i]->text);
    return text != NULL ? text : "";
}

/* Whether length and check sum are those of the shared object. */
static bool is_of(st_yaml_reader *reader, const st_yaml_node *root, const sum *total)
{
    char bytes[24];
    char crc[16];
    (void)snprintf(bytes, sizeof bytes, "%llu", total->bytes);
    (void)snprintf(crc, sizeof crc, "%08lx", total->crc);
    return strcmp(st_read_text(reader, root, "bytes", ""), bytes) == 0 &&
           strcmp(st_read_text(reader, root, "crc32", ""), crc) == 0;
}

static const st_plugin_state nothing = {
    .reason = "", .version = "", .summary = "", .providers = "", .schedules = ""};

static st_status read_text(const st_source *source, const st_plugin_entry *entry, const sum *total,
                           st_arena *arena, st_plugin_state *state)
{
    const st_yaml_node *root = NULL;
    st_yaml_reader reader = {.arena = arena, .errors = st_errors_create(), .file = source->file};
    if (reader.errors == NULL)
        return ST_ERR_MEMORY;
    reader.status =
        st_yaml_parse(source->file, source->text, source->length, arena, &root, reader.errors);
    *state = nothing;
    const char *unknown = NULL;
    if (reader.status == ST_OK) {
        if (st_read_is(&reader, root, ST_YAML_MAP, "a manifest")) {
            st_read_keys(&reader, root, "a manifest", keys, KEYS, REQUIRED);
            const char *id = st_read_text(&reader, root, "plugin", "");
            state->version = st_read_text(&reader, root, "version", "");
            state->summary = st_read_text(&reader, root, "summary", "");
            state->providers = names_of(&reader, root, "providers");
            state->schedules = names_of(&reader, root, "schedules");
            state->use = strcmp(id, entry->id) == 0 ? ST_PLUGIN_USABLE : ST_PLUGIN_UNUSABLE;
            if (state->use == ST_PLUGIN_UNUSABLE)
                state->reason =
                    st_arena_printf(reader.arena, "its id is '%.80s', not '%s'", id, entry->id);
        }
    }
    if (reader.status != ST_OK)
        unknown = "its manifest cannot be read";
    else if (!is_of(&reader, root, total))
        unknown = "its manifest belongs to another build";
    st_errors_destroy(reader.errors);
    if (unknown != NULL) {
        *state = nothing;
        state->reason = unknown;
    }
    return reader.status == ST_ERR_MEMORY || state->reason == NULL ? ST_ERR_MEMORY : ST_OK;
}

/* Of a plugin inside the program, whose descriptor is at hand. */
static st_status read_linked(const st_linked_plugin *linked, st_arena *arena,
                             st_plugin_state *state)
{
    const st_plugin *shown = linked->describe();
    *state = nothing;
    state->use = ST_PLUGIN_USABLE;
    state->version = shown->version;
    state->summary = shown->summary;
    for (size_t i = 0; i < shown->provider_count; i++)
        st_text_add(arena, &state->providers, ", ", "%s", shown->providers[i]->name);
    for (size_t i = 0; i < shown->schedule_count; i++)
        st_text_add(arena, &state->schedules, ", ", "%s", shown->schedules[i]->name);
    return state->providers == NULL || state->schedules == NULL ? ST_ERR_MEMORY : ST_OK;
}

st_status st_plugin_read_manifest(const st_plugin_entry *entry, st_arena *arena,
                                  st_plugin_state *state)
{
    st_source source = {0};
    sum total = {0};
    st_errors *errors = st_errors_create();
    const st_linked_plugin *linked = st_linked_plugin_find(entry->file);
    if (linked != NULL) {
        st_errors_destroy(errors);
        return read_linked(linked, arena, state);
    }
    const char *path = manifest_of(entry->file, arena);
    st_status status = errors == NULL || path == NULL ? ST_ERR_MEMORY : ST_OK;
    *state = nothing;
    state->reason = "it has no manifest";
    if (status != ST_OK || path[0] == '\0')
        goto cleanup;
    state->reason = "its manifest cannot be read";
    status = read_manifest(path, entry->file, arena, &source, errors);
    if (status == ST_OK && sum_file(entry->file, &total))
        status = read_text(&source, entry, &total, arena, state);
    else
        status = status == ST_ERR_MEMORY ? status : ST_OK;
cleanup:
    st_errors_destroy(errors);
    return status;
}

st_status st_plugin_look(const st_paths *paths, const st_plugin_entry *entry, st_arena *arena,
                         st_plugin_state *state)
{
    st_buffer text = {0};
    st_errors *errors = st_errors_create();
    sum total = {0};
    *state = nothing;
    if (errors == NULL)
        return ST_ERR_MEMORY;
    st_status status = st_plugin_write_manifest(paths, entry->file, arena, &text, errors);
    if (status == ST_OK) {
        const st_source source = {.file = entry->file, .text = text.data, .length = text.length};
        status = sum_file(entry->file, &total) ? read_text(&source, entry, &total, arena, state)
                                               : ST_ERR_IO;
    }
    if (status != ST_OK && status != ST_ERR_MEMORY) {
        state->use = ST_PLUGIN_UNUSABLE;
        /* The first error without the file, which is shown separately. */
        static const char mark[] = " cannot be used: ";
        const char *reason_text = "no memory";
        for (size_t i = st_errors_size(errors); i-- > 0;)
            if (st_errors_at(errors, i)->severity == ST_SEVERITY_ERROR)
                reason_text = st_errors_at(errors, i)->message;
        const char *found = strstr(reason_text, mark);
        reason_text = found == NULL ? reason_text : found + sizeof mark - 1;
        state->reason = st_arena_copy(arena, reason_text, strlen(reason_text));
        status = state->reason != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    st_buffer_free(&text);
    st_errors_destroy(errors);
    return status;
}
