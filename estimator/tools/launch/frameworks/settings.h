/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of a framework's file, in any syntax: names and values in file order. They are
 * the list of arguments that the importer of Megatron-LM works on; a name of a section is dotted
 * ("training.seq_len"), truth values are True and False.
 */
#ifndef STEPTIME_FRAMEWORKS_SETTINGS_H
#define STEPTIME_FRAMEWORKS_SETTINGS_H

#include "launch/frameworks/frameworks.h"
#include "launch/import/megatron.h"
#include "steptime/tool/job_values.h"

bool fw_has(const st_job *job, const char *key);
bool fw_is(const st_job *job, const char *key, const char *word);
/* The value as a job may have it: "2.385", "true", "full". */
const char *fw_text(st_draft *draft, const st_job *job, const char *key);
/* The same of a number that belongs to a key. */
const char *fw_text_of(st_draft *draft, const st_key *key, double number, const char *text);

/* The number of a key in a job, or in what else has keys. */
typedef double (*fw_number)(const void *of, const char *key);
double fw_number_in_job(const void *job, const char *key);
/* What a number means where 0 selects a default: heads, 4 times the hidden size ... */
double fw_meaning(fw_number number_in, const void *of, const char *key, double number);

/* One option of a framework for one value of a key. */
typedef megatron_row fw_row;

/* Adds the options of the rows that hold for the job. */
void fw_write_rows(megatron_run *settings, const st_job *job, const fw_row *rows, size_t count);
/* Gives keys the values that the options say. */
void fw_read_rows(megatron_run *settings, const fw_row *rows, size_t count);

/* An option of a framework that is built on Megatron, and the argument that it is there. */
typedef struct fw_rename {
    const char *option;
    const char *argument;
    const char *option_value; /* NULL: that of the argument */
    const char *argument_value;
    enum { FW_BOTH, FW_EXPORT, FW_IMPORT } way;
} fw_rename;

/* Arguments that are options of their own names there, "model.num_layers". */
typedef struct fw_section {
    const char *prefix; /* "model."; NULL behind the last one */
    const char *arguments;
} fw_section;

typedef struct fw_names {
    const fw_section *sections;
    const fw_rename *rows;
    size_t row_count;
} fw_names;

/* Of Megatron-Bridge, and of DeepSpeed with Megatron-DeepSpeed. */
const fw_names *fw_names_of(st_framework framework);

/* Arguments of Megatron-LM as options of the framework, and back. */
void fw_rename_arguments(st_framework framework, megatron_run *arguments, megatron_run *options);
void fw_restore_arguments(st_framework framework, megatron_run *options, megatron_run *arguments);

/* flavors.c: the shape that a flavor of torchtitan names; an unknown one is an error. */
void fw_put_flavor(megatron_run *options);
typedef struct fw_flavor {
    const char *model;
    const char *name;
    const struct st_yaml_node *shape; /* what flavors of the model have in common */
    const struct st_yaml_node *own;
} fw_flavor;

/* settle.c: an option of the rows whose value none of them has stops an import. */
void fw_check_values(megatron_run *settings, const fw_row *rows, size_t count);
/* Settings as the framework makes them agree, before they are arguments. */
void fw_settle(st_framework framework, megatron_run *settings);

/* plan.c: the arguments of Megatron-LM that run the job */
void fw_megatron_arguments(st_framework framework, const st_job *job, megatron_run *arguments);
/* The GPUs of a node and the nodes that a job starts on, 0 where its cluster does not say. */
typedef struct fw_ranks {
    uint64_t world;
    uint64_t per_node;
    uint64_t nodes;
} fw_ranks;
fw_ranks fw_ranks_of(const st_job *job);
/* The layout that says what lies on the ends of a pipeline; NULL: other arguments do. */
const char *fw_ends_layout(const st_job *job, st_arena *arena);

