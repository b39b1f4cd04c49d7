/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured rows: tables of measurements turned into inputs of a sheet, row by row.
 *
 * A value of a row comes from, in this order: --set, an assumption of the source that holds
 * whatever the table says, the table's column, an assumption for what the table leaves out, the
 * files that the row's GPU and cluster name, the key's default, the sheet's default. A row that
 * lacks a value is left out, and why is counted; a field that is wrong is an error of the whole
 * table.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_MEASURED_H
#define STEPTIME_CALIBRATE_STEPS_MEASURED_H

#include "base/csv.h"
#include "fit/steps/source.h"
#include "steptime/tool/programs.h"
#include "steptime/tool/roles.h"
#include "steptime/tool/estimates.h"

typedef struct st_row {
    const char *id;
    size_t line;          /* index of the row in its table */
    double measured;      /* base units; NaN where the run ran out of memory */
    bool ran_out;         /* of memory */
    bool unmeasured;      /* nothing to compare with: it is only estimated */
    const char *left_out; /* why, NULL where it is compared */
    bool estimated;       /* it is compared or could be, had it been measured */
    bool fitted;          /* some constant was fitted with it */
    double estimate;      /* base units */
    double error;         /* estimate over measured minus 1 */
    double band;          /* that nine of ten errors of its kind do not exceed; 0: not known */
    bool fits;            /* the sheet has memory suffice */
    size_t variant;       /* index of the providers that its estimate needs */
    const st_job *job;    /* of the files that the row names; NULL: it was left out before */
} st_row;

/* Whether its estimate is compared with what was measured. */
static inline bool st_row_counts(const st_row *row)
{
    return row->left_out == NULL && !row->ran_out;
}

/* Rows of one table and one source, or one job. */
typedef struct st_measured {
    const char *name; /* of the source, else the file's */
    const char *file;
    const st_csv *csv;             /* NULL: a job */
    const st_table_source *source; /* NULL: none */
    const st_sheet *sheet;
    const char *cell; /* what is compared */
    const st_type *type;
    st_row *rows;
    size_t row_count;
    size_t input_count;
    double *inputs;                /* inputs[input * row_count + row] */
    const char *const *groups;     /* names of the groups of the source */
    const double *const *formulas; /* values[formula][row] */
    const char **notes;            /* defaults that replace blank fields */
    size_t *note_rows;
    size_t note_count;
    bool is_single_step;              /* of a log, which may be warm-up */
    bool are_trials;                  /* nobody reads why rows are left out */
    const char *fits;                 /* the cell that says whether memory suffices; NULL: none */
    const st_provider_list *variants; /* providers: one list per order of ranks */
    size_t variant_count;
    /* More cells or inputs to compute for every row, and then their values[cell][row]. */
    const char *const *more;
    size_t more_count;
    double **more_values;
} st_measured;

typedef struct st_measured_request {
    const st_paths *paths;
    const char *sheet;     /* NULL: the source's, else megatron */
    const char *constants; /* NULL: the sheet's own */
    const char *const *sets;
    size_t set_count;
    const char *const *refine; /* plugins, as in st_request; of a table NULL is none */
    size_t refine_count;
    const st_table_source *sources;
    size_t source_count;
    bool known_only; /* pass over rows that belong to none of the sources */
} st_measured_request;

/* Every source of tables on the search path, in the order of their names. */
st_status st_table_sources_load(const st_paths *paths, st_arena *arena,
                                const st_table_source **sources, size_t *count,
                                st_errors *errors) ST_NODISCARD;

/* A file of measured rows, and which of them. */
typedef struct st_measured_table {
    const char *file;
    st_place place;     /* where it was asked for */
    const char *filter; /* what --rows says; NULL: all rows */
    const st_csv *csv;  /* of the file, where it was read before; NULL: it is read */
} st_measured_table;

/*
 * Reads a table: one st_measured for each source that has rows in it and one for those that belong
 * to none.
 */
st_status st_measured_read(const st_measured_request *request, const st_measured_table *table,
                           st_arena *arena, st_measured **sets, size_t *count,
                           st_errors *errors) ST_NODISCARD;

/* A job with a measured step time as a table of one row. */
st_status st_measured_job(const st_measured_request *request, const char *job, st_arena *arena,
                          st_measured *measured, st_errors *errors) ST_NODISCARD;

/* What is compared: the cell of that name, or without a name the one that fills the role. */
st_status st_measured_find_cell(st_measured *measured, const char *name, st_role role,
                                st_errors *errors) ST_NODISCARD;

/* Whether step times are compared. */
bool st_measured_is_step(const st_measured *measured);

/* What is computed for all rows. */
typedef struct st_asked_cells {
    const char *const *names; /* of cells or inputs */
    size_t count;
    double *const *values;     /* values[cell][row] */
    double *const *checks;     /* of the sheet's checks likewise; NULL: none is looked at */
    const st_provider *before; /* those that the rows have; NULL: none */
    size_t *row;               /* becomes the one row that runs; NULL: they run side by side */
} st_asked_cells;

st_status st_measured_ask(const st_measured *measured, const st_asked_cells *asked, st_arena *arena,
                          st_errors *errors) ST_NODISCARD;

/* How many lists of providers rows have, and the one of that index. */
size_t st_measured_variants(const st_measured *measured);
const st_provider_list *st_measured_providers(const st_measured *measured, size_t variant);

/* Estimates all rows; rows that a check of the sheet rejects are left out. */
st_status st_measured_run(st_measured *measured, st_arena *arena, st_errors *errors) ST_NODISCARD;

/* Marks the rows that the fit behind a file of constants has used. */
st_status st_measured_mark_fitted(st_measured *measured, const st_paths *paths,
                                  const char *constants, st_arena *arena,
                                  st_errors *errors) ST_NODISCARD;

/* The field of a column by our name, "" where the table has none. */
const char *st_measured_field(const st_measured *measured, size_t row, const char *column);

/* The number of a row for the input of its sheet that reads a key; NaN where none does. */
double st_measured_value(const st_measured *measured, size_t row, const char *key);
/* The name of that number, where it is one of a list; "" where it is none. */
const char *st_measured_choice(const st_measured *measured, size_t row, const char *key);

/* Whether a row fulfils a condition of its source. */
bool st_measured_holds(const st_measured *measured, const st_when *when, size_t row);

#endif
