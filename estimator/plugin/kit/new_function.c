/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin for an open function of a sheet. It begins with the sheet's own formula, times a factor
 * that is 1, so that it builds, passes the check and changes no estimate before somebody edits it.
 */
#include "plugin/kit/new_function.h"

#include "base/lists.h"
#include "plugin/kit/formula_c.h"
#include "plugin/kit/new.h"

#include <string.h>

enum { LINE = 92 /* characters of a formula in a comment */ };

typedef struct writer {
    const st_sheet *sheet;
    const st_sheet_function *function;
    const char *id; /* of the plugin */
    st_formula_reads reads;
    st_buffer text;
} writer;

st_status st_plugin_function_find(const st_sheet *sheet, const char *name,
                                  const st_sheet_function **function, st_errors *errors)
{
    size_t count = 0;
    size_t open = 0;
    const char *names[ST_ERRORS_KEPT];
    st_buffer list = {0};
    const st_sheet_function *functions = st_sheet_functions(sheet, &count);
    for (size_t i = 0; i < count; i++) {
        if (!functions[i].open)
            continue;
        if (strcmp(functions[i].name, name) == 0) {
            *function = &functions[i];
            st_buffer_free(&list);
            return ST_OK;
        }
        if (open < ST_COUNT(names)) {
            st_buffer_printf(&list, "%s%s", open == 0 ? "" : ", ", functions[i].name);
            names[open++] = functions[i].name;
        }
    }
    st_status status = st_fail(errors, ST_ERR_USAGE, (st_place){0},
                               "option --for: sheet %s has no open function of that name" ST_FOUND
                               "'%.80s'" ST_EXPECTED "one of %s" ST_HINT "%s",
                               st_sheet_name(sheet), name, list.data != NULL ? list.data : "none",
                               st_or_none(st_nearest(name, names, open)));
    st_buffer_free(&list);
    return status;
}

/* ---- what the texts are made of -------------------------------------------------------------- */

static size_t read_count(const writer *own)
{
    return own->function->argument_count + own->reads.count;
}

static const char *read_name(const writer *own, size_t index)
{
    size_t count = own->function->argument_count;
    return index < count ? own->function->arguments[index].name : own->reads.names[index - count];
}

/* As a descriptor has it: "" for a pure number, and for choices, which are numbers there. */
static const char *unit_of(const st_type *type)
{
    bool pure = type->kind != ST_TYPE_NUMBER || strcmp(type->unit.text, "1") == 0;
    return pure ? "" : type->unit.text;
}

static const char *read_unit(const writer *own, size_t index)
{
    size_t count = own->function->argument_count;
    return unit_of(index < count ? &own->function->arguments[index].type
                                 : own->reads.types[index - count]);
}

/* Inside of quotes. */
static void write_quoted(writer *own, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        st_buffer_text(&own->text, strchr("\"\\", *c) != NULL ? "\\" : "");
        st_buffer_append(&own->text, c, 1);
    }
}

static void write_name(writer *own, const char *name)
{
    st_formula_write_name(name, &own->text);
}

/* The formula as the sheet has it, in lines that fit a comment. */
static void write_comment(writer *own)
{
    const char *rest = own->function->formula != NULL ? own->function->formula : "";
    while (*rest != '\0') {
        size_t length = strcspn(rest, "\n");
        if (length > LINE) {
            length = LINE;
            while (length > 1 && rest[length] != ' ')
                length--;
            length = length > 1 ? length : LINE;
        }
        st_buffer_printf(&own->text, " *     %.*s\n", (int)length, rest);
        rest += length;
        rest += strspn(rest, " \n");
    }
}

/* ---- the plugin ------------------------------------------------------------------------------ */

