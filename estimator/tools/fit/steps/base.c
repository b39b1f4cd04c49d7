/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs without a plan, from which the rows of a table take what it does not say; see base.h. */
#include "fit/steps/base.h"

#include "steptime/keys.h"
#include "steptime/tool/job_values.h"
#include "steptime/tool/job_keys.h"
#include "steptime/tool/estimates.h"
#include "steptime/tool/input_files.h"

#include <math.h>
#include <string.h>

st_status st_input_parse(const st_sheet_input *input, const st_value_text *text, double *number,
                         st_errors *errors)
{
    const st_key *key = st_key_find(input->from);
    if (key == NULL || key->kind == ST_KEY_ENUM)
        return st_value_parse_typed(input->from, &input->type, text, number, errors);
    return st_value_parse(key, text, number, errors);
}

/* The table's own name for a file of the source, NULL where the source has none. */
static const char *renamed_gpu(const st_table_source *source, const char *gpu)
{
    for (size_t i = 0; source != NULL && i < source->gpu_count; i++)
        if (st_text_matches(gpu, source->gpus[i].name))
            return source->gpus[i].theirs;
    return NULL;
}

/* Each line is an assignment. */
static void add_lines(const st_bases *bases, const char *lines, const char **sets, size_t *used)
{
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        if (length > 0)
            sets[(*used)++] = st_arena_copy(bases->arena, lines, length);
        lines += length + (lines[length] == '\n' ? 1 : 0);
    }
}

/* Puts the assignments of a base together; NULL when out of memory. */
static const char **list_sets(st_bases *bases, const st_base_name *name, const char *gpu,
                              size_t *count)
{
    const char **sets = st_arena_alloc(
        bases->arena, bases->set_count + strlen(name->sections) + strlen(name->texts) + 5,
        sizeof *sets);
    size_t used = 0;
    if (sets == NULL)
        return NULL;
    add_lines(bases, name->sections, sets, &used);
    add_lines(bases, name->texts, sets, &used);
    if (gpu != NULL)
        sets[used++] = st_arena_printf(bases->arena, ST_KEY_CLUSTER_GPU "=%s", gpu);
    if (name->order[0] != '\0')
        sets[used++] = st_arena_printf(bases->arena, ST_KEY_PARALLEL_ORDER "=%s", name->order);
    if (bases->constants != NULL)
        sets[used++] = st_arena_printf(bases->arena, ST_KEY_CONSTANTS "=%s", bases->constants);
    for (size_t i = 0; i < bases->set_count; i++)
        sets[used++] = bases->sets[i];
    *count = used;
    for (size_t i = 0; i < used; i++)
        if (sets[i] == NULL)
            return NULL;
    return sets;
}

/* One input's value in a job; origin ST_ORIGIN_NONE where only the sheet may have one. */
static st_status take_value(st_bases *bases, const st_job *job, const st_sheet_input *input,
                            double *value, st_origin *origin)
{
    const st_job_value *given = st_job_value_of(job, input->from);
    *value = input->has_default ? input->default_value : (double)NAN;
    *origin = ST_ORIGIN_NONE;
    if (given == NULL || given->origin == ST_ORIGIN_NONE)
        return ST_OK;
    *origin = given->origin;
    *value = given->number;
    if (given->key != NULL && given->key->kind != ST_KEY_ENUM)
        return ST_OK;
    const st_value_text text = {
        .text = given->text, .length = strlen(given->text), .place = given->place};
    return st_input_parse(input, &text, value, bases->errors);
}

/* What a name says of the memory must be what the file says. */
static bool has_memory(const st_job *job, double memory_gb)
{
    const st_job_value *memory = st_job_value_of(job, ST_KEY_CLUSTER_GPU_MEMORY);
    if (memory_gb == 0 || memory == NULL || memory->origin == ST_ORIGIN_NONE)
        return true;
    return fabs(memory->number / (memory_gb * 1e9) - 1.0) < 0.1;
}

/* What providers of the library look at, and how the texts that a row has of its own are read. */
static const char *const provider_texts[] = {
    ST_KEY_PARALLEL_ORDER,         ST_KEY_MODEL_LAYER_LIST,
    ST_KEY_MODEL_PATTERN,          ST_KEY_PARALLEL_LAYOUT,
    ST_KEY_CLUSTER_TOPOLOGY,       ST_KEY_COLLECTIVES_ALL_REDUCE,
    ST_KEY_COLLECTIVES_ALL_GATHER, ST_KEY_COLLECTIVES_REDUCE_SCATTER,
    ST_KEY_COLLECTIVES_ALL_TO_ALL};
