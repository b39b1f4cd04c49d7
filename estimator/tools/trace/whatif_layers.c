/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if: the layers of every rank. Ranks of one stage have equal numbers; those of a job
 * are the sum over its stages. Numbers of the job become those of rank 0.
 */
#include "base/lists.h"
#include "trace/sends.h"
#include "trace/whatif.h"
#include "trace/xalloc.h"

#include <math.h>
#include <string.h>

/* Fewer layers than these repeat by chance: they are taken where they are most of the time. */
static const uint32_t SURE_LAYERS = 3;
static const double SURE_FRAC = 0.9;

static size_t rank_count(const st_whatif *w)
{
    return w->graph->set->count;
}

static const char *file_of(const st_whatif *w, size_t rank)
{
    return w->graph->set->ranks[rank]->file;
}

/* Whether the messages of the ranks say which stage each is. */
static bool knows_stages(const st_whatif *w)
{
    return w->stages.count > 1 && w->graph->outside_messages == 0;
}

static double stage_count(const st_whatif *w)
{
    return w->values.have[ST_WHATIF_PP] > 0 ? w->values.have[ST_WHATIF_PP] : 1;
}

static void find_rank(st_whatif *w, size_t rank, uint32_t layers, st_repeats *found)
{
    const st_repeats_ask asked = {layers, w->values.set[ST_WHATIF_LAYERS] > 0 &&
                                              w->values.set[ST_WHATIF_MICROS] <= 0 &&
                                              w->values.set[ST_WHATIF_PP] <= 0};
    st_repeats_find(w->graph->set->ranks[rank], asked, w->arena, found);
}

/*
 * The layers that a rank is given, or, where what repeats may be no layers, those that its job has,
 * if they are found.
 */
static void find_all(st_whatif *w, uint32_t given)
{
    uint32_t of_job = (uint32_t)st_whatif_job_layers(w);
    for (size_t i = 0; i < rank_count(w); i++) {
        st_repeats known;
        find_rank(w, i, given, &w->repeats[i]);
        if (st_repeats_are_layers(&w->repeats[i]) || of_job == 0)
            continue;
        find_rank(w, i, of_job, &known);
        if (known.layers > 0)
            w->repeats[i] = known;
    }
}

static bool has_on_all(const st_whatif *w, uint32_t layers)
{
    for (size_t i = 0; i < rank_count(w); i++)
        if (w->repeats[i].layers != layers)
            return false;
    return true;
}

/* What is clear on one rank is looked for on the others. */
static void share_clear(st_whatif *w)
{
    size_t clear = 0;
    while (clear < rank_count(w) && !st_repeats_are_layers(&w->repeats[clear]))
        clear++;
    for (size_t i = 0; i < rank_count(w) && clear < rank_count(w); i++) {
        st_repeats known;
        if (st_repeats_are_layers(&w->repeats[i]))
            continue;
        find_rank(w, i, w->repeats[clear].layers, &known);
        if (known.layers > 0)
            w->repeats[i] = known;
    }
}

/* --- layers by what stages have in common --------------------------------------------------------
 */

/* Tasks of a rank between two of its messages, by launch. */
typedef struct pass {
    uint32_t first;
    uint32_t end;
} pass;

typedef struct pass_list {
    const st_trace *trace;
    const st_repeats *repeats;
    pass *items;
    size_t count;
} pass_list;

static const char *name_at(const pass_list *list, uint32_t task)
{
    return list->trace->names[list->trace->events[list->repeats->tasks[task]].name];
}

static void list_passes(st_whatif *w, size_t rank, pass_list *list)
{
    *list = (pass_list){.trace = w->graph->set->ranks[rank], .repeats = &w->repeats[rank]};
    pass one = {0, 0};
    for (uint32_t i = 0; i <= list->repeats->task_count; i++) {
        if (i < list->repeats->task_count &&
            !st_message_is(list->trace, &list->trace->events[list->repeats->tasks[i]], NULL))
            continue;
        one.end = i;
        if (one.end > one.first)
            ST_XAPPEND(w->arena, list->items, list->count, one);
        one.first = i + 1;
    }
}

/* How many kernels at the end of a pass are those at the begin of one of the next stage. */
static uint32_t overlap(const pass_list *a, const pass *ends, const pass_list *b,
                        const pass *begins)
{
    uint32_t most = ends->end - ends->first;
    most = begins->end - begins->first < most ? begins->end - begins->first : most;
    for (uint32_t length = most; length > 0; length--) {
        uint32_t same = 0;
        while (same < length &&
               strcmp(name_at(a, ends->end - length + same), name_at(b, begins->first + same)) == 0)
            same++;
        if (same == length)
            return length;
    }
    return 0;
}

