/* SPDX-License-Identifier: Apache-2.0 */
/* Which pieces of layers were measured on both GPUs, and how good ratios are on those left out. */
#include "kernel-times/fit/ratios.h"

#include "base/memory.h"
#include "fit/steps/stats.h"
#include "steptime/tool/input_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- matching ---- */

/* A piece on the second GPU. */
typedef struct counterpart {
    st_times_piece piece;
    double dimensions[3];
    double seconds;
    size_t group;
} counterpart;

static int by_piece(const void *left, const void *right)
{
    const counterpart *a = left;
    const counterpart *b = right;
    if (a->piece != b->piece)
        return ST_ORDER(a->piece, b->piece);
    for (size_t i = 0; i < 3; i++)
        if (a->dimensions[i] < b->dimensions[i] || a->dimensions[i] > b->dimensions[i])
            return ST_ORDER(a->dimensions[i], b->dimensions[i]);
    return 0;
}

static size_t count_pieces(const st_time_sets *sets)
{
    size_t count = 0;
    for (size_t i = 0; i < sets->count; i++)
        count += sets->sets[i].count * sets->sets[i].piece_count;
    return count;
}

static st_trace_class class_of(st_times_piece piece)
{
    if (st_times_is_product(piece))
        return ST_TRACE_GEMM;
    return piece == ST_TIMES_NORM_1 || piece == ST_TIMES_NORM_2 ? ST_TRACE_NORM
                                                                : ST_TRACE_ELEMENTWISE;
}

/* The mean of all that are equal to `wanted`, into it; false where there is none. */
static bool find_equal(const counterpart *items, size_t count, counterpart *wanted)
{
    const counterpart *found = bsearch(wanted, items, count, sizeof *items, by_piece);
    if (found == NULL)
        return false;
    while (found > items && by_piece(found - 1, wanted) == 0)
        found--;
    size_t equal = 0;
    wanted->seconds = 0;
    wanted->group = found->group;
    for (; found < items + count && by_piece(found, wanted) == 0; found++, equal++)
        wanted->seconds += found->seconds;
    wanted->seconds /= (double)equal;
    return true;
}

typedef struct matcher {
    const counterpart *items;
    size_t count;
    st_ratios_kernels *kernels;
} matcher;

st_status st_ratios_match(const st_time_sets *from, const st_time_sets *to, st_arena *arena,
                          st_ratios_kernels *kernels, st_errors *errors)
{
    matcher match = {.kernels = kernels};
    *kernels = (st_ratios_kernels){.count = 0};
    kernels->items = st_arena_alloc(arena, count_pieces(from) + 1, sizeof *kernels->items);
    /* All pieces with dimensions of their own, sorted by these. */
    counterpart *items = st_arena_alloc(arena, count_pieces(to) + 1, sizeof *items);
    match.count = 0;
    for (size_t i = 0; i < to->count && items != NULL; i++) {
        const st_time_set *set = &to->sets[i];
        for (size_t k = 0; k < set->count * set->piece_count; k++) {
            const st_time_sample *sample = &set->samples[k / set->piece_count];
            size_t piece = k % set->piece_count;
            counterpart next = {.piece = set->pieces[piece],
                                .seconds = sample->times[piece],
                                .group = sample->group};
            if (st_times_dimensions(next.piece, &sample->shape, next.dimensions))
                items[(match.count)++] = next;
        }
    }
    if (items != NULL)
        qsort(items, match.count, sizeof *items, by_piece);
    match.items = items;
    if (kernels->items == NULL || match.items == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < from->count; i++)
        for (size_t k = 0; k < from->sets[i].count; k++) {
            const st_time_set *set = &from->sets[i];
            const st_time_sample *sample = &from->sets[i].samples[k];
            size_t before = match.kernels->count;
            for (size_t j = 0; j < set->piece_count; j++) {
                counterpart wanted = {.piece = set->pieces[j]};
                if (!st_times_dimensions(wanted.piece, &sample->shape, wanted.dimensions) ||
                    !find_equal(match.items, match.count, &wanted)) {
                    match.kernels->unlike++;
                    continue;
                }
                match.kernels->items[match.kernels->count++] =
                    (st_ratios_kernel){.class_ = class_of(wanted.piece),
                                       .from_s = sample->times[j],
                                       .to_s = wanted.seconds,
                                       .repeats = st_times_repeats(wanted.piece),
                                       .layer = match.kernels->layers,
                                       .group = wanted.group};
            }
            match.kernels->layers += match.kernels->count > before ? 1 : 0;
        }
    return kernels->count > 0
               ? ST_OK
               : st_fail(errors, ST_ERR_VALUE, (st_place){0},
                         "no piece of a layer is in the tables of both GPUs" ST_EXPECTED
                         "pieces (qkv, mlp_up, norm_1, ...) of the same sizes in both tables");
}

