/* SPDX-License-Identifier: Apache-2.0 */
/* What the search path has to offer: the names of a folder over all roots. */
#include "base/oom_flag.h"
#include "base/utf8.h"
#include "job/embedded.h"
#include "job/files.h"
#include "job/roots.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const st_folder_shape shapes[ST_FOLDERS] = {
    [ST_FOLDER_SHEETS] = {"formulas", "sheet", ".yaml"},
    [ST_FOLDER_JOBS] = {"configs/jobs", "job", ".yaml"},
    [ST_FOLDER_MODELS] = {"configs/models", "model", ".yaml"},
    [ST_FOLDER_CLUSTERS] = {"configs/clusters", "cluster", ".yaml"},
    [ST_FOLDER_GPUS] = {"configs/gpus", "GPU", ".yaml"},
    [ST_FOLDER_CONSTANTS] = {"configs/constants", "file of constants", ".yaml"},
    [ST_FOLDER_STACKS] = {"configs/stacks", "stack", ".yaml"},
    [ST_FOLDER_LAYERS] = {"configs/layers", "layer list", ".yaml"},
    [ST_FOLDER_VALIDATION] = {"validation", "validation source", "/cases.yaml"},
    [ST_FOLDER_TABLES] = {"validation", "source of tables", "/table.yaml"},
    [ST_FOLDER_ERRORS] = {"configs/errors", "table of errors", ".yaml"},
    [ST_FOLDER_TOPOLOGIES] = {"configs/topologies", "topology", ".yaml"},
    [ST_FOLDER_STEPS] = {"configs/steps", "table of steps", ".steps"},
    [ST_FOLDER_KERNELS] = {"configs/kernels", "file of rules for kernels", ".yaml"},
    [ST_FOLDER_VIEWS] = {"views", "view", ".sql"},
    [ST_FOLDER_LAUNCHES] = {"configs/launches", "table of releases", ".yaml"},
    [ST_FOLDER_PEERS] = {"configs/peers", "table of keys", ".yaml"},
};

const st_folder_shape *st_folder_shape_of(st_folder folder)
{
    return &shapes[folder];
}

enum { MAX_ENTRIES = 10000 };

typedef struct found_name {
    const char *name;
    size_t rank; /* of the root it comes from */
} found_name;

typedef struct name_list {
    const st_paths *paths;
    const st_folder_shape *shape;
    st_arena *arena;
    st_errors *errors;
    found_name *names;
    size_t count;
} name_list;

static st_status add_name(name_list *list, const char *name, size_t length, size_t rank)
{
    /* A name that a user can type: not hidden, no path, and nothing that a terminal acts on. */
    if (length == 0 || name[0] == '.')
        return ST_OK;
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t size = st_utf8_decode(name + i, length - i, &code);
        if (size == 0 || st_utf8_is_control(code) || code == '/')
            return ST_OK;
        i += size;
    }
    if (list->count == MAX_ENTRIES)
        return st_fail(list->errors, ST_ERR_LIMIT, (st_place){0},
                       "more than %d files in '%s' over all roots of the search path", MAX_ENTRIES,
                       list->shape->path);
    const char *copy = st_arena_copy(list->arena, name, length);
    const found_name found = {.name = copy, .rank = rank};
    return ST_APPEND(list->arena, list->names, list->count, found) ? ST_OK
                                                                   : st_out_of_memory(list->errors);
}

static bool ends_in(const char *text, size_t length, const char *ending)
{
    size_t ending_length = strlen(ending);
    return length > ending_length && strcmp(text + length - ending_length, ending) == 0;
}

static st_status list_embedded(name_list *list, size_t rank)
{
    size_t prefix = strlen(list->shape->path) + 1;
    st_status status = ST_OK;
    for (size_t i = 0; i < st_embedded_count && status == ST_OK; i++) {
        const char *path = st_embedded_files[i].path;
        size_t length = strlen(path);
        if (length < prefix || path[prefix - 1] != '/' ||
            strncmp(path, list->shape->path, prefix - 1) != 0 ||
            !ends_in(path + prefix, length - prefix, list->shape->ending))
            continue;
        status = add_name(list, path + prefix, length - prefix - strlen(list->shape->ending), rank);
    }
    return status;
}

/* The length of the name of a folder's entry, 0 where it has none. */
static size_t name_length(const name_list *list, const char *entry)
{
    size_t length = strlen(entry);
    if (list->shape->ending[0] == '/')
        return length;
    return ends_in(entry, length, list->shape->ending) ? length - strlen(list->shape->ending) : 0;
}

static st_status list_folder(name_list *list, size_t rank)
{
    const char *folder =
        st_arena_printf(list->arena, "%s/%s", list->paths->roots[rank], list->shape->path);
    if (folder == NULL)
        return st_out_of_memory(list->errors);
    DIR *stream = st_open_folder(folder);
    if (stream == NULL && (errno == ENOENT || errno == ENOTDIR))
        return ST_OK;
    if (stream == NULL)
        return st_fail(list->errors, ST_ERR_IO, (st_place){0}, "cannot read the folder '%s'",
                       folder);
    st_status status = ST_OK;
    const struct dirent *entry = readdir(stream);
    for (; entry != NULL && status == ST_OK; entry = readdir(stream)) {
        size_t length = name_length(list, entry->d_name);
        const char *file =
            st_arena_printf(list->arena, "%s/%s/%.*s%s", list->paths->roots[rank],
                            list->shape->path, (int)length, entry->d_name, list->shape->ending);
        struct stat kind;
        if (file == NULL)
            status = st_out_of_memory(list->errors);
        else if (length > 0 && stat(file, &kind) == 0 && S_ISREG(kind.st_mode))
            status = add_name(list, entry->d_name, length, rank);
    }
    (void)closedir(stream);
    return status;
}

ST_COMPARE(compare_names, found_name, ST_BY_TEXT(name) ST_RISING(rank));

st_status st_paths_list(const st_paths *paths, st_folder folder, st_arena *arena,
                        const st_path_entry **entries, size_t *count, st_errors *errors)
{
    name_list list = {
        .paths = paths, .shape = st_folder_shape_of(folder), .arena = arena, .errors = errors};
    st_status status = ST_OK;
    for (size_t i = 0; i < paths->count && status == ST_OK; i++)
        status = paths->roots[i] == NULL ? list_embedded(&list, i) : list_folder(&list, i);
    if (status != ST_OK)
        return status;
    st_path_entry *kept = st_arena_alloc(arena, list.count + 1, sizeof *kept);
    if (kept == NULL)
        return st_out_of_memory(errors);
    st_sort(list.names, list.count, sizeof list.names[0], compare_names);
    /* Each name once, from the first root that has it. */
    size_t kept_count = 0;
    for (size_t i = 0; i < list.count; i++) {
        const char *root = list.paths->roots[list.names[i].rank];
        if (kept_count == 0 || strcmp(list.names[i].name, kept[kept_count - 1].name) != 0)
            kept[kept_count++] = (st_path_entry){
                .name = list.names[i].name,
                .root = root != NULL ? root : ST_EMBEDDED_ROOT,
            };
    }
    *count = kept_count;
    *entries = kept;
    return ST_OK;
}
