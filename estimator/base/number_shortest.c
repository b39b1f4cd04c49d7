/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A double is significand * 2^exponent. Scaled by a power of ten such that 17 digits precede
 * the point, it is a quotient of two integers of at most 127 bits; all that follows is exact.
 */
#include "base/number_shortest.h"

#include <math.h>
#include <string.h>

#ifdef __SIZEOF_INT128__

__extension__ typedef unsigned __int128 wide;

enum {
    MOST_DIGITS = 17,
    LEAST_DIGITS = 15,
    MOST_SCALE = 31, /* 2^53 * 5^31 < 2^127 */
    LEAST_SCALE = -21,
    SIGNIFICAND_BITS = 53
};

/* value * 10^scale = numerator / denominator, and one unit of the significand in these terms. */
typedef struct scaled {
    wide numerator;
    wide denominator;
    wide unit;
    bool even; /* the significand */
} scaled;

static wide power_of(unsigned base, int exponent)
{
    wide power = 1;
    for (int i = 0; i < exponent; i++)
        power *= base;
    return power;
}

/* Halves to the even digit, as printf does. `rest` says whether anything lies behind `whole`. */
static uint64_t cut(uint64_t whole, bool rest, uint64_t unit)
{
    const uint64_t digits = whole / unit;
    const uint64_t behind = 2 * (whole % unit);
    return digits + (behind > unit || (behind == unit && (rest || (digits & 1) != 0)) ? 1 : 0);
}

static void find_fewest(const scaled *number, uint64_t whole, wide rest, st_digits *found)
{
    uint64_t unit = 100;
    for (int count = LEAST_DIGITS; count < MOST_DIGITS; count++, unit /= 10) {
        uint64_t digits = cut(whole, rest != 0, unit);
        /* Nearer to the value than half a unit, or as near where an even significand wins. */
        wide product = (wide)(digits * unit) * number->denominator;
        wide gap =
            product > number->numerator ? product - number->numerator : number->numerator - product;
        if (2 * gap < number->unit || (2 * gap == number->unit && number->even)) {
            found->digits = digits;
            found->count = count;
            return;
        }
    }
    wide twice = 2 * rest;
    bool up = twice > number->denominator || (twice == number->denominator && (whole & 1) != 0);
    found->digits = whole + (up ? 1 : 0);
    found->count = MOST_DIGITS;
}

/* Rounded up to a one with zeros, a number has a digit more. */
static void drop_carry(st_digits *digits)
{
    uint64_t most = 1;
    for (int i = 0; i < digits->count; i++)
        most *= 10;
    if (digits->digits == most) {
        digits->digits /= 10;
        digits->exponent++;
    }
}

static const uint64_t ten_to_16 = UINT64_C(10000000000000000);

static bool scale_to(uint64_t significand, int exponent, int scale, scaled *made)
{
    if (scale >= 0) {
        wide fives = power_of(5, scale);
        int shift = exponent + scale;
        if (scale > MOST_SCALE || shift < -125 || shift > 20)
            return false;
        *made = (scaled){.numerator = significand * fives, .denominator = 1, .unit = fives};
        if (shift < 0) {
            made->denominator <<= -shift;
        } else {
            made->numerator <<= shift;
            made->unit <<= shift;
        }
        return true;
    }
    if (scale < LEAST_SCALE || exponent < 0 || exponent > 126 - SIGNIFICAND_BITS)
        return false;
    *made = (scaled){.numerator = (wide)significand << exponent,
                     .denominator = power_of(10, -scale),
                     .unit = (wide)1 << exponent};
    return true;
}