enum { PROVIDER_TEXTS = ST_COUNT(provider_texts) };

static bool has_same_texts(const st_base *base, const st_base *other)
{
    for (size_t i = 0; i < PROVIDER_TEXTS; i++)
        if (strcmp(st_job_text(base->job, provider_texts[i]),
                   st_job_text(other->job, provider_texts[i])) != 0)
            return false;
    return strcmp(base->name.texts, other->name.texts) == 0;
}

/* Bases that differ in nothing that a provider looks at share theirs. */
static bool share_variant(const st_bases *bases, st_base *base)
{
    base->variant = 0;
    if (bases->refine_count > 0) /* a plugin may look at any key of the job */
        return false;
    bool has_no_texts = true;
    for (size_t i = 0; i < PROVIDER_TEXTS; i++)
        if (st_job_text(base->job, provider_texts[i])[0] != '\0') {
            has_no_texts = false;
            break;
        }
    if (has_no_texts)
        return true;
    for (const st_base *other = bases->first; other != NULL; other = other->next) {
        base->variant = other->variant;
        if (other->fault == NULL && has_same_texts(base, other))
            return true;
    }
    return false;
}

/* What a list of errors says first is the fault of a base, and of its rows alone. */
static st_status take_fault(const st_bases *bases, const st_errors *faults, st_base *base)
{
    const st_error *first = st_errors_at(faults, 0);
    const char *found = st_or_none(first->found);
    base->fault = st_arena_printf(bases->arena, "%s%s%s", first->message,
                                  found[0] != '\0' ? ": " : "", found);
    return base->fault != NULL ? ST_OK : ST_ERR_MEMORY;
}

/*
 * Those of plugins first, then the library's own; of the latter only what rows say can be wrong,
 * such as a layer list that is not there.
 */
static st_status make_providers(const st_bases *bases, const st_job *job, st_base *base,
                                st_provider_list *list)
{
    const st_provider_wish wish = {.paths = bases->paths,
                                   .job = job,
                                   .sheet = bases->sheet,
                                   .refine = bases->refine,
                                   .refine_count = bases->refine_count};
    if (bases->refine_count > 0)
        return st_estimate_providers(&wish, bases->arena, list, bases->errors);
    st_errors *faults = st_errors_create();
    if (faults == NULL)
        return ST_ERR_MEMORY;
    st_status status = st_estimate_providers(&wish, bases->arena, list, faults);
    if (status != ST_OK && status != ST_ERR_MEMORY) {
        *list = (st_provider_list){0};
        status = take_fault(bases, faults, base);
    }
    st_errors_destroy(faults);
    return status;
}

/* The first variant is that of jobs without such texts, made when the first of them comes. */
static st_status make_plain(const st_bases *bases, const st_job *job, st_base *base)
{
    bool is_made = base->variant != 0 || bases->variants[0].count > 0;
    return is_made ? ST_OK : make_providers(bases, job, base, &bases->variants[0]);
}

/* Reads the job of a base and what rows take from it. */
static st_status take_job(st_bases *bases, const st_job_parts *parts, st_base *base)
{
    const st_job *job = NULL;
    st_status status = st_job_load_for(bases->paths, parts, bases->arena, &job, bases->errors);
    base->job = job;
    if (status == ST_OK) {
        size_t count = 0;
        const st_sheet_input *inputs = st_sheet_inputs(bases->sheet, &count);
        double *values = st_arena_alloc(bases->arena, count + 1, sizeof *values);
        st_origin *origins = st_arena_alloc(bases->arena, count + 1, sizeof *origins);
        status = values != NULL && origins != NULL ? ST_OK : ST_ERR_MEMORY;
        for (size_t i = 0; status == ST_OK && i < count; i++)
            status = take_value(bases, job, &inputs[i], &values[i], &origins[i]);
        base->values = values;
        base->origins = origins;
    }
    if (status != ST_OK)
        return status;
    base->order = st_job_text(job, ST_KEY_PARALLEL_ORDER);
    base->order_is_set = base->order[0] != '\0' && base->name.order[0] == '\0';
    if (bases->variant_count > 0 && share_variant(bases, base))
        return make_plain(bases, job, base);
    size_t first = bases->variant_count > 0 ? bases->variant_count : 1;
    st_provider_list *list = st_arena_grow(bases->arena, bases->variants, sizeof *list, first + 1,
                                           &bases->variant_capacity);
    if (list == NULL)
        return ST_ERR_MEMORY;
    bases->variants = list;
    list[0] = (st_provider_list){0};
    bases->variant_count = first;
    if (share_variant(bases, base))
        return make_plain(bases, job, base);
    base->variant = bases->variant_count++;
    return make_providers(bases, job, base, &list[base->variant]);
}

