/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees of YAML files that were read when the program was built: constant arrays of numbers without
 * a pointer among them, so that what is not asked for costs a start nothing. The tool that embeds
 * the files writes both text and tree in one go, from what st_yaml_parse made of the text; no such
 * tree is ever read from a file.
 */
#ifndef STEPTIME_BASE_YAML_PACKED_H
#define STEPTIME_BASE_YAML_PACKED_H

#include "base/yaml.h"

typedef struct st_yaml_packed_node {
    uint32_t first; /* of a scalar's bytes among `texts`, of a list's or map's `entries` */
    uint32_t count; /* of these bytes or entries */
    uint32_t offset;
    uint32_t line;
    uint32_t column;
    uint8_t kind;
    bool quoted;
} st_yaml_packed_node;

typedef struct st_yaml_packed_entry {
    uint32_t node;
    uint32_t key; /* among `texts`; maps only, as are the next two */
    uint32_t line;
    uint32_t column;
} st_yaml_packed_entry;

typedef struct st_yaml_packed {
    const st_yaml_packed_node *nodes; /* the first is the root */
    const st_yaml_packed_entry *entries;
    const unsigned char *texts; /* each followed by a NUL */
    size_t node_count;
    size_t entry_count;
} st_yaml_packed;

#endif
