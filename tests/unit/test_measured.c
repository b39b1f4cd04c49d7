/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of measured rows: where each value of a row comes from, what is refused, what is left out
 * and why, and rows under an order of ranks against the estimate of the same job.
 */
#include "fit_support.h"

#include "fit/steps/accuracy.h"

#define HEAD "id,layers,global_batch,dp,target_iter_s\n"

/* ---- values ---- */

TEST_WITH(columns_give_the_inputs, set_up, tear_down)
{
    st_measured_request request = toy_request(*state);
    const st_measured *measured =
        good_rows(*state, &request, HEAD "r1,23,96,4,2.5\nr2,31,120,5,3.25\n", NULL);
    assert_int_equal(measured->row_count, 2);
    assert_string_equal(measured->name, "table.csv");
    assert_string_equal(measured->rows[1].id, "r2");
    near_to(measured->rows[0].estimate, toy_time(23, 96, 4, toy_work_s, toy_start_s), 1e-14);
    near_to(measured->rows[1].estimate, toy_time(31, 120, 5, toy_work_s, toy_start_s), 1e-14);
    near_to(measured->rows[1].measured, 3.25, 1e-15);
    near_to(measured->rows[1].error, measured->rows[1].estimate / 3.25 - 1, 1e-13);
    assert_int_equal(measured->note_count, 1);
    assert_string_equal(measured->notes[0],
                        "parallel.virtual_stages is 1 where column vp is blank");
    assert_int_equal(measured->note_rows[0], 2);
}

TEST_WITH(assignments_win_over_columns, set_up, tear_down)
{
    const char *const sets[] = {"parallel.dp=8", "constants.start=0.7 s"};
    st_measured_request request = toy_request(*state);
    request.sets = sets;
    request.set_count = 2;
    const st_measured *measured = good_rows(*state, &request, HEAD "r1,23,96,4,2.5\n", NULL);
    near_to(measured->rows[0].estimate, toy_time(23, 96, 8, toy_work_s, 0.7), 1e-14);
}

TEST_WITH(keys_may_be_columns, set_up, tear_down)
{
    st_measured_request request = toy_request(*state);
    const st_measured *measured =
        good_rows(*state, &request,
                  "model.layers,batch.global,parallel.dp,constants.work,measured.step_time\n"
                  "23,96,4,5.5 ms,2385 ms\n",
                  NULL);
    near_to(measured->rows[0].estimate, toy_time(23, 96, 4, 5.5e-3, toy_start_s), 1e-14);
    near_to(measured->rows[0].measured, 2.385, 1e-15);
    assert_string_equal(measured->rows[0].id, "row-1");
}

TEST_OF(a_file_of_constants_counts, fixture *own, set_up, tear_down)
{
    st_measured_request request = toy_request(own);
    write_text(own, "mine.yaml", "doc: d\nsource: s\nwork: 6.25 ms\nfit:\n  rows: [r2, r9]\n");
    request.constants = below(own, "mine.yaml");
    st_measured *measured =
        good_rows(own, &request, HEAD "r1,23,96,4,2.5\nr2,31,120,5,3.25\n", NULL);
    near_to(measured->rows[0].estimate, toy_time(23, 96, 4, 6.25e-3, toy_start_s), 1e-14);
    assert_int_equal(
        st_measured_mark_fitted(measured, own->paths, request.constants, own->arena, own->errors),
        ST_OK);
    assert_false(measured->rows[0].fitted);
    assert_true(measured->rows[1].fitted);
}

TEST_WITH(rows_can_be_chosen, set_up, tear_down)
{
    st_measured_request request = toy_request(*state);
    static const char table[] = HEAD "r1,23,96,4,2.5\nr2,31,120,5,3.25\nr3,17,90,3,1.75\n"
                                     "r4,11,66,2,1.5\n";
    assert_int_equal(good_rows(*state, &request, table, "id=r2|r4")->row_count, 2);
    assert_int_equal(good_rows(*state, &request, table, "id!=r2,dp!=4")->row_count, 2);
    assert_string_equal(good_rows(*state, &request, table, "1::2")->rows[1].id, "r4");
    st_measured *sets = NULL;
    size_t count = 0;
    assert_int_not_equal(read_rows(*state, &request, table, "idd=r2", &sets, &count), ST_OK);
    assert_non_null(strstr(said(*state), "idd"));
}

