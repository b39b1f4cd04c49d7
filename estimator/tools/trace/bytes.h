/* SPDX-License-Identifier: Apache-2.0 */
/* Where a trace's text comes from: a file or memory, plain or gzip, as its first bytes show.
 */
#ifndef STEPTIME_TRACE_BYTES_H
#define STEPTIME_TRACE_BYTES_H

#include "steptime/arena.h"
#include "steptime/status.h"

typedef struct st_bytes st_bytes;

/* Opens a file; only regular files and pipes are read. `path` must outlive the source. */
st_status st_bytes_open(const char *path, st_bytes **bytes, st_errors *errors) ST_NODISCARD;
/* Text in memory, of any bytes, which must outlive the source; `name` is for messages. */
void st_bytes_from_memory(const char *name, const char *text, size_t length, st_bytes **bytes);
void st_bytes_close(st_bytes *bytes); /* NULL is fine */

/*
 * Reads at least one byte unless the text is over: then *got is 0. Gzip that ends too soon is the
 * end of the text, and st_bytes_cut is true.
 */
st_status st_bytes_read(st_bytes *bytes, char *into, size_t capacity, size_t *got,
                        st_errors *errors) ST_NODISCARD;

/*
 * Appends all bytes of a file of Protocol Buffers; `what`, "the profile", names it where it holds
 * more than `most_gib` GiB. What cannot be such a file is refused before much of it is read.
 */
st_status st_bytes_read_messages(st_bytes *bytes, const char *what, unsigned most_gib,
                                 st_buffer *into, st_errors *errors) ST_NODISCARD;

bool st_bytes_cut(const st_bytes *bytes); /* the compressed data ended in the middle */
const char *st_bytes_name(const st_bytes *bytes);

/* Text as gzip. */

/* Replaces the contents of a buffer by its gzip form, without name and time. */
st_status st_gzip(st_buffer *buffer, st_errors *errors) ST_NODISCARD;

#endif
