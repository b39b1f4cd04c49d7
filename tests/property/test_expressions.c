/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random sheets: a program gives what a small evaluator of its own gives, the same bits alone and
 * in blocks, and explains the same values; the parser reads every formula as it was meant.
 */
#include "program/alike.h"
#include "../support/programs.h"
#include "program/program.h"
#include "steptime/tool/providers.h"
#include "../support/trees.h"

#include "sheet/expr.h"
#include "program/instructions.h"
#include "program/rates.h"

#ifdef STEPTIME_HAVE_GUIDED
#include "search/guided/bounds.h"
#include "search/guided/intervals.h"
#endif

enum { SHEETS = DRAWS(250), CELLS = 12, INPUTS = 7, FUNCTIONS = 4, ROWS = 90, DEPTH = 5 };

/* --- random sheets --------------------------------------------------------------------------- */

static const char *const input_names[INPUTS] = {"x", "y", "z", "u", "p", "q", "g"};
static const tree_type input_types[INPUTS] = {TREE_NUMBER, TREE_NUMBER, TREE_NUMBER, TREE_NUMBER,
                                              TREE_TRUTH,  TREE_TRUTH,  TREE_GEAR};
static const char *const units[TREE_TYPES] = {"1", "bool", "gear"};

typedef struct world {
    shelf *own;
    tree_maker maker;
    tree_scope scope; /* inputs, then cells */
    tree_function functions[FUNCTIONS];
    const tree *cells[CELLS];
    const char *text;
    const st_program *program;
} world;

static void write_formula(world *w, const tree *formula, st_buffer *text)
{
    st_buffer_text(text, "    is: ");
    tree_write(w->maker.random, formula, 1, text);
    st_buffer_text(text, "\n");
}

/* The first function has no formula; each of the others may call those before it. */
static void make_functions(world *w, st_buffer *text)
{
    static const char *const names[FUNCTIONS] = {"given", "f", "f2", "f3"};
    static const tree_scope arguments = {.names = {"a", "b", "x"}, .count = 3};
    st_buffer_text(text, "functions:\n  given: {open: true, args: {v: 1, w: 1}}\n");
    w->functions[0] = (tree_function){.name = names[0], .argument_count = 2};
    w->maker.scope = &arguments;
    for (size_t i = 1; i < FUNCTIONS; i++) {
        w->maker.function_count = i;
        w->functions[i] = (tree_function){
            .name = names[i], .argument_count = 3, .body = tree_make(&w->maker, TREE_NUMBER, 3)};
        st_buffer_printf(text, "  %s:\n    args: {a: 1, b: 1, x: 1}\n", names[i]);
        write_formula(w, w->functions[i].body, text);
    }
    w->maker.function_count = FUNCTIONS;
}

static void make_cells(world *w, st_buffer *text)
{
    st_buffer_text(text, "cells:\n");
    w->maker.scope = &w->scope;
    for (size_t i = 0; i < CELLS; i++) {
        size_t pick = random_below(w->maker.random, 6);
        tree_type type = pick < 4 ? TREE_NUMBER : pick == 4 ? TREE_TRUTH : TREE_GEAR;
        w->cells[i] = tree_make(&w->maker, type, DEPTH);
        const char *name = st_arena_printf(w->own->arena, "c%zu", i);
        st_buffer_printf(text, "  %s:\n    unit: %s\n", name, units[type]);
        write_formula(w, w->cells[i], text);
        w->scope.names[w->scope.count] = name;
        w->scope.types[w->scope.count++] = type;
    }
}

static void make_text(world *w, const char *checks)
{
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: t\nenums:\n  gear: [none, half, full]\ninputs:\n");
    for (size_t i = 0; i < INPUTS; i++) {
        st_buffer_printf(&text, "  %s: {from: a.%s, unit: %s}\n", input_names[i], input_names[i],
                         units[input_types[i]]);
        w->scope.names[i] = input_names[i];
        w->scope.types[i] = input_types[i];
    }
    w->scope.count = INPUTS;
    w->scope.varying = INPUTS;
    make_functions(w, &text);
    make_cells(w, &text);
    st_buffer_text(&text, checks);
    assert_false(text.failed);
    w->text = st_arena_copy(w->own->arena, text.data, text.length);
    assert_non_null(w->text);
    st_buffer_free(&text);
}

