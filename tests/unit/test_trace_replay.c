/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of graphs, replays, critical paths and rankings: of such made by hand, and of small
 * recordings whose times are known. */
#include "forms_support.h"
#include "trace_view_support.h"

#include "trace/trace_replay.h"
#include "trace/view.h"

static const char *csv_of(const fixture *own, st_buffer *csv)
{
    st_result_write_csv(&own->result, csv);
    return st_buffer_read(csv);
}

/* ---- graphs ---- */

static st_trace traces[2] = {{.file = "r3.json", .rank = 3, .world_size = 8},
                             {.file = "r5.json", .rank = -1, .world_size = -1}};
static st_trace *two[2] = {&traces[0], &traces[1]};
static const st_trace_set two_ranks = {.ranks = two, .count = 2};

/* Two tasks and an edge. */
static st_graph *make_tasks(void)
{
    st_graph *graph = st_graph_create(NULL);
    uint32_t resource = 0;
    assert_int_equal(st_graph_resource(graph, 3, ST_RESOURCE_HOST, "31", &resource, NULL), ST_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(st_graph_add(graph,
                                      &(st_task_spec){.resource = resource, .duration_ns = 5}, NULL,
                                      NULL),
                         ST_OK);
    assert_int_equal(st_graph_edge(graph, 0, 1, ST_EDGE_USER, NULL), ST_OK);
    return graph;
}

/* Every kind of dependency has numbers of its own. */
static void count_edges(st_trace_rank *rank, uint64_t exact)
{
    for (int i = 0; i < ST_TRACE_EDGE_KINDS; i++)
        rank->edges[i] = (st_trace_edges){exact + 10 * (uint64_t)i, 5 * (uint64_t)i, (uint64_t)i};
}

TEST_OF(dependencies_of_all_ranks_are_summed, fixture *own, set_up, tear_down)
{
    st_buffer csv = {0};
    st_trace_rank ranks[2] = {{.trace = &traces[0]}, {.trace = &traces[1]}};
    count_edges(&ranks[0], 3);
    count_edges(&ranks[1], 200);
    st_trace_graph graph = {.graph = make_tasks(),
                            .set = &two_ranks,
                            .ranks = ranks,
                            .instances = {31, 6, 2},
                            .inferred_groups = 3,
                            .most_apart_ns = 23850};
    st_trace_graph_result(&graph, own->arena, &own->result);
    write_forms(own);
    SAYS(own, "2 ranks, 2 tasks, 1 dependencies besides program order",
         "ends of one collective differ by up to 23.9 us", "3 groups of ranks inferred from",
         "thread 203 0 0 host after host\n", "launch 223 10 2 GPU task after its call",
         "sync 243 20 4 host after GPU task",
         "stream 263 30 6 GPU task after the one before it on its stream",
         "streams 283 40 8 GPU task after one of another stream",
         "ranks 31 6 2 collectives in which ranks meet");
    HAS(own, "\"tasks\": 2", "\"dependencies\": 1", "\"most_apart_ns\": 23850",
        "\"inferred_groups\": 3",
        "\"streams\": {\"exact\": 43, \"inferred\": 20, \"contradicted\": 4}",
        "\"streams\": {\"exact\": 240, \"inferred\": 20, \"contradicted\": 4}");
    csv_of(own, &csv);
    assert_contains(csv.data, "r3.json,launch,13,5,1");
    assert_contains(csv.data, "r5.json,stream,230,15,3");
    assert_contains(csv.data, "\n,ranks,31,6,2");
    assert_null(strstr(csv.data, "r5.json,ranks"));
    st_buffer_free(&csv);
    st_graph_destroy(graph.graph);
}

/* What a rank has nothing of is not said. */
TEST_OF(what_is_found_of_ranks_is_said, fixture *own, set_up, tear_down)
{
    st_trace_rank ranks[2] = {{.trace = &traces[0],
                               .launch_lag_ns = 2387,
                               .queue_gap_ns = 571,
                               .unlaunched = 17,
                               .unexplained = 23,
                               .unexplained_ns = 1239000,
                               .clock_ns = -4385,
                               .waiting = {5, 2385000, 2, 571000, 31000, NULL},
                               .blocked = 7,
                               .blocked_ns = 62000,
                               .gpu_late_ns = -1385,
                               .graphs_ns = 93000},
                              {.trace = &traces[1]}};
    st_trace_graph graph = {.graph = make_tasks(), .set = &two_ranks, .ranks = ranks};
    st_trace_graph_result(&graph, own->arena, &own->result);
    write_forms(own);
    SAYS(own,
         "r3.json\n launch lag 2.39 us, gap in a queue 0.57 us; 17 tasks without a launch; 23 "
         "tasks late without a known reason, by 1.239 ms; clock -4.385 us\n",
         "\n the host waits 5 times, 2.385 ms; 2 of them, 0.571 ms, for no known cause\n waiting "
         "calls continue after the GPU is done: 0.031 ms\n 7 tasks had no room while another "
         "stream's kernel ran: 0.062 ms\n the GPU's clock is late by -1.385 us\n nodes of "
         "CUDA graphs without a record: 0.093 ms\nr5.json\n launch lag 0.00 us");
    HAS(own, "\"launch_lag_ns\": 2387", "\"queue_gap_ns\": 571", "\"clock_ns\": -4385",
        "\"gpu_late_ns\": -1385", "\"waits\": 5", "\"waits_ns\": 2385000", "\"unknown_waits\": 2",
        "\"unknown_waits_ns\": 571000", "\"own_ns\": 31000", "\"without_launch\": 17",
        "\"blocked\": 7", "\"blocked_ns\": 62000", "\"unexplained\": 23",
        "\"unexplained_ns\": 1239000", "\"graphs_ns\": 93000");
    const char *second = strstr(st_buffer_read(&own->text), "r5.json");
    assert_non_null(second);
    assert_string_equal(strstr(second, "clock"), "clock 0.000 us\n");
    assert_silent(own, "ends of one collective");
    assert_silent(own, "groups of ranks");
    st_graph_destroy(graph.graph);
}

/* One of each is enough, be it inferred. */
TEST_OF(one_of_each_is_said, fixture *own, set_up, tear_down)
{
    st_trace_rank ranks[2] = {{.trace = &traces[0],
                               .waiting = {.count = 1, .own_ns = 1},
                               .blocked = 1,
                               .gpu_late_ns = 1,
                               .graphs_ns = 1},
                              {.trace = &traces[1]}};
    st_trace_graph graph = {.graph = make_tasks(),
                            .set = &two_ranks,
                            .ranks = ranks,
                            .instances = {0, 1, 0},
                            .inferred_groups = 1};
    st_trace_graph_result(&graph, own->arena, &own->result);
    write_forms(own);
    SAYS(own, "the host waits 1 times", "waiting calls continue", "1 tasks had no room",
         "late by 0.001 us", "nodes of CUDA graphs",
         "ends of one collective differ by up to 0.0 us", "1 groups of ranks");
    st_graph_destroy(graph.graph);
}

/* ---- critical paths ---- */

/* They add 110 us, in the order of time; two of them the same. */
static st_path_row path_rows[] = {
    {{.rank = 3, .name = "cudaLaunchKernel", .category_name = "host"}, "31", "", 0, 40000, 40000},
    {{.rank = 3, .name = "", .category_name = "delay"}, "7", "launch", 40000, 50000, 10000},
    {{.rank = 5, .name = "sgemm", .category_name = "gemm"}, "7", "stream", 50000, 80000, 30000},
    {{.rank = 5, .name = "gelu", .category_name = "elementwise"}, "8", "user", 70000, 90000, 10000},
    {{.rank = 5, .name = "last", .category_name = "host"}, "31", "sync", 90000, 110000, 20000}};

static void show_view(fixture *own, const st_path_view *view, size_t top)
{
    st_buffer_free(&own->text);
    st_buffer_free(&own->json);
    st_view_path_result(view, top, false, own->arena, &own->result);
    write_forms(own);
}

static void show_path(fixture *own, size_t top)
{
    show_view(own, &(st_path_view){path_rows, COUNT(path_rows), 110000, 0}, top);
}

TEST_OF(tasks_that_add_most_are_shown_in_order, fixture *own, set_up, tear_down)
{
    show_path(own, 2);
    SAYS(own, "critical path of 0.110 ms, 5 tasks",
         "0.000 ms 0.040 ms 36.4 % 3 31 host cudaLaunchKernel",
         "0.050 ms 0.030 ms 27.3 % 5 7 gemm sgemm stream", "3 others add 0.040 ms");
    HAS(own, "\"length_ns\": 110000", "\"tasks\": 5", "\"others\": 3", "\"others_ns\": 40000",
        "{\"start_ns\": 50000, \"end_ns\": 80000, \"adds_ns\": 30000, \"rank\": 5, \"on\": \"7\", "
        "\"category\": \"gemm\", \"name\": \"sgemm\", \"why\": \"stream\"}");
    assert_silent(own, "delay");
    assert_silent(own, "last");
}

/* The first of two that add the same is shown; it does not take the place of one that adds more. */
TEST_OF(ties_leave_room_for_what_adds_more, fixture *own, set_up, tear_down)
{
    show_path(own, 4);
    SAYS(own, "cudaLaunchKernel", "0.040 ms 0.010 ms 9.1 % 3 7 delay delay launch", "sgemm",
         "last sync", "1 others add 0.010 ms");
    assert_silent(own, "gelu");
}

TEST_WITH(short_paths_are_shown_whole, set_up, tear_down)
{
    static const size_t tops[] = {0, 5, 6};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(tops); i++) {
        show_path(own, tops[i]);
        SAYS(own, "cudaLaunchKernel", "delay", "sgemm", "gelu user", "last",
             "0 others add 0.000 ms");
    }
}

