/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing rows; see filter.h. */
#include "fit/steps/filter.h"

#include "base/text.h"

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

static st_status apply_slice(const char *term, const st_csv *csv, st_arena *arena, bool *kept,
                             st_errors *errors)
{
    size_t parts[3] = {0, SIZE_MAX, 1};
    size_t count = 0;
    const char **texts = st_text_split(term, ":", arena, &count);
    if (texts == NULL)
        return ST_ERR_MEMORY;
    bool good = count <= 3;
    for (size_t i = 0; i < count && good; i++)
        good = read_part(texts[i], strlen(texts[i]), &parts[i]);
    if (!good || parts[2] == 0)
        return refuse(errors, st_errors_text(errors, "invalid slice of rows '%s'", term), NULL);
    size_t index = 0;
    for (size_t row = 0; row < csv->row_count; row++) {
        if (!kept[row])
            continue;
        kept[row] = index >= parts[0] && index < parts[1] && (index - parts[0]) % parts[2] == 0;
        index++;
    }
    return ST_OK;
}

static st_status apply_condition(const char *term, const st_csv *csv, st_arena *arena, bool *kept,
                                 st_errors *errors)
{
    const char *equals = strchr(term, '=');
    size_t length = (size_t)(equals - term);
    bool negated = length > 0 && equals[-1] == '!';
    st_condition condition = {.column = st_arena_copy(arena, term, length - (negated ? 1 : 0)),
                              .negated = negated};
    condition.values = st_text_split(equals + 1, "|", arena, &condition.value_count);
    if (condition.column == NULL || condition.values == NULL)
        return ST_ERR_MEMORY;
    size_t column = st_csv_column(csv, condition.column);
    if (column == SIZE_MAX)
        return refuse(
            errors,
            st_errors_text(errors, "table %s has no column '%s'", csv->file, condition.column),
            st_nearest(condition.column, csv->columns, csv->column_count));
    for (size_t row = 0; row < csv->row_count; row++)
        kept[row] = kept[row] && st_condition_holds(&condition, st_csv_field(csv, row, column));
    return ST_OK;
}

st_status st_filter_rows(const char *filter, const st_csv *csv, st_arena *arena, bool *kept,
                         st_errors *errors)
{
    st_status status = ST_OK;
    size_t count = 0;
    const char **terms = st_text_split(filter, ",", arena, &count);
    if (terms == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        const char *term = terms[i];
        if (strchr(term, '=') != NULL)
            status = apply_condition(term, csv, arena, kept, errors);
        else if (strchr(term, ':') != NULL)
            status = apply_slice(term, csv, arena, kept, errors);
        else
            status = refuse(errors, st_errors_text(errors, "'%s' selects no rows", term), NULL);
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
