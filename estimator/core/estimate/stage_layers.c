/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers are dealt out place after place, so that none is lost or counted twice: as a layout has
 * them, or as the sheet's numbers for first, last and the stages between say.
 */
#include "estimate/stage_layers.h"

#include "base/memory.h"
#include "estimate/balanced_layout.h"
#include "estimate/open_functions.h"
#include "job/bind.h"
#include "steptime/keys.h"
#include "steptime/tool/pattern.h"
#include "steptime/tool/roles.h"
#include "estimate/plan_cache.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 24 };

typedef struct stage_entry {
    const char *name;
    size_t arguments;
    size_t stages; /* which argument is the number of stages, before that of chunks */
    bool always;   /* also for a job without a pattern and a layout */
    double (*value)(const st_stage_plan *plan, const double *arguments);
    const char *unit; /* of the arguments behind `plain` ones; NULL: all are numbers */
    size_t plain;
    bool measures; /* the result has it, too */
} stage_entry;

typedef struct stage_self {
    const st_stage_plan *plan;
    const stage_entry *entry;
} stage_self;

/* ---- layers of stages and chunks ------------------------------------------------------------- */

/* Layers before a stage of a pipeline that goes one way. */
static double layers_before(const st_division *division, size_t stage)
{
    double middles = division->stages > 2 ? (double)division->stages - 2 : 0;
    double last = division->stages > 1 ? division->last : 0;
    double shorter =
        fmax(division->first + middles * division->middle + last - division->layers, 0);
    double full = middles - fmin(shorter, middles); /* stages that have all they may have */
    double between = (double)stage - 1;
    if (stage == 0)
        return 0;
    if (stage >= division->stages)
        return division->layers;
    return fmin(division->first + between * division->middle - fmax(between - full, 0),
                division->layers);
}

static double layers_of_place(const st_division *division, size_t place)
{
    size_t stages = division->stages > 0 ? division->stages : 1;
    if (division->folded) {
        double folded_stages = (double)division->stages;
        double most = ceil(division->layers / (2 * folded_stages));
        double missing = 2 * folded_stages * most - division->layers;
        bool back = place >= division->stages;
        double turn = back ? 2 * folded_stages - 1 - (double)place : folded_stages + (double)place;
        return most - (turn < missing ? 1 : 0);
    }
    /* Of the first stage the last chunks have one more than others, else the first ones. */
    const size_t stage = place % stages;
    const size_t chunk = place / stages;
    double layers = layers_before(division, stage + 1) - layers_before(division, stage);
    double chunks = (double)division->chunks;
    double each = floor(layers / chunks);
    double from_end = (double)(stage == 0 ? division->chunks - 1 - chunk : chunk);
    return each + (from_end < layers - each * chunks ? 1 : 0);
}

double st_routed_before(double leading, double every, double count)
{
    double behind = count - leading;
    return every >= 1 && behind > 0 ? floor(behind / every) : 0;
}

static double routed_before(const st_division *division, size_t count)
{
    return st_routed_before(division->leading, division->every, (double)count);
}

void st_place_walk_next(st_place_walk *walk, st_place_counts *counts)
{
    const st_layout *layout = walk->division->layout;
    size_t place = walk->place++;
    const st_layout_stage *at = layout != NULL ? &layout->stages[place] : NULL;
    size_t first = at != NULL ? at->first : walk->first;
    size_t layers = at != NULL ? at->layers : (size_t)layers_of_place(walk->division, place);
    walk->first = first + layers;
    if (counts == NULL)
        return;
    const st_pattern *pattern = &walk->plan->pattern;
    if (pattern->count > 0) {
        st_layer_counts found = st_pattern_counts(pattern, first, layers);
        for (size_t kind = 0; kind < ST_LAYER_KINDS; kind++)
            counts->of[kind] += found.of[kind];
    } else {
        double routed =
            routed_before(walk->division, first + layers) - routed_before(walk->division, first);
        counts->of[ST_LAYER_MOE] += routed;
        counts->of[ST_LAYER_DENSE] += (double)layers - routed;
    }
    counts->of[ST_LAYER_PREDICTION] += at != NULL ? at->mtp : 0;
}

static bool has_layout(const st_stage_plan *plan)
{
    return plan->balanced || plan->layout.count > 0;
}

static bool is_count(double number, double most)
{
    return number >= 1 && number <= most && number == floor(number);
}

