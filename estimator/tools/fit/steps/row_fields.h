/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of a table by our names: columns that have other names there, and numbers that occur
 * inside a text.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_ROW_FIELDS_H
#define STEPTIME_CALIBRATE_STEPS_ROW_FIELDS_H

#include "base/csv.h"
#include "fit/steps/source.h"

/* Where the field of a name is found; column SIZE_MAX: the table has none. */
typedef struct st_source_field {
    size_t column;
    const st_extraction *number; /* inside a text; NULL: the whole text */
} st_source_field;

/* A column that tables of steptime have by this name. */
typedef struct st_standard_column {
    const char *name;
    const char *key;
    bool may_be_blank; /* a blank field means the key's default */
} st_standard_column;

/* The column of a key; NULL where there is none. */
const st_standard_column *st_standard_column_of(const char *key);
/* Whether tables may have a column of that name, even if this one has not. */
bool st_is_standard_column(const char *name);

/* `source` may be NULL. */
st_source_field st_source_field_find(const st_csv *csv, const st_table_source *source,
                                     const char *name);

/*
 * The text of a field, "" where it is blank or the table has none. The digits of a number inside a
 * text are copied into `storage`.
 */
enum { ST_SOURCE_FIELD_BYTES = 32 };
const char *st_source_field_text(const st_csv *csv, st_source_field field, size_t row,
                                 char *storage);

#endif
