/* SPDX-License-Identifier: Apache-2.0 */
/* What reports of recordings say, of views made by hand: sums, shares, rates, what is unknown. */
#include "forms_support.h"

#include "trace/trace_replay.h"
#include "trace/view.h"

#include <math.h>

/* ---- differences ---- */

/* One grew by 12.385 ms, one shrank by half of that, one is new, one as before. */
static st_diff_row changes[] = {
    {"sgemm", "Net_0", true, {true, true}, {40e6, 52.385e6}, {3, 2.5}},
    {"softmax", "Net_0", true, {true, true}, {9e6, 2.8075e6}, {4, 4}},
    {"gelu", "", true, {false, true}, {0, 2.385e6}, {0, 1}},
    {"relu", "", true, {true, true}, {1.5e6, 1.5e6}, {7, 7}},
    {"Net_0", "", false, {true, true}, {50.5e6, 57.5775e6}, {1, 1}},
};

static st_trace_diff make_diff(void)
{
    return (st_trace_diff){.sides = {{"a.json", 2, 3, 6, ""}, {"b.json", 4, 5, 20, ""}},
                           .by_module = true,
                           .rows = changes,
                           .count = sizeof changes / sizeof *changes,
                           .total_ns = {50.5e6, 59.0775e6}};
}

TEST_OF(changes_are_told_and_the_others_summed_up, fixture *own, set_up, tear_down)
{
    st_trace_diff diff = make_diff();
    st_view_diff_result(&diff, 2, false, own->arena, &own->result);
    write_forms(own);
    SAYS(own, "before a.json: 2 ranks, 3 steps", "after b.json: 4 ranks, 5 steps",
         "sgemm Net_0 grew 40.000 ms 52.385 ms +12.385 ms +31.0 % 3 -> 2.5",
         "softmax Net_0 shrank 9.000 ms 2.808 ms -6.192 ms -68.8 % 4 -> 4",
         "2 others 1.500 ms 3.885 ms +2.385 ms +159.0 %",
         "total 50.500 ms 59.078 ms +8.578 ms +17.0 %", "Net_0 grew 50.500 ms", "Modules",
         "GPU time of a rank\n");
    HAS(own, "\"change_ns\": 12385000,", "\"change_ns\": -6192500,", "\"same\": false",
        "\"others\": {\"count\": 2, \"before_ns\": 1500000, \"after_ns\": 3885000,");
    assert_silent(own, "gelu");
    assert_silent(own, "no difference");
}

TEST_OF(what_is_new_has_no_percentage, fixture *own, set_up, tear_down)
{
    st_trace_diff diff = make_diff();
    diff.by_module = false;
    diff.by_step = true;
    st_view_diff_result(&diff, 9, false, own->arena, &own->result);
    write_forms(own);
    SAYS(own, "gelu new 0.000 ms 2.385 ms +2.385 ms 0 -> 1",
         "relu same 1.500 ms 1.500 ms 0.000 ms 0.0 % 7 -> 7", "0 others",
         "of a rank and step, by kernel alone");
    assert_silent(own, "Modules");
}

TEST_OF(no_difference_is_told, fixture *own, set_up, tear_down)
{
    st_trace_diff diff = make_diff();
    diff.rows = &changes[3];
    diff.count = 1;
    st_view_diff_result(&diff, 9, false, own->arena, &own->result);
    write_forms(own);
    SAYS(own, "no difference");
    HAS(own, "\"same\": true");
}

/* The greatest change is 300 wide; what shrinks lies left of the middle, at 770. */
TEST_OF(bars_of_changes_have_their_lengths, fixture *own, set_up, tear_down)
{
    st_trace_diff diff = make_diff();
    st_view_diff_svg(&diff, 2, &own->svg);
    const char *svg = st_buffer_read(&own->svg);
    assert_contains(svg, "width=\"1190\" height=\"136\"");
    assert_contains(svg, "<rect x=\"770\" y=\"70\" width=\"300\" height=\"18\"");
    assert_contains(svg, "<rect x=\"620\" y=\"92\" width=\"150\" height=\"18\"");
    assert_null(strstr(svg, "gelu"));
    assert_null(strstr(svg, "Net_0"));
}

/* ---- parts ---- */