bool st_division_read(const st_stage_plan *plan, const double *arguments, st_division *division)
{
    bool good = is_count(arguments[0], ST_MOST_PLACES) && is_count(arguments[1], ST_MOST_PLACES) &&
                arguments[0] * arguments[1] <= ST_MOST_PLACES && arguments[3] <= ST_PATTERN_LAYERS;
    *division = (st_division){.stages = good ? (size_t)arguments[0] : 1,
                              .chunks = good ? (size_t)arguments[1] : 1,
                              .folded = arguments[2] != 0,
                              .layers = arguments[3],
                              .first = arguments[4],
                              .middle = arguments[5],
                              .last = arguments[6],
                              .leading = arguments[7],
                              .every = arguments[8]};
    good = good && (plan->pattern.count == 0 || (double)plan->pattern.count == division->layers);
    if (!has_layout(plan)) {
        if (!good)
            return false;
        /* Numbers that contradict each other, as a first and a last stage that have more layers
         * than the model has, leave a place between with less than none. */
        for (size_t place = 0; place < division->stages * division->chunks; place++)
            if (!(layers_of_place(division, place) >= 0))
                return false;
        return true;
    }
    if (good)
        division->layout =
            plan->balanced ? st_balance_find(plan, division, arguments[9]) : &plan->layout;
    if (division->layout == NULL)
        return false;
    const st_layout *layout = division->layout;
    const st_layout_stage *last = &layout->stages[layout->count - 1];
    return layout->count == division->stages * division->chunks &&
           last->first + last->layers == division->layers;
}

size_t st_division_place(const st_division *division, size_t stage, size_t chunk)
{
    return division->folded && chunk == 1 ? 2 * division->stages - 1 - stage
                                          : chunk * division->stages + stage;
}

size_t st_division_stage(const st_division *division, size_t place)
{
    bool back = division->folded && place >= division->stages;
    return back ? 2 * division->stages - 1 - place : place % division->stages;
}

/* Layers of a stage, or of a chunk of it counted from 1. */
static st_place_counts counts_of(const st_stage_plan *plan, const st_division *division,
                                 size_t stage, size_t chunk)
{
    st_place_walk walk = {.plan = plan, .division = division};
    st_place_counts counts = {.of = {0}};
    while (walk.place < division->stages * division->chunks) {
        size_t place = walk.place;
        bool wanted = chunk == 0 ? st_division_stage(division, place) == stage
                                 : place == st_division_place(division, stage, chunk - 1);
        st_place_walk_next(&walk, wanted ? &counts : NULL);
    }
    return counts;
}

const char *st_replayed_plan(const st_sheet *sheet)
{
    return st_sheet_role_part(sheet, ST_ROLE_REPLAYED_PLAN, 0);
}

const char *st_replays_given(const st_sheet *sheet)
{
    return st_sheet_role_part(sheet, ST_ROLE_REPLAYED_PLAN, 1);
}

/* ---- functions of sheets --------------------------------------------------------------------- */

/* arguments: kind, otherwise */
static double layers_of(const st_stage_plan *plan, const double *arguments)
{
    size_t kind = (size_t)arguments[0];
    if (plan->pattern.count == 0)
        return arguments[1];
    return kind < ST_LAYER_KINDS ? plan->pattern.before[plan->pattern.count].of[kind] : 0;
}

/* arguments: kind, stage, then those of a division, otherwise */
static double layers_on(const st_stage_plan *plan, const double *arguments)
{
    st_division division;
    size_t kind = (size_t)arguments[0];
    size_t stage = (size_t)arguments[1];
    if (!st_division_read(plan, arguments + 2, &division) || kind >= ST_STAGE_KINDS)
        return (double)NAN;
    if (stage >= division.stages)
        return 0;
    if (kind == ST_LAYER_PREDICTION && division.layout == NULL)
        return arguments[2 + ST_DIVISION_ARGUMENTS];
    return counts_of(plan, &division, stage, 0).of[kind];
}

/* arguments: kind, stage, chunk of it from 1 or 0 for all, then those of a division, depths of
 * prediction, which without a layout the last chunk of the model has */
static double layers_asked(const st_stage_plan *plan, const double *arguments)
{
    enum { ASKED = 3 };
    st_division division;
    size_t kind = (size_t)arguments[0];
    size_t stage = (size_t)arguments[1];
    size_t chunk = (size_t)arguments[2];
    if (!st_division_read(plan, arguments + ASKED, &division) || kind >= ST_STAGE_KINDS)
        return (double)NAN;
    if (stage >= division.stages || chunk > division.chunks)
        return 0;
    if (kind == ST_LAYER_PREDICTION && division.layout == NULL) {
        size_t last = division.stages * division.chunks - 1;
        bool has_last = chunk == 0 ? st_division_stage(&division, last) == stage
                                   : st_division_place(&division, stage, chunk - 1) == last;
        return has_last ? arguments[ASKED + ST_DIVISION_ARGUMENTS] : 0;
    }
    return counts_of(plan, &division, stage, chunk).of[kind];
}

