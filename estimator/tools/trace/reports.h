/* SPDX-License-Identifier: Apache-2.0 */
/* What `steptime trace` prints. */
#ifndef STEPTIME_TRACE_REPORTS_H
#define STEPTIME_TRACE_REPORTS_H

#include "base/result.h"
#include "trace/trace.h"

/* The ranks of a set, added up one by one. */
typedef struct st_trace_report {
    const st_trace_set *set;
    st_trace_summary *ranks;
    size_t top; /* kernels to list */
    bool full_names;
} st_trace_report;

void st_trace_report_make(const st_trace_set *set, size_t top, st_arena *arena,
                          st_trace_report *report, st_errors *errors);

void st_trace_summary_result(const st_trace_report *report, st_arena *arena, st_result *result);

/* "12.345 ms", with three digits behind the point. */
const char *st_ms_text(int64_t time_ns, char *text, size_t size);

/* A time of the trace; the same as text; how much of another one it is: "12.3 %". */
void st_put_ns(st_node *node, const char *key, int64_t time_ns);
void st_put_ms(st_node *node, const char *key, int64_t time_ns);
void st_put_share(st_node *node, const char *key, int64_t part_ns, int64_t whole_ns);
/* A time, null below 0; the same as text, "unknown" below 0. */
void st_put_ns_known(st_node *node, const char *key, int64_t time_ns);
void st_put_ms_known(st_node *node, const char *key, int64_t time_ns);
/* A count, null below 0. */
void st_put_known(st_node *node, const char *key, int64_t value);
/* window_ns to idle_ns. */
void st_put_breakdown(st_node *node, const st_trace_breakdown *time);

#endif