static void write_head(writer *own)
{
    const st_sheet_function *function = own->function;
    st_buffer_printf(&own->text,
                     "/* SPDX-License-Identifier: Apache-2.0 */\n"
                     "/*\n"
                     " * A plugin of steptime for %s of the sheet %s:\n"
                     " * %s.\n"
                     " *\n",
                     function->name, st_sheet_name(own->sheet), function->doc);
    if (function->formula != NULL)
        st_buffer_text(&own->text, " * It begins with the sheet's own formula,\n *\n");
    write_comment(own);
    st_buffer_text(
        &own->text,
        " *\n"
        " * times an option. Put your model in the place of model(), say in the tables what\n"
        " * it reads and which options it takes, and run `steptime plugin check`. Numbers come\n"
        " * and go in base units: bytes, FLOP, seconds and their products.\n"
        " */\n"
        "#include \"steptime/plugin.h\"\n\n#include <math.h>\n\n"
        "/* ---- options ---- */\n\n"
        "enum { FACTOR, OPTIONS };\n\n"
        "static const st_plugin_option factor = {\n"
        "    .struct_size = sizeof(st_plugin_option),\n"
        "    .kind = ST_PLUGIN_NUMBER,\n"
        "    .flags = ST_PLUGIN_CALIBRATED,\n"
        "    .name = \"factor\",\n"
        "    .unit = \"\",\n"
        "    .default_text = \"1\",\n"
        "    .minimum = 0.01,\n"
        "    .maximum = 100,\n"
        "    .doc = \"on the formula\",\n"
        "};\n\n"
        "static const st_plugin_option *const options[OPTIONS] = {&factor};\n\n");
}

static void write_arguments(writer *own)
{
    size_t count = read_count(own);
    st_buffer_text(&own->text, "/* ---- what it reads ---- */\n\n"
                               "static const st_plugin_argument reads[] = {\n");
    for (size_t i = 0; i < count; i++)
        st_buffer_printf(&own->text,
                         "    {.struct_size = sizeof(st_plugin_argument),\n"
                         "     .name = \"%s\",\n     .unit = \"%s\",\n     .doc = \"%s\"},\n",
                         read_name(own, i), read_unit(own, i),
                         i < own->function->argument_count ? "argument of the function"
                                                           : "of the sheet");
    st_buffer_text(&own->text, "};\n\nenum { ARGUMENTS = sizeof reads / sizeof reads[0] };\n\n"
                               "static const st_plugin_argument *const arguments[ARGUMENTS] = {");
    for (size_t i = 0; i < count; i++)
        st_buffer_printf(&own->text, "%s&reads[%zu]",
                         i % 6 > 0 ? ", "
                         : i == 0  ? "\n    "
                                   : ",\n    ",
                         i);
    st_buffer_text(&own->text, ",\n};\n\n");
}

static void write_model(writer *own)
{
    st_buffer_text(
        &own->text,
        "/* ---- the model ---- */\n\n"
        "typedef struct state {\n    const st_plugin_host *host;\n    double factor;\n"
        "} state;\n\n"
        "/* One row; NAN outside of what the model knows. */\n"
        "static double model(const state *own, const double *const *columns, size_t row)\n"
        "{\n");
    for (size_t i = 0; i < read_count(own); i++) {
        st_buffer_text(&own->text, "    double ");
        write_name(own, read_name(own, i));
        st_buffer_printf(&own->text, " = columns[%zu][row];\n", i);
    }
    for (size_t i = 0; i < read_count(own); i++) {
        st_buffer_text(&own->text, "    (void)");
        write_name(own, read_name(own, i));
        st_buffer_text(&own->text, ";\n");
    }
    st_buffer_text(&own->text, "    double value = ");
    st_formula_write_c(own->sheet, own->function, &own->text);
    st_buffer_text(
        &own->text,
        ";\n    return isfinite(value) && value >= 0 ? own->factor * value : (double)NAN;\n"
        "}\n\n"
        "static int evaluate(void *instance, size_t rows, const double *const *columns, "
        "double *values)\n"
        "{\n    for (size_t row = 0; row < rows; row++) {\n"
        "        values[row] = model(instance, columns, row);\n    }\n"
        "    return ST_PLUGIN_OK;\n}\n\n");
}