/* Where kernels of another rank stand in a pass; its end where they do not. */
static uint32_t place_of(const pass_list *list, const pass *one, const pass_list *other,
                         const st_repeat *run)
{
    for (uint32_t at = one->first; at + run->period <= one->end; at++) {
        uint32_t same = 0;
        while (same < run->period &&
               strcmp(name_at(list, at + same), name_at(other, run->first + same)) == 0)
            same++;
        if (same == run->period)
            return at;
    }
    return one->end;
}

/* Of kernels that are several layers, those of one. */
static void keep_period(const pass_list *list, st_repeat *kernels)
{
    for (uint32_t period = 1; period < kernels->period; period++) {
        uint32_t i = period;
        while (i < kernels->period && strcmp(name_at(list, kernels->first + i),
                                             name_at(list, kernels->first + i - period)) == 0)
            i++;
        if (i == kernels->period && kernels->period % period == 0)
            kernels->period = period;
    }
}

/* A rank's layers, which have these kernels forward and backward: as many in every pass; 0 where
 * that is not so. */
static uint32_t count_kernels(st_whatif *w, const pass_list *list, const pass_list *first,
                              const st_repeat *kernels, st_repeats *found)
{
    size_t seen[2] = {0, 0};
    uint32_t layers = 0;
    found->items = NULL;
    found->count = 0;
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < 2 && kernels[k].period > 0; k++) {
            pass rest = list->items[i];
            st_repeat run = {.first = place_of(list, &rest, first, &kernels[k]),
                             .period = kernels[k].period};
            rest.first = run.first;
            while (rest.first < rest.end &&
                   place_of(list, &rest, first, &kernels[k]) == rest.first) {
                rest.first += run.period;
                run.layers++;
            }
            if (run.layers == 0)
                continue;
            if ((layers > 0 && run.layers != layers) ||
                place_of(list, &rest, first, &kernels[k]) < rest.end)
                return 0;
            layers = run.layers;
            ST_XAPPEND(w->arena, found->items, found->count, run);
            seen[k]++;
        }
    return seen[0] > 0 && seen[0] == seen[1] ? layers : 0;
}

/*
 * Stages of few layers: what one ends with before it sends forward, the next one begins with after
 * it has received; what that ends with before it sends back, the first one begins with. All ranks
 * have these kernels in every pass, as often as they have layers, which make up those of the job.
 * False where that is not so.
 */
static bool find_common(st_whatif *w, double given)
{
    pass_list *lists = st_xalloc(w->arena, rank_count(w), sizeof *lists);
    const size_t stages[2] = {w->stages.ranks[0], w->stages.ranks[1]};
    st_repeat kernels[2] = {{0}, {0}};
    for (size_t i = 0; i < rank_count(w); i++)
        list_passes(w, i, &lists[i]);
    const pass_list *first = &lists[stages[0]];
    const pass_list *second = &lists[stages[1]];
    if (first->count < 2 || second->count < 1)
        return false;
    /* The first pass of the first stage is forward; of the last ones backward is the longest that
     * the second stage's first one after it can be. */
    uint32_t forward = overlap(first, &first->items[0], second, &second->items[0]);
    kernels[0] = (st_repeat){.first = first->items[0].end - forward, .period = forward};
    for (size_t i = 0; i < second->count; i++) {
        for (size_t k = first->count - 1; k < first->count; k++) {
            uint32_t backward = overlap(second, &second->items[i], first, &first->items[k]);
            bool is_forward =
                place_of(first, &first->items[k], first, &kernels[0]) < first->items[k].end;
            if (!is_forward && backward > kernels[1].period)
                kernels[1] = (st_repeat){.first = first->items[k].first, .period = backward};
        }
    }
    keep_period(first, &kernels[0]);
    keep_period(first, &kernels[1]);
    double sum = 0;
    for (size_t r = 0; r < rank_count(w); r++) {
        st_repeats *found = &w->repeats[r];
        found->layers = count_kernels(w, &lists[r], first, kernels, found);
        if (found->layers == 0)
            return false;
        found->is_given = true;
        found->is_nested = false;
        found->folded = 1;
        st_repeats_cover(w->graph->set->ranks[r], found);
    }
    for (uint32_t s = 0; s < w->stages.count; s++)
        sum += w->repeats[w->stages.ranks[s]].layers;
    return sum == given;
}

