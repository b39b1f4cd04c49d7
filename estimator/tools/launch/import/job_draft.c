/* SPDX-License-Identifier: Apache-2.0 */
/* Values and notes of a job file in the making; see job_draft.h. */
#include "launch/import/job_draft.h"

#include "base/chars.h"
#include "base/text.h"
#include "steptime/keys.h"
#include "steptime/tool/job_keys.h"
#include "steptime/tool/value_text.h"

#include <inttypes.h>
#include <string.h>

void st_draft_out_of_memory(st_draft *draft)
{
    if (draft->status != ST_ERR_MEMORY)
        (void)st_out_of_memory(draft->errors);
    draft->status = ST_ERR_MEMORY;
}

void *st_draft_alloc(st_draft *draft, size_t count, size_t size_bytes)
{
    void *memory = st_arena_alloc(draft->arena, count, size_bytes);
    if (memory == NULL)
        st_draft_out_of_memory(draft);
    return memory;
}

const char *st_draft_keep(st_draft *draft, st_buffer *buffer)
{
    const char *text = st_buffer_keep(buffer, draft->arena);
    if (text == NULL)
        st_draft_out_of_memory(draft);
    return st_or_none(text);
}

const char *st_draft_text(st_draft *draft, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *copy = st_arena_copy(draft->arena, text, strlen(text));
    if (copy == NULL)
        st_draft_out_of_memory(draft);
    return st_or_none(copy);
}

void st_draft_note(st_draft *draft, const char *format, ...)
{
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (draft->note_count >= ST_DRAFT_NOTES)
        return;
    char *copy = st_arena_copy(draft->arena, text, strlen(text));
    if (copy == NULL)
        st_draft_out_of_memory(draft);
    else
        draft->notes[draft->note_count++] = copy;
}

void st_draft_key(st_draft *draft, const char *name, const char *value, int line, st_key_fate fate)
{
    const st_source_key key = {name, value, line, fate};
    if (draft->request->report == NULL)
        return;
    /* A setting may have lost its section on the way, "model." of "model.name". */
    for (size_t i = 0; i < draft->key_count && fate != ST_FATE_READ; i++) {
        st_source_key *known = &draft->keys[i];
        const size_t section = strlen(known->name) - strlen(name);
        if (known->line != line || !st_ends_in(known->name, name) ||
            (section > 0 && known->name[section - 1] != '.'))
            continue;
        known->fate = fate;
        return;
    }
    if (!ST_APPEND(draft->arena, draft->keys, draft->key_count, key))
        st_draft_out_of_memory(draft);
}

