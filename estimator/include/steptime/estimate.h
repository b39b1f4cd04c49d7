/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates: a job on its sheet, with its plugins, as one object.
 *
 * Requests and results are structures whose first member is their size, as the caller's compiler
 * knows it. A newer library takes missing members as zero, which is the default of every member;
 * an older library refuses members that it would have to ignore. The
 * macros ST_..._INIT set the size and all else to the default.
 *
 * Returned texts live as long as the estimate, until it is set or destroyed. An estimate is
 * not safe for use by two threads at a time; two estimates are.
 */
#ifndef STEPTIME_ESTIMATE_H
#define STEPTIME_ESTIMATE_H

#include "steptime/arena.h"
#include "steptime/job.h"

#ifdef __cplusplus
extern "C" {
#endif

ST_API const char *st_version(void); /* of the library, "0.1.0" */

typedef struct st_estimate st_estimate;

typedef struct st_estimate_request {
    size_t size;
    const char *job;            /* a name on the search path or a file; NULL: `sets` alone */
    const char *sheet;          /* in place of the job's own */
    const char *const *folders; /* searched before the others, as by --path */
    size_t folder_count;
    const char *const *sets; /* "parallel.tp=4", later ones win */
    size_t set_count;
    const char *const *providers; /* plugins in place of the job's own, as by --refine */
    size_t provider_count;
    const char *const *cells; /* to compute; none: those of the sheet's report */
    size_t cell_count;
    bool all;         /* every cell of the sheet, also those that no section of its report shows */
    bool checks_warn; /* a failing check is a warning, as with --check none */
    const char *profiles; /* the database of profiles, as by --db; NULL: the user's own */
    bool isolate;         /* plugins run in processes of their own, as by --isolate */
} st_estimate_request;

#define ST_ESTIMATE_REQUEST_INIT                                                                   \
    {                                                                                              \
        sizeof(st_estimate_request), NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, false, false, \
            NULL, false                                                                            \
    }

/*
 * Loads job, sheet and plugins and binds the sheet's inputs; computes nothing yet. Reports all
 * errors. `estimate` is set on success, for st_estimate_destroy.
 */
ST_API st_status st_estimate_create(const st_estimate_request *request, st_estimate **estimate,
                                    st_errors *errors) ST_NODISCARD;
ST_API void st_estimate_destroy(st_estimate *estimate); /* NULL is fine */

/*
 * Gives a key of the job another value: "batch.micro=2", "cluster.bandwidth=187.5 GB/s",
 * "constants.mu=0.55", "model=llama3-70b". Computes nothing yet. After an error, which names the
 * key, the estimate is unchanged.
 *
 * A key that only changes values of inputs takes a microsecond and no memory, however often it is
 * set. Keys of whole files, texts, plugins and what else decides which formulas there are load the
 * job again, for milliseconds, with its warnings.
 */
ST_API st_status st_estimate_set(st_estimate *estimate, const char *assignment,
                                 st_errors *errors) ST_NODISCARD;
/* Several keys in one step, all or none; later ones win. Reports all errors. */
ST_API st_status st_estimate_set_many(st_estimate *estimate, const char *const *assignments,
                                      size_t count, st_errors *errors) ST_NODISCARD;

/* A key of the job, as the estimate has it now. */
typedef struct st_estimate_key {
    size_t size;
    const char *path;
    const char *unit; /* of a quantity; "" of all else */
    const char *doc;
    const char *text; /* as written, "200 Gbit/s"; of a section the name of its file; "": none */
    double value;     /* base units; a truth value 0 or 1; NaN of a text, a word and without one */
    st_key_kind kind;
    bool is_given; /* by the job, a file that it names, or a setting; else it is assumed */
} st_estimate_key;

#define ST_ESTIMATE_KEY_INIT                                                                       \
    {                                                                                              \
        sizeof(st_estimate_key), NULL, NULL, NULL, NULL, 0, ST_KEY_TEXT, false                     \
    }

/*
 * By its path: "parallel.tp", "model" (a section), "constants.mu". A value that the job does not
 * give is the sheet's default. ST_ERR_USAGE, with the nearest name, where there is none of the
 * path.
 */
ST_API st_status st_estimate_read_key(st_estimate *estimate, const char *path, st_estimate_key *key,
                                      st_errors *errors) ST_NODISCARD;

/*
 * Computes the requested cells. ST_ERR_CHECK where a check of the sheet fails,
 * ST_ERR_MATH where a cell has no finite value; both are reported with formula and operands, and
 * what has a value can be read.
 */
ST_API st_status st_estimate_compute(st_estimate *estimate, st_errors *errors) ST_NODISCARD;

/* A cell or an input of the sheet; texts are never NULL ("" where there is none). */
typedef struct st_estimate_cell {
    size_t size;
    const char *name;
    const char *unit;    /* as the sheet declares it; "" for a truth value or a word */
    const char *doc;     /* its meaning */
    const char *cite;    /* its source */
    const char *section; /* of the report that shows it */
    const char *formula; /* as written; of an input the job's key */
    const char *text;    /* the value as reports show it, "16.73 s"; "" without one */
    double value;        /* in base units: s, B, FLOP; a truth value 0 or 1; a word its place */
    bool is_input;
    bool is_assumed;  /* an input without a given value */
    bool is_computed; /* there is a value; of an input always */
} st_estimate_cell;

#define ST_ESTIMATE_CELL_INIT                                                                      \
    {                                                                                              \
        sizeof(st_estimate_cell), NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, false, false, false \
    }

/* The inputs of the sheet and then its cells, in the sheet's order; `index` is below the count. */
ST_API size_t st_estimate_cell_count(const st_estimate *estimate);
ST_API st_status st_estimate_cell_at(st_estimate *estimate, size_t index, st_estimate_cell *cell,
                                     st_errors *errors) ST_NODISCARD;
/* By name; computes it if necessary. Warnings and exceeded limits are left to st_estimate_compute
 * and st_estimate_write. */
ST_API st_status st_estimate_read(st_estimate *estimate, const char *name, st_estimate_cell *cell,
                                  st_errors *errors) ST_NODISCARD;
/*
 * The values of several cells and inputs by name, in base units (s, B, FLOP; a truth value 0 or 1;
 * a word its place), NaN where there is none: values[i] is that of names[i]. Computes what is
 * necessary. ST_ERR_CHECK, ST_ERR_MATH and ST_ERR_PROVIDER leave the values that there are; other
 * errors leave `values` as it was.
 */
ST_API st_status st_estimate_read_many(st_estimate *estimate, const char *const *names,
                                       size_t count, double *values,
                                       st_errors *errors) ST_NODISCARD;
/*
 * By role, whatever the sheet calls it: "step", "memory", "cost"; of a role with parts
 * "communication.hidden". docs/sheet-language.md lists the roles.
 */
ST_API st_status st_estimate_read_role(st_estimate *estimate, const char *role,
                                       st_estimate_cell *cell, st_errors *errors) ST_NODISCARD;

/* A check of the sheet, after st_estimate_compute. */
typedef struct st_estimate_check {
    size_t size;
    const char *formula;
    bool holds;      /* also false where a value that it reads does not exist */
    bool is_warning; /* failing it is not an error */
    bool is_limit;   /* failing it keeps the values: memory is exceeded */
} st_estimate_check;

#define ST_ESTIMATE_CHECK_INIT                                                                     \
    {                                                                                              \
        sizeof(st_estimate_check), NULL, false, false, false                                       \
    }

ST_API size_t st_estimate_check_count(const st_estimate *estimate);
ST_API st_status st_estimate_check_at(const st_estimate *estimate, size_t index,
                                      st_estimate_check *check, st_errors *errors) ST_NODISCARD;

typedef enum st_estimate_form {
    ST_ESTIMATE_TEXT, /* for people */
    ST_ESTIMATE_JSON, /* docs/output.md describes it and the next */
    ST_ESTIMATE_CSV,
    ST_ESTIMATE_SVG /* of a report: its bars; of a timeline or traffic: the picture */
} st_estimate_form;

/* How something is written. */
typedef struct st_estimate_view {
    size_t size;
    st_estimate_form form;
    bool color;    /* of text: with the escapes of a terminal */
    size_t width;  /* of text: that of the terminal in characters; 0: nothing wraps */
    size_t levels; /* of an explanation, the cell itself being one; 0: down to the inputs */
    size_t digits; /* of an explanation's numbers, 1 to 17; 0: four, with a prefix to the unit */
    bool all;      /* of a report as text: every number, with its source, not only the summary */
    bool cite;     /* of a summary: with sources */
    bool quiet;    /* of a summary: without warnings */
    size_t
        lines; /* of an explanation as text: at most about so many, with the rest folded; 0: all */
} st_estimate_view;

#define ST_ESTIMATE_VIEW_INIT                                                                      \
    {                                                                                              \
        sizeof(st_estimate_view), ST_ESTIMATE_TEXT, false, 0, 0, 0, false, false, false, 0         \
    }

/* The report of what was computed; `errors` has the warnings that it shows. */
ST_API st_status st_estimate_write(st_estimate *estimate, const st_estimate_view *view,
                                   st_buffer *buffer, st_errors *errors) ST_NODISCARD;
/* Explains a cell, as text or JSON; computes it if necessary. */
ST_API st_status st_estimate_explain(st_estimate *estimate, const char *cell,
                                     const st_estimate_view *view, st_buffer *buffer,
                                     st_errors *errors) ST_NODISCARD;
/* A workbook whose formulas recompute when an input changes. */
ST_API st_status st_estimate_workbook(st_estimate *estimate, const char *file,
                                      st_errors *errors) ST_NODISCARD;

#ifdef __cplusplus
}
#endif
#endif
