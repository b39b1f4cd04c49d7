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

/* The texts of all nodes, parents first, with bars between. */
static void print_spans(const char *text, const st_expr *expr, st_buffer *buffer)
{
    st_buffer_printf(buffer, "%s%.*s", buffer->length > 0 ? " | " : "", (int)expr->length,
                     text + expr->offset);
    for (uint32_t i = 0; i < expr->child_count; i++)
        print_spans(text, st_expr_child(expr, i), buffer);
}

static const char *answer(void *context, const char *section, char *given, size_t length)
{
    shelf *own = context;
    st_buffer text = {0};
    (void)length;
    if (strncmp(section, "said", 4) == 0) {
        st_formula formula = formula_of(given);
        assert_int_not_equal(st_expr_parse(&formula, own->arena, own->errors), ST_OK);
        const char *status = st_status_text(st_errors_status(own->errors));
        st_buffer_printf(&text, "%s: %s", status, said(own));
        text.data[text.length - 1] = '\0'; /* one error, one line */
    } else if (strncmp(section, "tree", 4) == 0) {
        print_tree(parse(own, given), &text);
    } else if (strncmp(section, "spans", 5) == 0) {
        print_spans(given, parse(own, given), &text);
    } else {
        const st_expr *expr = parse(own, given);
        assert_int_equal(expr->kind, ST_EXPR_NUMBER);
        assert_int_equal(st_expr_type(expr)->kind, ST_TYPE_NUMBER);
        assert_string_equal(st_expr_name(expr), given);
        st_buffer_printf(&text, "%.17g in %s", expr->number, st_expr_type(expr)->unit.text);
    }
    const char *found = st_arena_copy(own->arena, text.data, strlen(text.data));
    st_buffer_free(&text);
    return found;
}

TEST_OF(formulas_are_read_as_in_the_cases, shelf *own, make_shelf, drop_shelf)
{
    run_text_rows("tests/unit/cases/expr.txt", answer, own, own->arena);
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
    char *most = st_arena_printf(own->arena, "f(%s)", repeat(own, "a,", "a", "", 143));
    char *more = st_arena_printf(own->arena, "f(%s)", repeat(own, "a,", "a", "", 144));
    assert_int_equal(parse(own, most)->child_count, 144);
    assert_string_equal(refuse_formula(own, ST_ERR_LIMIT, more),
                        "f:3:297: error: the call has too many arguments: expected at most 144\n");
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
