/* SPDX-License-Identifier: Apache-2.0 */
/* Equations of Echo worked out by hand, their table, and files that are none. */
#include "nccl_support.h"

static const st_echo_symbols symbols = {
    .alpha_us = 23.85, .beta_us = 5.7, .gamma_us = 11.3, .delta_us_per_byte = 6.1e-6, .eta = 7.0};

TEST(equations)
{
    st_nccl_group group = {.ranks = 32, .per_node = 8, .nodes = 4};
    double bytes = 4.7e6;
    st_nccl_answer answer = st_echo_ring(&group, ST_NCCL_ALL_GATHER, bytes, &symbols);
    assert_near(answer.total_us, 23.85 + 11.3 * 7 * 31, 1e-9);
    answer = st_echo_ring(&group, ST_NCCL_REDUCE_SCATTER, bytes, &symbols);
    assert_near(answer.total_us, 23.85 + 11.3 * (31 + 7 * 31) + 6.1e-6 * bytes, 1e-9);
    answer = st_echo_ring(&group, ST_NCCL_ALL_REDUCE, bytes, &symbols);
    assert_near(answer.total_us, 23.85 + 11.3 * (31 + 2 * 7 * 31) + 6.1e-6 * bytes, 1e-9);
    answer = st_echo_tree(&group, bytes, &symbols);
    assert_near(answer.total_us, 23.85 + 11.3 * 6 + 2 * 5.7 * 7 + 2 * 11.3 * 2 + 6.1e-6 * bytes,
                1e-9);
    assert_near(answer.intra_us, 2 * 5.7 * 7, 1e-9);
    assert_near(answer.reduction_us, 6.1e-6 * bytes, 1e-9);
    /* all-reduce is reduce-scatter and all-gather behind one set-up */
    double gather = st_echo_ring(&group, ST_NCCL_ALL_GATHER, bytes, &symbols).total_us;
    double scatter = st_echo_ring(&group, ST_NCCL_REDUCE_SCATTER, bytes, &symbols).total_us;
    assert_near(st_echo_ring(&group, ST_NCCL_ALL_REDUCE, bytes, &symbols).total_us,
                gather + scatter - 23.85, 1e-9);
    assert_true(isnan(st_echo_ring(&group, ST_NCCL_BROADCAST, bytes, &symbols).total_us));
}

TEST(inside_a_machine)
{
    st_nccl_group group = {.ranks = 8, .per_node = 8, .nodes = 1};
    st_nccl_answer answer = st_echo_ring(&group, ST_NCCL_ALL_GATHER, 1e6, &symbols);
    assert_near(answer.total_us, 23.85 + 5.7 * 7 * 7, 1e-9);
    assert_near(answer.inter_us, 0.0, 0);
}

static const char *parse(const char *text, st_echo_table *table, size_t *line)
{
    return st_echo_parse(text, strlen(text), table, line);
}

TEST(a_table)
{
    st_echo_table table;
    size_t line = 0;
    const char *text = "# measured\n\n32,8\r\n1000,100,5,10,20,4\n2000,200,7,30,60,9.5\r\n"
                       "3000,200,9,50,80,12";
    assert_null(parse(text, &table, &line));
    assert_int_equal(table.count, 3);
    assert_near(table.ranks, 32, 0);
    assert_near(table.rows[1].reduce_us, 9.5, 0);
    st_echo_symbols found = st_echo_look_up(&table, 200);
    assert_near(found.beta_us, 40.0, 1e-9); /* mean of two rows */
    assert_near(found.delta_us_per_byte, (9.5 / 2000 + 12.0 / 3000) / 2, 1e-15);
    found = st_echo_look_up(&table, sqrt(100.0 * 200.0));
    assert_near(found.beta_us, sqrt(10.0 * 40.0), 1e-9);
    assert_near(found.gamma_us, sqrt(20.0 * 70.0), 1e-9);
    assert_near(st_echo_look_up(&table, 1.0).gamma_us, 20.0, 0);
    assert_near(st_echo_look_up(&table, 1e9).gamma_us, 70.0, 1e-9);
    st_nccl_answer whole = st_echo_operation(&table, 2000);
    assert_near(whole.total_us, 7 + 30 + 60 + 9.5, 1e-9);
    whole = st_echo_operation(&table, sqrt(2000.0 * 3000.0));
    assert_near(whole.inter_us, sqrt(60.0 * 80.0), 1e-9);
}

TEST(broken_tables)
{
    static const struct {
        const char *text;
        size_t line;
        const char *reason;
    } cases[] = {
        {"", 0, "no rows"},
        {"32\n", 1, "ranks"},
        {"32,x\n", 1, "ranks"},
        {"8,32\n", 1, "ranks"},
        {"17,8\n1000,100,5,10,20,4\n", 1, "which divide them"},
        {"5,2.5\n1000,100,5,10,20,4\n", 1, "which divide them"},
        {"32,8\n", 1, "no rows"},
        {"32,8\n1000,100,5,10,20\n", 2, "missing"},
        {"32,8\n1000,100,5,10,20,4,7\n", 2, "unexpected"},
        {"32,8\n1000,100,5,10,20,-4\n", 2, "not a number"},
        {"32,8\n1000,100,5,10,,4\n", 2, "not a number"},
        {"32,8\n1000,100,5,1.0.0,20,4\n", 2, "not a number"},
        {"32,8\n1000,100,5,10,123456789012345678901,4\n", 2, "20 digits"},
        {"32,8\n1000,100,5,0,20,4\n", 2, "above 0"},
        {"32,8\n# x\n1000,100,5,10,20,4\n1000,100,5,10,20,4\n", 4, "rise"},
        {"32,8\n1000,100,5,10,20,4\n2000,99,5,10,20,4\n", 3, "rise"},
    };
    st_echo_table table;
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t line = 0;
        const char *reason = parse(cases[i].text, &table, &line);
        assert_non_null(reason);
        if (!strstr(reason, cases[i].reason) || line != cases[i].line)
            fail_msg("case %zu: line %zu: %s", i, line, reason);
    }
    char many[4096] = "32,8\n";
    size_t length = strlen(many);
    for (int i = 1; i <= ST_ECHO_ROWS + 1; i++)
        length += (size_t)snprintf(many + length, sizeof(many) - length, "%d,9,1,2,3,4\n", i);
    size_t line = 0;
    assert_string_equal(parse(many, &table, &line), "more than 64 rows");
    assert_int_equal(line, ST_ECHO_ROWS + 2);
}

/* Every beginning of a good table, and every byte of it changed: no crash, and a reason or rows. */
TEST(cut_and_changed_tables)
{
    static const char good[] = "# t\n32,8\n1000,100,5,10,20,4\n2000,200,7,30,60,9.5\n";
    static const char bytes[] = "\n,#.-9x\xff";
    st_echo_table table;
    char text[sizeof(good)];
    size_t line;
    for (size_t length = 0; length < sizeof(good) - 1; length++) {
        memcpy(text, good, sizeof(good));
        const char *reason = st_echo_parse(text, length, &table, &line);
        assert_true(reason || table.count > 0);
        for (size_t i = 0; i < sizeof(bytes); i++) {
            text[length] = bytes[i];
            reason = st_echo_parse(text, sizeof(good) - 1, &table, &line);
            assert_true(reason || (table.count > 0 && table.count <= 3));
        }
    }
}

TESTS(nccl_echo);
