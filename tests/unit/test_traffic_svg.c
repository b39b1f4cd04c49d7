/* SPDX-License-Identifier: Apache-2.0 */
/* The heat map of traffic: a box for each pair that sends, colours by volume, nodes and scales. */
#include "report_support.h"

#include "estimate/traffic.h"

/* Two tensor-parallel neighbours, between which 3 GB go in a ring, and `dp` times these, between
 * which 0.6 GB go. */
static const char *map_of(fixture *own, size_t dp, size_t gpus_per_node, bool linear, bool all)
{
    static const uint64_t sent[1][ST_GROUPS] = {
        {[ST_GROUP_TP] = 3000000000, [ST_GROUP_DP] = 600000000}};
    const st_placement_plan plan = {
        .size = {2, 1, 1, dp, 1, 0}, .gpus_per_node = gpus_per_node, .order = "tp-dp"};
    st_estimate estimate;
    st_buffer svg = {0};
    write_pump(own);
    run_station(own, NULL, false, &estimate);
    st_traffic_report report = {.estimate = &estimate,
                                .traffic = {.sent_bytes = sent},
                                .order = "tp-dp",
                                .wanted = {[ST_GROUP_TP] = true, [ST_GROUP_DP] = all}};
    assert_int_equal(st_placement_create(&plan, &report.placement, own->errors), ST_OK);
    assert_int_equal(st_traffic_report_svg(&report, linear, own->arena, &svg, own->errors), ST_OK);
    assert_false(svg.failed);
    const char *copy = st_arena_copy(own->arena, svg.data, svg.length);
    assert_non_null(copy);
    st_buffer_free(&svg);
    return copy;
}

