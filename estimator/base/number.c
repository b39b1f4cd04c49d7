/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimal numbers: the grammar is checked here, so that strtod's own extensions (hexadecimal, nan,
 * the locale's decimal point) never come into play.
 */
#include "base/number.h"

#include "base/number_shortest.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONGEST_NUMBER = 400,
    LONGEST_POINT = 8,  /* of a locale's decimal point, which may be several bytes */
    PRINTED_BYTES = 352 /* "%f" of the largest double and then some */
};

static size_t skip_digits(const char *text, size_t length, size_t at)
{
    while (at < length && st_is_digit(text[at]))
        at++;
    return at;
}

size_t st_number_scan(const char *text, size_t length)
{
    size_t start = length > 0 && (text[0] == '+' || text[0] == '-') ? 1 : 0;
    size_t end = skip_digits(text, length, start);
    if (end == start)
        return 0;
    if (end + 1 < length && text[end] == '.' && st_is_digit(text[end + 1]))
        end = skip_digits(text, length, end + 1);
    /* Behind the exponent that begins at `at`; `at` itself where there is none. */
    if (end >= length || (text[end] != 'e' && text[end] != 'E'))
        return end;
    size_t digits = end + 1;
    if (digits < length && (text[digits] == '+' || text[digits] == '-'))
        digits++;
    size_t exponent_end = skip_digits(text, length, digits);
    return exponent_end > digits ? exponent_end : end;
}

static const char *decimal_point(void)
{
    const char *point = localeconv()->decimal_point;
    size_t length = strlen(point);
    return length > 0 && length <= LONGEST_POINT ? point : ".";
}

/*
 * A decimal of few digits is a whole number over a power of ten; where both are doubles, their
 * quotient is the nearest one, as strtod gives it. False: it is not such a decimal. `text` follows
 * the grammar.
 */
static bool is_short(const char *text, size_t length, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const size_t start = text[0] == '+' || text[0] == '-' ? 1 : 0;
    int64_t whole = 0;
    size_t decimals = 0;
    for (size_t i = start; i < length; i++) {
        if (text[i] == '.')
            decimals = length - i - 1;
        else if (!st_is_digit(text[i]) || whole > (INT64_C(1) << DBL_MANT_DIG) / 10 - 1)
            return false;
        else
            whole = whole * 10 + (text[i] - '0');
    }
    if (FLT_EVAL_METHOD != 0 || decimals >= ST_COUNT(powers))
        return false;
    const double size = (double)whole / powers[decimals];
    *value = text[0] == '-' ? -size : size;
    return true;
}

/* strtod with a point for every locale; `text` follows the grammar and fits. */
static double to_double(const char *text, size_t length)
{
    double value = 0;
    if (is_short(text, length, &value))
        return value;
    char copy[LONGEST_NUMBER + LONGEST_POINT + 1];
    const char *point = memchr(text, '.', length);
    size_t head = point != NULL ? (size_t)(point - text) : length;
    memcpy(copy, text, head);
    size_t used = head;
    if (point != NULL) {
        const char *local_point = decimal_point();
        memcpy(copy + used, local_point, strlen(local_point));
        used += strlen(local_point);
        memcpy(copy + used, point + 1, length - head - 1);
        used += length - head - 1;
    }
    copy[used] = '\0';
    int saved_errno = errno;
    value = strtod(copy, NULL);
    errno = saved_errno;
    return value;
}

/* Some digit before the exponent is not 0. */
static bool is_written_nonzero(const char *text, size_t length)
{
    for (size_t i = 0; i < length && text[i] != 'e' && text[i] != 'E'; i++)
        if (text[i] >= '1' && text[i] <= '9')
            return true;
    return false;
}

st_status st_number_parse(const char *text, size_t length, st_place place, double *value,
                          st_errors *errors)
{
    if (length > LONGEST_NUMBER)
        return st_fail(errors, ST_ERR_LIMIT, place,
                       "number is too long" ST_FOUND "%zu characters" ST_EXPECTED
                       "at most 400 characters",
                       length);
    size_t end = st_number_scan(text, length);
    if (end == 0 || end < length)
        return st_number_fault(text, length, end, place, errors);
    double result = to_double(text, length);
    const char *message = NULL;
    if (isinf(result))
        message = "number is too large";
    else if (result == 0.0 && is_written_nonzero(text, length))
        message = "number is too small to distinguish from zero";
    if (message != NULL)
        return st_fail(errors, ST_ERR_VALUE, place,
                       "%s" ST_FOUND "'%.*s'" ST_EXPECTED
                       "0 or a magnitude from 4.9e-324 to 1.7e308",
                       message, (int)length, text);
    *value = result;
    return ST_OK;
}

