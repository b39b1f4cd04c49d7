/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of tests that share a program: each file defines its tests with TEST and ends with
 * TESTS(NAME) in place of main. The program runs all groups, or those whose names it is given.
 * TEST_GROUP(NAME) starts a group that does more than run the tests of its file; RUN_TESTS runs
 * these.
 */
#ifndef STEPTIME_TESTS_GROUPS_H
#define STEPTIME_TESTS_GROUPS_H

#include <stddef.h>

typedef struct test_group {
    const char *name;
    int (*run)(void); /* an exit status */
    struct test_group *next;
} test_group;

void add_test_group(test_group *group);

typedef int test_fixture(void **state);

typedef struct test_entry {
    const char *name;
    void (*run)(void **state);
    test_fixture *setup, *teardown;
    int line;
    struct test_entry *next;
} test_entry;

/* The tests of this file, in the order of their lines. */
static test_entry *file_tests;

/* Constructors of one file may run in any order. */
static inline void add_test(test_entry *entry)
{
    test_entry **at = &file_tests;
    while (*at != NULL && (*at)->line < entry->line)
        at = &(*at)->next;
    entry->next = *at;
    *at = entry;
}

/* An exit status. */
int run_file_tests(const char *group, const test_entry *tests, test_fixture *setup,
                   test_fixture *teardown);

#define ADD_TEST(test, function, setup, teardown)                                                  \
    __attribute__((constructor)) static void add_##test(void)                                      \
    {                                                                                              \
        static test_entry own_test = {#test, function, setup, teardown, __LINE__, NULL};           \
        add_test(&own_test);                                                                       \
    }

#define TEST_WITH(test, setup, teardown)                                                           \
    static void test(void **state);                                                                \
    ADD_TEST(test, test, setup, teardown)                                                          \
    static void test(__attribute__((unused)) void **state)

#define TEST(test) TEST_WITH(test, NULL, NULL)

/* A test of what setup made: fixture declares it, as in "shelf *own". */
#define TEST_OF(test, fixture, setup, teardown)                                                    \
    static void test(fixture);                                                                     \
    static void run_##test(void **state)                                                           \
    {                                                                                              \
        test(*state);                                                                              \
    }                                                                                              \
    ADD_TEST(test, run_##test, setup, teardown)                                                    \
    static void test(fixture)

#define RUN_TESTS(group) run_file_tests(#group, file_tests, NULL, NULL)

#define TEST_GROUP(group_name)                                                                     \
    static int test_group_##group_name(void);                                                      \
    __attribute__((constructor)) static void add_##group_name(void)                                \
    {                                                                                              \
        static test_group own_group = {#group_name, test_group_##group_name, NULL};                \
        add_test_group(&own_group);                                                                \
    }                                                                                              \
    static int test_group_##group_name(void)

/* The assertion takes the semicolon, which tools that do not know the macro expect. */
#define TESTS_WITH(group, setup, teardown)                                                         \
    TEST_GROUP(group)                                                                              \
    {                                                                                              \
        return run_file_tests(#group, file_tests, setup, teardown);                                \
    }                                                                                              \
    _Static_assert(sizeof #group > 1, "a group has a name")

#define TESTS(group) TESTS_WITH(group, NULL, NULL)

#endif
