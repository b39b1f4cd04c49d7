/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Embedding, layers, multi-token prediction and loss in a row are cut into as many places as there
 * are virtual stages, first where equal shares end; then single parts go to others from what each
 * round of the schedule waits for, as long as that helps. Costs are whole numbers, so that the same
 * row always gets the same layout.
 */
#include "estimate/balanced_layout.h"

#include "base/memory.h"
#include "estimate/known.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
static void fill_costs(cutter *own, const st_stage_plan *plan, double code)
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
    const st_division *division = own->division;
    size_t layers = (size_t)division->layers;
    own->before[0] = 0;
    for (size_t i = 0; i < own->parts; i++) {
        int64_t cost = costs[LAST];
        if (i == 0) {
            cost = costs[FIRST];
        } else if (i <= layers && plan->pattern.count > 0) {
            cost = costs[KIND + plan->pattern.kinds[i - 1]];
        } else if (i <= layers) {
            double routed = st_routed_before(division->leading, division->every, (double)i) -
                            st_routed_before(division->leading, division->every, (double)i - 1);
            cost = costs[KIND + (routed > 0 ? ST_LAYER_MOE : ST_LAYER_DENSE)];
        } else if (i + 1 < own->parts) {
            cost = costs[DEPTH] * (int64_t)own->mtp;
        }
        own->before[i + 1] = own->before[i] + cost;
    }
}

static int64_t load_of(const cutter *own, size_t place)
{
    return own->before[own->cuts[place + 1]] - own->before[own->cuts[place]];
}

/* Multi-token prediction is not on the first rank, where it would be just before the last place of
 * two stages. */
static size_t last_cut(const cutter *own)
{
    return own->parts - (own->mtp > 0 && own->division->stages == 2 ? 2 : 1);
}

/*
 * What the slowest rank has to do in one round of an interleaved schedule, and which that is: while
 * ranks take micro-batches forward through chunk `round`, others come back, for twice as long,
 * through the one as far from the end; where a step begins and ends, through `round` alone.
 * Folded schedules have no rounds.
 */
static int64_t round_of(const cutter *own, size_t round, size_t back, size_t *slowest)
{
    const size_t stages = own->division->stages;
    int64_t most = -1;
    for (size_t rank = 0; rank < stages; rank++) {
        int64_t work =
            own->division->folded
                ? 3 * (own->loads[rank] + own->loads[2 * stages - 1 - rank])
                : own->loads[round * stages + rank] + 2 * own->loads[back * stages + rank];
        *slowest = work > most ? rank : *slowest;
        most = work > most ? work : most;
    }
    return most;
}

static size_t rounds_of(const cutter *own)
{
    return own->division->folded ? 1 : own->division->chunks;
}

/* Every rank waits in every round for the slowest. */
static int64_t pace_of(const cutter *own)
{
    int64_t pace = 0;
    size_t slowest = 0;
    for (size_t round = 0; round < rounds_of(own); round++)
        pace += round_of(own, round, own->division->chunks - 1 - round, &slowest) +
                round_of(own, round, round, &slowest);
    return pace;
}

/* Ties that the pace does not break. */
static void judge_rest(const cutter *own, goodness *found)
{
    const st_division *division = own->division;
    found->rank = 0;
    found->uneven = 0;
    for (size_t rank = 0; rank < division->stages; rank++) {
        int64_t work = 0;
        for (size_t chunk = 0; chunk < division->chunks; chunk++)
            work += own->loads[st_division_place(division, rank, chunk)];
        found->rank = work > found->rank ? work : found->rank;
    }
    for (size_t place = 0; place < own->places; place++)
        found->uneven += (double)own->loads[place] * (double)own->loads[place];
}

/* One part goes from a place to another, and each place between passes one on. */
static void shift(cutter *own, size_t from, size_t to)
{
    size_t low = from < to ? from : to;
    size_t high = from < to ? to : from;
    for (size_t place = low + 1; place <= high; place++)
        own->cuts[place] += from < to ? (size_t)-1 : 1;
    for (size_t place = low; place <= high; place++)
        own->loads[place] = load_of(own, place);
}

