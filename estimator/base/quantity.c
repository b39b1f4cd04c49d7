/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units, as users write them. */
#include "base/number.h"
#include "base/dimension.h"

#include "base/utf8.h"

#include <math.h>
#include <string.h>

/* What a quantity of this dimension is called, with its article. */
static const char *noun_of(st_dimension dimension)
{
    static const struct {
        int8_t exponent[ST_DIMENSIONS];
        const char *noun;
    } nouns[] = {
        {{0, 0, 0, 0, 0}, "a pure number"},
        {{1, 0, 0, 0, 0}, "an amount of data"},
        {{1, 0, -1, 0, 0}, "a bandwidth"},
        {{-1, 0, 1, 0, 0}, "a time per byte"},
        {{0, 1, 0, 0, 0}, "a number of operations"},
        {{0, 1, -1, 0, 0}, "a compute rate"},
        {{-1, 1, 0, 0, 0}, "an arithmetic intensity"},
        {{0, 0, 1, 0, 0}, "a time"},
        {{0, 0, -1, 0, 0}, "a rate"},
        {{0, 0, 0, 1, 0}, "an energy"},
        {{0, 0, -1, 1, 0}, "a power"},
        {{0, 0, 0, 0, 1}, "an amount of money"},
        {{0, 0, -1, 0, 1}, "a price per time"},
        {{0, 0, 0, -1, 1}, "a price of energy"},
    };
    for (size_t i = 0; i < ST_COUNT(nouns); i++) {
        bool is_equal = true;
        for (int d = 0; d < ST_DIMENSIONS; d++)
            is_equal = is_equal && dimension.exponent[d] == nouns[i].exponent[d] * ST_EXPONENT_ONE;
        if (is_equal)
            return nouns[i].noun;
    }
    return "a quantity";
}

/* "2.5 GB/s (B/s)"; the dimension is left out where it says nothing new. */
static const char *with_dimension(const char *quantity, size_t length, const st_unit *unit,
                                  st_errors *errors)
{
    char base[80];
    (void)st_dimension_text(unit->dimension, base, sizeof base);
    if (strcmp(base, unit->text) == 0)
        return st_errors_text(errors, "%.*s", (int)length, quantity);
    bool is_number = st_dimension_is_number(unit->dimension);
    return st_errors_text(errors, "%.*s (%s)", (int)length, quantity,
                          is_number ? "a pure number" : base);
}

/* "a bandwidth such as 2.5 GB/s (B/s)" */
static const char *expectation(const st_unit *expected, st_errors *errors)
{
    const char *noun = noun_of(expected->dimension);
    if (st_dimension_is_number(expected->dimension))
        return st_errors_text(errors, "%s such as %s", noun,
                              expected->text[0] == '%' ? "2.5 % or 0.025" : "2.5");
    const char *example = st_errors_text(errors, "2.5 %s", expected->text);
    return st_errors_text(errors, "%s such as %s", noun,
                          with_dimension(example, strlen(example), expected, errors));
}

/* A quantity taken apart; its texts lie in the text that was given. */
typedef struct parts {
    const char *text; /* without outer blanks */
    size_t length;
    size_t number_length;
    size_t unit_start;
    st_place place;
} parts;

/* The text behind the number is the error of the number, not an unknown unit. */
static bool is_number_fault(const parts *whole)
{
    size_t rest = whole->length - whole->unit_start;
    if (whole->number_length == 0)
        return true;
    if (rest == 0)
        return false;
    const char *unit = whole->text + whole->unit_start;
    bool is_reciprocal = rest > 1 && unit[0] == '1' && unit[1] == '/';
    bool is_hexadecimal =
        (unit[0] == 'x' || unit[0] == 'X') && whole->unit_start == whole->number_length;
    return (unit[0] >= '0' && unit[0] <= '9' && !is_reciprocal) || is_hexadecimal ||
           (unit[0] == 'e' && rest == 1) || strchr(".,_'", unit[0]) != NULL;
}

/* Reads the unit behind the number; a pure number may have none. */
static st_status read_unit(const parts *whole, const st_unit *expected, st_unit *unit,
                           st_errors *errors)
{
    bool is_number = st_dimension_is_number(expected->dimension);
    size_t rest = whole->length - whole->unit_start;
    const char *text = whole->text + whole->unit_start;
    *unit = st_unit_one();
    if (rest == 0 && is_number)
        return ST_OK;
    if (rest == 0)
        return st_fail(errors, ST_ERR_UNIT, whole->place,
                       "unit is missing" ST_FOUND "'%.*s'" ST_EXPECTED
                       "a number with a unit, e.g. 2.5 %s",
                       (int)whole->length, whole->text, expected->text);
    st_status status = st_unit_parse(
        text, rest, st_utf8_advance(whole->place, whole->text, whole->unit_start), unit, errors);
    if (status != ST_OK)
        return status;
    /* Where a sheet says "ms/s", that is a pure number's unit too, but "2 GB/GB" is a slip. */
    bool is_odd_number =
        is_number && unit->text[0] != '%' && strcmp(unit->text, expected->text) != 0;
    if (!st_dimension_equal(unit->dimension, expected->dimension) || is_odd_number)
        return st_fail(errors, ST_ERR_UNIT,
                       st_utf8_advance(whole->place, whole->text, whole->unit_start),
                       "unit has the wrong dimension" ST_FOUND "%s" ST_EXPECTED "%s",
                       with_dimension(whole->text, whole->length, unit, errors),
                       expectation(expected, errors));
    return ST_OK;
}

st_status st_quantity_parse(const char *text, size_t length, const st_unit *expected,
                            st_place place, double *value, st_errors *errors)
{
    size_t start = 0;
    while (start < length && st_is_blank(text[start]))
        start++;
    size_t end = length;
    while (end > start && st_is_blank(text[end - 1]))
        end--;
    parts whole = {
        .text = text + start, .length = end - start, .place = st_utf8_advance(place, text, start)};
    whole.number_length = st_number_scan(whole.text, whole.length);
    whole.unit_start = whole.number_length;
    while (whole.unit_start < whole.length && st_is_blank(whole.text[whole.unit_start]))
        whole.unit_start++;
    if (is_number_fault(&whole))
        return st_number_fault(whole.text, whole.length, whole.number_length, whole.place, errors);
    double number;
    st_status status =
        st_number_parse(whole.text, whole.number_length, whole.place, &number, errors);
    if (status != ST_OK)
        return status;
    st_unit unit;
    status = read_unit(&whole, expected, &unit, errors);
    if (status != ST_OK)
        return status;
    double base_value = st_unit_to_base(&unit, number);
    if (!isfinite(base_value) || (base_value == 0.0 && number != 0.0))
        return st_fail(errors, ST_ERR_VALUE, whole.place,
                       "quantity is out of range" ST_FOUND "'%.*s'" ST_EXPECTED "%s",
                       (int)whole.length, whole.text, expectation(expected, errors));
    *value = base_value;
    return ST_OK;
}
