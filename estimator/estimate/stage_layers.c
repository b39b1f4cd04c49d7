/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of a stage are differences of running counts. Without a layout the layers are spread as
 * the sheet's numbers for first, last and the stages between say, chunk after chunk; where these do
 * not divide, boundaries are rounded, so that no layer is lost or counted twice.
 */
#include "estimate/stage_layers.h"

#include "base/memory.h"
#include "job/pattern.h"

#include <math.h>
#include <string.h>

enum { PREDICTION = ST_LAYER_KINDS, KINDS, MOST_ARGUMENTS = 16, MOST_STAGES = 4096 };

typedef struct stage_plan {
    st_pattern pattern;
    st_layout layout; /* count 0: none */
    bool has_pattern;
    double mtp;
} stage_plan;

typedef struct stage_entry {
    const char *name;
    size_t arguments;
    double (*value)(const stage_plan *plan, const double *arguments);
} stage_entry;

typedef struct stage_self {
    const stage_plan *plan;
    const stage_entry *entry;
} stage_self;

static double layers_of(const stage_plan *plan, const double *arguments)
{
    size_t kind = (size_t)arguments[0];
    if (!plan->has_pattern)
        return arguments[1];
    return kind < ST_LAYER_KINDS ? plan->pattern.before[plan->pattern.count].of[kind] : 0;
}

/* How a row divides the model. */
typedef struct division {
    size_t stages;
    size_t chunks;
    double first; /* layers of the first stage */
    double last;
} division;

static double layers_of_stage(const division *own, double layers, size_t stage)
{
    if (own->stages == 1)
        return layers;
    if (stage == 0)
        return own->first;
    if (stage + 1 == own->stages)
        return own->last;
    return (layers - own->first - own->last) / (double)(own->stages - 2);
}

/* Layers that lie before a virtual stage. */
static size_t layers_before(const stage_plan *plan, const division *own, size_t virtual_stage)
{
    double layers = (double)plan->pattern.count;
    double all = 0;
    double before = 0;
    for (size_t i = 0; i < own->stages; i++) {
        double each = layers_of_stage(own, layers, i);
        double whole = (double)(virtual_stage / own->stages);
        all += each;
        before += each / (double)own->chunks * (whole + (i < virtual_stage % own->stages ? 1 : 0));
    }
    double share = all > 0 ? before * layers / all : 0;
    return (size_t)fmin(fmax(floor(share + 0.5), 0), layers);
}

static void add_counts(const stage_plan *plan, size_t first, size_t end, double *counts)
{
    st_layer_counts own = st_pattern_counts(&plan->pattern, first, end > first ? end - first : 0);
    for (size_t kind = 0; kind < ST_LAYER_KINDS; kind++)
        counts[kind] += own.of[kind];
}

/* Layers of a stage by kind, those of multi-token prediction last. */
static void count_stage(const stage_plan *plan, const division *own, size_t stage, double *counts)
{
    memset(counts, 0, KINDS * sizeof *counts);
    for (size_t i = stage; i < own->stages * own->chunks; i += own->stages) {
        if (plan->layout.count > 0) {
            const st_layout_stage *at = &plan->layout.stages[i];
            add_counts(plan, at->first, at->first + at->layers, counts);
            counts[PREDICTION] += at->mtp;
        } else {
            add_counts(plan, layers_before(plan, own, i), layers_before(plan, own, i + 1), counts);
        }
    }
    if (plan->layout.count == 0 && stage + 1 == own->stages)
        counts[PREDICTION] = plan->mtp;
}

/* arguments: stages, chunks, layers of the first and of the last stage; false: nothing divides so
 */
static bool read_division(const stage_plan *plan, const double *arguments, division *own)
{
    bool good = arguments[0] >= 1 && arguments[1] >= 1 && arguments[0] * arguments[1] < MOST_STAGES;
    *own = (division){.stages = good ? (size_t)arguments[0] : 1,
                      .chunks = good ? (size_t)arguments[1] : 1,
                      .first = arguments[2],
                      .last = arguments[3]};
    return good && (plan->layout.count == 0 || plan->layout.count == own->stages * own->chunks);
}

