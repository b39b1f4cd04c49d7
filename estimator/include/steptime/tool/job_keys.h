/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and sections of jobs: their table, and finding them by name. */
#ifndef STEPTIME_TOOL_JOB_KEYS_H
#define STEPTIME_TOOL_JOB_KEYS_H

#include "steptime/job.h"

/* A part of a job that may be a map or the name of a file: model, cluster, cluster.gpu. */
typedef struct st_key_section {
    const char *path;
    bool is_file;
    st_folder folder; /* where names are looked up, when is_file */
    const char *doc;
} st_key_section;

/* The table, constant. */
const st_key_section *st_key_sections(size_t *count);

const st_key_section *st_section_find(const char *path);
size_t st_key_index(const st_key *key);

/* The nearest full path of a key, or of a section that can be set to a file's name. */
const char *st_key_nearest_path(const char *path);

/* A name that `constants:` accepts: a letter or '_', then letters, digits and '_'. */
bool st_is_constant_name(const char *name);

#endif
