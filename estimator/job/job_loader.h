/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job while it is being loaded. Files are walked section by section (load.c), assignments from
 * the command line are read beforehand and applied afterwards (sets.c); both write into the same
 * values.
 */
#ifndef STEPTIME_JOB_JOB_LOADER_H
#define STEPTIME_JOB_JOB_LOADER_H

#include "base/yaml.h"
#include "job/sections.h"
#include "job/keys.h"
#include "job/value.h"

struct st_job {
    const char *name;
    const char *file;
    st_job_value *values; /* one per key of the table, in its order */
    st_job_value *constants;
    size_t constant_count;
    size_t constant_capacity;
    const char **section_names; /* one per section of the table, NULL where absent */
    st_refinement *refinements;
    size_t refinement_count;
};

enum { ST_MAX_REFINEMENTS = 32, ST_MAX_PLUGIN_ID = 64 };

/* One --set, split and looked up. Exactly one of key, section and constant is set. */
typedef struct st_set {
    const st_key *key;
    const st_key_section *section;
    const char *constant; /* the path, "constants.mu" */
    st_value_text value;
} st_set;

/* A file that is being read, and the file that named it. */
typedef struct st_open_file {
    const char *file;
    const struct st_open_file *outer;
    int bases; /* how many `base:` lead here within the section */
} st_open_file;

typedef struct st_loader {
    const st_paths *paths;
    st_arena *arena;
    st_errors *errors;
    st_status status; /* of the first error */
    st_job *job;
    const st_set **replacements; /* per section: the --set that replaces it, or NULL */
    size_t files_read;
} st_loader;

/* Reads the job file and everything that it names. */
void st_loader_read_job(st_loader *loader, const char *name);

/* Reads a section from a file by name or path, in place of all that the section had. */
void st_loader_read_section(st_loader *loader, const st_key_section *section, const char *name,
                            st_place place);

/* Reads the value of `refine`; its text is the plugins' names, "a,b". NULL where it is faulty. */
const char *st_loader_read_refine(st_loader *loader, const st_yaml_node *node);
/* The same from one text, "a,b" or "none". False where it is faulty, which has been reported. */
bool st_loader_split_refine(st_loader *loader, const st_value_text *value);

/* The constant of that path, made where it does not exist; NULL when there are too many. */
st_job_value *st_loader_constant(st_loader *loader, const char *path, st_place place);

/* Splits and checks `sets`; faulty ones are reported and left out. NULL when out of memory. */
const st_set *st_loader_read_sets(st_loader *loader, const char *const *sets, size_t count,
                                  size_t *kept);
/* Notes for each section the last of the sets that replaces it. */
void st_loader_find_replacements(st_loader *loader, const st_set *sets, size_t count);
void st_loader_apply_sets(st_loader *loader, const st_set *sets, size_t count);

/*
 * Errors of an assignment are wrong use of the command line, whatever they are elsewhere: adds the
 * errors of `from` to `to`, those at `place` with ST_ERR_USAGE, and returns the first status.
 */
st_status st_errors_move(st_errors *to, const st_errors *from, st_place place);

#endif
