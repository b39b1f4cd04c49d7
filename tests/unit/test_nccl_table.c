/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of nccl-tests: headings of several versions, launchers' prefixes, rows that others write
 * into, JSON and CSV, and what is refused. The logs are shaped like real ones, with numbers of
 * their own.
 */
#include "nccl_support.h"

#include "base/json_read.h"

static table_case *read_good(const char *text)
{
    table_case *with = read_as("some.log", text, (st_nccl_request){.buffers = ST_NCCL_ANY});
    if (with->status != ST_OK)
        fail_msg("%s", said(with->errors));
    return with;
}

static const st_nccl_request any = {.buffers = ST_NCCL_ANY};

/* ---- what a log says ---- */

TEST(a_log_says_what_it_measures)
{
    table_case *with = read_good(START ROW END);
    const st_nccl_table *table = &with->tables[0];
    assert_int_equal(with->count, 1);
    assert_string_equal(table->collective, "all_reduce");
    assert_int_equal(table->ranks, 4);
    assert_int_equal(table->nodes, 2);
    assert_string_equal(table->gpu, "NVIDIA H100 80GB HBM3");
    assert_string_equal(table->version, "2.22.3");
    assert_int_equal(table->buffers, ST_NCCL_OUT_OF_PLACE);
    assert_int_equal(table->row_count, 1);
    expect_row(&table->rows[0], 1048576, 58.35, 58.11);
    assert_int_equal(table->rows[0].line, 11);
    end(with);
}

TEST(prefixes_of_launchers_are_skipped)
{
    table_case *with = read_good("all_reduce_perf\n" DEVICES("[1,0]<stdout>:") HEADING(
        "[1,0]<stdout>:") "[1,0]<stdout>:" ROW "2025-03-04T10:11:12.345Z 0: " ROW
                          "[1,0]<stdout>:8589934592 2147483648 float sum -1 123456 69.58 104.4 0 "
                          "123450 "
                          "69.58 104.4 N/A\n");
    assert_int_equal(with->tables[0].nodes, 2);
    assert_int_equal(with->tables[0].row_count, 3);
    expect_row(&with->tables[0].rows[1], 1048576, 58.35, 58.11);
    expect_row(&with->tables[0].rows[2], 8589934592.0, 123456, 123450);
    end(with);
}

TEST(older_headings_lack_columns)
{
    table_case *with =
        read_good("NCCL version 2.4.6+cuda10.1\n# reduce_scatter_perf\n# Using devices\n"
                  "#   Rank  0 Pid  7 on one device  0 [0x00] Tesla V100-SXM2-16GB\n"
                  "#   Rank  1 Pid  7 on one device  1 [0x00] Tesla V100-SXM2-16GB\n"
                  "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  "
                  "error\n"
                  "  524288  65536  float  sum  23.85  21.98  10.99  2e-07  23.91  21.93  10.96  "
                  "2e-07\n");
    assert_string_equal(with->tables[0].collective, "reduce_scatter");
    assert_string_equal(with->tables[0].version, "2.4.6");
    assert_string_equal(with->tables[0].gpu, "Tesla V100-SXM2-16GB");
    expect_row(&with->tables[0].rows[0], 524288, 23.85, 23.91);
    end(with);
}

/* The operation, and in some versions the root, is left blank where there is none. */
TEST(operation_and_root_may_be_blank)
{
    table_case *with = read_good("all_gather_perf\n" DEVICES("") HEADING(
        "") "  1048576  65536  float  58.35  17.97  26.96  0  58.11  18.04  "
            "27.07  0\n"
            "  2097152  65536  float  none  -1  88.35  23.74  26.96  0  88.11 "
            " 23.80  27.07  0\n"
            "  4194304  65536  float  -1  188.3  22.27  26.96  0  188.1  "
            "22.30  27.07  0\n");
    assert_int_equal(with->tables[0].row_count, 3);
    expect_row(&with->tables[0].rows[0], 1048576, 58.35, 58.11);
    expect_row(&with->tables[0].rows[1], 2097152, 88.35, 88.11);
    expect_row(&with->tables[0].rows[2], 4194304, 188.3, 188.1);
    end(with);
}

