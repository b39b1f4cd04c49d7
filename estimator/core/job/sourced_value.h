/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves of a job: a scalar, or a map that says where its value comes from. */
#ifndef STEPTIME_JOB_SOURCED_VALUE_H
#define STEPTIME_JOB_SOURCED_VALUE_H

#include "job/job_loader.h"

/* The scalar itself, or what {value: ..., source: ..., assumption: ...} says. */
typedef struct st_sourced_value {
    const st_yaml_node *value;
    const char *source;
    bool assumption;
} st_sourced_value;

/* A scalar that says something: neither empty nor `~` nor `null`. */
bool st_sourced_is_scalar(const st_yaml_node *node);

/*
 * Reads a leaf into `leaf`, whose members the caller has set to what holds without the map. False
 * without a value to read, which has been reported. `key` is NULL for a constant.
 */
bool st_sourced_read(st_loader *loader, const char *path, const st_key *key,
                     const st_yaml_node *node, st_sourced_value *leaf);

/* The text of a `source:` or `doc:` as one line; NULL where it is none, which has been reported. */
const char *st_sourced_source(st_loader *loader, const char *path, const st_yaml_node *node);

/* Reports a node that is empty or of the wrong kind for `path`. */
void st_sourced_refuse(st_loader *loader, const char *path, const st_yaml_node *node,
                       const char *expected);

#endif
