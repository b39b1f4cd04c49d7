/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast many estimates are: four million configurations of `megatron` on one core against the
 * same formulas in plain C, the same with axes along which operations can wait, and the plans of
 * GPT-3 175B on 4,096 GPUs on one core and on two.
 */
#include "scalar.h"
#include "program/program.h"
#include "search/search_state.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { CELLS = 3 };

static const char *const cells[CELLS] = {"step_time", "memory", "mfu"};

/* --- allocations ----------------------------------------------------------------------------- */

static _Atomic uint64_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_calloc(count, size);
}

/* --- helpers --------------------------------------------------------------------------------- */

static void demand(bool holds, const char *what, const st_errors *errors)
{
    if (!holds) {
        st_errors_write(errors, stderr);
        fprintf(stderr, "bench: %s\n", what);
        exit(1);
    }
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct bench {
    st_paths *paths;
    st_arena *arena;
    st_errors *errors;
} bench;

static st_space *make_space(bench *own, const char *const *overs, size_t count)
{
    st_space *space = NULL;
    st_space_request request = {.job = "gpt3-175b-64xa100",
                                .option = "--over",
                                .overs = overs,
                                .over_count = count,
                                .cells = cells,
                                .cell_count = CELLS};
    st_status status = st_space_create(own->paths, &request, own->arena, &space, own->errors);
    demand(status == ST_OK, "no space", own->errors);
    return space;
}

/* --- sweeps ---------------------------------------------------------------------------------- */

typedef struct sweep_time {
    double row_ns;
    uint64_t rows;
    uint64_t kept;
    uint64_t allocations; /* while rows are computed */
} sweep_time;

/* `kept_alone`: as `steptime sweep`, which computes the values of rows that its checks keep. */
static sweep_time time_sweep(bench *own, const st_space *space, bool kept_alone)
{
    sweep_time result = {.rows = space->rows};
    st_space_worker *worker = st_space_worker_create(space);
    demand(worker != NULL, "out of memory", own->errors);
    worker->kept_alone = kept_alone;
    /* Programs are laid out where a row is kept, at the latest. */
    for (uint64_t first = 0; first < space->rows && result.kept == 0; first += ST_SPACE_BLOCK) {
        const uint64_t left = space->rows - first;
        const size_t rows = left < ST_SPACE_BLOCK ? (size_t)left : ST_SPACE_BLOCK;
        st_space_run(worker, first, rows);
        for (size_t row = 0; row < rows; row++)
            result.kept += worker->reasons[row] == ST_REASON_NONE ? 1 : 0;
    }
    result.kept = 0;
    uint64_t before = atomic_load(&allocations);
    double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t first = 0; first < space->rows; first += ST_SPACE_BLOCK) {
        uint64_t left = space->rows - first;
        size_t rows = left < ST_SPACE_BLOCK ? (size_t)left : ST_SPACE_BLOCK;
        st_space_run(worker, first, rows);
        for (size_t row = 0; row < rows; row++) {
            result.kept += worker->reasons[row] == ST_REASON_NONE ? 1 : 0;
        }
    }
    result.row_ns = 1e9 * (seconds(CLOCK_PROCESS_CPUTIME_ID) - start) / (double)space->rows;
    result.allocations = atomic_load(&allocations) - before;
    st_space_worker_destroy(worker);
    return result;
}

/* Rows of the space, drawn evenly, as columns for plain C. */
static const double **draw_columns(bench *own, const st_space *space, size_t rows)
{
    size_t inputs = space->base.input_count;
    const double **columns = st_arena_alloc(own->arena, inputs, sizeof *columns);
    double **made = st_arena_alloc(own->arena, inputs, sizeof *made);
    demand(columns != NULL && made != NULL, "out of memory", own->errors);
    for (size_t i = 0; i < inputs; i++) {
        made[i] = st_arena_alloc(own->arena, rows, sizeof **made);
        demand(made[i] != NULL, "out of memory", own->errors);
        for (size_t row = 0; row < rows; row++) {
            made[i][row] = space->base.input_values[i];
        }
        columns[i] = made[i];
    }
    for (size_t i = 0; i < space->driven_count; i++) {
        const st_driven *driven = &space->driven[i];
        const st_axis *axis = &space->axes[driven->axis].axis;
        for (size_t row = 0; row < rows; row++) {
            uint64_t digit = st_space_digit(space, driven->axis, row * (space->rows / rows));
            made[driven->input][row] = driven->values != NULL
                                           ? driven->values[digit]
                                           : axis->start + (double)digit * axis->step;
        }
    }
    return columns;
}

