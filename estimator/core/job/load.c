/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading: the YAML of a job is walked along the table of sections, files that it names are walked
 * in their place, and every leaf goes through the table of keys. Nothing stops at an error, so that
 * a user sees those of all files at once.
 */
#include "job/sourced_value.h"
#include "job/sections.h"

#include "job/files.h"
#include "job/roots.h"
#include "steptime/keys.h"

#include <math.h>
#include <string.h>

enum { MAX_FILES = 32, MAX_CONSTANTS = 10000 };

/* The context of a map: its section (NULL for the job itself), its file and its source. */
typedef struct map_scope {
    const st_key_section *section;
    const char *path; /* of the section, "" for the job itself */
    const st_open_file *file;
    const char *source; /* `source:` of the nearest map around */
} map_scope;

static void load_map(st_loader *loader, const map_scope *scope, const st_yaml_node *map);
static void load_entry(st_loader *loader, const map_scope *scope, const st_yaml_node *map,
                       size_t index);
static void load_recipes(st_loader *loader, const map_scope *scope, const st_yaml_node *node);

static const char *full_path(st_loader *loader, const map_scope *scope, const char *name)
{
    return st_errors_text(loader->errors, "%s%s%s", scope->path, scope->path[0] != '\0' ? "." : "",
                          name);
}

/* ---- values ---- */

static st_value_text text_of(const st_yaml_node *scalar)
{
    return (st_value_text){scalar->text, scalar->length, scalar->quoted,
                           st_yaml_place_at(scalar, 0)};
}

/* A sheet that a file names by path is relative to that file, wherever it is loaded later. */
static const char *text_to_keep(st_loader *loader, const st_key *key, const st_value_text *value)
{
    if (strcmp(key->path, ST_KEY_SHEET) == 0 && st_name_is_path(value->text))
        return st_path_resolve(loader->arena, value->place, value->text);
    return value->text;
}

static void load_key(st_loader *loader, const map_scope *scope, const st_key *key,
                     const st_yaml_node *node)
{
    st_sourced_value leaf = {.source = scope->source};
    double number = 0;
    if (!st_sourced_read(loader, key->path, key, node, &leaf))
        return;
    const st_value_text value = text_of(leaf.value);
    st_status status = st_value_parse(key, &value, &number, loader->errors);
    st_note(&loader->status, status);
    if (status != ST_OK)
        return;
    loader->job->values[st_key_index(key)] = (st_job_value){
        .path = key->path,
        .key = key,
        .origin = ST_ORIGIN_FILE,
        .number = number,
        .text = text_to_keep(loader, key, &value),
        .source = leaf.source,
        .assumption = leaf.assumption,
        .place = value.place,
        .folder = scope->file->folder,
    };
}

st_job_value *st_loader_constant(st_loader *loader, const char *path, st_place place)
{
    st_job *job = loader->job;
    for (size_t i = 0; i < job->constant_count; i++)
        if (strcmp(job->constants[i].path, path) == 0)
            return &job->constants[i];
    if (job->constant_count == MAX_CONSTANTS) {
        ST_NOTE(loader, ST_ERR_LIMIT, place, "more than %d constants", MAX_CONSTANTS);
        return NULL;
    }
    if (ST_APPEND(loader->arena, job->constants, job->constant_count, (st_job_value){.path = path}))
        return &job->constants[job->constant_count - 1];
    st_note(&loader->status, st_out_of_memory(loader->errors));
    return NULL;
}

