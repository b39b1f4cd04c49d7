/* SPDX-License-Identifier: Apache-2.0 */
/* A table of functions over the numbers of a plan; see pipeline_functions.h. */
#include "estimate/pipeline_functions.h"

#include "base/memory.h"
#include "estimate/plan_cache.h"
#include "estimate/node_fill.h"
#include "estimate/open_functions.h"
#include "schedule/pipeline_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Arguments of pipeline_replay. */
enum {
    REACH, /* 0 busiest stage, 1 passes, 2 with transfers, 3 with tied embeddings,
              4 with weights gathered and gradients reduced, 5 with the slowdown of what hides them
            */
    KIND,  /* of the list below; 0: nothing to replay */
    MICROS,
    DIVISION,
    FORWARD = DIVISION + ST_DIVISION_ARGUMENTS, /* of a layer of each kind */
    BACKWARD = FORWARD + ST_STAGE_KINDS,        /* gradients of activations */
    WEIGHTS = BACKWARD + ST_STAGE_KINDS,      /* gradients of weights; prediction has them there */
    MOVES_FORWARD = WEIGHTS + ST_LAYER_KINDS, /* hidden weights and gradients during those passes */
    MOVES_BACKWARD = MOVES_FORWARD + ST_STAGE_KINDS,
    WORK_FORWARD = MOVES_BACKWARD + ST_STAGE_KINDS, /* computation in them */
    WORK_BACKWARD = WORK_FORWARD + ST_STAGE_KINDS,
    WORK_WEIGHTS = WORK_BACKWARD + ST_STAGE_KINDS,
    FORWARD_FIRST = WORK_WEIGHTS + ST_LAYER_KINDS, /* of the embedding, computation */
    BACKWARD_FIRST,
    FORWARD_LAST, /* of the output layer */
    BACKWARD_LAST,
    WEIGHTS_LAST,
    MESSAGE_ENDS, /* of the embedding forward and of the output layer backward */
    MESSAGE_MOVES,
    FORWARD_ALONE, /* of a layer with routed experts */
    BACKWARD_ALONE,
    PREDICTION, /* depths that the last chunk has where no layout says */
    TRANSFER,
    TIED,
    GATHER_HIDDEN,
    GATHER_EXPOSED,
    REDUCE_HIDDEN,
    REDUCE_EXPOSED,
    PASS_GATHER_HIDDEN, /* of each pass of a chunk, where weights or gradients are split */
    PASS_GATHER_EXPOSED,
    PASS_REDUCE_HIDDEN,
    PASS_REDUCE_EXPOSED,
    PREFETCH,     /* layers whose weights are gathered ahead */
    RATE_SENDING, /* of hidden weights and gradients, of their rate alone, during transfers */
    SLOW_FORWARD, /* of computation by them */
    SLOW_BACKWARD,
    SLOW_WEIGHTS,
    HELD,
    SLOWEST, /* what the formula takes instead: stages by their times */
    ONWARD,
    BACK,
    LATER,
    EXPOSED, /* weights and gradients of the step */
    ARGUMENTS
};

/* --- cached replays of plans, whose terms are computed one by one ------------------------------
 */

/* A block of rows at a time; each thread has its own. */
typedef struct st_known_replay {
    uint64_t number; /* of the plan; 0: nothing is known yet */
    double arguments[ARGUMENTS];
    bool good;
    st_pipeline_times times;
} st_known_replay;

enum { SETS = 128, WAYS = 4 };

/* Of rows that share a hash the one that was of no use for longest goes first: a fit returns to the
 * rows that a changed constant leaves as they were. */
typedef struct st_known_set {
    st_known_replay ways[WAYS];
    uint64_t used[WAYS]; /* when, by `clock` */
    uint64_t clock;
} st_known_set;