/* arguments: those of a division, a weight for each kind, otherwise */
static double fullest_stage(const st_stage_plan *plan, const double *arguments)
{
    st_division division;
    double weights[ST_MOST_PLACES];
    if (!st_division_read(plan, arguments, &division))
        return (double)NAN;
    for (size_t stage = 0; stage < division.stages; stage++)
        weights[stage] = 0;
    st_place_walk walk = {.plan = plan, .division = &division};
    while (walk.place < division.stages * division.chunks) {
        double *weight = &weights[st_division_stage(&division, walk.place)];
        st_place_counts counts = {.of = {0}};
        st_place_walk_next(&walk, &counts);
        for (size_t kind = 0; kind < ST_STAGE_KINDS; kind++)
            *weight += counts.of[kind] * arguments[ST_DIVISION_ARGUMENTS + kind];
    }
    size_t found = 1;
    for (size_t stage = 2; stage + 1 < division.stages; stage++)
        found = weights[stage] > weights[found] ? stage : found;
    return (double)found;
}

/* Passes of one direction through a rank's chunks, in groups of as many micro-batches as there are
 * stages. */
typedef struct chunk_turns {
    double micros; /* that no group has taken yet */
    size_t chunk;  /* counted in the order of the passes */
    double left;   /* passes of it */
    double group;
} chunk_turns;

/* The chunk of the next pass. */
static size_t take_turn(chunk_turns *turns, const st_division *division)
{
    if (turns->left < 1) {
        bool begins = turns->group < 1 || turns->chunk + 1 == division->chunks;
        turns->chunk = begins ? 0 : turns->chunk + 1;
        turns->group = begins ? fmin(turns->micros, (double)division->stages) : turns->group;
        turns->micros -= begins ? turns->group : 0;
        turns->left = turns->group;
    }
    turns->left--;
    return turns->chunk;
}

/* arguments: stage, those of a division, micro-batches, what a layer of each kind keeps, what all
 * prediction of the stage does, otherwise. Without micro-batches chunks are not looked at. */
static double kept_chunks(const st_stage_plan *plan, const double *arguments)
{
    enum { MICROS = 1 + ST_DIVISION_ARGUMENTS, SIZES };
    st_division division;
    double sizes[ST_MOST_PLACES];
    size_t stage = (size_t)arguments[0];
    if (arguments[MICROS] < 1)
        return arguments[SIZES + ST_STAGE_KINDS];
    if (!st_division_read(plan, arguments + 1, &division) || stage >= division.stages)
        return stage >= division.stages ? 0 : (double)NAN;
    for (size_t chunk = 0; chunk < division.chunks; chunk++)
        sizes[chunk] = 0;
    st_place_walk walk = {.plan = plan, .division = &division};
    for (size_t place = 0; place < division.stages * division.chunks; place++) {
        bool wanted = st_division_stage(&division, place) == stage;
        bool last = place + 1 == division.stages * division.chunks;
        st_place_counts counts = {.of = {0}};
        st_place_walk_next(&walk, wanted ? &counts : NULL);
        double *size = &sizes[place / division.stages];
        for (size_t kind = 0; wanted && kind < ST_LAYER_KINDS; kind++)
            *size += counts.of[kind] * arguments[SIZES + kind];
        if (wanted && (division.layout != NULL ? counts.of[ST_LAYER_PREDICTION] > 0 : last))
            *size += arguments[SIZES + ST_LAYER_PREDICTION];
    }
    /* The most that a stage of an interleaved pipeline keeps at once; `sizes` of its chunks. */
    const double micros = arguments[MICROS];
    double stages = (double)division.stages;
    double chunks = (double)division.chunks;
    double warm = fmin(2 * (stages - (double)stage - 1) + (chunks - 1) * stages, micros * chunks);
    double passes = fmin(micros * chunks, warm + 2 * stages * chunks); /* then all comes again */
    chunk_turns onward = {.micros = micros};
    chunk_turns back = {.micros = micros};
    double kept = 0;
    double most = 0;
    for (size_t pass = 0; (double)pass < passes; pass++) {
        kept += sizes[take_turn(&onward, &division)];
        most = fmax(most, kept);
        if ((double)pass >= warm)
            kept -= sizes[division.chunks - 1 - take_turn(&back, &division)];
    }
    return most;
}

/* arguments: see ST_BALANCE_ARGUMENTS */
static double layout_code(const st_stage_plan *plan, const double *arguments)
{
    return st_balance_code(plan, arguments);
}

static const stage_entry entries[] = {
    {"layers_of", 2, 0, false, layers_of, NULL, 0, false},
    {"layers_on", 3 + ST_DIVISION_ARGUMENTS, 2, false, layers_on, NULL, 0, false},
    {"layers_asked", 4 + ST_DIVISION_ARGUMENTS, 3, true, layers_asked, NULL, 0, false},
    {"layout_code", ST_BALANCE_ARGUMENTS, 0, false, layout_code, "s", 1, false},
    {"kept_chunks", 3 + ST_DIVISION_ARGUMENTS + ST_STAGE_KINDS, 1, false, kept_chunks, "B",
     2 + ST_DIVISION_ARGUMENTS, true},
    {"fullest_stage", 1 + ST_DIVISION_ARGUMENTS + ST_STAGE_KINDS, 0, false, fullest_stage, NULL, 0,
     false},
};
enum { ENTRIES = ST_COUNT(entries) };

