/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Providers: which fit an open function or cell, what they are asked, and what becomes of values
 * that they refuse.
 */
#include "../support/programs.h"
#include "program/program.h"
#include "steptime/tool/providers.h"

/* What a provider was asked for, and how it answers. */
typedef struct answer {
    size_t calls;
    size_t rows;
    double factor;      /* values are factor * first argument + second argument */
    double fails_above; /* the whole call fails when a first argument is above */
    double odd_above;   /* a first argument above gives `odd` */
    double odd;
    bool forgets; /* leaves every third row alone */
} answer;

static answer plain_answer(double factor)
{
    return (answer){.factor = factor, .fails_above = INFINITE, .odd_above = INFINITE};
}

static st_status evaluate(void *self, size_t rows, const double *const *arguments, double *values)
{
    answer *own = self;
    own->calls++;
    own->rows += rows;
    for (size_t row = 0; row < rows; row++) {
        double first = arguments[0][row];
        if (first > own->fails_above)
            return ST_ERR_VALUE;
        if (own->forgets && arguments[1][row] > 0.5)
            continue;
        values[row] = first > own->odd_above ? own->odd : own->factor * first + arguments[1][row];
    }
    return ST_OK;
}

static st_status give_seven(void *self, size_t rows, const double *const *arguments, double *values)
{
    (void)self;
    (void)arguments;
    for (size_t row = 0; row < rows; row++)
        values[row] = 7.25;
    return ST_OK;
}

static const char *const names[] = {"V", "n"};

/* In the sheet below; a provider of a function takes the function's own arguments. */
static bool is_function(const char *name)
{
    static const char *const functions[] = {"ring", "bare", "shut", "yes", "f"};
    for (size_t i = 0; i < COUNT(functions); i++)
        if (strcmp(name, functions[i]) == 0)
            return true;
    return false;
}

/* A provider of `name` with arguments in bytes and ranks and a value in seconds. */
static st_provider *provider_of(shelf *own, const char *name, answer *self)
{
    st_provider *provider = st_arena_alloc(own->arena, 1, sizeof *provider);
    st_unit *units = st_arena_alloc(own->arena, 2, sizeof *units);
    assert_non_null(provider);
    assert_non_null(units);
    units[0] = unit_of("MiB");
    units[1] = unit_of("1");
    *provider = (st_provider){.name = name,
                              .source = "bench",
                              .argument_names = is_function(name) ? NULL : names,
                              .argument_units = units,
                              .argument_count = 2,
                              .unit = unit_of("ms"),
                              .evaluate = evaluate,
                              .self = self};
    return provider;
}

static const char ring[] =
    "sheet: t\n"
    "inputs:\n"
    "  V: {from: a.v, unit: MB}\n"
    "  n: {from: a.n}\n"
    "  w: {from: a.w, unit: bool}\n"
    "functions:\n"
    "  ring: {open: true, args: {size: B, ranks: 1}, unit: us,\n"
    "         is: 'size*ranks/3[GB/s]'}\n"
    "  bare: {open: true, args: {size: B, ranks: 1}, unit: us}\n"
    "  shut: {args: {size: B, ranks: 1}, unit: us, is: 'size/3[GB/s]'}\n"
    "  yes: {open: true, args: {size: B, ranks: 1}, unit: bool, is: w_of()}\n"
    "  w_of: {unit: bool, is: true}\n"
    "cells:\n"
    "  half: {unit: MB, is: V/2}\n"
    "  T: {unit: us, open: true, is: 'ring(half, n)'}\n"
    "  closed: {unit: us, is: 'ring(V, n) + T'}\n"
    "  flag: {unit: bool, open: true, is: w}\n"
    "  guarded: {unit: us, is: 'if(w, closed, 2.5[us])'}\n";

static const st_program *compile_ring(shelf *own, const char *output, const st_provider *a,
                                      const st_provider *b)
{
    const char *outputs[] = {output, NULL};
    const st_provider *providers[] = {a, b, NULL};
    return compile_for(own, ring, outputs, providers);
}

