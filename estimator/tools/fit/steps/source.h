/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known about a table of measurements beyond its columns: validation/SOURCE/table.yaml.
 *
 * A table rarely says everything that an estimate needs: the network of the site, how a vocabulary
 * was padded, what a framework does by default. Each such assumption is here once, with its reason,
 * so that nothing is filled in silently. docs/tables.md describes the file.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_SOURCE_H
#define STEPTIME_CALIBRATE_STEPS_SOURCE_H

#include "fit/steps/row_condition.h"
#include "steptime/tool/job_keys.h"
#include "fit/steps/formulas.h"
#include "steptime/tool/value_text.h"
#include "steptime/job.h"

enum { ST_SOURCE_ITEMS_MAX = 200 };

#define ST_NO_WORD "none" /* a word of a list that says nothing about the job */

/* When something holds for a row: all conditions and the formula. */
typedef struct st_when {
    const st_condition *conditions;
    size_t condition_count;
    int formula; /* ST_NO_FORMULA: none */
} st_when;

/* A key of the job, or the name of a file for a whole section of it. */
typedef struct st_assigned {
    const char *path;
    const st_key *key;             /* NULL: a section or a constant */
    const st_key_section *section; /* NULL: a key or a constant */
    st_value_text value;
    int formula; /* instead of the value, ST_NO_FORMULA: none */
    st_place place;
} st_assigned;

typedef struct st_assumption {
    st_when when;
    const st_assigned *set; /* whatever the table says */
    size_t set_count;
    const st_assigned *fill; /* where the table says nothing */
    size_t fill_count;
    const char *why;
} st_assumption;

typedef struct st_omission {
    st_when when;
    const char *why;
} st_omission;

/* Rows that are counted apart. */
typedef struct st_row_group {
    const char *name;
    st_when when;
    bool site_factor;  /* show what one factor would do */
    double limit;      /* of the mean absolute error; 0: none */
    double site_limit; /* the same after the factor */
} st_row_group;

/* A number within a text: the first digits in the column `from` after `behind`, or in front of
 * `before`. One of the two is "". */
typedef struct st_extraction {
    const char *column;
    const char *from;
    const char *behind;
    const char *before;
} st_extraction;

typedef struct st_renamed {
    const char *name;   /* ours */
    const char *theirs; /* a column of the table, or a GPU's name there */
    st_place place;
} st_renamed;

/* What a table's own words say of a key: `name` theirs, '*' for any text, `theirs` our value. */
typedef struct st_words {
    const char *path; /* the key; of a list the table's column */
    const st_renamed *items;
    size_t count;
    st_place place;
} st_words;

typedef struct st_table_source {
    const char *name;
    const char *title;
    const char *cite;
    const char *file;
    const char *sheet; /* NULL: the default */
    const char *rows;  /* a CSV file in the same folder; NULL: none */
    const char *data;  /* a path below STEPTIME_DATA; NULL: none */
    st_place place;
    st_when match;
    const char *column; /* that was measured; NULL: as in a table without a source */
    const char *unit;
    const char *cell;             /* NULL: that of the step time */
    const char *ran_out;          /* the word for a run that ran out of memory; NULL: none */
    const char *const *constants; /* fits that used rows of this source */
    size_t constant_count;
    const st_renamed *columns;
    size_t column_count;
    const st_renamed *gpus;
    size_t gpu_count;
    const st_extraction *extractions;
    size_t extraction_count;
    const st_words *words; /* of fields that hold one */
    size_t word_count;
    const st_words *lists; /* of fields that hold several, joined by '+'; ours: a key, or "none" */
    size_t list_count;
    const char *const *ignored; /* columns that say nothing about a job */
    size_t ignored_count;
    const st_assumption *assumptions;
    size_t assumption_count;
    const st_omission *omissions;
    size_t omission_count;
    const st_row_group *groups; /* the first one is all rows */
    size_t group_count;
    double memory_limit; /* share of the rows whose memory must be judged rightly, 0: none */
    st_row_formulas *formulas;
} st_table_source;

/* Reads a source by name or path; reports all errors at once. */
st_status st_table_source_load(const st_paths *paths, const char *name, st_arena *arena,
                               st_table_source *source, st_errors *errors) ST_NODISCARD;

#endif
