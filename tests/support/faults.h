/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations that fail on demand: the one at a position, or all from it on. A program that
 * includes this is linked with --wrap=malloc,--wrap=calloc,--wrap=realloc, so that those of the
 * library come here first; see unit_wraps in tests/unit/meson.build.
 */
#ifndef STEPTIME_TESTS_FAULTS_H
#define STEPTIME_TESTS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
/* NOLINTEND(bugprone-reserved-identifier) */

/* More allocations than any scenario makes: whoever counts to this never came to an end. */
enum { MOST_ALLOCATIONS = 10000 };

/* Allocations until the first failure, and whether all later ones fail too. */
static struct {
    bool is_armed;
    bool is_lasting;
    int left;
    int failed;
} fault;

/* The next error, not armed yet: the allocation after `left` others. */
static inline void set_fault(int left, bool is_lasting)
{
    fault.is_armed = false;
    fault.is_lasting = is_lasting;
    fault.left = left;
    fault.failed = 0;
}

static inline void arm(void)
{
    fault.is_armed = true;
}

static inline void disarm(void)
{
    fault.is_armed = false;
}

static inline bool must_fail(void)
{
    if (!fault.is_armed) {
        return false;
    }
    if (fault.left > 0) {
        fault.left--;
        return false;
    }
    fault.failed++;
    fault.is_armed = fault.is_lasting;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return must_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return must_fail() ? NULL : __real_realloc(old, size);
}

#endif
