/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which collectives of ranks meet: by sequence numbers, by the order in a communicator, by order
 * alone, by streams that end together. All end at moments of their own, so that those of one
 * instance are told by equal ends.
 */
#include "trace_support.h"

#include "trace/depend.h"
#include "trace/view.h"

enum { MOST_RANKS = 4, MOST_MADE = 32 };

typedef struct made_collective {
    const char *name; /* of the kernel */
    const char *arguments;
    int stream;
    double end_us; /* by the clock of the job */
} made_collective;

typedef struct fixture {
    st_errors *errors;
    st_arena *arena;
    st_trace *ranks[MOST_RANKS];
    size_t count;
    st_view_orders orders;
    st_collation made;
} fixture;

static int setup(void **state)
{
    fixture *own = calloc(1, sizeof *own);
    own->errors = st_errors_create();
    own->arena = st_arena_create();
    *state = own;
    return 0;
}

static void forget(fixture *own)
{
    st_view_orders_free(&own->orders);
    own->orders = (st_view_orders){0};
    for (size_t i = 0; i < own->count; i++)
        st_trace_destroy(own->ranks[i]);
    own->count = 0;
}

static int teardown(void **state)
{
    fixture *own = *state;
    forget(own);
    st_arena_destroy(own->arena);
    st_errors_destroy(own->errors);
    free(own);
    return 0;
}

/* A rank whose clock is late by `late_us`; every kernel lasts 10 us and is launched 30 us before.
 */
static void add_rank(fixture *own, const made_collective *made, size_t count, double late_us)
{
    st_buffer text = {0};
    st_buffer_text(&text, "{\"traceEvents\":[");
    for (size_t i = 0; i < count; i++) {
        double end_us = made[i].end_us + late_us;
        st_buffer_printf(&text,
                         "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
                         "\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":1,\"args\":{\"correlation\":%zu}"
                         "},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":%d,"
                         "\"ts\":%.3f,\"dur\":10,\"args\":{\"device\":0,\"stream\":%d,"
                         "\"correlation\":%zu%s}},",
                         end_us - 40, i + 1, made[i].name, made[i].stream, end_us - 10,
                         made[i].stream, i + 1, made[i].arguments);
    }
    st_buffer_text(&text, "{\"ph\":\"M\",\"name\":\"x\",\"pid\":0}]}");
    own->ranks[own->count++] = trace_of(text.data, false, own->errors);
    assert_non_null(own->ranks[own->count - 1]);
    st_buffer_free(&text);
}

static void collate(fixture *own)
{
    const st_trace_set set = {.ranks = own->ranks, .count = own->count, .world_size = -1};
    st_view_orders_make(&set, own->arena, &own->orders);
    st_collate(own->orders.orders, own->orders.count, own->arena, &own->made);
}

static int64_t end_of(const fixture *own, size_t member)
{
    const st_instance_member *one = &own->made.members[member];
    const st_trace_event *event = &own->ranks[one->rank]->events[one->event];
    return event->start_ns + event->duration_ns + own->made.offsets_ns[one->rank];
}

/* So many instances of so many ranks each, whose members end together once clocks agree. */
static void expect_instances(const fixture *own, size_t count, size_t ranks)
{
    assert_int_equal(own->made.instance_count, count);
    for (size_t i = 0; i < count; i++) {
        const st_instance *instance = &own->made.instances[i];
        assert_int_equal(instance->count, ranks);
        assert_false(instance->dropped);
        for (size_t k = 1; k < ranks; k++)
            assert_int_equal(end_of(own, instance->first + k), end_of(own, instance->first));
        assert_int_equal(instance->last_start_ns, end_of(own, instance->first) - 10000);
    }
    assert_int_equal(own->made.most_apart_ns, 0);
}

static void expect_edges(const fixture *own, uint64_t exact, uint64_t inferred,
                         uint64_t contradicted)
{
    assert_int_equal(own->made.edges.exact, exact);
    assert_int_equal(own->made.edges.inferred, inferred);
    assert_int_equal(own->made.edges.contradicted, contradicted);
}

/* ---- sequence numbers ---- */

#define NUMBERED(kind, number)                                                                     \
    ",\"Collective name\":\"" kind "\",\"Group size\":2,\"Process Group Name\":\"7\","             \
    "\"Process Group Ranks\":\"[0, 1]\",\"Seq\":" number