const char *st_draft_source(const st_draft *draft)
{
    const char *slash = strrchr(draft->request->file, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : draft->request->file;
}

/* ---- the request ---- */

/* Adds "NAME=VALUE" to a list, or puts it in the place of one with the same name. */
static void put_assignment(const char **list, size_t *count, const char *assignment)
{
    size_t length = strcspn(assignment, "=");
    size_t at = 0;
    while (at < *count &&
           (strncmp(list[at], assignment, length) != 0 || list[at][length] != assignment[length]))
        at++;
    *count += at == *count;
    list[at] = assignment;
}

static bool refuse_section(st_draft *draft, const char *key)
{
    ST_NOTE(draft, ST_ERR_USAGE, (st_place){.file = "--set"},
            "'%s' cannot be set in an import" ST_EXPECTED
            "a key of the job, such as batch.sequence=4096" ST_HINT "%s",
            key, strcmp(key, ST_KEY_CLUSTER) == 0 ? "use --cluster" : "");
    return false;
}

/* Assignments fill in a job that the source describes; whole sections come from the source. */
static bool is_key_set(st_draft *draft, const char *set)
{
    st_assignment read;
    if (!st_assignment_read(set, draft->arena, &read)) {
        st_draft_out_of_memory(draft);
        return false;
    }
    if (strcmp(read.key, ST_KEY_STACK) == 0)
        put_assignment(draft->files, &draft->file_count, set);
    else if (strncmp(read.key, ST_KEY_CONSTANTS ".", 10) == 0)
        put_assignment(draft->constants, &draft->constant_count, set + strspn(set, " ") + 10);
    else if (strcmp(read.key, ST_KEY_MODEL) == 0)
        draft->has_model = true;
    else if (st_section_find(read.key) != NULL)
        return refuse_section(draft, read.key);
    return true; /* the loader reports what is wrong with others */
}

/* What follows "PREFIX" in an assignment; NULL where it begins otherwise. */
static const char *behind(const char *assignment, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(assignment, prefix, length) == 0 ? assignment + length : NULL;
}

/* "SECTION=NAME": a section that a file fills, not a key. */
static bool is_file_set(const char *assignment)
{
    char path[64];
    size_t length = strcspn(assignment, "=");
    if (length >= sizeof path)
        return false;
    memcpy(path, assignment, length);
    path[length] = '\0';
    const st_key_section *section = st_section_find(path);
    return section != NULL && section->is_file;
}

/* The user's cluster replaces all that the source carries of one. */
static bool is_replaced(const st_draft *draft, const char *carried)
{
    return behind(carried, ST_KEY_CLUSTER "=") != NULL ||
           (draft->request->cluster != NULL && behind(carried, ST_KEY_CLUSTER ".") != NULL);
}

static bool is_users(const st_draft *draft, const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < draft->request->set_count; i++)
        if (strncmp(draft->request->sets[i], path, length) == 0 &&
            draft->request->sets[i][length] == '=')
            return true;
    return false;
}

/* Whether the model of the request says a key, by its value or by silence. */
static bool is_of_model(const st_draft *draft, const char *path)
{
    return draft->has_model && behind(path, ST_KEY_MODEL ".") != NULL;
}

/* One form of all that the request may have: "stack=NAME@RELEASE". */
static void name_stack(st_draft *draft)
{
    const char *name = st_job_section_name(draft->given, ST_KEY_STACK);
    const char *release = draft->values[st_key_index(st_key_find(ST_KEY_STACK_RELEASE))].text;
    bool is_asked = release != NULL;
    for (size_t i = 0; i < draft->file_count; i++)
        is_asked = is_asked || behind(draft->files[i], ST_KEY_STACK "=") != NULL;
    if (is_asked && name != NULL)
        put_assignment(draft->files, &draft->file_count,
                       st_draft_text(draft, ST_KEY_STACK "=%s%s%s", name,
                                     release != NULL ? "@" : "", st_or_none(release)));
}

