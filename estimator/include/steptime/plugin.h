/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins: everything that a plugin needs, in one header that includes nothing of steptime.
 *
 * A plugin is a shared object that exports one function, st_plugin_describe, which returns a
 * constant descriptor: what the plugin is, which options it takes, and which providers it offers. A
 * provider is a named function from quantities to a quantity, each with a unit; it evaluates a
 * whole block of rows in one call. It replaces an open function or an open cell of a sheet, or
 * gives a function that a sheet declares its only meaning. A plugin may also offer pipeline
 * schedules: the order of the passes of every stage.
 *
 * Numbers cross this border in base units: byte, flop, second, joule, dollar and their products;
 * counts are pure numbers. The units written in a descriptor are what reports show, and what the
 * host checks against the sheet before anything runs.
 *
 * Growth: every structure begins with its size. A host reads no further than the plugin's size
 * and takes members behind it as zero; new members come at the end only, and arrays are arrays of
 * pointers. A host keeps running plugins of every older ABI number.
 *
 * Threads: st_plugin_describe, open and close are called by one thread at a time. evaluate and
 * explain may be called by several threads at once, also for one instance. The host's functions may
 * be called from any thread, but only from inside a call of the plugin.
 *
 * Compiles as C99 and later and as C++.
 */
#ifndef STEPTIME_PLUGIN_H
#define STEPTIME_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ST_PLUGIN_ABI 1u

#if defined(_WIN32)
#define ST_PLUGIN_EXPORT __declspec(dllexport)
#else
#define ST_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/* What open, evaluate and explain return; anything else counts as ST_PLUGIN_FAILED. */
#define ST_PLUGIN_OK     0
#define ST_PLUGIN_FAILED 1

/* ---- what the host lends ---- */

#define ST_PLUGIN_LOG_INFO    0
#define ST_PLUGIN_LOG_WARNING 1

/* The value of one option. */
typedef struct st_plugin_setting {
    const char *name;
    double number;    /* a number: base units; a choice: its index; a text: 0 */
    const char *text; /* as the user wrote it, or the default; never NULL */
    int given;        /* not 0: the job, a profile or the command line gave it */
} st_plugin_setting;

typedef struct st_plugin_host {
    uint32_t struct_size;
    uint32_t abi;  /* the newest number that the host knows */
    void *context; /* first argument of the host's functions */
    void (*log)(void *context, int level, const char *message);
    /* Why the call that is about to return ST_PLUGIN_FAILED fails: one line, lower case. The first
     * one of a call counts. */
    void (*error)(void *context, const char *message);
    void *(*allocate)(void *context, size_t size_bytes); /* NULL: no memory */
    void (*release)(void *context, void *memory);
    const char *directory; /* the folder of the plugin's file and of its data */
    /* One for each option of the descriptor, in its order, checked against its limits. */
    const st_plugin_setting *const *settings;
    size_t setting_count;
} st_plugin_host;

/* Fails the current call with a reason: `return st_plugin_fail(host, "...")`. */
static inline int st_plugin_fail(const st_plugin_host *host, const char *message)
{
    host->error(host->context, message);
    return ST_PLUGIN_FAILED;
}

/* ---- what the plugin offers ---- */

#define ST_PLUGIN_NUMBER 0u /* a number with a unit */
#define ST_PLUGIN_CHOICE 1u /* one of `choices` */
#define ST_PLUGIN_TEXT   2u /* free text: a file in the plugin's folder, a table */

/*
 * A number that `steptime fit` may adjust to measurements. "prior: log sd 0.4" or "prior: sd 0.1"
 * in its line of documentation says how far from its default it is expected. A text: curves of the
 * factors that the numbers leave, as `steptime fit nccl` writes them.
 */
#define ST_PLUGIN_CALIBRATED 1u

typedef struct st_plugin_option {
    uint32_t struct_size;
    uint32_t kind;
    uint32_t flags;
    const char *name;
    const char *unit;         /* of a number, "" for a pure one */
    const char *choices;      /* of a choice, separated by blanks */
    const char *default_text; /* as a user would write it, with the unit: "4.5 us" */
    double minimum;           /* of a number, inclusive, in base units */
    double maximum;
    const char *doc; /* one line */
    const char *cite;
} st_plugin_option;

#define ST_PLUGIN_OPTIONAL 1u /* where the sheet has nothing of the name, the column is NULL */

/*
 * What a provider reads. A name without a dot is an argument of the function it replaces, else a
 * cell or an input of the sheet; a name with dots is a key of the job, "cluster.gpus_per_node".
 */
typedef struct st_plugin_argument {
    uint32_t struct_size;
    uint32_t flags;
    const char *name;
    const char *unit; /* any unit of the right dimension; "" for a pure number */
    const char *doc;
} st_plugin_argument;

#define ST_PLUGIN_PART 1u /* adds to the value: the parts of an explanation sum to it */

/* One line of an explanation. A text of the name "origin" is shown next to the value in reports,
 * too: whether it was measured, or how it was predicted. */
typedef struct st_plugin_term {
    uint32_t struct_size;
    uint32_t flags;
    const char *name;
    const char *unit; /* how to show `value` */
    double value;     /* base units */
    const char *text; /* shown instead of a value, NULL: none */
    const char *doc;
} st_plugin_term;

/* Where an explanation goes; texts are copied. */
typedef struct st_plugin_sink {
    uint32_t struct_size;
    void *context;
    void (*term)(void *context, const st_plugin_term *term);
} st_plugin_sink;