TEST(timestamps_and_iterations_are_skipped)
{
    table_case *with = read_good("all_reduce_perf\n" DEVICES(
        "") "#  size  count  type  redop  root  time  algbw  busbw #wrong i_min i_max i_p99 i_cv% "
            "time  algbw  busbw #wrong i_min i_max i_p99 i_cv% timestamp\n"
            "  1048576 262144 float sum -1 58.35 17.97 26.96 0 57.1 59.2 59.1 1.23 58.11 18.04 "
            "27.07 0 56.9 59.9 59.8 1.25 2026-03-04 10:11:12\n");
    assert_int_equal(with->tables[0].row_count, 1);
    expect_row(&with->tables[0].rows[0], 1048576, 58.35, 58.11);
    end(with);
}

TEST(two_tables_of_a_collective_are_two)
{
    table_case *with =
        read_good(START ROW END
                  "# Using devices\n"
                  "#  Rank  0 Group  0 Pid  7 on one device  0 [0x00] A100\n"
                  "#  Rank  1 Group  0 Pid  7 on one device  1 [0x00] A100\n" HEADING("") ROW END);
    assert_int_equal(with->count, 2);
    assert_int_equal(with->tables[0].ranks, 4);
    assert_int_equal(with->tables[1].ranks, 2);
    assert_int_equal(with->tables[1].nodes, 1);
    end(with);
}

/* Groups of a split communicator do the same at the same time. */
TEST(groups_are_communicators)
{
    table_case *with =
        read_good("all_reduce_perf\n# Using devices\n"
                  "#  Rank  0 Group  0 Pid  1 on a device  0 [0x07] A100\n"
                  "#  Rank  0 Group  1 Pid  2 on a device  1 [0x0b] A100\n"
                  "#  Rank  1 Group  0 Pid  3 on b device  0 [0x07] A100\n"
                  "#  Rank  1 Group  1 Pid  4 on b device  1 [0x0b] A100\n" HEADING("") ROW);
    assert_int_equal(with->tables[0].ranks, 2);
    assert_int_equal(with->tables[0].nodes, 2);
    end(with);
}

/* ---- broken rows ---- */

TEST(rows_in_pieces_are_put_together)
{
    table_case *with = read_good(
        START "     1024     256  float  sum  -1node-b:71:72 [1] NCCL INFO Channel 00/0 : 3 -> 0\n"
              "[1,0]<stdout>:  18.25  0.06  0.08  0  18.31  0.06  0.08  0\n"
              "  1048576  262144  float  sum  -1\n"
              "  58.35  17.97  26.96  0\n"
              "node-a:1:2 [0] NCCL INFO 8 coll channels, 0 nvls channels\n"
              "  58.11  18.04  27.07  N/A\n"
              "  2097152  524288  float  sum  -1 NCCL WARN slow 88.35 23.74 35.61 0 88.11 23.80 "
              "35.70 0\n" END);
    const st_nccl_table *table = &with->tables[0];
    assert_int_equal(table->row_count, 3);
    expect_row(&table->rows[0], 1024, 18.25, 18.31);
    expect_row(&table->rows[1], 1048576, 58.35, 58.11);
    expect_row(&table->rows[2], 2097152, 88.35, 88.11);
    assert_int_equal(table->left_out, 0);
    end(with);
}

TEST(broken_rows_are_left_out_with_a_warning)
{
    table_case *with = read_good(START "  1024  256  float  sum  -1\n" ROW
                                       /* digits of two rows in one number */
                                       "  2097152  524288  float  sum  -1  8835.35  23.74  35.61  "
                                       "0  88.11  23.80  35.70  0\n" END);
    assert_int_equal(with->tables[0].row_count, 1);
    assert_int_equal(with->tables[0].left_out, 2);
    assert_contains(said(with->errors),
                    "some.log:11: warning: 2 broken rows are left out, the first one here");
    end(with);
}

