/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of measured rows share: a sheet small enough to be computed here, and tables that
 * are written row by row.
 */
#ifndef STEPTIME_TESTS_FIT_SUPPORT_H
#define STEPTIME_TESTS_FIT_SUPPORT_H

#include "job_support.h"

#include "fit/steps/calibrate.h"

#include <math.h>

/* step_time = start + work * layers * global / dp, in seconds */
#define TOY                                                                                        \
    "sheet: toy\n"                                                                                 \
    "title: A step of two terms\n"                                                                 \
    "inputs:\n"                                                                                    \
    "  a: {from: model.layers, doc: layers}\n"                                                     \
    "  G: {from: batch.global, doc: batch}\n"                                                      \
    "  d: {from: parallel.dp, doc: ranks}\n"                                                       \
    "  v: {from: parallel.virtual_stages, doc: chunks}\n"                                          \
    "  work: {from: constants.work, unit: ms, default: 3.7 ms, doc: work of a layer}\n"            \
    "  start: {from: constants.start, unit: s, default: 0.41 s, doc: before anything}\n"           \
    "cells:\n"                                                                                     \
    "  step_time: {unit: s, is: start + work*a*G/d, doc: time}\n"                                  \
    "checks:\n"                                                                                    \
    "  - {that: G >= d, else: the batch is too small}\n"                                           \
    "roles: {step: step_time}\n"

static const double toy_work_s = 3.7e-3;
static const double toy_start_s = 0.41;

static inline double toy_time(double layers, double global, double dp, double work_s,
                              double start_s)
{
    return start_s + work_s * layers * global / dp;
}

/* A request for the sheet TOY, which is written first. */
static inline st_measured_request toy_request(fixture *own)
{
    write_text(own, "toy.yaml", TOY);
    return (st_measured_request){.paths = own->paths, .sheet = below(own, "toy.yaml")};
}

/* Reads a table and runs what it gives. */
static inline st_status read_rows(fixture *own, const st_measured_request *request,
                                  const char *text, const char *filter, st_measured **sets,
                                  size_t *count)
{
    write_text(own, "table.csv", text);
    const st_measured_table table = {.file = below(own, "table.csv"), .filter = filter};
    *count = 0;
    st_status status = st_measured_read(request, &table, own->arena, sets, count, own->errors);
    for (size_t i = 0; i < *count && status == ST_OK; i++)
        status = st_measured_run(&(*sets)[i], own->arena, own->errors);
    return status;
}

static inline st_measured *good_rows(fixture *own, const st_measured_request *request,
                                     const char *text, const char *filter)
{
    st_measured *sets = NULL;
    size_t count = 0;
    if (read_rows(own, request, text, filter, &sets, &count) != ST_OK)
        fail_msg("refused: %s", said(own));
    assert_int_equal(count, 1);
    return sets;
}

/* The table is refused with these words. */
static inline void refuse_rows(fixture *own, const st_measured_request *request, const char *text,
                               const char *words)
{
    st_measured *sets = NULL;
    size_t count = 0;
    st_status status = read_rows(own, request, text, NULL, &sets, &count);
    const char *messages = said(own);
    if (status == ST_OK || strstr(messages, words) == NULL)
        fail_msg("status %d, expected '%s' in:\n%s", status, words, messages);
}

static inline void near_to(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not within %g of %.17g", value, relative, expected);
}

#endif