static st_status evaluate_given(void *self, size_t rows, const double *const *arguments,
                                double *values)
{
    (void)self;
    for (size_t i = 0; i < rows; i++)
        values[i] = tree_provided(arguments[0][i], arguments[1][i]);
    return ST_OK;
}

/* The provider outlives every program of these tests. */
static st_unit given_units[2];
static st_provider given = {.name = "given",
                            .source = "test",
                            .argument_units = given_units,
                            .argument_count = 2,
                            .evaluate = evaluate_given};

static void make_checked_world(world *w, shelf *own, property_random *random, const char *checks)
{
    *w = (world){.own = own};
    w->maker = (tree_maker){.random = random, .arena = own->arena, .functions = w->functions};
    make_text(w, checks);
    given.unit = given_units[0] = given_units[1] = st_unit_one();
    const st_provider *providers[] = {&given, NULL};
    w->program = compile_for(own, w->text, NULL, providers);
}

static void make_world(world *w, shelf *own, property_random *random)
{
    make_checked_world(w, own, random, "");
}

static double random_input(property_random *random, tree_type type)
{
    if (type != TREE_NUMBER)
        return (double)random_below(random, type == TREE_TRUTH ? 2 : 3);
    switch (random_below(random, 8)) {
    case 0:
        return 0;
    case 1:
        return random_between(random, -3, 9);
    case 2:
        return random_magnitude(random, 300);
    case 3:
        return random_between(random, -9, 9) + 0.5;
    default:
        return random_magnitude(random, 3);
    }
}

/* --- programs -------------------------------------------------------------------------------- */

/* The sign of a zero is no part of the language. */
static bool same_value(double value, double expected)
{
    return isnan(expected) ? !isfinite(value) : value == expected;
}

static void check_row(const world *w, const double *inputs, const double *outputs)
{
    double scope[INPUTS + CELLS];
    memcpy(scope, inputs, INPUTS * sizeof *inputs);
    for (size_t i = 0; i < CELLS; i++) {
        scope[INPUTS + i] = tree_value(w->cells[i], scope, w->functions);
        if (!same_value(outputs[i], scope[INPUTS + i]))
            fail_msg("c%zu is %.17g and not %.17g for x=%.17g y=%.17g z=%.17g u=%.17g p=%g q=%g "
                     "g=%g in\n%s",
                     i, outputs[i], scope[INPUTS + i], inputs[0], inputs[1], inputs[2], inputs[3],
                     inputs[4], inputs[5], inputs[6], w->text);
    }
}

static table random_table(world *w, size_t rows)
{
    size_t strides[INPUTS];
    for (size_t i = 0; i < INPUTS; i++)
        strides[i] = random_below(w->maker.random, 8) < 6 ? random_below(w->maker.random, 2) : 3;
    table t = make_table(w->own, st_program_sheet(w->program), strides, rows);
    for (size_t i = 0; i < INPUTS; i++) {
        for (size_t row = 0; row <= rows * strides[i]; row++)
            t.values[i][row] = random_input(w->maker.random, input_types[i]);
    }
    return t;
}

static void with_shelf(void **state, void (*run)(shelf *own, property_random *random))
{
    for (size_t i = 0; i < SHEETS; i++) {
        void *own = NULL;
        assert_int_equal(make_shelf(&own), 0);
        run(own, *state);
        assert_int_equal(drop_shelf(&own), 0);
    }
}

static void run_rows(shelf *own, property_random *random)
{
    world w;
    make_world(&w, own, random);
    for (size_t row = 0; row < ROWS; row++) {
        double inputs[INPUTS];
        for (size_t i = 0; i < INPUTS; i++)
            inputs[i] = random_input(random, input_types[i]);
        check_row(&w, inputs, run_row(own, w.program, inputs));
    }
}

TEST(programs_give_what_the_trees_give)
{
    with_shelf(state, run_rows);
}

static void run_blocks(shelf *own, property_random *random)
{
    world w;
    make_world(&w, own, random);
    table t = random_table(&w, 1 + random_below(random, 700));
    assert_block_equals_rows(own, w.program, &t);
}

TEST(blocks_give_the_bits_of_rows)
{
    with_shelf(state, run_blocks);
}

/* --- single rows that follow each other ------------------------------------------------------- */

static double random_nonzero(property_random *random)
{
    double value = 0;
    while (value == 0)
        value = random_input(random, TREE_NUMBER);
    return value;
}

