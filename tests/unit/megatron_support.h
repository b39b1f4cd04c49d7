/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the megatron sheet share: jobs with assignments, evaluated cell by cell. */
#ifndef STEPTIME_TESTS_MEGATRON_SUPPORT_H
#define STEPTIME_TESTS_MEGATRON_SUPPORT_H

#include "job_support.h"

#include "estimate/estimate_internal.h"

#include <math.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define GIB          1073741824.0

enum { MAX_SETS = 48 };

/* Every cell of the job's sheet, after assignments that are separated by blanks. */
static inline st_status try_estimate(fixture *own, const char *job, const char *assignments,
                                     st_estimate *estimate)
{
    const char *sets[MAX_SETS] = {"stack=plain"}; /* tests are of formulas, not of stacks */
    st_request request = {.job = job, .sets = sets, .set_count = 1};
    char *text = st_arena_copy(own->arena, assignments, strlen(assignments));
    assert_non_null(text);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_true(request.set_count < MAX_SETS);
        for (char *blank = strchr(word, '~'); blank != NULL; blank = strchr(blank, '~'))
            *blank = ' '; /* "cluster.nic_bandwidth=25~GB/s" */
        sets[request.set_count++] = word;
    }
    st_status status = st_estimate_load(own->paths, &request, own->arena, estimate, own->errors);
    if (status == ST_OK)
        status = st_estimate_show_report(estimate, true, own->arena);
    return status == ST_OK ? st_estimate_run(estimate, own->arena, own->errors) : status;
}

static inline st_estimate estimate_of(fixture *own, const char *job, const char *assignments)
{
    st_estimate estimate;
    if (try_estimate(own, job, assignments, &estimate) != ST_OK)
        fail_msg("%s %s: %s", job, assignments, said(own));
    st_errors_clear(own->errors); /* warnings */
    return estimate;
}

/* In base units. */
static inline double cell(const st_estimate *estimate, const char *name)
{
    for (size_t i = 0; i < estimate->shown_count; i++)
        if (strcmp(estimate->shown[i].name, name) == 0)
            return estimate->shown[i].value;
    fail_msg("no cell '%s'", name);
    return 0;
}

/* The name of an enumeration's value. */
static inline const char *named(const st_estimate *estimate, const char *name)
{
    const st_sheet_cell *found = st_sheet_find_cell(estimate->sheet, name);
    assert_non_null(found);
    assert_int_equal(found->type.kind, ST_TYPE_ENUM);
    return found->type.enumeration->values[(size_t)cell(estimate, name)];
}

static inline void assert_near(double found, double expected, double tolerance, const char *what)
{
    if (!(fabs(found - expected) <= tolerance * fabs(expected)))
        fail_msg("%s is %.12g, not %.12g", what, found, expected);
}

#endif
