/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the groups of a test program: all of them, or those that the arguments name. */
#include "groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SKIPPED = 77, MOST_TESTS = 256 };

static test_group *groups;

void add_test_group(test_group *group)
{
    group->next = groups;
    groups = group;
}

int run_file_tests(const char *group, const test_entry *tests, test_fixture *setup,
                   test_fixture *teardown)
{
    struct CMUnitTest items[MOST_TESTS];
    size_t count = 0;
    for (const test_entry *test = tests; test != NULL; test = test->next) {
        if (count == MOST_TESTS) {
            fprintf(stderr, "%s: more than %d tests in a group\n", group, MOST_TESTS);
            return 1;
        }
        items[count++] =
            (struct CMUnitTest){test->name, test->run, test->setup, test->teardown, NULL};
    }
    return _cmocka_run_group_tests(group, items, count, setup, teardown);
}

static test_group *find_group(const char *name)
{
    test_group *group = groups;
    while (group != NULL && strcmp(group->name, name) != 0)
        group = group->next;
    return group;
}

int main(int argc, char **argv)
{
    bool has_failed = false;
    int status = 0;
    for (int i = 1; i < argc; i++) {
        const test_group *group = find_group(argv[i]);
        if (group == NULL) {
            fprintf(stderr, "%s: unknown group '%s'\n", argv[0], argv[i]);
            return 2;
        }
        status = group->run();
        has_failed |= status != 0 && status != SKIPPED;
    }
    for (const test_group *group = groups; argc == 1 && group != NULL; group = group->next) {
        status = group->run();
        has_failed |= status != 0 && status != SKIPPED;
    }
    if (has_failed)
        return 1;
    return argc == 2 ? status : 0;
}
