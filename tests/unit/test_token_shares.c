/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of who gets which tokens: what they say, and what is refused where. */
#include "job_support.h"

#include "estimate/token_shares.h"

#include <math.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static st_status read_text(fixture *own, const char *text, size_t ranks, size_t experts,
                           st_token_shares *shares)
{
    st_token_text table = {"map.csv", text, strlen(text)};
    st_token_group group = {.ranks = ranks, .experts = experts};
    return st_token_shares_read(&table, &group, own->arena, shares, own->errors);
}

static void assert_about(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-12))
        fail_msg("found %.17g, expected %.17g", found, wanted);
}

TEST_WITH(ranks_get_their_shares, set_up, tear_down)
{
    st_token_shares shares;
    assert_int_equal(read_text(*state, "rank,share\n1,0.385\n0,0.5\n2,0.115\n", 3, 0, &shares),
                     ST_OK);
    assert_int_equal(shares.lines, 1);
    assert_about(shares.until[0], 0.5);
    assert_about(shares.until[1], 0.885);
    assert_about(shares.until[2], 1);
    assert_about(shares.load.busiest, 1.5);
    assert_about(shares.load.idlest, 0.345);
}

TEST_WITH(experts_lie_on_ranks_in_their_order, set_up, tear_down)
{
    st_token_shares shares;
    const char *text = "share,expert\n0.1,0\n0.25,1\n0.385,2\n0.265,3\n";
    assert_int_equal(read_text(*state, text, 2, 4, &shares), ST_OK);
    assert_about(shares.until[0], 0.35);
    assert_about(shares.load.busiest, 1.3);
    /* the same where the job does not say how many experts there are */
    assert_int_equal(read_text(*state, text, 2, 0, &shares), ST_OK);
    assert_about(shares.until[0], 0.35);
}

TEST_WITH(senders_have_shares_of_their_own, set_up, tear_down)
{
    st_token_shares shares;
    const char *text = "source,target,share\n0,0,0.615\n0,1,0.385\n1,1,0.75\n1,0,0.25\n";
    assert_int_equal(read_text(*state, text, 2, 8, &shares), ST_OK);
    assert_int_equal(shares.lines, 2);
    assert_about(shares.until[0], 0.615);
    assert_about(shares.until[2], 0.25);
    assert_about(shares.load.busiest, 1.135);
    assert_about(shares.load.idlest, 0.865);
}

/* Rows in any order; what is sent is the last iteration's. */
TEST_WITH(iterations_have_loads_of_their_own, set_up, tear_down)
{
    st_token_shares shares;
    const char *text = "iteration,rank,share\n2385,1,0.46\n15,0,0.77\n2385,0,0.54\n15,1,0.23\n"
                       "385,0,0.385\n385,1,0.615\n";
    assert_int_equal(read_text(*state, text, 2, 0, &shares), ST_OK);
    assert_int_equal(shares.load_count, 3);
    assert_about(shares.loads[0].iteration, 15);
    assert_about(shares.loads[0].busiest, 1.54);
    assert_about(shares.loads[1].iteration, 385);
    assert_about(shares.loads[1].idlest, 0.77);
    assert_about(shares.loads[2].busiest, 1.08);
    assert_about(shares.load.iteration, 2385);
    assert_about(shares.load.idlest, 0.92);
    assert_about(shares.until[0], 0.54);
    /* experts of which the job does not say how many there are */
    text = "iteration,expert,share\n7,0,0.1\n7,1,0.25\n7,2,0.385\n7,3,0.265\n9,0,0.25\n"
           "9,1,0.25\n9,2,0.25\n9,3,0.25\n";
    assert_int_equal(read_text(*state, text, 2, 0, &shares), ST_OK);
    assert_about(shares.loads[0].busiest, 1.3);
    assert_about(shares.load.busiest, 1);
}

TEST_WITH(what_does_not_conserve_tokens_is_refused, set_up, tear_down)
{
    static const struct {
        const char *text;
        const char *message;
    } faults[] = {
        {"rank,share\n0,0.6\n1,0.5\n",
         "map.csv:1:1: error: the shares add up to 1.1, so tokens appear"},
        {"rank,share\n0,0.385\n1,0.5\n", "add up to 0.885, so tokens vanish"},
        {"rank,share\n0,1\n", "missing share of rank 1"},
        {"rank,share\n0,0.5\n0,0.5\n", "map.csv:3:1: error: duplicate share of rank 0"},
        {"rank,share\n0,0.5\n2,0.5\n",
         "map.csv:3:1: error: rank 2 is out of range: expected 0 to 1"},
        {"rank,share\n0,-0.5\n1,1.5\n", "map.csv:2:3"},
        {"rank,share\n0,much\n1,0.5\n", "map.csv:2:3"},
        {"rank,expert,share\n0,0,0.5\n1,1,0.5\n", "wrong columns for token shares"},
        {"source,share\n0,0.5\n1,0.5\n", "wrong columns for token shares"},
        {"rank\n0\n1\n", "no column 'share'"},
        {"source,target,share\n0,0,1\n0,1,0\n", "missing share of target 0 for a source"},
        {"source,target,share\n0,0,1\n0,1,0\n2,0,1\n", "source 2 is out of range"},
        {"expert,share\n0,0.5\n1,0.25\n2,0.25\n", "3 experts cannot be spread evenly over 2 ranks"},
        {"iteration,rank,share\n5,0,0.4\n5,1,0.6\n7,0,0.4\n7,1,0.7\n",
         "the shares in iteration 7 add up to 1.1, so tokens appear"},
        {"iteration,rank,share\n5,0,0.4\n5,1,0.6\n7,0,1\n",
         "missing share of rank 1 in iteration 7"},
        {"iteration,rank,share\n5,0,0.4\n5,0,0.6\n",
         "map.csv:3:3: error: duplicate share of rank 0 in iteration 5"},
        {"iteration,rank,share\n-5,0,0.4\n5,1,0.6\n", "map.csv:2:1"},
        {"iteration,rank,share\n", "the table has a header but no rows"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        st_token_shares shares = {.ranks = 77};
        assert_int_not_equal(read_text(own, faults[i].text, 2, 0, &shares), ST_OK);
        if (strstr(said(own), faults[i].message) == NULL)
            fail_msg("%s: %s", faults[i].text, said(own));
        assert_int_equal(shares.ranks, 77);
        st_errors_clear(own->errors);
    }
}

TEST_WITH(groups_without_bounds_are_refused, set_up, tear_down)
{
    st_token_shares shares;
    assert_int_equal(read_text(*state, "rank,share\n0,1\n", 4097, 0, &shares), ST_ERR_LIMIT);
}

TESTS(token_shares);
