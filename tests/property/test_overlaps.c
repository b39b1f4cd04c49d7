/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of communication concurrently with computation: work is conserved whatever slows whom;
 * the replay of gradient buckets is the fixed point that the sheet ddp solves; the replay of split
 * weights is what a stream with a limited look-ahead does, and the closed form where nothing hides.
 */
#include "property.h"
#include "schedule/schedule.h"

#include "timeline/timeline.h"

enum { GRAPHS = DRAWS(200), JOBS = DRAWS(40), MOST_TASKS = 60, MOST_SETS = 16, MOST_PREFETCH = 8 };

/* --- work is conserved ------------------------------------------------------------------------
 */

/* Between 1/4 and 1, by who runs and how many run beside it. */
static double some_rate(void *self, const st_graph *graph, st_task_id task,
                        const st_task_id *beside, size_t count)
{
    const uint64_t *salt = self;
    (void)graph;
    uint64_t mixed = *salt + task * 2654435761U;
    for (size_t i = 0; i < count; i++) {
        mixed += (uint64_t)(beside[i] + 1) * 40503U; /* whatever their order */
    }
    return count == 0 ? 1 : 0.25 + 0.75 * (double)(mixed % 1009) / 1008;
}

static st_graph *random_graph(property_random *random)
{
    st_graph *graph = st_graph_create(NULL);
    int ranks = random_between(random, 1, 3);
    int streams = random_between(random, 1, 4);
    int tasks = random_between(random, 1, MOST_TASKS);
    uint16_t none = 0;
    assert_int_equal(st_graph_category(graph, "thread", ST_WORK_NONE, &none, NULL), ST_OK);
    for (int i = 0; i < ranks * streams; i++) {
        uint32_t made = 0;
        st_resource_kind kind = i % streams == 0 ? ST_RESOURCE_COMPUTE : ST_RESOURCE_COMMUNICATION;
        assert_int_equal(st_graph_resource(graph, (uint32_t)(i / streams), kind, "", &made, NULL),
                         ST_OK);
    }
    for (int i = 0; i < tasks; i++) {
        st_task_spec spec = {
            .resource = (uint32_t)random_below(random, (size_t)(ranks * streams)),
            .duration_ns = random_between(random, 0, 90000),
            .category = random_below(random, 8) == 0 ? none : 0,
            .earliest_ns = random_below(random, 5) == 0 ? random_between(random, 1, 90000) : 0,
            .key = random_below(random, 6) == 0 ? 7 : 0};
        assert_int_equal(st_graph_add(graph, &spec, NULL, NULL), ST_OK);
        for (int k = random_between(random, 0, 2); k > 0 && i > 0; k--) {
            /* A member of an instance waits for others, which must not wait for it. */
            st_task_id before = (st_task_id)random_below(random, (size_t)i);
            if (spec.key == 0 && st_graph_task(graph, before).instance == 0) {
                assert_int_equal(st_graph_edge(graph, before, (st_task_id)i, ST_EDGE_STREAM, NULL),
                                 ST_OK);
            }
        }
    }
    return graph;
}

/* Work that a task has done between two moments at which nobody on its rank starts or ends. */
static double work_between(const st_graph *graph, const st_replay *replay, st_task_id task,
                           int64_t from, int64_t to, uint64_t salt)
{
    st_task_id beside[MOST_TASKS];
    size_t count = 0;
    uint32_t rank = st_graph_task(graph, task).rank;
    for (st_task_id other = 0; other < st_graph_task_count(graph); other++) {
        st_task_view view = st_graph_task(graph, other);
        st_task_time time = st_replay_task(replay, other);
        if (other != task && view.rank == rank && time.start_ns <= from && time.end_ns >= to) {
            beside[count++] = other;
        }
    }
    return (double)(to - from) * some_rate(&salt, graph, task, beside, count);
}

static int by_time(const void *a, const void *b)
{
    const int64_t *left = a;
    const int64_t *right = b;
    return (*left > *right) - (*left < *right);
}

/* The rates of a task over its time, found again from the times of all tasks. */
static double work_of(const st_graph *graph, const st_replay *replay, st_task_id task,
                      uint64_t salt)
{
    int64_t moments[2 * MOST_TASKS];
    size_t count = 0;
    double work = 0;
    st_task_time own = st_replay_task(replay, task);
    for (st_task_id other = 0; other < st_graph_task_count(graph); other++) {
        st_task_time time = st_replay_task(replay, other);
        moments[count++] = time.start_ns;
        moments[count++] = time.end_ns;
    }
    qsort(moments, count, sizeof moments[0], by_time);
    for (size_t i = 1; i < count; i++) {
        if (moments[i] > moments[i - 1] && moments[i - 1] >= own.start_ns &&
            moments[i] <= own.end_ns) {
            work += work_between(graph, replay, task, moments[i - 1], moments[i], salt);
        }
    }
    return work;
}

