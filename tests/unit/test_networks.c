/* SPDX-License-Identifier: Apache-2.0 */
/* Networks: the links that a description stands for, the ways through them, what is refused. */
#include "report_support.h"

#include "fabric/network.h"

#include <math.h>

static st_status read_network(fixture *own, const char *text, const st_topology **topology)
{
    const st_source source = {.file = "net.yaml", .text = text, .length = strlen(text)};
    return st_topology_read(&source, own->arena, topology, own->errors);
}

static const st_topology *network_of(fixture *own, const char *shape)
{
    const st_topology *topology = NULL;
    const char *text = st_arena_printf(own->arena, "topology: net\nstart: 2.5 us\n%s", shape);
    if (read_network(own, text, &topology) != ST_OK)
        fail_msg("%s\n%s", shape, said(own));
    assert_string_equal(topology->name, "net");
    assert_true(fabs(topology->start_s - 2.5e-6) < 1e-18);
    return topology;
}

/* A way and what it costs: links, the least rate, all latencies. */
typedef struct expected_way {
    uint32_t from;
    uint32_t to;
    size_t links;
    double least_gb_per_s;
    double latency_us;
} expected_way;

static void expect_way(const st_topology *topology, const expected_way *expected)
{
    const uint32_t *links = NULL;
    double least = HUGE_VAL;
    double latency_s = 0;
    st_router *router = st_router_create(topology);
    assert_non_null(router);
    size_t count = st_router_way(router, expected->from, expected->to, &links);
    uint32_t at = expected->to;
    for (size_t i = 0; i < count; i++) {
        const st_link *link = &topology->links[links[i]];
        assert_int_equal(link->to, at); /* from the end to the begin */
        at = link->from;
        least = fmin(least, link->rate_bytes_per_s);
        latency_s += link->latency_s;
    }
    assert_int_equal(count > 0 ? at : expected->from, expected->from);
    if (count != expected->links ||
        (count > 0 && fabs(least / 1e9 - expected->least_gb_per_s) > 1e-9) ||
        fabs(1e6 * latency_s - expected->latency_us) > 1e-9)
        fail_msg("from %u to %u: %zu links, %g GB/s, %g us", expected->from, expected->to, count,
                 least / 1e9, 1e6 * latency_s);
    st_router_destroy(router);
}

/* Ranks, then how many vertices and links one way; links are both ways and by their begin. */
static void expect_size(const st_topology *topology, size_t ranks, size_t vertices, size_t links)
{
    assert_int_equal(topology->ranks, ranks);
    assert_int_equal(topology->vertices, vertices);
    assert_int_equal(topology->link_count, 2 * links);
    assert_int_equal(topology->first[0], 0);
    assert_int_equal(topology->first[vertices], 2 * links);
    for (size_t vertex = 0; vertex < vertices; vertex++)
        for (size_t i = topology->first[vertex]; i < topology->first[vertex + 1]; i++)
            assert_int_equal(topology->links[i].from, vertex);
}

/* A level's rate is that of all links below it over its oversubscription: 100 x 4 / 2, and then
 * 200 x 3 / 1.5. */
TEST_WITH(levels_are_a_tree, set_up, tear_down)
{
    const st_topology *topology =
        network_of(*state, "levels:\n"
                           "  - {name: node, holds: 4, bandwidth: 100 GB/s, latency: 0.5 us}\n"
                           "  - {name: leaf, holds: 3, oversubscription: 2, latency: 1.25 us}\n"
                           "  - {name: top, holds: 2, oversubscription: 1.5, latency: 2 us}\n");
    static const expected_way ways[] = {
        {0, 3, 2, 100, 1}, {0, 4, 4, 100, 3.5},   {11, 12, 6, 100, 7.5}, {23, 0, 6, 100, 7.5},
        {7, 7, 0, 0, 0},   {24, 25, 2, 200, 2.5}, {30, 31, 2, 400, 4},   {24, 32, 2, 200, 3.25}};
    expect_size(topology, 24, 24 + 6 + 2 + 1, 24 + 6 + 2);
    assert_int_equal(topology->node_gpus, 4);
    assert_false(topology->reduces);
    for (size_t i = 0; i < COUNT(ways); i++)
        expect_way(topology, &ways[i]);
    topology = network_of(
        *state,
        "reduces: true\nlevels: [{name: rack, holds: 7, bandwidth: 1 GB/s, latency: 0 us}]\n");
    expect_size(topology, 7, 8, 7);
    assert_int_equal(topology->node_gpus, 0);
    assert_true(topology->reduces);
}

