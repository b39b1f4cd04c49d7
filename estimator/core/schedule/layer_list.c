/* SPDX-License-Identifier: Apache-2.0 */
/* Reading layer lists. Repeats are unrolled; their depth and the number of tensors are bounded. */
#include "schedule/layer_list.h"

#include "base/memory.h"
#include "base/yaml_read.h"

#include <string.h>

enum { MAX_TENSORS = 100000, MAX_DEPTH = 8 };

typedef struct st_layers_reader {
    st_layers *layers;
    st_tensor first; /* what layers without parameters did before the first tensor */
    size_t holder;   /* first tensor of the last layer that had parameters */
    st_arena *arena;
    st_errors *errors;
    bool full;
} st_layers_reader;

static ST_PRINTF(3, 4) bool fault(st_layers_reader *reader, st_place place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)st_vfail(reader->errors, ST_ERR_VALUE, place, format, arguments);
    va_end(arguments);
    return false;
}

static bool check_keys(st_layers_reader *reader, const st_yaml_node *map, const char *what,
                       const char *const *known, size_t count)
{
    st_yaml_reader keys = {.errors = reader->errors};
    st_read_keys(&keys, map, what, known, count, 0);
    return keys.status == ST_OK;
}

/* A number of at least `least`; false (reported) where there is none. */
static bool read_number(st_layers_reader *reader, const st_yaml_node *node, double least,
                        double *value)
{
    if (node == NULL || node->kind != ST_YAML_SCALAR) {
        st_place nowhere = {0};
        return fault(reader, node == NULL ? nowhere : node->place,
                     "missing count" ST_EXPECTED "a whole number");
    }
    if (st_number_parse(node->text, node->length, st_yaml_place_at(node, 0), value,
                        reader->errors) != ST_OK)
        return false;
    if (*value < least || *value > 1e18 || *value != (double)(int64_t)*value)
        return fault(reader, node->place,
                     "'%.40s' is not a count" ST_EXPECTED "a whole number, not negative",
                     node->text);
    return true;
}

static bool add_tensor(st_layers_reader *reader, st_place place, const st_tensor *tensor)
{
    st_layers *layers = reader->layers;
    if (layers->count == MAX_TENSORS) {
        reader->full = true;
        return fault(reader, place, "the list has too many tensors" ST_EXPECTED "at most 100000");
    }
    if (!ST_APPEND(reader->arena, layers->tensors, layers->count, *tensor)) {
        reader->full = true;
        return fault(reader, place, "out of memory");
    }
    layers->parameters += tensor->parameters;
    return true;
}

/* [without a compiler, with one]; zeros where the key is absent. */
static bool read_pair(st_layers_reader *reader, const st_yaml_node *node, double *pair)
{
    if (node == NULL)
        return true;
    if (node->kind != ST_YAML_LIST || node->count != ST_COMPILATIONS)
        return fault(reader, node->place,
                     "missing number" ST_EXPECTED "[without a compiler, with one]");
    return read_number(reader, node->items[0], 0, &pair[ST_UNCOMPILED]) &&
           read_number(reader, node->items[1], 0, &pair[ST_COMPILED]);
}

static bool read_layer(st_layers_reader *reader, const st_yaml_node *map)
{
    static const char *const keys[] = {"name",   "parameters", "flop",   "kept",
                                       "output", "moved",      "kernels"};
    const st_yaml_node *list = st_yaml_get(map, "parameters");
    st_tensor layer = {0};
    st_layers *layers = reader->layers;
    if (!check_keys(reader, map, "a layer", keys, ST_COUNT(keys)))
        return false;
    static const char *const names[] = {"flop", "kept", "output"};
    double *const values[] = {&layer.forward_flop, &layer.kept, &layer.output};
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        const st_yaml_node *node = st_yaml_get(map, names[i]);
        if (node != NULL && !read_number(reader, node, 0, values[i]))
            return false;
    }
    if (!read_pair(reader, st_yaml_get(map, "moved"), layer.moved) ||
        !read_pair(reader, st_yaml_get(map, "kernels"), layer.kernels))
        return false;
    bool is_bare = list == NULL && map->count > 1;
    if (!is_bare && (list == NULL || list->kind != ST_YAML_LIST || list->count == 0))
        return fault(reader, map->place,
                     "a layer has no 'parameters'" ST_EXPECTED
                     "a list of the sizes of its tensors");
    for (size_t i = 0; !is_bare && i < list->count; i++) {
        st_tensor tensor = {.begins = i == 0};
        if (!read_number(reader, list->items[i], 1, &tensor.parameters) ||
            !add_tensor(reader, list->items[i]->place, &tensor))
            return false;
    }
    /* The layer's work belongs to its first tensor, the last whose gradient is ready. */
    if (!is_bare)
        reader->holder = layers->count - list->count;
    /* What a layer does, added to what its holder does already. */
    st_tensor *holder = layers->count > 0 ? &layers->tensors[reader->holder] : &reader->first;
    st_layers *work_layers = reader->layers;
    holder->forward_flop += layer.forward_flop;
    holder->kept += layer.kept;
    if (layer.output > 0)
        holder->output = layer.output;
    work_layers->forward_flop += layer.forward_flop;
    for (int i = 0; i < ST_COMPILATIONS; i++) {
        holder->moved[i] += layer.moved[i];
        holder->kernels[i] += layer.kernels[i];
        work_layers->moved[i] += layer.moved[i];
        work_layers->kernels[i] += layer.kernels[i];
    }
    return true;
}

