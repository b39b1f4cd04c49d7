/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks: what the software that trains does unless a job says something else. A stack's file is
 * read like a job, into values of its own, which then fill in what nobody has given; it may speak
 * of a few keys only, and by GPU. A job without a stack takes its sheet's.
 *
 * Circle: with job/job, job/load, job/sets, because a stack is read by the walk that reads a job.
 */
#include "job/job_loader.h"
#include "job/files.h"
#include "job/sourced_value.h"
#include "steptime/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHEETS_MAX = 32 };

/* What a stack may say; sections end in a dot. */
static const char *const allowed[] = {
    ST_KEY_NAME,
    ST_KEY_RECOMPUTE,
    ST_KEY_ATTENTION,
    ST_KEY_PARALLEL_ZERO,
    ST_KEY_PARALLEL_SEQUENCE_PARALLEL,
    ST_KEY_PARALLEL_SCATTER_GATHER,
    ST_KEY_PARALLEL_DISPATCHER,
    ST_KEY_PARALLEL_EXPERT_TP,
    ST_KEY_PARALLEL_LAYOUT,
    ST_KEY_STACK_RELEASE,
    ST_KEY_GRAPHS,
    ST_KEY_MODEL_CAPACITY_FACTOR,
    ST_KEY_PRECISION ".",
    ST_KEY_OVERLAP ".",
    ST_KEY_RECOMPUTED ".",
    ST_KEY_OFFLOAD ".",
    ST_KEY_CLUSTER_GPU_GEMM_EFFICIENCY,
};

const st_yaml_node *st_loader_for_gpu(const st_loader *loader, const st_yaml_node *map)
{
    const st_yaml_node *found = NULL;
    for (size_t i = 0; i < loader->job->gpu_count && found == NULL; i++)
        found = st_yaml_get(map, loader->job->gpus[i]);
    return found;
}

/* ---- the default of a sheet ---- */

typedef struct sheet_search {
    st_loader *loader;
    st_errors *errors; /* not shown: whoever loads the sheet reports its faults */
    size_t files;
    const char *name;
    st_place place;
} sheet_search;

static void search_sheet(sheet_search *search, const char *name, st_place place);

/* The `stack:` of a sheet, else that of what it includes. */
static void search_sheet(sheet_search *search, const char *name, st_place place)
{
    st_source source;
    const st_yaml_node *root = NULL;
    st_arena *arena = search->loader->arena;
    if (search->name != NULL || search->files++ >= SHEETS_MAX)
        return;
    st_status status = strncmp(name, ST_EMBEDDED_ROOT "/", sizeof ST_EMBEDDED_ROOT) == 0
                           ? st_file_read(name, place, arena, &source, search->errors)
                           : st_paths_read(search->loader->paths, ST_FOLDER_SHEETS, name, place,
                                           arena, &source, search->errors);
    if (status != ST_OK || st_yaml_read(&source, arena, &root, search->errors) != ST_OK)
        return;
    const st_yaml_node *stack = st_yaml_get(root, ST_KEY_STACK);
    if (stack != NULL && st_sourced_is_scalar(stack)) {
        search->name = stack->text;
        search->place = stack->place;
    } else {
        const st_yaml_node *include = st_yaml_get(root, "include");
        if (include == NULL)
            return;
        if (include->kind == ST_YAML_SCALAR)
            search_sheet(search, include->text, include->place);
        for (size_t i = 0; include->kind == ST_YAML_LIST && i < include->count; i++)
            if (include->items[i]->kind == ST_YAML_SCALAR)
                search_sheet(search, include->items[i]->text, include->items[i]->place);
    }
}

/* ---- filling in ---- */

static st_job_value from_stack(const st_job_value *value, const st_stack *stack)
{
    st_job_value filled = *value;
    filled.origin = ST_ORIGIN_STACK;
    filled.folder = ST_FOLDER_STACKS;
    filled.assumption = value->assumption || stack->is_default;
    return filled;
}

