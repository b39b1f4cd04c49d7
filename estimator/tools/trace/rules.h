/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recorded kernels do, by rules of a file (configs/kernels): a rule names an operation,
 * an operation the cells of a sheet that give its time and its arithmetic, and the keys of the job
 * that have to be known for it.
 */
#ifndef STEPTIME_TRACE_RULES_H
#define STEPTIME_TRACE_RULES_H

#include "base/lists.h"
#include "steptime/paths.h"

/* What was recorded of a GPU task. */
typedef enum st_task_form {
    ST_FORM_KERNEL, /* by name */
    ST_FORM_PRODUCT,
    ST_FORM_ATTENTION,
    ST_FORM_ATTENTION_BACKWARD,
    ST_FORM_COPY,
    ST_FORM_HOST_COPY,
    ST_FORM_FILL,
    ST_FORM_COLLECTIVE, /* no rule's: providers know them */
    ST_FORMS
} st_task_form;

/* "kernel", "product", ... */
const char *st_task_form_name(st_task_form form);

/* The keys of a job that give the size of a task. */
enum { ST_SIZE_KEYS = 11 };
typedef enum st_size_key {
    ST_SIZE_M,
    ST_SIZE_N,
    ST_SIZE_K,
    ST_SIZE_PRODUCTS,
    ST_SIZE_BATCH,
    ST_SIZE_SEQUENCE,
    ST_SIZE_HEADS,
    ST_SIZE_KV_HEADS,
    ST_SIZE_HEAD_DIM,
    ST_SIZE_BYTES,
    ST_SIZE_REDUCTIONS
} st_size_key;
extern const char *const st_size_keys[ST_SIZE_KEYS]; /* "operator.m" */

enum { ST_RULES_MOST = 1000, ST_RULE_NAMES_MOST = 200 };

/* Times of numbers of one type. */
typedef struct st_rule_type {
    const char *type;
    const char *cell;
} st_rule_type;

typedef struct st_rule_operation {
    const char *name;
    const char *time; /* cells */
    const char *work; /* NULL: none */
    st_rule_type *by;
    size_t by_count;
    unsigned needs; /* bits of st_size_key */
    st_place place;
} st_rule_operation;

typedef struct st_rule {
    st_task_form of;
    const char **names; /* globs, in small letters; none: every name */
    size_t name_count;
    size_t operation;
    bool unknown; /* what it fits counts as unknown: the time is a guess */
} st_rule;

/* What `operator.precision` is for numbers of a type. */
typedef struct st_rule_precision {
    const char *type;
    const char *precision;
} st_rule_precision;

typedef struct st_rules {
    const char *file;
    const char *sheet;
    st_place sheet_place;
    st_rule_operation *operations;
    size_t operation_count;
    st_rule *rules;
    size_t rule_count;
    st_rule_precision *precisions;
    size_t precision_count;
} st_rules;

/* Reads rules by name or path. Reports all errors of the file at once; lives in `arena`. */
st_status st_rules_load(const st_paths *paths, const char *name, st_arena *arena,
                        const st_rules **rules, st_errors *errors) ST_NODISCARD;

/* The rule that fits, NULL where none does. */
const st_rule *st_rules_find(const st_rules *rules, st_task_form of, const char *name);

#endif