static void load_constant(st_loader *loader, const map_scope *scope, const char *name,
                          st_place name_place, const st_yaml_node *node)
{
    st_sourced_value leaf = {.source = scope->source};
    if (!st_is_constant_name(name)) {
        ST_NOTE(loader, ST_ERR_NAME, name_place,
                "invalid constant name" ST_FOUND "'%s'" ST_EXPECTED
                "a letter or '_', then letters, digits and '_', at most 64",
                name);
        return;
    }
    const char *path = st_arena_printf(loader->arena, ST_KEY_CONSTANTS ".%s", name);
    if (path == NULL) {
        st_note(&loader->status, st_out_of_memory(loader->errors));
        return;
    }
    if (!st_sourced_read(loader, path, NULL, node, &leaf))
        return;
    st_job_value *constant = st_loader_constant(loader, path, name_place);
    if (constant == NULL)
        return;
    const st_value_text value = text_of(leaf.value);
    *constant = (st_job_value){
        .path = constant->path,
        .origin = ST_ORIGIN_FILE,
        .number = (double)NAN,
        .text = value.text,
        .source = leaf.source,
        .assumption = leaf.assumption,
        .place = value.place,
        .folder = scope->file->folder,
    };
}

/* ---- sections ---- */

/* The map of a section's file is laid over what the section has already. */
static void lay_file(st_loader *loader, const st_key_section *section, const char *name,
                     st_place place, const st_open_file *outer, int bases)
{
    st_source source;
    const st_yaml_node *root = NULL;
    /* Reads one more file. */
    if (loader->files_read == MAX_FILES) {
        ST_NOTE(loader, ST_ERR_LIMIT, place, "the job consists of more than %d files", MAX_FILES);
        return;
    }
    loader->files_read++;
    if (section->folder == ST_FOLDER_STACKS)
        name = st_loader_split_release(loader, name, place);
    st_status file_status = st_paths_read(loader->paths, section->folder, name, place,
                                          loader->arena, &source, loader->errors);
    st_note(&loader->status, file_status);
    if (file_status != ST_OK)
        return;
    bool is_open = false;
    for (const st_open_file *open = outer; open != NULL; open = open->outer)
        if (strcmp(open->file, source.file) == 0) {
            is_open = true;
            break;
        }
    if (is_open) {
        /* "a.yaml -> b.yaml -> a.yaml", from the file that closes the circle outwards. */
        const char *cycle_file = source.file;
        const char *path = cycle_file;
        for (const st_open_file *open = outer; open != NULL; open = open->outer) {
            path = st_errors_text(loader->errors, "%s -> %s", open->file, path);
            if (strcmp(open->file, cycle_file) == 0)
                break;
        }
        ST_NOTE(loader, ST_ERR_CYCLE, place, "circular dependency of files: %s", path);
        return;
    }
    st_status status = st_yaml_read(&source, loader->arena, &root, loader->errors);
    st_note(&loader->status, status);
    if (root == NULL)
        return;
    const st_open_file file = {source.file, outer, bases, section->folder};
    const bool is_stack = section->folder == ST_FOLDER_STACKS; /* holds keys of a whole job */
    const map_scope scope = {section, is_stack ? "" : section->path, &file, NULL};
    /* Files of GPUs are noted as a job names them, for what a stack says of each. */
    st_job *job = loader->job;
    if (section->folder == ST_FOLDER_GPUS && job->gpu_count < ST_MAX_BASES)
        job->gpus[job->gpu_count++] = name;
    if (root->kind == ST_YAML_MAP)
        load_map(loader, &scope, root);
    else
        st_sourced_refuse(loader, section->path, root,
                          st_errors_text(loader->errors, "a map with keys such as %s",
                                         st_section_names(section, loader->errors)));
}

static void replace_by_file(st_loader *loader, const st_key_section *section, const char *name,
                            st_place place, const st_open_file *outer)
{
    if (section->folder == ST_FOLDER_STACKS && loader->reading_stack == NULL) {
        name = st_loader_split_release(loader, name, place);
        loader->stack = (st_stack_choice){.name = name, .place = place};
        return;
    }
    /* Forgets what a section and those below it had. */
    size_t length = strlen(section->path);
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++)
        if (strncmp(keys[i].path, section->path, length) == 0 && keys[i].path[length] == '.')
            loader->job->values[i] = (st_job_value){.path = keys[i].path, .key = &keys[i]};
    const st_key_section *sections = st_key_sections(&count);
    for (size_t i = 0; i < count; i++)
        if (strncmp(sections[i].path, section->path, length) == 0 &&
            (sections[i].path[length] == '.' || sections[i].path[length] == '\0'))
            loader->job->section_names[i] = NULL;
    if (strncmp(ST_KEY_CLUSTER_GPU, section->path, length) == 0)
        loader->job->gpu_count = 0;
    loader->job->section_names[st_section_index(section)] = name;
    lay_file(loader, section, name, place, outer, 0);
}

