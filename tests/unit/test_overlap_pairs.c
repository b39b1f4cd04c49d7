/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of recordings as kernels concurrently with communication: matching, shares, counters,
 * joins. */
#define _DEFAULT_SOURCE
#include "base_support.h"
#include "../support/fixture.h"

#include "overlap-xgboost/fit/matching.h"
#include "overlap-xgboost/fit/trace_pairs.h"
#include "fit/trees/shuffle.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

FIXTURE(, );

/* ---- matching ---- */

/* The length of the longest common subsequence, by the table of all prefixes. */
static size_t longest_common(st_sequence left, st_sequence right)
{
    size_t table[64][64] = {{0}};
    for (size_t i = 0; i < left.count; i++) {
        for (size_t k = 0; k < right.count; k++) {
            size_t best = table[i][k + 1] > table[i + 1][k] ? table[i][k + 1] : table[i + 1][k];
            table[i + 1][k + 1] = left.items[i] == right.items[k] ? table[i][k] + 1 : best;
        }
    }
    return table[left.count][right.count];
}

TEST_WITH(sequences_are_matched_as_far_as_possible, set_up, tear_down)
{
    st_dice dice = st_dice_of(2385);
    for (int round = 0; round < 400; round++) {
        uint32_t items[2][60];
        size_t matches[60];
        size_t matched = 0;
        size_t last = SIZE_MAX;
        st_sequence both[2];
        uint64_t kinds = 2 + st_dice_next(&dice) % 9;
        for (size_t side = 0; side < 2; side++) {
            both[side] = (st_sequence){items[side], st_dice_next(&dice) % 60};
            for (size_t i = 0; i < both[side].count; i++) {
                items[side][i] = (uint32_t)(st_dice_next(&dice) % kinds);
            }
        }
        assert_int_equal(st_matching(both[0], both[1], matches), ST_OK);
        for (size_t i = 0; i < both[0].count; i++) {
            if (matches[i] == SIZE_MAX) {
                continue;
            }
            assert_true(matches[i] < both[1].count);
            assert_int_equal(items[0][i], items[1][matches[i]]);
            assert_true(last == SIZE_MAX || matches[i] > last);
            last = matches[i];
            matched++;
        }
        assert_int_equal(matched, longest_common(both[0], both[1]));
    }
}

TEST_WITH(sequences_that_differ_too_much_are_refused, set_up, tear_down)
{
    enum { MANY = ST_MATCHING_MAX_APART };
    uint32_t *items = calloc(2 * MANY, sizeof *items);
    size_t *matches = calloc(2 * MANY, sizeof *matches);
    for (uint32_t i = 0; i < 2 * MANY; i++) {
        items[i] = i;
    }
    st_sequence left = {items, MANY / 2};
    st_sequence right = {items + MANY, MANY / 2};
    assert_int_equal(st_matching(left, right, matches), ST_OK);
    assert_true(matches[0] == SIZE_MAX && matches[MANY / 2 - 1] == SIZE_MAX);
    left.count = right.count = MANY;
    assert_int_equal(st_matching(left, right, matches), ST_ERR_LIMIT);
    free(items);
    free(matches);
}

/* ---- names ---- */

