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

enum { ST_MAX_BASES = 8 };

/* --set refine.PLUGIN.OPTION=VALUE */
typedef struct st_option_set {
    const char *plugin;
    st_refinement_option option;
} st_option_set;

/*
 * The stages of ZeRO that a stack's software runs, each a bit, and those that it runs along with
 * pipeline stages; 0: all of them. And what else it asks of a plan. A search proposes no other
 * ones.
 */
typedef struct st_stack_runs {
    unsigned zero;
    unsigned zero_with_stages;
    bool whole_groups; /* interleaved stages: micro-batches are a multiple of the stages */
    bool near_ends;    /* the first and the last stage lack layers of one chunk at most */
    /* What a search varies besides plans where nobody names it: "KEY=VALUES", or several with
     * " + " between, whose keys advance together. */
    const char *const *tries;
    size_t tries_count;
    /* Conditions in the words of a sheet of that name, each behind the key that it limits: a search
     * demands them where it is free to choose that key. */
    const char *limits_sheet;
    const char *const *limits;
    size_t limit_count;
    const char *source;
} st_stack_runs;

struct st_job {
    const char *name;
    const char *file;
    bool is_shipped;      /* asked for by name, and steptime's own, wherever it is installed */
    st_job_value *values; /* one per key of the table, in its order */
    st_job_value *constants;
    size_t constant_count;
    const char **section_names;     /* one per section of the table, NULL where absent */
    const char *gpus[ST_MAX_BASES]; /* files of its GPU, each followed by what it builds on */
    size_t gpu_count;
    const st_stack *stack;
    const st_yaml_node *stack_errors; /* that the stack's own file lists; NULL: none */
    st_stack_runs runs;
    st_key *recipe_keys; /* by which the stack's recipes go */
    size_t recipe_key_count;
    bool *by_recipe; /* per key of the table: of a stack, whether a recipe sets it */
    st_refinement *refinements;
    size_t refinement_count;
    bool *asked; /* per key: st_job_value_of was asked for it while `watch` said to note it */
    bool *watch;
    st_option_set *options; /* that were set, whichever list of plugins counts */
    size_t option_count;
};

enum { ST_MAX_REFINEMENTS = 32, ST_MAX_PLUGIN_ID = 64 };

/* One --set, split and looked up. Exactly one of key, section, constant and option is. */
typedef struct st_set {
    const st_key *key;
    const st_key_section *section;
    const char *constant; /* the path, "constants.mu" */
    const char *option;   /* the path, "refine.PLUGIN.OPTION" */
    st_value_text value;
} st_set;

/* A file that is being read, and the file that named it. */
typedef struct st_open_file {
    const char *file;
    const struct st_open_file *outer;
    int bases; /* how many `base:` lead here within the section */
    st_folder folder;
} st_open_file;

/* The stack that a job asks for; it is read last, as its values go by the GPU. */
typedef struct st_stack_choice {
    const char *name;         /* of a file; NULL: a map */
    const st_yaml_node *node; /* the map; NULL with `name` NULL: none is asked for */
    st_open_file file;        /* around the map */
    st_place place;
} st_stack_choice;

typedef struct st_loader {
    const st_paths *paths;
    st_arena *arena;
    st_errors *errors;
    st_status status; /* of the first error */
    st_job *job;
    const st_set **replacements; /* per section: the --set that replaces it, or NULL */
    size_t files_read;
    const char *sheet; /* that will estimate the job; NULL: the job's own */
    st_stack_choice stack;
    st_stack *reading_stack; /* whose files are being read, NULL: none */
    const st_job *asked;     /* the job whose stack that is */
    const char *release;     /* of that stack, NULL: none */
} st_loader;

/* A job without values. NULL when out of memory. */
st_job *st_loader_new_job(st_arena *arena);

/* Reads the job file and everything that it names. */
void st_loader_read_job(st_loader *loader, const char *name);

/* Reads a section from a file by name or path, in place of all that the section had. */
void st_loader_read_section(st_loader *loader, const st_key_section *section, const char *name,
                            st_place place);

/* Reads the files or the map of a stack into the values of `loader->job`. */
void st_loader_read_stack(st_loader *loader, const st_stack_choice *choice);

/* Fills in what the job's stack, or the default one of its sheet, does and nobody has said. */
void st_loader_apply_stack(st_loader *loader);

/* Negative where release `a` is older than `b`, 0 where they are the same. */
int st_release_compare(const char *a, const char *b);
/* The name of a stack without its "@RELEASE", which becomes the job's stack.release. */
const char *st_loader_split_release(st_loader *loader, const char *name, st_place place);
/* A release by its date: "2026-02", as against the release 26.02. */
bool st_release_is_date(const char *text);

/* Reads `releases:` of a stack and finds the one that counts. */
void st_loader_read_releases(st_loader *loader, const st_yaml_node *node);
/* Whether the job that asks for the stack is as a recipe's `if:` says; NULL: always. */
bool st_loader_recipe_holds(st_loader *loader, const st_yaml_node *conditions);

/* What a map by names of GPUs has for that of the job, NULL: nothing. */
const st_yaml_node *st_loader_for_gpu(const st_loader *loader, const st_yaml_node *map);

/* Reads the value of `refine`; its text is the plugins' names, "a,b". NULL where it is faulty. */
const char *st_loader_read_refine(st_loader *loader, const st_yaml_node *node);
/* The same from one text, "a,b" or "none". False where it is faulty, which has been reported. */
bool st_loader_split_refine(st_loader *loader, const st_value_text *value);

/* The constant of that path, made where it does not exist; NULL when there are too many. */
st_job_value *st_loader_constant(st_loader *loader, const char *path, st_place place);

/* What an assignment changes of a job that is loaded already. */
typedef struct st_job_change {
    const char *path;     /* what it sets */
    st_job_value *target; /* the value that it replaces; NULL: only loading the job again helps */
    st_job_value value;
} st_job_change;

/*
 * Reads "key=value" for a job that is loaded, of which nothing changes yet. Texts, files, options
 * of plugins and constants that the job lacks have no target. All texts live in `arena`.
 */
st_status st_job_change_read(const st_job *job, const char *assignment, st_arena *arena,
                             st_job_change *change, st_errors *errors) ST_NODISCARD;

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
