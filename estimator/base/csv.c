/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading CSV. The text is copied once and cut into fields in place: a field without its quotes is
 * never longer than with them, so each keeps the offset that it has in the file, from which its
 * line and column can be reported when a message needs them.
 */
#include "base/csv.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <string.h>

/* In place of the offset of a field that a row of a log lacks. */
#define ABSENT UINT32_MAX

typedef struct csv_reader {
    const char *file;
    const char *source;
    size_t length;
    const char *mark; /* of the heading of a log, NULL: this is a table */
    size_t next;      /* offset of what is read next */
    char *text;
    st_arena *arena;
    st_errors *errors;
    st_status status; /* of the first error */
    uint32_t *offsets;
    size_t count;
    size_t capacity;
    size_t column_count;
} csv_reader;

static st_place place_of(const char *file, const char *source, size_t offset)
{
    st_place place = {file, 1, 1};
    size_t line_start = 0;
    for (size_t i = 0; i < offset; i++) {
        if (source[i] == '\n') {
            place.line++;
            line_start = i + 1;
        }
    }
    place.column += (int)st_utf8_count(source + line_start, offset - line_start);
    return place;
}

/* Looked for only where somebody will see it. */
static st_place place_at(const csv_reader *reader, size_t offset)
{
    return st_errors_full(reader->errors) ? (st_place){.file = reader->file}
                                          : place_of(reader->file, reader->source, offset);
}

static void syntax(csv_reader *reader, size_t offset, const char *message, const char *expected)
{
    ST_NOTE(reader, ST_ERR_SYNTAX, place_at(reader, offset), "%s" ST_EXPECTED "%s", message,
            st_or_none(expected));
}

static void out_of_memory(csv_reader *reader)
{
    reader->status =
        st_fail(reader->errors, ST_ERR_MEMORY, (st_place){0}, "%s", st_status_text(ST_ERR_MEMORY));
}

/* ---- bytes ---- */

static bool begins_with(const csv_reader *reader, const char *bytes, size_t count)
{
    return reader->length - reader->next >= count &&
           memcmp(reader->source + reader->next, bytes, count) == 0;
}

static bool is_line_end(const csv_reader *reader, size_t offset)
{
    char c = reader->source[offset];
    return c == '\n' ||
           (c == '\r' && offset + 1 < reader->length && reader->source[offset + 1] == '\n');
}

/* One error is enough: the rest is not text, either. */
static bool check_bytes(csv_reader *reader)
{
    for (size_t i = reader->next; i < reader->length;) {
        uint32_t code = 0;
        size_t size = st_utf8_decode(reader->source + i, reader->length - i, &code);
        if (size == 0) {
            syntax(reader, i, "byte is not valid UTF-8", NULL);
            return false;
        }
        bool line_end =
            code == '\n' || (code == '\r' && (reader->mark != NULL || is_line_end(reader, i)));
        if (st_utf8_is_control(code) && code != '\t' && !line_end) {
            ST_NOTE(reader, ST_ERR_SYNTAX, place_at(reader, i), "control character" ST_FOUND "%s",
                    st_or_none(code == 0
                                   ? "NUL"
                                   : st_errors_text(reader->errors, "U+%04X", (unsigned)code)));
            return false;
        }
        i += size;
    }
    return true;
}

/* ---- fields ---- */

static bool at_field_end(const csv_reader *reader, size_t offset)
{
    return offset >= reader->length || is_line_end(reader, offset) || reader->source[offset] == ',';
}

/* Reads on to the end of a field that has an error. */
static void skip_field(csv_reader *reader)
{
    while (!at_field_end(reader, reader->next))
        reader->next++;
}

