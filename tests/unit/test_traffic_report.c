/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of traffic: groups on their nodes, who sends what, tokens, messages by size. */
#include "report_support.h"

#include "estimate/messages.h"
#include "estimate/traffic.h"

static const uint64_t sent[1][ST_GROUPS] = {
    {[ST_GROUP_TP] = 3000000000, [ST_GROUP_CP] = 1500000000, [ST_GROUP_DP] = 600000000}};

/* A plan on nodes of four, of which tp, cp and dp are shown. */
static st_traffic_report report_of(fixture *own, const size_t size[3], const char *order)
{
    const st_placement_plan plan = {
        .size = {size[0], size[1], 1, size[2], 1, 0}, .gpus_per_node = 4, .order = order};
    st_estimate *estimate = st_arena_alloc(own->arena, 1, sizeof *estimate);
    assert_non_null(estimate);
    write_pump(own);
    run_station(own, NULL, false, estimate);
    st_traffic_report report = {
        .estimate = estimate,
        .traffic = {.sent_bytes = sent},
        .order = order,
        .wanted = {[ST_GROUP_TP] = true, [ST_GROUP_CP] = true, [ST_GROUP_DP] = true},
        .cells = {[ST_GROUP_TP] = "tp_sent", [ST_GROUP_DP] = "dp_sent"},
        .crossing_bytes = {[ST_GROUP_DP] = 2385000000}};
    assert_int_equal(st_placement_create(&plan, &report.placement, own->errors), ST_OK);
    return report;
}

static const char *form_of(fixture *own, const st_traffic_report *report, st_form form)
{
    st_result result;
    st_buffer buffer = {0};
    st_traffic_result(report, own->arena, &result);
    st_result_write(&result, form, &plain, &buffer);
    assert_false(buffer.failed);
    const char *text = st_arena_copy(own->arena, st_buffer_read(&buffer), buffer.length);
    assert_non_null(text);
    st_buffer_free(&buffer);
    return text;
}