/* ---- how good it is ---- */

typedef struct trial {
    const st_ratios_kernels *kernels;
    const st_ratios *learnt[ST_RATIOS_WAYS]; /* NULL: data sheets */
    double rates;                            /* peak of the first GPU over that of the second */
    double bandwidths;
    double *each;
    double *sums;
} trial;

static bool has_group(const st_ratios_kernels *kernels, size_t group, bool others)
{
    for (size_t i = 0; i < kernels->count; i++)
        if ((kernels->items[i].group == group) != others)
            return true;
    return false;
}

static st_status try_group(trial *attempt, size_t group, st_arena *arena, st_ratios_test *test)
{
    st_ratios *learnt = st_arena_alloc(arena, ST_RATIOS_WAYS, sizeof *learnt);
    if (learnt == NULL ||
        st_ratios_learn(attempt->kernels, group, true, arena, &learnt[ST_RATIOS_FLAT]) != ST_OK ||
        st_ratios_learn(attempt->kernels, group, false, arena, &learnt[ST_RATIOS_CURVES]) != ST_OK)
        return ST_ERR_MEMORY;
    attempt->learnt[ST_RATIOS_FLAT] = &learnt[ST_RATIOS_FLAT];
    attempt->learnt[ST_RATIOS_CURVES] = &learnt[ST_RATIOS_CURVES];
    for (st_ratios_way way = 0; way < ST_RATIOS_WAYS; way++) {
        /* Errors of the kernels of a group, and of the layers that they are pieces of. */
        size_t layer = SIZE_MAX;
        double predicted = 0;
        double measured = 0;
        test->kernels = test->layers = 0;
        for (size_t i = 0; i <= attempt->kernels->count; i++) {
            const st_ratios_kernel *kernel = &attempt->kernels->items[i];
            bool ends = i == attempt->kernels->count || kernel->layer != layer;
            if (ends && measured > 0)
                attempt->sums[test->layers++] = predicted / measured - 1;
            if (i == attempt->kernels->count)
                break;
            predicted = ends ? 0 : predicted;
            measured = ends ? 0 : measured;
            layer = kernel->layer;
            if (kernel->group != group)
                continue;
            double ratio;
            st_trace_class taken;
            if (attempt->learnt[way] != NULL)
                ratio = st_ratios_ask(attempt->learnt[way], kernel->class_, kernel->from_s, &taken);
            else
                ratio = kernel->class_ == ST_TRACE_GEMM ? attempt->rates : attempt->bandwidths;
            double estimate = ratio * kernel->from_s;
            attempt->each[test->kernels++] = estimate / kernel->to_s - 1;
            predicted += kernel->repeats * estimate;
            measured += kernel->repeats * kernel->to_s;
        }
        test->each[way] = st_summarize_errors(attempt->each, test->kernels);
        test->sums[way] = st_summarize_errors(attempt->sums, test->layers);
    }
    return ST_OK;
}

st_status st_ratios_try(const st_ratios_kernels *kernels, const st_time_sets *from,
                        const st_time_sets *to, st_arena *arena, st_ratios_tests *tests,
                        st_errors *errors)
{
    size_t room = kernels->count + 1;
    trial attempt = {.kernels = kernels,
                     .rates = from->peak / to->peak,
                     .bandwidths = from->bandwidth / to->bandwidth,
                     .each = st_arena_alloc(arena, room, sizeof *attempt.each),
                     .sums = st_arena_alloc(arena, room, sizeof *attempt.sums)};
    *tests = (st_ratios_tests){
        .items = st_arena_alloc(arena, to->group_count + 1, sizeof *tests->items)};
    if (st_arena_failed(arena))
        return st_out_of_memory(errors);
    for (size_t group = 0; group < to->group_count; group++) {
        if (!has_group(kernels, group, false) || !has_group(kernels, group, true))
            continue;
        st_ratios_test *test = &tests->items[tests->count++];
        *test = (st_ratios_test){.name = to->groups[group]};
        if (try_group(&attempt, group, arena, test) != ST_OK)
            return st_out_of_memory(errors);
    }
    return ST_OK;
}
