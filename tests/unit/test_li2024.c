/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sheet li2024 and the jobs of its paper: Table 3 to the byte, every equation against the
 * paper's printed form written out in C, the exact accounting against its own words, the checks,
 * and where the shipped numbers come from.
 */
#include "steptime/job.h"
#include "program/program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct run {
    st_paths *paths;
    st_arena *arena;
    st_errors *errors;
    const st_job *job;
    const st_sheet *sheet;
    const st_program *program;
    double inputs[64];
    double outputs[256];
} run;

static void run_start(run *r, const char *job, const char *const *sets, size_t set_count)
{
    const char *const folders[] = {"."};
    const st_bound_input *bound = NULL;
    size_t count = 0;
    *r = (run){.arena = st_arena_create(), .errors = st_errors_create()};
    assert_non_null(r->arena);
    assert_non_null(r->errors);
    assert_int_equal(st_paths_create(folders, 1, &r->paths, r->errors), ST_OK);
    assert_int_equal(st_job_load(r->paths, job, sets, set_count, r->arena, &r->job, r->errors),
                     ST_OK);
    st_sheet_reader reader = st_paths_sheet_reader(r->paths);
    assert_int_equal(st_sheet_load(&reader, "li2024", r->arena, &r->sheet, r->errors), ST_OK);
    assert_int_equal(st_job_bind(r->job, r->sheet, r->arena, &bound, r->errors), ST_OK);
    (void)st_sheet_inputs(r->sheet, &count);
    assert_in_range(count, 1, sizeof r->inputs / sizeof r->inputs[0]);
    for (size_t i = 0; i < count; i++)
        r->inputs[i] = bound[i].value;
    assert_int_equal(
        st_program_compile(r->sheet, &(st_program_options){0}, r->arena, &r->program, r->errors),
        ST_OK);
    assert_in_range(st_program_output_count(r->program), 1,
                    sizeof r->outputs / sizeof r->outputs[0]);
}

static void run_end(run *r)
{
    st_errors_destroy(r->errors);
    st_arena_destroy(r->arena);
    st_paths_destroy(r->paths);
}

static void run_compute(run *r)
{
    st_workspace *workspace = st_workspace_create(r->program);
    assert_non_null(workspace);
    assert_int_equal(st_program_run_one(r->program, workspace, r->inputs, r->outputs, NULL), ST_OK);
    st_workspace_destroy(workspace);
    st_status status = st_program_verify(r->program, r->inputs, r->errors);
    if (status != ST_OK)
        st_errors_write(r->errors, stderr);
    assert_int_equal(status, ST_OK);
}

static double value_of(const run *r, const char *cell)
{
    for (size_t i = 0; i < st_program_output_count(r->program); i++)
        if (strcmp(st_program_output_name(r->program, i), cell) == 0)
            return r->outputs[i];
    fail_msg("no cell '%s'", cell);
    return 0;
}

static void expect(const run *r, const char *cell, double expected)
{
    double value = value_of(r, cell);
    if (!(fabs(value - expected) <= 1e-13 * fabs(expected)))
        fail_msg("%s is %.17g, expected %.17g", cell, value, expected);
}

static void expect_exactly(const run *r, const char *cell, double expected)
{
    double value = value_of(r, cell);
    if (value != expected)
        fail_msg("%s is %.17g, expected exactly %.17g", cell, value, expected);
}

/* Runs the checks only and expects an error whose text has all of `parts`. */
static void expect_fault(const char *const *sets, size_t count, const char *const *parts,
                         size_t part_count)
{
    run r;
    bool found = false;
    run_start(&r, "gpt-3b-32x3090", sets, count);
    st_errors_clear(r.errors);
    assert_int_equal(st_program_verify(r.program, r.inputs, r.errors), ST_ERR_CHECK);
    for (size_t i = 0; i < st_errors_size(r.errors); i++) {
        const char *message = st_errors_at(r.errors, i)->message;
        size_t hits = 0;
        for (size_t k = 0; k < part_count; k++)
            hits += strstr(message, parts[k]) != NULL ? 1 : 0;
        found = found || hits == part_count;
    }
    if (!found)
        st_errors_write(r.errors, stderr);
    assert_true(found);
    run_end(&r);
}

