/* SPDX-License-Identifier: Apache-2.0 */
/* Which group of ranks a row means, and so which entry of a profile. */
#include "plugin/bound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { RANKS, PER_NODE, NODES, COLUMNS };

static const st_bound_provider by_columns = {.count = 2,
                                             .group = {.ranks = {.column = RANKS},
                                                       .per_node = {.column = PER_NODE},
                                                       .nodes = {.column = NODES}}};

static void expect(const st_bound_provider *provider, const double *row, size_t ranks, size_t nodes)
{
    const double *columns[COLUMNS] = {&row[RANKS], &row[PER_NODE], &row[NODES]};
    st_profile_filter group = st_bound_group(provider, columns, 0);
    assert_int_equal(group.ranks, ranks);
    assert_int_equal(group.nodes, nodes);
}

/* 23 ranks, 7 on a node: three nodes are full, a fourth one has the last two. */
static void the_last_node_may_be_partly_filled(void **state)
{
    (void)state;
    expect(&by_columns, (const double[]){23, 7, 385}, 23, 4);
    expect(&by_columns, (const double[]){21, 7, 385}, 21, 3);
    expect(&by_columns, (const double[]){22, 7, 385}, 22, 4);
    expect(&by_columns, (const double[]){1, 7, 385}, 1, 1);
}

static void a_group_smaller_than_a_node_has_one(void **state)
{
    (void)state;
    expect(&by_columns, (const double[]){5, 8, 385}, 5, 1);
    expect(&by_columns, (const double[]){8, 8, 385}, 8, 1);
    expect(&by_columns, (const double[]){9, 8, 385}, 9, 2);
}

static void without_ranks_it_is_the_whole_cluster(void **state)
{
    (void)state;
    expect(&by_columns, (const double[]){0, 6, 11}, 66, 11);
    expect(&by_columns, (const double[]){-3, 6, 11}, 66, 11);
}

static void what_makes_no_sense_is_unknown(void **state)
{
    (void)state;
    expect(&by_columns, (const double[]){23, 0, 11}, 23, 0);
    expect(&by_columns, (const double[]){23, 0.5, 11}, 23, 0);
    expect(&by_columns, (const double[]){2147483648.0, 6, 11}, 66, 11);
    expect(&by_columns, (const double[]){1073741824.0, 1, 11}, 1073741824, 1073741824);
}

/* A number of the job in place of a column, or nothing. */
static void ties_may_be_constant(void **state)
{
    (void)state;
    const double seven = 7;
    st_bound_provider provider = by_columns;
    provider.group.per_node = (st_tie){.column = SIZE_MAX, .constant = &seven};
    expect(&provider, (const double[]){23, 2, 385}, 23, 4);
    provider.group.ranks = (st_tie){.column = SIZE_MAX};
    expect(&provider, (const double[]){23, 2, 11}, 77, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_node_may_be_partly_filled),
        cmocka_unit_test(a_group_smaller_than_a_node_has_one),
        cmocka_unit_test(without_ranks_it_is_the_whole_cluster),
        cmocka_unit_test(what_makes_no_sense_is_unknown),
        cmocka_unit_test(ties_may_be_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