static st_tree_node parts[] = {
    {.name = "all",
     .parent = ST_TRACE_NONE,
     .kernels = 19,
     .self_ns = 3000000,
     .gpu_ns = 40000000,
     .backward_ns = 20000000,
     .communication_ns = 5000000},
    {.name = "src/net/model.py(31): forward",
     .parent = 0,
     .depth = 1,
     .calls = 3,
     .host_ns = 2385,
     .kernels = 9,
     .self_ns = 6000000,
     .gpu_ns = 36000000,
     .backward_ns = 18000000,
     .communication_ns = 4500000},
    {.name = "attention",
     .parent = 1,
     .depth = 2,
     .kernels = 6,
     .self_ns = 30000000,
     .gpu_ns = 30000000,
     .backward_ns = 15000000},
    {.name = "loss",
     .parent = 0,
     .depth = 1,
     .calls = 1,
     .kernels = 2,
     .self_ns = 1000000,
     .gpu_ns = 1000000,
     .backward_ns = 250000,
     .communication_ns = 500000},
};
static uint32_t depth_first[] = {0, 1, 2, 3};

TEST_OF(parts_and_what_is_left_add_up, fixture *own, set_up, tear_down)
{
    const st_tree tree = {ST_TREE_STACK, parts, 4, 2, depth_first};
    st_view_tree_result(&tree, &(st_tree_limits){0, 0}, own->arena, &own->result);
    write_forms(own);
    SAYS(own, "2 ranks, 40.000 ms of GPU tasks by Python stack",
         "net/model.py(31): forward 3 x 9 36.000 ms 90.0 % 6.000 ms 50.0 % 12.5 %",
         ". attention 6 30.000 ms 75.0 % 30.000 ms 50.0 % 0.0 %",
         "unattributed 8 3.000 ms 7.5 % 3.000 ms 58.3 % 0.0 %");
    HAS(own, "\"hidden\": 0", "\"unattributed_ns\": 3000000", "\"node\": 2, \"parent\": 1",
        "\"node\": null, \"parent\": 0");
    assert_silent(own, "not shown");
}

/* A part of exactly the least share is shown. */
TEST_OF(small_and_deep_parts_are_counted, fixture *own, set_up, tear_down)
{
    const st_tree tree = {ST_TREE_STACK, parts, 4, 2, depth_first};
    st_view_tree_result(&tree, &(st_tree_limits){1, 0.025}, own->arena, &own->result);
    write_forms(own);
    SAYS(own, "loss 1 x 2 1.000 ms 2.5 %", "1 deeper or smaller parts are not shown");
    assert_silent(own, "attention");
}

/* 1,200 are 40 ms: 1 ms is 30 wide; a part begins where its whole does, or its elder sibling ends.
 */
TEST_OF(parts_lie_under_their_whole, fixture *own, set_up, tear_down)
{
    const st_tree tree = {ST_TREE_STACK, parts, 4, 2, depth_first};
    st_view_tree_svg(&tree, &own->svg);
    const char *svg = st_buffer_read(&own->svg);
    assert_contains(svg, "<rect x=\"20\" y=\"60\" width=\"1199.5\" height=\"19\"");
    assert_contains(svg, "<rect x=\"20\" y=\"80\" width=\"1079.5\" height=\"19\"");
    assert_contains(svg, "<rect x=\"20\" y=\"100\" width=\"899.5\" height=\"19\"");
    assert_contains(svg, "<rect x=\"1100\" y=\"80\" width=\"29.5\" height=\"19\"");
}

/* ---- memory ---- */

static st_memory_device make_device(const st_trace *trace, st_memory_sample *samples)
{
    static st_memory_block blocks[] = {{1572864, 31, ST_MEMORY_FORWARD, "aten::mm"},
                                       {524288, 62, ST_MEMORY_OTHER, NULL}};
    return (st_memory_device){.trace = trace,
                              .device = 3,
                              .events = 9,
                              .has_addresses = true,
                              .knows_start = true,
                              .start_bytes = 2097152,
                              .peak_bytes = 4194304,
                              .reserved_bytes = -1,
                              .peak = samples[0],
                              .samples = samples,
                              .sample_count = 2,
                              .blocks = blocks,
                              .block_count = 2};
}

