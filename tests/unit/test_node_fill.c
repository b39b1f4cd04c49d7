/* SPDX-License-Identifier: Apache-2.0 */
/* How many GPUs of a node are used, against trying every number. */
#include "base_support.h"

#include "estimate/node_fill.h"

static double fill(double gpus, double node, double group)
{
    const st_node_counts counts = {.gpus = &gpus, .count = 1, .node = node, .group = group};
    return st_node_fill(&counts);
}

TEST(racks_of_72_are_used_in_part)
{
    assert_float_equal(fill(512, 72, 0), 64, 0);
    assert_float_equal(fill(1000, 72, 0), 40, 0); /* 50: no groups of 8 */
    assert_float_equal(fill(1000, 72, 5), 50, 0);
    assert_float_equal(fill(100, 72, 0), 50, 0);
    assert_float_equal(fill(144, 72, 0), 72, 0);
    assert_float_equal(fill(64, 72, 0), 72, 0); /* a part of one node */
    assert_float_equal(fill(146, 72, 0), 0, 0);
    assert_float_equal(fill(512, 72, 7), 0, 0);
}

/* The first of groups of 8, 4, 2 and 1 that fill at least half of a node, and the most of these. */
static int tried(int gpus, int node)
{
    if (gpus <= node || gpus % node == 0)
        return node;
    for (int group = 8; group >= 1; group /= 2)
        for (int used = node; 2 * used >= node; used--)
            if (used % group == 0 && gpus % used == 0)
                return used;
    return 0;
}

TEST(every_number_is_as_tried)
{
    for (int node = 1; node <= 144; node++)
        for (int gpus = 1; gpus <= 1200; gpus += 1 + gpus / 97)
            assert_float_equal(fill(gpus, node, 0), tried(gpus, node), 0);
}

/* With tensor-parallel groups, the most whole ones that divide the GPUs and fill half of a node. */
TEST(groups_stay_whole)
{
    assert_float_equal(fill(280, 72, 2), 70, 0);
    assert_float_equal(fill(280, 72, 8), 56, 0);
    for (int group = 2; group <= 12; group++)
        for (int gpus = 73; gpus <= 1200; gpus += 1 + gpus / 97) {
            int most = 72 / group * group;
            while (2 * most >= 72 && gpus % most != 0)
                most -= group;
            int expected = gpus % 72 == 0 ? 72 : 2 * most >= 72 ? most : 0;
            assert_float_equal(fill(gpus, 72, group), expected, 0);
        }
}

TEST(several_numbers_have_one_in_common)
{
    static const double powers[] = {8, 64, 128, 1024};
    static const double mixed[] = {72, 128};
    const st_node_counts counts = {.gpus = powers, .count = COUNT(powers), .node = 72};
    const st_node_counts without = {.gpus = mixed, .count = COUNT(mixed), .node = 71};
    (void)state;
    assert_float_equal(st_node_fill(&counts), 64, 0);
    assert_float_equal(st_node_fill(&without), 0, 0);
}

TEST(the_nearest_number_works)
{
    static const double gpus = 146;
    const st_node_counts counts = {.gpus = &gpus, .count = 1, .node = 72};
    (void)state;
    assert_float_equal(fill(145, 72, 0), 0, 0);
    assert_float_equal(st_node_fill_nearest(&counts), 147, 0);
    assert_float_equal(fill(147, 72, 0), 49, 0);
}

TESTS(node_fill);
