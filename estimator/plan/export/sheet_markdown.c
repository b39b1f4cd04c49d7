/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sheet as a Markdown document: the reference of its formulas, written from the sheet itself, so
 * that both always agree. docs/formulas.md is generated from it.
 */
#include "estimate/report.h"

#include "base/chars.h"
#include "estimate/groups.h"
#include "export/latex.h"
#include "sheet/type_write.h"

#include <string.h>

/* Text in which nothing is markup. */
static void write_escaped(const char *text, bool one_line, st_buffer *buffer)
{
    for (const char *next = st_text_or_empty(text); *next != '\0'; next++) {
        if (one_line && (*next == '\n' || *next == '\t' || *next == '\r')) {
            st_buffer_text(buffer, " ");
            continue;
        }
        if (strchr("\\`*_[]<>|#$~", *next) != NULL)
            st_buffer_text(buffer, "\\");
        st_buffer_append(buffer, next, 1);
    }
}

/* A field of a table, which is one line. */
static void write_text(const char *text, st_buffer *buffer)
{
    write_escaped(text, true, buffer);
}

/* Formulas, names and units, which contain neither backticks nor bars. */
static void write_code(const char *text, st_buffer *buffer)
{
    if (st_text_or_empty(text)[0] == '\0')
        return;
    st_buffer_text(buffer, "`");
    bool blank = false;
    for (const char *next = text; *next != '\0'; next++) {
        bool is_blank = strchr(" \t\r\n", *next) != NULL;
        if (!is_blank || !blank)
            st_buffer_append(buffer, is_blank ? " " : next, 1);
        blank = is_blank;
    }
    st_buffer_text(buffer, "`");
}

static void write_heading(int level, const char *text, st_buffer *buffer)
{
    static const char marks[] = "######";
    size_t count = level < 1 ? 1 : level > 6 ? 6 : (size_t)level;
    st_buffer_text(buffer, "\n");
    st_buffer_append(buffer, marks, count);
    st_buffer_text(buffer, " ");
    write_text(text, buffer);
    st_buffer_text(buffer, "\n\n");
}

static void write_type(const st_type *type, st_buffer *buffer)
{
    write_code(st_type_unit_text(type), buffer);
}

static void next_field(st_buffer *buffer)
{
    st_buffer_text(buffer, " | ");
}

static void write_inputs(const st_sheet *sheet, int level, bool math, st_buffer *buffer)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    if (count == 0)
        return;
    write_heading(level, "Inputs", buffer);
    st_buffer_text(buffer, math
                               ? "| symbol | name | job key | unit | meaning | source | default |\n"
                                 "| --- | --- | --- | --- | --- | --- | --- |\n"
                               : "| name | job key | unit | meaning | source | default |\n"
                                 "| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < count; i++) {
        char value[ST_QUANTITY_TEXT] = "";
        if (inputs[i].has_default)
            st_type_format(&inputs[i].type, inputs[i].default_value, ST_STYLE_UNIT, value,
                           sizeof value);
        st_buffer_text(buffer, math ? "| $" : "| ");
        if (math) {
            st_name_latex(inputs[i].name, buffer);
            st_buffer_text(buffer, "$ | ");
        }
        write_code(inputs[i].name, buffer);
        next_field(buffer);
        write_code(inputs[i].from, buffer);
        next_field(buffer);
        write_type(&inputs[i].type, buffer);
        next_field(buffer);
        write_text(inputs[i].doc, buffer);
        next_field(buffer);
        write_text(inputs[i].cite, buffer);
        next_field(buffer);
        write_text(value, buffer);
        st_buffer_text(buffer, " |\n");
    }
}

static void write_row(const st_sheet_cell *cell, st_buffer *buffer)
{
    st_buffer_text(buffer, "| ");
    write_code(cell->name, buffer);
    next_field(buffer);
    write_type(&cell->type, buffer);
    next_field(buffer);
    write_code(cell->formula, buffer);
    next_field(buffer);
    write_text(cell->doc, buffer);
    if (cell->open)
        st_buffer_text(buffer, " (open)");
    next_field(buffer);
    write_text(cell->cite, buffer);
    st_buffer_text(buffer, " |\n");
}

/* Name, unit, meaning and source in a line, and the formula below as mathematics. */
static void write_equation(const char *name, const st_buffer *left, const st_sheet_cell *cell,
                           st_buffer *buffer)
{
    write_code(name, buffer);
    if (strcmp(st_type_unit_text(&cell->type), "1") != 0) {
        st_buffer_text(buffer, " in ");
        write_type(&cell->type, buffer);
    }
    st_buffer_text(buffer, ": ");
    write_text(cell->doc, buffer);
    st_buffer_text(buffer, cell->open ? " (open)" : "");
    if (st_text_or_empty(cell->cite)[0] != '\0') {
        st_buffer_text(buffer, " *");
        write_text(cell->cite, buffer);
        st_buffer_text(buffer, "*");
    }
    st_buffer_text(buffer, "\n\n$$");
    st_buffer_text(buffer, st_buffer_read(left));
    if (cell->expr != NULL) {
        st_buffer_text(buffer, " = ");
        st_expr_latex(cell->expr, buffer);
    }
    st_buffer_text(buffer, "$$\n\n");
    buffer->failed = buffer->failed || left->failed;
}