static st_status evaluate(void *context, size_t rows, const double *const *columns, double *values)
{
    const stage_self *provider = context;
    double row[MOST_ARGUMENTS] = {0};
    for (size_t i = 0; i < rows; i++) {
        bool good = true;
        for (size_t j = 0; j < provider->entry->arguments; j++) {
            row[j] = columns[j][i];
            good = good && isfinite(row[j]) && row[j] >= 0;
        }
        values[i] = good ? provider->entry->value(provider->plan, row) : (double)NAN;
    }
    return ST_OK;
}

static st_status evaluate_given(void *context, size_t rows, const double *const *columns,
                                double *values)
{
    (void)context;
    (void)columns;
    for (size_t i = 0; i < rows; i++)
        values[i] = 1;
    return ST_OK;
}

/* Cells that say what the job gives, and that plans may be replayed. */
static void add_given(const st_stage_plan *plan, const st_sheet *sheet, const st_unit *units,
                      st_provider *made, size_t *count)
{
    const struct {
        const char *name;
        bool given;
    } cells[] = {{st_sheet_role_part(sheet, ST_ROLE_LAYERS_GIVEN, 0), plan->pattern.count > 0},
                 {st_sheet_role_part(sheet, ST_ROLE_LAYERS_GIVEN, 1), has_layout(plan)},
                 {st_replays_given(sheet), true}};
    for (size_t i = 0; i < ST_COUNT(cells); i++)
        if (cells[i].given && cells[i].name != NULL)
            made[(*count)++] = (st_provider){.name = cells[i].name,
                                             .source = "the job",
                                             .argument_units = units,
                                             .unit = st_unit_one(),
                                             .evaluate = evaluate_given};
}