TEST_WITH(functions_are_named_alike, set_up, tear_down)
{
    static const char *const names[][2] = {
        {"ampere_sgemm_128x32_tn", "ampere_sgemm_128x32_tn"},
        {"void at::native::fill_kernel<float, 4>(int, float*)", "fill_kernel"},
        {"void (anonymous namespace)::softmax_warp<c10::Half, (bool)1>(int)", "softmax_warp"},
        {"void at::native::<unnamed>::layer_norm<float, at::Tensor<4>>(const T1 *)", "layer_norm"},
        {"std::enable_if<(bool)1, void>::type internal::gemv2T<int, 128>(Params<int>)", "gemv2T"},
        {"kernel(int)", "kernel"},
        {"a::b::operator()(int)", "operator"},
        {"bool a::operator>(int, int)", "operator>"},
        {"a<4>::fill(int)", "fill"},
        {"a<b<4>, c<5>>::fill<6>(int)", "fill"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        size_t length = 0;
        const char *found = st_function_name(names[i][0], &length);
        if (length != strlen(names[i][1]) || memcmp(found, names[i][1], length) != 0) {
            fail_msg("'%s' expected, not '%.*s'", names[i][1], (int)length, found);
        }
    }
}

/* Names of metadata, whose first letters count, and which end before their parameters. */
TEST_WITH(collectives_are_named_by_their_words, set_up, tear_down)
{
    static const char *const words[][2] = {{"allreduce", "all_reduce"},
                                           {"all_reduce", "all_reduce"},
                                           {"_allgather_base", "all_gather"},
                                           {"reduce_scatter_tensor", "reduce_scatter"},
                                           {"ALLTOALL", "all_to_all"},
                                           {"all_to_allv", "all_to_all"},
                                           {"broadcast", "broadcast"},
                                           {"send", "send_recv"},
                                           {"recv", "send_recv"},
                                           {"llreduce", ""},
                                           {"roadcast", ""},
                                           {"barrier(allreduce)", ""},
                                           {"", ""}};
    (void)state;
    for (size_t i = 0; i < COUNT(words); i++)
        assert_string_equal(st_recorded_collective_word(words[i][0]), words[i][1]);
}

TEST_WITH(collectives_are_named_by_their_kernels, set_up, tear_down)
{
    static const struct {
        const char *kernel;
        const char *collective;
        const char *protocol;
        const char *algorithm;
    } cases[] = {
        {"ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*, long)", "all_reduce", "LL", "ring"},
        {"ncclKernel_ReduceScatter_TREE_LL128_Sum_half(ncclWork*)", "reduce_scatter", "LL128",
         "tree"},
        {"ncclDevKernel_AllGather_NVLS_SIMPLE()", "all_gather", "Simple", "nvls"},
        {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "send_recv", "Simple", "ring"},
        {"ncclDevKernel_Generic_4(ncclDevKernelArgs)", "", "", ""},
    };
    (void)state;
    st_arena *arena = st_arena_create();
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_recorded_collective *found = st_recorded_collective_of(cases[i].kernel, arena);
        assert_non_null(found);
        assert_string_equal(found->collective, cases[i].collective);
        assert_string_equal(found->protocol, cases[i].protocol);
        assert_string_equal(found->algorithm, cases[i].algorithm);
    }
    assert_null(st_recorded_collective_of("ampere_sgemm_64x64_nn", arena));
    st_arena_destroy(arena);
}

/* ---- pairs ---- */

static const st_recorded_collective reduced = {"all_reduce", "LL128", "tree", 26214400, 24};
static const st_recorded_collective gathered = {"all_gather", "Simple", "ring", 0, 0};

TEST_OF(time_beside_collectives_is_a_union, fixture *own, set_up, tear_down)
{
    st_recorded_kernel kernels[] = {
        {.name = "k", .start_ns = 100, .end_ns = 1100},
        {.name = "a", .stream = 20, .start_ns = 150, .end_ns = 300, .collective = &reduced},
        {.name = "b", .stream = 21, .start_ns = 250, .end_ns = 340, .collective = &gathered},
        {.name = "c", .stream = 20, .start_ns = 900, .end_ns = 2900, .collective = &gathered},
        {.name = "d",
         .stream = 20,
         .device = 1,
         .start_ns = 0,
         .end_ns = 9999,
         .collective = &reduced},
    };
    st_recorded recorded = {"r", "", kernels, COUNT(kernels)};
    const st_recorded_collective *longest = NULL;
    st_concurrent beside;
    assert_int_equal(st_concurrent_make(&recorded, own->arena, &beside), ST_OK);
    assert_int_equal(beside.count, 3);
    /* 150 to 340 by two of them, and 900 to 1100 */
    assert_int_equal(st_concurrent_time(&beside, &kernels[0], &longest), 190 + 200);
    assert_ptr_equal(longest, &gathered);
    kernels[0].end_ns = 1000;
    assert_int_equal(st_concurrent_time(&beside, &kernels[0], &longest), 190 + 100);
    assert_ptr_equal(longest, &reduced);
    kernels[0] = (st_recorded_kernel){.name = "k", .start_ns = 340, .end_ns = 900};
    assert_int_equal(st_concurrent_time(&beside, &kernels[0], &longest), 0);
    assert_null(longest);
}

