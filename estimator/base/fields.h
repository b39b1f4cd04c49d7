/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of records, declared in rows: how tables spell a column, what it may hold and where in
 * a struct it goes. One loop reads the rows of a CSV table by them and reports all errors with
 * their places; what holds between the columns of a row is the caller's to check.
 *
 *     static const st_field_unit times[] = {{"us", 1e-6}, {"s", 1}, {NULL}};
 *     static const st_field fields[] = {
 *         {.name = "tokens", .spellings = "tokens|num_tokens", .flags = ST_FIELD_REQUIRED,
 *          .set = st_field_count, .least = 1, .most = 1e11, .offset = offsetof(shape, tokens)},
 *         {.name = "forward", .units = times, .set = st_field_number, .least = 1e-12, .most = 1e6,
 *          .offset = offsetof(shape, forward)}};
 */
#ifndef STEPTIME_BASE_FIELDS_H
#define STEPTIME_BASE_FIELDS_H

#include "base/csv.h"
#include "base/memory.h"

/* A unit behind the name in a heading: "forward_us", "Running time [us]". */
typedef struct st_field_unit {
    const char *name; /* "": no word; NULL after the last one */
    double scale;     /* from the unit to what the struct holds */
} st_field_unit;

enum {
    ST_FIELD_REQUIRED = 1, /* the table must have it */
    ST_FIELD_BLANK = 2,    /* nothing, "n/a" and "nan" are allowed, and are not a number */
    ST_FIELD_INSIDE = 4    /* a word may be inside of the text */
};

typedef struct st_field st_field;

/* Puts what `text` says, in a unit of `scale`, into `target`; false: it is not allowed there. */
typedef bool st_field_setter(const st_field *field, const char *text, double scale, void *target);

st_field_setter st_field_text;   /* a const char *, as long-lived as the table */
st_field_setter st_field_number; /* a double */
st_field_setter st_field_count;  /* a double without a fraction */
st_field_setter st_field_word;   /* a double, the word's index in `words` */

/* Nothing, "n/a" or "nan". */
bool st_field_is_blank(const char *text);

struct st_field {
    const char *name;           /* in messages */
    const char *spellings;      /* "tokens|num_tokens", the first that is there; NULL: the name */
    const st_field_unit *units; /* NULL: none */
    st_field_setter *set;
    size_t offset;  /* of the target in the struct */
    unsigned flags; /* ST_FIELD_... */
    double least;   /* of a number, with its unit's scale */
    double most;
    const char *words;    /* "none|selective full": blanks part words, bars parts ways to say one */
    const char *expected; /* in messages; NULL: the range or the words */
    const char *hint;     /* where the column is missing; NULL: the nearest name */
};

/* Whether a name is one of a field's spellings, to the letter. */
bool st_field_is_spelt(const st_field *field, const char *name);

typedef struct st_found_field {
    size_t column; /* SIZE_MAX: the table has no such column */
    double scale;
} st_found_field;

typedef struct st_field_reader {
    const st_csv *csv;
    const st_field *fields;
    size_t count;
    bool loose; /* headings without case, signs in them as blanks: "L1 Hit Rate [%]" */
    st_arena *arena;
    st_errors *errors;
    st_status status;      /* of the first error */
    st_found_field *found; /* by field */
} st_field_reader;

/* Finds the columns; false where a required one is missing or one is there in two units. */
bool st_fields_find(st_field_reader *reader);
bool st_fields_have(const st_field_reader *reader, size_t field);
/* Whether a column is read as some field. */
bool st_fields_use(const st_field_reader *reader, size_t column);
/* Warns of columns that are read as nothing but are nearly named like a field. */
void st_fields_warn_of_slips(st_field_reader *reader);

/* The text of a row's field, "" where the table lacks the column. */
const char *st_fields_text(const st_field_reader *reader, size_t row, size_t field);

/* Reads a row; false where something is wrong. A field without a column keeps what it has. */
bool st_fields_read(st_field_reader *reader, size_t row, void *record);

/* Reports a column that is missing after all, or a field that does not suit the others. */
void st_fields_missing(st_field_reader *reader, const char *name, const char *hint);
void st_fields_refuse(st_field_reader *reader, size_t row, size_t field, const char *expected);

/*
 * The index of a word in a list such as "LL LL128 Simple", without case and signs; SIZE_MAX where
 * there is none. With `inside` the longest word that the text contains: "a100 h100" has the
 * "NVIDIA A100-SXM4-80GB".
 */
size_t st_word_index(const char *text, const char *words, bool inside);

#endif
