/* SPDX-License-Identifier: Apache-2.0 */
/* What `steptime trace` prints. */
#ifndef STEPTIME_TRACE_REPORTS_H
#define STEPTIME_TRACE_REPORTS_H

#include "base/json_write.h"
#include "base/text.h"
#include "trace/trace.h"

/* The ranks of a set, added up one by one. */
typedef struct st_trace_report {
    const st_trace_set *set;
    st_trace_summary *ranks;
    size_t top; /* kernels to list */
} st_trace_report;

st_status st_trace_report_make(const st_trace_set *set, size_t top, st_arena *arena,
                               st_trace_report *report, st_errors *errors) ST_NODISCARD;

void st_trace_report_text(const st_trace_report *report, st_arena *arena, st_buffer *buffer);
/* Times in nanoseconds, as in the trace. */
void st_trace_report_json(const st_trace_report *report, st_buffer *buffer);
/* A line per rank and class: counts and times. */
void st_trace_report_csv(const st_trace_report *report, st_buffer *buffer);

/* "0", or how much of the window a time is: "12.3 %". */
const char *st_share_text(int64_t part_ns, int64_t whole_ns, char *text, size_t size);
/* "12.345 ms", with three digits behind the point. */
const char *st_ms_text(int64_t time_ns, char *text, size_t size);

#endif
