/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lexer of expressions. It knows the notations that people bring along from other languages
 * (&&, ?:, **, =, and the signs of printed mathematics) and says what is written instead.
 */
#include "sheet/lexer.h"

#include "base/chars.h"

#include <math.h>
#include <string.h>

typedef struct st_symbol {
    const char *text;
    st_token_kind kind;
    st_operator op;
    const char *instead; /* not NULL: refused, with this remedy */
} st_symbol;

/* Longer symbols before their prefixes, else the most frequent first. */
static const st_symbol symbols[] = {
    {"(", ST_TOKEN_OPEN, ST_OPERATOR_OR, NULL},
    {")", ST_TOKEN_CLOSE, ST_OPERATOR_OR, NULL},
    {",", ST_TOKEN_COMMA, ST_OPERATOR_OR, NULL},
    {"**", ST_TOKEN_FAULT, ST_OPERATOR_POWER, "'^' for powers"},
    {"*", ST_TOKEN_OPERATOR, ST_OPERATOR_TIMES, NULL},
    {"//", ST_TOKEN_FAULT, ST_OPERATOR_DIVIDE, "floor(a/b)"},
    {"/", ST_TOKEN_OPERATOR, ST_OPERATOR_DIVIDE, NULL},
    {"+", ST_TOKEN_OPERATOR, ST_OPERATOR_PLUS, NULL},
    {"-", ST_TOKEN_OPERATOR, ST_OPERATOR_MINUS, NULL},
    {"^", ST_TOKEN_OPERATOR, ST_OPERATOR_POWER, NULL},
    {"&&", ST_TOKEN_FAULT, ST_OPERATOR_AND, "'and'"},
    {"||", ST_TOKEN_FAULT, ST_OPERATOR_OR, "'or'"},
    {"==", ST_TOKEN_OPERATOR, ST_OPERATOR_EQUAL, NULL},
    {"!=", ST_TOKEN_OPERATOR, ST_OPERATOR_UNEQUAL, NULL},
    {"<=", ST_TOKEN_OPERATOR, ST_OPERATOR_LESS_EQUAL, NULL},
    {">=", ST_TOKEN_OPERATOR, ST_OPERATOR_GREATER_EQUAL, NULL},
    {"<>", ST_TOKEN_FAULT, ST_OPERATOR_UNEQUAL, "'!='"},
    {"<", ST_TOKEN_OPERATOR, ST_OPERATOR_LESS, NULL},
    {">", ST_TOKEN_OPERATOR, ST_OPERATOR_GREATER, NULL},
    {"=", ST_TOKEN_FAULT, ST_OPERATOR_EQUAL, "'==' to compare"},
    {"?", ST_TOKEN_FAULT, ST_OPERATOR_OR, "if(condition, a, b)"},
    {"!", ST_TOKEN_FAULT, ST_OPERATOR_NOT, "'not'"},
    {"%", ST_TOKEN_FAULT, ST_OPERATOR_DIVIDE, "a - b*floor(a/b) for a remainder, 5[%] for percent"},
    {"[", ST_TOKEN_FAULT, ST_OPERATOR_OR,
     "a number immediately before a unit in brackets, or a name before an index"},
    {";", ST_TOKEN_FAULT, ST_OPERATOR_OR, "',' between arguments"},
    {"\u00D7", ST_TOKEN_FAULT, ST_OPERATOR_TIMES, "'*'"},
    {"\u00B7", ST_TOKEN_FAULT, ST_OPERATOR_TIMES, "'*'"},
    {"\u00F7", ST_TOKEN_FAULT, ST_OPERATOR_DIVIDE, "'/'"},
    {"\u2212", ST_TOKEN_FAULT, ST_OPERATOR_MINUS, "'-'"},
    {"\u2264", ST_TOKEN_FAULT, ST_OPERATOR_LESS_EQUAL, "'<='"},
    {"\u2265", ST_TOKEN_FAULT, ST_OPERATOR_GREATER_EQUAL, "'>='"},
    {"\u2260", ST_TOKEN_FAULT, ST_OPERATOR_UNEQUAL, "'!='"},
    {"\u00B2", ST_TOKEN_FAULT, ST_OPERATOR_POWER, "'^2' for a square"},
};

static char at(const st_formula *formula, size_t offset)
{
    return offset < formula->length ? formula->text[offset] : '\0';
}

static st_token fail_at_token(size_t offset)
{
    return (st_token){.kind = ST_TOKEN_FAULT, .offset = offset};
}

/* "10us", as a job writes it: in a formula the unit is in brackets. */
static bool refuse_bare_unit(const st_formula *formula, size_t offset, size_t end,
                             st_errors *errors)
{
    const char *text = formula->text + offset;
    st_unit unit;
    double value = 0;
    size_t digits = 0;
    while (offset + digits < end && strchr("0123456789.", text[digits]) != NULL)
        digits++;
    size_t rest = end - offset - digits;
    if (digits == 0 || rest == 0 ||
        st_number_parse(text, digits, (st_place){0}, &value, NULL) != ST_OK ||
        st_unit_parse(text + digits, rest, (st_place){0}, &unit, NULL) != ST_OK)
        return false;
    st_fail(errors, ST_ERR_SYNTAX, st_formula_place_at(formula, offset),
            "units require brackets" ST_FOUND "'%.*s'" ST_EXPECTED "'%.*s[%.*s]'",
            (int)(end - offset), text, (int)digits, text, (int)rest, text + digits);
    return true;
}