void st_loader_read_section(st_loader *loader, const st_key_section *section, const char *name,
                            st_place place)
{
    replace_by_file(loader, section, name, place, NULL);
}

static void load_section(st_loader *loader, const map_scope *outer, const st_key_section *section,
                         const st_yaml_node *node)
{
    if (loader->replacements[st_section_index(section)] != NULL)
        return;
    if (node->kind == ST_YAML_MAP && section->folder == ST_FOLDER_STACKS) {
        loader->stack = (st_stack_choice){.node = node, .place = node->place};
        loader->stack.file.file = outer->file->file;
    } else if (node->kind == ST_YAML_MAP) {
        /* Bases count within their own section. */
        const st_open_file file = {outer->file->file, outer->file->outer, 0, outer->file->folder};
        const map_scope inner = {section, section->path, &file, outer->source};
        loader->job->section_names[st_section_index(section)] = "inline";
        load_map(loader, &inner, node);
    } else if (section->is_file && st_sourced_is_scalar(node)) {
        replace_by_file(loader, section, node->text, st_yaml_place_at(node, 0), outer->file);
    } else {
        const char *names = st_section_names(section, loader->errors);
        st_sourced_refuse(loader, section->path, node,
                          st_errors_text(loader->errors, "a map%s%s%s",
                                         section->is_file ? " or the name of a file" : "",
                                         names[0] != '\0' ? ", with keys such as " : "", names));
    }
}

static void load_unknown(st_loader *loader, const map_scope *scope, const st_yaml_node *map,
                         size_t index)
{
    const char *key = map->keys[index];
    if (st_errors_full(loader->errors)) {
        ST_NOTE(loader, ST_ERR_NAME, (st_place){0}, "unknown key");
        return;
    }
    const char *where = scope->path[0] != '\0' ? scope->path : "a job";
    ST_NOTE(loader, ST_ERR_NAME, map->key_places[index], "unknown key '%s' in %s" ST_HINT "%s", key,
            where, st_or_none(st_key_suggestion(scope->path, key, loader->errors)));
}

static void load_stages(st_loader *loader, const char *name, const st_yaml_node *node,
                        unsigned *stages)
{
    static const char *const known[] = {"0", "1", "2", "3"};
    *stages = 0;
    for (size_t i = 0; node->kind == ST_YAML_LIST && i < node->count; i++)
        for (unsigned stage = 0; stage < ST_COUNT(known); stage++)
            if (st_sourced_is_scalar(node->items[i]) &&
                strcmp(node->items[i]->text, known[stage]) == 0)
                *stages |= 1U << stage;
    size_t count = 0;
    for (unsigned left = *stages; left != 0; left >>= 1)
        count += left & 1U;
    if (node->kind != ST_YAML_LIST || count == 0 || count != node->count)
        st_sourced_refuse(loader, st_errors_text(loader->errors, "runs.%s", name), node,
                          "a list of stages of ZeRO, each once, such as [0, 1]");
}

static void load_demand(st_loader *loader, const char *name, const st_yaml_node *node, bool *asked)
{
    *asked = st_sourced_is_scalar(node) && strcmp(node->text, "true") == 0;
    if (!*asked && !(st_sourced_is_scalar(node) && strcmp(node->text, "false") == 0))
        st_sourced_refuse(loader, st_errors_text(loader->errors, "runs.%s", name), node,
                          "true or false");
}

