/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the formulas of a sheet as the plain C that a person would write by hand: one variable a
 * cell, one function a function, `?:` for `if`, a loop over rows around it. Compiled with -O3 it is
 * what block evaluation is measured against. It takes numbers and formulas from the parsed sheet,
 * so it cannot compare with anything but the same formulas.
 */
#include "sheet/expr.h"
#include "steptime/steptime.h"

#include <string.h>

typedef struct writer {
    const char *function;     /* to be written */
    const char *const *cells; /* its outputs, before the sheet's checks; NULL: all cells */
    size_t cell_count;
    const st_sheet *sheet;
    st_buffer text;
    bool *written; /* cells */
} writer;

static void write_expr(writer *w, const st_expr *expr);

static const char *operator_text(const st_expr *expr)
{
    switch (expr->op) {
    case ST_OPERATOR_OR:
        return "||";
    case ST_OPERATOR_AND:
        return "&&";
    case ST_OPERATOR_NOT:
        return "!";
    default:
        return st_operator_text(expr->op);
    }
}

static void write_name(writer *w, const st_expr *expr)
{
    static const char letters[] = {
        [ST_NAME_INPUT] = 'i', [ST_NAME_CELL] = 'c', [ST_NAME_ARGUMENT] = 'a'};
    if (expr->name_kind == ST_NAME_VALUE) {
        st_buffer_printf(&w->text, "%u.0", (unsigned)expr->index);
    } else {
        st_buffer_printf(&w->text,
                         st_expr_type(expr)->kind == ST_TYPE_BOOL ? "(%c%u != 0)" : "%c%u",
                         letters[expr->name_kind], (unsigned)expr->index);
    }
}

static void write_number(writer *w, double number)
{
    char text[ST_QUANTITY_TEXT];
    st_number_format(number, text, sizeof text);
    st_buffer_printf(&w->text, strpbrk(text, ".e") ? "%s" : "%s.0", text);
}

static void write_list(writer *w, const char *function, const st_expr *expr)
{
    st_buffer_printf(&w->text, "%s(", function);
    for (size_t i = 0; i < expr->child_count; i++) {
        st_buffer_text(&w->text, i > 0 ? ", " : "");
        write_expr(w, st_expr_child(expr, i));
    }
    st_buffer_text(&w->text, ")");
}

/* least(a, least(b, c)) */
static void write_nested(writer *w, const char *function, const st_expr *expr)
{
    for (size_t i = 0; i + 1 < expr->child_count; i++) {
        st_buffer_printf(&w->text, "%s(", function);
        write_expr(w, st_expr_child(expr, i));
        st_buffer_text(&w->text, ", ");
    }
    write_expr(w, st_expr_child(expr, expr->child_count - 1));
    for (size_t i = 0; i + 1 < expr->child_count; i++) {
        st_buffer_text(&w->text, ")");
    }
}

static void write_if(writer *w, const st_expr *expr)
{
    st_buffer_text(&w->text, "(");
    write_expr(w, st_expr_child(expr, 0));
    st_buffer_text(&w->text, " ? ");
    write_expr(w, st_expr_child(expr, 1));
    st_buffer_text(&w->text, " : ");
    write_expr(w, st_expr_child(expr, 2));
    st_buffer_text(&w->text, ")");
}

static void write_call(writer *w, const st_expr *expr)
{
    char name[32];
    switch (expr->builtin) {
    case ST_BUILTIN_NONE:
        snprintf(name, sizeof name, "f%u", (unsigned)expr->index);
        write_list(w, name, expr);
        break;
    case ST_BUILTIN_IF:
        write_if(w, expr);
        break;
    case ST_BUILTIN_MIN:
        write_nested(w, "least", expr);
        break;
    case ST_BUILTIN_MAX:
        write_nested(w, "most", expr);
        break;
    case ST_BUILTIN_ABS:
        write_list(w, "fabs", expr);
        break;
    default:
        write_list(w, st_builtin_text(expr->builtin), expr);
        break;
    }
}

static void write_binary(writer *w, const st_expr *expr)
{
    if (expr->op == ST_OPERATOR_POWER) {
        write_list(w, "pow", expr);
        return;
    }
    st_buffer_text(&w->text, "(");
    write_expr(w, st_expr_child(expr, 0));
    st_buffer_printf(&w->text, " %s ", operator_text(expr));
    write_expr(w, st_expr_child(expr, 1));
    st_buffer_text(&w->text, ")");
}

static void write_expr(writer *w, const st_expr *expr)
{
    switch (expr->kind) {
    case ST_EXPR_NUMBER:
        write_number(w, expr->number);
        break;
    case ST_EXPR_BOOL:
        st_buffer_text(&w->text, expr->number != 0 ? "1" : "0");
        break;
    case ST_EXPR_NAME:
        write_name(w, expr);
        break;
    case ST_EXPR_UNARY:
        st_buffer_printf(&w->text, "(%s", operator_text(expr));
        write_expr(w, st_expr_child(expr, 0));
        st_buffer_text(&w->text, ")");
        break;
    case ST_EXPR_BINARY:
        write_binary(w, expr);
        break;
    case ST_EXPR_CALL:
        write_call(w, expr);
        break;
    }
}

static void write_signature(writer *w, const st_sheet_function *function, size_t index)
{
    st_buffer_printf(&w->text, "static inline double f%zu(", index);
    for (size_t i = 0; i < function->argument_count; i++) {
        st_buffer_printf(&w->text, "%sdouble a%zu", i > 0 ? ", " : "", i);
    }
    st_buffer_text(&w->text, function->argument_count > 0 ? ")" : "void)");
}