static void write_explain(writer *own)
{
    st_buffer_printf(&own->text,
                     "static int explain(void *instance, const double *const *columns,\n"
                     "                   const st_plugin_sink *sink)\n"
                     "{\n    const state *own = instance;\n"
                     "    const double value = model(own, columns, 0);\n"
                     "    if (isnan(value)) {\n"
                     "        return st_plugin_fail(own->host, \"the formula has no value\");\n"
                     "    }\n"
                     "    st_plugin_tell_part(sink, \"model\", \"%s\", value,\n"
                     "                        \"the sheet's formula times the factor\");\n"
                     "    return ST_PLUGIN_OK;\n}\n\n",
                     unit_of(&own->function->type));
}

static void write_provider(writer *own)
{
    const st_sheet_function *function = own->function;
    st_buffer_text(&own->text, "static const st_plugin_provider provider = {\n"
                               "    .struct_size = sizeof(st_plugin_provider),\n");
    if (st_formula_is_collective(function))
        st_buffer_text(&own->text, "    .flags = ST_PLUGIN_COLLECTIVE,\n");
    st_buffer_printf(&own->text, "    .name = \"%s\",\n    .unit = \"%s\",\n    .doc = \"",
                     function->name, unit_of(&function->type));
    write_quoted(own, function->doc);
    st_buffer_text(&own->text, "\",\n    .cite = \"");
    write_quoted(own, st_or_none(function->cite));
    st_buffer_text(&own->text,
                   "\",\n    .arguments = arguments,\n"
                   "    .argument_count = ARGUMENTS,\n"
                   "    .evaluate = evaluate,\n    .explain = explain,\n};\n\n"
                   "static const st_plugin_provider *const providers[] = {&provider};\n\n");
}

static void write_plugin(writer *own)
{
    st_buffer_printf(
        &own->text,
        "/* ---- the plugin ---- */\n\n"
        "static int open_plugin(const st_plugin_host *host, void **instance)\n"
        "{\n    state *own = host->allocate(host->context, sizeof *own);\n"
        "    if (own == NULL) {\n        return st_plugin_fail(host, \"out of memory\");\n    }\n"
        "    own->host = host;\n    own->factor = host->settings[FACTOR]->number;\n"
        "    *instance = own;\n    return ST_PLUGIN_OK;\n}\n\n"
        "static void close_plugin(void *instance)\n"
        "{\n    state *own = instance;\n    own->host->release(own->host->context, own);\n}\n\n"
        "static const st_plugin plugin = {\n"
        "    .struct_size = sizeof(st_plugin),\n    .abi = ST_PLUGIN_ABI,\n"
        "    .id = \"%s\",\n    .version = \"0.1.0\",\n    .licence = \"Apache-2.0\",\n"
        "    .summary = \"%s, from the formula of sheet %s\",\n"
        "    .options = options,\n    .option_count = OPTIONS,\n    .providers = providers,\n"
        "    .provider_count = sizeof providers / sizeof providers[0],\n"
        "    .open = open_plugin,\n    .close = close_plugin,\n};\n\n"
        "const st_plugin *st_plugin_describe(void)\n{\n    return &plugin;\n}\n",
        own->id, own->function->name, st_sheet_name(own->sheet));
}

static const char *finish(writer *own, st_arena *arena)
{
    const char *text = own->text.failed || own->text.data == NULL
                           ? NULL
                           : st_arena_copy(arena, own->text.data, own->text.length);
    st_buffer_free(&own->text);
    return text;
}

const char *st_plugin_function_source(const st_sheet *sheet, const st_sheet_function *function,
                                      const char *name, st_arena *arena)
{
    writer own = {.sheet = sheet, .function = function, .id = name};
    if (st_formula_reads_find(sheet, function, arena, &own.reads) != ST_OK)
        return NULL;
    write_head(&own);
    write_arguments(&own);
    write_model(&own);
    write_explain(&own);
    write_provider(&own);
    write_plugin(&own);
    return finish(&own, arena);
}

/* ---- its test and its page ------------------------------------------------------------------- */