/* Texts of keys and their values; the search that takes them reads the values. */
static void load_tries(st_loader *loader, const st_yaml_node *node, st_stack_runs *runs)
{
    const char **texts = st_arena_alloc(loader->arena, node->count + 1, sizeof *texts);
    bool good = node->kind == ST_YAML_LIST && texts != NULL;
    for (size_t i = 0; good && i < node->count; i++) {
        texts[i] = st_sourced_is_scalar(node->items[i]) ? node->items[i]->text : "";
        size_t length = strcspn(texts[i], "=");
        const char *key = st_arena_copy(loader->arena, texts[i], length);
        good = key != NULL && texts[i][length] == '=' && st_key_find(key) != NULL;
    }
    if (!good)
        st_sourced_refuse(loader, "runs.tries", node,
                          "a list of keys and values, such as ['parallel.dispatcher=alltoall,"
                          "deepep']");
    runs->tries = texts;
    runs->tries_count = good ? node->count : 0;
}

static void load_limits(st_loader *loader, const st_yaml_node *node, st_stack_runs *runs)
{
    bool good = node->kind == ST_YAML_MAP;
    size_t count = good ? node->count : 0;
    const char **limits = st_arena_alloc(loader->arena, 2 * count + 1, sizeof *limits);
    good = good && limits != NULL;
    runs->limit_count = 0;
    runs->limits_sheet = NULL;
    for (size_t i = 0; good && i < count; i++) {
        const char *key = node->keys[i];
        const char *text = st_sourced_is_scalar(node->items[i]) ? node->items[i]->text : NULL;
        bool names = strcmp(key, "sheet") == 0;
        good = text != NULL && (names || st_key_find(key) != NULL);
        if (names) {
            runs->limits_sheet = text;
            continue;
        }
        limits[2 * runs->limit_count] = key;
        limits[2 * runs->limit_count++ + 1] = text;
    }
    if (!good || runs->limits_sheet == NULL)
        st_sourced_refuse(
            loader, "runs.limits", node,
            "a sheet, and keys with conditions in its words, such as {sheet: megatron, "
            "parallel.cp: 'cp == 1 or not has_delta'}");
    runs->limits = limits;
}

/* Which plans a stack's software can run at all. */
static void load_runs(st_loader *loader, const st_yaml_node *node)
{
    st_stack_runs *runs = &loader->job->runs;
    if (node->kind != ST_YAML_MAP) {
        st_sourced_refuse(loader, "runs", node, "a map such as {zero: [0, 1]}, with a source");
        return;
    }
    for (size_t i = 0; i < node->count; i++) {
        const char *run_name = node->keys[i];
        if (strcmp(run_name, "zero") == 0)
            load_stages(loader, run_name, node->items[i], &runs->zero);
        else if (strcmp(run_name, "zero_with_stages") == 0)
            load_stages(loader, run_name, node->items[i], &runs->zero_with_stages);
        else if (strcmp(run_name, "whole_groups") == 0)
            load_demand(loader, run_name, node->items[i], &runs->whole_groups);
        else if (strcmp(run_name, "near_ends") == 0)
            load_demand(loader, run_name, node->items[i], &runs->near_ends);
        else if (strcmp(run_name, "tries") == 0)
            load_tries(loader, node->items[i], runs);
        else if (strcmp(run_name, "limits") == 0)
            load_limits(loader, node->items[i], runs);
        else if (strcmp(run_name, "source") == 0)
            runs->source = st_sourced_source(loader, "runs.source", node->items[i]);
        else
            ST_NOTE(loader, ST_ERR_NAME, node->key_places[i],
                    "unknown key '%s' in runs" ST_EXPECTED
                    "zero, zero_with_stages, whole_groups, near_ends, tries, limits or source",
                    run_name);
    }
}

/* Keys of a map that are not values of it: they were read before, or apply to all of it. */
static bool is_apart(const map_scope *scope, const char *name)
{
    if (strcmp(name, "base") == 0)
        return scope->section != NULL && scope->section->is_file; /* laid below the rest before */
    if (strcmp(name, "fit") == 0) /* how the constants were fitted, for validation */
        return strcmp(scope->path, ST_KEY_CONSTANTS) == 0;
    if (strcmp(name, "errors") == 0) /* of a stack, read where a band is asked for */
        return scope->path[0] == '\0' && scope->section != NULL;
    return strcmp(name, "source") == 0; /* covers the whole map */
}