/* The one output of a program over V, n and w. */
static double run_ring(shelf *own, const st_program *program, double V, double n, bool w)
{
    const double inputs[] = {V, n, w ? 1 : 0};
    return run_row(own, program, inputs)[0];
}

/* --- what a provider replaces ---------------------------------------------------------------- */

TEST_OF(functions_are_replaced, shelf *own, make_shelf, drop_shelf)
{
    answer self = plain_answer(2.5);
    const st_provider *provider = provider_of(own, "ring", &self);
    double formula = 1.25e6 / 3e9;
    double half_formula = 1.25e6 / 2 * 7 / 3e9;
    assert_double(run_ring(own, compile_ring(own, "closed", NULL, NULL), 1.25e6, 7, true),
                  formula * 7 + half_formula, "formulas");
    const st_program *program = compile_ring(own, "closed", provider, NULL);
    assert_double(run_ring(own, program, 1.25e6, 7, true),
                  (2.5 * 1.25e6 + 7) + (2.5 * (1.25e6 / 2) + 7), "provider");
    assert_int_equal(self.calls, 2);
    assert_int_equal(self.rows, 2);
}

TEST_OF(cells_are_replaced, shelf *own, make_shelf, drop_shelf)
{
    answer self = plain_answer(0.5);
    const st_provider *provider = provider_of(own, "T", &self);
    const st_program *program = compile_ring(own, "closed", provider, NULL);
    assert_double(run_ring(own, program, 1.25e6, 7, true), 1.25e6 * 7 / 3e9 + (0.5 * 1.25e6 + 7),
                  "closed");
    /* What only the formula reads is not computed. */
    assert_int_equal(st_program_operation_count(compile_ring(own, "T", provider, NULL)), 1);
}

TEST_WITH(bare_functions_need_a_provider, make_shelf, drop_shelf)
{
    static const char *const sheets[] = {
        "sheet: t\ninputs:\n  n: {from: a.n}\nfunctions:\n  bare: {open: true, args: {x: 1}}\n"
        "cells:\n  T: {is: 2*bare(n)}\n",
        "sheet: t\ninputs:\n  n: {from: a.n}\nfunctions:\n  bare: {open: true, args: {x: 1}}\n"
        "  f: {args: {x: 1}, is: 'bare(x) + bare(2*x)'}\ncells:\n  T: {is: f(n) + f(n + 1)}\n",
        "sheet: t\ninputs:\n  n: {from: a.n}\nfunctions:\n  bare: {open: true, args: {x: 1}}\n"
        "cells:\n  T: {is: n}\nchecks:\n  - {that: bare(n) > 1, else: x}\n",
        "sheet: t\ninputs:\n  n: {from: a.n}\nfunctions:\n  bare: {open: true, args: {x: 1}}\n"
        "cells:\n  T: {is: n}\nchecks:\n  - {that: n > 1, else: 'x {bare(n)}'}\n",
    };
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(sheets); i++) {
        const st_program *program = NULL;
        const st_sheet *sheet = accept(own, sheets[i]);
        assert_int_equal(st_program_compile(sheet, NULL, own->arena, &program, own->errors),
                         ST_ERR_PROVIDER);
        assert_string_equal(said(own),
                            "main:5:3: error: function 'bare' has no formula and no provider\n");
        st_program_options options = {.without_checks = true};
        if (i >= 2)
            assert_int_equal(st_program_compile(sheet, &options, own->arena, &program, own->errors),
                             ST_OK);
    }
    const st_program *program = compile(own, ring); /* nobody calls this one */
    assert_non_null(program);
}

