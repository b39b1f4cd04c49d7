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
static int next_row(table_reader *reader, size_t *count)
{
    while (*reader->at == '#' || *reader->at == '\n') {
        reader->at += strcspn(reader->at, "\n");
        reader->at += *reader->at == '\n';
        reader->line++;
    }
    reader->line++;
    *count = 0;
    if (*reader->at == '\0')
        return 0;
    for (;;) {
        size_t length = strcspn(reader->at, ",\r\n");
        if (*count == COLUMNS_MOST || length >= FIELD_BYTES) {
            *count = 0;
            return 1;
        }
        memcpy(reader->row[*count], reader->at, length);
        reader->row[(*count)++][length] = '\0';
        reader->at += length;
        if (*reader->at != ',')
            break;
        reader->at++;
    }
    reader->at += *reader->at == '\r';
    reader->at += *reader->at == '\n';
    return 1;
}

static int find_column(const table_reader *reader, const char *name)
{
    for (size_t i = 0; i < reader->fields; i++)
        if (strcmp(reader->row[i], name) == 0)
            return (int)i;
    return -1;
}

static const char *need_column(table_reader *reader, const char *name, int *place)
{
    *place = find_column(reader, name);
    if (*place >= 0)
        return NULL;
    (void)snprintf(reader->reason, ST_TABLE_REASON, "the table has no column '%s'", name);
    return reader->reason;
}

static const char *read_heading(table_reader *reader)
{
    if (!next_row(reader, &reader->fields) || reader->fields == 0) {
        (void)snprintf(reader->reason, ST_TABLE_REASON, "the table has no heading");
        return reader->reason;
    }
    for (; reader->sizes < ST_TABLE_SIZES && reader->form->sizes[reader->sizes] != NULL;
         reader->sizes++)
        if (need_column(reader, reader->form->sizes[reader->sizes],
                        &reader->places[reader->sizes]) != NULL)
            return reader->reason;
    for (size_t i = 0; i < WORDS; i++)
        reader->words[i] = find_column(reader, word_names[i]);
    for (size_t i = 0; i < reader->form->only_count; i++)
        reader->only[i] = find_column(reader, reader->form->only[i].column);
    reader->as_dtype =
        reader->form->as_dtype != NULL ? find_column(reader, reader->form->as_dtype) : -1;
    return need_column(reader, "us", &reader->time);
}

static const char *read_number(table_reader *reader, int place, const char *column, double *value)
{
    bool may_be_zero =
        reader->form->may_be_zero != NULL && strcmp(column, reader->form->may_be_zero) == 0;
    char *end = NULL;
    const char *text = reader->row[place];
    *value = strtod(text, &end);
    if (end != text && *end == '\0' && isfinite(*value) &&
        (*value > 0 || (may_be_zero && *value >= 0)))
        return NULL;
    (void)snprintf(reader->reason, ST_TABLE_REASON,
                   "line %zu of the table: column %s: found '%.40s', expected a number %s 0",
                   reader->line, column, text, may_be_zero ? "of at least" : "above");
    return reader->reason;
}

/* ---- rows ---- */

static const char *word_of(const table_reader *reader, size_t word)
{
    return reader->words[word] >= 0 ? reader->row[reader->words[word]] : "";
}

static int is_wanted(const table_reader *reader)
{
    const char *const wanted[] = {reader->filter->gpu, reader->filter->dtype,
                                  reader->filter->source};
    const char *not_source = reader->form->not_source;
    for (size_t i = 0; i < WORDS; i++)
        if (wanted[i][0] != '\0' && strcmp(word_of(reader, i), wanted[i]) != 0)
            return 0;
    for (size_t i = 0; i < reader->form->only_count; i++)
        if (reader->only[i] >= 0 &&
            strcmp(reader->row[reader->only[i]], reader->form->only[i].value) != 0)
            return 0;
    if (reader->as_dtype >= 0 &&
        strcmp(reader->row[reader->as_dtype], word_of(reader, WORD_DTYPE)) != 0)
        return 0;
    return not_source == NULL || strstr(word_of(reader, WORD_SOURCE), not_source) == NULL;
}

static const char *add_row(table_reader *reader, st_table *table)
{
    st_measured *row = &table->rows[table->count];
    /* Mixed times of two GPUs or types would be valid for neither. */
    const char *words = NULL;
    const size_t count = table->count;
    for (size_t i = WORD_GPU; i <= WORD_DTYPE; i++) {
        const char *found = word_of(reader, i);
        if (count == 0)
            (void)snprintf(reader->seen[i], FIELD_BYTES, "%s", found);
        if (strcmp(reader->seen[i], found) == 0 ||
            (i == WORD_DTYPE && reader->form->options == NULL))
            continue;
        (void)snprintf(
            reader->reason, ST_TABLE_REASON,
            "the table has rows of both %.40s and %.40s; select one with the option %s%s",
            reader->seen[i], found, i == WORD_GPU ? "" : reader->form->options, word_names[i]);
        words = reader->reason;
        break;
    }
    if (words != NULL)
        return reader->reason;
    for (size_t i = 0; i < reader->sizes; i++)
        if (read_number(reader, reader->places[i], reader->form->sizes[i], &row->sizes[i]) != NULL)
            return reader->reason;
    if (read_number(reader, reader->time, "us", &row->time_s) != NULL)
        return reader->reason;
    row->time_s *= 1e-6;
    row->line = reader->line;
    table->count++;
    return NULL;
}

static const char *read_rows(table_reader *reader, st_table *table)
{
    size_t count = 0;
    while (next_row(reader, &count)) {
        if (count != reader->fields) {
            (void)snprintf(reader->reason, ST_TABLE_REASON,
                           "line %zu of the table has %zu fields and the heading %zu", reader->line,
                           count, reader->fields);
            return reader->reason;
        }
        if (!is_wanted(reader))
            continue;
        if (table->count == ROWS_MOST) {
            (void)snprintf(reader->reason, ST_TABLE_REASON, "the table has more than %d rows",
                           ROWS_MOST);
            return reader->reason;
        }
        if (add_row(reader, table) != NULL)
            return reader->reason;
    }
    if (table->count > 0)
        return NULL;
    (void)snprintf(reader->reason, ST_TABLE_REASON, "no rows of the table are left");
    return reader->reason;
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
    table_reader reader = {.at = text, .form = form, .filter = filter, .reason = reason};
    *table = (st_table){.rows = calloc(line_count(text), sizeof *table->rows)};
    const char *fault = table->rows != NULL ? read_heading(&reader) : "out of memory";
    if (fault == NULL)
        fault = read_rows(&reader, table);
    if (fault != NULL)
        st_table_free(table);
    return fault;
}

void st_table_free(st_table *table)
{
    free(table->rows);
    *table = (st_table){0};
}
