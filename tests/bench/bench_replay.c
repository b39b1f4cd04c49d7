/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay of GPT-3 175B on 8,192 GPUs (8-way tensor, 16-way pipeline, 64-way data parallelism): one
 * rank of each stage, and all of them; and of one with ZeRO-3 whose messages slow the passes. The
 * figures to reach are those of the design: Echo needs 4,977 s for such a cluster.
 */
#include "bench.h"

#include "timeline/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

typedef struct setting {
    st_arena *arena;
    st_errors *errors;
    st_timeline_plan plan;
    st_timeline all;
    st_timeline slowed; /* weights are split and gathered beside the passes */
} setting;

static void must(st_status status, const setting *self)
{
    if (status != ST_OK) {
        st_errors_write(self->errors, stderr);
        exit(1);
    }
}

static st_timeline_plan load(const setting *self, const char *const *sets, size_t count)
{
    st_paths *paths = NULL;
    st_estimate estimate;
    st_timeline_plan plan;
    st_request request = {.job = "gpt3-175b-1024xa100", .sets = sets, .set_count = count};
    must(st_paths_create(NULL, 0, &paths, self->errors), self);
    must(st_estimate_load(paths, &request, self->arena, &estimate, self->errors), self);
    must(st_timeline_plan_make(&estimate, self->arena, &plan, self->errors), self);
    st_paths_destroy(paths);
    return plan;
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

/* Computation at 1/1.385 of its speed beside messages, as the timeline has it. */
static double rate_beside(void *context, const st_graph *graph, st_task_id task,
                          const st_task_id *beside, size_t count)
{
    (void)context;
    (void)beside;
    return count > 0 && st_graph_task(graph, task).work == ST_WORK_COMPUTE ? 1 / 1.385 : 1;
}

static void run_slowed(void *context, size_t repeats)
{
    setting *self = context;
    st_rate_rule rule = {rate_beside, NULL};
    for (size_t i = 0; i < repeats; i++) {
        must(st_replay_run_rates(self->slowed.replay, &rule, self->errors), self);
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
    static const char *const sets[] = {"parallel.pp=16", "parallel.dp=64", "cluster.nodes=1024"};
    static const char *const split[] = {"parallel.zero=3", "overlap.parameters=1",
                                        "overlap.gradients=1", "parallel.dp=16",
                                        "constants.overlap_slowdown=1.385"};
    setting self = {.arena = st_arena_create(), .errors = st_errors_create()};
    struct rusage usage;
    self.plan = load(&self, sets, sizeof sets / sizeof sets[0]);
    double before_s = now_s();
    must(st_timeline_make(&self.plan, true, self.arena, &self.all, self.errors), &self);
    double all_s = now_s() - before_s;
    (void)getrusage(RUSAGE_SELF, &usage);
    st_timeline_plan plan = load(&self, split, sizeof split / sizeof split[0]);
    must(st_timeline_make(&plan, false, self.arena, &self.slowed, self.errors), &self);
    bench_case cases[] = {
        {.name = "folded", .clock = BENCH_CPU, .run = run_folded, .context = &self},
        {.name = "replay", .clock = BENCH_CPU, .run = run_replay, .context = &self},
        {.name = "slowed", .clock = BENCH_CPU, .run = run_slowed, .context = &self}};
    bench_measure(cases, 3);
    double tasks = (double)st_graph_task_count(self.all.graph);
    double slowed = (double)st_graph_task_count(self.slowed.graph);
    const bench_figure figures[] = {
        {"GPT-175B on 8,192 GPUs, one rank of each stage", cases[0].median_s * 1e3, "ms", 100,
         false},
        {"every rank: build, replay, break down", all_s, "s", 60, false},
        {"every rank: memory", (double)usage.ru_maxrss / 1048576, "GiB", 16, false},
        {"every rank: tasks", tasks / 1e6, "M", 0, false},
        {"replay, tasks per second and core", tasks / cases[1].median_s / 1e6, "M/s", 10, true},
        {"ZeRO-3 that slows what is beside it: tasks", slowed / 1e6, "M", 0, false},
        {"replay with interference, tasks per second and core", slowed / cases[2].median_s / 1e6,
         "M/s", 2, true},
    };
    bool good = bench_print(figures, sizeof figures / sizeof figures[0]);
    st_timeline_free(&self.all);
    st_timeline_free(&self.slowed);
    st_errors_destroy(self.errors);
    st_arena_destroy(self.arena);
    return good ? 0 : 1;
}
