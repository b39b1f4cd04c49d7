/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay of GPT-3 175B on 8,192 GPUs (8-way tensor, 16-way pipeline, 64-way data parallelism): one
 * rank of each stage, and all of them. The figures to reach are those of the design: Echo needs
 * 4,977 s for such a cluster.
 */
#include "bench.h"

#include "report/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

typedef struct setting {
    st_arena *arena;
    st_errors *errors;
    st_timeline_plan plan;
    st_timeline all;
} setting;

static void must(st_status status, const setting *self)
{
    if (status != ST_OK) {
        st_errors_write(self->errors, stderr);
        exit(1);
    }
}

static void load(setting *self)
{
    static const char *const sets[] = {"parallel.pp=16", "parallel.dp=64", "cluster.nodes=1024"};
    st_paths *paths = NULL;
    st_estimate estimate;
    st_request request = {.job = "gpt3-175b-1024xa100", .sets = sets, .set_count = 3};
    must(st_paths_create(NULL, 0, &paths, self->errors), self);
    must(st_estimate_load(paths, &request, self->arena, &estimate, self->errors), self);
    must(st_timeline_plan_make(&estimate, false, self->arena, &self->plan, self->errors), self);
    st_paths_destroy(paths);
}

static void run_folded(void *context, size_t repeats)
{
    setting *self = context;
    for (size_t i = 0; i < repeats; i++) {
        st_arena *arena = st_arena_create();
        st_timeline timeline;
        must(st_timeline_make(&self->plan, false, arena, &timeline, self->errors), self);
        st_timeline_free(&timeline);
        st_arena_destroy(arena);
    }
}

static void run_replay(void *context, size_t repeats)
{
    setting *self = context;
    for (size_t i = 0; i < repeats; i++) {
        must(st_replay_run(self->all.replay, self->errors), self);
    }
}

static double now_s(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(void)
{
    setting self = {.arena = st_arena_create(), .errors = st_errors_create()};
    struct rusage usage;
    load(&self);
    double before_s = now_s();
    must(st_timeline_make(&self.plan, true, self.arena, &self.all, self.errors), &self);
    double all_s = now_s() - before_s;
    (void)getrusage(RUSAGE_SELF, &usage);
    bench_case cases[] = {
        {.name = "folded", .clock = BENCH_CPU, .run = run_folded, .context = &self},
        {.name = "replay", .clock = BENCH_CPU, .run = run_replay, .context = &self}};
    bench_measure(cases, 2);
    double tasks = (double)st_graph_task_count(self.all.graph);
    const bench_figure figures[] = {
        {"GPT-175B on 8,192 GPUs, one rank of each stage", cases[0].median_s * 1e3, "ms", 100,
         false},
        {"every rank: build, replay, break down", all_s, "s", 60, false},
        {"every rank: memory", (double)usage.ru_maxrss / 1048576, "GiB", 16, false},
        {"every rank: tasks", tasks / 1e6, "M", 0, false},
        {"replay, tasks per second and core", tasks / cases[1].median_s / 1e6, "M/s", 10, true},
    };
    bool good = bench_print(figures, sizeof figures / sizeof figures[0]);
    st_timeline_free(&self.all);
    st_errors_destroy(self.errors);
    st_arena_destroy(self.arena);
    return good ? 0 : 1;
}
