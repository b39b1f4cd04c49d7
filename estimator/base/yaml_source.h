/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes below YAML: what a file must fulfil before libyaml sees it, and the way back from a
 * scalar's text to the characters that it was written with.
 */
#ifndef STEPTIME_BASE_YAML_SOURCE_H
#define STEPTIME_BASE_YAML_SOURCE_H

#include "steptime/status.h"

/* A stretch of a file. */
typedef struct st_yaml_source {
    const char *file;
    const char *text;
    size_t length;
    size_t most_bytes;
} st_yaml_source;

/*
 * Steps over a byte order mark and reports what no YAML file may hold: too many bytes, UTF-16 or
 * UTF-32, invalid UTF-8, control characters, nothing at all.
 */
st_status st_yaml_source_check(st_yaml_source *source, st_errors *errors) ST_NODISCARD;

/* The place of the byte `offset`. */
st_place st_yaml_source_place(const st_yaml_source *source, size_t offset);

#endif
