/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files that a user or another file names: whole and bounded. */
#ifndef STEPTIME_TOOL_INPUT_FILES_H
#define STEPTIME_TOOL_INPUT_FILES_H

#include "base/yaml.h"
#include "steptime/paths.h"

/*
 * Reads a file of at most ST_YAML_MAX_BYTES. A path that another file names must be a regular file;
 * one that the user names may also be a pipe. "<embedded>/..." is one of the library's own.
 */
st_status st_file_read(const char *path, st_place place, st_arena *arena, st_source *source,
                       st_errors *errors) ST_NODISCARD;

/* What an editor has of a file. */
typedef struct st_edited_file {
    const char *path;
    const char *text;
    size_t length;
} st_edited_file;

/*
 * From now on these texts count where the search path comes to one of these files, which need not
 * be on the disk; `files` and what they point to live until they are set again or `paths` ends.
 */
void st_paths_set_edited(st_paths *paths, const st_edited_file *files, size_t count);

/* The same for a table of at most ST_CSV_MAX_BYTES. */
st_status st_file_read_table(const char *path, st_place place, st_arena *arena, st_source *source,
                             st_errors *errors) ST_NODISCARD;

/* The same for a file of another program, of at most ST_IMPORT_MAX_BYTES, without the colours of a
 * terminal; "-" is standard input. */
st_status st_file_read_foreign(const char *path, st_place place, st_arena *arena, st_source *source,
                               st_errors *errors) ST_NODISCARD;

/*
 * A folder or file of the installation, "share/steptime", as a path: below the prefix of the very
 * program, tool or library that this code is part of where that has steptime's data - a moved tree,
 * one of DESTDIR, a program under another name - else below the prefix that the build was
 * configured with. NULL when out of memory.
 */
const char *st_installed_folder(const char *folder, st_arena *arena);

/* Whether the path is a folder on the disk. */
bool st_file_is_folder(const char *path);

/* The regular files of a folder with one of these endings (up to NULL), in the order of their
 * names, without those of its folders; at most 4096. None is an error. */
st_status st_files_of_folder(const char *folder, const char *const *endings, st_arena *arena,
                             const char *const **files, size_t *count,
                             st_errors *errors) ST_NODISCARD;

/*
 * The tree of a YAML file that the command line names, as st_paths_read finds it. The root's place
 * has the file's path. The tree lives in `arena`.
 */
st_status st_paths_read_yaml(const st_paths *paths, st_folder folder, const char *name,
                             st_arena *arena, const st_yaml_node **root,
                             st_errors *errors) ST_NODISCARD;

/*
 * `name`, asked for at `place`, as a path from the working folder. NULL when out of memory. The
 * result has a '/' wherever `name` has one.
 */
const char *st_path_resolve(st_arena *arena, st_place place, const char *name);

/* `name` is a path and no name to look for: it has a '/' or ends in ".yaml". */
bool st_name_is_path(const char *name);

#endif
