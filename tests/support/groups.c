/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the groups of a test program: all of them, or those that the arguments name. */
#include "groups.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77 };

static test_group *groups;

void add_test_group(test_group *group)
{
    group->next = groups;
    groups = group;
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