/* The second rank lacks the first, and has one that the first lacks; kinds count on their own. */
TEST_WITH(equal_numbers_meet, setup, teardown)
{
    static const made_collective first[] = {{"ncclA", NUMBERED("allreduce", "19"), 20, 100},
                                            {"ncclA", NUMBERED("allreduce", "20"), 20, 223.85},
                                            {"ncclB", NUMBERED("allgather", "20"), 20, 357.1},
                                            {"ncclA", NUMBERED("allreduce", "21"), 20, 491}};
    static const made_collective second[] = {{"ncclA", NUMBERED("allreduce", "20"), 20, 223.85},
                                             {"ncclB", NUMBERED("allgather", "20"), 20, 357.1},
                                             {"ncclA", NUMBERED("allreduce", "21"), 20, 491},
                                             {"ncclA", NUMBERED("allreduce", "22"), 20, 601}};
    fixture *own = *state;
    add_rank(own, first, COUNT(first), 0);
    add_rank(own, second, COUNT(second), 571);
    collate(own);
    expect_instances(own, 3, 2);
    expect_edges(own, 3, 0, 0);
    assert_int_equal(own->made.offsets_ns[0], 0);
    assert_int_equal(own->made.offsets_ns[1], -571000);
}

/* Transfers between two ranks, and groups of one, meet nobody. */
TEST_WITH(transfers_and_groups_of_one_are_left_alone, setup, teardown)
{
    static const made_collective alone[] = {
        {"ncclS", NUMBERED("send", "19"), 20, 100},
        {"ncclS", NUMBERED("recv", "20"), 20, 200},
        {"ncclA", ",\"Collective name\":\"allreduce\",\"Group size\":1,\"Seq\":21", 20, 300},
        {"gemm", NUMBERED("allreduce", "22"), 20, 400}};
    fixture *own = *state;
    add_rank(own, alone, COUNT(alone), 0);
    add_rank(own, alone, COUNT(alone), 0);
    collate(own);
    assert_int_equal(own->made.member_count, 0);
    expect_instances(own, 0, 0);
}

/* ---- communicators without numbers ---- */

#define OF_GROUP(name)                                                                             \
    ",\"Collective name\":\"allreduce\",\"Group size\":2,\"Process Group Name\":\"" name           \
    "\",\"Process Group Ranks\":\"[0, 1]\""

/* The second rank began to record two collectives later, which their ends tell; the order of the
 * other group is its own. */
TEST_WITH(groups_of_later_ranks_are_shifted, setup, teardown)
{
    static const made_collective all[] = {
        {"ncclA", OF_GROUP("7"), 20, 100},    {"ncclA", OF_GROUP("8"), 21, 165},
        {"ncclA", OF_GROUP("7"), 20, 223.85}, {"ncclA", OF_GROUP("7"), 20, 357.1},
        {"ncclA", OF_GROUP("8"), 21, 420},    {"ncclA", OF_GROUP("7"), 20, 601},
        {"ncclA", OF_GROUP("7"), 20, 691},    {"ncclA", OF_GROUP("8"), 21, 785},
        {"ncclA", OF_GROUP("7"), 20, 971},    {"ncclA", OF_GROUP("8"), 21, 1085},
        {"ncclA", OF_GROUP("7"), 20, 1285},   {"ncclA", OF_GROUP("8"), 21, 1571}};
    fixture *own = *state;
    add_rank(own, all, COUNT(all), 0);
    add_rank(own, all + 3, COUNT(all) - 3, 0);
    collate(own);
    expect_instances(own, COUNT(all) - 3, 2);
    expect_edges(own, 0, COUNT(all) - 3, 0);
    forget(own);
    /* The other way round, and with a clock that is late. */
    add_rank(own, all + 3, COUNT(all) - 3, 0);
    add_rank(own, all, COUNT(all), 23.85);
    collate(own);
    expect_instances(own, COUNT(all) - 3, 2);
    assert_int_equal(own->made.offsets_ns[1], -23850);
}

/* ---- by order alone ---- */

static const made_collective unnamed[] = {{"ncclA", "", 20, 100},   {"ncclB", "", 20, 223.85},
                                          {"ncclC", "", 20, 357.1}, {"ncclA", "", 20, 401},
                                          {"ncclD", "", 20, 591},   {"ncclB", "", 20, 771}};