/* One row, and what its two values are to one another. */
static void write_test_row(writer *own)
{
    size_t count = read_count(own);
    st_buffer_printf(&own->text, "    const double row[%zu] = {", count);
    for (size_t i = 0; i < count; i++) /* odd numbers, of which each is less than the one before */
        st_buffer_printf(&own->text, "%s%zu.385",
                         i == 0       ? ""
                         : i % 8 == 0 ? ",\n        "
                                      : ", ",
                         2 * (count - i) + 5);
    st_buffer_printf(
        &own->text,
        "};\n    const double *columns[%zu];\n"
        "    for (size_t i = 0; i < %zu; i++) {\n        columns[i] = &row[i];\n    }\n"
        "    double plain = value_of(1, columns);\n"
        "    double scaled = value_of(2.385, columns);\n"
        "    printf(\"%%g, %%g\\n\", plain, scaled);\n"
        "    return fabs(scaled - 2.385 * plain) <= 1e-12 * fabs(scaled) ? EXIT_SUCCESS "
        ": EXIT_FAILURE;\n}\n",
        count, count);
}

const char *st_plugin_function_test(const st_sheet *sheet, const st_sheet_function *function,
                                    const char *name, st_arena *arena)
{
    writer own = {.sheet = sheet, .function = function, .id = name};
    if (st_formula_reads_find(sheet, function, arena, &own.reads) != ST_OK)
        return NULL;
    st_buffer_printf(
        &own.text,
        "/* SPDX-License-Identifier: Apache-2.0 */\n"
        "/* The model of %s without steptime: the option scales it. Add values worked out by hand. "
        "*/\n"
        "#include \"steptime/plugin.h\"\n\n#include <math.h>\n#include <stdio.h>\n"
        "#include <stdlib.h>\n\n"
        "static void *allocate(void *context, size_t size_bytes)\n"
        "{\n    (void)context;\n    return malloc(size_bytes);\n}\n\n"
        "static void release(void *context, void *memory)\n"
        "{\n    (void)context;\n    free(memory);\n}\n\n"
        "static void ignore(void *context, const char *message)\n"
        "{\n    (void)context;\n    (void)message;\n}\n\n"
        "static void ignore_log(void *context, int level, const char *message)\n"
        "{\n    (void)level;\n    ignore(context, message);\n}\n\n"
        "/* The value of one row under a factor, NAN where the plugin does not open. */\n"
        "static double value_of(double number, const double *const *columns)\n"
        "{\n    const st_plugin_setting factor = {\"factor\", number, \"\", 1};\n"
        "    const st_plugin_setting *const settings[] = {&factor};\n"
        "    const st_plugin_host host = {.struct_size = sizeof host,\n"
        "                                 .abi = ST_PLUGIN_ABI,\n"
        "                                 .log = ignore_log,\n"
        "                                 .error = ignore,\n"
        "                                 .allocate = allocate,\n"
        "                                 .release = release,\n"
        "                                 .directory = \".\",\n"
        "                                 .settings = settings,\n"
        "                                 .setting_count = 1};\n"
        "    const st_plugin *plugin = st_plugin_describe();\n"
        "    void *instance = NULL;\n    double value = (double)NAN;\n"
        "    if (plugin->open(&host, &instance) == ST_PLUGIN_OK) {\n"
        "        (void)plugin->providers[0]->evaluate(instance, 1, columns, &value);\n"
        "        plugin->close(instance);\n    }\n    return value;\n}\n\n"
        "int main(void)\n{\n",
        function->name);
    write_test_row(&own);
    return finish(&own, arena);
}

const char *st_plugin_function_readme(const st_sheet *sheet, const st_sheet_function *function,
                                      const char *name, st_arena *arena)
{
    return st_arena_printf(
        arena,
        "# %s\n\n"
        "A plugin for steptime: %s of the sheet %s. It begins with the sheet's own formula.\n\n"
        "```sh\nmeson setup build\nmeson compile -C build\nmeson test -C build\n"
        "steptime plugin check ./build/plugins/%s/%s.so\n"
        "steptime estimate JOB --path build --refine %s\n```\n\n"
        "`plugins/%s/%s.c` is the plugin: tables that say what it reads, gives and can be told, "
        "and\n"
        "`model`, the function to edit. `include/steptime/plugin.h` is all that it needs of "
        "steptime.\n",
        name, function->name, st_sheet_name(sheet), name, name, name, name, name);
}
