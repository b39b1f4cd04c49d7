/* SPDX-License-Identifier: Apache-2.0 */
/* Building the tree of yaml.h; see yaml_tree.h. */
#include "base/yaml_tree.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

st_place st_yaml_tree_place(const st_yaml_tree *tree, yaml_mark_t mark)
{
    return (st_place){
        .file = tree->source.file, .line = (int)mark.line + 1, .column = (int)mark.column + 1};
}

static void keep_fault(st_yaml_tree *tree, const st_error *fault)
{
    if (tree->status == ST_OK)
        tree->status = fault->status;
    if (tree->fault_count < ST_ERRORS_KEPT)
        tree->faults[tree->fault_count] = *fault;
    tree->fault_count++;
}

static void keep_error(st_yaml_tree *tree, const st_error *fault)
{
    tree->is_broken = true;
    keep_fault(tree, fault);
}

void st_yaml_tree_stop(st_yaml_tree *tree, const st_error *fault)
{
    keep_error(tree, fault);
    tree->is_done = true;
}

void st_yaml_tree_stop_out_of_memory(st_yaml_tree *tree)
{
    st_yaml_tree_stop(tree, &(st_error){.status = ST_ERR_MEMORY,
                                        .place = {.file = tree->source.file},
                                        .message = "out of memory"});
}

static const char *copy_text(st_yaml_tree *tree, const char *text, size_t length)
{
    const char *copy = st_arena_copy(tree->arena, text, length);
    if (copy == NULL)
        st_yaml_tree_stop_out_of_memory(tree);
    return copy;
}

/* libyaml counts characters, so that the source is walked; one walk serves all nodes. */
size_t st_yaml_tree_byte(st_yaml_tree *tree, yaml_mark_t mark)
{
    while (tree->cursor_index < mark.index && tree->cursor_byte < tree->source.length) {
        uint32_t code;
        size_t size = st_utf8_decode(tree->source.text + tree->cursor_byte,
                                     tree->source.length - tree->cursor_byte, &code);
        tree->cursor_byte += size > 0 ? size : 1;
        tree->cursor_index++;
    }
    return tree->cursor_byte;
}

static st_yaml_node *new_node(st_yaml_tree *tree, st_yaml_kind kind, yaml_mark_t mark)
{
    if (++tree->node_count > ST_YAML_MAX_NODES) {
        st_yaml_tree_stop(tree, &(st_error){.status = ST_ERR_LIMIT,
                                            .place = st_yaml_tree_place(tree, mark),
                                            .message = "the file has too many values",
                                            .expected = st_errors_text(tree->errors, "at most %d",
                                                                       (int)ST_YAML_MAX_NODES)});
        return NULL;
    }
    st_yaml_node *node = st_arena_alloc(tree->arena, 1, sizeof *node);
    if (node == NULL) {
        st_yaml_tree_stop_out_of_memory(tree);
        return NULL;
    }
    node->kind = kind;
    node->source = tree->source.text;
    node->source_length = tree->source.length;
    node->source_offset = st_yaml_tree_byte(tree, mark);
    /* At the end of a file libyaml reports a further line. */
    node->place = node->source_offset == tree->source.length
                      ? st_yaml_source_place(&tree->source, tree->source.length)
                      : st_yaml_tree_place(tree, mark);
    return node;
}

static void refuse_tag(st_yaml_tree *tree, const yaml_char_t *tag, yaml_mark_t mark)
{
    if (tag == NULL)
        return;
    keep_error(tree, &(st_error){.status = ST_ERR_SYNTAX,
                                 .place = st_yaml_tree_place(tree, mark),
                                 .message = "tags have no meaning here",
                                 .found = st_errors_text(tree->errors, "'%s'", (const char *)tag),
                                 .expected = "an untagged value",
                                 .suggestion = "quote text that begins with '!'"});
}

/* Remembers an anchor; returns its index + 1, or 0 for none. A name used again means the later. */
static size_t add_anchor(st_yaml_tree *tree, const yaml_char_t *name, yaml_mark_t mark)
{
    if (name == NULL)
        return 0;
    if (tree->anchor_count == ST_YAML_MAX_ANCHORS) {
        st_yaml_tree_stop(tree, &(st_error){.status = ST_ERR_LIMIT,
                                            .place = st_yaml_tree_place(tree, mark),
                                            .message = "the file has too many anchors",
                                            .expected = st_errors_text(tree->errors, "at most %d",
                                                                       (int)ST_YAML_MAX_ANCHORS)});
        return 0;
    }
    const char *copy = copy_text(tree, (const char *)name, strlen((const char *)name));
    tree->anchors[tree->anchor_count] = (st_yaml_anchor){.name = copy};
    return copy != NULL ? ++tree->anchor_count : 0;
}

