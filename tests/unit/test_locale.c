/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers under a locale whose decimal point is something else. Such locales are not installed
 * everywhere, so the program is linked with a C library that behaves as if one were set.
 */
#include "base_support.h"
#include "base/dimension.h"

#include <locale.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names */
double __real_strtod(const char *text, char **end);
double __wrap_strtod(const char *text, char **end);
struct lconv *__wrap_localeconv(void);
int __wrap_snprintf(char *text, size_t size, const char *format, ...) ST_PRINTF(3, 4)
    __attribute__((nonnull(3)));
/* NOLINTEND(bugprone-reserved-identifier) */

static char point[12] = ",";

struct lconv *__wrap_localeconv(void)
{
    static struct lconv conventions;
    conventions.decimal_point = point;
    return &conventions;
}

/* Reads `point` and takes '.' for the end of the number. */
double __wrap_strtod(const char *text, char **end)
{
    char copy[512];
    const char *found = strstr(text, point);
    size_t head = found != NULL ? (size_t)(found - text) : strlen(text);
    assert_null(memchr(text, '.', head));
    (void)snprintf(copy, sizeof copy, "%.*s%s%s", (int)head, text, found != NULL ? "." : "",
                   found != NULL ? found + strlen(point) : "");
    return __real_strtod(copy, end);
}

/* Writes `point` where a conversion of a double writes '.'. */
int __wrap_snprintf(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, size, format, arguments);
    va_end(arguments);
    bool is_double =
        strcmp(format, "%.*e") == 0 || strcmp(format, "%.*f") == 0 || strcmp(format, "%.*g") == 0;
    char *dot = is_double ? strchr(text, '.') : NULL;
    if (dot == NULL)
        return length;
    assert_true(strlen(text) + strlen(point) < size);
    memmove(dot + strlen(point), dot + 1, strlen(dot + 1) + 1);
    for (const char *letter = point; *letter != '\0'; letter++)
        *dot++ = *letter;
    return length + (int)strlen(point) - 1;
}

static void assert_round(const char *text, double value)
{
    double read = 0;
    char again[ST_QUANTITY_TEXT];
    assert_int_equal(st_number_parse(text, strlen(text), here, &read, NULL), ST_OK);
    assert_same_double(read, value);
    assert_string_equal(st_number_format(value, again, sizeof again), text);
}

static void assert_independent(const char *locale_point)
{
    (void)snprintf(point, sizeof point, "%s", locale_point);
    char text[ST_QUANTITY_TEXT];
    double value = 0;
    assert_round("2.385", 2.385);
    assert_round("-0.30000000000000004", -0.30000000000000004);
    assert_round("1.7976931348623157e308", 1.7976931348623157e308);
    assert_round("2.5e-7", 2.5e-7);
    assert_round("17", 17);
    st_unit unit = unit_of("us");
    assert_int_equal(st_quantity_parse("2.385 us", 8, &unit, here, &value, NULL), ST_OK);
    assert_same_double(value, 2.385 / 1e6);
    assert_string_equal(st_quantity_format(value, &unit, ST_STYLE_SCALED, text, sizeof text),
                        "2.385 us");
    assert_string_equal(st_quantity_format(0.0123456, &unit, ST_STYLE_SCALED, text, sizeof text),
                        "12.35 ms");
    assert_string_equal(st_quantity_format(0.0123456, &unit, ST_STYLE_UNIT, text, sizeof text),
                        "12345.6 us");
    st_dimension half = {{6, 0, 0, 0, 0}};
    assert_string_equal(st_dimension_text(half, text, sizeof text), "B^0.5");
    assert_int_equal(st_number_parse("2,385", 5, here, &value, NULL), ST_ERR_SYNTAX);
}

static void a_comma_changes_nothing(void **state)
{
    (void)state;
    assert_independent(",");
}

static void a_point_of_several_bytes_changes_nothing(void **state)
{
    (void)state;
    assert_independent("\xD9\xAB"); /* the Arabic decimal separator */
}

static void the_plain_point_works(void **state)
{
    (void)state;
    assert_independent(".");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_comma_changes_nothing),
        cmocka_unit_test(a_point_of_several_bytes_changes_nothing),
        cmocka_unit_test(the_plain_point_works),
    };
    return cmocka_run_group_tests_name("locale", tests, NULL, NULL);
}