st_status st_draft_start(st_draft *draft, const st_import_request *request, st_arena *arena,
                         st_errors *errors)
{
    size_t key_count = 0;
    size_t count = 0;
    const st_key *keys = st_keys(&key_count);
    const size_t carried_count = request->carried_count;
    *draft = (st_draft){
        .request = request, .arena = arena, .errors = errors, .cluster = request->cluster};
    draft->values = st_draft_alloc(draft, key_count, sizeof *draft->values);
    const size_t most = request->set_count + carried_count + 2;
    draft->constants = st_draft_alloc(draft, most, sizeof *draft->constants);
    draft->files = st_draft_alloc(draft, most, sizeof *draft->files);
    const char **sets = st_draft_alloc(draft, most, sizeof *sets);
    if (draft->status != ST_OK)
        return draft->status;
    /* Files and constants that the source carries; they are not keys. */
    for (size_t i = 0; i < carried_count; i++) {
        const char *cluster = behind(request->carried[i], ST_KEY_CLUSTER "=");
        const char *gpu = behind(request->carried[i], ST_KEY_CLUSTER_GPU "=");
        const char *constant = behind(request->carried[i], ST_KEY_CONSTANTS ".");
        if (constant != NULL)
            put_assignment(draft->constants, &draft->constant_count, constant);
        else if (request->cluster == NULL && cluster != NULL)
            draft->cluster = cluster;
        else if (request->cluster == NULL && gpu != NULL)
            draft->gpu = gpu;
        else if (is_file_set(request->carried[i]) && cluster == NULL && gpu == NULL)
            put_assignment(draft->files, &draft->file_count, request->carried[i]);
    }
    /* A job of assignments alone: the loader checks them as everywhere. */
    if (draft->cluster != NULL)
        sets[count++] = st_draft_text(draft, ST_KEY_CLUSTER "=%s", draft->cluster);
    draft->has_model = request->model != NULL;
    if (draft->has_model)
        sets[count++] = st_draft_text(draft, ST_KEY_MODEL "=%s", request->model);
    for (size_t i = 0; i < carried_count; i++)
        if (!is_replaced(draft, request->carried[i]))
            sets[count++] = request->carried[i];
    for (size_t i = 0; i < request->set_count; i++)
        if (is_key_set(draft, request->sets[i]))
            sets[count++] = request->sets[i];
    st_note(&draft->status,
            st_job_load(request->paths, NULL, sets, count, arena, &draft->given, errors));
    for (size_t i = 0; i < key_count && draft->status == ST_OK; i++) {
        const st_job_value *value = st_job_value_of(draft->given, keys[i].path);
        bool is_set = carried_count == 0 || is_users(draft, keys[i].path);
        if (value->origin == ST_ORIGIN_SET)
            draft->values[i] = (st_draft_value){.text = value->text,
                                                .origin = is_set ? "--set" : "the exported job"};
        if (value->origin == ST_ORIGIN_FILE && is_of_model(draft, keys[i].path))
            draft->values[i] = (st_draft_value){.text = value->text, .origin = "--model"};
    }
    if (draft->status == ST_OK)
        name_stack(draft);
    return draft->status;
}

/* ---- values ---- */

bool st_draft_is_given(const st_draft *draft, const char *path)
{
    const st_job_value *value = st_job_value_of(draft->given, path);
    return value != NULL && (value->origin == ST_ORIGIN_SET || is_of_model(draft, path));
}

uint64_t st_draft_count(const st_draft *draft, const char *path)
{
    const st_key *key = st_key_find(path);
    const char *text = key == NULL ? NULL : draft->values[st_key_index(key)].text;
    double number = 0;
    if (text == NULL)
        return 0;
    st_value_text value = {.text = text, .length = strlen(text)};
    return st_value_parse(key, &value, &number, NULL) == ST_OK ? (uint64_t)number : 0;
}

void st_draft_put(st_draft *draft, const char *path, int line, const char *text, const char *origin)
{
    const st_place place = {.file = draft->request->file, .line = line};
    st_draft_put_at(draft, path, place, text, origin);
}

void st_draft_put_at(st_draft *draft, const char *path, st_place place, const char *text,
                     const char *origin)
{
    const st_key *key = st_key_find(path);
    if (key == NULL || draft->values == NULL) {
        ST_NOTE(draft, ST_ERR_NAME, (st_place){0},
                "an importer writes an unknown key" ST_FOUND "%s", st_or_none(path));
        return;
    }
    st_draft_value *value = &draft->values[st_key_index(key)];
    st_value_text parsed = {.text = text, .length = strlen(text), .place = place};
    double number = 0;
    if (st_draft_is_given(draft, path)) {
        if (value->text == NULL)
            return; /* the model that is named in its place has the default */
        value->origin =
            st_draft_text(draft, "%s, in place of %s from %s", value->origin, text, origin);
        return;
    }
    st_status status = st_value_parse(key, &parsed, &number, draft->errors);
    st_note(&draft->status, status);
    *value = (st_draft_value){.text = text, .origin = origin};
}

void st_draft_put_count(st_draft *draft, const char *path, int line, uint64_t value,
                        const char *origin)
{
    st_draft_put(draft, path, line, st_draft_text(draft, "%" PRIu64, value), origin);
}

void st_draft_put_bool(st_draft *draft, const char *path, bool value, const char *origin)
{
    st_draft_put(draft, path, 0, value ? "true" : "false", origin);
}