/* A mark on the path adds nothing, and is a task of it all the same. */
TEST_OF(tasks_that_add_nothing_are_shown, fixture *own, set_up, tear_down)
{
    st_path_row rows[] = {path_rows[0], path_rows[2], path_rows[4]};
    rows[1].adds_ns = 0;
    const st_path_view view = {rows, COUNT(rows), 60000, 0};
    show_view(own, &view, 0);
    SAYS(own, "cudaLaunchKernel", "0.050 ms 0.000 ms 0.0 % 5 7 gemm sgemm stream", "last");
    show_view(own, &view, 2);
    assert_silent(own, "sgemm");
}

/* ---- recordings ---- */

typedef struct recording {
    st_trace *ranks[2];
    st_trace_set set;
    st_errors *errors;
    st_trace_graph *graph;
    st_replay *replay;
} recording;

static recording record(const char *const *texts, size_t count)
{
    recording made = {.errors = st_errors_create()};
    for (size_t i = 0; i < count; i++)
        made.ranks[i] = trace_of(texts[i], false, made.errors);
    return made;
}

/* The set points into what must not move any more. */
static void build(recording *own, size_t count)
{
    own->set = set_of(own->ranks, count);
    assert_int_equal(st_trace_graph_make(&own->set, &own->graph, own->errors), ST_OK);
    own->replay = st_replay_create(own->graph->graph);
    assert_non_null(own->replay);
}

