/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of yaml.h while it is built, event by event. One loop feeds it and a bounded stack holds
 * the open lists and maps: nothing recurses. An alias shares the node that it names, so that
 * expansion costs no memory; sizes and depths are counted as if it were written out, because
 * readers walk it as if it were.
 */
#ifndef STEPTIME_BASE_YAML_TREE_H
#define STEPTIME_BASE_YAML_TREE_H

#include "base/yaml.h"
#include "base/yaml_source.h"

#include <yaml.h>

/* One finished item of an open list or map. */
typedef struct st_yaml_entry {
    const st_yaml_node *key; /* NULL in a list, and where the key was refused */
    const st_yaml_node *value;
    size_t index; /* in its map, once that is closed */
} st_yaml_entry;

/* An open list or map; its entries lie on the common stack from `first_entry` on. */
typedef struct st_yaml_frame {
    st_yaml_node *node;
    const st_yaml_node *key; /* of the value to come */
    size_t first_entry;
    size_t nodes_before; /* `node_count` when it was opened */
    size_t height;       /* levels of lists and maps inside */
    size_t anchor;       /* index + 1, 0 for none */
    bool wants_key;
} st_yaml_frame;

typedef struct st_yaml_anchor {
    const char *name;
    const st_yaml_node *node; /* NULL while its list or map is open */
    size_t node_count;
    size_t height;
} st_yaml_anchor;

typedef struct st_yaml_tree {
    st_yaml_source source;
    st_arena *arena;
    st_errors *errors;
    st_yaml_frame frames[ST_YAML_MAX_DEPTH];
    size_t depth;
    st_yaml_entry *entries; /* malloc: a stack that shrinks again */
    size_t entry_count;
    size_t entry_capacity;
    st_yaml_anchor anchors[ST_YAML_MAX_ANCHORS];
    size_t anchor_count;
    size_t node_count;   /* aliases expanded */
    size_t cursor_index; /* a character of the source and the byte at which it starts */
    size_t cursor_byte;
    const st_yaml_node *root;
    /* Errors come in the order in which maps end; they are sorted before they are reported. */
    st_error faults[ST_ERRORS_KEPT];
    size_t fault_count; /* with those that were not kept */
    st_status status;   /* of the first error; other than ST_OK does not stop the reading */
    bool is_broken;     /* by an error after which the tree says nothing */
    bool is_done;
} st_yaml_tree;

/* Each takes one event of libyaml. */
void st_yaml_tree_scalar(st_yaml_tree *tree, const yaml_event_t *event);
void st_yaml_tree_alias(st_yaml_tree *tree, const yaml_event_t *event);
void st_yaml_tree_open(st_yaml_tree *tree, const yaml_event_t *event, st_yaml_kind kind);
void st_yaml_tree_close(st_yaml_tree *tree);

/* Keeps an error for later and ends the reading. */
void st_yaml_tree_stop(st_yaml_tree *tree, const st_error *fault);
void st_yaml_tree_stop_out_of_memory(st_yaml_tree *tree);

/* Adds the kept errors to the list of errors in the order of their places; the first one gives the
 * status. */
void st_yaml_tree_report(st_yaml_tree *tree);

st_place st_yaml_tree_place(const st_yaml_tree *tree, yaml_mark_t mark);

/* Byte of the source at a mark; marks must come in the order of the text. */
size_t st_yaml_tree_byte(st_yaml_tree *tree, yaml_mark_t mark);

#endif