/* ---- left out ---- */

static void expect_left_out(fixture *own, const st_measured_request *request, const char *table,
                            const char *why)
{
    const st_measured *measured = good_rows(own, request, table, NULL);
    assert_non_null(measured->rows[0].left_out);
    assert_string_equal(measured->rows[0].left_out, why);
}

TEST_WITH(rows_without_a_value_are_left_out, set_up, tear_down)
{
    st_measured_request request = toy_request(*state);
    expect_left_out(*state, &request, HEAD "r1,,96,4,2.5\n",
                    "no value for model.layers (column layers)");
    expect_left_out(*state, &request, HEAD "r1,23,96,4,\n", "nothing was measured");
    expect_left_out(*state, &request, HEAD "r1,23,3,4,2.5\n", "the batch is too small");
    expect_left_out(*state, &request,
                    "id,layers,global_batch,dp,gpu,target_iter_s\n"
                    "r1,23,96,4,Zebra X9,2.5\n",
                    "no file for the GPU 'Zebra X9'");
    expect_left_out(*state, &request,
                    "id,layers,global_batch,dp,split,target_iter_s\n"
                    "r1,23,96,4,extra,2.5\n",
                    "the table's own 'split' is extra: only for ratios");
}

TEST_WITH(reasons_are_counted, set_up, tear_down)
{
    st_measured_request request = toy_request(*state);
    st_accuracy accuracy;
    fixture *own = *state;
    const st_measured *measured = good_rows(
        own, &request, HEAD "r1,,96,4,2.5\nr2,23,96,4,\nr3,,96,4,2.5\nr4,23,96,4,2.5\n", NULL);
    assert_int_equal(st_accuracy_of(measured, own->arena, &accuracy), ST_OK);
    assert_int_equal(accuracy.compared, 1);
    assert_int_equal(accuracy.reason_count, 2);
    assert_int_equal(accuracy.reasons[0].rows, 2);
    assert_string_equal(accuracy.reasons[1].text, "nothing was measured");
    assert_int_equal(accuracy.groups[0].summary.count, 1);
    near_to(accuracy.groups[0].summary.bias, measured->rows[3].error, 1e-14);
}

/* ---- refused ---- */

/* One row is left out, with these words in a warning. */
static void expect_row_left_out(fixture *own, const st_measured_request *request, const char *table,
                                const char *words)
{
    const st_measured *measured = good_rows(own, request, table, NULL);
    assert_non_null(measured->rows[0].left_out);
    const char *messages = said(own);
    if (strstr(messages, words) == NULL)
        fail_msg("expected '%s' in:\n%s", words, messages);
}

TEST_WITH(wrong_fields_leave_out_their_rows, set_up, tear_down)
{
    st_measured_request request = toy_request(*state);
    expect_row_left_out(*state, &request, HEAD "r1,23,96,4,-2.5\n",
                        "table.csv:2:12: warning: row r1 is left out: column target_iter_s: found "
                        "'-2.5', expected a number of s "
                        "above 0");
    expect_row_left_out(*state, &request, HEAD "r1,23,96,4,0\n", "above 0");
    expect_row_left_out(*state, &request, HEAD "r1,23,96,4,nan\n", "found 'nan'");
    expect_row_left_out(*state, &request, HEAD "r1,23,96,4,inf\n", "found 'inf'");
    expect_row_left_out(*state, &request, HEAD "r1,23,96,4,1e999\n", "found '1e999'");
    expect_row_left_out(*state, &request, HEAD "r1,23,96,4,2.5 s\n", "found '2.5 s'");
    expect_row_left_out(*state, &request, HEAD "r1,many,96,4,2.5\n",
                        "table.csv:2:4: warning: row r1");
    expect_row_left_out(*state, &request, HEAD "r1,23.5,96,4,2.5\n",
                        "found '23.5', expected a whole number");
    expect_row_left_out(*state, &request, HEAD "r1,23,96,0,2.5\n",
                        "found '0', expected a whole number");
    expect_row_left_out(*state, &request,
                        "layers,global_batch,dp,measured.step_time\n23,96,4,2.5 GB\n",
                        "expected a quantity in s above 0");
    expect_row_left_out(*state, &request,
                        "layers,global_batch,dp,measured.step_time\n23,96,4,-2.5 s\n", "above 0");
}

