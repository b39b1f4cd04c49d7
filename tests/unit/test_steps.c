/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of steps: what their words and numbers mean, what following them finds, what is refused.
 */
#include "report_support.h"

#include "fabric/step_table.h"

#include <math.h>

/* Twelve ranks, four on each of three nodes. */
static const st_steps_group dozen = {12, 4};

static st_status read_table(fixture *own, const char *text, const st_steps **steps)
{
    const st_source source = {.file = "t.steps", .text = text, .length = strlen(text)};
    return st_steps_read(&source, own->arena, steps, own->errors);
}

/* What following says of a table that is refused; "" where it is not. */
static const char *follow(fixture *own, const char *text, st_steps_group group)
{
    const st_steps *steps = NULL;
    st_transfers transfers;
    if (read_table(own, text, &steps) != ST_OK)
        fail_msg("%s: %s", text, said(own));
    if (st_steps_follow(steps, &group, &transfers, own->errors) == ST_OK)
        free(transfers.items);
    return said(own);
}

/* ---- numbers ---- */

/* Of rank 0, which has no chunk of that number and says so. */
static const char *value_text(fixture *own, const char *expression)
{
    const char *table = st_arena_printf(
        own->arena, "collective broadcast\nranks any\nchunks 1\nsend 7000 + (%s) to 1\n",
        expression);
    return follow(own, table, dozen);
}

TEST_WITH(numbers_are_whole_and_signs_bind_as_usual, set_up, tear_down)
{
    static const struct {
        const char *expression;
        int value;
    } cases[] = {
        {"2+3*4", 14},   {"(2+3)*4", 20},    {"2*3^2", 18},    {"10-4-3", 3},      {"2^10", 1024},
        {"7^0", 1},      {"7/2", 3},         {"8/2", 4},       {"(0-7)/2", -4},    {"(0-8)/2", -4},
        {"7/(0-2)", -4}, {"(0-7)/(0-2)", 3}, {"7 mod 3", 1},   {"(0-7) mod 3", 2}, {"6 mod 3", 0},
        {"6 xor 3", 5},  {"log2(1)", 0},     {"log2(7)", 2},   {"log2(8)", 3},     {"log2(9)", 3},
        {"-3+5", 2},     {"n", 12},          {"g", 4},         {"m", 3},           {"r", 0},
        {"n-m*g", 0},    {"24/4/3", 2},      {"2*7 mod 4", 2},

    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *found = value_text(own, cases[i].expression);
        const char *words = st_arena_printf(
            own->arena, "found 1 chunks from %d, expected from 0 to 0", 7000 + cases[i].value);
        if (strstr(found, words) == NULL)
            fail_msg("%s: %s", cases[i].expression, found);
    }
}

TEST_WITH(some_expressions_have_no_value, set_up, tear_down)
{
    static const char *const cases[] = {"1/0",     "1 mod 0", "log2(0)",  "log2(0-4)",
                                        "2^(0-1)", "3^62",    "1/(n-12)", "2^50*2^50"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *found = value_text(*state, cases[i]);
        if (strstr(found, "t.steps:4: error: an expression is undefined for rank 0") == NULL)
            fail_msg("%s: %s", cases[i], found);
    }
}

/* The first step of rank 0 that sends what it has not tells which way it went. */
TEST_WITH(conditions_and_loops_choose_steps, set_up, tear_down)
{
    static const struct {
        const char *head;
        int value;
    } cases[] = {
        {"if 3 < 4", 1},       {"if 4 < 4", 2},         {"if 4 <= 4", 1},
        {"if 5 <= 4", 2},      {"if 5 > 4", 1},         {"if 4 > 4", 2},
        {"if 4 >= 4", 1},      {"if 3 >= 4", 2},        {"if 4 == 4", 1},
        {"if 4 == 5", 2},      {"if 4 != 5", 1},        {"if 4 != 4", 2},
        {"for k = 1 to 3", 1}, {"for k = 3 to 2", 2},   {"for k = 2 to 2", 1},
        {"if r+1 == n/12", 1}, {"for k = n to g+m", 2},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *table = st_arena_printf(
            own->arena,
            "collective broadcast\nranks any\nchunks 1\n%s\nsend 7001 to 1\nend\nsend 7002 to 1\n",
            cases[i].head);
        const char *words = st_arena_printf(own->arena, "chunks from %d", 7000 + cases[i].value);
        const char *found = follow(own, table, dozen);
        if (strstr(found, words) == NULL)
            fail_msg("%s: %s", cases[i].head, found);
    }
}

/* ---- messages ---- */

