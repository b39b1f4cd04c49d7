/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast sheets are: loading and compiling, one row, a block of rows against the same formulas in
 * plain C, and a whole process. bench_sheet PROGRAM, where PROGRAM is the built steptime.
 */
#include "bench.h"
#include "job/bind.h"
#include "program/program.h"
#include "scalar.h"
#include "steptime/steptime.h"

#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

enum { ROWS = 4096, CASES = 9, MOST_SETS = 4 };

typedef struct setting {
    const char *program_path;
    const char *sheet_name;
    const char *job_name;
    const char *sets[MOST_SETS]; /* of a whole process */
    bool with_checks;
    bool as_reported; /* only what an estimate shows, not every cell */
    st_arena *arena;
    st_errors *errors;
    st_paths *paths;
    const st_sheet *sheet;
    const st_program *program;
    st_workspace *workspace;
    size_t input_count;
    size_t output_count;
    double *inputs;  /* one row */
    double *outputs; /* one row */
    double *checks;  /* one row */
    double **input_columns;
    double **block_columns;
    double **scalar_columns;
    st_column *columns;
} setting;

static void demand(bool holds, const char *what, const st_errors *errors)
{
    if (!holds) {
        if (errors) {
            st_errors_write(errors, stderr);
        }
        fprintf(stderr, "bench: %s\n", what);
        exit(1);
    }
}

static void *allocate(st_arena *arena, size_t count, size_t size_bytes)
{
    void *memory = st_arena_alloc(arena, count, size_bytes);
    demand(memory != NULL, "out of memory", NULL);
    return memory;
}

/* The cells of the sheet's sections, each once. */
static void ask_for_report(const st_sheet *sheet, st_arena *arena, st_program_options *options)
{
    size_t section_count = 0;
    size_t capacity = 0;
    const st_sheet_section *sections = st_sheet_sections(sheet, &section_count);
    for (size_t i = 0; i < section_count; i++) {
        capacity += sections[i].count;
    }
    const char **names = allocate(arena, capacity + 1, sizeof *names);
    for (size_t i = 0; i < section_count; i++) {
        for (size_t k = 0; k < sections[i].count; k++) {
            names[options->output_count++] = sections[i].cells[k];
        }
    }
    options->outputs = names;
}

static const st_program *load_program(const setting *s, st_arena *arena, st_errors *errors)
{
    const st_sheet *sheet = NULL;
    const st_program *program = NULL;
    st_program_options options = {.without_checks = !s->with_checks};
    st_sheet_reader reader = st_paths_sheet_reader(s->paths);
    const st_job *job = NULL;
    demand(!s->as_reported ||
               st_job_load(s->paths, s->job_name, NULL, 0, arena, &job, errors) == ST_OK,
           "no job", errors);
    /* As an estimate does, which leaves out what the job cannot have. */
    const st_given given = {st_job_settles, job};
    demand(st_sheet_load(&reader, s->sheet_name, arena, &sheet, errors) == ST_OK, "no sheet",
           errors);
    options.given = s->as_reported ? &given : NULL;
    if (s->as_reported) {
        ask_for_report(sheet, arena, &options);
    }
    demand(st_program_compile(sheet, &options, arena, &program, errors) == ST_OK, "no program",
           errors);
    return program;
}

static double **make_columns(st_arena *arena, size_t count)
{
    double **columns = allocate(arena, count, sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        columns[i] = allocate(arena, ROWS, sizeof *columns[i]);
    }
    return columns;
}

/* Every number differs from row to row; switches stay, so that branches are easy to foretell. */
static void fill_inputs(setting *s)
{
    const st_sheet_input *inputs = st_sheet_inputs(s->sheet, &s->input_count);
    for (size_t i = 0; i < s->input_count; i++) {
        for (size_t row = 0; row < ROWS; row++) {
            double factor = 1 + 0.25 * (double)((row + i) % 8);
            bool number = inputs[i].type.kind == ST_TYPE_NUMBER;
            s->input_columns[i][row] = s->inputs[i] * (number ? factor : 1);
        }
        s->columns[i] = (st_column){s->input_columns[i], 1};
    }
}