/* Ranks of one rail meet at a switch of their own; others go through their node. */
TEST_WITH(rails_join_ranks_of_a_kind, set_up, tear_down)
{
    const st_topology *topology = network_of(
        *state, "levels:\n"
                "  - {name: node, holds: 4, bandwidth: 300 GB/s, latency: 0.5 us}\n"
                "  - {name: rail, holds: 3, rails: 2, bandwidth: 50 GB/s, latency: 1 us}\n"
                "  - {name: top, holds: 2, bandwidth: 40 GB/s, latency: 2 us}\n");
    static const expected_way ways[] = {{0, 1, 2, 300, 1}, {0, 2, 2, 300, 1}, {0, 4, 2, 50, 2},
                                        {0, 6, 2, 50, 2},  {1, 7, 2, 50, 2},  {0, 5, 4, 50, 3},
                                        {0, 12, 4, 40, 6}, {3, 21, 4, 40, 6}, {0, 13, 4, 40, 6}};
    expect_size(topology, 24, 24 + 6 + 4 + 1, 24 + 24 + 4);
    for (size_t i = 0; i < COUNT(ways); i++)
        expect_way(topology, &ways[i]);
}

/* Each axis is a ring; one of two ranks is a single link, one of one rank none. */
TEST_WITH(a_torus_is_rings, set_up, tear_down)
{
    const st_topology *topology =
        network_of(*state, "torus: {size: [4, 2, 1, 3], bandwidth: 85 GB/s, latency: 1.5 us}\n");
    static const expected_way ways[] = {
        {0, 1, 1, 85, 1.5}, {0, 3, 1, 85, 1.5},  {0, 2, 2, 85, 3},    {3, 7, 1, 85, 1.5},
        {0, 8, 1, 85, 1.5}, {0, 16, 1, 85, 1.5}, {8, 16, 1, 85, 1.5}, {1, 23, 4, 85, 6}};
    expect_size(topology, 24, 24, 24 + 12 + 24);
    for (size_t i = 0; i < COUNT(ways); i++)
        expect_way(topology, &ways[i]);
}

/* Along the first axis first: of the ways from one corner to the other. */
TEST_WITH(messages_go_along_the_first_axes_first, set_up, tear_down)
{
    const st_topology *topology =
        network_of(*state, "torus: {size: [3, 3], bandwidth: 85 GB/s, latency: 1.5 us}\n");
    const uint32_t *links = NULL;
    st_router *router = st_router_create(topology);
    assert_non_null(router);
    assert_int_equal(st_router_way(router, 0, 4, &links), 2);
    assert_int_equal(topology->links[links[1]].to, 1);
    assert_int_equal(topology->links[links[1]].axis, 0);
    assert_int_equal(topology->links[links[0]].axis, 1);
    st_router_destroy(router);
}

/* Groups 0 and 1 are joined by s0 and s2, 0 and 2 by s1 and s4, 1 and 2 by s3 and s5. */
TEST_WITH(a_dragonfly_has_a_link_between_any_two_groups, set_up, tear_down)
{
    const st_topology *topology = network_of(
        *state,
        "dragonfly: {groups: 3, routers: 2, ranks: 2, rank_bandwidth: 90 GB/s, latency: 0.5 "
        "us, router_bandwidth: 70 GB/s, group_bandwidth: 30 GB/s}\n");
    static const expected_way ways[] = {
        {0, 1, 2, 90, 1},     {0, 2, 3, 70, 1.5},   {12, 14, 1, 30, 0.5}, {13, 16, 1, 30, 0.5},
        {15, 17, 1, 30, 0.5}, {14, 15, 1, 70, 0.5}, {0, 4, 3, 30, 1.5},   {0, 11, 5, 30, 2.5}};
    expect_size(topology, 12, 18, 12 + 3 + 3);
    for (size_t i = 0; i < COUNT(ways); i++)
        expect_way(topology, &ways[i]);
    topology = network_of(
        *state,
        "dragonfly: {groups: 5, routers: 3, ranks: 2, rank_bandwidth: 90 GB/s, latency: 0.5 "
        "us, router_bandwidth: 70 GB/s, group_bandwidth: 30 GB/s}\n");
    expect_size(topology, 30, 45, 30 + 5 * 3 + 10);
}