/* Why a row is refused. */
static st_status explain(void *context, const double *const *columns, st_arena *arena,
                         st_provider_account *account)
{
    const stage_self *provider = context;
    size_t layout = provider->plan->layout.count;
    if (!has_layout(provider->plan) || provider->entry->value == layers_of)
        return ST_OK;
    if (provider->entry->value == layout_code) {
        if (columns[0][0] > ST_BALANCE_DEPTHS)
            account->refusal = "parallel.layout auto supports at most 15 prediction layers "
                               "(model.mtp)";
        return ST_OK;
    }
    double stages = columns[provider->entry->stages][0];
    double chunks = columns[provider->entry->stages + 1][0];
    if (stages * chunks == (double)layout)
        return ST_OK;
    if (layout == 0) {
        /* A balanced layout leaves no virtual stage empty. `columns`: of a division. */
        const double *const *balanced_columns = columns + provider->entry->stages;
        double division[ST_DIVISION_ARGUMENTS];
        st_division entry;
        for (size_t i = 0; i < ST_DIVISION_ARGUMENTS; i++)
            division[i] = balanced_columns[i][0];
        if (st_division_read(provider->plan, division, &entry))
            return ST_OK;
        double most =
            st_balance_most_chunks(division[3], st_balance_depths(division[9]), division[0]);
        account->refusal = st_arena_printf(
            arena,
            "parallel.layout auto leaves virtual stages empty: %g x %g (pp x virtual_stages) for "
            "%g layers; the nearest that works is parallel.%s",
            division[0], division[1], division[3],
            most >= 1 ? st_arena_printf(arena, "virtual_stages=%g", most)
                      : st_arena_printf(arena, "pp=%g", division[3]));
        return account->refusal == NULL ? ST_ERR_MEMORY : ST_OK;
    }
    account->refusal =
        st_arena_printf(arena,
                        "parallel.layout has %zu virtual stages, but the plan has %g x %g "
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
    static const char *const others[] = {
        ST_KEY_PARALLEL_FIRST_STAGE_LAYERS, ST_KEY_PARALLEL_LAST_STAGE_LAYERS,
        ST_KEY_PARALLEL_ACCOUNT_EMBEDDING, ST_KEY_PARALLEL_ACCOUNT_LOSS};
    for (size_t i = 0; i < ST_COUNT(others); i++)
        if (number_of(job, others[i]) > 0)
            return st_fail(errors, ST_ERR_CHECK, layout->place,
                           "parallel.layout and %s both assign layers to stages" ST_EXPECTED
                           "one of them",
                           others[i]);
    return ST_OK;
}

st_status st_stage_plan_read(const st_job *job, const st_sheet *sheet, st_arena *arena,
                             const st_stage_plan **plan, st_errors *errors)
{
    static atomic_uint_fast64_t plans;
    st_stage_plan *made = st_arena_alloc(arena, 1, sizeof *made);
    if (made == NULL)
        return st_out_of_memory(errors);
    *made = (st_stage_plan){.number = atomic_fetch_add(&plans, 1) + 1};
    *plan = made;
    bool any = false;
    for (size_t i = 0; i < ENTRIES; i++)
        any = any || st_open_function_find(sheet, entries[i].name) != NULL;
    const st_job_value *pattern = text_of(job, ST_KEY_MODEL_PATTERN);
    const st_job_value *layout = text_of(job, ST_KEY_PARALLEL_LAYOUT);
    st_status status = ST_OK;
    if (!any) {
        const st_job_value *const unread[] = {pattern, layout};
        for (size_t i = 0; i < ST_COUNT(unread) && status == ST_OK; i++)
            if (unread[i] != NULL)
                status = st_job_warn_unread(job, unread[i], sheet,
                                            "does not count the layers of each stage", errors);
        return status;
    }
    if (pattern != NULL)
        status = st_pattern_read(pattern->text, number_of(job, ST_KEY_MODEL_LAYERS), pattern->place,
                                 arena, &made->pattern, errors);
    if (status != ST_OK || layout == NULL)
        return status;
    double chunks = number_of(job, ST_KEY_PARALLEL_VIRTUAL_STAGES);
    double stages = number_of(job, ST_KEY_PARALLEL_PP);
    if (check_alone(job, layout, errors) != ST_OK)
        return ST_ERR_CHECK;
    made->balanced = strcmp(layout->text, ST_LAYOUT_AUTO) == 0;
    if (made->balanced)
        return ST_OK;
    const st_layout_needs needs = {.place = layout->place,
                                   /* one stage: rows of a space say how many, or are refused */
                                   .pp = stages > 1 ? stages : (double)NAN,
                                   .layers = number_of(job, ST_KEY_MODEL_LAYERS),
                                   .mtp = number_of(job, ST_KEY_MODEL_MTP)};
    st_status layout_status = st_layout_read(layout->text, &needs, arena, &made->layout, errors);
    size_t found = made->layout.virtual_stages;
    if (layout_status == ST_OK && !isnan(needs.pp) && !isnan(chunks) && (double)found != chunks)
        return st_fail(errors, ST_ERR_CHECK, layout->place,
                       "parallel.layout has %zu virtual stages for %g pipeline ranks" ST_EXPECTED
                       "%g, as parallel.virtual_stages is %g" ST_HINT "parallel.virtual_stages=%zu",
                       made->layout.count, needs.pp, needs.pp * chunks, chunks, found);
    return layout_status;
}

const st_stage_plan *st_stage_plan_of(const st_provider *const *providers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (providers[i]->evaluate == evaluate)
            return ((const stage_self *)providers[i]->self)->plan;
    return NULL;
}

static st_status make_provider(stage_self *provider, st_unit *units, st_provider *made,
                               st_errors *errors)
{
    const stage_entry *entry = provider->entry;
    const st_stage_plan *plan = provider->plan;
    st_unit measured = st_unit_one();
    st_status status = entry->unit == NULL ? ST_OK
                                           : st_unit_parse(entry->unit, strlen(entry->unit),
                                                           (st_place){0}, &measured, errors);
    for (size_t i = 0; i < entry->arguments; i++)
        units[i] = entry->unit != NULL && i >= entry->plain ? measured : st_unit_one();
    *made = (st_provider){.name = entry->name,
                          .source = has_layout(plan)          ? "layout of stages"
                                    : plan->pattern.count > 0 ? "pattern of layers"
                                                              : "layers divided over stages",
                          .argument_units = units,
                          .argument_count = entry->arguments,
                          .unit = entry->measures ? measured : st_unit_one(),
                          .evaluate = evaluate,
                          .explain = explain,
                          .self = provider};
    return status;
}

st_status st_stage_layer_providers(const st_stage_plan *plan, const st_sheet *sheet,
                                   st_arena *arena, st_stage_providers *providers,
                                   st_errors *errors)
{
    bool says = plan->pattern.count > 0 || has_layout(plan);
    st_provider *made = st_arena_alloc(arena, ENTRIES + 3, sizeof *made);
    stage_self *selves = st_arena_alloc(arena, ENTRIES, sizeof *selves);
    st_unit *units = st_arena_alloc(arena, (size_t)ENTRIES * MOST_ARGUMENTS, sizeof *units);
    st_status status = ST_OK;
    *providers = (st_stage_providers){.items = made};
    if (made == NULL || selves == NULL || units == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < ENTRIES && status == ST_OK; i++) {
        bool wanted = entries[i].value == layout_code   ? plan->balanced
                      : entries[i].value == kept_chunks ? has_layout(plan)
                                                        : says || entries[i].always;
        if (!wanted || st_open_function_find(sheet, entries[i].name) == NULL)
            continue;
        selves[i] = (stage_self){.plan = plan, .entry = &entries[i]};
        status = make_provider(&selves[i], units + i * MOST_ARGUMENTS, &made[providers->count++],
                               errors);
    }
    add_given(plan, sheet, units, made, &providers->count);
    return status;
}

/* ---- balanced layouts ---- */

/*
 * Embedding, layers, multi-token prediction and loss in a row are cut into as many places as there
 * are virtual stages, first where equal shares end; then single parts go to others from what each
 * round of the schedule waits for, as long as that helps. Costs are whole numbers, so that the same
 * row always gets the same layout.
 */

enum { MOST_DEPTHS = ST_BALANCE_DEPTHS + 1, FIRST = 0, LAST, DEPTH, KIND };
/* A number holds 48 bits of costs exactly, besides the depths; finer steps than 1/64 of the
 * dearest part would only distinguish equally balanced layouts. */
#define MOST_CODES (UINT64_C(1) << 48)
enum { MOST_STEPS = 64 };

/* Kinds that a model has; without a pattern dense layers and those with experts. */
static size_t list_kinds(const st_stage_plan *plan, size_t kinds[ST_LAYER_KINDS])
{
    const st_pattern *pattern = &plan->pattern;
    size_t count = 0;
    for (size_t kind = 0; kind < ST_LAYER_KINDS; kind++) {
        bool among = pattern->count > 0 ? pattern->before[pattern->count].of[kind] > 0
                                        : kind == ST_LAYER_DENSE || kind == ST_LAYER_MOE;
        if (among)
            kinds[count++] = kind;
    }
    return count;
}

/* Steps of a cost such that `count` fit into a number. */
static uint64_t steps_of(size_t count)
{
    uint64_t steps = MOST_STEPS + 1;
    uint64_t codes = MOST_CODES + 1;
    while (codes > MOST_CODES) {
        steps--;
        codes = 1;
        for (size_t i = 0; i < count && codes <= MOST_CODES; i++)
            codes *= steps;
    }
    return steps;
}

double st_balance_code(const st_stage_plan *plan, const double *arguments)
{
    const double *costs = arguments + 1;
    size_t kinds[ST_LAYER_KINDS];
    size_t count = list_kinds(plan, kinds);
    uint64_t steps = steps_of(KIND + count);
    double most = fmax(costs[FIRST], fmax(costs[LAST], costs[DEPTH]));
    uint64_t code = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, costs[KIND + kinds[i]]);
    if (!(arguments[0] < MOST_DEPTHS) || !(most > 0))
        return arguments[0] < MOST_DEPTHS ? arguments[0] : (double)NAN;
    for (size_t i = KIND + count; i-- > 0;) {
        double cost = costs[i < KIND ? i : KIND + kinds[i - KIND]];
        code = code * steps + (uint64_t)llround(cost / most * (double)(steps - 1));
    }
    return (double)(code * MOST_DEPTHS + (uint64_t)arguments[0]);
}