static void prepare(setting *s)
{
    const st_job *job = NULL;
    const st_bound_input *bound = NULL;
    s->arena = st_arena_create();
    s->errors = st_errors_create();
    demand(s->arena && s->errors, "out of memory", NULL);
    demand(st_paths_create(NULL, 0, &s->paths, s->errors) == ST_OK, "no paths", s->errors);
    s->program = load_program(s, s->arena, s->errors);
    s->sheet = st_program_sheet(s->program);
    s->workspace = st_workspace_create(s->program);
    demand(s->workspace != NULL, "out of memory", NULL);
    demand(st_job_load(s->paths, s->job_name, NULL, 0, s->arena, &job, s->errors) == ST_OK,
           "no job", s->errors);
    demand(st_job_bind(job, s->sheet, s->arena, &bound, s->errors) == ST_OK, "job does not fit",
           s->errors);
    (void)st_sheet_inputs(s->sheet, &s->input_count);
    s->output_count = st_program_output_count(s->program);
    s->inputs = allocate(s->arena, s->input_count, sizeof *s->inputs);
    for (size_t i = 0; i < s->input_count; i++) {
        s->inputs[i] = bound[i].value;
    }
    s->outputs = allocate(s->arena, s->output_count, sizeof *s->outputs);
    size_t check_count = 0;
    (void)st_sheet_checks(s->sheet, &check_count);
    s->checks = s->with_checks ? allocate(s->arena, check_count, sizeof *s->checks) : NULL;
    s->columns = allocate(s->arena, s->input_count, sizeof *s->columns);
    s->input_columns = make_columns(s->arena, s->input_count);
    s->block_columns = make_columns(s->arena, s->output_count);
    s->scalar_columns = make_columns(s->arena, s->output_count);
    fill_inputs(s);
}

static void run_load(void *context, size_t repeats)
{
    const setting *s = context;
    for (size_t i = 0; i < repeats; i++) {
        st_arena *arena = st_arena_create();
        demand(arena != NULL, "out of memory", NULL);
        (void)load_program(s, arena, s->errors);
        st_arena_destroy(arena);
    }
}

static void run_one(void *context, size_t repeats)
{
    const setting *s = context;
    for (size_t i = 0; i < repeats; i++) {
        demand(st_program_run_one(s->program, s->workspace, s->inputs, s->outputs, s->checks) ==
                   ST_OK,
               "no result", NULL);
    }
}

static void run_block(void *context, size_t repeats)
{
    const setting *s = context;
    for (size_t i = 0; i < repeats; i++) {
        demand(st_program_run(s->program, s->workspace, s->columns, ROWS, s->block_columns, NULL) ==
                   ST_OK,
               "no result", NULL);
    }
}

static void run_scalar(void *context, size_t repeats)
{
    const setting *s = context;
    for (size_t i = 0; i < repeats; i++) {
        scalar_run(ROWS, (const double *const *)s->input_columns, s->scalar_columns);
    }
}

static void run_process(void *context, size_t repeats)
{
    const setting *s = context;
    char option[] = "--set";
    char *arguments[4 + 2 * MOST_SETS] = {(char *)(uintptr_t)s->program_path, (char[]){"estimate"},
                                          (char *)(uintptr_t)s->job_name};
    for (size_t i = 0, k = 3; i < MOST_SETS && s->sets[i] != NULL; i++) {
        arguments[k++] = option;
        arguments[k++] = (char *)(uintptr_t)s->sets[i];
    }
    posix_spawn_file_actions_t actions;
    demand(posix_spawn_file_actions_init(&actions) == 0 &&
               posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) == 0,
           "cannot prepare a process", NULL);
    for (size_t i = 0; i < repeats; i++) {
        pid_t child = 0;
        int status = 0;
        demand(posix_spawn(&child, s->program_path, &actions, NULL, arguments, environ) == 0,
               "cannot run the program", NULL);
        demand(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
               "the program failed", NULL);
    }
    posix_spawn_file_actions_destroy(&actions);
}

/* The comparison is worth nothing unless both compute the same. */
static void compare_results(setting *s)
{
    run_block(s, 1);
    run_scalar(s, 1);
    for (size_t i = 0; i < s->output_count; i++) {
        for (size_t row = 0; row < ROWS; row++) {
            double a = s->block_columns[i][row];
            double b = s->scalar_columns[i][row];
            demand(fabs(a - b) <= 1e-12 * fabs(b), st_program_output_name(s->program, i), NULL);
        }
    }
}

