/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans depend on layers, batch, experts and the GPUs in a node. Where a search varies these, too,
 * it finds what searches of one value each find together, and the plan of a shipped job is always
 * one of those that are looked at.
 */
#include "../unit/job_support.h"
#include "property.h"

#include "search/guided/guided_module.h"
#include "search/search_state.h"

/* Finds the same; a build may leave it out. */
#ifdef STEPTIME_HAVE_GUIDED
static const st_method other_method = ST_METHOD_BOUND;
#else
static const st_method other_method = ST_METHOD_EXHAUSTIVE;
#endif

enum { SEARCHES = 6, TOP = 1000, MOST_VARIES = 6 };

/* A key that plans depend on, two of its values, and plan parameters that are made from it. */
typedef struct question {
    const char *job;
    const char *key;
    const char *values[2];
    const char *sets[2];
    const char *varies[MOST_VARIES - 1];
} question;

static const question questions[] = {
    {"gpt3-175b-64xa100",
     "batch.global",
     {"64", "96"},
     {"recompute=full", NULL},
     {"batch.micro", "parallel.pp=4,8", "parallel.tp", NULL}},
    {"gpt3-175b-64xa100",
     "model",
     {"gpt3-175b", "llama3-70b"},
     {"recompute=full", NULL},
     {"parallel.virtual_stages=1,2,3,5,6", "parallel.pp", "parallel.tp=4,8", NULL}},
    {"gpt3-175b-64xa100",
     "cluster.gpus_per_node",
     {"8", "4"},
     {"recompute=full", NULL},
     {"parallel.tp", "parallel.pp", "parallel.zero", NULL}},
    {"mixtral-8x7b-64xh100",
     "parallel.expert_tp",
     {"1", "2"},
     {NULL},
     {"parallel.ep", "parallel.tp", "batch.micro=1,2", NULL}},
    {"llama3-405b-16384xh100",
     "parallel.first_stage_layers",
     {"7", "0"},
     {NULL},
     {"parallel.virtual_stages", "parallel.tp=4,8", "parallel.zero", NULL}},
    {"gpt3-175b-64xa100",
     "model.layers",
     {"96", "80"},
     {"recompute=full", NULL},
     {"parallel.virtual_stages", "parallel.pp", "batch.micro=1,2", NULL}},
};

typedef struct answer {
    uint64_t kept;
    double best;
} answer;

