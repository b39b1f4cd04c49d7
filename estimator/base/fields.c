/* SPDX-License-Identifier: Apache-2.0 */
/* Columns by their headings, and the fields below them; see fields.h. */
#include "base/fields.h"

#include "base/memory.h"
#include "steptime/quantity.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { NAME_BYTES = 128, MOST_NAMES = 200 };

/* ---- names ---- */

/* Lower case, all else between two words as `gap` says; "" where the text is too long. */
static void simplify(const char *text, size_t length, const char *gap, char into[NAME_BYTES])
{
    size_t filled = 0;
    bool between = false;
    for (size_t i = 0; i < length && filled + 2 < NAME_BYTES; i++) {
        const unsigned char byte = (unsigned char)text[i];
        /* Letters of other alphabets are kept: a unit of their own must not become another one. */
        if (isalnum(byte) == 0 && (byte & 0x80) == 0) {
            between = filled > 0;
            continue;
        }
        if (between && gap[0] != '\0')
            into[filled++] = gap[0];
        between = false;
        into[filled++] = (char)tolower(byte);
    }
    into[filled + 2 < NAME_BYTES ? filled : 0] = '\0';
}

size_t st_word_index(const char *text, const char *words, bool inside)
{
    char given[NAME_BYTES];
    size_t best = SIZE_MAX;
    size_t best_length = 0;
    size_t index = 0;
    simplify(text, strlen(text), "", given);
    for (const char *at = words; *at != '\0'; at += *at != '\0' ? 1 : 0) {
        char word[NAME_BYTES];
        size_t length = strcspn(at, " |");
        simplify(at, length, "", word);
        bool fits = inside ? strstr(given, word) != NULL : strcmp(given, word) == 0;
        if (fits && length > best_length) {
            best = index;
            best_length = length;
        }
        at += length;
        index += *at == ' ' ? 1 : 0;
    }
    return best;
}

/* ---- columns ---- */

/* The scale of the unit that ends a heading; 0: no unit of the field. */
static double scale_of(const st_field *field, const char *end, char gap)
{
    static const st_field_unit none[] = {{"", 1}, {NULL, 0}};
    const st_field_unit *unit = field->units != NULL ? field->units : none;
    bool has_unit = end[0] == gap && end[1] != '\0';
    if (end[0] != '\0' && !has_unit)
        return 0;
    for (; unit->name != NULL; unit++)
        if (strcmp(unit->name, end + (has_unit ? 1 : 0)) == 0)
            return unit->scale;
    return 0;
}

/* The columns of one spelling; there may be one. */
static void find_spelling(st_field_reader *reader, const st_field *field, const char *name,
                          size_t length, st_found_field *found)
{
    const st_csv *csv = reader->csv;
    char gap = '_';
    for (size_t i = 0; i < csv->column_count; i++) {
        char simple[NAME_BYTES];
        const char *heading = csv->columns[i];
        if (reader->loose) {
            simplify(heading, strlen(heading), " ", simple);
            heading = simple;
            gap = ' ';
        }
        double scale =
            strncmp(heading, name, length) == 0 ? scale_of(field, heading + length, gap) : 0;
        if (scale > 0 && found->column != SIZE_MAX)
            ST_NOTE(reader, ST_ERR_NAME, st_csv_head_place(csv, i),
                    "columns %s and %s give the same quantity" ST_EXPECTED "one of them",
                    csv->columns[found->column], csv->columns[i]);
        else if (scale > 0)
            *found = (st_found_field){i, scale};
    }
}

/* The next of some spellings, and its length; NULL: no more. */
static const char *next_spelling(const st_field *field, const char *last, size_t *length)
{
    const char *all = field->spellings != NULL ? field->spellings : field->name;
    const char *next = last == NULL ? all : last + *length + (last[*length] == '|' ? 1 : 0);
    *length = strcspn(next, "|");
    return *length > 0 ? next : NULL;
}

