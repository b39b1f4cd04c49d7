/* SPDX-License-Identifier: Apache-2.0 */
/* Measured collectives as others than nccl-tests print them, and the two halves of a run. */
#include "nccl_support.h"

static void expect_refused(const char *text, st_nccl_request request, const char *words)
{
    table_case *with = read_as("some.log", text, request);
    const char *all = said(with->errors);
    if (with->status == ST_OK || strstr(all, words) == NULL)
        fail_msg("status %d, expected '%s':\n%s", with->status, words, all);
    assert_null(with->tables);
    end(with);
}

/* ---- tables of other programs ---- */

static const st_nccl_request eight = {
    .collective = "all_reduce", .ranks = 8, .nodes = 1, .buffers = ST_NCCL_ANY};

static table_case *read_eight(const char *text)
{
    table_case *with = read_as("some.txt", text, eight);
    if (with->status != ST_OK)
        fail_msg("%s", said(with->errors));
    return with;
}

TEST(look_up_tables_are_read)
{
    table_case *with = read_eight("size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)\n"
                                  "1048576,262144,float,92790,19.78,92150,19.91\n"
                                  "2097152,524288,float,93250,39.36,92970,39.47\n");
    assert_int_equal(with->tables[0].row_count, 2);
    assert_same_double(with->tables[0].rows[0].time_s[0], 92790 * 1e-9);
    assert_same_double(with->tables[0].rows[1].time_s[1], 92970 * 1e-9);
    end(with);
    with = read_eight("   size(B)  count(elems)  type  time(us)  algbw(GB/s)\n"
                      "33554432  33554432  uint8  768.25  43.67\n"
                      "Avg bus bandwidth: 40.69\n");
    assert_int_equal(with->tables[0].row_count, 1);
    expect_row(&with->tables[0].rows[0], 33554432, 768.25, (double)NAN);
    end(with);
}

