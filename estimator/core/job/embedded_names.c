/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the library's own files. A place in one of them is shown to people who have no such
 * file, so that it says which sheet, job or GPU this is. Whatever reads a file again, or another
 * a file outside, asks for the path.
 *
 * Circle: with job/files, because reading gives a file its name, and a name is not a path.
 */
#include "job/files.h"
#include "job/roots.h"

#include <string.h>

const char *st_embedded_name(st_arena *arena, const char *path)
{
    size_t start = 0;
    size_t length = 0;
    for (unsigned folder = 0; folder < ST_FOLDERS; folder++) {
        const st_folder_shape *shape = st_folder_shape_of((st_folder)folder);
        bool is_below = false;
        size_t below_folder = strlen(shape->path);
        size_t ending = strlen(shape->ending);
        size_t whole = strlen(path);
        if (strncmp(path, shape->path, below_folder) == 0 && path[below_folder] == '/' &&
            whole > below_folder + 1 + ending &&
            strcmp(path + whole - ending, shape->ending) == 0) {
            start = below_folder + 1;
            length = whole - below_folder - 1 - ending;
            is_below = memchr(path + start, '/', length) == NULL;
        }
        if (is_below)
            return st_arena_printf(arena, "%s %.*s", shape->noun, (int)length, path + start);
    }
    return st_arena_printf(arena, ST_EMBEDDED_ROOT "/%s", path);
}

/* The folder whose noun the name begins with; NULL: it is a path, which has a '/' or an ending. */
static const st_folder_shape *shape_of(const char *name)
{
    for (unsigned folder = 0; folder < ST_FOLDERS && !st_name_is_path(name); folder++) {
        const st_folder_shape *shape = st_folder_shape_of((st_folder)folder);
        size_t length = strlen(shape->noun);
        if (strncmp(name, shape->noun, length) == 0 && name[length] == ' ')
            return shape;
    }
    return NULL;
}

const char *st_embedded_stem(const char *name)
{
    const st_folder_shape *shape = shape_of(name);
    return shape != NULL ? name + strlen(shape->noun) + 1 : NULL;
}

const char *st_embedded_path(st_arena *arena, const char *name)
{
    const st_folder_shape *shape = shape_of(name);
    if (shape == NULL)
        return name;
    return st_arena_printf(arena, ST_EMBEDDED_ROOT "/%s/%s%s", shape->path, st_embedded_stem(name),
                           shape->ending);
}
