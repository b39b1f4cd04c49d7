/* SPDX-License-Identifier: Apache-2.0 */
/* The job as others see it: loading as a whole, defaults, and what can be asked of it. */
#include "job/bind.h"
#include "job/files.h"
#include "job/sections.h"
#include "job/job_loader.h"
#include "steptime/keys.h"

#include <string.h>

/* "gpt-3b" of "configs/jobs/gpt-3b.yaml". */
static const char *stem_of(st_arena *arena, const char *file)
{
    static const char *const endings[] = {".yaml", ".yml"};
    const char *own = st_embedded_stem(file);
    const char *slash = strrchr(file, '/');
    const char *name = slash != NULL ? slash + 1 : file;
    size_t length = strlen(name);
    if (strcmp(file, ST_STANDARD_INPUT) == 0)
        return "stdin";
    if (own != NULL)
        return own;
    for (size_t i = 0; i < ST_COUNT(endings); i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0)
            return st_arena_copy(arena, name, length - ending);
    }
    return name;
}

st_job *st_loader_new_job(st_arena *arena)
{
    size_t key_count = 0;
    size_t section_count = 0;
    const st_key *keys = st_keys(&key_count);
    (void)st_key_sections(&section_count);
    st_job *job = st_arena_alloc(arena, 1, sizeof *job);
    if (job == NULL)
        return NULL;
    job->values = st_arena_alloc(arena, key_count, sizeof *job->values);
    job->section_names = st_arena_alloc(arena, section_count, sizeof *job->section_names);
    job->asked = st_arena_alloc(arena, key_count, sizeof *job->asked);
    job->watch = st_arena_alloc(arena, 1, sizeof *job->watch);
    job->by_recipe = st_arena_alloc(arena, key_count, sizeof *job->by_recipe);
    if (job->values == NULL || job->section_names == NULL || job->asked == NULL ||
        job->watch == NULL || job->by_recipe == NULL)
        return NULL;
    for (size_t i = 0; i < key_count; i++)
        job->values[i] = (st_job_value){.path = keys[i].path, .key = &keys[i]};
    return job;
}

st_status st_job_load(const st_paths *paths, const char *name, const char *const *sets,
                      size_t set_count, st_arena *arena, const st_job **job, st_errors *errors)
{
    const st_job_parts parts = {name, NULL, sets, set_count};
    return st_job_load_for(paths, &parts, arena, job, errors);
}

/* GPUs of NVIDIA have BF16 from this compute capability on: CUDA C++ Programming Guide, 16.2. */
#define BF16_CAPABILITY 8.0

/* What a key without a value has: weights of a GPU without BF16 are in FP16, and a job whose GPU
 * gets another capability is loaded again. */
static const char *default_of(const st_job *job, const st_key *key)
{
    if (strcmp(key->path, ST_KEY_PRECISION_WEIGHTS) != 0)
        return key->default_text;
    const size_t capability = st_key_index(st_key_find(ST_KEY_CLUSTER_GPU_COMPUTE_CAPABILITY));
    const st_job_value *value = &job->values[capability];
    job->asked[capability] = true;
    return value->origin != ST_ORIGIN_NONE && value->number > 0 && value->number < BF16_CAPABILITY
               ? "fp16"
               : key->default_text;
}

