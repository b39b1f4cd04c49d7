/* SPDX-License-Identifier: Apache-2.0 */
/* Databases as Nsight Systems exports them, of every version's columns, and faulty ones. */
#include "job_support.h"

#include "overlap-xgboost/fit/recorded.h"

#include <stdio.h>

#ifdef STEPTIME_HAVE_SQLITE

#include <sqlite3.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define SIZES        "gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT"
#define NAMES                                                                                      \
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"                                 \
    "INSERT INTO StringIds VALUES (31, 'sgemm<128>'), (47, 'ncclDevKernel_AllReduce_RING_LL()'),"  \
    "(59, 'gemm');"
#define KERNELS "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (\"start\" INT, \"end\" INT, "

/* Two processes, the first kernel in time written last. */
static const char whole[] =
    NAMES KERNELS "deviceId INT, streamId INT, globalPid INT, demangledName INT, shortName "
                  "INT, " SIZES ");"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
                  "(2385, 4770, 1, 13, 9700, 47, 59, 24, 2, 3, 512, 5, 7),"
                  "(5001, 5001, 1023, 17, 9700, 31, 59, 8, 1, 1, 128, 1, 1),"
                  "(5002, 6003, 1024, 17, 9700, 31, 59, 0, -4, 2147483648, 2147483647, 1, 1),"
                  "(5003, 6004, -1, 17, 9700, 31, 59, 8, 1, 1, 128, 1, 1),"
                  "(5004, 6005, 0, 17, 9700, 31, 59, 8, 1, 1, 128, 1, 1),"
                  "(1200, 1900, 2, 11, 8300, 31, 59, 9, 1, 1, 64, 1, 1);"
                  "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);"
                  "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3'), (1, 'other');";

static st_status read_made(fixture *own, const char *sql, st_recorded *recorded)
{
    sqlite3 *database = NULL;
    const char *file = below(own, "run.sqlite");
    (void)remove(file);
    assert_int_equal(sqlite3_open(file, &database), SQLITE_OK);
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(database));
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    return st_recorded_read(file, own->arena, recorded, own->errors);
}

static void read_well(fixture *own, const char *sql, st_recorded *recorded)
{
    if (read_made(own, sql, recorded) != ST_OK)
        fail_msg("%s", said(own));
}

TEST_WITH(kernels_are_read_by_start, set_up, tear_down)
{
    st_recorded recorded;
    read_well(*state, whole, &recorded);
    assert_string_equal(recorded.gpu, "NVIDIA H100 80GB HBM3");
    assert_int_equal(recorded.count, 6);
    const st_recorded_kernel *first = &recorded.kernels[0];
    assert_string_equal(first->name, "sgemm<128>");
    assert_int_equal(first->start_ns, 1200);
    assert_int_equal(first->end_ns, 1900);
    assert_int_equal(first->stream, 11);
    assert_int_equal(first->grid[0], 9);
    assert_int_equal(first->block[0], 64);
    assert_null(first->collective);
    const st_recorded_kernel *second = &recorded.kernels[1];
    assert_int_equal(second->stream, 13);
    static const int64_t grid[] = {24, 2, 3};
    static const int64_t block[] = {512, 5, 7};
    assert_memory_equal(second->grid, grid, sizeof grid);
    assert_memory_equal(second->block, block, sizeof block);
    assert_non_null(second->collective);
    assert_string_equal(second->collective->collective, "all_reduce");
    assert_string_equal(second->collective->protocol, "LL");
    assert_int_equal(second->collective->channels, 24); /* of its grid */
}

/* Processes 8300 and 9700 have 1024 places each; what is no place of a device stays as it is. */
TEST_WITH(devices_are_told_by_process, set_up, tear_down)
{
    static const int64_t devices[] = {2, 1024 + 1, 1024 + 1023, 1024, -1, 1024};
    st_recorded recorded;
    read_well(*state, whole, &recorded);
    for (size_t i = 0; i < COUNT(devices); i++)
        assert_int_equal(recorded.kernels[i].device, devices[i]);
}

TEST_WITH(one_process_has_its_own_devices, set_up, tear_down)
{
    st_recorded recorded;
    read_well(*state,
              NAMES KERNELS "deviceId INT, streamId INT, globalPid INT, demangledName INT);"
                            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
                            "(17, 29, 3, 7, 9700, 31), (31, 43, 5, 7, 9700, 31);",
              &recorded);
    assert_int_equal(recorded.count, 2);
    assert_int_equal(recorded.kernels[0].device, 3);
    assert_int_equal(recorded.kernels[1].device, 5);
}