/* What a GPU's file says of GEMMs was measured with some stack; this one's own figure is better. */
static bool gives_way(const st_job_value *value)
{
    return value->origin == ST_ORIGIN_NONE ||
           (value->origin == ST_ORIGIN_FILE && value->folder == ST_FOLDER_GPUS);
}

/* Modules are recomputed as one list says, the job's own where it has one. */
static bool is_recomputed(const char *path)
{
    return strncmp(path, ST_KEY_RECOMPUTED ".", sizeof ST_KEY_RECOMPUTED) == 0;
}

/*
 * Whether a job leaves its stages to the recipe. It is a plan's own matter: only who shows one plan
 * follows the recipe, since a search or a sweep over layouts takes far longer (st_stack.layout).
 */
static bool leaves_stages(const st_job *job)
{
    static const char *const own[] = {ST_KEY_PARALLEL_LAYOUT, ST_KEY_PARALLEL_FIRST_STAGE_LAYERS,
                                      ST_KEY_PARALLEL_LAST_STAGE_LAYERS,
                                      ST_KEY_PARALLEL_ACCOUNT_EMBEDDING,
                                      ST_KEY_PARALLEL_ACCOUNT_LOSS};
    for (size_t i = 0; i < ST_COUNT(own); i++)
        if (st_job_value_of(job, own[i])->origin != ST_ORIGIN_NONE)
            return false;
    const char *stages = st_job_value_of(job, ST_KEY_PARALLEL_PP)->text;
    return stages != NULL && strcmp(stages, "1") != 0;
}

/* The number of virtual stages before a layout; NaN: the layout has none. */
static double stages_before(const char **layout)
{
    const size_t digits = strspn(*layout, "0123456789");
    if (digits == 0 || (*layout)[digits] != '=')
        return (double)NAN;
    const double count = strtod(*layout, NULL);
    *layout += digits + 1;
    return count;
}

/* Whether each entry has a layout, and all but the last one a number of stages. */
static void check_layouts(st_loader *loader, const st_job_value *value)
{
    for (const char *next = value->text, *entry = next;; entry = next) {
        const double count = stages_before(&next);
        const size_t length = strcspn(next, ";");
        const bool is_last = next[length] == '\0';
        if (strspn(next, " ") >= length || count == 0 || (isnan(count) && !is_last)) {
            ST_NOTE(loader, ST_ERR_SYNTAX, value->place,
                    "a layout of a stack is cut or out of order" ST_FOUND "'%.*s'" ST_EXPECTED
                    "STAGES=LAYOUT; ...; LAYOUT",
                    (int)(next + length - entry), entry);
            return;
        }
        if (is_last)
            return;
        next += length + strspn(next + length, "; ");
    }
}

/* Of layouts for so many virtual stages, "16=Et*4|(t*4|)*14tmL; auto", the one for this plan's. */
static const char *layout_of_plan(st_loader *loader, const char *layouts)
{
    const st_job_value *chunks = st_job_value_of(loader->job, ST_KEY_PARALLEL_VIRTUAL_STAGES);
    const double stages = st_job_value_of(loader->job, ST_KEY_PARALLEL_PP)->number *
                          (chunks->origin != ST_ORIGIN_NONE ? chunks->number : 1);
    for (const char *next = layouts; *next != '\0';) {
        const double count = stages_before(&next);
        const size_t length = strcspn(next, ";");
        if (isnan(count) || count == stages)
            return st_arena_copy(loader->arena, next, length);
        next += length + strspn(next + length, "; ");
    }
    return NULL;
}

