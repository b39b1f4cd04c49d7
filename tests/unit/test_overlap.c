/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of kernels concurrently with communication, boosted trees, and how good their predictions
 * are. */
#include "base_support.h"
#include "../support/fixture.h"

#include "base/fields.h"
#include "overlap-xgboost/fit/overlap_report.h"
#include "fit/trees/shuffle.h"

#include "../../plugins/gpus.h"

#include <stdio.h>

FIXTURE(st_trees_library *library;, st_trees_close(own->library););

static bool has_library(fixture *own)
{
    if (st_trees_open(&own->library, own->errors) == ST_OK) {
        return true;
    }
    print_message("[ SKIPPED  ] %s\n", said(own->errors));
    return false;
}

static const char head[] =
    "kernel,isolated_ns,overlapped_ns,overlap_ratio,Compute throughput,Memory throughput,"
    "DRAM throughput,Achieved occupancy,L1 hit rate,L2 hit rate";

/* A row whose slowdown is a rule: memory-bound kernels are slowed by 1 + memory/200. */
static void put_row(st_buffer *text, st_dice *dice, const char *kernel, double noise)
{
    double memory = 5 + (double)(st_dice_next(dice) % 9000) / 100;
    double isolated_ns = 20000 + (double)(st_dice_next(dice) % 900000);
    double share = 0.2 + (double)(st_dice_next(dice) % 800) / 1000;
    double shake = 1 + noise * ((double)(st_dice_next(dice) % 2001) / 1000 - 1);
    double slowdown = 1 + memory / 200;
    st_buffer_printf(text, "%s,%.1f,%.3f,%.4f,%.2f,%.2f,%.2f,77.4,31.9,62.3\n", kernel, isolated_ns,
                     isolated_ns * (1 - share + share * slowdown) * shake, share, 90 - memory / 2,
                     memory, memory * 0.93);
}

static void make_table(st_buffer *text, size_t rows, double noise)
{
    static const char *const kernels[] = {
        "ampere_sgemm_128x32_tn", "layer_norm_grad_kernel", "vectorized_elementwise_kernel<add>",
        "reduce_kernel<512>",     "fmha_cutlassB_f32",      "vectorized_elementwise_kernel<mul>"};
    st_dice dice = st_dice_of(2385);
    st_buffer_printf(text, "%s\n", head);
    for (size_t i = 0; i < rows; i++) {
        put_row(text, &dice, kernels[i % COUNT(kernels)], noise);
    }
}

static st_status read_text(fixture *own, const char *text, st_kernels *kernels)
{
    const st_csv *csv = NULL;
    st_status status =
        st_csv_parse("kernels.csv", text, strlen(text), own->arena, &csv, own->errors);
    status = status == ST_OK ? st_kernels_read(csv, own->arena, kernels, own->errors) : status;
    return status == ST_OK ? st_kernels_check(kernels, own->errors) : status;
}

/* ---- tables ---- */

TEST_WITH(names_tell_the_class, set_up, tear_down)
{
    static const struct {
        const char *name;
        st_kernel_class class;
    } known[] = {
        {"ampere_sgemm_128x64_tn", ST_KERNEL_GEMM},
        {"fmha_cutlassB_f32_aligned_64x64_k64_dropout_sm80", ST_KERNEL_ATTENTION},
        {"void flash_fwd_kernel<...>", ST_KERNEL_ATTENTION},
        {"layer_norm_grad_input_kernel_vectorized", ST_KERNEL_NORM},
        {"GammaBetaBackwardCUDAKernel_32x32", ST_KERNEL_NORM},
        {"vectorized_elementwise_kernel", ST_KERNEL_ELEMENTWISE},
        {"reduce_kernel", ST_KERNEL_REDUCTION},
        {"CatArrayBatchedCopy_aligned16_contig", ST_KERNEL_COPY},
        {"DeviceRadixSortOnesweepKernel", ST_KERNEL_OTHER},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        assert_int_equal(st_kernel_class_of(known[i].name), known[i].class);
    }
}

