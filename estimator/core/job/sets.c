/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assignments from the command line. They are read before the files, because one that names a file
 * for a section keeps the job's own from being read, and applied after them, because they win.
 */
#include "base/text.h"
#include "job/sections.h"
#include "job/bind.h"
#include "job/files.h"
#include "job/job_loader.h"
#include "steptime/keys.h"

#include <math.h>
#include <string.h>

enum { MAX_SET_BYTES = 4096 };

st_status st_errors_move(st_errors *to, const st_errors *from, st_place place)
{
    st_status first = ST_OK;
    for (size_t i = 0; i < st_errors_size(from); i++) {
        st_error error = *st_errors_at(from, i);
        bool here = error.place.file != NULL && error.place.line <= 0 &&
                    strcmp(error.place.file, place.file) == 0;
        if (here && error.status != ST_ERR_MEMORY && error.status != ST_ERR_IO)
            error.status = ST_ERR_USAGE;
        if (here)
            error.place.column =
                0; /* it counts from the value, whose start the user does not see */
        st_status status = st_errors_add(to, &error);
        if (first == ST_OK && error.severity == ST_SEVERITY_ERROR)
            first = status;
    }
    return first;
}

static ST_PRINTF(3, 4) bool refuse(st_loader *loader, st_place place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    st_note(&loader->status, st_vfail(loader->errors, ST_ERR_USAGE, place, format, arguments));
    va_end(arguments);
    return false;
}

size_t st_option_plugin(const char *path)
{
    if (strncmp(path, ST_KEY_REFINE ".", sizeof ST_KEY_REFINE) != 0)
        return 0;
    const char *plugin = path + sizeof ST_KEY_REFINE;
    size_t length = strcspn(plugin, ".");
    return plugin[length] == '.' && plugin[length + 1] != '\0' ? length : 0;
}

st_status st_target_find(const char *path, st_place place, st_target *target, st_errors *errors)
{
    static const size_t prefix = sizeof ST_KEY_CONSTANTS; /* with its dot */
    const st_key_section *section = st_section_find(path);
    *target = (st_target){.key = st_key_find(path)};
    if (target->key != NULL)
        return ST_OK;
    if (section != NULL && section->is_file) {
        target->section = section;
        return ST_OK;
    }
    bool is_constant =
        strncmp(path, ST_KEY_CONSTANTS ".", prefix) == 0 && st_is_constant_name(path + prefix);
    if (is_constant || st_option_plugin(path) > 0)
        return ST_OK;
    /* A key that no table has: a section, a wrong constant or a slip. */
    const st_key_section *path_section = st_section_find(path);
    if (path_section != NULL)
        return st_fail(errors, ST_ERR_USAGE, place,
                       "%s is a section, not a key" ST_EXPECTED "one of its keys: %s", path,
                       st_section_paths(path_section, errors));
    if (strncmp(path, ST_KEY_CONSTANTS ".", sizeof ST_KEY_CONSTANTS) == 0)
        return st_fail(errors, ST_ERR_USAGE, place,
                       "invalid constant name '%.100s'" ST_EXPECTED
                       "constants.NAME, with a letter or '_' first, then letters, digits and '_'",
                       path);
    return st_fail(errors, ST_ERR_USAGE, place, "unknown key '%.100s'" ST_HINT "%s", path,
                   st_or_none(st_key_nearest_path(path)));
}

/* What the target of an assignment accepts. */
static const char *expectation_of(const st_set *set, char *text, size_t size)
{
    if (set->key != NULL)
        return st_key_expectation(set->key, text, size);
    return set->section != NULL ? "the name of a file" : "a value";
}

static bool read_set(st_loader *loader, const char *assignment, st_set *set)
{
    char expected[ST_EXPECTATION_TEXT];
    st_assignment read;
    const char *file = st_arena_printf(loader->arena, "--set %s", assignment);
    if (file == NULL || !st_assignment_read(assignment, loader->arena, &read)) {
        st_note(&loader->status, st_out_of_memory(loader->errors));
        return false;
    }
    st_place place = {.file = file};
    set->value.place = place;
    if (!st_text_is_clean(assignment, MAX_SET_BYTES))
        return refuse(loader, place,
                      "invalid or too many characters" ST_EXPECTED
                      "at most %d bytes of UTF-8 without control characters",
                      MAX_SET_BYTES);
    if (read.value == NULL)
        return refuse(loader, place, "missing '='" ST_EXPECTED "key=value");
    set->value.text = read.value;
    set->value.length = strlen(read.value);
    if (read.key[0] == '\0')
        return refuse(loader, place, "missing key before '='" ST_EXPECTED "key=value");
    const char *path = read.key;
    st_target target;
    st_status status = st_target_find(path, set->value.place, &target, loader->errors);
    st_note(&loader->status, status);
    set->key = target.key;
    set->section = target.section;
    bool other = target.key == NULL && target.section == NULL;
    set->option = other && st_option_plugin(path) > 0 ? path : NULL;
    set->constant = other && set->option == NULL ? path : NULL;
    if (status != ST_OK)
        return false;
    if (set->value.length == 0)
        return refuse(loader, place, "%s has no value" ST_EXPECTED "%s", read.key,
                      st_or_none(expectation_of(set, expected, sizeof expected)));
    return true;
}

