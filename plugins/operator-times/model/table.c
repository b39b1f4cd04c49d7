/* SPDX-License-Identifier: Apache-2.0 */
/* CSV of measured operators; see table.h. */
#include "table.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MOST = 24, FIELD_BYTES = 120, ROWS_MOST = 400000, ONLY_MOST = 8 };

enum { WORD_GPU, WORD_DTYPE, WORD_SOURCE, WORDS };

static const char *const word_names[WORDS] = {"gpu", "dtype", "source"};

typedef struct table_reader {
    const char *at;
    size_t line;
    const st_table_form *form;
    const st_table_filter *filter;
    size_t sizes;
    size_t fields;              /* of the heading */
    int places[ST_TABLE_SIZES]; /* of the sizes */
    int time;                   /* column of us */
    int words[WORDS];           /* -1: the table has no such column */
    int only[ONLY_MOST];
    int as_dtype;
    char seen[WORDS][FIELD_BYTES]; /* of the first row that counts */
    char row[COLUMNS_MOST][FIELD_BYTES];
    char *reason;
} table_reader;

/* ---- CSV ---- */

/* A line of fields without quotes; false at the end of the text. *count is 0 for one that is none.
 */
static int next_row(table_reader *own, size_t *count)
{
    while (*own->at == '#' || *own->at == '\n') {
        own->at += strcspn(own->at, "\n");
        own->at += *own->at == '\n';
        own->line++;
    }
    own->line++;
    *count = 0;
    if (*own->at == '\0')
        return 0;
    for (;;) {
        size_t length = strcspn(own->at, ",\r\n");
        if (*count == COLUMNS_MOST || length >= FIELD_BYTES) {
            *count = 0;
            return 1;
        }
        memcpy(own->row[*count], own->at, length);
        own->row[(*count)++][length] = '\0';
        own->at += length;
        if (*own->at != ',')
            break;
        own->at++;
    }
    own->at += *own->at == '\r';
    own->at += *own->at == '\n';
    return 1;
}

static int find_column(const table_reader *own, const char *name)
{
    for (size_t i = 0; i < own->fields; i++)
        if (strcmp(own->row[i], name) == 0)
            return (int)i;
    return -1;
}

static const char *need_column(table_reader *own, const char *name, int *place)
{
    *place = find_column(own, name);
    if (*place >= 0)
        return NULL;
    (void)snprintf(own->reason, ST_TABLE_REASON, "the table has no column '%s'", name);
    return own->reason;
}

static const char *read_heading(table_reader *own)
{
    if (!next_row(own, &own->fields) || own->fields == 0) {
        (void)snprintf(own->reason, ST_TABLE_REASON, "the table has no heading");
        return own->reason;
    }
    for (; own->sizes < ST_TABLE_SIZES && own->form->sizes[own->sizes] != NULL; own->sizes++)
        if (need_column(own, own->form->sizes[own->sizes], &own->places[own->sizes]) != NULL)
            return own->reason;
    for (size_t i = 0; i < WORDS; i++)
        own->words[i] = find_column(own, word_names[i]);
    for (size_t i = 0; i < own->form->only_count; i++)
        own->only[i] = find_column(own, own->form->only[i].column);
    own->as_dtype = own->form->as_dtype != NULL ? find_column(own, own->form->as_dtype) : -1;
    return need_column(own, "us", &own->time);
}

static const char *read_number(table_reader *own, int place, const char *column, double *value)
{
    bool may_be_zero =
        own->form->may_be_zero != NULL && strcmp(column, own->form->may_be_zero) == 0;
    char *end = NULL;
    const char *text = own->row[place];
    *value = strtod(text, &end);
    if (end != text && *end == '\0' && isfinite(*value) &&
        (*value > 0 || (may_be_zero && *value >= 0)))
        return NULL;
    (void)snprintf(own->reason, ST_TABLE_REASON,
                   "line %zu of the table: column %s: found '%.40s', expected a number %s 0",
                   own->line, column, text, may_be_zero ? "of at least" : "above");
    return own->reason;
}

