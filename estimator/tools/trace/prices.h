/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recorded GPU tasks take on a GPU: kernels and copies by the cells that rules name, whose
 * open functions plugins may give, or by a table of measured kernels; collectives by the providers
 * of a plugin.
 */
#ifndef STEPTIME_TRACE_PRICES_H
#define STEPTIME_TRACE_PRICES_H

#include "base/lists.h"
#include "steptime/job.h"
#include "steptime/paths.h"
#include "trace/trace.h"

/*
 * What recorded kernels do, by rules of a file (configs/kernels): a rule names an operation,
 * an operation the cells of a sheet that give its time and its arithmetic, and the keys of the job
 * that have to be known for it.
 */

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

#define ST_RULE_NO_PART SIZE_MAX

typedef struct st_rule_operation {
    const char *name;
    const char *time; /* cells */
    const char *work; /* NULL: none */
    st_rule_type *by;
    size_t by_count;
    unsigned needs; /* bits of st_size_key */
    size_t part;    /* of ST_ROLE_SPENT; ST_RULE_NO_PART: none */
    st_place place;
} st_rule_operation;

/* A formula: an expression of SQL over a launch (record/price/launch_sizes.h). */
typedef struct st_rule_formula {
    const char *name; /* of a definition */
    size_t size;      /* st_size_key that it gives */
    const char *text;
    st_place place;
} st_rule_formula;

typedef struct st_rule {
    st_task_form of;
    const char **names; /* globs, in small letters; none: every name */
    size_t name_count;
    size_t operation;
    bool unknown;           /* what it fits counts as unknown: the time is a guess */
    const char *type;       /* of the numbers of launches; NULL: not known */
    st_rule_formula *sizes; /* of launches */
    size_t size_count;
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
    st_rule_formula *definitions; /* names for formulas; later ones can use earlier ones */
    size_t definition_count;
    double band; /* how far nine of ten programs' times on another GPU are off; 0: not known */
} st_rules;

#define ST_RULES_USUAL "rules" /* the rules that ship */

/* Reads rules by name or path. Reports all errors of the file at once; lives in `arena`. */
st_status st_rules_load(const st_paths *paths, const char *name, st_arena *arena,
                        const st_rules **rules, st_errors *errors) ST_NODISCARD;

/* The rule that fits, NULL where none does. */
const st_rule *st_rules_find(const st_rules *rules, st_task_form of, const char *name);

typedef struct st_prices st_prices;

typedef struct st_prices_request {
    const char *gpu;     /* file of configs/gpus; NULL: the cluster's */
    const char *cluster; /* NULL: none, so that collectives have no price */
    const char *const *sets;
    size_t set_count;
    const char *rules; /* NULL: ST_RULES_USUAL */
    const char *times; /* table of measured kernels; NULL: none */
    /* Plugins of collectives, where none of them is one nccl-whitebox, and of the sheet's open
     * functions; "none" for neither. */
    const char *const *refine;
    size_t refine_count;
} st_prices_request;

/* A task whose price is asked for. */
typedef struct st_task_shape {
    st_task_form form;
    const char *name;           /* of the kernel, as people read it */
    const char *type;           /* of its numbers: "bf16"; NULL: not known */
    double sizes[ST_SIZE_KEYS]; /* 0: not known */
    bool at_most;               /* its bytes may be fewer */
    bool measured;              /* what it took is known, and not asked for */
} st_task_shape;

/* No task takes longer; one that does is an error. */
#define ST_PRICE_MOST_S 100.0

typedef struct st_price {
    double time_s;
    double work_flop;
    const char *operation; /* of the rules; "measured" */
    bool unknown;          /* a guess, or nothing at all */
    bool refined;          /* plugins give another time than the formulas alone */
} st_price;

/* A table of two columns: names, which may be globs, and times in us or ms. */
typedef struct st_named_times {
    const char *file;
    const char *option; /* that names it, for messages */
    const char *column; /* of the names */
    double least_s;
    double most_s;
} st_named_times;

typedef struct st_named_time {
    const char *name;
    double time_s;
} st_named_time;

st_status st_named_times_read(const st_named_times *asked, st_arena *arena, st_named_time **times,
                              size_t *count, st_errors *errors) ST_NODISCARD;

/* Everything lives in `arena`. Unknown names and cells are reported. */
st_status st_prices_open(const st_paths *paths, const st_prices_request *request, st_arena *arena,
                         st_prices **prices, st_errors *errors) ST_NODISCARD;

st_status st_prices_of_task(st_prices *prices, const st_task_shape *shape, st_price *price,
                            st_errors *errors) ST_NODISCARD;

/* `collective` as st_trace_transfer has it; time 0 and unknown where no provider knows it. */
st_status st_prices_of_transfer(st_prices *prices, const st_trace_transfer *transfer,
                                st_price *price, st_errors *errors) ST_NODISCARD;

/* The part of an estimate (ST_ROLE_SPENT) that a task belongs to, ST_RULE_NO_PART. */
size_t st_prices_part(const st_prices *prices, const st_task_shape *shape);

const st_job *st_prices_job(const st_prices *prices);
const char *st_prices_rules_file(const st_prices *prices);
/* How far kernels' times on another GPU are off, added up, in nine of ten programs: 0.2. */
double st_prices_band(const st_prices *prices);
/* The plugins that give open functions of the sheet, "operator-times"; NULL: none. */
const char *st_prices_plugins(const st_prices *prices);

#endif
