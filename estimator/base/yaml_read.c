/* SPDX-License-Identifier: Apache-2.0 */
/* Members of YAML maps, and the messages about them; see yaml_read.h. */
#include "base/yaml_read.h"

#include <string.h>

void *st_read_alloc(st_yaml_reader *reader, size_t count, size_t size_bytes)
{
    void *memory = st_arena_alloc(reader->arena, count, size_bytes);
    if (memory == NULL)
        reader->status = ST_ERR_MEMORY;
    return memory;
}

bool st_read_is(st_yaml_reader *reader, const st_yaml_node *node, st_yaml_kind kind,
                const char *what)
{
    static const char *const names[] = {
        [ST_YAML_SCALAR] = "a text", [ST_YAML_LIST] = "a list", [ST_YAML_MAP] = "a map"};
    if (node->kind == kind)
        return true;
    ST_NOTE(reader, ST_ERR_VALUE, node->place, "%s" ST_FOUND "%s" ST_EXPECTED "%s", what,
            st_yaml_describe(node, reader->errors), st_or_none(names[kind]));
    return false;
}

/* The member of a map, of that kind; NULL where there is none. */
static const st_yaml_node *member(st_yaml_reader *reader, const st_yaml_node *map, const char *key,
                                  st_yaml_kind kind)
{
    static const char *const names[] = {
        [ST_YAML_SCALAR] = "text", [ST_YAML_LIST] = "a list", [ST_YAML_MAP] = "a map"};
    const st_yaml_node *node = st_yaml_get(map, key);
    if (node == NULL || node->kind == kind)
        return node;
    (void)st_read_is(reader, node, kind,
                     st_errors_text(reader->errors, "'%s' must be %s", key, names[kind]));
    return NULL;
}

void st_read_keys(st_yaml_reader *reader, const st_yaml_node *map, const char *what,
                  const char *const *known, size_t count, size_t required)
{
    for (size_t i = 0; i < map->count; i++)
        if (!st_has_text(known, count, map->keys[i]))
            ST_NOTE(reader, ST_ERR_NAME, map->key_places[i], "unknown key '%s' in %s" ST_HINT "%s",
                    map->keys[i], what,
                    st_errors_nearest(reader->errors, map->keys[i], known, count));
    for (size_t i = 0; i < required; i++)
        if (st_yaml_get(map, known[i]) == NULL)
            ST_NOTE(reader, ST_ERR_NAME, map->place, "missing key '%s' in %s", known[i], what);
}

const char *st_read_text(st_yaml_reader *reader, const st_yaml_node *map, const char *key,
                         const char *otherwise)
{
    const st_yaml_node *node = member(reader, map, key, ST_YAML_SCALAR);
    if (node == NULL)
        return otherwise;
    if (node->length > 0)
        return node->text;
    ST_NOTE(reader, ST_ERR_VALUE, node->place, "'%s' is empty", key);
    return otherwise;
}

bool st_read_bool(st_yaml_reader *reader, const st_yaml_node *map, const char *key)
{
    const st_yaml_node *node = st_yaml_get(map, key);
    if (node == NULL)
        return false;
    bool plain = node->kind == ST_YAML_SCALAR && !node->quoted;
    if (plain && strcmp(node->text, "true") == 0)
        return true;
    if (!plain || strcmp(node->text, "false") != 0)
        ST_NOTE(reader, ST_ERR_VALUE, node->place,
                "'%s' must be true or false" ST_FOUND "%s" ST_EXPECTED "true or false", key,
                st_yaml_describe(node, reader->errors));
    return false;
}

const st_yaml_node *st_read_list(st_yaml_reader *reader, const st_yaml_node *map, const char *key,
                                 size_t most)
{
    const st_yaml_node *node = member(reader, map, key, ST_YAML_LIST);
    if (node == NULL || node->count <= most)
        return node;
    ST_NOTE(reader, ST_ERR_LIMIT, node->place, "'%s' has %zu items" ST_EXPECTED "at most %zu", key,
            node->count, most);
    return NULL;
}

const st_yaml_node *st_read_map(st_yaml_reader *reader, const st_yaml_node *map, const char *key)
{
    return member(reader, map, key, ST_YAML_MAP);
}

void *st_read_room(st_yaml_reader *reader, const st_yaml_node **node, size_t size_bytes)
{
    static const st_yaml_node empty = {.count = 0};
    void *room = *node != NULL ? st_read_alloc(reader, (*node)->count + 1, size_bytes) : NULL;
    *node = room != NULL ? *node : &empty;
    return room;
}

const char **st_read_texts(st_yaml_reader *reader, const st_yaml_node *list, const char *what,
                           size_t *count)
{
    const char **texts = st_read_room(reader, &list, sizeof *texts);
    *count = 0;
    for (size_t i = 0; i < list->count; i++)
        if (st_read_is(reader, list->items[i], ST_YAML_SCALAR, what))
            texts[(*count)++] = list->items[i]->text;
    return texts;
}

double st_read_quantity(st_yaml_reader *reader, const st_yaml_node *map, const char *key,
                        const st_unit *unit, double otherwise)
{
    const char *text = st_read_text(reader, map, key, NULL);
    if (text != NULL)
        st_note(&reader->status,
                st_quantity_parse(text, strlen(text), unit, st_yaml_get(map, key)->place,
                                  &otherwise, reader->errors));
    return otherwise;
}