double st_balance_depths(double code)
{
    return fmod(code, MOST_DEPTHS);
}

/* --- cutting ---------------------------------------------------------------------------------- */

typedef struct cutter {
    const st_division *division;
    size_t parts;  /* embedding, layers, prediction, loss */
    size_t places; /* virtual stages */
    size_t mtp;
    int64_t *before; /* costs of the parts before each; parts + 1 */
    size_t *cuts;    /* where places begin; places + 1 */
    int64_t *loads;  /* costs of places */
    size_t tries;    /* left */
} cutter;

/* How good a division is: less is better, the first that differs counts. */
typedef struct goodness {
    int64_t pace;  /* of a micro-batch through the slowest ranks */
    int64_t rank;  /* all that the busiest rank has */
    double uneven; /* sum of squares over places */
} goodness;

/* Which layers come first is the pattern's matter, or the number of leading dense ones. */
static void fill_costs(cutter *search, const st_stage_plan *plan, double code)
{
    size_t kinds[ST_LAYER_KINDS];
    size_t count = list_kinds(plan, kinds);
    uint64_t steps = steps_of(KIND + count);
    uint64_t rest = (uint64_t)code / MOST_DEPTHS;
    int64_t costs[KIND + ST_LAYER_KINDS] = {0};
    const bool known = rest > 0;
    for (size_t i = 0; i < KIND + count; i++) {
        int64_t cost = known ? (int64_t)(rest % steps) : i >= DEPTH;
        costs[i < KIND ? i : KIND + kinds[i - KIND]] = cost;
        rest /= steps;
    }
    const st_division *division = search->division;
    size_t layers = (size_t)division->layers;
    search->before[0] = 0;
    for (size_t i = 0; i < search->parts; i++) {
        int64_t cost = costs[LAST];
        if (i == 0) {
            cost = costs[FIRST];
        } else if (i <= layers && plan->pattern.count > 0) {
            cost = costs[KIND + plan->pattern.kinds[i - 1]];
        } else if (i <= layers) {
            double routed = st_routed_before(division->leading, division->every, (double)i) -
                            st_routed_before(division->leading, division->every, (double)i - 1);
            cost = costs[KIND + (routed > 0 ? ST_LAYER_MOE : ST_LAYER_DENSE)];
        } else if (i + 1 < search->parts) {
            cost = costs[DEPTH] * (int64_t)search->mtp;
        }
        search->before[i + 1] = search->before[i] + cost;
    }
}

static int64_t load_of(const cutter *search, size_t place)
{
    return search->before[search->cuts[place + 1]] - search->before[search->cuts[place]];
}