TEST_OF(equal_calls_are_made_once, shelf *own, make_shelf, drop_shelf)
{
    answer self = plain_answer(2.5);
    const st_provider *providers[] = {provider_of(own, "f", &self), NULL};
    const st_program *program =
        compile_for(own,
                    "sheet: t\ninputs:\n  V: {from: a.v, unit: MB}\n  n: {from: a.n}\n"
                    "functions:\n  f: {open: true, args: {size: B, ranks: 1}, unit: s}\n"
                    "cells:\n  a: {unit: s, is: 'f(V, n) + f(V, n*1) + f(2*V, n)'}\n"
                    "  b: {unit: s, is: 'a - f(V + V, n) + f(V*2, n)'}\n",
                    NULL, providers);
    const double inputs[] = {1.25e6, 7};
    double single = 2.5 * 1.25e6 + 7;
    double twice = 2.5 * 2.5e6 + 7;
    assert_double(run_row(own, program, inputs)[0], single + single + twice, "a");
    assert_int_equal(self.calls, 3); /* V + V and 2*V are different operations */
}

TEST_OF(many_calls_compile_at_once, shelf *own, make_shelf, drop_shelf)
{
    answer self = plain_answer(2.5);
    const st_provider *providers[] = {provider_of(own, "f", &self), NULL};
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: t\nfunctions:\n"
                          "  f: {open: true, args: {size: B, ranks: 1}, unit: s}\ncells:\n");
    for (int i = 0; i < 700; i++) {
        st_buffer_printf(&text, "  a%d:\n    unit: s\n    is: 0[s]", i);
        for (int j = 0; j < 130; j++)
            st_buffer_printf(&text, "+f(1[B],%d)", i * 130 + j);
        st_buffer_text(&text, "\n");
    }
    const st_program *program = compile_for(own, text.data, NULL, providers);
    assert_int_equal(st_program_operation_count(program), 700 * 130 * 2);
    st_buffer_free(&text);
}

TEST_OF(providers_may_need_no_arguments, shelf *own, make_shelf, drop_shelf)
{
    st_provider provider = {
        .name = "T", .source = "bench", .unit = unit_of("s"), .evaluate = give_seven};
    const st_program *program = compile_ring(own, "closed", &provider, NULL);
    assert_double(run_ring(own, program, 1.25e6, 7, true), 1.25e6 * 7 / 3e9 + 7.25, "closed");
    static const size_t strides[] = {1, 0, 0};
    table t = make_table(own, st_program_sheet(program), strides, 300);
    assert_block_equals_rows(own, program, &t);
}

/* The list of providers may be gone when a program is explained. */
TEST_OF(the_list_of_providers_is_kept, shelf *own, make_shelf, drop_shelf)
{
    answer self = plain_answer(2.5);
    const st_provider *list[1] = {provider_of(own, "ring", &self)};
    const char *outputs[] = {"T"};
    st_program_options options = {
        .outputs = outputs, .output_count = 1, .providers = list, .provider_count = 1};
    const st_program *program = compile_with(own, accept(own, ring), &options);
    list[0] = NULL;
    outputs[0] = NULL;
    const double inputs[] = {1.25e6, 7, 1};
    const st_explanation *explanation = NULL;
    assert_int_equal(
        st_program_explain(program, inputs, "T", -1, own->arena, &explanation, own->errors), ST_OK);
    assert_double(explanation->value, 2.5 * (1.25e6 / 2) + 7, "T");
    assert_int_equal(st_program_verify(program, inputs, own->errors), ST_OK);
}

/* --- which providers fit --------------------------------------------------------------------- */

static const char *refused_provider(shelf *own, const st_provider *a, const st_provider *b)
{
    const st_provider *list[] = {a, b};
    st_program_options options = {.providers = list, .provider_count = b == NULL ? 1 : 2};
    const st_program *program = NULL;
    const st_sheet *sheet = accept(own, ring);
    st_status status = st_program_compile(sheet, &options, own->arena, &program, own->errors);
    assert_true(status == ST_ERR_PROVIDER || status == ST_ERR_CYCLE || status == ST_ERR_UNIT);
    assert_null(program);
    return said(own);
}

