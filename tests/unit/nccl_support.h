/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of tables of measured collectives share: pieces of logs, and reading one. */
#ifndef STEPTIME_TESTS_NCCL_SUPPORT_H
#define STEPTIME_TESTS_NCCL_SUPPORT_H

#include "base_support.h"

#include "nccl-whitebox/fit/nccl_table.h"

#define DEVICES(prefix)                                                                            \
    prefix                                                                                         \
        "# nccl-tests version 2.13.9 nccl-headers=22203 nccl-library=22203\n" prefix               \
        "# Using devices\n" prefix                                                                 \
        "#  Rank  0 Group  0 Pid  91711 on node-a device  0 [0x07] NVIDIA H100 80GB HBM3\n" prefix \
        "#  Rank  1 Group  0 Pid  91712 on node-a device  1 [0x0b] NVIDIA H100 80GB HBM3\n" prefix \
        "#  Rank  2 Group  0 Pid  71711 on node-b device  0 [0x07] NVIDIA H100 80GB HBM3\n" prefix \
        "#  Rank  3 Group  0 Pid  71712 on node-b device  1 [0x0b] NVIDIA H100 80GB HBM3\n"
#define HEADING(prefix)                                                                            \
    prefix "#                                                     out-of-place      "              \
           "in-place\n" prefix                                                                     \
           "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw "     \
           "#wrong\n" prefix "#   (B)  (elements)  (us)  (GB/s)  (GB/s)  (us)  (GB/s)  (GB/s)\n"
#define START "$ ./build/all_reduce_perf -b 8 -e 4M -f 2\n" DEVICES("") HEADING("")
#define ROW_OF(busbw, busbw_in)                                                                    \
    "  1048576   262144  float  sum  -1  58.35  17.97  " busbw "  0  58.11  18.04  " busbw_in      \
    "  0\n"
#define ROW ROW_OF("26.96", "27.07") /* of all_reduce on 4 ranks */
#define END "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 21.9\n"

typedef struct table_case {
    st_arena *arena;
    st_errors *errors;
    st_nccl_request request;
    st_nccl_table *tables;
    size_t count;
    st_status status;
} table_case;

static table_case *read_as(const char *file, const char *text, st_nccl_request request)
{
    table_case *with = calloc(1, sizeof *with);
    assert_non_null(with);
    with->arena = st_arena_create();
    with->errors = st_errors_create();
    with->request = request;
    st_nccl_input input = {file, text, strlen(text)};
    with->status = st_nccl_read(&with->request, &input, with->arena, &with->tables, &with->count,
                                with->errors);
    return with;
}

static void end(table_case *with)
{
    st_errors_destroy(with->errors);
    st_arena_destroy(with->arena);
    free(with);
}

static void expect_row(const st_nccl_row *row, double size, double out_us, double in_us)
{
    assert_same_double(row->size_bytes, size);
    assert_same_double(row->time_s[0], out_us * 1e-6);
    assert_same_double(row->time_s[1], in_us * 1e-6);
}

#endif