/* Of a folder of tables that say nothing of themselves, as look-up tables do. */
TEST(paths_say_what_tables_do_not)
{
    static const char table[] = "size(B),count,type,time(ns),busbw(GB/s)\n"
                                "1048576,262144,float,51400,30.60\n";
    const st_nccl_request any = {.buffers = ST_NCCL_ANY};
    static const struct {
        const char *file;
        const char *collective; /* NULL: refused */
        size_t ranks;
    } cases[] = {
        {"some/allreduce_luts/a100_4g.txt", "all_reduce", 4},
        {"all_gather/h100-8gpus.csv", "all_gather", 8},
        {"all_gather/reduce_scatter_2ranks.txt", "reduce_scatter", 2},
        {"all_gather/1gpu_8gpus.txt", NULL, 0}, /* of one there is no collective */
        {"all_gather/0gpus-8gpus.csv", "all_gather", 8},
        {"all_gather/4gpu5-8GPU.csv", "all_gather", 8},
        {"luts/a100_4g.txt", NULL, 0},
        {"allreduce_luts/a100_16g.txt", NULL, 0},
        {"allreduce_luts/a100_2n8g.txt", NULL, 0},
        {"allreduce_luts/4g4.txt", NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        table_case *with = read_as(cases[i].file, table, any);
        assert_int_equal(with->status == ST_OK, cases[i].collective != NULL);
        if (with->status == ST_OK) {
            assert_string_equal(with->tables[0].collective, cases[i].collective);
            assert_int_equal(with->tables[0].ranks, cases[i].ranks);
            assert_int_equal(with->tables[0].nodes, 1);
            assert_non_null(strstr(said(with->errors), "from the file's name; override"));
        }
        end(with);
    }
}

TEST(osu_counts_parts_of_a_message)
{
    const st_nccl_request ranks = {.ranks = 8, .nodes = 2, .buffers = ST_NCCL_ANY};
    table_case *with = read_as("x.txt",
                               "\n# OSU MPI-CUDA Allgather Latency Test v7.0\n"
                               "# Datatype: MPI_CHAR.\n"
                               "# Size       Avg Latency(us)   Min Latency(us)\n"
                               "1048576             86.30         85.50\n",
                               ranks);
    assert_int_equal(with->status, ST_OK);
    assert_string_equal(with->tables[0].collective, "all_gather");
    expect_row(&with->tables[0].rows[0], 8 * 1048576.0, 86.30, (double)NAN);
    end(with);
    const st_nccl_request any = {.buffers = ST_NCCL_ANY};
    with = read_as("runs/a2a_8gpus.txt",
                   "# OSU MPI-CUDA Alltoall Latency Test v7.4\n"
                   "# Size       Avg Latency(us)\n65536             38.52\n",
                   any);
    assert_int_equal(with->status, ST_OK); /* its name says the ranks */
    expect_row(&with->tables[0].rows[0], 8 * 65536.0, 38.52, (double)NAN);
    end(with);
    with = read_as("x.txt",
                   "# OSU NCCL-CUDA Allreduce Latency Test v7.5\n"
                   "# Size       Avg Latency(us)\n1048576             86.30\n",
                   ranks);
    expect_row(&with->tables[0].rows[0], 1048576.0, 86.30, (double)NAN);
    end(with);
    with = read_as("x.txt",
                   "# OSU MPI-CUDA All-to-All Personalized Exchange Latency Test v5.9\n"
                   "# Size          Avg Latency(us)\n65536             38.52\n",
                   ranks);
    assert_string_equal(with->tables[0].collective, "all_to_all");
    expect_row(&with->tables[0].rows[0], 8 * 65536.0, 38.52, (double)NAN);
    end(with);
    expect_refused("# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n"
                   "268435456           11962.21\n",
                   ranks, "some.log:2: error: a bandwidth test, which has no time");
    expect_refused("# OSU MPI Ibarrier Latency Test v7.5\n# Size  Avg Latency(us)\n1 2.385\n",
                   ranks, "some.log:1: error: unknown collective");
}

TEST(mscclpp_prints_in_place_first)
{
    table_case *with = read_eight(
        "#  Rank  0 Pid   6899 on host-a device  0 [0x07] NVIDIA A100-SXM4-80GB\n"
        "# Initializing MSCCL++\n"
        "#                       in-place                       out-of-place\n"
        "#  size  count  time   algbw   busbw  #wrong  time   algbw   busbw  #wrong\n"
        "#   (B)    (elements)     (us)  (GB/s)  (GB/s)    (us)  (GB/s)  (GB/s)\n"
        "     1048576  262144    20.97   50.00   87.50      0\n"
        "     2097152  524288    41.94   50.00   87.50      0    43.69   48.00   84.00  0\n"
        "# Out of bounds values : 0 OK\n");
    assert_int_equal(with->tables[0].row_count, 1);
    assert_int_equal(with->tables[0].left_out, 1);
    assert_string_equal(with->tables[0].gpu, "NVIDIA A100-SXM4-80GB");
    expect_row(&with->tables[0].rows[0], 2097152, 43.69, 41.94);
    end(with);
    with = read_eight("#                       in-place                       out-of-place\n"
                      "#  size  count  time   algbw   busbw  #wrong  time   algbw   busbw  #wrong\n"
                      "     1048576  262144    20.97   50.00   87.50      0\n"
                      "     2097152  524288    41.94   50.00   87.50      0\n\n");
    assert_int_equal(with->tables[0].row_count, 2); /* only one of its times was measured */
    expect_row(&with->tables[0].rows[1], 2097152, (double)NAN, 41.94);
    end(with);
    with = read_eight("+-------------+-----------+----------------+\n"
                      "| Size (fp16) | Time (us) | NCCL Time (us) |\n"
                      "+-------------+-----------+----------------+\n"
                      "|   1.5 KiB   |    5.12   |     16.60      |\n"
                      "+-------------+-----------+----------------+\n");
    expect_row(&with->tables[0].rows[0], 1536, 5.12, (double)NAN);
    end(with);
}

TEST(rccl_says_its_version)
{
    table_case *with = read_eight(
        "RCCL version 2.18.6+hip6.1 HEAD:abc\n"
        "#  Rank  0 Pid 12 on host-a device  0 [0c:00.0] AMD Instinct MI300X\n" HEADING("")
            ROW_OF("31.45", "31.57") END);
    assert_string_equal(with->tables[0].version, "2.18.6");
    assert_string_equal(with->tables[0].gpu, "AMD Instinct MI300X");
    end(with);
}

TEST(rows_of_other_shapes_are_refused)
{
    expect_refused("size(B),time(ns)\n1048576,92790\n2097152,9x\n", eight,
                   "some.log:3: error: invalid row: found '2097152,9x'");
    expect_refused("size(B),time(ns)\n1048576,0\n", eight, "invalid time out of place");
}

/* ---- halves of a run ---- */

#define HALF(placement, nodes, time)                                                               \
    "# source: some/log.txt#L3\n# ranks: 8\n# nodes: " nodes                                       \
    "\n# collective: all_reduce_perf\n# placement: " placement                                     \
    "\nsize_bytes,time_us\n1048576," time "\n"

typedef struct halves {
    table_case *first;
    table_case *second;
    st_nccl_table *tables[2];
    size_t count;
} halves;

static halves read_halves(const char *file, const char *second_file, const char *second)
{
    const st_nccl_request later = {.buffers = ST_NCCL_ANY, .chooses_later = true};
    halves both = {.first = read_as(file, HALF("out-of-place", "1", "58.35"), later),
                   .second = read_as(second_file, second, later),
                   .count = 2};
    assert_int_equal(both.first->status, ST_OK);
    assert_int_equal(both.second->status, ST_OK);
    both.tables[0] = both.first->tables;
    both.tables[1] = both.second->tables;
    return both;
}

TEST(halves_of_a_run_are_one_table)
{
    static const char *const names[] = {"a.inplace.csv", "other.csv"};
    for (size_t i = 0; i < 2; i++) {
        halves both = read_halves("a.csv", names[i], HALF("in-place", "1", "57.11"));
        assert_int_equal(st_nccl_join_runs(both.tables, &both.count, both.first->errors), ST_OK);
        assert_int_equal(both.count, 1);
        assert_int_equal(st_nccl_choose(both.tables[0], ST_NCCL_IN_PLACE, both.first->errors),
                         ST_OK);
        expect_row(&both.tables[0]->rows[0], 1048576, 58.35, 57.11);
        end(both.first);
        end(both.second);
    }
}

TEST(halves_of_different_runs_are_refused)
{
    halves both = read_halves("a.csv", "a.inplace.csv", HALF("in-place", "2", "57.11"));
    assert_int_equal(st_nccl_join_runs(both.tables, &both.count, both.first->errors), ST_ERR_VALUE);
    const char *all = said(both.first->errors);
    assert_non_null(strstr(all, "a.inplace.csv:6: error: in-place times of another run"));
    assert_non_null(strstr(all, "the number of ranks or nodes differs"));
    end(both.first);
    end(both.second);
    both = read_halves("a.csv", "b.csv",
                       "# ranks: 8\n# nodes: 1\n# collective: all_reduce_perf\n"
                       "# placement: in-place\nsize_bytes,time_us\n1048576,57.11\n");
    assert_int_equal(st_nccl_join_runs(both.tables, &both.count, both.first->errors), ST_OK);
    assert_int_equal(both.count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(st_nccl_choose(both.tables[i], ST_NCCL_ANY, both.first->errors), ST_OK);
    assert_int_equal(st_nccl_check_runs((const st_nccl_table *const *)both.tables, both.count,
                                        both.first->errors),
                     ST_ERR_VALUE);
    end(both.first);
    end(both.second);
}

TESTS(nccl_named);
