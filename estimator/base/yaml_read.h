/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What readers of small YAML forms share: asking a map for its members, with the messages that a
 * wrong one deserves. A reader goes on after an error and keeps the status of the first.
 */
#ifndef STEPTIME_BASE_YAML_READ_H
#define STEPTIME_BASE_YAML_READ_H

#include "base/memory.h"
#include "base/yaml.h"
#include "steptime/quantity.h"

typedef struct st_yaml_reader {
    st_arena *arena;
    st_errors *errors;
    const char *file;
    st_status status; /* of the first error */
} st_yaml_reader;

/* Zeroed memory of the arena; NULL when out of memory, which is then the reader's status. */
void *st_read_alloc(st_yaml_reader *reader, size_t count, size_t size_bytes);

/* Reports a node of another kind; `what` says which, as in "'cases' is not a list". */
bool st_read_is(st_yaml_reader *reader, const st_yaml_node *node, st_yaml_kind kind,
                const char *what);

/* Reports keys that `known` does not list, and which of its first `required` names are missing. */
void st_read_keys(st_yaml_reader *reader, const st_yaml_node *map, const char *what,
                  const char *const *known, size_t count, size_t required);

/* The text of a key, `otherwise` where it is absent or faulty. An empty text is an error. */
const char *st_read_text(st_yaml_reader *reader, const st_yaml_node *map, const char *key,
                         const char *otherwise);

/* True or false, false where the key is absent or faulty. */
bool st_read_bool(st_yaml_reader *reader, const st_yaml_node *map, const char *key);

/* The list of a key with at most `most` items, NULL where it is absent or faulty. */
const st_yaml_node *st_read_list(st_yaml_reader *reader, const st_yaml_node *map, const char *key,
                                 size_t most);

/* The map of a key, NULL where it is absent or faulty. */
const st_yaml_node *st_read_map(st_yaml_reader *reader, const st_yaml_node *map, const char *key);

/* Room for what the items of a list or map become. Without a node, or without memory, the
 * node becomes an empty one. */
void *st_read_room(st_yaml_reader *reader, const st_yaml_node **node, size_t size_bytes);

/* The texts of such a list; `what` says what one is, as in "an entry of 'set' is not a text". */
const char **st_read_texts(st_yaml_reader *reader, const st_yaml_node *list, const char *what,
                           size_t *count);

/* The number or quantity of a key in base units, `otherwise` where it is absent or faulty. */
double st_read_quantity(st_yaml_reader *reader, const st_yaml_node *map, const char *key,
                        const st_unit *unit, double otherwise);

#endif