TEST_OF(categories_add_up_to_the_peak, fixture *own, set_up, tear_down)
{
    const st_trace trace = {.file = "r3.json", .rank = 3};
    st_memory_sample samples[] = {{0, {2097152, 1572864, 0, 0, 524288}},
                                  {5000000, {2097152, 0, 0, 0, 0}}};
    st_memory_device devices[] = {make_device(&trace, samples), make_device(&trace, samples)};
    devices[1].knows_start = devices[1].has_addresses = false;
    devices[1].difference_bytes = 2516582;
    devices[1].block_count = 0;
    st_view_memory_result(&(st_memory_view){devices, 2}, 1, own->arena, &own->result);
    write_forms(own);
    SAYS(own, "r3.json, GPU 3: peak 4.0 MiB at 0.000 ms\n", "2.0 MiB 50.0 %", "1.5 MiB 37.5 %",
         "0.5 MiB 12.5 %", "Largest at the peak, without those from before", "aten::mm 1.5 MiB",
         "at 0.000 ms, without memory allocated before, which is unknown",
         "no addresses are recorded", "up to 2.4 MiB off the recorded total");
    HAS(own, "\"total_bytes\": 4194304", "\"total_bytes\": 2097152", "\"start_bytes\": 2097152",
        "\"start_bytes\": null", "\"reserved_bytes\": null", "\"rank\": 3");
    const char *text = st_buffer_read(&own->text);
    assert_null(strstr(text, "outside of operators"));
    assert_null(strstr(strstr(text, "Largest at the peak") + 1, "Largest at the peak"));
    assert_ptr_equal(strstr(text, "no addresses"), strstr(strstr(text, "is unknown"), "no addr"));
}

/* The peak is 260 high, 5 ms are 1,100 wide; the categories lie on top of each other. */
TEST_OF(areas_of_memory_have_their_heights, fixture *own, set_up, tear_down)
{
    const st_trace trace = {.file = "r3.json", .rank = 3};
    st_memory_sample samples[] = {{0, {2097152, 1572864, 0, 0, 524288}},
                                  {5000000, {2097152, 0, 0, 0, 0}}};
    st_memory_device devices[] = {make_device(&trace, samples), make_device(&trace, samples)};
    devices[1].sample_count = 0;
    st_view_memory_svg(&(st_memory_view){devices, 2}, &own->svg);
    const char *svg = st_buffer_read(&own->svg);
    assert_contains(svg, "<rect x=\"90\" y=\"230\" width=\"1100.5\" height=\"130\"");
    assert_contains(svg, "<rect x=\"90\" y=\"132.5\" width=\"1100.5\" height=\"97.5\"");
    assert_contains(svg, "<rect x=\"90\" y=\"100\" width=\"1100.5\" height=\"32.5\"");
    assert_contains(svg, "rank 3, GPU 3");
    assert_contains(svg, ">5.000 ms<");
    assert_null(strstr(strstr(svg, ">5.000 ms<") + 1, ">5.000 ms<"));
}

/* Three samples of 5 ms: the second half is 550 wide. A device of one sample has no width, and one
 * whose rank is unknown is the first. */
TEST_OF(areas_begin_with_their_first_sample, fixture *own, set_up, tear_down)
{
    const st_trace trace = {.file = "r.json", .rank = -1};
    st_memory_sample samples[] = {{2000000, {2097152, 0, 0, 0, 0}},
                                  {4500000, {2097152, 0, 2097152, 0, 0}},
                                  {7000000, {1048576, 0, 0, 0, 0}}};
    st_memory_device devices[] = {make_device(&trace, samples), make_device(&trace, samples)};
    devices[0].sample_count = 3;
    devices[1].sample_count = 1;
    st_view_memory_svg(&(st_memory_view){devices, 2}, &own->svg);
    const char *svg = st_buffer_read(&own->svg);
    assert_contains(svg, "width=\"1220\" height=\"780\"");
    assert_contains(svg, "<rect x=\"90\" y=\"230\" width=\"550.5\" height=\"130\"");
    assert_contains(svg, "<rect x=\"640\" y=\"230\" width=\"550.5\" height=\"130\"");
    assert_contains(svg, "<rect x=\"640\" y=\"100\" width=\"550.5\" height=\"130\"");
    assert_contains(svg, "<rect x=\"1190\" y=\"295\" width=\"0.5\" height=\"65\"");
    assert_contains(svg, "<rect x=\"90\" y=\"570\" width=\"0.5\" height=\"130\"");
    assert_contains(svg, "rank 0, GPU 3");
    assert_contains(svg, ">2.000 ms<");
    assert_contains(svg, ">7.000 ms<");
    assert_contains(svg, ">4.0 MiB<");
}

