/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities: reading with units, printing at a sensible scale, and the way back. */
#include "base_support.h"

#include "../support/text_cases.h"

#include <float.h>
#include <math.h>

static st_status read_quantity(const char *text, const char *expected, double *value,
                               st_errors *errors)
{
    st_unit unit = unit_of(expected);
    return st_quantity_parse(text, strlen(text), &unit, here, value, errors);
}

static const char *answer_read(const char *text, const char *unit, st_arena *arena)
{
    double value = 2.385;
    st_errors *errors = st_errors_create();
    st_status status = read_quantity(text, unit, &value, errors);
    const char *found = st_arena_printf(arena, "%.17g", value);
    if (status != ST_OK) {
        assert_same_double(value, 2.385);
        found = said(errors);
        found = st_arena_copy(arena, found, strlen(found) - 1);
    }
    st_errors_destroy(errors);
    return found;
}

static const char *answer(void *context, const char *section, char *given, size_t length)
{
    char texts[3][ST_QUANTITY_TEXT];
    char *name = strstr(given, " | ") + 3;
    char *digits = strstr(name, " | ");
    (void)length;
    name[-3] = '\0';
    if (digits != NULL)
        *digits = '\0';
    if (strncmp(section, "read", 4) == 0)
        return answer_read(given, name, context);
    st_unit unit = unit_of(name);
    double value = strtod(given, NULL);
    if (digits != NULL)
        return st_arena_printf(
            context, "%s",
            st_quantity_format(value, &unit, ST_STYLE_DIGITS((int)strtol(digits + 3, NULL, 10)),
                               texts[0], sizeof texts[0]));
    return st_arena_printf(
        context, "%s | %s | %s",
        st_quantity_format(value, &unit, ST_STYLE_SCALED, texts[0], sizeof texts[0]),
        st_quantity_format(value, &unit, ST_STYLE_UNIT, texts[1], sizeof texts[1]),
        st_quantity_format(value, &unit, ST_STYLE_EXACT, texts[2], sizeof texts[2]));
}

TEST(quantities_are_read_and_printed_as_in_the_cases)
{
    st_arena *arena = st_arena_create();
    run_text_rows("tests/unit/cases/quantity.txt", answer, arena, arena);
    st_arena_destroy(arena);
}

TEST(what_is_not_finite_says_so)
{
    static const st_style styles[] = {ST_STYLE_SCALED, ST_STYLE_UNIT, ST_STYLE_EXACT};
    st_unit unit = unit_of("GB/s");
    char text[ST_QUANTITY_TEXT];
    for (size_t i = 0; i < COUNT(styles); i++) {
        assert_string_equal(st_quantity_format(NOT_A_NUMBER, &unit, styles[i], text, sizeof text),
                            "not finite");
        assert_string_equal(st_quantity_format(-HUGE_VAL, &unit, styles[i], text, sizeof text),
                            "not finite");
    }
}

TEST(extremes_fit_the_text)
{
    static const double values[] = {DBL_MAX, -DBL_MAX, DBL_MIN, 0x1p-1074, -1.0 / 3, 1e15 - 0.125};
    static const char *const units[] = {
        "1", "%",     "ps",  "EB/s",   "EiB",
        "h", "$/kWh", "bit", "Gbit/s", "FLOP*FLOP*FLOP*FLOP*FLOP*FLOP*FLOP*FLOP"};
    for (size_t i = 0; i < COUNT(values); i++)
        for (size_t j = 0; j < COUNT(units); j++)
            for (int style = ST_STYLE_SCALED; style <= ST_STYLE_EXACT; style++) {
                st_unit unit = unit_of(units[j]);
                char text[ST_QUANTITY_TEXT + 1];
                text[ST_QUANTITY_TEXT] = '#';
                (void)st_quantity_format(values[i], &unit, (st_style)style, text, ST_QUANTITY_TEXT);
                assert_true(strlen(text) < ST_QUANTITY_TEXT - 1);
                assert_int_equal(text[ST_QUANTITY_TEXT], '#');
            }
}

TEST(a_short_text_is_cut)
{
    st_unit unit = unit_of("GB/s");
    char text[8] = "#######";
    assert_ptr_equal(st_quantity_format(25e9, &unit, ST_STYLE_SCALED, text, 5), text);
    assert_string_equal(text, "25 G");
    assert_int_equal(text[5], '#');
}

TEST(exact_texts_fall_back_to_base_units)
{
    /* Doubles near 1.02e9 lie closer together than 1e9 times the doubles near 1.02. */
    double value = 1.02e9;
    st_unit unit = unit_of("GB/s");
    char text[ST_QUANTITY_TEXT];
    bool fell_back = false;
    for (int i = 0; i < 100 && !fell_back; i++) {
        value = nextafter(value, HUGE_VAL);
        (void)st_quantity_format(value, &unit, ST_STYLE_EXACT, text, sizeof text);
        fell_back = strstr(text, " B/s") != NULL;
        double back = NOT_A_NUMBER;
        assert_int_equal(st_quantity_parse(text, strlen(text), &unit, here, &back, NULL), ST_OK);
        assert_same_double(back, value);
    }
    assert_true(fell_back);
}

TESTS(quantity);
