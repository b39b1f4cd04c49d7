/* SPDX-License-Identifier: Apache-2.0 */
/* Workload files of SimAI: made of the work of a stage, written, read back, added up. */
#include "base_support.h"

#include "workload/simai.h"

typedef struct fixture {
    st_arena *arena;
    st_errors *errors;
    st_workload workload;
    st_work_stage stage;
    st_simai simai;
} fixture;

/* Two stages of two (tp) by six (dp), three of which have different experts. */
static const st_placement_plan folded = {.size = {2, 1, 3, 6, 2}, .gpus_per_node = 8};

static void place(fixture *self, const st_placement_plan *plan)
{
    assert_int_equal(st_placement_create(plan, &self->workload.placement, self->errors), ST_OK);
}

static int setup(void **state)
{
    fixture *self = calloc(1, sizeof *self);
    self->arena = st_arena_create();
    self->errors = st_errors_create();
    self->workload =
        (st_workload){.stages = &self->stage, .stage_count = 1, .micros = 7, .chunks = 2};
    place(self, &folded);
    *state = self;
    return 0;
}

static int teardown(void **state)
{
    fixture *self = *state;
    st_errors_destroy(self->errors);
    st_arena_destroy(self->arena);
    free(self);
    return 0;
}

/* Computation of a pass itself, other computation, a collective; ticks are picoseconds. */
#define PASS(title, ticks)                                                                         \
    {                                                                                              \
        .name = (title), .type = ST_CHAKRA_COMP, .is_pass = true, .duration = (ticks)              \
    }
#define WORK(title, ticks)                                                                         \
    {                                                                                              \
        .name = (title), .type = ST_CHAKRA_COMP, .duration = (ticks)                               \
    }
#define SENT(title, whom, kind, size)                                                              \
    {                                                                                              \
        .name = (title), .type = ST_CHAKRA_COLL, .group = (whom), .collective = (kind),            \
        .bytes = (size), .is_pass = true                                                           \
    }

static st_status make(fixture *self, const st_work_node *nodes, size_t count)
{
    self->stage = (st_work_stage){.nodes = st_arena_alloc(self->arena, count + 1, sizeof *nodes),
                                  .count = count};
    memcpy(self->stage.nodes, nodes, count * sizeof *nodes);
    return st_simai_make(&self->workload, 0, self->arena, &self->simai, self->errors);
}

static void assert_written(const fixture *self, const char *expected)
{
    st_buffer buffer = {0};
    st_simai_write(&self->simai, &buffer);
    assert_string_equal(st_buffer_read(&buffer), expected);
    st_buffer_free(&buffer);
}

/* ---- made ---- */

/* A pass of two layers, one of a layer that sends nothing, one of a layer that sends to experts. */
static const st_work_node step[] = {
    SENT("F 1.1", ST_GROUP_TP, ST_CHAKRA_ALL_REDUCE, 285), /* of the layer that follows */
    PASS("F 1.1", 2400),
    SENT("F 1.1", ST_GROUP_TP, ST_CHAKRA_ALL_REDUCE, 100),
    SENT("F 1.1", ST_GROUP_EP, ST_CHAKRA_ALL_TO_ALL, 238),
    WORK("F 1.1", 1000),
    PASS("F 1.1", 2400),
    SENT("F 1.1", ST_GROUP_TP, ST_CHAKRA_ALL_REDUCE, 517),
    {.name = "F 1.1", .type = ST_CHAKRA_SEND, .bytes = 6291},
    {.name = "B 1.1", .type = ST_CHAKRA_RECV, .bytes = 9385},
    PASS("B 1.1", 4800),
    SENT("B 1.1", ST_GROUP_TP, ST_CHAKRA_ALL_REDUCE, 617),
    PASS("B 1.1", 4700),
    SENT("B 1.1", ST_GROUP_EP, ST_CHAKRA_ALL_TO_ALL, 338),
    {.name = "B 1.1", .type = ST_CHAKRA_SEND, .bytes = 6290},
    PASS("W 1.1", 1500),
    PASS("W 1.1", 1400),
    PASS("F 1.2", 3300),
    PASS("B 1.2", 6600),
    PASS("F 2.1", 2385),
    SENT("F 2.1", ST_GROUP_EP, ST_CHAKRA_ALL_TO_ALL, 71),
    SENT("B 2.1", ST_GROUP_EP, ST_CHAKRA_ALL_TO_ALL, 71),
    SENT("reduce x", ST_GROUP_EXPERT_DP, ST_CHAKRA_REDUCE_SCATTER, 4385),
    SENT("gather w", ST_GROUP_DP, ST_CHAKRA_ALL_GATHER, 1001),
    SENT("gather x", ST_GROUP_EXPERT_DP, ST_CHAKRA_ALL_GATHER, 317),
    WORK("optimizer", 9385),
    WORK("nothing", 0),
    {.name = "grad", .type = ST_CHAKRA_RECV, .bytes = 9385, .collective = ST_CHAKRA_ALL_REDUCE},
    WORK("F 0.1", 1200),
};