/* Multi-token prediction is not on the first rank, where it would be just before the last place of
 * two stages. */
static size_t last_cut(const cutter *search)
{
    return search->parts - (search->mtp > 0 && search->division->stages == 2 ? 2 : 1);
}

/*
 * What the slowest rank has to do in one round of an interleaved schedule, and which that is: while
 * ranks take micro-batches forward through chunk `round`, others come back, for twice as long,
 * through the one as far from the end; where a step begins and ends, through `round` alone.
 * Folded schedules have no rounds.
 */
static int64_t round_of(const cutter *search, size_t round, size_t back, size_t *slowest)
{
    const size_t stages = search->division->stages;
    int64_t most = -1;
    for (size_t rank = 0; rank < stages; rank++) {
        int64_t work =
            search->division->folded
                ? 3 * (search->loads[rank] + search->loads[2 * stages - 1 - rank])
                : search->loads[round * stages + rank] + 2 * search->loads[back * stages + rank];
        *slowest = work > most ? rank : *slowest;
        most = work > most ? work : most;
    }
    return most;
}

static size_t rounds_of(const cutter *search)
{
    return search->division->folded ? 1 : search->division->chunks;
}

/* Every rank waits in every round for the slowest. */
static int64_t pace_of(const cutter *search)
{
    int64_t pace = 0;
    size_t slowest = 0;
    for (size_t round = 0; round < rounds_of(search); round++)
        pace += round_of(search, round, search->division->chunks - 1 - round, &slowest) +
                round_of(search, round, round, &slowest);
    return pace;
}

/* Ties that the pace does not break. */
static void judge_rest(const cutter *search, goodness *found)
{
    const st_division *division = search->division;
    found->rank = 0;
    found->uneven = 0;
    for (size_t rank = 0; rank < division->stages; rank++) {
        int64_t work = 0;
        for (size_t chunk = 0; chunk < division->chunks; chunk++)
            work += search->loads[st_division_place(division, rank, chunk)];
        found->rank = work > found->rank ? work : found->rank;
    }
    for (size_t place = 0; place < search->places; place++)
        found->uneven += (double)search->loads[place] * (double)search->loads[place];
}

/* One part goes from a place to another, and each place between passes one on. */
static void shift(cutter *search, size_t from, size_t to)
{
    size_t low = from < to ? from : to;
    size_t high = from < to ? to : from;
    for (size_t place = low + 1; place <= high; place++)
        search->cuts[place] += from < to ? (size_t)-1 : 1;
    for (size_t place = low; place <= high; place++)
        search->loads[place] = load_of(search, place);
}

/* The best single shift away from one place, if it is better than `best`. */
static void try_shifts(cutter *search, size_t from, goodness *best, size_t found[2])
{
    if (search->cuts[from + 1] - search->cuts[from] < 2)
        return;
    for (size_t to = 0; to < search->places && search->tries > 0; to++) {
        if (to == from)
            continue;
        shift(search, from, to);
        goodness now = {.pace = pace_of(search)};
        if (now.pace <= best->pace && search->cuts[search->places - 1] <= last_cut(search)) {
            judge_rest(search, &now);
            bool is_better;
            if (now.pace != best->pace)
                is_better = now.pace < best->pace;
            else
                is_better =
                    now.rank != best->rank ? now.rank < best->rank : now.uneven < best->uneven;
            if (is_better) {
                *best = now;
                found[0] = from;
                found[1] = to;
            }
        }
        shift(search, to, from);
        search->tries -= search->tries > search->places ? search->places : search->tries;
    }
}

/* The best single shift from what some round waits for; false where none helps. */
static bool improve(cutter *search)
{
    const st_division *division = search->division;
    goodness best = {.pace = pace_of(search)};
    size_t found[2] = {0};
    judge_rest(search, &best);
    for (size_t round = 0; round < rounds_of(search); round++) {
        size_t rank = 0;
        size_t back = division->chunks - 1 - round;
        (void)round_of(search, round, round, &rank);
        try_shifts(search, st_division_place(division, rank, round), &best, found);
        (void)round_of(search, round, back, &rank);
        try_shifts(search, st_division_place(division, rank, round), &best, found);
        if (back != round)
            try_shifts(search, st_division_place(division, rank, back), &best, found);
    }
    if (found[0] == found[1])
        return false;
    shift(search, found[0], found[1]);
    return true;
}