TEST_WITH(sizes_that_are_none_are_not_known, set_up, tear_down)
{
    st_recorded recorded;
    read_well(*state, whole, &recorded);
    const st_recorded_kernel *kernel = &recorded.kernels[3];
    assert_int_equal(kernel->start_ns, 5002);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(kernel->grid[i], 0);
    assert_int_equal(kernel->block[0], 2147483647);
    assert_int_equal(recorded.kernels[4].grid[1], 1);
}

/* Without sizes, processes and GPU; short names count where there are no others. */
TEST_WITH(columns_that_are_absent_are_not_known, set_up, tear_down)
{
    st_recorded recorded;
    read_well(*state,
              NAMES KERNELS "deviceId INT, streamId INT, shortName INT, blockY INT, gridZ INT);"
                            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
                            "(17, 17, 3, 7, 59, 11, 13), (0, 43, 2047, 7, 47, 11, 0);",
              &recorded);
    assert_string_equal(recorded.gpu, "");
    assert_int_equal(recorded.count, 2);
    const st_recorded_kernel *first = &recorded.kernels[0];
    assert_int_equal(first->device, 2047);
    assert_int_equal(first->collective->channels, 0);
    static const int64_t grid[] = {0, 0, 13};
    static const int64_t block[] = {0, 11, 0};
    const st_recorded_kernel *second = &recorded.kernels[1];
    assert_string_equal(second->name, "gemm");
    assert_memory_equal(second->grid, grid, sizeof grid);
    assert_memory_equal(second->block, block, sizeof block);
}

TEST_WITH(a_gpu_without_a_name_is_none, set_up, tear_down)
{
    st_recorded recorded;
    read_well(*state,
              NAMES KERNELS "deviceId INT, streamId INT, shortName INT);"
                            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (17, 29, 3, 7, 59);"
                            "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);"
                            "INSERT INTO TARGET_INFO_GPU VALUES (0, NULL);",
              &recorded);
    assert_string_equal(recorded.gpu, "");
}

TEST_WITH(faulty_databases_are_refused, set_up, tear_down)
{
    static const struct {
        const char *sql;
        const char *words;
    } cases[] = {
        {NAMES, "the database has no table 'CUPTI_ACTIVITY_KIND_KERNEL'"},
        {KERNELS "deviceId INT, streamId INT, shortName INT);",
         "the database has no table 'StringIds'"},
        {NAMES KERNELS "deviceId INT, shortName INT);", "has no column 'streamId'"},
        {NAMES KERNELS "streamId INT, shortName INT);", "has no column 'deviceId'"},
        {NAMES KERNELS "deviceId INT, streamId INT);", "has no names of kernels"},
        {NAMES KERNELS "deviceId INT, streamId INT, shortName INT);",
         "the recording has no kernels"},
        {NAMES KERNELS "deviceId INT, streamId INT, shortName INT);"
                       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (17, 29, 0, 7, 60);",
         "a kernel has no name in the table StringIds"},
        {NAMES KERNELS "deviceId INT, streamId INT, shortName INT);"
                       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (17, 16, 0, 7, 59);",
         "a kernel ends before it starts"},
        {NAMES KERNELS "deviceId INT, streamId INT, shortName INT);"
                       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (-1, 16, 0, 7, 59);",
         "a kernel ends before it starts"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_recorded recorded;
        st_status status = read_made(own, cases[i].sql, &recorded);
        const char *messages = said(own);
        if (status != ST_ERR_VALUE || strstr(messages, cases[i].words) == NULL)
            fail_msg("case %zu: %d, '%s'", i, (int)status, messages);
    }
}

/* 256 processes are as many as there may be. */
TEST_OF(processes_are_bounded, fixture *own, set_up, tear_down)
{
    for (int processes = 256; processes <= 257; processes++) {
        st_recorded recorded;
        const char *sql = st_arena_printf(
            own->arena,
            "%s%sdeviceId INT, streamId INT, globalPid INT, shortName INT);"
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 17 + i, 999, 3, 7, 500 - i, 59 FROM n;",
            NAMES, KERNELS, processes - 1);
        st_status status = read_made(own, sql, &recorded);
        assert_int_equal(status, processes == 256 ? ST_OK : ST_ERR_VALUE);
        if (status == ST_OK) /* the first is of the last process */
            assert_int_equal(recorded.kernels[0].device, 255 * 1024 + 3);
        else
            assert_non_null(strstr(said(own), "of too many processes"));
    }
}

TESTS(nsys);

#else

TEST_GROUP(nsys)
{
    puts("SKIPPED: this build has no SQLite");
    return 77;
}

#endif