/* arguments: kind, stage, then those of a division, otherwise */
static double layers_on(const stage_plan *plan, const double *arguments)
{
    division own;
    double counts[KINDS];
    size_t kind = (size_t)arguments[0];
    size_t stage = (size_t)arguments[1];
    if (!read_division(plan, arguments + 2, &own) || kind >= KINDS)
        return (double)NAN;
    if (stage >= own.stages)
        return 0;
    count_stage(plan, &own, stage, counts);
    return counts[kind];
}

/* arguments: those of a division, a weight for each kind, otherwise */
static double fullest_stage(const stage_plan *plan, const double *arguments)
{
    division own;
    double counts[KINDS];
    double most = -1;
    double found = 1;
    if (!read_division(plan, arguments, &own))
        return (double)NAN;
    for (size_t stage = 1; stage + 1 < own.stages; stage++) {
        double weight = 0;
        count_stage(plan, &own, stage, counts);
        for (size_t kind = 0; kind < KINDS; kind++)
            weight += counts[kind] * arguments[4 + kind];
        if (weight > most) {
            most = weight;
            found = (double)stage;
        }
    }
    return found;
}

static const stage_entry entries[] = {
    {"layers_of", 2, layers_of},
    {"layers_on", 7, layers_on},
    {"fullest_stage", 5 + KINDS, fullest_stage},
};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

static st_status evaluate(void *context, size_t rows, const double *const *columns, double *values)
{
    const stage_self *self = context;
    double row[MOST_ARGUMENTS] = {0};
    for (size_t i = 0; i < rows; i++) {
        bool good = true;
        for (size_t j = 0; j < self->entry->arguments; j++) {
            row[j] = columns[j][i];
            good = good && isfinite(row[j]) && row[j] >= 0;
        }
        values[i] = good ? self->entry->value(self->plan, row) : (double)NAN;
    }
    return ST_OK;
}

/* Why a row is refused. */
static st_status explain(void *context, const double *const *columns, st_arena *arena,
                         st_provider_account *account)
{
    const stage_self *self = context;
    size_t layout = self->plan->layout.count;
    if (layout == 0 || self->entry->value == layers_of)
        return ST_OK;
    double stages = columns[self->entry->value == layers_on ? 2 : 0][0];
    double chunks = columns[self->entry->value == layers_on ? 3 : 1][0];
    if (stages * chunks == (double)layout)
        return ST_OK;
    account->refusal = st_arena_printf(
        arena, "parallel.layout has %zu virtual stages, the plan %g x %g (pp x virtual_stages)",
        layout, stages, chunks);
    return account->refusal == NULL ? ST_ERR_MEMORY : ST_OK;
}

/* ---- from the job ---------------------------------------------------------------------------- */

static double number_of(const st_job *job, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    return value == NULL || value->origin == ST_ORIGIN_NONE ? 0 : value->number;
}

static const st_job_value *text_of(const st_job *job, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    return value == NULL || value->origin == ST_ORIGIN_NONE ? NULL : value;
}

/* The pattern of a job that gives leading dense layers and how many of the others have experts. */
static st_status spell_pattern(const st_job *job, st_place place, st_arena *arena, stage_plan *plan,
                               st_errors *errors)
{
    double layers = number_of(job, "model.layers");
    double leading = number_of(job, "model.dense_layers");
    double every = number_of(job, "model.moe_every");
    bool experts = number_of(job, "model.experts") > 0;
    if (!(layers >= 1 && layers <= ST_PATTERN_LAYERS))
        return ST_OK;
    size_t count = (size_t)layers;
    char *text = st_arena_alloc(arena, count + 1, 1);
    if (text == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < count; i++) {
        double behind = (double)i + 1 - leading;
        bool routed = experts && behind > 0 && every >= 1 && fmod(behind, every) == 0;
        text[i] = st_layer_letter(routed ? ST_LAYER_MOE : ST_LAYER_DENSE);
    }
    return st_pattern_read(text, layers, place, arena, &plan->pattern, errors);
}