static bool cut(const st_stage_plan *plan, const st_division *division, double code,
                st_layout_stage *stages)
{
    size_t mtp = (size_t)st_balance_depths(code);
    cutter search = {.division = division,
                     .parts = (size_t)division->layers + 2 + (mtp > 0 ? 1 : 0),
                     .places = division->stages * division->chunks,
                     .mtp = mtp,
                     .tries = (size_t)1 << 22};
    search.before = calloc(search.parts + 1, sizeof *search.before);
    search.cuts = calloc(search.places + 1, sizeof *search.cuts);
    search.loads = calloc(search.places, sizeof *search.loads);
    bool good = search.before != NULL && search.cuts != NULL && search.loads != NULL;
    if (good) {
        fill_costs(&search, plan, code);
        /* Each place ends where as much of the whole lies behind it as places do. */
        int64_t whole = search.before[search.parts];
        size_t at = 0;
        search.cuts[0] = 0;
        for (size_t place = 1; place < search.places; place++) {
            int64_t wanted = whole * (int64_t)place / (int64_t)search.places;
            size_t most = last_cut(&search) - (search.places - 1 - place);
            at++;
            while (at < most && wanted - search.before[at] > search.before[at + 1] - wanted)
                at++;
            search.cuts[place] = at;
        }
        search.cuts[search.places] = search.parts;
        for (size_t place = 0; place < search.places; place++)
            search.loads[place] = load_of(&search, place);
        while (improve(&search))
            ;
        size_t layers = (size_t)search.division->layers;
        for (size_t place = 0; place < search.places; place++) {
            size_t begin = search.cuts[place];
            size_t end = search.cuts[place + 1];
            size_t first = begin > 0 ? begin - 1 : 0; /* part 0 is the embedding */
            size_t behind = end - 1 < layers ? end - 1 : layers;
            first = first < layers ? first : layers;
            stages[place] = (st_layout_stage){
                .first = (uint32_t)first,
                .layers = (uint32_t)(behind - first),
                .mtp = begin <= layers + 1 && layers + 1 < end ? (uint32_t)search.mtp : 0,
                .embedding = place == 0,
                .loss = place + 1 == search.places};
        }
    }
    free(search.before);
    free(search.cuts);
    free(search.loads);
    return good;
}

double st_balance_most_chunks(double layers, double mtp, double stages)
{
    double parts = layers + 2 + (mtp > 0 ? 1 : 0);
    return floor((mtp > 0 && stages == 2 ? parts - 1 : parts) / stages);
}

/* --- cached layouts, which several cells of one plan need ------------------------------------ */

enum { KNOWN = 256 };

typedef struct known_layout {
    uint64_t number; /* of the plan; 0: nothing is known yet */
    st_division division;
    double code;
    st_layout layout;
    st_layout_stage *stages;
} known_layout;

static void free_stages(void *state)
{
    known_layout *known = state;
    for (size_t i = 0; i < KNOWN; i++)
        free(known[i].stages);
}

const st_layout *st_balance_find(const st_stage_plan *plan, const st_division *division,
                                 double code)
{
    size_t places = division->stages * division->chunks;
    double mtp = st_balance_depths(code);
    known_layout *known = st_plan_cache(ST_PLAN_CACHE_LAYOUTS, KNOWN * sizeof *known, free_stages);
    if (known == NULL || !(code >= 0 && code < (double)MOST_CODES * MOST_DEPTHS) ||
        (double)division->chunks >
            st_balance_most_chunks(division->layers, mtp, (double)division->stages))
        return NULL;
    uint64_t hash = (uint64_t)code * UINT64_C(0x9E3779B97F4A7C15) + places + plan->number * 31;
    known_layout *slot = &known[(hash ^ hash >> 32) % KNOWN];
    const st_division *entry = &slot->division;
    if (slot->number == plan->number && slot->code == code && entry->stages == division->stages &&
        entry->chunks == division->chunks && entry->folded == division->folded &&
        entry->layers == division->layers && entry->leading == division->leading &&
        entry->every == division->every)
        return &slot->layout;
    st_layout_stage *stages = calloc(places, sizeof *stages);
    if (stages == NULL || !cut(plan, division, code, stages)) {
        free(stages);
        return NULL;
    }
    free(slot->stages);
    *slot = (known_layout){
        .number = plan->number,
        .division = *division,
        .code = code,
        .layout = {.count = places, .virtual_stages = division->chunks, .stages = stages},
        .stages = stages};
    return &slot->layout;
}

st_status st_balance_text(const st_stage_plan *plan, const double numbers[ST_BALANCE_NUMBERS],
                          st_arena *arena, const char **text, st_errors *errors)
{
    const double arguments[ST_DIVISION_ARGUMENTS] = {numbers[0], numbers[1], numbers[2], numbers[3],
                                                     0,          0,          0,          numbers[4],
                                                     numbers[5], numbers[6]};
    st_division division;
    if (!st_division_read(plan, arguments, &division))
        return st_fail(
            errors, ST_ERR_CHECK, (st_place){0},
            "parallel.layout auto leaves virtual stages empty: %g x %g (pp x "
            "virtual_stages) for %g layers" ST_EXPECTED "at most %g x %g",
            numbers[0], numbers[1], numbers[3], numbers[0],
            st_balance_most_chunks(numbers[3], st_balance_depths(numbers[6]), numbers[0]));
    *text = st_layout_text(division.layout, arena);
    return *text != NULL ? ST_OK : st_out_of_memory(errors);
}