/* As a row alone, in each of many that differ in numbers other than 0, and when a switch moves. */
static void run_alike(shelf *own, property_random *random)
{
    enum { TURNS = 4, COMPARED = 5 };
    world w;
    double inputs[INPUTS];
    make_checked_world(&w, own, random,
                       "checks:\n  - {that: 'p or given(u, y)/x < z', else: 'x is {x}'}\n");
    for (size_t i = 0; i < INPUTS; i++)
        inputs[i] = random_input(random, input_types[i]);
    st_workspace *again = st_workspace_create(w.program);
    assert_non_null(again);
    for (size_t turn = 0; turn < TURNS; turn++) {
        const size_t moved = random_below(random, INPUTS);
        inputs[moved] = random_below(random, 3) > 0 ? random_input(random, input_types[moved]) : 0;
        for (size_t row = 0; row < ST_ALIKE_ROWS + COMPARED; row++) {
            double outputs[CELLS];
            double check = 0;
            double fresh = 0;
            for (size_t i = 0; i < INPUTS; i++)
                if (input_types[i] == TREE_NUMBER && inputs[i] != 0)
                    inputs[i] = random_nonzero(random);
            assert_int_equal(st_program_run_one(w.program, again, inputs, outputs, &check), ST_OK);
            if (row < ST_ALIKE_ROWS)
                continue;
            st_workspace *alone = st_workspace_create(w.program);
            double expected[CELLS];
            assert_non_null(alone);
            assert_int_equal(st_program_run_one(w.program, alone, inputs, expected, &fresh), ST_OK);
            for (size_t i = 0; i < CELLS; i++)
                if (!same_double(outputs[i], expected[i]))
                    fail_msg("c%zu is %.17g, alone %.17g, in\n%s", i, outputs[i], expected[i],
                             w.text);
            assert_double(check, fresh, "check");
            st_workspace_destroy(alone);
        }
    }
    st_workspace_destroy(again);
}

TEST(rows_alike_give_the_bits_of_rows_alone)
{
    with_shelf(state, run_alike);
}

/* --- products -------------------------------------------------------------------------------- */

enum { LISTS = ST_PRODUCT_LISTS, LONGEST = 5, MOST_ROWS = 150, RUNS = 6 };

/* Rows of a product of lists: every input is fixed, moves between runs, or takes its values from a
 * list, which several may share. */
typedef struct product_case {
    uint8_t levels[INPUTS];
    uint8_t lists[INPUTS]; /* 1 + the list */
    size_t list_count;
    double values[LISTS][LONGEST];
    size_t counts[LISTS];
    st_product product;
    size_t rows;
    table table;
} product_case;

static void deal_inputs(product_case *self, property_random *random)
{
    tree_type types[LISTS];
    self->list_count = 1 + random_below(random, LISTS);
    for (size_t i = 0; i < self->list_count; i++)
        types[i] = input_types[random_below(random, INPUTS)];
    for (size_t i = 0; i < INPUTS; i++) {
        size_t list = random_below(random, self->list_count);
        bool listed = types[list] == input_types[i] && random_below(random, 5) > 0;
        self->lists[i] = listed ? (uint8_t)(list + 1) : 0;
        self->levels[i] = listed ? 2 : (uint8_t)random_below(random, 2);
    }
}

/* New values for all but what is fixed, and other rows of another product. */
static void deal_values(product_case *self, property_random *random)
{
    static const double *lists[LISTS];
    size_t combinations = 1;
    for (size_t i = 0; i < self->list_count; i++) {
        self->counts[i] = 1 + random_below(random, LONGEST);
        combinations *= self->counts[i];
        lists[i] = self->values[i];
    }
    for (size_t i = 0; i < INPUTS; i++) {
        for (size_t k = 0; self->lists[i] > 0 && k < LONGEST; k++)
            self->values[self->lists[i] - 1][k] = random_input(random, input_types[i]);
        if (self->levels[i] == 1)
            self->table.values[i][0] = random_input(random, input_types[i]);
    }
    size_t first = random_below(random, combinations);
    size_t left = combinations - first;
    self->rows = 1 + random_below(random, left < MOST_ROWS ? left : MOST_ROWS);
    self->product = (st_product){.lists = lists, .counts = self->counts, .first = first};
}

