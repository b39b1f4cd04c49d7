/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small JSON files as a tree, read by yajl with bounds of our own. Numbers stay as text, so that
 * nothing is lost before a field's reader looks at them.
 */
#ifndef STEPTIME_BASE_JSON_READ_H
#define STEPTIME_BASE_JSON_READ_H

#include "steptime/arena.h"

enum { ST_JSON_MAX_BYTES = 8 * 1024 * 1024, ST_JSON_MAX_DEPTH = 32, ST_JSON_MAX_NODES = 200000 };

typedef enum st_json_kind {
    ST_JSON_NULL,
    ST_JSON_BOOL,
    ST_JSON_NUMBER,
    ST_JSON_STRING,
    ST_JSON_LIST,
    ST_JSON_MAP
} st_json_kind;

typedef struct st_json {
    st_json_kind kind;
    const char *name; /* in its map; NULL in lists and for the root */
    const char *text; /* of numbers and strings; "true" or "false" */
    int line;
    bool used; /* a reader's mark */
    struct st_json *parent;
    struct st_json *first; /* child */
    struct st_json *last;
    struct st_json *next; /* sibling */
} st_json;

/* "a map", "a list", "the number 3", "the text 'x'": for messages; lives in `errors`. */
const char *st_json_describe(const st_json *node, st_errors *errors);

/* The library was built with yajl. */
bool st_json_available(void);

/* `tree` is set only on success. */
st_status st_json_parse(const char *file, const char *text, size_t length, st_arena *arena,
                        st_json **tree, st_errors *errors) ST_NODISCARD;

#endif