/* The same cells and checks for rows of the same space, row by row in plain C. */
static double time_scalar(bench *own, const st_space *space)
{
    enum { ROWS = 4099, ROUNDS = 60 };
    size_t outputs = CELLS + space->check_count;
    const double **columns = draw_columns(own, space, ROWS);
    double **results = st_arena_alloc(own->arena, outputs, sizeof *results);
    demand(results != NULL, "out of memory", own->errors);
    for (size_t i = 0; i < outputs; i++) {
        results[i] = st_arena_alloc(own->arena, ROWS, sizeof **results);
        demand(results[i] != NULL, "out of memory", own->errors);
    }
    megatron_run(ROWS, columns, results);
    double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < ROUNDS; i++) {
        megatron_run(ROWS, columns, results);
    }
    return 1e9 * (seconds(CLOCK_PROCESS_CPUTIME_ID) - start) / (ROWS * ROUNDS);
}

static bool bench_sweeps(bench *own)
{
    /* Every input of the plan moves with every few rows: nothing can wait for long. */
    static const char *const mixed[] = {"parallel.dp=1..26", "batch.global=64..700+4",
                                        "cluster.nodes=8..31", "parallel.tp=1..8",
                                        "parallel.pp=1,2,4,8,16"};
    /* Chunks that differ are replayed. */
    static const char *const unlike[] = {"batch.global=64..640+64", "parallel.tp=1..8",
                                         "parallel.pp=5,7"};
    /* The innermost axis is one on which little depends. */
    static const char *const waiting[] = {"parallel.tp=1..8*2", "parallel.pp=1..32*2",
                                          "batch.micro=1..4*2", "batch.global=64..640+64",
                                          "cluster.price=1..2.19+0.0001 $/h"};
    const st_space *space = make_space(own, mixed, COUNT(mixed));
    size_t operations = st_program_operation_count(space->variants[0].program);
    sweep_time kept = time_sweep(own, space, true);
    sweep_time every = time_sweep(own, space, false);
    double scalar_ns = time_scalar(own, space);
    sweep_time replayed = time_sweep(own, make_space(own, unlike, COUNT(unlike)), true);
    sweep_time hoisted = time_sweep(own, make_space(own, waiting, COUNT(waiting)), true);
    printf("sweep of %llu configurations, %zu operations, %llu kept\n",
           (unsigned long long)kept.rows, operations, (unsigned long long)kept.kept);
    printf("  per configuration          %10.1f ns\n", kept.row_ns);
    printf("  plain C at -O3, per row    %10.1f ns\n", scalar_ns);
    printf("  plain C / sweep            %10.2f x   (6 to reach)\n", scalar_ns / kept.row_ns);
    printf("  allocations in the loop    %10llu\n", (unsigned long long)kept.allocations);
    printf("the same with the values of rejected configurations, as of --all\n");
    printf("  per configuration          %10.1f ns\n", every.row_ns);
    printf("  per operation              %10.3f ns  (0.4 to reach)\n",
           every.row_ns / (double)operations);
    printf("  plain C / sweep            %10.2f x   (3 to reach)\n", scalar_ns / every.row_ns);
    printf("sweep of %llu configurations with axes that wait\n", (unsigned long long)hoisted.rows);
    printf("  per configuration          %10.1f ns\n", hoisted.row_ns);
    printf("sweep of %llu configurations that are replayed\n", (unsigned long long)replayed.rows);
    printf("  per configuration          %10.1f ns\n", replayed.row_ns);
    return scalar_ns / kept.row_ns >= 6 && scalar_ns / every.row_ns >= 3 && kept.allocations == 0 &&
           every.allocations == 0 && hoisted.allocations == 0;
}

