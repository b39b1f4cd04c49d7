/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sheet megatron run over random plans.
 */
#ifndef STEPTIME_TESTS_MEGATRON_BENCH_H
#define STEPTIME_TESTS_MEGATRON_BENCH_H

#include "megatron_plan.h"
#include "sheet_bench.h"

/* ---- inputs ---- */

static inline double choice(const st_sheet_input *input, const char *name)
{
    assert_int_equal(input->type.kind, ST_TYPE_ENUM);
    for (size_t i = 0; i < input->type.enumeration->count; i++)
        if (strcmp(input->type.enumeration->values[i], name) == 0)
            return (double)i;
    fail_msg("%s is never %s", input->from, name);
    return 0;
}

/* What a job has that does not give a key. */
static inline double default_of_key(const st_sheet_input *input)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        const char *text = keys[i].default_text;
        if (strcmp(keys[i].path, input->from) != 0 || text == NULL)
            continue;
        if (keys[i].kind == ST_KEY_ENUM)
            return choice(input, text);
        return keys[i].kind == ST_KEY_BOOL ? strcmp(text, "true") == 0 : strtod(text, NULL);
    }
    fail_msg("no plan has %s", input->from);
    return 0;
}

/* Inputs that no plan has keep their defaults. */
static inline double input_value(const st_sheet_input *input, const plan *x)
{
    for (size_t i = 0; i < PLAN_KEYS; i++) {
        double value = plan_value(x, &plan_keys[i]);
        if (strcmp(plan_keys[i].key, input->from) == 0)
            return plan_keys[i].names[0] != NULL ? choice(input, plan_keys[i].names[(size_t)value])
                                                 : value;
    }
    if (strcmp(input->from, "stack") == 0)
        return choice(input, "plain");
    return input->has_default ? input->default_value : default_of_key(input);
}

static inline void run_plan(bench *b, const plan *x)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(b->sheet, &count);
    assert_in_range(count, 1, MOST_INPUTS);
    for (size_t i = 0; i < count; i++)
        b->inputs[i] = input_value(&inputs[i], x);
    b->plan = x;
    assert_int_equal(st_program_run_one(b->program, b->workspace, b->inputs, b->outputs, NULL),
                     ST_OK);
}

/* ---- what is expected ---- */

/* `scale` is what differences were taken of: what is left of it by rounding is no error. */
static inline void expect_of(const bench *b, const char *cell, double expected, double scale)
{
    double value = found(b, cell);
    if (fabs(value - expected) <= 1e-9 * fabs(expected) + 1e-11 * fabs(scale))
        return;
    print_plan(b->plan);
    fail_msg("%s is %.17g, not %.17g (STEPTIME_SEED=%" PRIu64 ")", cell, value, expected,
             b->random->seed);
}

static inline void expect(const bench *b, const char *cell, double expected)
{
    expect_of(b, cell, expected, 0);
}

#endif