static void drop(recording *own)
{
    st_replay_destroy(own->replay);
    st_trace_graph_destroy(own->graph);
    for (size_t i = 0; i < 2; i++)
        st_trace_destroy(own->ranks[i]);
    st_errors_destroy(own->errors);
}

/* Of the idle trace: 102.385 us to 270 us, in which the GPU works for 20.615, 9.5, 30, 40 us and,
 * with 31 us of it beside the 40 us, an all-reduce of 50 us and 4.5 us. Without delays the first
 * task, the last and that beside which the all-reduce runs begin 1, 3.5 and 0.25 us earlier. */
static void make_idle_report(recording *made, fixture *own, st_trace_replay_report *report)
{
    const char *const texts[] = {idle_trace};
    *made = record(texts, 1);
    build(made, 1);
    assert_int_equal(
        st_trace_replay_make(made->graph, made->replay, own->arena, report, made->errors), ST_OK);
}

static void assert_breakdown(const st_trace_breakdown *time, const int64_t *expected_ns)
{
    assert_int_equal(time->window_ns, expected_ns[0]);
    assert_int_equal(time->exposed_compute_ns, expected_ns[1]);
    assert_int_equal(time->exposed_communication_ns, expected_ns[2]);
    assert_int_equal(time->overlapped_ns, expected_ns[3]);
    assert_int_equal(time->idle_ns, expected_ns[4]);
}

