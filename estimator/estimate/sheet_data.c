/* SPDX-License-Identifier: Apache-2.0 */
/* A sheet for programs: everything that it declares, as JSON. */
#include "estimate/report.h"

#include "estimate/groups.h"
#include "sheet/roles.h"
#include "sheet/type_write.h"

#include <string.h>

static void write_enums(const st_sheet *sheet, st_json *json)
{
    size_t count = 0;
    const st_enum *enums = st_sheet_enums(sheet, &count);
    st_json_open(json, "enums", '[');
    for (size_t i = 0; i < count; i++) {
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", enums[i].name);
        st_json_open(json, "values", '[');
        for (size_t k = 0; k < enums[i].count; k++)
            st_json_text(json, NULL, enums[i].values[k]);
        st_json_close(json, ']');
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_inputs(const st_sheet *sheet, st_json *json)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    st_json_open(json, "inputs", '[');
    for (size_t i = 0; i < count; i++) {
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", inputs[i].name);
        st_json_text(json, "key", inputs[i].from);
        st_json_unit(json, "unit", &inputs[i].type);
        if (inputs[i].has_default)
            st_json_value(json, "default", &inputs[i].type, inputs[i].default_value);
        else
            st_json_text(json, "default", NULL);
        st_json_text_or_null(json, "doc", inputs[i].doc);
        st_json_text_or_null(json, "cite", inputs[i].cite);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_functions(const st_sheet *sheet, st_json *json)
{
    size_t count = 0;
    const st_sheet_function *functions = st_sheet_functions(sheet, &count);
    st_json_open(json, "functions", '[');
    for (size_t i = 0; i < count; i++) {
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", functions[i].name);
        st_json_open(json, "arguments", '[');
        for (size_t k = 0; k < functions[i].argument_count; k++) {
            st_json_open(json, NULL, '{');
            st_json_text(json, "name", functions[i].arguments[k].name);
            st_json_unit(json, "unit", &functions[i].arguments[k].type);
            st_json_close(json, '}');
        }
        st_json_close(json, ']');
        st_json_unit(json, "unit", &functions[i].type);
        st_json_text_or_null(json, "formula", functions[i].formula);
        st_json_bool(json, "open", functions[i].open);
        st_json_text_or_null(json, "doc", functions[i].doc);
        st_json_text_or_null(json, "cite", functions[i].cite);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_cell(const st_sheet_cell *cell, const char *section, st_json *json)
{
    st_json_open_line(json, NULL, '{');
    st_json_text(json, "name", cell->name);
    st_json_unit(json, "unit", &cell->type);
    st_json_text_or_null(json, "formula", cell->formula);
    st_json_bool(json, "open", cell->open);
    st_json_text_or_null(json, "doc", cell->doc);
    st_json_text_or_null(json, "cite", cell->cite);
    st_json_text_or_null(json, "section", section);
    st_json_close(json, '}');
}

static void write_roles(const st_sheet *sheet, st_json *json)
{
    st_json_open(json, "roles", '[');
    for (int role = 0; role < ST_ROLES; role++) {
        const st_role_row *row = st_role_describe((st_role)role);
        for (size_t part = 0; row->parts[part] != NULL; part++) {
            const char *cell = st_sheet_role_part(sheet, (st_role)role, part);
            if (cell == NULL)
                continue;
            st_json_open_line(json, NULL, '{');
            st_json_text(json, "role", row->name);
            st_json_text(json, "part", row->parts[1] != NULL ? row->parts[part] : NULL);
            st_json_text(json, "cell", cell);
            st_json_close(json, '}');
        }
    }
    st_json_close(json, ']');
}

static void write_checks(const st_sheet *sheet, st_json *json)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(sheet, &count);
    st_json_open(json, "checks", '[');
    for (size_t i = 0; i < count; i++) {
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "that", checks[i].formula);
        st_json_text(json, "else", checks[i].message);
        st_json_text(json, "level", checks[i].warning ? "warning" : "error");
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_program(const st_program *program, st_json *json)
{
    st_buffer listing = {0};
    st_program_print(program, &listing);
    st_json_open(json, "program", '{');
    st_json_count(json, "operations", st_program_operation_count(program));
    st_json_count(json, "registers", st_program_register_count(program));
    st_json_open(json, "listing", '[');
    for (char *line = listing.data; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        st_json_text(json, NULL, line);
        line = end != NULL ? end + 1 : NULL;
    }
    st_json_close(json, ']');
    st_json_close(json, '}');
    json->buffer->failed = json->buffer->failed || listing.failed;
    st_buffer_free(&listing);
}

void st_sheet_write_json(const st_sheet *sheet, const st_program *program, st_arena *arena,
                         st_buffer *buffer)
{
    st_json json = {.buffer = buffer};
    size_t count = 0;
    const st_cell_group *groups = st_sheet_groups(sheet, arena, &count);
    if (groups == NULL) {
        buffer->failed = true;
        return;
    }
    st_json_open(&json, NULL, '{');
    st_json_count(&json, "schema_version", ST_SCHEMA_VERSION);
    st_json_text(&json, "steptime", STEPTIME_VERSION);
    st_json_text(&json, "name", st_sheet_name(sheet));
    st_json_text(&json, "title", st_sheet_title(sheet));
    st_json_text(&json, "doc", st_sheet_doc(sheet));
    st_json_text(&json, "file", st_sheet_file(sheet));
    write_enums(sheet, &json);
    write_inputs(sheet, &json);
    write_functions(sheet, &json);
    st_json_open(&json, "cells", '[');
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < groups[i].count; k++)
            write_cell(groups[i].cells[k], groups[i].title, &json);
    }
    st_json_close(&json, ']');
    write_roles(sheet, &json);
    write_checks(sheet, &json);
    if (program != NULL)
        write_program(program, &json);
    st_json_close(&json, '}');
}