/* A launcher that loses line breaks, and one that loses the end of a line, too. */
TEST(rows_on_one_line_are_several)
{
    table_case *with =
        read_good(START "  1024  256  float  sum  -1  18.25  0.06  0.08  0  18.31  0.06  0.08  0"
                        "  1048576  262144  float  sum  -1  58.35  17.97  26.96  0  58.11  18.04  "
                        "27.07  0\n" END);
    assert_int_equal(with->tables[0].row_count, 2);
    expect_row(&with->tables[0].rows[0], 1024, 18.25, 18.31);
    expect_row(&with->tables[0].rows[1], 1048576, 58.35, 58.11);
    end(with);
    with = read_good(START "  1024  256  float  sum  -1  18.25  0.06  2097152  524288  float  sum  "
                           "-1  88.35  23.74  35.61  0  88.11  23.80  35.70  0\n" END);
    assert_int_equal(with->tables[0].row_count, 1);
    expect_row(&with->tables[0].rows[0], 2097152, 88.35, 88.11);
    assert_int_equal(with->tables[0].left_out, 1);
    assert_contains(said(with->errors), "some.log:11: warning: a broken row is left out");
    end(with);
}

/* Eight numbers of somebody else are not the eight values of a row. */
TEST(numbers_of_others_are_no_times)
{
    table_case *with = read_good(
        START "  1048576  262144  float  sum  -1 NCCL INFO Channel 00/24 : 0 1 2 3 4 5 6 7\n"
              "  58.35  17.97  26.96  0  58.11  18.04  27.07  0\n" END);
    assert_int_equal(with->tables[0].row_count, 1);
    expect_row(&with->tables[0].rows[0], 1048576, 58.35, 58.11);
    end(with);
}

TEST(types_of_tomorrow_are_types)
{
    table_case *with = read_good(
        START "  1024  2048  f4e2m1  sum  -1  18.25  0.06  0.08  0  18.31  0.06  0.08  0\n"
              "  1048576  2097152  f4e2m1        58.35  17.97  26.96  0  58.11  18.04  27.07  0\n"
              "  17 23 ranks of job 2385 at 7\n" END);
    assert_int_equal(with->tables[0].row_count, 2);
    expect_row(&with->tables[0].rows[1], 1048576, 58.35, 58.11);
    assert_int_equal(with->tables[0].left_out, 0);
    end(with);
}

/* Half of a row in the middle of a log still has its times out of place. */
TEST(half_a_row_counts)
{
    table_case *with =
        read_good(START "  524288  131072  float  sum  -1  38.35  13.67  20.51  0\n" ROW END);
    assert_int_equal(with->tables[0].row_count, 2);
    assert_same_double(with->tables[0].rows[0].time_s[0], 38.35e-6);
    assert_true(isnan(with->tables[0].rows[0].time_s[1]));
    end(with);
}

TEST(a_replay_has_only_the_second_block)
{
    table_case *with = read_good(START "  1048576  262144  float  sum  -1                          "
                                       "        58.11  18.04  27.07  0\n" END);
    assert_int_equal(with->tables[0].buffers, ST_NCCL_IN_PLACE);
    assert_true(isnan(with->tables[0].rows[0].time_s[0]));
    assert_same_double(with->tables[0].rows[0].time_s[1], 58.11e-6);
    end(with);
}

/* ---- which rows ---- */

TEST(buffers_are_chosen)
{
    table_case *with =
        read_as("some.log", START ROW, (st_nccl_request){.buffers = ST_NCCL_IN_PLACE});
    assert_int_equal(with->status, ST_OK);
    assert_same_double(st_nccl_time(&with->tables[0], &with->tables[0].rows[0]), 58.11e-6);
    end(with);
    expect_refused(START "  1048576  262144  float  sum  -1  58.35  17.97  26.96  0  N/A  N/A  N/A "
                         " N/A\n",
                   (st_nccl_request){.buffers = ST_NCCL_IN_PLACE},
                   "some.log:9: error: the table has no times in place");
}