static bool push_entry(st_yaml_tree *tree, st_yaml_entry item)
{
    if (tree->entry_count == tree->entry_capacity) {
        size_t capacity = tree->entry_capacity > 0 ? 2 * tree->entry_capacity : 64;
        st_yaml_entry *grown = realloc(tree->entries, capacity * sizeof *grown);
        if (grown == NULL) {
            st_yaml_tree_stop_out_of_memory(tree);
            return false;
        }
        tree->entries = grown;
        tree->entry_capacity = capacity;
    }
    tree->entries[tree->entry_count++] = item;
    return true;
}

/* Puts a finished node where it belongs. */
static void attach(st_yaml_tree *tree, const st_yaml_node *node, size_t height)
{
    if (tree->depth == 0) {
        tree->root = node;
        return;
    }
    st_yaml_frame *top = &tree->frames[tree->depth - 1];
    if (height > top->height)
        top->height = height;
    if (top->wants_key) {
        top->wants_key = false;
        top->key = node->kind == ST_YAML_SCALAR ? node : NULL;
        if (top->key == NULL)
            keep_error(tree, &(st_error){.status = ST_ERR_SYNTAX,
                                         .place = node->place,
                                         .message = "key must be a name",
                                         .found = node->kind == ST_YAML_LIST ? "a list" : "a map",
                                         .expected = "a name followed by ':'",
                                         .suggestion = "quote text that begins with '[' or '{'"});
        return;
    }
    if (push_entry(tree, (st_yaml_entry){.key = top->key, .value = node}))
        top->wants_key = top->node->kind == ST_YAML_MAP;
}

void st_yaml_tree_scalar(st_yaml_tree *tree, const yaml_event_t *event)
{
    refuse_tag(tree, event->data.scalar.tag, event->start_mark);
    /* Escapes can write what a file must not hold. */
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (event->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE) {
        for (size_t i = 0; i < length;) {
            uint32_t code = 0;
            size_t size = st_utf8_decode(text + i, length - i, &code);
            if (size == 0 || (st_utf8_is_control(code) && code != '\n' && code != '\t')) {
                keep_error(tree, &(st_error){.status = ST_ERR_SYNTAX,
                                             .place = st_yaml_tree_place(tree, event->start_mark),
                                             .message = "control character in a text",
                                             .found = st_errors_text(tree->errors, "U+%04X",
                                                                     (unsigned)code),
                                             .expected = "printable text"});
                break;
            }
            i += size;
        }
    }
    size_t anchored = add_anchor(tree, event->data.scalar.anchor, event->start_mark);
    st_yaml_node *node = tree->is_done ? NULL : new_node(tree, ST_YAML_SCALAR, event->start_mark);
    if (node == NULL)
        return;
    node->length = event->data.scalar.length;
    node->text = copy_text(tree, (const char *)event->data.scalar.value, node->length);
    if (node->text == NULL)
        return;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (anchored > 0) {
        tree->anchors[anchored - 1].node = node;
        tree->anchors[anchored - 1].node_count = 1;
    }
    attach(tree, node, 0);
}

static void refuse_depth(st_yaml_tree *tree, yaml_mark_t mark)
{
    st_yaml_tree_stop(tree,
                      &(st_error){.status = ST_ERR_LIMIT,
                                  .place = st_yaml_tree_place(tree, mark),
                                  .message = "lists and maps are nested too deep",
                                  .expected = st_errors_text(tree->errors, "at most %d levels",
                                                             (int)ST_YAML_MAX_DEPTH)});
}

void st_yaml_tree_open(st_yaml_tree *tree, const yaml_event_t *event, st_yaml_kind kind)
{
    bool is_map = kind == ST_YAML_MAP;
    const yaml_char_t *name =
        is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    refuse_tag(tree, is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag,
               event->start_mark);
    if (tree->depth == ST_YAML_MAX_DEPTH) {
        refuse_depth(tree, event->start_mark);
        return;
    }
    size_t nodes_before = tree->node_count;
    size_t anchored = add_anchor(tree, name, event->start_mark);
    st_yaml_node *node = tree->is_done ? NULL : new_node(tree, kind, event->start_mark);
    if (node != NULL)
        tree->frames[tree->depth++] = (st_yaml_frame){.node = node,
                                                      .first_entry = tree->entry_count,
                                                      .nodes_before = nodes_before,
                                                      .anchor = anchored,
                                                      .wants_key = is_map};
}

/* By key, and by place where keys are equal. */
ST_COMPARE(compare_keys, st_yaml_entry, ST_BY_TEXT(key->text) ST_RISING(key->source_offset));