static void fill_keys(st_loader *loader, const st_job *values, st_stack *stack)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    /* A plan that repeats the recipe's word, as those that a search has found do, keeps its
     * modules; one that recomputes nothing has none. */
    const char *own = st_job_value_of(loader->job, ST_KEY_RECOMPUTE)->text;
    const char *theirs = st_or_none(st_job_value_of(values, ST_KEY_RECOMPUTE)->text);
    bool recomputes = strcmp(own != NULL ? own : theirs, "none") == 0 ||
                      (own != NULL && strcmp(own, theirs) != 0);
    for (size_t i = 0; i < count && !recomputes; i++)
        recomputes = loader->job->values[i].origin != ST_ORIGIN_NONE && is_recomputed(keys[i].path);
    for (size_t i = 0; i < count; i++) {
        const st_job_value *value = &values->values[i];
        if (value->origin == ST_ORIGIN_NONE || (recomputes && is_recomputed(keys[i].path)))
            continue;
        bool is_allowed = false;
        const char *path = keys[i].path;
        for (size_t j = 0; j < ST_COUNT(allowed); j++) {
            size_t length = strlen(allowed[j]);
            bool is_section = allowed[j][length - 1] == '.';
            if (strncmp(path, allowed[j], length) == 0 && (is_section || path[length] == '\0')) {
                is_allowed = true;
                break;
            }
        }
        if (!is_allowed)
            ST_NOTE(loader, ST_ERR_NAME, value->place,
                    "a stack cannot set %s" ST_EXPECTED
                    "recompute, recomputed, attention, graphs, offload, parallel.zero, "
                    "parallel.sequence_parallel, parallel.dispatcher, parallel.layout, "
                    "model.capacity_factor, "
                    "precision, overlap, constants or gpus",
                    keys[i].path);
        else if (strcmp(keys[i].path, ST_KEY_PARALLEL_LAYOUT) == 0) {
            check_layouts(loader, value);
            stack->layout = leaves_stages(loader->job) ? layout_of_plan(loader, value->text) : NULL;
        } else if (strcmp(keys[i].path, ST_KEY_NAME) != 0 && gives_way(&loader->job->values[i]))
            loader->job->values[i] = from_stack(value, stack);
    }
}

/* What recipes set for a job, source by source; values that say nothing are left out. */
static const char *list_recipes(st_loader *loader, const st_job *values)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    const char *text = NULL;
    const char *source = NULL;
    bool *listed = st_arena_alloc(loader->arena, count, sizeof *listed);
    for (size_t left = count; listed != NULL && left > 0;) {
        left = 0;
        source = NULL;
        for (size_t i = 0; i < count; i++) {
            const st_job_value *value = &loader->job->values[i];
            bool is_plain = keys[i].default_text != NULL && value->text != NULL &&
                            strcmp(value->text, keys[i].default_text) == 0;
            if (listed[i] || !values->by_recipe[i] || value->origin != ST_ORIGIN_STACK || is_plain)
                continue;
            const char *own = st_or_none(value->source);
            left += source != NULL && strcmp(own, source) != 0 ? 1 : 0;
            if (source != NULL && strcmp(own, source) != 0)
                continue;
            text = st_arena_printf(loader->arena, "%s%s%s=%s", text != NULL ? text : "",
                                   text == NULL     ? ""
                                   : source == NULL ? "; "
                                                    : " ",
                                   keys[i].path, value->text);
            source = own;
            listed[i] = true;
        }
        if (source != NULL)
            text = st_arena_printf(loader->arena, "%s (%s)", text, source);
    }
    return text;
}

/* The stack that the sheet of the job names, or the GPU's where that does not run on it. */
static st_stack_choice default_stack(st_loader *loader)
{
    const st_key *key = st_key_find(ST_KEY_SHEET);
    const st_job_value *given = &loader->job->values[st_key_index(key)];
    const st_job_value *own = st_job_value_of(loader->job, ST_KEY_CLUSTER_GPU_STACK);
    const char *sheet = loader->sheet != NULL ? loader->sheet
                        : given->text != NULL ? given->text
                                              : key->default_text;
    const bool is_placed =
        loader->sheet == NULL && given->text != NULL && strchr(sheet, '/') == NULL;
    sheet_search search = {.loader = loader, .errors = st_errors_create()};
    if (search.errors == NULL)
        st_note(&loader->status, st_out_of_memory(loader->errors));
    else
        search_sheet(&search, sheet, is_placed ? given->place : (st_place){0});
    st_errors_destroy(search.errors);
    if (search.name != NULL && own->text != NULL)
        return (st_stack_choice){.name = own->text, .place = own->place};
    return (st_stack_choice){.name = search.name, .place = search.place};
}