/* What a stack does for some jobs only; a later recipe wins, and one may hold others. */
static void load_recipes(st_loader *loader, const map_scope *scope, const st_yaml_node *node)
{
    bool good = node->kind == ST_YAML_LIST;
    for (size_t i = 0; good && i < node->count; i++) {
        const st_yaml_node *recipe = node->items[i];
        const st_yaml_node *parts[] = {st_yaml_get(recipe, "if"), st_yaml_get(recipe, "source"),
                                       st_yaml_get(recipe, "set"), st_yaml_get(recipe, "recipes")};
        enum { CONDITIONS, SOURCE, SET, INNER };
        map_scope inner = *scope;
        size_t known = 0;
        for (size_t k = 0; k < ST_COUNT(parts); k++)
            known += parts[k] != NULL ? 1 : 0;
        good = known == recipe->count && parts[SET] != NULL && parts[SET]->kind == ST_YAML_MAP;
        if (!good || !st_loader_recipe_holds(loader, parts[CONDITIONS]))
            continue;
        if (parts[SOURCE] != NULL)
            inner.source = st_sourced_source(loader, "recipes.source", parts[SOURCE]);
        for (size_t k = 0; k < parts[SET]->count; k++) {
            const st_key *key = st_key_find(parts[SET]->keys[k]);
            if (key != NULL) {
                load_key(loader, &inner, key, parts[SET]->items[k]);
                loader->job->by_recipe[st_key_index(key)] = true;
            } else {
                load_entry(loader, &inner, parts[SET], k);
            }
        }
        if (parts[INNER] != NULL)
            load_recipes(loader, &inner, parts[INNER]);
    }
    if (!good)
        st_sourced_refuse(
            loader, "recipes", node,
            "a list of maps with `set`, and `if`, `source` and `recipes` where needed");
}

static void load_entry(st_loader *loader, const map_scope *scope, const st_yaml_node *map,
                       size_t index)
{
    const char *name = map->keys[index];
    const st_yaml_node *node = map->items[index];
    const st_key *key = st_key_in(scope->path, name);
    const st_key_section *section = st_section_in(scope->path, name);
    if (is_apart(scope, name))
        return;
    bool is_stack = scope->path[0] == '\0' && scope->section != NULL;
    if (is_stack && strcmp(name, "gpus") == 0) {
        /* Of a GPU, a stack says what GEMMs reach and constants. */
        const map_scope gpu = {st_section_find(ST_KEY_CLUSTER_GPU), ST_KEY_CLUSTER_GPU, scope->file,
                               scope->source};
        const st_yaml_node *gpu_map = st_loader_for_gpu(loader, node);
        for (size_t i = 0; gpu_map != NULL && i < gpu_map->count; i++) {
            bool is_own = st_key_in(ST_KEY_CLUSTER_GPU, gpu_map->keys[i]) != NULL;
            load_entry(loader, is_own ? &gpu : scope, gpu_map, i);
        }
    } else if (is_stack && strcmp(name, "release") == 0) {
        load_key(loader, scope, st_key_find(ST_KEY_STACK_RELEASE), node);
    } else if (is_stack && strcmp(name, "releases") == 0) {
        st_loader_read_releases(loader, node);
    } else if (is_stack && strcmp(name, "recipes") == 0) {
        load_recipes(loader, scope, node);
    } else if (is_stack && strcmp(name, "runs") == 0) {
        load_runs(loader, node);
    } else if (strcmp(name, "doc") == 0) {
        (void)st_sourced_source(loader, full_path(loader, scope, name), node);
    } else if (key != NULL && strcmp(key->path, ST_KEY_REFINE) == 0) {
        /* `refine` may be a list and hold maps, so that it is read in its own way. */
        const char *text = st_loader_read_refine(loader, node);
        if (text != NULL) {
            loader->job->values[st_key_index(key)] = (st_job_value){
                .path = key->path,
                .key = key,
                .origin = ST_ORIGIN_FILE,
                .text = text,
                .place = node->place,
            };
        }
    } else if (key != NULL) {
        load_key(loader, scope, key, node);
    } else if (section != NULL) {
        load_section(loader, scope, section, node);
    } else if (strcmp(scope->path, ST_KEY_CONSTANTS) == 0) {
        load_constant(loader, scope, name, map->key_places[index], node);
    } else {
        load_unknown(loader, scope, map, index);
    }
}

