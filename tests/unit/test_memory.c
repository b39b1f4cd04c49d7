/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What estimator/base does when memory runs out: every allocation fails once, then all from one on.
 */
#include "../support/faults.h"
#include "base_support.h"

#include "base/output.h"
#include "base/yaml.h"

#include <unistd.h>

typedef void scenario(void);

/* Runs a scenario with the first allocation failing, then the second, until none is left to fail.
 */
static void fail_each(scenario *run)
{
    int failures = 0;
    for (int lasting = 0; lasting < 2; lasting++) {
        int at = 0;
        do {
            set_fault(at++, lasting != 0);
            run();
            disarm();
            failures += fault.failed > 0;
        } while (fault.failed > 0 && at < MOST_ALLOCATIONS);
        assert_true(at < MOST_ALLOCATIONS);
    }
    assert_true(failures > 2);
}

static void use_lists(void)
{
    arm();
    st_errors *errors = st_errors_create();
    if (errors == NULL)
        return;
    st_error error = {.status = ST_ERR_VALUE,
                      .place = {"a.yaml", 3, 5},
                      .message = st_errors_text(errors, "value %d", 2385),
                      .found = "'3.5'",
                      .expected = "a whole number",
                      .suggestion = st_errors_text(errors, "%5000d", 4)};
    for (int i = 0; i < 60; i++)
        assert_int_equal(i % 2 == 0 ? st_errors_add(errors, &error)
                                    : st_fail(errors, ST_ERR_VALUE, error.place,
                                              "value %d" ST_FOUND "%.700f", i, 2.385),
                         ST_ERR_VALUE);
    disarm();
    assert_int_equal(st_errors_size(errors), ST_ERRORS_KEPT);
    assert_int_equal(st_errors_count(errors, ST_SEVERITY_ERROR), 60);
    assert_int_equal(st_errors_status(errors), ST_ERR_VALUE);
    for (size_t i = 0; i < ST_ERRORS_KEPT; i++) {
        assert_non_null(st_errors_at(errors, i)->message);
        assert_true(strlen(printed(st_errors_at(errors, i))) > 10);
    }
    arm();
    st_errors_clear(errors);
    disarm();
    assert_int_equal(st_errors_size(errors), 0);
    assert_int_equal(st_errors_status(errors), ST_OK);
    st_errors_destroy(errors);
}

static void use_arena(void)
{
    arm();
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return;
    const char *copy = st_arena_copy(arena, "hidden", 6);
    const char *formatted = st_arena_printf(arena, "%6000d", 7);
    size_t capacity = 0;
    int *items = NULL;
    for (int i = 0; i < 3000; i++) {
        size_t before = capacity;
        int *grown = st_arena_grow(arena, items, sizeof *items, (size_t)i + 1, &capacity);
        if (grown == NULL) {
            assert_int_equal(capacity, before);
            break;
        }
        items = grown;
        items[i] = i;
    }
    disarm();
    assert_true(copy == NULL || strcmp(copy, "hidden") == 0);
    assert_true(formatted == NULL || strlen(formatted) == 6000);
    for (size_t i = 0; items != NULL && i < capacity / 2; i++)
        assert_int_equal(items[i], i);
    st_arena_destroy(arena);
}

static void use_buffer(void)
{
    st_buffer buffer = {0};
    arm();
    for (int i = 0; i < 100; i++) {
        st_buffer_text(&buffer, "T_comp,");
        st_buffer_printf(&buffer, "%d,", i);
        st_buffer_json_string(&buffer, "a\"b");
        st_buffer_csv_field(&buffer, "a,b");
    }
    disarm();
    assert_int_equal(buffer.failed, fault.failed > 0);
    assert_true(buffer.data == NULL || strlen(buffer.data) == buffer.length);
    st_buffer_free(&buffer);
}