/* --- numbers -----------------------------------------------------------------------------------
 */

/* Over the stages; of a job without known stages all are as the first one. */
static double sum_layers(const st_whatif *w)
{
    double sum = 0;
    if (!knows_stages(w))
        return stage_count(w) * w->repeats[0].layers;
    for (uint32_t s = 0; s < w->stages.count; s++)
        sum += w->repeats[w->stages.ranks[s]].layers;
    return sum;
}

/*
 * Stages with numbers of their own: those that are clear, and what is left of the given number on
 * the others, alike.
 */
static bool find_uneven(st_whatif *w, double given)
{
    double rest = given;
    size_t unclear = 0;
    find_all(w, 0);
    for (uint32_t s = 0; s < w->stages.count; s++) {
        const st_repeats *found = &w->repeats[w->stages.ranks[s]];
        bool clear = st_repeats_are_layers(found);
        rest -= clear ? found->layers : 0;
        unclear += !clear;
    }
    if (given > 0 && unclear > 0 && rest >= (double)unclear && fmod(rest, (double)unclear) == 0)
        for (size_t r = 0; r < rank_count(w); r++)
            if (!st_repeats_are_layers(&w->repeats[r]))
                find_rank(w, r, (uint32_t)(rest / (double)unclear), &w->repeats[r]);
    double sum = 0;
    for (uint32_t s = 0; s < w->stages.count; s++)
        sum += w->repeats[w->stages.ranks[s]].layers;
    return given == 0 || sum == given;
}

/*
 * Where each repetition may be several layers, both numbers fit, and only the user knows: of a
 * given number that is the larger one, layers are counted in repetitions.
 */
static void unfold_layers(st_whatif *w, double given)
{
    st_repeats seen;
    find_rank(w, 0, 0, &seen);
    if (!st_repeats_are_layers(&seen) || seen.folded < 2)
        return;
    double least = stage_count(w) * seen.layers;
    double most = least * seen.folded;
    if (given <= 0)
        st_whatif_refuse(w,
                         "%s: kernels repeat %u times, and each repetition may be %u layers: the "
                         "job has %.0f or %.0f" ST_EXPECTED
                         "--have model.layers=%.0f or --have model.layers=%.0f, or fewer where "
                         "the repetitions are micro-batches",
                         file_of(w, 0), seen.layers, seen.folded, least, most, least, most);
    if (given != most)
        return;
    w->folded = seen.folded;
    find_all(w, seen.layers);
}

/* Refuses few layers that are not most of the time. */
static void check_repeats(st_whatif *w, size_t rank)
{
    const st_repeats *found = &w->repeats[rank];
    if (found->layers > 0 && found->layers < SURE_LAYERS && found->covered_frac < SURE_FRAC &&
        !knows_stages(w))
        st_whatif_refuse(w,
                         "%s: repetitions of %u layers are only %.0f %% of the time of kernels "
                         "that compute" ST_EXPECTED "at least %.0f %% for so few layers",
                         file_of(w, rank), found->layers, 100 * found->covered_frac,
                         100 * SURE_FRAC);
}

/* Refuses ranks without layers, and those that differ from others of their stage. */
static void check_found(st_whatif *w, size_t rank, double given)
{
    const st_repeats *own = &w->repeats[rank];
    size_t first = knows_stages(w) ? w->stages.ranks[w->stages.stage_of[rank]] : 0;
    if (own->layers == 0 && given > 0)
        st_whatif_refuse(
            w,
            "%s: no kernels repeat layer by layer in a job of %.0f layers%s" ST_EXPECTED
            "the number of the recorded job, with at least 2 layers on a GPU or 1 on every stage "
            "of a pipeline",
            file_of(w, rank), given,
            given == 1 ? ", and a single one does not show where it begins and ends" : "");
    else if (own->layers == 0)
        st_whatif_refuse(w,
                         "%s: no kernels repeat layer by layer" ST_EXPECTED "--have model.layers=N",
                         file_of(w, rank));
    else if (!st_repeats_are_layers(own))
        st_whatif_refuse(w, "%s: %s" ST_EXPECTED "--have model.layers=N", file_of(w, rank),
                         st_repeats_doubt(own, w->errors));
    else if (own->layers != w->repeats[first].layers)
        st_whatif_refuse(w,
                         "%s repeats %u times, %s %u times" ST_EXPECTED
                         "as many layers on every rank; give the number with --have model.layers=N",
                         file_of(w, rank), own->layers, file_of(w, first),
                         w->repeats[first].layers);
}