/* ---- rows ---- */

static const char *word_of(const table_reader *own, size_t word)
{
    return own->words[word] >= 0 ? own->row[own->words[word]] : "";
}

static int is_wanted(const table_reader *own)
{
    const char *const wanted[] = {own->filter->gpu, own->filter->dtype, own->filter->source};
    const char *not_source = own->form->not_source;
    for (size_t i = 0; i < WORDS; i++)
        if (wanted[i][0] != '\0' && strcmp(word_of(own, i), wanted[i]) != 0)
            return 0;
    for (size_t i = 0; i < own->form->only_count; i++)
        if (own->only[i] >= 0 && strcmp(own->row[own->only[i]], own->form->only[i].value) != 0)
            return 0;
    if (own->as_dtype >= 0 && strcmp(own->row[own->as_dtype], word_of(own, WORD_DTYPE)) != 0)
        return 0;
    return not_source == NULL || strstr(word_of(own, WORD_SOURCE), not_source) == NULL;
}

static const char *add_row(table_reader *own, st_table *table)
{
    st_measured *row = &table->rows[table->count];
    /* Mixed times of two GPUs or types would be valid for neither. */
    const char *words = NULL;
    const size_t count = table->count;
    for (size_t i = WORD_GPU; i <= WORD_DTYPE; i++) {
        const char *found = word_of(own, i);
        if (count == 0)
            (void)snprintf(own->seen[i], FIELD_BYTES, "%s", found);
        if (strcmp(own->seen[i], found) == 0 || (i == WORD_DTYPE && own->form->options == NULL))
            continue;
        (void)snprintf(
            own->reason, ST_TABLE_REASON,
            "the table has rows of both %.40s and %.40s; select one with the option %s%s",
            own->seen[i], found, i == WORD_GPU ? "" : own->form->options, word_names[i]);
        words = own->reason;
        break;
    }
    if (words != NULL)
        return own->reason;
    for (size_t i = 0; i < own->sizes; i++)
        if (read_number(own, own->places[i], own->form->sizes[i], &row->sizes[i]) != NULL)
            return own->reason;
    if (read_number(own, own->time, "us", &row->time_s) != NULL)
        return own->reason;
    row->time_s *= 1e-6;
    row->line = own->line;
    table->count++;
    return NULL;
}

static const char *read_rows(table_reader *own, st_table *table)
{
    size_t count = 0;
    while (next_row(own, &count)) {
        if (count != own->fields) {
            (void)snprintf(own->reason, ST_TABLE_REASON,
                           "line %zu of the table has %zu fields and the heading %zu", own->line,
                           count, own->fields);
            return own->reason;
        }
        if (!is_wanted(own))
            continue;
        if (table->count == ROWS_MOST) {
            (void)snprintf(own->reason, ST_TABLE_REASON, "the table has more than %d rows",
                           ROWS_MOST);
            return own->reason;
        }
        if (add_row(own, table) != NULL)
            return own->reason;
    }
    if (table->count > 0)
        return NULL;
    (void)snprintf(own->reason, ST_TABLE_REASON, "no rows of the table are left");
    return own->reason;
}

/* At least as many as there are rows; each byte that may end one counts. */
static size_t line_count(const char *text)
{
    size_t count = 1;
    for (; *text != '\0'; text++)
        count += *text == '\n' || *text == '\r';
    return count < ROWS_MOST ? count : ROWS_MOST;
}

const char *st_table_read(st_table *table, const char *text, const st_table_form *form,
                          const st_table_filter *filter, char *reason)
{
    table_reader own = {.at = text, .form = form, .filter = filter, .reason = reason};
    *table = (st_table){.rows = calloc(line_count(text), sizeof *table->rows)};
    const char *fault = table->rows != NULL ? read_heading(&own) : "out of memory";
    if (fault == NULL)
        fault = read_rows(&own, table);
    if (fault != NULL)
        st_table_free(table);
    return fault;
}

void st_table_free(st_table *table)
{
    free(table->rows);
    *table = (st_table){0};
}