/*
 * Nanoseconds of a column are rounded where its sum is: weights at 9.385, 10.585 (what is no part
 * of a pass, the last first), 11.985 and 13.485 (layers); forward at 3.4, 5.8, 9.1 and 11.485;
 * gradients of inputs at 4.7, 9.5 and 16.1. What a rank has of a gathered buffer is the sixth part
 * of it, of experts the half.
 */
static const char step_text[] =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 3 pp: 2 vpp: 2 ga: 7 "
    "all_gpus: 24 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 6291\n10\n"
    "F_0.1\t-1\t0\tNONE\t0\t0\tNONE\t0\t2\tNONE\t0\t0\n"
    "optimizer\t-1\t0\tNONE\t0\t0\tNONE\t0\t9\tNONE\t0\t0\n"
    "gather_x\t-1\t0\tNONE\t0\t0\tNONE\t0\t0\tALLGATHER_DP_EP\t634\t0\n"
    "gather_w\t-1\t0\tNONE\t0\t0\tNONE\t0\t0\tALLGATHER\t6006\t0\n"
    "reduce_x\t-1\t0\tNONE\t0\t0\tNONE\t0\t0\tREDUCESCATTER_DP_EP\t4385\t0\n"
    "micro1.chunk1.layer1\t-1\t3\tALLREDUCE\t385\t5\tNONE\t0\t1\tNONE\t0\t0\n"
    "micro1.chunk1.layer1.experts\t-1\t0\tALLTOALL_EP\t238\t0\tALLTOALL_EP\t338\t0\tNONE\t0\t0\n"
    "micro1.chunk1.layer2\t-1\t3\tALLREDUCE\t517\t5\tALLREDUCE\t617\t1\tNONE\t0\t0\n"
    "micro1.chunk2.layer1\t-1\t3\tNONE\t0\t6\tNONE\t0\t0\tNONE\t0\t0\n"
    "micro2.chunk1.layer1\t-1\t2\tALLTOALL_EP\t71\t0\tALLTOALL_EP\t71\t0\tNONE\t0\t0\n";

TEST_OF(passes_become_rows_of_layers, fixture *self, setup, teardown)
{
    assert_int_equal(make(self, step, COUNT(step)), ST_OK);
    assert_string_equal(said(self->errors), "");
    assert_written(self, step_text);
}

/* Names of passes are a letter, a blank and numbers from 1; all else is work at the step's end. */
TEST_WITH(only_names_of_passes_are_passes, setup, teardown)
{
    static const char *const names[] = {"F 0", "F 1.0", "F 1x", "F 1.2y", "Fx1",
                                        "G 1", "",      "F",    "F .1"};
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(names); i++) {
        const st_work_node node = PASS(names[i], 2385);
        assert_int_equal(make(self, &node, 1), ST_OK);
        if (self->simai.count != 1 || self->simai.rows[0].work[ST_SIMAI_WEIGHTS].compute_ns != 2)
            fail_msg("'%s' is read as a pass", names[i]);
    }
    const st_work_node whole = PASS("F 1", 2385);
    assert_int_equal(make(self, &whole, 1), ST_OK);
    assert_string_equal(self->simai.rows[0].name, "micro1.chunk1.layer1");
    assert_int_equal(self->simai.rows[0].work[ST_SIMAI_FORWARD].compute_ns, 2);
}