/* The columns that the product stands for. */
static void fill_product(product_case *self)
{
    for (size_t row = 0; row < self->rows; row++) {
        size_t digits[LISTS];
        size_t rest = (size_t)self->product.first + row;
        for (size_t i = self->list_count; i-- > 0; rest /= self->counts[i])
            digits[i] = rest % self->counts[i];
        for (size_t i = 0; i < INPUTS; i++) {
            size_t list = self->lists[i];
            if (list > 0)
                self->table.values[i][row] = self->values[list - 1][digits[list - 1]];
        }
    }
}

static const st_check_codes codes[] = {{2.5, 7.5}, {3.5, 7.5}, {4.5, 7.5}, {5.5, 7.5}};
enum { CHECKS = sizeof codes / sizeof codes[0] };

static void check_product(const world *w, const product_case *self, double *const *outputs,
                          const double *failures)
{
    st_workspace *alone = st_workspace_create(w->program);
    assert_non_null(alone);
    for (size_t row = 0; row < self->rows; row++) {
        double inputs[INPUTS];
        double expected[CELLS];
        double checks[CHECKS];
        double failure = (double)INFINITY;
        for (size_t i = 0; i < INPUTS; i++)
            inputs[i] = table_value(&self->table, i, row);
        assert_int_equal(st_program_run_one(w->program, alone, inputs, expected, checks), ST_OK);
        for (size_t i = 0; i < CELLS; i++)
            if (!same_double(outputs[i][row], expected[i]))
                fail_msg("c%zu in row %zu of %zu from %llu on: %.17g in the product, %.17g alone, "
                         "in\n%s",
                         i, row, self->rows, (unsigned long long)self->product.first,
                         outputs[i][row], expected[i], w->text);
        for (size_t i = 0; i < CHECKS; i++)
            failure = st_check_apply(failure, checks[i], &codes[i]);
        assert_double(failures != NULL ? failures[row] : failure, failure, "failure");
    }
    for (size_t i = 0; i < CELLS; i++)
        assert_double(outputs[i][self->rows], -77.25, "beyond the last row");
    st_workspace_destroy(alone);
}

/* Some of the rows, run without checks: their outputs alone. */
static void check_picked(const world *w, const product_case *self, const table *few,
                         st_workspace *workspace, unsigned level, property_random *random)
{
    uint32_t picked[MOST_ROWS];
    const size_t kept = 1 + random_below(random, 6);
    st_product some = self->product;
    product_case picks = *self;
    picks.table = *few;
    picks.rows = 0;
    for (uint32_t row = 0; row < self->rows; row++)
        if (random_below(random, 6) < kept || (picks.rows == 0 && row + 1 == self->rows))
            picked[picks.rows++] = row;
    for (size_t i = 0; i < INPUTS; i++)
        for (size_t row = 0; row < picks.rows; row++)
            few->values[i][row * few->columns[i].stride] =
                table_value(&self->table, i, picked[row]);
    double **outputs = make_columns(w->own, CELLS, MOST_ROWS);
    some.picked = picked;
    const st_paced run = {.inputs = few->columns,
                          .level = level,
                          .rows = picks.rows,
                          .outputs = outputs,
                          .product = &some};
    st_paced_run(workspace, &run);
    check_product(w, &picks, outputs, NULL);
}

/* The checks of the same rows, without outputs. */
static void check_judged(const product_case *self, st_workspace *workspace, st_paced run,
                         const double *failures)
{
    double judged[MOST_ROWS];
    run.outputs = NULL;
    run.failures = judged;
    st_paced_run(workspace, &run);
    for (size_t row = 0; row < self->rows; row++)
        assert_double(judged[row], failures[row], "failure alone");
}

static st_workspace *product_workspace(const world *w, const product_case *self)
{
    st_workspace *workspace = st_workspace_create(w->program);
    assert_non_null(workspace);
    st_paced_begin(workspace, self->levels);
    assert_true(st_paced_product(workspace, self->lists, self->list_count, MOST_ROWS));
    return workspace;
}