/* A field in quotes, cut in place; its text begins behind the quote. False: never closed. */
static bool read_quoted(csv_reader *reader, size_t *start, size_t *end)
{
    size_t open = reader->next;
    size_t from = open + 1;
    *start = from;
    *end = from;
    for (; from < reader->length; from++) {
        char c = reader->source[from];
        bool doubled = c == '"' && from + 1 < reader->length && reader->source[from + 1] == '"';
        if (c == '"' && !doubled)
            break;
        reader->text[(*end)++] = c;
        from += doubled ? 1 : 0;
    }
    reader->next = from + 1;
    if (from >= reader->length) {
        reader->next = reader->length;
        syntax(reader, open, "unclosed quote", NULL);
        return false;
    }
    if (reader->mark == NULL && !at_field_end(reader, reader->next)) {
        syntax(reader, reader->next, "text after a closing quote",
               "a comma or the end of the line; double a quote inside a field");
        skip_field(reader);
    }
    while (!at_field_end(reader, reader->next))
        reader->text[(*end)++] = reader->source[reader->next++];
    return true;
}

static bool add_offset(csv_reader *reader, size_t offset)
{
    const uint32_t kept = (uint32_t)offset;
    bool added = st_arena_append(reader->arena, &reader->offsets, &reader->count, &reader->capacity,
                                 &kept, sizeof kept);
    if (!added)
        out_of_memory(reader);
    return added;
}

/* Keeps a field of a row; those beyond the columns only count. */
static bool keep_field(csv_reader *reader, size_t start, size_t end, size_t index)
{
    if (end - start > ST_CSV_MAX_FIELD_BYTES && reader->mark == NULL)
        ST_NOTE(reader, ST_ERR_LIMIT, place_at(reader, start),
                "field has %zu bytes" ST_EXPECTED "at most %d", end - start,
                (int)ST_CSV_MAX_FIELD_BYTES);
    reader->text[end] = '\0';
    return index >= reader->column_count || add_offset(reader, start);
}

/* Reads a line's fields; 0 where the rest of the file makes no sense any more. */
static size_t read_record(csv_reader *reader)
{
    size_t fields = 0;
    for (;;) {
        size_t start = 0;
        size_t end = 0;
        bool quoted = reader->next < reader->length && reader->source[reader->next] == '"';
        if (quoted && !read_quoted(reader, &start, &end))
            return 0;
        if (!quoted) {
            start = reader->next;
            for (; !at_field_end(reader, reader->next); reader->next++) {
                if (reader->source[reader->next] != '"' || reader->mark != NULL)
                    continue;
                syntax(reader, reader->next, "quote inside an unquoted field",
                       "the field in quotes and this quote doubled");
                skip_field(reader);
                break;
            }
            end = reader->next;
        }
        if (!keep_field(reader, start, end, fields))
            return 0;
        fields++;
        bool more = reader->next < reader->length && reader->source[reader->next] == ',';
        if (!more)
            break;
        reader->next++;
    }
    if (reader->next < reader->length && reader->source[reader->next] == '\r')
        reader->next++;
    if (reader->next < reader->length)
        reader->next++;
    return fields;
}

/* ---- rows ---- */

static size_t most_columns(const csv_reader *reader)
{
    return reader->mark != NULL ? ST_CSV_MAX_LOG_COLUMNS : ST_CSV_MAX_COLUMNS;
}

static void check_name(csv_reader *reader, size_t index)
{
    const char *name = reader->text + reader->offsets[index];
    size_t length = strlen(name);
    if (length == 0) {
        syntax(reader, reader->offsets[index],
               st_errors_text(reader->errors, "column %zu has no name", index + 1), NULL);
        return;
    }
    if (strchr(" \t", name[0]) != NULL || strchr(" \t", name[length - 1]) != NULL)
        syntax(reader, reader->offsets[index],
               st_errors_text(reader->errors, "blanks around column name '%s'", name), NULL);
    for (size_t i = 0; i < index; i++) {
        if (strcmp(reader->text + reader->offsets[i], name) != 0)
            continue;
        ST_NOTE(reader, ST_ERR_NAME, place_at(reader, reader->offsets[index]),
                "duplicate column name '%s'" ST_FOUND "columns %zu and %zu", name, i + 1,
                index + 1);
        return;
    }
}