TEST_WITH(a_replay_stands_beside_its_recording, set_up, tear_down)
{
    static const int64_t recorded_ns[] = {167615, 73615, 19000, 31000, 44000};
    static const int64_t alone_ns[] = {163115, 73865, 19250, 30750, 39250};
    fixture *own = *state;
    recording made;
    st_trace_replay_report report;
    make_idle_report(&made, own, &report);
    const st_trace_replayed *rank = &report.ranks[0];
    assert_int_equal(report.recorded_ns, 167615);
    assert_int_equal(report.replayed_ns, 167615);
    assert_breakdown(&rank->recorded, recorded_ns);
    assert_breakdown(&rank->replayed, recorded_ns);
    assert_breakdown(&rank->alone, alone_ns);
    assert_int_equal(rank->transfer_ns, 50000);
    assert_int_equal(rank->waiting_ns, 0);
    assert_false(rank->waits_known); /* no other rank is there */
    assert_int_equal(rank->step_count, 2);
    assert_int_equal(rank->step_ns[0], 110000);
    assert_int_equal(rank->step_ns[1], 80000);
    assert_true(report.most_points == 0);
    /* of idle time: 44 of 167.615 us, and 39.25 of 163.115 us */
    assert_true(fabs(report.most_points_alone - 2.1878561) < 1e-7);
    drop(&made);
}

/* To the end of the last step at 290 us: two GEMMs, the launch of the first, 1 us late; the host.
 */
TEST_WITH(categories_add_up_to_the_path, set_up, tear_down)
{
    static const struct {
        const char *name;
        int64_t time_ns;
    } expected[] = {{"host", 149500}, {"gemm", 30115}, {"delay", 8000}};
    fixture *own = *state;
    recording made;
    st_trace_replay_report report;
    make_idle_report(&made, own, &report);
    assert_int_equal(report.path_count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_string_equal(report.path[i].name, expected[i].name);
        assert_int_equal(report.path[i].total_ns, expected[i].time_ns);
    }
    assert_int_equal(report.path[1].count, 2);
    assert_int_equal(report.path[2].count, 2);
    drop(&made);
}

/*
 * Without the GPU the host does not wait 25.5 us for the second GEMM, which is launched at 5.615 us
 * and takes 7 us to get there; the last kernel is 3.5 us late. Without the host there are two
 * launches, all kernels of stream 7, and what is late: 1, 1.375, 0.25 and 3.5 us. At a tenth the
 * second GEMM ends as soon as it can; of the others only the last kernel, or the all-reduce that is
 * shorter than the GEMM beside it then, matter.
 */
TEST_WITH(extremes_leave_what_bounds_the_step, set_up, tear_down)
{
    static const st_trace_left expected[] = {
        {"GPU at zero", 97615, 155115, 0, 7000, 0, 0},
        {"host at zero", 124740, 0, 0, 14000, 6125, 104615},
        {"gemm at a tenth", 143065, 155115, 0, 7000, 0, 950},
        {"elementwise at a tenth", 163565, 149500, 0, 7000, 1000, 30115},
        {"communication at a tenth", 148615, 149500, 0, 7000, 1000, 30115},
    };
    fixture *own = *state;
    recording made;
    st_trace_replay_report report;
    make_idle_report(&made, own, &report);
    assert_int_equal(report.left_count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_string_equal(report.left[i].what, expected[i].what);
        assert_int_equal(report.left[i].length_ns, expected[i].length_ns);
        assert_int_equal(report.left[i].host_ns, expected[i].host_ns);
        assert_int_equal(report.left[i].wait_ns, expected[i].wait_ns);
        assert_int_equal(report.left[i].launch_ns, expected[i].launch_ns);
        assert_int_equal(report.left[i].late_ns, expected[i].late_ns);
        assert_int_equal(report.left[i].gpu_ns, expected[i].gpu_ns);
    }
    /* All is as recorded afterwards. */
    assert_int_equal(st_replay_run(made.replay, made.errors), ST_OK);
    assert_int_equal(st_replay_end_ns(made.replay), 187615);
    drop(&made);
}

