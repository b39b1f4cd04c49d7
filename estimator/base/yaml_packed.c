/* SPDX-License-Identifier: Apache-2.0 */
/* From packed trees to those of yaml.h: four arrays, each filled in one pass. */
#include "base/yaml_packed.h"

#include "base/memory.h"

typedef struct unpacked {
    st_yaml_node *nodes;
    const char **keys;
    st_place *key_places;
    const st_yaml_node **items;
} unpacked;

static st_place place_in(const st_source *source, uint32_t line, uint32_t column)
{
    return (st_place){.file = source->file, .line = (int)line, .column = (int)column};
}

st_status st_yaml_read(const st_source *source, st_arena *arena, const st_yaml_node **root,
                       st_errors *errors)
{
    if (source->tree == NULL)
        return st_yaml_parse(source->file, source->text, source->length, arena, root, errors);
    const st_yaml_packed *packed = source->tree;
    const unpacked tree = {
        .nodes = st_arena_alloc(arena, packed->node_count, sizeof *tree.nodes),
        .keys = st_arena_alloc(arena, packed->entry_count, sizeof *tree.keys),
        .key_places = st_arena_alloc(arena, packed->entry_count, sizeof *tree.key_places),
        .items = st_arena_alloc(arena, packed->entry_count, sizeof *tree.items),
    };
    if (tree.nodes == NULL || tree.keys == NULL || tree.key_places == NULL || tree.items == NULL)
        return st_out_of_memory(errors);
    const st_yaml_packed *entrie_packed = source->tree;
    for (size_t i = 0; i < entrie_packed->entry_count; i++) {
        const st_yaml_packed_entry *entry = &entrie_packed->entries[i];
        tree.keys[i] = (const char *)entrie_packed->texts + entry->key;
        tree.key_places[i] = place_in(source, entry->line, entry->column);
        tree.items[i] = &tree.nodes[entry->node];
    }
    for (size_t i = 0; i < packed->node_count; i++) {
        const st_yaml_packed_node *node_packed = &source->tree->nodes[i];
        st_yaml_node *node = &tree.nodes[i];
        node->kind = (st_yaml_kind)node_packed->kind;
        node->place = place_in(source, node_packed->line, node_packed->column);
        node->source = source->text;
        node->source_length = source->length;
        node->source_offset = node_packed->offset;
        if (node->kind == ST_YAML_SCALAR) {
            node->text = (const char *)source->tree->texts + node_packed->first;
            node->length = node_packed->count;
            node->quoted = node_packed->quoted;
            continue;
        }
        node->count = node_packed->count;
        node->items = tree.items + node_packed->first;
        if (node->kind == ST_YAML_MAP) {
            node->keys = tree.keys + node_packed->first;
            node->key_places = tree.key_places + node_packed->first;
        }
    }
    *root = tree.nodes;
    return ST_OK;
}
