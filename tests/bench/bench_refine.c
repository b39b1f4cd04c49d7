/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model of collectives costs where many estimates are made: rows of `megatron` in blocks and
 * plans of a search, with nccl-whitebox in the place of every collective and by the closed form
 * alone, and the same rows with the plugin in a process of its own. Takes the folder below which
 * the plugins lie.
 */
#include "bench.h"

#include "job/files.h"
#include "search/search_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const cells[] = {"step_time", "memory", "mfu"};

static const char *const plugin[] = {"nccl-whitebox"};

typedef struct bench {
    st_paths *paths;
    st_paths *apart; /* whose plugins run in processes of their own */
    st_arena *arena;
    st_errors *errors;
} bench;

static void demand(bool holds, const char *what, const st_errors *errors)
{
    if (!holds) {
        st_errors_write(errors, stderr);
        fprintf(stderr, "bench: %s\n", what);
        exit(1);
    }
}

/* --- rows ------------------------------------------------------------------------------------ */

typedef struct sweep {
    st_space *space;
    st_space_worker *worker;
} sweep;

/* Every input of the plan differs from row to row: nothing is computed once for several. */
static sweep make_sweep(bench *own, const st_paths *paths, bool refined)
{
    static const char *const overs[] = {"parallel.dp=1..26", "batch.global=64..700+4",
                                        "cluster.nodes=8..31", "parallel.tp=1..8*2",
                                        "parallel.pp=1..16*2"};
    sweep made = {0};
    st_space_request request = {.job = "gpt3-175b-64xa100",
                                .refine = plugin,
                                .refine_count = refined ? COUNT(plugin) : 0,
                                .option = "--over",
                                .overs = overs,
                                .over_count = COUNT(overs),
                                .cells = cells,
                                .cell_count = COUNT(cells),
                                .sample = 65536};
    demand(st_space_create(paths, &request, own->arena, &made.space, own->errors) == ST_OK,
           "no space", own->errors);
    made.worker = st_space_worker_create(made.space);
    demand(made.worker != NULL, "out of memory", own->errors);
    return made;
}

static void run_sweep(void *context, size_t repeats)
{
    const sweep *self = context;
    for (size_t i = 0; i < repeats; i++) {
        for (uint64_t first = 0; first < self->space->rows; first += ST_SPACE_BLOCK) {
            st_space_run(self->worker, first, ST_SPACE_BLOCK);
        }
    }
}

static void bench_rows(bench *own)
{
    sweep sweeps[] = {make_sweep(own, own->paths, false), make_sweep(own, own->paths, true),
                      make_sweep(own, own->apart, true)};
    bench_case cases[] = {
        {.name = "closed form", .run = run_sweep, .context = &sweeps[0]},
        {.name = "nccl-whitebox", .run = run_sweep, .context = &sweeps[1]},
        {.name = "isolated", .run = run_sweep, .context = &sweeps[2]},
    };
    bench_measure(cases, COUNT(cases));
    double rows = (double)sweeps[0].space->rows;
    printf("megatron in blocks, %.0f rows, every collective by nccl-whitebox\n", rows);
    printf("  rows per second            %10.3g\n", rows / cases[1].median_s);
    printf("  closed form alone          %10.3g\n", rows / cases[0].median_s);
    printf("  refined / closed form      %10.2f x the time\n",
           cases[1].median_s / cases[0].median_s);
    printf("  isolated / in process      %10.2f x the time\n",
           cases[2].median_s / cases[1].median_s);
    for (size_t i = 0; i < COUNT(sweeps); i++) {
        st_space_worker_destroy(sweeps[i].worker);
    }
}

/* --- plans ----------------------------------------------------------------------------------- */

typedef struct hunt {
    bench *own;
    st_search *search;
    uint64_t plans;
} hunt;

static hunt make_hunt(bench *own, bool refined)
{
    static const char *const sets[] = {"batch.global=12288"};
    static const char *const varies[] = {"parallel.tp", "parallel.pp", "parallel.cp",
                                         "batch.micro", "recompute",   "parallel.zero"};
    hunt made = {.own = own};
    st_search_request request = {.space = {.job = "gpt3-175b-64xa100",
                                           .sets = sets,
                                           .set_count = COUNT(sets),
                                           .refine = plugin,
                                           .refine_count = refined ? COUNT(plugin) : 0},
                                 .gpus = "4096",
                                 .only = varies,
                                 .only_count = COUNT(varies),
                                 .top = 10,
                                 .threads = 1};
    demand(st_search_create(own->paths, &request, own->arena, &made.search, own->errors) == ST_OK,
           "no search", own->errors);
    return made;
}

static void run_hunt(void *context, size_t repeats)
{
    hunt *self = context;
    st_search_watch watch = {0};
    st_search_result result;
    for (size_t i = 0; i < repeats; i++) {
        demand(st_search_run(self->search, &st_one_process, &watch, &result, self->own->errors) ==
                   ST_OK,
               "no result", self->own->errors);
        self->plans = result.found.done;
    }
}

static void bench_plans(bench *own)
{
    hunt hunts[2] = {make_hunt(own, false), make_hunt(own, true)};
    bench_case cases[2] = {
        {.name = "closed form", .run = run_hunt, .context = &hunts[0]},
        {.name = "nccl-whitebox", .run = run_hunt, .context = &hunts[1]},
    };
    bench_measure(cases, COUNT(cases));
    double plans = (double)hunts[1].plans;
    printf("search over %.0f plans of GPT-3 175B on 4096 GPUs, one core\n", plans);
    printf("  plans per second, refined  %10.3g\n", plans / cases[1].median_s);
    printf("  closed form alone          %10.3g\n", plans / cases[0].median_s);
    printf("  refined / closed form      %10.2f x the time\n",
           cases[1].median_s / cases[0].median_s);
}

int main(int argc, char **argv)
{
    const char *const folders[] = {argc == 2 ? argv[1] : "build"};
    bench own = {.arena = st_arena_create(), .errors = st_errors_create()};
    if (own.arena == NULL || own.errors == NULL) {
        return 1;
    }
    demand(st_paths_create(folders, 1, &own.paths, own.errors) == ST_OK, "no paths", own.errors);
    demand(st_paths_create(folders, 1, &own.apart, own.errors) == ST_OK, "no paths", own.errors);
    st_paths_set_isolation(own.apart, true);
    bench_rows(&own);
    bench_plans(&own);
    st_arena_destroy(own.arena);
    st_paths_destroy(own.apart);
    st_paths_destroy(own.paths);
    st_errors_destroy(own.errors);
    return 0;
}