TEST_WITH(every_row_with_a_wrong_field_is_told, set_up, tear_down)
{
    st_measured_request request = toy_request(*state);
    const st_measured *measured = good_rows(*state, &request,
                                            HEAD "r1,23,96,4,-2.5\nr2,x,96,4,2.5\n"
                                                 "r3,23,96,y,2.385\nr4,23,96,4,2.385\n",
                                            NULL);
    const char *messages = said(*state);
    assert_non_null(strstr(messages, ":2:12:"));
    assert_non_null(strstr(messages, ":3:4:"));
    assert_non_null(strstr(messages, ":4:10:"));
    assert_non_null(strstr(measured->rows[1].left_out, "found 'x'"));
    assert_null(measured->rows[3].left_out);
}

TEST_WITH(columns_that_contradict_each_other_leave_out_their_row, set_up, tear_down)
{
    st_measured_request request = toy_request(*state);
    const st_measured *measured =
        good_rows(*state, &request,
                  "id,layers,global_batch,dp,gpus,seq,target_iter_s,iter_time_s,"
                  "tokens_per_s_per_gpu\n"
                  "r1,23,96,4,4,2048,2.385,2.385,20609\n"
                  "r2,23,96,4,4,2048,2.385,4.385,\n"
                  "r3,23,96,4,4,2048,2.385,,30609\n"
                  "r4,23,96,4,4,2048,2.385,,19609\n",
                  NULL);
    const char *messages = said(*state);
    assert_null(measured->rows[0].left_out);
    assert_string_equal(measured->rows[1].left_out, "iter_time_s contradicts the measured step");
    assert_string_equal(measured->rows[2].left_out,
                        "tokens_per_s_per_gpu contradicts the measured step");
    assert_null(measured->rows[3].left_out);
    assert_non_null(strstr(messages, "table.csv:3:25: warning: row r2 is left out"));
    assert_non_null(strstr(messages, "30609, which is a step of 1.60"));
}

TEST_WITH(wrong_files_are_refused, set_up, tear_down)
{
    st_measured_request request = toy_request(*state);
    refuse_rows(*state, &request, "", "error:");
    refuse_rows(*state, &request, "\xef\xbb\xbf" HEAD "r1,23,96,4,2.5\n", "byte order mark");
    refuse_rows(*state, &request, "id,layers,layers,target_iter_s\nr1,23,23,2.5\n", "'layers'");
    refuse_rows(*state, &request, HEAD, "the table has a header but no rows");
    refuse_rows(*state, &request, HEAD "r1,23,96,4\n", "table.csv:2");
    refuse_rows(*state, &request, HEAD "r1,23,96,4,2.5,7\n", "table.csv:2");
    refuse_rows(*state, &request, "id,layers,global_batch,dp\nr1,23,96,4\n",
                "no column with measurements: expected target_iter_s");
    refuse_rows(*state, &request, HEAD "\"r1,23,96,4,2.5\n", "quote");
    refuse_rows(*state, &request, HEAD "r\xff,23,96,4,2.5\n", "UTF-8");
    refuse_rows(*state, &request, "PAR1\0\1\2", "error:");
}

