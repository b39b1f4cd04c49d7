/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A strict pull scanner over JSON that is larger than memory.
 *
 * The caller asks for what the grammar allows next; nothing is built. Only a window of the text is
 * in memory: it moves on unless a hold is set, and grows while one is. Texts are spans, which are
 * valid until the hold in which they were scanned is let go. The first error is reported with its
 * place, and from then on every function fails, so that a caller may check once at the end.
 */
#ifndef STEPTIME_TRACE_SCAN_H
#define STEPTIME_TRACE_SCAN_H

#include "trace/bytes.h"

enum {
    ST_SCAN_WINDOW_BYTES = 1 << 18,
    ST_SCAN_MAX_HOLD_BYTES = 1 << 26, /* of one event */
    ST_SCAN_MAX_DEPTH = 60
};

typedef struct st_scan_span {
    uint64_t start; /* in the text */
    uint32_t length;
    bool escaped; /* has backslashes */
} st_scan_span;

typedef struct st_scan {
    st_bytes *bytes;
    st_errors *errors;
    st_status status;
    char *data; /* the window, with zeros behind its end */
    size_t capacity;
    size_t used;
    size_t at;
    size_t hold;   /* SIZE_MAX: none */
    uint64_t base; /* where the window is in the text */
    uint64_t line_start;
    int line;
    bool ended;
    bool cut; /* the text ended where the grammar does not allow it; nothing was reported */
} st_scan;

/* The scanner neither owns `bytes` nor `errors`. */
void st_scan_init(st_scan *scan, st_bytes *bytes, st_errors *errors);
void st_scan_free(st_scan *scan);

/* False after an error or where the text was cut. */
static inline bool st_scan_ok(const st_scan *scan)
{
    return scan->status == ST_OK && !scan->cut;
}

void st_scan_hold(st_scan *scan);
void st_scan_release(st_scan *scan);

char st_scan_peek_far(st_scan *scan); /* behind blanks, and where the window ends */

/* The next character that is not blank; 0 at the end of the text or after an error. */
static inline char st_scan_peek(st_scan *scan)
{
    size_t next = scan->at + (scan->data[scan->at] == ' '); /* most that is blank is one space */
    char c = scan->data[next];
    if (c <= ' ' || !st_scan_ok(scan))
        return st_scan_peek_far(scan);
    scan->at = next;
    return c;
}

/* '{' or '[' and its end. After st_scan_enter, call st_scan_key or st_scan_item until it is false.
 */
bool st_scan_enter(st_scan *scan, char bracket);
bool st_scan_key(st_scan *scan, bool *started, st_scan_span *key);
/* A key that is held until it is let go; none is where there is no further one. */
bool st_scan_held_key(st_scan *scan, bool *started, st_scan_span *key);
bool st_scan_item(st_scan *scan, bool *started);

bool st_scan_string(st_scan *scan, st_scan_span *text);
bool st_scan_number(st_scan *scan, st_scan_span *text);
/* Bytes of a number as JSON spells it, 0 for none; something other than a digit follows it. */
size_t st_scan_number_length(const char *text);
/* Any value, checked against the grammar. */
bool st_scan_skip(st_scan *scan);
/* Nothing but blanks may follow. */
bool st_scan_end(st_scan *scan);

/* The bytes of a span inside of the hold. */
static inline const char *st_scan_text(const st_scan *scan, st_scan_span span)
{
    return scan->data + (span.start - scan->base);
}

/* Where the scanner is. */
st_place st_scan_place(const st_scan *scan);
/* Reports an error of the caller's own at this place. */
st_status st_scan_fail(st_scan *scan, st_status status, const char *format, ...) ST_PRINTF(3, 4);

#endif