/* --- rows as text ----------------------------------------------------------------------------- */

static double time_rows(bench *own, const st_space *space, st_sweep_format format)
{
    enum { ROUNDS = 40 };
    const st_sweep_options options = {.format = format, .all = true};
    st_space_worker *worker = st_space_worker_create(space);
    st_buffer text = {0};
    demand(worker != NULL, "out of memory", own->errors);
    st_space_run(worker, 0, ST_SPACE_BLOCK);
    double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < ROUNDS; i++) {
        text.length = 0;
        st_sweep_write_rows(worker, &options, &text);
    }
    double row_ns = 1e9 * (seconds(CLOCK_PROCESS_CPUTIME_ID) - start) / (ST_SPACE_BLOCK * ROUNDS);
    demand(!text.failed && text.length > 0, "no text", own->errors);
    st_buffer_free(&text);
    st_space_worker_destroy(worker);
    return row_ns;
}

/* One axis and three cells a row. */
static void bench_rows(bench *own)
{
    static const char *const axis[] = {"cluster.nic_bandwidth=100..400+0.1 Gbit/s"};
    const st_space *space = make_space(own, axis, COUNT(axis));
    printf("rows of four numbers as text\n");
    printf("  CSV, per row               %10.1f ns\n", time_rows(own, space, ST_SWEEP_CSV));
    printf("  JSON, per row              %10.1f ns\n", time_rows(own, space, ST_SWEEP_JSON));
}

/* --- search ---------------------------------------------------------------------------------- */

static double time_search(bench *own, int threads, clockid_t clock, uint64_t *plans)
{
    static const char *const sets[] = {"batch.global=12288"};
    static const char *const varies[] = {
        "parallel.tp", "parallel.pp", "parallel.cp",   "parallel.virtual_stages",
        "batch.micro", "recompute",   "parallel.zero", "parallel.sequence_parallel"};
    st_search *search = NULL;
    st_search_result result;
    st_search_watch watch = {0};
    st_search_request request = {
        .space = {.job = "gpt3-175b-64xa100", .sets = sets, .set_count = 1},
        .gpus = "4096",
        .only = varies,
        .only_count = COUNT(varies),
        .top = 10,
        .threads = threads};
    demand(st_search_create(own->paths, &request, own->arena, &search, own->errors) == ST_OK,
           "no search", own->errors);
    double start = seconds(clock);
    demand(st_search_run(search, &st_one_process, &watch, &result, own->errors) == ST_OK,
           "no result", own->errors);
    *plans = result.found.done;
    return seconds(clock) - start;
}

static bool bench_search(bench *own)
{
    enum { ROUNDS = 9 };
    uint64_t plans = 0;
    double core = (double)INFINITY; /* of the processor's time, in the quietest round */
    for (size_t i = 0; i < ROUNDS; i++) {
        core = fmin(core, time_search(own, 1, CLOCK_PROCESS_CPUTIME_ID, &plans));
    }
    double one = time_search(own, 1, CLOCK_MONOTONIC, &plans);
    double two = time_search(own, 2, CLOCK_MONOTONIC, &plans);
    printf("search over %llu plans of GPT-3 175B on 4096 GPUs, top 10\n",
           (unsigned long long)plans);
    printf("  one core                   %10.3f s   (1 s for a million to reach)\n", one);
    printf("  plans per second and core  %10.3g   (2e+07 to reach)\n", (double)plans / core);
    printf("  one core / two cores       %10.2f x   (1.8 to reach)\n", one / two);
    return one <= 1e-6 * (double)plans && core <= 5e-8 * (double)plans;
}

int main(void)
{
    bench own = {.arena = st_arena_create(), .errors = st_errors_create()};
    if (own.arena == NULL || own.errors == NULL) {
        return 1;
    }
    demand(st_paths_create(NULL, 0, &own.paths, own.errors) == ST_OK, "no paths", own.errors);
    bool reached = bench_sweeps(&own);
    bench_rows(&own);
    reached = bench_search(&own) && reached;
    st_paths_destroy(own.paths);
    st_errors_destroy(own.errors);
    st_arena_destroy(own.arena);
    return reached ? 0 : 1;
}
