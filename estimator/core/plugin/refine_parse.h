/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins on a command line:
 *
 *   PLUGIN[:NAME=VALUE,...][+PLUGIN...]
 *
 * NAME is an option of the plugin, or `profile` or `fallback` as in a job. A plus sign before a
 * small letter parts plugins in order of preference, so that numbers keep theirs (1e+5); a
 * backslash before ',', '+', '|', ':', '=' or '\' takes it literally. "none" cannot be combined.
 */
#ifndef STEPTIME_PLUGIN_REFINE_PARSE_H
#define STEPTIME_PLUGIN_REFINE_PARSE_H

#include "base/result.h"
#include "steptime/job.h"
#include "steptime/tool/refine_words.h"

typedef struct st_refinements {
    const st_refinement *items;
    size_t count;
} st_refinements;

/*
 * The plugins that count: those of `words` where there are some, else the job's, with the options
 * that were set separately. An option of a plugin that is not among them is an error.
 */
st_status st_refine_for(const st_paths *paths, const st_job *job, const st_words *words,
                        st_arena *arena, st_refinements *refinements,
                        st_errors *errors) ST_NODISCARD;
/* The same of all in a list `refine`; nothing where there are none. */
void st_refine_put(const st_refinements *refinements, st_node *node);

/* A text with '|' as one per column, which st_refine_parse reads. Empty columns are refused. */
st_status st_refine_columns(const char *text, st_arena *arena, const char *const **columns,
                            size_t *count, st_errors *errors) ST_NODISCARD;

#endif
