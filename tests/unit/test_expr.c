/* SPDX-License-Identifier: Apache-2.0 */
/* The lexer and the parser of expressions: trees, spans, numbers, errors and limits. */
#include "../support/sheets.h"

#include "sheet/expr.h"

static st_formula formula_of(const char *text)
{
    return (st_formula){.text = text, .length = strlen(text), .place = {"f", 3, 7}};
}

static const st_expr *parse(shelf *own, const char *text)
{
    st_formula formula = formula_of(text);
    if (st_expr_parse(&formula, own->arena, own->errors) != ST_OK)
        fail_msg("'%s' is refused: %s", text, said(own));
    assert_non_null(formula.expr);
    return formula.expr;
}

static const char *refuse_formula(shelf *own, st_status status, const char *text)
{
    st_formula formula = formula_of(text);
    st_status found = st_expr_parse(&formula, own->arena, own->errors);
    if (found == ST_OK)
        fail_msg("'%s' is accepted", text);
    assert_null(formula.expr);
    assert_int_equal(st_errors_status(own->errors), status);
    assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_ERROR), 1);
    return said(own);
}

/* A tree with every operation in parentheses, operator first. */
static void print_tree(const st_expr *expr, st_buffer *buffer)
{
    const char *head = expr->kind == ST_EXPR_CALL ? st_expr_name(expr) : st_operator_text(expr->op);
    if (expr->kind == ST_EXPR_NUMBER || expr->kind == ST_EXPR_NAME || expr->kind == ST_EXPR_BOOL) {
        st_buffer_text(buffer, st_expr_name(expr));
        return;
    }
    st_buffer_printf(buffer, "(%s", head);
    for (uint32_t i = 0; i < expr->child_count; i++) {
        st_buffer_text(buffer, " ");
        print_tree(st_expr_child(expr, i), buffer);
    }
    st_buffer_text(buffer, ")");
}

static void assert_tree(shelf *own, const char *text, const char *expected)
{
    st_buffer buffer = {0};
    print_tree(parse(own, text), &buffer);
    assert_false(buffer.failed);
    if (strcmp(buffer.data, expected) != 0)
        fail_msg("'%s' is read as %s and not as %s", text, buffer.data, expected);
    st_buffer_free(&buffer);
}

/* --- trees ----------------------------------------------------------------------------------- */