#define LINK(a, b) "{from: " a ", to: " b ", bandwidth: 50 GB/s, latency: 1.25 us}"

TEST_WITH(links_may_be_told_one_by_one, set_up, tear_down)
{
    const st_topology *topology =
        network_of(*state, "ranks: 3\nswitches: 2\nlinks: [" LINK("r0", "s0") ", " LINK(
                               "s0", "s1") ", " LINK("r2", "s1") ", " LINK("s0", "r1") "]\n");
    static const expected_way ways[] = {
        {0, 1, 2, 50, 2.5}, {0, 2, 3, 50, 3.75}, {4, 0, 2, 50, 2.5}};
    expect_size(topology, 3, 5, 4);
    for (size_t i = 0; i < COUNT(ways); i++)
        expect_way(topology, &ways[i]);
    topology = network_of(*state, "ranks: 2\nlinks: [" LINK("r0", "r1") "]\n");
    expect_size(topology, 2, 2, 1);
}

/* ---- what is refused ---- */

#define HEAD  "topology: net\nstart: 2.5 us\n"
#define LEVEL "{name: node, holds: 4, bandwidth: 100 GB/s, latency: 1 us}"

static const struct {
    const char *text;
    const char *words;
} senseless[] = {
    {"- a\n", "a topology must be a map"},
    {"start: 1 us\nlevels: [" LEVEL "]\n", "missing 'topology': expected a value"},
    {"topology: net\nlevels: [" LEVEL "]\n", "missing 'start': expected a value"},
    {"topology: net\nstart: 1.5 s\nlevels: [" LEVEL "]\n", "'start' is out of range"},
    {"topology: net\nstart: -1 us\nlevels: [" LEVEL "]\n", "'start' is out of range"},
    {HEAD, "wrong number of shapes: found 0"},
    {HEAD "levels: [" LEVEL "]\ntorus: {}\n", "wrong number of shapes: found 2"},
    {HEAD "levels: {}\n", "missing 'levels': expected a list"},
    {HEAD "torus: []\n", "missing 'torus': expected a map"},
    {HEAD "level: []\n", "unknown key 'level' in a topology; did you mean 'levels'?"},
    {HEAD "reduces: maybe\nlevels: [" LEVEL "]\n", "'reduces' must be true or false"},
    {HEAD "levels: []\n", "wrong number of levels: found 0, expected from 1 to 8"},
    {HEAD "levels: [4]\n", "a level must be a map"},
    {HEAD "levels: [{holds: 4, bandwidth: 0 GB/s, latency: 1 us}]\n", "a link has no bandwidth"},
    {HEAD "levels: [{holds: 4, bandwidth: 1 GB/s, latency: 1.1 s}]\n", "latency is out of range"},
    {HEAD "levels: [{holds: 4, bandwidth: 1 GB/s, latency: -1 us}]\n", "latency is out of range"},
    {HEAD "levels: [{holds: 0, bandwidth: 1 GB/s, latency: 1 us}]\n", "invalid count"},
    {HEAD "levels: [{holds: 65537, bandwidth: 1 GB/s, latency: 1 us}]\n", "invalid count"},
    {HEAD "levels: [{holds: 2.5, bandwidth: 1 GB/s, latency: 1 us}]\n", "invalid count"},
    {HEAD "levels: [{holds: 2, latency: 1 us}]\n", "a level has no 'bandwidth'"},
    {HEAD "levels: [{holds: 2, oversubscription: 2, latency: 1 us}]\n",
     "a level has no 'bandwidth'"},
    {HEAD "levels: [" LEVEL ", {holds: 2, oversubscription: 0, latency: 1 us}]\n",
     "or an oversubscription above 0"},
    {HEAD "levels: [" LEVEL ", {holds: 2, oversubscription: 2, bandwidth: 1 GB/s, latency: 1 "
          "us}]\n",
     "a level has both 'bandwidth' and 'oversubscription'"},
    {HEAD "levels: [{holds: 4, rails: 2, bandwidth: 1 GB/s, latency: 1 us}]\n",
     "the lowest level cannot have rails"},
    {HEAD "levels: [{holds: 256, bandwidth: 1 GB/s, latency: 1 us}, {holds: 257, bandwidth: 1 "
          "GB/s, latency: 1 us}]\n",
     "more than 65536 ranks"},
    {HEAD "torus: {size: [], bandwidth: 1 GB/s, latency: 1 us}\n", "a torus has a wrong 'size'"},
    {HEAD "torus: {size: [2, 2, 2, 2, 2, 2, 2], bandwidth: 1 GB/s, latency: 1 us}\n",
     "a torus has a wrong 'size': expected one to six numbers"},
    {HEAD "torus: {size: [256, 257], bandwidth: 1 GB/s, latency: 1 us}\n", "more than 65536 ranks"},
    {HEAD "reduces: true\ntorus: {size: [3, 2], bandwidth: 1 GB/s, latency: 1 us}\n",
     "the links form a loop: found 9 links of 6 ranks and switches"},
    {HEAD "dragonfly: {groups: 65, routers: 32, ranks: 32, rank_bandwidth: 1 GB/s, latency: 1 "
          "us, router_bandwidth: 1 GB/s, group_bandwidth: 1 GB/s}\n",
     "more than 65536 ranks"},
    {HEAD "ranks: 2\nlinks: [7]\n", "a link must be a map"},
    {HEAD "ranks: 2\nlinks: [" LINK("r0", "r2") "]\n", "found 'r2', expected r0 to r1"},
    {HEAD "ranks: 2\nlinks: [" LINK("r0", "s0") "]\n", "found 's0', expected r0 to r1"},
    {HEAD "ranks: 2\nswitches: 3\nlinks: [" LINK("r0", "s3") "]\n",
     "found 's3', expected r0 to r1 or s0 to s2"},
    {HEAD "ranks: 2\nlinks: [" LINK("r", "r1") "]\n", "found 'r'"},
    {HEAD "ranks: 2\nlinks: [" LINK("r0.5", "r1") "]\n", "found 'r0.5'"},
    {HEAD "ranks: 2\nlinks: [" LINK("r-1", "r1") "]\n", "found 'r-1'"},
    {HEAD "ranks: 2\nlinks: [" LINK("q0", "r1") "]\n", "found 'q0'"},
    {HEAD "ranks: 2\nlinks: [" LINK("r1", "r1") "]\n", "a link from 'r1' to itself closes"},
    {HEAD "ranks: 2\nswitches: 3\nlinks: [" LINK("s2", "s2") "]\n",
     "a link from 's2' to itself closes a loop"},
    {HEAD "ranks: 2\nswitches: 3\nlinks: [" LINK("r0", "s2") ", " LINK("s2", "r0") "]\n",
     "duplicate link from r0 to s2"},
    {HEAD "ranks: 3\nlinks: [" LINK("r0", "r1") "]\n", "rank r2 cannot be reached from r0"},
};

TEST_OF(networks_that_make_no_sense_are_refused, fixture *own, set_up, tear_down)
{
    for (size_t i = 0; i < COUNT(senseless); i++) {
        const st_topology *topology = NULL;
        assert_int_not_equal(read_network(own, senseless[i].text, &topology), ST_OK);
        const char *found = said(own);
        if (strstr(found, senseless[i].words) == NULL)
            fail_msg("%s\n%s", senseless[i].text, found);
        assert_null(topology);
    }
}

/* As many as a description may have. */
TEST_WITH(networks_may_be_as_large_as_this, set_up, tear_down)
{
    const st_topology *topology = network_of(
        *state, "levels: [{holds: 256, bandwidth: 1 GB/s, latency: 1 s}, {holds: 256, bandwidth: 1 "
                "GB/s, latency: 0 s}]\n");
    expect_size(topology, 65536, 65536 + 257, 65536 + 256);
    topology =
        network_of(*state, "torus: {size: [2, 2, 2, 2, 2, 2], bandwidth: 1 GB/s, latency: 1 us}\n");
    expect_size(topology, 64, 64, 6 * 32);
}

TESTS(networks);