/* {base: NAME, release: RELEASE} says as much as NAME@RELEASE; further keys make another stack. */
static const char *name_of_map(const st_yaml_node *map)
{
    const st_yaml_node *base = st_yaml_get(map, "base");
    const size_t own = st_yaml_get(map, "release") != NULL ? 2 : 1;
    return base != NULL && st_sourced_is_scalar(base) && map->count == own ? base->text : "inline";
}

void st_loader_apply_stack(st_loader *loader)
{
    const bool is_default = loader->stack.name == NULL && loader->stack.node == NULL;
    const st_stack_choice choice = is_default ? default_stack(loader) : loader->stack;
    if (choice.name == NULL && choice.node == NULL)
        return;
    st_stack *stack = st_arena_alloc(loader->arena, 1, sizeof *stack);
    if (stack == NULL) {
        st_note(&loader->status, st_out_of_memory(loader->errors));
        return;
    }
    *stack = (st_stack){.name = choice.name != NULL ? choice.name : name_of_map(choice.node),
                        .is_default = is_default,
                        .place = choice.place};
    st_loader inner = *loader;
    inner.job = st_loader_new_job(loader->arena);
    if (inner.job == NULL) {
        st_note(&loader->status, st_out_of_memory(loader->errors));
        return;
    }
    memcpy(inner.job->gpus, loader->job->gpus, sizeof inner.job->gpus);
    inner.job->gpu_count = loader->job->gpu_count;
    inner.reading_stack = stack;
    inner.asked = loader->job;
    inner.release = NULL;
    st_loader_read_stack(&inner, &choice);
    const st_job_value *name = &inner.job->values[st_key_index(st_key_find(ST_KEY_NAME))];
    stack->title = name->text != NULL ? name->text : stack->name;
    stack->release = inner.release;
    loader->files_read = inner.files_read;
    loader->status = inner.status;
    const st_job_value *release =
        &loader->job->values[st_key_index(st_key_find(ST_KEY_STACK_RELEASE))];
    /* A date of its own is a fact of the run, which other stacks of a comparison may know. */
    const bool is_with_name =
        release->place.file == choice.place.file && release->place.line == choice.place.line;
    if (release->text != NULL && stack->release == NULL && loader->status == ST_OK &&
        (is_with_name || !st_release_is_date(release->text)))
        st_report(loader->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, release->place,
                  "stack %s has no releases; %s changes nothing", stack->name, release->text);
    fill_keys(loader, inner.job, stack);
    const st_job *values = inner.job;
    for (size_t i = 0; i < values->constant_count; i++) {
        const st_job_value *value = &values->constants[i];
        if (ST_HAS(loader->job->constants, loader->job->constant_count, path, value->path))
            continue;
        st_job_value *constant = st_loader_constant(loader, value->path, value->place);
        if (constant != NULL)
            *constant = from_stack(value, stack);
    }
    stack->recipes = list_recipes(loader, values);
    if (stack->layout != NULL)
        stack->recipes = st_arena_printf(
            loader->arena, "%s%s%s=%s (%s)", st_or_none(stack->recipes),
            stack->recipes != NULL ? "; " : "", ST_KEY_PARALLEL_LAYOUT, stack->layout,
            st_or_none(st_job_value_of(values, ST_KEY_PARALLEL_LAYOUT)->source));
    loader->job->stack = stack;
    loader->job->runs = inner.job->runs;
    loader->job->stack_errors = inner.job->stack_errors;
    loader->job->recipe_keys = inner.job->recipe_keys;
    loader->job->recipe_key_count = inner.job->recipe_key_count;
    /* A key by which recipes go changes what they fill in. */
    size_t key_count = 0;
    const st_key *keys = st_keys(&key_count);
    for (size_t i = 0; i < key_count; i++)
        if (ST_HAS(values->recipe_keys, values->recipe_key_count, path, keys[i].path) ||
            is_recomputed(keys[i].path) || strcmp(keys[i].path, ST_KEY_RECOMPUTE) == 0)
            loader->job->asked[i] = true;
    loader->job->section_names[st_section_index(st_section_find(ST_KEY_STACK))] = stack->name;
}
