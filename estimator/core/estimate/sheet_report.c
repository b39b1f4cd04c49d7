/* SPDX-License-Identifier: Apache-2.0 */
/* A sheet as a result: everything that it declares, and for people its formulas below their names.
 */
#include "estimate/report.h"

#include "base/chars.h"
#include "estimate/groups.h"
#include "steptime/tool/roles.h"
#include "sheet/type_write.h"

#include <string.h>

enum { FORMULA_INDENT = 6 };

static void fill_enum(const void *context, size_t index, st_node *row)
{
    const st_enum *enumeration = (const st_enum *)context + index;
    st_put_text(row, "name", enumeration->name);
    st_node *values = st_put_list(row, "values");
    for (size_t i = 0; i < enumeration->count; i++)
        st_put_text(values, NULL, enumeration->values[i]);
}

static void fill_input(const void *context, size_t index, st_node *row)
{
    const st_sheet_input *input = (const st_sheet_input *)context + index;
    char value[ST_QUANTITY_TEXT];
    st_put_text(row, "name", input->name);
    st_put_text(row, "key", input->from);
    st_put_unit(row, "unit", &input->type);
    if (input->has_default)
        st_put_value(row, "default", &input->type, input->default_value);
    else
        st_put_null(row, "default");
    st_put_text_or_null(row, "doc", input->doc);
    st_put_text_or_null(row, "cite", input->cite);
    if (input->has_default)
        st_put_format(
            row, ".default", "default %s",
            st_type_format(&input->type, input->default_value, ST_STYLE_UNIT, value, sizeof value));
}

/* "  T_iter [s]  time of an iteration  [li2024 eq. 1]" and its formula below. */
static void write_definition(st_node *node, const st_sheet_cell *cell)
{
    st_say(node, "  ");
    st_say_ink(node, ST_INK_NAME, cell->name);
    st_say(node, " [%s]%s  ", st_type_unit_text(&cell->type), cell->open ? " open" : "");
    st_say_ink(node, ST_INK_PLAIN, st_text_or_empty(cell->doc));
    if (st_text_or_empty(cell->cite)[0] != '\0') {
        st_say(node, "  ");
        st_say_ink(node, ST_INK_FAINT, cell->cite);
    }
    st_say(node, "\n%*s= ", FORMULA_INDENT - 2, "");
    st_say_wrapped(node, cell->formula != NULL ? cell->formula : "(a provider)", FORMULA_INDENT,
                   FORMULA_INDENT);
    st_say(node, "\n");
}

/* What cells and functions have in common, behind the name. */
static void put_definition(st_node *row, const st_sheet_cell *cell)
{
    st_put_unit(row, "unit", &cell->type);
    st_put_text_or_null(row, "formula", cell->formula);
    st_put_bool(row, "open", cell->open);
    st_put_text_or_null(row, "doc", cell->doc);
    st_put_text_or_null(row, "cite", cell->cite);
}

static void put_function(st_node *row, const st_sheet_function *function)
{
    st_buffer name = {0};
    st_signature_write(function, &name);
    const st_sheet_cell shown = {.name = name.data != NULL ? name.data : function->name,
                                 .doc = function->doc,
                                 .cite = function->cite,
                                 .formula = function->formula,
                                 .type = function->type,
                                 .open = function->open};
    st_put_text(row, "name", function->name);
    st_node *arguments = st_put_list(row, "arguments");
    for (size_t i = 0; i < function->argument_count; i++) {
        st_node *argument = st_put_map(arguments, NULL);
        st_put_text(argument, "name", function->arguments[i].name);
        st_put_unit(argument, "unit", &function->arguments[i].type);
    }
    put_definition(row, &shown);
    write_definition(row, &shown);
    st_buffer_end(&name, &row->result->failed);
}

static void put_cells(const st_cell_group *groups, size_t count, st_node *root)
{
    st_node *list = st_put_list(root, "cells");
    for (size_t i = 0; groups != NULL && i < count; i++) {
        const char *rest = count > 1 ? "Other cells" : "Cells";
        st_say_title(list, groups[i].title[0] != '\0' ? groups[i].title : rest);
        for (size_t k = 0; k < groups[i].count; k++) {
            const st_sheet_cell *cell = groups[i].cells[k];
            st_node *row = st_put_line_map(list, NULL);
            st_put_text(row, "name", cell->name);
            put_definition(row, cell);
            st_put_text_or_null(row, "section", groups[i].title);
            write_definition(row, cell);
        }
    }
}

/* The parts of a role that the sheet fills; people read what the role is for once. */
static void put_role(const st_sheet *sheet, st_role role, st_node *list)
{
    const st_role_row *known = st_role_describe(role);
    const char *doc = known->doc;
    for (size_t part = 0; known->parts[part] != NULL; part++) {
        const char *cell = st_sheet_role_part(sheet, role, part);
        bool is_whole = known->parts[1] == NULL;
        if (cell == NULL)
            continue;
        st_node *row = st_put_line_map(list, NULL);
        st_put_text(row, "role", known->name);
        st_put_text(row, "part", is_whole ? NULL : known->parts[part]);
        st_put_text(row, "cell", cell);
        st_put_format(row, ".name", "%s%s%s", known->name, is_whole ? "" : ".",
                      is_whole ? "" : known->parts[part]);
        st_put_text(row, ".doc", doc);
        doc = NULL;
    }
}