TEST_WITH(providers_that_do_not_fit_are_refused, make_shelf, drop_shelf)
{
    static const struct {
        const char *name;
        const char *said;
    } cases[] = {
        {"ringg", "error: provider 'bench' for 'ringg' matches neither a function nor a cell of "
                  "the sheet\n"},
        {"V",
         "error: provider 'bench' for 'V' matches neither a function nor a cell of the sheet\n"},
        {"shut", "error: provider 'bench' for 'shut' cannot replace a function that is not open\n"},
        {"closed", "error: provider 'bench' for 'closed' cannot replace a cell that is not open\n"},
        {"yes", "error: provider 'bench' for 'yes' gives a number, but the function does not "
                "return one\n"},
        {"flag",
         "error: provider 'bench' for 'flag' gives a number, but the cell is not a number\n"},
    };
    shelf *own = *state;
    answer self = plain_answer(2.5);
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(refused_provider(own, provider_of(own, cases[i].name, &self), NULL),
                            cases[i].said);
    assert_string_equal(
        refused_provider(own, provider_of(own, "ring", &self), provider_of(own, "ring", &self)),
        "error: provider 'bench' for 'ring' conflicts with another provider\n");
    assert_string_equal(
        refused_provider(own, provider_of(own, "T", &self), provider_of(own, "T", &self)),
        "error: provider 'bench' for 'T' conflicts with another provider\n");
    /* Each is reported. */
    assert_contains(
        refused_provider(own, provider_of(own, "a", &self), provider_of(own, "b", &self)),
        "for 'b'");
    assert_int_equal(self.calls, 0);
}

TEST_OF(arguments_and_units_must_fit, shelf *own, make_shelf, drop_shelf)
{
    answer self = plain_answer(2.5);
    st_unit swapped[] = {unit_of("1"), unit_of("B")};
    st_provider function = *provider_of(own, "ring", &self);
    st_provider cell = *provider_of(own, "T", &self);
    function.argument_count = 1;
    assert_contains(refused_provider(own, &function, NULL), "has the wrong number of arguments");
    function.argument_count = 2;
    function.argument_units = swapped;
    assert_contains(refused_provider(own, &function, NULL),
                    "reads 'size' in a pure number, but argument 'size' of the function is in B");
    function = *provider_of(own, "ring", &self);
    function.unit = unit_of("GB");
    assert_contains(refused_provider(own, &function, NULL),
                    "gives GB, but the sheet declares the function in us");
    cell.unit = unit_of("1/s");
    assert_contains(refused_provider(own, &cell, NULL),
                    "gives 1/s, but the sheet declares the cell in");
    cell = *provider_of(own, "T", &self);
    cell.argument_units = swapped;
    assert_contains(refused_provider(own, &cell, NULL),
                    "reads 'V' in a pure number, but input 'V' of the sheet is in MB");
    static const char *const unknown[] = {"V", "ring"};
    cell = *provider_of(own, "T", &self);
    cell.argument_names = unknown;
    assert_contains(refused_provider(own, &cell, NULL),
                    "reads 'ring', which sheet t does not have");
    cell.argument_count = 145;
    assert_contains(refused_provider(own, &cell, NULL), "reads more than 144 values");
}

TEST_OF(providers_that_read_what_they_give_are_refused, shelf *own, make_shelf, drop_shelf)
{
    answer self = plain_answer(2.5);
    st_unit units[] = {unit_of("us"), unit_of("1")};
    static const char *const itself[] = {"T", "n"};
    static const char *const reader[] = {"closed", "n"};
    st_provider provider = *provider_of(own, "T", &self);
    provider.argument_units = units;
    provider.argument_names = itself;
    assert_string_equal(refused_provider(own, &provider, NULL),
                        "main:15:34: error: circular dependency of cells: T -> T (provider 'bench' "
                        "for 'T' reads T)\n");
    provider.argument_names = reader;
    assert_string_equal(refused_provider(own, &provider, NULL),
                        "main:16:40: error: circular dependency of cells: T -> closed -> T\n");
}

/* --- what becomes of odd values -------------------------------------------------------------- */