/* Names tell which of them the first of the other rank is. */
TEST_WITH(names_tell_what_meets, setup, teardown)
{
    static const size_t lacks[][2] = {{0, 0}, {0, 1}, {0, 3}, {2, 0}, {1, 0}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(lacks); i++) {
        size_t common = COUNT(unnamed) - lacks[i][0] - lacks[i][1];
        for (size_t rank = 0; rank < 2; rank++)
            add_rank(own, unnamed + lacks[i][rank], COUNT(unnamed) - lacks[i][rank], 0);
        collate(own);
        expect_instances(own, common, 2);
        expect_edges(own, 0, common, 0);
        forget(own);
    }
}

/* Of as many kernels each stands for its place: those of other names do not meet. */
TEST_WITH(other_names_do_not_meet, setup, teardown)
{
    static const made_collective other[] = {{"ncclA", "", 20, 100},   {"ncclB", "", 20, 223.85},
                                            {"ncclB", "", 20, 357.1}, {"ncclA", "", 20, 401},
                                            {"ncclD", "", 20, 591},   {"ncclB", "", 20, 771}};
    fixture *own = *state;
    add_rank(own, unnamed, COUNT(unnamed), 0);
    add_rank(own, other, COUNT(other), 0);
    collate(own);
    expect_instances(own, 5, 2);
    expect_edges(own, 0, 5, 1);
}

/* One that begins over 200 us after another one has ended is not the same collective. */
TEST_WITH(ends_that_lie_apart_are_none, setup, teardown)
{
    static const struct {
        double late_us;
        bool dropped;
    } cases[] = {{210, false}, {210.001, true}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        made_collective other[COUNT(unnamed)];
        memcpy(other, unnamed, sizeof other);
        other[5].end_us += cases[i].late_us;
        add_rank(own, unnamed, COUNT(unnamed), 0);
        add_rank(own, other, COUNT(other), 0);
        collate(own);
        assert_int_equal(own->made.instance_count, 6);
        expect_edges(own, 0, cases[i].dropped ? 5 : 6, cases[i].dropped);
        assert_int_equal(own->made.most_apart_ns, cases[i].dropped ? 0 : 210000);
        forget(own);
    }
}

/* ---- groups that the traces do not name ---- */

/* Ranks 0 and 1 meet on stream 20, 2 and 3 as well, at other moments; on stream 21 it is 0 and 2,
 * and 1 and 3. */
static void add_square(fixture *own, size_t meetings)
{
    static const double late_us[4][5] = {{0, 61, 149, 187, 251},
                                         {203, 347, 238, 385, 219},
                                         {31, 7, 113, 42, 199},
                                         {97, 263, 11, 323, 54}};
    for (size_t rank = 0; rank < 4; rank++) {
        made_collective made[MOST_MADE];
        size_t count = 0;
        for (size_t i = 0; i < meetings; i++) {
            double begin_us = 1000 * (double)(i + 1);
            made[count++] = (made_collective){"ncclA", "", 20, begin_us + late_us[rank / 2][i]};
            made[count++] =
                (made_collective){"ncclA", "", 21, begin_us + 500 + late_us[2 + rank % 2][i]};
        }
        add_rank(own, made, count, 0);
    }
}

TEST_OF(streams_that_end_together_are_groups, fixture *own, setup, teardown)
{
    add_square(own, 5);
    collate(own);
    assert_int_equal(own->made.inferred_groups, 4);
    expect_instances(own, 4 * 5, 2);
    expect_edges(own, 0, 4 * 5, 0);
}

/* Three meetings tell nothing: all are taken for collectives of all ranks. */
TEST_OF(few_meetings_tell_no_groups, fixture *own, setup, teardown)
{
    add_square(own, 3);
    collate(own);
    assert_int_equal(own->made.inferred_groups, 0);
    assert_int_equal(own->made.instance_count, 2 * 3);
    assert_int_equal(own->made.instances[0].count, 4);
    forget(own);
    add_square(own, 4);
    collate(own);
    assert_int_equal(own->made.inferred_groups, 4);
}

/* One group of all ranks is no group to be told. */
TEST_OF(all_ranks_are_no_group, fixture *own, setup, teardown)
{
    for (size_t rank = 0; rank < 3; rank++)
        add_rank(own, unnamed, COUNT(unnamed), 10 * (double)rank);
    collate(own);
    assert_int_equal(own->made.inferred_groups, 0);
    expect_instances(own, COUNT(unnamed), 3);
    assert_int_equal(own->made.offsets_ns[2], -20000);
}

/* ---- what a graph says of them ---- */