/* Twelve ranks: pairs of neighbours; pairs two apart; of the rest every other one. */
TEST_WITH(groups_are_shown_on_their_nodes, set_up, tear_down)
{
    static const size_t size[3] = {2, 2, 3};
    st_traffic_report report = report_of(*state, size, "tp-cp-dp");
    const char *text = form_of(*state, &report, ST_FORM_TEXT);
    static const char *const parts[] = {
        "job      station\nsheet    pump\nranks    12 on 3 nodes of 4\norder    tp-cp-dp\n\n",
        "\n  tp              2         6         2       1          0          3 GB        36 GB"
        "         0 GB  tp_sent\n",
        "\n  cp              2         6         2       1          0        1.5 GB        18 GB"
        "         0 GB  (no cell)\n",
        "\n  dp              6         2         2       3          2        600 MB       7.2 GB"
        "     2.385 GB  dp_sent\n"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
    assert_lacks(text, "assumption");
    assert_lacks(text, "  pp  ");
    assert_lacks(text, "tokens ");
    report.order_is_default = true;
    report.wanted[ST_GROUP_CP] = false;
    report.wanted[ST_GROUP_EXPERT_DP] = true; /* of which there is no cell */
    text = form_of(*state, &report, ST_FORM_TEXT);
    assert_contains(text, "tp-cp-dp  (an assumption: parallel.order is not given)\n");
    assert_lacks(text, "\n  cp ");
    assert_lacks(text, "expert_dp");
}

/* Ranks over which gradients are reduced, as the order places them. */
TEST_WITH(gradients_are_reduced_over_two_axes, set_up, tear_down)
{
    static const struct {
        size_t size[3];
        const char *order;
        const char *shape;
    } cases[] = {
        {{2, 2, 3},
         "tp-cp-dp",
         "\"ranks\": 6, \"groups\": 2, \"stride\": 2, \"most_per_node\": 2, "
         "\"nodes\": 3, \"sharing\": 2, \"even\": true"},
        {{2, 2, 3},
         "tp-dp-cp",
         "\"ranks\": 6, \"groups\": 2, \"stride\": 2, \"most_per_node\": 2, "
         "\"nodes\": 3, \"sharing\": 2, \"even\": true"},
        /* 0, 1, 4, 5, 8, 9 */
        {{2, 2, 3},
         "cp-tp-dp",
         "\"ranks\": 6, \"groups\": 2, \"stride\": 1, \"most_per_node\": 2, "
         "\"nodes\": 3, \"sharing\": 2, \"even\": true"},
        /* 0, 1, 2, 6, 7, 8: three on a node, and three others on two */
        {{2, 2, 3},
         "dp-tp-cp",
         "\"ranks\": 6, \"groups\": 2, \"stride\": 1, \"most_per_node\": 3, "
         "\"nodes\": 3, \"sharing\": 1, \"even\": false"},
        {{2, 2, 1},
         "tp-cp-dp",
         "\"ranks\": 2, \"groups\": 2, \"stride\": 2, \"most_per_node\": 2, "
         "\"nodes\": 1, \"sharing\": 0, \"even\": true"},
        {{2, 1, 4},
         "tp-cp-dp",
         "\"ranks\": 4, \"groups\": 2, \"stride\": 2, \"most_per_node\": 2, "
         "\"nodes\": 2, \"sharing\": 2, \"even\": true"},
        /* Both on a node of their own */
        {{1, 2, 2},
         "cp-tp-dp",
         "\"ranks\": 4, \"groups\": 1, \"stride\": 1, \"most_per_node\": 4, "
         "\"nodes\": 1, \"sharing\": 0, \"even\": true"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_traffic_report report = report_of(*state, cases[i].size, cases[i].order);
        const char *json = form_of(*state, &report, ST_FORM_JSON);
        const char *dp = strstr(json, "{\"kind\": \"dp\"");
        assert_non_null(dp);
        if (strncmp(dp + strlen("{\"kind\": \"dp\", "), cases[i].shape, strlen(cases[i].shape)) !=
            0)
            fail_msg("%s: %.200s", cases[i].order, dp);
    }
    const st_traffic_report report = report_of(*state, cases[3].size, cases[3].order);
    assert_contains(form_of(*state, &report, ST_FORM_TEXT), "  (uneven groups)\n");
}

TEST_WITH(flows_are_rows, set_up, tear_down)
{
    static const size_t size[3] = {2, 1, 2};
    st_traffic_report report = report_of(*state, size, "tp-dp");
    st_buffer csv = {0};
    st_traffic_flows_csv(&report, &csv);
    assert_text(&csv, "source,target,kind,bytes\n"
                      "0,1,tp,3000000000\n0,2,dp,600000000\n1,0,tp,3000000000\n1,3,dp,600000000\n"
                      "2,3,tp,3000000000\n2,0,dp,600000000\n3,2,tp,3000000000\n3,1,dp,600000000\n");
    report.wanted[ST_GROUP_TP] = false;
    st_traffic_flows_csv(&report, &csv);
    assert_text(&csv, "source,target,kind,bytes\n0,2,dp,600000000\n1,3,dp,600000000\n"
                      "2,0,dp,600000000\n3,1,dp,600000000\n");
}

/* Who sends how much of a kind to whom. */
static void expect_flows(fixture *own, const size_t size[ST_GROUP_EMBEDDING], const char *order,
                         const st_traffic *traffic, const char *expected)
{
    st_placement_plan plan = {.gpus_per_node = 4, .order = order};
    st_traffic_report report = {.traffic = *traffic};
    st_buffer csv = {0};
    memcpy(plan.size, size, ST_GROUP_EMBEDDING * sizeof *size);
    assert_int_equal(st_placement_create(&plan, &report.placement, own->errors), ST_OK);
    for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++)
        report.wanted[group] = true;
    st_traffic_flows_csv(&report, &csv);
    const char *head = "source,target,kind,bytes\n";
    assert_memory_equal(st_buffer_read(&csv), head, strlen(head));
    assert_string_equal(st_buffer_read(&csv) + strlen(head), expected);
    st_buffer_free(&csv);
}

/* In the order of their numbers, whichever axis is outside. */
TEST_WITH(gradients_go_around_all_ranks, set_up, tear_down)
{
    static const size_t size[] = {1, 2, 1, 3, 1};
    static const uint64_t bytes[1][ST_GROUPS] = {{[ST_GROUP_DP] = 71}};
    static const char ring[] = "0,1,dp,71\n1,2,dp,71\n2,3,dp,71\n3,4,dp,71\n4,5,dp,71\n"
                               "5,0,dp,71\n";
    expect_flows(*state, size, "cp-dp", &(st_traffic){.sent_bytes = bytes}, ring);
    expect_flows(*state, size, "dp-cp", &(st_traffic){.sent_bytes = bytes}, ring);
}

/* Over each boundary there and back; between the ends what goes around. */
TEST_WITH(stages_send_to_their_neighbours, set_up, tear_down)
{
    static const size_t three[] = {1, 1, 1, 1, 3};
    static const size_t two[] = {1, 1, 1, 1, 2};
    static const uint64_t bytes[3][ST_GROUPS] = {{[ST_GROUP_PP] = 71}, {[ST_GROUP_PP] = 38}};
    const st_traffic traffic = {.sent_bytes = bytes, .around_bytes = 5};
    expect_flows(*state, three, "pp", &traffic,
                 "0,1,pp,71\n0,2,pp,5\n1,0,pp,71\n1,2,pp,38\n2,1,pp,38\n2,0,pp,5\n");
    expect_flows(*state, two, "pp", &traffic, "0,1,pp,76\n1,0,pp,76\n");
}

/* Half of the bytes there and half back: of 500 rank 0 sends three quarters away, of its own rank
 * 1 six tenths; both get back what they have sent. */
TEST_WITH(tokens_go_there_and_back, set_up, tear_down)
{
    static const size_t pair[] = {1, 1, 2, 2, 1};
    static const size_t four[] = {1, 1, 4, 4, 1};
    static const uint64_t bytes[1][ST_GROUPS] = {{[ST_GROUP_EP] = 1000}};
    static const uint64_t more[1][ST_GROUPS] = {{[ST_GROUP_EP] = 2400}};
    static const double until[] = {0.25, 1, 0.6, 1};
    st_token_shares tokens = {.ranks = 2, .lines = 2, .until = until};
    st_traffic traffic = {.sent_bytes = bytes, .tokens = &tokens};
    expect_flows(*state, pair, "ep-dp", &traffic, "0,1,ep,675\n1,0,ep,675\n");
    tokens.lines = 1; /* both send a quarter to rank 0: 375 and 125 */
    expect_flows(*state, pair, "ep-dp", &traffic, "0,1,ep,500\n1,0,ep,500\n");
    /* The first of four gets half of all, 600 of 1200, and the others 200 each. */
    traffic = (st_traffic){.sent_bytes = more, .expert_load = 2};
    expect_flows(*state, four, "ep-dp", &traffic,
                 "0,1,ep,800\n0,2,ep,800\n0,3,ep,800\n1,0,ep,800\n1,2,ep,400\n1,3,ep,400\n"
                 "2,0,ep,800\n2,1,ep,400\n2,3,ep,400\n3,0,ep,800\n3,1,ep,400\n3,2,ep,400\n");
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

/* Of twenty iterations each is a line, of more every second; the last one is always. */
TEST_WITH(tokens_have_their_busiest_rank, set_up, tear_down)
{
    static const size_t size[3] = {2, 1, 2};
    static const size_t counts[][2] = {{1, 1}, {20, 20}, {21, 11}, {24, 13}, {41, 15}};
    st_token_load loads[41];
    st_traffic_report report = report_of(*state, size, "tp-dp");
    for (size_t i = 0; i < COUNT(loads); i++)
        loads[i] =
            (st_token_load){.iteration = 1000 + (double)i, .busiest = 1.375, .idlest = 0.625};
    report.tokens = (st_token_shares){.ranks = 2, .load = {7, 1.385, 0.615}};
    report.tokens_file = "tokens.csv";
    const char *text = form_of(*state, &report, ST_FORM_TEXT);
    assert_contains(text, "\ntokens   tokens.csv: the busiest rank gets 1.385 times the mean, the "
                          "idlest 0.615, a gap of 0.77\n         to price the imbalance, estimate "
                          "with model.imbalance=1.385\n");
    assert_lacks(text, "iteration");
    assert_contains(form_of(*state, &report, ST_FORM_JSON),
                    "\"tokens\": {\"file\": \"tokens.csv\", \"busiest\": 1.385, \"idlest\": 0.615, "
                    "\"nonuniform_factor\": 0.77");
    report.tokens.loads = loads;
    for (size_t i = 0; i < COUNT(counts); i++) {
        report.tokens.load_count = counts[i][0];
        text = form_of(*state, &report, ST_FORM_TEXT);
        assert_contains(text, "tokens.csv, iteration 7 (the last): the");
        assert_int_equal(count_of(text, "    1.375    0.625     0.75\n"), counts[i][1]);
        const char *last = strstr(text, "\n\nOne step");
        assert_non_null(last);
        char line[64];
        (void)snprintf(line, sizeof line, "%9.0f    1.375    0.625     0.75",
                       loads[counts[i][0] - 1].iteration);
        assert_memory_equal(last - strlen(line), line, strlen(line));
    }
    assert_int_equal(count_of(form_of(*state, &report, ST_FORM_JSON), "\"iteration\""), 41);
    report.tokens.load.busiest = 0.95; /* of some ranks alone */
    assert_contains(form_of(*state, &report, ST_FORM_TEXT), "model.imbalance=1\n");
}

/* ---- messages ---- */

/* 125 MiB are between 64 and 128; two kinds of messages share a class. */
TEST_OF(messages_are_shown_by_size, fixture *own, set_up, tear_down)
{
    static const st_message_size sizes[] = {
        {"tp", 680, 131072000}, {"dp", 3, 1.5}, {"dp", 4, 1048576}, {"pp", 13, 2097151}};
    const st_messages messages = {sizes, COUNT(sizes)};
    st_result result;
    st_buffer buffer = {0};
    (void)st_result_begin(&result, own->arena);
    st_messages_result(&messages, &result);
    st_result_write(&result, ST_FORM_TEXT, &plain, &buffer);
    const char *text = st_buffer_read(&buffer);
    assert_contains(text, "\n  tp                   680      125 MiB    83.01 GiB\n");
    assert_contains(text, "  64 MiB to 128 MiB  680  97.1 %");
    assert_contains(text, "17   2.4 %");
    assert_contains(text, "0.4 %");
    st_buffer_free(&buffer);
    assert_form_has(
        &result, ST_FORM_JSON,
        (const char *const[]){
            "{\"kind\": \"tp\", \"messages\": 680, \"size_bytes\": 131072000, \"bytes\": "
            "89128960000}",
            "\"histogram\": [\n    {\"from_bytes\": 1, \"below_bytes\": 2, \"messages\": 3, "
            "\"bytes\": 4.5, \"share\": 0.00428",
            "{\"from_bytes\": 1048576, \"below_bytes\": 2097152, \"messages\": 17, \"bytes\": "
            "31457267, ",
            "{\"from_bytes\": 67108864, \"below_bytes\": 134217728, \"messages\": 680, "},
        4);
    st_result_write(&result, ST_FORM_CSV, &plain, &buffer);
    assert_text(&buffer, "kind,messages,size_bytes,bytes\ntp,680,131072000,89128960000\n"
                         "dp,3,1.5,4.5\ndp,4,1048576,4194304\npp,13,2097151,27262963\n");
}

TESTS(traffic_report);
