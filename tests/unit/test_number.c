/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers: what is read, how each slip is named, how values are printed. */
#include "base_support.h"

#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static st_status read_number(const char *text, double *value, st_errors *errors)
{
    return st_number_parse(text, strlen(text), here, value, errors);
}

TEST_WITH(numbers_are_read, make_errors, drop_errors)
{
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"2.385", 2.385},
        {"0", 0.0},
        {"-0", -0.0},
        {"+17", 17},
        {"-17.25", -17.25},
        {"007", 7},
        {"0.1", 0.1},
        {"1e9", 1e9},
        {"1E9", 1e9},
        {"2.5e+3", 2500},
        {"2.5e-3", 0.0025},
        {"131072000", 131072000},
        {"9007199254740993", 9007199254740992.0}, /* a tie, to even */
        {"0.30000000000000004", 0.1 + 0.2},
        {"1.7976931348623157e308", DBL_MAX},
        {"2.2250738585072014e-308", DBL_MIN},
        {"5e-324", 0x1p-1074},
        {"0e999", 0.0},
        {"0.000e-999", 0.0},
        {"1e0000000000000000000000002", 100},
        {"0.00000000000000000000000000000000000000000000000000000000001", 1e-59},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double value = NOT_A_NUMBER;
        assert_int_equal(read_number(rows[i].text, &value, *state), ST_OK);
        assert_same_double(value, rows[i].value);
    }
    assert_string_equal(said(*state), "");
}

TEST_WITH(only_the_given_bytes_are_read, make_errors, drop_errors)
{
    double value = NOT_A_NUMBER;
    assert_int_equal(st_number_parse("12345", 2, here, &value, *state), ST_OK);
    assert_same_double(value, 12);
    assert_int_equal(st_number_parse("1e55", 3, here, &value, *state), ST_OK);
    assert_same_double(value, 1e5);
    assert_int_equal(st_number_parse("12\0", 3, here, &value, *state), ST_ERR_SYNTAX);
    assert_contains(said(*state), "text after a number");
}

static const struct {
    const char *text;
    int column; /* of the error, behind the 7 of the place */
    st_status status;
    const char *message;
    const char *suggestion;
} number_slips[] = {
    {"", 0, ST_ERR_SYNTAX, "number is missing", NULL},
    {"  ", 0, ST_ERR_SYNTAX, "number is missing", NULL},
    {" 5", 0, ST_ERR_SYNTAX, "blank before a number", NULL},
    {"5 ", 1, ST_ERR_SYNTAX, "blank after a number", NULL},
    {"5\n", 1, ST_ERR_SYNTAX, "blank after a number", NULL},
    {"5 5", 1, ST_ERR_SYNTAX, "blank inside a number", NULL},
    {"1 000", 1, ST_ERR_SYNTAX, "blank inside a number", NULL},
    {"5.", 1, ST_ERR_SYNTAX, "no digit after the decimal point", "5.0"},
    {"5.e3", 1, ST_ERR_SYNTAX, "no digit after the decimal point", NULL},
    {".5", 0, ST_ERR_SYNTAX, "no digit before the decimal point", "0.5"},
    {"-.5", 0, ST_ERR_SYNTAX, "no digit before the decimal point", "-0.5"},
    {"1.2.3", 3, ST_ERR_SYNTAX, "second decimal point", NULL},
    {"1e", 1, ST_ERR_SYNTAX, "exponent without digits", NULL},
    {"1e+", 1, ST_ERR_SYNTAX, "exponent without digits", NULL},
    {"1e x", 1, ST_ERR_SYNTAX, "exponent without digits", NULL},
    {"1e2.5", 3, ST_ERR_SYNTAX, "no digit after the decimal point", NULL},
    {"1_000", 1, ST_ERR_SYNTAX, "separator between digits", "1000"},
    {"12'345'678", 2, ST_ERR_SYNTAX, "separator between digits", "12345678"},
    {"1_000.5", 1, ST_ERR_SYNTAX, "separator between digits", NULL},
    {"1,5", 1, ST_ERR_SYNTAX, "comma in a number", "1.5"},
    {"23,75", 2, ST_ERR_SYNTAX, "comma in a number", "23.75"},
    {"1,000,000", 1, ST_ERR_SYNTAX, "comma in a number", "1000000"},
    {"1,000", 1, ST_ERR_SYNTAX, "comma in a number",
     "use a decimal point and no thousands separators"},
    {"1,x", 1, ST_ERR_SYNTAX, "comma in a number", NULL},
    {"0x10", 1, ST_ERR_SYNTAX, "number is not decimal", NULL},
    {"-0X1p3", 2, ST_ERR_SYNTAX, "number is not decimal", NULL},
    {"10x2", 2, ST_ERR_SYNTAX, "text after a number", NULL},
    {"5GB", 1, ST_ERR_SYNTAX, "text after a number", NULL},
    {"3.5us", 3, ST_ERR_SYNTAX, "text after a number", NULL},
    {"1-2", 1, ST_ERR_SYNTAX, "text after a number", NULL},
    {"nan", 0, ST_ERR_SYNTAX, "not a finite number", NULL},
    {"NaN", 0, ST_ERR_SYNTAX, "not a finite number", NULL},
    {"nan(7)", 0, ST_ERR_SYNTAX, "not a finite number", NULL},
    {"inf", 0, ST_ERR_SYNTAX, "not a finite number", NULL},
    {"-Infinity", 0, ST_ERR_SYNTAX, "not a finite number", NULL},
    {"abc", 0, ST_ERR_SYNTAX, "not a number", NULL},
    {"--5", 0, ST_ERR_SYNTAX, "not a number", NULL},
    {"+-5", 0, ST_ERR_SYNTAX, "not a number", NULL},
    {"+", 0, ST_ERR_SYNTAX, "not a number", NULL},
    {"e5", 0, ST_ERR_SYNTAX, "not a number", NULL},
    {".", 0, ST_ERR_SYNTAX, "not a number", NULL},
    {"\xE2\x88\x92"
     "5",
     0, ST_ERR_SYNTAX, "minus sign must be '-'", NULL},
    {"\xEF\xBC\x95", 0, ST_ERR_SYNTAX, "not a number", NULL}, /* a wide 5 */
    {"1e400", 0, ST_ERR_VALUE, "number is too large", NULL},
    {"-1e309", 0, ST_ERR_VALUE, "number is too large", NULL},
    {"1e99999999999999999999", 0, ST_ERR_VALUE, "number is too large", NULL},
    {"1e-400", 0, ST_ERR_VALUE, "number is too small to distinguish from zero", NULL},
    {"-0.001e-330", 0, ST_ERR_VALUE, "number is too small to distinguish from zero", NULL},
};

