/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where plugins lie. Names are compared and folders sorted bytewise, so that every machine sees the
 * same order; the working folder is none of the roots.
 */
#include "plugin/module.h"

#include "base/oom_flag.h"
#include "base/memory.h"
#include "job/installed.h"
#include "steptime/tool/input_files.h"
#include "job/roots.h"
#include "plugin/linked.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_ENTRIES = 1000, PATH_BYTES = 4096 };

typedef struct roots {
    const char **items;
    size_t count;
} roots;

static bool is_there(const char *path)
{
    struct stat status;
    return path != NULL && lstat(path, &status) == 0;
}

static void add_root(roots *list, const char *folder)
{
    struct stat status;
    if (folder != NULL && stat(folder, &status) == 0 && S_ISDIR(status.st_mode))
        list->items[list->count++] = folder;
}

/* Every folder of plugins that exists, in order; false when out of memory. */
static bool list_roots(const st_paths *paths, st_arena *arena, roots *list)
{
    list->items = st_arena_alloc(arena, paths->count + 2, sizeof(*list->items));
    list->count = 0;
    if (list->items == NULL)
        return false;
    for (size_t i = 0; i < paths->count; i++)
        if (paths->roots[i] != NULL)
            add_root(list, st_arena_printf(arena, "%s/plugins", paths->roots[i]));
    /* The plugins of the build tree that the running program, or tool, lies in: build/plugins. */
    const char *own_folder = NULL;
    static const char in_tree[] = "/estimator/";
    char path[PATH_BYTES];
    const char *root = NULL;
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    for (const char *next = path; (next = strstr(next, in_tree)) != NULL; next++)
        root = next;
    if (root != NULL) {
        const char *program = root + strlen(in_tree);
        const bool is_tool =
            strncmp(program, "tools/", 6) == 0 && strstr(program, "/cli/steptime-") != NULL;
        if (strcmp(program, "cli/steptime") == 0 || is_tool)
            own_folder = st_arena_printf(arena, "%.*s/plugins", (int)(root - path), path);
    }
    add_root(list, own_folder);
    add_root(list, st_installed_folder(STEPTIME_LIBDIR "/steptime/plugins", arena));
    return true;
}

const st_linked_plugin *st_linked_plugin_find(const char *name)
{
    const char *id = st_begins(name, ST_LINKED_ROOT "/") ? name + sizeof ST_LINKED_ROOT : name;
    for (size_t i = 0; i < st_linked_plugin_count; i++)
        if (strcmp(st_linked_plugins[i].id, id) == 0)
            return &st_linked_plugins[i];
    return NULL;
}

static const char *file_in(const char *root, const char *id, st_arena *arena)
{
    return st_arena_printf(arena, "%s/%s/%s.so", root, id, id);
}

const char *st_plugin_find(const st_paths *paths, const char *id, st_arena *arena)
{
    roots list;
    if (st_linked_plugin_find(id) != NULL)
        return st_arena_printf(arena, ST_LINKED_ROOT "/%s", id);
    if (!list_roots(paths, arena, &list))
        return NULL;
    for (size_t i = 0; i < list.count; i++) {
        const char *file = file_in(list.items[i], id, arena);
        if (is_there(file))
            return file;
    }
    return NULL;
}

ST_COMPARE(compare_names, st_plugin_entry, ST_BY_TEXT(id));

/* The plugins of one root, sorted; false when out of memory. */
static bool list_root(const char *root, st_arena *arena, st_plugin_entry *entries, size_t *count)
{
    size_t first = *count;
    DIR *folder = st_open_folder(root);
    if (folder == NULL)
        return true; /* a folder that nobody may read holds nothing */
    bool good = true;
    for (const struct dirent *one = readdir(folder); one != NULL && good; one = readdir(folder)) {
        if (*count == MAX_ENTRIES || !st_plugin_is_id(one->d_name))
            continue;
        const char *id = st_arena_copy(arena, one->d_name, strlen(one->d_name));
        const char *file = id == NULL ? NULL : file_in(root, id, arena);
        good = file != NULL;
        if (good && is_there(file))
            entries[(*count)++] = (st_plugin_entry){.id = id, .file = file, .root = root};
    }
    closedir(folder);
    qsort(entries + first, *count - first, sizeof(*entries), compare_names);
    return good;
}

st_status st_plugins_list(const st_paths *paths, st_arena *arena, const st_plugin_entry **entries,
                          size_t *count, st_errors *errors)
{
    roots list = {0};
    st_plugin_entry *found = st_arena_alloc(arena, MAX_ENTRIES, sizeof(*found));
    bool good = found != NULL && list_roots(paths, arena, &list);
    *count = 0;
    for (size_t i = 0; i < st_linked_plugin_count && good; i++)
        found[(*count)++] =
            (st_plugin_entry){.id = st_linked_plugins[i].id,
                              .file = st_plugin_find(paths, st_linked_plugins[i].id, arena),
                              .root = ST_LINKED_ROOT};
    for (size_t i = 0; i < list.count && good; i++)
        good = list_root(list.items[i], arena, found, count);
    if (!good)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < *count; i++)
        for (size_t j = 0; j < i; j++)
            found[i].shadowed = found[i].shadowed || strcmp(found[i].id, found[j].id) == 0;
    *entries = found;
    return ST_OK;
}