static void expect_messages(fixture *own, const char *text, st_steps_group group,
                            const st_transfer *expected, size_t count)
{
    const st_steps *steps = NULL;
    st_transfers found;
    if (read_table(own, text, &steps) != ST_OK ||
        st_steps_follow(steps, &group, &found, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    assert_int_equal(found.count, count);
    uint32_t rounds = 0;
    for (size_t i = 0; i < count; i++) {
        const st_transfer *one = &found.items[i];
        if (one->from != expected[i].from || one->to != expected[i].to ||
            one->round != expected[i].round || fabs(one->share - expected[i].share) > 1e-12)
            fail_msg("message %zu goes from %u to %u in round %u, %g", i, one->from, one->to,
                     one->round, one->share);
        rounds = one->round + 1 > rounds ? one->round + 1 : rounds;
    }
    assert_int_equal(found.rounds, rounds);
    free(found.items);
}

/* A chain of four: each sends on what has come, in halves, two rounds after the rank before it has
 * begun; a loop sends a chunk each. */
TEST_WITH(messages_have_their_round_and_share, set_up, tear_down)
{
    expect_messages(*state,
                    "collective broadcast\nranks 4\nchunks 4\n"
                    "if r > 0\n  copy 0 count 2 from r-1\nend\n"
                    "if r < n-1\n  send 0 count 2 to r+1\nend\n"
                    "for k = 2 to 3\n  if r > 0\n    copy k from r-1\n  end\n"
                    "  if r < n-1\n    send k to r+1\n  end\nend\n",
                    (st_steps_group){4, 4},
                    (const st_transfer[]){{0, 1, 0, 0.25},
                                          {0, 1, 0, 0.25},
                                          {0, 1, 0, 0.5},
                                          {1, 2, 1, 0.25},
                                          {1, 2, 1, 0.25},
                                          {1, 2, 1, 0.5},
                                          {2, 3, 2, 0.25},
                                          {2, 3, 2, 0.25},
                                          {2, 3, 2, 0.5}},
                    9);
    /* Of three ranks' nine pieces each rank has three: one is a third of its message. */
    expect_messages(*state,
                    "collective all_to_all\nranks 3\nchunks n*n\n"
                    "for k = 1 to n-1\n  send r*n + (r+k) mod n to (r+k) mod n\nend\n"
                    "for k = 1 to n-1\n  copy (r-k) mod n*n + r from (r-k) mod n\nend\n",
                    (st_steps_group){3, 3},
                    (const st_transfer[]){{0, 1, 0, 1.0 / 3},
                                          {0, 2, 0, 1.0 / 3},
                                          {1, 0, 0, 1.0 / 3},
                                          {1, 2, 0, 1.0 / 3},
                                          {2, 0, 0, 1.0 / 3},
                                          {2, 1, 0, 1.0 / 3}},
                    6);
}

/* Messages of one rank are taken in their order, those of others wait. */
TEST_WITH(messages_wait_for_who_takes_them, set_up, tear_down)
{
    expect_messages(*state,
                    "collective all_reduce\nranks 3\nchunks 1\n"
                    "if r != 1\n  send 0 to 1\nend\n"
                    "if r == 1\n  reduce 0 from 2\n  reduce 0 from 0\n"
                    "  send 0 to 0\n  send 0 to 2\nend\n"
                    "if r != 1\n  copy 0 from 1\nend\n",
                    (st_steps_group){3, 3},
                    (const st_transfer[]){{0, 1, 0, 1}, {2, 1, 0, 1}, {1, 0, 1, 1}, {1, 2, 1, 1}},
                    4);
}

/* More than 64 ranks' values are more than a word of bits: all of them count. */
TEST_WITH(many_ranks_are_summed_up, set_up, tear_down)
{
    static const char table[] = "collective all_reduce\nranks any\nchunks 1\n"
                                "if r > 0\n  send 0 to 0\n  copy 0 from 0\nend\n"
                                "if r == 0\n  for k = 1 to n-1\n    reduce 0 from k\n  end\n"
                                "  for k = 1 to n-1\n    send 0 to k\n  end\nend\n";
    static const char lacking[] = "collective all_reduce\nranks any\nchunks 1\n"
                                  "if r > 0\n  if r != 68\n    send 0 to 0\n  end\n"
                                  "  copy 0 from 0\nend\n"
                                  "if r == 0\n  for k = 1 to n-1\n    if k != 68\n"
                                  "      reduce 0 from k\n    end\n  end\n"
                                  "  for k = 1 to n-1\n    send 0 to k\n  end\nend\n";
    assert_string_equal(follow(*state, table, (st_steps_group){70, 70}), "");
    assert_contains(follow(*state, lacking, (st_steps_group){70, 70}),
                    "rank 0 does not get the result: found values of 69 of 70 ranks in its "
                    "chunk 0");
}

#define REDUCE "collective all_reduce\nranks any\nchunks 1\n"
#define CAST   "collective broadcast\nranks any\nchunks 2\n"

TEST_WITH(tables_that_go_wrong_are_refused, set_up, tear_down)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {REDUCE "reduce 0 from (r+1) mod n\nsend 0 to (r-1) mod n\n",
         "t.steps:4: error: deadlock: rank 0 waits for a message from rank 1, which waits in "
         "line 4"},
        {REDUCE "if r == 0\ncopy 0 from 1\nend\n", "t.steps:5: error: deadlock: rank 0 waits for a "
                                                   "message from rank 1, which has finished"},
        {REDUCE "send 0 to r xor 1\nreduce 0 from r xor 1\n", "" /* is fine */},
        {REDUCE "send 0 to r xor 1\nreduce 0 from r xor 1\nsend 0 to r xor 1\n"
                "reduce 0 from r xor 1\n",
         "t.steps:7: error: rank 0 adds a value twice"},
        {REDUCE "send 0 to r xor 1\nreduce 0 from r xor 1\nif r == 1\nsend 0 to 0\nend\n",
         "t.steps:7: error: rank 1 sends a message to rank 0 that is never received"},
        {CAST "if r == 1\nsend 1 to 0\nend\n",
         "t.steps:5: error: rank 1 sends chunk 1, which it does not have"},
        {CAST "if r == 0\nsend 0 to 1\nend\nif r == 1\nreduce 0 from 0\nend\n",
         "t.steps:8: error: broadcast does not sum values: expected 'copy'"},
        {CAST "if r == 0\nsend 0 to 1\nend\nif r == 1\ncopy 0 from 0\nend\n",
         "rank 1 does not get the result: chunk 1 never reaches it"},
        {CAST "if r == 0\nsend 0 count 2 to 1\nend\nif r == 1\ncopy 0 from 0\nend\n",
         "t.steps:8: error: rank 1 does not expect the chunks that rank 0 sends (line 5): found 2 "
         "chunks from 0, expected 1 chunks from 0"},
        {CAST "if r == 0\nsend 0 to 1\nend\nif r == 1\ncopy 1 from 0\nend\n",
         "found 1 chunks from 0, expected 1 chunks from 1"},
        {CAST "send 0 count 3 to 1\n",
         "rank 0 uses chunks that do not exist: found 3 chunks from 0, "
         "expected from 0 to 1"},
        {CAST "send 0 count 0 to 1\n", "found 0 chunks from 0"},
        {CAST "send 0-1 to 1\n", "found 1 chunks from -1"},
        {CAST "send 1 count 2 to 1\n", "found 2 chunks from 1"},
        {CAST "send 0 to 2\n",
         "rank 0 uses a partner that does not exist: found rank 2, expected another rank from "
         "0 to 1"},
        {CAST "send 0 to 0\n", "found rank 0, expected another rank from 0 to 1"},
        {CAST "send 0 to 0-1\n", "found rank -1"},
        {"collective all_gather\nranks any\nchunks 3\n",
         "3 chunks cannot be divided evenly among 2 "
         "ranks"},
        {"collective reduce_scatter\nranks any\nchunks 5\n", "5 chunks cannot be divided evenly"},
        {"collective all_to_all\nranks any\nchunks 2\n", "2 chunks cannot be divided evenly"},
        {"collective all_reduce\nranks any\nchunks 0\n", "the message has no chunks"},
        {"collective all_reduce\nranks 3\nchunks 1\n", "the table does not support 2 ranks"},
        {REDUCE "for a = 1 to 1000\nfor b = 1 to 1000\nend\nend\n",
         "loops without steps take too long: expected a send or receive within 200000 iterations"},
        {"collective all_reduce\nranks any\nchunks 2^28\n",
         "2 ranks with 268435456 chunks are too many to simulate"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *found = follow(*state, cases[i].text, (st_steps_group){2, 2});
        bool fine = cases[i].words[0] == '\0';
        if (fine ? found[0] != '\0' : strstr(found, cases[i].words) == NULL)
            fail_msg("%s\n%s\n%s", cases[i].text, found, cases[i].words);
    }
}

/* Who has what at first, and needs what at last, depends on the collective. */
TEST_WITH(collectives_differ_in_what_they_need, set_up, tear_down)
{
    static const char swap[] = "send r to r xor 1\ncopy 1-r from r xor 1\n";
    static const struct {
        const char *head;
        const char *words; /* NULL: it is done */
    } cases[] = {{"collective all_gather\nranks 2\nchunks 2\n", NULL},
                 {"collective reduce_scatter\nranks 2\nchunks 2\n", "does not get the result"},
                 {"collective broadcast\nranks 2\nchunks 2\n",
                  "rank 1 sends chunk 1, which it does "
                  "not have"}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *table = st_arena_printf(own->arena, "%s%s", cases[i].head, swap);
        const char *found = follow(own, table, (st_steps_group){2, 2});
        if (cases[i].words == NULL)
            assert_string_equal(found, "");
        else
            assert_contains(found, cases[i].words);
    }
    static const char halves[] = "collective reduce_scatter\nranks 2\nchunks 2\n"
                                 "send r xor 1 to r xor 1\nreduce r from r xor 1\n";
    assert_string_equal(follow(own, halves, (st_steps_group){2, 2}), "");
}

/* ---- which groups ---- */

TEST_WITH(tables_hold_for_the_groups_that_they_name, set_up, tear_down)
{
    static const struct {
        const char *ranks;
        const char *text;
        uint32_t good[4]; /* 0 ends them */
        uint32_t bad[4];
    } cases[] = {{"any", "any number of ranks", {2, 3, 71}, {1}},
                 {"6", "6 ranks", {6}, {1, 3, 12, 5}},
                 {"multiple of 6", "a multiple of 6 ranks", {6, 12, 18}, {3, 8, 9, 15}},
                 {"power of 3", "a power of 3 ranks", {3, 9, 27}, {6, 12, 18, 1}}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_steps *steps = NULL;
        const char *table = st_arena_printf(
            own->arena, "collective reduce_scatter\nranks %s\nchunks n\n", cases[i].ranks);
        assert_int_equal(read_table(own, table, &steps), ST_OK);
        assert_int_equal(st_steps_collective(steps), ST_COLLECTIVE_REDUCE_SCATTER);
        assert_string_equal(st_steps_ranks(steps, own->arena), cases[i].text);
        for (size_t k = 0; k < 4; k++) {
            const st_steps_group good = {cases[i].good[k], 1};
            const st_steps_group bad = {cases[i].bad[k], 1};
            assert_true(good.ranks == 0 || st_steps_fit(steps, &good));
            assert_true(bad.ranks == 0 || !st_steps_fit(steps, &bad));
        }
    }
}

/* ---- texts ---- */

TEST_WITH(texts_that_are_no_tables_are_refused, set_up, tear_down)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"", "t.steps:1:"},
        {"chunks 1\n", "the table has no 'collective' line"},
        {"collective all_reduce\nranks any\n", "the table has no 'chunks' line"},
        {"send 0 to 1\n", "the first line must be 'collective NAME'"},
        {"collective all_reduces\n", "unknown collective 'all_reduces'"},
        {"collective all_reduc\n", "unknown collective 'all_reduc'"},
        {
            REDUCE "ranks 4\n",
            "t.steps:4:",
        },
        {REDUCE "ranks 4\n", "duplicate 'ranks': expected only the one in line 2"},
        {REDUCE "chunks 4\n", "duplicate 'chunks': expected only the one in line 3"},
        {REDUCE "collective broadcast\n",
         "duplicate 'collective': expected only the one in line 1"},
        {REDUCE "end\n", "'end' without a loop or condition"},
        {REDUCE "for k = 0 to 1\n\nsend 0 to 1\n", "t.steps:4:"},
        {REDUCE "if r == 0\n", "a loop or condition has no 'end'"},
        {REDUCE "if r\nend\n", "expected a comparison, found ''"},
        {REDUCE "for n = 0 to 1\nend\n", "'n' is already defined"},
        {REDUCE "for k = 0 to 1\nfor k = 0 to 1\nend\nend\n", "'k' is already defined"},
        {REDUCE "for k 0 to 1\nend\n", "expected '=', found '0 to 1'"},
        {REDUCE "for 3 = 0 to 1\nend\n", "expected a variable name"},
        {REDUCE "sent 0 to 1\n", "unknown step 'sent 0 to 1'"},
        {"collective all_reduce\nranks 0\n", "invalid number of ranks"},
        {"collective all_reduce\nranks many\n", "invalid number of ranks"},
        {REDUCE "for a = 0 to 1\nfor b = 0 to 1\nfor c = 0 to 1\nfor d = 0 to 1\nfor e = 0 to 1\n"
                "for f = 0 to 1\nfor h = 0 to 1\nfor i = 0 to 1\nfor j = 0 to 1\n",
         "t.steps:12:"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_steps *steps = NULL;
        assert_int_equal(read_table(own, cases[i].text, &steps), ST_ERR_SYNTAX);
        const char *found = said(own);
        if (strstr(found, cases[i].words) == NULL)
            fail_msg("%s\n%s", cases[i].text, found);
    }
}

/* A variable ends with its loop; remarks and blanks say nothing. */
TEST_WITH(names_live_in_their_loop, set_up, tear_down)
{
    assert_string_equal(follow(*state,
                               "# two\n\n collective  all_reduce # sums\nranks any\r\nchunks 1\n"
                               "for k = 1 to 1\n\tsend 0 to r xor k\nend\n"
                               "for k = 1 to 1\n  reduce 0 from r xor k\nend",
                               (st_steps_group){2, 2}),
                        "");
}

TESTS(steps);