TEST_OF(every_slip_is_named, st_errors *errors, make_errors, drop_errors)
{
    for (size_t i = 0; i < COUNT(number_slips); i++) {
        double value = 2.385;
        assert_int_equal(read_number(number_slips[i].text, &value, errors), number_slips[i].status);
        assert_same_double(value, 2.385);
        assert_int_equal(st_errors_size(errors), 1);
        const st_error *error = st_errors_at(errors, 0);
        assert_int_equal(error->status, number_slips[i].status);
        assert_string_equal(error->message, number_slips[i].message);
        assert_string_equal(error->place.file, "f");
        assert_int_equal(error->place.line, 3);
        assert_int_equal(error->place.column, 7 + number_slips[i].column);
        assert_non_null(error->expected);
        if (number_slips[i].suggestion == NULL)
            assert_null(error->suggestion);
        else
            assert_string_equal(error->suggestion, number_slips[i].suggestion);
        char quoted[64];
        (void)snprintf(quoted, sizeof quoted, "'%s'", number_slips[i].text);
        assert_string_equal(error->found, quoted);
        st_errors_clear(errors);
    }
}

TEST_WITH(very_long_numbers_are_refused, make_errors, drop_errors)
{
    char text[402];
    double value = NOT_A_NUMBER;
    memset(text, '3', sizeof text);
    text[1] = '.';
    assert_int_equal(st_number_parse(text, 400, here, &value, *state), ST_OK);
    assert_true(fabs(value - 10.0 / 3) < 1e-15);
    assert_int_equal(st_number_parse(text, 401, here, &value, *state), ST_ERR_LIMIT);
    assert_string_equal(said(*state), "f:3:7: error: number is too long: found 401 characters, "
                                      "expected at most 400 characters\n");
}

/* Short decimals are read without strtod, to the same bits, zeros' signs included. */
TEST(short_decimals_are_the_nearest_doubles)
{
    uint64_t random = 2385;
    for (int round = 0; round < 20000; round++) {
        char text[64];
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const int digits = 1 + (int)(random >> 33) % 18;
        const int point = (int)(random >> 41) % 24;
        const long long whole = (long long)(random >> 2) % (long long)pow(10, digits);
        const char *sign = (random >> 60) % 3 == 0 ? "-" : "";
        (void)snprintf(text, sizeof text, "%s%0*lld", sign, point + 1, whole);
        if (point > 0) {
            char *at = text + strlen(text) - point;
            memmove(at + 1, at, (size_t)point + 1);
            *at = '.';
        }
        double value = 0;
        double expected = strtod(text, NULL);
        assert_int_equal(read_number(text, &value, NULL), ST_OK);
        if (memcmp(&value, &expected, sizeof value) != 0)
            fail_msg("'%s' is read as %.17g, not as %.17g", text, value, expected);
    }
}