#define FAULT(sets, ...)                                                                           \
    expect_fault(sets, sizeof(sets) / sizeof *(sets), (const char *const[]){__VA_ARGS__},          \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* ---- Table 3 ---- */

TEST(table_3_is_met_to_the_byte)
{
    run r;
    (void)state;
    run_start(&r, "gpt-3b-32x3090", NULL, 0);
    run_compute(&r);
    expect_exactly(&r, "message", 131072000);
    expect_exactly(&r, "layers_first", 14);
    expect_exactly(&r, "tp_messages", 680);
    expect_exactly(&r, "tp_message_size", 131072000);
    expect_exactly(&r, "tp_payload", 89128960000);
    expect_exactly(&r, "tp_ring_traffic", 89128960000);
    expect_exactly(&r, "pp_messages", 16);
    expect_exactly(&r, "pp_message_size", 131072000);
    expect_exactly(&r, "pp_payload", 2097152000);
    expect_exactly(&r, "pp_sent", 1048576000);
    expect_exactly(&r, "dp_messages", 1);
    expect_exactly(&r, "dp_payload", 777492000);
    expect_exactly(&r, "dp_ring_traffic", 1166238000);
    expect_exactly(&r, "emb_messages", 1);
    expect_exactly(&r, "emb_payload", 100864000);
    expect_exactly(&r, "emb_ring_traffic", 100864000);
    expect_exactly(&r, "volume", 91055892000);
    expect_exactly(&r, "vocabulary_padded", 50432);
    expect_exactly(&r, "parameters_first", 388746000);
    run_end(&r);
}

/* The paper says that the equations give the table; they give these. */
TEST(equations_miss_table_3_by_what_they_round_away)
{
    run r;
    (void)state;
    run_start(&r, "gpt-3b-32x3090", NULL, 0);
    run_compute(&r);
    expect_exactly(&r, "messages_eq2", 648);
    expect_exactly(&r, "payload_eq2", 84934656000);
    expect_exactly(&r, "traffic_eq2", 84934656000);
    expect_exactly(&r, "traffic_eq3", 2097152000);
    expect(&r, "payload_eq4", 673991500);
    expect(&r, "traffic_eq4", 1010987250);
    run_end(&r);
}

/* ---- equations 1-11 at a point without round numbers ---- */

#define ODD_POINT                                                                                  \
    "model.layers=53", "model.hidden=2378", "model.vocabulary=50261",                              \
        "model.vocabulary_multiple=96", "model.positions=1033", "batch.sequence=1031",             \
        "batch.micro=7", "batch.global=231", "parallel.pp=5", "parallel.tp=2", "parallel.dp=3",    \
        "cluster.nodes=5", "cluster.gpus_per_node=6", "cluster.gpu_utilization=0.37",              \
        "cluster.gpu.peak_fp16=83.5 TFLOP/s", "cluster.bandwidth.tp=7.3 GB/s",                     \
        "cluster.bandwidth.pp=2.9 GB/s", "cluster.bandwidth.dp=1.7 GB/s"

typedef struct point {
    double l, h, V, s, b, gb, p, t, d, m, mu, F, C_TP, C_PP, C_DP;
} point;

static const point odd = {53, 2378, 50261, 1031,    7,     231,   5,    2,
                          3,  11,   0.37,  83.5e12, 7.3e9, 2.9e9, 1.7e9};

static double parameters(const point *x)
{
    return 12 * x->l * x->h * x->h * (1 + 13 / (12 * x->h) + (x->V + x->s) / (12 * x->l * x->h));
}

static void expect_times(const run *r, const point *x, double all_reduces, double flop)
{
    double N = parameters(x);
    double T_TP_mb =
        x->l / x->p * (all_reduces * 2 * x->b * x->s * x->h * 2 * (x->t - 1)) / (x->t * x->C_TP);
    double T_PP_mb = 2 * 2 * x->b * x->s * x->h / x->C_PP;
    double T_comp_mb = flop * N * x->b * x->s / (x->p * x->t * x->mu * x->F);
    double T_DP = 2 * N / (x->p * x->t) * (2 * (x->d - 1)) / (x->d * x->C_DP);
    double T_bubble = (x->p - 1) * (T_comp_mb + T_PP_mb + T_TP_mb);
    double T_iter = x->m * (T_comp_mb + T_PP_mb + T_TP_mb) + T_bubble + T_DP;
    double T_comm = x->m * T_TP_mb + x->m * T_PP_mb + T_DP;
    expect(r, "N", N);
    expect(r, "FLOP_mb", flop * N / (x->p * x->t) * x->b * x->s);
    expect(r, "T_comp_mb", T_comp_mb);
    expect(r, "T_comp", x->m * T_comp_mb);
    expect(r, "T_TP_mb", T_TP_mb);
    expect(r, "T_TP", x->m * T_TP_mb);
    expect(r, "T_PP_mb", T_PP_mb);
    expect(r, "T_PP", x->m * T_PP_mb);
    expect(r, "T_DP", T_DP);
    expect(r, "T_bubble", T_bubble);
    expect(r, "T_iter", T_iter);
    expect(r, "T_iter_sum", T_iter);
    expect(r, "T_comm", T_comm);
    /* The same iteration by what happens: passes, those of the bubble, what is sent. */
    double sends = (x->m + x->p - 1) * T_PP_mb;
    expect(r, "T_steady", x->m * (T_comp_mb + T_TP_mb));
    expect(r, "T_fill", (x->p - 1) * (T_comp_mb + T_TP_mb));
    expect(r, "T_sends", sends);
    expect(r, "T_exposed", x->m * T_TP_mb + sends + T_DP);
    expect(r, "transfer", T_PP_mb / 2);
    expect(r, "R_comm", T_comm / T_iter);
    expect(r, "R_TP", x->m * T_TP_mb / T_iter);
    expect(r, "R_PP", x->m * T_PP_mb / T_iter);
    expect(r, "R_DP", T_DP / T_iter);
    expect(r, "R_TP_phases", x->m * T_TP_mb / (T_comm + T_bubble));
    expect(r, "R_bubble", T_bubble / T_iter);
    expect(r, "R_bubble_approx", (x->p - 1) / (x->p - 1 + x->m));
    expect(r, "R_bubble_approx", T_bubble / (T_iter - T_DP));
    expect(r, "tokens_per_s", x->gb * x->s / T_iter);
    expect(r, "tokens_per_s_gpu", x->gb * x->s / T_iter / (x->p * x->t * x->d));
    expect(r, "FLOPS_gpu", x->m * flop * N / (x->p * x->t) * x->b * x->s / T_iter);
}

TEST(equations_agree_with_the_printed_ones)
{
    static const char *const sets[] = {ODD_POINT};
    run r;
    (void)state;
    run_start(&r, "gpt-3b-32x3090", sets, sizeof sets / sizeof *sets);
    run_compute(&r);
    expect_exactly(&r, "m", odd.m);
    expect_times(&r, &odd, 6, 8);
    double P = 96 * odd.b * odd.s * odd.l * odd.h * odd.h *
               (1 + odd.s / (6 * odd.h) + odd.V / (16 * odd.l * odd.h));
    expect(&r, "P", P);
    expect(&r, "P_iter", P * odd.m * odd.d);
    expect(&r, "P_param_token", P / (parameters(&odd) * odd.b * odd.s));
    expect(&r, "messages_eq2", odd.m * odd.l / odd.p * 6);
    expect(&r, "traffic_eq2",
           odd.m * odd.l / odd.p * 6 * 2 * odd.b * odd.s * odd.h * 2 * (odd.t - 1) / odd.t);
    expect(&r, "traffic_eq3", odd.m * 4 * odd.b * odd.s * odd.h);
    expect(&r, "payload_eq4", 2 * parameters(&odd) / (odd.p * odd.t));
    expect(&r, "traffic_eq4", 2 * parameters(&odd) / (odd.p * odd.t) * 2 * (odd.d - 1) / odd.d);
    run_end(&r);
}

/* Without recomputation 4 all-reduces and 6 FLOP are left; the vocabulary's 6bshV stays. */
TEST(without_recomputation_a_forward_pass_less)
{
    static const char *const sets[] = {ODD_POINT, "recompute=none"};
    run r;
    (void)state;
    run_start(&r, "gpt-3b-32x3090", sets, sizeof sets / sizeof *sets);
    run_compute(&r);
    expect_times(&r, &odd, 4, 6);
    double tokens = odd.b * odd.s;
    double blocks = 24 * tokens * odd.l * odd.h * odd.h * (1 + odd.s / (6 * odd.h));
    expect(&r, "P", 3 * blocks + 6 * tokens * odd.h * odd.V);
    expect_exactly(&r, "tp_messages", 11 * (11 * 4 + 1));
    run_end(&r);
}

/* ---- the exact accounting ---- */

/* 53 blocks on 5 stages: 11, 11, 11, 10 and 10. */
TEST(stages_have_their_own_gradients)
{
    static const char *const stages[] = {"parallel.stage=2", "parallel.stage=3",
                                         "parallel.stage=4"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        const char *const sets[] = {ODD_POINT, stages[i]};
        run r;
        run_start(&r, "gpt-3b-32x3090", sets, sizeof sets / sizeof *sets);
        run_compute(&r);
        double h = odd.h;
        int blocks = i == 0 ? 11 : 10;
        bool last = i == 2;
        double parameters = blocks * (12 * h * h / 2 + 7 * h / 2 + 6 * h);
        parameters += last ? 50304.0 / 2 * h + 2 * h : 0;
        expect_exactly(&r, "dp_payload", 2 * parameters);
        expect_exactly(&r, "tp_messages", 11 * (blocks * 6 + (last ? 1 : 0)));
        expect_exactly(&r, "emb_messages", last ? 1 : 0);
        run_end(&r);
    }
}

TEST(exact_accounting_counts_whole_things)
{
    static const char *const sets[] = {ODD_POINT};
    run r;
    (void)state;
    run_start(&r, "gpt-3b-32x3090", sets, sizeof sets / sizeof *sets);
    run_compute(&r);
    double h = odd.h;
    double message = 2 * odd.b * odd.s * h;
    double block = 12 * h * h / 2 + 7 * h / 2 + 6 * h;
    double rows = 50304.0 / 2; /* 50261 padded to a multiple of 192 */
    double own = 11 * block + rows * h + 1033 * h;
    expect_exactly(&r, "layers_first", 11); /* of 53 on 5 stages */
    expect_exactly(&r, "vocabulary_padded", 50304);
    expect_exactly(&r, "block_parameters", block);
    expect_exactly(&r, "embedding_parameters", rows * h);
    expect_exactly(&r, "position_parameters", 1033 * h);
    expect_exactly(&r, "parameters_first", own);
    expect_exactly(&r, "tp_messages", 11 * (11 * 6 + 1));
    expect_exactly(&r, "tp_payload", 11 * (11 * 6 + 1) * message);
    expect_exactly(&r, "pp_sent", 11 * message);
    expect_exactly(&r, "dp_payload", 2 * own);
    expect(&r, "dp_ring_traffic", 2 * own * 4 / 3);
    expect_exactly(&r, "emb_payload", 2 * rows * h);
    expect(&r, "volume", 11 * 67 * message + 11 * message + 2 * own + 2 * rows * h);
    expect(&r, "tp_share",
           11 * 67 * message / (11 * 67 * message + 11 * message + 2 * own + 2 * rows * h));
    run_end(&r);
}

TEST(exact_times_add_up)
{
    static const char *const sets[] = {ODD_POINT};
    run r;
    (void)state;
    run_start(&r, "gpt-3b-32x3090", sets, sizeof sets / sizeof *sets);
    run_compute(&r);
    double message = 2 * odd.b * odd.s * odd.h;
    double comp = 11 * 96 * odd.b * odd.s * odd.h * odd.h * (1 + odd.s / (6 * odd.h)) * 11 / 2 /
                  (odd.mu * odd.F);
    double tp = 11 * 67 * message / odd.C_TP;
    double pp = 22 * message / odd.C_PP;
    double dp = value_of(&r, "dp_payload") * 4 / 3 / odd.C_DP;
    double emb = value_of(&r, "emb_payload") / odd.C_PP;
    double bubble = 4 * (comp + tp + pp) / 11;
    expect(&r, "T_comp_exact", comp);
    expect(&r, "T_TP_exact", tp);
    expect(&r, "T_PP_exact", pp);
    expect(&r, "T_DP_exact", dp);
    expect(&r, "T_emb_exact", emb);
    expect(&r, "T_bubble_exact", bubble);
    expect(&r, "T_iter_exact", comp + tp + pp + dp + emb + bubble);
    run_end(&r);
}

/* On one rank with an unpadded vocabulary both parts of the sheet count the same parameters. */
TEST(both_parts_meet_on_one_rank)
{
    static const char *const sets[] = {"parallel.tp=1",     "parallel.pp=1",
                                       "parallel.dp=1",     "cluster.nodes=1",
                                       "batch.global=96",   "cluster.gpus_per_node=1",
                                       "model.layers=37",   "model.vocabulary=50261",
                                       "model.hidden=2379", "model.vocabulary_multiple=1"};
    run r;
    (void)state;
    run_start(&r, "gpt-3b-32x3090", sets, sizeof sets / sizeof *sets);
    run_compute(&r);
    expect(&r, "parameters_first", value_of(&r, "N"));
    run_end(&r);
}

TEST(a_group_of_one_rank_sends_nothing)
{
    static const char *const silent[] = {
        "T_TP",         "T_PP",         "T_DP",        "T_bubble",       "T_comm",
        "messages_eq2", "traffic_eq2",  "traffic_eq3", "payload_eq4",    "traffic_eq4",
        "tp_messages",  "tp_payload",   "pp_messages", "pp_sent",        "dp_messages",
        "dp_payload",   "emb_messages", "emb_payload", "volume",         "T_TP_exact",
        "T_PP_exact",   "T_DP_exact",   "T_emb_exact", "T_bubble_exact", "tp_share",
        "R_bubble",     "R_TP_phases",  "R_comm",      "R_bubble_approx"};
    static const char *const sets[] = {"parallel.tp=1",   "parallel.pp=1",
                                       "parallel.dp=1",   "cluster.nodes=1",
                                       "batch.global=96", "cluster.gpus_per_node=1"};
    run r;
    (void)state;
    run_start(&r, "gpt-3b-32x3090", sets, sizeof sets / sizeof *sets);
    run_compute(&r);
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        expect_exactly(&r, silent[i], 0);
    expect(&r, "T_iter", value_of(&r, "T_comp"));
    run_end(&r);
}

/* Tensor-parallel ranks are neighbours, then come data-parallel ones, then stages (figures 3, 12).
 */
TEST(groups_lie_on_nodes_in_their_order)
{
    static const struct {
        const char *sets[5];
        double dp_per_node, crossing;
        bool inside; /* all messages between stages stay on their node, by the links of it */
    } cases[] = {
        {{"parallel.tp=2", "parallel.pp=4", "parallel.dp=4"}, 4, 1, false},
        {{"parallel.tp=1", "parallel.pp=16", "parallel.dp=2"}, 2, 3 / 15.0, false},
        {{"parallel.tp=4", "parallel.pp=8", "parallel.dp=1"}, 1, 3 / 7.0, false},
        {{"parallel.tp=2", "parallel.pp=8", "parallel.dp=2"}, 2, 3 / 7.0, false},
        {{"parallel.tp=8", "parallel.pp=2", "parallel.dp=2"}, 1, 1, false},
        {{"parallel.tp=1", "parallel.pp=2", "parallel.dp=16"}, 8, 1, false},
        {{"parallel.tp=2", "parallel.pp=4", "parallel.dp=1", "cluster.nodes=1"}, 1, 0, true},
        {{"parallel.tp=2", "parallel.pp=1", "parallel.dp=16"}, 4, 0, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run r;
        const char *sets[6] = {"cluster.gpus_per_node=8"};
        size_t count = 1;
        for (size_t at = 0; cases[i].sets[at] != NULL; at++)
            sets[count++] = cases[i].sets[at];
        run_start(&r, "gpt-3b-32x3090", sets, count);
        run_compute(&r);
        expect(&r, "dp_per_node", cases[i].dp_per_node);
        expect(&r, "stages_crossing", cases[i].crossing);
        expect(&r, "C_PP_used", cases[i].inside ? 3.4e9 : 1.5625e9);
        run_end(&r);
    }
}

/* Figure 2: more tensor parallelism on the same GPUs leaves less data-parallel traffic. */
TEST(plan_4_4_2_moves_fewer_gradients_than_4_2_4)
{
    static const char *const sets[] = {"parallel.tp=4", "parallel.dp=2", "batch.global=512"};
    run wide;
    run narrow;
    (void)state;
    run_start(&narrow, "gpt-3b-32x3090", NULL, 0);
    run_start(&wide, "gpt-3b-32x3090", sets, 3);
    run_compute(&narrow);
    run_compute(&wide);
    assert_true(value_of(&wide, "dp_ring_traffic") < 0.5 * value_of(&narrow, "dp_ring_traffic"));
    expect_exactly(&wide, "tp_messages", 680);
    assert_true(value_of(&wide, "tp_ring_traffic") > value_of(&narrow, "tp_ring_traffic"));
    run_end(&wide);
    run_end(&narrow);
}

/* ---- checks ---- */

TEST(meaningless_configurations_are_refused)
{
    static const char *const selective[] = {"recompute=selective"};
    static const char *const batch[] = {"batch.global=1000"};
    static const char *const ranks[] = {"parallel.tp=8"};
    static const char *const stages[] = {"model.layers=3"};
    static const char *const hidden[] = {"model.hidden=2001"};
    static const char *const heads[] = {"model.heads=25"};
    static const char *const sequence[] = {"batch.sequence=1025"};
    (void)state;
    FAULT(selective, "selective", "full or none");
    FAULT(batch, "1000", "32", "128");
    FAULT(ranks, "4 x 8 x 4 = 128", "32 GPUs", "4 machines of 8");
    FAULT(stages, "size 4", "3 layers");
    FAULT(hidden, "size 2", "hidden size 2001");
    FAULT(heads, "size 2", "25 attention heads");
    FAULT(sequence, "1025", "1024");
}

TEST(groups_that_leave_the_machine_are_warned_about)
{
    static const char *const sets[] = {"cluster.gpus_per_node=1", "cluster.nodes=32"};
    run r;
    (void)state;
    run_start(&r, "gpt-3b-32x3090", sets, 2);
    st_errors_clear(r.errors);
    assert_int_equal(st_program_verify(r.program, r.inputs, r.errors), ST_OK);
    assert_int_equal(st_errors_count(r.errors, ST_SEVERITY_WARNING), 2);
    assert_non_null(strstr(st_errors_at(r.errors, 0)->message, "tensor-parallel"));
    assert_non_null(strstr(st_errors_at(r.errors, 1)->message, "3.4 GB/s"));
    run_end(&r);
}

/* ---- the jobs of Figure 10 ---- */

TEST(jobs_of_the_paper_have_their_times)
{
    /* By an independent evaluation of the equations. */
    static const struct {
        const char *job;
        double T_iter, T_iter_exact, N, gpus;
    } jobs[] = {
        {"gpt-3b-32x3090", 82.11374348993587, 87.666982049, 2695966000, 32},
        {"gpt-1.5b-16x3090", 51.6369101810, 53.2769688028, 1557608000, 16},
        {"gpt-1.5b-4xv100", 44.6794581077, 45.8365806536, 1557608000, 4},
        {"gpt-3b-8xv100", 70.0126189404, 71.8045841175, 2695966000, 8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        run r;
        run_start(&r, jobs[i].job, NULL, 0);
        run_compute(&r);
        assert_int_equal(st_errors_size(r.errors), 0);
        assert_true(fabs(value_of(&r, "T_iter") / jobs[i].T_iter - 1) < 1e-11);
        assert_true(fabs(value_of(&r, "T_iter_exact") / jobs[i].T_iter_exact - 1) < 1e-11);
        expect(&r, "N", jobs[i].N);
        expect_exactly(&r, "GPUs", jobs[i].gpus);
        run_end(&r);
    }
}

TEST(shipped_numbers_name_their_source)
{
    static const char *const jobs[] = {"gpt-3b-32x3090", "gpt-1.5b-16x3090", "gpt-1.5b-4xv100",
                                       "gpt-3b-8xv100"};
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        run r;
        run_start(&r, jobs[i], NULL, 0);
        for (size_t k = 0; k < count; k++) {
            const st_job_value *value = st_job_value_of(r.job, keys[k].path);
            bool number = keys[k].kind == ST_KEY_COUNT || keys[k].kind == ST_KEY_NUMBER ||
                          keys[k].kind == ST_KEY_QUANTITY;
            if (number && value->origin == ST_ORIGIN_FILE && value->source == NULL)
                fail_msg("%s: %s has no source", jobs[i], keys[k].path);
        }
        run_end(&r);
    }
}

TEST(unprinted_values_are_marked_as_assumptions)
{
    static const char *const assumed[] = {"parallel.pp",
                                          "parallel.tp",
                                          "parallel.dp",
                                          "batch.global",
                                          "cluster.bandwidth.tp",
                                          "cluster.bandwidth.pp",
                                          "cluster.bandwidth.dp",
                                          "cluster.gpu.peak_fp16",
                                          "model.vocabulary",
                                          "model.positions",
                                          "model.vocabulary_multiple"};
    static const char *const printed[] = {"model.layers", "model.hidden", "batch.micro",
                                          "cluster.gpu_utilization", "cluster.gpus_per_node"};
    run r;
    (void)state;
    run_start(&r, "gpt-3b-8xv100", NULL, 0);
    for (size_t i = 0; i < sizeof assumed / sizeof *assumed; i++)
        if (!st_job_value_of(r.job, assumed[i])->assumption)
            fail_msg("%s is not marked", assumed[i]);
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++)
        assert_false(st_job_value_of(r.job, printed[i])->assumption);
    run_end(&r);
}

TEST(all_clusters_run_a_job)
{
    static const char *const sets[][2] = {
        {"cluster=v100-nvlink-8", "parallel.dp=2"},
        {"cluster=v100-nvlink-4", "parallel.dp=1"},
        {"cluster=v100-pcie-8", "parallel.dp=2"},
        {"cluster=v100-pcie-4", "parallel.dp=1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        run r;
        run_start(&r, "gpt-3b-8xv100", sets[i], 2);
        run_compute(&r);
        assert_true(value_of(&r, "T_iter") > 10 && value_of(&r, "T_iter") < 200);
        run_end(&r);
    }
}

/* ---- citations ---- */

static char *read_bibliography(void)
{
    FILE *file = fopen("formulas/references.bib", "rb");
    assert_non_null(file);
    char *text = calloc(1, 65536);
    assert_non_null(text);
    size_t length = fread(text, 1, 65535, file);
    assert_in_range(length, 1, 65534);
    fclose(file);
    return text;
}

/* The first word of a citation is a key of the bibliography; only throughput is nobody's. */
static void expect_known(const char *bibliography, const char *name, const char *cite)
{
    char key[64];
    bool is_cited = cite != NULL && cite[0] != '\0';
    if (!is_cited && strncmp(name, "tokens_per_s", strlen("tokens_per_s")) != 0)
        fail_msg("%s cites nothing", name);
    if (!is_cited)
        return;
    (void)snprintf(key, sizeof key, "{%.*s,", (int)strcspn(cite, " "), cite);
    if (strstr(bibliography, key) == NULL)
        fail_msg("%s cites '%s', which references.bib does not have", name, cite);
}

TEST(every_cell_cites_a_known_work)
{
    run r;
    size_t count = 0;
    char *bibliography = read_bibliography();
    (void)state;
    run_start(&r, "gpt-3b-32x3090", NULL, 0);
    const st_sheet_cell *cells = st_sheet_cells(r.sheet, &count);
    for (size_t i = 0; i < count; i++)
        expect_known(bibliography, cells[i].name, cells[i].cite);
    const st_sheet_function *functions = st_sheet_functions(r.sheet, &count);
    for (size_t i = 0; i < count; i++)
        expect_known(bibliography, functions[i].name, functions[i].cite);
    run_end(&r);
    free(bibliography);
}

TESTS(li2024);