bool st_field_is_spelt(const st_field *field, const char *name)
{
    size_t length = 0;
    const char *own = next_spelling(field, NULL, &length);
    while (own != NULL && (strlen(name) != length || memcmp(own, name, length) != 0))
        own = next_spelling(field, own, &length);
    return own != NULL;
}

bool st_fields_have(const st_field_reader *reader, size_t field)
{
    return reader->found != NULL && reader->found[field].column != SIZE_MAX;
}

const char *st_fields_text(const st_field_reader *reader, size_t row, size_t field)
{
    return st_fields_have(reader, field)
               ? st_csv_field(reader->csv, row, reader->found[field].column)
               : "";
}

bool st_fields_use(const st_field_reader *reader, size_t column)
{
    bool used = false;
    for (size_t i = 0; i < reader->count; i++)
        used = used || reader->found[i].column == column;
    return used;
}

/* The nearest of the columns that are not read as anything. */
static const char *nearest_column(st_field_reader *reader, const char *name)
{
    const st_csv *csv = reader->csv;
    const char **unused = st_arena_alloc(reader->arena, csv->column_count + 1, sizeof *unused);
    size_t count = 0;
    for (size_t i = 0; i < csv->column_count && unused != NULL; i++)
        if (!st_fields_use(reader, i))
            unused[count++] = csv->columns[i];
    return unused != NULL ? st_nearest(name, unused, count) : NULL;
}

void st_fields_missing(st_field_reader *reader, const char *name, const char *hint)
{
    hint = hint != NULL ? hint : nearest_column(reader, name);
    ST_NOTE(reader, ST_ERR_NAME, st_csv_head_place(reader->csv, 0), "no column '%s'" ST_HINT "%s",
            name, hint != NULL ? hint : "");
}

bool st_fields_find(st_field_reader *reader)
{
    reader->found = st_arena_alloc(reader->arena, reader->count, sizeof *reader->found);
    if (reader->found == NULL) {
        st_note(&reader->status, st_out_of_memory(reader->errors));
        return false;
    }
    for (size_t i = 0; i < reader->count; i++) {
        const st_field *field = &reader->fields[i];
        st_found_field *found = &reader->found[i];
        size_t length = 0;
        *found = (st_found_field){.column = SIZE_MAX, .scale = 1};
        for (const char *own = next_spelling(field, NULL, &length);
             own != NULL && found->column == SIZE_MAX; own = next_spelling(field, own, &length))
            find_spelling(reader, field, own, length, found);
    }
    for (size_t i = 0; i < reader->count; i++)
        if (!st_fields_have(reader, i) && (reader->fields[i].flags & ST_FIELD_REQUIRED) != 0)
            st_fields_missing(reader, reader->fields[i].name, reader->fields[i].hint);
    return reader->status == ST_OK;
}

/* The next name that a heading may have, by its field and unit; NULL: no more. */
static const char *name_at(const st_field_reader *reader, size_t *field, size_t *unit)
{
    while (*field < reader->count) {
        const st_field *named = &reader->fields[*field];
        const st_field_unit *units = named->units;
        size_t index = (*unit)++;
        if (units == NULL && index == 0)
            return named->name;
        if (units != NULL && units[index].name != NULL)
            return st_arena_printf(reader->arena, units[index].name[0] != '\0' ? "%s_%s" : "%s",
                                   named->name, units[index].name);
        ++*field;
        *unit = 0;
    }
    return NULL;
}

void st_fields_warn_of_slips(st_field_reader *reader)
{
    const char *names[MOST_NAMES];
    size_t count = 0;
    size_t field = 0;
    size_t unit = 0;
    const st_csv *csv = reader->csv;
    for (const char *name = name_at(reader, &field, &unit); name != NULL && count < MOST_NAMES;
         name = name_at(reader, &field, &unit))
        names[count++] = name;
    for (size_t i = 0; i < csv->column_count; i++) {
        const char *nearest =
            st_fields_use(reader, i) ? NULL : st_nearest(csv->columns[i], names, count);
        if (nearest == NULL || st_csv_column(csv, nearest) != SIZE_MAX)
            continue;
        (void)st_report(reader->errors, ST_SEVERITY_WARNING, ST_ERR_NAME, st_csv_head_place(csv, i),
                        "ignored unknown column '%.80s'" ST_HINT "%s", csv->columns[i], nearest);
    }
}