TEST_OF(rows_are_read, fixture *own, set_up, tear_down)
{
    st_kernels kernels = {0};
    st_buffer text = {0};
    make_table(&text, 30, 0);
    st_buffer_text(&text, "gemm_of_mine,2385.5,4119.3,0.75,81.5,17.4,12.1,44.2,3.5,100.9\n");
    assert_int_equal(read_text(own, text.data, &kernels), ST_OK);
    assert_int_equal(kernels.count, 31);
    const st_kernel *last = &kernels.rows[30];
    assert_string_equal(last->name, "gemm_of_mine");
    assert_int_equal(last->class, ST_KERNEL_GEMM);
    assert_true(fabs(last->slowdown - (4119.3 / 2385.5 - 0.25) / 0.75) < 1e-12);
    assert_true(last->features[ST_FEATURE_L2] == 100.9f);
    assert_true(isnan(last->features[ST_FEATURE_BYTES]));
    assert_true(last->features[ST_FEATURE_CLASS + ST_KERNEL_GEMM] == 1);
    for (size_t i = 0; i < 30; i++) {
        double memory = (double)kernels.rows[i].features[ST_FEATURE_MEMORY];
        assert_true(fabs(kernels.rows[i].slowdown - (1 + memory / 200)) < 1e-3);
    }
    st_buffer_free(&text);
}

TEST_OF(collectives_are_features_where_the_table_has_them, fixture *own, set_up, tear_down)
{
    st_kernels kernels = {0};
    st_buffer text = {0};
    st_buffer_printf(&text, "%s,protocol,algorithm,collective,bytes,channels,gpu,class\n", head);
    for (int i = 0; i < 24; i++) {
        st_buffer_printf(&text,
                         "k%d,2385,2500,0.9,1,2,3,4,5,6,%s,ring,ALL_REDUCE,26214400,16,A100,%s\n",
                         i, i % 2 ? "LL128" : "", i % 3 ? "gemm" : "norm");
    }
    assert_int_equal(read_text(own, text.data, &kernels), ST_OK);
    assert_true(isnan(kernels.rows[0].features[ST_FEATURE_PROTOCOL]));
    assert_true(kernels.rows[1].features[ST_FEATURE_PROTOCOL] == 1);
    assert_true(kernels.rows[1].features[ST_FEATURE_COLLECTIVE] == 0);
    assert_true(fabs((double)kernels.rows[1].features[ST_FEATURE_BYTES] - log(26214400)) < 1e-5);
    assert_true(kernels.rows[1].features[ST_FEATURE_GPU] == 1);
    assert_int_equal(kernels.rows[1].class, ST_KERNEL_GEMM);
    st_buffer_free(&text);
}

/* Echo's Table 4, Nsight's details page and units in headings. */
TEST_OF(headings_are_read_as_people_spell_them, fixture *own, set_up, tear_down)
{
    st_kernels kernels = {0};
    st_buffer text = {0};
    st_buffer_text(&text,
                   "Kernel Type,L2 Hit Rate [%],Protocol,Algorithm,Collective,Bucket size,"
                   "Channel number,Running time (us),Compute (SM) Throughput,MEMORY_THROUGHPUT,"
                   "DRAM throughput,Achieved Occupancy,L1/TEX Hit Rate,overlapped_ms,"
                   "Overlap Ratio,Kernel Name,GPU type,Notes\n");
    for (int i = 0; i < 24; i++) {
        st_buffer_printf(&text,
                         "%s,63.85,Simple,RING,ncclDevKernel_AllReduce_Sum_f32,26214400,24,23.85,"
                         "1.5,2.5,3.5,4.5,5.5,0.03385,0.9,k%d,NVIDIA A100-SXM4-80GB,x\n",
                         i % 2 ? "gemm" : "norm", i);
    }
    assert_int_equal(read_text(own, text.data, &kernels), ST_OK);
    const st_kernel *row = &kernels.rows[5];
    assert_true(fabs(row->isolated_ns - 23850) < 1e-9);
    assert_true(fabs(row->overlapped_ns - 33850) < 1e-9);
    assert_int_equal(row->class, ST_KERNEL_GEMM);
    static const struct {
        st_feature feature;
        float value;
    } known[] = {
        {ST_FEATURE_COMPUTE, 1.5f},   {ST_FEATURE_MEMORY, 2.5f}, {ST_FEATURE_DRAM, 3.5f},
        {ST_FEATURE_OCCUPANCY, 4.5f}, {ST_FEATURE_L1, 5.5f},     {ST_FEATURE_L2, 63.85f},
        {ST_FEATURE_PROTOCOL, 2},     {ST_FEATURE_ALGORITHM, 0}, {ST_FEATURE_COLLECTIVE, 0},
        {ST_FEATURE_CHANNELS, 24},    {ST_FEATURE_GPU, 1}};
    for (size_t i = 0; i < COUNT(known); i++) {
        assert_true(row->features[known[i].feature] == known[i].value);
    }
    assert_true(fabs((double)row->features[ST_FEATURE_BYTES] - log(26214400)) < 1e-5);
    assert_int_equal(kernels.unused_count, 1);
    assert_string_equal(kernels.unused[0], "Notes");
    st_buffer_free(&text);
}

