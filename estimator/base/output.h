/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output files that are either whole or not there: whoever reads the file meanwhile, or finds it
 * after a full disk, sees the old contents or the new ones.
 */
#ifndef STEPTIME_BASE_OUTPUT_H
#define STEPTIME_BASE_OUTPUT_H

#include "steptime/arena.h"

/*
 * Writes an unnamed file in the same folder, or where the system has none a temporary one, syncs it
 * and renames it. A file that existed keeps its permissions and, where this user may, its owner; a
 * symbolic link goes on pointing to what it names, also where that is not there yet. Devices and
 * pipes are written to as they are. Folders and files without write permission are refused; on
 * failure nothing is left behind.
 */
st_status st_output_write(const char *path, const char *data, size_t length,
                          st_errors *errors) ST_NODISCARD;

/* Whether a file could be written there now: to learn it before long work, not after. */
st_status st_output_check(const char *path, st_errors *errors) ST_NODISCARD;

/*
 * The same, piece by piece, for what does not fit into memory. Nothing is at `path` before
 * st_output_commit, unless it is a device or a pipe. An output ends with a commit, which also frees
 * it where it fails, or is discarded.
 */
typedef struct st_output st_output;

st_status st_output_open(const char *path, st_output **output, st_errors *errors) ST_NODISCARD;
st_status st_output_append(st_output *output, const char *data, size_t length,
                           st_errors *errors) ST_NODISCARD;
st_status st_output_commit(st_output *output, st_errors *errors) ST_NODISCARD;
/*
 * Commits what is not all of it: as "PATH.partial", so that PATH stays as it was. Devices and pipes
 * have it already. `name` gets where it is, in `arena`.
 */
st_status st_output_commit_partial(st_output *output, const char **name, st_arena *arena,
                                   st_errors *errors) ST_NODISCARD;
void st_output_discard(st_output *output); /* NULL is fine */

#endif
