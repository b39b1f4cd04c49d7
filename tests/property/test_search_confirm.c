/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a search ranks by replay holds: no plan of a small space has a replay that is half a per
 * cent below that of the first, the replays are those of the plans that are written, and a job that
 * estimates has a plan that is as fast, whether its values are held or not. STEPTIME_ROUNDS=N runs
 * so many searches of each kind, several of them up to 2,000 plans.
 */
#include "../unit/job_support.h"
#include "property.h"

#include "search/search_state.h"
#include "steptime/estimate.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 1, FEW_PLANS = 400, MOST_PLANS = 2000, MOST_SETS = 12, WRITTEN = 10 };

static int rounds(void)
{
    const char *asked = getenv("STEPTIME_ROUNDS");
    return asked != NULL ? atoi(asked) : ROUNDS;
}

static uint64_t most_plans(void)
{
    return rounds() > ROUNDS ? MOST_PLANS : FEW_PLANS;
}

typedef struct shown {
    st_search *search;
    st_search_result result;
    st_search_view view;
} shown;

/* A job of random sizes: dense, with experts, in one stage or several. */
typedef struct space {
    const char *job;
    const char *gpus;
    const char *sets[MOST_SETS];
    size_t count;
} space;

static void add(fixture *own, space *made, const char *key, int value)
{
    made->sets[made->count] = st_arena_printf(own->arena, "%s=%d", key, value);
    assert_non_null(made->sets[made->count++]);
}

static space random_space(fixture *own, property_random *random)
{
    static const struct {
        const char *job;
        int gpus;
    } jobs[] = {{"llama3-8b-8xh100", 16}, {"mixtral-8x7b-64xh100", 32}, {"gpt3-175b-64xa100", 64}};
    const size_t which = random_below(random, 3);
    const int gpus = jobs[which].gpus << random_between(random, 0, 1);
    space made = {.job = jobs[which].job, .gpus = st_arena_printf(own->arena, "%d", gpus)};
    add(own, &made, "batch.global", gpus * random_between(random, 1, 5));
    add(own, &made, "model.layers", random_between(random, 5, 90));
    add(own, &made, "batch.micro", random_between(random, 1, 2));
    add(own, &made, "parallel.cp", 1);
    made.sets[made.count++] =
        random_between(random, 0, 1) == 0 ? "recompute=full" : "recompute=none";
    made.sets[made.count++] = random_between(random, 0, 1) == 0 ? "cluster.nic_bandwidth=23.85 GB/s"
                                                                : "cluster.nic_bandwidth=50 GB/s";
    return made;
}

static bool find(fixture *own, const space *from, st_search_request request, shown *made)
{
    st_search_watch watch = {.progress = NULL};
    *made = (shown){.search = NULL};
    request.space =
        (st_space_request){.job = from->job, .sets = from->sets, .set_count = from->count};
    request.gpus = from->gpus;
    request.threads = 1;
    if (st_search_create(own->paths, &request, own->arena, &made->search, own->errors) != ST_OK ||
        st_search_run(made->search, &st_one_process, &watch, &made->result, own->errors) != ST_OK ||
        st_search_view_make(own->paths, made->search, &made->result, &made->view, own->errors) !=
            ST_OK)
        fail_msg("%s", said(own));
    st_errors_clear(own->errors);
    return made->result.found.kept > 0;
}

static void say_space(const space *from)
{
    print_message("%s on %s GPUs\n", from->job, from->gpus);
    for (size_t i = 0; i < from->count; i++)
        print_message("  --set '%s'\n", from->sets[i]);
}

TEST_OF(no_plan_has_a_faster_replay_than_the_first, property_random *random, NULL, NULL)
{
    for (int done = 0; done < rounds();) {
        fixture *own = NULL;
        shown some;
        set_up((void **)&own);
        const space from = random_space(own, random);
        const st_search_request few = {.top = 10, .confirm = 20, .merges = true, .tie_frac = 0.001};
        st_search_request all = {.top = MOST_PLANS, .confirm = MOST_PLANS};
        if (find(own, &from, few, &some) && some.result.found.kept <= most_plans()) {
            shown every;
            assert_true(find(own, &from, all, &every));
            double best = every.view.replays[0].step_s;
            double first = some.view.replays[0].step_s;
            if (!(first <= 1.005 * best)) {
                say_space(&from);
                fail_msg("the first of a search takes %.17g s, another plan %.17g s", first, best);
            }
            assert_true(every.view.ranked_count == every.result.found.kept);
            for (size_t i = 1; i < some.view.ranked_count; i++)
                assert_true(some.view.replays[i - 1].step_s <= some.view.replays[i].step_s);
            done++;
        }
        (void)tear_down((void **)&own);
    }
}