/* What fits of a text, ended with a 0. */
static const char *give(const char *full, char *text, size_t size)
{
    const size_t length = strlen(full);
    const size_t given = length < size ? length : size - 1;
    if (size > 0) {
        memcpy(text, full, given);
        text[given] = '\0';
    }
    return text;
}

const char *st_number_print(char conversion, int precision, double value, char *text, size_t size)
{
    char full[PRINTED_BYTES];
    if (conversion == 'e')
        (void)snprintf(full, sizeof full, "%.*e", precision, value);
    else if (conversion == 'f')
        (void)snprintf(full, sizeof full, "%.*f", precision, value);
    else
        (void)snprintf(full, sizeof full, "%.*g", precision, value);
    const char *local_point = decimal_point();
    char *found = strcmp(local_point, ".") == 0 ? NULL : strstr(full, local_point);
    if (found != NULL) {
        const char *rest = found + strlen(local_point);
        *found = '.';
        memmove(found + 1, rest, strlen(rest) + 1);
    }
    /* Writes the exponent as people do: "1e15" for printf's "1e+15", "1e-5" for "1e-05". */
    char *mark = strchr(full, 'e');
    if (mark != NULL) {
        char *to = mark + 1;
        char *from = to;
        if (*from == '-')
            to++;
        if (*from == '-' || *from == '+')
            from++;
        while (*from == '0' && from[1] != '\0')
            from++;
        memmove(to, from, strlen(from) + 1);
    }
    return give(full, text, size);
}

/* "9.99e-3" without its exponent: "0.00999". The digits end at the first zero that nothing but
 * zeros follows; the exponent is below their number. */
static void write_out(const char *scientific, int exponent, char *text)
{
    const char *digit = scientific;
    char *end = text;
    size_t count = 1;
    if (*digit == '-')
        *end++ = *digit++;
    for (size_t i = 2; digit[1] == '.' && st_is_digit(digit[i]); i++)
        count = digit[i] != '0' ? i : count;
    for (int place = exponent < 0 ? 0 : exponent; place >= 0 || count > 0; place--) {
        if (place == -1)
            *end++ = '.';
        const bool is_written = place <= exponent && count > 0;
        *end++ = is_written ? *digit : '0';
        digit += !is_written ? 0 : digit[1] == '.' ? 2 : 1;
        count -= is_written;
    }
    *end = '\0';
}

const char *st_number_significant(double value, int digits, char *text, size_t size)
{
    char full[PRINTED_BYTES];
    char out[PRINTED_BYTES];
    st_digits rounded;
    if (st_digits_rounded(fabs(value), digits, &rounded) && rounded.exponent >= -4 &&
        rounded.exponent < digits) {
        st_digits_write(&rounded, value < 0, out);
        return give(out, text, size);
    }
    if (value == 0.0)
        value = 0.0; /* no sign on zero */
    /* The exponent after rounding: 999.96 has four digits as 1000. */
    (void)st_number_print('e', digits - 1, value, full, sizeof full);
    const int exponent = (int)strtol(strchr(full, 'e') + 1, NULL, 10);
    if (exponent >= 15 || exponent < -5)
        return st_number_print('g', digits, value, text, size);
    if (exponent >= digits) /* all digits before the point are shown */
        return st_number_print('f', 0, value, text, size);
    write_out(full, exponent, out);
    return give(out, text, size);
}

const char *st_number_format(double value, char *text, size_t size)
{
    char full[PRINTED_BYTES];
    st_digits digits;
    /* Whole numbers without an exponent, which most tables are full of. */
    if (fabs(value) < 1e15 && value == trunc(value) && !(value == 0.0 && signbit(value))) {
        (void)snprintf(text, size, "%lld", (long long)value);
        return text;
    }
    if (st_digits_shortest(fabs(value), &digits)) {
        st_digits_write(&digits, value < 0, full);
        return give(full, text, size);
    }
    if (!isfinite(value)) {
        (void)snprintf(text, size, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return text;
    }
    /* A decimal of 15 digits survives the way through a normal double, so that the shortest text
     * shows up at 15 digits without its zeros; only subnormal values can have a shorter one. */
    bool is_subnormal = fabs(value) < DBL_MIN && value != 0.0;
    int precision = is_subnormal ? 1 : DBL_DIG;
    do
        (void)st_number_print('g', precision, value, full, sizeof full);
    while (to_double(full, strlen(full)) != value && precision++ < DBL_DECIMAL_DIG);
    (void)snprintf(text, size, "%s", full);
    return text;
}

const char *st_microseconds_print(int64_t time_ns, char *text)
{
    (void)snprintf(text, ST_MICROSECONDS_TEXT, "%lld.%03d", (long long)(time_ns / 1000),
                   (int)(time_ns % 1000));
    return text;
}

double st_common_divisor(double a, double b)
{
    while (b != 0) {
        double rest = fmod(a, b);
        a = b;
        b = rest;
    }
    return a;
}
