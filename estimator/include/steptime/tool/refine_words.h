/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins on a command line, as texts. */
#ifndef STEPTIME_TOOL_REFINE_WORDS_H
#define STEPTIME_TOOL_REFINE_WORDS_H

#include "steptime/job.h"

/* The values of --refine, one list together. */
typedef struct st_words {
    const char *const *texts;
    size_t count;
} st_words;

/* Errors are of the command line, at "--refine". */
st_status st_refine_parse(const st_paths *paths, const st_words *words, st_arena *arena,
                          const st_refinement **refinements, size_t *count,
                          st_errors *errors) ST_NODISCARD;

/* A refinement as a command line would ask for it; NULL when out of memory. */
const char *st_refine_text(const st_refinement *entry, st_arena *arena);

#endif
