/* SPDX-License-Identifier: Apache-2.0 */
/* Where models of slowdowns take their kernels from, and what is stored of them. */
#include "report_support.h"

#include "overlap-xgboost/fit/overlap_data.h"
#include "steptime/tool/profiles.h"

#include <math.h>

#define HEAD "kernel,isolated_ns,overlapped_ns,overlap_ratio"

static const char *write_table(fixture *own, const char *file, size_t rows)
{
    static const char *const names[] = {"sgemm", "layer_norm_kernel", "reduce_kernel"};
    st_buffer text = {0};
    st_buffer_text(&text, HEAD ",gpu\n");
    for (size_t i = 0; i < rows; i++)
        st_buffer_printf(&text, "%s,%zu,%zu,0.5,%s\n", names[i % 3], 1000 + i, 1200 + 2 * i,
                         i == 0 ? "v100" : "");
    write_text(own, file, text.data);
    st_buffer_free(&text);
    return below(own, file);
}

static st_status read_table(fixture *own, size_t rows, bool to_learn, const char *gpu,
                            st_kernels *kernels)
{
    const st_overlap_source asked = {.gpu = gpu};
    *kernels = (st_kernels){0};
    return st_overlap_read_table(&asked, write_table(own, "kernels.csv", rows), to_learn,
                                 own->arena, kernels, own->errors);
}

/* Twenty kernels are the least to learn from. */
TEST_OF(kernels_to_be_predicted_may_be_few, fixture *own, set_up, tear_down)
{
    st_kernels kernels;
    assert_int_equal(read_table(own, 20, true, NULL, &kernels), ST_OK);
    assert_int_equal(kernels.count, 20);
    assert_int_equal(read_table(own, 19, false, NULL, &kernels), ST_OK);
    assert_int_equal(kernels.count, 19);
    assert_int_not_equal(read_table(own, 19, true, NULL, &kernels), ST_OK);
    assert_contains(said(own), "19 kernels");
}

TEST_OF(a_gpu_is_that_of_kernels_that_do_not_name_it, fixture *own, set_up, tear_down)
{
    st_kernels kernels;
    assert_int_equal(read_table(own, 23, true, "h100", &kernels), ST_OK);
    assert_true(kernels.rows[0].features[ST_FEATURE_GPU] == 0); /* the first that there is, V100 */
    assert_true(kernels.rows[1].features[ST_FEATURE_GPU] == 3);
    assert_int_equal(read_table(own, 23, true, NULL, &kernels), ST_OK);
    assert_true(isnan(kernels.rows[1].features[ST_FEATURE_GPU]));
    assert_int_equal(read_table(own, 23, false, "h101", &kernels), ST_ERR_USAGE);
    assert_contains(said(own), "h101");
}

TEST_OF(tables_that_are_not_there_are_refused, fixture *own, set_up, tear_down)
{
    st_kernels kernels = {0};
    assert_int_equal(st_overlap_read_table(&(st_overlap_source){0}, below(own, "none.csv"), true,
                                           own->arena, &kernels, own->errors),
                     ST_ERR_IO);
    assert_contains(said(own), "cannot read '@/none.csv'");
}

/* ---- pairs ---- */

enum { PAIR_KERNELS = 24 };

/* A trace of 24 kernels that take `length_us` each, one every 10 us; `beside` of them, from the
 * first, run within a collective. */
static const char *write_trace(fixture *own, const char *file, double length_us, size_t beside)
{
    static const char *const names[] = {"sgemm", "layer_norm_kernel", "reduce_kernel"};
    st_buffer text = {0};
    st_buffer_text(&text, "{\"traceEvents\": [");
    for (size_t i = 0; i < PAIR_KERNELS; i++)
        st_buffer_printf(&text,
                         "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, "
                         "\"tid\": 7, \"ts\": %zu, \"dur\": %g, \"args\": {\"device\": 0, "
                         "\"stream\": 7}},",
                         names[i % 3], 10 * (i + 1), length_us);
    st_buffer_printf(&text,
                     "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
                     "\"ncclDevKernel_AllReduce_Sum_f16_RING_LL(int)\", \"pid\": 0, \"tid\": 9, "
                     "\"ts\": %d, \"dur\": %zu, \"args\": {\"device\": 0, \"stream\": 9}}]}",
                     beside > 0 ? 10 : 1000, beside > 0 ? 10 * beside - 1 : 5);
    write_text(own, file, text.data);
    st_buffer_free(&text);
    return below(own, file);
}

