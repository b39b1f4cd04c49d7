/* SPDX-License-Identifier: Apache-2.0 */
/* One event as the file has it. */
#ifndef STEPTIME_TRACE_EVENT_DRAFT_H
#define STEPTIME_TRACE_EVENT_DRAFT_H

#include "trace/scan.h"

/* A whole number or a text, as pid and tid are. */
typedef struct st_mark {
    bool given;
    bool is_text;
    int64_t number;
    st_scan_span text;
} st_mark;

/* Values of an event that a copy may have others of. */
typedef enum st_marked {
    ST_MARKED_START,
    ST_MARKED_DURATION,
    ST_MARKED_PROCESS,
    ST_MARKED_ID,
    ST_MARKED
} st_marked;

/* What frames and allocations have besides; -1 and length 0 as below. */
typedef struct st_draft_details {
    int64_t number;  /* "Sequence number" */
    int64_t forward; /* "Fwd thread id" */
    int64_t bytes;
    int64_t address;
    int64_t allocated;
    int64_t reserved;
    int64_t device_type;
    int64_t device_id;
    st_scan_span stack;
    st_scan_span shapes; /* "Input Dims" as the text has it, as below */
    st_scan_span types;  /* "Input type" */
} st_draft_details;

typedef struct st_draft {
    st_draft_details *details; /* NULL: not wanted; kept from draft to draft, as the next */
    st_scan_span *marked;      /* ST_MARKED values as they are in the text; NULL: not wanted */
    char phase;                /* 0: none */
    bool has_start;
    bool has_duration;
    bool has_decimals;
    bool has_name;
    bool has_category;
    st_scan_span name;
    st_scan_span category;
    int64_t start_ns;
    int64_t duration_ns;
    st_mark process;
    st_mark thread;
    /* of args; -1 where it is not given */
    int64_t correlation;
    int64_t device;
    int64_t stream;
    int64_t wait_stream;
    int64_t record_correlation;
    int64_t in_elements;
    int64_t out_elements;
    int64_t group_size;
    int64_t sequence;
    int64_t blocks;          /* of the grid's first dimension */
    st_scan_span collective; /* of length 0 where it is not given, as below */
    st_scan_span dtype;
    st_scan_span group;
    st_scan_span ranks;
} st_draft;

/* Reads the event that begins here; the spans live until the scanner's hold goes. */
bool st_draft_read(st_scan *scan, st_draft *draft);

/*
 * Microseconds as decimal text to nanoseconds; what is below a nanosecond is dropped. False where
 * it does not fit. `decimals` is set to true, or left, as it has a part below a microsecond.
 */
bool st_time_ns(const char *text, size_t length, int64_t *time_ns, bool *decimals);

/* The same, also with a fraction of zeros. */
bool st_whole_value(const char *text, size_t length, int64_t *value);

#endif