/* The first line, in a log the first with the mark; 0 where there is none. */
static size_t find_header(csv_reader *reader)
{
    size_t fields = 0;
    reader->column_count = most_columns(reader) + 1;
    do {
        reader->count = 0;
        fields = read_record(reader);
        if (reader->mark == NULL || fields == 0)
            return fields;
        for (size_t i = 0; i < reader->count; i++)
            if (strcmp(reader->text + reader->offsets[i], reader->mark) == 0)
                return fields;
    } while (reader->next < reader->length);
    ST_NOTE(reader, ST_ERR_SYNTAX, (st_place){.file = reader->file},
            "no header row with a column '%s'" ST_EXPECTED "CSV of a profiler", reader->mark);
    return 0;
}

/* False where there is nothing to compare the rows with. */
static bool read_header(csv_reader *reader)
{
    size_t fields = find_header(reader);
    if (fields == 0)
        return false;
    if (fields > most_columns(reader)) {
        ST_NOTE(reader, ST_ERR_LIMIT, place_at(reader, reader->offsets[0]),
                "%zu columns" ST_EXPECTED "at most %zu", fields, most_columns(reader));
        return false;
    }
    reader->column_count = fields;
    for (size_t i = 0; i < fields && reader->mark == NULL; i++)
        check_name(reader, i);
    return true;
}

static bool check_limits(csv_reader *reader, size_t rows, size_t start)
{
    size_t most = ST_CSV_MAX_FIELDS / reader->column_count;
    if (most > ST_CSV_MAX_ROWS)
        most = ST_CSV_MAX_ROWS;
    if (rows < most)
        return true;
    ST_NOTE(reader, ST_ERR_LIMIT, place_at(reader, start),
            "too many rows" ST_EXPECTED "at most %zu rows of %zu fields", most,
            reader->column_count);
    return false;
}

static void check_width(csv_reader *reader, size_t start, size_t first, size_t fields)
{
    bool is_log = reader->mark != NULL;
    if (fields == reader->column_count || (is_log && fields < reader->column_count))
        return;
    bool empty = fields == 1 && reader->text[reader->offsets[first]] == '\0';
    ST_NOTE(reader, ST_ERR_SYNTAX, place_at(reader, start),
            "%s" ST_FOUND "%zu field%s" ST_EXPECTED "%zu, one per column",
            is_log  ? "row has more fields than the header"
            : empty ? "empty line"
                    : "row has the wrong number of fields",
            fields, fields == 1 ? "" : "s", reader->column_count);
}

static size_t read_rows(csv_reader *reader)
{
    size_t rows = 0;
    while (reader->next < reader->length && reader->status != ST_ERR_MEMORY) {
        size_t start = reader->next;
        if (!check_limits(reader, rows, start))
            break;
        size_t first = reader->count;
        size_t fields = read_record(reader);
        if (fields == 0)
            break;
        /* A line that a log has between the rows; those of warnings ("==WARNING== ...") may have
         * commas. */
        if (reader->mark != NULL &&
            (fields == 1 || strncmp(reader->text + reader->offsets[first], "==", 2) == 0)) {
            reader->count = first;
            continue;
        }
        rows++;
        check_width(reader, start, first, fields);
        while (reader->mark != NULL &&
               reader->count < rows * reader->column_count + reader->column_count)
            if (!add_offset(reader, ABSENT))
                break;
    }
    return rows;
}

static const char *const *name_columns(csv_reader *reader)
{
    const char **names = st_arena_alloc(reader->arena, reader->column_count, sizeof *names);
    for (size_t i = 0; names != NULL && i < reader->column_count; i++)
        names[i] = reader->text + reader->offsets[i];
    return names;
}

