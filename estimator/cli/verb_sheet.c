/* SPDX-License-Identifier: Apache-2.0 */
/* steptime sheet check, show, list, export */
#include "cli/verbs.h"
#include "estimate/report.h"

#include "base/guard.h"
#include "export/xlsx.h"

#include <string.h>
#include <unistd.h>

static const cli_option check_rows[] = {CLI_ROW_PATH, CLI_ROW_CONFINE, CLI_END};
typedef struct show_options {
    bool program;
} show_options;

static const cli_option show_rows[] = {
    CLI_FLAG(show_options, program, "program",
             "also show the operations that the sheet compiles to"),
    CLI_ROW_JSON,
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_ROW_COLOR,
    CLI_END};
static const cli_option list_rows[] = {CLI_ROWS_FORMS, CLI_END};
enum { FORMAT_MARKDOWN, FORMAT_LATEX, FORMAT_XLSX };

typedef struct export_options {
    unsigned format;
} export_options;

static const cli_option export_rows[] = {
    CLI_CHOICE(export_options, format, "format", "FORMAT", "md latex xlsx",
               "format: md (Markdown, the default), latex or xlsx"),
    CLI_ROW_PATH, CLI_ROW_OUTPUT, CLI_END};

static const cli_example check_examples[] = {
    {"steptime sheet check mine.yaml", "find every error of a sheet before you use it"},
    {NULL, NULL}};
static const cli_example show_examples[] = {
    {"steptime sheet show li2024", "inputs, functions, cells and checks of a sheet"},
    {"steptime sheet show li2024 --program", "the compiled operations of a sheet"},
    {NULL, NULL}};
static const cli_example list_examples[] = {
    {"steptime sheet list", "the sheets on the search path"}, {NULL, NULL}};
static const cli_example export_examples[] = {
    {"steptime sheet export li2024 --format md", "a sheet as a Markdown document"},
    {"steptime sheet export li2024 --format latex -o li2024.tex", "for pdflatex"},
    {"steptime sheet export li2024 --format xlsx -o li2024.xlsx",
     "a workbook with inputs to fill in"},
    {NULL, NULL}};

static st_status compile(cli_run *run, const st_sheet *sheet, const st_program **program)
{
    return st_program_compile(sheet, &(st_program_options){0}, run->arena, program, run->errors);
}

static void write_counts(const st_sheet *sheet, const st_program *program, st_buffer *buffer)
{
    size_t cells = 0;
    size_t inputs = 0;
    size_t functions = 0;
    size_t checks = 0;
    (void)st_sheet_cells(sheet, &cells);
    (void)st_sheet_inputs(sheet, &inputs);
    (void)st_sheet_functions(sheet, &functions);
    (void)st_sheet_checks(sheet, &checks);
    st_buffer_printf(buffer, "%s: ok: %zu cell%s, %zu input%s, %zu function%s, %zu check%s; ",
                     st_sheet_file(sheet), cells, cells == 1 ? "" : "s", inputs,
                     inputs == 1 ? "" : "s", functions, functions == 1 ? "" : "s", checks,
                     checks == 1 ? "" : "s");
    size_t operations = program != NULL ? st_program_operation_count(program) : 0;
    if (program != NULL)
        st_buffer_printf(buffer, "%zu operation%s\n", operations, operations == 1 ? "" : "s");
}

/* A function that only a provider can compute, NULL where every one has a formula. */
static const char *name_without_formula(const st_sheet *sheet)
{
    size_t count = 0;
    const st_sheet_function *functions = st_sheet_functions(sheet, &count);
    for (size_t i = 0; i < count; i++)
        if (functions[i].formula == NULL)
            return functions[i].name;
    return NULL;
}

static st_status check_sheet(cli_run *run, const st_sheet_reader *reader, const char *name)
{
    const st_sheet *sheet = NULL;
    const st_program *program = NULL;
    st_status status = st_sheet_load(reader, name, run->arena, &sheet, run->errors);
    const char *without = status == ST_OK ? name_without_formula(sheet) : NULL;
    if (status == ST_OK && without == NULL)
        status = compile(run, sheet, &program);
    if (program != NULL)
        status = st_program_verify_settled(program, run->errors);
    if (status != ST_OK)
        return status;
    write_counts(sheet, program, &run->result);
    if (without != NULL)
        st_buffer_printf(&run->result, "needs a provider for %s\n", without);
    return ST_OK;
}