/* The second rank arrives 23.85 us later; both end together. */
TEST_WITH(ranks_wait_for_the_last, set_up, tear_down)
{
    const char *const texts[] = {MET("0", "100", "100"), MET("1", "123.85", "76.15")};
    fixture *own = *state;
    recording made = record(texts, 2);
    st_trace_replay_report report;
    build(&made, 2);
    assert_int_equal(
        st_trace_replay_make(made.graph, made.replay, own->arena, &report, made.errors), ST_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_true(report.ranks[i].waits_known);
        assert_int_equal(report.ranks[i].transfer_ns, 76150);
        assert_int_equal(report.ranks[i].waiting_ns, i == 0 ? 23850 : 0);
    }
    assert_int_equal(report.recorded_ns, 119500);
    drop(&made);
}

/* What a replay says, made by hand: shares of their own windows, signs of changes. */
TEST_OF(replays_are_told, fixture *own, set_up, tear_down)
{
    st_buffer csv = {0};
    st_trace_step steps[] = {{.name = "ProfilerStep#7", .duration_ns = 23850000}};
    int64_t step_ns[] = {19080000};
    st_trace_tally path[] = {{.name = "gemm", .count = 31, .total_ns = 16000000}};
    st_trace_left left[] = {{"GPU at zero", 5000000, 6000000, 1000000, 2000000, 3000000, 8000000}};
    st_trace_replayed ranks[] = {{.recorded = {10000000, 6000000, 2000000, 2000000, 20000000},
                                  .replayed = {9000000, 3000000, 1000000, 2000000, 15000000},
                                  .alone = {4000000, 3000000, 2000000, 1000000, 10000000},
                                  .transfer_ns = 2385000,
                                  .waiting_ns = 571000,
                                  .waits_known = true,
                                  .steps = steps,
                                  .step_ns = step_ns,
                                  .step_count = 1},
                                 {.transfer_ns = 1, .waits_known = false}};
    st_trace_graph graph = {.set = &two_ranks};
    const st_trace_replay_report report = {&graph, ranks, 16000000, 20000000, 2.385,
                                           5.714,  left,  1,        path,     1};
    st_trace_replay_result(&report, own->arena, &own->result);
    write_forms(own);
    SAYS(own, "2 ranks: 16.000 ms recorded, 20.000 ms replayed (+25.00 %)",
         "largest difference of a share: 2.38 percentage points, by dependencies alone 5.71",
         "3 recorded 20.000 ms 50.0 % 30.0 % 10.0 % 10.0 %",
         "replayed 15.000 ms 60.0 % 20.0 % 6.7 % 13.3 %",
         "dependencies alone 10.000 ms 40.0 % 30.0 % 20.0 % 10.0 %",
         "collectives 2.385 ms waiting 0.571 ms", "ProfilerStep#7 19.080 ms recorded 23.850 ms",
         "\n 1 recorded 0.000 ms 0.0 %", "collectives 0.000 ms waiting unknown",
         "gemm 16.000 ms 80.0 % 31 x",
         "GPU at zero 5.000 ms -75.00 % 30.0 % 5.0 % 10.0 % 15.0 % 40.0 %");
    HAS(own, "\"recorded_ns\": 16000000", "\"replayed_ns\": 20000000", "\"most_points\": 2.385",
        "\"most_points_alone\": 5.714", "\"rank\": 3", "\"rank\": null", "\"transfer_ns\": 2385000",
        "\"waiting_ns\": 571000", "\"transfer_ns\": null", "\"waiting_ns\": null",
        "\"recorded_ns\": 23850000, \"replayed_ns\": 19080000",
        "\"unknown_waits_ns\": 1000000, \"launches_ns\": 2000000, \"late_ns\": 3000000");
    assert_contains(csv_of(own, &csv), "r3.json,3,dependencies alone,10000000,4000000,3000000");
    st_buffer_free(&csv);
}

/* ---- what helps most ---- */

static int64_t time_after(const st_trace_set *set, const char *change, fixture *own)
{
    st_trace_graph *graph = NULL;
    st_trace_outcome outcome;
    assert_int_equal(st_trace_graph_make(set, &graph, NULL), ST_OK);
    assert_int_equal(st_trace_whatif(graph, &(st_trace_change){.sets = &change, .set_count = 1},
                                     own->arena, &outcome, NULL),
                     ST_OK);
    st_trace_graph_destroy(graph);
    return outcome.after_ns;
}