static void run_products(shelf *own, property_random *random)
{
    world w;
    product_case self = {0};
    size_t strides[INPUTS];
    double failures[MOST_ROWS];
    make_checked_world(&w, own, random,
                       "checks:\n  - {that: 'p or given(u, y)/x < z', else: 'x is {x}'}\n"
                       "  - {that: 'x < y', else: '{x}'}\n  - {that: 'p or q', else: '{p}'}\n"
                       "  - {that: 'z > 0 and u < 9', else: '{z}'}\n");
    deal_inputs(&self, random);
    for (size_t i = 0; i < INPUTS; i++)
        strides[i] = self.lists[i] > 0;
    self.table = make_table(own, st_program_sheet(w.program), strides, MOST_ROWS);
    for (size_t i = 0; i < INPUTS; i++)
        self.table.values[i][0] = random_input(random, input_types[i]);
    const table few = make_table(own, st_program_sheet(w.program), strides, MOST_ROWS);
    for (size_t i = 0; i < INPUTS; i++)
        few.values[i][0] = self.table.values[i][0];
    st_workspace *workspace = product_workspace(&w, &self);
    st_workspace *judge = product_workspace(&w, &self);
    st_workspace *picks = product_workspace(&w, &self);
    for (unsigned level = 0; level < RUNS; level++) {
        deal_values(&self, random);
        fill_product(&self);
        double **outputs = make_columns(own, CELLS, MOST_ROWS);
        const st_paced run = {.inputs = self.table.columns,
                              .level = level > 0 ? 1 : 0,
                              .rows = self.rows,
                              .outputs = outputs,
                              .codes = codes,
                              .failures = failures,
                              .product = &self.product};
        st_paced_run(workspace, &run);
        check_product(&w, &self, outputs, failures);
        check_judged(&self, judge, run, failures);
        check_picked(&w, &self, &few, picks, run.level, random);
    }
    st_workspace_destroy(picks);
    st_workspace_destroy(judge);
    st_workspace_destroy(workspace);
}

TEST(products_give_the_bits_of_rows)
{
    with_shelf(state, run_products);
}

/* --- explanations ---------------------------------------------------------------------------- */

static void explain_rows(shelf *own, property_random *random)
{
    world w;
    make_world(&w, own, random);
    double inputs[INPUTS];
    for (size_t i = 0; i < INPUTS; i++)
        inputs[i] = random_input(random, input_types[i]);
    const double *outputs = run_row(own, w.program, inputs);
    bool finite = true;
    for (size_t i = 0; i < CELLS; i++) {
        const st_explanation *explanation = NULL;
        st_status status =
            st_program_explain(w.program, inputs, st_program_output_name(w.program, i), 4,
                               own->arena, &explanation, own->errors);
        assert_int_equal(status, ST_OK);
        assert_double(explanation->value, outputs[i], explanation->name);
        finite = finite && isfinite(outputs[i]);
    }
    st_errors_clear(own->errors);
    st_status status = st_program_verify(w.program, inputs, own->errors);
    bool told = st_errors_count(own->errors, ST_SEVERITY_ERROR) > 0;
    if (finite != (status == ST_OK) || finite == told)
        fail_msg("finite %d, status %d: %s%s", finite, status, said(own), w.text);
    for (size_t i = 0; i < st_errors_size(own->errors); i++) {
        const st_error *error = st_errors_at(own->errors, i);
        assert_contains(error->message, "has no value");
        assert_true(error->place.line > 0 && error->place.column > 0);
    }
}

TEST(explanations_and_faults_agree_with_the_program)
{
    with_shelf(state, explain_rows);
}

/* --- ranges ---------------------------------------------------------------------------------- */

#ifdef STEPTIME_HAVE_GUIDED

/* Any answer that a provider may give: nothing, zero, or a time of any size. */
static double any_answer(property_random *random)
{
    size_t pick = random_below(random, 5);
    return pick == 0 ? (double)NAN : pick == 1 ? 0 : fabs(random_magnitude(random, 9));
}

/* Where a provider answers; comparisons with what has no value hide that there is none. */
static double any_time(property_random *random)
{
    return random_below(random, 4) == 0 ? 0 : fabs(random_magnitude(random, 9));
}

static st_status evaluate_anything(void *self, size_t rows, const double *const *arguments,
                                   double *values)
{
    (void)arguments;
    for (size_t i = 0; i < rows; i++)
        values[i] = any_answer(self);
    return ST_OK;
}

/* What an operation gives where nothing is rounded, too. */
static st_range unrounded(const st_instruction *one, const st_range *slots)
{
    size_t operands = one->op == ST_OP_SELECT ? 3 : 2;
    st_range a = slots[one->a];
    if (one->op == ST_OP_OTHERWISE)
        return st_range_is_none(a) ? slots[one->b] : a;
    st_range made = st_range_apply(one->op, a, slots[one->b], operands > 2 ? slots[one->c] : a);
    bool rounds = one->op == ST_OP_ADD || one->op == ST_OP_SUBTRACT || one->op == ST_OP_MULTIPLY ||
                  one->op == ST_OP_DIVIDE || one->op == ST_OP_SQRT;
    return rounds ? (st_range){nextafter(made.low, -HUGE_VAL), nextafter(made.high, HUGE_VAL)}
                  : made;
}