static void load_map(st_loader *loader, const map_scope *scope, const st_yaml_node *map)
{
    map_scope inner = *scope;
    const st_yaml_node *source = st_yaml_get(map, "source");
    const st_yaml_node *base = st_yaml_get(map, "base");
    if (source != NULL)
        inner.source = st_sourced_source(loader, full_path(loader, scope, "source"), source);
    if (base != NULL && scope->section != NULL && scope->section->is_file) {
        if (!st_sourced_is_scalar(base)) {
            st_sourced_refuse(loader, full_path(loader, &inner, "base"), base,
                              "the name of a file");
        } else {
            int bases = inner.file->bases + 1;
            if (bases <= ST_MAX_BASES)
                lay_file(loader, inner.section, base->text, st_yaml_place_at(base, 0), inner.file,
                         bases);
            else
                ST_NOTE(loader, ST_ERR_LIMIT, base->place,
                        "more than %d files form a chain of bases", ST_MAX_BASES);
        }
    }
    if (loader->reading_stack != NULL && scope->path[0] == '\0') {
        loader->reading_stack->source = inner.source;
        loader->job->stack_errors = st_yaml_get(map, "errors");
    }
    for (size_t i = 0; i < map->count; i++)
        load_entry(loader, &inner, map, i);
}

/* Whether a file found by its name is as steptime comes with it. */
static bool is_shipped(const st_loader *loader, const char *name, const st_source *source)
{
    const st_folder_shape *shape = st_folder_shape_of(ST_FOLDER_JOBS);
    const char *path = st_arena_printf(loader->arena, "%s/%s%s", shape->path, name, shape->ending);
    st_source read;
    return !st_name_is_path(name) && path != NULL && st_file_embedded(path, loader->arena, &read) &&
           read.length == source->length && memcmp(read.text, source->text, read.length) == 0;
}

void st_loader_read_job(st_loader *loader, const char *name)
{
    st_source source;
    const st_yaml_node *root = NULL;
    st_status status = st_paths_read(loader->paths, ST_FOLDER_JOBS, name, (st_place){0},
                                     loader->arena, &source, loader->errors);
    st_note(&loader->status, status);
    if (status != ST_OK)
        return;
    loader->job->file = source.file;
    loader->job->is_shipped = is_shipped(loader, name, &source);
    status = st_yaml_read(&source, loader->arena, &root, loader->errors);
    st_note(&loader->status, status);
    if (root == NULL)
        return;
    const st_open_file file = {source.file, NULL, 0, ST_FOLDER_JOBS};
    const map_scope scope = {NULL, "", &file, NULL};
    if (root->kind == ST_YAML_MAP)
        load_map(loader, &scope, root);
    else
        st_sourced_refuse(loader, "a job", root,
                          "a map with keys such as model, cluster and parallel");
}

void st_loader_read_stack(st_loader *loader, const st_stack_choice *choice)
{
    const st_key_section *section = st_section_find(ST_KEY_STACK);
    const map_scope scope = {section, "", &choice->file, NULL};
    /* A release counts for what a map builds upon, too. */
    for (size_t i = 0; choice->name == NULL && i < choice->node->count; i++)
        if (strcmp(choice->node->keys[i], "release") == 0)
            load_entry(loader, &scope, choice->node, i);
    if (choice->name != NULL)
        lay_file(loader, section, choice->name, choice->place, NULL, 0);
    else
        load_map(loader, &scope, choice->node);
}
