/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of recorded programs: written, read back, cut anywhere, and what is refused. */
#include "base_support.h"

#include "record/log.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANY = 40000 }; /* more records than two windows of the writer hold */

typedef struct fixture {
    char folder[64];
    char path[128];
    st_arena *arena;
    st_errors *errors;
} fixture;

static int make_fixture(void **state)
{
    fixture *own = calloc(1, sizeof *own);
    if (own == NULL)
        return -1;
    (void)snprintf(own->folder, sizeof own->folder, "/tmp/steptime-log-XXXXXX");
    if (mkdtemp(own->folder) == NULL)
        return -1;
    (void)snprintf(own->path, sizeof own->path, "%s/7-9.steplog", own->folder);
    own->arena = st_arena_create();
    own->errors = st_errors_create();
    *state = own;
    return own->arena == NULL || own->errors == NULL ? -1 : 0;
}

static int drop_fixture(void **state)
{
    fixture *own = *state;
    char tail[sizeof own->path + sizeof ST_LOG_TAIL];
    (void)snprintf(tail, sizeof tail, "%s" ST_LOG_TAIL, own->path);
    (void)unlink(own->path);
    (void)unlink(tail);
    (void)rmdir(own->folder);
    st_arena_destroy(own->arena);
    st_errors_destroy(own->errors);
    free(own);
    return 0;
}

static const st_log_header header = {
    .rank = 17, .world = 64, .pid = 7, .tid = 9, .device = "h100-sxm", .device_bytes = 85899345920};

static void write_launch(st_log_writer *writer, uint32_t number)
{
    st_log_record *record = st_log_next(writer);
    assert_non_null(record);
    record->call = 2;
    record->begin_ns = 1000 + number * UINT64_C(238);
    record->length_ns = 61;
    record->launch.kernel = 3;
    record->launch.grid[0] = number;
    st_log_commit(record, ST_LOG_LAUNCH);
}

static void write_log(fixture *own, uint32_t launches, bool end)
{
    st_log_writer *writer = st_log_create(own->path, &header);
    assert_non_null(writer);
    assert_true(st_log_define(writer, 2, "cudaLaunchKernel"));
    assert_true(st_log_define(writer, 3,
                              "_Z23softmax_forward_kernel5P13__nv_bfloat16fPKS_ii, which is long"));
    for (uint32_t i = 0; i < launches; i++)
        write_launch(writer, i);
    assert_int_equal(st_log_written(writer), launches + 4);
    if (end) {
        st_log_record *record = st_log_next(writer);
        assert_non_null(record);
        record->end.records = launches + 4;
        st_log_commit(record, ST_LOG_END);
    }
    st_log_close(writer);
}

/* How many launches are read, each of which must be the next. */
static uint32_t read_launches(fixture *own, bool *whole)
{
    st_log *log = NULL;
    st_log_record record;
    uint32_t launches = 0;
    bool more = true;
    if (st_log_open(own->path, &log, own->errors) != ST_OK)
        fail_msg("%s", said(own->errors));
    assert_int_equal(st_log_header_of(log)->rank, 17);
    assert_string_equal(st_log_header_of(log)->device, "h100-sxm");
    while (st_log_read(log, &record, &more, own->errors) == ST_OK && more)
        if (record.kind == ST_LOG_LAUNCH) {
            assert_int_equal(record.launch.grid[0], launches);
            assert_int_equal(record.begin_ns, 1000 + launches * UINT64_C(238));
            assert_string_equal(st_log_text(log, record.call), "cudaLaunchKernel");
            assert_string_equal(
                st_log_text(log, record.launch.kernel),
                "_Z23softmax_forward_kernel5P13__nv_bfloat16fPKS_ii, which is long");
            launches++;
        }
    *whole = st_log_is_whole(log);
    assert_string_equal(st_log_text(log, 99), "");
    st_log_destroy(log);
    assert_int_equal(st_errors_size(own->errors), 0);
    return launches;
}