st_status st_job_load_for(const st_paths *paths, const st_job_parts *parts, st_arena *arena,
                          const st_job **job, st_errors *errors)
{
    st_loader loader = {.paths = paths, .arena = arena, .errors = errors, .sheet = parts->sheet};
    size_t count = 0;
    size_t section_count = 0;
    (void)st_key_sections(&section_count);
    loader.replacements = st_arena_alloc(loader.arena, section_count, sizeof *loader.replacements);
    loader.job = st_loader_new_job(loader.arena);
    if (loader.replacements == NULL || loader.job == NULL)
        return st_out_of_memory(errors);
    const st_set *read = st_loader_read_sets(&loader, parts->sets, parts->set_count, &count);
    if (read == NULL)
        return loader.status;
    st_loader_find_replacements(&loader, read, count);
    loader.job->file = ""; /* of a job without one */
    if (parts->name != NULL)
        st_loader_read_job(&loader, parts->name);
    st_loader_apply_sets(&loader, read, count);
    st_loader_apply_stack(&loader);
    if (loader.status == ST_OK) {
        size_t key_count = 0;
        const st_key *keys = st_keys(&key_count);
        st_job *finish_job = loader.job;
        for (size_t i = 0; i < key_count; i++) {
            const st_key *key = &keys[i];
            st_job_value *value = &finish_job->values[i];
            if (value->origin != ST_ORIGIN_NONE || key->default_text == NULL)
                continue;
            const char *given = default_of(finish_job, key);
            const st_value_text text = {
                .text = given,
                .length = strlen(given),
                .place = {.file = key->path},
            };
            st_note(&loader.status, st_value_parse(key, &text, &value->number, loader.errors));
            value->origin = ST_ORIGIN_DEFAULT;
            value->text = given;
            value->assumption = true;
        }
        const st_job_value *name = &finish_job->values[st_key_index(st_key_find(ST_KEY_NAME))];
        finish_job->name =
            name->text != NULL ? name->text : stem_of(loader.arena, finish_job->file);
        if (finish_job->name == NULL)
            st_note(&loader.status, st_out_of_memory(loader.errors));
    }
    if (loader.status == ST_OK)
        *job = loader.job;
    return loader.status;
}

const char *st_job_name(const st_job *job)
{
    return job->name;
}

const char *st_job_file(const st_job *job)
{
    return job->file;
}

const char *st_job_section_name(const st_job *job, const char *section)
{
    const st_key_section *found = st_section_find(section);
    return found != NULL ? job->section_names[st_section_index(found)] : NULL;
}

const st_refinement *st_job_refinements(const st_job *job, size_t *count)
{
    *count = job->refinement_count;
    return job->refinements;
}

bool st_job_isolates(const st_job *job)
{
    return job->values[st_key_index(st_key_find(ST_KEY_ISOLATE))].number != 0;
}

const st_key *st_job_recipe_keys(const st_job *job, size_t *count)
{
    *count = job->recipe_key_count;
    return job->recipe_keys;
}

const st_job_value *st_job_constants(const st_job *job, size_t *count)
{
    *count = job->constant_count;
    return job->constants;
}

st_job_value *st_job_place_of(const st_job *job, const char *path)
{
    const st_key *key = st_key_find(path);
    if (key != NULL)
        return &job->values[st_key_index(key)];
    size_t i = ST_FIND(job->constants, job->constant_count, path, path);
    return i < job->constant_count ? &job->constants[i] : NULL;
}

const st_job_value *st_job_value_of(const st_job *job, const char *path)
{
    const st_job_value *value = st_job_place_of(job, path);
    if (*job->watch && value != NULL && value->key != NULL)
        job->asked[st_key_index(value->key)] = true;
    return value;
}

void st_job_watch(const st_job *job, bool on)
{
    *job->watch = on;
}

bool st_job_was_asked(const st_job *job, const st_key *key)
{
    return job->asked[st_key_index(key)];
}

bool st_job_is_own(const st_job *job, const st_job_value *value)
{
    if (value->origin != ST_ORIGIN_FILE || value->folder != ST_FOLDER_JOBS)
        return value->origin == ST_ORIGIN_SET;
    return !st_place_is_embedded(value->place) && !job->is_shipped;
}

bool st_job_is_given(const st_job *job, const char *path)
{
    const st_job_value *value = st_job_value_of(job, path);
    return value != NULL && (value->origin == ST_ORIGIN_FILE || value->origin == ST_ORIGIN_SET);
}

const st_stack *st_job_stack(const st_job *job)
{
    return job->stack;
}
