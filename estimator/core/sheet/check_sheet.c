/* SPDX-License-Identifier: Apache-2.0 */
/* The checker of a whole sheet: every formula, then who needs whom. */
#include "sheet/check_parts.h"
#include "base/memory.h"
#include "sheet/order.h"

/* Types a formula and demands its declared type; false where an error was reported. */
static bool check_formula(st_checker *checker, const st_formula *formula, const st_type *type,
                          const char *kind, const char *name)
{
    checker->formula = formula;
    if (formula->expr == NULL || !st_checker_expr(checker, formula->expr))
        return false;
    if (st_checker_fits(formula->expr, type))
        return true;
    const char *what = name == NULL ? kind : st_errors_text(checker->errors, "%s '%s'", kind, name);
    return st_checker_expect(checker, formula->expr, type, what);
}

/* The height of a tree once the functions are expanded. */
static size_t inlined_height(const st_expr *expr, const size_t *functions)
{
    size_t height = 0;
    for (size_t i = 0; i < expr->child_count; i++) {
        size_t child = inlined_height(st_expr_child(expr, i), functions);
        height = child > height ? child : height;
    }
    if (expr->name_kind == ST_NAME_FUNCTION && functions[expr->index] > height)
        height = functions[expr->index];
    return height + 1;
}

static size_t check_height(st_checker *checker, const st_expr *expr, const size_t *functions,
                           st_place place)
{
    size_t height = expr == NULL ? 0 : inlined_height(expr, functions);
    if (height > ST_SHEET_MAX_HEIGHT) {
        st_fail(checker->errors, ST_ERR_LIMIT, place,
                "functions call functions, and the formula gets too deep" ST_EXPECTED
                "at most 4000 levels");
        return 0; /* reported once, not for every caller */
    }
    return height;
}

void st_sheet_warn_unused(const st_sheet *sheet, st_errors *errors)
{
    for (size_t i = 0; i < sheet->input_count; i++) {
        const st_sheet_input *input = &sheet->inputs[i];
        if (!input->used)
            st_report(errors, ST_SEVERITY_WARNING, ST_ERR_NAME, input->place,
                      "no cell or check reads input '%s'", input->name);
    }
}

st_status st_sheet_check_all(st_sheet *sheet, st_arena *arena, st_errors *errors)
{
    size_t before = st_errors_count(errors, ST_SEVERITY_ERROR);
    st_checker checker = {.sheet = sheet, .errors = errors, .arena = arena};
    st_sheet *function_sheet = checker.sheet;
    for (size_t i = 0; i < function_sheet->function_count; i++) {
        checker.function = &function_sheet->functions[i];
        (void)check_formula(&checker, &function_sheet->function_formulas[i],
                            &function_sheet->functions[i].type, "function",
                            function_sheet->functions[i].name);
    }
    checker.function = NULL;
    st_sheet *cell_sheet = checker.sheet;
    const st_formula *refused = NULL; /* one report for all members that a text has made */
    for (size_t i = 0; i < cell_sheet->cell_count; i++) {
        const st_formula *formula = &cell_sheet->cell_formulas[i];
        if ((formula->origin == NULL || formula->origin != refused) &&
            !check_formula(&checker, formula, &cell_sheet->cells[i].type, "cell",
                           cell_sheet->cells[i].name))
            refused = formula->origin;
    }
    static const st_type truth = {.kind = ST_TYPE_BOOL};
    st_sheet *check_sheet = checker.sheet;
    for (size_t i = 0; i < check_sheet->check_count; i++) {
        (void)check_formula(&checker, &check_sheet->check_formulas[i], &truth, "the check", NULL);
        for (size_t j = 0; j < check_sheet->messages[i].count; j++) {
            const st_formula *shown = &check_sheet->messages[i].parts[j].formula;
            if (shown->expr == NULL)
                continue;
            /* Any type may be shown, once it is known which: a bare enumeration value is not. */
            checker.formula = shown;
            if (st_checker_expr(&checker, shown->expr))
                (void)st_checker_expect(&checker, shown->expr, st_expr_type(shown->expr),
                                        "the message");
        }
    }
    size_t *functions = NULL;
    if (st_order_functions(sheet, arena, &functions, errors) == ST_OK) {
        /* Recursion follows trees and calls in all that comes later: bound both together. */
        const size_t *order = functions;
        st_sheet *height_sheet = checker.sheet;
        size_t *heights = st_arena_alloc(arena, height_sheet->function_count + 1, sizeof(*heights));
        if (heights == NULL) {
            (void)st_out_of_memory(checker.errors);
        } else {
            for (size_t i = 0; i < height_sheet->function_count; i++) {
                const st_sheet_function *function = &height_sheet->functions[order[i]];
                heights[order[i]] =
                    check_height(&checker, function->expr, heights, function->place);
            }
            for (size_t i = 0; i < height_sheet->cell_count; i++)
                (void)check_height(&checker, height_sheet->cells[i].expr, heights,
                                   height_sheet->cells[i].place);
            for (size_t i = 0; i < height_sheet->check_count; i++)
                (void)check_height(&checker, height_sheet->checks[i].expr, heights,
                                   height_sheet->checks[i].place);
        }
    }
    st_status status = st_order_cells(sheet, NULL, arena, &sheet->cell_order, errors);
    return st_errors_count(errors, ST_SEVERITY_ERROR) > before ? st_errors_status(errors) : status;
}
