/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities: reading with units, printing at a sensible scale, and the way back. */
#include "base_support.h"

#include <float.h>
#include <math.h>

static st_status read_quantity(const char *text, const char *expected, double *value,
                               st_errors *errors)
{
    st_unit unit = unit_of(expected);
    return st_quantity_parse(text, strlen(text), &unit, here, value, errors);
}

TEST_WITH(quantities_are_read_in_any_unit_of_the_dimension, make_errors, drop_errors)
{
    static const struct {
        const char *text;
        const char *expected;
        double value;
    } rows[] = {
        {"200 Gbit/s", "GB/s", 25e9},
        {"25GB/s", "GB/s", 25e9},
        {"  23.85\t GB/s \n", "Gbit/s", 23.85e9},
        {"2.385us", "s", 2.385 / 1e6},
        {"80 GiB", "GB", 80 * 1073741824.0},
        {"3 EB", "B", 3e18},
        {"3EB", "B", 3e18},
        {"3e2B", "B", 300},
        {"3e-2 kB", "B", 30},
        {"-2.5 %", "1", -0.025},
        {"62 %", "%", 0.62},
        {"0.62", "%", 0.62},
        {"0.62", "1", 0.62},
        {"+17", "1", 17},
        {"0 GB/s", "GB/s", 0},
        {"1.5 kWh", "J", 5400000},
        {"1.89 $/h", "$/day", 1.89 / 3600},
        {"312 TFLOP/s", "FLOP/s", 312e12},
        {"5 1/s", "1/ms", 5},
        {"700 W", "kW", 700},
        {"30.5 day", "h", 30.5 * 86400},
        {"12 ms/s", "ms/s", 0.012},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double value = NOT_A_NUMBER;
        assert_int_equal(read_quantity(rows[i].text, rows[i].expected, &value, *state), ST_OK);
        assert_same_double(value, rows[i].value);
    }
    assert_string_equal(said(*state), "");
}

