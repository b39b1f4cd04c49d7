/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Property: where a sheet's closed form and the replayed schedule describe the same step, they
 * agree to 1e-9. They do for GPipe and 1F1B where whole layers fill all stages alike and the last
 * stage, with the output layer, is the slowest; and for all schedules but the sheet's
 * approximations of ramps with chunks and weights' gradients, whatever is exposed or hidden; and
 * for layer lists in buckets, in shards and in pipelines.
 */
#include "random_job.h"

#include "timeline/timeline.h"

enum { ROUNDS = 40 };

static int power_of_two(property_random *random, int most)
{
    return 1 << random_between(random, 0, most);
}

/* A plan of a model of 96 layers on a cluster that is large enough for it. */
static void random_plan(property_random *random, random_job *job)
{
    static const int stages[] = {1, 2, 3, 4, 6, 8, 12, 16};
    static const char *const again[] = {"none", "selective", "full"};
    int micro = random_between(random, 1, 4);
    int dp = power_of_two(random, 3);
    int micros = random_between(random, 1, 40);
    set(job, "cluster.gpu.memory", "9000 TB");
    set(job, "cluster.nodes", "4000");
    set_count(job, "parallel.tp", power_of_two(random, 3));
    set_count(job, "parallel.pp", stages[random_below(random, 8)]);
    set_count(job, "parallel.dp", dp);
    set(job, "parallel.schedule", random_between(random, 0, 1) == 0 ? "gpipe" : "1f1b");
    set_count(job, "batch.micro", micro);
    set_count(job, "batch.global", micro * dp * micros);
    set(job, "recompute", again[random_below(random, 3)]);
    set(job, "attention", random_between(random, 0, 1) == 0 ? "flash" : "unfused");
    set_count(job, "parallel.zero", random_between(random, 0, 1));
    set(job, "overlap.pp", random_between(random, 0, 1) == 0 ? "0" : "0.385");
    set(job, "overlap.tp", random_between(random, 0, 1) == 0 ? "0" : "0.2385");
    set(job, "constants.site_factor", random_between(random, 0, 1) == 0 ? "1" : "1.2385");
}

/* Replayed and closed step time of a job; ends the test where it cannot be laid out. */
static void run(random_job *job, const char *name, st_timeline *timeline)
{
    st_paths *paths = NULL;
    st_estimate estimate = {0};
    st_timeline_plan plan = {0};
    st_errors *errors = st_errors_create();
    st_request request = {.job = name, .sets = job->sets, .set_count = job->count};
    st_status status = st_paths_create(NULL, 0, &paths, errors);
    if (status == ST_OK) {
        status = st_estimate_load(paths, &request, job->arena, &estimate, errors);
    }
    if (status == ST_OK) {
        status = st_timeline_plan_make(&estimate, job->arena, &plan, errors);
    }
    if (status == ST_OK) {
        status = st_timeline_make(&plan, false, job->arena, timeline, errors);
    }
    if (status == ST_OK) {
        int64_t step = 0; /* without a graph where passes are one time each */
        status = st_timeline_step(&plan, &step, errors);
        assert_true(step == timeline->step);
    }
    if (status != ST_OK) {
        st_errors_write(errors, stdout);
        fail_msg("a random plan cannot be laid out");
    }
    st_paths_destroy(paths);
    st_errors_destroy(errors);
}

TEST(closed_form_and_replay_agree)
{
    for (int round = 0; round < ROUNDS; round++) {
        random_job job = {.arena = st_arena_create()};
        st_timeline timeline;
        random_plan(*state, &job);
        run(&job, "gpt3-175b-1024xa100", &timeline);
        double step_s = (double)timeline.step / ST_TICKS_PER_S;
        if (fabs(step_s / timeline.plan.closed_s - 1) > 1e-9) {
            for (size_t i = 0; i < job.count; i++) {
                print_message("%s\n", job.sets[i]);
            }
            fail_msg("replay %.17g s, closed form %.17g s", step_s, timeline.plan.closed_s);
        }
        double sum = 0;
        for (int i = 0; i < ST_TERMS; i++) {
            sum += (double)timeline.term[i];
        }
        assert_true(fabs(sum / (double)timeline.step - 1) < 1e-12);
        st_timeline_free(&timeline);
        st_arena_destroy(job.arena);
    }
}

/* The stages of li2024 are alike: its equations are the schedule. */
TEST_OF(li2024_agrees, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        random_job job = {.arena = st_arena_create()};
        st_timeline timeline;
        int dp = random_between(random, 1, 7);
        int pp = random_between(random, 1, 9);
        int tp = power_of_two(random, 2);
        set_count(&job, "parallel.pp", pp);
        set_count(&job, "parallel.tp", tp);
        set_count(&job, "parallel.dp", dp);
        set_count(&job, "batch.global", 32 * dp * random_between(random, 1, 30));
        set_count(&job, "cluster.nodes", pp * dp);
        set_count(&job, "cluster.gpus_per_node", tp);
        set(&job, "recompute", random_between(random, 0, 1) == 0 ? "none" : "full");
        run(&job, "gpt-3b-32x3090", &timeline);
        double step_s = (double)timeline.step / ST_TICKS_PER_S;
        assert_true(fabs(step_s / timeline.plan.closed_s - 1) <= 1e-9);
        st_timeline_free(&timeline);
        st_arena_destroy(job.arena);
    }
}

/* Lists with buckets, in shards or in stages, of one micro-batch or several. */
TEST(layer_lists_agree)
{
    static const char *const lists[] = {"vgg16", "resnet50", "bert-base", "vit-b16", "unet"};
    property_random *random = *state;
    for (int round = 0; round < ROUNDS; round++) {
        random_job job = {.arena = st_arena_create()};
        st_timeline timeline;
        int pp = random_between(random, 0, 1) == 0 ? 1 : random_between(random, 2, 9);
        int dp = power_of_two(random, 4);
        int micro = random_between(random, 1, 40);
        set(&job, "model.layer_list", lists[random_below(random, 5)]);
        set(&job, "cluster.nodes", "400");
        set(&job, "cluster.gpu.memory", "9000 TB");
        set(&job, "cluster.bandwidth.dp",
            random_between(random, 0, 1) == 0 ? "1.7 GB/s" : "87 GB/s");
        set(&job, "constants.overlap_slowdown", random_between(random, 0, 1) == 0 ? "1" : "1.385");
        set(&job, "constants.shard_unit", random_between(random, 0, 1) == 0 ? "2385000" : "1e8");
        set(&job, "parallel.schedule", random_between(random, 0, 1) == 0 ? "gpipe" : "1f1b");
        set_count(&job, "parallel.pp", pp);
        set_count(&job, "parallel.dp", dp);
        set_count(&job, "parallel.zero", random_between(random, 0, pp > 1 ? 1 : 3));
        set_count(&job, "batch.micro", micro);
        set_count(&job, "batch.global", micro * dp * random_between(random, 1, 12));
        run(&job, "vgg16-32x3090", &timeline);
        double step_s = (double)timeline.step / ST_TICKS_PER_S;
        bool agree = fabs(step_s / timeline.plan.closed_s - 1) <= 1e-8; /* pieces are rounded */
        for (size_t i = 0; i < job.count && !agree; i++)
            print_message("%s\n", job.sets[i]);
        if (!agree)
            fail_msg("replay %.17g s, closed form %.17g s", step_s, timeline.plan.closed_s);
        st_timeline_free(&timeline);
        st_arena_destroy(job.arena);
    }
}

TESTS_WITH(timelines, property_setup, NULL);
