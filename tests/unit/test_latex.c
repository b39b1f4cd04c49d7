/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas and names as LaTeX: what a reader sees groups as the formula does. */
#include "../support/sheets.h"
#include "export/latex.h"

#include "sheet/expr.h"

/* Of a name, or of the formula of a cell `T` over inputs of all types. */
static const char *answer(void *context, const char *section, char *given, size_t length)
{
    shelf *own = context;
    st_buffer buffer = {0};
    (void)length;
    if (strncmp(section, "names", 5) == 0) {
        st_name_latex(given, &buffer);
    } else {
        const st_sheet *sheet = accept(
            own, st_arena_printf(own->arena,
                                 SHEET_INPUTS
                                 "functions:\n  ring: {args: {x: 1}, is: 2*x}\n"
                                 "cells:\n  N_p: {is: n}\n  T:\n    unit: %.*s\n    is: %s\n",
                                 (int)strcspn(section, ":"), section, given));
        st_expr_latex(st_sheet_find_cell(sheet, "T")->expr, &buffer);
    }
    assert_false(buffer.failed);
    const char *text = st_arena_copy(own->arena, buffer.data, buffer.length);
    st_buffer_free(&buffer);
    return text;
}

TEST_OF(latex_is_that_of_the_cases, shelf *own, make_shelf, drop_shelf)
{
    run_text_rows("tests/unit/cases/latex.txt", answer, own, own->arena);
}

/* What LaTeX needs to compile: braces and \left \right in pairs. */
TEST_WITH(braces_come_in_pairs, make_shelf, drop_shelf)
{
    static const char *const formulas[] = {
        "if(w, if(n > 1, abs(n)^2, -n), floor(n/(2 + n))^-(1/2))",
        "min(n, max(2, ring(-n)))^2 - -(5[%]^n)",
        "sqrt(sqrt(n) + log2(n/3)^3)",
    };
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(formulas); i++) {
        const st_sheet *sheet =
            accept(own, st_arena_printf(own->arena,
                                        SHEET_INPUTS "functions:\n  ring: {args: {x: 1}, is: 2*x}\n"
                                                     "cells:\n  T:\n    is: %s\n",
                                        formulas[i]));
        st_buffer buffer = {0};
        st_expr_latex(st_sheet_find_cell(sheet, "T")->expr, &buffer);
        int depth = 0;
        for (const char *c = buffer.data; *c != '\0'; c++) {
            depth += *c == '{' ? 1 : *c == '}' ? -1 : 0;
            assert_true(depth >= 0);
        }
        assert_int_equal(depth, 0);
        int pairs = 0;
        for (const char *c = buffer.data; *c != '\0'; c++) {
            pairs += strncmp(c, "\\left", 5) == 0 ? 1 : strncmp(c, "\\right", 6) == 0 ? -1 : 0;
            assert_true(pairs >= 0);
        }
        assert_int_equal(pairs, 0);
        st_buffer_free(&buffer);
    }
}

TESTS(latex);
