/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin for an open function of a sheet. It begins with the sheet's own formula, times a factor
 * that is 1, so that it builds, passes the check and changes no estimate before somebody edits it.
 */
#include "plugin/kit/new_function.h"

#include "base/lists.h"
#include "base/text.h"
#include "plugin/kit/formula_c.h"
#include "sheet/binding.h"

#include <string.h>

enum { LINE = 92 /* characters of a formula in a comment */ };

typedef struct writer {
    const st_sheet *sheet;
    const st_sheet_function *function;
    st_arena *arena;
} writer;

st_status st_plugin_function_find(const st_sheet *sheet, const char *name,
                                  const st_sheet_function **function, st_errors *errors)
{
    size_t count = 0;
    size_t open = 0;
    const char *names[ST_ERRORS_KEPT];
    st_buffer list = {0};
    const st_sheet_function *functions = st_sheet_functions(sheet, &count);
    const st_sheet_function *found = st_sheet_find_function(sheet, name);
    if (found != NULL && found->open) {
        *function = found;
        return ST_OK;
    }
    for (size_t i = 0; i < count; i++) {
        if (functions[i].open && open < ST_COUNT(names)) {
            st_buffer_printf(&list, "%s%s", open == 0 ? "" : ", ", functions[i].name);
            names[open++] = functions[i].name;
        }
    }
    st_status status = st_fail(errors, ST_ERR_USAGE, (st_place){0},
                               "option --for: sheet %s has no such open function" ST_FOUND
                               "'%.80s'" ST_EXPECTED "one of %s" ST_HINT "%s",
                               st_sheet_name(sheet), name, list.data != NULL ? list.data : "none",
                               st_or_none(st_nearest(name, names, open)));
    st_buffer_free(&list);
    return status;
}

/* ---- placeholders of the templates ------------------------------------------------------------
 */

/* As a descriptor has it: "" for a pure number, and for choices, which are numbers there. */
static const char *unit_of(const st_type *type)
{
    bool pure = type->kind != ST_TYPE_NUMBER || strcmp(type->unit.text, "1") == 0;
    return pure ? "" : type->unit.text;
}

/* Inside of quotes. */
static const char *quoted(const writer *out, const char *text)
{
    st_buffer buffer = {0};
    for (const char *c = text; *c != '\0'; c++) {
        st_buffer_text(&buffer, strchr("\"\\", *c) != NULL ? "\\" : "");
        st_buffer_append(&buffer, c, 1);
    }
    return st_buffer_keep(&buffer, out->arena);
}

/* The formula as the sheet has it, in lines that fit a comment. */
static const char *comment_of(const writer *out)
{
    const char *text = "";
    const char *rest = st_or_none(out->function->formula);
    while (*rest != '\0') {
        size_t length = strcspn(rest, "\n");
        if (length > LINE) {
            length = LINE;
            while (length > 1 && rest[length] != ' ')
                length--;
            length = length > 1 ? length : LINE;
        }
        st_text_add(out->arena, &text, "", " *     %.*s\n", (int)length, rest);
        rest += length;
        rest += strspn(rest, " \n");
    }
    return text;
}

static const char *reads_of(const writer *out)
{
    const char *text = "";
    for (size_t i = 0; i < out->function->argument_count; i++)
        st_text_add(out->arena, &text, "",
                    "    {.struct_size = sizeof(st_plugin_argument),\n"
                    "     .name = \"%s\",\n     .unit = \"%s\",\n"
                    "     .doc = \"argument of the function\"},\n",
                    out->function->arguments[i].name, unit_of(&out->function->arguments[i].type));
    return text;
}

static const char *pointers_of(const writer *out)
{
    const char *text = "";
    for (size_t i = 0; i < out->function->argument_count; i++)
        st_text_add(out->arena, &text, ",", "%s&reads[%zu]", i % 6 > 0 ? " " : "\n    ", i);
    return text;
}

static const char *columns_of(const writer *out)
{
    st_buffer text = {0};
    for (size_t i = 0; i < out->function->argument_count; i++) {
        st_buffer_text(&text, "    double ");
        st_formula_write_name(out->function->arguments[i].name, &text);
        st_buffer_printf(&text, " = columns[%zu][row];\n", i);
    }
    for (size_t i = 0; i < out->function->argument_count; i++) {
        st_buffer_text(&text, "    (void)");
        st_formula_write_name(out->function->arguments[i].name, &text);
        st_buffer_text(&text, ";\n");
    }
    return st_buffer_keep(&text, out->arena);
}

static const char *model_of(const writer *out)
{
    st_buffer text = {0};
    st_formula_write_c(out->sheet, out->function, &text);
    return st_buffer_keep(&text, out->arena);
}

/* Odd numbers in decreasing order. */
static const char *row_of(const writer *out)
{
    const char *text = "";
    size_t count = out->function->argument_count;
    for (size_t i = 0; i < count; i++)
        st_text_add(out->arena, &text, i % 8 == 0 ? ",\n        " : ", ", "%zu.385",
                    2 * (count - i) + 5);
    return text;
}

/* ---- filling them ---------------------------------------------------------------------------- */

typedef struct word {
    const char *name; /* between two '@' */
    const char *text;
} word;

const char *st_plugin_function_file(const char *text, const st_plugin_start *start,
                                    const char *name, st_arena *arena)
{
    const st_sheet_function *function = start->function;
    writer out = {.sheet = start->sheet, .function = function, .arena = arena};
    const word words[] = {
        {"NAME", name},
        {"FUNCTION", function->name},
        {"SHEET", st_sheet_name(start->sheet)},
        {"DOC", function->doc},
        {"QUOTED_DOC", quoted(&out, function->doc)},
        {"CITE", quoted(&out, st_or_none(function->cite))},
        {"UNIT", unit_of(&function->type)},
        {"ORIGIN",
         function->formula != NULL ? " * It begins with the sheet's own formula,\n *\n" : ""},
        {"FORMULA", comment_of(&out)},
        {"READS", reads_of(&out)},
        {"POINTERS", pointers_of(&out)},
        {"COLUMNS", columns_of(&out)},
        {"MODEL", model_of(&out)},
        {"FLAGS", st_formula_is_collective(function) ? "    .flags = ST_PLUGIN_COLLECTIVE,\n" : ""},
        {"COUNT", st_arena_printf(arena, "%zu", function->argument_count)},
        {"ROW", row_of(&out)},
    };
    const size_t count = ST_COUNT(words);
    st_buffer filled = {0};
    for (const char *rest = text; *rest != '\0';) {
        size_t plain = strcspn(rest, "@");
        st_buffer_append(&filled, rest, plain);
        rest += plain;
        if (*rest == '\0')
            break;
        size_t length = strcspn(rest + 1, "@");
        size_t i = 0;
        while (i < count && !st_same_part(rest + 1, length, words[i].name))
            i++;
        if (i < count && words[i].text != NULL)
            st_buffer_text(&filled, words[i].text);
        else
            filled.failed = true;
        rest += length + 2;
    }
    return st_buffer_keep(&filled, arena);
}