TEST_WITH(wrong_requests_are_refused, set_up, tear_down)
{
    const char *const sets[] = {"parallel.dp=many"};
    fixture *own = *state;
    st_measured_request request = toy_request(own);
    request.sets = sets;
    request.set_count = 1;
    st_measured *rows = NULL;
    size_t count = 0;
    assert_int_not_equal(
        read_rows(own, &request, HEAD "r1,23,96,4,2.5\nr2,23,96,4,2.5\n", NULL, &rows, &count),
        ST_OK);
    const char *messages = said(own);
    const char *first = strstr(messages, "found 'many'");
    assert_non_null(first);
    assert_null(strstr(first + 1, "found 'many'")); /* once, whatever the rows */
    request.set_count = 0;
    request.constants = "nosuch";
    refuse_rows(own, &request, HEAD "r1,23,96,4,2.5\n", "cannot find file of constants 'nosuch'");
    request.constants = NULL;
    request.sheet = "nosuch";
    refuse_rows(own, &request, HEAD "r1,23,96,4,2.5\n", "nosuch");
    request.sheet = "li2024";
    refuse_rows(own, &request, "id,layers,global_batch,dp,peak_memory_gib\nr1,23,96,4,2.5\n",
                "sheet 'li2024' lacks role 'memory', which a measured value is compared with");
}

/* ---- sources ---- */

#define SOURCE                                                                                     \
    "source: lab\n"                                                                                \
    "title: Runs of a laboratory\n"                                                                \
    "cite: lab2024\n"                                                                              \
    "match: {id: lab-*}\n"                                                                         \
    "assume:\n"                                                                                    \
    "  - fill: {parallel.dp: 6}\n"                                                                 \
    "    why: the usual number\n"                                                                  \
    "  - set: {model.layers: = layers + 2}\n"                                                      \
    "    why: two more than the table counts\n"                                                    \
    "  - set: {constants.start: 0.9 s}\n"                                                          \
    "    if: {notes: slow*}\n"                                                                     \
    "    why: a slow start\n"                                                                      \
    "skip:\n"                                                                                      \
    "  - {if: {notes: broken}, why: the run was broken}\n"                                         \
    "  - {that: layers*dp > 150, why: larger than the laboratory}\n"                               \
    "groups:\n"                                                                                    \
    "  - {name: slow ones, if: {notes: slow*}}\n"