/* Ranges that hold what formulas are worth exactly; without `random` providers answer 0. */
static void run_unrounded(const st_program *program, const double *inputs, property_random *random,
                          st_range *slots)
{
    uint32_t first = st_program_first_constant(program);
    for (size_t i = 0; i < first; i++)
        slots[i] = st_range_point(inputs[i]);
    for (size_t i = 0; i < program->constant_count; i++)
        slots[first + i] = st_range_point(program->constants[i]);
    for (size_t i = 0; i < program->instruction_count; i++) {
        const st_instruction *one = &program->instructions[i];
        slots[one->target] = one->op != ST_OP_CALL ? unrounded(one, slots)
                             : random != NULL      ? st_range_point(any_time(random))
                                                   : st_range_point(0);
    }
}

/*
 * A cell of which it is shown that it does not fall is nowhere below what it is where providers
 * answer 0. Large answers cancel most digits of the rest, so that rounding is left out of it.
 */
static void check_least(const world *w, st_bounds *bounds, const double *inputs,
                        property_random *random)
{
    size_t count = w->program->slot_count + 1;
    st_range *at_least = st_arena_alloc(w->own->arena, count, sizeof *at_least);
    st_range *at_any = st_arena_alloc(w->own->arena, count, sizeof *at_any);
    if (at_least == NULL || at_any == NULL) {
        fail_msg("out of memory");
        return;
    }
    run_unrounded(w->program, inputs, NULL, at_least);
    run_unrounded(w->program, inputs, random, at_any);
    for (size_t i = 0; i < CELLS; i++) {
        uint32_t slot = w->program->outputs[i].slot;
        double least = fmin(st_bounds_least(bounds, i), at_least[slot].low);
        if (at_any[slot].high < least)
            fail_msg("c%zu is %.17g, and was not to be below %.17g, in\n%s", i, at_any[slot].high,
                     least, w->text);
    }
}

static void check_range(const world *w, size_t cell, double value, st_range range, bool open)
{
    bool inside = value >= range.low && value <= range.high;
    if (isfinite(value) && !inside)
        fail_msg("c%zu is %.17g, beyond %.17g to %.17g, in\n%s", cell, value, range.low, range.high,
                 w->text);
    bool same =
        isfinite(value) ? range.low == value && range.high == value : range.low != range.low;
    if (!open && !same)
        fail_msg("c%zu hangs on no provider: %.17g is not %.17g in\n%s", cell, range.low, value,
                 w->text);
}

static void bound_rows(shelf *own, property_random *random)
{
    world w;
    const st_provider *unknown = &given;
    st_range ranges[CELLS];
    make_world(&w, own, random);
    st_bounds *bounds = st_bounds_create(w.program, &unknown, 1, own->arena);
    assert_non_null(bounds);
    given.evaluate = evaluate_anything;
    given.self = random;
    for (size_t row = 0; row < ROWS; row++) {
        double inputs[INPUTS];
        for (size_t i = 0; i < INPUTS; i++)
            inputs[i] = random_input(random, input_types[i]);
        st_bounds_run(bounds, inputs, ranges, NULL);
        const double *outputs = run_row(own, w.program, inputs);
        for (size_t i = 0; i < CELLS; i++)
            check_range(&w, i, outputs[i], ranges[i], st_bounds_output_is_open(bounds, i));
        check_least(&w, bounds, inputs, random);
    }
    given.evaluate = evaluate_given;
    given.self = NULL;
}

TEST(no_provider_leads_out_of_a_range)
{
    with_shelf(state, bound_rows);
}

#endif

/* --- the parser ------------------------------------------------------------------------------ */

static void print_tree(const tree *node, st_buffer *buffer)
{
    if (node->op == TREE_LITERAL || node->op == TREE_NAME) {
        st_buffer_text(buffer, node->text);
        return;
    }
    st_buffer_printf(buffer, "(%s", node->op == TREE_CALL ? node->text : tree_words[node->op]);
    for (size_t i = 0; i < node->count; i++) {
        st_buffer_text(buffer, " ");
        print_tree(node->operands[i], buffer);
    }
    st_buffer_text(buffer, ")");
}

