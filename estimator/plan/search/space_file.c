/* SPDX-License-Identifier: Apache-2.0 */
/* Reading spaces; see space_file.h. */
#include "search/space_file.h"

#include "base/memory.h"
#include "base/yaml_read.h"
#include "job/files.h"
#include "job/value.h"

#include <string.h>

typedef struct reader {
    st_yaml_reader yaml;
    st_space_file *space;
} reader;

/* --- lists that grow ------------------------------------------------------------------------- */

static bool has_room(reader *self, size_t count, st_place place)
{
    if (count >= ST_SPACE_FILE_MAX_ITEMS)
        ST_NOTE(&self->yaml, ST_ERR_LIMIT, place,
                "too many items in the space" ST_EXPECTED "at most 1000 of a kind");
    return count < ST_SPACE_FILE_MAX_ITEMS;
}

/* Location of what messages call an option. */
static void add_place(reader *self, const st_space_place *place)
{
    st_space_file *space = self->space;
    if (has_room(self, space->place_count, place->place))
        (void)ST_APPEND(self->yaml.arena, space->places, space->place_count, *place);
}

/* Takes one option's text up, and where it came from. */
static void add_option(reader *self, st_space_texts *list, const char *text,
                       const st_space_place *place)
{
    if (!has_room(self, list->count, place->place))
        return;
    (void)ST_APPEND(self->yaml.arena, list->items, list->count, text);
    add_place(self, place);
}

/* --- values ---------------------------------------------------------------------------------- */

static void refuse_item(reader *self, const st_yaml_node *item, const char *message,
                        const char *expected)
{
    ST_NOTE(&self->yaml, ST_ERR_VALUE, item->place, "%s" ST_FOUND "%s" ST_EXPECTED "%s", message,
            st_yaml_describe(item, self->yaml.errors), st_or_none(expected));
}

/* "1,2,4" of a list, or the text of a scalar; NULL where it is neither, which is reported. */
static const char *join_values(reader *self, const st_yaml_node *node)
{
    st_buffer text = {0};
    const char *joined = NULL;
    if (node->kind == ST_YAML_SCALAR)
        return node->text;
    if (node->kind == ST_YAML_MAP) {
        refuse_item(self, node, "a list of values cannot be a map",
                    "a value, a range or a list of them");
        return NULL;
    }
    for (size_t i = 0; i < node->count; i++) {
        const st_yaml_node *item = node->items[i];
        if (item->kind != ST_YAML_SCALAR || strchr(item->text, ',') != NULL) {
            refuse_item(self, item, "list items must be values", "one value");
            st_buffer_free(&text);
            return NULL;
        }
        st_buffer_text(&text, i > 0 ? "," : "");
        st_buffer_append(&text, item->text, item->length);
    }
    joined = st_buffer_keep(&text, self->yaml.arena);
    if (joined == NULL)
        self->yaml.status = ST_ERR_MEMORY;
    return joined;
}

static bool is_key_text(reader *self, const st_yaml_node *map, size_t index)
{
    const char *key = map->keys[index];
    if (key[0] != '\0' && strpbrk(key, "= ") == NULL)
        return true;
    ST_NOTE(&self->yaml, ST_ERR_NAME, map->key_places[index],
            "unknown job key '%.60s'" ST_EXPECTED "a key such as parallel.tp", key);
    return false;
}

/* A value that its key cannot take is reported with its own place. */
static bool is_value(reader *self, const char *path, const st_yaml_node *node)
{
    const st_key *key = st_key_find(path);
    const st_value_text value = {node->text, node->length, node->quoted, node->place};
    double number = 0;
    if (node->kind != ST_YAML_SCALAR) {
        refuse_item(self, node, "a key in 'set' must have one value", "one value");
        return false;
    }
    st_status status =
        key != NULL ? st_value_parse(key, &value, &number, self->yaml.errors) : ST_OK;
    st_note(&self->yaml.status, status);
    return status == ST_OK;
}

/* Every key of a map with its values, as options. An unknown key is at error itself; its values
 * follow it. */
static void read_assignments(reader *self, const st_yaml_node *map, const char *name,
                             st_space_texts *list)
{
    st_arena *arena = self->yaml.arena;
    bool sets = list == &self->space->sets;
    for (size_t i = 0; map != NULL && i < map->count; i++) {
        const st_yaml_node *node = map->items[i];
        if (!is_key_text(self, map, i) || (sets && !is_value(self, map->keys[i], node)))
            continue;
        const char *values = join_values(self, node);
        bool all = !sets && node->kind == ST_YAML_SCALAR && strcmp(node->text, "all") == 0;
        const char *text = values != NULL
                               ? st_arena_printf(arena, all ? "%s" : "%s=%s", map->keys[i], values)
                               : NULL;
        if (text == NULL)
            continue;
        add_option(self, list, text,
                   &(st_space_place){.option = st_arena_printf(arena, "%s %.*s", name,
                                                               sets ? INT32_MAX : 200, text),
                                     .place = map->key_places[i]});
    }
}