/* A function may call one that stands behind it. */
static void write_functions(writer *w)
{
    size_t count = 0;
    const st_sheet_function *functions = st_sheet_functions(w->sheet, &count);
    for (size_t i = 0; i < count; i++) {
        write_signature(w, &functions[i], i);
        st_buffer_text(&w->text, ";\n");
    }
    for (size_t i = 0; i < count; i++) {
        st_buffer_text(&w->text, "\n");
        write_signature(w, &functions[i], i);
        st_buffer_text(&w->text, "\n{\n    return ");
        write_expr(w, functions[i].expr);
        st_buffer_text(&w->text, ";\n}\n");
    }
}

static void write_cell(writer *w, size_t index);

/* The cells that an expression reads come before it. */
static void write_operands(writer *w, const st_expr *expr)
{
    if (expr->kind == ST_EXPR_NAME && expr->name_kind == ST_NAME_CELL) {
        write_cell(w, expr->index);
    }
    for (size_t i = 0; i < expr->child_count; i++) {
        write_operands(w, st_expr_child(expr, i));
    }
}

static void write_cell(writer *w, size_t index)
{
    size_t count = 0;
    const st_sheet_cell *cell = &st_sheet_cells(w->sheet, &count)[index];
    if (w->written[index]) {
        return;
    }
    write_operands(w, cell->expr);
    st_buffer_printf(&w->text, "        const double c%zu = ", index);
    write_expr(w, cell->expr);
    st_buffer_printf(&w->text, "; /* %s */\n", cell->name);
    if (w->cells == NULL) {
        st_buffer_printf(&w->text, "        outputs[%zu][row] = c%zu;\n", index, index);
    }
    w->written[index] = true;
}

/* Some cells, and behind them every check. */
static void write_chosen(writer *w)
{
    size_t count = 0;
    size_t checks = 0;
    const st_sheet_cell *cells = st_sheet_cells(w->sheet, &count);
    const st_sheet_check *check = st_sheet_checks(w->sheet, &checks);
    for (size_t i = 0; i < w->cell_count; i++) {
        const st_sheet_cell *cell = st_sheet_find_cell(w->sheet, w->cells[i]);
        if (cell != NULL) {
            write_cell(w, (size_t)(cell - cells));
            st_buffer_printf(&w->text, "        outputs[%zu][row] = c%zu;\n", i,
                             (size_t)(cell - cells));
        }
    }
    for (size_t i = 0; i < checks; i++) {
        write_operands(w, check[i].expr);
        st_buffer_printf(&w->text, "        outputs[%zu][row] = ", w->cell_count + i);
        write_expr(w, check[i].expr);
        st_buffer_text(&w->text, ";\n");
    }
}

static void write_sheet(writer *w)
{
    size_t count = 0;
    st_buffer_printf(&w->text, "/* Formulas of the sheet %s. */\n", st_sheet_name(w->sheet));
    st_buffer_text(&w->text, "#include \"scalar.h\"\n\n#include <math.h>\n\n"
                             "static inline double least(double a, double b)\n"
                             "{\n    return a < b ? a : b;\n}\n\n"
                             "static inline double most(double a, double b)\n"
                             "{\n    return a > b ? a : b;\n}\n\n");
    write_functions(w);
    st_buffer_printf(&w->text,
                     "\nvoid %s(size_t rows, const double *const *inputs, "
                     "double *const *outputs)\n{\n"
                     "    for (size_t row = 0; row < rows; row++) {\n",
                     w->function);
    (void)st_sheet_inputs(w->sheet, &count);
    for (size_t i = 0; i < count; i++) {
        st_buffer_printf(&w->text, "        const double i%zu = inputs[%zu][row];\n", i, i);
    }
    (void)st_sheet_cells(w->sheet, &count);
    for (size_t i = 0; w->cells == NULL && i < count; i++) {
        write_cell(w, i);
    }
    if (w->cells != NULL) {
        write_chosen(w);
    }
    st_buffer_text(&w->text, "    }\n}\n");
}

/* `name` is a sheet's name or path, as for `steptime sheet show`. */
static st_status run(const char *name, writer *w, st_arena *arena, st_errors *errors)
{
    st_paths *paths = NULL;
    size_t count = 0;
    st_status status = st_paths_create(NULL, 0, &paths, errors);
    if (status != ST_OK) {
        return status;
    }
    st_sheet_reader reader = st_paths_sheet_reader(paths);
    status = st_sheet_load(&reader, name, arena, &w->sheet, errors);
    if (status == ST_OK) {
        (void)st_sheet_cells(w->sheet, &count);
        w->written = st_arena_alloc(arena, count + 1, sizeof *w->written);
        status = w->written ? ST_OK : ST_ERR_MEMORY;
    }
    if (status == ST_OK) {
        write_sheet(w);
        status = w->text.failed ? ST_ERR_MEMORY : ST_OK;
    }
    st_paths_destroy(paths);
    return status;
}

int main(int argc, char **argv)
{
    writer w = {.sheet = NULL};
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    st_status status = ST_ERR_MEMORY;
    w.function = argc > 2 ? argv[2] : "scalar_run";
    w.cells = argc > 3 ? (const char *const *)argv + 3 : NULL;
    w.cell_count = argc > 3 ? (size_t)argc - 3 : 0;
    if (argc < 2) {
        fprintf(stderr, "usage: scalar_gen SHEET [FUNCTION [CELL...]]\n");
        status = ST_ERR_USAGE;
    } else if (arena && errors) {
        status = run(argv[1], &w, arena, errors);
        st_errors_write(errors, stderr);
    }
    if (status == ST_OK && fputs(w.text.data, stdout) < 0) {
        status = ST_ERR_IO;
    }
    st_buffer_free(&w.text);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    return status == ST_OK ? 0 : 1;
}
