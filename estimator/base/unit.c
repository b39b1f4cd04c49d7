/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units: a recursive parser over the grammar in quantity.h. Scales stay a quotient of two whole
 * numbers as long as doubles hold them, so that a conversion rounds once.
 */
#include "base/unit_names.h"

#include "base/utf8.h"

#include <math.h>
#include <string.h>

enum { MOST_FACTORS = 16, LARGEST_EXPONENT = INT16_MAX / ST_EXPONENT_ONE };

typedef struct reader {
    const char *text;
    size_t length;
    size_t at;
    size_t factors;
    st_place place;
    st_errors *errors;
} reader;

st_unit st_unit_one(void)
{
    return (st_unit){.multiplier = 1, .divisor = 1, .text = "1"};
}

double st_unit_to_base(const st_unit *unit, double value)
{
    return value * unit->multiplier / unit->divisor;
}

double st_unit_from_base(const st_unit *unit, double base_value)
{
    return base_value * unit->divisor / unit->multiplier;
}

static char next(const reader *in)
{
    return in->at < in->length ? in->text[in->at] : '\0';
}

/* Adds an error at byte `at`; the entry's status, message and other texts come from `error`. */
static st_status refuse(const reader *in, size_t at, st_error error)
{
    error.place = st_utf8_advance(in->place, in->text, at);
    if (error.found == NULL)
        error.found = st_errors_text(in->errors, "'%.*s'", (int)in->length, in->text);
    return st_errors_add(in->errors, &error);
}

static st_status refuse_size(const reader *in)
{
    return refuse(in, 0,
                  (st_error){.status = ST_ERR_LIMIT,
                             .message = "unit is beyond all measure",
                             .expected = "exponents and prefixes whose product a double can hold"});
}

static double common_divisor(double a, double b)
{
    while (b != 0) {
        double rest = fmod(a, b);
        a = b;
        b = rest;
    }
    return a;
}

/* unit *= factor^exponent; false on overflow. Whole scales are reduced to lowest terms. */
static bool multiply(st_unit *unit, const st_unit *factor, int exponent)
{
    int sign = exponent < 0 ? -1 : 1;
    for (int i = 0; i < exponent * sign; i++) {
        for (int d = 0; d < ST_DIMENSIONS; d++) {
            int sum = unit->dimension.exponent[d] + sign * factor->dimension.exponent[d];
            if (sum > INT16_MAX || sum < -INT16_MAX)
                return false;
            unit->dimension.exponent[d] = (int16_t)sum;
        }
        unit->multiplier *= sign > 0 ? factor->multiplier : factor->divisor;
        unit->divisor *= sign > 0 ? factor->divisor : factor->multiplier;
        if (!isfinite(unit->multiplier) || !isfinite(unit->divisor))
            return false;
        double common = common_divisor(unit->multiplier, unit->divisor);
        unit->multiplier /= common;
        unit->divisor /= common;
    }
    return true;
}

static st_status refuse_name(const reader *in, size_t at, size_t size)
{
    const char *name = in->text + at;
    if (size == 0) {
        bool is_end = at >= in->length;
        return refuse(in, at,
                      (st_error){.status = ST_ERR_SYNTAX,
                                 .message = is_end ? "unit ends too early" : "malformed unit",
                                 .expected = "the name of a unit such as B, FLOP, s, W or $"});
    }
    bool is_count = st_unit_is_count(name, size);
    const char *suggestion = st_unit_suggest(in->text, in->length, at, size, in->errors);
    const char *message =
        is_count ? st_errors_text(in->errors, "'%.*s' is a count, and counts have no unit",
                                  (int)size, name)
                 : st_errors_text(in->errors, "unknown unit '%.*s'", (int)size, name);
    return refuse(in, at,
                  (st_error){.status = ST_ERR_UNIT,
                             .message = message,
                             .found = size == in->length ? "" : NULL,
                             .expected = suggestion != NULL || is_count
                                             ? NULL
                                             : "B, bit, FLOP, s, min, h, day, J, W, Wh or $ with "
                                               "a prefix, joined by *, / and ^",
                             .suggestion = suggestion});
}

static st_status read_name(reader *in, st_unit *unit)
{
    size_t size = st_unit_name_length(in->text + in->at, in->length - in->at);
    const st_unit_prefix *prefix;
    const st_unit_name *name = st_unit_name_find(in->text + in->at, size, &prefix);
    if (name == NULL)
        return refuse_name(in, in->at, size);
    in->at += size;
    *unit = (st_unit){.multiplier = name->multiplier, .divisor = name->divisor};
    for (int d = 0; d < ST_DIMENSIONS; d++)
        unit->dimension.exponent[d] = (int16_t)(name->exponent[d] * ST_EXPONENT_ONE);
    if (prefix != NULL) {
        const st_unit scale = {.multiplier = prefix->multiplier, .divisor = prefix->divisor};
        (void)multiply(unit, &scale, 1); /* the tables hold nothing that could overflow */
    }
    return ST_OK;
}

