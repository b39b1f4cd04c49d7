/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML as a tree with places, bounded against hostile input.
 *
 * libyaml's events become an arena tree in which every node knows its place, so that readers
 * (sheets, jobs) report file:line:column. Events rather than libyaml's own document, because that
 * takes seconds for a few kilobytes of '[' and for many anchors; from events a bound is seen as
 * soon as it is passed. Refused here, once for all readers: text over ST_YAML_MAX_BYTES, nesting
 * over ST_YAML_MAX_DEPTH, more than ST_YAML_MAX_NODES nodes after aliases are expanded, more than
 * ST_YAML_MAX_ANCHORS anchors, bytes that are not UTF-8, control characters (written or escaped),
 * several documents, an empty document, tags, keys that are not scalars, the same key twice in a
 * map.
 */
#ifndef STEPTIME_BASE_YAML_H
#define STEPTIME_BASE_YAML_H

#include "base/lists.h"
#include "steptime/arena.h"

enum {
    ST_YAML_MAX_BYTES = 2 * 1024 * 1024,
    ST_YAML_MAX_LARGE_BYTES = 64 * 1024 * 1024,
    ST_YAML_MAX_DEPTH = 32,
    ST_YAML_MAX_NODES = 200000,
    ST_YAML_MAX_ANCHORS = 256
};

typedef enum st_yaml_kind { ST_YAML_SCALAR, ST_YAML_LIST, ST_YAML_MAP } st_yaml_kind;

typedef struct st_yaml_node {
    st_yaml_kind kind;
    st_place place;
    /* scalar */
    const char *text; /* NUL-terminated; never contains NUL inside */
    size_t length;
    bool quoted; /* 'single' or "double" quoted, or a block scalar: never null, number or bool */
    const char *source; /* the whole file, for st_yaml_place_at */
    size_t source_length;
    size_t source_offset; /* where this node starts in `source`, bytes */
    /* list and map */
    size_t count;
    const char **keys;                       /* map only; count names */
    const st_place *key_places;              /* map only */
    const struct st_yaml_node *const *items; /* list items or map values */
} st_yaml_node;

/*
 * Parses `text` (copied into the arena). `file` names it in messages. All errors that can be seen
 * at this level are added to `errors`. `root` is set where there are none, and also where the only
 * ones are keys that appear twice: the tree has the first of them, and a reader may go on and
 * report what else is wrong.
 */
st_status st_yaml_parse(const char *file, const char *text, size_t length, st_arena *arena,
                        const st_yaml_node **root, st_errors *errors) ST_NODISCARD;

/* The same from a source, whose tree is taken where it has one. */
st_status st_yaml_read(const st_source *source, st_arena *arena, const st_yaml_node **root,
                       st_errors *errors) ST_NODISCARD;

/* The same with up to ST_YAML_MAX_LARGE_BYTES, for texts that carry others: exports of profiles. */
st_status st_yaml_parse_large(const char *file, const char *text, size_t length, st_arena *arena,
                              const st_yaml_node **root, st_errors *errors) ST_NODISCARD;

/* The value of `key` in a map, NULL where absent (or `map` is NULL or no map). */
const st_yaml_node *st_yaml_get(const st_yaml_node *map, const char *key);

/* The place in the file of byte `offset` of a scalar's text, across quotes and folded lines. */
st_place st_yaml_place_at(const st_yaml_node *scalar, size_t offset);

/*
 * "a map", "a list", "nothing", "'3.5'" and, where it is quoted, "the text '3.5'" (shortened) for
 * messages; lives in `errors`. `node` may be NULL.
 */
const char *st_yaml_describe(const st_yaml_node *node, st_errors *errors);

#endif