TEST_WITH(operators_bind_as_documented, make_shelf, drop_shelf)
{
    static const char *const cases[][2] = {
        {"a + b * c", "(+ a (* b c))"},
        {"a * b + c", "(+ (* a b) c)"},
        {"a - b - c", "(- (- a b) c)"},
        {"a - (b - c)", "(- a (- b c))"},
        {"a / b / c", "(/ (/ a b) c)"},
        {"a / b * c", "(* (/ a b) c)"},
        {"a ^ b ^ c", "(^ a (^ b c))"},
        {"(a ^ b) ^ c", "(^ (^ a b) c)"},
        {"-x^2", "(- (^ x 2))"},
        {"(-x)^2", "(^ (- x) 2)"},
        {"2^-1", "(^ 2 (- 1))"},
        {"2^-x^3", "(^ 2 (- (^ x 3)))"},
        {"-a*b", "(* (- a) b)"},
        {"a*-b", "(* a (- b))"},
        {"a - -b", "(- a (- b))"},
        {"--a", "(- (- a))"},
        {"a ^ b * c", "(* (^ a b) c)"},
        {"a < b + c", "(< a (+ b c))"},
        {"a + b >= c * d", "(>= (+ a b) (* c d))"},
        {"a == b and c != d", "(and (== a b) (!= c d))"},
        {"a or b and c", "(or a (and b c))"},
        {"a and b or c", "(or (and a b) c)"},
        {"a or b or c", "(or (or a b) c)"},
        {"not a and b", "(and (not a) b)"},
        {"not a == b", "(not (== a b))"},
        {"not a < b + c", "(not (< a (+ b c)))"},
        {"not not a", "(not (not a))"},
        {"a and not b or c", "(or (and a (not b)) c)"},
        {"(a < b) == (c <= d)", "(== (< a b) (<= c d))"},
        {"not (a or b)", "(not (or a b))"},
        {"((a))", "a"},
        {"true or false", "(or true false)"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_tree(*state, cases[i][0], cases[i][1]);
}

TEST_WITH(calls_take_arguments, make_shelf, drop_shelf)
{
    static const char *const cases[][2] = {
        {"f()", "(f)"},
        {"f( )", "(f)"},
        {"f(a)", "(f a)"},
        {"f(a, b + 1, g(c))", "(f a (+ b 1) (g c))"},
        {"if(a < b, c, -d)", "(if (< a b) c (- d))"},
        {"min(a, max(b, c))^2", "(^ (min a (max b c)) 2)"},
        {"-f(a)", "(- (f a))"},
        {"trueish(true)", "(trueish true)"},
        {"f (a)", "(f a)"},
        {"f((a))", "(f a)"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_tree(*state, cases[i][0], cases[i][1]);
}

TEST_WITH(blanks_are_free, make_shelf, drop_shelf)
{
    assert_tree(*state, "  a+b ", "(+ a b)");
    assert_tree(*state, "a\n  + b\t*\r\n c", "(+ a (* b c))");
    assert_tree(*state, "a<b", "(< a b)");
    assert_tree(*state, "nota and notb", "(and nota notb)");
    assert_tree(*state, "and_1 or or_2", "(or and_1 or_2)");
    assert_tree(*state, "_x1*X_y2", "(* _x1 X_y2)");
}

TEST_OF(names_and_builtins_are_told_apart, shelf *own, make_shelf, drop_shelf)
{
    static const struct {
        const char *text;
        st_builtin builtin;
    } calls[] = {
        {"if(a, b, c)", ST_BUILTIN_IF},     {"min(a, b)", ST_BUILTIN_MIN},
        {"max(a, b)", ST_BUILTIN_MAX},      {"floor(a)", ST_BUILTIN_FLOOR},
        {"ceil(a)", ST_BUILTIN_CEIL},       {"round(a)", ST_BUILTIN_ROUND},
        {"sqrt(a)", ST_BUILTIN_SQRT},       {"log2(a)", ST_BUILTIN_LOG2},
        {"log(a)", ST_BUILTIN_LOG},         {"exp(a)", ST_BUILTIN_EXP},
        {"abs(a)", ST_BUILTIN_ABS},         {"Abs(a)", ST_BUILTIN_NONE},
        {"all_reduce(a)", ST_BUILTIN_NONE}, {"sum(a)", ST_BUILTIN_SUM},
        {"argmax(a)", ST_BUILTIN_ARGMAX},   {"argmin(a)", ST_BUILTIN_ARGMIN},
        {"lgamma(a)", ST_BUILTIN_LGAMMA},
    };
    for (size_t i = 0; i < COUNT(calls); i++)
        assert_int_equal(parse(own, calls[i].text)->builtin, calls[i].builtin);
    size_t count = 0;
    const char *const *names = st_builtin_names(&count);
    assert_int_equal(count, 15);
    for (size_t i = 0; i < count; i++) {
        st_builtin builtin = st_builtin_find(names[i]);
        assert_int_not_equal(builtin, ST_BUILTIN_NONE);
        assert_string_equal(st_builtin_text(builtin), names[i]);
        assert_true(st_expr_is_reserved(names[i]));
    }
    assert_string_equal(st_builtin_text(ST_BUILTIN_NONE), "");
}

TEST_WITH(words_of_the_language_are_reserved, make_shelf, drop_shelf)
{
    static const char *const words[] = {"and", "or", "not", "true", "false", "bool", "if"};
    static const char *const names[] = {"And", "xor", "nor", "True", "boolean", "If", "mine", ""};
    for (size_t i = 0; i < COUNT(words); i++)
        assert_true(st_expr_is_reserved(words[i]));
    for (size_t i = 0; i < COUNT(names); i++)
        assert_false(st_expr_is_reserved(names[i]));
}

TEST_WITH(strengths_order_the_operators, make_shelf, drop_shelf)
{
    /* From the weakest to the strongest; each line binds tighter than the one before. */
    static const char *const lines[] = {"a or b", "a and b", "not a", "a < b", "a + b",
                                        "a * b",  "-a",      "a ^ b", "a"};
    int before = 0;
    for (size_t i = 0; i < COUNT(lines); i++) {
        int strength = st_operator_strength(parse(*state, lines[i]));
        assert_true(strength > before);
        before = strength;
    }
    static const char *const equals[][2] = {{"a == b", "a >= b"}, {"a != b", "a <= b"},
                                            {"a > b", "a < b"},   {"a - b", "a + b"},
                                            {"a / b", "a * b"},   {"f(a)", "2.5[us]"}};
    for (size_t i = 0; i < COUNT(equals); i++)
        assert_int_equal(st_operator_strength(parse(*state, equals[i][0])),
                         st_operator_strength(parse(*state, equals[i][1])));
}

/* --- spans ----------------------------------------------------------------------------------- */

/* The texts of all nodes, parents first, with bars between. */
static void print_spans(const char *text, const st_expr *expr, st_buffer *buffer)
{
    st_buffer_printf(buffer, "%s%.*s", buffer->length > 0 ? " | " : "", (int)expr->length,
                     text + expr->offset);
    for (uint32_t i = 0; i < expr->child_count; i++)
        print_spans(text, st_expr_child(expr, i), buffer);
}

TEST_WITH(every_node_knows_its_text, make_shelf, drop_shelf)
{
    static const char *const cases[][2] = {
        {"a + b*c", "a + b*c | a | b*c | b | c"},
        {"  (a + 2.5[us]) * c ", "(a + 2.5[us]) * c | (a + 2.5[us]) | a | 2.5[us] | c"},
        {"-(x)^2", "-(x)^2 | (x)^2 | (x) | 2"},
        {"f( a , (b) )/g", "f( a , (b) )/g | f( a , (b) ) | a | (b) | g"},
        {"not (a<b)", "not (a<b) | (a<b) | a | b"},
        {"((a)) - b", "((a)) - b | ((a)) | b"},
        {"if(true, 1e-3[MiB], 0[B])", "if(true, 1e-3[MiB], 0[B]) | true | 1e-3[MiB] | 0[B]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_buffer buffer = {0};
        print_spans(cases[i][0], parse(*state, cases[i][0]), &buffer);
        assert_string_equal(buffer.data, cases[i][1]);
        st_buffer_free(&buffer);
    }
}

TEST_WITH(operators_know_where_they_stand, make_shelf, drop_shelf)
{
    const char *text = "(a + b)  <= c - (d)";
    const st_expr *expr = parse(*state, text);
    assert_int_equal(expr->operator_offset, strstr(text, "<=") - text);
    assert_int_equal(st_expr_child(expr, 0)->operator_offset, strchr(text, '+') - text);
    assert_int_equal(st_expr_child(expr, 1)->operator_offset, strchr(text, '-') - text);
    assert_int_equal(expr->height, 3);
}

/* --- numbers --------------------------------------------------------------------------------- */

TEST_WITH(literals_are_in_base_units, make_shelf, drop_shelf)
{
    static const struct {
        const char *text;
        double value;
        const char *unit;
    } cases[] = {
        {"12", 12, "1"},
        {"0.3", 0.3, "1"},
        {"1.5e-6", 1.5e-6, "1"},
        {"2E+3", 2000, "1"},
        {"007.250", 7.25, "1"},
        {"0", 0, "1"},
        {"1e308", 1e308, "1"},
        {"4.9e-324", 4.9e-324, "1"},
        {"2.385[B]", 2.385, "B"},
        {"25.5[MB]", 25.5e6, "MB"},
        {"25.5[MiB]", 25.5 * 1048576, "MiB"},
        {"2.5[us]", 2.5 / 1e6, "us"},
        {"3.75[Gbit/s]", 3.75e9 / 8, "Gbit/s"},
        {"7.5[%]", 7.5 / 100, "%"},
        {"71.5[TFLOP/s]", 71.5e12, "TFLOP/s"},
        {"1.25[$/h]", 1.25 / 3600, "$/h"},
        {"9[1/s]", 9, "1/s"},
        {"2.5[us^2]", 2.5 / 1e12, "us^2"},
        {"6.5[1]", 6.5, "1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_expr *expr = parse(*state, cases[i].text);
        assert_int_equal(expr->kind, ST_EXPR_NUMBER);
        assert_double(expr->number, cases[i].value, cases[i].text);
        assert_string_equal(st_expr_name(expr), cases[i].text);
        assert_string_equal(st_expr_type(expr)->unit.text, cases[i].unit);
        assert_int_equal(st_expr_type(expr)->kind, ST_TYPE_NUMBER);
    }
}

TEST_WITH(a_bracket_ends_a_literal, make_shelf, drop_shelf)
{
    assert_tree(*state, "2[B]*3[s]", "(* 2[B] 3[s])");
    assert_tree(*state, "2[B/s]/3[s]", "(/ 2[B/s] 3[s])");
    assert_tree(*state, "1e3-2", "(- 1e3 2)");
    assert_tree(*state, "1e+3+2", "(+ 1e+3 2)");
    assert_tree(*state, "2[B]^2", "(^ 2[B] 2)");
}

TEST_WITH(truth_values_are_bool, make_shelf, drop_shelf)
{
    const st_expr *yes = parse(*state, "true");
    const st_expr *no = parse(*state, "false");
    assert_int_equal(yes->kind, ST_EXPR_BOOL);
    assert_int_equal(st_expr_type(yes)->kind, ST_TYPE_BOOL);
    assert_double(yes->number, 1, "true");
    assert_double(no->number, 0, "false");
    assert_int_equal(parse(*state, "True")->kind, ST_EXPR_NAME);
}

/* --- errors ---------------------------------------------------------------------------------- */

typedef struct faulty {
    const char *text;
    int column; /* of the error, from 1 in the formula */
    const char *said;
} faulty;

static void assert_faults(shelf *own, const faulty *cases, size_t count, st_status status)
{
    for (size_t i = 0; i < count; i++) {
        const char *expected =
            st_arena_printf(own->arena, "f:3:%d: error: %s\n", 6 + cases[i].column, cases[i].said);
        assert_string_equal(refuse_formula(own, status, cases[i].text), expected);
    }
}

TEST_WITH(grammar_faults_point_at_themselves, make_shelf, drop_shelf)
{
    static const faulty cases[] = {
        {"", 1, "the formula is empty: expected an expression"},
        {"   ", 4, "unexpected end of the formula: expected a number, a name or '('"},
        {"a +", 4, "unexpected end of the formula: expected a number, a name or '('"},
        {"a b", 3, "unexpected token in the formula: found 'b', expected an operator"},
        {"2 3", 3, "unexpected token in the formula: found '3', expected an operator"},
        {"a * / b", 5,
         "unexpected token in the formula: found '/', expected a number, a name or '('"},
        {"a + + b", 5,
         "unexpected token in the formula: found '+', expected a number, a name or '('"},
        {"(a + b", 1, "unclosed parenthesis: expected ')'"},
        {"2 * (a + (b)", 5, "unclosed parenthesis: expected ')'"},
        {"a + b)", 6, "unmatched closing parenthesis in the formula"},
        {"f(a, )", 6,
         "unexpected token in the formula: found ')', expected a number, a name or '('"},
        {"f(, a)", 3,
         "unexpected token in the formula: found ',', expected a number, a name or '('"},
        {"f(a b)", 5,
         "unexpected token in the formula: found 'b', expected ',' or ')' in the call's arguments"},
        {"f(a", 4, "unexpected end of the formula: expected ',' or ')' in the call's arguments"},
        {"(a, b)", 3, "unexpected token in the formula: found ',', expected an operator or ')'"},
        {"()", 2, "unexpected token in the formula: found ')', expected a number, a name or '('"},
        {"a not b", 3, "unexpected token in the formula: found 'not', expected an operator"},
        {"1 < a < 3", 7, "comparisons cannot be chained: expected 'a < b and b < c'"},
        {"a == b == c", 8, "comparisons cannot be chained: expected 'a < b and b < c'"},
        {"(1 < a) < b <= c", 13, "comparisons cannot be chained: expected 'a < b and b < c'"},
    };
    assert_faults(*state, cases, COUNT(cases), ST_ERR_SYNTAX);
}

TEST_WITH(foreign_signs_are_translated, make_shelf, drop_shelf)
{
    static const faulty cases[] = {
        {"a ** b", 3, "unknown character: found '**', expected '^' for powers"},
        {"a && b", 3, "unknown character: found '&&', expected 'and'"},
        {"a || b", 3, "unknown character: found '||', expected 'or'"},
        {"a <> b", 3, "unknown character: found '<>', expected '!='"},
        {"a // b", 3, "unknown character: found '//', expected floor(a/b)"},
        {"a = b", 3, "unknown character: found '=', expected '==' to compare"},
        {"a ? b", 3, "unknown character: found '?', expected if(condition, a, b)"},
        {"!a", 1, "unknown character: found '!', expected 'not'"},
        {"a % b", 3,
         "unknown character: found '%', expected a - b*floor(a/b) for a remainder, 5[%] for "
         "percent"},
        {"a [us]", 3,
         "unknown character: found '[', expected a number immediately before a unit in brackets, "
         "or a name before an index"},
        {"f(a; b)", 4, "unknown character: found ';', expected ',' between arguments"},
        {"2 * .5", 5, "unknown character: found '.', expected a digit before the point, as in 0.5"},
        {"a \xC3\x97 b", 3, "unknown character: found '\xC3\x97', expected '*'"},
        {"a \xE2\x89\xA4 b", 3, "unknown character: found '\xE2\x89\xA4', expected '<='"},
        {"a\xC2\xB2", 2, "unknown character: found '\xC2\xB2', expected '^2' for a square"},
        {"a \xE2\x88\x92 b", 3, "unknown character: found '\xE2\x88\x92', expected '-'"},
        {"a + \xCE\xB1", 5,
         "unknown character: found '\xCE\xB1', expected a number, a name, an operator or a "
         "parenthesis"},
        {"a @ b", 3,
         "unknown character: found '@', expected a number, a name, an operator or a parenthesis"},
        {"a{0}", 2,
         "unknown character: found '{', expected a number, a name, an operator or a parenthesis"},
        {"\"a\"", 1,
         "unknown character: found '\"', expected a number, a name, an operator or a parenthesis"},
    };
    assert_faults(*state, cases, COUNT(cases), ST_ERR_SYNTAX);
}

TEST_WITH(numbers_have_one_notation, make_shelf, drop_shelf)
{
    static const faulty cases[] = {
        {"1_000", 2,
         "separator between digits: found '1_000', expected a decimal number such as 2.5 "
         "or 1e9; did you mean '1000'?"},
        {"0x10", 2,
         "number is not decimal: found '0x10', expected a decimal number such as 2.5 or "
         "1e9"},
        {"2*1e5x", 6,
         "text after a number: found '1e5x', expected a decimal number such as 2.5 or 1e9"},
        {"5[us", 2, "unclosed unit bracket: expected ']'"},
        {"5[]", 3, "unit is missing: expected a unit such as GB/s, or 1 for a pure number"},
    };
    shelf *own = *state;
    assert_faults(own, cases, COUNT(cases), ST_ERR_SYNTAX);
    assert_contains(refuse_formula(own, ST_ERR_SYNTAX, "1.2.3"), "f:3:10: error: ");
    assert_contains(refuse_formula(own, ST_ERR_SYNTAX, "3us"),
                    "f:3:7: error: units require brackets: found '3us', expected '3[us]'");
    assert_contains(refuse_formula(own, ST_ERR_SYNTAX, "1e"), "error: ");
    assert_contains(refuse_formula(own, ST_ERR_VALUE, "1 + 1e400"),
                    "f:3:11: error: number is too large: found '1e400'");
    assert_contains(refuse_formula(own, ST_ERR_VALUE, "1e-400"), "f:3:7: error: ");
    assert_string_equal(refuse_formula(own, ST_ERR_UNIT, "2*5[Gbps]"),
                        "f:3:11: error: unknown unit 'Gbps'; did you mean 'Gbit/s'?\n");
    assert_contains(refuse_formula(own, ST_ERR_UNIT, "5[GB/x]"), "f:3:12: error: ");
}

TEST_WITH(literals_must_exist_in_base_units, make_shelf, drop_shelf)
{
    static const faulty cases[] = {
        {"1e308[EB]", 1, "number is too large in base units: found '1e308[EB]'"},
        {"2 + 1e-320[ns]", 5, "number is too small in base units: found '1e-320[ns]'"},
    };
    assert_faults(*state, cases, COUNT(cases), ST_ERR_VALUE);
    assert_double(parse(*state, "0[ns]")->number, 0, "no time");
}

/* --- limits ---------------------------------------------------------------------------------- */

/* `count` times `part`, then `middle`, then `count` times `end`. */
static char *repeat(shelf *own, const char *part, const char *middle, const char *end, size_t count)
{
    st_buffer text = {0};
    for (size_t i = 0; i < count; i++)
        st_buffer_text(&text, part);
    st_buffer_text(&text, middle);
    for (size_t i = 0; i < count; i++)
        st_buffer_text(&text, end);
    assert_false(text.failed);
    char *copy = st_arena_copy(own->arena, text.data, text.length);
    assert_non_null(copy);
    st_buffer_free(&text);
    return copy;
}

TEST_OF(nesting_is_bounded, shelf *own, make_shelf, drop_shelf)
{
    static const char *const kinds[][3] = {
        {"(", "a", ")"}, {"abs(", "a", ")"}, {"-", "a", ""}, {"not ", "a", ""}, {"a^", "a", ""}};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        (void)parse(own, repeat(own, kinds[i][0], kinds[i][1], kinds[i][2], 199));
        assert_contains(
            refuse_formula(own, ST_ERR_LIMIT,
                           repeat(own, kinds[i][0], kinds[i][1], kinds[i][2], 200)),
            "error: the formula is nested too deep: expected at most 200 levels: split it");
        (void)refuse_formula(own, ST_ERR_LIMIT,
                             repeat(own, kinds[i][0], kinds[i][1], kinds[i][2], 10000));
    }
    /* The place is that of the parenthesis too many. */
    assert_contains(refuse_formula(own, ST_ERR_LIMIT, repeat(own, "(", "a", ")", 5000)),
                    "f:3:207: error: ");
}

TEST_OF(nesting_is_counted_by_branch, shelf *own, make_shelf, drop_shelf)
{
    const char *deep = repeat(own, "(", "a", ")", 150);
    const char *twice = st_arena_printf(own->arena, "%s + %s * %s", deep, deep, deep);
    assert_int_equal(parse(own, twice)->height, 3);
}

TEST_OF(chains_are_bounded, shelf *own, make_shelf, drop_shelf)
{
    assert_int_equal(parse(own, repeat(own, "a+", "a", "", 999))->height, 1000);
    assert_contains(refuse_formula(own, ST_ERR_LIMIT, repeat(own, "a+", "a", "", 1000)),
                    "the formula chains too many operators: expected at most 1000 in a row");
    (void)refuse_formula(own, ST_ERR_LIMIT, repeat(own, "a*", "a", "", 32000));
    (void)refuse_formula(own, ST_ERR_LIMIT, repeat(own, "a or ", "a", "", 13000));
}

TEST_OF(calls_and_texts_are_bounded, shelf *own, make_shelf, drop_shelf)
{
    char *most = st_arena_printf(own->arena, "f(%s)", repeat(own, "a,", "a", "", 63));
    char *more = st_arena_printf(own->arena, "f(%s)", repeat(own, "a,", "a", "", 64));
    assert_int_equal(parse(own, most)->child_count, 64);
    assert_string_equal(refuse_formula(own, ST_ERR_LIMIT, more),
                        "f:3:137: error: the call has too many arguments: expected at most 64\n");
    assert_int_equal(parse(own, repeat(own, " ", "a", "", ST_EXPR_MAX_BYTES - 1))->kind,
                     ST_EXPR_NAME);
    assert_string_equal(
        refuse_formula(own, ST_ERR_LIMIT, repeat(own, " ", "a", "", ST_EXPR_MAX_BYTES)),
        "f:3:7: error: the formula is too long: expected at most 64 KiB\n");
    const char *name = repeat(own, "n", "n", "", 60000);
    assert_string_equal(st_expr_name(parse(own, name)), name);
    const char *faults =
        refuse_formula(own, ST_ERR_SYNTAX, st_arena_printf(own->arena, "a %s", name));
    assert_true(strlen(faults) < 300);
}

/* --- places ---------------------------------------------------------------------------------- */

/* Where a name stands in the file, whatever kind of YAML text the formula is. */
TEST_WITH(places_follow_the_file, make_shelf, drop_shelf)
{
    static const struct {
        const char *cell;
        const char *place;
    } cases[] = {
        {"  T: {is: 2.5*oops}\n", "main:3:15: "},
        {"  T:\n    is: 2.5*oops\n", "main:4:13: "},
        {"  T:\n    is:    2.5*oops   # why\n", "main:4:16: "},
        {"  T: {is: '2.5*oops'}\n", "main:3:16: "},
        {"  T: {is: \"2.5*\\u006Fops\"}\n", "main:3:16: "},
        {"  T:\n    is: |\n      2.5 +\n      3*oops\n", "main:6:9: "},
        {"  T:\n    is: >-\n      2.5 +\n\n      3*oops\n", "main:7:9: "},
        {"  T:\n    is: 2.5 +\n      3.5*oops\n", "main:5:11: "},
        {"  T: {doc: \"\xC3\xA4\xE2\x82\xAC\", is: 2.5*oops}\n", "main:3:26: "},
    };
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *text = st_arena_printf(own->arena, "sheet: t\ncells:\n%s", cases[i].cell);
        char *expected =
            st_arena_printf(own->arena, "%serror: unknown name 'oops'\n", cases[i].place);
        assert_string_equal(refuse(own, ST_ERR_NAME, text), expected);
    }
}

TEST_OF(parsing_works_without_a_list_of_errors, shelf *own, make_shelf, drop_shelf)
{
    static const char *const faults[] = {"", "1_0", "a +", "5[Gbps]", "a ** b", "1e308[EB]"};
    for (size_t i = 0; i < COUNT(faults); i++) {
        st_formula formula = formula_of(faults[i]);
        assert_int_not_equal(st_expr_parse(&formula, own->arena, NULL), ST_OK);
    }
    st_formula formula = formula_of("2.5*a");
    assert_int_equal(st_expr_parse(&formula, own->arena, NULL), ST_OK);
    assert_non_null(formula.expr);
}

TESTS(expr);
