/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of tests that share a program: each file defines one with TEST_GROUP(NAME) in place of
 * main. The program runs all of them, or those whose names it is given.
 */
#ifndef STEPTIME_TESTS_GROUPS_H
#define STEPTIME_TESTS_GROUPS_H

typedef struct test_group {
    const char *name;
    int (*run)(void); /* an exit status */
    struct test_group *next;
} test_group;

void add_test_group(test_group *group);

#define TEST_GROUP(group_name)                                                                     \
    static int test_group_##group_name(void);                                                      \
    __attribute__((constructor)) static void add_##group_name(void)                                \
    {                                                                                              \
        static test_group group = {#group_name, test_group_##group_name, NULL};                    \
        add_test_group(&group);                                                                    \
    }                                                                                              \
    static int test_group_##group_name(void)

#endif
