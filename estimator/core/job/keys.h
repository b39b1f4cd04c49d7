/* SPDX-License-Identifier: Apache-2.0 */
/* Finding keys and sections, and the names to suggest for those that do not exist. */
#ifndef STEPTIME_JOB_KEYS_H
#define STEPTIME_JOB_KEYS_H

#include "base/lists.h"
#include "steptime/job.h"
#include "job/sections.h"
#include "steptime/tool/job_keys.h"

/*
 * The least positive value, as an inclusive minimum: quantities such as bandwidths are above 0.
 */
extern const double st_above_zero;

/* "section.name" without building it; `section` "" is the top level. NULL: no such key. */
const st_key *st_key_in(const char *section, const char *name);
const st_key_section *st_section_in(const char *section, const char *name);
size_t st_section_index(const st_key_section *section);

/* `path` is `section` + "." + one more name, which is returned; NULL where it is not. */
const char *st_path_below(const char *path, const char *section);

/*
 * The suggestion for a name that `section` does not have: the nearest of its own names, else where
 * a key of that name belongs. NULL where nothing is near; the text lives in `errors`.
 */
const char *st_key_suggestion(const char *section, const char *name, st_errors *errors);
/* Whether plugins read a key that shipped sheets do not: who opens plugins says whether one did. */
bool st_key_is_for_plugins(const char *path);

/* The names directly below a section: "tp, pp, dp, order"; lives in `errors`. */
const char *st_section_names(const st_key_section *section, st_errors *errors);
/* The same as paths: "parallel.tp, parallel.pp, ..." */
const char *st_section_paths(const st_key_section *section, st_errors *errors);

/* "refine.PLUGIN.OPTION": how long PLUGIN is; 0 where a path is none of an option. */
size_t st_option_plugin(const char *path);

/*
 * What a path means where a value is given for it: neither a key nor a section is a constant, or
 * an option of a plugin.
 */
typedef struct st_target {
    const st_key *key;
    const st_key_section *section;
} st_target;

/* A path that can be given no value is wrong use of the command line. */
st_status st_target_find(const char *path, st_place place, st_target *target,
                         st_errors *errors) ST_NODISCARD;

#endif