/* Collectives that touch are one span, told by the longest of them, of equals by the first. */
TEST_WITH(spans_that_touch_are_one, set_up, tear_down)
{
    static const struct {
        int64_t start_ns, end_ns; /* of the second collective; the first runs from 150 to 300 */
        size_t spans;
        int64_t beside_ns; /* of a kernel from 200 to 400 */
        const st_recorded_collective *longest;
    } cases[] = {
        {300, 450, 1, 200, &reduced},  {301, 451, 2, 199, &reduced}, {300, 451, 1, 200, &gathered},
        {290, 390, 1, 190, &reduced},  {160, 170, 1, 100, &reduced}, {310, 400, 2, 190, &reduced},
        {301, 390, 2, 189, &reduced},  {400, 900, 2, 100, &reduced}, {500, 500, 1, 100, &reduced},
        {150, 800, 1, 200, &gathered},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_recorded_kernel kernels[] = {
            {.name = "k", .start_ns = 200, .end_ns = 400},
            {.name = "a", .stream = 20, .start_ns = 150, .end_ns = 300, .collective = &reduced},
            {.name = "b",
             .stream = 21,
             .start_ns = cases[i].start_ns,
             .end_ns = cases[i].end_ns,
             .collective = &gathered}};
        st_recorded recorded = {"r", "", kernels, COUNT(kernels)};
        const st_recorded_collective *longest = NULL;
        st_concurrent beside;
        assert_int_equal(st_concurrent_make(&recorded, own->arena, &beside), ST_OK);
        int64_t beside_ns = st_concurrent_time(&beside, &kernels[0], &longest);
        if (beside.count != cases[i].spans || beside_ns != cases[i].beside_ns ||
            longest != cases[i].longest)
            fail_msg("case %zu: %zu spans, %lld ns", i, beside.count, (long long)beside_ns);
        kernels[0].device = 1;
        assert_int_equal(st_concurrent_time(&beside, &kernels[0], NULL), 0);
    }
}

static st_recorded_kernel at(const char *name, int64_t start_ns, int64_t length_ns)
{
    return (st_recorded_kernel){
        .name = name, .stream = 7, .start_ns = start_ns, .end_ns = start_ns + length_ns};
}

TEST_OF(shares_and_slowdowns_are_those_of_the_definition, fixture *own, set_up, tear_down)
{
    st_recorded_kernel alone[] = {at("sgemm", 0, 1000), at("fill", 2000, 400),
                                  at("norm", 3000, 800), at("lost", 4000, 10)};
    st_recorded_kernel beside[] = {at("sgemm", 50, 1250), at("added", 1400, 5),
                                   at("fill", 2000, 700), at("norm", 3000, 810),
                                   at("nccl", 1050, 500)};
    beside[4].collective = &reduced;
    st_recorded_kernel more = at("nccl", 1990, 800);
    st_recorded_kernel with[6];
    memcpy(with, beside, sizeof beside);
    more.collective = &gathered;
    with[5] = more;
    for (size_t i = 0; i < 4; i++) {
        with[i].stream = 3; /* no stream of that number in the other */
    }
    st_recorded left = {"alone", "", alone, COUNT(alone)};
    st_recorded right = {"beside", "NVIDIA H100 80GB HBM3", with, COUNT(with)};
    st_pairs_options options = {.unmatched_frac = 0.25};
    st_pairs_made made = {0};
    st_pairs_head(false, &made.table);
    assert_int_equal(st_pairs_append(&left, &right, &options, own->arena, &made, own->errors),
                     ST_OK);
    /* sgemm ran 1000 ns alone and 250 more beside: nothing of its 1000 ns was left for these */
    assert_string_equal(made.table.data,
                        "kernel,isolated_ns,overlapped_ns,overlap_ratio,collective,protocol,"
                        "algorithm,bytes,channels,gpu\n"
                        "sgemm,1000,1250,0,all_reduce,LL128,tree,26214400,24,h100\n"
                        "fill,400,700,1,all_gather,Simple,ring,,,h100\n"
                        "norm,800,810,0,,,,,,h100\n");
    assert_int_equal(made.tally.matched, 3);
    assert_int_equal(made.tally.without, 1);
    assert_int_equal(made.tally.with, 1);
    assert_int_equal(made.tally.concurrent, 2);
    options.unmatched_frac = 0.24;
    assert_int_equal(st_pairs_append(&left, &right, &options, own->arena, &made, own->errors),
                     ST_ERR_VALUE);
    const char *message = said(own->errors);
    assert_non_null(strstr(message, "2 of 8 kernels have no counterpart"));
    assert_non_null(strstr(message, "25.0 %, the first 'added' of beside"));
    st_buffer_free(&made.table);
}

