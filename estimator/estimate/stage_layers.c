/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of a stage are differences of running counts. Without a layout the layers are spread as
 * the sheet's numbers for first, last and the stages between say, chunk after chunk; where these do
 * not divide, boundaries are rounded, so that no layer is lost or counted twice.
 */
#include "estimate/stage_layers.h"

#include "base/memory.h"
#include "estimate/open_functions.h"
#include "job/pattern.h"

#include <math.h>
#include <string.h>

enum { PREDICTION = ST_LAYER_KINDS, KINDS, DIVISION = 7, MOST_ARGUMENTS = 20, MOST_STAGES = 4096 };

typedef struct stage_plan {
    st_pattern pattern; /* count 0: none */
    st_layout layout;   /* count 0: none */
} stage_plan;

typedef struct stage_entry {
    const char *name;
    size_t arguments;
    size_t stages; /* which argument is the number of stages, before that of chunks */
    double (*value)(const stage_plan *plan, const double *arguments);
} stage_entry;

typedef struct stage_self {
    const stage_plan *plan;
    const stage_entry *entry;
} stage_self;

/* How a row divides the model. */
typedef struct division {
    size_t stages;
    size_t chunks;
    double layers;
    double first;   /* layers of the first stage */
    double last;    /* and of the last */
    double leading; /* without a pattern: dense layers before the first with experts */
    double every;   /* one in so many of the others has experts; 0: none */
} division;

/* arguments: kind, otherwise */
static double layers_of(const stage_plan *plan, const double *arguments)
{
    size_t kind = (size_t)arguments[0];
    if (plan->pattern.count == 0)
        return arguments[1];
    return kind < ST_LAYER_KINDS ? plan->pattern.before[plan->pattern.count].of[kind] : 0;
}

static double layers_of_stage(const division *own, size_t stage)
{
    if (own->stages == 1)
        return own->layers;
    if (stage == 0)
        return own->first;
    if (stage + 1 == own->stages)
        return own->last;
    return (own->layers - own->first - own->last) / (double)(own->stages - 2);
}

/* Layers that lie before a virtual stage. */
static size_t layers_before(const division *own, size_t virtual_stage)
{
    double all = 0;
    double before = 0;
    size_t whole = virtual_stage / own->stages; /* chunks of every stage */
    size_t rest = virtual_stage % own->stages;  /* stages that have one more */
    for (size_t i = 0; i < own->stages; i++) {
        double each = layers_of_stage(own, i);
        all += each;
        before += each / (double)own->chunks * (double)(whole + (i < rest ? 1 : 0));
    }
    double share = all > 0 ? before * own->layers / all : 0;
    return (size_t)fmin(fmax(floor(share + 0.5), 0), own->layers);
}

double st_routed_before(double leading, double every, double count)
{
    double behind = count - leading;
    return every >= 1 && behind > 0 ? floor(behind / every) : 0;
}

static double routed_before(const division *own, size_t count)
{
    return st_routed_before(own->leading, own->every, (double)count);
}

static void add_counts(const stage_plan *plan, const division *own, size_t first, size_t end,
                       double *counts)
{
    if (end <= first)
        return;
    if (plan->pattern.count > 0) {
        st_layer_counts found = st_pattern_counts(&plan->pattern, first, end - first);
        for (size_t kind = 0; kind < ST_LAYER_KINDS; kind++)
            counts[kind] += found.of[kind];
        return;
    }
    double routed = routed_before(own, end) - routed_before(own, first);
    counts[ST_LAYER_MOE] += routed;
    counts[ST_LAYER_DENSE] += (double)(end - first) - routed;
}

/* Layers of a stage by kind, those of multi-token prediction last. */
static void count_stage(const stage_plan *plan, const division *own, size_t stage, double *counts)
{
    memset(counts, 0, KINDS * sizeof *counts);
    for (size_t i = stage; i < own->stages * own->chunks; i += own->stages) {
        if (plan->layout.count > 0) {
            const st_layout_stage *at = &plan->layout.stages[i];
            add_counts(plan, own, at->first, (size_t)at->first + at->layers, counts);
            counts[PREDICTION] += at->mtp;
        } else {
            add_counts(plan, own, layers_before(own, i), layers_before(own, i + 1), counts);
        }
    }
}

/* Stages, chunks, layers, layers of the first and of the last stage, leading dense ones, how many
 * of the others have experts; false: neither pattern nor layout divides so. */
static bool read_division(const stage_plan *plan, const double *arguments, division *own)
{
    bool good = arguments[0] >= 1 && arguments[1] >= 1 && arguments[0] * arguments[1] < MOST_STAGES;
    const st_layout_stage *stages = plan->layout.stages;
    size_t count = plan->layout.count;
    *own = (division){.stages = good ? (size_t)arguments[0] : 1,
                      .chunks = good ? (size_t)arguments[1] : 1,
                      .layers = arguments[2],
                      .first = arguments[3],
                      .last = arguments[4],
                      .leading = arguments[5],
                      .every = arguments[6]};
    if (count > 0)
        good = good && count == own->stages * own->chunks &&
               stages[count - 1].first + stages[count - 1].layers == own->layers;
    return good && (plan->pattern.count == 0 || (double)plan->pattern.count == own->layers);
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
    if (kind == PREDICTION && plan->layout.count == 0)
        return arguments[2 + DIVISION];
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
            weight += counts[kind] * arguments[DIVISION + kind];
        if (weight > most) {
            most = weight;
            found = (double)stage;
        }
    }
    return found;
}