/* Both times of the ten plans are those of their own files, to the last bit. */
TEST_OF(written_plans_have_the_times_that_were_shown, property_random *random, NULL, NULL)
{
    for (int done = 0; done < rounds();) {
        fixture *own = NULL;
        shown one;
        set_up((void **)&own);
        const space from = random_space(own, random);
        const st_search_request request = {
            .top = WRITTEN, .confirm = 20, .merges = true, .tie_frac = 0.001};
        bool enough = find(own, &from, request, &one) && one.view.ranked_count == WRITTEN;
        for (size_t rank = 1; enough && rank <= WRITTEN; rank++) {
            st_buffer file = {0};
            st_estimate *estimate = st_estimate_new(own->arena);
            st_timeline_plan plan;
            int64_t step = 0;
            assert_int_equal(st_search_write_plan(own->paths, &one.view, rank, &file, own->errors),
                             ST_OK);
            write_bytes(own, "plan.yaml", file.data, file.length);
            const st_request asked = {.job = below(own, "plan.yaml")};
            if (st_estimate_load(own->paths, &asked, own->arena, estimate, own->errors) != ST_OK ||
                st_timeline_plan_make(estimate, own->arena, &plan, own->errors) != ST_OK ||
                st_timeline_step(&plan, &step, own->errors) != ST_OK)
                fail_msg("%s\n%s", said(own), file.data);
            const size_t cells = one.view.detail.space->cell_count;
            const double closed = one.view.ranking[(rank - 1) * cells];
            const double replay = one.view.replays[rank - 1].step_s;
            const double replayed = st_ticks_s(step);
            if (memcmp(&plan.closed_s, &closed, sizeof closed) != 0 ||
                memcmp(&replayed, &replay, sizeof replay) != 0)
                fail_msg("plan %zu: %.17g s, replay %.17g, but shown as %.17g and %.17g\n%s", rank,
                         plan.closed_s, replayed, closed, replay, file.data);
            st_buffer_free(&file);
            st_errors_clear(own->errors);
        }
        done += enough ? 1 : 0;
        (void)tear_down((void **)&own);
    }
}

/* ---- jobs that estimate ---- */

/* The job as a file, and which of its keys a search may be told to hold. */
static const char *random_job(fixture *own, property_random *random, space *held)
{
    static const char *const models[] = {"llama3-8b", "mixtral-8x7b", "gpt3-175b"};
    static const char *const recomputations[] = {"none", "selective", "full"};
    const size_t which = random_below(random, 3);
    const int layers = which == 2 ? 96 : 32;
    const int tp = 1 << random_between(random, 0, 3);
    const int pp = random_between(random, 0, 1) == 0 ? 1 : random_between(random, 2, 8);
    const int dp = 1 << random_between(random, 0, 4);
    const int cp = 1 << random_between(random, 0, 1);
    const int micro = random_between(random, 1, 3);
    const int zero = random_between(random, 0, 3);
    const int chunks =
        pp == 1 || random_between(random, 0, 1) == 0 ? 1 : random_between(random, 2, 4);
    const int first = pp == 1 || random_between(random, 0, 2) > 0 ? 0 : layers / pp - 1;
    const bool sequence = random_between(random, 0, 1) == 1;
    const char *recompute = recomputations[random_below(random, 3)];
    char text[1000];
    held->gpus = st_arena_printf(own->arena, "%d", tp * pp * dp * cp);
    (void)snprintf(text, sizeof text,
                   "model: %s\ncluster: {base: dgx-h100, nodes: %d, gpu: {base: h100-sxm, memory: "
                   "9000 GiB}}\nsheet: megatron\nrecompute: %s\n"
                   "batch: {global: %d, micro: %d, sequence: 4096}\n"
                   "parallel: {tp: %d, pp: %d, dp: %d, cp: %d, zero: %d, sequence_parallel: %s, "
                   "virtual_stages: %d, first_stage_layers: %d, last_stage_layers: %d}\n",
                   models[which], (tp * pp * dp * cp + 7) / 8, recompute,
                   micro * dp * pp * random_between(random, 1, 4), micro, tp, pp, dp, cp, zero,
                   sequence ? "true" : "false", chunks, first, first);
    const struct {
        const char *key;
        int value;
    } keys[] = {{"parallel.zero", zero}, {"parallel.tp", tp},
                {"parallel.pp", pp},     {"parallel.virtual_stages", chunks},
                {"batch.micro", micro},  {"parallel.dp", dp}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (random_between(random, 0, 3) == 0)
            add(own, held, keys[i].key, keys[i].value);
    write_text(own, "random.yaml", text);
    return st_arena_printf(own->arena, "%s", text);
}

TEST_OF(a_job_that_estimates_has_a_plan_as_fast, property_random *random, NULL, NULL)
{
    for (int done = 0; done < 8 * rounds();) {
        fixture *own = NULL;
        shown found;
        set_up((void **)&own);
        space from = {.count = 0};
        const char *text = random_job(own, random, &from);
        from.job = below(own, "random.yaml");
        st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
        st_estimate *estimate = NULL;
        st_estimate_cell read = ST_ESTIMATE_CELL_INIT;
        request.job = from.job;
        int gpus = atoi(from.gpus); /* a search fills its nodes evenly, or says what to set */
        bool runs = (gpus <= 8 || gpus % 8 == 0) &&
                    st_estimate_create(&request, &estimate, own->errors) == ST_OK &&
                    st_estimate_read(estimate, "step_time", &read, own->errors) == ST_OK;
        st_errors_clear(own->errors);
        if (runs) {
            const st_search_request search = {.top = 10, .confirm = 20};
            bool any = find(own, &from, search, &found);
            double best = HUGE_VAL;
            for (size_t i = 0; any && i < found.view.ranked_count; i++)
                best = fmin(best, found.view.ranking[i * found.view.detail.space->cell_count]);
            if (!(best <= 1.005 * read.value)) {
                say_space(&from);
                fail_msg("an estimate takes %.17g s, the best plan of a search %.17g s:\n%s",
                         read.value, best, text);
            }
            done++;
        }
        st_estimate_destroy(estimate);
        (void)tear_down((void **)&own);
    }
}

TESTS_WITH(search_confirm, property_setup, NULL);
