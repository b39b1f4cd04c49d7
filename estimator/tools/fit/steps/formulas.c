/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas as a sheet. The text of that sheet puts every formula on a line of its own, from which
 * the place of an error leads back to the file in which the formula was written.
 */
#include "fit/steps/formulas.h"

#include "base/error_scope.h"
#include "base/utf8.h"
#include "steptime/tool/formula_names.h"

#include <string.h>

enum { PREFIX_CHARACTERS = 9 }; /* of "    is: '" */

int st_row_formulas_add(st_yaml_reader *reader, st_row_formulas *formulas,
                        const st_row_formula *formula)
{
    if (formulas->count == ST_FORMULAS_MAX) {
        ST_NOTE(reader, ST_ERR_LIMIT, formula->node->place,
                "too many formulas" ST_EXPECTED "at most 200");
        return ST_NO_FORMULA;
    }
    formulas->items[formulas->count] = *formula;
    return (int)formulas->count++;
}

/* ---- which columns they read ---- */

static void add_column(st_yaml_reader *reader, st_row_formulas *formulas, const char *name,
                       size_t length)
{
    const char *copy = st_arena_copy(reader->arena, name, length);
    if (copy == NULL) {
        reader->status = ST_ERR_MEMORY;
        return;
    }
    if (st_expr_is_reserved(copy) || formulas->column_count == ST_FORMULA_COLUMNS_MAX)
        return;
    for (size_t i = 0; i < formulas->column_count; i++)
        if (strcmp(formulas->columns[i], copy) == 0)
            return;
    formulas->columns[formulas->column_count++] = copy;
}

/* ---- the sheet ---- */

static const char *formula_text(const st_row_formula *formula)
{
    return formula->node->text + formula->offset;
}

static st_status read_text(void *context, const char *name, st_place place, st_arena *arena,
                           st_source *source, st_errors *errors)
{
    const st_buffer *buffer = context;
    (void)name;
    (void)place;
    (void)arena;
    (void)errors;
    *source = (st_source){.file = "formulas", .text = buffer->data, .length = buffer->length};
    return ST_OK;
}

/* The bytes of the first `characters` of a text. */
static size_t bytes_of(const char *text, int characters)
{
    size_t bytes = 0;
    size_t length = strlen(text);
    for (; characters > 0 && bytes < length; characters--) {
        uint32_t code = 0;
        size_t size = st_utf8_decode(text + bytes, length - bytes, &code);
        bytes += size > 0 ? size : 1;
    }
    return bytes;
}

/* The errors of the sheet where its formulas were written. */
static bool move_to_formula(const void *context, st_errors *errors, st_error *error)
{
    const st_row_formulas *formulas = context;
    int line = error->place.line - formulas->first_line;
    int index = line >= 0 && (size_t)(line / 4) < formulas->count ? line / 4 : 0;
    const st_row_formula *formula = &formulas->items[index];
    int characters = error->place.column - 1 - PREFIX_CHARACTERS;
    bool inside = line % 4 == 0 && characters > 0;
    size_t offset = inside ? bytes_of(formula_text(formula), characters) : 0;
    (void)errors;
    error->place = st_yaml_place_at(formula->node, formula->offset + offset);
    return error->severity != ST_SEVERITY_WARNING;
}

static void compile(st_yaml_reader *reader, st_row_formulas *formulas, st_buffer *buffer)
{
    const char *names[ST_FORMULAS_MAX];
    const st_sheet *sheet = NULL;
    st_error_scope scope = {.edit = move_to_formula, .context = formulas};
    int line = 3;
    st_buffer_text(buffer, "sheet: formulas\n");
    if (formulas->column_count > 0) {
        st_buffer_text(buffer, "inputs:\n");
        line++;
    }
    for (size_t i = 0; i < formulas->column_count; i++) {
        st_buffer_printf(buffer, "  %s: {from: table.column, doc: a column}\n",
                         formulas->columns[i]);
        line++;
    }
    st_buffer_text(buffer, "cells:\n");
    for (size_t i = 0; i < formulas->count; i++) {
        st_buffer_printf(buffer, "  formula_%zu:\n", i + 1);
        /* In single quotes, on one line, character for character. */
        st_buffer_text(buffer, "    is: '");
        for (const char *c = formula_text(&formulas->items[i]); *c != '\0'; c++) {
            const char *piece = strchr("\n\t\r", *c) != NULL ? " " : c;
            st_buffer_append(buffer, *c == '\'' ? "?" : piece, 1);
        }
        st_buffer_text(buffer, "'\n");
        st_buffer_printf(buffer, "    unit: '%s'\n    doc: a formula\n", formulas->items[i].unit);
    }
    formulas->first_line = line + 1;
    const st_sheet_reader source = {read_text, buffer};
    const st_program_options options = {.outputs = names, .output_count = formulas->count};
    st_status status = buffer->failed ? ST_ERR_MEMORY : ST_OK;
    st_errors_enter(reader->errors, &scope);
    if (status == ST_OK)
        status = st_sheet_load(&source, "formulas", reader->arena, &sheet, reader->errors);
    for (size_t i = 0; i < formulas->count; i++) {
        names[i] = st_arena_printf(reader->arena, "formula_%zu", i + 1);
        if (names[i] == NULL && status == ST_OK)
            status = ST_ERR_MEMORY;
    }
    if (status == ST_OK)
        status =
            st_program_compile(sheet, &options, reader->arena, &formulas->program, reader->errors);
    st_errors_leave(reader->errors, &scope);
    st_note(&reader->status, status);
}

void st_row_formulas_compile(st_yaml_reader *reader, st_row_formulas *formulas)
{
    st_buffer buffer = {0};
    if (formulas->count == 0)
        return;
    formulas->columns = st_read_alloc(reader, ST_FORMULA_COLUMNS_MAX, sizeof *formulas->columns);
    if (formulas->columns == NULL)
        return;
    for (size_t i = 0; i < formulas->count; i++) {
        /* Every name that is neither called as a function nor part of a number or a unit. */
        const char *text = formula_text(&formulas->items[i]);
        while (*text != '\0') {
            size_t length = 1;
            if (*text == '[') {
                length = strcspn(text, "]");
            } else if (st_is_letter(*text) || st_is_digit(*text) || *text == '.') {
                while (st_is_letter(text[length]) || st_is_digit(text[length]) ||
                       text[length] == '.')
                    length++;
                size_t blanks = strspn(text + length, " \t");
                if (st_is_letter(*text) && text[length + blanks] != '(')
                    add_column(reader, formulas, text, length);
            }
            text += length;
        }
    }
    compile(reader, formulas, &buffer);
    st_buffer_free(&buffer);
}