TEST_WITH(gradients_of_experts_that_are_not_cut_are_those_of_all, setup, teardown)
{
    static const st_work_node nodes[] = {
        SENT("reduce", ST_GROUP_EXPERT_DP, ST_CHAKRA_REDUCE_SCATTER, 4385),
        SENT("gather", ST_GROUP_EXPERT_DP, ST_CHAKRA_ALL_GATHER, 317),
        SENT("sum", ST_GROUP_DP, ST_CHAKRA_ALL_REDUCE, 851),
    };
    fixture *self = *state;
    place(self, &(st_placement_plan){.size = {2, 1, 1, 6, 2}, .gpus_per_node = 8});
    assert_int_equal(make(self, nodes, COUNT(nodes)), ST_OK);
    assert_written(self, "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 2 "
                         "vpp: 2 ga: 7 all_gpus: 24 checkpoints: 0 checkpoint_initiates: 0 "
                         "pp_comm: 0\n3\n"
                         "sum\t-1\t0\tNONE\t0\t0\tNONE\t0\t0\tALLREDUCE\t851\t0\n"
                         "gather\t-1\t0\tNONE\t0\t0\tNONE\t0\t0\tALLGATHER\t1902\t0\n"
                         "reduce\t-1\t0\tNONE\t0\t0\tNONE\t0\t0\tREDUCESCATTER\t4385\t0\n");
}

TEST_WITH(tied_gradients_are_left_out_with_a_warning, setup, teardown)
{
    static const st_work_node nodes[] = {
        SENT("tied", ST_GROUP_EMBEDDING, ST_CHAKRA_ALL_REDUCE, 157300000),
        SENT("tied", ST_GROUP_EMBEDDING, ST_CHAKRA_ALL_REDUCE, 2385000),
        PASS("F 1.1", 2385),
    };
    fixture *self = *state;
    assert_int_equal(make(self, nodes, COUNT(nodes)), ST_OK);
    assert_contains(said(self->errors), "159.7 MB of 'emb' are left out");
    assert_int_equal(self->simai.count, 1);
}

TEST_WITH(what_simai_cannot_hold_is_refused, setup, teardown)
{
    static const struct {
        st_placement_plan plan;
        uint64_t sent_bytes;
        st_status status;
        const char *text;
    } cases[] = {
        {{.size = {2, 3, 1, 4, 2}}, 385, ST_ERR_VALUE, "found cp of 3, expected parallel.cp: 1"},
        {{.size = {2, 1, 3, 6, 2}, .expert_tp = 1},
         385,
         ST_ERR_VALUE,
         "found 4 ranks with the same experts, ep of 3, expected a product of 6"},
        {{.size = {2, 1, 1, 6, 2}, .expert_tp = 1}, 385, ST_OK, ""},
        {{.size = {2, 1, 3, 6, 2}}, INT32_MAX, ST_OK, ""},
        {{.size = {2, 1, 3, 6, 2}},
         UINT64_C(2147483648),
         ST_ERR_LIMIT,
         "found 2147483648 B, expected at most 2147483647 B"},
    };
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_work_node node = {
            .name = "F 1", .type = ST_CHAKRA_SEND, .bytes = cases[i].sent_bytes};
        st_placement_plan plan = cases[i].plan;
        plan.gpus_per_node = 8;
        place(self, &plan);
        assert_int_equal(make(self, &node, 1), cases[i].status);
        assert_contains(said(self->errors), cases[i].text);
    }
}

/* ---- read ---- */

static st_status read_text(fixture *self, const char *text)
{
    const st_source source = {.file = "w.txt", .text = text, .length = strlen(text)};
    return st_simai_read(&source, self->arena, &self->simai, self->errors);
}