TEST_WITH(faults_name_what_was_found_and_expected, make_errors, drop_errors)
{
    static const struct {
        const char *text;
        const char *expected;
        st_status status;
        const char *line;
    } rows[] = {
        {"3 GiB", "GB/s", ST_ERR_UNIT,
         "f:3:9: error: unit has the wrong dimension: found 3 GiB (B), expected a bandwidth such "
         "as 2.5 GB/s (B/s)\n"},
        {"3 s", "B", ST_ERR_UNIT,
         "f:3:9: error: unit has the wrong dimension: found 3 s, expected an amount of data such "
         "as 2.5 B\n"},
        {"3 %", "us", ST_ERR_UNIT,
         "f:3:9: error: unit has the wrong dimension: found 3 % (a pure number), expected a time "
         "such as 2.5 us (s)\n"},
        {"3 GB", "1", ST_ERR_UNIT,
         "f:3:9: error: unit has the wrong dimension: found 3 GB (B), expected a pure number such "
         "as 2.5\n"},
        {"3 GB/B", "1", ST_ERR_UNIT,
         "f:3:9: error: unit has the wrong dimension: found 3 GB/B (a pure number), expected a "
         "pure number such as 2.5\n"},
        {"3 s", "%", ST_ERR_UNIT,
         "f:3:9: error: unit has the wrong dimension: found 3 s, expected a pure number such as "
         "2.5 % or 0.025\n"},
        {" 12.5 ", "GB/s", ST_ERR_UNIT,
         "f:3:8: error: unit is missing: found '12.5', expected a number with a unit, e.g. 2.5 "
         "GB/s\n"},
        {"0", "s", ST_ERR_UNIT,
         "f:3:7: error: unit is missing: found '0', expected a number with a unit, e.g. 2.5 s\n"},
        {"25 Gbps", "GB/s", ST_ERR_UNIT,
         "f:3:10: error: unknown unit 'Gbps'; did you mean 'Gbit/s'?\n"},
        {"25 GB/sec", "GB/s", ST_ERR_UNIT,
         "f:3:13: error: unknown unit 'sec': found 'GB/sec'; did you mean 'GB/s'?\n"},
        {"25 GB/", "GB/s", ST_ERR_SYNTAX,
         "f:3:13: error: unit ends too early: found 'GB/', expected the name of a unit such as B, "
         "FLOP, s, W or $\n"},
        {"GB/s", "GB/s", ST_ERR_SYNTAX,
         "f:3:7: error: not a number: found 'GB/s', expected a decimal number such as 2.5 or "
         "1e9\n"},
        {"", "GB/s", ST_ERR_SYNTAX,
         "f:3:7: error: number is missing: found '', expected a decimal number such as 2.5 or "
         "1e9\n"},
        {"1e308 GB", "B", ST_ERR_VALUE,
         "f:3:7: error: quantity is out of range: found '1e308 GB', expected an amount of data "
         "such as 2.5 B\n"},
        {"1e-323 us", "s", ST_ERR_VALUE,
         "f:3:7: error: quantity is out of range: found '1e-323 us', expected a time such as 2.5 "
         "s\n"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double value = 2.385;
        assert_int_equal(read_quantity(rows[i].text, rows[i].expected, &value, *state),
                         rows[i].status);
        assert_same_double(value, 2.385);
        assert_string_equal(said(*state), rows[i].line);
    }
}

TEST_WITH(faults_of_the_number_are_not_taken_for_units, make_errors, drop_errors)
{
    static const struct {
        const char *text;
        const char *part;
    } rows[] = {
        {"1,5 GB", "f:3:8: error: comma in a number"},
        {"1_000 GB", "f:3:8: error: separator between digits"},
        {"12 345 GB", "f:3:9: error: blank inside a number"},
        {"5 5", "f:3:8: error: blank inside a number"},
        {"1.2.3 GB", "f:3:10: error: second decimal point"},
        {"5. GB", "f:3:8: error: no digit after the decimal point"},
        {".5 GB", "f:3:7: error: no digit before the decimal point"},
        {"0x10 B", "f:3:8: error: number is not decimal"},
        {"5e", "f:3:8: error: exponent without digits"},
        {"nan B", "f:3:7: error: not a finite number"},
        {"inf", "f:3:7: error: not a finite number"},
        {"1e400 B", "f:3:7: error: number is too large"},
        {"1e-400 B", "f:3:7: error: number is too small"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double value = 2.385;
        assert_int_not_equal(read_quantity(rows[i].text, "B", &value, *state), ST_OK);
        assert_same_double(value, 2.385);
        assert_contains(said(*state), rows[i].part);
    }
}

TEST_WITH(every_dimension_has_a_name_in_messages, make_errors, drop_errors)
{
    static const char *const rows[][2] = {
        {"GB", "an amount of data such as 2.5 GB (B)"},
        {"GB/s", "a bandwidth such as"},
        {"us/GB", "a time per byte such as"},
        {"TFLOP", "a number of operations such as"},
        {"TFLOP/s", "a compute rate such as"},
        {"FLOP/B", "an arithmetic intensity such as 2.5 FLOP/B\n"},
        {"h", "a time such as 2.5 h (s)"},
        {"1/s", "a rate such as"},
        {"kWh", "an energy such as 2.5 kWh (J)"},
        {"W", "a power such as 2.5 W (J/s)"},
        {"$", "an amount of money such as"},
        {"$/h", "a price per time such as 2.5 $/h ($/s)"},
        {"$/kWh", "a price of energy such as"},
        {"B*s", "a quantity such as 2.5 B*s\n"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double value;
        assert_int_equal(read_quantity("7 B^3", rows[i][0], &value, *state), ST_ERR_UNIT);
        assert_contains(said(*state), rows[i][1]);
    }
}

/* A base value, the declared unit, and the three styles. */
typedef struct format_row {
    double value;
    const char *unit;
    const char *scaled;
    const char *in_unit;
    const char *exact;
} format_row;

static void assert_formats(const format_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        st_unit unit = unit_of(rows[i].unit);
        char text[ST_QUANTITY_TEXT];
        assert_string_equal(
            st_quantity_format(rows[i].value, &unit, ST_STYLE_SCALED, text, sizeof text),
            rows[i].scaled);
        assert_string_equal(
            st_quantity_format(rows[i].value, &unit, ST_STYLE_UNIT, text, sizeof text),
            rows[i].in_unit);
        assert_string_equal(
            st_quantity_format(rows[i].value, &unit, ST_STYLE_EXACT, text, sizeof text),
            rows[i].exact);
    }
}

TEST(times_print_at_a_sensible_scale)
{
    static const format_row rows[] = {
        {16.7302, "s", "16.73 s", "16.7302 s", "16.7302 s"},
        {16.7302, "ms", "16.73 s", "16730.2 ms", "16730.2 ms"},
        {16.7302, "us", "16.73 s", "16730200 us", "16730200 us"},
        {0.0023851, "s", "2.385 ms", "0.0023851 s", "0.0023851 s"},
        {2.3851e-6, "ms", "2.385 us", "0.0023851 ms", "0.0023851 ms"},
        {2.3851e-10, "s", "238.5 ps", "2.3851e-10 s", "2.3851e-10 s"},
        {2.3851e-14, "s", "0.02385 ps", "2.3851e-14 s", "2.3851e-14 s"},
        {9999, "s", "9999 s", "9999 s", "9999 s"},
        {10000, "s", "2.778 h", "10000 s", "10000 s"},
        {-10000, "ms", "-2.778 h", "-10000000 ms", "-10000000 ms"},
        {359999, "s", "100 h", "359999 s", "359999 s"},
        {2385000, "us", "27.6 day", "2385000000000 us", "2385000000000 us"},
        {2385000, "min", "39750 min", "39750 min", "39750 min"},
        {2385000, "h", "662.5 h", "662.5 h", "662.5 h"},
        {2385, "day", "0.0276 day", "0.0276042 day", "0.02760416666666667 day"},
        {0, "us", "0 us", "0 us", "0 us"},
        {0.99994, "s", "999.9 ms", "0.99994 s", "0.99994 s"},
        {0.99996, "s", "1 s", "0.99996 s", "0.99996 s"},
    };
    assert_formats(rows, COUNT(rows));
}

TEST(prefixes_follow_the_family_of_the_unit)
{
    static const format_row rows[] = {
        {131072000, "B", "131.1 MB", "131072000 B", "131072000 B"},
        {131072000, "GB", "131.1 MB", "0.131072 GB", "0.131072 GB"},
        {131072000, "KiB", "125 MiB", "128000 KiB", "128000 KiB"},
        {1023 * 1048576.0, "MiB", "1023 MiB", "1023 MiB", "1023 MiB"},
        {1024 * 1048576.0, "MiB", "1 GiB", "1024 MiB", "1024 MiB"},
        {999960, "B", "1 MB", "999960 B", "999960 B"},
        {999940, "B", "999.9 kB", "999940 B", "999940 B"},
        {0.25, "B", "0.25 B", "0.25 B", "0.25 B"},
        {0.25, "GB", "0.25 B", "2.5e-10 GB", "2.5e-10 GB"},
        {2.385e24, "GB", "2385000 EB", "2.385e15 GB", "2.385e15 GB"},
        {25e9, "Gbit/s", "200 Gbit/s", "200 Gbit/s", "200 Gbit/s"},
        {25e9, "GB/s", "25 GB/s", "25 GB/s", "25 GB/s"},
        {-25e9, "GiB/s", "-23.28 GiB/s", "-23.2831 GiB/s", "-23.283064365386963 GiB/s"},
        {2385, "GB/s", "2.385 kB/s", "2.385e-6 GB/s", "2.385e-6 GB/s"},
        {312.4e12, "TFLOP/s", "312.4 TFLOP/s", "312.4 TFLOP/s", "312.4 TFLOP/s"},
        {4.5e20, "FLOP", "450 EFLOP", "4.5e20 FLOP", "4.5e20 FLOP"},
        {2.385e6, "flop/s", "2.385 Mflop/s", "2385000 flop/s", "2385000 flop/s"},
        {25e9 / 60, "GB/min", "25 GB/min", "25 GB/min", "25 GB/min"},
        {5400000, "kWh", "1.5 kWh", "1.5 kWh", "1.5 kWh"},
        {5400000, "J", "5.4 MJ", "5400000 J", "5400000 J"},
        {0.0023851, "J", "2.385 mJ", "0.0023851 J", "0.0023851 J"},
        {0.0023851, "W", "2.385 mW", "0.0023851 W", "0.0023851 W"},
        {2385, "$", "2.385 k$", "2385 $", "2385 $"},
        {0.5, "USD", "0.5 USD", "0.5 USD", "0.5 USD"},
        {1.75 / 3600, "$/h", "1.75 $/h", "1.75 $/h", "1.75 $/h"},
        {2385, "FLOP/(B*s)", "2.385 kFLOP/(B*s)", "2385 FLOP/(B*s)", "2385 FLOP/(B*s)"},
    };
    assert_formats(rows, COUNT(rows));
}

TEST(odd_units_keep_their_own_scale)
{
    static const format_row rows[] = {
        {238512345, "B*s", "238512345 B*s", "238512345 B*s", "238512345 B*s"},
        {23.851234, "1/s", "23.8512 1/s", "23.8512 1/s", "23.851234 1/s"},
        {23851.234, "(kB)/s", "23.8512 (kB)/s", "23.8512 (kB)/s", "23.851234 (kB)/s"},
        {23851.234, "kB/s*s", "23.8512 kB/s*s", "23.8512 kB/s*s", "23.851234 kB/s*s"},
        {23851.234, "s^2", "23851.2 s^2", "23851.2 s^2", "23851.234 s^2"},
        {0.0123, "ms/s", "12.3 ms/s", "12.3 ms/s", "12.3 ms/s"},
    };
    assert_formats(rows, COUNT(rows));
}

TEST(pure_numbers_print_bare)
{
    static const format_row rows[] = {
        {131072000, "1", "131072000", "131072000", "131072000"},
        {89128960000, "1", "89128960000", "89128960000", "89128960000"},
        {999999999999999, "1", "999999999999999", "999999999999999", "999999999999999"},
        {1e15, "1", "1e15", "1e15", "1e15"},
        {-17, "1", "-17", "-17", "-17"},
        {0, "1", "0", "0", "0"},
        {0.6234567, "1", "0.623457", "0.623457", "0.6234567"},
        {1234567.89, "1", "1234568", "1234568", "1234567.89"},
        {0.53134, "%", "53.13 %", "53.134 %", "53.134 %"},
        {0.07, "%", "7 %", "7 %", "7 %"},
        {0, "%", "0 %", "0 %", "0 %"},
    };
    assert_formats(rows, COUNT(rows));
}

TEST(digits_are_those_asked_for)
{
    static const struct {
        double value;
        const char *unit;
        int digits;
        const char *text;
    } rows[] = {
        {16.73024385, "ms", 3, "16.7 s"},
        {16.73024385, "ms", 9, "16.7302439 s"},
        {16.73024385, "ms", 17, "16.730243850000001 s"},
        {2.38519e-5, "1", 3, "0.0000238519"}, /* of a pure number at least six */
        {2.385192386e-5, "1", 9, "0.0000238519239"},
        {123456789, "1", 5, "123456789"},
        {0.41238517, "%", 6, "41.2385 %"},
        {184.1238517e9, "GB/s", 8, "184.12385 GB/s"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        st_unit unit = unit_of(rows[i].unit);
        char text[ST_QUANTITY_TEXT];
        assert_string_equal(st_quantity_format(rows[i].value, &unit,
                                               ST_STYLE_DIGITS(rows[i].digits), text, sizeof text),
                            rows[i].text);
    }
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

TEST(what_the_unit_cannot_hold_prints_in_base_units)
{
    static const format_row rows[] = {
        {DBL_MAX, "%", "1.798e308", "1.79769e308", "1.7976931348623157e308"},
        {DBL_MAX, "ps", "2.081e303 day", "1.79769e308 s", "1.7976931348623157e308 s"},
        {1e300, "1/h^3", "1e300 1/s^3", "1e300 1/s^3", "1e300 1/s^3"},
        {-1e-320, "EB", "-1e-320 B", "-9.99989e-321 B", "-1e-320 B"},
    };
    assert_formats(rows, COUNT(rows));
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
