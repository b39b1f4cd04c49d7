/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as texts: what st_number_format gives is what printf gives with the fewest digits, from
 * 15 on, that read back as the number. Numbers of all sizes, short decimals, neighbours of powers
 * of ten and of two, and results as they stand in tables. Fewer digits are those of printf, too.
 */
#include "property.h"

#include "base/number.h"
#include "base/number_shortest.h"
#include "steptime/quantity.h"

#include <float.h>

enum { NUMBERS = DRAWS(1000000), FEW = DRAWS(200000) };

/* The slow way, with the exponent as people write it. */
static void expect_text(double value, char *text, size_t size)
{
    int digits = value != 0.0 && fabs(value) < DBL_MIN ? 1 : 15;
    do
        (void)snprintf(text, size, "%.*g", digits, value);
    while (strtod(text, NULL) != value && digits++ < 17);
    char *mark = strchr(text, 'e');
    if (mark != NULL) {
        long exponent = strtol(mark + 1, NULL, 10);
        (void)snprintf(mark + 1, size - (size_t)(mark + 1 - text), "%ld", exponent);
    }
}

static void check(double value)
{
    char text[64];
    char expected[64];
    expect_text(value, expected, sizeof expected);
    if (strcmp(st_number_format(value, text, sizeof text), expected) != 0)
        fail_msg("%a is written %s and not %s", value, text, expected);
    int digits = 1 + (int)(fmod(fabs(value), 1.0) * 15);
    (void)snprintf(expected, sizeof expected, "%.*g", digits, value);
    if (strchr(expected, 'e') == NULL && value != 0.0 &&
        strcmp(st_number_significant(value, digits, text, sizeof text), expected) != 0)
        fail_msg("%d digits of %a are %s and not %s", digits, value, text, expected);
}

static double any_double(property_random *random)
{
    for (;;) {
        uint64_t bits = random_bits(random);
        double value = 0;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            return value;
    }
}

/* Of the sizes that tables have. */
static double table_double(property_random *random)
{
    double value = ldexp((double)(random_bits(random) >> 11), random_between(random, -100, 70));
    return random_below(random, 5) == 0 ? -value : value;
}

TEST(any_numbers_are_written_in_full)
{
    for (size_t i = 0; i < FEW; i++)
        check(any_double(*state));
}

TEST(numbers_of_tables_are_written_in_full)
{
    size_t fast = 0;
    for (size_t i = 0; i < NUMBERS; i++) {
        st_digits digits;
        double value = table_double(*state);
        check(value);
        fast += st_digits_shortest(fabs(value), &digits) ? 1 : 0;
    }
    assert_true(fast > NUMBERS / 2);
}

TEST_OF(short_decimals_stay_short, property_random *random, NULL, NULL)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        char text[64];
        double digits = (double)(random_bits(random) >> random_between(random, 14, 60));
        (void)snprintf(text, sizeof text, "%.0fe%d", digits, random_between(random, -24, 20));
        check(strtod(text, NULL));
    }
}

TEST(neighbours_of_powers_are_no_exception)
{
    for (int exponent = -320; exponent <= 308; exponent++) {
        char text[16];
        (void)snprintf(text, sizeof text, "1e%d", exponent);
        double value = strtod(text, NULL);
        for (int step = 0; step < 40; step++) {
            check(value);
            value = nextafter(value, step < 20 ? HUGE_VAL : 0);
        }
    }
    for (int exponent = -1074; exponent <= 1023; exponent++) {
        double value = ldexp(1, exponent);
        check(value);
        check(-nextafter(value, 0));
        check(nextafter(value, HUGE_VAL));
    }
}

/* Halfway between two decimals printf takes the even digit. */
TEST_OF(halves_go_to_even_digits, property_random *random, NULL, NULL)
{
    for (size_t i = 0; i < FEW; i++) {
        double whole = (double)(random_bits(random) >> random_between(random, 11, 20));
        check(whole / 2);
        check(whole / 4);
        check(whole / 1024);
    }
    check(0.0);
    check(-0.0);
    check(9007199254740993.0);
    check(999999999999999.9);
    check(0.99999999999999989);
    check(2.385);
}

TEST(short_room_cuts_the_text)
{
    char text[8] = "unknown";
    (void)state;
    (void)st_number_format(0.23850000000000002, text, 5);
    assert_string_equal(text, "0.23");
    (void)st_number_format(-4096, text, 3);
    assert_string_equal(text, "-4");
}

TESTS_WITH(numbers, property_setup, NULL);