static void put_checks(const st_sheet *sheet, st_node *root)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(sheet, &count);
    if (count > 0)
        st_say_title(root, "Checks");
    st_node *list = st_put_list(root, "checks");
    for (size_t i = 0; i < count; i++) {
        st_node *row = st_put_line_map(list, NULL);
        st_put_text(row, "that", checks[i].formula);
        st_put_text(row, "else", checks[i].message);
        st_put_text(row, "level", st_check_level(&checks[i]));
        st_say(row, "  ");
        st_say_wrapped(row, checks[i].formula, 2, FORMULA_INDENT);
        st_say(row, "\n%*s%s: ", FORMULA_INDENT - 2, "",
               checks[i].warning ? "else a warning"
               : checks[i].limit ? "else a limit is exceeded"
                                 : "else");
        st_say_wrapped(row, checks[i].message, FORMULA_INDENT + 4, FORMULA_INDENT);
        st_say(row, "\n");
    }
}

static void put_head(const st_sheet *sheet, st_node *root)
{
    st_put_text(root, "name", st_sheet_name(sheet));
    st_put_text(root, "title", st_sheet_title(sheet));
    st_put_text(root, "doc", st_sheet_doc(sheet));
    st_put_text(root, "file", st_sheet_file(sheet));
    st_say_ink(root, ST_INK_STRONG, st_sheet_name(sheet));
    if (st_sheet_title(sheet)[0] != '\0') {
        st_say(root, ": ");
        st_say_ink(root, ST_INK_PLAIN, st_sheet_title(sheet));
    }
    st_say(root, "\n");
    st_say_ink(root, ST_INK_FAINT, st_sheet_file(sheet));
    st_say(root, "\n");
    if (st_sheet_doc(sheet)[0] != '\0') {
        st_say(root, "\n");
        st_say_wrapped(root, st_sheet_doc(sheet), 0, 0);
        st_say(root, "\n");
    }
}

void st_sheet_report(const st_sheet *sheet, const st_program *program, st_arena *arena,
                     st_result *result)
{
    size_t count = 0;
    size_t enum_count = 0;
    st_node *root = st_result_begin(result, arena);
    const st_cell_group *groups = st_sheet_groups(sheet, arena, &count);
    const st_enum *enums = st_sheet_enums(sheet, &enum_count);
    put_head(sheet, root);
    (void)st_put_rows(root, "enums", fill_enum, enums, enum_count);
    static const st_table_column input_columns[] = {{.ink = ST_INK_NAME},
                                                    {0},
                                                    {0},
                                                    {.elastic = true},
                                                    {.elastic = true},
                                                    {.ink = ST_INK_FAINT, .elastic = true}};
    size_t input_count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &input_count);
    st_node *rows = st_put_rows(root, "inputs", fill_input, inputs, input_count);
    if (input_count != 0) {
        st_say_title(root, "Inputs");
        st_table_show(st_say_table(root, input_columns, ST_COUNT(input_columns), 2), rows,
                      "name,key,unit,doc,.default,cite");
    }
    size_t function_count = 0;
    const st_sheet_function *functions = st_sheet_functions(sheet, &function_count);
    if (function_count > 0)
        st_say_title(root, "Functions");
    st_node *list = st_put_list(root, "functions");
    for (size_t i = 0; i < function_count; i++)
        put_function(st_put_line_map(list, NULL), &functions[i]);
    put_cells(groups, count, root);
    static const st_table_column columns[] = {{.ink = ST_INK_NAME}, {0}, {.elastic = true}};
    st_node *role_list = st_put_list(root, "roles");
    for (int role = 0; role < ST_ROLES; role++)
        put_role(sheet, (st_role)role, role_list);
    if (role_list->count != 0) {
        st_say_title(root, "Roles");
        st_table_show(st_say_table(root, columns, ST_COUNT(columns), 2), role_list,
                      ".name,cell,.doc");
    }
    put_checks(sheet, root);
    if (program != NULL) {
        st_buffer listing = {0};
        st_program_print(program, &listing);
        st_node *map = st_put_map(root, "program");
        st_put_count(map, "operations", st_program_operation_count(program));
        st_put_count(map, "registers", st_program_register_count(program));
        st_say_title(map, "Program");
        st_say(map, "%zu operations, %zu registers\n%s", st_program_operation_count(program),
               st_program_register_count(program), st_buffer_read(&listing));
        st_node *lines = st_put_list(map, "listing");
        for (char *line = listing.data; line != NULL && *line != '\0';) {
            char *end = strchr(line, '\n');
            if (end != NULL)
                *end = '\0';
            st_put_text(lines, NULL, line);
            line = end != NULL ? end + 1 : NULL;
        }
        st_buffer_end(&listing, &root->result->failed);
    }
}
