/* SPDX-License-Identifier: Apache-2.0 */
/* Units and dimensions: the closed list of names, the grammar, and what is suggested for slips. */
#include "base_support.h"
#include "base/dimension.h"

#include "base/unit_names.h"

#include <math.h>

/* Whole exponents of byte, flop, second, joule, dollar. */
typedef struct expected_unit {
    const char *text;
    double multiplier;
    double divisor;
    int exponent[ST_DIMENSIONS];
} expected_unit;

static st_status read_unit(const char *text, st_unit *unit, st_errors *errors)
{
    return st_unit_parse(text, strlen(text), here, unit, errors);
}

static void assert_unit(const expected_unit *expected)
{
    st_unit unit = unit_of(expected->text);
    if (unit.multiplier != expected->multiplier || unit.divisor != expected->divisor)
        fail_msg("%s: %.17g / %.17g", expected->text, unit.multiplier, unit.divisor);
    for (int d = 0; d < ST_DIMENSIONS; d++)
        if (unit.dimension.exponent[d] != expected->exponent[d] * ST_EXPONENT_ONE)
            fail_msg("%s: exponent %d is %d twelfths", expected->text, d,
                     unit.dimension.exponent[d]);
    assert_string_equal(unit.text, expected->text);
}

TEST(every_name_has_its_scale)
{
    static const expected_unit rows[] = {
        {"1", 1, 1, {0, 0, 0, 0, 0}},     {"%", 1, 100, {0, 0, 0, 0, 0}},
        {"B", 1, 1, {1, 0, 0, 0, 0}},     {"bit", 1, 8, {1, 0, 0, 0, 0}},
        {"FLOP", 1, 1, {0, 1, 0, 0, 0}},  {"flop", 1, 1, {0, 1, 0, 0, 0}},
        {"s", 1, 1, {0, 0, 1, 0, 0}},     {"min", 60, 1, {0, 0, 1, 0, 0}},
        {"h", 3600, 1, {0, 0, 1, 0, 0}},  {"day", 86400, 1, {0, 0, 1, 0, 0}},
        {"J", 1, 1, {0, 0, 0, 1, 0}},     {"W", 1, 1, {0, 0, -1, 1, 0}},
        {"Wh", 3600, 1, {0, 0, 0, 1, 0}}, {"$", 1, 1, {0, 0, 0, 0, 1}},
        {"USD", 1, 1, {0, 0, 0, 0, 1}},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_unit(&rows[i]);
}

TEST(every_prefix_has_its_scale)
{
    static const expected_unit rows[] = {
        {"kB", 1e3, 1, {1, 0, 0, 0, 0}},
        {"MB", 1e6, 1, {1, 0, 0, 0, 0}},
        {"GB", 1e9, 1, {1, 0, 0, 0, 0}},
        {"TB", 1e12, 1, {1, 0, 0, 0, 0}},
        {"PB", 1e15, 1, {1, 0, 0, 0, 0}},
        {"EB", 1e18, 1, {1, 0, 0, 0, 0}},
        {"KiB", 1024, 1, {1, 0, 0, 0, 0}},
        {"MiB", 1048576, 1, {1, 0, 0, 0, 0}},
        {"GiB", 1073741824, 1, {1, 0, 0, 0, 0}},
        {"TiB", 1099511627776, 1, {1, 0, 0, 0, 0}},
        {"PiB", 1125899906842624, 1, {1, 0, 0, 0, 0}},
        {"EiB", 1152921504606846976, 1, {1, 0, 0, 0, 0}},
        {"kbit", 125, 1, {1, 0, 0, 0, 0}},
        {"Gbit", 125000000, 1, {1, 0, 0, 0, 0}},
        {"Kibit", 128, 1, {1, 0, 0, 0, 0}},
        {"ms", 1, 1e3, {0, 0, 1, 0, 0}},
        {"us", 1, 1e6, {0, 0, 1, 0, 0}},
        {"\xC2\xB5s", 1, 1e6, {0, 0, 1, 0, 0}},
        {"\xCE\xBCs", 1, 1e6, {0, 0, 1, 0, 0}},
        {"ns", 1, 1e9, {0, 0, 1, 0, 0}},
        {"ps", 1, 1e12, {0, 0, 1, 0, 0}},
        {"TFLOP", 1e12, 1, {0, 1, 0, 0, 0}},
        {"Pflop", 1e15, 1, {0, 1, 0, 0, 0}},
        {"mJ", 1, 1e3, {0, 0, 0, 1, 0}},
        {"MJ", 1e6, 1, {0, 0, 0, 1, 0}},
        {"mW", 1, 1e3, {0, 0, -1, 1, 0}},
        {"kW", 1e3, 1, {0, 0, -1, 1, 0}},
        {"kWh", 3600000, 1, {0, 0, 0, 1, 0}},
        {"k$", 1e3, 1, {0, 0, 0, 0, 1}},
        {"MUSD", 1e6, 1, {0, 0, 0, 0, 1}},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_unit(&rows[i]);
}

TEST(products_and_powers_combine)
{
    static const expected_unit rows[] = {
        {"GB/s", 1e9, 1, {1, 0, -1, 0, 0}},
        {"Gbit/s", 125000000, 1, {1, 0, -1, 0, 0}},
        {"TFLOP/s", 1e12, 1, {0, 1, -1, 0, 0}},
        {"FLOP/B", 1, 1, {-1, 1, 0, 0, 0}},
        {"$/h", 1, 3600, {0, 0, -1, 0, 1}},
        {"1/s", 1, 1, {0, 0, -1, 0, 0}},
        {"1/ms", 1000, 1, {0, 0, -1, 0, 0}},
        {"1/(B*s)", 1, 1, {-1, 0, -1, 0, 0}},
        {"us/GB", 1, 1e15, {-1, 0, 1, 0, 0}},
        {"GB/us", 1e15, 1, {1, 0, -1, 0, 0}},
        {"kB/min", 50, 3, {1, 0, -1, 0, 0}},
        {"TB/GB", 1000, 1, {0, 0, 0, 0, 0}},
        {"FLOP/(B*s)", 1, 1, {-1, 1, -1, 0, 0}},
        {"FLOP/B/s", 1, 1, {-1, 1, -1, 0, 0}},
        {"FLOP/B*s", 1, 1, {-1, 1, 1, 0, 0}},
        {"s^2", 1, 1, {0, 0, 2, 0, 0}},
        {"ms^2", 1, 1e6, {0, 0, 2, 0, 0}},
        {"ms^-2", 1e6, 1, {0, 0, -2, 0, 0}},
        {"(kB/ms)^2", 1e12, 1, {2, 0, -2, 0, 0}},
        {"((kB))", 1e3, 1, {1, 0, 0, 0, 0}},
        {"W*h/kWh", 1, 1000, {0, 0, 0, 0, 0}},
        {"B^2730", 1, 1, {2730, 0, 0, 0, 0}},
        {"B^-2730", 1, 1, {-2730, 0, 0, 0, 0}},
        {"B*B*B*B*B*B*B*B*B*B*B*B*B*B*B*B", 1, 1, {16, 0, 0, 0, 0}},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_unit(&rows[i]);
}

/* What is refused, the column of the error behind the place, and what is suggested. */
typedef struct slip_row {
    const char *text;
    int column;
    const char *suggestion;
} slip_row;

static void assert_slips(const slip_row *rows, size_t count, st_status status, st_errors *errors)
{
    for (size_t i = 0; i < count; i++) {
        st_unit unit = {.text = "untouched"};
        assert_int_equal(read_unit(rows[i].text, &unit, errors), status);
        assert_string_equal(unit.text, "untouched");
        assert_int_equal(st_errors_size(errors), 1);
        const st_error *error = st_errors_at(errors, 0);
        assert_int_equal(error->status, status);
        if (error->place.column != here.column + rows[i].column)
            fail_msg("%s: column %d", rows[i].text, error->place.column);
        const char *suggestion = error->suggestion != NULL ? error->suggestion : "";
        const char *expected = rows[i].suggestion != NULL ? rows[i].suggestion : "";
        if (strcmp(suggestion, expected) != 0)
            fail_msg("%s: suggests '%s' instead of '%s'", rows[i].text, suggestion, expected);
        st_errors_clear(errors);
    }
}

static const slip_row unit_slips[] = {
    {"Gbps", 0, "Gbit/s"},
    {"GBps", 0, "GB/s"},
    {"GBPS", 0, "Gbit/s or GB/s"},
    {"Gb/s", 0, "Gbit/s or GB/s"},
    {"Mb", 0, "Mbit or MB"},
    {"gb", 0, "Gbit or GB"},
    {"b", 0, "bit or B"},
    {"GFLOPS", 0, "GFLOP/s"},
    {"TFLOPs", 0, "TFLOP/s or TFLOP"},
    {"FLOPS", 0, "FLOP/s"},
    {"flops", 0, "FLOP/s or FLOP"},
    {"TFLOPS/s", 0, "TFLOP/s"},
    {"tflop/s", 0, "TFLOP/s"},
    {"KB", 0, "kB or KiB"},
    {"Kbit/s", 0, "kbit/s or Kibit/s"},
    {"KFLOP", 0, "kFLOP"},
    {"gB/s", 0, "GB/s"},
    {"mB", 0, "MB"},
    {"GIB", 0, "GiB"},
    {"gibit", 0, "Gibit"},
    {"bytes", 0, "B"},
    {"Byte", 0, "B"},
    {"gigabytes", 0, "GB"},
    {"bits", 0, "bit"},
    {"megabits/s", 0, "Mbit/s"},
    {"B/sec", 2, "B/s"},
    {"seconds", 0, "s"},
    {"milliseconds", 0, "ms"},
    {"usec", 0, "us"},
    {"MS", 0, "ms"},
    {"S", 0, "s"},
    {"m", 0, "min or ms"},
    {"mins", 0, "min"},
    {"minutes", 0, "min"},
    {"hours", 0, "h"},
    {"hr", 0, "h"},
    {"$/hour", 2, "$/h"},
    {"H", 0, "h"},
    {"d", 0, "day"},
    {"days", 0, "day"},
    {"kwh", 0, "kWh"},
    {"KW", 0, "kW"},
    {"watts", 0, "W"},
    {"kilowatt", 0, "kW"},
    {"joules", 0, "J"},
    {"usd/h", 0, "$/h"},
    {"dollars", 0, "$"},
    {"Hz", 0, "1/s"},
    {"percent", 0, "%"},
    {"GB/s/GPU", 5, "GB/s"},
    {"token/s", 0, "1/s"},
    {"B*ranks", 2, "B"},
    {"TFLOP/s/gpu", 8, "TFLOP/s"},
    {"FLOP/(B*sec)", 8, "FLOP/(B*s)"},
    {"\xC2\xB5"
     "sec",
     0, NULL},
    {"GPUs", 0, NULL},
    {"xyz", 0, NULL},
    {"1*s", 0, NULL},
    {"%/s", 0, NULL},
    {"GB%", 0, NULL},
    {"Gmin", 0, NULL},
    {"KiFLOP", 0, NULL},
    {"GHz", 0, NULL},
    {"\xE2\x82\xAC/h", 0, NULL},
};

TEST_WITH(slips_get_the_right_suggestion, make_errors, drop_errors)
{
    assert_slips(unit_slips, COUNT(unit_slips), ST_ERR_UNIT, *state);
}

TEST_WITH(malformed_units_are_refused_where_they_break, make_errors, drop_errors)
{
    static const slip_row rows[] = {
        {"GB/", 3, NULL},        {"/s", 0, NULL},
        {"GB//s", 3, NULL},      {"GB*", 3, NULL},
        {"(GB", 0, NULL},        {"GB)", 2, NULL},
        {"()", 1, NULL},         {"GB^", 3, NULL},
        {"s^0", 2, NULL},        {"s^1.5", 2, NULL},
        {"s^x", 2, NULL},        {"s^-", 2, NULL},
        {"s^2731", 2, NULL},     {"s^99999999999", 2, NULL},
        {"s^2^2", 3, NULL},      {"GB / s", 2, "GB/s"},
        {"GB per s", 2, "GB/s"}, {"GB x", 2, NULL},
        {" B", 0, NULL},         {"(B)(s)", 3, NULL},
        {"\xC2\xB5s)", 2, NULL}, {"B\t/s", 1, "B/s"},
    };
    assert_slips(rows, COUNT(rows), ST_ERR_SYNTAX, *state);
}

TEST_WITH(units_beyond_all_measure_are_refused, make_errors, drop_errors)
{
    static const slip_row rows[] = {
        {"PB^99", 0, NULL},
        {"EiB^18", 0, NULL},
        {"1/ns^35", 0, NULL},
        {"(B^2730)^2", 0, NULL},
        {"B^2730*B", 0, NULL},
        {"1/B^2730/B", 0, NULL},
        {"B*B*B*B*B*B*B*B*B*B*B*B*B*B*B*B*B", 32, NULL},
        {"FLOP*FLOP*FLOP*FLOP*FLOP*FLOP*FLOP*FLOP*", 0, NULL}, /* 40 bytes */
    };
    assert_slips(rows, COUNT(rows), ST_ERR_LIMIT, *state);
    st_unit unit = unit_of("FLOP*FLOP*FLOP*FLOP*FLOP*FLOP*FLOP*FLOP"); /* 39 */
    assert_int_equal(unit.dimension.exponent[ST_FLOP], 8 * ST_EXPONENT_ONE);
}

TEST_WITH(errors_name_the_unit, make_errors, drop_errors)
{
    static const char *const rows[][2] = {
        {"",
         "f:3:7: error: unit is missing: expected a unit such as GB/s, or 1 for a pure number\n"},
        {"Gbps", "f:3:7: error: unknown unit 'Gbps'; did you mean 'Gbit/s'?\n"},
        {"Gb/s",
         "f:3:7: error: unknown unit 'Gb': found 'Gb/s'; did you mean 'Gbit/s' or 'GB/s'?\n"},
        {"GB/s/GPU", "f:3:12: error: 'GPU' is a count, and counts have no unit: found 'GB/s/GPU'; "
                     "did you mean 'GB/s'?\n"},
        {"GB/s/", "f:3:12: error: unit ends too early: found 'GB/s/', expected the name of a unit "
                  "such as B, FLOP, s, W or $\n"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        st_unit unit;
        assert_int_not_equal(read_unit(rows[i][0], &unit, *state), ST_OK);
        assert_string_equal(said(*state), rows[i][1]);
    }
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
