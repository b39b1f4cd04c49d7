/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of estimator/report share: buffers as text, and small sheets and jobs in a folder.
 */
#ifndef STEPTIME_TESTS_REPORT_SUPPORT_H
#define STEPTIME_TESTS_REPORT_SUPPORT_H

#include "job_support.h"

#include "estimate/report.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static const st_paint plain = {false, 0};

static inline void assert_text(st_buffer *buffer, const char *expected)
{
    assert_false(buffer->failed);
    assert_string_equal(buffer->data != NULL ? buffer->data : "", expected);
    st_buffer_free(buffer);
}

/* An estimate in a form. */
static inline void write_estimate(const st_estimate *estimate, const st_errors *errors,
                                  st_arena *arena, st_form form, st_buffer *buffer)
{
    st_result result;
    st_estimate_report(estimate, errors, arena, &result);
    st_result_write(&result, form, &plain, buffer);
}

static inline void assert_contains(const char *text, const char *part)
{
    assert_non_null(text);
    if (strstr(text, part) == NULL)
        fail_msg("does not contain '%s':\n%s", part, text);
}

static inline void assert_lacks(const char *text, const char *part)
{
    assert_non_null(text);
    if (strstr(text, part) != NULL)
        fail_msg("contains '%s':\n%s", part, text);
}

/* A result in a form has each of these texts; NULL ends them. */
static inline void assert_form_has(const st_result *result, st_form form, const char *const *parts,
                                   size_t count)
{
    st_buffer buffer = {0};
    st_result_write(result, form, &plain, &buffer);
    assert_false(buffer.failed);
    for (size_t i = 0; i < count && parts[i] != NULL; i++)
        assert_contains(st_buffer_read(&buffer), parts[i]);
    st_buffer_free(&buffer);
}

/* A sheet with every kind of thing that reports show, and a job with every origin of a value. */
static const char pump_sheet[] =
    "sheet: pump\n"
    "title: A pump\n"
    "doc: Moves bytes.\n"
    "enums:\n"
    "  gear: [none, selective, full]\n"
    "inputs:\n"
    "  n: {from: parallel.dp, doc: pumps}\n"
    "  V: {from: constants.volume, unit: MB, doc: volume, cite: handbook p. 7}\n"
    "  C: {from: cluster.nic_bandwidth, unit: GB/s, doc: flow}\n"
    "  gear: {from: recompute, unit: gear, doc: gear, default: none}\n"
    "  loss: {from: constants.loss, unit: '%', doc: loss, default: 12.5 %}\n"
    "functions:\n"
    "  flow_time:\n"
    "    open: true\n"
    "    args: {size: B, rate: GB/s}\n"
    "    unit: ms\n"
    "    is: size/rate\n"
    "    doc: time to move a volume\n"
    "    cite: handbook p. 9\n"
    "cells:\n"
    "  rate: {unit: GB/s, is: C*(1-loss), doc: what arrives}\n"
    "  T: {unit: ms, is: 'flow_time(V, rate)/n', doc: time, cite: handbook p. 8}\n"
    "  shifted: {unit: bool, is: gear != none, doc: out of neutral}\n"
    "  spare: {unit: 1/s, is: 1/T, doc: strokes}\n"
    "checks:\n"
    "  - that: n <= 100\n"
    "    else: '{n} pumps are too many'\n"
    "  - that: T < 1[s]\n"
    "    else: slow, {T}\n"
    "    level: warning\n"
    "report:\n"
    "  - section: Time\n"
    "    cells: [T, rate]\n"
    "  - section: State\n"
    "    cells: [shifted, gear, T]\n";

static const char pump_job[] = "name: station\n"
                               "cluster:\n"
                               "  nic_bandwidth: {value: 23.85 GB/s, source: data sheet}\n"
                               "parallel: {dp: 3}\n"
                               "constants:\n"
                               "  volume: {value: 571.3 MB, source: seen, assumption: true}\n"
                               "sheet: pump\n";

static inline void write_pump(const fixture *own)
{
    write_text(own, "formulas/pump.yaml", pump_sheet);
    write_text(own, "configs/jobs/station.yaml", pump_job);
}

/* Loads `job` with at most one assignment. */
static inline st_status load_estimate(fixture *own, const char *job, const char *set,
                                      st_estimate *estimate)
{
    const char *sets[] = {set};
    st_request request = {.job = job, .sets = sets, .set_count = set != NULL ? 1 : 0};
    return st_estimate_load(own->paths, &request, own->arena, estimate, own->errors);
}

/* The job `station` with its whole report computed. */
static inline void run_station(fixture *own, const char *set, bool all, st_estimate *estimate)
{
    st_status status = load_estimate(own, "station", set, estimate);
    if (status == ST_OK)
        status = st_estimate_show_report(estimate, all, own->arena);
    if (status == ST_OK)
        status = st_estimate_run(estimate, own->arena, own->errors);
    if (status != ST_OK)
        fail_msg("%s", said(own));
}

#endif
