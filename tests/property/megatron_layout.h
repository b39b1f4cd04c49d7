/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers of each stage of a plan, given to the sheet megatron as a pattern or a layout would.
 */
#ifndef STEPTIME_TESTS_MEGATRON_LAYOUT_H
#define STEPTIME_TESTS_MEGATRON_LAYOUT_H

#include "megatron_bench.h"
#include "megatron_kinds.h"

enum { LAYERS_OF, LAYERS_ON, LAYERS_ASKED, FULLEST_STAGE, FUNCTIONS };
enum { DIVISION = 10, MOST_ARGUMENTS = 22 };
enum { MOST_PROVIDERS = 4 };

static const plan *at_hand; /* the plan that the functions below answer for */

static inline double answer(int which, const double *a)
{
    const plan *x = at_hand;
    double all = 0;
    size_t fullest = 1;
    double most = -1;
    for (size_t stage = 0; stage < (size_t)x->p; stage++) {
        double weight = 0;
        for (size_t kind = 0; kind <= KINDS_OF_LAYERS; kind++)
            weight += x->layers[stage][kind] * a[DIVISION + kind];
        bool between = stage > 0 && stage + 1 < (size_t)x->p;
        if (which == LAYERS_OF)
            all += x->layers[stage][(size_t)a[0]];
        else if (which == FULLEST_STAGE && between && weight > most) {
            most = weight;
            fullest = stage;
        }
    }
    if (which == LAYERS_OF)
        return all;
    if (which == FULLEST_STAGE)
        return (double)fullest;
    /* asked also for the branch that is not taken, of the stages of a folded schedule */
    return a[1] < MOST_STAGES ? x->layers[(size_t)a[1]][(size_t)a[0]] : 0;
}

static inline st_status evaluate(void *self, size_t rows, const double *const *arguments,
                                 double *values)
{
    static const size_t counts[] = {
        [LAYERS_OF] = 2, [LAYERS_ON] = 13, [LAYERS_ASKED] = 14, [FULLEST_STAGE] = 22};
    int which = *(const int *)self;
    for (size_t row = 0; row < rows; row++) {
        double a[MOST_ARGUMENTS] = {0};
        for (size_t i = 0; i < counts[which]; i++)
            a[i] = arguments[i][row];
        values[row] = answer(which, a);
    }
    return ST_OK;
}

/* With providers of the test's own beside those. */
static inline void compile_kinds_with(bench *b, const st_provider *more, size_t count)
{
    static const char *const names[FUNCTIONS] = {"layers_of", "layers_on", "layers_asked",
                                                 "fullest_stage"};
    static const size_t counts[FUNCTIONS] = {2, 13, 14, 22};
    static int which[FUNCTIONS] = {LAYERS_OF, LAYERS_ON, LAYERS_ASKED, FULLEST_STAGE};
    st_provider *providers = st_arena_alloc(b->arena, FUNCTIONS, sizeof *providers);
    st_unit *units = st_arena_alloc(b->arena, MOST_ARGUMENTS, sizeof *units);
    const st_provider *pointers[FUNCTIONS + MOST_PROVIDERS];
    assert_non_null(providers);
    assert_non_null(units);
    for (size_t i = 0; i < MOST_ARGUMENTS; i++)
        units[i] = st_unit_one();
    for (size_t i = 0; i < FUNCTIONS; i++) {
        providers[i] = (st_provider){.name = names[i],
                                     .source = "test",
                                     .argument_units = units,
                                     .argument_count = counts[i],
                                     .unit = st_unit_one(),
                                     .evaluate = evaluate,
                                     .self = &which[i]};
        pointers[i] = &providers[i];
    }
    assert_in_range(count, 0, MOST_PROVIDERS);
    for (size_t i = 0; i < count; i++)
        pointers[FUNCTIONS + i] = &more[i];
    compile_with(b, pointers, FUNCTIONS + count);
}

static inline void compile_kinds(bench *b)
{
    compile_kinds_with(b, NULL, 0);
}

static inline void run_kinds(bench *b, const plan *x)
{
    at_hand = x;
    run_plan(b, x);
}

#endif
