/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables: rows are collected first, so that all sections of a report share their columns; then
 * every column is as wide as its widest field. On a terminal the widest elastic column gives way
 * until the rows fit, and its fields wrap at blanks.
 */
#include "base/text.h"

#include "base/utf8.h"

#include <string.h>

typedef struct table_row {
    const char *title;   /* not NULL: a line of its own */
    const char **fields; /* one for each column */
    st_ink *inks;
} table_row;

struct st_table {
    st_arena *arena;
    st_table_column *columns;
    size_t column_count;
    table_row *rows;
    size_t row_count;
    size_t *minimum_widths;
};

/* A terminal narrower than this for an elastic column wraps by itself as well as we could. */
enum { ELASTIC_MINIMUM = 16 };

/* Where nothing wraps, a longer field of an elastic column moves only its own row. */
enum { ELASTIC_MAXIMUM = 90 };

static table_row *add_row(st_table *table)
{
    const table_row empty = {0};
    return ST_APPEND(table->arena, table->rows, table->row_count, empty)
               ? &table->rows[table->row_count - 1]
               : NULL;
}

/* A copy in which every run of blanks and line ends is one blank, so that widths can be counted. */
static const char *copy_text(st_table *table, const char *text)
{
    char *copy = st_arena_copy(table->arena, text, strlen(text));
    if (copy == NULL)
        return NULL;
    size_t kept = 0;
    for (const char *next = copy; *next != '\0'; next++) {
        bool blank = strchr(" \t\r\n", *next) != NULL;
        if (!blank || (kept > 0 && copy[kept - 1] != ' '))
            copy[kept++] = blank ? ' ' : *next;
    }
    copy[kept] = '\0';
    return copy;
}

void st_table_title(st_table *table, const char *title)
{
    if (table == NULL)
        return;
    table_row *row = add_row(table);
    const char *copy = copy_text(table, title);
    if (row != NULL)
        row->title = copy != NULL ? copy : "";
}

/* A row without texts yet; NULL when out of memory. */
static table_row *add_fields(st_table *table)
{
    table_row *row = add_row(table);
    if (row == NULL)
        return NULL;
    row->fields = st_arena_alloc(table->arena, table->column_count, sizeof *row->fields);
    row->inks = st_arena_alloc(table->arena, table->column_count, sizeof *row->inks);
    table->row_count -= st_arena_failed(table->arena) ? 1 : 0;
    return st_arena_failed(table->arena) ? NULL : row;
}

void st_table_row(st_table *table, const char *const *fields)
{
    table_row *row = table != NULL ? add_fields(table) : NULL;
    for (size_t i = 0; row != NULL && i < table->column_count; i++) {
        const char *field = copy_text(table, fields[i] != NULL ? fields[i] : "");
        row->fields[i] = field != NULL ? field : "";
        row->inks[i] = table->columns[i].ink;
    }
}

st_table *st_table_create(st_arena *arena, const st_table_column *columns, size_t count)
{
    st_table *table = st_arena_alloc(arena, 1, sizeof *table);
    st_table_column *copy = st_arena_alloc(arena, count, sizeof *copy);
    size_t *widths = st_arena_alloc(arena, count, sizeof *widths);
    if (table == NULL || copy == NULL || widths == NULL)
        return NULL;
    memcpy(copy, columns, count * sizeof *columns);
    *table = (st_table){
        .arena = arena, .columns = copy, .column_count = count, .minimum_widths = widths};
    for (size_t i = 0; i < count && table->row_count == 0; i++)
        if (columns[i].title != NULL) {
            table_row *row = add_fields(table);
            for (size_t j = 0; row != NULL && j < table->column_count; j++) {
                const char *title = table->columns[j].title;
                row->fields[j] = title != NULL ? title : "";
                row->inks[j] = ST_INK_FAINT;
            }
        }
    return table;
}

void st_table_ink(st_table *table, size_t column, st_ink ink)
{
    if (table != NULL && table->row_count > 0)
        table->rows[table->row_count - 1].inks[column] = ink;
}

const st_table_column *st_table_columns(const st_table *table, size_t *count)
{
    *count = table != NULL ? table->column_count : 0;
    return table != NULL ? table->columns : NULL;
}

static size_t gap_before(const st_table *table, size_t column)
{
    if (column == 0)
        return 0;
    return table->columns[column].joined ? 1 : 2;
}