TEST_WITH(units_that_are_not_known_are_no_times, set_up, tear_down)
{
    static const char *const headings[] = {"isolated_min", "Running time [GB]",
                                           "isolated_\xd0\xbcs"};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(headings); i++) {
        st_kernels kernels = {0};
        st_buffer text = {0};
        st_buffer_printf(&text, "kernel,%s,overlapped_ns,overlap_ratio\nk,2385,2500,0.5\n",
                         headings[i]);
        assert_int_not_equal(read_text(own, text.data, &kernels), ST_OK);
        assert_non_null(strstr(said(own->errors), "no column 'isolated_ns'"));
        st_errors_clear(own->errors);
        st_buffer_free(&text);
    }
}

TEST_OF(tests_lack_nothing_that_was_learnt_from, fixture *own, set_up, tear_down)
{
    st_kernels learnt = {0};
    st_kernels test = {0};
    const st_csv *csv = NULL;
    st_buffer text = {0};
    make_table(&text, 30, 0);
    assert_int_equal(read_text(own, text.data, &learnt), ST_OK);
    static const char few[] =
        "kernel,isolated_ns,overlapped_ns,overlap_ratio\ngemm,2385,2500,0.9\n";
    assert_int_equal(st_csv_parse("few.csv", few, strlen(few), own->arena, &csv, own->errors),
                     ST_OK);
    assert_int_equal(st_kernels_read(csv, own->arena, &test, own->errors), ST_OK);
    assert_int_equal(test.count, 1);
    assert_int_not_equal(st_kernels_check_like(&test, &learnt, own->errors), ST_OK);
    assert_non_null(
        strstr(said(own->errors),
               "few.csv: error: no kernel has a 'memory throughput', unlike all in kernels.csv"));
    assert_null(strstr(said(own->errors), "L2 hit rate")); /* the same in all */
    assert_int_equal(st_kernels_check_like(&learnt, &test, own->errors), ST_OK);
    st_errors_clear(own->errors);
    st_buffer_free(&text);
}

/* Plugins find the GPU of a job by its rates and compare it with those of stored models. */
TEST(plugins_number_gpus_as_tables_do)
{
    static const struct {
        const char *name;
        double rates[3];
    } jobs[] = {{"a100", {312e12, 1555e9, 300e9}},
                {"a100", {312e12, 2039e9, (double)NAN}},
                {"a800", {312e12, 2039e9, 200e9}},
                {"h800", {989.4e12, 3350e9, 200e9}},
                {"h100", {989.4e12, (double)NAN, (double)NAN}},
                {"rtx3090", {71e12, 936e9, 31.5e9}},
                {"gh200", {989.4e12, 4000e9, 450e9}}};
    for (size_t i = 0; i < GPU_COUNT; i++) {
        assert_int_equal(st_word_index(gpu_names[i], ST_KERNEL_GPUS, false), i);
    }
    for (size_t i = 0; i < COUNT(jobs); i++) {
        int gpu = gpu_of_rates(jobs[i].rates[0], jobs[i].rates[1], jobs[i].rates[2]);
        assert_true(gpu >= 0);
        assert_string_equal(gpu_names[gpu], jobs[i].name);
    }
    assert_int_equal(gpu_of_rates(238.5e12, 2039e9, 300e9), GPU_UNKNOWN);
    assert_int_equal(gpu_of_rates(312e12, 2385e9, 300e9), GPU_UNKNOWN);
    assert_int_equal(gpu_of_rates((double)NAN, 2039e9, 300e9), GPU_UNKNOWN);
    assert_int_equal(st_word_index("NVIDIA GeForce RTX 3090", ST_KERNEL_GPUS, true), 7);
    assert_int_equal(st_word_index("NVIDIA GH200 480GB", ST_KERNEL_GPUS, true), 14);
    assert_int_equal(st_word_index("Quadro", ST_KERNEL_GPUS, true), SIZE_MAX);
}

