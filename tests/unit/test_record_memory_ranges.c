/* SPDX-License-Identifier: Apache-2.0 */
/* What launches read and write, by their arguments. */
#include "base_support.h"

#include "record/price/memory_ranges.h"

enum { POINTER = ST_LOG_ARG_POINTER, NUMBER = ST_LOG_ARG_INTEGER };

static uint8_t pointer_to(unsigned width)
{
    unsigned code = width == 0 ? 0 : (unsigned)__builtin_ctz(width) + 1;
    return (uint8_t)(POINTER | code << ST_LOG_ARG_WIDTH_SHIFT);
}

static void add_launch(st_memory_ranges *ranges, uint32_t blocks, uint16_t threads)
{
    st_log_record record = {.kind = ST_LOG_LAUNCH};
    record.launch =
        (st_log_launch){.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .pointer_kib = 17};
    st_memory_ranges_add(ranges, &record);
}

static void add_value(st_memory_ranges *ranges, uint8_t kind, uint64_t number, uint32_t block)
{
    st_log_record record = {.kind = ST_LOG_ARGUMENTS};
    record.arguments = (st_log_arguments){.value = {number}, .block = {block}, .kind = {kind}};
    st_memory_ranges_add(ranges, &record);
}

static void test_bytes(void **state)
{
    st_arena *arena = st_arena_create();
    st_memory_ranges *ranges = st_memory_ranges_create(arena);
    bool at_most = true;
    (void)state;
    assert_non_null(ranges);
    /* 0: elements by a number, 8 of them a thread: two pointers to 2 bytes */
    add_launch(ranges, 12, 256);
    add_value(ranges, pointer_to(2), 1 << 20, 1);
    add_value(ranges, pointer_to(2), 900000, 1);
    add_value(ranges, NUMBER, 23850, 0);
    /* 1: elements by a product of neighbours, past a pointer */
    add_launch(ranges, 1024, 256);
    add_value(ranges, pointer_to(4), 1 << 28, 2);
    add_value(ranges, NUMBER, 16, 0);
    add_value(ranges, NUMBER, 1024, 0);
    add_value(ranges, NUMBER, 16, 0);
    /* 2: rows of four to a block and their length; what is shorter ends where the next begins */
    add_launch(ranges, 512, 128);
    add_value(ranges, pointer_to(2), 1 << 27, 2);
    add_value(ranges, pointer_to(4), 100000, 3);
    add_value(ranges, pointer_to(4), 100000 - 8192, 3);
    add_value(ranges, NUMBER, 2048, 0);
    add_value(ranges, NUMBER, 768, 0);
    /* 3: no number: to the next tensor, and to the end of the block */
    add_launch(ranges, 7, 128);
    add_value(ranges, pointer_to(2), 900000, 1);
    add_value(ranges, pointer_to(2), 1 << 20, 1);
    /* 4: nothing but what the recorder added up */
    add_launch(ranges, 7, 128);
    st_memory_ranges_settle(ranges);
    assert_float_equal(st_memory_ranges_bytes(ranges, 0, &at_most), 2 * 2 * 23850, 0.5);
    assert_false(at_most);
    assert_float_equal(st_memory_ranges_bytes(ranges, 1, &at_most), 4 * 262144, 0.5);
    assert_false(at_most);
    assert_float_equal(st_memory_ranges_bytes(ranges, 2, &at_most), 2 * 2048 * 768 + 8192 + 91808,
                       0.5);
    assert_false(at_most);
    assert_float_equal(st_memory_ranges_bytes(ranges, 3, &at_most), 1048576, 0.5);
    assert_true(at_most);
    assert_float_equal(st_memory_ranges_bytes(ranges, 4, &at_most), 17 * 1024, 0.5);
    assert_true(at_most);
    st_arena_destroy(arena);
}

TEST_GROUP(record_memory_ranges)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
