/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation cases: published numbers with the job that should give them, read from
 * validation/SOURCE/cases.yaml, and what came out when the jobs were run.
 *
 * Reading, running and printing are apart, so that other tables can be compared in the same way.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_CASES_H
#define STEPTIME_CALIBRATE_STEPS_CASES_H

#include "base/result.h"
#include "steptime/job.h"

enum { ST_CASES_MAX = 10000 }; /* cases of a source, and values of a case */

typedef struct st_case_value {
    const char *cell;
    const char *published; /* as written, e.g. "16.7 s" */
    const char *tolerance; /* as written, e.g. "0.5 %" */
    double tolerance_frac; /* relative; 0: equal to the last bit */
    const char *note;      /* place of the number in the source, or "" */
    const char *missed;    /* why the tolerance cannot be met; "" where it can */
    st_place cell_place;
    st_place published_place;
    /* filled by the run */
    const st_type *type;
    double published_value; /* base units */
    double value;
    double difference_frac; /* value / published - 1; not finite where published is zero */
    bool compared;
    bool ok; /* within the tolerance */
} st_case_value;

typedef struct st_case {
    const char *name;
    const char *job;
    const char *sheet; /* NULL: the job's own */
    const char *const *sets;
    size_t set_count;
    st_case_value *values;
    size_t value_count;
    st_place place;
    bool ran;
} st_case;

typedef struct st_case_source {
    const char *name;
    const char *title;
    const char *cite;
    const char *file;
    st_case *cases;
    size_t case_count;
    /* filled by the run */
    size_t compared;
    size_t
        failed; /* differences over the declared one, and reasons for misses that there are not */
    size_t explained; /* differences over the declared one that the source explains */
    size_t missed;    /* values of cases that could not run */
} st_case_source;

/* Reads a source by name; reports all errors at once. */
st_status st_cases_load(const st_paths *paths, const char *name, st_arena *arena,
                        st_case_source *source, st_errors *errors) ST_NODISCARD;

/*
 * Runs every case and compares. A case that cannot run leaves its values uncompared and its errors
 * in `errors`, and the others go on: only a lack of memory stops the run.
 */
st_status st_cases_run(const st_paths *paths, st_arena *arena, st_case_source *source,
                       st_errors *errors) ST_NODISCARD;

/* Whether it is as the source says: within the tolerance, or beyond it with an explanation. */
bool st_case_value_as_told(const st_case_value *value);

/* Their list "sources", which CSV shows too. */
void st_cases_put(const st_case_source *sources, size_t count, st_node *root);

#endif