TEST_OF(files_come_back_as_they_were_written, fixture *self, setup, teardown)
{
    assert_int_equal(read_text(self, step_text), ST_OK);
    assert_int_equal(self->simai.count, 10);
    assert_int_equal(self->simai.rows[3].work[ST_SIMAI_WEIGHTS].group, ST_GROUP_DP);
    assert_int_equal(self->simai.rows[5].work[ST_SIMAI_FORWARD].group, ST_GROUP_TP);
    assert_int_equal(self->simai.rows[7].work[ST_SIMAI_INPUT].group, ST_GROUP_TP);
    assert_written(self, step_text);
}

#define SIZES                                                                                      \
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 3 pp: 2 vpp: 2 ga: 7 "
#define HEAD  SIZES "all_gpus: 24 pp_comm: 6291\n"
#define SMALL "a -1 17 NONE 0 18 ALLREDUCE 385 19 ALLGATHER_EP 71 23\n"

/* AICB's own: checkpoints with rows, quotients, blank lines, carriage returns, no colon. */
TEST_OF(forms_of_others_are_read, fixture *self, setup, teardown)
{
    assert_int_equal(
        read_text(self, "\n  \r\n" SIZES "all_gpus: 24 checkpoints: 2 5 1 checkpoint_initiates: 1 "
                        "9 pp_comm 6291.0\r\n\n 1 \r\n\n"
                        "a\t-1\t17.0\tNONE\t0\t18\tALLREDUCE\t385.0\t19\tALLGATHER_EP\t71\t23"),
        ST_OK);
    assert_int_equal(self->simai.pp_bytes, 6291);
    assert_int_equal(self->simai.count, 1);
    const st_simai_row *row = &self->simai.rows[0];
    assert_string_equal(row->name, "a");
    assert_int_equal(row->work[0].compute_ns, 17);
    assert_int_equal(row->work[1].bytes, 385);
    assert_int_equal(row->work[2].kind, ST_SIMAI_ALL_GATHER);
    assert_int_equal(row->work[2].group, ST_GROUP_EP);
    assert_int_equal(row->update_ns, 23);
    /* A collective of no bytes is none; numbers up to 2^63 - 1. */
    assert_int_equal(read_text(self, HEAD "1\na -1 9223372036854775807 NONE 0 1 ALLREDUCE 0 1 "
                                          "NONE 0 0\n"),
                     ST_OK);
    assert_int_equal(self->simai.rows[0].work[0].compute_ns, INT64_MAX);
    assert_int_equal(self->simai.rows[0].work[1].kind, ST_SIMAI_NONE);
}

