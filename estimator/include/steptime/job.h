/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: a model, a cluster, a plan and a sheet, read from YAML by one table of keys.
 *
 * The table (estimator/core/job/keys.c) declares every key once: name, kind, unit, range, default,
 * meaning. It drives loading, messages, --set and the generated docs/configuration.md. Keys under
 * "constants." are free names; the sheet that reads one gives it its unit.
 */
#ifndef STEPTIME_JOB_H
#define STEPTIME_JOB_H

#include "steptime/paths.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum st_key_kind {
    ST_KEY_COUNT,    /* a whole number */
    ST_KEY_NUMBER,   /* a real pure number */
    ST_KEY_QUANTITY, /* a number with a unit */
    ST_KEY_BOOL,     /* true or false */
    ST_KEY_ENUM,     /* one of a list of names */
    ST_KEY_TEXT      /* free text */
} st_key_kind;

typedef struct st_key {
    const char *path; /* "model.hidden" */
    st_key_kind kind;
    const char *unit;   /* ST_KEY_QUANTITY: any unit of the right dimension, e.g. "GB/s" */
    const char *values; /* ST_KEY_ENUM: "none selective full" */
    double minimum;     /* inclusive, in base units, for the three numeric kinds */
    double maximum;
    const char *default_text; /* NULL: none; a sheet that reads the key then demands it */
    const char *doc;
} st_key;

/* The table of keys, constant; the key of a path, NULL where there is none. */
ST_API const st_key *st_keys(size_t *count);
ST_API const st_key *st_key_find(const char *path);

typedef enum st_origin {
    ST_ORIGIN_NONE, /* not given and no default */
    ST_ORIGIN_FILE,
    ST_ORIGIN_SET,     /* --set */
    ST_ORIGIN_DEFAULT, /* an assumption */
    ST_ORIGIN_STACK    /* what the job's software stack does */
} st_origin;

typedef struct st_job_value {
    const char *path;  /* the key; for constants "constants.NAME" */
    const st_key *key; /* NULL for constants */
    st_origin origin;
    double number;      /* base units; bool 0 or 1; enumeration: index in key->values */
    const char *text;   /* as written */
    const char *source; /* `source:` given with the value, or NULL */
    bool assumption;    /* marked `assumption: true`, a default, or what a stack
                           does that the job does not name */
    st_place place;
    st_folder folder; /* ST_ORIGIN_FILE: the kind of its file, ST_FOLDER_JOBS for a job */
} st_job_value;

typedef struct st_job st_job;

/*
 * Loads a job by name or path and applies `sets` ("key=value", one assignment each, later ones win;
 * "model=NAME" replaces a whole section before its keys are set). A name of NULL is a job that is
 * made of `sets` alone. Reports all errors at once.
 */
ST_API st_status st_job_load(const st_paths *paths, const char *name, const char *const *sets,
                             size_t set_count, st_arena *arena, const st_job **job,
                             st_errors *errors) ST_NODISCARD;

/* What a job is made of. */
typedef struct st_job_parts {
    const char *name;  /* or path; NULL: of `sets` alone */
    const char *sheet; /* that estimates it; NULL: the one it names */
    const char *const *sets;
    size_t set_count;
} st_job_parts;

/* The same for a job that another sheet than its own may estimate. */
ST_API st_status st_job_load_for(const st_paths *paths, const st_job_parts *parts, st_arena *arena,
                                 const st_job **job, st_errors *errors) ST_NODISCARD;

ST_API const char *st_job_name(const st_job *job); /* `name:` of the job, else its file's stem */
ST_API const char *st_job_file(const st_job *job);
/* Name of the file behind a section ("model" -> "gpt-3b"), "inline" for a map, NULL when absent. */
ST_API const char *st_job_section_name(const st_job *job, const char *section);
/* NULL when the key is not in the table; origin ST_ORIGIN_NONE when it has no value. */
ST_API const st_job_value *st_job_value_of(const st_job *job, const char *path);

/*
 * Whether the job, a file that it names, or --set gives the value of a key; false where a software
 * stack or a default fills it in, or there is no value.
 */
ST_API bool st_job_is_given(const st_job *job, const char *path);

/*
 * Whether the user set it for this estimate: with --set or in a job file of their own, not in a
 * shipped job or in a file of a model, cluster, GPU or stack, which serve many sheets.
 */
ST_API bool st_job_is_own(const st_job *job, const st_job_value *value);

/* The software stack of a job. */
typedef struct st_stack {
    const char *name;    /* of its file, or "inline" */
    const char *title;   /* its title */
    const char *source;  /* NULL: none */
    bool is_default;     /* the sheet's, since the job names none */
    st_place place;      /* where it was asked for */
    const char *release; /* that counts, NULL: its file has none */
    const char
        *recipes; /* what its recipes set for this job, "KEY=VALUE ... (SOURCE)", NULL: none */
    const char *layout; /* of a plan that says nothing of its stages, NULL: none */
} st_stack;

/* NULL where there is none: the job names none, and its sheet has no default. */
ST_API const st_stack *st_job_stack(const st_job *job);

/* An option of a plugin, as a job writes it. */
typedef struct st_refinement_option {
    const char *name;
    const char *text; /* with its unit */
    st_place name_place;
    st_place place; /* of the value */
} st_refinement_option;

/* One entry of `refine`: a plugin whose providers replace open functions and cells. */
typedef struct st_refinement {
    const char *plugin;  /* its id */
    const char *profile; /* name of a set of options, NULL: none */
    bool fallback;       /* the formula replaces what the plugin refuses; else that is an error */
    const st_refinement_option *options;
    size_t option_count;
    st_place place; /* of the id */
    st_place profile_place;
} st_refinement;

/* In order of preference. `refine=none` on the command line leaves none. */
ST_API const st_refinement *st_job_refinements(const st_job *job, size_t *count);

/* Whether each of them is to run in a process of its own (`isolate: true`). */
ST_API bool st_job_isolates(const st_job *job);

/* What one input of a sheet got. */
typedef struct st_bound_input {
    const st_sheet_input *input;
    double value;             /* base units */
    const st_job_value *from; /* NULL: the sheet's own default */
} st_bound_input;

/*
 * Gives every input of a sheet its value: from the job, else from the sheet's default. Reports all
 * inputs that have neither (with the key to set), whose dimension differs from the key's, or whose
 * enumeration lacks the job's value; and constants that no input reads.
 */
ST_API st_status st_job_bind(const st_job *job, const st_sheet *sheet, st_arena *arena,
                             const st_bound_input **inputs, st_errors *errors) ST_NODISCARD;

#ifdef __cplusplus
}
#endif
#endif
