/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of a sheet on the topology of a job, against times worked out by hand. */
#include "fabric_support.h"

#include <math.h>

#define OPEN(name)                                                                                 \
    "  " name ": {open: true, args: {size: MB, ranks: 1, per_node: 1}, unit: us, "                 \
    "is: 'size/0.5[GB/s]', doc: time}\n"
#define CELL(name, function) "  " name ": {unit: us, is: '" function "(V, d, inside)', doc: time}\n"

static const char lan[] =
    "sheet: lan\n"
    "inputs:\n"
    "  d: {from: parallel.dp, doc: ranks}\n"
    "  t: {from: parallel.tp, doc: other ranks, default: 1}\n"
    "  g: {from: cluster.gpus_per_node, doc: GPUs of a node}\n"
    "  V: {from: constants.volume, unit: MB, doc: message}\n"
    "  inside: {from: constants.inside, doc: ranks on a node, default: 4}\n"
    "functions:\n" OPEN("all_reduce") OPEN("all_gather") OPEN("reduce_scatter") OPEN("all_to_all")
        OPEN("send_recv") "cells:\n" CELL("total", "all_reduce") CELL("gather", "all_gather")
            CELL("scatter", "reduce_scatter") CELL("exchange", "all_to_all")
                CELL("send", "send_recv") "report: [{section: Times, cells: "
                                          "[total, gather, scatter, exchange, send]}]\n"
                                          "roles: {dp: d, tp: t, gpus_per_node: g}\n";

static const char here[] = "name: here\n"
                           "cluster: {gpus_per_node: 4, topology: rack}\n"
                           "parallel: {dp: 8}\n"
                           "constants: {volume: {value: 2.385 MB, source: seen}}\n"
                           "sheet: lan\n";

static const char doubling[] = "collective all_reduce\nranks power of 2\nchunks 1\n"
                               "for k = 0 to log2(n)-1\n  send 0 to r xor 2^k\n"
                               "  reduce 0 from r xor 2^k\nend\n";

/* Waits for what nobody sends. */
static const char stuck[] = "collective all_reduce\nranks any\nchunks 1\n"
                            "reduce 0 from (r+1) mod n\nsend 0 to (r+n-1) mod n\n";

/* The job with assignments that blanks separate. */
static st_status run_here(fixture *own, const char *assignments, st_estimate *estimate)
{
    const char *sets[8];
    st_request request = {.job = "here", .sets = sets};
    char *text = st_arena_copy(own->arena, assignments, strlen(assignments));
    assert_non_null(text);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
        sets[request.set_count++] = word;
    write_networks(own);
    write_text(own, "formulas/lan.yaml", lan);
    write_text(own, "configs/jobs/here.yaml", here);
    write_text(own, "configs/steps/doubling.steps", doubling);
    write_text(own, "configs/steps/stuck.steps", stuck);
    st_status status = st_estimate_load(own->paths, &request, own->arena, estimate, own->errors);
    if (status == ST_OK)
        status = st_estimate_show_report(estimate, false, own->arena);
    return status == ST_OK ? st_estimate_run(estimate, own->arena, own->errors) : status;
}

typedef struct priced {
    const char *sets;
    double us[5]; /* all_reduce, all_gather, reduce_scatter, all_to_all, send_recv */
} priced;

static void expect_times(fixture *own, const priced *expected)
{
    st_estimate estimate;
    if (run_here(own, expected->sets, &estimate) != ST_OK)
        fail_msg("%s: %s", expected->sets, said(own));
    assert_int_equal(estimate.shown_count, 5);
    for (size_t i = 0; i < 5; i++)
        if (fabs(1e6 * estimate.values[i] - expected->us[i]) > 1e-6)
            fail_msg("%s: %s takes %.9g us, not %.9g us", expected->sets, estimate.shown[i].name,
                     1e6 * estimate.values[i], expected->us[i]);
}

/*
 * 2.385 MB are 23.85 us at 100 GB/s and 119.25 us at 20 GB/s; a ring of n has n - 1 rounds of an
 * n-th of it, an all-reduce twice as many.
 */