TEST_OF(pairs_become_a_table, fixture *own, set_up, tear_down)
{
    const char *recordings[] = {write_trace(own, "alone.json", 4, 0),
                                write_trace(own, "with.json", 6, 17)};
    const st_overlap_source asked = {
        .recordings = recordings, .recording_count = 2, .table = below(own, "made.csv")};
    st_kernels kernels = {0};
    st_kernels again = {0};
    st_pairs_tally tally = {0};
    if (st_overlap_read_pairs(&asked, own->arena, &kernels, &tally, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    assert_int_equal(tally.pairs, 1);
    assert_int_equal(tally.matched, PAIR_KERNELS);
    assert_int_equal(tally.concurrent, 17);
    assert_int_equal(kernels.count, PAIR_KERNELS);
    assert_string_equal(kernels.file, asked.table);
    assert_true(kernels.rows[16].share == 1);
    assert_true(kernels.rows[16].slowdown == 1.5);
    assert_true(kernels.rows[17].share == 0);
    assert_int_equal(st_overlap_read_table(&(st_overlap_source){0}, asked.table, true, own->arena,
                                           &again, own->errors),
                     ST_OK);
    assert_int_equal(again.count, PAIR_KERNELS);
}

TEST_OF(a_table_that_nobody_asked_for_is_named_after_its_pairs, fixture *own, set_up, tear_down)
{
    const char *recordings[] = {
        write_trace(own, "alone.json", 4, 0), write_trace(own, "with.json", 6, 17),
        write_trace(own, "again.json", 5, 0), write_trace(own, "more.json", 6, 11)};
    const st_overlap_source asked = {.recordings = recordings, .recording_count = 4};
    st_kernels kernels = {0};
    st_pairs_tally tally = {0};
    assert_int_equal(st_overlap_read_pairs(&asked, own->arena, &kernels, &tally, own->errors),
                     ST_OK);
    assert_string_equal(kernels.file, "kernels of the pairs");
    assert_int_equal(kernels.count, 2 * PAIR_KERNELS);
    assert_int_equal(tally.pairs, 2);
    assert_int_equal(tally.concurrent, 28);
}

/* Both faulty pairs are told, and nothing is written. */
TEST_OF(faulty_pairs_are_told_at_once, fixture *own, set_up, tear_down)
{
    const char *recordings[] = {write_trace(own, "alone.json", 4, 0), below(own, "first"),
                                below(own, "second"), below(own, "third")};
    st_overlap_source asked = {
        .recordings = recordings, .recording_count = 4, .table = below(own, "made.csv")};
    st_kernels kernels = {0};
    st_pairs_tally tally = {0};
    assert_int_equal(st_overlap_read_pairs(&asked, own->arena, &kernels, &tally, own->errors),
                     ST_ERR_IO);
    const char *messages = said(own);
    assert_contains(messages, "@/first");
    assert_contains(messages, "@/second");
    assert_contains(messages, "@/third");
    assert_int_not_equal(access(asked.table, F_OK), 0);
    asked.recording_count = 3;
    assert_int_equal(st_overlap_read_pairs(&asked, own->arena, &kernels, &tally, own->errors),
                     ST_ERR_USAGE);
    assert_contains(said(own), "--pairs takes two recordings for each pair");
}

TEST_OF(counters_that_are_not_there_are_told, fixture *own, set_up, tear_down)
{
    const char *recordings[] = {write_trace(own, "alone.json", 4, 0),
                                write_trace(own, "with.json", 6, 17)};
    const st_overlap_source asked = {
        .recordings = recordings, .recording_count = 2, .counters = below(own, "counters.csv")};
    st_kernels kernels = {0};
    st_pairs_tally tally = {0};
    assert_int_equal(st_overlap_read_pairs(&asked, own->arena, &kernels, &tally, own->errors),
                     ST_ERR_IO);
    assert_contains(said(own), "@/counters.csv");
    assert_int_equal(tally.pairs, 0);
}

/* ---- profiles ---- */

/* A report of two recipes, of which the second is stored. */
typedef struct made_report {
    st_kernels kernels;
    st_recipe recipes[2];
    st_trials trials;
    st_overlap_report report;
} made_report;

static const st_overlap_report *make_report(made_report *own)
{
    *own = (made_report){.kernels = {.file = "kernels.csv", .count = 97, .faster = 13},
                         .recipes = {{.name = "bag"}, {.name = "deep"}}};
    own->trials = (st_trials){.count = 3, .recipe_count = 2};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < ST_SPLITS; k++) {
            double moved = (double)i + 0.125 * (double)k;
            own->trials.items[i].recipe = i < 2 ? &own->recipes[i] : NULL;
            own->trials.items[i].held_out[k][ST_SLOWDOWN_ALL] =
                (st_slowdown_errors){.count = 97,
                                     .within_5 = 0.5 + moved,
                                     .within_10 = 0.625 + moved,
                                     .within_15 = 0.75 + moved,
                                     .rmse = 0.25 + moved,
                                     .rmse_10us = 0.375 + moved,
                                     .bias = 0.0625 + moved};
        }
    own->report = (st_overlap_report){
        .kernels = &own->kernels, .trials = &own->trials, .recipe = &own->recipes[1]};
    return &own->report;
}

static st_status save(fixture *own, const char *name, const char *cluster, const char *model)
{
    made_report made;
    const st_overlap_profile profile = {.name = name,
                                        .cluster = cluster,
                                        .database = below(own, "profiles.db"),
                                        .date = "2026-11-21",
                                        .model = model};
    return st_overlap_save(&profile, make_report(&made), own->arena, own->errors);
}

static const st_profile *find(fixture *own, const char *name, size_t *count)
{
    st_profiles *profiles = NULL;
    const st_profile *found = NULL;
    const st_profile_filter filter = {.name = name};
    assert_int_equal(
        st_profiles_open(below(own, "profiles.db"), ST_PROFILES_READ, &profiles, own->errors),
        ST_OK);
    assert_int_equal(st_profiles_find(profiles, &filter, own->arena, &found, count, own->errors),
                     ST_OK);
    st_profiles_close(profiles);
    return found;
}

TEST_OF(a_model_is_stored_with_where_it_is_from, fixture *own, set_up, tear_down)
{
    size_t count = 0;
    if (!st_profiles_available())
        return;
    assert_int_equal(save(own, "mine", "site-a", "steptime slowdown 1\nmore"), ST_OK);
    const st_profile *found = find(own, "mine", &count);
    assert_int_equal(count, 1);
    assert_string_equal(found->kind, "model");
    assert_string_equal(found->plugin, "overlap-xgboost");
    assert_string_equal(found->cluster, "site-a");
    assert_int_equal(found->payload_bytes, strlen("steptime slowdown 1\nmore"));
    assert_memory_equal(found->payload, "steptime slowdown 1\nmore", found->payload_bytes);
    static const char *const parts[] = {"\"date\": \"2026-11-21\"",
                                        "\"kernels_of\": \"kernels.csv\"",
                                        "\"kernels\": 97",
                                        "\"faster_with_communication\": 13",
                                        "\"recipe\": \"deep\"",
                                        "\"by_rows_within_5\": 1.5",
                                        "\"by_rows_within_10\": 1.625",
                                        "\"by_rows_within_15\": 1.75",
                                        "\"by_rows_rmse\": 1.25",
                                        "\"by_rows_rmse_10us\": 1.375",
                                        "\"by_rows_bias\": 1.0625",
                                        "\"by_kernel_name_within_5\": 1.625",
                                        "\"by_kernel_name_bias\": 1.1875"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(found->provenance, parts[i]);
    assert_lacks(found->provenance, "0.5,"); /* of the other recipe */
}

/* A model may be stored anew; one of another cluster would be a second one of the name. */
TEST_OF(a_name_has_one_model, fixture *own, set_up, tear_down)
{
    size_t count = 0;
    if (!st_profiles_available())
        return;
    assert_int_equal(save(own, "mine", NULL, "first"), ST_OK);
    assert_int_equal(save(own, "mine", NULL, "second"), ST_OK);
    assert_int_equal(save(own, "mine", "site-b", "third"), ST_ERR_NAME);
    assert_contains(said(own), "profile 'mine' already has a model, of cluster ''");
    assert_int_equal(save(own, "other", "site-b", "fourth"), ST_OK);
    const st_profile *found = find(own, "mine", &count);
    assert_int_equal(count, 1);
    assert_string_equal(found->cluster, "");
    assert_int_equal(found->payload_bytes, 6);
    assert_memory_equal(found->payload, "second", 6);
}

TESTS(overlap_data);
