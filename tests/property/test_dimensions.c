/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random unit algebra: a formula that was built to have a dimension is accepted where a unit of
 * that dimension is declared and refused everywhere else, and one wrong operand is found where it
 * stands.
 */
#include "../support/programs.h"
#include "program/program.h"
#include "property.h"

enum { BASES = 5, FORMULAS = 400, MOST_DEPTH = 5 };

/* Whole exponents of byte, flop, second, joule, dollar. */
typedef struct powers {
    int of[BASES];
} powers;

typedef struct writer {
    property_random *random;
    st_buffer text;
    int wrong_at; /* sums until the one that gets a wrong operand; negative: none */
    int wrong_column;
    int sums;
} writer;

static powers plus(powers a, powers b, int sign)
{
    for (int i = 0; i < BASES; i++)
        a.of[i] += sign * b.of[i];
    return a;
}

static bool same(powers a, powers b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static powers random_powers(property_random *random, int reach)
{
    powers p;
    for (int i = 0; i < BASES; i++)
        p.of[i] = random_below(random, 2) == 0 ? 0 : random_between(random, -reach, reach);
    return p;
}

/* A unit of the dimension, with any prefixes and in any order: "GB/us^2", "1/(day*kWh)". */
static void write_unit(property_random *random, powers p, st_buffer *text)
{
    static const char *const names[BASES][5] = {{"B", "GB", "MiB", "bit", "Gibit"},
                                                {"FLOP", "TFLOP", "GFLOP", "FLOP", "MFLOP"},
                                                {"s", "us", "day", "min", "h"},
                                                {"J", "kWh", "kJ", "Wh", "J"},
                                                {"$", "$", "k$", "$", "USD"}};
    const char *joint = "";
    size_t start = random_below(random, BASES);
    for (size_t i = 0; i < BASES; i++) {
        size_t base = (start + i) % BASES;
        int exponent = p.of[base];
        if (exponent == 0)
            continue;
        bool divides = exponent < 0 && random_below(random, 2) == 0;
        if (divides)
            joint = joint[0] == '\0' ? "1/" : "/";
        st_buffer_printf(text, "%s%s", joint, names[base][random_below(random, 5)]);
        exponent = divides ? -exponent : exponent;
        if (exponent != 1)
            st_buffer_printf(text, "^%d", exponent);
        joint = "*";
    }
    st_buffer_text(text, joint[0] == '\0' ? "1" : "");
}

static void write_literal(writer *w, powers p)
{
    st_buffer_printf(&w->text, "%d.%d", random_between(w->random, 1, 40),
                     random_between(w->random, 1, 9));
    if (!same(p, (powers){{0}}) || random_below(w->random, 4) == 0) {
        st_buffer_text(&w->text, "[");
        write_unit(w->random, p, &w->text);
        st_buffer_text(&w->text, "]");
    }
}

static void write_formula(writer *w, powers p, int depth);

/* Two operands of the same dimension, unless this is the sum that shall be wrong. */
static void write_same(writer *w, powers p, int depth, const char *before, const char *between)
{
    powers second = p;
    st_buffer_text(&w->text, before);
    write_formula(w, p, depth - 1);
    if (w->sums++ == w->wrong_at) {
        second.of[random_below(w->random, BASES)] += random_below(w->random, 2) == 0 ? 1 : -1;
        w->wrong_column = (int)w->text.length;
    }
    st_buffer_text(&w->text, between);
    write_formula(w, second, depth - 1);
    st_buffer_text(&w->text, ")");
}

static void write_product(writer *w, powers p, int depth)
{
    powers factor = random_powers(w->random, 2);
    bool divides = random_below(w->random, 2) == 0;
    st_buffer_text(&w->text, "(");
    write_formula(w, divides ? plus(p, factor, 1) : plus(p, factor, -1), depth - 1);
    st_buffer_text(&w->text, divides ? "/" : "*");
    write_formula(w, factor, depth - 1);
    st_buffer_text(&w->text, ")");
}

/* A power whose result has the dimension: of a root where it divides, else of twice as much. */
static void write_power(writer *w, powers p, int depth)
{
    static const struct {
        const char *text;
        int divisor; /* the base has p / divisor, or p * multiple */
        int multiple;
    } kinds[] = {{"^2", 2, 0},     {"^-1", -1, 0},     {"^3", 3, 0},    {"^0.5", 0, 2},
                 {"^(1/3)", 0, 3}, {"^-(1/2)", 0, -2}, {"^50[%]", 0, 2}};
    size_t kind = random_below(w->random, sizeof kinds / sizeof kinds[0]);
    bool divides = kinds[kind].divisor != 0;
    for (int i = 0; i < BASES; i++) {
        divides = divides && p.of[i] % kinds[kind].divisor == 0;
    }
    if (!divides && kinds[kind].divisor != 0)
        kind = 3;
    for (int i = 0; i < BASES; i++)
        p.of[i] = kinds[kind].divisor != 0 ? p.of[i] / kinds[kind].divisor
                                           : p.of[i] * kinds[kind].multiple;
    st_buffer_text(&w->text, "(");
    write_formula(w, p, depth - 1);
    st_buffer_printf(&w->text, ")%s", kinds[kind].text);
}

/* Roots would take it out of what units can say. */
static bool is_large(powers p)
{
    for (int i = 0; i < BASES; i++) {
        if (p.of[i] > 4 || p.of[i] < -4)
            return true;
    }
    return false;
}

static void write_formula(writer *w, powers p, int depth)
{
    if (depth <= 0) {
        write_literal(w, p);
        return;
    }
    size_t kind = random_below(w->random, 10);
    switch (is_large(p) && (kind == 5 || kind == 6) ? 4 : kind) {
    case 0:
        write_same(w, p, depth, "(", " + ");
        return;
    case 1:
        write_same(w, p, depth, "(", " - ");
        return;
    case 2:
        write_same(w, p, depth, "max(", ", ");
        return;
    case 3:
        write_same(w, p, depth, "if(true, ", ", ");
        return;
    case 4:
        st_buffer_text(&w->text, random_below(w->random, 2) == 0 ? "abs(" : "(-");
        write_formula(w, p, depth - 1);
        st_buffer_text(&w->text, ")");
        return;
    case 5:
        write_power(w, p, depth);
        return;
    case 6:
        st_buffer_text(&w->text, "sqrt(");
        write_formula(w, plus(p, p, 1), depth - 1);
        st_buffer_text(&w->text, ")");
        return;
    default:
        write_product(w, p, depth);
        return;
    }
}

/* Status of a sheet with one cell; the errors are in own->errors. */
static st_status load_cell(shelf *own, property_random *random, powers declared,
                           const char *formula)
{
    const st_sheet *sheet = NULL;
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: t\ncells:\n  T:\n    unit: '");
    write_unit(random, declared, &text);
    st_buffer_printf(&text, "'\n    is: %s\n", formula);
    assert_false(text.failed);
    put(own, "main", st_arena_copy(own->arena, text.data, text.length));
    st_buffer_free(&text);
    return load_main(own, &sheet);
}

static void check_dimension(shelf *own, property_random *random)
{
    powers p = random_powers(random, 3);
    writer w = {.random = random, .wrong_at = -1};
    write_formula(&w, p, random_between(random, 0, MOST_DEPTH));
    assert_false(w.text.failed);
    if (load_cell(own, random, p, w.text.data) != ST_OK)
        fail_msg("refused: %s%s", said(own), own->files[0].text);
    powers other = p;
    other.of[random_below(random, BASES)] += random_below(random, 2) == 0 ? 1 : -2;
    if (load_cell(own, random, other, w.text.data) != ST_ERR_UNIT)
        fail_msg("accepted: %s", own->files[0].text);
    assert_contains(said(own), "main:5:9: error: cell 'T' has the wrong unit: found ");
    st_buffer_free(&w.text);
}

/* The error stands behind the operand that was still right, and there is only one. */
static void check_wrong_operand(shelf *own, property_random *random)
{
    powers p = random_powers(random, 2);
    writer w = {.random = random, .wrong_at = (int)random_below(random, 3)};
    write_formula(&w, p, MOST_DEPTH);
    if (w.wrong_column > 0) {
        if (load_cell(own, random, p, w.text.data) != ST_ERR_UNIT)
            fail_msg("accepted: %s", own->files[0].text);
        assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_ERROR), 1);
        const st_error *error = st_errors_at(own->errors, 0);
        assert_contains(error->message, "cannot ");
        assert_int_equal(error->place.line, 5);
        assert_in_range(error->place.column, 9 + w.wrong_column, 12 + w.wrong_column);
    }
    st_buffer_free(&w.text);
}