typedef struct table_fault {
    size_t rows; /* good ones in front */
    const char *line;
    const char *says;
} table_fault;

TEST_WITH(faulty_tables_are_refused, set_up, tear_down)
{
    static const table_fault faults[] = {
        {9, NULL, "9 kernels are too few to learn from"},
        {30, "gemm,nan,2385,0.5,1,2,3,4,5,6\n", "column isolated_ns: found 'nan'"},
        {30, "gemm,2385,,0.5,1,2,3,4,5,6\n", "column overlapped_ns: found ''"},
        {30, "gemm,-7,2385,0.5,1,2,3,4,5,6\n",
         "column isolated_ns: found '-7', expected a number from 0.001"},
        {30, "gemm,2385,2400,1.5,1,2,3,4,5,6\n",
         "column overlap_ratio: found '1.5', expected a number from 0 to 1"},
        {30, "gemm,2385,2400,0.5,1,2,3,4,5,inf\n", "column L2 hit rate: found 'inf'"},
        {30, "gemm,2385,2400,0.5,1,2,x,4,5,-6\n", "column DRAM throughput: found 'x'"},
        {30, "gemm,2385,2400,0.5,1,2,x,4,5,-6\n",
         "column L2 hit rate: found '-6', expected a number from 0 to 200"},
        {30, ",2385,2400,0.5,1,2,3,4,5,6\n",
         "column kernel: found '', expected the name of a kernel"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        st_kernels kernels = {0};
        st_buffer text = {0};
        make_table(&text, faults[i].rows, 0);
        st_buffer_text(&text, faults[i].line != NULL ? faults[i].line : "");
        assert_int_not_equal(read_text(own, text.data, &kernels), ST_OK);
        const char *message = said(own->errors);
        if (strstr(message, faults[i].says) == NULL) {
            fail_msg("'%s' expected, not '%s'", faults[i].says, message);
        }
        st_errors_clear(own->errors);
        st_buffer_free(&text);
    }
}

TEST_OF(missing_columns_and_lone_classes_are_refused, fixture *own, set_up, tear_down)
{
    st_kernels kernels = {0};
    assert_int_not_equal(
        read_text(own, "kernel,isolated_ns,overlap_ratio,L1 hit rate\nk,1,0.5,7\n", &kernels),
        ST_OK);
    const char *message = said(own->errors);
    assert_non_null(strstr(message, "kernels.csv:1:1: error: no column 'overlapped_ns'"));
    assert_non_null(strstr(message, "no column 'DRAM throughput'"));
    assert_non_null(strstr(message, "no column 'L2 hit rate'"));
    st_errors_clear(own->errors);
    st_buffer text = {0};
    st_buffer_printf(&text, "%s\n", head);
    for (int i = 0; i < 25; i++) {
        st_buffer_printf(&text, "sgemm_%d,2385,2500,0.9,1,2,3,4,5,6\n", i);
    }
    assert_int_not_equal(read_text(own, text.data, &kernels), ST_OK);
    assert_non_null(strstr(said(own->errors), "all kernels are of the class gemm"));
    st_errors_clear(own->errors);
    st_buffer_free(&text);
    st_buffer alone = {0};
    st_buffer_printf(&alone, "%s\n", head);
    for (int i = 0; i < 25; i++) {
        st_buffer_printf(&alone, "%s,2385,2500,0.01,1,2,3,4,5,6\n", i % 2 ? "gemm" : "norm");
    }
    assert_int_not_equal(read_text(own, alone.data, &kernels), ST_OK);
    assert_non_null(strstr(said(own->errors), "0 kernels ran alongside communication"));
    st_errors_clear(own->errors);
    st_buffer_free(&alone);
}

/* ---- errors of predictions ---- */

TEST_WITH(errors_are_those_of_the_definition, set_up, tear_down)
{
    st_kernel rows[] = {
        {.isolated_ns = 20000, .overlapped_ns = 30000, .share = 1},
        {.isolated_ns = 5000, .overlapped_ns = 10000, .share = 0.5},
        {.isolated_ns = 40000, .overlapped_ns = 42000, .share = 0.25},
    };
    st_kernels kernels = {.rows = rows, .count = 3};
    const size_t all[] = {0, 1, 2};
    const st_kernel_rows three = {&kernels, all, 3};
    const double factors[] = {1.5 * 1.04, 2 * 0.91, 1.05 * 1.13};
    st_slowdown_errors found = st_slowdown_compare(&three, factors, ST_SLOWDOWN_ALL);
    assert_true(fabs(found.within_5 - 1.0 / 3) < 1e-12);
    assert_true(fabs(found.within_10 - 2.0 / 3) < 1e-12);
    assert_true(found.within_15 == 1);
    double squares[] = {0.06 * 0.06, 0.18 * 0.18, 0.1365 * 0.1365};
    assert_true(fabs(found.rmse - sqrt((squares[0] + squares[1] + squares[2]) / 3)) < 1e-12);
    assert_true(fabs(found.rmse_10us - sqrt((squares[0] + squares[2]) / 2)) < 1e-12);
    assert_true(fabs(found.rmse_weighted -
                     sqrt((20 * squares[0] + 5 * squares[1] + 40 * squares[2]) / 65)) < 1e-12);
    assert_true(fabs(found.bias - ((31200 + 9100 + 47460) / 82000.0 - 1)) < 1e-12);
    /* The last one took 1.05 times as long; a share of 0.03 is hardly alongside. */
    found = st_slowdown_compare(&three, factors, ST_SLOWDOWN_SLOWED);
    assert_int_equal(found.count, 2);
    assert_true(fabs(found.rmse - sqrt((squares[0] + squares[1]) / 2)) < 1e-12);
    rows[1].share = 0.03;
    found = st_slowdown_compare(&three, factors, ST_SLOWDOWN_ALONGSIDE);
    assert_int_equal(found.count, 2);
    assert_true(found.within_5 == 0.5);
    rows[1].share = 0.5;
    /* (30000 + 10000 - 2500 + 42000 - 30000) / (20000 + 2500 + 10000) */
    assert_true(fabs(st_slowdown_constant(&three) - 49500 / 32500.0) < 1e-12);
    assert_true(fabs(st_slowdown_of_share(&rows[2], 1.4) - 1.1) < 1e-12);
}

/* ---- without training ---- */

static st_kernel near_kernel(const char *name, double duration_ns, double memory, double slowdown)
{
    st_kernel kernel = {.name = name,
                        .isolated_ns = duration_ns,
                        .overlapped_ns = duration_ns * slowdown,
                        .share = 1,
                        .slowdown = slowdown};
    for (size_t i = 0; i < ST_FEATURES; i++) {
        kernel.features[i] = NAN;
    }
    kernel.features[ST_FEATURE_DURATION] = (float)log(duration_ns);
    kernel.features[ST_FEATURE_MEMORY] = (float)memory;
    return kernel;
}

TEST_OF(the_nearest_of_a_name_tell_its_slowdown, fixture *own, set_up, tear_down)
{
    st_kernel rows[] = {
        near_kernel("fill", 23850, 10.5, 1.07), near_kernel("fill", 23850, 11.5, 1.23),
        near_kernel("fill", 23850, 12.5, 1.41), near_kernel("fill", 23850, 80.5, 3.85),
        near_kernel("fill", 23850, 90.5, 4.17), near_kernel("gemm", 23850, 11.5, 2.77),
        near_kernel("gemm", 71300, 11.5, 0.83), near_kernel("fill", 23850, 11.6, 1.31),
        near_kernel("copy", 23850, 11.6, 1.91),
    };
    const size_t learnt[] = {0, 1, 2, 3, 4, 5, 6};
    const size_t asked[] = {7, 8};
    double factors[2];
    st_kernels kernels = {.rows = rows, .count = COUNT(rows), .least = 1};
    const st_kernel_rows learn = {&kernels, learnt, COUNT(learnt)};
    const st_kernel_rows held = {&kernels, asked, COUNT(asked)};
    assert_int_equal(
        st_baseline_predict(ST_BASELINE_NEIGHBOURS, &learn, &held, own->arena, factors), ST_OK);
    assert_true(fabs(factors[0] - 1.23) < 1e-12); /* the median of 1.07, 1.23 and 1.41 */
    assert_true(factors[1] == 1);                 /* of no known name */
    assert_int_equal(st_baseline_predict(ST_BASELINE_MEDIAN, &learn, &held, own->arena, factors),
                     ST_OK);
    assert_true(fabs(factors[0] - 1.41) < 1e-12);
    assert_true(fabs(factors[1] - 1.41) < 1e-12); /* of all seven */
    rows[7].share = rows[8].share = 0.5;
    assert_int_equal(st_baseline_predict(ST_BASELINE_CONSTANT, &learn, &held, own->arena, factors),
                     ST_OK);
    double constant =
        (23850 * (1.07 + 1.23 + 1.41 + 3.85 + 4.17 + 2.77) + 71300 * 0.83) / (6 * 23850 + 71300);
    assert_true(fabs(factors[0] - (0.5 + 0.5 * constant)) < 1e-12);
    for (size_t i = 0; i < COUNT(learnt); i++)
        rows[i].share = 0; /* nothing ran beside communication: nothing was learnt */
    assert_int_equal(st_baseline_predict(ST_BASELINE_CONSTANT, &learn, &held, own->arena, factors),
                     ST_OK);
    assert_true(factors[0] == 1);
    for (size_t i = 0; i < COUNT(rows); i++)
        rows[i].share = 1;
    /* Two of a name: between them, and not below what the table allows. */
    rows[8].name = "gemm";
    rows[8].features[ST_FEATURE_MEMORY] = NAN;
    assert_int_equal(
        st_baseline_predict(ST_BASELINE_NEIGHBOURS, &learn, &held, own->arena, factors), ST_OK);
    assert_true(fabs(factors[1] - (2.77 + 0.83) / 2) < 1e-12);
    kernels.least = 2.385;
    assert_int_equal(
        st_baseline_predict(ST_BASELINE_NEIGHBOURS, &learn, &held, own->arena, factors), ST_OK);
    assert_true(factors[1] == 2.385);
}

/* ---- learning ---- */

TEST_OF(a_rule_is_learnt, fixture *own, set_up, tear_down)
{
    st_kernels kernels = {0};
    st_trials trials = {0};
    st_buffer text = {0};
    if (!has_library(own)) {
        return;
    }
    make_table(&text, 420, 0.002);
    assert_int_equal(read_text(own, text.data, &kernels), ST_OK);
    assert_int_equal(
        st_slowdown_try(own->library, &kernels, NULL, own->arena, &trials, own->errors), ST_OK);
    const st_trial *best = &trials.items[trials.best];
    const st_trial *constant = &trials.items[trials.recipe_count];
    assert_string_equal(constant->name, "constant");
    for (int split = 0; split < ST_SPLITS; split++) {
        assert_int_equal(best->held_out[split][0].count, kernels.count);
        assert_true(best->held_out[split][0].within_5 > 0.97);
        assert_true(best->held_out[split][0].rmse < 0.3 * constant->held_out[split][0].rmse);
        assert_true(fabs(best->held_out[split][0].bias) < 0.01);
    }
    st_buffer_free(&text);
}

/* Ten names, each slowed down by a factor of its own, and nothing else tells them apart: their
 * median is right where rows of each name are learnt from, and wrong where whole names are held
 * out. */
TEST_WITH(names_are_held_out_whole, set_up, tear_down)
{
    enum { NAMES = 10, EACH = 10 };
    static const char *const names[NAMES] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    fixture *own = *state;
    st_kernel rows[NAMES * EACH];
    st_kernels kernels = {.rows = rows, .count = COUNT(rows), .least = 1};
    st_trials trials = {0};
    if (!has_library(own))
        return;
    for (size_t i = 0; i < COUNT(rows); i++)
        rows[i] = near_kernel(names[i % NAMES], 23850, 10.5, 1.2 + 0.385 * (double)(i % NAMES));
    assert_int_equal(st_slowdown_try(own->library, &kernels, st_recipe_find("near-3"), own->arena,
                                     &trials, own->errors),
                     ST_OK);
    const st_trial *median = &trials.items[trials.recipe_count + ST_BASELINE_MEDIAN];
    assert_true(median->held_out[ST_SPLIT_ROWS][0].within_5 == 1);
    assert_true(median->held_out[ST_SPLIT_NAMES][0].within_5 < 0.25);
}

TEST_OF(models_say_what_they_are, fixture *own, set_up, tear_down)
{
    st_kernels kernels = {0};
    st_slowdown_model model = {0};
    st_buffer text = {0};
    st_buffer file = {0};
    size_t rows[60];
    double factors[60];
    double shares[ST_FEATURES];
    double sum = 0;
    if (!has_library(own)) {
        return;
    }
    make_table(&text, COUNT(rows), 0);
    assert_int_equal(read_text(own, text.data, &kernels), ST_OK);
    for (size_t i = 0; i < COUNT(rows); i++) {
        rows[i] = i;
    }
    const st_kernel_rows all = {&kernels, rows, COUNT(rows)};
    assert_int_equal(st_slowdown_train(own->library, &all, st_recipe_find("bag-25"), own->arena,
                                       &model, own->errors),
                     ST_OK);
    /* Nothing below 1, and a feature beyond the trained range counts as its end. */
    kernels.rows[7].features[ST_FEATURE_MEMORY] = 100000;
    kernels.rows[8].features[ST_FEATURE_MEMORY] = -100000;
    assert_int_equal(st_slowdown_predict(&model, &all, own->arena, factors, own->errors), ST_OK);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_true(factors[i] >= 1 && factors[i] < 1.7);
    }
    assert_int_equal(st_slowdown_importance(&model, shares, own->errors), ST_OK);
    for (int i = 0; i < ST_FEATURES; i++) {
        sum += shares[i];
    }
    assert_true(fabs(sum - 1) < 1e-9);
    assert_true(shares[ST_FEATURE_MEMORY] + shares[ST_FEATURE_COMPUTE] + shares[ST_FEATURE_DRAM] >
                0.5);
    assert_int_equal(st_slowdown_write(&model, &file, own->errors), ST_OK);
    assert_int_equal(strncmp(file.data, "steptime-slowdown 4\nrecipe bag-25\n", 34), 0);
    assert_non_null(strstr(file.data, "\nfeature 10 unknown\n"));
    assert_int_equal(strncmp(file.data + file.length - 14, "\nend ", 5), 0);
    st_slowdown_destroy(&model);
    st_buffer_free(&text);
    st_buffer_free(&file);
}