TEST_WITH(test_round_trip, make_fixture, drop_fixture)
{
    bool whole = false;
    write_log(*state, MANY, true);
    assert_int_equal(read_launches(*state, &whole), MANY);
    assert_true(whole);
}

TEST_OF(test_cut_anywhere, fixture *own, make_fixture, drop_fixture)
{
    bool whole = true;
    const long strings = (long)(sizeof(st_log_header) + 4 * sizeof(st_log_record));
    write_log(own, 5, true);
    for (long end = strings + 5L * 64 + 63; end >= strings; end--) {
        assert_int_equal(truncate(own->path, end), 0);
        assert_int_equal(read_launches(own, &whole), (end - strings) / 64);
        assert_false(whole);
    }
}

TEST_OF(test_not_closed, fixture *own, make_fixture, drop_fixture)
{
    bool whole = true;
    st_log_writer *writer = st_log_create(own->path, &header);
    assert_non_null(writer);
    assert_true(st_log_define(writer, 2, "cudaLaunchKernel"));
    assert_true(st_log_define(writer, 3,
                              "_Z23softmax_forward_kernel5P13__nv_bfloat16fPKS_ii, which is long"));
    write_launch(writer, 0);
    write_launch(writer, 1);
    assert_int_equal(read_launches(own, &whole), 2); /* as after abort(): the file ends in zeros */
    assert_false(whole);
    assert_null(st_log_create(own->path, &header)); /* it is there already */
    st_log_abandon(writer);
    assert_int_equal(read_launches(own, &whole), 2);
}

/* Windows take turns: a program may die before, at and behind the end of each. */
TEST_OF(test_not_closed_at_windows, fixture *own, make_fixture, drop_fixture)
{
    enum { STRINGS = 4, WINDOWS = 3, NEAR = 2 };
    bool whole = true;
    uint32_t written = 0;
    st_log_writer *writer = st_log_create(own->path, &header);
    assert_non_null(writer);
    assert_true(st_log_define(writer, 2, "cudaLaunchKernel"));
    assert_true(st_log_define(writer, 3,
                              "_Z23softmax_forward_kernel5P13__nv_bfloat16fPKS_ii, which is long"));
    for (uint32_t window = 1; window <= WINDOWS; window++) {
        const uint32_t end = window * ST_LOG_WINDOW_RECORDS - STRINGS;
        for (uint32_t at = end - NEAR; at <= end + NEAR; at++) {
            while (written < at)
                write_launch(writer, written++);
            assert_int_equal(read_launches(own, &whole), at);
            assert_false(whole);
        }
    }
    st_log_close(writer);
    assert_int_equal(read_launches(own, &whole), written);
}

/* As after a full disk: of the window that was being written only a part is there. */
TEST_OF(test_window_half_written, fixture *own, make_fixture, drop_fixture)
{
    enum { LAUNCHES = 3 * ST_LOG_WINDOW_RECORDS / 2 };
    bool whole = true;
    st_log_writer *writer = st_log_create(own->path, &header);
    assert_non_null(writer);
    assert_true(st_log_define(writer, 2, "cudaLaunchKernel"));
    assert_true(st_log_define(writer, 3,
                              "_Z23softmax_forward_kernel5P13__nv_bfloat16fPKS_ii, which is long"));
    for (uint32_t i = 0; i < LAUNCHES; i++)
        write_launch(writer, i);
    st_log_abandon(writer);
    const long full = (long)(sizeof header + ST_LOG_WINDOW_RECORDS * sizeof(st_log_record));
    for (long more = 0; more < 130; more += 13) {
        assert_int_equal(truncate(own->path, full + more), 0);
        assert_int_equal(read_launches(own, &whole), LAUNCHES);
    }
}