/* Moves the entries of a frame into its node. */
static bool fill_node(st_yaml_tree *tree, const st_yaml_frame *top)
{
    st_yaml_node *node = top->node;
    size_t count = tree->entry_count - top->first_entry;
    st_yaml_entry *entries = count > 0 ? tree->entries + top->first_entry : NULL;
    const st_yaml_node **items = st_arena_alloc(tree->arena, count, sizeof *items);
    bool is_map = node->kind == ST_YAML_MAP;
    const char **keys = is_map ? st_arena_alloc(tree->arena, count, sizeof *keys) : NULL;
    st_place *places = is_map ? st_arena_alloc(tree->arena, count, sizeof *places) : NULL;
    if (items == NULL || (is_map && (keys == NULL || places == NULL))) {
        st_yaml_tree_stop_out_of_memory(tree);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = entries[i].value;
        if (is_map) {
            keys[i] = entries[i].key != NULL ? entries[i].key->text : "";
            places[i] = entries[i].key != NULL ? entries[i].key->place : entries[i].value->place;
        }
    }
    if (is_map && count > 1) {
        /* Reports keys that appear twice; the later ones become NULL in `keys`. Sorts the
         * entries, which have been copied by now. */
        size_t keyed = 0;
        for (size_t i = 0; i < count; i++) {
            entries[i].index = i;
            if (entries[i].key != NULL)
                entries[keyed++] = entries[i];
        }
        qsort(entries, keyed, sizeof *entries, compare_keys);
        for (size_t i = 1; i < keyed; i++) {
            const st_yaml_node *key = entries[i].key;
            const st_yaml_node *before = entries[i - 1].key;
            if (strcmp(key->text, before->text) != 0)
                continue;
            keys[entries[i].index] = NULL;
            keep_fault(tree, &(st_error){.status = ST_ERR_NAME,
                                         .place = key->place,
                                         .message = st_errors_text(
                                             tree->errors, "key '%s' appears twice", key->text),
                                         .suggestion = st_errors_text(
                                             tree->errors, "first defined at line %d, column %d",
                                             before->place.line, before->place.column)});
        }
        /* Takes out the items whose keys are NULL; returns how many stay. */
        size_t kept = 0;
        for (size_t i = 0; i < count; i++) {
            if (keys[i] == NULL)
                continue;
            items[kept] = items[i];
            places[kept] = places[i];
            keys[kept++] = keys[i];
        }
        count = kept;
    }
    node->items = items;
    node->keys = keys;
    node->key_places = places;
    node->count = count;
    return true;
}

void st_yaml_tree_close(st_yaml_tree *tree)
{
    st_yaml_frame top = tree->frames[--tree->depth];
    if (!fill_node(tree, &top))
        return;
    tree->entry_count = top.first_entry;
    if (top.anchor > 0) {
        st_yaml_anchor *named = &tree->anchors[top.anchor - 1];
        named->node = top.node;
        named->node_count = tree->node_count - top.nodes_before;
        named->height = top.height + 1;
    }
    attach(tree, top.node, top.height + 1);
}

void st_yaml_tree_alias(st_yaml_tree *tree, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    const st_yaml_anchor *named = NULL;
    for (size_t i = tree->anchor_count; i > 0; i--)
        if (strcmp(tree->anchors[i - 1].name, name) == 0) {
            named = &tree->anchors[i - 1];
            break;
        }
    if (named == NULL || named->node == NULL) {
        const bool is_open = named != NULL;
        st_yaml_tree_stop(
            tree, &(st_error){.status = is_open ? ST_ERR_CYCLE : ST_ERR_NAME,
                              .place = st_yaml_tree_place(tree, event->start_mark),
                              .message = st_errors_text(
                                  tree->errors,
                                  is_open ? "alias '*%s' refers to a value that contains it"
                                          : "unknown anchor '*%s'",
                                  name),
                              .suggestion = is_open ? NULL : "quote text that begins with '*'"});
        return;
    }
    if (tree->depth + named->height > ST_YAML_MAX_DEPTH) {
        refuse_depth(tree, event->start_mark);
        return;
    }
    tree->node_count += named->node_count;
    if (tree->node_count > ST_YAML_MAX_NODES)
        st_yaml_tree_stop(
            tree, &(st_error){.status = ST_ERR_LIMIT,
                              .place = st_yaml_tree_place(tree, event->start_mark),
                              .message = "aliases expand to too many values",
                              .expected = st_errors_text(tree->errors, "at most %d in the file",
                                                         (int)ST_YAML_MAX_NODES)});
    else
        attach(tree, named->node, named->height);
}

ST_COMPARE(compare_places, st_error, ST_RISING(place.line) ST_RISING(place.column));

void st_yaml_tree_report(st_yaml_tree *tree)
{
    size_t kept = tree->fault_count < ST_ERRORS_KEPT ? tree->fault_count : ST_ERRORS_KEPT;
    qsort(tree->faults, kept, sizeof tree->faults[0], compare_places);
    if (kept > 0)
        tree->status = tree->faults[0].status;
    /* The list keeps no more than this tree does: what comes behind is only counted there. */
    for (size_t i = 0; i < tree->fault_count; i++)
        (void)st_errors_add(tree->errors, &tree->faults[i < kept ? i : 0]);
}