TEST_WITH(collectives_cost_what_their_messages_do, set_up, tear_down)
{
    static const priced cases[] = {
        /* Rounds of 6.5 us and 119.25/8; both nodes' 16 pieces of an eighth at once. */
        {"",
         {5 + 14 * (6.5 + 14.90625), 5 + 7 * 21.40625, 5 + 7 * 21.40625, 11.5 + 2 * 119.25,
          6.5 + 23.85}},
        /* One rank on each node, whose others send as well: four times the bytes. */
        {"parallel.dp=4 constants.inside=1",
         {5 + 6 * (6.5 + 119.25), 5 + 3 * 125.75, 5 + 3 * 125.75, 11.5 + 3 * 119.25,
          11.5 + 4 * 119.25}},
        /* On one node. */
        {"parallel.dp=2", {5 + 2 * (1.5 + 11.925), 18.425, 18.425, 18.425, 30.35}},
        /* As many ranks in all as the topology has. */
        {"parallel.tp=2",
         {5 + 14 * (6.5 + 14.90625), 5 + 7 * 21.40625, 5 + 7 * 21.40625, 11.5 + 2 * 119.25,
          6.5 + 23.85}},
        {"parallel.dp=1", {0, 0, 0, 0, 0}},
        {"constants.volume=0MB", {0, 0, 0, 0, 0}},
        /* Two rounds inside of a node, then four messages over the link of a node. */
        {"collectives.all_reduce=doubling",
         {5 + 2 * 25.35 + 6.5 + 477, 5 + 7 * 21.40625, 5 + 7 * 21.40625, 11.5 + 2 * 119.25, 30.35}},
        /* Twelve are no power of two: a ring. */
        {"collectives.all_reduce=doubling parallel.dp=12",
         {5 + 22 * (6.5 + 9.9375), 5 + 11 * 16.4375, 5 + 11 * 16.4375, 11.5 + 4 * 8 / 12.0 * 119.25,
          30.35}},
        /* Sums go up once and down once. */
        {"cluster.topology=summing",
         {11.5 + 119.25, 5 + 7 * 21.40625, 5 + 7 * 21.40625, 11.5 + 2 * 119.25, 30.35}},
        {"cluster.topology=summing parallel.dp=4 constants.inside=1",
         {11.5 + 477, 5 + 3 * 125.75, 5 + 3 * 125.75, 11.5 + 3 * 119.25, 488.5}},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_times(*state, &cases[i]);
}

TEST_WITH(groups_without_a_place_have_no_time, set_up, tear_down)
{
    static const struct {
        const char *sets;
        const char *words;
    } cases[] = {
        {"parallel.tp=3", "the topology has fewer ranks than the plan in 'all_reduce(V"},
        {"parallel.dp=6", "the ranks are not spread evenly over the nodes in 'send_recv(V"},
        {"cluster.gpus_per_node=3",
         "nodes of 3 GPUs do not match the nodes of 4 GPUs of the topology"},
        {"constants.inside=2.5", "the group has too many ranks, or a fractional"},
        {"constants.inside=0", "the group has too many ranks, or a fractional"},
        {"constants.inside=65537", "the group has too many ranks, or a fractional"},
        {"collectives.all_reduce=stuck", "@/configs/steps/stuck.steps:4: "},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate;
        if (run_here(own, cases[i].sets, &estimate) != ST_ERR_PROVIDER)
            fail_msg("%s: %s", cases[i].sets, said(own));
        assert_contains(said(own), cases[i].words);
    }
}

/* Tables must be of the collective that takes their place, and need links. */
TEST_OF(tables_are_held_against_their_collective, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    assert_int_equal(run_here(own, "collectives.all_gather=doubling", &estimate), ST_ERR_VALUE);
    assert_contains(said(own), "doubling implements all_reduce: expected a table of all_gather");
    assert_int_not_equal(run_here(own, "cluster.topology=racks", &estimate), ST_OK);
    assert_contains(said(own), "'racks'");
    assert_int_not_equal(run_here(own, "collectives.all_reduce=none-such", &estimate), ST_OK);
    assert_contains(said(own), "'none-such'");
    write_text(own, "configs/jobs/bare.yaml",
               "name: bare\ncluster: {gpus_per_node: 4}\nparallel: {dp: 8}\n"
               "collectives: {reduce_scatter: doubling}\n"
               "constants: {volume: {value: 2.385 MB, source: seen}}\nsheet: lan\n");
    assert_int_equal(load_estimate(own, "bare", NULL, &estimate), ST_ERR_NAME);
    assert_contains(said(own),
                    "collectives.reduce_scatter requires a topology: expected cluster.topology");
}

TEST_OF(a_topology_without_a_use_is_told, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_networks(own);
    write_pump(own);
    assert_int_equal(load_estimate(own, "station", "cluster.topology=rack", &estimate), ST_OK);
    assert_contains(said(own),
                    "warning: cluster.topology has no effect on the estimate: sheet pump has no "
                    "collectives that know their ranks on a node");
    assert_int_equal(run_here(own, "", &estimate), ST_OK);
    assert_string_equal(said(own), "");
}

/* ---- what is said of a price ---- */

static void expect_told(fixture *own, const char *sets, const char *cell, const char *const *parts)
{
    st_estimate estimate;
    st_result result;
    const st_explanation *explanation = NULL;
    const st_explain_view view = {.cell = cell, .depth = 9, .style = ST_STYLE_SCALED};
    if (run_here(own, sets, &estimate) != ST_OK ||
        st_program_explain_view(estimate.program, estimate.input_values, &view, own->arena,
                                &explanation, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    result.arena = own->arena;
    st_explanation_report(&estimate, explanation, 0, own->errors, &result);
    assert_form_has(&result, ST_FORM_TEXT, parts, 4);
}

TEST_WITH(a_price_tells_where_it_comes_from, set_up, tear_down)
{
    expect_told(*state, "", "total",
                (const char *const[]){"304.7 us by topology rack, in place of the formula",
                                      "origin  = a ring\n", "latency = 96 us ",
                                      "bytes   = 208.7 us "});
    expect_told(*state, "", "exchange",
                (const char *const[]){"= every rank to every other\n", "latency = 11.5 us ",
                                      "bytes   = 238.5 us ", NULL});
    expect_told(
        *state, "", "send",
        (const char *const[]){"= one message\n", "latency = 6.5 us ", "bytes   = 23.85 us ", NULL});
    expect_told(*state, "collectives.all_reduce=doubling", "total",
                (const char *const[]){"= steps of doubling\n", "latency = 14.5 us ",
                                      "bytes   = 524.7 us ", NULL});
    expect_told(*state, "cluster.topology=summing", "total",
                (const char *const[]){"= a ring, or reduction in the network where it is faster\n",
                                      "latency = 11.5 us ", NULL});
}

/* ---- many rows ---- */

static const st_provider *provider_of(const st_estimate *estimate, const char *name)
{
    for (size_t i = 0; i < estimate->provider_count; i++)
        if (strcmp(estimate->providers[i]->name, name) == 0)
            return estimate->providers[i];
    fail_msg("no provider %s", name);
    return NULL;
}

enum { ROWS_MOST = 600, ARGUMENTS = 6 };

/* all_reduce of rows, which are size, ranks and ranks on a node; in us. */
static void reduce_rows(const st_estimate *estimate, const double rows[][3], size_t count,
                        double *us)
{
    static double columns[ARGUMENTS][ROWS_MOST];
    const double *at[ARGUMENTS];
    const st_provider *provider = provider_of(estimate, "all_reduce");
    assert_int_equal(provider->argument_count, ARGUMENTS); /* with GPUs of a node, t and d */
    assert_string_equal(provider->argument_names[3], "g");
    assert_string_equal(provider->argument_names[4], "t");
    assert_string_equal(provider->argument_names[5], "d");
    for (size_t k = 0; k < ARGUMENTS; k++) {
        for (size_t i = 0; i < count; i++)
            columns[k][i] = k < 3 ? rows[i][k] : k == 3 ? 4 : k == 4 ? 2 : 8;
        at[k] = columns[k];
    }
    assert_int_equal(provider->evaluate(provider->self, count, at, us), ST_OK);
    for (size_t i = 0; i < count; i++)
        us[i] *= 1e6;
}

TEST_WITH(rows_do_not_take_each_others_price, set_up, tear_down)
{
    st_estimate estimate;
    static const double rows[][3] = {{2.385e6, 8, 4},          {4.77e6, 8, 4},  {2.385e6, 2, 4},
                                     {2.385e6, 4, 1},          {2.385e6, 8, 4}, {-1, 8, 4},
                                     {(double)INFINITY, 8, 4}, {2.385e6, 8, 4}};
    static const double expected[] = {304.6875, 513.375, 31.85, 759.5, 304.6875};
    double us[COUNT(rows)];
    assert_int_equal(run_here(*state, "", &estimate), ST_OK);
    reduce_rows(&estimate, rows, COUNT(rows), us);
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_true(fabs(us[i] - expected[i]) < 1e-6);
    assert_true(isnan(us[5]) && isnan(us[6]));
    assert_true(us[7] == us[0]);
}

/* Of 512 groups the price is kept; another one has none, and those keep theirs. */
TEST_OF(so_many_groups_are_priced, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    static double rows[ROWS_MOST][3];
    double us[ROWS_MOST];
    assert_int_equal(run_here(own, "", &estimate), ST_OK); /* which keeps that of eight ranks */
    for (size_t i = 0; i < 510; i++) {
        const double row[3] = {2.385e6, 1000 + (double)i, 4}; /* that the topology has not */
        memcpy(rows[i], row, sizeof row);
    }
    static const double last[][3] = {
        {2.385e6, 4, 1}, {2.385e6, 2, 4}, {2.385e6, 8, 4}, {2.385e6, 4, 1}};
    memcpy(rows[510], last, sizeof last);
    reduce_rows(&estimate, (const double(*)[3])rows, 514, us);
    assert_true(isnan(us[0]) && isnan(us[509]));
    assert_true(fabs(us[510] - 759.5) < 1e-6);
    assert_true(isnan(us[511]));
    assert_true(fabs(us[512] - 304.6875) < 1e-6);
    assert_true(us[513] == us[510]);
}

TESTS(fabric_functions);
