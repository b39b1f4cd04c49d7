/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of steps of ranks that are not alike: the mean of 10,000 drawn steps is within 1 % of
 * what the sheet expects; the step of slow ranks in all pipelines is the longest of the steps with
 * the slow ranks of one of them; the same seed draws the same steps.
 */
#include "random_job.h"

#include "timeline/timeline.h"

enum { PLANS = 4, ROUNDS = DRAWS(12), DRAWN = DRAWS(10000), TP = 2, DP = 6, PP = 3 };

/* A pipeline of 1F1B or chunks, or GPipe's, and a jitter. */
static void random_plan(property_random *random, random_job *job)
{
    static const int stages[] = {1, 2, 4, 6, 8, 12};
    static const char *const kinds[] = {"normal", "lognormal", "uniform", "exponential"};
    char text[32];
    int pp = stages[random_below(random, 6)];
    int dp = 1 << random_between(random, 0, 5);
    bool chunks = pp > 1 && random_between(random, 0, 2) == 0;
    set(job, "cluster.gpu.memory", "9000 TB");
    set(job, "cluster.nodes", "4000");
    set_count(job, "parallel.tp", 1 << random_between(random, 0, 3));
    set_count(job, "parallel.pp", pp);
    set_count(job, "parallel.dp", dp);
    set(job, "parallel.schedule", chunks ? "interleaved" : "1f1b");
    set_count(job, "parallel.virtual_stages", chunks ? 2 : 1);
    set_count(job, "batch.global", dp * pp * random_between(random, 4, 12));
    set(job, "variance.distribution", kinds[random_below(random, 4)]);
    (void)snprintf(text, sizeof text, "%.4f", 0.01 + 0.04 * random_unit_interval(random));
    set(job, "variance.jitter", text);
}

static void note_status(const random_job *job, st_status status, st_errors *errors)
{
    if (status == ST_OK)
        return;
    for (size_t i = 0; i < job->count; i++)
        print_message("%s\n", job->sets[i]);
    st_errors_write(errors, stdout);
    fail_msg("a random plan cannot be drawn");
}

/* Lays a job out and draws its steps. */
static void run(random_job *job, const st_variance_wish *wish, st_variance *variance)
{
    st_paths *paths = NULL;
    st_estimate estimate = {0};
    st_timeline timeline = {0};
    st_timeline_plan plan = {0};
    st_errors *errors = st_errors_create();
    st_request request = {.job = "gpt3-175b-1024xa100", .sets = job->sets, .set_count = job->count};
    st_status status = st_paths_create(NULL, 0, &paths, errors);
    if (status == ST_OK)
        status = st_estimate_load(paths, &request, job->arena, &estimate, errors);
    if (status == ST_OK)
        status = st_timeline_plan_make(&estimate, job->arena, &plan, errors);
    if (status == ST_OK)
        status = st_timeline_make(&plan, false, job->arena, &timeline, errors);
    if (status == ST_OK)
        status = st_variance_make(&estimate, &timeline, wish, job->arena, variance, errors);
    note_status(job, status, errors);
    st_timeline_free(&timeline);
    st_paths_destroy(paths);
    st_errors_destroy(errors);
}

TEST(mean_is_expected)
{
    double largest = 0;
    for (int round = 0; round < PLANS; round++) {
        random_job job = {.arena = st_arena_create()};
        st_variance variance = {0};
        const st_variance_wish wish = {.samples = DRAWN, .seed = 2385 + (uint64_t)round};
        random_plan(*state, &job);
        run(&job, &wish, &variance);
        double difference = variance.expected_s / variance.mean_s - 1;
        largest = fmax(largest, fabs(difference));
        if (!(fabs(difference) <= 0.01)) {
            for (size_t i = 0; i < job.count; i++)
                print_message("%s\n", job.sets[i]);
            fail_msg("expected %.9g s, drawn %.9g s, alike %.9g s", variance.expected_s,
                     variance.mean_s, variance.even_s);
        }
        assert_true(variance.mean_s >
                    0.99 * variance.even_s); /* of one rank the same, but for luck */
        st_arena_destroy(job.arena);
    }
    print_message("largest difference of %d plans, %d steps each: %.4f %%\n", PLANS, DRAWN,
                  100 * largest);
}

/* A factor for every rank, or for those of one data-parallel rank. */
static double slow_step(property_random random, int replica)
{
    random_job job = {.arena = st_arena_create()};
    st_variance variance = {0};
    const char *slow[TP * DP * PP];
    st_variance_wish wish = {.slow = slow, .samples = 7, .seed = 1};
    set(&job, "cluster.gpu.memory", "9000 TB");
    set_count(&job, "parallel.tp", TP);
    set_count(&job, "parallel.pp", PP);
    set_count(&job, "parallel.dp", DP);
    set_count(&job, "batch.global", DP * 7);
    for (int rank = 0; rank < TP * DP * PP; rank++) {
        double factor = 1 + 0.385 * random_unit_interval(&random);
        if (replica < 0 || rank / TP % DP == replica)
            slow[wish.slow_count++] = st_arena_printf(job.arena, "rank:%d=%.6f", rank, factor);
    }
    run(&job, &wish, &variance);
    double step_s = variance.mean_s;
    assert_true(variance.count == 1);
    st_arena_destroy(job.arena);
    return step_s;
}

TEST_OF(slowest_pipeline_counts, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        double longest = 0;
        double all = slow_step(*random, -1);
        for (int replica = 0; replica < DP; replica++)
            longest = fmax(longest, slow_step(*random, replica));
        if (fabs(all / longest - 1) > 1e-9)
            fail_msg("all pipelines %.12g s, the longest alone %.12g s", all, longest);
        (void)random_bits(random);
    }
}

TEST(seeds_draw_the_same)
{
    double mean_s[3];
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        random_job job = {.arena = st_arena_create()};
        st_variance variance = {0};
        const st_variance_wish wish = {.samples = 238, .seed = i < 2 ? 5 : 6};
        set(&job, "variance.jitter", "0.0385");
        run(&job, &wish, &variance);
        mean_s[i] = variance.mean_s;
        assert_true(variance.count == 238);
        st_arena_destroy(job.arena);
    }
    assert_true(same_bits(mean_s[0], mean_s[1]));
    assert_false(same_bits(mean_s[0], mean_s[2]));
}

TESTS_WITH(variance, property_setup, NULL);