static answer run(fixture *own, const st_search_request *request)
{
    st_search *search = NULL;
    st_search_result result = {0};
    st_search_watch watch = {.progress = NULL};
    if (st_search_create(own->paths, request, own->arena, &search, own->errors) != ST_OK ||
        st_search_run(search, &st_one_process, &watch, &result, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return (answer){.kept = result.found.kept,
                    .best =
                        result.found.ranking_count > 0 ? result.found.ranking[0].goal : HUGE_VAL};
}

/* A search with all values on an axis, or with one of them set. */
static answer ask(fixture *own, const question *asked, int value, st_method method)
{
    const char *varies[MOST_VARIES];
    const char *sets[3];
    st_search_request request = {.space = {.job = asked->job, .sets = sets},
                                 .only = varies,
                                 .top = TOP,
                                 .threads = 1,
                                 .guide = {.method = method, .methods = st_guided_module}};
    for (; asked->sets[request.space.set_count] != NULL; request.space.set_count++)
        sets[request.space.set_count] = asked->sets[request.space.set_count];
    for (; asked->varies[request.only_count] != NULL; request.only_count++)
        varies[request.only_count] = asked->varies[request.only_count];
    if (value >= 0)
        sets[request.space.set_count++] =
            st_arena_printf(own->arena, "%s=%s", asked->key, asked->values[value]);
    else
        varies[request.only_count++] =
            st_arena_printf(own->arena, "%s=%s,%s", asked->key, asked->values[0], asked->values[1]);
    return run(own, &request);
}

TEST_OF(test_a_joint_search_finds_what_single_ones_find, property_random *random, NULL, NULL)
{
    for (size_t i = 0; i < SEARCHES; i++) {
        fixture *own = NULL;
        set_up((void **)&own);
        question asked = questions[i];
        if (random_below(random, 2) == 1) { /* the order of the values makes no difference */
            asked.values[0] = questions[i].values[1];
            asked.values[1] = questions[i].values[0];
        }
        answer first = ask(own, &asked, 0, ST_METHOD_EXHAUSTIVE);
        answer second = ask(own, &asked, 1, ST_METHOD_EXHAUSTIVE);
        answer joint = ask(own, &asked, -1, ST_METHOD_EXHAUSTIVE);
        answer bound = ask(own, &asked, -1, other_method);
        if (first.kept + second.kept == 0)
            fail_msg("%s: no plan passes", asked.key);
        if (joint.kept != first.kept + second.kept ||
            !same_bits(joint.best, fmin(first.best, second.best)))
            fail_msg("%s: %llu plans pass, the best has %.17g; one by one %llu and %llu, %.17g",
                     asked.key, (unsigned long long)joint.kept, joint.best,
                     (unsigned long long)first.kept, (unsigned long long)second.kept,
                     fmin(first.best, second.best));
        assert_true(same_bits(bound.best, joint.best));
        (void)tear_down((void **)&own);
    }
}

/* Keys that advance together, and what they are at every place. */
typedef struct group {
    const char *varies[4];
    st_joined joined[3];
    size_t count; /* keys */
    size_t places;
    const char *sets[3][4];
} group;

static const group groups[] = {
    {{"parallel.tp=8,4,8", "parallel.pp=8,16,4", "recompute=selective,full,full"},
     {{"parallel.pp", "parallel.tp"}, {"recompute", "parallel.tp"}},
     3,
     3,
     {{"parallel.tp=8", "parallel.pp=8", "recompute=selective"},
      {"parallel.tp=4", "parallel.pp=16", "recompute=full"},
      {"parallel.tp=8", "parallel.pp=4", "recompute=full"}}},
    {{"batch.micro=1,2", "cluster.gpu=a100-sxm-80gb,h100-sxm",
      "cluster.nic_bandwidth=25 GB/s,50 GB/s"},
     {{"cluster.gpu", "batch.micro"}, {"cluster.nic_bandwidth", "batch.micro"}},
     3,
     2,
     {{"batch.micro=1", "cluster.gpu=a100-sxm-80gb", "cluster.nic_bandwidth=25 GB/s"},
      {"batch.micro=2", "cluster.gpu=h100-sxm", "cluster.nic_bandwidth=50 GB/s"}}},
    {{"batch.global=64,96", "batch.micro=2,3"},
     {{"batch.micro", "batch.global"}},
     2,
     2,
     {{"batch.global=64", "batch.micro=2"}, {"batch.global=96", "batch.micro=3"}}},
};

static answer ask_group(fixture *own, const group *asked, int place, st_method method)
{
    const char *varies[8] = {"parallel.zero", "parallel.virtual_stages", "parallel.cp"};
    st_search_request request = {.space = {.job = "gpt3-175b-64xa100"},
                                 .gpus = "64,128",
                                 .only = varies,
                                 .only_count = 3,
                                 .top = TOP,
                                 .threads = 2,
                                 .guide = {.method = method, .methods = st_guided_module}};
    if (place >= 0) {
        request.space.sets = asked->sets[place];
        request.space.set_count = asked->count;
    } else {
        for (size_t i = 0; i < asked->count; i++)
            varies[request.only_count++] = asked->varies[i];
        request.space.joined = asked->joined;
        request.space.joined_count = asked->count - 1;
    }
    return run(own, &request);
}

TEST(test_zipped_sizes_advance_together)
{
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        fixture *own = NULL;
        answer sum = {.best = HUGE_VAL};
        set_up((void **)&own);
        for (int place = 0; place < (int)groups[i].places; place++) {
            answer one = ask_group(own, &groups[i], place, ST_METHOD_EXHAUSTIVE);
            sum.kept += one.kept;
            sum.best = fmin(sum.best, one.best);
        }
        answer zipped = ask_group(own, &groups[i], -1, ST_METHOD_EXHAUSTIVE);
        answer bound = ask_group(own, &groups[i], -1, other_method);
        if (sum.kept == 0 || zipped.kept != sum.kept || !same_bits(zipped.best, sum.best))
            fail_msg("%s: %llu plans pass, the best has %.17g; one by one %llu, %.17g",
                     groups[i].varies[0], (unsigned long long)zipped.kept, zipped.best,
                     (unsigned long long)sum.kept, sum.best);
        assert_true(same_bits(bound.best, sum.best));
        (void)tear_down((void **)&own);
    }
}

/* The step time of a job as it is. */
static double estimate(fixture *own, const char *job)
{
    static const char *const cells[] = {"step_time"};
    st_space_request request = {.job = job, .option = "--over", .cells = cells, .cell_count = 1};
    st_space *space = NULL;
    if (st_space_create(own->paths, &request, own->arena, &space, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    st_space_worker *worker = st_space_worker_create(space);
    assert_non_null(worker);
    st_space_run(worker, 0, 1);
    assert_int_equal(worker->reasons[0], ST_REASON_NONE);
    double time = worker->outputs[0][0];
    st_space_worker_destroy(worker);
    return time;
}

TEST(test_the_plan_of_every_job_is_looked_at)
{
    static const char *const jobs[] = {
        "bloom-176b-384xa100",  "deepseek-v3-2048xh800",  "gpt3-175b-1024xa100",
        "gpt3-175b-64xa100",    "llama3-405b-16384xh100", "llama3-8b-8xh100",
        "megatron-1t-512xa100", "megatron-530b-280xa100", "mixtral-8x7b-64xh100",
        "megatron-22b-8xa100",  "moye-gpt-485b-8192xh800"};
    static const char *const varies[] = {"parallel.pp", "parallel.virtual_stages", "parallel.ep",
                                         "batch.micro"};
    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        fixture *own = NULL;
        set_up((void **)&own);
        st_search_request request = {
            .space = {.job = jobs[i]}, .only = varies, .only_count = 4, .top = 1, .threads = 1};
        double time = estimate(own, jobs[i]);
        answer found = run(own, &request);
        if (!(found.best <= time))
            fail_msg("%s takes %.17g s, the best plan %.17g s", jobs[i], time, found.best);
        (void)tear_down((void **)&own);
    }
}

TESTS_WITH(search_joint, property_setup, NULL);