/* Lines of an explanation: a part of the value, another value, a text. `doc` may be NULL. */
static inline void st_plugin_tell_term(const st_plugin_sink *sink, st_plugin_term term)
{
    term.struct_size = sizeof(term);
    sink->term(sink->context, &term);
}

static inline void st_plugin_tell_part(const st_plugin_sink *sink, const char *name,
                                       const char *unit, double value, const char *doc)
{
    const st_plugin_term term = {0, ST_PLUGIN_PART, name, unit, value, NULL, doc};
    st_plugin_tell_term(sink, term);
}

static inline void st_plugin_tell_value(const st_plugin_sink *sink, const char *name,
                                        const char *unit, double value, const char *doc)
{
    const st_plugin_term term = {0, 0, name, unit, value, NULL, doc};
    st_plugin_tell_term(sink, term);
}

static inline void st_plugin_tell_text(const st_plugin_sink *sink, const char *name,
                                       const char *text, const char *doc)
{
    const st_plugin_term term = {0, 0, name, "", 0, text, doc};
    st_plugin_tell_term(sink, term);
}

/*
 * Time of a collective: zero for one rank and, with the options as they come, not falling with the
 * bytes; `plugin check` tests it. Options that follow measurements may fall where these do.
 */
#define ST_PLUGIN_COLLECTIVE 1u

typedef struct st_plugin_provider {
    uint32_t struct_size;
    uint32_t flags;
    const char *name; /* of the function or cell */
    const char *unit; /* of the value */
    const char *doc;
    const char *cite;
    const st_plugin_argument *const *arguments;
    size_t argument_count;
    /*
     * columns[i][row] is argument i, NULL for an optional argument that the sheet lacks. A row
     * outside the model's range gets NaN: it is refused, and the job decides what happens then.
     * Rows do not influence each other.
     */
    int (*evaluate)(void *instance, size_t rows, const double *const *columns, double *values);
    /*
     * May be NULL. The terms of one row (columns[i][0]); those marked ST_PLUGIN_PART sum to the
     * value. For a refused row: host->error with the reason, and ST_PLUGIN_FAILED.
     */
    int (*explain)(void *instance, const double *const *columns, const st_plugin_sink *sink);
} st_plugin_provider;

/* ---- pipeline schedules ---- */

/* Passes of a micro-batch through a chunk of the model. */
#define ST_PLUGIN_FORWARD  0u
#define ST_PLUGIN_BACKWARD 1u /* gradients of activations, for which the stage before waits */
#define ST_PLUGIN_WEIGHTS  2u /* gradients of weights, which nothing waits for */
#define ST_PLUGIN_BOTH     3u /* both kinds of gradients at once */

/*
 * The pipeline to order. Of the model's stages * chunks chunks, stage s has s, s + stages,
 * s + 2 * stages and so on. Times are seconds of a pass of one micro-batch, by chunk of the model.
 */
typedef struct st_plugin_pipeline {
    uint32_t struct_size;
    uint32_t stages;
    uint32_t micro_batches;
    uint32_t chunks; /* of a stage */
    const double *forward_s;
    const double *backward_s;
    const double *weights_s;
    double transfer_s; /* between neighbours */
} st_plugin_pipeline;

/* Where an order goes: the passes of a stage as it runs them; stages may come in any order. */
typedef struct st_plugin_order {
    uint32_t struct_size;
    void *context;
    /* Micro-batches and the chunks of a stage count from 0. Not 0: it takes no more. */
    int (*pass)(void *context, uint32_t stage, uint32_t kind, uint32_t micro_batch, uint32_t chunk);
} st_plugin_order;

#define ST_PLUGIN_CHUNKED 1u /* a stage may have several chunks; else it has one */
/* Stages begin the next step when they are done with this one: a step lasts as long as the longest
 * time from a stage's first to its last pass. */
#define ST_PLUGIN_STAGGERED 2u

typedef struct st_plugin_schedule {
    uint32_t struct_size;
    uint32_t flags;
    const char *name;
    const char *doc;
    const char *cite;
    /*
     * Gives every pass of every micro-batch and chunk once, on its stage; the same for the same
     * pipeline. For an unsupported pipeline: host->error with the reason, and
     * ST_PLUGIN_FAILED.
     */
    int (*order)(void *instance, const st_plugin_pipeline *pipeline, const st_plugin_order *order);
} st_plugin_schedule;

typedef struct st_plugin {
    uint32_t struct_size;
    uint32_t abi;        /* ST_PLUGIN_ABI of the header that the plugin was compiled with */
    const char *id;      /* lower case letters, digits and '-'; the name that jobs use */
    const char *version; /* "1.2.0" */
    const char *licence; /* SPDX */
    const char *summary; /* one line */
    const st_plugin_option *const *options;
    size_t option_count;
    const st_plugin_provider *const *providers;
    size_t provider_count;
    /* May be NULL: no instance. *instance is passed on to evaluate, explain and close. `host` and
     * all that it points to live until close has returned. */
    int (*open)(const st_plugin_host *host, void **instance);
    void (*close)(void *instance); /* may be NULL */
    /* Behind the first ABI's members. A plugin with schedules may have no providers. */
    const st_plugin_schedule *const *schedules;
    size_t schedule_count;
} st_plugin;

/* The one function that a plugin exports. Does nothing but return the address of a constant. */
typedef const st_plugin *(*st_plugin_describe_function)(void);
#define ST_PLUGIN_SYMBOL "st_plugin_describe"
ST_PLUGIN_EXPORT const st_plugin *st_plugin_describe(void);

#ifdef __cplusplus
}
#endif
#endif