/* Of 1000 ns alone and 1300 beside 700 of a collective, 600 were left of the first: 0.4. */
TEST_WITH(a_part_of_a_kernel_may_be_beside, set_up, tear_down)
{
    static const struct {
        int64_t alone_ns, whole_ns, beside_ns;
        const char *row; /* NULL: not usable */
    } cases[] = {
        {1000, 1300, 700, "k,1000,1300,0.4,all_reduce,LL128,tree,26214400,24,\n"},
        {1600, 1300, 900, "k,1600,1300,0.75,all_reduce,LL128,tree,26214400,24,\n"},
        {1000, 1300, 0, "k,1000,1300,0,,,,,,\n"},
        /* more was left than it takes alone */
        {500, 1300, 700, "k,500,1300,0,all_reduce,LL128,tree,26214400,24,\n"},
        {1, 1300, 1300, "k,1,1300,1,all_reduce,LL128,tree,26214400,24,\n"},
        {0, 1300, 700, NULL},
        {1000, 0, 700, NULL},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_recorded_kernel alone[] = {at("k", 100, cases[i].alone_ns)};
        st_recorded_kernel with[] = {at("k", 100, cases[i].whole_ns),
                                     at("nccl", 100, cases[i].beside_ns)};
        with[1].collective = &reduced;
        st_recorded left = {"alone", "", alone, 1};
        st_recorded right = {"beside", "", with, 2};
        st_pairs_options options = {.unmatched_frac = 0};
        st_pairs_made made = {0};
        if (cases[i].beside_ns == 0) /* elsewhere */
            with[1] = (st_recorded_kernel){
                .name = "nccl", .start_ns = 5000, .end_ns = 5100, .collective = &reduced};
        assert_int_equal(st_pairs_append(&left, &right, &options, own->arena, &made, own->errors),
                         ST_OK);
        size_t rows = cases[i].row != NULL ? 1 : 0;
        assert_int_equal(made.tally.rows, rows);
        assert_int_equal(made.tally.unusable, 1 - rows);
        assert_int_equal(made.tally.concurrent, rows > 0 && cases[i].beside_ns > 0 ? 1 : 0);
        if (rows > 0)
            assert_string_equal(made.table.data, cases[i].row);
        st_buffer_free(&made.table);
    }
}

TEST_OF(kernels_that_are_slowed_in_both_are_left_out, fixture *own, set_up, tear_down)
{
    st_recorded_kernel alone[] = {at("sgemm", 0, 1000), at("fill", 2000, 400), at("n", 100, 50),
                                  at("none", 5000, 0)};
    alone[2].collective = &reduced;
    st_recorded left = {"alone", "", alone, COUNT(alone)};
    st_pairs_options options = {.unmatched_frac = 0};
    st_pairs_made made = {0};
    assert_int_equal(st_pairs_append(&left, &left, &options, own->arena, &made, own->errors),
                     ST_OK);
    assert_string_equal(made.table.data, "fill,400,400,0,,,,,,\n");
    assert_int_equal(made.tally.disturbed, 1);
    assert_int_equal(made.tally.unusable, 1);
    assert_int_equal(made.tally.rows, 1);
    st_buffer_free(&made.table);
}