static const stage_entry entries[] = {
    {"layers_of", 2, 0, layers_of},
    {"layers_on", 3 + DIVISION, 2, layers_on},
    {"fullest_stage", 1 + DIVISION + KINDS, 0, fullest_stage},
};
enum { ENTRIES = ST_COUNT(entries) };

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
    double stages = columns[self->entry->stages][0];
    double chunks = columns[self->entry->stages + 1][0];
    if (stages * chunks == (double)layout)
        return ST_OK;
    account->refusal = st_arena_printf(arena,
                                       "parallel.layout has %zu virtual stages, the plan %g x %g "
                                       "(pp x virtual_stages); the nearest "
                                       "that works is parallel.virtual_stages=%g",
                                       layout, stages, chunks, ceil((double)layout / stages));
    return account->refusal == NULL ? ST_ERR_MEMORY : ST_OK;
}

/* ---- from the job ---------------------------------------------------------------------------- */

/* NAN: the job does not say, as where rows of a table do. */
static double number_of(const st_job *job, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    return value == NULL || !st_job_is_given(job, key) ? (double)NAN : value->number;
}

static const st_job_value *text_of(const st_job *job, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    return value == NULL || value->origin == ST_ORIGIN_NONE ? NULL : value;
}

/* A layout says what other keys would say too. */
static st_status check_alone(const st_job *job, const st_job_value *layout, st_errors *errors)
{
    static const char *const others[] = {"parallel.first_stage_layers",
                                         "parallel.last_stage_layers", "parallel.account_embedding",
                                         "parallel.account_loss"};
    for (size_t i = 0; i < ST_COUNT(others); i++)
        if (number_of(job, others[i]) > 0)
            return st_fail(errors, ST_ERR_CHECK, layout->place,
                           "parallel.layout and %s both say which layers lie where" ST_EXPECTED
                           "one of them",
                           others[i]);
    return ST_OK;
}

static st_status read_layout(const st_job *job, const st_job_value *layout, st_arena *arena,
                             stage_plan *plan, st_errors *errors)
{
    double chunks = number_of(job, "parallel.virtual_stages");
    double stages = number_of(job, "parallel.pp");
    if (check_alone(job, layout, errors) != ST_OK)
        return ST_ERR_CHECK;
    const st_layout_needs needs = {.place = layout->place,
                                   /* one stage: rows of a space say how many, or are refused */
                                   .pp = stages > 1 ? stages : (double)NAN,
                                   .layers = number_of(job, "model.layers"),
                                   .mtp = number_of(job, "model.mtp")};
    st_status status = st_layout_read(layout->text, &needs, arena, &plan->layout, errors);
    size_t found = plan->layout.virtual_stages;
    if (status == ST_OK && !isnan(needs.pp) && !isnan(chunks) && (double)found != chunks)
        return st_fail(errors, ST_ERR_CHECK, layout->place,
                       "parallel.layout has %zu virtual stages for %g pipeline ranks" ST_EXPECTED
                       "%g, as parallel.virtual_stages is %g" ST_HINT "parallel.virtual_stages=%zu",
                       plan->layout.count, needs.pp, needs.pp * chunks, chunks, found);
    return status;
}

static st_status read_plan(const st_job *job, st_arena *arena, stage_plan *plan, st_errors *errors)
{
    const st_job_value *pattern = text_of(job, "model.pattern");
    const st_job_value *layout = text_of(job, "parallel.layout");
    st_status status = ST_OK;
    if (pattern != NULL)
        status = st_pattern_read(pattern->text, number_of(job, "model.layers"), pattern->place,
                                 arena, &plan->pattern, errors);
    return status == ST_OK && layout != NULL ? read_layout(job, layout, arena, plan, errors)
                                             : status;
}

static bool has_any(const st_sheet *sheet)
{
    bool any = false;
    for (size_t i = 0; i < ENTRIES; i++)
        any = any || st_open_function_find(sheet, entries[i].name) != NULL;
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
        if (st_open_function_find(sheet, entries[i].name) == NULL)
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
    bool any = text_of(job, "model.pattern") != NULL || text_of(job, "parallel.layout") != NULL;
    *providers = (st_stage_providers){0};
    if (!any || !has_any(sheet))
        return ST_OK;
    stage_plan *plan = st_arena_alloc(arena, 1, sizeof *plan);
    if (plan == NULL)
        return st_out_of_memory(errors);
    *plan = (stage_plan){.pattern.count = 0};
    st_status status = read_plan(job, arena, plan, errors);
    if (status != ST_OK)
        return status;
    const char *source = plan->layout.count > 0 ? "layout of stages" : "pattern of layers";
    return make_providers(plan, sheet, source, arena, providers, errors);
}