TEST_OF(work_is_conserved, property_random *random, NULL, NULL)
{
    size_t replayed = 0;
    for (int round = 0; round < GRAPHS; round++) {
        st_graph *graph = random_graph(random);
        uint64_t salt = random_bits(random) % 1000003;
        if (st_graph_seal(graph, NULL) != ST_OK) { /* instances that wait for each other */
            st_graph_destroy(graph);
            continue;
        }
        st_replay *replay = st_replay_create(graph);
        st_rate_rule rule = {some_rate, &salt};
        assert_int_equal(st_replay_run_rates(replay, &rule, NULL), ST_OK);
        for (st_task_id task = 0; task < st_graph_task_count(graph); task++) {
            st_task_view view = st_graph_task(graph, task);
            st_task_time time = st_replay_task(replay, task);
            double work = view.work == ST_WORK_NONE ? (double)(time.end_ns - time.start_ns)
                                                    : work_of(graph, replay, task, salt);
            /* Ends are rounded up to whole ns. */
            assert_true(work >= (double)view.duration_ns - 1e-3);
            assert_true(work < (double)view.duration_ns + 1.001);
        }
        replayed++;
        st_replay_destroy(replay);
        st_graph_destroy(graph);
    }
    assert_true(replayed > GRAPHS / 2);
}

/* --- jobs -------------------------------------------------------------------------------------
 */

typedef struct random_job {
    const char *sets[MOST_SETS];
    size_t count;
    st_arena *arena;
    st_timeline timeline;
} random_job;

static void set(random_job *job, const char *text)
{
    assert_true(job->count < MOST_SETS && text != NULL);
    job->sets[job->count++] = text;
}

static void set_number(random_job *job, const char *key, double number, const char *unit)
{
    set(job, st_arena_printf(job->arena, "%s=%ld.%03ld%s", key, (long)number,
                             (long)(1000 * (number - floor(number))), unit));
}

static void run(random_job *job, const char *name)
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
        status = st_timeline_make(&plan, false, job->arena, &job->timeline, errors);
    }
    if (status != ST_OK) {
        st_errors_write(errors, stdout);
        fail_msg("a random job cannot be laid out");
    }
    st_paths_destroy(paths);
    st_errors_destroy(errors);
}

static void end(random_job *job)
{
    st_timeline_free(&job->timeline);
    st_arena_destroy(job->arena);
}

/* To 1e-9 of the step, as the timeline is held to. */
static void assert_agrees(const random_job *job, double replayed_s, double closed_s)
{
    if (fabs(replayed_s - closed_s) > 1e-9 * job->timeline.plan.closed_s) {
        for (size_t i = 0; i < job->count; i++) {
            print_message("%s\n", job->sets[i]);
        }
        fail_msg("replay %.17g s, closed form %.17g s", replayed_s, closed_s);
    }
}

static void all_agrees(const random_job *job)
{
    const st_timeline *timeline = &job->timeline;
    for (int i = 0; i < ST_TERMS; i++) {
        assert_agrees(job, (double)timeline->term[i] / ST_TICKS_PER_S, timeline->plan.term_s[i]);
    }
    for (int i = 0; i < ST_HIDINGS; i++) {
        assert_agrees(job, timeline->hiding_s[i], timeline->plan.hiding_s[i]);
    }
    assert_agrees(job, (double)timeline->step / ST_TICKS_PER_S, timeline->plan.closed_s);
}

TEST(buckets_are_the_fixed_point_of_the_sheet)
{
    static const char *const jobs[] = {"bert-large-128xa100", "gpt2-128xa100", "resnet152-128xa100",
                                       "resnet50-32x3090",    "vgg16-32x3090", "vgg19-128xa100"};
    property_random *random = *state;
    double most_slowdown = 0;
    for (int round = 0; round < JOBS; round++) {
        random_job job = {.arena = st_arena_create()};
        set_number(&job, "cluster.bandwidth.dp", pow(10, 2.5 * random_unit_interval(random)),
                   " GB/s");
        set_number(&job, "constants.overlap_slowdown", 1 + 3 * random_unit_interval(random), "");
        set_number(&job, "constants.bucket", 0.1 + 90 * random_unit_interval(random), " MiB");
        set_number(&job, "constants.all_reduce_start", 3000 * random_unit_interval(random), " us");
        run(&job, jobs[random_below(random, 6)]);
        all_agrees(&job);
        most_slowdown = fmax(most_slowdown, job.timeline.hiding_s[ST_HIDING_SLOWDOWN]);
        end(&job);
    }
    assert_true(most_slowdown > 1e-3);
}