/* ---- counters ---- */

static const char raw[] =
    "==PROF== Profiling \"saxpy\" - 0: 0%....100% - 9 passes\n"
    "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\","
    "\"sm__throughput.avg.pct_of_peak_sustained_elapsed\","
    "\"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed\","
    "\"dram__throughput.avg.pct_of_peak_sustained_elapsed\","
    "\"sm__warps_active.avg.pct_of_peak_sustained_active\",\"l1tex__t_sector_hit_rate.pct\","
    "\"lts__t_sector_hit_rate.pct\",\"launch__grid_size\"\r\n"
    "\"\",\"\",\"\",\"\",\"%\",\"%\",\"%\",\"%\",\"%\",\"%\",\"\"\r\n"
    "\"0\",\"void a::fill<4>(int)\",\"(128, 1, 1)\",\"(80, 2, 1)\",\"23.85\",\"17.1\",\"12.2\","
    "\"44.3\",\"3.4\",\"70.5\",\"1,048,576\"\r\n"
    "\"1\",\"fill\",\"(128, 1, 1)\",\"(81, 2, 1)\",\"24.85\",\"17.1\",\"12.2\",\"44.3\",\"3.4\","
    "\"70.5\",\"1\"\r\n"
    "\"2\",\"fill\",\"(128, 1, 1)\",\"(80, 2, 1)\",\"25.85\",\"n/a\",\"12.2\",\"44.3\",\"3.4\","
    "\"70.5\",\"1\"\r\n";

TEST_OF(counters_are_joined_by_kernel_and_shape, fixture *own, set_up, tear_down)
{
    st_counters counters = {0};
    st_join *join = NULL;
    assert_int_equal(
        st_counters_read("m.csv", raw, strlen(raw), own->arena, &counters, own->errors), ST_OK);
    assert_int_equal(counters.count, 3);
    assert_string_equal(counters.kernels[0].name, "fill");
    assert_true(counters.kernels[0].grid[0] == 80 && counters.kernels[0].grid[1] == 2);
    assert_true(counters.kernels[1].values[ST_COUNTER_COMPUTE] == 24.85);
    assert_true(isnan(counters.kernels[2].values[ST_COUNTER_MEMORY]));
    assert_int_equal(st_join_make(&counters, own->arena, &join), ST_OK);
    st_recorded_kernel kernel = at("void b::fill<8>()", 0, 1);
    /* Without a shape in the order of the file; the third lacks a counter. */
    assert_ptr_equal(st_join_next(join, &kernel), &counters.kernels[0]);
    assert_ptr_equal(st_join_next(join, &kernel), &counters.kernels[1]);
    assert_null(st_join_next(join, &kernel));
    assert_ptr_equal(st_join_next(join, &kernel), &counters.kernels[0]);
    kernel.grid[0] = 81;
    kernel.grid[1] = 2;
    kernel.grid[2] = kernel.block[1] = kernel.block[2] = 1;
    kernel.block[0] = 128;
    assert_ptr_equal(st_join_next(join, &kernel), &counters.kernels[1]);
    assert_ptr_equal(st_join_next(join, &kernel), &counters.kernels[1]);
    kernel.grid[0] = 79;
    assert_null(st_join_next(join, &kernel));
    kernel.name = "copy";
    assert_null(st_join_next(join, &kernel));
}

static st_counted_kernel counted(const char *name, int64_t x, int64_t y, int64_t z, int64_t block)
{
    st_counted_kernel made = {.name = name, .grid = {x, y, z}, .block = {block, 1, 1}};
    for (size_t i = 0; i < ST_COUNTERS; i++)
        made.values[i] = 23.85;
    return made;
}

/* The next kernels that are asked for are these, by their index; SIZE_MAX: none. */
static void expect_next(st_join *join, const st_counters *counters, st_recorded_kernel kernel,
                        const size_t *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const st_counted_kernel *found = st_join_next(join, &kernel);
        size_t index = found != NULL ? (size_t)(found - counters->kernels) : SIZE_MAX;
        if (index != expected[i])
            fail_msg("%s: number %zu is %zu", kernel.name, i, index);
    }
}