/* Parses a file; `expected` is its status while memory lasts. */
static void use_yaml(const char *text, st_status expected)
{
    st_errors *errors = st_errors_create();
    st_arena *arena = st_arena_create();
    assert_non_null(errors);
    assert_non_null(arena);
    const st_yaml_node *root = NULL;
    arm();
    st_status status = st_yaml_parse("f", text, strlen(text), arena, &root, errors);
    disarm();
    /* where only the text of a message is lost, the status is that of the error */
    assert_true(status == expected || (fault.failed > 0 && status == ST_ERR_MEMORY));
    assert_true(fault.failed > 0 || status == expected);
    assert_int_equal(status == ST_OK, root != NULL);
    assert_int_equal(status != ST_OK, st_errors_size(errors) > 0);
    if (status == ST_ERR_MEMORY)
        assert_contains(said(errors), "out of memory");
    st_arena_destroy(arena);
    st_errors_destroy(errors);
}

static void use_good_yaml(void)
{
    st_buffer text = {0};
    st_buffer_text(&text, "top: &y {p: 'q'}\na: &x [1, {b: 2, c: *y}]\ntoo: *x\nlist:\n");
    for (int i = 0; i < 600; i++)
        st_buffer_text(&text, "  - item\n");
    use_yaml(text.data, ST_OK);
    st_buffer_free(&text);
}

static void use_faulty_yaml(void)
{
    use_yaml("a: 1\na: !t 2\n[x]: 3\n", ST_ERR_NAME);
}

static void use_unreadable_yaml(void)
{
    use_yaml("a:\n  - b\n c: d\n", ST_ERR_SYNTAX);
}

static void use_units(void)
{
    static const char *const texts[] = {"Gbps", "GB / s", "GB/s/GPU", "(B", "B^0", ""};
    st_errors *errors = st_errors_create();
    assert_non_null(errors);
    st_unit unit = unit_of("GB/s");
    double value = 2.385;
    arm();
    for (int turn = 0; turn < 8; turn++) {
        for (size_t i = 0; i < COUNT(texts); i++) {
            char text[64];
            (void)snprintf(text, sizeof text, "25 %s", texts[i]);
            assert_int_not_equal(st_quantity_parse(text, strlen(text), &unit, here, &value, errors),
                                 ST_OK);
        }
    }
    disarm();
    assert_same_double(value, 2.385);
    assert_int_equal(st_errors_count(errors, ST_SEVERITY_ERROR), 8 * COUNT(texts));
    st_errors_destroy(errors);
}

static void use_output(void)
{
    char folder[] = "/tmp/steptime-memory-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64];
    (void)snprintf(path, sizeof path, "%s/a", folder);
    st_errors *errors = st_errors_create();
    assert_non_null(errors);
    arm();
    st_status status = st_output_write(path, "text", 4, errors);
    disarm();
    assert_int_equal(status, fault.failed > 0 ? ST_ERR_IO : ST_OK);
    assert_int_equal(access(path, F_OK), status == ST_OK ? 0 : -1);
    (void)remove(path);
    assert_int_equal(rmdir(folder), 0);
    st_errors_destroy(errors);
}

static void lists_survive(void **state)
{
    (void)state;
    fail_each(use_lists);
}

static void arenas_survive(void **state)
{
    (void)state;
    fail_each(use_arena);
}

static void buffers_remember(void **state)
{
    (void)state;
    fail_each(use_buffer);
}

static void yaml_is_given_up_in_order(void **state)
{
    (void)state;
    fail_each(use_good_yaml);
    fail_each(use_faulty_yaml);
    fail_each(use_unreadable_yaml);
}

static void units_are_refused_all_the_same(void **state)
{
    (void)state;
    fail_each(use_units);
}

static void output_leaves_nothing_behind(void **state)
{
    (void)state;
    fail_each(use_output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_survive),
        cmocka_unit_test(arenas_survive),
        cmocka_unit_test(buffers_remember),
        cmocka_unit_test(yaml_is_given_up_in_order),
        cmocka_unit_test(units_are_refused_all_the_same),
        cmocka_unit_test(output_leaves_nothing_behind),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
