/* SPDX-License-Identifier: Apache-2.0 */
/* Units and dimensions: the closed list of names, the grammar, and what is suggested for slips. */
#include "base_support.h"

#include "../support/text_cases.h"
#include "base/dimension.h"

#include "base/unit_names.h"

#include <math.h>

static const char *answer(void *context, const char *section, char *given, size_t length)
{
    st_unit unit = {.text = "untouched"};
    st_errors *errors = st_errors_create();
    st_buffer text = {0};
    (void)section;
    st_status status = st_unit_parse(given, length, here, &unit, errors);
    if (status == ST_OK) {
        assert_string_equal(unit.text, given);
        st_buffer_printf(&text, "%.17g / %.17g:", unit.multiplier, unit.divisor);
        for (int d = 0; d < ST_DIMENSIONS; d++)
            st_buffer_printf(&text, " %g", (double)unit.dimension.exponent[d] / ST_EXPONENT_ONE);
    } else {
        assert_string_equal(unit.text, "untouched");
        assert_int_equal(st_errors_size(errors), 1);
        assert_int_equal(st_errors_at(errors, 0)->status, status);
        st_buffer_printf(&text, "%s: %s", st_status_text(status), said(errors));
        text.data[text.length - 1] = '\0';
    }
    const char *found = st_arena_copy(context, text.data, strlen(text.data));
    st_buffer_free(&text);
    st_errors_destroy(errors);
    return found;
}

TEST(units_are_read_as_in_the_cases)
{
    st_arena *arena = st_arena_create();
    run_text_rows("tests/unit/cases/unit.txt", answer, arena, arena);
    st_arena_destroy(arena);
}

TEST_WITH(a_unit_ends_where_its_text_ends, make_errors, drop_errors)
{
    st_unit unit = {.text = ""};
    assert_int_equal(st_unit_parse("GB/s]", 4, here, &unit, *state), ST_OK);
    assert_string_equal(unit.text, "GB/s");
    assert_int_equal(st_unit_parse("B\0s", 3, here, &unit, *state), ST_ERR_SYNTAX);
    assert_int_equal(st_errors_count(*state, ST_SEVERITY_ERROR), 1);
}

TEST(conversions_round_once)
{
    static const struct {
        const char *unit;
        double value;
        double base_value;
    } rows[] = {
        {"us", 2.385, 2.385 / 1e6}, {"GB/s", 23.85, 23.85 * 1e9}, {"bit", 13, 1.625},
        {"min", 2.385, 2.385 * 60}, {"%", 53.13, 53.13 / 100},    {"kB/min", 23.85, 23.85 * 50 / 3},
        {"GiB", 1.25, 1342177280},  {"1", 2.385, 2.385},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        st_unit unit = unit_of(rows[i].unit);
        assert_same_double(st_unit_to_base(&unit, rows[i].value), rows[i].base_value);
        double back = st_unit_from_base(&unit, rows[i].base_value);
        assert_true(fabs(back - rows[i].value) <= 4e-16 * rows[i].value);
    }
}

TEST(the_pure_number_is_its_own_unit)
{
    st_unit one = st_unit_one();
    assert_string_equal(one.text, "1");
    assert_true(st_dimension_is_number(one.dimension));
    assert_same_double(st_unit_to_base(&one, 2.385), 2.385);
    assert_true(st_dimension_is_number(unit_of("%").dimension));
    assert_false(st_dimension_is_number(unit_of("B").dimension));
}

TEST(dimensions_multiply)
{
    st_dimension byte = unit_of("B").dimension;
    st_dimension second = unit_of("s").dimension;
    st_dimension rate = unit_of("GB/ms").dimension;
    assert_true(st_dimension_equal(st_dimension_multiply(byte, second, -1), rate));
    assert_true(st_dimension_equal(st_dimension_multiply(rate, second, 1), byte));
    assert_false(st_dimension_equal(byte, second));
    assert_true(st_dimension_is_number(st_dimension_multiply(rate, rate, -1)));
    st_dimension most = {.exponent = {INT16_MAX, -INT16_MAX, 0, 0, 0}};
    assert_true(st_dimension_equal(st_dimension_multiply(most, most, 1), most));
    st_dimension least = {.exponent = {-INT16_MAX, INT16_MAX, 0, 0, 0}};
    assert_true(st_dimension_equal(st_dimension_multiply(least, most, -1), least));
}