/* A box of the map, from a sender to a receiver. */
static const char *box(fixture *own, double side, size_t from, size_t to, const char *color)
{
    const char *made = st_arena_printf(
        own->arena, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"%s\"/>\n",
        80 + side * (double)to, 60 + side * (double)from, side, side, color);
    assert_non_null(made);
    return made;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

/* Four ranks on two nodes: 160 pixels each. 0.6 of 3 GB are a fifth, which is no red yet. */
TEST_WITH(senders_stand_down_and_receivers_across, set_up, tear_down)
{
    static const size_t rings[][2] = {{0, 1}, {1, 0}, {2, 3}, {3, 2}};
    static const size_t sums[][2] = {{0, 2}, {2, 0}, {1, 3}, {3, 1}};
    const char *linear = map_of(*state, 2, 2, true, true);
    const char *map = map_of(*state, 2, 2, false, true);
    for (size_t i = 0; i < 4; i++) {
        assert_contains(linear, box(*state, 160, rings[i][0], rings[i][1], "#320a50"));
        assert_contains(map, box(*state, 160, rings[i][0], rings[i][1], "#320a50"));
        assert_contains(linear, box(*state, 160, sums[i][0], sums[i][1], "#fdbe69"));
        assert_contains(map, box(*state, 160, sums[i][0], sums[i][1], "#fee6a5"));
    }
    assert_int_equal(count_of(map, "width=\"160\" height=\"160\""), 8);
    assert_contains(map, "<rect x=\"80\" y=\"60\" width=\"640\" height=\"640\" class=\"map\"/>");
    assert_contains(map, "width=\"870\" height=\"760\"");
}

TEST_WITH(nodes_are_lined_and_ranks_numbered, set_up, tear_down)
{
    const char *map = map_of(*state, 2, 2, false, true);
    static const char *const parts[] = {
        "<path d=\"M80 60L80 700\" class=\"grid\"/>\n<path d=\"M80 60L720 60\" class=\"grid\"/>\n"
        "<path d=\"M400 60L400 700\" class=\"grid\"/>\n"
        "<path d=\"M80 380L720 380\" class=\"grid\"/>\n"
        "<path d=\"M720 60L720 700\" class=\"grid\"/>\n"
        "<path d=\"M80 700L720 700\" class=\"grid\"/>\n"
        "<text x=\"72\" y=\"144\" class=\"end\">0</text>\n"
        "<text x=\"160\" y=\"716\" class=\"middle\">0</text>\n"
        "<text x=\"72\" y=\"304\" class=\"end\">1</text>\n",
        "<text x=\"640\" y=\"716\" class=\"middle\">3</text>\n",
        "<text x=\"80\" y=\"24\" class=\"large\">Traffic of station in one step</text>\n"
        "<text x=\"80\" y=\"44\" class=\"faint\">order tp-dp; tensor parallel, gradients and "
        "weights</text>\n"
        "<text x=\"400\" y=\"740\" class=\"middle\">receiving rank</text>\n"
        "<text transform=\"translate(24 380) rotate(-90)\" class=\"middle upwards\">sending rank"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(map, parts[i]);
    assert_int_equal(count_of(map, "class=\"grid\""), 6);
}

/* 640 pixels from 0 to 3 GB, or from 0.6 to 3 GB by their logarithms: 1 GB is 0.3174 of it. */
TEST_WITH(a_scale_says_how_much, set_up, tear_down)
{
    const char *linear = map_of(*state, 2, 2, true, true);
    assert_contains(linear, "<text x=\"774\" y=\"64\">3 GB</text>\n");
    assert_contains(linear, "<text x=\"774\" y=\"490.67\">1 GB</text>\n");
    assert_contains(linear, "<text x=\"774\" y=\"704\">0 ");
    const char *map = map_of(*state, 2, 2, false, true);
    assert_contains(map, "<text x=\"774\" y=\"500.87\">1 GB</text>\n");
    assert_contains(map, "<rect x=\"744\" y=\"60\" width=\"24\"");
    /* Where all pairs send as much, that is the scale. */
    map = map_of(*state, 2, 2, false, false);
    assert_contains(map, "<text x=\"774\" y=\"64\">3 GB</text>\n</svg>");
    assert_int_equal(count_of(map, "x=\"774\""), 1);
    assert_contains(map, box(*state, 160, 3, 2, "#320a50"));
    assert_int_equal(count_of(map, "width=\"160\" height=\"160\""), 4);
    assert_contains(map, "order tp-dp; tensor parallel</text>");
}

/* Up to 256 ranks have a box each; then a node has one, or as many nodes as 256 boxes need. */
TEST_WITH(many_ranks_are_drawn_in_blocks, set_up, tear_down)
{
    const char *map = map_of(*state, 128, 2, false, true);
    assert_lacks(map, "blocks of");
    assert_contains(map, box(*state, 2.5, 1, 0, "#320a50"));
    assert_int_equal(count_of(map, "class=\"grid\""), 258); /* nodes of 5 pixels */
    /* 320 ranks: a node of 4 pixels keeps the ring inside of it and sends both ranks' 1.2 GB. */
    map = map_of(*state, 160, 2, false, true);
    assert_contains(map, "and weights, blocks of 2 ranks</text>");
    assert_contains(map, box(*state, 4, 7, 7, "#320a50"));
    assert_contains(map, box(*state, 4, 7, 8, "#fee6a5"));
    assert_int_equal(count_of(map, "class=\"grid\""), 322);
    assert_contains(map, "<text x=\"72\" y=\"145\" class=\"end\">40</text>\n");
    assert_int_equal(count_of(map, "class=\"end\""), 8);
    /* 258 ranks on nodes of one: 129 blocks of two. */
    map = map_of(*state, 129, 1, false, true);
    assert_contains(map, "and weights, blocks of 2 ranks</text>");
    map = map_of(*state, 512, 1, false, true);
    assert_contains(map, "and weights, blocks of 4 ranks</text>");
    assert_contains(map, box(*state, 2.5, 9, 9, "#320a50"));
    assert_int_equal(count_of(map, "class=\"grid\""), 0);
}

TESTS(traffic_svg);