/* [ "^" integer ] */
static st_status read_exponent(reader *in, int *exponent)
{
    *exponent = 1;
    if (next(in) != '^')
        return ST_OK;
    in->at++;
    size_t start = in->at;
    bool is_negative = next(in) == '-';
    if (is_negative)
        in->at++;
    size_t digits = in->at;
    int value = 0;
    while (next(in) >= '0' && next(in) <= '9' && value <= LARGEST_EXPONENT)
        value = value * 10 + (in->text[in->at++] - '0');
    bool is_whole = in->at > digits && next(in) != '.';
    if (!is_whole || value == 0 || value > LARGEST_EXPONENT)
        return refuse(in, start,
                      (st_error){.status = ST_ERR_SYNTAX,
                                 .message = "malformed exponent in a unit",
                                 .expected = "a whole number other than 0, up to 2730"});
    *exponent = is_negative ? -value : value;
    return ST_OK;
}

static st_status read_product(reader *in, st_unit *unit);

static st_status read_parentheses(reader *in, st_unit *unit)
{
    size_t start = in->at++;
    st_status status = read_product(in, unit);
    if (status != ST_OK)
        return status;
    if (next(in) != ')')
        return refuse(in, start,
                      (st_error){.status = ST_ERR_SYNTAX,
                                 .message = "parenthesis in a unit is not closed",
                                 .expected = "')'"});
    in->at++;
    return ST_OK;
}

/* unit *= term or unit /= term */
static st_status read_term(reader *in, int sign, st_unit *unit)
{
    if (++in->factors > MOST_FACTORS)
        return refuse(in, in->at,
                      (st_error){.status = ST_ERR_LIMIT,
                                 .message = "unit has too many factors",
                                 .expected = "at most 16"});
    st_unit term;
    st_status status = next(in) == '(' ? read_parentheses(in, &term) : read_name(in, &term);
    if (status != ST_OK)
        return status;
    int exponent;
    status = read_exponent(in, &exponent);
    if (status != ST_OK)
        return status;
    return multiply(unit, &term, sign * exponent) ? ST_OK : refuse_size(in);
}

/* term { ("*" | "/") term }, or "1" in front of "/" */
static st_status read_product(reader *in, st_unit *unit)
{
    *unit = st_unit_one();
    bool is_reciprocal = next(in) == '1' && in->at + 1 < in->length && in->text[in->at + 1] == '/';
    if (is_reciprocal)
        in->at++;
    st_status status = is_reciprocal ? ST_OK : read_term(in, 1, unit);
    while (status == ST_OK && (next(in) == '*' || next(in) == '/')) {
        int sign = next(in) == '/' ? -1 : 1;
        in->at++;
        status = read_term(in, sign, unit);
    }
    return status;
}

/* The text without blanks and with '/' for "per", for a suggestion; NULL where that is no unit. */
static const char *without_blanks(const reader *in)
{
    char tight[sizeof((st_unit *)NULL)->text];
    size_t used = 0;
    for (size_t i = 0; i < in->length; i++) {
        if (strchr(" \t\r\n", in->text[i]) == NULL)
            tight[used++] = in->text[i];
        else if (in->length - i > 5 && memcmp(in->text + i, " per ", 5) == 0) {
            tight[used++] = '/';
            i += 4;
        }
    }
    st_unit unit;
    bool is_unit = st_unit_parse(tight, used, (st_place){0}, &unit, NULL) == ST_OK;
    return is_unit ? st_errors_text(in->errors, "%.*s", (int)used, tight) : NULL;
}

/* Something is left behind a whole unit. */
static st_status refuse_rest(const reader *in)
{
    if (strchr(" \t\r\n", next(in)) != NULL)
        return refuse(
            in, in->at,
            (st_error){.status = ST_ERR_SYNTAX,
                       .message = "blank inside a unit",
                       .suggestion = st_errors_full(in->errors) ? NULL : without_blanks(in)});
    return refuse(in, in->at,
                  (st_error){.status = ST_ERR_SYNTAX,
                             .message = "malformed unit",
                             .expected = "'*', '/' or '^' between the names of units"});
}

static st_status read_unit(reader *in, st_unit *unit)
{
    if (in->length == 1 && in->text[0] == '1')
        return ST_OK;
    if (in->length == 1 && in->text[0] == '%') {
        unit->divisor = 100;
        return ST_OK;
    }
    st_status status = read_product(in, unit);
    if (status == ST_OK && in->at < in->length)
        status = refuse_rest(in);
    return status;
}

st_status st_unit_parse(const char *text, size_t length, st_place place, st_unit *unit,
                        st_errors *errors)
{
    reader in = {.text = text, .length = length, .place = place, .errors = errors};
    if (length == 0)
        return refuse(&in, 0,
                      (st_error){.status = ST_ERR_SYNTAX,
                                 .message = "unit is missing",
                                 .found = "",
                                 .expected = "a unit such as GB/s, or 1 for a pure number"});
    if (length >= sizeof unit->text)
        return refuse(&in, 0,
                      (st_error){.status = ST_ERR_LIMIT,
                                 .message = "unit is too long",
                                 .found = st_errors_text(errors, "%zu bytes", length),
                                 .expected = "at most 39 bytes"});
    st_unit result = st_unit_one();
    st_status status = read_unit(&in, &result);
    if (status != ST_OK)
        return status;
    memset(result.text, 0, sizeof result.text);
    memcpy(result.text, text, length);
    *unit = result;
    return ST_OK;
}