/* The best single shift away from one place, if it is better than `best`. */
static void try_shifts(cutter *own, size_t from, goodness *best, size_t found[2])
{
    if (own->cuts[from + 1] - own->cuts[from] < 2)
        return;
    for (size_t to = 0; to < own->places && own->tries > 0; to++) {
        if (to == from)
            continue;
        shift(own, from, to);
        goodness now = {.pace = pace_of(own)};
        if (now.pace <= best->pace && own->cuts[own->places - 1] <= last_cut(own)) {
            judge_rest(own, &now);
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
        shift(own, to, from);
        own->tries -= own->tries > own->places ? own->places : own->tries;
    }
}

/* The best single shift from what some round waits for; false where none helps. */
static bool improve(cutter *own)
{
    const st_division *division = own->division;
    goodness best = {.pace = pace_of(own)};
    size_t found[2] = {0};
    judge_rest(own, &best);
    for (size_t round = 0; round < rounds_of(own); round++) {
        size_t rank = 0;
        size_t back = division->chunks - 1 - round;
        (void)round_of(own, round, round, &rank);
        try_shifts(own, st_division_place(division, rank, round), &best, found);
        (void)round_of(own, round, back, &rank);
        try_shifts(own, st_division_place(division, rank, round), &best, found);
        if (back != round)
            try_shifts(own, st_division_place(division, rank, back), &best, found);
    }
    if (found[0] == found[1])
        return false;
    shift(own, found[0], found[1]);
    return true;
}

static bool cut(const st_stage_plan *plan, const st_division *division, double code,
                st_layout_stage *stages)
{
    size_t mtp = (size_t)st_balance_depths(code);
    cutter own = {.division = division,
                  .parts = (size_t)division->layers + 2 + (mtp > 0 ? 1 : 0),
                  .places = division->stages * division->chunks,
                  .mtp = mtp,
                  .tries = (size_t)1 << 22};
    own.before = calloc(own.parts + 1, sizeof *own.before);
    own.cuts = calloc(own.places + 1, sizeof *own.cuts);
    own.loads = calloc(own.places, sizeof *own.loads);
    bool good = own.before != NULL && own.cuts != NULL && own.loads != NULL;
    if (good) {
        fill_costs(&own, plan, code);
        /* Each place ends where as much of the whole lies behind it as places do. */
        int64_t whole = own.before[own.parts];
        size_t at = 0;
        own.cuts[0] = 0;
        for (size_t place = 1; place < own.places; place++) {
            int64_t wanted = whole * (int64_t)place / (int64_t)own.places;
            size_t most = last_cut(&own) - (own.places - 1 - place);
            at++;
            while (at < most && wanted - own.before[at] > own.before[at + 1] - wanted)
                at++;
            own.cuts[place] = at;
        }
        own.cuts[own.places] = own.parts;
        for (size_t place = 0; place < own.places; place++)
            own.loads[place] = load_of(&own, place);
        while (improve(&own))
            ;
        size_t layers = (size_t)own.division->layers;
        for (size_t place = 0; place < own.places; place++) {
            size_t begin = own.cuts[place];
            size_t end = own.cuts[place + 1];
            size_t first = begin > 0 ? begin - 1 : 0; /* part 0 is the embedding */
            size_t behind = end - 1 < layers ? end - 1 : layers;
            first = first < layers ? first : layers;
            stages[place] = (st_layout_stage){
                .first = (uint32_t)first,
                .layers = (uint32_t)(behind - first),
                .mtp = begin <= layers + 1 && layers + 1 < end ? (uint32_t)own.mtp : 0,
                .embedding = place == 0,
                .loss = place + 1 == own.places};
        }
    }
    free(own.before);
    free(own.cuts);
    free(own.loads);
    return good;
}

double st_balance_most_chunks(double layers, double mtp, double stages)
{
    double parts = layers + 2 + (mtp > 0 ? 1 : 0);
    return floor((mtp > 0 && stages == 2 ? parts - 1 : parts) / stages);
}

/* --- layouts that are asked for again by the cells of one plan ------------------------------- */

enum { KNOWN = 256 };

typedef struct known_layout {
    uint64_t number; /* of the plan; 0: nothing is known yet */
    st_division division;
    double code;
    st_layout layout;
    st_layout_stage *stages;
} known_layout;

static void free_stages(void *own)
{
    known_layout *known = own;
    for (size_t i = 0; i < KNOWN; i++)
        free(known[i].stages);
}

const st_layout *st_balance_find(const st_stage_plan *plan, const st_division *division,
                                 double code)
{
    size_t places = division->stages * division->chunks;
    double mtp = st_balance_depths(code);
    known_layout *known = st_known_here(ST_KNOWN_LAYOUTS, KNOWN * sizeof *known, free_stages);
    if (known == NULL || !(code >= 0 && code < (double)MOST_CODES * MOST_DEPTHS) ||
        (double)division->chunks >
            st_balance_most_chunks(division->layers, mtp, (double)division->stages))
        return NULL;
    uint64_t hash = (uint64_t)code * UINT64_C(0x9E3779B97F4A7C15) + places + plan->number * 31;
    known_layout *slot = &known[(hash ^ hash >> 32) % KNOWN];
    const st_division *own = &slot->division;
    if (slot->number == plan->number && slot->code == code && own->stages == division->stages &&
        own->chunks == division->chunks && own->folded == division->folded &&
        own->layers == division->layers && own->leading == division->leading &&
        own->every == division->every)
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