/* Layers before the first one with parameters count with that one. */
static bool close_list(st_layers_reader *reader, const st_yaml_node *root)
{
    st_tensor *first = reader->layers->tensors;
    if (reader->layers->count == 0)
        return fault(reader, root->place, "none of the layers has parameters");
    first->forward_flop += reader->first.forward_flop;
    first->kept += reader->first.kept;
    for (int i = 0; i < ST_COMPILATIONS; i++) {
        first->moved[i] += reader->first.moved[i];
        first->kernels[i] += reader->first.kernels[i];
    }
    return true;
}

static bool read_list(st_layers_reader *reader, const st_yaml_node *list, int depth);

/* A repeated list. */
static bool read_group(st_layers_reader *reader, const st_yaml_node *group, int depth)
{
    static const char *const keys[] = {"repeat", "list"};
    double repeat = 1;
    bool good = true;
    if (depth == MAX_DEPTH)
        return fault(reader, group->place,
                     "groups are nested too deeply" ST_EXPECTED "at most 8 levels");
    if (!check_keys(reader, group, "a group", keys, ST_COUNT(keys)) ||
        !read_number(reader, st_yaml_get(group, "repeat"), 1, &repeat))
        return false;
    for (int64_t k = 0; k < (int64_t)repeat && good && !reader->full; k++)
        good = read_list(reader, st_yaml_get(group, "list"), depth + 1);
    return good;
}

static bool read_list(st_layers_reader *reader, const st_yaml_node *list, int depth)
{
    bool good = true;
    /* An empty group could be repeated for ever without any tensor that counts. */
    if (list == NULL || list->kind != ST_YAML_LIST || list->count == 0) {
        st_place nowhere = {0};
        return fault(reader, list == NULL ? nowhere : list->place,
                     "missing list of layers" ST_EXPECTED
                     "list: [{name: ..., parameters: [...], flop: ...}, ...]");
    }
    for (size_t i = 0; i < list->count && !reader->full; i++) {
        const st_yaml_node *item = list->items[i];
        if (item->kind != ST_YAML_MAP)
            good = fault(reader, item->place,
                         "a layer must be a map" ST_EXPECTED
                         "{name: ..., parameters: [...], flop: ...}");
        else if (st_yaml_get(item, "repeat") == NULL)
            good = read_layer(reader, item) && good;
        else
            good = read_group(reader, item, depth) && good;
    }
    return good && !reader->full;
}

static const char *text_of(const st_yaml_node *root, const char *key)
{
    const st_yaml_node *node = st_yaml_get(root, key);
    return node == NULL || node->kind != ST_YAML_SCALAR ? "" : node->text;
}

static bool read_unit(st_layers_reader *reader, const st_yaml_node *root)
{
    const char *unit = text_of(root, "unit");
    reader->layers->per_token = strcmp(unit, "token") == 0;
    if (!reader->layers->per_token && strcmp(unit, "sample") != 0)
        return fault(reader, root->place,
                     "the layer list has no valid 'unit'" ST_EXPECTED
                     "unit: sample, or unit: token");
    return true;
}

st_status st_layers_load(const st_paths *paths, const char *name, st_place place, st_arena *arena,
                         const st_layers **layers, st_errors *errors)
{
    static const char *const keys[] = {"layers", "title", "source", "unit", "list"};
    st_source source = {0};
    const st_yaml_node *root = NULL;
    st_status status = st_paths_read(paths, ST_FOLDER_LAYERS, name, place, arena, &source, errors);
    if (status == ST_OK)
        status = st_yaml_read(&source, arena, &root, errors);
    if (status != ST_OK)
        return status;
    st_layers *read = st_arena_alloc(arena, 1, sizeof(*read));
    if (read == NULL)
        return st_out_of_memory(errors);
    st_layers_reader reader = {.layers = read, .arena = arena, .errors = errors};
    if (root->kind != ST_YAML_MAP) {
        (void)fault(&reader, root->place,
                    "a layer list must be a map" ST_EXPECTED
                    "a map with 'layers', 'unit' and 'list'");
        return ST_ERR_VALUE;
    }
    bool good = check_keys(&reader, root, "a layer list", keys, ST_COUNT(keys));
    good = read_unit(&reader, root) && good;
    good = read_list(&reader, st_yaml_get(root, "list"), 0) && good;
    good = good && close_list(&reader, root);
    read->name = text_of(root, "layers");
    read->title = text_of(root, "title");
    read->source = text_of(root, "source");
    if (!good)
        return ST_ERR_VALUE;
    *layers = read;
    return ST_OK;
}
