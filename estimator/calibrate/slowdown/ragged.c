/* SPDX-License-Identifier: Apache-2.0 */
/* A parser of such logs, line by line; a heading starts the table. */
#include "calibrate/slowdown/ragged.h"

#include "base/utf8.h"
#include "job/files.h"

#include <string.h>

typedef struct parser {
    st_ragged *table;
    st_arena *arena;
    st_errors *errors;
    const char *mark;
    const char *at;
    const char *end;
    char *out; /* the fields' bytes, at most as many as the text's */
    int line;
    size_t field_count;
    size_t field_capacity;
    size_t row_capacity;
    size_t line_capacity;
    bool has_head;
} parser;

static st_status add_field(parser *own, const char *text)
{
    if (own->field_count >= ST_RAGGED_MAX_FIELDS) {
        return st_fail(own->errors, ST_ERR_SYNTAX,
                       (st_place){.file = own->table->file, .line = own->line},
                       "the table has too many fields" ST_EXPECTED "at most 16 million");
    }
    own->table->fields = st_arena_grow(own->arena, own->table->fields, sizeof(char *),
                                       own->field_count + 1, &own->field_capacity);
    if (own->table->fields == NULL) {
        return st_out_of_memory(own->errors);
    }
    own->table->fields[own->field_count++] = text;
    return ST_OK;
}

static bool at_line_end(const parser *own)
{
    return own->at >= own->end || *own->at == '\n' ||
           (*own->at == '\r' && own->at + 1 < own->end && own->at[1] == '\n');
}

/* The inside of quotes; a doubled quote is one. */
static st_status read_quoted(parser *own)
{
    int line = own->line;
    for (own->at++; own->at < own->end; own->at++) {
        if (*own->at == '"') {
            if (own->at + 1 < own->end && own->at[1] == '"') {
                own->at++;
            } else {
                own->at++;
                return ST_OK;
            }
        }
        own->line += *own->at == '\n' ? 1 : 0;
        *own->out++ = *own->at;
    }
    return st_fail(own->errors, ST_ERR_SYNTAX, (st_place){.file = own->table->file, .line = line},
                   "a quote is not closed, the file may be cut");
}

static st_status read_field(parser *own)
{
    const char *start = own->out;
    st_status status = ST_OK;
    if (own->at < own->end && *own->at == '"') {
        status = read_quoted(own);
    }
    while (status == ST_OK && !at_line_end(own) && *own->at != ',') {
        *own->out++ = *own->at++;
    }
    *own->out++ = '\0';
    return status == ST_OK ? add_field(own, start) : status;
}

/* Reads the fields of a line; the text ends with it or goes on behind it. */
static st_status read_line(parser *own)
{
    st_status status = read_field(own);
    while (status == ST_OK && own->at < own->end && *own->at == ',') {
        own->at++;
        status = read_field(own);
    }
    if (own->at < own->end && *own->at == '\r') {
        own->at++;
    }
    own->at += own->at < own->end ? 1 : 0;
    own->line++;
    return status;
}

static bool has_mark(const parser *own, size_t first)
{
    for (size_t i = first; i < own->field_count; i++) {
        if (strcmp(own->table->fields[i], own->mark) == 0) {
            return true;
        }
    }
    return false;
}

static st_status keep_row(parser *own, size_t first, int line)
{
    st_ragged *table = own->table;
    table->rows = st_arena_grow(own->arena, table->rows, sizeof *table->rows, table->row_count + 2,
                                &own->row_capacity);
    table->lines = st_arena_grow(own->arena, table->lines, sizeof *table->lines,
                                 table->row_count + 1, &own->line_capacity);
    if (table->rows == NULL || table->lines == NULL) {
        return st_out_of_memory(own->errors);
    }
    table->rows[table->row_count] = first;
    table->rows[table->row_count + 1] = own->field_count;
    table->lines[table->row_count++] = line;
    return ST_OK;
}

/* The heading, a row, or neither. */
static st_status take_line(parser *own, size_t first, int line)
{
    size_t width = own->field_count - first;
    if (!own->has_head) {
        own->has_head = has_mark(own, first);
        if (!own->has_head) {
            own->field_count = first;
            return ST_OK;
        }
        memmove(own->table->fields, own->table->fields + first, width * sizeof(char *));
        own->field_count = width;
        own->table->column_count = width;
        own->table->head_line = line;
        return width <= ST_RAGGED_MAX_COLUMNS
                   ? ST_OK
                   : st_fail(own->errors, ST_ERR_SYNTAX,
                             (st_place){.file = own->table->file, .line = line},
                             "the table has too many columns" ST_EXPECTED "at most 20000");
    }
    /* "==WARNING== ..." may have commas */
    if (width == 1 || strncmp(own->table->fields[first], "==", 2) == 0) {
        own->field_count = first;
        return ST_OK;
    }
    if (width > own->table->column_count) {
        return st_fail(own->errors, ST_ERR_SYNTAX,
                       (st_place){.file = own->table->file, .line = line},
                       "the row has more fields than the heading");
    }
    return keep_row(own, first, line);
}

static st_status check_text(const parser *own, const char *text, size_t length)
{
    int line = 1;
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t bytes = st_utf8_decode(text + i, length - i, &code);
        if (bytes == 0 ||
            (st_utf8_is_control(code) && code != '\n' && code != '\r' && code != '\t')) {
            return st_fail(own->errors, ST_ERR_SYNTAX,
                           (st_place){.file = own->table->file, .line = line},
                           "this is no text" ST_EXPECTED "CSV in UTF-8");
        }
        line += code == '\n' ? 1 : 0;
        i += bytes;
    }
    return ST_OK;
}

st_status st_ragged_parse(st_ragged *table, const char *text, size_t length, const char *mark,
                          st_arena *arena, st_errors *errors)
{
    parser own = {.table = table,
                  .arena = arena,
                  .errors = errors,
                  .mark = mark,
                  .at = text,
                  .end = text + length,
                  .line = 1};
    *table = (st_ragged){.file = table->file};
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* some editors mark UTF-8 */
        text += 3;
        length -= 3;
        own.at = text;
    }
    st_status status = check_text(&own, text, length);
    if (status != ST_OK) {
        return status;
    }
    own.out = st_arena_alloc(arena, 2 * length + 2, 1); /* each field ends in one NUL */
    if (own.out == NULL) {
        return st_out_of_memory(errors);
    }
    while (own.at < own.end && status == ST_OK) {
        size_t first = own.field_count;
        int line = own.line;
        status = read_line(&own);
        if (status == ST_OK) {
            status = take_line(&own, first, line);
        }
    }
    if (status == ST_OK && !own.has_head) {
        status = st_fail(own.errors, ST_ERR_SYNTAX, (st_place){.file = own.table->file, .line = 0},
                         "no heading with a column '%s'" ST_EXPECTED "CSV of a profiler", mark);
    }
    return status;
}

size_t st_ragged_column(const st_ragged *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcmp(table->fields[i], name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

size_t st_ragged_width(const st_ragged *table, size_t row)
{
    return table->rows[row + 1] - table->rows[row];
}

const char *st_ragged_field(const st_ragged *table, size_t row, size_t column)
{
    return column < st_ragged_width(table, row) ? table->fields[table->rows[row] + column] : "";
}

int st_ragged_line(const st_ragged *table, size_t row)
{
    return table->lines[row];
}
