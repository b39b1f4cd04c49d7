/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing rows; see filter.h. */
#include "calibrate/steps/filter.h"

#include <string.h>

static const char option[] = "--rows";

static st_status refuse(st_errors *errors, const char *message, const char *suggestion)
{
    return st_fail(errors, ST_ERR_USAGE, (st_place){.file = option},
                   "%s" ST_EXPECTED "%s" ST_HINT "%s", message,
                   suggestion == NULL ? "COLUMN=VALUE, COLUMN=VALUE|VALUE, "
                                        "COLUMN!=VALUE or START:STOP:STEP"
                                      : "",
                   st_or_none(suggestion));
}

/* A part of a slice: *value stays where nothing is written. */
static bool read_part(const char *text, size_t length, size_t *value)
{
    size_t number = 0;
    if (length > 9)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        number = number * 10 + (size_t)(text[i] - '0');
    }
    if (length > 0)
        *value = number;
    return true;
}

static st_status apply_slice(const char *term, size_t row_count, bool *kept, st_errors *errors)
{
    size_t parts[3] = {0, SIZE_MAX, 1};
    const char *next = term;
    bool good = true;
    for (size_t i = 0; i < 3 && good; i++) {
        size_t length = strcspn(next, ":");
        good = read_part(next, length, &parts[i]);
        next += length;
        if (*next == '\0')
            break;
        next++;
    }
    if (!good || *next != '\0' || parts[2] == 0)
        return refuse(errors, st_errors_text(errors, "'%s' is no slice of rows", term), NULL);
    size_t index = 0;
    for (size_t row = 0; row < row_count; row++) {
        if (!kept[row])
            continue;
        kept[row] = index >= parts[0] && index < parts[1] && (index - parts[0]) % parts[2] == 0;
        index++;
    }
    return ST_OK;
}

/* "A|B|C" cut in place. */
static const char *const *split_values(char *text, st_arena *arena, size_t *count)
{
    const char **values = st_arena_alloc(arena, strlen(text) + 2, sizeof *values);
    *count = 0;
    while (values != NULL) {
        size_t length = strcspn(text, "|");
        bool last = text[length] == '\0';
        text[length] = '\0';
        values[(*count)++] = text;
        if (last)
            break;
        text += length + 1;
    }
    return values;
}

static st_status apply_condition(char *term, const st_csv *csv, st_arena *arena, bool *kept,
                                 st_errors *errors)
{
    char *equals = strchr(term, '=');
    st_condition condition = {.column = term};
    condition.negated = equals > term && equals[-1] == '!';
    equals[condition.negated ? -1 : 0] = '\0';
    size_t column = st_csv_column(csv, term);
    if (column == SIZE_MAX)
        return refuse(errors,
                      st_errors_text(errors, "table %s has no column '%s'", csv->file, term),
                      st_nearest(term, csv->columns, csv->column_count));
    condition.values = split_values(equals + 1, arena, &condition.value_count);
    if (condition.values == NULL)
        return ST_ERR_MEMORY;
    for (size_t row = 0; row < csv->row_count; row++)
        kept[row] = kept[row] && st_condition_holds(&condition, st_csv_field(csv, row, column));
    return ST_OK;
}

st_status st_filter_rows(const char *filter, const st_csv *csv, st_arena *arena, bool *kept,
                         st_errors *errors)
{
    st_status status = ST_OK;
    while (status == ST_OK) {
        size_t length = strcspn(filter, ",");
        char *term = st_arena_copy(arena, filter, length);
        if (term == NULL)
            return ST_ERR_MEMORY;
        if (strchr(term, '=') != NULL)
            status = apply_condition(term, csv, arena, kept, errors);
        else if (strchr(term, ':') != NULL)
            status = apply_slice(term, csv->row_count, kept, errors);
        else
            status = refuse(errors, st_errors_text(errors, "'%s' chooses no rows", term), NULL);
        if (filter[length] == '\0')
            break;
        filter += length + 1;
    }
    return status;
}

bool st_filter_mentions(const char *filter, const char *column)
{
    size_t length = strlen(column);
    while (filter != NULL) {
        size_t name = strcspn(filter, "=!,");
        if (name == length && strncmp(filter, column, length) == 0 && filter[name] != ',' &&
            filter[name] != '\0')
            return true;
        filter = strchr(filter, ',');
        filter = filter != NULL ? filter + 1 : NULL;
    }
    return false;
}
