/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions on the fields of a row: which column must hold which text. Used by the assumptions of
 * a source and by --rows.
 *
 * A value matches a field that is equal to it, as text or as a number; '*' matches any text, and
 * the empty value for a blank field.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_ROW_CONDITION_H
#define STEPTIME_CALIBRATE_STEPS_ROW_CONDITION_H

#include "base/yaml_read.h"

enum { ST_CONDITIONS_MAX = 64, ST_CONDITION_VALUES_MAX = 1000 };

typedef struct st_condition {
    const char *column;
    const char *const *values; /* one of them must match */
    size_t value_count;
    bool negated; /* none of them may match */
    st_place place;
} st_condition;

bool st_text_matches(const char *text, const char *pattern);
bool st_condition_holds(const st_condition *condition, const char *field);

/* Reads the maps `key` and, negated, `unless` (NULL: none) of columns to a value or to a list of
 * values; NULL when out of memory. */
const st_condition *st_read_conditions(st_yaml_reader *reader, const st_yaml_node *map,
                                       const char *key, const char *unless, size_t *count);

#endif