/* layers.c: layers by kind as arguments */
void fw_put_layers(st_framework framework, const st_job *job, megatron_run *arguments);
/* A letter for each layer, as in a pattern; NULL where its pattern cannot be read. */
const char *fw_layer_letters(const st_job *job, st_arena *arena);
typedef struct fw_layer_words {
    const char *pattern;
    double layers;
    double experts;
    double dense;
    double every;
} fw_layer_words;
const char *fw_letters_of(const fw_layer_words *words, st_arena *arena);
/* What comes back has the same layers, however it says so. */
bool fw_same_layers(const st_job *job, const st_draft *draft);

/* releases.c */
typedef struct fw_release {
    const char *version; /* "0.19" */
    const struct st_yaml_node *options;
    const struct st_yaml_node *models; /* of torchtitan, with their flavors; else NULL */
} fw_release;
/* A release by name; NULL: the newest that the table knows. */
st_status fw_release_load(st_framework framework, const st_paths *paths, const char *wanted,
                          st_arena *arena, fw_release *release, st_errors *errors);
bool fw_release_has(const fw_release *release, const char *option);
/* Reports every option that the release does not accept. */
bool fw_release_check(st_framework framework, const fw_release *release,
                      const megatron_run *settings, st_errors *errors);
/* Below, at or above 0, as the first release is older. */
int fw_release_compare(const char *a, const char *b);
/* The flavor with the shape of the job; a job that none has is refused with the nearest. */
st_status fw_find_flavor(const st_job *job, const fw_release *release, st_arena *arena,
                         fw_flavor *flavor, st_errors *errors) ST_NODISCARD;
/* What the flavor trains otherwise; NULL: nothing. */
const char *fw_flavor_note(st_draft *draft, const fw_flavor *flavor, const st_job *job);
/* starts.c: reports what a release asserts of a plan at its start */
typedef struct fw_start {
    const st_paths *paths;
    const st_job *job;
    const fw_release *release;
    const char *family; /* of torchtitan's models; NULL: none */
} fw_start;
st_status fw_check_start(st_framework framework, const fw_start *start,
                         st_errors *errors) ST_NODISCARD;
/* The option is the launcher's. */
bool fw_is_launcher(const char *name);

/* torchtitan.c */
void fw_torchtitan_options(const st_job *job, const fw_flavor *flavor, megatron_run *options);
void fw_torchtitan_keys(megatron_run *options);
/* Reports a split of layers that torchtitan has no option for. */
bool fw_torchtitan_check(const st_job *job, st_errors *errors);

/* rules.c: reports why a framework does not run a plan */
bool fw_check(st_framework framework, const st_job *job, st_errors *errors);
/* Why the framework lacks an option for this key; "" if obvious. */
const char *fw_reason(st_framework framework, const char *key);
/* The key changes nothing in what the framework runs, and is carried. */
bool fw_is_carried(st_framework framework, const char *key);
bool fw_refuse(st_errors *errors, st_framework framework, const char *found, const char *reason,
               const char *nearest);
/* "Megatron-LM" */
const char *fw_title(st_framework framework);

/* write.c, read.c: settings in the syntax of the framework */
typedef struct fw_file {
    st_framework framework;
    const char *title;
    const char *const *notes;
    size_t note_count;
    const char *const *carried; /* "KEY=VALUE" */
    size_t carried_count;
    fw_ranks ranks;
    const char *version;
    const char *environment; /* lines that a script begins with */
    bool is_batch;           /* a script for sbatch */
} fw_file;
void fw_write(const fw_file *file, const megatron_run *settings, st_buffer *buffer);
void fw_read(st_framework framework, megatron_run *settings);
/* "stack=NAME" of what runs such a file; NULL: nothing that is known. */
const char *fw_implied_stack(st_framework framework, const st_import_request *request);
/* Of a script that writes its configuration first (cat >FILE <<'END') the configuration, in its
 * lines; false: out of memory. */
bool fw_take_script(st_import_request *request, st_arena *arena);
/* "KEY=VALUE" of the comments of a file, in `arena`. */
const char **fw_read_carried(st_framework framework, const st_import_request *request,
                             st_arena *arena, size_t *count, st_errors *errors);

void fw_set_count(megatron_run *settings, const char *name, uint64_t count);

#endif