static void overwrite(fixture *own, long at, const void *bytes, size_t length)
{
    FILE *file = fopen(own->path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static const char *refused(fixture *own)
{
    st_log *log = NULL;
    st_log_record record;
    bool more = true;
    st_status status = st_log_open(own->path, &log, own->errors);
    while (status == ST_OK && more)
        status = st_log_read(log, &record, &more, own->errors);
    st_log_destroy(log);
    assert_int_equal(status, ST_ERR_SYNTAX);
    return said(own->errors);
}

TEST_WITH(test_wrong_kind, make_fixture, drop_fixture)
{
    write_log(*state, 3, true);
    overwrite(*state, 512 + 64L * 5, &(uint16_t){238}, 2);
    assert_non_null(strstr(refused(*state), "record 6: unknown record kind"));
}

TEST_WITH(test_wrong_header, make_fixture, drop_fixture)
{
    write_log(*state, 3, true);
    overwrite(*state, 8, &(uint32_t){7}, 4);
    assert_non_null(strstr(refused(*state), "unsupported log format"));
    assert_non_null(
        strstr(refused(*state), "expected version 4, 512 and 64; record the program again"));
}

TEST_WITH(test_not_a_log, make_fixture, drop_fixture)
{
    write_log(*state, 3, true);
    overwrite(*state, 0, "{", 1);
    assert_non_null(strstr(refused(*state), "not a log"));
}

TEST_WITH(test_wrong_string, make_fixture, drop_fixture)
{
    write_log(*state, 3, true);
    overwrite(*state, 512 + 64L * 2 + 4, &(uint32_t){7}, 4); /* its part */
    assert_non_null(strstr(refused(*state), "string part out of sequence"));
}

/* Else every record could take the memory of a long string. */
TEST_WITH(test_string_begins_twice, make_fixture, drop_fixture)
{
    write_log(*state, 3, true);
    overwrite(*state, 512 + 64L * 2 + 4, &(uint32_t){0}, 4); /* its part */
    assert_non_null(strstr(refused(*state), "before the previous one is complete"));
}

/* A pipe would be waited for. */
TEST_OF(test_pipes_are_refused, fixture *own, make_fixture, drop_fixture)
{
    char tail[sizeof own->path + sizeof ST_LOG_TAIL];
    st_log *log = NULL;
    (void)snprintf(tail, sizeof tail, "%s" ST_LOG_TAIL, own->path);
    write_log(own, 3, true);
    assert_int_equal(mkfifo(tail, 0600), 0);
    assert_int_equal(st_log_open(own->path, &log, own->errors), ST_ERR_IO);
    assert_non_null(strstr(said(own->errors), "7-9.steplog.tail: error: cannot read the log: not a "
                                              "regular file"));
    assert_int_equal(unlink(own->path), 0);
    assert_int_equal(rename(tail, own->path), 0);
    assert_int_equal(st_log_open(own->path, &log, own->errors), ST_ERR_IO);
    assert_null(log);
}

TEST_OF(test_list, fixture *own, make_fixture, drop_fixture)
{
    const char *const *paths = NULL;
    size_t count = 0;
    assert_int_equal(st_log_list(own->folder, own->arena, &paths, &count, own->errors),
                     ST_ERR_VALUE);
    write_log(own, 1, true);
    assert_int_equal(st_log_list(own->folder, own->arena, &paths, &count, own->errors), ST_OK);
    assert_int_equal(count, 1);
    assert_string_equal(paths[0], own->path);
    assert_int_equal(st_log_list(own->path, own->arena, &paths, &count, own->errors), ST_OK);
    assert_string_equal(paths[0], own->path);
    assert_int_equal(st_log_list("/no/folder", own->arena, &paths, &count, own->errors), ST_ERR_IO);
}

TEST(test_bytes)
{
    const st_log_collective sum = {.count = 2385, .type = ST_LOG_BF16};
    assert_int_equal(st_log_collective_bytes(&sum), 4770);
    assert_int_equal(st_log_type_bytes(ST_LOG_TYPE_UNKNOWN), 0);
    assert_int_equal(st_log_type_bytes(ST_LOG_FP64), 8);
}

TESTS(record_log);