/* A layout says what other keys would say too. */
static st_status check_alone(const st_job *job, const st_job_value *layout, st_errors *errors)
{
    static const char *const others[] = {"parallel.first_stage_layers",
                                         "parallel.last_stage_layers", "parallel.account_embedding",
                                         "parallel.account_loss"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (number_of(job, others[i]) != 0)
            return st_fail(errors, ST_ERR_CHECK, layout->place,
                           "parallel.layout and %s both say which layers lie where" ST_EXPECTED
                           "one of them",
                           others[i]);
    return ST_OK;
}

static st_status read_plan(const st_job *job, const st_job_value *pattern,
                           const st_job_value *layout, st_arena *arena, stage_plan *plan,
                           st_errors *errors)
{
    double chunks = number_of(job, "parallel.virtual_stages");
    st_status status;
    plan->has_pattern = pattern != NULL;
    plan->mtp = number_of(job, "model.mtp");
    if (pattern != NULL)
        status = st_pattern_read(pattern->text, number_of(job, "model.layers"), pattern->place,
                                 arena, &plan->pattern, errors);
    else
        status = spell_pattern(job, layout->place, arena, plan, errors);
    if (status != ST_OK || layout == NULL)
        return status;
    status = check_alone(job, layout, errors);
    if (status != ST_OK)
        return status;
    const st_layout_needs needs = {.place = layout->place,
                                   .pp = number_of(job, "parallel.pp"),
                                   .layers = number_of(job, "model.layers"),
                                   .mtp = plan->mtp};
    status = st_layout_read(layout->text, &needs, arena, &plan->layout, errors);
    if (status == ST_OK && (double)plan->layout.virtual_stages != chunks)
        return st_fail(errors, ST_ERR_CHECK, layout->place,
                       "parallel.layout has %zu virtual stages for %g pipeline ranks" ST_EXPECTED
                       "%g, as parallel.virtual_stages is %g" ST_HINT "parallel.virtual_stages=%zu",
                       plan->layout.count, needs.pp, needs.pp * chunks, chunks,
                       plan->layout.virtual_stages);
    return status;
}

static bool has_function(const st_sheet *sheet, const char *name)
{
    size_t count = 0;
    const st_sheet_function *functions = st_sheet_functions(sheet, &count);
    for (size_t i = 0; i < count; i++)
        if (functions[i].open && strcmp(functions[i].name, name) == 0)
            return true;
    return false;
}

static bool has_any(const st_sheet *sheet)
{
    bool any = false;
    for (size_t i = 0; i < ENTRIES; i++)
        any = any || has_function(sheet, entries[i].name);
    return any;
}

static st_status make_providers(const stage_plan *plan, const st_sheet *sheet, const char *source,
                                st_arena *arena, st_stage_providers *providers, st_errors *errors)
{
    st_provider *made = st_arena_alloc(arena, ENTRIES, sizeof *made);
    stage_self *selves = st_arena_alloc(arena, ENTRIES, sizeof *selves);
    st_unit *units = st_arena_alloc(arena, MOST_ARGUMENTS, sizeof *units);
    if (made == NULL || selves == NULL || units == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < MOST_ARGUMENTS; i++)
        units[i] = st_unit_one();
    for (size_t i = 0; i < ENTRIES; i++) {
        if (!has_function(sheet, entries[i].name))
            continue;
        selves[i] = (stage_self){.plan = plan, .entry = &entries[i]};
        made[providers->count++] = (st_provider){.name = entries[i].name,
                                                 .source = source,
                                                 .argument_units = units,
                                                 .argument_count = entries[i].arguments,
                                                 .unit = st_unit_one(),
                                                 .evaluate = evaluate,
                                                 .explain = explain,
                                                 .self = &selves[i]};
    }
    providers->items = made;
    return ST_OK;
}

st_status st_stage_layer_providers(const st_job *job, const st_sheet *sheet, st_arena *arena,
                                   st_stage_providers *providers, st_errors *errors)
{
    const st_job_value *pattern = text_of(job, "model.pattern");
    const st_job_value *layout = text_of(job, "parallel.layout");
    *providers = (st_stage_providers){0};
    if ((pattern == NULL && layout == NULL) || !has_any(sheet))
        return ST_OK;
    stage_plan *plan = st_arena_alloc(arena, 1, sizeof *plan);
    if (plan == NULL)
        return st_out_of_memory(errors);
    *plan = (stage_plan){.mtp = 0};
    st_status status = read_plan(job, pattern, layout, arena, plan, errors);
    if (status != ST_OK)
        return status;
    return make_providers(plan, sheet, layout != NULL ? "layout of stages" : "pattern of layers",
                          arena, providers, errors);
}