TEST_OF(sources_complete_their_rows, fixture *own, set_up, tear_down)
{
    st_measured_request request = toy_request(own);
    write_text(own, "validation/lab/table.yaml", SOURCE);
    st_table_source *source = st_arena_alloc(own->arena, 1, sizeof *source);
    if (st_table_source_load(own->paths, below(own, "validation/lab/table.yaml"), own->arena,
                             source, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    request.sources = source;
    request.source_count = 1;
    st_measured *sets = NULL;
    size_t count = 0;
    st_status status =
        read_rows(own, &request,
                  "id,layers,global_batch,dp,notes,target_iter_s\nlab-1,23,96,,,2.5\n"
                  "other,23,96,4,,2.5\nlab-2,23,96,4,slow disk,2.5\nlab-3,23,96,4,broken,2.5\n"
                  "lab-4,50,96,3,,2.5\nlab-5,51,96,3,,2.5\nlab-6,51,96,,,2.5\n",
                  NULL, &sets, &count);
    if (status != ST_OK)
        fail_msg("%s", said(own));
    assert_int_equal(count, 2);
    assert_string_equal(sets[0].name, "lab");
    assert_int_equal(sets[0].row_count, 6);
    assert_null(sets[0].rows[3].left_out); /* 150 is not above 150 */
    assert_string_equal(sets[0].rows[4].left_out, "larger than the laboratory");
    assert_null(sets[0].rows[5].left_out); /* of a blank field nothing holds */
    near_to(sets[0].rows[0].estimate, toy_time(25, 96, 6, toy_work_s, toy_start_s), 1e-14);
    near_to(sets[0].rows[1].estimate, toy_time(25, 96, 4, toy_work_s, 0.9), 1e-14);
    assert_string_equal(sets[0].rows[2].left_out, "the run was broken");
    near_to(sets[1].rows[0].estimate, toy_time(23, 96, 4, toy_work_s, toy_start_s), 1e-14);
    st_accuracy accuracy;
    assert_int_equal(st_accuracy_of(&sets[0], own->arena, &accuracy), ST_OK);
    assert_int_equal(accuracy.group_count, 2);
    assert_string_equal(accuracy.groups[1].name, "slow ones");
    assert_int_equal(accuracy.groups[1].summary.count, 1);
}

/* ---- the order of ranks ---- */

#define PLAN_HEAD                                                                                  \
    "id,layers,hidden,heads,ffn,vocab,seq,micro_batch,global_batch,recompute,dtype,tp,pp,dp,cp,"   \
    "gpu,gpus,gpus_per_node,order,target_iter_s\n"
#define PLAN "22,3072,24,12288,50257,2048,1,384,selective,bf16,4,2,6,1,A100-80GB-SXM,48,8,"

static double job_time(fixture *own, const char *order)
{
    write_text(own, "job.yaml",
               "stack: plain\n"
               "model: {name: m, layers: 22, hidden: 3072, heads: 24, ffn: 12288, "
               "vocabulary: 50257}\n"
               "batch: {sequence: 2048, micro: 1, global: 384}\n"
               "recompute: selective\n"
               "parallel: {tp: 4, pp: 2, dp: 6, cp: 1}\n"
               "cluster: {base: dgx-a100, nodes: 6}\n"
               "measured: {step_time: 2.385 s}\n");
    const char *set = st_arena_printf(own->arena, "parallel.order=%s", order);
    const st_measured_request request = {
        .paths = own->paths, .sets = &set, .set_count = order[0] != '\0' ? 1 : 0};
    st_measured measured = {0};
    if (st_measured_job(&request, below(own, "job.yaml"), own->arena, &measured, own->errors) !=
            ST_OK ||
        st_measured_run(&measured, own->arena, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    near_to(measured.rows[0].measured, 2.385, 1e-15);
    return measured.rows[0].estimate;
}

TEST_WITH(rows_have_orders_of_their_own, set_up, tear_down)
{
    static const char *const sets[] = {"cluster=dgx-a100", "cluster.nodes=6", "stack=plain"};
    static const char *const orders[] = {"", "dp-tp-pp", "pp-dp-tp", "tp-dp-pp"};
    fixture *own = *state;
    const st_measured_request request = {.paths = own->paths, .sets = sets, .set_count = 3};
    const st_measured *measured =
        good_rows(own, &request,
                  PLAN_HEAD "a," PLAN ",3.1\nb," PLAN "dp-tp-pp,3.1\nc," PLAN "pp-dp-tp,3.1\n"
                            "d," PLAN "tp-dp-pp,3.1\ne," PLAN "dp-tp,3.1\nf," PLAN "dp-tpp,3.1\n",
                  NULL);
    for (size_t i = 0; i < 4; i++)
        near_to(measured->rows[i].estimate, job_time(own, orders[i]), 1e-14);
    assert_true(measured->rows[1].estimate > 1.2 * measured->rows[0].estimate);
    assert_string_equal(measured->rows[4].left_out, "order 'dp-tp' omits 'pp' (2 ranks)");
    assert_non_null(strstr(measured->rows[5].left_out, "'tpp'"));
    assert_int_equal(measured->variant_count, 4);
}

TEST_WITH(an_assigned_order_holds_for_all_rows, set_up, tear_down)
{
    static const char *const sets[] = {"cluster=dgx-a100", "cluster.nodes=6",
                                       "parallel.order=dp-tp-pp", "stack=plain"};
    fixture *own = *state;
    st_measured_request request = {.paths = own->paths, .sets = sets, .set_count = 4};
    const st_measured *measured =
        good_rows(own, &request, PLAN_HEAD "a," PLAN ",3.1\nb," PLAN "pp-dp-tp,3.1\n", NULL);
    double expected = job_time(own, "dp-tp-pp");
    near_to(measured->rows[0].estimate, expected, 1e-14);
    near_to(measured->rows[1].estimate, expected, 1e-14);
}

TESTS(measured);
