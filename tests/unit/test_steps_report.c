/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a table of steps: groups that it is followed for, messages, and their times. */
#include "fabric_support.h"

static const char ring[] = "collective all_reduce\nranks any\nchunks n\n"
                           "for k = 0 to n-2\n  send (r-k) mod n to (r+1) mod n\n"
                           "  reduce (r-k-1) mod n from (r-1) mod n\nend\n"
                           "for k = 0 to n-2\n  send (r+1-k) mod n to (r+1) mod n\n"
                           "  copy (r-k) mod n from (r-1) mod n\nend\n";

static const char doubling[] = "collective all_reduce\nranks power of 2\nchunks 1\n"
                               "for k = 0 to log2(n)-1\n  send 0 to r xor 2^k\n"
                               "  reduce 0 from r xor 2^k\nend\n";

/* Rank 0 sends to all others. */
static const char star[] = "collective broadcast\nranks any\nchunks 1\n"
                           "if r == 0\n  for k = 1 to n-1\n    send 0 to k\n  end\nend\n"
                           "if r != 0\n  copy 0 from 0\nend\n";

static const char fixed[] = "collective broadcast\nranks 17\nchunks 1\n"
                            "if r == 0\n  for k = 1 to n-1\n    send 0 to k\n  end\nend\n"
                            "if r != 0\n  copy 0 from 0\nend\n";

static st_status follow(fixture *own, const st_steps_request *request, st_result *result)
{
    write_networks(own);
    write_text(own, "configs/steps/ring.steps", ring);
    write_text(own, "configs/steps/doubling.steps", doubling);
    write_text(own, "configs/steps/star.steps", star);
    write_text(own, "configs/steps/fixed.steps", fixed);
    return st_steps_report(own->paths, request, own->arena, result, own->errors);
}

/* The whole of a form. */
static void expect_form(fixture *own, st_steps_request request, st_form form, const char *expected)
{
    st_result result;
    st_buffer buffer = {0};
    if (follow(own, &request, &result) != ST_OK)
        fail_msg("%s", said(own));
    st_result_write(&result, form, &plain, &buffer);
    assert_text(&buffer, expected);
}

static void expect_refused(fixture *own, st_steps_request request, const char *words)
{
    st_result result;
    assert_int_not_equal(follow(own, &request, &result), ST_OK);
    assert_contains(said(own), words);
}

#define HEAD "ranks,per_node,rounds,messages,sent,time_1_mib_s,time_64_mib_s,time_1_gib_s\n"

/* Without a topology all ranks are on one node and nothing has a price. */
TEST_WITH(messages_are_counted, set_up, tear_down)
{
    expect_form(*state, (st_steps_request){.steps = "doubling"}, ST_FORM_CSV,
                HEAD "2,2,1,2,1,,,\n4,4,2,8,2,,,\n8,8,3,24,3,,,\n16,16,4,64,4,,,\n");
    /* 2 (n - 1) rounds of n messages, each a sixth or a seventh of the whole; 12/7 is rounded. */
    expect_form(*state, (st_steps_request){.steps = "ring", .ranks = 6, .per_node = 3}, ST_FORM_CSV,
                HEAD "6,3,10,60,1.6667,,,\n");
    expect_form(*state, (st_steps_request){.steps = "ring", .ranks = 7}, ST_FORM_CSV,
                HEAD "7,7,12,84,1.7143,,,\n");
    /* The rank that sends the most counts. */
    expect_form(*state, (st_steps_request){.steps = "star", .ranks = 5}, ST_FORM_CSV,
                HEAD "5,5,1,4,4,,,\n");
}

/*
 * 1 MiB by doubling: a round inside of a node 1.5 us and 10.48576 us, one between nodes 6.5 us and
 * four messages over 20 GB/s, 209.7152 us. 64 MiB and 1 GiB are 64 and 1024 times the bytes.
 */
TEST_WITH(times_are_those_of_the_busiest_links, set_up, tear_down)
{
    expect_form(*state, (st_steps_request){.steps = "doubling", .ranks = 8, .topology = "rack"},
                ST_FORM_CSV, HEAD "8,4,3,24,3,0.00024518672,0.01477845008,0.23623770128\n");
    expect_form(*state, (st_steps_request){.steps = "doubling", .ranks = 2, .topology = "rack"},
                ST_FORM_CSV, HEAD "2,2,1,2,1,1.698576e-5,0.00067758864,0.010743918239999999\n");
}