static void for_each(void **state, void (*check)(shelf *own, property_random *random))
{
    for (int i = 0; i < FORMULAS; i++) {
        void *own = NULL;
        assert_int_equal(make_shelf(&own), 0);
        check(own, *state);
        assert_int_equal(drop_shelf(&own), 0);
    }
}

TEST(formulas_have_the_dimension_that_they_were_built_for)
{
    for_each(state, check_dimension);
}

TEST(one_wrong_operand_is_found_where_it_stands)
{
    for_each(state, check_wrong_operand);
}

/* A sum over quantities in any units is the sum of their base values. */
static void check_value(shelf *own, property_random *random)
{
    powers p = random_powers(random, 2);
    st_buffer text = {0};
    double sum = 0;
    st_buffer_text(&text, "sheet: t\ncells:\n  T:\n    unit: '");
    write_unit(random, p, &text);
    st_buffer_text(&text, "'\n    is: ");
    for (int i = 0; i < 4; i++) {
        st_buffer unit = {0};
        write_unit(random, p, &unit);
        double number = random_between(random, 1, 9999) / 8.0;
        st_unit parsed = unit_of(unit.data);
        st_buffer_printf(&text, "%s%.9g[%s]", i == 0 ? "" : " + ", number, unit.data);
        sum += st_unit_to_base(&parsed, number);
        st_buffer_free(&unit);
    }
    st_buffer_text(&text, "\n");
    const st_program *program = compile(own, text.data);
    assert_double(run_row(own, program, NULL)[0], sum, text.data);
    st_buffer_free(&text);
}

TEST(quantities_add_up_whatever_their_units)
{
    for_each(state, check_value);
}

TESTS_WITH(dimensions, property_setup, NULL);