static void print_expr(const st_expr *expr, st_buffer *buffer)
{
    if (expr->child_count == 0 && expr->kind != ST_EXPR_CALL) {
        st_buffer_text(buffer, st_expr_name(expr));
        return;
    }
    st_buffer_printf(buffer, "(%s",
                     expr->kind == ST_EXPR_CALL ? st_expr_name(expr) : st_operator_text(expr->op));
    for (uint32_t i = 0; i < expr->child_count; i++) {
        st_buffer_text(buffer, " ");
        print_expr(st_expr_child(expr, i), buffer);
    }
    st_buffer_text(buffer, ")");
}

static st_formula parse(shelf *own, const char *text, size_t length)
{
    st_formula formula = {.text = text, .length = length, .place = {"f", 1, 1}};
    if (st_expr_parse(&formula, own->arena, own->errors) != ST_OK)
        fail_msg("'%.*s' is refused: %s", (int)length, text, said(own));
    return formula;
}

static char *printed(shelf *own, const st_expr *expr)
{
    st_buffer buffer = {0};
    print_expr(expr, &buffer);
    char *text = st_arena_copy(own->arena, buffer.data, buffer.length);
    st_buffer_free(&buffer);
    return text;
}

/* The text of every piece, read alone, is that piece. */
static void check_spans(shelf *own, const char *text, const st_expr *expr)
{
    st_formula piece = parse(own, text + expr->offset, expr->length);
    assert_string_equal(printed(own, piece.expr), printed(own, expr));
    for (uint32_t i = 0; i < expr->child_count; i++) {
        const st_expr *child = st_expr_child(expr, i);
        assert_true(child->offset >= expr->offset &&
                    child->offset + child->length <= expr->offset + expr->length);
        check_spans(own, text, child);
    }
}

static void read_back(shelf *own, property_random *random)
{
    static const tree_scope scope = {.names = {"x", "T_comp", "p", "g"},
                                     .types = {TREE_NUMBER, TREE_NUMBER, TREE_TRUTH, TREE_GEAR},
                                     .count = 4,
                                     .varying = 4};
    static const tree_function functions[] = {{"ring", 2, NULL}, {"f", 1, NULL}};
    tree_maker maker = {random, own->arena, &scope, functions, 2};
    const tree *meant = tree_make(&maker, (tree_type)random_below(random, TREE_TYPES), 6);
    st_buffer text = {0};
    st_buffer expected = {0};
    tree_write(random, meant, 1, &text);
    print_tree(meant, &expected);
    st_formula formula = parse(own, text.data, text.length);
    const char *found = printed(own, formula.expr);
    if (strcmp(found, expected.data) != 0)
        fail_msg("'%s' is read as %s and not as %s", text.data, found, expected.data);
    check_spans(own, text.data, formula.expr);
    st_buffer_free(&text);
    st_buffer_free(&expected);
}

TEST(formulas_are_read_as_they_were_meant)
{
    for (int i = 0; i < 8; i++)
        with_shelf(state, read_back);
}

/* A formula with a piece taken out, doubled or exchanged is read or refused, never more. */
static void mangle(shelf *own, property_random *random)
{
    static const tree_scope scope = {.names = {"x"}, .types = {TREE_NUMBER}, .count = 1};
    static const char signs[] = "()+-*/^<>=!,.[]{}%&|?0x_ eE#\"'\\\x7F\x01\xC3\xA9";
    tree_maker maker = {.random = random, .arena = own->arena, .scope = &scope};
    const tree *meant = tree_make(&maker, TREE_NUMBER, 5);
    st_buffer text = {0};
    tree_write(random, meant, 1, &text);
    for (size_t i = 1 + random_below(random, 3); i-- > 0;)
        text.data[random_below(random, text.length)] =
            signs[random_below(random, sizeof signs - 1)];
    st_formula formula = {.text = text.data, .length = text.length, .place = {"f", 1, 1}};
    st_status status = st_expr_parse(&formula, own->arena, own->errors);
    assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_ERROR), status == ST_OK ? 0 : 1);
    if (status == ST_OK)
        check_spans(own, text.data, formula.expr);
    else
        assert_in_range(st_errors_at(own->errors, 0)->place.column, 1, text.length + 1);
    st_buffer_free(&text);
}

TEST(mangled_formulas_are_read_or_refused)
{
    for (int i = 0; i < 8; i++)
        with_shelf(state, mangle);
}

TESTS_WITH(expressions, property_setup, NULL);