/* The new number, which grows every stage alike, becomes that of rank 0. */
static void grow(st_whatif *w, double given)
{
    double folded = w->folded > 0 ? w->folded : 1;
    double all = sum_layers(w) * folded;
    double set = w->values.set[ST_WHATIF_LAYERS];
    if (given > 0 && all != given)
        st_whatif_refuse(w,
                         "the stages have %.0f layers by the repetition of their kernels, and "
                         "--have model.layers gives %.0f" ST_EXPECTED "the number of the job",
                         all, given);
    if (w->status != ST_OK)
        return;
    w->layer_growth = set / all;
    for (uint32_t s = 0; s < w->stages.count && knows_stages(w); s++) {
        uint32_t own = w->repeats[w->stages.ranks[s]].layers;
        if (fabs(remainder(own * folded * w->layer_growth, 1)) > 1e-9)
            st_whatif_refuse(w,
                             "%.0f layers do not divide into %.0f stages as %.0f do" ST_EXPECTED
                             "whole layers on every stage",
                             set, stage_count(w), all);
    }
    w->values.set[ST_WHATIF_LAYERS] = w->layer_growth * w->repeats[0].layers;
}

/* Where the stages of a job are not all recorded, each has as many layers. */
static bool divides(st_whatif *w, double layers)
{
    if (fmod(layers, stage_count(w)) == 0)
        return true;
    if (!knows_stages(w))
        st_whatif_refuse(w,
                         "%.0f layers do not divide into %.0f stages" ST_EXPECTED
                         "as many layers on every stage",
                         layers, stage_count(w));
    return false;
}

/* The layers of every rank, as far as they are found. */
static void find_ranks(st_whatif *w, double given)
{
    const double set = w->values.set[ST_WHATIF_LAYERS];
    uint32_t each = divides(w, given) ? (uint32_t)(given / stage_count(w)) : 0;
    find_all(w, each);
    if (set > 0 && (knows_stages(w) || divides(w, set)))
        unfold_layers(w, given);
    bool found = w->folded > 0 || (each > 1 && has_on_all(w, each));
    if (!found && each == 1 && knows_stages(w))
        found = find_common(w, given);
    if (!found && knows_stages(w) && !find_uneven(w, given)) {
        found = find_common(w, given);
        if (!found)
            (void)find_uneven(w, given);
    }
    if (!found)
        share_clear(w);
    for (uint32_t s = 1; s < w->stages.count && knows_stages(w); s++)
        w->stages.is_uneven = w->stages.is_uneven || w->repeats[w->stages.ranks[s]].layers !=
                                                         w->repeats[w->stages.ranks[0]].layers;
}

/* What the result says of them. What repeats in a recording of inference may be tokens. */
static void report(const st_whatif *w, double given)
{
    bool believed = given > 0 || st_whatif_is_training(w);
    uint32_t folded = w->folded > 0 ? w->folded : 1;
    if (w->status == ST_OK && believed && st_repeats_are_layers(&w->repeats[0])) {
        w->outcome->layers = w->repeats[0].layers * folded;
        w->outcome->job_layers = sum_layers(w) * folded;
    }
    w->outcome->layers_frac = w->repeats[0].covered_frac;
}

void st_whatif_find_layers(st_whatif *w)
{
    const double given = w->values.have[ST_WHATIF_LAYERS];
    const bool grows = w->values.set[ST_WHATIF_LAYERS] > 0;
    /* The passes of a recorded pipeline are found by its messages. */
    bool passes = (w->values.set[ST_WHATIF_PP] > 0 || w->values.set[ST_WHATIF_MICROS] > 0) &&
                  w->stages.count <= 1;
    find_ranks(w, given);
    if (w->status == ST_OK && passes && st_whatif_adds_micros(w))
        passes = !st_whatif_find_micros(w);
    for (size_t i = 0; i < rank_count(w) && w->status == ST_OK && grows; i++)
        check_repeats(w, i);
    for (size_t i = 0; i < rank_count(w) && w->status == ST_OK && (grows || passes); i++)
        check_found(w, i, given);
    report(w, given);
    if (w->status == ST_OK && grows)
        grow(w, knows_stages(w) ? given : 0);
    if (given > 0 && w->status == ST_OK)
        w->values.have[ST_WHATIF_LAYERS] =
            w->stages.is_uneven || w->folded > 0 ? w->repeats[0].layers : given / stage_count(w);
}
