/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sheet compiled once and run over random inputs, with functions that a test provides.
 */
#ifndef STEPTIME_TESTS_SHEET_BENCH_H
#define STEPTIME_TESTS_SHEET_BENCH_H

#include "property.h"

#include "estimate/stage_layers.h"
#include "program/program.h"
#include "steptime/tool/providers.h"
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
    const struct plan *plan; /* of megatron */
    property_random *random;
} bench;

static inline st_unit unit(const char *text)
{
    st_unit parsed = st_unit_one();
    assert_int_equal(st_unit_parse(text, strlen(text), (st_place){0}, &parsed, NULL), ST_OK);
    return parsed;
}

static inline void open_bench(bench *b, const char *sheet, property_random *random)
{
    static const char *const folders[] = {"."};
    *b = (bench){.arena = st_arena_create(), .errors = st_errors_create(), .random = random};
    assert_non_null(b->arena);
    assert_non_null(b->errors);
    assert_int_equal(st_paths_create(folders, 1, &b->paths, b->errors), ST_OK);
    st_sheet_reader reader = st_paths_sheet_reader(b->paths);
    assert_int_equal(st_sheet_load(&reader, sheet, b->arena, &b->sheet, b->errors), ST_OK);
}

/* The library's own function that divides layers over stages, for sheets that ask for it. */
static inline const st_provider *dividing_provider(bench *b)
{
    static const st_stage_plan nothing_said;
    st_stage_providers found;
    assert_int_equal(st_stage_layer_providers(&nothing_said, b->sheet, b->arena, &found, b->errors),
                     ST_OK);
    return found.count == 0 ? NULL : &found.items[0];
}

static inline void compile_with(bench *b, const st_provider *const *providers, size_t count)
{
    enum { MOST = 32 };
    const st_provider *all[MOST + 1];
    const st_provider *divides = dividing_provider(b);
    assert_in_range(count, 0, MOST);
    for (size_t i = 0; i < count; i++) {
        all[i] = providers[i];
        if (divides != NULL && strcmp(providers[i]->name, divides->name) == 0)
            divides = NULL;
    }
    if (divides != NULL)
        all[count++] = divides;
    st_program_options options = {.providers = all, .provider_count = count};
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

static inline double found(const bench *b, const char *cell)
{
    for (size_t i = 0; i < st_program_output_count(b->program); i++)
        if (strcmp(st_program_output_name(b->program, i), cell) == 0)
            return b->outputs[i];
    fail_msg("no cell '%s'", cell);
    return 0;
}

#endif