static void write_function_equations(const st_sheet *sheet, int level, st_buffer *buffer)
{
    size_t count = 0;
    const st_sheet_function *functions = st_sheet_functions(sheet, &count);
    if (count > 0)
        write_heading(level, "Functions", buffer);
    for (size_t i = 0; i < count; i++) {
        st_buffer left = {0};
        const st_sheet_cell row = {.doc = functions[i].doc,
                                   .cite = functions[i].cite,
                                   .type = functions[i].type,
                                   .expr = functions[i].expr,
                                   .open = functions[i].open};
        st_signature_latex(&functions[i], &left);
        write_equation(functions[i].name, &left, &row, buffer);
        st_buffer_free(&left);
    }
}

static void write_check_equations(const st_sheet *sheet, int level, st_buffer *buffer)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(sheet, &count);
    if (count > 0)
        write_heading(level, "Checks", buffer);
    for (size_t i = 0; i < count; i++) {
        st_buffer_text(buffer, "$$");
        st_expr_latex(checks[i].expr, buffer);
        st_buffer_printf(buffer, "$$\n\n%s: ", st_check_level(&checks[i]));
        write_text(checks[i].message, buffer);
        st_buffer_text(buffer, "\n\n");
    }
}

static void write_functions(const st_sheet *sheet, int level, st_buffer *buffer)
{
    size_t count = 0;
    const st_sheet_function *functions = st_sheet_functions(sheet, &count);
    if (count == 0)
        return;
    write_heading(level, "Functions", buffer);
    st_buffer_text(buffer, "| function | unit | formula | meaning | source |\n"
                           "| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < count; i++) {
        st_buffer name = {0};
        st_signature_write(&functions[i], &name);
        st_sheet_cell row = {.name = name.data != NULL ? name.data : functions[i].name,
                             .doc = functions[i].doc,
                             .cite = functions[i].cite,
                             .formula = functions[i].formula,
                             .type = functions[i].type,
                             .open = functions[i].open};
        write_row(&row, buffer);
        st_buffer_end(&name, &buffer->failed);
    }
}

static void write_checks(const st_sheet *sheet, int level, st_buffer *buffer)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(sheet, &count);
    if (count == 0)
        return;
    write_heading(level, "Checks", buffer);
    st_buffer_text(buffer, "| must hold | else | level |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < count; i++) {
        st_buffer_text(buffer, "| ");
        write_code(checks[i].formula, buffer);
        next_field(buffer);
        write_text(checks[i].message, buffer);
        next_field(buffer);
        st_buffer_printf(buffer, "%s |\n", st_check_level(&checks[i]));
    }
}

void st_sheet_write_markdown(const st_sheet *sheet, st_markdown_formulas formulas, int level,
                             st_arena *arena, st_buffer *buffer)
{
    size_t count = 0;
    const st_cell_group *groups = st_sheet_groups(sheet, arena, &count);
    bool math = formulas == ST_MARKDOWN_MATH;
    if (groups == NULL) {
        buffer->failed = true;
        return;
    }
    const char *title = st_sheet_title(sheet);
    st_buffer heading = {0};
    st_buffer_printf(&heading, "%s%s%s", st_sheet_name(sheet), title[0] != '\0' ? ": " : "", title);
    size_t start = buffer->length;
    write_heading(level, heading.data != NULL ? heading.data : st_sheet_name(sheet), buffer);
    if (start == 0 && buffer->length > 0) { /* no empty line at the top of a document */
        memmove(buffer->data, buffer->data + 1, buffer->length);
        buffer->length--;
    }
    if (st_sheet_doc(sheet)[0] != '\0') {
        size_t length = strlen(st_sheet_doc(sheet));
        write_escaped(st_sheet_doc(sheet), false, buffer);
        if (st_sheet_doc(sheet)[length - 1] != '\n')
            st_buffer_text(buffer, "\n");
    }
    st_buffer_end(&heading, &buffer->failed);
    write_inputs(sheet, level + 1, math, buffer);
    (math ? write_function_equations : write_functions)(sheet, level + 1, buffer);
    for (size_t i = 0; i < count; i++) {
        const char *rest = count > 1 ? "Other cells" : "Cells";
        write_heading(level + 1, groups[i].title[0] != '\0' ? groups[i].title : rest, buffer);
        if (math) {
            const st_cell_group *group = &groups[i];
            for (size_t j = 0; j < group->count; j++) {
                st_buffer left = {0};
                st_name_latex(group->cells[j]->name, &left);
                write_equation(group->cells[j]->name, &left, group->cells[j], buffer);
                st_buffer_free(&left);
            }
            continue;
        }
        st_buffer_text(buffer, "| cell | unit | formula | meaning | source |\n"
                               "| --- | --- | --- | --- | --- |\n");
        for (size_t k = 0; k < groups[i].count; k++)
            write_row(groups[i].cells[k], buffer);
    }
    (math ? write_check_equations : write_checks)(sheet, level + 1, buffer);
}