static bool report(const setting *s, const setting *large, const setting *reported,
                   const bench_case cases[CASES])
{
    double operations = (double)st_program_operation_count(s->program);
    double block_s = cases[2].median_s / ROWS;
    double scalar_s = cases[3].median_s / ROWS;
    bench_figure figures[] = {
        {"load and compile li2024", 1e3 * cases[0].median_s, "ms", 2, false},
        {"one evaluation of li2024", 1e6 * cases[1].median_s, "us", 2, false},
        {"one evaluation of megatron, what an estimate shows and checks", 1e6 * cases[6].median_s,
         "us", 2, false},
        {"the same, all cells and checks", 1e6 * cases[5].median_s, "us", 0, false},
        {"block evaluation, per operation and row", 1e9 * block_s / operations, "ns", 0.4, false},
        {"block evaluation, per row", 1e9 * block_s, "ns", 0, false},
        {"the same formulas in plain C at -O3, per row", 1e9 * scalar_s, "ns", 0, false},
        {"plain C / block evaluation", scalar_s / block_s, "x", 3, true},
        {"steptime estimate, whole process", 1e3 * cases[4].median_s, "ms", 10, false},
        {"the same for a dense job of megatron", 1e3 * cases[7].median_s, "ms", 5, false},
        {"the same for a hybrid model", 1e3 * cases[8].median_s, "ms", 7, false},
    };
    printf("sheets %s, %s, what it reports: %zu, %zu, %zu operations per row; %d rows a block; "
           "median of %d rounds\n",
           s->sheet_name, large->sheet_name, st_program_operation_count(s->program),
           st_program_operation_count(large->program),
           st_program_operation_count(reported->program), ROWS, BENCH_ROUNDS);
    for (size_t i = 0; i < CASES; i++) {
        printf("  %-20s least %.4g, median %.4g, most %.4g us\n", cases[i].name,
               1e6 * cases[i].least_s, 1e6 * cases[i].median_s, 1e6 * cases[i].most_s);
    }
    return bench_print(figures, sizeof figures / sizeof figures[0]);
}

static void release(setting *s)
{
    st_workspace_destroy(s->workspace);
    st_paths_destroy(s->paths);
    st_errors_destroy(s->errors);
    st_arena_destroy(s->arena);
}

int main(int argc, char **argv)
{
    setting s = {.program_path = argc == 2 ? argv[1] : NULL,
                 .sheet_name = "li2024",
                 .job_name = "gpt-3b-32x3090"};
    setting large = {
        .sheet_name = "megatron", .job_name = "megatron-530b-280xa100", .with_checks = true};
    setting reported = large;
    reported.as_reported = true;
    setting dense = {.program_path = s.program_path, .job_name = "gpt3-175b-64xa100"};
    setting hybrid = {.program_path = s.program_path,
                      .job_name = "mixtral-8x7b-64xh100",
                      .sets = {"model=nemotron-3-nano-30b-a3b", "parallel.virtual_stages=1"}};
    if (!s.program_path) {
        fprintf(stderr, "usage: bench_sheet PROGRAM\n");
        return 2;
    }
    bench_case cases[CASES] = {
        {.name = "load and compile", .clock = BENCH_CPU, .run = run_load, .context = &s},
        {.name = "one row", .clock = BENCH_CPU, .run = run_one, .context = &s},
        {.name = "block", .clock = BENCH_CPU, .run = run_block, .context = &s},
        {.name = "plain C", .clock = BENCH_CPU, .run = run_scalar, .context = &s},
        {.name = "whole process", .clock = BENCH_WALL, .run = run_process, .context = &s},
        {.name = "one row of megatron", .clock = BENCH_CPU, .run = run_one, .context = &large},
        {.name = "megatron's report", .clock = BENCH_CPU, .run = run_one, .context = &reported},
        {.name = "dense process", .clock = BENCH_WALL, .run = run_process, .context = &dense},
        {.name = "hybrid process", .clock = BENCH_WALL, .run = run_process, .context = &hybrid},
    };
    prepare(&s);
    prepare(&large);
    prepare(&reported);
    compare_results(&s);
    bench_measure(cases, CASES);
    bool reached = report(&s, &large, &reported, cases);
    release(&s);
    release(&large);
    release(&reported);
    return reached ? 0 : 1;
}