static const char *mib_time(fixture *own, st_steps_request request)
{
    st_result result;
    st_buffer buffer = {0};
    if (follow(own, &request, &result) != ST_OK)
        fail_msg("%s", said(own));
    st_result_write(&result, ST_FORM_TEXT, &plain, &buffer);
    const char *text = st_arena_copy(own->arena, st_buffer_read(&buffer), buffer.length);
    st_buffer_free(&buffer);
    assert_non_null(text);
    return text;
}

/*
 * A ring of eight, two on a node: an eighth of 1 MiB is 6.5536 us at 20 GB/s, in 14 rounds. Where
 * nodes have four GPUs, the other two send as well; where nobody says so, the group fills two.
 */
TEST_WITH(others_of_a_node_send_too, set_up, tear_down)
{
    st_steps_request request = {.steps = "ring", .ranks = 8, .per_node = 2, .topology = "rack"};
    assert_contains(mib_time(*state, request), "279.5 us"); /* 5 + 14 (6.5 + 2 x 6.5536) */
    request.topology = "routers";
    assert_contains(mib_time(*state, request), "187.8 us"); /* 5 + 14 (6.5 + 6.5536) */
    request.gpus_per_node = 4;
    assert_contains(mib_time(*state, request), "279.5 us");
    /* Nodes of five: place 5 of the second is on the second router; the fourth begins at 15. */
    request.per_node = 4;
    request.ranks = 4;
    request.gpus_per_node = 0;
    assert_contains(mib_time(*state, request), "29.73 us"); /* 5 + 6 (1.5 + 2.62144) */
}

TEST_WITH(a_report_has_times_where_there_is_a_network, set_up, tear_down)
{
    expect_form(*state, (st_steps_request){.steps = "ring", .ranks = 4}, ST_FORM_TEXT,
                "ring: all_reduce, for any number of ranks; every rank has the result\n\n"
                "ranks  on a node  rounds  messages  sent\n"
                "    4          4       6        24   1.5\n");
    expect_form(*state, (st_steps_request){.steps = "doubling", .ranks = 8, .topology = "rack"},
                ST_FORM_TEXT,
                "doubling: all_reduce, for a power of 2 ranks; every rank has the result\n\n"
                "ranks  on a node  rounds  messages  sent     1 MiB    64 MiB     1 GiB\n"
                "    8          4       3        24     3  245.2 us  14.78 ms  236.2 ms\n");
}

/* Those of 2 to 16 that fill whole nodes. */
TEST_OF(groups_are_chosen_that_the_table_and_the_nodes_hold, fixture *own, set_up, tear_down)
{
    st_result result;
    static const st_steps_request request = {.steps = "ring", .topology = "rack"};
    if (follow(own, &request, &result) != ST_OK)
        fail_msg("%s", said(own));
    assert_form_has(&result, ST_FORM_CSV,
                    (const char *const[]){"_s\n2,2,2,4,1,", "\n3,3,4,12,", "\n4,4,6,24,1.5,",
                                          "\n8,4,14,112,", "\n12,4,22,264,", "\n16,4,30,480,"},
                    6);
    const char *text = mib_time(own, request);
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, 3 + 6);
    expect_refused(own, (st_steps_request){.steps = "fixed"},
                   "the table supports 17 ranks; use --ranks");
}

TEST_WITH(groups_without_a_place_are_refused, set_up, tear_down)
{
    expect_refused(*state, (st_steps_request){.steps = "ring", .ranks = 6, .topology = "rack"},
                   "6 ranks cannot be spread evenly over nodes of 4; use --per-node");
    expect_refused(
        *state, (st_steps_request){.steps = "ring", .ranks = 6, .per_node = 4},
        "6 ranks cannot be spread evenly over nodes of 4; use a --per-node that divides");
    expect_refused(*state, (st_steps_request){.steps = "ring", .ranks = 20, .topology = "rack"},
                   "rack: error: cannot place 20 ranks: the topology has fewer ranks");
    expect_refused(
        *state,
        (st_steps_request){.steps = "ring", .ranks = 8, .topology = "rack", .gpus_per_node = 3},
        "nodes of 3 GPUs do not match the nodes of 4 GPUs of the topology");
    expect_refused(*state, (st_steps_request){.steps = "doubling", .ranks = 6}, "6");
    expect_refused(*state, (st_steps_request){.steps = "rings"}, "'rings'");
    expect_refused(*state, (st_steps_request){.steps = "ring", .topology = "racks"}, "'racks'");
}

TESTS(steps_report);