TEST(dimensions_take_powers)
{
    st_dimension rate = unit_of("B/s").dimension;
    st_dimension power = {{0}};
    assert_int_equal(st_dimension_power(rate, 0.5, &power), ST_OK);
    assert_int_equal(power.exponent[ST_BYTE], 6);
    assert_int_equal(power.exponent[ST_SECOND], -6);
    assert_int_equal(st_dimension_power(power, 2, &power), ST_OK);
    assert_true(st_dimension_equal(power, rate));
    assert_int_equal(st_dimension_power(rate, 1.0 / 3, &power), ST_OK);
    assert_int_equal(power.exponent[ST_BYTE], 4);
    assert_int_equal(st_dimension_power(rate, -2, &power), ST_OK);
    assert_int_equal(power.exponent[ST_SECOND], 24);
    assert_int_equal(st_dimension_power(rate, 0, &power), ST_OK);
    assert_true(st_dimension_is_number(power));
    st_dimension number = {{0}};
    assert_int_equal(st_dimension_power(number, 2.385, &power), ST_OK);
    assert_true(st_dimension_is_number(power));

    st_dimension untouched = rate;
    assert_int_equal(st_dimension_power(rate, 0.3, &untouched), ST_ERR_UNIT);
    assert_int_equal(st_dimension_power(rate, 1e9, &untouched), ST_ERR_UNIT);
    assert_int_equal(st_dimension_power(rate, NOT_A_NUMBER, &untouched), ST_ERR_UNIT);
    assert_int_equal(st_dimension_power(rate, HUGE_VAL, &untouched), ST_ERR_UNIT);
    assert_int_equal(st_dimension_power(number, NOT_A_NUMBER, &untouched), ST_ERR_UNIT);
    assert_true(st_dimension_equal(untouched, rate));
}

TEST(dimensions_print_in_base_units)
{
    static const struct {
        int16_t exponent[ST_DIMENSIONS];
        const char *text;
    } rows[] = {
        {{0, 0, 0, 0, 0}, "1 (a pure number)"},
        {{12, 0, 0, 0, 0}, "B"},
        {{12, 0, -12, 0, 0}, "B/s"},
        {{0, 0, -12, 0, 0}, "1/s"},
        {{0, 0, -24, 0, 0}, "1/s^2"},
        {{-12, 12, -12, 0, 0}, "FLOP/(B*s)"},
        {{12, 0, 12, 0, 0}, "B*s"},
        {{6, 0, 0, 0, 0}, "B^0.5"},
        {{4, 0, 0, 0, 0}, "B^(1/3)"},
        {{10, 0, 0, 0, 0}, "B^(5/6)"},
        {{8, 0, -1, 0, 0}, "B^(2/3)/s^(1/12)"},
        {{15, 0, 0, 0, 0}, "B^1.25"},
        {{0, 0, -12, 12, 0}, "J/s"},
        {{0, 0, 0, -12, 12}, "$/J"},
        {{-24, 0, 36, 0, -12}, "s^3/(B^2*$)"},
    };
    char text[96];
    for (size_t i = 0; i < COUNT(rows); i++) {
        st_dimension dimension;
        memcpy(dimension.exponent, rows[i].exponent, sizeof dimension.exponent);
        assert_string_equal(st_dimension_text(dimension, text, sizeof text), rows[i].text);
    }
    char small[4];
    st_dimension rate = unit_of("B/s").dimension;
    assert_string_equal(st_dimension_text(rate, small, sizeof small), "B/s");
    assert_string_equal(st_dimension_text(rate, small, 3), "B/");
    st_dimension worst = {{INT16_MAX, -INT16_MAX, INT16_MAX, -INT16_MAX, INT16_MAX}};
    assert_true(strlen(st_dimension_text(worst, text, sizeof text)) < 80);
}

TEST(every_prefix_fits_every_name_of_its_family)
{
    for (const st_unit_name *name = st_unit_names; name->text != NULL; name++) {
        for (const st_unit_prefix *prefix = st_unit_prefixes; prefix->text != NULL; prefix++) {
            char text[40];
            (void)snprintf(text, sizeof text, "%s%s", prefix->text, name->text);
            const st_unit_prefix *found_prefix = NULL;
            const st_unit_name *found = st_unit_name_find(text, strlen(text), &found_prefix);
            bool fits = (prefix->family & (name->families | ST_PREFIX_NONE)) != 0;
            /* no two prefixed names may be written alike */
            assert_true(found == (fits ? name : NULL));
            if (fits)
                assert_true(found_prefix == (prefix->text[0] != '\0' ? prefix : NULL));
        }
    }
}

TESTS(unit);
