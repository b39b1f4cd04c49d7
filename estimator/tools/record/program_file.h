/* SPDX-License-Identifier: Apache-2.0 */
/* What a program's file says before it is started: whether it can be recorded at all. */
#ifndef STEPTIME_RECORD_PROGRAM_FILE_H
#define STEPTIME_RECORD_PROGRAM_FILE_H

#include "steptime/arena.h"

/*
 * The path of a program as a shell would find it, in `arena`. Refused, each with its reason: no
 * such program, no rights to run it, a file that is no program, one of 32 bits or of another
 * processor, setuid and setgid ones, which the loader gives nothing before, fully static ones, and
 * where CUDA is to be replaced, those with its runtime linked into them and no symbols. A script is
 * taken as it is: what it starts is recorded.
 */
st_status st_program_find(const char *name, bool replaces, st_arena *arena, const char **path,
                          st_errors *errors) ST_NODISCARD;

#endif