/* Names and sizes that follow each other, in an order that is none. */
TEST_OF(each_size_of_a_shape_tells_kernels_apart, fixture *own, set_up, tear_down)
{
    st_counted_kernel kernels[] = {counted("gill", 80, 2, 3, 128), counted("fill", 81, 2, 3, 128),
                                   counted("fill", 80, 2, 4, 128), counted("fill", 80, 2, 3, 129),
                                   counted("fill", 80, 3, 3, 128), counted("fill", 80, 2, 3, 128),
                                   counted("gill", 80, 2, 3, 128), counted("fill", 80, 2, 3, 128),
                                   counted("fill", 80, 2, 3, 128), counted("eill", 80, 2, 3, 128)};
    const st_counters counters = {"m.csv", kernels, COUNT(kernels)};
    st_join *join = NULL;
    assert_int_equal(st_join_make(&counters, own->arena, &join), ST_OK);
    st_recorded_kernel asked = at("fill", 0, 1);
    expect_next(join, &counters, asked, (const size_t[]){1, 2, 3, 4, 5, 7, 8, 1}, 8);
    for (size_t i = 0; i < COUNT(kernels); i++) {
        memcpy(asked.grid, kernels[i].grid, sizeof asked.grid);
        memcpy(asked.block, kernels[i].block, sizeof asked.block);
        if (i >= 1 && i <= 4)
            expect_next(join, &counters, asked, (const size_t[]){i, i}, 2);
    }
    expect_next(join, &counters, asked, (const size_t[]){5, 7, 8, 5}, 4);
    asked.name = "gill";
    expect_next(join, &counters, asked, (const size_t[]){0, 6, 0}, 3);
    asked.name = "eill";
    expect_next(join, &counters, asked, (const size_t[]){9, 9}, 2);
    asked.block[0] = 127;
    expect_next(join, &counters, asked, (const size_t[]){SIZE_MAX}, 1);
}

/* Counters without shapes belong to kernels of any. */
TEST_OF(counters_without_shapes_go_by_name, fixture *own, set_up, tear_down)
{
    st_counted_kernel kernels[] = {counted("fill", 0, 0, 0, 0), counted("copy", 0, 0, 0, 0),
                                   counted("fill", 0, 0, 0, 0)};
    const st_counters counters = {"m.csv", kernels, COUNT(kernels)};
    st_join *join = NULL;
    st_recorded_kernel asked = at("fill", 0, 1);
    asked.grid[0] = 80;
    assert_int_equal(st_join_make(&counters, own->arena, &join), ST_OK);
    expect_next(join, &counters, asked, (const size_t[]){0, 2, 0}, 3);
    kernels[2].values[ST_COUNTERS - 1] = NOT_A_NUMBER;
    expect_next(join, &counters, asked, (const size_t[]){SIZE_MAX, 0}, 2);
}

/* "(24, 3)" is (24, 3, 1), and a blank is none. */
TEST_WITH(shapes_may_leave_sizes_out, set_up, tear_down)
{
    static const struct {
        const char *text;
        int64_t grid[3];
    } cases[] = {{"(24, 3, 7)", {24, 3, 7}},        {"24, 3", {24, 3, 1}}, {"24", {24, 1, 1}},
                 {"109x3x7", {109, 3, 7}},          {"", {0, 0, 0}},       {"()", {0, 0, 0}},
                 {"2147483647", {2147483647, 1, 1}}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_buffer text = {0};
        st_counters counters = {0};
        st_buffer_text(&text, "\"ID\",\"Kernel Name\",\"Grid Size\",\"Metric Name\","
                              "\"Metric Unit\",\"Metric Value\"\n");
        static const char *const metrics[] = {"Memory Throughput", "Compute (SM) Throughput",
                                              "DRAM Throughput",   "Achieved Occupancy",
                                              "L1/TEX Hit Rate",   "L2 Hit Rate"};
        for (size_t k = 0; k < COUNT(metrics); k++)
            st_buffer_printf(&text, "0,fill,\"%s\",%s,%%,23.85\n", cases[i].text, metrics[k]);
        if (st_counters_read("d.csv", text.data, text.length, own->arena, &counters, own->errors) !=
            ST_OK)
            fail_msg("case %zu: %s", i, said(own->errors));
        assert_memory_equal(counters.kernels[0].grid, cases[i].grid, sizeof cases[i].grid);
        st_buffer_free(&text);
    }
}

