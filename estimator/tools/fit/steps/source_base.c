/* SPDX-License-Identifier: Apache-2.0 */
/* A source that reads its rows as another does, and says only what differs; see source_base.h. */
#include "fit/steps/source_base.h"

#include <string.h>

/* What a source takes from its base. */
static const char *const shared[] = {"columns", "gpus",   "numbers", "words",
                                     "lists",   "assume", "ignore"};
enum { SHARED = ST_COUNT(shared), BASES_MAX = 4 };

typedef struct node_room {
    const char **keys;
    st_place *places;
    const st_yaml_node **items;
    size_t count;
} node_room;

static bool make_room(st_yaml_reader *reader, size_t count, node_room *room)
{
    *room = (node_room){.keys = st_read_alloc(reader, count + 1, sizeof(char *)),
                        .places = st_read_alloc(reader, count + 1, sizeof(st_place)),
                        .items = st_read_alloc(reader, count + 1, sizeof(st_yaml_node *))};
    return room->keys != NULL && room->places != NULL && room->items != NULL;
}

static void put_item(const st_yaml_node *from, size_t index, node_room *room)
{
    if (from->kind == ST_YAML_MAP) {
        room->keys[room->count] = from->keys[index];
        room->places[room->count] = from->key_places[index];
    }
    room->items[room->count++] = from->items[index];
}

static const st_yaml_node *node_of(st_yaml_reader *reader, const st_yaml_node *like,
                                   const node_room *room)
{
    st_yaml_node *node = st_read_alloc(reader, 1, sizeof *node);
    if (node == NULL)
        return like;
    *node = *like;
    node->keys = room->keys;
    node->key_places = room->places;
    node->items = room->items;
    node->count = room->count;
    return node;
}

/* Lists one behind the other; of maps what the own one lacks. */
static const st_yaml_node *merge(st_yaml_reader *reader, const st_yaml_node *base,
                                 const st_yaml_node *given)
{
    node_room room;
    if (base == NULL || given == NULL || base->kind != given->kind || given->kind == ST_YAML_SCALAR)
        return given != NULL ? given : base;
    if (!make_room(reader, base->count + given->count, &room))
        return given;
    for (size_t i = 0; i < base->count; i++)
        if (given->kind == ST_YAML_LIST || st_yaml_get(given, base->keys[i]) == NULL)
            put_item(base, i, &room);
    for (size_t i = 0; i < given->count; i++)
        put_item(given, i, &room);
    return node_of(reader, given, &room);
}

static bool is_shared(const char *key)
{
    return st_has_text(shared, SHARED, key);
}

static const st_yaml_node *merge_roots(st_yaml_reader *reader, const st_yaml_node *base,
                                       const st_yaml_node *given)
{
    node_room room;
    if (!make_room(reader, given->count + SHARED, &room))
        return given;
    for (size_t i = 0; i < given->count; i++) {
        put_item(given, i, &room);
        if (is_shared(given->keys[i]))
            room.items[i] = merge(reader, st_yaml_get(base, given->keys[i]), given->items[i]);
    }
    for (size_t i = 0; i < base->count; i++)
        if (is_shared(base->keys[i]) && st_yaml_get(given, base->keys[i]) == NULL)
            put_item(base, i, &room);
    return node_of(reader, given, &room);
}

/* A base may have a base of its own; a circle is one that is too long. */
static st_status read_from(const st_paths *paths, const char *name, size_t left, st_arena *arena,
                           const st_yaml_node **root, st_errors *errors)
{
    const st_yaml_node *base = NULL;
    st_status status = st_paths_read_yaml(paths, ST_FOLDER_TABLES, name, arena, root, errors);
    if (status != ST_OK || st_yaml_get(*root, "base") == NULL)
        return status;
    if (left == 0)
        return st_fail(errors, ST_ERR_CYCLE, st_yaml_get(*root, "base")->place,
                       "too many bases, or a circle of them" ST_EXPECTED "at most %d", BASES_MAX);
    st_yaml_reader reader = {.arena = arena, .errors = errors, .file = (*root)->place.file};
    const char *other = st_read_text(&reader, *root, "base", "");
    if (reader.status != ST_OK)
        return reader.status;
    status = read_from(paths, other, left - 1, arena, &base, errors);
    if (status == ST_OK && base->kind == ST_YAML_MAP)
        *root = merge_roots(&reader, base, *root);
    return status != ST_OK ? status : reader.status;
}

st_status st_source_read(const st_paths *paths, const char *name, st_arena *arena,
                         const st_yaml_node **root, st_errors *errors)
{
    return read_from(paths, name, BASES_MAX, arena, root, errors);
}
