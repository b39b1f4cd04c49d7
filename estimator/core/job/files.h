/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files as the search path sees them: read whole, bounded, from the disk, from standard input or
 * from the copies inside the library. What cannot be read is reported where it was asked for.
 */
#ifndef STEPTIME_JOB_FILES_H
#define STEPTIME_JOB_FILES_H

#include "base/memory.h"
#include "base/yaml.h"
#include "steptime/paths.h"
#include "steptime/tool/input_files.h"

#define ST_EMBEDDED_ROOT  "<embedded>"
#define ST_STANDARD_INPUT "<stdin>"

enum { ST_PATH_MAX_BYTES = 4096, ST_IMPORT_MAX_BYTES = 256 * 1024 * 1024 };

st_status st_file_read_stdin(st_place place, st_arena *arena, st_source *source,
                             st_errors *errors) ST_NODISCARD;

/* Whether plugins of this path run in processes of their own. */
void st_paths_set_isolation(st_paths *paths, bool isolates);
bool st_paths_isolates(const st_paths *paths);
/* The database of profiles that jobs and plugins on this path find theirs in; NULL: the user's own.
 * The text outlives `paths`. */
void st_paths_set_profiles(st_paths *paths, const char *file);
const char *st_paths_profiles(const st_paths *paths);

/* One of the library's own files, by its path in the project; false where there is none. */
bool st_file_embedded(const char *path, st_arena *arena, st_source *source);

/*
 * What messages call one of the library's own files, which no user finds on the disk: "sheet
 * megatron" for "formulas/megatron.yaml"; "<embedded>/..." where it has no name. Only out of memory
 * gives NULL.
 */
const char *st_embedded_name(st_arena *arena, const char *path);
/* "<embedded>/formulas/megatron.yaml" for that name; any other text is a path and comes back. */
const char *st_embedded_path(st_arena *arena, const char *name);
/* "megatron" of "sheet megatron"; NULL for other names. */
const char *st_embedded_stem(const char *name);

/* The place is inside a file, so that relative paths are relative to that file. */
bool st_place_in_file(st_place place);
/* Whether it is in one of the library's own. */
bool st_place_is_embedded(st_place place);

/*
 * "llama3-70b is a model: steptime estimate --model llama3-70b ..." where a file of `wanted` was
 * asked for by a name that another folder has; NULL where none has it. The text lives as long as
 * `errors`.
 */
const char *st_wrong_kind_hint(const st_paths *paths, st_folder wanted, const char *name,
                               st_arena *arena, st_errors *errors);

#endif