/* Every sheet is looked at, whatever the others are like. */
static int run_check(cli_run *run)
{
    st_status status = cli_paths(run);
    if (status != ST_OK)
        return cli_exit_code(run, status);
    st_sheet_reader reader = st_paths_sheet_reader(run->paths);
    for (size_t i = 0; i < run->argument_count; i++)
        st_note(&status, check_sheet(run, &reader, run->arguments[i]));
    return cli_exit_code(run, status);
}

static st_status load_sheet(cli_run *run, const st_sheet **sheet)
{
    st_status status = cli_paths(run);
    if (status != ST_OK)
        return status;
    st_sheet_reader reader = st_paths_sheet_reader(run->paths);
    status = st_sheet_load(&reader, run->arguments[0], run->arena, sheet, run->errors);
    return status;
}

static int run_show(cli_run *run)
{
    const show_options *options = run->options;
    const st_sheet *sheet = NULL;
    const st_program *program = NULL;
    st_status status = load_sheet(run, &sheet);
    if (status == ST_OK && options->program)
        status = compile(run, sheet, &program);
    if (status == ST_OK) {
        st_result result;
        st_sheet_report(sheet, program, run->arena, &result);
        cli_show(run, &result);
    }
    return cli_exit_code(run, status);
}

/* Nobody wants a workbook on a terminal. */
static st_status write_workbook(cli_run *run, const st_sheet *sheet)
{
    if (run->common.output == NULL && isatty(st_guard_stdout()) == 1)
        return cli_wrong_use(run, "cannot write a workbook to a terminal", "add --output FILE");
    return st_sheet_write_xlsx(sheet, run->arena, &run->result, run->errors);
}

static int run_export(cli_run *run)
{
    const st_sheet *sheet = NULL;
    const export_options *options = run->options;
    st_status status = load_sheet(run, &sheet);
    if (status == ST_OK && options->format == FORMAT_LATEX)
        st_sheet_write_latex(sheet, run->arena, &run->result);
    else if (status == ST_OK && options->format == FORMAT_XLSX)
        status = write_workbook(run, sheet);
    else if (status == ST_OK)
        st_sheet_write_markdown(sheet, ST_MARKDOWN_MATH, 1, run->arena, &run->result);
    return cli_exit_code(run, status);
}

static int run_list(cli_run *run)
{
    return cli_list_folder(run, "sheets");
}

const cli_verb cli_verb_sheet_check = {
    .name = "sheet check",
    .arguments = "NAME|FILE...",
    .words = {CLI_WORD_SHEET, CLI_WORD_SHEET},
    .summary = "check sheets: grammar, names, units, cycles",
    .doc = "Reads each sheet with its includes and reports all errors and warnings at once, each "
           "with file, line and column. Exits 1 if a sheet has an error.",
    .examples = check_examples,
    .options = check_rows,
    .run = run_check,
};

const cli_verb cli_verb_sheet_show = {
    .name = "sheet show",
    .arguments = "NAME|FILE",
    .words = {CLI_WORD_SHEET, CLI_WORD_NONE},
    .summary = "show a sheet: inputs, functions, cells, checks",
    .doc = "Shows every formula of a sheet with its unit, meaning and source.",
    .examples = show_examples,
    CLI_OPTIONS(show_rows, show_options),
    .run = run_show,
};

const cli_verb cli_verb_sheet_list = {
    .name = "sheet list",
    .arguments = "",
    .summary = "list the sheets on the search path",
    .doc = "Same as 'steptime list sheets'.",
    .examples = list_examples,
    .options = list_rows,
    .run = run_list,
};

const cli_verb cli_verb_sheet_export = {
    .name = "sheet export",
    .arguments = "NAME|FILE",
    .words = {CLI_WORD_SHEET, CLI_WORD_NONE},
    .summary = "write a sheet as a document",
    .doc = "Writes the formulas of the sheet as mathematics in Markdown, as a LaTeX document for "
           "pdflatex, or as a workbook with live formulas (docs/spreadsheet.md).",
    .examples = export_examples,
    CLI_OPTIONS(export_rows, export_options),
    .run = run_export,
};