/* --- groups that advance together ------------------------------------------------------------ */

static void read_group(reader *self, const st_yaml_node *group)
{
    st_space_file *space = self->space;
    if (!st_read_is(&self->yaml, group, ST_YAML_MAP, "keys that advance together must be a map"))
        return;
    if (group->count < 2) {
        refuse_item(self, group, "a single key cannot advance together", "two or more keys");
        return;
    }
    read_assignments(self, group, "--vary", &space->varies);
    for (size_t i = 1; i < group->count; i++) {
        const st_joined one = {group->keys[i], group->keys[0]};
        if (!has_room(self, space->joined_count, group->items[i]->place))
            return;
        (void)ST_APPEND(self->yaml.arena, space->joined, space->joined_count, one);
    }
}

/* --- the whole ------------------------------------------------------------------------------- */

static void read_space(reader *self, const st_yaml_node *root)
{
    static const char *const known[] = {"space", "doc",  "gpus", "set",
                                        "only",  "vary", "zip",  "where"};
    st_yaml_reader *yaml = &self->yaml;
    if (!st_read_is(yaml, root, ST_YAML_MAP, "a space must be a map"))
        return;
    st_read_keys(yaml, root, "a space", known, ST_COUNT(known), 1);
    self->space->title = st_read_text(yaml, root, "space", "");
    (void)st_read_text(yaml, root, "doc", "");
    const st_yaml_node *node = st_yaml_get(root, "gpus");
    const char *values = node != NULL ? join_values(self, node) : NULL;
    if (values != NULL) {
        self->space->gpus = values;
        self->space->gpus_place = node->place;
        add_place(self, &(st_space_place){
                            .option = st_arena_printf(self->yaml.arena, "--gpus %.200s", values),
                            .place = node->place});
    }
    read_assignments(self, st_read_map(yaml, root, "set"), "--set", &self->space->sets);
    read_assignments(self, st_read_map(yaml, root, "only"), "--only", &self->space->only);
    read_assignments(self, st_read_map(yaml, root, "vary"), "--vary", &self->space->varies);
    const st_yaml_node *groups = st_read_list(yaml, root, "zip", ST_SPACE_FILE_MAX_ITEMS);
    for (size_t i = 0; groups != NULL && i < groups->count; i++)
        read_group(self, groups->items[i]);
    const st_yaml_node *list = st_read_list(yaml, root, "where", ST_SPACE_FILE_MAX_ITEMS);
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        const st_yaml_node *item = list->items[i];
        if (!st_read_is(&self->yaml, item, ST_YAML_SCALAR, "a condition must be a string"))
            continue;
        const char *option = st_arena_printf(self->yaml.arena, "--where '%s'", item->text);
        add_option(self, &self->space->wheres, item->text,
                   &(st_space_place){.option = option, .place = item->place, .condition = item});
    }
    /* what concerns all axes together */
    add_place(self, &(st_space_place){.option = "--vary", .place = root->place});
}

st_status st_space_file_parse(const char *file, const char *text, size_t length, st_arena *arena,
                              st_space_file *space, st_errors *errors)
{
    const st_yaml_node *root = NULL;
    reader self = {.yaml = {.arena = arena, .errors = errors, .file = file}, .space = space};
    *space = (st_space_file){.title = ""};
    st_status status = st_yaml_parse(file, text, length, arena, &root, errors);
    if (root != NULL)
        read_space(&self, root);
    if (self.yaml.status == ST_ERR_MEMORY || st_arena_failed(arena))
        return st_out_of_memory(errors);
    return status == ST_OK ? self.yaml.status : status;
}

st_status st_space_file_read(const char *path, st_arena *arena, st_space_file *space,
                             st_errors *errors)
{
    st_source source = {0};
    st_place place = {.file = "--space"};
    st_status status = st_file_read(path, place, arena, &source, errors);
    return status == ST_OK
               ? st_space_file_parse(source.file, source.text, source.length, arena, space, errors)
               : status;
}

/* --- requests -------------------------------------------------------------------------------- */

