/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas and names as LaTeX: what a reader sees groups as the formula does. */
#include "../support/sheets.h"
#include "export/latex.h"

#include "sheet/expr.h"

static const char *latex_of_name(shelf *own, const char *name)
{
    st_buffer buffer = {0};
    st_name_latex(name, &buffer);
    const char *text = st_arena_copy(own->arena, buffer.data, buffer.length);
    st_buffer_free(&buffer);
    return text;
}

TEST_WITH(names_have_upright_subscripts, make_shelf, drop_shelf)
{
    static const char *const cases[][2] = {
        {"h", "h"},
        {"T", "T"},
        {"T_comp", "T_{\\mathrm{comp}}"},
        {"T_comp_mb", "T_{\\mathrm{comp,mb}}"},
        {"half", "\\mathrm{half}"},
        {"step_time", "\\mathrm{step\\;time}"},
        {"tokens_per_s_gpu", "\\mathrm{tokens\\;per\\;s\\;gpu}"},
        {"stage_layers[first]", "\\mathrm{stage\\;layers}_{\\mathrm{first}}"},
        {"kv_rank", "\\mathrm{kv}_{\\mathrm{rank}}"},
        {"mu", "\\mu"},
        {"eta_update", "\\eta_{\\mathrm{update}}"},
        {"omega", "\\omega"},
        {"mu2", "\\mathrm{mu2}"},
        {"rate_2", "\\mathrm{rate}_{\\mathrm{2}}"},
        {"_x", "\\mathrm{\\_x}"},
        {"x_", "x_{\\mathrm{}}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(latex_of_name(*state, cases[i][0]), cases[i][1]);
}

/* A formula of a cell `T` over inputs of all types. */
static void assert_latex(shelf *own, const char *unit, const char *formula, const char *expected)
{
    const st_sheet *sheet =
        accept(own, st_arena_printf(own->arena,
                                    SHEET_INPUTS
                                    "functions:\n  ring: {args: {x: 1}, is: 2*x}\n"
                                    "cells:\n  N_p: {is: n}\n  T:\n    unit: %s\n    is: %s\n",
                                    unit, formula));
    st_buffer buffer = {0};
    st_expr_latex(st_sheet_find_cell(sheet, "T")->expr, &buffer);
    assert_false(buffer.failed);
    const char *text = st_arena_copy(own->arena, buffer.data, buffer.length);
    st_buffer_free(&buffer);
    if (strcmp(text, expected) != 0)
        fail_msg("'%s' becomes %s and not %s", formula, text, expected);
}

typedef struct translated {
    const char *formula;
    const char *latex;
} translated;

TEST_WITH(numbers_are_set, make_shelf, drop_shelf)
{
    static const translated cases[] = {
        {"2.50", "2.50"},
        {"n*1e9", "n \\cdot 1 \\times 10^{9}"},
        {"n*1.5e-6", "n \\cdot 1.5 \\times 10^{-6}"},
        {"n*2E+3", "n \\cdot 2 \\times 10^{+3}"},
        {"3[1/s]*t", "3\\,\\mathrm{1/s} \\cdot t"},
        {"5[%]", "5\\,\\mathrm{\\%}"},
        {"2[$/h]/1.5e-6[$/h]",
         "\\frac{2\\,\\mathrm{\\$/h}}{1.5 \\times 10^{-6}\\,\\mathrm{\\$/h}}"},
        {"1[EB]/2[s]/C", "\\frac{\\frac{1\\,\\mathrm{EB}}{2\\,\\mathrm{s}}}{C}"},
        {"t*t/2[us^2]", "\\frac{t \\cdot t}{2\\,\\mathrm{us^{2}}}"},
        {"t*4[s^-1]", "t \\cdot 4\\,\\mathrm{s^{-1}}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_latex(*state, "1", cases[i].formula, cases[i].latex);
}

TEST_WITH(operators_group_as_they_compute, make_shelf, drop_shelf)
{
    static const translated cases[] = {
        {"n + N_p - 2", "n + N_{\\mathrm{p}} - 2"},
        {"n - (N_p - 2)", "n - \\left(N_{\\mathrm{p}} - 2\\right)"},
        {"n - (N_p + 2)", "n - \\left(N_{\\mathrm{p}} + 2\\right)"},
        {"(n - N_p) - 2", "n - N_{\\mathrm{p}} - 2"},
        {"n*(N_p + 2)", "n \\cdot \\left(N_{\\mathrm{p}} + 2\\right)"},
        {"n*N_p + 2", "n \\cdot N_{\\mathrm{p}} + 2"},
        {"n*(N_p*2)", "n \\cdot \\left(N_{\\mathrm{p}} \\cdot 2\\right)"},
        {"(n + 1)/(N_p - 2)", "\\frac{n + 1}{N_{\\mathrm{p}} - 2}"},
        {"n/2*N_p", "\\frac{n}{2} \\cdot N_{\\mathrm{p}}"},
        {"n*(N_p/2)", "n \\cdot \\frac{N_{\\mathrm{p}}}{2}"},
        {"n - N_p/2", "n - \\frac{N_{\\mathrm{p}}}{2}"},
        {"-n*2", "-n \\cdot 2"},
        {"-(n*2)", "-\\left(n \\cdot 2\\right)"},
        {"-(n + 2)", "-\\left(n + 2\\right)"},
        {"-(-n)", "-\\left(-n\\right)"},
        {"n - -2", "n - \\left(-2\\right)"},
        {"n*-N_p", "n \\cdot \\left(-N_{\\mathrm{p}}\\right)"},
        {"-n^2", "-{n}^{2}"},
        {"(-n)^2", "\\left(-n\\right)^{2}"},
        {"(n + 1)^2", "\\left(n + 1\\right)^{2}"},
        {"(n/2)^2", "\\left(\\frac{n}{2}\\right)^{2}"},
        {"N_p^n^2", "{N_{\\mathrm{p}}}^{{n}^{2}}"},
        {"(N_p^n)^2", "\\left({N_{\\mathrm{p}}}^{n}\\right)^{2}"},
        {"2^-n", "{2}^{-n}"},
        {"1.5e3^2", "\\left(1.5 \\times 10^{3}\\right)^{2}"},
        {"5[%]^2", "\\left(5\\,\\mathrm{\\%}\\right)^{2}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_latex(*state, "1", cases[i].formula, cases[i].latex);
}

TEST_WITH(logic_groups_as_it_computes, make_shelf, drop_shelf)
{
    static const translated cases[] = {
        {"n < 2 and w or n >= 3", "n < 2 \\wedge w \\vee n \\ge 3"},
        {"n <= 2 and (w or n > 3)", "n \\le 2 \\wedge \\left(w \\vee n > 3\\right)"},
        {"not w and n != 2", "\\neg w \\wedge n \\neq 2"},
        {"not (w or n == 2)", "\\neg \\left(w \\vee n = 2\\right)"},
        {"not n == 2", "\\neg n = 2"},
        {"w == (n < 2)", "w = \\left(n < 2\\right)"},
        {"(n < 2) == w", "\\left(n < 2\\right) = w"},
        {"(n < 2) != (n > 3)", "\\left(n < 2\\right) \\neq \\left(n > 3\\right)"},
        {"m == full", "m = \\text{full}"},
        {"w == true", "w = \\mathrm{true}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_latex(*state, "bool", cases[i].formula, cases[i].latex);
}

TEST_WITH(calls_have_their_signs, make_shelf, drop_shelf)
{
    static const translated cases[] = {
        {"min(n, 2, N_p)", "\\min\\left(n,\\, 2,\\, N_{\\mathrm{p}}\\right)"},
        {"if(n < 2, 5, if(n < 3, 7, n))", "\\begin{cases} 5 & \\text{if } n < 2 \\\\ 7 & \\text{if "
                                          "} n < 3 \\\\ n & \\text{otherwise} "
                                          "\\end{cases}"},
        {"if(n < 2, if(w, 5, 6), if(n < 3 or w, if(n > 1, 7, 8), n))",
         "\\begin{cases} 5 & \\text{if } n < 2 \\wedge w \\\\ 6 & \\text{if } n < 2 \\\\ "
         "7 & \\text{if } \\left(n < 3 \\vee w\\right) \\wedge n > 1 \\\\ "
         "8 & \\text{if } n < 3 \\vee w \\\\ n & \\text{otherwise} \\end{cases}"},
        {"max(n, 2)", "\\max\\left(n,\\, 2\\right)"},
        {"floor(n/2)", "\\left\\lfloor \\frac{n}{2}\\right\\rfloor"},
        {"ceil(n)", "\\left\\lceil n\\right\\rceil"},
        {"round(n)", "\\operatorname{round}\\left(n\\right)"},
        {"sqrt(n + 1)", "\\sqrt{n + 1}"},
        {"log2(n)", "\\log_2\\left(n\\right)"},
        {"log(n)", "\\ln\\left(n\\right)"},
        {"exp(-n)", "\\exp\\left(-n\\right)"},
        {"abs(n - 2)", "\\left|n - 2\\right|"},
        {"ring(n)*2", "\\mathrm{ring}\\left(n\\right) \\cdot 2"},
        {"if(w, n, 2*n)",
         "\\begin{cases} n & \\text{if } w \\\\ 2 \\cdot n & \\text{otherwise} \\end{cases}"},
        {"sqrt(n)^2", "\\left(\\sqrt{n}\\right)^{2}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_latex(*state, "1", cases[i].formula, cases[i].latex);
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
