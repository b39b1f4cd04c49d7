/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a sheet for tests in Python (sheet.py): sheet_server SHEET [NAME UNIT UNITS]...
 *
 * NAME is an open function that the test answers, UNIT its value's, UNITS its arguments' with
 * commas. Answers are doubles that begin with what they are: DESCRIPTION with a length and a text
 * of that many bytes; for each row of inputs that is read, CELLS with the values of all cells and
 * checks; the number of a function with its arguments, whose value is read.
 */
#include "steptime/job.h"
#include "steptime/tool/providers.h"

#include "estimate/stage_layers.h"
#include "program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = -1, DESCRIPTION = -2 };
enum { MOST_FUNCTIONS = 32, MOST_ARGUMENTS = 64, MOST_VALUES = 4000 };

typedef struct function {
    double number;
    st_provider provider;
    st_unit units[MOST_ARGUMENTS];
} function;

static st_errors *errors;

static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "sheet_server: %s\n", what);
    st_errors_write(errors, stderr);
    exit(1);
}

static void give(const double *values, size_t count)
{
    demand(fwrite(values, sizeof *values, count, stdout) == count, "the test has gone");
}

static st_status ask_test(void *self, size_t rows, const double *const *arguments, double *values)
{
    const function *asked = self;
    for (size_t row = 0; row < rows; row++) {
        double call[1 + MOST_ARGUMENTS] = {asked->number};
        for (size_t i = 0; i < asked->provider.argument_count; i++)
            call[1 + i] = arguments[i][row];
        give(call, 1 + asked->provider.argument_count);
        demand(fflush(stdout) == 0 && fread(&values[row], sizeof *values, 1, stdin) == 1,
               "the test does not answer");
    }
    return ST_OK;
}

static st_unit unit(const char *text, size_t length)
{
    st_unit parsed = st_unit_one();
    demand(st_unit_parse(text, length, (st_place){0}, &parsed, errors) == ST_OK, text);
    return parsed;
}

/* NAME UNIT UNITS */
static void read_function(char **words, function *asked)
{
    asked->provider = (st_provider){.name = words[0],
                                    .source = "test",
                                    .unit = unit(words[1], strlen(words[1])),
                                    .argument_units = asked->units,
                                    .evaluate = ask_test,
                                    .self = asked};
    for (const char *at = words[2]; *at != '\0';) {
        size_t length = strcspn(at, ",");
        demand(asked->provider.argument_count < MOST_ARGUMENTS, "too many arguments");
        asked->units[asked->provider.argument_count++] = unit(at, length);
        at += length + (at[length] == ',');
    }
}

/* With the library's own function that divides layers over stages, where the sheet asks for it. */
static const st_program *compile(const st_sheet *sheet, int count, char **words, st_arena *arena)
{
    static function functions[MOST_FUNCTIONS];
    static const st_stage_plan nothing_said;
    const st_provider *providers[MOST_FUNCTIONS + 1];
    st_stage_providers divides;
    const st_program *program = NULL;
    size_t used = 0;
    demand(count % 3 == 0 && count <= 3 * MOST_FUNCTIONS, "functions are NAME UNIT UNITS");
    demand(st_stage_layer_providers(&nothing_said, sheet, arena, &divides, errors) == ST_OK, "");
    bool is_divided = divides.count == 0;
    for (int i = 0; i < count / 3; i++) {
        functions[i].number = i;
        read_function(words + 3 * (size_t)i, &functions[i]);
        is_divided = is_divided || strcmp(words[3 * (size_t)i], divides.items[0].name) == 0;
        providers[used++] = &functions[i].provider;
    }
    if (!is_divided)
        providers[used++] = &divides.items[0];
    const st_program_options options = {.providers = providers, .provider_count = used};
    demand(st_program_compile(sheet, &options, arena, &program, errors) == ST_OK, "compile");
    return program;
}

/* Inputs with their keys, choices, and defaults of the sheet and of the key; cells. */
static void describe(const st_sheet *sheet, const st_program *program)
{
    st_buffer text = {0};
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    for (size_t i = 0; i < count; i++) {
        const st_key *key = st_key_find(inputs[i].from);
        const st_enum *names = inputs[i].type.enumeration;
        bool is_choice = inputs[i].type.kind == ST_TYPE_ENUM;
        st_buffer_printf(&text, "input\t%s\t%s", inputs[i].from,
                         inputs[i].type.kind == ST_TYPE_BOOL ? "false,true" : "");
        for (size_t k = 0; is_choice && k < names->count; k++)
            st_buffer_printf(&text, "%s%s", k > 0 ? "," : "", names->values[k]);
        st_buffer_printf(&text, "\t");
        if (inputs[i].has_default)
            st_buffer_printf(&text, "%.17g", inputs[i].default_value);
        st_buffer_printf(&text, "\t%s\n",
                         key != NULL && key->default_text != NULL ? key->default_text : "");
    }
    for (size_t i = 0; i < st_program_output_count(program); i++)
        st_buffer_printf(&text, "cell\t%s\n", st_program_output_name(program, i));
    (void)st_sheet_checks(sheet, &count);
    for (size_t i = 0; i < count; i++)
        st_buffer_printf(&text, "check\n");
    demand(!text.failed, "memory");
    give((const double[]){DESCRIPTION, (double)text.length}, 2);
    demand(fputs(text.data, stdout) >= 0 && fflush(stdout) == 0, "the test has gone");
    st_buffer_free(&text);
}

static void serve(const st_sheet *sheet, const st_program *program)
{
    static double values[MOST_VALUES];
    static double answer[1 + MOST_VALUES] = {CELLS};
    size_t count = 0;
    size_t checks = 0;
    size_t cells = st_program_output_count(program);
    st_workspace *workspace = st_workspace_create(program);
    (void)st_sheet_inputs(sheet, &count);
    (void)st_sheet_checks(sheet, &checks);
    demand(workspace != NULL && count <= MOST_VALUES && cells + checks <= MOST_VALUES, "too large");
    while (fread(values, sizeof *values, count, stdin) == count) {
        demand(st_program_run_one(program, workspace, values, answer + 1, answer + 1 + cells) ==
                   ST_OK,
               "run");
        give(answer, 1 + cells + checks);
        demand(fflush(stdout) == 0, "the test has gone");
    }
    st_workspace_destroy(workspace);
}

int main(int argc, char **argv)
{
    static const char *const folders[] = {"."};
    st_arena *arena = st_arena_create();
    st_paths *paths = NULL;
    const st_sheet *sheet = NULL;
    errors = st_errors_create();
    demand(argc > 1 && arena != NULL && errors != NULL, "which sheet?");
    demand(st_paths_create(folders, 1, &paths, errors) == ST_OK, "paths");
    st_sheet_reader reader = st_paths_sheet_reader(paths);
    demand(st_sheet_load(&reader, argv[1], arena, &sheet, errors) == ST_OK, argv[1]);
    const st_program *program = compile(sheet, argc - 2, argv + 2, arena);
    describe(sheet, program);
    serve(sheet, program);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    st_paths_destroy(paths);
    return 0;
}