static st_status make_graph(fixture *own, st_trace_graph **graph)
{
    static st_trace_set set;
    set = (st_trace_set){.ranks = own->ranks, .count = own->count, .world_size = -1};
    return st_trace_graph_make(&set, graph, own->errors);
}

/* Collectives that end so much later on the second rank, in milliseconds. */
static st_status meet_apart(fixture *own, const int *later_ms, size_t count)
{
    made_collective made[2][MOST_MADE];
    char arguments[MOST_MADE][192];
    st_trace_graph *graph = NULL;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(arguments[i], sizeof arguments[i], "%s%zu", NUMBERED("allreduce", ""),
                       19 + i);
        double end_us = 10000 * (double)(i + 1);
        made[0][i] = (made_collective){"ncclA", arguments[i], 20, end_us};
        made[1][i] = (made_collective){"ncclA", arguments[i], 20, end_us + 1000 * later_ms[i]};
    }
    add_rank(own, made[0], count, 0);
    add_rank(own, made[1], count, 0);
    st_status status = make_graph(own, &graph);
    st_trace_graph_destroy(graph);
    forget(own);
    return status;
}

/* Four contradictions at least, and more of them than meetings, are of two runs. */
TEST_WITH(ranks_of_other_runs_are_refused, setup, teardown)
{
    static const struct {
        int later_ms[9];
        size_t count;
        st_status status;
        const char *words;
    } cases[] = {{{0, 0, 0, 0}, 4, ST_OK, ""},
                 {{0, 1, 2, -1}, 4, ST_OK, "3 of 4 collectives contradict each other"},
                 {{0, 1, 0, -1, 0, 2, 0, -2}, 8, ST_OK, "4 of 8 collectives contradict each other"},
                 {{0, 1, 0, -1, 0, 2, 0, -2, -3},
                  9,
                  ST_ERR_VALUE,
                  "found 5 of 9 that end on one rank before another one has come"}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(meet_apart(own, cases[i].later_ms, cases[i].count), cases[i].status);
        const char *heard = said(own->errors);
        if (cases[i].words[0] == '\0')
            assert_string_equal(heard, "");
        assert_contains(heard, cases[i].words);
    }
}

TEST_WITH(clocks_that_are_far_off_are_told, setup, teardown)
{
    static const struct {
        double late_us[2];
        const char *words; /* NULL: silence */
    } cases[] = {{{0, 1000000}, NULL},
                 {{0, 1000000.001}, "its clock is 1.000 s ahead of that of t.json"},
                 {{1000000, 0}, NULL},
                 {{2385000, 0}, "its clock is 2.385 s behind that of t.json"}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_trace_graph *graph = NULL;
        for (size_t rank = 0; rank < 2; rank++)
            add_rank(own, unnamed, COUNT(unnamed), cases[i].late_us[rank]);
        assert_int_equal(make_graph(own, &graph), ST_OK);
        assert_int_equal(st_errors_size(own->errors), cases[i].words != NULL);
        const char *heard = said(own->errors);
        if (cases[i].words != NULL)
            assert_contains(heard, cases[i].words);
        st_trace_graph_destroy(graph);
        forget(own);
    }
}

/* Of ranks whose collectives no other one has; those that have none are silent. */
TEST_WITH(ranks_that_meet_nobody_are_told, setup, teardown)
{
    static const made_collective one[] = {{"ncclA", NUMBERED("allreduce", "19"), 20, 100},
                                          {"ncclA", NUMBERED("allreduce", "20"), 20, 223.85}};
    static const made_collective other[] = {{"ncclA", NUMBERED("allreduce", "31"), 20, 100}};
    static const made_collective none[] = {{"gemm", "", 20, 100}};
    fixture *own = *state;
    st_trace_graph *graph = NULL;
    add_rank(own, one, COUNT(one), 0);
    assert_int_equal(make_graph(own, &graph), ST_OK);
    assert_int_equal(st_errors_size(own->errors), 0);
    st_trace_graph_destroy(graph);
    add_rank(own, other, COUNT(other), 0);
    add_rank(own, none, COUNT(none), 0);
    assert_int_equal(make_graph(own, &graph), ST_OK);
    assert_int_equal(st_errors_size(own->errors), 2);
    assert_contains(st_errors_at(own->errors, 0)->message,
                    "none of its 2 collectives occurs in another file");
    assert_contains(st_errors_at(own->errors, 1)->message,
                    "none of its 1 collectives occurs in another file");
    st_trace_graph_destroy(graph);
}

TESTS(trace_collate);