TEST_WITH(impossible_values_are_no_values, make_shelf, drop_shelf)
{
    const double odd[] = {-1e-300, -2.385, NOT_A_NUMBER, INFINITE, -INFINITE};
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(odd); i++) {
        answer self = plain_answer(2.5);
        self.odd_above = 0;
        self.odd = odd[i];
        const st_program *program =
            compile_ring(own, "guarded", provider_of(own, "ring", &self), NULL);
        assert_true(isnan(run_ring(own, program, 1.25e6, 7, true)));
        /* Not chosen, nobody's error. */
        assert_double(run_ring(own, program, 1.25e6, 7, false), 2.5 / 1e6, "guarded");
    }
    answer nothing = plain_answer(0);
    const st_program *program = compile_ring(own, "T", provider_of(own, "T", &nothing), NULL);
    assert_double(run_ring(own, program, 1.25e6, 0, true), 0, "zero is a value");
}

/* Rows of V from 2.385 up: some are refused, and the others do not suffer. */
static void check_odd_rows(shelf *own, const answer *kind, size_t first_input_stride)
{
    answer self = *kind;
    const st_program *program = compile_ring(own, "closed", provider_of(own, "ring", &self), NULL);
    const size_t strides[] = {first_input_stride, 1, 0};
    for (size_t rows = 1; rows < 1200; rows = rows * 3 + 1) {
        table t = make_table(own, st_program_sheet(program), strides, rows);
        assert_block_equals_rows(own, program, &t);
    }
}

TEST_OF(a_row_never_pays_for_its_neighbours, shelf *own, make_shelf, drop_shelf)
{
    for (size_t stride = 0; stride < 2; stride++) {
        answer fails = plain_answer(2.5);
        fails.fails_above = 20;
        check_odd_rows(own, &fails, stride);
        answer refuses = plain_answer(2.5);
        refuses.odd_above = 20;
        refuses.odd = NOT_A_NUMBER;
        check_odd_rows(own, &refuses, stride);
        answer forgets = plain_answer(2.5);
        forgets.forgets = true;
        check_odd_rows(own, &forgets, stride);
    }
    answer fails = plain_answer(2.5);
    fails.fails_above = 20;
    const st_program *program = compile_ring(own, "closed", provider_of(own, "ring", &fails), NULL);
    assert_double(run_ring(own, program, 19.5, 7, true), (2.5 * 19.5 + 7) + (2.5 * 9.75 + 7),
                  "good");
    assert_true(isnan(run_ring(own, program, 20.5, 7, true)));
}

TEST_OF(blocks_ask_few_times, shelf *own, make_shelf, drop_shelf)
{
    answer self = plain_answer(2.5);
    const st_program *program = compile_ring(own, "T", provider_of(own, "ring", &self), NULL);
    static const size_t strides[] = {1, 0, 0};
    table t = make_table(own, st_program_sheet(program), strides, 1024);
    double **columns = make_columns(own, 1, 1024);
    st_workspace *workspace = st_workspace_create(program);
    assert_int_equal(st_program_run(program, workspace, t.columns, 1024, columns, NULL), ST_OK);
    assert_int_equal(self.rows, 1024);
    assert_true(self.calls <= 16);
    /* What is the same in all rows is asked once. */
    t.columns[0].stride = 0;
    self = plain_answer(2.5);
    assert_int_equal(st_program_run(program, workspace, t.columns, 1024, columns, NULL), ST_OK);
    assert_int_equal(self.rows, 1);
    assert_double(columns[0][1023], columns[0][0], "all rows");
    st_workspace_destroy(workspace);
}

TEST_OF(listings_name_providers, shelf *own, make_shelf, drop_shelf)
{
    answer self = plain_answer(2.5);
    const st_program *program = compile_ring(own, "T", provider_of(own, "ring", &self), NULL);
    st_buffer text = {0};
    st_program_print(program, &text);
    assert_contains(text.data, "%1 = ring %0, n  ; register ");
    st_buffer_free(&text);
}

TESTS(provider);