/* The first 17 digits of a value, what lies behind them, and the exponent of the first one. */
static bool find_digits(double value, scaled *number, uint64_t *whole, wide *rest, int *first)
{
    int exponent = 0;
    if (!(value > 1e-200 && value < 1e200))
        return false;
    double fraction = frexp(value, &exponent);
    uint64_t significand = (uint64_t)ldexp(fraction, SIGNIFICAND_BITS);
    exponent -= SIGNIFICAND_BITS;
    *first = (int)floor(log10(value));
    for (int attempt = 0; attempt < 3; attempt++) {
        if (!scale_to(significand, exponent, MOST_DIGITS - 1 - *first, number))
            return false;
        number->even = (significand & 1) == 0;
        wide denominator = number->denominator;
        if ((denominator & (denominator - 1)) == 0) {
            /* mostly: no library call */
            uint64_t low = (uint64_t)denominator;
            int shift = low != 0 ? __builtin_ctzll(low)
                                 : 64 + __builtin_ctzll((uint64_t)(denominator >> 64));
            *rest = number->numerator & (denominator - 1);
            *whole = (uint64_t)(number->numerator >> shift);
        } else {
            *rest = number->numerator % denominator;
            *whole = (uint64_t)(number->numerator / denominator);
        }
        if (*whole >= ten_to_16 && *whole < ten_to_16 * 10)
            return true;
        *first += *whole < ten_to_16 ? -1 : 1; /* the logarithm was rounded over a power of ten */
    }
    return false;
}

bool st_digits_shortest(double value, st_digits *digits)
{
    int exponent = 0;
    scaled number = {0};
    uint64_t whole = 0;
    wide rest = 0;
    /* The neighbours of a power of two are not equally far away. */
    if (frexp(value, &exponent) == 0.5 ||
        !find_digits(value, &number, &whole, &rest, &digits->exponent))
        return false;
    find_fewest(&number, whole, rest, digits);
    drop_carry(digits);
    return true;
}

bool st_digits_rounded(double value, int count, st_digits *digits)
{
    scaled number = {0};
    uint64_t whole = 0;
    wide rest = 0;
    if (count > LEAST_DIGITS || !find_digits(value, &number, &whole, &rest, &digits->exponent))
        return false;
    uint64_t unit = 1;
    for (int i = count; i < MOST_DIGITS; i++)
        unit *= 10;
    digits->digits = cut(whole, rest != 0, unit);
    digits->count = count;
    drop_carry(digits);
    return true;
}

#else

bool st_digits_shortest(double value, st_digits *digits)
{
    (void)value;
    (void)digits;
    return false;
}

bool st_digits_rounded(double value, int count, st_digits *digits)
{
    (void)value;
    (void)count;
    (void)digits;
    return false;
}

#endif

static char *put(char *to, const char *from, int count)
{
    memcpy(to, from, (size_t)count);
    return to + count;
}

static char *write_exponent(char *to, int exponent)
{
    int size = exponent < 0 ? -exponent : exponent;
    *to++ = 'e';
    if (exponent < 0)
        *to++ = '-';
    if (size >= 100)
        *to++ = (char)('0' + size / 100);
    if (size >= 10)
        *to++ = (char)('0' + size / 10 % 10);
    *to++ = (char)('0' + size % 10);
    return to;
}

void st_digits_write(const st_digits *digits, bool negative, char *text)
{
    char list[32] = {0};
    /* Digits without trailing zeros, the last at `end`; returns how many. */
    uint64_t left = digits->digits;
    int count = digits->count;
    for (int i = count; i-- > 0; left /= 10)
        list[i] = (char)('0' + left % 10);
    while (count > 1 && list[count - 1] == '0')
        count--;
    int first = digits->exponent;
    char *to = text;
    if (negative)
        *to++ = '-';
    if (first < -4 || first >= digits->count) {
        to = put(to, list, 1);
        if (count > 1) {
            *to++ = '.';
            to = put(to, list + 1, count - 1);
        }
        to = write_exponent(to, first);
    } else if (first < 0) {
        to = put(to, "0.000", 1 - first);
        to = put(to, list, count);
    } else {
        int whole = first + 1 < count ? first + 1 : count;
        to = put(to, list, whole);
        to = put(to, "0000000000000000", first + 1 - whole);
        if (count > whole) {
            *to++ = '.';
            to = put(to, list + whole, count - whole);
        }
    }
    *to = '\0';
}