/* ---- fields ---- */

bool st_field_text(const st_field *field, const char *text, double scale, void *target)
{
    (void)field;
    (void)scale;
    *(const char **)target = text;
    return true;
}

bool st_field_number(const st_field *field, const char *text, double scale, void *target)
{
    double value = 0;
    if (st_number_parse(text, strlen(text), (st_place){0}, &value, NULL) != ST_OK)
        return false;
    value *= scale;
    *(double *)target = value;
    return value >= field->least && value <= field->most;
}

bool st_field_count(const st_field *field, const char *text, double scale, void *target)
{
    return st_field_number(field, text, scale, target) &&
           *(double *)target == floor(*(double *)target);
}

bool st_field_word(const st_field *field, const char *text, double scale, void *target)
{
    (void)scale;
    size_t index = st_word_index(text, field->words, (field->flags & ST_FIELD_INSIDE) != 0);
    *(double *)target = (double)index;
    return index != SIZE_MAX;
}

static const char *expected_text(const st_field_reader *reader, size_t index)
{
    const st_field *field = &reader->fields[index];
    double scale = reader->found[index].scale;
    if (field->expected != NULL)
        return field->expected;
    return field->words != NULL ? st_errors_text(reader->errors, "one of %s", field->words)
                                : st_errors_text(reader->errors, "a %snumber from %g to %g",
                                                 field->set == st_field_count ? "whole " : "",
                                                 field->least / scale, field->most / scale);
}

void st_fields_refuse(st_field_reader *reader, size_t row, size_t field, const char *expected)
{
    const st_csv *csv = reader->csv;
    size_t column = reader->found[field].column;
    st_place place = {.file = csv->file};
    if (!st_errors_full(reader->errors))
        place = st_csv_place(csv, row, column);
    ST_NOTE(reader, ST_ERR_VALUE, place, "column %s" ST_FOUND "'%.80s'" ST_EXPECTED "%s",
            csv->columns[column], st_csv_field(csv, row, column),
            expected != NULL ? expected : expected_text(reader, field));
}

bool st_field_is_blank(const char *text)
{
    static const char *const blanks[] = {"", "n/a", "N/A", "nan", "NaN"};
    return st_has_text(blanks, ST_COUNT(blanks), text);
}

bool st_fields_read(st_field_reader *reader, size_t row, void *record)
{
    /* All columns that are read. */
    bool is_whole = false;
    size_t width = st_csv_width(reader->csv, row);
    size_t needed = 0;
    for (size_t i = 0; i < reader->count; i++)
        if (st_fields_have(reader, i) && reader->found[i].column >= needed)
            needed = reader->found[i].column + 1;
    if (width >= needed)
        is_whole = true;
    else
        ST_NOTE(reader, ST_ERR_VALUE, st_csv_place(reader->csv, row, 0),
                "row has too few fields" ST_FOUND "%zu fields" ST_EXPECTED "%zu or more", width,
                needed);
    if (!is_whole)
        return false;
    bool good = true;
    for (size_t i = 0; i < reader->count; i++) {
        const st_field *field = &reader->fields[i];
        const st_found_field *found = &reader->found[i];
        const char *text =
            found->column != SIZE_MAX ? st_csv_field(reader->csv, row, found->column) : "";
        bool blank = (field->flags & ST_FIELD_BLANK) != 0 && st_field_is_blank(text);
        if (found->column == SIZE_MAX || blank ||
            field->set(field, text, found->scale, (char *)record + field->offset))
            continue;
        st_fields_refuse(reader, row, i, NULL);
        good = false;
    }
    return good;
}
