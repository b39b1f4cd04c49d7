/* SPDX-License-Identifier: Apache-2.0 */
/* What launches read and write, by their arguments. */
#include "base_support.h"

#include "record/price/memory_ranges.h"

enum { POINTER = ST_LOG_ARG_POINTER, NUMBER = ST_LOG_ARG_INTEGER };

static void add_launch(st_memory_ranges *ranges, uint32_t blocks, uint16_t threads)
{
    st_log_record record = {.kind = ST_LOG_LAUNCH};
    record.launch =
        (st_log_launch){.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .pointer_kib = 17};
    assert_true(st_memory_ranges_add(ranges, &record));
}

static void add_value(st_memory_ranges *ranges, uint8_t kind, uint64_t number, uint32_t block)
{
    st_log_record record = {.kind = ST_LOG_ARGUMENTS};
    record.arguments = (st_log_arguments){.value = {number}, .block = {block}, .kind = {kind}};
    assert_true(st_memory_ranges_add(ranges, &record));
}

/* What a launch reads and writes together, of a kernel whose name gives pointers to types of so
 * many bytes alone. */
static double bytes_of(const st_memory_ranges *ranges, size_t index, const uint8_t widths[3],
                       bool *at_most)
{
    st_kernel_name name = {.parameter_count = 3};
    uint32_t structures[ST_LAUNCH_STRUCTURES];
    st_launch_facts facts = {0};
    for (size_t i = 0; i < 3; i++)
        name.parameters[i] = (st_kernel_parameter){.width = widths[i]};
    st_memory_ranges_facts(ranges, index, &name, &facts, structures);
    *at_most = facts.at_most;
    return facts.read_bytes + facts.written_bytes;
}

static void test_bytes(void **state)
{
    st_arena *arena = st_arena_create();
    st_memory_ranges *ranges = st_memory_ranges_create(arena);
    static const size_t which[] = {0, 1, 2, 3, 4, 3, 4};
    static const uint8_t widths[][3] = {{2, 2}, {4}, {2, 4, 4}, {2, 2}, {0}};
    bool at_most = true;
    size_t launches = 0;
    (void)state;
    assert_non_null(ranges);
    /* 0: elements by a number, 8 of them a thread: two pointers to 2 bytes */
    add_launch(ranges, 12, 256);
    add_value(ranges, POINTER, 1 << 20, 1);
    add_value(ranges, POINTER, 900000, 1);
    add_value(ranges, NUMBER, 23850, 0);
    /* 1: elements by a product of neighbours, past a pointer */
    add_launch(ranges, 1024, 256);
    add_value(ranges, POINTER, 1 << 28, 2);
    add_value(ranges, NUMBER, 16, 0);
    add_value(ranges, NUMBER, 1024, 0);
    add_value(ranges, NUMBER, 16, 0);
    /* 2: rows of four to a block and their length; what is shorter ends where the next begins */
    add_launch(ranges, 512, 128);
    add_value(ranges, POINTER, 1 << 27, 2);
    add_value(ranges, POINTER, 100000, 3);
    add_value(ranges, POINTER, 100000 - 8192, 3);
    add_value(ranges, NUMBER, 2048, 0);
    add_value(ranges, NUMBER, 768, 0);
    /* 3: no number: to the next tensor, and to the end of the block */
    add_launch(ranges, 7, 128);
    add_value(ranges, POINTER, 900000, 1);
    add_value(ranges, POINTER, 1 << 20, 1);
    /* 4: nothing but what the recorder added up */
    add_launch(ranges, 7, 128);
    /* as 3, and as 4, which has fewer values */
    add_launch(ranges, 7, 128);
    add_value(ranges, POINTER, 900000, 1);
    add_value(ranges, POINTER, 1 << 20, 1);
    add_launch(ranges, 7, 128);
    assert_true(st_memory_ranges_settle(ranges, &launches));
    assert_int_equal(launches, 5);
    for (size_t i = 0; i < COUNT(which); i++)
        assert_int_equal(st_memory_ranges_launch(ranges, i), which[i]);
    assert_float_equal(bytes_of(ranges, 0, widths[0], &at_most), 2 * 2 * 23850, 0.5);
    assert_false(at_most);
    assert_float_equal(bytes_of(ranges, 1, widths[1], &at_most), 4 * 262144, 0.5);
    assert_false(at_most);
    assert_float_equal(bytes_of(ranges, 2, widths[2], &at_most), 2 * 2048 * 768 + 8192 + 91808,
                       0.5);
    assert_false(at_most);
    assert_float_equal(bytes_of(ranges, 3, widths[3], &at_most), 1048576, 0.5);
    assert_true(at_most);
    assert_float_equal(bytes_of(ranges, 4, widths[4], &at_most), 17 * 1024, 0.5);
    assert_true(at_most);
    st_arena_destroy(arena);
}

/* By the name: the first is written, the null pointer and the real number are no whole numbers. */
static void test_facts(void **state)
{
    st_kernel_name name = {.parameter_count = 5};
    name.parameters[0] = (st_kernel_parameter){.pointer = true, .width = 2};
    name.parameters[1] = (st_kernel_parameter){.pointer = true, .constant = true, .width = 2};
    name.parameters[2] = (st_kernel_parameter){.pointer = true};
    name.parameters[3] = (st_kernel_parameter){.real = true};
    st_arena *arena = st_arena_create();
    st_memory_ranges *ranges = st_memory_ranges_create(arena);
    uint32_t structures[ST_LAUNCH_STRUCTURES];
    st_launch_facts facts = {0};
    size_t launches = 0;
    (void)state;
    add_launch(ranges, 12, 256);
    add_value(ranges, POINTER, 1 << 20, 1);
    add_value(ranges, POINTER, 900000, 1);
    add_value(ranges, NUMBER, 0, 0);
    add_value(ranges, NUMBER, 1065353216, 0);
    add_value(ranges, NUMBER, 23850, 0);
    add_value(ranges, ST_LOG_ARG_STRUCT, 17, 0);
    assert_true(st_memory_ranges_settle(ranges, &launches));
    st_memory_ranges_facts(ranges, 0, &name, &facts, structures);
    assert_float_equal(facts.written_bytes, 47700, 0.5);
    assert_float_equal(facts.read_bytes, 47700, 0.5);
    assert_int_equal(facts.number_count, 1);
    assert_int_equal(facts.numbers[0], 23850);
    assert_int_equal(facts.pointer_count, 2);
    assert_int_equal(facts.structure_count, 1);
    assert_int_equal(structures[0], 17);
    st_arena_destroy(arena);
}

TEST_GROUP(record_memory_ranges)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes), cmocka_unit_test(test_facts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