/* The same where a row's own texts may be wrong: that is the row's fault alone. */
static st_status take_row_job(st_bases *bases, const st_job_parts *parts, st_base *base)
{
    st_errors *errors = bases->errors;
    st_errors *faults = st_errors_create();
    if (faults == NULL)
        return ST_ERR_MEMORY;
    bases->errors = faults;
    st_status status = take_job(bases, parts, base);
    bases->errors = errors;
    if (status != ST_OK && status != ST_ERR_MEMORY)
        status = take_fault(bases, faults, base);
    st_errors_destroy(faults);
    return status;
}

static void set_unknown_gpu(st_bases *bases, st_base *base)
{
    const char *nearest = st_gpus_nearest(&bases->gpus, base->name.gpu, bases->errors);
    base->fault = st_arena_printf(bases->arena, "no file for the GPU '%s'%s%s%s", base->name.gpu,
                                  nearest[0] != '\0' ? "; did you mean '" : "", nearest,
                                  nearest[0] != '\0' ? "'?" : "");
}

static st_status load(st_bases *bases, st_base *base)
{
    double memory_gb = 0;
    size_t count = 0;
    const char *gpu = NULL;
    if (base->name.gpu[0] != '\0') {
        gpu = renamed_gpu(bases->source, base->name.gpu);
        if (gpu == NULL)
            gpu = st_gpus_find(&bases->gpus, base->name.gpu, &memory_gb);
        if (gpu == NULL)
            set_unknown_gpu(bases, base);
    }
    const char **sets = list_sets(bases, &base->name, gpu, &count);
    if (sets == NULL)
        return ST_ERR_MEMORY;
    /* a sheet that is not in a file of the user's is found by its name */
    const char *sheet = st_sheet_file(bases->sheet);
    if (!st_name_is_path(sheet))
        sheet = st_sheet_name(bases->sheet);
    const st_job_parts parts = {NULL, sheet, sets, count};
    st_status status = base->name.texts[0] != '\0' ? take_row_job(bases, &parts, base)
                                                   : take_job(bases, &parts, base);
    if (status == ST_OK && base->fault == NULL && !has_memory(base->job, memory_gb))
        set_unknown_gpu(bases, base);
    return status;
}

static const char *copy(const st_bases *bases, const char *text)
{
    return st_arena_copy(bases->arena, text, strlen(text));
}

const st_base *st_base_of(st_bases *bases, const st_base_name *name)
{
    const st_base *known = bases->first;
    while (known != NULL && (strcmp(known->name.gpu, name->gpu) != 0 ||
                             strcmp(known->name.sections, name->sections) != 0 ||
                             strcmp(known->name.texts, name->texts) != 0 ||
                             strcmp(known->name.order, name->order) != 0))
        known = known->next;
    if (known != NULL || bases->failed)
        return known; /* others would mostly fail for the same reason */
    if (bases->count == ST_BASES_MAX) {
        bases->failed = true;
        st_fail(bases->errors, ST_ERR_LIMIT, (st_place){0},
                "too many GPUs in one table" ST_EXPECTED "at most 1000");
        return NULL;
    }
    if (st_gpus_list(bases->paths, bases->arena, &bases->gpus, bases->errors) != ST_OK)
        return NULL;
    st_base *base = st_arena_alloc(bases->arena, 1, sizeof *base);
    if (base == NULL)
        return NULL;
    *base = (st_base){.name = {copy(bases, name->gpu), copy(bases, name->sections),
                               copy(bases, name->texts), copy(bases, name->order)}};
    bases->failed = base->name.gpu == NULL || base->name.sections == NULL ||
                    base->name.texts == NULL || base->name.order == NULL ||
                    load(bases, base) != ST_OK;
    if (bases->failed)
        return NULL;
    base->next = bases->first;
    bases->first = base;
    bases->count++;
    return base;
}