static size_t widest_field(const st_table *table, size_t column)
{
    size_t widest = table->minimum_widths[column];
    for (size_t r = 0; r < table->row_count; r++) {
        const table_row *row = &table->rows[r];
        size_t width = row->title == NULL ? st_shown_width(row->fields[column]) : 0;
        widest = width > widest ? width : widest;
    }
    return widest;
}

void st_table_align(st_table *first, st_table *second, size_t count)
{
    for (size_t i = 0; first != NULL && second != NULL && i < count; i++) {
        size_t one = widest_field(first, i);
        size_t other = widest_field(second, i);
        first->minimum_widths[i] = one > other ? one : other;
        second->minimum_widths[i] = first->minimum_widths[i];
    }
}

static void measure(const st_table *table, const st_paint *paint, size_t indent, size_t *widths)
{
    size_t total = indent;
    for (size_t i = 0; i < table->column_count; i++) {
        widths[i] = widest_field(table, i);
        if (paint->width == 0 && table->columns[i].elastic && widths[i] > ELASTIC_MAXIMUM)
            widths[i] = ELASTIC_MAXIMUM;
        total += widths[i] > 0 ? widths[i] + gap_before(table, i) : 0;
    }
    while (paint->width > 0 && total > paint->width) {
        size_t widest = table->column_count;
        for (size_t i = 0; i < table->column_count; i++)
            if (table->columns[i].elastic && widths[i] > ELASTIC_MINIMUM &&
                (widest == table->column_count || widths[i] > widths[widest]))
                widest = i;
        if (widest == table->column_count)
            return;
        widths[widest]--;
        total--;
    }
}

/* Bytes of `text` that fit into `width` characters, cut at a blank where there is one. */
static size_t fitting_prefix(const char *text, size_t width)
{
    size_t length = strlen(text);
    size_t bytes = 0;
    size_t last_blank = 0;
    for (size_t used = 0; bytes < length && used < width; used++) {
        uint32_t code = 0;
        size_t size = st_utf8_decode(text + bytes, length - bytes, &code);
        bytes += size > 0 ? size : 1;
        if (text[bytes] == ' ')
            last_blank = bytes;
    }
    return bytes < length && last_blank > 0 ? last_blank : bytes;
}

/* A row that is being written, line by line: what is left of every field. */
typedef struct row_writer {
    const st_table *table;
    const st_paint *paint;
    const table_row *row;
    const size_t *widths;
    const char **rests;
} row_writer;

static bool has_rest(const row_writer *writer)
{
    for (size_t i = 0; i < writer->table->column_count; i++)
        if (writer->rests[i][0] != '\0')
            return true;
    return false;
}

void st_table_write(const st_table *table, const st_paint *paint, size_t indent, st_buffer *buffer)
{
    size_t *widths = st_arena_alloc(table->arena, table->column_count, sizeof *widths);
    const char **rests = st_arena_alloc(table->arena, table->column_count, sizeof *rests);
    if (st_arena_failed(table->arena)) {
        buffer->failed = true;
        return;
    }
    measure(table, paint, indent, widths);
    for (size_t r = 0; r < table->row_count && !buffer->failed; r++) {
        const table_row *row = &table->rows[r];
        if (row->title != NULL) {
            st_paint_text(paint, ST_INK_STRONG, row->title, buffer);
            st_buffer_text(buffer, "\n");
            continue;
        }
        row_writer writer = {
            .table = table, .paint = paint, .row = row, .widths = widths, .rests = rests};
        memcpy(rests, row->fields, table->column_count * sizeof *rests);
        do {
            /* Takes off the front of every field's rest what fits into its column. */
            const st_table_column *columns = writer.table->columns;
            size_t padding = indent;
            for (size_t i = 0; i < writer.table->column_count; i++) {
                const char **rest = &writer.rests[i];
                if (writer.widths[i] == 0)
                    continue;
                bool wraps = writer.paint->width > 0;
                size_t bytes = wraps ? fitting_prefix(*rest, writer.widths[i]) : strlen(*rest);
                size_t shown = st_utf8_count(*rest, bytes);
                size_t blanks = shown < writer.widths[i] ? writer.widths[i] - shown : 0;
                padding += gap_before(writer.table, i) + (columns[i].right ? blanks : 0);
                if (bytes > 0) {
                    st_buffer_printf(buffer, "%*s", (int)padding, "");
                    st_paint_span(writer.paint, writer.row->inks[i], *rest, bytes, buffer);
                    padding = 0;
                }
                padding += columns[i].right ? 0 : blanks;
                *rest += bytes;
                *rest += strspn(*rest, " ");
            }
            st_buffer_text(buffer, "\n");
        } while (has_rest(&writer));
    }
}
