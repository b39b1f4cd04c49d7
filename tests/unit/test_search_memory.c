/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a search does when memory runs out: every allocation fails once, then all from one on. It
 * either has the whole result or says that memory ran out, alone and as one of several processes.
 */
#include "../support/faults.h"
#include "job_support.h"

#include "search/search_state.h"

/* Two processes that find the same. */
static int gather_twice(void *context, const void *own, size_t bytes, void *all)
{
    (void)context;
    memcpy(all, own, bytes);
    memcpy((unsigned char *)all + bytes, own, bytes);
    return 0;
}

static const st_processes two_ranks = {.rank = 0, .count = 2, .gather = gather_twice};

static const char sheet[] = "sheet: small\n"
                            "inputs:\n"
                            "  t: {from: parallel.tp}\n"
                            "  d: {from: parallel.dp}\n"
                            "cells:\n"
                            "  step_time: {unit: s, is: '2.385[s]/t + 0.31[s]*d'}\n"
                            "  memory: {unit: GiB, is: '7.7[GiB]*d'}\n"
                            "roles:\n  step: step_time\n  memory: memory\n";

static st_search *make_search(fixture *own, const char *condition)
{
    const char **front = st_arena_alloc(own->arena, 1, sizeof *front);
    assert_non_null(front);
    *front = condition;
    write_text(own, "formulas/small.yaml", sheet);
    write_text(own, "configs/jobs/small.yaml", "sheet: small\nparallel: {tp: 2}\n");
    st_search_request request = {
        .space = {.job = "small", .wheres = front, .where_count = 1},
        .gpus = "8..64*2",
        .front = {"step_time", "memory"},
        .top = 3,
        .threads = 1,
    };
    st_search *search = NULL;
    if (st_search_create(own->paths, &request, own->arena, &search, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return search;
}

static st_status run(fixture *own, const st_search *search, const st_processes *ranks,
                     st_search_result *result)
{
    st_search_watch watch = {.progress = NULL};
    return st_search_run(search, ranks, &watch, result, own->errors);
}

static void assert_same(const st_search_result *a, const st_search_result *b)
{
    assert_int_equal(a->found.done, b->found.done);
    assert_int_equal(a->found.kept, b->found.kept);
    assert_int_equal(a->found.ranking_count, b->found.ranking_count);
    assert_int_equal(a->found.front_count, b->found.front_count);
    assert_int_equal(a->found.has_nearest, b->found.has_nearest);
    assert_int_equal(a->found.nearest.row, b->found.nearest.row);
    for (size_t i = 0; i < a->found.ranking_count; i++)
        assert_int_equal(a->found.ranking[i].row, b->found.ranking[i].row);
}

static void fail_each(fixture *own, const char *condition, const st_processes *ranks)
{
    st_search_result whole;
    st_arena *first = own->arena;
    assert_int_equal(run(own, make_search(own, condition), ranks, &whole), ST_OK);
    own->arena = st_arena_create();
    int failures = 0;
    for (int lasting = 0; lasting < 2; lasting++) {
        int at = 0;
        do {
            st_search_result result;
            const st_search *search = make_search(own, condition);
            set_fault(at++, lasting != 0);
            arm();
            st_status status = run(own, search, ranks, &result);
            disarm();
            failures += fault.failed > 0;
            if (status == ST_OK)
                assert_same(&result, &whole);
            else
                assert_int_equal(status, ST_ERR_MEMORY);
            st_errors_clear(own->errors);
            st_arena_destroy(own->arena); /* it may have failed, for good */
            own->arena = st_arena_create();
        } while (fault.failed > 0 && at < MOST_ALLOCATIONS);
        assert_true(at < MOST_ALLOCATIONS);
    }
    assert_true(failures > 10);
    st_arena_destroy(first);
}

static void a_search_that_finds_plans(void **state)
{
    fail_each(*state, "t >= 2", &st_one_process);
    fail_each(*state, "t >= 2", &two_ranks);
}

/* It goes through the plans a second time, for the one that is nearest to fitting. */
static void a_search_that_finds_none(void **state)
{
    fail_each(*state, "t > 64", &st_one_process);
    fail_each(*state, "t > 64", &two_ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_search_that_finds_plans, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_search_that_finds_none, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