TEST_WITH(details_are_read_by_unit, set_up, tear_down)
{
    static const char text[] =
        "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\"\n"
        "\"0\",\"fill()\",\"Memory Throughput\",\"%\",\"78.51\",\n"
        "\"0\",\"fill()\",\"Memory Throughput\",\"Gbyte/second\",\"1,200.4\",\n"
        "\"0\",\"fill()\",\"Compute (SM) Throughput\",\"%\",\"12.36\"\n"
        "\"0\",\"fill()\",\"DRAM Throughput\",\"%\",\"71.2\"\n"
        "\"0\",\"fill()\",\"\",\"\",\"\",\"a rule, on\ntwo lines\"\n"
        "\"0\",\"fill()\",\"Achieved Occupancy\",\"%\",\"41.7\"\n"
        "\"0\",\"fill()\",\"L1/TEX Hit Rate\",\"%\",\"9.31\"\n"
        "\"0\",\"fill()\",\"L2 Hit Rate\",\"%\",\"55.9\"\n";
    fixture *own = *state;
    st_counters counters = {0};
    assert_int_equal(
        st_counters_read("d.csv", text, strlen(text), own->arena, &counters, own->errors), ST_OK);
    const double expected[ST_COUNTERS] = {12.36, 78.51, 71.2, 41.7, 9.31, 55.9};
    assert_int_equal(counters.count, 1);
    for (size_t i = 0; i < ST_COUNTERS; i++) {
        assert_true(counters.kernels[0].values[i] == expected[i]);
    }
}