st_status st_csv_read(const st_csv_input *input, st_arena *arena, const st_csv **csv,
                      st_errors *errors)
{
    csv_reader reader = {.file = input->file,
                         .source = input->text,
                         .length = input->length,
                         .mark = input->mark,
                         .next = input->start,
                         .arena = arena,
                         .errors = errors};
    if (reader.length > ST_CSV_MAX_BYTES) {
        ST_NOTE(&reader, ST_ERR_LIMIT, place_at(&reader, 0),
                "the table is too large" ST_FOUND "%zu bytes" ST_EXPECTED "at most %d",
                reader.length, ST_CSV_MAX_BYTES);
        return reader.status;
    }
    if (reader.length <= reader.next)
        syntax(&reader, reader.next, "the table is empty", "a header row with column names");
    if (reader.status != ST_OK)
        return reader.status;
    /* Marks that some programs put before the first column's name, which would then be another. */
    bool marked = begins_with(&reader, "\xef\xbb\xbf", 3);
    if (marked && reader.mark != NULL)
        reader.next += 3;
    else if (marked)
        syntax(&reader, reader.next, "the file begins with a UTF-8 byte order mark", "plain UTF-8");
    else if (begins_with(&reader, "\xff\xfe", 2) || begins_with(&reader, "\xfe\xff", 2))
        syntax(&reader, reader.next, "the file is UTF-16", "UTF-8");
    if (reader.status != ST_OK || !check_bytes(&reader))
        return reader.status;
    /* one byte more than the text: the last field needs an end even without a line end */
    reader.source = st_arena_copy(arena, input->text, input->length);
    reader.text = st_arena_copy(arena, input->text, input->length);
    st_csv *table = st_arena_alloc(arena, 1, sizeof *table);
    if (reader.source == NULL || reader.text == NULL || table == NULL) {
        out_of_memory(&reader);
        return reader.status;
    }
    size_t rows = read_header(&reader) ? read_rows(&reader) : 0;
    if (reader.status == ST_OK && rows == 0 && input->mark == NULL)
        syntax(&reader, input->length, "the table has a header but no rows", NULL);
    if (reader.status != ST_OK)
        return reader.status;
    *table = (st_csv){.file = input->file,
                      .columns = name_columns(&reader),
                      .column_count = reader.column_count,
                      .row_count = rows,
                      .text = reader.text,
                      .offsets = reader.offsets + reader.column_count,
                      .heads = reader.offsets,
                      .source = reader.source};
    if (table->columns == NULL)
        out_of_memory(&reader);
    else
        *csv = table;
    return reader.status;
}

st_status st_csv_parse(const char *file, const char *text, size_t length, st_arena *arena,
                       const st_csv **csv, st_errors *errors)
{
    const st_csv_input input = {.file = file, .text = text, .length = length};
    return st_csv_read(&input, arena, csv, errors);
}

size_t st_csv_column(const st_csv *csv, const char *name)
{
    return st_find_text(csv->columns, csv->column_count, sizeof *csv->columns, name);
}

static const uint32_t *offsets_of(const st_csv *csv, size_t row)
{
    return csv->offsets + row * csv->column_count;
}

const char *st_csv_field(const st_csv *csv, size_t row, size_t column)
{
    uint32_t offset = offsets_of(csv, row)[column];
    return offset != ABSENT ? csv->text + offset : "";
}

size_t st_csv_width(const st_csv *csv, size_t row)
{
    size_t width = csv->column_count;
    while (offsets_of(csv, row)[width - 1] == ABSENT)
        width--;
    return width;
}

st_place st_csv_place(const st_csv *csv, size_t row, size_t column)
{
    const uint32_t *offsets = offsets_of(csv, row);
    return place_of(csv->file, csv->source,
                    offsets[column] != ABSENT ? offsets[column] : offsets[0]);
}

st_place st_csv_head_place(const st_csv *csv, size_t column)
{
    return place_of(csv->file, csv->source, csv->heads[column]);
}
