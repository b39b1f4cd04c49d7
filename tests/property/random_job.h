/* SPDX-License-Identifier: Apache-2.0 */
/* A job of assignments that a property test draws. */
#ifndef STEPTIME_TEST_RANDOM_JOB_H
#define STEPTIME_TEST_RANDOM_JOB_H

#include "property.h"

#include "steptime/arena.h"

enum { MOST_SETS = 24 };

typedef struct random_job {
    const char *sets[MOST_SETS];
    size_t count;
    st_arena *arena;
} random_job;

static inline void set(random_job *job, const char *key, const char *value)
{
    assert_true(job->count < MOST_SETS);
    job->sets[job->count] = st_arena_printf(job->arena, "%s=%s", key, value);
    assert_non_null(job->sets[job->count]);
    job->count++;
}

static inline void set_count(random_job *job, const char *key, int value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%d", value);
    set(job, key, text);
}

#endif
