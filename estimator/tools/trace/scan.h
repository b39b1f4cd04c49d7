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
#include "trace/trace.h"

enum {
    ST_SCAN_WINDOW_BYTES = 1 << 18,
    ST_SCAN_MAX_HOLD_BYTES = 1 << 26, /* of one event */
    ST_SCAN_MAX_DEPTH = 60,
    ST_SHAPE_BYTES = 40 /* zeros behind the window, also what a key is compared in */
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
    size_t hold;    /* SIZE_MAX: none */
    uint64_t base;  /* where the window is in the text */
    size_t counted; /* lines before it are in the next two */
    uint64_t line_start;
    int line;
    bool ended;
    bool cut; /* the text ended where the grammar does not allow it; nothing was reported */
    /* What profilers write though JSON lacks it. It is mended in the window, so that whoever copies
     * the text copies JSON: a number such as inf becomes "", a control character in a string a
     * blank. */
    uint64_t odd_values; /* these, and ids other than whole numbers of 64 bits */
    uint64_t controls;
    st_place first_odd; /* of both */
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
/* The value of a number as most are: at most 18 digits, one more with a point among them, neither
 * sign nor exponent, all in the window. False and nothing done for others, and for what is none. */
bool st_scan_usual_number(st_scan *scan, uint64_t *digits, int *decimals);
/* inf, nan and the like have length 0. */
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

/* Counts a value that is left out, at the window's index. */
void st_scan_odd(st_scan *scan, size_t at);

/* Where the scanner is, and a place that it has passed, as an index into the window. */
st_place st_scan_place(st_scan *scan);
st_place st_scan_place_of(const st_scan *scan, size_t at);
/* Reports an error of the caller's own at this place. */
st_status st_scan_fail(st_scan *scan, st_status status, const char *format, ...) ST_PRINTF(3, 4);

/* One event as the file has it. */

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
    ST_MARKED_PHASE,
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

/*
 * Keys of events that were read, a tree of what came next: most events have the keys of earlier
 * ones in their order and with the same blanks, so that one comparison finds the next. All of it is
 * zero at first.
 */
typedef struct st_shape_node {
    uint64_t text[ST_SHAPE_BYTES / 8]; /* from value to value, as `, "tid":`, or to the end */
    uint64_t mask[ST_SHAPE_BYTES / 8]; /* all bits of these bytes */
    struct st_shape_node *child;
    struct st_shape_node *sibling;
    uint8_t words;
    uint8_t length;
    uint8_t key;
    uint8_t digits;       /* of the value before, if it is a short number; 0: it is not */
    uint64_t number_text; /* the number, with a comma and zeros behind it */
    uint64_t number_mask;
    int64_t number;
} st_shape_node;

typedef struct st_shapes {
    st_shape_node event; /* before the first key */
    st_shape_node arguments;
    st_shape_node nodes[1024];
    size_t count;
} st_shapes;

typedef struct st_draft {
    st_shapes *shapes;
    st_draft_details *details; /* NULL: not wanted; kept from draft to draft, as the next */
    st_scan_span *marked;      /* ST_MARKED values as they are in the text; NULL: not wanted */
    char phase;                /* 0: none */
    bool has_start;
    bool has_duration;
    bool has_decimals;
    bool has_name;
    bool has_category;
    const char *wrong;    /* why the event cannot be used; NULL: it can */
    const char *expected; /* instead */
    st_place wrong_place;
    st_scan_span name;
    st_scan_span category;
    st_scan_span id;
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
    int64_t source; /* of a message between two ranks, and its destination */
    int64_t destination;
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

/*
 * A file read again by who wants the text of its events, all of them and in their order, to write
 * them anew. Events that the reader leaves out are not shown.
 */

/* The member of a file of several ranks that has their other members, one map for each; processes
 * of its events are called "rank 0 25738". */
#define ST_TRACE_PARTS "steptimeRanks"

typedef struct st_visit {
    const st_draft *draft; /* with marks */
    const char *text;      /* of the event, "{...}" */
    size_t length;
    uint64_t start;     /* of the text, as spans count */
    st_trace_kind kind; /* as what the event is kept; ST_TRACE_KINDS: not at all; of an end (phases
                           E and e) what its begin is kept as */
} st_visit;

typedef struct st_visitor {
    void *context;
    st_status (*event)(void *context, const st_visit *visit); /* what fails ends the reading */
} st_visitor;

/* The members of the file besides its events, `"key": value` with a comma behind each, appended. */
st_status st_visit_members(const char *path, st_buffer *members, st_errors *errors) ST_NODISCARD;

#endif
