/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured against estimated, in numbers: per source, per group, rows of a fit and rows it has
 * never seen apart; what one site factor would do; whether memory was judged rightly.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_ACCURACY_H
#define STEPTIME_CALIBRATE_STEPS_ACCURACY_H

#include "base/result.h"
#include "fit/steps/measured.h"
#include "fit/steps/stats.h"
#include "steptime/tool/error_kinds.h"

typedef enum st_row_part { ST_ROWS_ALL, ST_ROWS_FITTED, ST_ROWS_HELD_OUT } st_row_part;

/* Errors of the rows of a group, or of a part of them. */
typedef struct st_group_errors {
    const char *name; /* "" for all rows of the source */
    st_row_part part;
    st_error_summary summary;
    double limit;  /* of the mean absolute error, 0: none */
    size_t banded; /* rows whose kind has a band of errors */
    size_t inside; /* of them, rows whose error is not larger than the band */
    bool has_site_factor;
    double site_factor; /* median of measured over estimated */
    st_error_summary site;
    st_error_summary site_left_out; /* each row with the factor of the others */
    double site_limit;
} st_group_errors;

typedef struct st_reason {
    const char *text;
    size_t rows;
} st_reason;

typedef struct st_accuracy {
    const st_measured *measured;
    st_group_errors *groups;
    size_t group_count;
    st_reason *reasons; /* why rows were left out, the most frequent first */
    size_t reason_count;
    size_t estimated; /* rows, measured or not */
    size_t compared;  /* rows with an error */
    size_t fitted;    /* of them */
    size_t verdicts;  /* rows whose verdict on memory can be judged */
    size_t verdicts_right;
    double memory_limit; /* the least share of them; 0: none */
    size_t failed;       /* limits that are passed */
} st_accuracy;

/* `measured` has run. */
st_status st_accuracy_of(const st_measured *measured, st_arena *arena,
                         st_accuracy *accuracy) ST_NODISCARD;

/* Of the rows whose verdict on memory can be judged, those judged rightly; 1 where there are none.
 */
double st_memory_share(const st_accuracy *accuracy);

/* The error of a row, by what its estimate is for. */
typedef struct st_error_row {
    st_error_kind kind;
    double error;
    bool fitted;
    const char *source;
    const char *id;
    double model[3]; /* layers, hidden size and experts: with the GPU, the block of the row */
} st_error_row;      /* the kind has the plan of the row */

/* Its error as bands count it: of a row that a fit used, as far off as where it is left out. */
double st_error_row_counted(const st_error_row *row);
/* Of errors, whose signs they lose, the smallest that nine of ten do not exceed. */
double st_nine_of_ten(double *errors, size_t count);

typedef struct st_error_rows {
    st_error_row *items;
    size_t count;
} st_error_rows;

/*
 * Adds the rows of a table that has run and were compared. Errors are those of plain estimates,
 * without a site's factor; tables of memory do not count.
 */
st_status st_error_rows_add(st_error_rows *rows, const st_measured *measured,
                            st_arena *arena) ST_NODISCARD;

/*
 * Gives each row of a table of steps the band of its kind on the search path, which st_accuracy_of
 * counts by. Where the band was made of these very rows, it covers nine of ten of them.
 */
st_status st_rows_find_bands(const st_paths *paths, st_measured *measured, st_arena *arena,
                             st_errors *errors) ST_NODISCARD;

/* configs/errors/SHEET.yaml: errors by kind, and over all stacks; in an order of its own. */
st_status st_error_rows_write(const st_error_rows *rows, const char *sheet, st_arena *arena,
                              st_buffer *buffer) ST_NODISCARD;

/* "all rows", "used in the fit", "held out" */
const char *st_row_part_text(st_row_part part);

/* "+5.6 %", whatever the locale; "-" for what is not finite. Returns `text` or a constant. */
enum { ST_PERCENT_TEXT = 104 };
const char *st_percent_text(double share, char *text);

/* A table of summaries, with its heads, and decimals of the shares of rows. */
st_table *st_say_errors(st_node *node, const char *title, int decimals);
void st_error_summary_put(st_node *node, const st_error_summary *errors);
/* A summary under a key, and as a row of that table; a mean above the limit fails, 0: none. */
void st_show_errors(st_table *table, st_node *node, const char *key, const char *name,
                    const st_error_summary *errors, double limit);

/* "published-runs: Title [cite]"; without a title (NULL) the name alone. */
void st_say_source(st_node *node, const char *name, const char *title, const char *cite);

/* `details` shows people every row and every assumption. */
void st_accuracy_put(const st_accuracy *accuracy, bool details, st_node *map);

#endif