TEST_WITH(faulty_files_are_refused_with_their_place, setup, teardown)
{
    static const struct {
        const char *text;
        const char *said;
    } cases[] = {
        {"", "w.txt:1:1: error: wrong word in a SimAI workload: found the end of the line, "
             "expected HYBRID"},
        {"HYBRID", "w.txt:1:1: error: wrong word in a SimAI workload: found 'HYBRID'"},
        {SIZES "\n1\n", "w.txt:1:86: error: wrong word in a SimAI workload: found the end of the "
                        "line, expected all_gpus:"},
        {SIZES "all_gpus: 0\n", "found '0', expected a whole number, at least 1"},
        {SIZES "all_gpus: 24x\n", "found '24x', expected a whole number"},
        {SIZES "all_gpus: .0\n", "found '.0', expected a whole number"},
        {SIZES "all_gpus: 2147483648\n", "found '2147483648', expected a whole number"},
        {SIZES "all_gpus: 26\n", "found 26 GPUs, tp * pp of 4"},
        {SIZES "ep: 3\n", "w.txt:1:86: error: wrong word in a SimAI workload: found 'ep:', "
                          "expected each size once"},
        {"HYBRID_TRANSFORMER_FWD_IN_BCKWD pp: 1 pp: 1\n", "found 'pp:', expected each size once"},
        {SIZES "ep 3\n", "found 'ep', expected model_parallel_NPU_group:"},
        {SIZES "pp_comm: 2147483648\n", "expected bytes of a transfer, below 2 GiB"},
        {SIZES "checkpoints: 2 5 x\n", "found 'x', expected the number of a row"},
        {SIZES "checkpoints: x 5 x\n", "found 'x', expected how many rows are listed"},
        {HEAD, "w.txt:2:1: error: wrong word in a SimAI workload: found the end of the line, "
               "expected how many rows follow"},
        {HEAD "0\n", "found '0', expected how many rows follow"},
        {HEAD "1 2\n" SMALL, "w.txt:2:3: error: wrong word in a SimAI workload: found '2', "
                             "expected how many rows follow, and nothing else"},
        {HEAD "2\n" SMALL, "rows are missing: found 1, expected 2, by the second line"},
        {HEAD "1\n" SMALL SMALL, "w.txt:4:1: error: wrong word in a SimAI workload: found 'a', "
                                 "expected as many rows"},
        {HEAD "1\na 1 17\n", "w.txt:3:3: error: wrong word in a SimAI workload: found '1', "
                             "expected -1"},
        {HEAD "1\na -1 x\n", "found 'x', expected compute time"},
        {HEAD "1\na -1 9223372036854775808 NONE 0\n", "expected compute time"},
        {HEAD "1\na -1 17 NONE_EP 0\n", "found 'NONE_EP', expected NONE, or ALLREDUCE"},
        {HEAD "1\na -1 17 NONE 385 1\n", "w.txt:3:14: error: wrong word in a SimAI workload: "
                                         "found '385', expected 0 bytes of NONE"},
        {HEAD "1\na -1 17 NONE x\n", "found 'x', expected bytes, a whole number"},
        {HEAD "1\na -1 1 NONE 0 1 NONE 0 1 NONE 0\n", "found the end of the line, expected a "
                                                      "delay"},
        {HEAD "1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1 2\n", "found '2', expected 12 fields"},
        {"a2345678901234567890123456789012345678901234567890",
         "found 'a234567890123456789012345678901234567890', expected"},
    };
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (read_text(self, cases[i].text) != ST_ERR_VALUE)
            fail_msg("not refused: %s", cases[i].text);
        assert_int_equal(st_errors_count(self->errors, ST_SEVERITY_ERROR), 1);
        assert_contains(said(self->errors), cases[i].said);
    }
}

/* ---- added up ---- */

static void assert_form(const st_result *result, st_form form, const char *expected)
{
    static const st_paint plain = {false, 0};
    st_buffer buffer = {0};
    st_result_write(result, form, &plain, &buffer);
    assert_contains(st_buffer_read(&buffer), expected);
    st_buffer_free(&buffer);
}

TEST_OF(reports_add_up_columns_and_messages, fixture *self, setup, teardown)
{
    st_result result;
    assert_int_equal(read_text(self, step_text), ST_OK);
    st_simai_report(&self->simai, self->arena, &result);
    assert_form(&result, ST_FORM_CSV,
                "group,collective,messages,bytes\ntp,ALLREDUCE,3,1519\n"
                "ep,ALLTOALL,4,718\ndp,ALLGATHER,1,6006\n"
                "expert_dp,ALLGATHER,1,634\nexpert_dp,REDUCESCATTER,1,4385\n");
    assert_form(&result, ST_FORM_JSON,
                "\"tp\": 2,\n  \"ep\": 3,\n  \"pp\": 2,\n  \"vpp\": 2,\n  "
                "\"ga\": 7,\n  \"all_gpus\": 24,\n  \"rows\": 10,\n  "
                "\"pp_bytes\": 6291,\n  \"forward_s\": 1.1e-8,\n  "
                "\"input_gradients_s\": 1.6e-8,\n  "
                "\"weight_gradients_s\": 1.3e-8");
    assert_form(&result, ST_FORM_TEXT, "all_gpus            24\n");
    assert_form(&result, ST_FORM_TEXT, "weight_gradients_s  1.3e-08 s\n");
}

TESTS(simai);
