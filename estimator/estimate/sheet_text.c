/* SPDX-License-Identifier: Apache-2.0 */
/* A sheet for people, as `sheet show` prints it. */
#include "estimate/report.h"

#include "estimate/groups.h"
#include "sheet/roles.h"
#include "sheet/type_write.h"

enum { FORMULA_INDENT = 6 };

static void write_title(const st_paint *paint, const char *title, st_buffer *buffer)
{
    st_buffer_text(buffer, "\n");
    st_paint_text(paint, ST_INK_STRONG, title, buffer);
    st_buffer_text(buffer, "\n");
}

static void write_inputs(const st_sheet *sheet, const st_paint *paint, st_arena *arena,
                         st_buffer *buffer)
{
    static const st_table_column columns[] = {{.ink = ST_INK_NAME},
                                              {0},
                                              {0},
                                              {.elastic = true},
                                              {.elastic = true},
                                              {.ink = ST_INK_FAINT, .elastic = true}};
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    if (count == 0)
        return;
    st_table *table = st_table_create(arena, columns, sizeof columns / sizeof columns[0]);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    write_title(paint, "Inputs", buffer);
    for (size_t i = 0; i < count; i++) {
        char value[ST_QUANTITY_TEXT];
        const char *assumed = NULL;
        if (inputs[i].has_default) {
            st_type_format(&inputs[i].type, inputs[i].default_value, ST_STYLE_UNIT, value,
                           sizeof value);
            assumed = st_arena_printf(arena, "default %s", value);
        }
        const char *const fields[] = {
            inputs[i].name, inputs[i].from, st_type_unit_text(&inputs[i].type),
            inputs[i].doc,  assumed,        inputs[i].cite};
        st_table_row(table, fields);
    }
    st_table_write(table, paint, 2, buffer);
}

/* "  T_iter [s]  time of an iteration  [li2024 eq. 1]" and its formula below. */
static void write_definition(const st_paint *paint, const st_sheet_cell *cell, st_buffer *buffer)
{
    st_buffer_text(buffer, "  ");
    st_paint_text(paint, ST_INK_NAME, cell->name, buffer);
    st_buffer_printf(buffer, " [%s]%s  ", st_type_unit_text(&cell->type),
                     cell->open ? " open" : "");
    st_paint_text(paint, ST_INK_PLAIN, st_text_or_empty(cell->doc), buffer);
    if (st_text_or_empty(cell->cite)[0] != '\0') {
        st_buffer_text(buffer, "  ");
        st_paint_text(paint, ST_INK_FAINT, cell->cite, buffer);
    }
    st_buffer_printf(buffer, "\n%*s= ", FORMULA_INDENT - 2, "");
    st_paint_wrapped(paint, cell->formula != NULL ? cell->formula : "(a provider)", FORMULA_INDENT,
                     FORMULA_INDENT, buffer);
    st_buffer_text(buffer, "\n");
}

static void write_functions(const st_sheet *sheet, const st_paint *paint, st_buffer *buffer)
{
    size_t count = 0;
    const st_sheet_function *functions = st_sheet_functions(sheet, &count);
    if (count > 0)
        write_title(paint, "Functions", buffer);
    for (size_t i = 0; i < count; i++) {
        st_buffer name = {0};
        st_signature_write(&functions[i], &name);
        st_sheet_cell shown = {.name = name.data != NULL ? name.data : functions[i].name,
                               .doc = functions[i].doc,
                               .cite = functions[i].cite,
                               .formula = functions[i].formula,
                               .type = functions[i].type,
                               .open = functions[i].open};
        write_definition(paint, &shown, buffer);
        buffer->failed = buffer->failed || name.failed;
        st_buffer_free(&name);
    }
}

static void write_roles(const st_sheet *sheet, const st_paint *paint, st_arena *arena,
                        st_buffer *buffer)
{
    static const st_table_column columns[] = {{.ink = ST_INK_NAME}, {0}, {.elastic = true}};
    st_table *table = st_table_create(arena, columns, sizeof columns / sizeof columns[0]);
    bool any = false;
    for (int role = 0; role < ST_ROLES && table != NULL; role++) {
        const st_role_row *row = st_role_describe((st_role)role);
        const char *doc = row->doc;
        for (size_t part = 0; row->parts[part] != NULL; part++) {
            const char *cell = st_sheet_role_part(sheet, (st_role)role, part);
            const char *name = row->parts[1] == NULL
                                   ? row->name
                                   : st_arena_printf(arena, "%s.%s", row->name, row->parts[part]);
            const char *const fields[] = {name, cell, doc};
            if (cell != NULL) {
                st_table_row(table, fields);
                any = true;
                doc = NULL;
            }
        }
    }
    buffer->failed = buffer->failed || table == NULL;
    if (any) {
        write_title(paint, "Roles", buffer);
        st_table_write(table, paint, 2, buffer);
    }
}

static void write_checks(const st_sheet *sheet, const st_paint *paint, st_buffer *buffer)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(sheet, &count);
    if (count > 0)
        write_title(paint, "Checks", buffer);
    for (size_t i = 0; i < count; i++) {
        st_buffer_text(buffer, "  ");
        st_paint_wrapped(paint, checks[i].formula, 2, FORMULA_INDENT, buffer);
        st_buffer_printf(buffer, "\n%*s%s: ", FORMULA_INDENT - 2, "",
                         checks[i].warning ? "else a warning" : "else");
        st_paint_wrapped(paint, checks[i].message, FORMULA_INDENT + 4, FORMULA_INDENT, buffer);
        st_buffer_text(buffer, "\n");
    }
}

void st_sheet_write_text(const st_sheet *sheet, const st_paint *paint, st_arena *arena,
                         st_buffer *buffer)
{
    size_t count = 0;
    const st_cell_group *groups = st_sheet_groups(sheet, arena, &count);
    if (groups == NULL) {
        buffer->failed = true;
        return;
    }
    st_paint_text(paint, ST_INK_STRONG, st_sheet_name(sheet), buffer);
    if (st_sheet_title(sheet)[0] != '\0') {
        st_buffer_text(buffer, ": ");
        st_paint_text(paint, ST_INK_PLAIN, st_sheet_title(sheet), buffer);
    }
    st_buffer_text(buffer, "\n");
    st_paint_text(paint, ST_INK_FAINT, st_sheet_file(sheet), buffer);
    st_buffer_text(buffer, "\n");
    if (st_sheet_doc(sheet)[0] != '\0') {
        st_buffer_text(buffer, "\n");
        st_paint_wrapped(paint, st_sheet_doc(sheet), 0, 0, buffer);
        st_buffer_text(buffer, "\n");
    }
    write_inputs(sheet, paint, arena, buffer);
    write_functions(sheet, paint, buffer);
    for (size_t i = 0; i < count; i++) {
        const char *rest = count > 1 ? "Other cells" : "Cells";
        write_title(paint, groups[i].title[0] != '\0' ? groups[i].title : rest, buffer);
        for (size_t k = 0; k < groups[i].count; k++)
            write_definition(paint, groups[i].cells[k], buffer);
    }
    write_roles(sheet, paint, arena, buffer);
    write_checks(sheet, paint, buffer);
}