/* The measured kernels of the data folder: what Echo prints for A800, 61, 70 and 75 %. */
TEST_OF(measured_kernels_are_predicted_as_well_as_published, fixture *own, set_up, tear_down)
{
    const char *data = getenv("STEPTIME_DATA");
    char path[4096];
    st_kernels kernels = {0};
    st_trials trials = {0};
    st_buffer text = {0};
    char part[65536];
    size_t length = 0;
    (void)snprintf(path, sizeof path, "%s/overlap/a100_kernels.csv",
                   data != NULL ? data : "../shared/data");
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        print_message("[ SKIPPED  ] %s is not there (STEPTIME_DATA)\n", path);
        return;
    }
    while ((length = fread(part, 1, sizeof part, file)) > 0) {
        st_buffer_append(&text, part, length);
    }
    (void)fclose(file);
    if (has_library(own)) {
        assert_int_equal(read_text(own, text.data, &kernels), ST_OK);
        assert_int_equal(st_slowdown_try(own->library, &kernels, st_recipe_find("near-3"),
                                         own->arena, &trials, own->errors),
                         ST_OK);
        for (int split = 0; split < ST_SPLITS; split++) {
            const st_slowdown_errors *errors = &trials.items[0].held_out[split][0];
            assert_true(errors->within_5 > 0.61 && errors->within_10 > 0.70);
            assert_true(errors->within_15 > 0.75 && errors->rmse_10us < 0.71);
        }
    }
    st_buffer_free(&text);
}

TESTS(overlap);