/* Less than an element per rank is rounded down to nothing. */
TEST(rows_without_a_size_are_left_out)
{
    table_case *with =
        read_good(START "  0  0  float  sum  -1  0.15  0.00  0.00  0  0.14  0.00  0.00  0\n" ROW);
    assert_int_equal(with->tables[0].row_count, 1);
    assert_int_equal(with->tables[0].left_out, 1);
    end(with);
}

TEST(the_collective_may_stand_in_the_name)
{
    static const struct {
        const char *file;
        const char *collective;
    } cases[] = {{"logs/h100_alltoall_16.log", "all_to_all"},
                 {"reduce_scatter.txt", "reduce_scatter"},
                 {"x-sendrecv_perf.out", "send_recv"},
                 {"run/AllGather.txt", "all_gather"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        table_case *with = read_as(cases[i].file, DEVICES("") HEADING("") ROW, any);
        assert_int_equal(with->status, ST_OK);
        assert_string_equal(with->tables[0].collective, cases[i].collective);
        end(with);
    }
    expect_refused(DEVICES("") HEADING("") ROW, any, "give --collective");
}

TEST(requests_fill_in_what_is_missing)
{
    st_nccl_request request = {
        .collective = "broadcast", .ranks = 24, .nodes = 3, .buffers = ST_NCCL_ANY};
    table_case *with = read_as("some.log", HEADING("") ROW, request);
    assert_int_equal(with->status, ST_OK);
    assert_string_equal(with->tables[0].collective, "broadcast");
    assert_int_equal(with->tables[0].ranks, 24);
    assert_int_equal(with->tables[0].nodes, 3);
    end(with);
}

TEST(one_of_several_collectives_is_chosen)
{
    static const char text[] =
        START ROW END "# Collective test starting: all_gather_perf\n" HEADING(
            "") "  2097152  524288  float  none  -1  88.35  23.74  35.61  0  88.11  23.80  35.70  "
                "0\n" END;
    st_nccl_request request = {.collective = "all_gather", .buffers = ST_NCCL_ANY};
    table_case *with = read_as("some.log", text, request);
    assert_int_equal(with->status, ST_OK);
    assert_int_equal(with->count, 1);
    assert_same_double(with->tables[0].rows[0].size_bytes, 2097152);
    end(with);
    expect_refused(text, any,
                   "some.log:16: error: a table of all_gather after one of all_reduce (line 9); "
                   "choose one with --collective");
    request.collective = "broadcast";
    expect_refused(text, request, "no table of broadcast: found all_reduce");
}

/* ---- refusals ---- */

TEST(logs_that_are_none_are_refused)
{
    expect_refused("", any, "some.log: error: no table of nccl-tests");
    expect_refused(
        DEVICES("") "#  size  count  type  redop  root  cputime  algbw  busbw  #wrong\n" ROW, any,
        "times of the host that starts collectives (nccl-tests -C 1): found cputime");
    expect_refused("hello\n\n# size matters\n", any, "no table of nccl-tests");
    expect_refused(START END, any, "some.log:9: error: the table has no rows with a size");
}

TEST(logs_that_end_inside_of_a_row_are_refused)
{
    static const char *const texts[] = {
        START ROW ROW, START "[1,0]<stdout>:" ROW "[1,0]<stdout>:" ROW,
        START "11:22:33.456 INFO | " ROW "11:22:33.789 INFO | " ROW};
    for (size_t i = 0; i < COUNT(texts); i++) {
        /* from the first digit of the last row's size up to its last value */
        for (size_t cut = 4; cut + 3 < sizeof ROW; cut++) {
            char *copy = strdup(texts[i]);
            copy[strlen(texts[i]) - cut] = '\0';
            table_case *with = read_as("some.log", copy, any);
            if (with->status != ST_ERR_SYNTAX)
                fail_msg("read although it ends in '%s'", copy + strlen(copy) - 30);
            assert_contains(said(with->errors), "some.log:12: error: the log ends inside a row");
            end(with);
            free(copy);
        }
    }
}

TEST(logs_may_end_without_a_line_break)
{
    static const char *const good[] = {"# Avg bus bandwidth    : 21.9",
                                       "# Out of bounds values : 0",
                                       "#\n# Collective test concluded: all_reduce_perf",
                                       "# Avg bus bandwidth : 21.9\njob 2385 ended with code 7"};
    for (size_t i = 0; i < COUNT(good); i++) {
        char text[2000];
        (void)snprintf(text, sizeof text, "%s%s", START ROW, good[i]);
        table_case *with = read_good(text);
        assert_int_equal(with->tables[0].row_count, 1);
        end(with);
    }
}

/* A job that was killed between two sizes. */
TEST(a_run_that_did_not_end_is_warned_about)
{
    table_case *with = read_good(START ROW "slurmstepd: error: STEP 7.0 CANCELLED\n");
    assert_int_equal(with->tables[0].row_count, 1);
    assert_contains(said(with->errors), "some.log:12: warning: the log continues without the final "
                                        "lines of nccl-tests; sizes may be missing");
    end(with);
    with = read_good(START ROW "# Avg bus bandwidth    : 21.9\nsrun: done\n");
    assert_int_equal(st_errors_size(with->errors), 0);
    end(with);
    with = read_good(START ROW "\n"); /* a table that somebody has copied */
    assert_int_equal(st_errors_size(with->errors), 0);
    end(with);
}

TEST(a_run_with_wrong_results_is_warned_about)
{
    table_case *with = read_good(START ROW "# Out of bounds values : 7 FAILED\n");
    assert_contains(said(with->errors), "some.log:12: warning: nccl-tests found wrong results");
    end(with);
    with = read_good(START ROW END);
    assert_int_equal(st_errors_size(with->errors), 0);
    end(with);
}

TEST(impossible_rows_are_refused)
{
    expect_refused(START "  1024  256  float  sum  -1  0.00  0.06  0.08  0  18.31  0.06  0.08  0\n",
                   any, "some.log:11: error: invalid time out of place: found 0 us");
    expect_refused(START "  1024  256  float  sum  -1  18.25  0.06  0.08  0  0.00  0.06  0.08  0\n",
                   any, "invalid time in place");
    expect_refused(START "  4611686018427387904  256  float  sum  -1  18.25  0.06  0.08  0  18.31  "
                         "0.06  0.08  0\n",
                   any,
                   "some.log:11: error: the size exceeds the memory of any machine: found "
                   "4.611686018427388e18 B, expected at most 2^50 B");
}

TEST(impossible_machines_are_refused)
{
    st_nccl_request uneven = {.ranks = 16, .nodes = 3, .buffers = ST_NCCL_ANY};
    expect_refused(
        START ROW, uneven,
        "the number of ranks is not a multiple of the number of nodes: found 16 ranks on 3 "
        "nodes");
    expect_refused("all_reduce_perf\n" HEADING("") ROW, any, "give --ranks and --nodes");
    expect_refused("all_reduce_perf\n# Using devices\n"
                   "#  Rank  0 Group  0 Pid  1 on a device  0 [0x07] A100\n" HEADING("") ROW,
                   any, "a table of one rank");
    expect_refused("all_reduce_perf\n# Using devices\n"
                   "#  Rank  0 Group  0 Pid  1 on a device  0 [0x07] A100\n"
                   "#  Rank  3 Group  0 Pid  1 on a device  1 [0x07] A100\n" HEADING("") ROW,
                   any, "the list of devices is broken: found 2 of ranks 0 to 3");
    expect_refused("all_reduce_perf\n# Using devices\n"
                   "#  Rank  0 Group  0 Pid  1 on a device  0 [0x07] A100\n"
                   "#  Rank  1 Group  0 Pid  1 on a device  1 [0x07] A100\n"
                   "#  Rank  2 Group  0 Pid  1 on b device  0 [0x07] A100\n" HEADING("") ROW,
                   any, "nodes have different numbers of ranks: found 2 on a and 1 on b");
}

/* ---- CSV ---- */

#define CSV_START                                                                                  \
    "# gpus: H100\n# nodes: 2\n# ranks: 16\n# nccl: 2.23.4\n# interconnect: 8x400 Gbit/s\n"        \
    "# collective: all_gather_perf\n"
#define CSV_HEADING "size_bytes,count,type,redop,time_us,algbw_GBps,busbw_GBps\n"

TEST(csv_is_read)
{
    table_case *with = read_good(CSV_START CSV_HEADING "0,0,float,none,12.1,0.00,0.00\n"
                                                       "1048576,1,float,none,58.35,17.97,16.85\n");
    const st_nccl_table *table = &with->tables[0];
    assert_string_equal(table->collective, "all_gather");
    assert_int_equal(table->ranks, 16);
    assert_int_equal(table->nodes, 2);
    assert_string_equal(table->version, "2.23.4");
    assert_string_equal(table->fabric, "8x400 Gbit/s");
    assert_int_equal(table->row_count, 1);
    assert_int_equal(table->left_out, 1);
    expect_row(&table->rows[0], 1048576, 58.35, NOT_A_NUMBER);
    assert_int_equal(table->rows[0].line, 9);
    end(with);
}

/* Where the heading tells of the network is known; a version that is none is warned about. */
TEST(csv_headings_have_places)
{
    table_case *with = read_as("some.csv",
                               "# collective: all_gather_perf\n# gpus: H100\n# nodes: 2\n"
                               "# ranks: 16\n# nccl: 2.23x\n# interconnect: 8x400 Gbit/s\n"
                               "size_bytes,time_us\n1048576,58.35\n",
                               any);
    assert_int_equal(with->status, ST_OK);
    assert_int_equal(with->tables[0].fabric_at.line, 6);
    assert_int_equal(with->tables[0].fabric_at.column, 17);
    assert_non_null(
        strstr(said(with->errors),
               ":5: warning: invalid version of NCCL '2.23x', expected one such as 2.27.3"));
    end(with);
}

TEST(csv_of_results_in_place)
{
    table_case *with = read_good(CSV_START "# placement: in-place\n" CSV_HEADING
                                           "1048576,1,float,none,58.35,17.97,16.85\n");
    assert_int_equal(with->tables[0].buffers, ST_NCCL_IN_PLACE);
    assert_same_double(with->tables[0].rows[0].time_s[1], 58.35e-6);
    end(with);
    with = read_good(CSV_START "size,time,in_place_time_us\n1048576,58.35,58.11\n");
    expect_row(&with->tables[0].rows[0], 1048576, 58.35, 58.11);
    end(with);
}

TEST(csv_may_name_its_columns_anywhere)
{
    static const char *const good[] = {
        "op,size_bytes,time_us\nx,1048576,58.35\n", "\"time_us\",\"size\"\r\n58.35,1048576\r\n",
        "\xEF\xBB\xBF# ranks: 16\nsize_bytes,time_us\n1048576,58.35\n"};
    const st_nccl_request all = {
        .collective = "all_gather", .ranks = 16, .nodes = 2, .buffers = ST_NCCL_ANY};
    for (size_t i = 0; i < COUNT(good); i++) {
        table_case *with = read_as("some.csv", good[i], all);
        if (with->status != ST_OK)
            fail_msg("%s", said(with->errors));
        expect_row(&with->tables[0].rows[0], 1048576, 58.35, NOT_A_NUMBER);
        assert_int_equal(st_errors_size(with->errors), 0);
        end(with);
    }
}

TEST(csv_of_several_clusters_is_several_tables)
{
    table_case *with = read_good("collective,ranks,nodes,size_bytes,time_us\n"
                                 "all_gather,16,2,1048576,58.35\nall_gather,16,2,2097152,88.35\n"
                                 "all_gather,32,4,1048576,97.25\n");
    assert_int_equal(with->count, 2);
    assert_int_equal(with->tables[0].row_count, 2);
    assert_int_equal(with->tables[1].ranks, 32);
    assert_int_equal(with->tables[1].nodes, 4);
    assert_int_equal(with->tables[1].line, 4);
    expect_row(&with->tables[1].rows[0], 1048576, 97.25, NOT_A_NUMBER);
    end(with);
    expect_refused("collective,ranks,nodes,size,time\nall_gather,16,2,1024,18.25\n"
                   "broadcast,16,2,1024,17.25\n",
                   any, "some.log:3: error: a table of broadcast after one of all_gather (line 1)");
    expect_refused("collective,ranks,nodes,size,time\nall_gather,16,2,1024,18.25\n"
                   "all_gather,none,2,1024,17.25\n",
                   any, "some.log:3: error: invalid number of ranks: found 'none'");
}

TEST(csv_that_may_be_cut_is_warned_about)
{
    table_case *with = read_good(CSV_START "size_bytes,time_us\n1024,18.25\n1048576,58.3");
    assert_contains(said(with->errors), "some.log:9: warning: the file ends without a line break");
    end(with);
    with = read_good(CSV_START CSV_HEADING "1048576,1,float,none,58.35,17.97,16.85");
    assert_int_equal(st_errors_size(with->errors), 0);
    end(with);
}

TEST(bad_csv_is_refused)
{
    expect_refused(CSV_START CSV_HEADING "1048576,1,float,none,58.", any, "some.log:8:");
    expect_refused(CSV_START CSV_HEADING "1048576,1,float,none,fast,17.97,16.85\n", any,
                   "some.log:8:22: error: column time_us: found 'fast', expected a number");
    expect_refused(
        CSV_START CSV_HEADING "1.5,1,float,none,58.35,17.97,16.85\n", any,
        "some.log:8:1: error: column size_bytes: found '1.5', expected a whole number of bytes");
    expect_refused(CSV_START "size_bytes,count\n8,2\n", any,
                   "some.log:7:1: error: no column 'time_us'");
    expect_refused("# ranks: many\n# nodes: 0\n" CSV_HEADING, any,
                   "some.log:1: error: invalid number of ranks: found 'many'");
    expect_refused("# collective: all_nothing\n" CSV_HEADING, any, "unknown collective");
}

/* ---- JSON ---- */

#define JSON_START                                                                                 \
    "{\"version\": 2, \"args\": [\"/opt/build/all_reduce_perf\", \"-J\", \"x\"],\n"                \
    "\"env\": [\"A=b\"], \"nccl_version\": 22809,\n"                                               \
    "\"config\": {\"ngpus\": 1, \"devices\": [\n"                                                  \
    "{\"rank\": 0, \"group\": 0, \"hostname\": \"a\", \"device_info\": \"NVIDIA B200\"},\n"        \
    "{\"rank\": 1, \"group\": 0, \"hostname\": \"b\", \"device_info\": \"NVIDIA B200\"}]},\n"

TEST(json_is_read)
{
    if (!st_json_available())
        skip();
    table_case *with = read_good(
        JSON_START "\"results\": [\n"
                   "{\"size\": 1048576, \"count\": 262144, \"type\": \"float\", \"root\": \"-1\",\n"
                   "\"out_of_place\": {\"time\": 58.351234, \"alg_bw\": 17.97, \"nwrong\": 0.0},\n"
                   "\"in_place\": {\"time\": 58.113211, \"alg_bw\": 18.04, \"nwrong\": null}},\n"
                   "{\"size\": 2097152, \"out_of_place\": null,\n"
                   "\"in_place\": {\"cpu_time\": 88.113211}}]}\n");
    const st_nccl_table *table = &with->tables[0];
    assert_string_equal(table->collective, "all_reduce");
    assert_string_equal(table->version, "2.28.9");
    assert_int_equal(table->ranks, 2);
    assert_int_equal(table->nodes, 2);
    assert_string_equal(table->gpu, "NVIDIA B200");
    assert_int_equal(table->row_count, 1);
    assert_int_equal(table->left_out, 1); /* has no time out of place */
    expect_row(&table->rows[0], 1048576, 58.351234, 58.113211);
    end(with);
}

/* Codes of NCCL have one digit for the minor version up to 2.8, and two from 2.9 on. */
TEST(codes_of_versions_are_read)
{
    static const char *const codes[][2] = {
        {"2406", "2.4.6"},      {"2804", "2.8.4"},   {"9999", "9.9.99"},
        {"1000", "1.0.0"},      {"999", ""},         {"20908", "2.9.8"},
        {"21005", "2.10.5"},    {"22809", "2.28.9"}, {"10000", "1.0.0"},
        {"999999", "99.99.99"}, {"1000000", ""},     {"22809.5", ""},
        {"\"22809\"", ""},      {"null", ""}};
    (void)state;
    if (!st_json_available())
        skip();
    for (size_t i = 0; i < COUNT(codes); i++) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "{\"args\": [\"all_reduce_perf\"], \"nccl_version\": %s,\n"
                       "\"results\": [{\"size\": 1048576, \"out_of_place\": {\"time\": 58.35}}]}",
                       codes[i][0]);
        table_case *with = read_as(
            "some.json", text, (st_nccl_request){.ranks = 8, .nodes = 1, .buffers = ST_NCCL_ANY});
        if (with->status != ST_OK)
            fail_msg("%s: %s", codes[i][0], said(with->errors));
        assert_string_equal(with->tables[0].version, codes[i][1]);
        end(with);
    }
}

