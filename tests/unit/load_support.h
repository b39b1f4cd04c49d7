/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of loading jobs share: a job from a text, its values, and what is refused. */
#ifndef STEPTIME_TESTS_LOAD_SUPPORT_H
#define STEPTIME_TESTS_LOAD_SUPPORT_H

#include "job_support.h"

#include "base/yaml.h"

static inline const st_job *load_with(fixture *own, const char *const *sets, size_t count)
{
    const st_job *job = NULL;
    st_status status =
        st_job_load(own->paths, below(own, "job.yaml"), sets, count, own->arena, &job, own->errors);
    assert_int_equal(status, st_errors_status(own->errors));
    if (status != ST_OK) {
        assert_null(job);
        fail_msg("%s", said(own));
    }
    return job;
}

static inline const st_job *load(fixture *own, const char *text)
{
    write_text(own, "job.yaml", text);
    return load_with(own, NULL, 0);
}

static inline st_status refused_with(fixture *own, const char *const *sets, size_t count)
{
    const st_job *job = NULL;
    st_status status =
        st_job_load(own->paths, below(own, "job.yaml"), sets, count, own->arena, &job, own->errors);
    assert_int_not_equal(status, ST_OK);
    assert_int_equal(status, st_errors_status(own->errors));
    assert_null(job);
    return status;
}

/* Loads a faulty job; all that is said about it must be `message`. */
static inline void assert_faults(fixture *own, const char *text, st_status status,
                                 const char *message)
{
    write_text(own, "job.yaml", text);
    assert_int_equal(refused_with(own, NULL, 0), status);
    assert_string_equal(said(own), message);
}

static inline void assert_set_fault(fixture *own, const char *set, st_status status,
                                    const char *message)
{
    assert_int_equal(refused_with(own, &set, 1), status);
    assert_string_equal(said(own), message);
}

static inline const st_job_value *value_of(const st_job *job, const char *path)
{
    const st_job_value *value = st_job_value_of(job, path);
    assert_non_null(value);
    assert_string_equal(value->path, path);
    return value;
}

static inline void assert_number(const st_job *job, const char *path, st_origin origin,
                                 double number)
{
    const st_job_value *value = value_of(job, path);
    assert_int_equal(value->origin, origin);
    if (value->number != number)
        fail_msg("%s is %.17g", path, value->number);
}

static inline void assert_place(const fixture *own, st_place place, const char *file, int line,
                                int column)
{
    assert_string_equal(place.file, below(own, file));
    assert_int_equal(place.line, line);
    assert_int_equal(place.column, column);
}

#endif