/* As many blocks as are asked for, none without a title; nothing is known of an empty device. */
TEST_WITH(blocks_are_shown_as_asked, set_up, tear_down)
{
    static const struct {
        size_t top;
        size_t blocks;
        bool has_title;
    } cases[] = {{0, 2, false}, {1, 1, true}, {1, 0, false}, {9, 2, true}};
    fixture *own = *state;
    const st_trace trace = {.file = "r3.json", .rank = 3};
    st_memory_sample samples[] = {{0, {2097152, 1572864, 0, 0, 524288}},
                                  {5000000, {2097152, 0, 0, 0, 0}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_memory_device device = make_device(&trace, samples);
        device.block_count = cases[i].blocks;
        st_buffer_free(&own->text);
        st_buffer_free(&own->json);
        st_view_memory_result(&(st_memory_view){&device, 1}, cases[i].top, own->arena,
                              &own->result);
        write_forms(own);
        const char *text = st_buffer_read(&own->text);
        assert_int_equal(strstr(text, "Largest at the peak") != NULL, cases[i].has_title);
        assert_int_equal(strstr(text, "outside of operators 0.5 MiB") != NULL, cases[i].top == 9);
    }
}

/* ---- what helps most ---- */

TEST_OF(gains_are_told_against_the_step, fixture *own, set_up, tear_down)
{
    st_trace_gain gains[] = {{"gemm", "speed.gemm=2", 16000000, 30000000, 10000000},
                             {"host", "speed.host=2", 0, 39000000, 1000000}};
    st_trace_ranking_result(&(st_trace_ranking){2.385, 40000000, gains, 2}, own->arena,
                            &own->result);
    write_forms(own);
    SAYS(own, "40.000 ms as recorded; window with each part 2.385 times as fast",
         "gemm 16.000 ms 30.000 ms -25.00 %", "host 39.000 ms -2.50 %");
    HAS(own, "\"change\": \"speed.gemm=2\", \"time_ns\": 16000000", "\"saved_ns\": 1000000");
}

/* ---- what a change comes to ---- */

static st_trace one_trace = {.file = "r3.json", .rank = 3};

static st_trace_graph make_graph(st_trace_rank *rank, st_trace_set *set)
{
    static st_trace *traces[1] = {&one_trace};
    static st_trace_mark marks[1] = {{.name = "ProfilerStep#7"}};
    *rank = (st_trace_rank){.trace = &one_trace, .steps = marks, .step_count = 1};
    *set = (st_trace_set){.ranks = traces, .count = 1};
    return (st_trace_graph){.set = set, .ranks = rank};
}

TEST_OF(a_change_is_told_for_ranks_and_steps, fixture *own, set_up, tear_down)
{
    st_trace_rank rank;
    st_trace_set set;
    st_trace_graph graph = make_graph(&rank, &set);
    st_trace_breakdown before = {10000000, 6000000, 2000000, 2000000, 20000000};
    st_trace_breakdown after = {9000000, 3000000, 1000000, 2000000, 15000000};
    int64_t step_before_ns[] = {23850000};
    int64_t step_after_ns[] = {19080000};
    int64_t *steps_before_ns[] = {step_before_ns};
    int64_t *steps_after_ns[] = {step_after_ns};
    const char *notes[] = {"kernels stay as they are"};
    const st_trace_outcome outcome = {.before_ns = 20000000,
                                      .after_ns = 15000000,
                                      .after_least_ns = 14000000,
                                      .before = &before,
                                      .after = &after,
                                      .steps_before_ns = steps_before_ns,
                                      .steps_after_ns = steps_after_ns,
                                      .scaled = 31,
                                      .layers = 24,
                                      .added = 5,
                                      .notes = notes,
                                      .note_count = 1};
    st_trace_whatif_result(&graph, &outcome, own->arena, &own->result);
    write_forms(own);
    SAYS(own, "before 20.000 ms\nafter 15.000 ms (-25.00 %)", "layers 24 on a rank",
         "tasks 31 changed", "copies 5 tasks of further layers", "assumed kernels stay as they are",
         "3 before 20.000 ms 50.0 % 30.0 % 10.0 % 10.0 %",
         "after 15.000 ms 60.0 % 20.0 % 6.7 % 13.3 %",
         "ProfilerStep#7 23.850 ms after 19.080 ms -20.00 %");
    HAS(own, "\"after_least_ns\": 14000000",
        "\"name\": \"ProfilerStep#7\", \"before_ns\": 23850000, \"after_ns\": 19080000");
    assert_silent(own, "bubble");
}

/* Where a schedule is laid out anew, ranks have no times after it; its bubble is idle. */
TEST_OF(a_new_schedule_has_a_bubble_and_no_ranks, fixture *own, set_up, tear_down)
{
    st_trace_rank rank;
    st_trace_set set;
    st_trace_graph graph = make_graph(&rank, &set);
    st_trace_breakdown before = {10000000, 6000000, 2000000, 2000000, 20000000};
    int64_t step_before_ns[] = {23850000};
    int64_t *steps_before_ns[] = {step_before_ns};
    st_buffer csv = {0};
    const st_trace_outcome outcome = {.before_ns = 20000000,
                                      .after_ns = 30000000,
                                      .after_least_ns = 1,
                                      .before = &before,
                                      .steps_before_ns = steps_before_ns,
                                      .bubble_frac = 0.125};
    st_trace_whatif_result(&graph, &outcome, own->arena, &own->result);
    write_forms(own);
    SAYS(own, "after 30.000 ms (+50.00 %)", "bubble 12.5 % of the step", "tasks 0 changed");
    HAS(own, "\"after_least_ns\": 30000000", "\"after\": null", "\"after_ns\": null");
    assert_silent(own, "ProfilerStep");
    assert_silent(own, "layers");
    assert_silent(own, "copies");
    st_result_write_csv(&own->result, &csv);
    assert_contains(st_buffer_read(&csv), "schedule,,after,");
    assert_contains(st_buffer_read(&csv), "26250000");
    assert_contains(st_buffer_read(&csv), "3750000");
    st_buffer_free(&csv);
}

/* ---- summaries ---- */

static st_trace_summary make_summary(const st_trace *trace)
{
    static st_trace_tally kernels[] = {{"ampere_sgemm", ST_TRACE_GEMM, 31, 16000000},
                                       {"ncclAllReduce", ST_TRACE_COMMUNICATION, 5, 4000000},
                                       {"gelu", ST_TRACE_ELEMENTWISE, 7, 2385000}};
    static st_trace_tally calls[] = {{.name = "cudaDeviceSynchronize", .count = 3}};
    static st_trace_tally records[] = {{.name = "Stream Sync", .count = 2}};
    static st_trace_step steps[] = {
        {"ProfilerStep#7", 571000, 8000000, {3000000, 2000000, 1000000, 2000000, 8000000}},
        {"ProfilerStep#8", 8571000, 0, {0}}};
    static double shares[] = {0.25, 1, 0.125, 0.625};
    st_trace_summary made = {.trace = trace,
                             .time = {10000000, 6000000, 2000000, 2000000, 20000000},
                             .gpu_tasks = 43,
                             .streams = 2,
                             .launches_linked = 41,
                             .unlaunched = 6,
                             .records = 11,
                             .waits = 9,
                             .exact_waits = 8,
                             .collectives = 5,
                             .described_collectives = 4,
                             .overlaps = 17,
                             .kernels = kernels,
                             .kernel_count = 3,
                             .sync_calls = calls,
                             .sync_call_count = 1,
                             .sync_records = records,
                             .sync_record_count = 1,
                             .steps = steps,
                             .step_count = 2,
                             .utilization_frac = shares,
                             .period_count = 4,
                             .period_ns = 3000000};
    for (int i = 0; i < ST_TRACE_CLASSES; i++)
        made.classes[i].name = st_trace_class_name((st_trace_class)i);
    made.classes[ST_TRACE_GEMM] = (st_trace_tally){"gemm", ST_TRACE_GEMM, 31, 16000000};
    made.classes[ST_TRACE_NORM] = (st_trace_tally){"norm", ST_TRACE_NORM, 1, 5000};
    return made;
}

/* Shares are of the window of 20 ms; a period of least and one of most use are told. */
TEST_OF(a_summary_tells_what_a_rank_did, fixture *own, set_up, tear_down)
{
    const char *names[] = {"NVIDIA H100", "ms", "kernel", "cpu_op"};
    st_trace trace = {.file = "r3.json",
                      .names = names,
                      .gpu = 0,
                      .unit = 1,
                      .rank = 3,
                      .world_size = 8,
                      .base_ns = 2385,
                      .has_decimals = true,
                      .file_events = 571,
                      .complete_events = 385,
                      .categories = {{2, 43}, {3, 119}},
                      .category_count = 2};
    st_trace *traces[] = {&trace};
    const st_trace_set set = {.ranks = traces, .count = 1};
    st_trace_summary summary = make_summary(&trace);
    st_trace_summary_result(&(st_trace_report){&set, &summary, 2, false}, own->arena, &own->result);
    write_forms(own);
    SAYS(own, "r3.json\n rank 3 of 8, NVIDIA H100; 571 events, 43 GPU tasks on 2 streams\n",
         "exposed compute 10.000 ms 50.0 %", "exposed communication 6.000 ms 30.0 %",
         "overlapped 2.000 ms 10.0 %", "idle 2.000 ms 10.0 %", "window 20.000 ms 100.0 %",
         "gemm 16.000 ms 80.0 % 31 x", "norm 0.005 ms 0.0 % 1 x",
         "ProfilerStep#7 8.000 ms 75.0 % busy", "ProfilerStep#8 0.000 ms 0.0 % busy",
         "Longest kernels", "ampere_sgemm 16.000 ms 80.0 % 31 x",
         "ncclAllReduce 4.000 ms 20.0 % 5 x",
         "launches 41 linked, 6 tasks without one; events 11 recorded, 9 waited for, 8 with ids; "
         "17 tasks overlap on a stream",
         "SM utilization over 3 ms: mean 50.0 %, least 12.5 %, most 100.0 %");
    HAS(own, "\"rank\": 3", "\"world\": 8", "\"gpu\": \"NVIDIA H100\"", "\"toplevel\": \"object\"",
        "\"ts_float\": true", "\"base_ns\": 2385", "\"unit\": \"ms\"", "\"partial\": false",
        "\"events\": 571", "\"X\": 385", "\"kernel\": 43", "\"cpu_op\": 119", "\"gpu_tasks\": 43",
        "\"streams\": 2", "\"launches_linked\": 41", "\"without_launch\": 6",
        "\"stream_overlaps\": 17", "\"eventrecord\": 11", "\"waitevent\": 9",
        "\"wait_corr_ge0\": 8", "\"comm_kernels\": 5", "\"coll_meta_kernels\": 4",
        "\"cudaDeviceSynchronize\": 3", "\"Stream Sync\": 2", "\"period_ns\": 3000000",
        "[0.25, 1, 0.125, 0.625]");
    assert_silent(own, "gelu");
    assert_silent(own, "attention");
    assert_silent(own, "read in part");
}

/* What a file does not say is unknown; without kernels to show there is no table of them. */
TEST_WITH(a_summary_tells_what_is_unknown, set_up, tear_down)
{
    static const struct {
        int64_t rank;
        int64_t world_size;
        const char *words;
    } cases[] = {{-1, -1, "\n rank unknown, GPU unknown; 571 events"},
                 {-1, 8, "\n rank unknown, GPU unknown"},
                 {0, -1, "\n rank 0, GPU unknown"},
                 {0, 0, "\n rank 0 of 0, GPU unknown"}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_trace trace = {.file = "r3.json",
                          .gpu = ST_TRACE_NONE,
                          .unit = ST_TRACE_NONE,
                          .rank = cases[i].rank,
                          .world_size = cases[i].world_size,
                          .base_ns = -1,
                          .is_array = true,
                          .partial = true,
                          .file_events = 571};
        st_trace *traces[] = {&trace, &trace};
        const st_trace_set set = {.ranks = traces, .count = 2};
        st_trace_summary summaries[] = {make_summary(&trace), make_summary(&trace)};
        for (size_t k = 0; k < 2; k++)
            summaries[k].period_count = summaries[k].step_count = 0;
        summaries[1].kernel_count = 0;
        st_buffer_free(&own->text);
        st_buffer_free(&own->json);
        st_trace_summary_result(&(st_trace_report){&set, summaries, i == 0 ? 0 : 9, false},
                                own->arena, &own->result);
        write_forms(own);
        SAYS(own, cases[i].words, "on 2 streams; read in part\n", "stream\n\nr3.json\n");
        HAS(own, "\"toplevel\": \"array\"", "\"base_ns\": null", "\"gpu\": null",
            "\"partial\": true");
        assert_silent(own, "SM utilization");
        assert_silent(own, "Steps");
        const char *table = strstr(st_buffer_read(&own->text), "Longest kernels");
        assert_int_equal(table != NULL, i > 0);
        assert_true(table == NULL || strstr(table + 1, "Longest kernels") == NULL);
    }
}

/* ---- idle time and queues ---- */

TEST_OF(idle_time_is_told_by_its_causes, fixture *own, set_up, tear_down)
{
    st_buffer csv = {0};
    const st_trace trace = {.file = "r3.json", .rank = 3};
    st_idle streams[] = {
        {7, 1, 31, 2000000, {1000000, 500000, 250000, 126000, 74000, 50000}, false},
        {20, 1, 5, 0, {0}, false}};
    st_queue queues[] = {{29, 2.385, 17, 23850, 57100, 99900, 7000, 5500, 3},
                         {0, 0, 0, -1, -1, -1, -1, -1, 0}};
    const st_idle_rank ranks[] = {
        {&trace,
         0,
         -1,
         16000000,
         {-1, -1, 36, 4000000, {0, 1000000, 0, 3000000, 0, 0}, false},
         streams,
         queues,
         2},
        {&trace, 0, 5, 1000000, {-1, 5, 1, 0, {0}, false}, NULL, NULL, 0}};
    st_view_idle_result(ranks, 2, own->arena, &own->result);
    write_forms(own);
    SAYS(own, "r3.json: window 16.000 ms; causes in percent of idle time",
         "GPU 4.000 ms 25.0 % 0.0 % 25.0 % 0.0 % 75.0 % 0.0 % 0.0 %",
         "stream 7 2.000 ms 12.5 % 50.0 % 25.0 % 12.5 % 6.3 % 3.7 % 2.5 %",
         "stream 20 0.000 ms 0.0 % 0.0 %",
         "stream 7 29 2.4 17 23.9 us 57.1 us 99.9 us 7.0 us 5.5 us 3",
         "stream 20 0 0.0 0 unknown unknown unknown unknown unknown 0",
         "\n\nr3.json, device 5: window 1.000 ms");
    HAS(own, "\"idle_ns\": 4000000", "\"tasks\": 36", "\"synchronisation_ns\": 1000000",
        "\"communication_ns\": 3000000", "\"host_bound_ns\": 1000000", "\"dependency_ns\": 250000",
        "\"launch_ns\": 74000", "\"unknown_ns\": 50000", "\"queue_mean\": 2.385",
        "\"queue_most\": 17", "\"delay_median_ns\": 23850", "\"delay_p90_ns\": 57100",
        "\"delay_most_ns\": 99900", "\"delay_empty_ns\": 7000", "\"call_median_ns\": 5500",
        "\"shorter_than_call\": 3", "\"delay_median_ns\": null", "\"call_median_ns\": null");
    assert_ptr_equal(strstr(st_buffer_read(&own->text), "r3.json"), st_buffer_read(&own->text));
    st_result_write_csv(&own->result, &csv);
    assert_contains(st_buffer_read(&csv),
                    "r3.json,3,7,1,31,16000000,2000000,1000000,500000,250000,126000,74000,50000,"
                    "29,2.385,17,23850,57100,99900,7000,5500,3");
    st_buffer_free(&csv);
}

/* ---- names ---- */

/* 38 characters from the beginning and 24 from the end, unless it is no longer than both. */
TEST_OF(long_names_keep_their_ends, fixture *own, set_up, tear_down)
{
    const char digits[] = "a123456789b123456789c123456789d123456789e123456789f123456789g12";
    st_node *root = st_result_begin(&own->result, own->arena);
    st_put_short(root, "fits", digits + 1, false);
    st_put_short(root, "short", digits, false);
    st_put_short(root, "whole", digits, true);
    write_forms(own);
    HAS(own, "\"fits\": \"123456789b123456789c123456789d123456789e123456789f123456789g12\"",
        "\"short\": \"a123456789b123456789c123456789d1234567..9e123456789f123456789g12\"",
        "\"whole\": \"a123456789b123456789c123456789d123456789e123456789f123456789g12\"");
}

TESTS(trace_reports);
