/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as reports write it: places the commas and the indentation, so that no writer has to.
 *
 * Numbers are the shortest text that reads back to the same double; what is not finite is null, for
 * JSON has no word for it. An object opened with st_json_open_line stands on one line, which keeps
 * long lists readable and makes two reports easy to compare line by line.
 */
#ifndef STEPTIME_BASE_JSON_WRITE_H
#define STEPTIME_BASE_JSON_WRITE_H

#include "steptime/quantity.h"

typedef struct st_json {
    st_buffer *buffer;
    int depth;
    int line_depth; /* depth at which a one-line object was opened, 0: none is open */
    bool has_items; /* the open container has an item already */
} st_json;

/* `key` is NULL in a list and at the top. `bracket` is '{' or '['. */
void st_json_open(st_json *json, const char *key, char bracket);
void st_json_open_line(st_json *json, const char *key, char bracket);
void st_json_close(st_json *json, char bracket); /* '}' or ']'; a newline follows the last one */
void st_json_text(st_json *json, const char *key, const char *text);         /* NULL: null */
void st_json_text_or_null(st_json *json, const char *key, const char *text); /* "": null too */
void st_json_bool(st_json *json, const char *key, bool value);
void st_json_count(st_json *json, const char *key, size_t value);
void st_json_number(st_json *json, const char *key, double value);
/* A list of texts; nothing where there are none. */
void st_json_texts(st_json *json, const char *key, const char *const *texts, size_t count);
/* `text` as it stands, which has to be a JSON value. */
void st_json_literal(st_json *json, const char *key, const char *text);
void st_json_place(st_json *json, const char *key, st_place place); /* "file:12:3" or null */

/* Writes "file:line:column" as far as they are known; "" for no place. */
void st_place_text(st_place place, st_buffer *buffer);

#endif