TEST(a_number_can_be_found_in_front_of_text)
{
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {
        {"", 0},         {"x", 0},     {"+", 0},     {"-x", 0},    {"5", 1},    {"5EB", 1},
        {"5e3B", 3},     {"5e-3B", 4}, {"5e+", 1},   {"5.5.5", 3}, {"5.", 1},   {"5..2", 1},
        {"-12.50kB", 6}, {"1e5e5", 3}, {"12 GB", 2}, {"+7%", 2},   {"3.e5", 1},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(st_number_scan(rows[i].text, strlen(rows[i].text)), rows[i].length);
}

TEST(values_print_in_their_shortest_form)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {2.385, "2.385"},
        {-0.1, "-0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {131072000, "131072000"},
        {89128960000, "89128960000"},
        {123456789012345, "123456789012345"},
        {1e15, "1e15"},
        {1e22, "1e22"},
        {1e23, "1e23"},
        {-1.5e300, "-1.5e300"},
        {0.0001, "0.0001"},
        {0.00001, "1e-5"},
        {2.5e-6, "2.5e-6"},
        {DBL_MAX, "1.7976931348623157e308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {0x1p-1074, "5e-324"},
        {0x1.8p-1072, "3e-323"},
        {9007199254740993.0, "9007199254740992"},
        {NOT_A_NUMBER, "nan"},
        {HUGE_VAL, "inf"},
        {-HUGE_VAL, "-inf"},
    };
    char text[ST_QUANTITY_TEXT];
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(st_number_format(rows[i].value, text, sizeof text), rows[i].text);
}

TEST(a_small_buffer_is_never_overrun)
{
    char text[8];
    memset(text, '#', sizeof text);
    assert_ptr_equal(st_number_format(0.1 + 0.2, text, 5), text);
    assert_string_equal(text, "0.30");
    assert_int_equal(text[5], '#');
    assert_string_equal(st_number_format(NOT_A_NUMBER, text, 3), "na");
    assert_string_equal(st_number_significant(1234.5, 6, text, 4), "123");
    assert_string_equal(st_number_print('f', 2, 1234.5, text, 6), "1234.");
    assert_int_equal(text[6], '#');
}

TEST(significant_digits_are_kept_and_zeros_dropped)
{
    static const struct {
        double value;
        int digits;
        const char *text;
    } rows[] = {
        {16.7302, 4, "16.73"},
        {16.70, 4, "16.7"},
        {25, 4, "25"},
        {0, 4, "0"},
        {-0.0, 4, "0"},
        {-16.7302, 4, "-16.73"},
        {999.95, 4, "1000"},
        {999.94, 4, "999.9"},
        {9999.6, 4, "10000"},
        {16730.2, 6, "16730.2"},
        {1234567.8, 4, "1234568"},
        {89128960000, 4, "89128960000"},
        {123456789012345, 4, "123456789012345"},
        {1e15, 4, "1e15"},
        {1.23456e18, 4, "1.235e18"},
        {0.000123456, 4, "0.0001235"},
        {0.0000123456, 4, "0.00001235"},
        {0.00000123456, 4, "1.235e-6"},
        {0.00000999996, 4, "0.00001"},
        {0.1, 6, "0.1"},
        {2.0 / 3, 6, "0.666667"},
        {5e-324, 4, "4.941e-324"},
        {DBL_MAX, 4, "1.798e308"},
    };
    char text[ST_QUANTITY_TEXT];
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(st_number_significant(rows[i].value, rows[i].digits, text, sizeof text),
                            rows[i].text);
}

TEST(exponents_print_without_padding)
{
    char text[ST_QUANTITY_TEXT];
    assert_string_equal(st_number_print('e', 3, 12385, text, sizeof text), "1.238e4");
    assert_string_equal(st_number_print('e', 2, 1.0, text, sizeof text), "1.00e0");
    assert_string_equal(st_number_print('e', 2, 1e-7, text, sizeof text), "1.00e-7");
    assert_string_equal(st_number_print('e', 2, 1e107, text, sizeof text), "1.00e107");
    assert_string_equal(st_number_print('f', 3, 2.3855, text, sizeof text), "2.385");
    assert_string_equal(st_number_print('g', 3, 23855, text, sizeof text), "2.39e4");
    char wide[400];
    assert_int_equal(strlen(st_number_print('f', 2, -DBL_MAX, wide, sizeof wide)), 313);
}

TESTS(number);