/* --- split weights ----------------------------------------------------------------------------
 */

static void random_split(property_random *random, random_job *job)
{
    set(job, "recompute=selective");
    set(job, "cluster.gpu.memory=9000 TB");
    set_number(job, "cluster.gpu.link_bandwidth", pow(10, 1 + 2 * random_unit_interval(random)),
               " GB/s");
    set(job, st_arena_printf(job->arena, "model.layers=%d", random_between(random, 1, 40)));
    set(job, st_arena_printf(job->arena, "batch.global=%d", 8 * random_between(random, 1, 6)));
    set(job, st_arena_printf(job->arena, "batch.sequence=%d", 1 << random_between(random, 8, 13)));
}

TEST_OF(split_weights_that_hide_nothing_agree, property_random *random, NULL, NULL)
{
    for (int round = 0; round < JOBS; round++) {
        random_job job = {.arena = st_arena_create()};
        random_split(random, &job);
        set(&job, "overlap.parameters=0");
        set(&job, "overlap.gradients=0");
        set_number(&job, "constants.overlap_slowdown", 1 + random_unit_interval(random), "");
        set(&job, random_below(random, 2) == 0 ? "parallel.zero=3" : "parallel.zero=2");
        run(&job, "llama3-8b-8xh100");
        all_agrees(&job);
        end(&job);
    }
}

/* The sheet goes through the layers of each pass, the timeline through a graph of tasks. */
TEST_OF(weights_are_gathered_as_far_ahead_as_asked_for, property_random *random, NULL, NULL)
{
    size_t exposed = 0;
    size_t hidden = 0;
    double furthest = 0;
    for (int round = 0; round < JOBS; round++) {
        random_job job = {.arena = st_arena_create()};
        random_split(random, &job);
        set(&job, "overlap.parameters=1");
        set(&job, "overlap.gradients=1");
        set(&job, st_arena_printf(job.arena, "overlap.prefetch=%d",
                                  random_between(random, 0, MOST_PREFETCH)));
        run(&job, "llama3-8b-8xh100");
        const st_timeline *timeline = &job.timeline;
        const double *closed_s = timeline->plan.hiding_s;
        double replayed_s = (double)timeline->step / ST_TICKS_PER_S;
        furthest = fmax(furthest, fabs(timeline->plan.closed_s / replayed_s - 1));
        exposed += closed_s[ST_HIDING_EXPOSED] > closed_s[ST_HIDING_HIDDEN] ? 1 : 0;
        hidden += closed_s[ST_HIDING_EXPOSED] > closed_s[ST_HIDING_HIDDEN] ? 0 : 1;
        end(&job);
    }
    print_message("# sheet and timeline are at most %.4f %% apart\n", 100 * furthest);
    assert_true(furthest < 1e-3);
    assert_true(exposed > 0 && hidden > 0);
}

/* A rank pays for the time in which its messages run concurrently with computation, and for no
 * more. */
TEST_OF(the_price_is_that_of_the_hidden_time, property_random *random, NULL, NULL)
{
    for (int round = 0; round < JOBS; round++) {
        random_job job = {.arena = st_arena_create()};
        int stages = 1 << random_between(random, 0, 2);
        random_split(random, &job);
        set(&job, "overlap.parameters=1");
        set(&job, "overlap.gradients=1");
        set(&job, "constants.layer_launch=0.000001 us");
        set(&job, st_arena_printf(job.arena, "model.layers=%d", 4 * random_between(random, 1, 9)));
        set(&job, st_arena_printf(job.arena, "parallel.pp=%d", stages));
        set(&job, st_arena_printf(job.arena, "parallel.dp=%d", 8 / stages));
        set(&job, random_below(random, 2) == 0 ? "parallel.zero=3" : "parallel.zero=2");
        set_number(&job, "constants.overlap_slowdown", 1 + 2 * random_unit_interval(random), "");
        run(&job, "llama3-8b-8xh100");
        const st_timeline *timeline = &job.timeline;
        for (size_t i = 0; i < timeline->row_count; i++) {
            const st_timeline_row *row = &timeline->rows[i];
            double hidden_s = (double)row->time.overlapped_ns / ST_TICKS_PER_S;
            assert_agrees(&job, (double)row->slowdown / ST_TICKS_PER_S,
                          hidden_s * (1 - 1 / timeline->plan.slowdown[ST_SLOWED_REST]));
        }
        end(&job);
    }
}

TESTS_WITH(overlaps, property_setup, NULL);
