/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the text of a value into its number, by the kind of its key. */
#ifndef STEPTIME_TOOL_VALUE_TEXT_H
#define STEPTIME_TOOL_VALUE_TEXT_H

#include "steptime/job.h"

/* A value as written. */
typedef struct st_value_text {
    const char *text;
    size_t length;
    bool quoted; /* in YAML: 'no' in quotes is a text and no truth value */
    st_place place;
} st_value_text;

/*
 * Reads a value of `key` into base units (bool: 0 or 1; enumeration: the index of its name; text:
 * 0). `number` is set only on success.
 */
st_status st_value_parse(const st_key *key, const st_value_text *value, double *number,
                         st_errors *errors) ST_NODISCARD;

/* `name` is who reads the value, for messages. */
st_status st_value_parse_bool(const char *name, const st_value_text *value, double *number,
                              st_errors *errors) ST_NODISCARD;

st_status st_value_parse_quantity(const char *name, const st_value_text *value, const st_unit *unit,
                                  double *number, st_errors *errors) ST_NODISCARD;

/* The value of an input that has no key: a constant, or a name of the sheet's enumeration. */
st_status st_value_parse_typed(const char *name, const st_type *type, const st_value_text *value,
                               double *number, st_errors *errors) ST_NODISCARD;

/* The index of the value among `values`; unknown names are reported with the nearest one. */
st_status st_value_parse_name(const char *name, const st_value_text *value,
                              const char *const *values, size_t count, double *number,
                              st_errors *errors) ST_NODISCARD;

/* The value names a schedule that timelines lay out and no formula knows, that of a plugin,
 * "PLUGIN:NAME". Its number is that of the default. */
bool st_value_is_laid_out(const st_key *key, const st_value_text *value);

/* Of an enumeration: most values, and the text of them all. */
enum { ST_VALUES_MAX = 16, ST_VALUES_TEXT = 160 };

/* The words of an enumeration's key, cut out of `storage`; how many. */
size_t st_key_values(const st_key *key, char *storage, const char **names);

#endif