/* The texts of the file, then those of the command line. */
static bool add_texts(st_arena *arena, const char *const *own, size_t own_count,
                      const char *const **texts, size_t *count)
{
    const char **list = st_arena_alloc(arena, own_count + *count + 1, sizeof *list);
    if (list == NULL)
        return false;
    if (own_count > 0)
        memcpy(list, own, own_count * sizeof *list);
    if (*count > 0)
        memcpy(list + own_count, *texts, *count * sizeof *list);
    *texts = list;
    *count += own_count;
    return true;
}

static size_t key_length(const char *vary)
{
    size_t length = strcspn(vary, "=");
    while (length > 0 && vary[length - 1] == ' ')
        length--;
    return length;
}

typedef struct text_list {
    const char *const *items;
    size_t count;
} text_list;

static bool has_key(text_list list, const char *text)
{
    size_t length = key_length(text);
    for (size_t i = 0; i < list.count; i++)
        if (key_length(list.items[i]) == length && memcmp(list.items[i], text, length) == 0)
            return true;
    return false;
}

/* Axes of the file before those of the request, but for keys that the request varies itself. */
static bool add_axes(text_list file, const text_list given[2], st_arena *arena, text_list *axes)
{
    const char **own = st_arena_alloc(arena, file.count + 1, sizeof *own);
    size_t count = 0;
    for (size_t i = 0; own != NULL && i < file.count; i++)
        if (!has_key(given[0], file.items[i]) && !has_key(given[1], file.items[i]))
            own[count++] = file.items[i];
    return own != NULL && add_texts(arena, own, count, &axes->items, &axes->count);
}

/* What searches and sweeps take from a file alike. */
static st_status add_common(const st_space_file *space, st_arena *arena, st_space_request *request,
                            st_errors *errors)
{
    if (!add_texts(arena, space->sets.items, space->sets.count, &request->sets,
                   &request->set_count) ||
        !add_texts(arena, space->wheres.items, space->wheres.count, &request->wheres,
                   &request->where_count))
        return st_out_of_memory(errors);
    request->joined = space->joined;
    request->joined_count = space->joined_count;
    return ST_OK;
}

st_status st_space_file_add(const st_space_file *space, st_arena *arena, st_search_request *request,
                            st_errors *errors)
{
    const text_list given[2] = {{request->only, request->only_count},
                                {request->varies, request->vary_count}};
    text_list only = given[0];
    text_list varies = given[1];
    if (!add_axes((text_list){space->only.items, space->only.count}, given, arena, &only) ||
        !add_axes((text_list){space->varies.items, space->varies.count}, given, arena, &varies))
        return st_out_of_memory(errors);
    request->gpus = request->gpus != NULL ? request->gpus : space->gpus;
    request->only = only.items;
    request->only_count = only.count;
    request->limited = request->limited || space->only.count > 0;
    request->varies = varies.items;
    request->vary_count = varies.count;
    return add_common(space, arena, &request->space, errors);
}

st_status st_space_file_add_axes(const st_space_file *space, st_arena *arena,
                                 st_space_request *request, st_errors *errors)
{
    const text_list given[2] = {{request->overs, request->over_count}, {NULL, 0}};
    text_list axes = given[0];
    if (space->gpus != NULL)
        return st_fail(errors, ST_ERR_USAGE, space->gpus_place,
                       "a sweep cannot vary the number of GPUs" ST_EXPECTED
                       "axes over cluster.nodes and parallel.dp, or 'steptime search'");
    if (!add_axes((text_list){space->varies.items, space->varies.count}, given, arena, &axes) ||
        !add_axes((text_list){space->only.items, space->only.count}, given, arena, &axes))
        return st_out_of_memory(errors);
    request->overs = axes.items;
    request->over_count = axes.count;
    return add_common(space, arena, request, errors);
}

/* --- messages -------------------------------------------------------------------------------- */

/* A sweep knows what is varied as --over. */
static bool is_option(const char *option, const char *file)
{
    static const char over[] = "--over";
    size_t length = sizeof over - 1;
    bool axis = strncmp(option, "--vary", length) == 0 || strncmp(option, "--only", length) == 0;
    return strcmp(option, file) == 0 || (axis && strncmp(file, over, length) == 0 &&
                                         strcmp(option + length, file + length) == 0);
}

bool st_space_file_place(const void *space, st_errors *errors, st_error *error)
{
    const st_space_place *found = NULL;
    const st_space_file *place_space = space;
    for (size_t i = 0; error->place.file != NULL && i < place_space->place_count; i++)
        if (is_option(place_space->places[i].option, error->place.file)) {
            found = &place_space->places[i];
            break;
        }
    size_t column = error->place.column > 0 ? (size_t)error->place.column - 1 : 0;
    (void)errors;
    if (found != NULL)
        error->place =
            found->condition != NULL ? st_yaml_place_at(found->condition, column) : found->place;
    return true;
}