TEST_WITH(faulty_counters_are_refused, set_up, tear_down)
{
    static const struct {
        const char *text;
        const char *says;
    } faults[] = {
        {"a,b\n", "no header row with a column 'Kernel Name'"},
        {"", "the table is empty"},
        {"\"Kernel Name\",\"Metric Name\"\n", "no column 'Metric Unit'"},
        {"\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n",
         "no kernels below the heading"},
        {"\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
         "0,fill,Memory Throughput,%,70\n",
         "no metric 'lts__t_sector_hit_rate.pct'"},
        {"\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n0,fill,L2\n",
         "x.csv:2:1: error: row has too few fields: found 3 fields, expected 5 or more"},
        {"\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
         "0,fill,Memory Throughput,%,-3.1\n",
         "column Metric Value: found '-3.1', expected percent of the peak"},
        {"\"ID\",\"Kernel Name\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
         "0,fill,(a),Memory Throughput,%,3.1\n",
         "column Grid Size: found '(a)', expected a shape such as (128, 1, 1)"},
        {"\"ID\",\"Kernel Name\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
         "0,fill,\"1,2,3,4\",Memory Throughput,%,3.1\n",
         "column Grid Size: found '1,2,3,4', expected a shape"},
        {"\"ID\",\"Kernel Name\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
         "0,fill,2147483648,Memory Throughput,%,3.1\n",
         "column Grid Size: found '2147483648', expected a shape"},
        {"\"Kernel Name\",\"a\"\n1,2,3\n", "x.csv:2:1: error: row has more fields than the header"},
        {"\"Kernel Name\",\"a\"\n\"1,2\n", "x.csv:2:1: error: unclosed quote"},
        {"\"Kernel Name\"\x01\n", "x.csv:1:14: error: control character: found U+0001"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        st_counters counters = {0};
        assert_int_not_equal(st_counters_read("x.csv", faults[i].text, strlen(faults[i].text),
                                              own->arena, &counters, own->errors),
                             ST_OK);
        const char *message = said(own->errors);
        if (strstr(message, faults[i].says) == NULL) {
            fail_msg("'%s' expected, not '%s'", faults[i].says, message);
        }
    }
}

/* Bytes of a collective are its elements by the width of their type, as the profiler names it. */
/* Reads a recording of this text, which is freed. */
static void read_recording(fixture *own, st_buffer *text, st_recorded *recorded)
{
    char path[] = "/tmp/steptime-recorded-XXXXXX.json";
    int file = mkstemps(path, 5);
    assert_true(file >= 0);
    assert_int_equal(write(file, text->data, text->length), text->length);
    assert_int_equal(close(file), 0);
    assert_int_equal(st_recorded_read(path, own->arena, recorded, own->errors), ST_OK);
    assert_int_equal(unlink(path), 0);
    st_buffer_free(text);
}

TEST_WITH(tasks_of_the_gpu_are_kept_and_nothing_else, set_up, tear_down)
{
    static const struct {
        const char *category;
        const char *name;
        bool kept;
    } events[] = {{"kernel", "sgemm", true},
                  {"cpu_op", "aten::mm", false},
                  {"gpu_memset", "Memset", true},
                  {"cuda_runtime", "cudaLaunchKernel", false},
                  {"gpu_memcpy", "Memcpy DtoH", true},
                  {"python_function", "step", false},
                  {"kernel", "ncclDevKernel_AllReduce_Sum", true}};
    fixture *own = *state;
    st_recorded recorded;
    st_buffer text = {0};
    size_t kept = 0;
    st_buffer_text(&text, "{\"traceEvents\":[");
    for (size_t i = 0; i < COUNT(events); i++)
        st_buffer_printf(&text,
                         "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":5,\"tid\":%d,"
                         "\"ts\":%zu,\"dur\":23,\"args\":{\"device\":5,\"stream\":20}}",
                         i > 0 ? "," : "", events[i].category, events[i].name,
                         events[i].kept ? 20 : 7, 4100 + 31 * i);
    st_buffer_text(&text, "]}");
    read_recording(own, &text, &recorded);
    for (size_t i = 0; i < COUNT(events); i++) {
        if (!events[i].kept)
            continue;
        const st_recorded_kernel *kernel = &recorded.kernels[kept++];
        assert_string_equal(kernel->name, events[i].name);
        assert_int_equal(kernel->stream, 20);
        assert_int_equal(kernel->end_ns - kernel->start_ns, 23000);
        assert_int_equal(kernel->start_ns - recorded.kernels[0].start_ns, 31000 * i);
        assert_int_equal(kernel->collective != NULL, i + 1 == COUNT(events));
    }
    assert_int_equal(recorded.count, kept);
}

TEST_WITH(types_of_collectives_have_their_widths, set_up, tear_down)
{
    static const struct {
        const char *dtype;
        double width_bytes; /* 0: not known */
    } types[] = {{"Float", 4},  {"Double", 8}, {"Half", 2},          {"BFloat16", 2},
                 {"Int", 4},    {"Long", 8},   {"Byte", 1},          {"Char", 1},
                 {"Bool", 1},   {"Short", 2},  {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1},
                 {"Complex", 0}};
    fixture *own = *state;
    st_recorded recorded;
    st_buffer text = {0};
    st_buffer_text(&text, "{\"traceEvents\":[");
    for (size_t i = 0; i < COUNT(types); i++) {
        st_buffer_printf(
            &text,
            "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum\","
            "\"pid\":0,\"tid\":20,\"ts\":%zu,\"dur\":23,\"args\":{\"device\":0,"
            "\"stream\":20,\"Collective name\":\"allreduce\",\"In msg nelems\":385,"
            "\"Out msg nelems\":385,\"Group size\":2,\"dtype\":\"%s\"}}",
            i > 0 ? "," : "", 4100 + 31 * i, types[i].dtype);
    }
    st_buffer_text(&text, "]}");
    read_recording(own, &text, &recorded);
    assert_int_equal(recorded.count, COUNT(types));
    for (size_t i = 0; i < COUNT(types); i++) {
        assert_non_null(recorded.kernels[i].collective);
        assert_same_double(recorded.kernels[i].collective->bytes, 385 * types[i].width_bytes);
    }
}

TESTS(overlap_pairs);