const st_set *st_loader_read_sets(st_loader *loader, const char *const *sets, size_t count,
                                  size_t *kept)
{
    st_set *read = st_arena_alloc(loader->arena, count + 1, sizeof *read);
    *kept = 0;
    if (read == NULL) {
        st_note(&loader->status, st_out_of_memory(loader->errors));
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        st_set set = {0};
        if (read_set(loader, sets[i], &set))
            read[(*kept)++] = set;
    }
    return read;
}

void st_loader_find_replacements(st_loader *loader, const st_set *sets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sets[i].section != NULL)
            loader->replacements[st_section_index(sets[i].section)] = &sets[i];
}

/* What a key gets from --set. */
static st_job_value value_of_key(const st_set *set, double number)
{
    return (st_job_value){
        .path = set->key->path,
        .key = set->key,
        .origin = ST_ORIGIN_SET,
        .number = number,
        .text = set->value.text,
        .place = set->value.place,
    };
}

static st_job_value value_of_constant(const st_set *set, const char *path)
{
    return (st_job_value){
        .path = path,
        .origin = ST_ORIGIN_SET,
        .number = (double)NAN,
        .text = set->value.text,
        .place = set->value.place,
    };
}

/* The number of a key, whose errors are wrong use of the command line. */
static st_status parse_key(const st_set *set, double *number, st_errors *errors)
{
    if (st_value_parse(set->key, &set->value, number, NULL) == ST_OK)
        return ST_OK;
    st_errors *own = st_errors_create();
    if (own == NULL)
        return st_out_of_memory(errors);
    st_status status = st_value_parse(set->key, &set->value, number, own);
    if (status != ST_OK)
        status = st_errors_move(errors, own, set->value.place);
    st_errors_destroy(own);
    return status;
}

st_status st_job_change_read(const st_job *job, const char *assignment, st_arena *arena,
                             st_job_change *change, st_errors *errors)
{
    st_loader loader = {.arena = arena, .errors = errors};
    st_set set = {0};
    double number = 0;
    *change = (st_job_change){0};
    if (!read_set(&loader, assignment, &set))
        return loader.status;
    const st_key *key = set.key;
    if (key != NULL) {
        change->path = key->path;
        st_status status = parse_key(&set, &number, errors);
        if (status != ST_OK || key->kind == ST_KEY_TEXT || strcmp(key->path, ST_KEY_ISOLATE) == 0)
            return status;
        change->target = st_job_place_of(job, key->path);
        change->value = value_of_key(&set, number);
    } else if (set.constant != NULL) {
        change->path = set.constant;
        change->target = st_job_place_of(job, set.constant);
        if (change->target != NULL)
            change->value = value_of_constant(&set, change->target->path);
    } else {
        change->path = set.section != NULL ? set.section->path : set.option;
    }
    return ST_OK;
}

/* Applies one assignment with a list of errors of its own, which then join the others. */
static void apply_set(st_loader *loader, const st_set *set)
{
    st_errors *errors = st_errors_create();
    st_loader inner = *loader;
    if (errors == NULL) {
        st_note(&loader->status, st_out_of_memory(loader->errors));
        return;
    }
    inner.errors = errors;
    inner.status = ST_OK;
    if (set->section != NULL) {
        st_loader_read_section(&inner, set->section, set->value.text, set->value.place);
    } else if (set->key != NULL) {
        double number = 0;
        st_status status = st_value_parse(set->key, &set->value, &number, inner.errors);
        st_note(&inner.status, status);
        if (status != ST_OK || strcmp(set->key->path, ST_KEY_REFINE) != 0 ||
            st_loader_split_refine(&inner, &set->value)) {
            if (status == ST_OK)
                inner.job->values[st_key_index(set->key)] = value_of_key(set, number);
        }
    } else if (set->option != NULL) {
        st_job *job = inner.job;
        const char *plugin = set->option + sizeof ST_KEY_REFINE;
        size_t length = st_option_plugin(set->option);
        const st_option_set added = {.plugin = st_arena_copy(inner.arena, plugin, length),
                                     .option = {.name = plugin + length + 1,
                                                .text = set->value.text,
                                                .name_place = set->value.place,
                                                .place = set->value.place}};
        if (added.plugin == NULL || !ST_APPEND(inner.arena, job->options, job->option_count, added))
            st_note(&inner.status, st_out_of_memory(inner.errors));
    } else {
        st_job_value *constant = st_loader_constant(&inner, set->constant, set->value.place);
        if (constant != NULL)
            *constant = value_of_constant(set, constant->path);
    }
    st_note(&loader->status, st_errors_move(loader->errors, errors, set->value.place));
    loader->files_read = inner.files_read;
    loader->stack = inner.stack;
    st_errors_destroy(errors);
}

void st_loader_apply_sets(st_loader *loader, const st_set *sets, size_t count)
{
    size_t sections = 0;
    (void)st_key_sections(&sections);
    for (size_t i = 0; i < sections; i++)
        if (loader->replacements[i] != NULL)
            apply_set(loader, loader->replacements[i]);
    for (size_t i = 0; i < count; i++)
        if (sets[i].section == NULL)
            apply_set(loader, &sets[i]);
}