static const st_trace_gain *gain_of(const st_trace_ranking *ranking, const char *what)
{
    for (size_t i = 0; i < ranking->count; i++)
        if (strcmp(ranking->gains[i].what, what) == 0)
            return &ranking->gains[i];
    return NULL;
}

/* Classes that have a time, the host, launches, and kernels that do not communicate. */
TEST_WITH(each_candidate_is_tried, set_up, tear_down)
{
    static const st_trace_gain expected[] = {
        {"communication", "bandwidth=2", 50000, 148615, 19000},
        {"ampere_sgemm_128x64_nn", "speed.kernel:ampere_sgemm_128x64_nn=2", 70115, 152558, 15057},
        {"gemm", "speed.gemm=2", 70115, 152558, 15057},
        {"elementwise", "speed.elementwise=2", 34500, 165365, 2250},
        {"vectorized_elementwise_kernel", "speed.kernel:vectorized_elementwise_kernel=2", 34500,
         165365, 2250}};
    const char *const texts[] = {idle_trace};
    fixture *own = *state;
    recording made = record(texts, 1);
    st_trace_ranking ranking;
    build(&made, 1);
    assert_int_equal(st_trace_rank_gains(&made.set, 2, 2, own->arena, &ranking, made.errors),
                     ST_OK);
    assert_int_equal(ranking.count, COUNT(expected) + 2);
    assert_int_equal(ranking.before_ns, 167615);
    for (size_t i = 0; i < COUNT(expected); i++) {
        const st_trace_gain *gain = gain_of(&ranking, expected[i].what);
        assert_non_null(gain);
        assert_string_equal(gain->change, expected[i].change);
        assert_int_equal(gain->time_ns, expected[i].time_ns);
        assert_int_equal(gain->after_ns, expected[i].after_ns);
        assert_int_equal(gain->saved_ns, expected[i].saved_ns);
    }
    for (size_t i = 0; i < ranking.count; i++) {
        const st_trace_gain *gain = &ranking.gains[i];
        assert_int_equal(gain->after_ns, time_after(&made.set, gain->change, own));
        if (i > 0 && gain->saved_ns == gain[-1].saved_ns)
            assert_true(strcmp(gain[-1].what, gain->what) < 0);
        else if (i > 0)
            assert_true(gain[-1].saved_ns > gain->saved_ns);
    }
    assert_int_equal(gain_of(&ranking, "host")->time_ns, 0);
    assert_string_equal(gain_of(&ranking, "launch")->change, "speed.launch=2");
    drop(&made);
}

/* The longest kernel is a collective, which takes no place of the one that is asked for. */
TEST_WITH(kernels_of_all_ranks_are_summed_by_name, set_up, tear_down)
{
    static const char text[] = "{\"traceEvents\":[" CALL("cudaLaunchKernel", "102", "5", "31")
        CALL("cudaLaunchKernel", "108", "4", "32") CALL("cudaLaunchKernel", "113", "4", "33")
            TASK("void gemm<int*>(a[3])?", "7", "110", "2.385", "31")
                TASK("gelu", "7", "120", "3.5", "32")
                    TASK("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "20", "130", "90",
                         "33") "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}";
    static const char other[] = "{\"traceEvents\":[" CALL("cudaLaunchKernel", "102", "5", "31")
        TASK("void gemm<int*>(a[3])?", "7", "110", "2.385",
             "31") "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}";
    const char *const texts[] = {text, other};
    fixture *own = *state;
    recording made = record(texts, 2);
    st_trace_ranking ranking;
    build(&made, 2);
    assert_int_equal(st_trace_rank_gains(&made.set, 2.385, 1, own->arena, &ranking, made.errors),
                     ST_OK);
    const st_trace_gain *gain = gain_of(&ranking, "void gemm<int*>(a[3])?");
    assert_non_null(gain);
    assert_int_equal(gain->time_ns, 4770);
    assert_string_equal(gain->change, "speed.kernel:void gemm<int\\*>(a\\[3])\\?=2.385");
    assert_int_equal(gain_of(&ranking, "gemm")->time_ns, 4770);
    assert_null(gain_of(&ranking, "gelu"));
    assert_null(gain_of(&ranking, "attention"));
    assert_null(gain_of(&ranking, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"));
    assert_int_equal(gain_of(&ranking, "communication")->time_ns, 90000);
    drop(&made);
}

TESTS(trace_replay);
