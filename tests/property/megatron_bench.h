/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sheet megatron compiled once and run over random plans, with functions that a test provides.
 */
#ifndef STEPTIME_TESTS_MEGATRON_BENCH_H
#define STEPTIME_TESTS_MEGATRON_BENCH_H

#include "megatron_plan.h"

#include "program/program.h"
#include "sheet/provider.h"
#include "steptime/job.h"

enum { MOST_INPUTS = 300, MOST_OUTPUTS = 2000 };

typedef struct bench {
    st_paths *paths;
    st_arena *arena;
    st_errors *errors;
    const st_sheet *sheet;
    const st_program *program;
    st_workspace *workspace;
    double inputs[MOST_INPUTS];
    double outputs[MOST_OUTPUTS];
    const plan *plan;
    property_random *random;
} bench;

static inline st_unit unit(const char *text)
{
    st_unit parsed = st_unit_one();
    assert_int_equal(st_unit_parse(text, strlen(text), (st_place){0}, &parsed, NULL), ST_OK);
    return parsed;
}

static inline void open_bench(bench *b, property_random *random)
{
    static const char *const folders[] = {"."};
    *b = (bench){.arena = st_arena_create(), .errors = st_errors_create(), .random = random};
    assert_non_null(b->arena);
    assert_non_null(b->errors);
    assert_int_equal(st_paths_create(folders, 1, &b->paths, b->errors), ST_OK);
    st_sheet_reader reader = st_paths_sheet_reader(b->paths);
    assert_int_equal(st_sheet_load(&reader, "megatron", b->arena, &b->sheet, b->errors), ST_OK);
}

static inline void compile_with(bench *b, const st_provider *const *providers, size_t count)
{
    st_program_options options = {.providers = providers, .provider_count = count};
    assert_int_equal(st_program_compile(b->sheet, &options, b->arena, &b->program, b->errors),
                     ST_OK);
    b->workspace = st_workspace_create(b->program);
    assert_non_null(b->workspace);
    assert_in_range(st_program_output_count(b->program), 1, MOST_OUTPUTS);
}

static inline void close_bench(bench *b)
{
    st_workspace_destroy(b->workspace);
    st_errors_destroy(b->errors);
    st_arena_destroy(b->arena);
    st_paths_destroy(b->paths);
}

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

static inline double found(const bench *b, const char *cell)
{
    for (size_t i = 0; i < st_program_output_count(b->program); i++)
        if (strcmp(st_program_output_name(b->program, i), cell) == 0)
            return b->outputs[i];
    fail_msg("no cell '%s'", cell);
    return 0;
}

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
