/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether a program's file can be recorded. */
#ifndef STEPTIME_RECORD_PROGRAM_FILE_H
#define STEPTIME_RECORD_PROGRAM_FILE_H

#include "steptime/arena.h"

/*
 * The path of a program as a shell would find it, in `arena`. Refuses, with the reason: missing
 * programs, those without permission to run, files that are not executables of x86-64, setuid and
 * setgid ones, for which the loader preloads nothing, static ones, and where CUDA is to be
 * replaced, stripped ones with its runtime linked in. A script is accepted: what it starts is
 * recorded.
 */
st_status st_program_find(const char *name, bool replaces, st_arena *arena, const char **path,
                          st_errors *errors) ST_NODISCARD;

#endif