TEST(json_that_names_no_hosts_asks_for_nodes)
{
    static const char text[] =
        "\xEF\xBB\xBF{\"args\": [\"all_reduce_perf\"], \"config\": {\"devices\": [\n"
        "{\"rank\": 0, \"device_info\": \"NVIDIA B200\"},\n"
        "{\"rank\": 1, \"device_info\": \"NVIDIA B200\"}]},\n"
        "\"results\": [{\"size\": 1048576, \"out_of_place\": {\"time\": 58.35}}],\n"
        "\"out_of_bounds\": {\"count\": 7, \"okay\": false}}\n";
    if (!st_json_available())
        skip();
    expect_refused(text, any, "the number of ranks and nodes; give --ranks and --nodes");
    table_case *with = read_as("some.json", text,
                               (st_nccl_request){.ranks = 2, .nodes = 2, .buffers = ST_NCCL_ANY});
    assert_int_equal(with->status, ST_OK);
    assert_string_equal(with->tables[0].gpu, "NVIDIA B200");
    assert_contains(said(with->errors), "some.json:5: warning: nccl-tests found wrong results");
    end(with);
}

TEST(bad_json_is_refused)
{
    if (!st_json_available())
        skip();
    expect_refused(JSON_START "\"results\": [{\"size\": 1048576, \"out_of_pl", any, "some.log:");
    expect_refused(JSON_START "\"results\": [{\"count\": 1}]}", any, "a result without a size");
    expect_refused(JSON_START "\"results\": [{\"size\": -0.25}]}", any, "a result without a size");
    expect_refused("{\"results\": 3}", any, "no table of nccl-tests");
    expect_refused("{\"config\": {\"devices\": [{\"rank\": -1}]}, \"results\": []}", any,
                   "a device without a rank");
}

/* ---- names ---- */

TEST(collectives_have_several_names)
{
    static const char *const good[][2] = {{"all_reduce_perf", "all_reduce"},
                                          {"AllReduce", "all_reduce"},
                                          {"bcast", "broadcast"},
                                          {"alltoall_perf", "all_to_all"},
                                          {"send-recv", "send_recv"}};
    static const char *const bad[] = {"", "_perf", "hypercube_perf", "allreduces",
                                      "a_very_long_name_that_is_not_a_collective_at_all"};
    for (size_t i = 0; i < COUNT(good); i++)
        assert_string_equal(st_nccl_collective(good[i][0], strlen(good[i][0])), good[i][1]);
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_null(st_nccl_collective(bad[i], strlen(bad[i])));
}

TESTS(nccl_table);
