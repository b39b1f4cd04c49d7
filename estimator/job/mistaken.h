/* SPDX-License-Identifier: Apache-2.0 */
/* What a name is that is not what it was taken for. */
#ifndef STEPTIME_JOB_MISTAKEN_H
#define STEPTIME_JOB_MISTAKEN_H

#include "job/files.h"
#include "job/roots.h"

/*
 * "llama3-70b is a model: steptime estimate --model llama3-70b ..." where a file of `wanted` was
 * asked for by a name that another folder has; NULL where none has it. The text lives as long as
 * `errors`.
 */
const char *st_mistaken_name(const st_paths *paths, st_folder wanted, const char *name,
                             st_arena *arena, st_errors *errors);

#endif