static uint64_t hash_of(uint64_t number, const double *arguments)
{
    uint64_t hash = number;
    for (size_t i = REACH + 1; i < ARGUMENTS; i++) {
        uint64_t bits = 0;
        memcpy(&bits, &arguments[i], sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    return hash;
}

/* Plans that differ in their times alone, as the rows of a search and of a change of each key do,
 * go through the same passes. All that are known are forgotten where there are too many. */
typedef struct st_known_walk {
    st_schedule_shape shape;
    st_pipeline_walk *walk;
} st_known_walk;

enum { WALKS = 64, MOST_SLOTS = 1 << 20 }; /* about 25 MB */

typedef struct st_known {
    st_known_set sets[SETS];
    st_known_walk walks[WALKS];
    size_t walk_count;
    uint64_t slots;  /* of these */
    st_arena *arena; /* in which they live; NULL: there are none */
} st_known;

static void forget_walks(void *state)
{
    st_known *known = state;
    st_arena_destroy(known->arena);
    known->arena = NULL;
    known->walk_count = 0;
    known->slots = 0;
}

/* The walk of a shape, in `arena` where it is of no use for others; NULL: there is none. */
static st_pipeline_walk *walk_of(const st_schedule_shape *shape, st_known *known, st_arena *arena)
{
    uint64_t slots = (uint64_t)3 * shape->stages * shape->chunks * shape->micros;
    if (known == NULL || slots > MOST_SLOTS || st_schedule_looks_at_times(shape->kind))
        return st_pipeline_walk_make(shape, arena);
    st_pipeline_walk *walk = NULL;
    for (size_t i = 0; i < known->walk_count; i++) {
        const st_schedule_shape *entry = &known->walks[i].shape;
        if (entry->kind == shape->kind && entry->stages == shape->stages &&
            entry->chunks == shape->chunks && entry->micros == shape->micros) {
            walk = known->walks[i].walk;
            break;
        }
    }
    if (walk != NULL)
        return walk;
    if (known->walk_count == WALKS || known->slots + slots > MOST_SLOTS)
        forget_walks(known);
    if (known->arena == NULL)
        known->arena = st_arena_create();
    walk = known->arena != NULL ? st_pipeline_walk_make(shape, known->arena) : NULL;
    if (walk != NULL) {
        known->walks[known->walk_count++] = (st_known_walk){.shape = *shape, .walk = walk};
        known->slots += slots;
    }
    return walk;
}

/* The replay of these arguments; `is_known` is false where it takes the place of another. */
static st_known_replay *place_of(st_known_set *set, uint64_t number, const double *arguments,
                                 bool *is_known)
{
    size_t at = 0;
    *is_known = false;
    for (size_t i = 0; i < WAYS && !*is_known; i++) {
        const st_known_replay *entry = &set->ways[i];
        *is_known =
            entry->number == number && memcmp(&entry->arguments[REACH + 1], &arguments[REACH + 1],
                                              (ARGUMENTS - REACH - 1) * sizeof *arguments) == 0;
        if (*is_known || set->used[i] < set->used[at])
            at = i;
    }
    set->used[at] = ++set->clock;
    return &set->ways[at];
}

/* --- one replay --------------------------------------------------------------------------------
 */

#define TICKS_PER_S   1e12
#define MOST_TICKS    1e15
#define MOST_MICROS   1e7
#define MOST_PREFETCH 1024

static int64_t ticks_of(double seconds, bool *good)
{
    double ticks = seconds * TICKS_PER_S;
    *good = *good && ticks >= 0 && ticks <= MOST_TICKS;
    return *good ? (int64_t)llround(ticks) : 0;
}

/* What the passes of a chunk of the model take, and hidden weights during them and gradients. */
typedef struct st_place_times {
    st_chunk_times *times; /* by place */
    double *moves;         /* by place and pass, in ticks */
    uint32_t *layers;      /* by place, at least 1 */
} st_place_times;

static bool is_routed(size_t kind)
{
    return kind == ST_LAYER_MOE || kind == ST_LAYER_WINDOW_MOE || kind == ST_LAYER_DELTA_MOE ||
           kind == ST_LAYER_EXPERTS || kind == ST_LAYER_PREDICTION;
}

static bool fill_place(const double *arguments, const st_place_counts *counts, bool first,
                       bool last, st_chunk_times *times, double *moves)
{
    static const size_t layers[ST_PASSES] = {FORWARD, BACKWARD, WEIGHTS};
    static const size_t works[ST_PASSES] = {WORK_FORWARD, WORK_BACKWARD, WORK_WEIGHTS};
    static const size_t moved[ST_PASSES] = {MOVES_FORWARD, MOVES_BACKWARD, WEIGHTS};
    const double at_first = first ? 1 : 0;
    const double at_last = last ? 1 : 0;
    const double ends[ST_PASSES] = {
        at_first * arguments[FORWARD_FIRST] + at_last * arguments[FORWARD_LAST],
        at_first * arguments[BACKWARD_FIRST] + at_last * arguments[BACKWARD_LAST],
        at_last * arguments[WEIGHTS_LAST]};
    const double messages[ST_PASSES] = {at_first, at_last, 0};
    const double alone[ST_PASSES] = {arguments[FORWARD_ALONE], arguments[BACKWARD_ALONE], 0};
    bool good = true;
    *times = (st_chunk_times){.part = {{0}}};
    for (size_t pass = 0; pass < ST_PASSES; pass++) {
        double all = ends[pass] + messages[pass] * arguments[MESSAGE_ENDS];
        double work = ends[pass];
        double moved_s = ends[pass] + messages[pass] * arguments[MESSAGE_MOVES];
        double routed = 0;
        for (size_t kind = 0; kind < ST_STAGE_KINDS; kind++) {
            double count = counts->of[kind];
            routed += is_routed(kind) ? count : 0;
            if (pass == ST_PASS_WEIGHTS && kind == ST_LAYER_PREDICTION)
                continue;
            all += count * arguments[layers[pass] + kind];
            work += count * arguments[works[pass] + kind];
            moved_s += count * arguments[moved[pass] + kind];
        }
        int64_t ticks = ticks_of(all, &good);
        int64_t computes = ticks_of(fmin(work, all), &good);
        times->part[pass][ST_PART_WORK] = computes;
        times->part[pass][ST_PART_LAUNCH] = ticks - computes; /* and all messages */
        times->part[pass][ST_PART_ALONE] = ticks_of(routed * alone[pass], &good);
        moves[pass] = moved_s * TICKS_PER_S;
    }
    return good;
}

static bool fill_places(const st_stage_plan *plan, const st_division *division,
                        const double *arguments, st_place_times *made)
{
    size_t places = division->stages * division->chunks;
    st_place_walk walk = {.plan = plan, .division = division};
    bool good = true;
    for (size_t i = 0; i < places && good; i++) {
        st_place_counts counts = {.of = {0}};
        bool last = i + 1 == places;
        st_place_walk_next(&walk, &counts);
        double all = 0;
        for (size_t kind = 0; kind < ST_LAYER_KINDS; kind++)
            all += counts.of[kind];
        made->layers[i] = all > 1 && all <= MOST_MICROS ? (uint32_t)ceil(all) : 1;
        if (last && division->layout == NULL)
            counts.of[ST_LAYER_PREDICTION] = arguments[PREDICTION];
        good = fill_place(arguments, &counts, i == 0, last, &made->times[i],
                          &made->moves[i * ST_PASSES]);
    }
    return good;
}

static const st_schedule_kind kinds[] = {ST_SCHEDULES,
                                         ST_SCHEDULE_ZERO_BUBBLE,
                                         ST_SCHEDULE_ZERO_BUBBLE_2,
                                         ST_SCHEDULE_ZERO_BUBBLE_V,
                                         ST_SCHEDULE_V_HALF,
                                         ST_SCHEDULE_V_MIN,
                                         ST_SCHEDULE_DUALPIPE,
                                         ST_SCHEDULE_INTERLEAVED, /* 1F1B with one chunk */
                                         ST_SCHEDULE_GPIPE};

enum { KINDS = ST_COUNT(kinds) };

static bool replay(const st_stage_plan *plan, const double *arguments, st_known *known,
                   st_arena *arena, st_pipeline_times *times)
{
    double kind = arguments[KIND];
    double micros = arguments[MICROS];
    bool good =
        kind > 0 && kind < KINDS && micros >= 1 && micros <= MOST_MICROS && micros == floor(micros);
    st_division division;
    if (!good || !st_division_read(plan, arguments + DIVISION, &division))
        return false;
    size_t places = division.stages * division.chunks;
    st_place_times made = {.times = st_arena_alloc(arena, places, sizeof *made.times),
                           .moves = st_arena_alloc(arena, places * ST_PASSES, sizeof *made.moves),
                           .layers = st_arena_alloc(arena, places, sizeof *made.layers)};
    const st_schedule_shape shape = {.kind = kinds[(size_t)kind],
                                     .stages = (uint32_t)division.stages,
                                     .chunks = (uint32_t)division.chunks,
                                     .micros = (uint32_t)micros,
                                     .times = made.times,
                                     .transfer = ticks_of(arguments[TRANSFER], &good),
                                     .held_for_weights = arguments[HELD]};
    const st_schedule_ends ends = {.gather_hidden = ticks_of(arguments[GATHER_HIDDEN], &good),
                                   .gather_exposed = ticks_of(arguments[GATHER_EXPOSED], &good),
                                   .reduce_hidden = ticks_of(arguments[REDUCE_HIDDEN], &good),
                                   .reduce_exposed = ticks_of(arguments[REDUCE_EXPOSED], &good),
                                   .tied = ticks_of(arguments[TIED], &good)};
    const st_pipeline_data data = {
        .layers = made.layers,
        .moves = made.moves,
        .gather_hidden = (double)ticks_of(arguments[PASS_GATHER_HIDDEN], &good),
        .gather_exposed = (double)ticks_of(arguments[PASS_GATHER_EXPOSED], &good),
        .reduce_hidden = (double)ticks_of(arguments[PASS_REDUCE_HIDDEN], &good),
        .reduce_exposed = (double)ticks_of(arguments[PASS_REDUCE_EXPOSED], &good),
        .prefetch = (uint32_t)fmin(fmax(arguments[PREFETCH], 0), MOST_PREFETCH),
        .slow = {arguments[SLOW_FORWARD], arguments[SLOW_BACKWARD], arguments[SLOW_WEIGHTS]},
        .rate_sending = arguments[RATE_SENDING]};
    const st_pipeline pipeline = {.shape = &shape, .ends = &ends, .data = &data};
    for (size_t i = RATE_SENDING; i <= SLOW_WEIGHTS; i++)
        good = good && arguments[i] > 0;
    if (made.times == NULL || made.moves == NULL || made.layers == NULL ||
        !fill_places(plan, &division, arguments, &made) || !good)
        return false;
    st_pipeline_walk *walk = walk_of(&shape, known, arena);
    return walk != NULL && st_pipeline_replay(&pipeline, walk, times);
}

static bool replay_row(const st_stage_plan *plan, const double *arguments, st_pipeline_times *times)
{
    st_known *known = st_plan_cache(ST_PLAN_CACHE_REPLAYS, sizeof(st_known), forget_walks);
    st_known_set *set =
        known != NULL ? &known->sets[hash_of(plan->number, arguments) % SETS] : NULL;
    bool is_known = false;
    st_known_replay *entry = set != NULL ? place_of(set, plan->number, arguments, &is_known) : NULL;
    if (is_known) {
        *times = entry->times;
        return entry->good;
    }
    st_arena *arena = st_arena_create();
    bool good = arena != NULL && replay(plan, arguments, known, arena, times);
    st_arena_destroy(arena);
    if (entry != NULL) {
        *entry = (st_known_replay){.number = plan->number, .good = good, .times = *times};
        memcpy(entry->arguments, arguments, sizeof entry->arguments);
    }
    return good;
}

static double pipeline_replay(const void *over, const double *arguments, int which)
{
    (void)which;
    st_pipeline_times times = {0};
    if (arguments[KIND] == 0)
        return 0;
    if (!replay_row(over, arguments, &times))
        return (double)NAN;
    const int64_t reached[] = {times.busiest,   times.passes,    times.with_transfers,
                               times.with_tied, times.with_data, times.with_slowdown};
    enum { LAST = ST_COUNT(reached) - 1 };
    double reach = fmin(fmax(arguments[REACH], 0), LAST);
    return (double)reached[(size_t)reach] / TICKS_PER_S;
}

/* --- blocks of rows -------------------------------------------------------------------------- */

enum { PIECE = 512, SLOTS = 2 * PIECE }; /* rows that are looked at together */

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* Arguments that are not the same in all rows. */
static size_t find_varying(const double *const *arguments, size_t first, size_t rows,
                           size_t *varying)
{
    size_t count = 0;
    for (size_t j = 0; j < ARGUMENTS; j++) {
        const double *column = arguments[j] + first;
        if (memcmp(column, column + 1, (rows - 1) * sizeof *column) != 0)
            varying[count++] = j;
    }
    return count;
}

/*
 * Rows of a grid vary keys of which few reach a replay, and a replay has many arguments: a row that
 * equals an earlier one, in what varies at all, has its value.
 */
static void evaluate_piece(void *context, size_t first, size_t rows, const double *const *arguments,
                           double *values)
{
    size_t varying[ARGUMENTS];
    uint64_t hashes[PIECE] = {0};
    uint16_t slots[SLOTS] = {0}; /* a row, from 1; 0: none */
    const size_t count = find_varying(arguments, first, rows, varying);
    for (size_t j = 0; j < count; j++) {
        const double *column = arguments[varying[j]] + first;
        for (size_t i = 0; i < rows; i++) {
            const uint64_t mixed = (hashes[i] ^ bits_of(column[i])) * UINT64_C(0x9E3779B97F4A7C15);
            hashes[i] = mixed ^ mixed >> 29;
        }
    }
    for (size_t i = 0; i < rows; i++) {
        const double *row[ARGUMENTS];
        size_t slot = hashes[i] % SLOTS;
        bool known = false;
        for (; !known && slots[slot] != 0; slot = known ? slot : (slot + 1) % SLOTS) {
            const size_t other = first + slots[slot] - 1;
            known = hashes[slots[slot] - 1] == hashes[i];
            for (size_t j = 0; known && j < count; j++)
                known = bits_of(arguments[varying[j]][other]) ==
                        bits_of(arguments[varying[j]][first + i]);
            if (known)
                values[first + i] = values[other];
        }
        if (known)
            continue;
        slots[slot] = (uint16_t)(i + 1);
        for (size_t j = 0; j < ARGUMENTS; j++)
            row[j] = arguments[j] + first + i;
        (void)st_open_evaluate(context, 1, row, &values[first + i]);
    }
}

/* Most rows of a search have nothing to replay, and are not looked at any further. */
static st_status evaluate_replays(void *context, size_t rows, const double *const *arguments,
                                  double *values)
{
    bool any = false;
    for (size_t i = 0; i < rows; i++)
        any = any || arguments[KIND][i] != 0;
    if (!any)
        memset(values, 0, rows * sizeof *values);
    else if (rows == 1)
        return st_open_evaluate(context, rows, arguments, values);
    for (size_t first = 0; any && first < rows; first += PIECE)
        evaluate_piece(context, first, rows - first < PIECE ? rows - first : PIECE, arguments,
                       values);
    return ST_OK;
}

/* arguments: GPUs of the plan, those of a node, tensor-parallel ranks; 0: no share suits */
static double node_share(const void *over, const double *arguments, int which)
{
    enum { MOST = 1 << 24, USUAL = 8 }; /* ranks that share a node anyway */
    (void)over;
    (void)which;
    double group = arguments[2] > USUAL ? arguments[2] : 0;
    const st_node_counts counts = {
        .gpus = arguments, .count = 1, .node = arguments[1], .group = group};
    if (!(arguments[0] >= 1 && arguments[1] >= 1 && arguments[1] <= MOST))
        return 0;
    return st_node_fill(&counts);
}

static const st_open_function entries[] = {
    {"node_share", {"1", "1", "1", NULL}, "1", node_share, 0},
    {ST_REPLAY_FUNCTION,
     {"1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "s", "s", "s", "s", "s", "s",
      "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s",
      "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s",
      "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s",
      "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s",
      "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "1", "s", "s", "s", "s", "s",
      "s", "s", "s", "s", "s", "1", "1", "1", "1", "1", "1", "s", "s", "s", "s", "s", NULL},
     "s",
     pipeline_replay,
     0},
};
enum { ENTRIES = ST_COUNT(entries) };

static st_status explain_replay(void *context, const double *const *arguments, st_arena *arena,
                                st_provider_account *account)
{
    double value = 0;
    st_provider_term *term = st_arena_alloc(arena, 1, sizeof *term);
    if (term == NULL)
        return ST_ERR_MEMORY;
    (void)st_open_evaluate(context, 1, arguments, &value);
    if (!isfinite(value)) {
        account->refusal = "the pipeline has too many passes or invalid times";
        return ST_OK;
    }
    *term = (st_provider_term){.name = "origin",
                               .doc = "one replay of the schedule's passes",
                               .text = "replayed",
                               .unit = st_unit_one()};
    account->terms = term;
    account->count = 1;
    return ST_OK;
}

st_status st_pipeline_providers(const st_stage_plan *plan, const st_sheet *sheet, st_arena *arena,
                                st_cell_providers *providers, st_errors *errors)
{
    st_provider *made = st_arena_alloc(arena, ENTRIES, sizeof *made);
    *providers = (st_cell_providers){.items = made};
    if (made == NULL)
        return st_out_of_memory(errors);
    st_status status = ST_OK;
    for (size_t i = 0; i < ENTRIES && status == ST_OK; i++) {
        st_provider *provider = &made[providers->count];
        const st_sheet_function *function = st_open_function_find(sheet, entries[i].name);
        if (function == NULL)
            continue;
        status = st_open_provider(&entries[i], plan, arena, provider, errors);
        bool replays = entries[i].value == pipeline_replay;
        if (replays)
            provider->evaluate = evaluate_replays;
        provider->source = replays ? "a replay of the schedule" : "GPUs divided over nodes";
        provider->fallback = replays;
        provider->explain = replays ? explain_replay : NULL;
        providers->count += provider->argument_count == function->argument_count ? 1 : 0;
    }
    return status;
}