static st_token read_number(const st_formula *formula, size_t offset, st_errors *errors)
{
    st_token token = {.kind = ST_TOKEN_NUMBER, .offset = offset, .unit = st_unit_one()};
    /* Everything that could be meant as part of a number, so that 1_000 or 0x10 is one error. */
    size_t end = offset;
    while (st_is_digit(at(formula, end)) || st_is_letter(at(formula, end)) ||
           at(formula, end) == '.') {
        char c = at(formula, end++);
        char sign = at(formula, end);
        bool decimal = at(formula, offset + 1) != 'x' && at(formula, offset + 1) != 'X';
        if ((c == 'e' || c == 'E') && decimal && (sign == '+' || sign == '-') &&
            st_is_digit(at(formula, end + 1)))
            end++;
    }
    const char *text = formula->text + offset;
    double value = 0;
    /* Finding a place takes a walk through the text: not for every number that is right. */
    if (st_number_parse(text, end - offset, (st_place){0}, &value, NULL) != ST_OK &&
        (refuse_bare_unit(formula, offset, end, errors) ||
         st_number_parse(text, end - offset, st_formula_place_at(formula, offset), &value,
                         errors) != ST_OK))
        return fail_at_token(offset);
    if (at(formula, end) == '[') {
        /* A unit in brackets behind the number that ends at `open`; returns where the bracket
         * closes. */
        size_t start = end + 1;
        const char *close = memchr(formula->text + start, ']', formula->length - start);
        if (close == NULL) {
            st_fail(errors, ST_ERR_SYNTAX, st_formula_place_at(formula, end),
                    "unclosed unit bracket" ST_EXPECTED "']'");
            return fail_at_token(offset);
        }
        size_t length = (size_t)(close - formula->text) - start;
        end = start + length + 1;
        if (st_unit_parse(formula->text + start, length, (st_place){0}, &token.unit, NULL) !=
                ST_OK &&
            st_unit_parse(formula->text + start, length, st_formula_place_at(formula, start),
                          &token.unit, errors) != ST_OK)
            return fail_at_token(offset);
    }
    token.number = st_unit_to_base(&token.unit, value);
    token.length = end - offset;
    if (!isfinite(token.number) || (token.number == 0 && value != 0)) {
        const char *found = st_errors_text(errors, "'%.*s'", (int)token.length, text);
        st_fail(errors, ST_ERR_VALUE, st_formula_place_at(formula, offset), "%s" ST_FOUND "%s",
                token.number == 0 ? "number is too small in base units"
                                  : "number is too large in base units",
                st_or_none(found));
        return fail_at_token(offset);
    }
    return token;
}

static st_token refuse(const st_formula *formula, size_t offset, size_t length,
                       const char *expected, st_errors *errors)
{
    const char *found = st_errors_text(errors, "'%.*s'", (int)length, formula->text + offset);
    st_fail(errors, ST_ERR_SYNTAX, st_formula_place_at(formula, offset),
            "unknown character" ST_FOUND "%s" ST_EXPECTED "%s", st_or_none(found),
            st_or_none(expected));
    return fail_at_token(offset);
}

st_token st_lexer_next(const st_formula *formula, size_t offset, st_errors *errors)
{
    while (offset < formula->length && st_is_blank(formula->text[offset]))
        offset++;
    char c = at(formula, offset);
    if (offset >= formula->length)
        return (st_token){.kind = ST_TOKEN_END, .offset = offset};
    if (st_is_digit(c))
        return read_number(formula, offset, errors);
    if (st_is_letter(c)) {
        static const struct {
            const char *text;
            st_operator op;
        } words[] = {{"or", ST_OPERATOR_OR}, {"and", ST_OPERATOR_AND}, {"not", ST_OPERATOR_NOT}};
        size_t end = offset;
        while (st_is_letter(at(formula, end)) || st_is_digit(at(formula, end)))
            end++;
        st_token token = {.kind = ST_TOKEN_NAME, .offset = offset, .length = end - offset};
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            if (st_same_part(formula->text + offset, token.length, words[i].text)) {
                token.kind = ST_TOKEN_OPERATOR;
                token.op = words[i].op;
            }
        }
        return token;
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        if (symbols[i].text[0] != c)
            continue;
        size_t length = strlen(symbols[i].text);
        if (length > formula->length - offset ||
            memcmp(symbols[i].text, formula->text + offset, length) != 0)
            continue;
        if (symbols[i].instead != NULL)
            return refuse(formula, offset, length, symbols[i].instead, errors);
        return (st_token){
            .kind = symbols[i].kind, .op = symbols[i].op, .offset = offset, .length = length};
    }
    if (c == '.')
        return refuse(formula, offset, 1, "a digit before the point, as in 0.5", errors);
    /* Bytes of the UTF-8 character at `offset`, so that an error never cuts one in half. */
    size_t length = 1;
    while (((unsigned char)at(formula, offset + length) & 0xC0U) == 0x80U)
        length++;
    return refuse(formula, offset, length, "a number, a name, an operator or a parenthesis",
                  errors);
}

st_place st_formula_place_at(const st_formula *formula, size_t offset)
{
    for (size_t i = formula->piece_count; i-- > 0;) {
        const st_formula_piece *piece = &formula->pieces[i];
        if (piece->start <= offset) {
            size_t behind = piece->fixed ? 0 : offset - piece->start;
            return st_formula_place_at(formula->sources[piece->source], piece->offset + behind);
        }
    }
    if (formula->scalar != NULL)
        return st_yaml_place_at(formula->scalar, formula->scalar_offset + offset);
    st_place place = formula->place;
    place.column += (int)offset;
    return place;
}
